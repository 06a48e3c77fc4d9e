"""Hierarchical problems with budgets: label-setting search (`planner.resources`) in the space of decompositions."""

from __future__ import annotations

from collections.abc import Sequence

from htn import kernels
from htn.grounding.ground_htn import GroundHtn
from htn.htn_portfolio import run_portfolio
from htn.lifted.depth_first import LimitsWithDescent
from htn.model import HtnProblem
from htn.search.htn_incumbent import HtnIncumbent, tree_of
from htn.search.packed_hierarchy import PackedHierarchy
from htn.search.task_networks import NetworkSpace, Node
from planner.jit.common_kernel import INFINITE
from planner.lightweight import Final, replace
from planner.options import SolveOptions
from planner.portfolio.tiers import Contender
from planner.resources import resource_portfolio as portfolio
from planner.resources.label_setting import Estimate, Vector
from planner.resources.resource_portfolio import CostSearch, Spending, Weights
from planner.search.search_run import DEAD_END, Ending, Run, Steps
from planner.search.task_compiled import tier_of

LARGE: Final = 1 << 40
"""Costs from which on sums might exceed the integers of kernels."""


class DecompositionSpace:
    """The space of decompositions for labels, whose actions are codes of a move and the action that it applies, if any.

    Where it is `guided`, nodes without a relaxed plan are dead ends.
    """

    def __init__(self, packed: PackedHierarchy, run: Run, *, guided: bool) -> None:
        self._packed, self._run, self._guided = packed, run, guided
        self._space = NetworkSpace(packed, packed.costs, 0)
        self._size = len(packed.costs) + 1
        self.initial = self._space.initial

    def is_goal(self, node: Node) -> bool:
        """Return whether no tasks are left, and the goal holds."""
        return not node[1] and self._space.is_goal(node[0])

    def successors(self, node: Node) -> list[tuple[int, Node]]:
        """Return `(code, next node)` for each move."""
        space, size = self._space, self._size
        found = []
        for child, move in space.successors(node):
            action = size - 1 if space.is_method(move) else space.task(node, move)
            found.append((move * size + action, child))
        return found

    def moves(self, path: Sequence[int]) -> list[int]:
        """Return the moves of a path of codes (see `htn.search.htn_incumbent.tree_of`)."""
        return [each // self._size for each in path]

    def charges(self, columns: Sequence[Sequence[int]]) -> _Charges:
        """Return the charges of codes; each of `columns` has a cost or resource by action."""
        return _Charges([*zip(*columns, strict=True), (0,) * len(columns)])

    def estimates(self, columns: Sequence[list[int]]) -> list[Estimate]:
        """Return for each of `columns` a lower bound of what the open tasks use, in any state."""
        first, *others = [self._estimate(costs) for costs in columns]
        return [self._with_dead_ends(first) if self._guided else first, *others]

    def _estimate(self, costs: list[int]) -> Estimate:
        if max(costs, default=0) >= LARGE:
            return lambda _node: 0
        least, tasks = self._packed.least_costs(costs), self._size - 1 + len(self._packed.ground.compounds)

        def estimate(node: Node) -> int:
            found = sum([least[task] for task, _ in node[1] if task < tasks])
            return DEAD_END if found >= INFINITE else found

        return estimate

    def _with_dead_ends(self, estimate: Estimate) -> Estimate:
        """Return `estimate` with dead ends where there is no relaxed plan."""

        def evaluate(node: Node) -> int:
            if node[1]:
                self._run.evaluated += 1
                if self._space.estimate(node) >= INFINITE:
                    return DEAD_END
            return estimate(node)

        return evaluate


class _Charges:
    """The charges of codes, by their actions."""

    def __init__(self, vectors: list[Vector]) -> None:
        self._vectors = vectors

    def __getitem__(self, code: int) -> Vector:
        return self._vectors[code % len(self._vectors)]


def search_within_budgets(
    ground: GroundHtn, problem: HtnProblem, incumbent: HtnIncumbent, options: SolveOptions
) -> Steps:
    """Search by labels for the cheapest plan that keeps the budgets; the options may name a search of `LABELLED`.

    Where no plan keeps them, `run.excluded` says why.
    """
    search_by = _search_by_costs(ground, problem, incumbent)
    spending = portfolio.spending_of(ground.task, incumbent.run, search_by, lambda moves: tree_of(ground, moves).steps)
    guided = options.search != "uniform" and options.heuristic != "blind"
    packed = PackedHierarchy(ground, kernels.load_kernels(), incumbent.limits.check)
    if options.search or options.heuristic:
        ending = yield from _search_labels(packed, spending, guided=guided)
    else:
        turns = [Contender(_search_labels(packed, spending, guided=guided), 1)]
        ending = yield from portfolio.share_turns(
            spending, options.mode, lambda sums: _search_labels(packed, spending, sums), turns
        )
    return portfolio.note_conclusion(spending, ending)


def _search_by_costs(ground: GroundHtn, problem: HtnProblem, incumbent: HtnIncumbent) -> CostSearch:
    """Return the search for plans by other costs than the real ones."""

    def steps(costs: list[int], run: Run, improve: bool) -> Steps:
        if max(costs, default=0) >= LARGE:
            return Ending.INCOMPLETE
        assert ground.arrays is not None
        other = replace(ground, arrays=replace(ground.arrays, costs=costs))
        inner = HtnIncumbent(problem, SolveOptions(), incumbent.limits)
        inner.run = run
        inner.take_hierarchy(other)
        limits = LimitsWithDescent(incumbent.limits, None, run)
        return (yield from run_portfolio(other, "anytime" if improve else "optimal", inner, limits))

    return steps


def _search_labels(
    packed: PackedHierarchy, spending: Spending, sums: tuple[Weights, ...] = (), *, guided: bool = True
) -> Steps:
    """Search by labels for the cost, each resource, and the weighted `sums` of them."""
    run = spending.run
    run.note_tier("reference", tier_of(packed.entries, *kernels.OWN))
    run.by = ("labels", "composition" if guided else "blind")
    space, columns = DecompositionSpace(packed, run, guided=guided), portfolio.columns_of(spending, sums)
    charges, estimates = space.charges(columns), space.estimates(columns)
    return (yield from portfolio.search_by_labels(space, spending, charges, estimates, sums, taken=space.moves))
