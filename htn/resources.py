"""Budgets of hierarchical problems: as in `planner.resources.resource_portfolio`, with searches for decompositions.

States and what is left to do, as a space that labels are searched in (`planner.resources.label_setting`).
"""

from __future__ import annotations

from collections.abc import Sequence

from htn import kernels
from htn.grounding.ground import GroundHtn
from htn.incumbent import HtnIncumbent
from htn.lifted.depth_first import Meanwhile
from htn.model import HtnProblem
from htn.portfolio import run_portfolio
from htn.search.ground_hierarchy import Board
from htn.search.plan_extraction import tree_of
from htn.search.task_networks import Node, Nodes
from planner.jit.common_kernel import INFINITE
from planner.lightweight import Final, replace
from planner.options import SolveOptions
from planner.portfolio.tiers import Contender
from planner.resources.label_setting import Estimate, Vector
from planner.resources.resource_portfolio import (
    Searching,
    Spending,
    Weights,
    columns_of,
    concluded,
    labelled,
    sharing,
    spending_of,
)
from planner.search.search_run import DEAD_END, Ending, Run, Steps

LARGE: Final = 1 << 40
"""Costs from here on might add up to more than kernels can count."""


class Counted:
    """The space of all decompositions. What labels take for an action is a move, and the action that it does, if any.

    Where it is `guided`, nodes from which not even the relaxed composition gets on are dead ends.
    """

    def __init__(self, board: Board, run: Run, *, guided: bool) -> None:
        self._board, self._run, self._guided = board, run, guided
        self._ways = Nodes(board, board.costs, 0)
        self._size = len(board.costs) + 1
        self.initial = self._ways.initial

    def is_goal(self, node: Node) -> bool:
        """Return whether nothing is left to do, and the goal holds."""
        return not node[1] and self._ways.is_goal(node[0])

    def successors(self, node: Node) -> list[tuple[int, Node]]:
        """Return `(move and action, next node)` for all that can be done now."""
        ways, size = self._ways, self._size
        found = []
        for child, move in ways.successors(node):
            action = size - 1 if ways.is_method(move) else ways.task(node, move)
            found.append((move * size + action, child))
        return found

    def moves(self, path: Sequence[int]) -> list[int]:
        """Return the moves of a path (see `htn.search.plan_extraction`)."""
        return [each // self._size for each in path]

    def charges(self, columns: Sequence[Sequence[int]]) -> _Charges:
        """Return what is paid on the way, whose `columns` are by action."""
        return _Charges([*zip(*columns, strict=True), (0,) * len(columns)])

    def estimates(self, columns: Sequence[list[int]]) -> list[Estimate]:
        """Return what all that is left to do comes to at least, whatever the state is, for each of the `columns`."""
        first, *others = [self._estimate(costs) for costs in columns]
        return [self._living(first) if self._guided else first, *others]

    def _estimate(self, costs: list[int]) -> Estimate:
        if max(costs, default=0) >= LARGE:
            return lambda _node: 0
        least, tasks = self._board.cheapest(costs), self._size - 1 + len(self._board.ground.compounds)

        def estimate(node: Node) -> int:
            found = sum([least[task] for task, _ in node[1] if task < tasks])
            return DEAD_END if found >= INFINITE else found

        return estimate

    def _living(self, estimate: Estimate) -> Estimate:
        """Return `estimate` with dead ends."""

        def living(node: Node) -> int:
            if node[1]:
                self._run.evaluated += 1
                if self._ways.estimate(node) >= INFINITE:
                    return DEAD_END
            return estimate(node)

        return living


class _Charges:
    """What is paid for a move, by the action that it does."""

    def __init__(self, vectors: list[Vector]) -> None:
        self._vectors = vectors

    def __getitem__(self, code: int) -> Vector:
        return self._vectors[code % len(self._vectors)]


def within_budgets(ground: GroundHtn, problem: HtnProblem, incumbent: HtnIncumbent, options: SolveOptions) -> Steps:
    """Search for the cheapest plan that keeps the budgets; the options name a search of `LABELLED`, if any.

    Where no plan keeps them, `run.excluded` says why. Raises as `planner.resources.label_setting.allowances` does.
    """
    classical = problem.classical
    search_by = _searching(ground, problem, incumbent)
    spending = spending_of(ground.task, classical, incumbent.run, search_by, lambda moves: tree_of(ground, moves).steps)
    guided = options.search != "uniform" and options.heuristic != "blind"
    board = Board(ground, kernels.entries(), incumbent.limits.check)
    if options.search or options.heuristic:
        ending = yield from _labels(board, spending, guided=guided)
    else:
        turns = [Contender(_labels(board, spending, guided=guided), 1)]
        ending = yield from sharing(spending, options.mode, lambda sums: _labels(board, spending, sums), turns)
    return concluded(spending, classical, ending)


def _searching(ground: GroundHtn, problem: HtnProblem, incumbent: HtnIncumbent) -> Searching:
    """Return how one searches by other costs: as by the real ones."""

    def steps(costs: list[int], run: Run, improve: bool) -> Steps:
        if max(costs, default=0) >= LARGE:
            return Ending.INCOMPLETE
        assert ground.arrays is not None
        other = replace(ground, arrays=replace(ground.arrays, costs=costs))
        inner = HtnIncumbent(problem, SolveOptions(), incumbent.limits)
        inner.run = run
        inner.take_hierarchy(other)
        meanwhile = Meanwhile(incumbent.limits, None, run, enough=False)
        return (yield from run_portfolio(other, "anytime" if improve else "optimal", inner, meanwhile))

    return steps


def _labels(board: Board, spending: Spending, sums: tuple[Weights, ...] = (), *, guided: bool = True) -> Steps:
    """Search by labels for the cost, for each resource, and for these sums of them."""
    run = spending.run
    run.by = ("labels", "composition" if guided else "blind")
    space, columns = Counted(board, run, guided=guided), columns_of(spending, sums)
    charges, estimates = space.charges(columns), space.estimates(columns)
    return (yield from labelled(space, spending, charges, estimates, sums, taken=space.moves))
