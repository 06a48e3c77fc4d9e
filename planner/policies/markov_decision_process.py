"""The Markov decision process of a problem with uncertain outcomes: nodes, options, and what may come of them.

States are those of a ground task whose actions are the single outcomes, so the relaxation of this task relaxes the
process. A node is a state with what is left of the budgets. An *end* is an option that leads nowhere: to stop, or to
hope for the best in a node that no search has expanded.

Constraints: how far they are kept is part of the state. A broken hard constraint leaves no options and no goal; a soft
one is a wish. A step that fails, as its risk says, has not happened. Soft goals: each wish becomes an action that
requires it and provides a fact of the goal, so that grounding keeps what the wish needs.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from functools import cached_property

from planner.compilations.determinization import (
    ROUNDING,
    OutcomeOf,
    determinize,
    keep_relevant_actions,
    outcome_probabilities,
)
from planner.compilations.trajectory_constraints import MARK, compile_constraints, is_monitor
from planner.garbage_collection import collector_paused
from planner.grounding.ground import ground_adl
from planner.lightweight import TYPE_CHECKING, Final, dataclass, field, replace
from planner.limits import Limits
from planner.model import COST, TRUE, Action, Atom, Goal, Not, Number, Predicate, Problem, When
from planner.model.formulas import conjunction, conjuncts
from planner.plan import Step, exact
from planner.resources.label_setting import Allowance, allowances, cost_allowance
from planner.semantics.simulation import Simulation
from planner.task.ground_task import ConditionalEffect, GroundAction, State, Task, bits
from planner.task.state_space import Space, make_finder

if TYPE_CHECKING:
    from planner.policies.decision import Aim

Left = tuple[int, ...]
"""What is left of each budget, in its own units."""


@dataclass(frozen=True, slots=True)
class Purse:
    """The budgets: their `names`, that on the cost first, `resolutions`, what is in them (`full`).

    `amounts` are what each action takes from each.
    """

    names: tuple[str, ...] = ()
    resolutions: tuple[int, ...] = ()
    full: Left = ()
    amounts: tuple[Left, ...] = ()

    @classmethod
    def of(cls, problem: Problem, task: Task) -> Purse:
        """Return the budgets of `problem`; raises `InputError` where a static value is missing."""
        kept: list[Allowance] = [cost_allowance(problem, task)] if COST in problem.budgets else []
        kept += allowances(problem, task)
        if not kept:
            return EMPTY
        return cls(
            tuple([each.name for each in kept]),
            tuple([each.resolution for each in kept]),
            tuple([each.most for each in kept]),
            tuple(zip(*[each.uses for each in kept], strict=True)),
        )

    def after(self, action: int, left: Left) -> Left | None:
        """Return what is left after `action`; None where it takes too much."""
        rest = tuple([have - want for have, want in zip(left, self.amounts[action], strict=True)])
        return None if any(each < 0 for each in rest) else rest

    def left_of(self, spent: Mapping[str, Number]) -> Left:
        """Return what is left when so much was spent of each; what is not named was not touched."""
        return tuple(
            [
                full - int(Decimal(spent.get(name, 0)) * resolution)
                for name, resolution, full in zip(self.names, self.resolutions, self.full, strict=True)
            ]
        )

    def shown(self, left: Left) -> dict[str, Number]:
        """Return what is left in the problem's terms."""
        triples = zip(self.names, self.resolutions, left, strict=True)
        return {name: exact(Decimal(units) / resolution) for name, resolution, units in triples}


EMPTY: Final = Purse()


def with_marks(problem: Problem, names: Mapping[str, str]) -> Problem:
    """Return `problem` in plain ADL without constraints: facts mark how far they are kept, and the goal asks for that.

    Actions in `names` go by another name where constraints speak of steps.
    """
    if not problem.constraints:
        return problem
    marked = _marked(problem, names)
    own = len(problem.goal.soft)
    settled = [*zip(problem.constraints, marked.goal.soft[own:], strict=True)]
    hard = [wish.condition for each, wish in settled if each.utility is None]
    soft = [wish for each, wish in settled if each.utility is not None]
    broken = [Atom(f"{MARK}{place}-broken") for place, each in enumerate(problem.constraints) if each.utility is None]
    whole = [Not(fact) for fact in broken if fact.predicate in marked.domain.predicates]
    actions = {
        name: replace(action, requires=conjunction([*conjuncts(action.requires), *whole]))
        for name, action in marked.domain.actions.items()
    }
    goal = Goal(conjunction([*conjuncts(marked.goal.hard), *hard]), (*marked.goal.soft[:own], *soft))
    return replace(marked, domain=replace(marked.domain, actions=actions), goal=goal)


def _marked(problem: Problem, names: Mapping[str, str]) -> Problem:
    """Return `problem` with all its constraints as soft goals, after its own."""
    soft = tuple([replace(each, utility=each.utility or 1) for each in problem.constraints])
    compiled: Problem = compile_constraints(replace(problem, constraints=soft), names=names, plainly=True).problem
    return compiled


@dataclass(frozen=True, slots=True)
class Kept:
    """How far the constraints of a problem are kept after some steps: `facts` that a policy looks at.

    In the `watcher`, steps do nothing but change these.
    """

    facts: frozenset[Atom]
    watcher: Simulation = field(repr=False, compare=False)

    @classmethod
    def of(cls, problem: Problem) -> Kept:
        """Return how it is in the initial state of `problem`."""
        marked = _marked(replace(problem, unknown=(), likely={}), {})
        actions = {name: _watching(action) for name, action in marked.domain.actions.items()}
        watcher = Simulation(replace(marked, domain=replace(marked.domain, actions=actions)))
        return cls(frozenset(filter(is_monitor, watcher.facts)), watcher)

    def after(self, facts: Iterable[Atom], step: Step) -> Kept:
        """Return how it is after `step`, of which something came, was taken where exactly `facts` held."""
        state = self.watcher.copy()
        held, now = state.facts, self.facts.union(facts)
        state.world.update(held - now, now - held)
        state.apply(step)
        return Kept(frozenset(filter(is_monitor, state.facts)), self.watcher)


def _watching(action: Action) -> Action:
    """Return `action` with its effects on marks alone."""
    when = [When(each.requires, tuple(filter(is_monitor, each.provides)), ()) for each in action.when]
    provides = tuple(filter(is_monitor, action.provides))
    kept = tuple([each for each in when if each.provides])
    return replace(action, requires=TRUE, provides=provides, modifies=(), when=kept, outcomes=(), cases=(), after=())


@dataclass(frozen=True, slots=True)
class Wish:
    """A soft goal: worth `utility` in states in which all facts of one of the `cases` hold."""

    utility: Number
    cases: tuple[State, ...]


@dataclass(frozen=True, slots=True)
class Asked:
    """A problem whose actions `judges`, one for each wish and one more, provide the fact `judged`."""

    problem: Problem
    judges: tuple[str, ...]
    judged: Atom | None

    @classmethod
    def about(cls, problem: Problem) -> Asked:
        """Return `problem`, in which grounding keeps what its soft goals speak of."""
        wishes, domain = problem.goal.soft, problem.domain
        if not wishes:
            return cls(problem, (), None)
        name = "judged"
        while name in domain.predicates or any(each.startswith(name) for each in domain.actions):
            name += "-"
        judged = Atom(name)
        actions = {name: Action(name, provides=(judged,), cost=())}
        for number, wish in enumerate(wishes):
            own = f"{name}{number}"
            actions[own] = Action(own, requires=wish.condition, provides=(judged,), cost=())
        domain = replace(
            domain, actions={**domain.actions, **actions}, predicates={**domain.predicates, name: Predicate(name)}
        )
        hard = conjunction([*conjuncts(problem.goal.hard), judged])
        asked = replace(problem, domain=domain, goal=replace(problem.goal, hard=hard, soft=()))
        return cls(asked, tuple(actions), judged)

    def answered(self, task: Task) -> tuple[Task, list[tuple[State, ...]]]:
        """Return the ground task of `problem` without what was added, and the cases of the wishes."""
        cases: dict[str, list[State]] = {name: [] for name in self.judges[1:]}
        for action in task.actions:
            if action.step.action in cases:
                cases[action.step.action].append(bits(action.precondition))
        kept = tuple([action for action in task.actions if action.step.action not in self.judges])
        goal = tuple([fact for fact in task.goal if task.facts[fact] != self.judged])
        return replace(task, actions=kept, goal=goal), list(map(tuple, cases.values()))


NOTHING: Final = -1
"""In the place of an action's number: nothing changes."""

Branch = tuple[float, int]
"""A probability and the number of an action of the task, or `NOTHING`."""
Effects = tuple[tuple[int, ...], tuple[int, ...], tuple[ConditionalEffect, ...]]


@dataclass(frozen=True, slots=True)
class Choice:
    """A step that may be taken: what it costs, in units of the task's resolution, and what may come of it.

    The probabilities of the `branches` are above 0 and sum to 1; no two have the same effects. `precondition` is that
    of all of them.
    """

    step: Step
    cost: int
    precondition: tuple[int, ...]
    branches: tuple[Branch, ...]

    @property
    def is_certain(self) -> bool:
        """Whether it comes out in one way."""
        return len(self.branches) == 1


class Process:
    """The decision process of `task`, whose actions are single outcomes, under `choices`.

    The goal is the task's; `wishes` are the problem's soft goals, and `purse` its budgets.
    """

    def __init__(
        self, task: Task, choices: Sequence[Choice], wishes: tuple[Wish, ...] = (), purse: Purse = EMPTY
    ) -> None:
        self.task = task
        self.choices = choices
        self.wishes = wishes
        self.purse = purse
        self.space = Space(task)
        self.initial = self.space.initial
        self.unknown: Mapping[Atom, State] = {}
        """The facts that may be unknown, each with the bit of states that says so."""
        self.aliases: Mapping[Atom, Atom] = {}
        """Facts of the task, and those that they stand for where these are known."""
        self.ignored: Container[Atom] = frozenset()
        """Facts of which nothing is to be known."""
        self.supposed: Mapping[int, tuple[Atom, bool]] = {}
        """The choices that are taken on an unknown fact, and whether it is to hold."""

    @property
    def chooser(self) -> Task:
        """The task with an action for each choice, which says when there is that choice, not what comes of it."""
        actions = [GroundAction(each.step, each.precondition, (), (), (), each.cost) for each in self.choices]
        return replace(self.task, actions=tuple(actions))

    @cached_property
    def _applicable(self) -> Callable[[State], list[int]]:
        return make_finder(self.chooser)

    @property
    def is_deterministic(self) -> bool:
        """Whether every choice comes out in one way."""
        return all(choice.is_certain for choice in self.choices)

    def applicable(self, state: State) -> list[int]:
        """Return the numbers of the choices that there are in `state`, ascending."""
        return sorted(self._applicable(self.space.closed(state)))

    def outcomes(self, state: State, choice: int) -> list[tuple[float, State]]:
        """Return `(probability, next state)` for what may come of `choice`; no state occurs twice."""
        found: dict[State, float] = {}
        for probability, action in self.choices[choice].branches:
            after = state if action == NOTHING else self.space.apply(action, state)
            found[after] = found.get(after, 0.0) + probability
        return [(probability, after) for after, probability in found.items()]

    def left_after(self, choice: int, left: Left) -> Left | None:
        """Return what is left of the budgets after `choice`, however it comes out; None where it takes too much."""
        return self.purse.after(self.choices[choice].branches[0][1], left) if left else left

    def is_goal(self, state: State) -> bool:
        """Return whether the hard goal holds in `state`."""
        return self.task.unreachable_goal is None and self.space.is_goal(state)

    def utility(self, state: State) -> Number:
        """Return what the wishes that are fulfilled in `state` are worth together."""
        if not self.wishes:
            return 0
        missing = ~self.space.closed(state)
        return sum([wish.utility for wish in self.wishes if any(not case & missing for case in wish.cases)])


def process_of(problem: Problem, limits: Limits) -> Process:
    """Return the decision process of `problem`: what is reachable and relevant by some outcomes, ground.

    Where no outcomes whatever lead to the hard goal, its task has nothing but `unreachable_goal`. Raises as `ground`
    does. Where facts are unknown, states say what is known; raises `UnsupportedError` where they have an effect on more
    than what can be done.
    """
    if problem.unknown:
        from planner.compilations.contingent.belief_states import sensing_process_of

        return sensing_process_of(problem, limits)
    compiled = determinize(keep_relevant_actions(problem))
    source = compiled.problem
    if problem.constraints:
        source = with_marks(source, {name: way.action for name, way in compiled.ways.items()})
    return grounded(source, compiled.ways, problem.domain.actions, limits)


def grounded(
    problem: Problem,
    ways: Mapping[str, OutcomeOf],
    actions: Mapping[str, Action],
    limits: Limits,
    *,
    whole: bool = False,
) -> Process:
    """Return the process of `problem`, whose actions are `ways` in which `actions` come out; others are no choices.

    With `whole`, nothing is left out that is not relevant.
    """
    with collector_paused():
        asked = Asked.about(problem)
        together = {name: way.action for name, way in ways.items() if actions[way.action].is_uncertain}
        task, cases = asked.answered(ground_adl(asked.problem, limits, together, whole=whole))
        wishes = [Wish(soft.utility, each) for soft, each in zip(problem.goal.soft, cases, strict=False)]
        purse = Purse.of(asked.problem, task)
        return Process(task, tuple(_choices(task.actions, ways, actions)), tuple(wishes), purse)


def _choices(
    ground: Iterable[GroundAction], ways: Mapping[str, OutcomeOf], actions: Mapping[str, Action]
) -> Iterator[Choice]:
    """Yield the choices: outcomes of one step under one precondition; an outcome that is missing changes nothing."""
    found: dict[tuple[str, tuple[str, ...], tuple[int, ...]], dict[int, tuple[int, GroundAction]]] = {}
    for number, action in enumerate(ground):
        way = ways.get(action.step.action)
        if way is None:
            continue
        key = (way.action, action.step.arguments, action.precondition)
        found.setdefault(key, {}).setdefault(way.number, (number, action))
    for (name, arguments, precondition), parts in found.items():
        _, first = next(iter(parts.values()))
        branches = _branches(parts, outcome_probabilities(actions[name], arguments))
        if branches:
            yield Choice(Step(name, arguments, first.step.cost), first.cost, precondition, branches)


def _branches(parts: Mapping[int, tuple[int, GroundAction]], odds: Sequence[Decimal]) -> tuple[Branch, ...]:
    """Return the branches, with those of the same effects made one; none where nothing ever changes."""
    shares: dict[Effects, tuple[Decimal, int]] = {}
    for outcome, (number, action) in parts.items():
        if odds[outcome]:
            effects = (action.adds, action.deletes, action.conditional)
            share, first = shares.get(effects, (Decimal(0), number))
            shares[effects] = (share + odds[outcome], first)
    rest = 1 - sum([share for share, _ in shares.values()], Decimal(0))
    branches = [(float(share), number) for share, number in shares.values()]
    return (*branches, *([(float(rest), NOTHING)] if rest > ROUNDING else [])) if branches else ()


STOP: Final = -1
"""The choice to end here."""
OPEN: Final = -2
"""In the place of a choice: what may be hoped for in a node that has not been looked into."""


@dataclass(frozen=True, slots=True)
class Option:
    """What can be done in a node: `branches` are `(probability, node)`, each node once; an end has none.

    `cost` is in units of the task's resolution. `worth` is what an end is worth, one number for each reward that is
    aimed at, the more important ones first.
    """

    choice: int
    cost: float
    branches: tuple[tuple[float, int], ...]
    worth: tuple[float, ...] = ()


class Graph:
    """The nodes that were met, numbered from 0, the initial one; `options` has those of a node, `inside` if expanded.

    No option takes more than is left of a budget.
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
        """Whether options are missing: then what may be hoped for cannot be told from those that are there."""
        self.node(process.initial, process.purse.full)

    def __len__(self) -> int:
        return len(self.states)

    def node(self, state: State, left: Left) -> int:
        """Return the number of a node, new ones with nothing but hope."""
        number = self._numbers.setdefault((state, left), len(self.states))
        if number == len(self.states):
            self.states.append(state)
            self.left.append(left)
            over = self.aim.is_over(state)
            self.options.append([self.aim.stop(state) if over else self.aim.hope(state, left)])
            self.inside.append(over or self.options[number][0].choice == STOP)
        return number

    def expand(self, number: int) -> None:
        """Look into a node: give it its options."""
        self.widen(number, self.process.applicable(self.states[number]))

    def widen(self, number: int, choices: Iterable[int], *, hopeful: bool = False) -> None:
        """Give a node options for more `choices`; where it is `hopeful`, others may be better, and hope is left."""
        process, state, left = self.process, self.states[number], self.left[number]
        found = [option for option in self.options[number] if option.choice != OPEN] or [self.aim.stop(state)]
        for choice in choices:
            rest = process.left_after(choice, left)
            if rest is not None:
                after = [(share, self.node(each, rest)) for share, each in process.outcomes(state, choice)]
                if len(after) > 1 or after[0][1] != number:
                    found.append(Option(choice, process.choices[choice].cost, tuple(after)))
        self.options[number] = [*found, *([self.aim.hope(state, left)] if hopeful else [])]
        self.inside[number] = True

    def abridge(
        self, states: list[State], left: list[Left], options: list[list[Option]], inside: Sequence[bool]
    ) -> None:
        """Have these nodes instead, the initial one first, with those options alone that a policy needs."""
        self.states, self.left, self.options, self.inside = states, left, options, [*inside]
        self._numbers = {key: number for number, key in enumerate(zip(states, left, strict=True))}
        self.is_abridged = True

    def closed(self) -> list[list[Option]]:
        """Return the options where nothing is hoped for: nodes that were not looked into are ends."""
        return [
            [option for option in options if option.choice != OPEN] if inside else [self.aim.stop(state)]
            for options, inside, state in zip(self.options, self.inside, self.states, strict=True)
        ]
