"""Search for tasks whose actions create objects: rounds with ever more placeholders (`planner.creation.rounds`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from htn.creation import over
from htn.model import HtnProblem
from planner.annotations import Any
from planner.budget import Budget
from planner.creation import with_placeholders
from planner.creation.bounds import Creation, creations_by
from planner.creation.placeholders import with_placeholders_in_any_order
from planner.creation.reach import rule_sizes
from planner.creation.rounds import Rounds
from planner.model import TypeHierarchy
from planner.model.domain import creates_objects
from planner.plan import Plan, Result
from planner.validate import Verdict


def with_enough(problem: HtnProblem) -> HtnProblem:
    """Return `problem` with placeholders enough for relaxed reachability; as it is if nothing creates.

    See `planner.creation.reach.with_enough`; methods are rules, too.
    """
    if not creates_objects(problem.classical.domain):
        return problem
    types = TypeHierarchy(problem.classical.domain.types)
    scopes = [problem.parameters, *(each.parameters for each in problem.domain.methods.values())]
    counts = {
        kind: max(size, *(sum(types.is_a((kind,), each.types) for each in scope) for scope in scopes))
        for kind, size in rule_sizes(problem.classical).items()
    }
    return over(problem, with_placeholders_in_any_order(problem.classical, counts))


def solve_with_creation(problem: HtnProblem, solve: Callable[..., Result], budget: Budget, **options: Any) -> Result:
    """Return the answer to `problem`, in which actions create objects; `solve` answers for problems without such.

    OPTIMAL and UNSOLVABLE hold for any number of created objects.
    """
    return _HtnRounds(problem, solve, budget, options).within_limits()


class _HtnRounds(Rounds):
    """Rounds for tasks."""

    def creations(self) -> list[Creation]:
        """Return what the actions create that the tasks may lead to."""
        actions = self._problem.classical.domain.actions
        return creations_by([actions[name] for name in _leads_to(self._problem)], self._problem.classical)

    def fewest(self) -> int:
        """Return how many creating steps of one kind every plan has at least: tasks say nothing of that."""
        return 0

    def expanded(self, counts: Mapping[str, int]) -> HtnProblem:
        """Return the problem with so many placeholders of each type."""
        return over(self._problem, with_placeholders(self._problem.classical, counts))

    def verdict(self, plan: Plan) -> Verdict:
        """Return what the independent checker says about `plan`."""
        from htn.verify import validate  # noqa: PLC0415 - loaded only with a plan

        return validate(self._problem, plan)

    def is_proved(self, steps: int) -> bool:
        """Return whether the tasks lead to nothing that creates, or cannot be done even with deletes ignored."""
        from htn.explain.why_not import is_impossible  # noqa: PLC0415 - wanted only where there is no plan

        return not self._creations or (steps == 1 and is_impossible(with_enough(self._problem), self._budget))


def _leads_to(problem: HtnProblem) -> list[str]:
    """Return the names of the actions that the tasks may lead to."""
    domain = problem.domain
    found = dict.fromkeys([each.task.predicate for each in problem.network.subtasks])
    open_names = list(found)
    while open_names:
        for method in domain.methods_for(open_names.pop()):
            fresh = [each.task.predicate for each in method.network.subtasks if each.task.predicate not in found]
            found.update(dict.fromkeys(fresh))
            open_names += dict.fromkeys(fresh)
    return [name for name in found if name in domain.classical.actions]
