"""The plans of a hierarchical problem, the cheapest first."""

from __future__ import annotations

from collections.abc import Callable, Sequence

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
from planner.candidates.iterator import Candidates, Making, Which, no_limit
from planner.candidates.listing import Listing
from planner.candidates.variants import Variants
from planner.compiled import library
from planner.errors import UnsupportedError
from planner.model.domain import creates_objects
from planner.plan import Plan
from planner.records import replace
from planner.task import Task
from planner.wishes import valued


def candidates(problem: HtnProblem, budget: Budget, which: Which) -> Candidates:
    """Return the plans for `problem`, each with a decomposition; see `planner.candidates`.

    Plans with the same steps are one, whatever they came of. Raises `UnsupportedError` for problems that it does not
    take.
    """
    if problem.classical.unknown:
        raise UnsupportedError("candidates of tasks where facts are unknown")
    refused = unsupported(problem.classical, takes=("budgets", "soft goals", "soft constraints"))
    if refused is not None:
        raise UnsupportedError(
            refused.reason.removesuffix(" yet").replace("search", "the search for candidates of tasks")
        )
    if creates_objects(problem.classical.domain):
        raise UnsupportedError("candidates where actions create objects")
    return HtnCandidates(problem, budget, which)


class HtnCandidates(Candidates):
    """The plans of a hierarchical problem."""

    def _prepared(self) -> tuple[Task, Listing, Making] | None:
        plain = _without_wishes(self.problem)
        found = ground(plain, self._budget)
        if found.unreachable_goal is not None or found.root is None:
            return None
        check = self._budget.check
        progress = Progress(Board(found, library.loaded() or library.ENTRIES, check))
        space = progress.nodes.space
        exploring = Exploring(progress, Variants(space.task, check).first)
        commuting = None if self._which.orders else _commuting(space.task, found, self.problem, check)
        limit = no_limit if self.problem.classical.is_limited else self._which.limit
        listing = HtnListing(space, exploring, commuting, limit, check, frugal=not self._which.wasteful)
        return space.task, listing, Handing(self.problem, plain, found, exploring).plan


def _commuting(task: Task, ground: GroundHtn, problem: HtnProblem, check: Callable[[], None]) -> Commuting:
    read = {fact for method in ground.methods for fact in method.precondition}
    return Commuting(task, check, Items(problem.classical), others=read)


def _without_wishes(problem: HtnProblem) -> HtnProblem:
    if not problem.classical.wishes:
        return without_constraints(problem)
    from htn.wishes import without_wishes  # noqa: PLC0415 - few problems need it

    return without_wishes(problem)


class Handing:
    """Makes plans for `problem` of actions, with the decompositions that `exploring` knows, and checks them.

    `ground` was made of the `plain` one, without wishes and constraints.
    """

    def __init__(self, problem: HtnProblem, plain: HtnProblem, ground: GroundHtn, exploring: Exploring) -> None:
        self._problem, self._plain, self._ground, self._exploring = problem, plain, ground, exploring
        self._unlimited = replace(problem, classical=replace(problem.classical, budgets={}))

    def plan(self, actions: Sequence[int]) -> Plan | None:
        """Return the plan; None where it breaks a budget, or forgoes a wish that comes true."""
        part = self._exploring.latest
        assert part is not None  # noqa: S101 - the plan was found there
        with Finishing():
            whole = plan_of(tree_of(self._ground, moves_of(part, actions)), self._plain, self._ground)
            plan = self._declared(whole)
            verdict = validate(self._unlimited, plan)
            if not verdict.valid:
                raise RuntimeError(f"internal error: search found a plan that is not valid: {verdict.reason}")
            if self._problem.classical.budgets and not validate(self._problem, plan).valid:
                return None
        if not self._problem.classical.wishes:
            return plan
        plan = valued(plan, verdict)
        return plan if plan.charge == whole.cost else None

    def _declared(self, plan: Plan) -> Plan:
        if not self._problem.classical.wishes:
            return replace(plan, problem=self._problem)
        from htn.wishes import bare  # noqa: PLC0415 - as above

        return bare(plan, self._problem)
