"""Budgets of hierarchical problems: as in classical planning, with searches for decompositions (`planner.budgets`)."""

from __future__ import annotations

from htn.answer import HtnAnswer
from htn.grounding.ground import GroundHtn
from htn.lifted.turns import Meanwhile
from htn.model import HtnProblem
from htn.search.arrays import Board
from htn.search.counted import LARGE, Counted
from htn.search.trees import tree_of
from htn.strategy import automatic
from planner.budgets.strategy import columns_of, concluded, labelled, sharing, spending_of
from planner.budgets.surrogates import Searching, Spending, Weights
from planner.compiled import library
from planner.records import replace
from planner.search.run import Ending, Run, Steps
from planner.turns import Contender


def within_budgets(
    ground: GroundHtn, problem: HtnProblem, answer: HtnAnswer, mode: str, *, search: str | None, heuristic: str | None
) -> Steps:
    """Search for the cheapest plan that keeps the budgets; `search` is one of `LABELLED`, if given.

    Where no plan keeps them, `run.excluded` says why. Raises as `planner.budgets.allowance.allowances` does.
    """
    classical = problem.classical
    search_by = _searching(ground, problem, answer)
    spending = spending_of(ground.task, classical, answer.run, search_by, lambda moves: tree_of(ground, moves).steps)
    guided = search != "uniform" and heuristic != "blind"
    board = Board(ground, library.loaded() or library.ENTRIES, answer.budget.check)
    if search or heuristic:
        ending = yield from _labels(board, spending, guided=guided)
    else:
        turns = [Contender(_labels(board, spending, guided=guided), 1)]
        ending = yield from sharing(spending, mode, lambda sums: _labels(board, spending, sums), turns)
    return concluded(spending, classical, ending)


def _searching(ground: GroundHtn, problem: HtnProblem, answer: HtnAnswer) -> Searching:
    """Return how one searches by other costs: as by the real ones."""

    def steps(costs: list[int], run: Run, improve: bool) -> Steps:  # noqa: FBT001 - as declared
        if max(costs, default=0) >= LARGE:
            return Ending.INCOMPLETE
        assert ground.arrays is not None  # noqa: S101 - or else there is nothing to search for
        other = replace(ground, arrays=replace(ground.arrays, costs=costs))
        inner = HtnAnswer(problem, answer.budget, None)
        inner.run = run
        inner.hierarchy(other)
        meanwhile = Meanwhile(answer.budget, None, run, enough=False)
        return (yield from automatic(other, "anytime" if improve else "optimal", inner, meanwhile))

    return steps


def _labels(board: Board, spending: Spending, sums: tuple[Weights, ...] = (), *, guided: bool = True) -> Steps:
    """Search by labels for the cost, for each resource, and for these sums of them."""
    run = spending.run
    run.by = ("labels", "composition" if guided else "blind")
    space, columns = Counted(board, run, guided=guided), columns_of(spending, sums)
    charges, estimates = space.charges(columns), space.estimates(columns)
    return (yield from labelled(space, spending, charges, estimates, sums, taken=space.moves))
