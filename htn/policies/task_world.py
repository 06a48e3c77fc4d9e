"""The world of a hierarchical problem, in which policies are evaluated."""

from __future__ import annotations

from collections.abc import Iterator

from htn.model import HtnProblem
from htn.policies.remaining_tasks import Methods, Remaining, find_ready, name_tasks, replace_task
from planner.errors import PlanError
from planner.lightweight import Any, dataclass
from planner.model import Atom, Formula, Number
from planner.plan import Step
from planner.policies.evaluation import Spent, World, classical_world_of


@dataclass(frozen=True, slots=True)
class Undertaking:
    """A state of the world `inner`, with the tasks that are left, and the `place` of the task that is next."""

    inner: Any
    remaining: Remaining
    place: int = -1


class TaskWorld(World):
    """The world of a problem with tasks: a step does or decomposes a task before which nothing is left."""

    def __init__(self, problem: HtnProblem) -> None:
        self._world = classical_world_of(problem.classical)
        self.problem = self._world.problem
        self._methods = Methods(problem)
        self.declared: Any = self
        self.initial = Undertaking(self._world.declared.initial, self._methods.first)
        self._chosen = -1

    def key(self, state: Undertaking, spent: Spent) -> tuple[Any, ...]:
        """Return a key by which states are compared."""
        return *self._world.key(state.inner, spent), state.remaining

    def ask_for_step(self, strategy: Any, state: Undertaking, spent: Spent) -> Step | None:
        """Return the step that `strategy` selects; raise `PlanError` where it is inapplicable, or does no task."""
        asked = _Asked(strategy)
        step = self._world.next_step_of(asked, state.inner, spent, tasks=name_tasks(state.remaining))
        if step is None:
            return None
        place = self._find_place(state.remaining, step, asked.place)
        method = self._method_of(state.remaining, place, step)
        if method is None:
            self._world.check_step(state.inner, step)
        elif self._world.wait_until(state.inner, method.precondition) is None:
            raise PlanError(f"the method {step} requires {method.precondition}")
        self._chosen = place
        return step

    def _find_place(self, remaining: Remaining, step: Step, wanted: int | None) -> int:
        ready = [place for place in find_ready(remaining) if self._does(remaining[place][0], step)]
        if not ready or (wanted is not None and wanted not in ready):
            raise PlanError(f"{step} does none of the tasks that are next")
        return ready[0] if wanted is None else wanted

    def _does(self, task: Atom, step: Step) -> bool:
        if not self._methods.is_compound(task):
            return (task.predicate, task.args) == (step.action, step.arguments)
        return any(_same(each.step, step) for each in self._methods.of(task))

    def _method_of(self, remaining: Remaining, place: int, step: Step) -> Any:
        task = remaining[place][0]
        if not self._methods.is_compound(task):
            return None
        return next(each for each in self._methods.of(task) if _same(each.step, step))

    def outcomes(self, state: Undertaking, step: Step) -> Iterator[tuple[float, Undertaking]]:
        """Yield each outcome of the step that was asked for last, as a probability and the next state."""
        remaining, place = state.remaining, self._chosen
        method = self._method_of(remaining, place, step)
        if method is not None:
            after = self._world.wait_until(state.inner, method.precondition)
            yield 1.0, Undertaking(after, replace_task(remaining, place, method.subtasks, method.ordering))
            return
        left = replace_task(remaining, place, (), ())
        for share, after, happened in self._world.declared.results(state.inner, step):
            yield share, Undertaking(after, left if happened else remaining)

    def charge(self, state: Undertaking, step: Step, after: Undertaking) -> Number:
        """Return the cost of `step` in `state` where it leads to the state `after`."""
        if self._is_method(step):
            return 0
        return self._world.charge(state.inner, step, after.inner)

    def spend(self, step: Step, spent: Spent) -> Spent:
        """Return the amounts of the budgets that are spent after `step`; raises `PlanError` where one is exceeded."""
        return spent if self._is_method(step) else self._world.spend(step, spent)

    def _is_method(self, step: Step) -> bool:
        return step.action not in self.problem.domain.actions

    def worth(self, state: Undertaking) -> tuple[bool, float]:
        """Return whether all tasks are done and the goal holds in `state`, and the utility of ending there."""
        return (False, 0.0) if state.remaining else self._world.worth(state.inner)

    def end_cost(self, state: Undertaking) -> Number:
        """Return what ending in `state` costs."""
        return self._world.end_cost(state.inner)

    def surely_holds(self, state: Undertaking, formula: Formula) -> bool:
        """Return whether the ground `formula` is known to hold in `state`."""
        return self._world.surely_holds(state.inner, formula)


class _Asked:
    """Asks a strategy, and keeps the place of the task that it chose, if it tells one."""

    def __init__(self, strategy: Any) -> None:
        self._strategy = strategy
        self.place: int | None = None

    def next_step(self, facts: frozenset[Atom], **more: Any) -> Step | None:
        """Return the next step."""
        if not hasattr(self._strategy, "node"):
            step: Step | None = self._strategy.next_step(facts, **more)
            return step
        node = self._strategy.node(facts, **more)
        self.place = None if node is None else node.place
        return None if node is None else node.step


def _same(one: Step, other: Step) -> bool:
    return (one.action, one.arguments) == (other.action, other.arguments)
