"""Is there a decomposition that gives exactly these steps? For plans that come without one."""

from __future__ import annotations

from collections.abc import Sequence

from htn.creation import named_by
from htn.model import HtnProblem
from htn.plan import Decomposition
from htn.verify import validate
from htn.verify.chart import Chart
from htn.verify.grammar import Grammar
from planner.budget import Budget, LimitReached
from planner.plan import Plan, Step, StoppedBy
from planner.records import replace
from planner.validate import Verdict
from planner.validate import validate as validate_steps


def decomposition_of(problem: HtnProblem, steps: Sequence[Step], budget: Budget) -> Decomposition | None:
    """Return a decomposition with which `steps` are a plan of `problem`; None where it is proved that there is none.

    Total orders take polynomial time in the number of steps, partial orders may take very long. Raises `LimitReached`
    when `budget` is used up, and as `planner.validate.validate` for a problem that means nothing.
    """
    problem = named_by(problem, steps)
    grammar = Grammar(problem, steps, budget)
    if not grammar.is_plan:
        return None
    return Chart(grammar, budget, in_line=problem.is_ordered).parsed()


def judged(problem: HtnProblem, plan: Plan, budget: Budget) -> Verdict:
    """Return whether `plan` works: as `htn.verify.validate` where it has a decomposition, else whether there is one.

    Where `budget` is used up in the search for one, the verdict says by which limit.
    """
    if plan.tree is not None:
        return validate(problem, plan)
    verdict = validate_steps(problem.classical, plan)
    if not verdict.valid:
        return verdict
    try:
        tree = decomposition_of(problem, plan.steps, budget)
    except LimitReached as limit:
        return _undecided(verdict, limit.stopped_by)
    except MemoryError:
        return _undecided(verdict, StoppedBy.MEMORY)
    if tree is None:
        return Verdict(valid=False, cost=verdict.cost, reason="no decomposition of the tasks gives these steps")
    return validate(problem, replace(plan, problem=problem, tree=tree))


def _undecided(verdict: Verdict, stopped_by: StoppedBy) -> Verdict:
    reason = (
        "the steps can be done and reach the goal, but whether the tasks decompose into them was not found out: "
        f"stopped by {stopped_by.value}; a plan with its decomposition is checked at once"
    )
    return Verdict(valid=False, cost=verdict.cost, reason=reason, stopped_by=stopped_by)
