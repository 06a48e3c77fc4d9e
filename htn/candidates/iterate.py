"""The plans of a hierarchical problem, the cheapest first."""

from __future__ import annotations

from collections.abc import Sequence

from htn.candidates.decompositions import moves_of
from htn.candidates.explore import Exploring
from htn.candidates.listing import HtnListing
from htn.candidates.space import Progress
from htn.constraints import without_constraints
from htn.grounding.ground import GroundHtn, ground
from htn.model import HtnProblem
from htn.search.arrays import Board
from htn.search.trees import plan_of, tree_of
from htn.verify import validate
from planner.answer import unsupported
from planner.budget import Budget, Finishing
from planner.candidates.commuting import Commuting
from planner.candidates.items import Items
from planner.candidates.iterator import Candidates, Making, Which
from planner.candidates.listing import Listing
from planner.candidates.variants import Variants
from planner.compiled import library
from planner.errors import UnsupportedError
from planner.model.domain import creates_objects
from planner.plan import Plan
from planner.task import Task


def candidates(problem: HtnProblem, budget: Budget, which: Which) -> Candidates:
    """Return the plans for `problem`, each with a decomposition; see `planner.candidates`.

    Plans with the same steps are one, whatever they came of. Raises `UnsupportedError` for problems that it does not
    take.
    """
    refused = unsupported(problem.classical)
    if refused is not None:
        raise UnsupportedError(refused.reason)
    if creates_objects(problem.classical.domain):
        raise UnsupportedError("candidates where actions create objects")
    return HtnCandidates(problem, budget, which)


class HtnCandidates(Candidates):
    """The plans of a hierarchical problem."""

    def _prepared(self) -> tuple[Task, Listing, Making] | None:
        found = ground(without_constraints(self.problem), self._budget)
        if found.unreachable_goal is not None or found.root is None:
            return None
        check = self._budget.check
        progress = Progress(Board(found, library.loaded() or library.ENTRIES, check))
        space = progress.nodes.space
        exploring = Exploring(progress, Variants(space.task).first)
        commuting = None if self._which.orders else _commuting(space.task, found, self.problem)
        listing = HtnListing(space, exploring, commuting, self._which.limit, check, frugal=not self._which.wasteful)
        return space.task, listing, Handing(self.problem, found, exploring).plan


def _commuting(task: Task, ground: GroundHtn, problem: HtnProblem) -> Commuting:
    read = {fact for method in ground.methods for fact in method.precondition}
    return Commuting(task, Items(problem.classical), others=read)


class Handing:
    """Makes plans of actions, with the decompositions that `exploring` knows, and checks them."""

    def __init__(self, problem: HtnProblem, ground: GroundHtn, exploring: Exploring) -> None:
        self._problem, self._ground, self._exploring = problem, ground, exploring

    def plan(self, actions: Sequence[int]) -> Plan:
        """Return the plan."""
        part = self._exploring.latest
        assert part is not None  # noqa: S101 - the plan was found there
        with Finishing():
            plan = plan_of(tree_of(self._ground, moves_of(part, actions)), self._problem, self._ground)
            verdict = validate(self._problem, plan)
            if not verdict.valid:
                raise RuntimeError(f"internal error: search found a plan that is not valid: {verdict.reason}")
        return plan
