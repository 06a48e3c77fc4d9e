"""All steps with which an optimal plan begins, and the optimal cost, proved."""

from __future__ import annotations

from planner.compilations.object_creation import declared_arguments
from planner.errors import UnsupportedError
from planner.lightweight import TYPE_CHECKING, Any, dataclass, field, replace
from planner.limits import STOPS, Limits, check_limits, stop_reason
from planner.model import Number, Problem, is_temporal
from planner.model.constructs import Service, name_refused
from planner.model.problem import is_numeric
from planner.plan import Status, Step, StoppedBy, divide_exactly, json_number, name_as_written
from planner.portfolio.workplace import Workplace
from planner.problem_kinds import AnyProblem, classical_of, resolve_problem, with_sealed_classical
from planner.questions.applicability import applicable
from planner.questions.notation import AnyState, put_state, spell, start_whole_in
from planner.questions.whole_tasks import WholeTask
from planner.search import Ending, Run
from planner.search.search_run import Steps

if TYPE_CHECKING:
    import threading


@dataclass(frozen=True, slots=True)
class FirstSteps:
    """The `steps` with which a cheapest plan begins, all of them, and its `cost`.

    With status OPTIMAL both are proved; without steps the goal holds already. UNSOLVABLE: there is no plan. UNKNOWN:
    the limit `stopped_by` came before the proof.
    """

    status: Status
    stopped_by: StoppedBy
    problem: Problem = field(repr=False, compare=False)
    steps: tuple[Step, ...] = ()
    cost: Number | None = None

    def __str__(self) -> str:
        if self.status is not Status.OPTIMAL:
            return str(self.status.value)
        if not self.steps:
            return "the goal holds already"
        return "\n".join([f"optimal cost {self.cost}", *[spell(self.problem, step) for step in self.steps]])

    def to_dict(self) -> dict[str, Any]:
        """Return the answer as JSON-ready data."""
        return {
            "status": self.status.name,
            "cost": json_number(self.cost),
            "steps": [spell(self.problem, step) for step in self.steps],
            "stopped_by": self.stopped_by.name.lower(),
        }


def optimal_first_steps(
    problem: AnyProblem,
    state: AnyState | None = None,
    *,
    time_limit: float | None = 10.0,
    memory_limit: float | None = None,
    cancel: threading.Event | None = None,
) -> FirstSteps:
    """Return all steps with which a cheapest plan from `state`, by default from the initial one, begins.

    A* expands all states on plans of optimal cost; where facts are not all, `solve` is asked for a plan for each first
    step. Constraints on the way, budgets and deadlines do not count; of uncertain actions the intended outcome does,
    and soft goals that are forgone cost their utilities. Raises `InputError` for facts that the problem cannot have and
    for invalid limits, `UnsupportedError` for problems in time, in which several steps may begin at once, and for
    unknown facts.
    """
    check_limits(time_limit, memory_limit)
    limits = Limits(time_limit, memory_limit, cancel)
    try:
        if not isinstance(problem, Problem) or _is_for_solve(problem):
            return _ask_for_plans(problem, state, limits)
        start = start_whole_in(problem, state, "optimal_first_steps")
        return _find_steps(start, limits)
    except STOPS as stop:
        return FirstSteps(Status.UNKNOWN, stop_reason(stop), classical_of(problem))


def _is_for_solve(problem: Problem) -> bool:
    is_plain = not (is_temporal(problem) or is_numeric(problem) or problem.goal.soft)
    return not is_plain or bool(name_refused(problem, Service.QUESTIONS))


def _ask_for_plans(problem: AnyProblem, state: AnyState | None, limits: Limits) -> FirstSteps:
    """Return what `solve` says of plans that begin with each of the steps that can be taken first."""
    from planner.questions.first_steps_by_plans import find_first_steps

    problem = resolve_problem(problem)
    if is_temporal(classical_of(problem)):
        hint = "solve(problem) gives a plan, and partial_order(problem, plan) its order"
        raise UnsupportedError("a problem in time, in which several steps may begin at once, in this question", hint)
    start = put_state(classical_of(problem), state)
    possible = [replace(step, arguments=declared_arguments(start, step)) for step in applicable(start)]
    free = replace(start, constraints=(), budgets={}, deadline=None)
    return find_first_steps(with_sealed_classical(problem, free), list(dict.fromkeys(possible)), limits)


def _find_steps(problem: Problem, limits: Limits) -> FirstSteps:
    from planner.topk.exploration import explore

    whole = WholeTask(problem, limits, with_goal=True)
    if whole.task.unreachable_goal is not None:
        return FirstSteps(Status.UNSOLVABLE, StoppedBy.EXHAUSTED, problem)
    exploration = explore(Workplace(whole.task, whole.space, Run(), limits.check), past_goals=False)
    ending = _run(exploration.find_first_plan(), limits)
    if ending is Ending.EXHAUSTED and exploration.optimum is None:
        return FirstSteps(Status.UNSOLVABLE, StoppedBy.EXHAUSTED, problem)
    best = exploration.optimum
    if best is None or _run(exploration.expand_through(best), limits) is not Ending.EXHAUSTED:
        return FirstSteps(Status.UNKNOWN, StoppedBy.INCOMPLETE, problem)
    part = exploration.part(best)
    edges = part.edges(part.start)
    found = [whole.task.actions[number].step for number in sorted(edges)]
    unique = {(step.action, step.arguments): step for step in name_as_written(found, problem)}
    cost = divide_exactly(best, whole.task.resolution)
    return FirstSteps(Status.OPTIMAL, StoppedBy.EXHAUSTED, problem, tuple(unique.values()), cost)


def _run(search: Steps, limits: Limits) -> Ending:
    """Run `search` to its end; raises `LimitReached` at a limit."""
    while True:
        limits.check()
        try:
            next(search)
        except StopIteration as stop:
            ending: Ending = stop.value
            return ending
