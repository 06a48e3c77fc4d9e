"""The Markov decision process of a problem with uncertain outcomes (Bellman, 1957), and its explicit graph.

The states are those of a ground task whose actions are single outcomes (the all-outcomes determinisation), so that
heuristics for this task give bounds for the process. A node is a state with the rest of each budget. An *end* is an
option without successors: to stop, or the optimistic end of an unexpanded node, whose value is a bound.

Monitors of constraints are part of the state. A broken hard constraint leaves no options and no goal; a soft one counts
as a wish. A step that fails, by its risk, has not happened. Each soft goal becomes an action that requires it and
provides a fact of the goal, so that grounding keeps the facts that the soft goal needs.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from decimal import Decimal
from functools import cached_property
from types import MappingProxyType

from planner.compilations.passes import compile_away
from planner.compilations.trajectory_constraints import MARK, compile_constraints, is_monitor
from planner.grounding.allowances import find_allowances
from planner.lightweight import TYPE_CHECKING, Final, dataclass, field, replace
from planner.model import TRUE, Action, Atom, Goal, Not, Number, Problem, When
from planner.model.arithmetic import Exact
from planner.model.constructs import Construct
from planner.model.formulas import with_conjuncts
from planner.plan import Step, exact
from planner.policies.metric_prices import EndPrices
from planner.semantics.simulation import Simulation
from planner.task.ground_task import ConditionalEffect, GroundAction, State, Task
from planner.task.numeric_space import NO_STATE, NumericSpace
from planner.task.numeric_task import NumericEffects, NumericTask
from planner.task.successor_generator import Space, make_finder

if TYPE_CHECKING:
    from planner.policies.decision import Aim

Left = tuple[int, ...]
"""The rest of each budget, in its own units."""


@dataclass(frozen=True, slots=True)
class Purse:
    """The budgets: their names, resolutions and amounts, and the amounts that actions use.

    The first one `is_charged` if it limits the cost that policies minimise.
    """

    names: tuple[str, ...] = ()
    resolutions: tuple[int, ...] = ()
    full: Left = ()
    amounts: tuple[Left, ...] = ()
    is_charged: bool = False

    @classmethod
    def of(cls, problem: Problem, task: Task) -> Purse:
        """Return the budgets of `problem`; raises `InputError` where a static value is missing."""
        kept = find_allowances(problem, task)
        if not kept:
            return EMPTY
        return cls(
            tuple([each.name for each in kept]),
            tuple([each.resolution for each in kept]),
            tuple([each.most for each in kept]),
            tuple(zip(*[each.uses for each in kept], strict=True)),
            kept[0].is_charged,
        )

    def after(self, action: int, left: Left) -> Left | None:
        """Return the rest of the budgets after `action`; None where it exceeds one."""
        rest = tuple([have - want for have, want in zip(left, self.amounts[action], strict=True)])
        return None if any(each < 0 for each in rest) else rest

    def left_of(self, spent: Mapping[str, Number]) -> Left:
        """Return the rest of the budgets after so much was `spent` of each that is named."""
        return tuple(
            [
                full - int(Decimal(spent.get(name, 0)) * resolution)
                for name, resolution, full in zip(self.names, self.resolutions, self.full, strict=True)
            ]
        )

    def as_amounts(self, left: Left) -> dict[str, Number]:
        """Convert the rest of the budgets to the units of the problem."""
        triples = zip(self.names, self.resolutions, left, strict=True)
        return {name: exact(Decimal(units) / resolution) for name, resolution, units in triples}


EMPTY: Final = Purse()


def with_marks(problem: Problem, names: Mapping[str, str]) -> Problem:
    """Compile the constraints of `problem` into monitors, goals and soft goals, in plain ADL.

    Where constraints speak of steps, the actions in `names` go by the names given there.
    """
    if not problem.constraints:
        return problem
    marked = _compile_monitors(problem, names)
    own = len(problem.goal.soft)
    settled = [*zip(problem.constraints, marked.goal.soft[own:], strict=True)]
    hard = [wish.condition for each, wish in settled if each.utility is None]
    soft = [wish for each, wish in settled if each.utility is not None]
    broken = [Atom(f"{MARK}{place}-broken") for place, each in enumerate(problem.constraints) if each.utility is None]
    whole = [Not(fact) for fact in broken if fact.predicate in marked.domain.predicates]
    actions = {
        name: replace(action, requires=with_conjuncts(action.requires, *whole))
        for name, action in marked.domain.actions.items()
    }
    goal = Goal(with_conjuncts(marked.goal.hard, *hard), (*marked.goal.soft[:own], *soft))
    return replace(marked, domain=replace(marked.domain, actions=actions), goal=goal)


def _compile_monitors(problem: Problem, names: Mapping[str, str]) -> Problem:
    """Compile all constraints of `problem` into soft goals, after its own ones."""
    soft = tuple([replace(each, utility=each.utility or 1) for each in problem.constraints])
    plain = compile_away(replace(problem, constraints=soft), Construct.CHANGES)
    return compile_constraints(plain, names=names, plainly=True) if soft else plain


@dataclass(frozen=True, slots=True)
class Kept:
    """The state of the monitors of constraints after some steps: `facts` that a policy looks at.

    The `watcher` simulates steps that have no effects but those on monitors.
    """

    facts: frozenset[Atom]
    watcher: Simulation = field(repr=False, compare=False)

    @classmethod
    def of(cls, problem: Problem) -> Kept:
        """Return the monitors in the initial state of `problem`."""
        marked = _compile_monitors(replace(problem, unknown=(), likely={}), {})
        actions = {name: _keep_monitor_effects(action) for name, action in marked.domain.actions.items()}
        watcher = Simulation(replace(marked, domain=replace(marked.domain, actions=actions)))
        return cls(frozenset(filter(is_monitor, watcher.facts)), watcher)

    def after(self, facts: Iterable[Atom], step: Step, values: Mapping[Atom, Exact] = MappingProxyType({})) -> Kept:
        """Return the monitors after `step`, which did not fail, in the state of exactly `facts`.

        `values` are those of the numeric fluents there.
        """
        state = self.watcher.copy()
        state.world.state.values.fluents.update(
            {(fluent.predicate, fluent.args): each for fluent, each in values.items()}
        )
        held, now = state.facts, self.facts.union(facts)
        state.world.update(held - now, now - held)
        state.apply(step)
        return Kept(frozenset(filter(is_monitor, state.facts)), self.watcher)


def _keep_monitor_effects(action: Action) -> Action:
    """Return `action` with no effects but those on monitors."""
    when = [When(each.requires, tuple(filter(is_monitor, each.provides)), ()) for each in action.when]
    provides = tuple(filter(is_monitor, action.provides))
    kept = tuple([each for each in when if each.provides])
    return replace(
        action, requires=TRUE, provides=provides, modifies=(), when=kept, outcomes=(), cases=(), after=(), numbers=()
    )


@dataclass(frozen=True, slots=True)
class Wish:
    """A soft goal: a state has its `utility` if all facts of one of the `cases` hold."""

    utility: Number
    cases: tuple[State, ...]


FAINT: Final = 1e-12
"""Probabilities below this are rounding errors."""
NOTHING: Final = -1
"""Stands for an action that changes nothing."""

Branch = tuple[float, int]
"""A probability and the number of an action of the task, or `NOTHING`."""
Effects = tuple[tuple[int, ...], tuple[int, ...], tuple[ConditionalEffect, ...], tuple[NumericEffects, ...]]


@dataclass(frozen=True, slots=True)
class Choice:
    """A step with its expected cost, in units of the task's resolution, and its outcomes.

    The probabilities of the `branches` are positive and sum to 1; no two have the same effects. All have the same
    `precondition`. With the probability `failing`, the step fails: then nothing changes, and it has not happened.
    """

    step: Step
    cost: float
    precondition: tuple[int, ...]
    branches: tuple[Branch, ...]
    failing: float = 0.0

    @property
    def is_certain(self) -> bool:
        """Whether the step has one outcome."""
        return len(self.branches) == 1


class Process:
    """The decision process with the states and the goal of `task`, whose actions are outcomes, and these `choices`."""

    def __init__(
        self,
        task: Task,
        choices: Sequence[Choice],
        wishes: tuple[Wish, ...] = (),
        purse: Purse = EMPTY,
        numeric: NumericTask | None = None,
    ) -> None:
        self.task = task
        self.numeric = None if numeric is None else NumericSpace(numeric)
        """The state space where there are numbers: a state is then a number, not facts."""
        self.ends = None if numeric is None else EndPrices.of(numeric)
        """The prices of ends by the metric, where it depends on the state."""
        self.is_metric = False
        """Whether what a step costs is its change of a metric of numbers."""
        self.choices = choices
        self.wishes = wishes
        self.purse = purse
        self.space = self.numeric or Space(task)
        self.initial = self.space.initial
        self.unknown: Mapping[Atom, State] = {}
        """The facts that may be unknown, each with the bit of states that marks it as unknown."""
        self.aliases: Mapping[Atom, Atom] = {}
        """Facts of the task that stand for facts of the problem where these are known."""
        self.ignored: Container[Atom] = frozenset()
        """Facts that policies do not look at."""
        self.supposed: Mapping[int, tuple[Atom, bool]] = {}
        """The choices that work only if an unknown fact holds, or does not hold."""
        self.is_guided = numeric is None
        """Whether heuristics for `task` give bounds."""
        self.has_hopes = True
        """Whether other bounds, such as those by the tasks that are left, hold."""

    @property
    def chooser(self) -> Task:
        """The task with one action for each choice, which has the precondition of the choice and no effects."""
        actions = [GroundAction(each.step, each.precondition, (), (), (), 0) for each in self.choices]
        return replace(self.task, actions=tuple(actions))

    @cached_property
    def _applicable(self) -> Callable[[State], list[int]]:
        return make_finder(self.chooser)

    @property
    def is_deterministic(self) -> bool:
        """Whether every choice has one outcome."""
        return all(choice.is_certain for choice in self.choices)

    def applicable(self, state: State) -> list[int]:
        """Return the numbers of the applicable choices in `state`, in ascending order.

        A choice one of whose outcomes would leave the bounds of a number is not applicable.
        """
        found = sorted(self._applicable(self.space.closed(state)))
        if self.numeric is None:
            return found
        return [each for each in found if self._keeps_bounds(state, each)]

    def _keeps_bounds(self, state: State, choice: int) -> bool:
        actions = [action for _, action in self.choices[choice].branches if action != NOTHING]
        return all(self.space.apply(action, state) != NO_STATE for action in actions)

    def facts(self, state: State) -> State:
        """Return the facts that hold in `state`, as bits, without derived ones."""
        return state if self.numeric is None else self.numeric.facts(state)

    def values(self, state: State) -> dict[Atom, Number]:
        """Return the values of the numeric fluents in `state`. Raises `UnsupportedError` for one that is no decimal."""
        return {} if self.numeric is None else self.numeric.fluents(state)

    def outcomes(self, state: State, choice: int) -> list[tuple[float, State]]:
        """Return the distribution of the state after `choice`, as pairs of a probability and a state."""
        found: dict[State, float] = {}
        for probability, action in self.choices[choice].branches:
            after = state if action == NOTHING else self.space.apply(action, state)
            found[after] = found.get(after, 0.0) + probability
        return [(probability, after) for after, probability in found.items()]

    def results(self, state: State, choice: int) -> list[tuple[float, State, bool]]:
        """Return the distribution of the state after `choice`, and of whether its step has happened."""
        failing = self.choices[choice].failing
        found = [(share, after, True) for share, after in self.outcomes(state, choice)]
        if not failing:
            return found
        found = [(share - failing * (after == state), after, True) for share, after, _ in found]
        return [*[each for each in found if each[0] > FAINT], (failing, state, False)]

    def charge(self, _state: State, choice: int) -> float:
        """Return the expected cost of `choice` in a state, without what its outcomes change in the metric."""
        return self.choices[choice].cost

    def test(self, state: State, choice: int, _read: Iterable[str]) -> State | None:
        """Return `state` where the condition of `choice` holds in it, which reads certain predicates; else None."""
        return state if choice in self.applicable(state) else None

    def least_charge(self, choice: int) -> float:
        """Return a lower bound of `charge` for all states."""
        return self.choices[choice].cost

    def unknown_in(self, state: State) -> list[Atom]:
        """Return the facts that are unknown in `state`."""
        return [fact for fact, bit in self.unknown.items() if state & bit]

    def tasks(self, _state: State) -> tuple[str, ...]:
        """Return the tasks that are left to be done in a state: none where there is no hierarchy."""
        return ()

    def place(self, _choice: int) -> int | None:
        """Return the place among the tasks of the one that a choice does; None where there is no hierarchy."""
        return None

    def time(self, _state: State) -> Number | None:
        """Return when the next step can begin in a state; None where time does not matter."""
        return None

    def left_after(self, choice: int, left: Left) -> Left | None:
        """Return the rest of the budgets after `choice`, the same for all outcomes; None where it exceeds one."""
        return self.purse.after(self.choices[choice].branches[0][1], left) if left else left

    def end_price(self, state: State) -> float:
        """Return the price of ending in `state`, in units of the task's resolution, less `offset`."""
        if self.ends is None or self.numeric is None:
            return 0.0
        return float(self.ends.price(self.numeric.values(state)))

    def least_end_price(self, state: State) -> float:
        """Return a lower bound of the prices of all ends after `state`; minus infinity without one."""
        if self.ends is None or self.numeric is None:
            return 0.0
        return float(self.ends.least(self.numeric.values(state))) if self.is_bounded else float("-inf")

    @property
    def offset(self) -> float:
        """What the costs of all executions have in common beside the prices of steps and ends."""
        return 0.0 if self.ends is None else float(self.ends.offset)

    @property
    def is_bounded(self) -> bool:
        """Whether no end has a negative price."""
        return self.ends is None or self.ends.is_bounded

    def step_price(self, state: State, choice: int) -> float:
        """Return the expected cost of `choice` in `state`, with what its outcomes change in the metric."""
        before = self.end_price(state)
        after = sum([share * (self.end_price(other) - before) for share, other in self.outcomes(state, choice)])
        return self.charge(state, choice) + after

    def is_goal(self, state: State) -> bool:
        """Return whether the hard goal holds in `state`."""
        return self.task.unreachable_goal is None and self.space.is_goal(state)

    def utility(self, state: State) -> Number:
        """Return the sum of the utilities of the wishes that `state` fulfils."""
        if not self.wishes:
            return 0
        missing = ~self.space.closed(state)
        return sum([wish.utility for wish in self.wishes if any(not case & missing for case in wish.cases)])


STOP: Final = -1
"""Stands for the choice to stop."""
OPEN: Final = -2
"""Stands for the optimistic end of an unexpanded node."""


@dataclass(frozen=True, slots=True)
class Option:
    """An option of a node.

    `branches` are pairs of a probability and a node, each node once; an end has none. `cost` is in units of the task's
    resolution. `worth` are the rewards of an end, the more important ones first.
    """

    choice: int
    cost: float
    branches: tuple[tuple[float, int], ...]
    worth: tuple[float, ...] = ()


class Graph:
    """The explicit part of a process: nodes by number, from the initial node 0, with their `options`.

    `inside` says whether a node is expanded. No option exceeds a budget.
    """

    def __init__(self, process: Process, aim: Aim) -> None:
        self.process = process
        self.aim = aim
        self.states: list[State] = []
        self.left: list[Left] = []
        self.options: list[list[Option]] = []
        self.inside: list[bool] = []
        self._numbers: dict[tuple[State, Left], int] = {}
        self.is_abridged = False
        """Whether options were removed: then the options that are left give no bounds."""
        self.node(process.initial, process.purse.full)

    def __len__(self) -> int:
        return len(self.states)

    def node(self, state: State, left: Left) -> int:
        """Return the number of a node; a new node gets only an optimistic end, or the option to stop."""
        number = self._numbers.setdefault((state, left), len(self.states))
        if number == len(self.states):
            self.states.append(state)
            self.left.append(left)
            over = self.aim.is_over(state)
            self.options.append([self.aim.stop(state) if over else self.aim.hope(state, left)])
            self.inside.append(over or self.options[number][0].choice == STOP)
        return number

    def expand(self, number: int) -> None:
        """Expand a node: add an option for each applicable choice."""
        self.widen(number, self.process.applicable(self.states[number]))

    def widen(self, number: int, choices: Iterable[int], *, hopeful: bool = False) -> None:
        """Add options for more `choices`; a `hopeful` node keeps its optimistic end, as other choices are missing."""
        process, state, left = self.process, self.states[number], self.left[number]
        found = [option for option in self.options[number] if option.choice != OPEN] or [self.aim.stop(state)]
        for choice in choices:
            rest = process.left_after(choice, left)
            if rest is not None:
                after = [(share, self.node(each, rest)) for share, each in process.outcomes(state, choice)]
                if len(after) > 1 or after[0][1] != number:
                    found.append(Option(choice, process.charge(state, choice), tuple(after)))
        self.options[number] = [*found, *([self.aim.hope(state, left)] if hopeful else [])]
        self.inside[number] = True

    def abridge(
        self, states: list[State], left: list[Left], options: list[list[Option]], inside: Sequence[bool]
    ) -> None:
        """Replace all nodes by these, the initial one first, which have only the options of a policy."""
        self.states, self.left, self.options, self.inside = states, left, options, [*inside]
        self._numbers = {key: number for number, key in enumerate(zip(states, left, strict=True))}
        self.is_abridged = True

    def closed_options(self) -> list[list[Option]]:
        """Return the options without optimistic ends: a policy stops in unexpanded nodes."""
        return [
            [option for option in options if option.choice != OPEN] if inside else [self.aim.stop(state)]
            for options, inside, state in zip(self.options, self.inside, self.states, strict=True)
        ]
