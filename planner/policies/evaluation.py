"""Evaluation of policies on the declared problem, exact or by sampled executions.

It interprets the problem by `planner.semantics` and shares no code with grounding, so that it checks policies that were
found on the ground task. Monitors of constraints are those of the validator.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from random import Random

from planner.compilations.determinization import ROUNDING, fix_outcome, outcome_probabilities
from planner.compilations.object_creation import for_steps
from planner.errors import PlanError
from planner.graphs import strong_components
from planner.lightweight import Any, Final, Protocol, cast, dataclass
from planner.limits import never
from planner.model import Atom, Formula, Number, Problem
from planner.model.arithmetic import Exact
from planner.model.constructs import CONSTRAINED, Construct, has
from planner.model.domain import creates_objects
from planner.model.problem import is_numeric, is_temporal
from planner.plan import Step, exact_sum
from planner.policies.markov_decision_process import Kept
from planner.policies.policy_iteration import solve_linear_system
from planner.problem_kinds import AnyProblem, is_other_problem, resolve_classical, resolve_problem, service_of
from planner.semantics.constraint_monitors import ConstraintMonitors
from planner.semantics.simulation import Objection, Simulation, bind_parameters
from planner.semantics.spending import add_up, find_exceeded, make_sequential
from planner.semantics.step_effects import Changes, spending_of


class Declared:
    """The decision process that `problem` declares; its states are simulations."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.initial = Simulation(problem)
        most = max([len(action.outcomes) for action in problem.domain.actions.values()], default=0)
        self._rules = [Simulation(fix_outcome(problem, number)).rules for number in range(most)]

    def outcomes(self, state: Simulation, step: Step) -> Iterator[tuple[float, Simulation]]:
        """Yield each outcome of `step`, applicable in `state`, as a probability and the next state."""
        return ((share, after) for share, after, _ in self.ways(state, step))

    def results(self, state: Simulation, step: Step) -> Iterator[tuple[float, Simulation, bool]]:
        """Yield each outcome as `outcomes` does, with whether the step has happened."""
        return ((share, after, changes is not None) for share, after, changes in self.ways(state, step))

    def ways(self, state: Simulation, step: Step) -> Iterator[tuple[float, Simulation, Changes | None]]:
        """Yield each outcome as `outcomes` does, with the changes; these are None where the step fails."""
        action = self.problem.domain.actions[step.action]
        shares = outcome_probabilities(action, step.arguments)
        risk = 1 - sum(shares)
        if risk > ROUNDING:
            yield float(risk), state, None
        for number, share in enumerate(shares):
            if share:
                after = state.copy()
                if action.outcomes:
                    after.rules = self._rules[number]
                changes = after.apply(step)
                after.rules = state.rules
                yield float(share), after, changes

    def find_objection(self, state: Simulation, step: Step) -> Objection | None:
        """Return why `step` cannot be applied: one of its outcomes would leave the bounds of a number, for example."""
        objection = state.find_objection(step)
        action = self.problem.domain.actions[step.action]
        if objection is None and any(outcome.numbers for outcome in action.outcomes):
            shares = outcome_probabilities(action, step.arguments)
            for number in [number for number, share in enumerate(shares) if share]:
                twin = state.copy()
                twin.rules = self._rules[number]
                objection = objection or twin.find_objection(step)
        return objection


MOST_STEPS: Final = 10_000
"""Steps after which an execution ends without success."""

Spent = tuple[tuple[str, Number], ...]


class Strategy(Protocol):
    """A policy, or anything else that selects steps."""

    def next_step(
        self,
        facts: frozenset[Atom],
        *,
        ran: frozenset[Atom] = ...,
        spent: Mapping[str, Number] | None = ...,
        unknown: frozenset[Atom] = ...,
    ) -> Step | None:
        """Return the next step, or None to end; `unknown` are the facts whose truth is unknown.

        Where there are constraints, `kept` gives the facts of their monitors, too; where there are numbers, `values`
        gives those of the fluents.
        """


@dataclass(frozen=True, slots=True)
class Worth:
    """The value of a policy: its probability of success, its expected cost, and its expected utility at the end.

    Soft goals count only where the hard goal holds. `states` is the number of states that the policy may reach.
    """

    success: float
    cost: float
    utility: float
    states: int


def evaluate(problem: AnyProblem, strategy: Strategy, check: Callable[[], None] = never) -> Worth:
    """Return the exact value, up to rounding, of following `strategy`, which must be deterministic.

    Where facts are unknown, the strategy sees only what is known, and a goal counts only where it is known to hold.
    `check` raises at a limit. Raises `PlanError` for a step that is inapplicable or exceeds a budget, and `InputError`
    for undeclared names in the problem.
    """
    chain = _Chain(world_of(problem, strategy), strategy, check)
    success = chain.expected_sum([float(each) for each, _ in chain.ends])
    utility = chain.expected_sum([gain for _, gain in chain.ends])
    return Worth(success, chain.expected_sum(chain.costs), utility, len(chain.costs))


SPARE: Final = 8
"""Placeholders of each type for a strategy that does not tell beforehand which objects its steps create."""


def world_of(problem: AnyProblem, strategy: Strategy) -> World:
    """Return the world that a problem of any kind declares, with the objects that steps of `strategy` create.

    Raises `InputError` for undeclared names in the problem.
    """
    nodes = getattr(strategy, "nodes", None)
    steps = [] if nodes is None else [node.step for node in nodes if node.step is not None]
    if is_other_problem(problem):
        problem = resolve_problem(problem)
        service = service_of(problem)
        return cast("World", service.policy_world(service.name_created(problem, steps)))
    classical = resolve_classical(cast("Problem", problem), "evaluate", "load(…) gives one")
    if creates_objects(classical.domain):
        classical = for_steps(classical, steps, spare=SPARE if nodes is None else 0)
    return classical_world_of(classical)


def classical_world_of(problem: Problem) -> World:
    """Return the world of a classical problem whose names are resolved."""
    if is_temporal(problem):
        from planner.policies.timed_world import TimedWorld

        return TimedWorld(problem)
    problem = make_sequential(problem)
    if has(problem, Construct.UNKNOWN):
        from planner.policies.hidden_world import HiddenWorld

        return HiddenWorld(problem)
    return ConstrainedWorld(problem) if has(problem, *CONSTRAINED) else World(problem)


class _Chain:
    """The Markov chain of a strategy: for each state the cost of its step, its value as an end, and its successors."""

    def __init__(self, world: World, strategy: Strategy, check: Callable[[], None]) -> None:
        self.costs: list[float] = []
        self.ends: list[tuple[bool, float]] = []
        self._after: list[dict[int, float]] = []
        numbers = {world.key(world.declared.initial, ()): 0}
        queue: list[tuple[Any, Spent]] = [(world.declared.initial, ())]
        for state, spent in queue:
            check()
            step = world.ask_for_step(strategy, state, spent)
            self.ends.append((False, 0.0) if step is not None else world.worth(state))
            cost = 0.0 if step is not None else float(world.end_cost(state))
            shares: dict[int, float] = {}
            if step is not None:
                for probability, after in world.declared.outcomes(state, step):
                    charged = world.charge(state, step, after)
                    rest = world.spend(step, spent)
                    cost += probability * float(charged)
                    number = numbers.setdefault(world.key(after, rest), len(queue))
                    if number == len(queue):
                        queue.append((after, rest))
                    shares[number] = shares.get(number, 0.0) + probability
            self.costs.append(cost)
            self._after.append(shares)

    def expected_sum(self, now: list[float]) -> float:
        """Return the expected sum of `now` over the states of an execution from the initial state."""
        values: dict[int, float] = {}
        for component in strong_components(dict(enumerate(self._after))):
            inside = set(component)
            if self._is_left(inside):
                rows = {}
                for number in component:
                    after = self._after[number]
                    outside = {n: share for n, share in after.items() if n not in inside}
                    known = sum([share * values[n] for n, share in outside.items()])
                    leaving = sum(outside.values()) if after else 1.0
                    rows[number] = now[number] + known, leaving, {n: s for n, s in after.items() if n in inside}
                values |= solve_linear_system(rows)
            else:
                endless = any(now[number] for number in component)
                values |= dict.fromkeys(component, float("inf") if endless else 0.0)
        return values[0]

    def _is_left(self, inside: set[int]) -> bool:
        return any(not self._after[number] or not inside.issuperset(self._after[number]) for number in inside)


class View:
    """The part of the state of a `simulation` that an agent sees."""

    def __init__(self, simulation: Simulation) -> None:
        self.simulation = simulation

    @property
    def facts(self) -> frozenset[Atom]:
        """The facts that are known to hold."""
        return self.simulation.facts

    @property
    def history(self) -> Iterator[Atom]:
        """The actions that were executed."""
        return iter(self.simulation.history)

    @property
    def values(self) -> Mapping[Atom, Exact]:
        """The values of the numeric fluents."""
        return self.simulation.values


def simulation_of(state: Simulation | View) -> Simulation:
    """Return the simulation of a state of a world."""
    return state.simulation if isinstance(state, View) else state


class World:
    """The declared problem as the environment of a strategy: it asks for steps, checks them, and counts their uses."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.declared: Any = Declared(problem)
        self.has_numbers = is_numeric(problem)

    def key(self, state: Any, spent: Spent) -> tuple[Any, ...]:
        """Return a key by which states are compared."""
        values = frozenset(state.values.items()) if self.has_numbers else None
        return state.facts, frozenset(state.history), spent, values

    def ask_for_step(self, strategy: Strategy, state: Any, spent: Spent) -> Step | None:
        """Return the step that `strategy` selects; raise `PlanError` where it is inapplicable."""
        step = self.next_step_of(strategy, state, spent)
        if step is not None:
            self.check_step(state, step)
        return step

    def check_step(self, state: Any, step: Step) -> None:
        """Raise `PlanError` where `step` is inapplicable in `state`."""
        objection = self.declared.find_objection(state, step)
        if objection is not None:
            raise PlanError(f"{step} cannot be taken: {objection.misfit or f'it requires {objection.condition}'}")

    def surely_holds(self, state: Any, formula: Formula) -> bool:
        """Return whether the ground `formula` is known to hold in `state`."""
        return bool(state.holds(formula))

    def wait_until(self, state: Any, formula: Formula) -> Any:
        """Return the state in which `formula` is known to hold first, with no step before it; None without one."""
        return state if self.surely_holds(state, formula) else None

    def next_step_of(self, strategy: Any, state: Any, spent: Spent, **more: Any) -> Step | None:
        """Call `strategy` with the state and `more`."""
        if self.has_numbers:
            more["values"] = state.values
        step: Step | None = strategy.next_step(state.facts, ran=frozenset(state.history), spent=dict(spent), **more)
        return step

    def charge(self, state: Any, step: Step, after: Any) -> Number:
        """Return the cost of `step` in `state` where it leads to the state `after`."""
        return simulation_of(state).cost_until(step, simulation_of(after))

    def spend(self, step: Step, spent: Spent) -> Spent:
        """Return the amounts of the budgets that are spent after `step`; raises `PlanError` where one is exceeded."""
        if not self.problem.is_limited:
            return ()
        action = self.problem.domain.actions[step.action]
        used = spending_of(self.problem, action, bind_parameters(action, step))
        after = add_up(self.problem, [dict(spent), used])
        for name, amount, most in find_exceeded(self.problem, after):
            raise PlanError(f"{step} takes the {name} to {amount}, over the budget of {most}")
        return tuple(after.items())

    def end_cost(self, _state: Any) -> Number:
        """Return what ending in a state costs."""
        return 0

    def worth(self, state: Any) -> tuple[bool, float]:
        """Return whether the goal holds in `state`, and the utility of ending there."""
        if not state.holds(self.problem.goal.hard):
            return False, 0.0
        return True, float(exact_sum([s.utility for s in self.problem.goal.soft if state.holds(s.condition)]))


@dataclass(frozen=True, slots=True)
class Execution:
    """One execution: whether it ended at the goal, its exact cost, its utility, and its number of steps."""

    success: bool
    cost: Number
    utility: float
    steps: int


def executions(problem: AnyProblem, strategy: Strategy, runs: int, seed: int = 0) -> Iterator[Execution]:
    """Sample so many executions of `strategy`.

    With the same `seed`, step k of execution n has the same random number for all strategies (common random numbers).
    Raises as `evaluate` does.
    """
    world = world_of(problem, strategy)
    for run in range(runs):
        yield _execute(world, strategy, Random(f"{seed}/{run}"))


def _execute(world: World, strategy: Strategy, rng: Random) -> Execution:
    state, steps = world.declared.initial, 0
    spent: Spent = ()
    cost: Number = 0
    while steps < MOST_STEPS:
        step = world.ask_for_step(strategy, state, spent)
        if step is None:
            success, utility = world.worth(state)
            return Execution(success, cost + world.end_cost(state), utility, steps)
        after = _draw_outcome(world.declared.outcomes(state, step), rng.random())
        charged = world.charge(state, step, after)
        spent = world.spend(step, spent)
        cost += charged
        steps += 1
        state = after
    return Execution(False, cost, 0.0, steps)


def _draw_outcome(outcomes: Iterator[tuple[float, Any]], chance: float) -> Any:
    found = [*outcomes]
    for share, state in found:
        chance -= share
        if chance < 0:
            return state
    return found[-1][1]


class MonitoredView(View):
    """A `simulation` with the monitors of its constraints, of the validator and for the policy."""

    def __init__(self, simulation: Simulation, watches: ConstraintMonitors, kept: Kept) -> None:
        super().__init__(simulation)
        self.watches, self.kept = watches, kept

    def find_objection(self, step: Step) -> Objection | None:
        """Return why `step` is inapplicable; None where it is applicable."""
        return self.simulation.find_objection(step)

    def holds(self, formula: Formula) -> bool:
        """Return whether the ground `formula` holds."""
        return self.simulation.holds(formula)


class ConstrainedWorld(World):
    """The environment of a problem with constraints."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        first: Simulation = self.declared.initial
        self.declared = _Watching(self.declared, MonitoredView(first, ConstraintMonitors(first), Kept.of(problem)))

    def key(self, state: MonitoredView, spent: Spent) -> tuple[object, ...]:
        """Return a key by which states are compared."""
        return *super().key(state, spent), state.watches.key, state.kept.facts

    def next_step_of(self, strategy: Any, state: MonitoredView, spent: Spent, **more: Any) -> Step | None:
        """Call `strategy` with the state and the facts of the monitors."""
        return super().next_step_of(strategy, state, spent, kept=state.kept.facts, **more)

    def worth(self, state: MonitoredView) -> tuple[bool, float]:
        """Return whether the goal and the constraints hold in `state`, and the utility of ending there."""
        watches, goal = state.watches, self.problem.goal
        if watches.broken or any(watches.unmet) or not state.holds(goal.hard):
            return False, 0.0
        lost = [wish.utility or 0 for wish in watches.forgone]
        lost += [wish.utility for wish in goal.soft if not state.holds(wish.condition)]
        return True, float(exact_sum([*[wish.utility or 0 for wish in self.problem.wishes], *[-each for each in lost]]))


class _Watching:
    """The outcomes of steps, with the monitors of the constraints."""

    def __init__(self, declared: Declared, initial: MonitoredView) -> None:
        self._declared, self.initial = declared, initial

    def find_objection(self, state: MonitoredView, step: Step) -> Objection | None:
        """Return why `step` cannot be applied."""
        return self._declared.find_objection(state.simulation, step)

    def outcomes(self, state: MonitoredView, step: Step) -> Iterator[tuple[float, MonitoredView]]:
        """Yield each outcome of `step`, applicable in `state`, as a probability and the next state."""
        return ((share, after) for share, after, _ in self.results(state, step))

    def results(self, state: MonitoredView, step: Step) -> Iterator[tuple[float, MonitoredView, bool]]:
        """Yield each outcome as `outcomes` does, with whether the step has happened."""
        for share, after, changes in self._declared.ways(state.simulation, step):
            if changes is None:
                yield share, state, False
                continue
            watches = state.watches.copy()
            watches.look(state.simulation, step)
            watches.look(after)
            yield share, MonitoredView(after, watches, state.kept.after(state.facts, step, state.values)), True
