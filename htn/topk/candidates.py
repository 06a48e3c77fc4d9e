"""The plans of a hierarchical problem, the cheapest first.

Plans by their costs, each once, whatever they came of.

Which orders of independent steps need not be tried, where tasks may not allow all of them.

The best plans of a hierarchical problem, one after the other.

space            what is reached, by number: a state and what is left to do
explore          all of it through which plans of up to some cost go
subsets          the same, by steps: what different decompositions of the same steps lead to is one
independent      which orders of independent steps need not be tried
decompositions   how the tasks come to the steps of a plan
iterate          plans for whoever asks for them, checked
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from htn import kernels
from htn.compilations.soft_goals import compile_constraints, compile_wishes
from htn.grounding.ground import GroundHtn, ground
from htn.model import HtnProblem
from htn.search.ground_hierarchy import Board
from htn.search.plan_extraction import plan_of, tree_of
from htn.topk.exploration import Exploring, Progress, moves_of
from htn.verification.validate import validate
from planner.compilations.soft_goals import value_plan
from planner.errors import UnsupportedError
from planner.lightweight import replace
from planner.limits import Finishing, Limits
from planner.model.domain import creates_objects
from planner.plan import Plan
from planner.portfolio.incumbent import refuse_constructs
from planner.task.ground_task import Task, facts_of
from planner.topk.candidates import Candidates, Making, Which, no_limit
from planner.topk.completions import Completions
from planner.topk.listing import Listing
from planner.topk.partial_order_reduction import Commuting, Items, Part, Sleep, Variants


class LocalSleep(Sleep):
    """Actions sleep while they are independent where they are: both orders lead to the same state of `part`.

    (Conditional independence: Katz and Peled, 1992.)
    """

    def __init__(self, commuting: Commuting, part: Part) -> None:
        super().__init__(commuting)
        self._part = part

    def after(self, state: int, asleep: int, action: int) -> int:
        """Return which of those `asleep` go on sleeping when `action` is done in `state`."""
        here, found = self._part.edges(state), 0
        then = self._part.edges(here[action])
        for place in facts_of(super().after(state, asleep, action)):
            other = self.action(place)
            both = self._part.edges(here[other]).get(action) if other in here else None
            if both is not None and then.get(other) == both:
                found |= 1 << place
        return found


class HtnListing(Listing):
    """The plans of tasks, whose parts are by step already."""

    def by_step(self, part: Part) -> Part:
        """Return `part`."""
        return part

    def sleep(self, commuting: Commuting, part: Part) -> Sleep:
        """Return what leaves few of the orders of independent steps."""
        return LocalSleep(commuting, part)

    def ordered(self, plan: Sequence[int]) -> tuple[int, ...]:
        """Return `plan`: tasks may not allow any other order."""
        return tuple(plan)

    def key(self, plan: tuple[int, ...]) -> tuple[int, ...]:
        """Return what plans share that differ in the order of independent steps."""
        return plan if self.commuting is None else self.commuting.first(plan)

    def first_orders(self, completions: Completions) -> Iterator[tuple[int, ...]]:
        """Return the plans that cost as much as those that come next.

        Those of which steps can be left out are in none of the lists: the rest of them costs less, as no step is free,
        and all that costs less was expanded.
        """
        return (tuple(plan) for plan in completions if self.space.cost_of(plan) >= self.lower_bound)


def candidates(problem: HtnProblem, limits: Limits, which: Which) -> Candidates:
    """Return the plans for `problem`, each with a decomposition; see `planner.topk.top_k`.

    Plans with the same steps are one, whatever they came of. Raises `UnsupportedError` for problems that it does not
    take.
    """
    if problem.classical.unknown:
        raise UnsupportedError("candidates of tasks where facts are unknown")
    refused = refuse_constructs(problem.classical, takes=("budgets", "soft goals", "soft constraints"))
    if refused is not None:
        raise UnsupportedError(
            refused.reason.removesuffix(" yet").replace("search", "the search for candidates of tasks")
        )
    if creates_objects(problem.classical.domain):
        raise UnsupportedError("candidates where actions create objects")
    return HtnCandidates(problem, limits, which)


class HtnCandidates(Candidates):
    """The plans of a hierarchical problem."""

    def _prepared(self) -> tuple[Task, Listing, Making] | None:
        plain = _without_wishes(self.problem)
        found = ground(plain, self._limits)
        if found.unreachable_goal is not None or found.root is None:
            return None
        check = self._limits.check
        progress = Progress(Board(found, kernels.entries(), check))
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
    """Return `problem` without wishes and constraints."""
    compiled = compile_wishes(problem) if problem.classical.wishes else compile_constraints(problem)
    plain: HtnProblem = compiled.problem
    return plain


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
        assert part is not None
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
        plan = value_plan(plan, verdict)
        return plan if plan.charge == whole.cost else None

    def _declared(self, plan: Plan) -> Plan:
        if not self._problem.classical.wishes:
            return replace(plan, problem=self._problem)
        from htn.compilations.soft_goals import bare

        return bare(plan, self._problem)
