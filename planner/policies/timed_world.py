"""The world of a problem in time, whose steps are taken in turn, for the evaluation of policies."""

from __future__ import annotations

from collections.abc import Iterator

from planner.compilations.determinization import ROUNDING, outcome_probabilities
from planner.errors import PlanError
from planner.lightweight import Any, dataclass
from planner.model import Atom, Formula, Number, Problem
from planner.model.problem import NumericMetric
from planner.plan import Step, exact_sum
from planner.policies.evaluation import Spent, World
from planner.semantics.numeric_state import Values, change_between
from planner.semantics.simulation import Simulation, bind_parameters
from planner.semantics.step_effects import cost_of
from planner.semantics.turns import Clock, Turns, names_in, refuse_in_turn


class Interpreter:
    """Simulations of snap actions."""

    def apply(self, state: Simulation, action: str, arguments: tuple[str, ...]) -> Simulation | None:
        """Return the state after a snap action; None where it is not applicable."""
        step = Step(action, arguments)
        if state.find_objection(step) is not None:
            return None
        after = state.copy()
        after.apply(step)
        return after

    def values(self, state: Simulation) -> Values:
        """Return the values of functions in `state`."""
        return state.world.state.values


@dataclass(frozen=True, slots=True, eq=False)
class Moment:
    """A state between two steps: its simulation, its clock, and what the time of the step before it cost."""

    simulation: Simulation
    clock: Clock
    time_cost: Number = 0


class TimedWorld(World):
    """The world of `problem`, which is in time."""

    def __init__(self, problem: Problem) -> None:
        refuse_in_turn(problem)
        self.problem = problem
        self._turns, self._engine = Turns(problem), Interpreter()
        self._source = self._turns.source
        first = Simulation(self._turns.problem)
        self.initial = Moment(first, self._turns.begin(self._engine, first))
        self.declared: Any = self
        self.has_numbers = True

    def key(self, state: Moment, spent: Spent) -> tuple[Any, ...]:
        """Return a key by which states are compared."""
        return state.simulation.facts, frozenset(state.simulation.values.items()), state.clock, spent

    def next_step_of(self, strategy: Any, state: Moment, spent: Spent, **more: Any) -> Step | None:
        """Call `strategy` with the facts, the values and the time."""
        facts = state.simulation.facts
        ran = [
            Atom(each.predicate.removeprefix("ran-"), each.args) for each in facts if each.predicate.startswith("ran-")
        ]
        begins = self._turns.begins(state.clock)
        now = exact_sum([self._turns.horizon, 1]) if begins is None else begins
        given = {"ran": frozenset(ran), "spent": dict(spent), "values": state.simulation.values, "now": now, **more}
        step: Step | None = strategy.next_step(facts, **given)
        return step

    def check_step(self, state: Moment, step: Step) -> None:
        """Raise `PlanError` where `step` cannot be taken from `state` on."""
        self._take(state, step)

    def _take(self, state: Moment, step: Step) -> Any:
        action = self._source.domain.actions.get(step.action)
        if action is None:
            raise PlanError(f"no action is called '{step.action}'")
        likely = [number for number, share in enumerate(outcome_probabilities(action, step.arguments)) if share]
        taken = self._turns.take(self._engine, state.simulation, state.clock, step, likely or [0])
        if taken is None:
            raise PlanError(f"{step} cannot be taken after {state.clock.end or 0} s, at no time")
        return likely, taken

    def outcomes(self, state: Moment, step: Step) -> Iterator[tuple[float, Moment]]:
        """Yield each outcome of `step` as a probability and the next state."""
        return ((share, after) for share, after, _ in self.results(state, step))

    def results(self, state: Moment, step: Step) -> Iterator[tuple[float, Moment, bool]]:
        """Yield each outcome as `outcomes` does, with whether the step has happened."""
        likely, (runs, idle) = self._take(state, step)
        odds = outcome_probabilities(self._source.domain.actions[step.action], step.arguments)
        for number, run in zip(likely, runs, strict=False):
            yield float(odds[number]), Moment(*run), True
        failing = 1 - sum(odds)
        if failing > ROUNDING:
            yield float(failing), Moment(*idle), False

    def charge(self, state: Moment, step: Step, after: Moment) -> Number:
        """Return the cost of `step` in `state` where it leads to the state `after`."""
        action = self._source.domain.actions[step.action]
        cost = cost_of(self._source, action, bind_parameters(action, step))
        return exact_sum([self._turns.cost_of(cost), self._change(state.simulation, after.simulation), after.time_cost])

    def _change(self, before: Simulation, after: Simulation) -> Number:
        metric = self._turns.problem.metric
        if not isinstance(metric, NumericMetric):
            return 0
        return change_between(metric, before.world.state.values, after.world.state.values, 0)

    def worth(self, state: Moment) -> tuple[bool, float]:
        """Return whether the goal holds at last and what was due was reached, and the utility of ending there."""
        ended = self._turns.finish(self._engine, state.simulation, state.clock)
        if ended is None or not ended[1]:
            return False, 0.0
        return super().worth(ended[0])

    def end_cost(self, state: Moment) -> Number:
        """Return what ending in `state` costs, as changes at known times still happen."""
        ended = self._turns.finish(self._engine, state.simulation, state.clock)
        if ended is None:
            return 0
        return exact_sum([self._change(state.simulation, ended[0]), ended[2]])

    def wait_until(self, state: Moment, formula: Formula) -> Moment | None:
        """Return the state in which `formula` holds first, with no step before it; None without one."""
        read = names_in(formula)
        waited = self._turns.wait(self._engine, state.simulation, state.clock, lambda each: each.holds(formula), read)
        return None if waited is None else Moment(*waited)

    def surely_holds(self, state: Moment, formula: Formula) -> bool:
        """Return whether the ground `formula` holds in `state`."""
        return state.simulation.holds(formula)
