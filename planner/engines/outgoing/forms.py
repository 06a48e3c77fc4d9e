"""The forms that a problem can be given to an engine in, from the richest to the plainest, and which one it takes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias, overload

from planner.budget import Budget
from planner.engines.kinds import in_words
from planner.engines.outgoing.problem import Outgoing, to_unified_planning
from planner.engines.outgoing.propositional import propositional
from planner.engines.outgoing.width import is_wide
from planner.errors import UnsupportedError
from planner.grounding import ground
from planner.kinds import AnyProblem, OtherProblem
from planner.model import Formula, Problem
from planner.plan import Step

if TYPE_CHECKING:
    import unified_planning.model as up

    from planner.engines.others import OtherOutgoing

METRIC: Final = frozenset(
    {
        "ACTIONS_COST",
        "INT_NUMBERS_IN_ACTIONS_COST",
        "PLAN_LENGTH",
        "REAL_NUMBERS_IN_ACTIONS_COST",
        "STATIC_FLUENTS_IN_ACTIONS_COST",
    }
)
"""Features that an engine may do without: it finds plans all the same, whatever they cost."""

MODEST: Final = frozenset({"UNDEFINED_INITIAL_NUMERIC"})
"""Features that engines need not name: a cost without a value is that of an instance that is never applicable."""

OVERSTATED: Final = {
    "aries": frozenset({"STATIC_FLUENTS_IN_ACTIONS_COST"}),
    "fast-downward-opt": frozenset({"EXISTENTIAL_CONDITIONS", "UNIVERSAL_CONDITIONS"}),
}
"""Features that an engine says it takes, and does not: Aries ends with an internal error; Fast Downward's translator
makes derived predicates of quantifiers, and its heuristic refuses those."""


Read: TypeAlias = Callable[[Any], tuple[tuple[Step, ...], Any]]


@dataclass(frozen=True, slots=True)
class Form:
    """A problem as an engine takes it; `sees_costs` says that it is told the costs.

    `read` maps its plans back: to steps, and the tasks that they came of, if any.
    """

    problem: up.Problem
    read: Read
    sees_costs: bool


class GoalUnreachableError(Exception):
    """Grounding proved that the goal cannot be reached, by the part of it that is given."""

    def __init__(self, part: Formula) -> None:
        super().__init__(part)
        self.part = part


def form_for(problem: AnyProblem, name: str, engine: Any, budget: Budget) -> Form:
    """Return `problem` in the richest form that `engine`, called `name`, takes.

    Raises `UnsupportedError` where it takes none, `GoalUnreachableError` where grounding proves that there is no plan,
    and `LimitReached` when the budget is used up.
    """
    lacks: set[str] = set()
    conditional = "CONDITIONAL_EFFECTS" in engine.supported_kind().features
    if isinstance(problem, Problem):
        forms = _forms(problem, conditional=conditional, budget=budget)
    else:
        forms = _others(problem, budget)
    for target, read in forms:
        missing = set(target.kind.features) - offered(name, engine)
        if missing <= METRIC:
            if missing:
                target.clear_quality_metrics()
            return Form(target, read, sees_costs=not missing)
        lacks = missing - METRIC
    raise UnsupportedError(f"{in_words(lacks)}, by {name}")


def offered(name: str, engine: Any) -> frozenset[str]:
    """Return the features that `engine`, called `name`, really takes."""
    return frozenset(engine.supported_kind().features) - OVERSTATED.get(name, frozenset()) | MODEST


def _forms(problem: Problem, *, conditional: bool, budget: Budget) -> Iterator[tuple[up.Problem, Read]]:
    """Yield the lifted problem where there are words for it, then the ground one, both with their ways back."""
    lifted = _lifted(problem, budget)
    if lifted is not None:
        yield lifted.problem, lambda plan: (lifted.steps(plan), None)
    task = ground(problem, budget)
    if task.unreachable_goal is not None:
        raise GoalUnreachableError(task.unreachable_goal)
    plain = propositional(task, conditional=conditional)
    target = to_unified_planning(plain.problem)
    yield target.problem, lambda plan: (plain.steps(target.steps(plan)), None)


def _others(problem: OtherProblem, budget: Budget) -> Iterator[tuple[up.Problem, Read]]:
    """Yield a problem of another kind in the same two forms."""
    lifted = _lifted(problem, budget)
    if lifted is not None:
        yield lifted.problem, _reading(lifted)
    plain = problem.to_unified_planning(budget=budget, is_ground=True)
    yield plain.problem, _reading(plain)


def _reading(outgoing: OtherOutgoing) -> Read:
    def read(plan: Any) -> tuple[tuple[Step, ...], Any]:
        found = outgoing.plan(plan)
        return found.steps, found.tree

    return read


@overload
def _lifted(problem: Problem, budget: Budget) -> Outgoing | None: ...


@overload
def _lifted(problem: OtherProblem, budget: Budget) -> OtherOutgoing | None: ...


def _lifted(problem: AnyProblem, budget: Budget) -> Outgoing | OtherOutgoing | None:
    """Return `problem` as it is written; None where that has no words, or would be multiplied out to very many."""
    if is_wide(problem if isinstance(problem, Problem) else problem.classical):
        return None
    try:
        return to_unified_planning(problem, budget=budget)
    except UnsupportedError:
        return None
