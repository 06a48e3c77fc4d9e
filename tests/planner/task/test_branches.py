"""A branch of a space shares nothing with it that a search writes to: another thread may be at work on the other."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from typing import Any

import pytest

from planner import Domain
from planner.grounding.ground_numeric import ground_numeric
from planner.heuristics.numeric_lmcut_compiled import bound_numeric
from planner.heuristics.numeric_state_equation_compiled import write_state_equation
from planner.jit.common_kernel import ENTRIES
from planner.limits import Limits
from planner.search.astar_compiled import CompiledAstar
from planner.search.best_first_compiled import BestFirst
from planner.search.numeric_astar_estimates_compiled import NumericEstimates
from planner.search.search_run import Run, Steps
from planner.search.task_compiled import Board
from planner.task.numeric_task_compiled import NumericSpace, pack_numeric_task


def tanks() -> NumericSpace:
    """Return a space with numbers of known and unknown ranges, and a derived fact."""
    domain = Domain("tanks", types=["tank"])
    domain.function("level", "tank", low=0, high=9)
    domain.function("pumped")
    domain.predicate("marked", "tank")
    domain.derive("ready(tank)", {"tank": "tank"}, ["marked(tank)", "level(tank) >= 3"])
    domain.action("fill", {"tank": "tank"}, requires=["level(tank) <= 7"], modifies=["level(tank) += 2", "pumped += 2"])
    domain.action("drain", {"tank": "tank"}, requires=["level(tank) >= 1"], modifies=["level(tank) -= 1"])
    domain.action("mark", {"tank": "tank"}, provides=["marked(tank)"])
    problem = domain.problem(
        objects={"a": "tank", "b": "tank"},
        values={"level(a)": 0, "level(b)": 1, "pumped": 0},
        goal=["ready(a)", "ready(b)", "level(a) = 5"],
    )
    space = pack_numeric_task(ground_numeric(problem, Limits()))
    assert space is not None
    return space


def arrays_in(record: Any) -> Iterator[array[int]]:
    """Yield the arrays of a record and of those in it."""
    for each in record:
        if isinstance(each, array):
            yield each
        else:
            yield from arrays_in(each)


def best_first(space: NumericSpace, run: Run) -> Steps:
    costs = [1] * len(space.source.task.actions)
    return BestFirst(space.branch(), ENTRIES, costs, options=("novel", "pays")).steps(run)


def astar(space: NumericSpace, run: Run) -> Steps:
    board = Board(space.source.task, ENTRIES, patient=True, numeric=space).branch(lambda: None)
    costs = board.costs
    estimator = NumericEstimates(
        "equation+lmcut", costs, lambda: bound_numeric(space, costs), lambda: write_state_equation(space, costs)
    )
    return CompiledAstar(board, estimator=estimator).steps(run)


@pytest.mark.parametrize("search", [best_first, astar])
def test_a_search_on_a_branch_changes_nothing_of_the_space(search: Any) -> None:
    space, run = tanks(), Run()
    before = [each[:] for each in arrays_in(space.space)]
    for _ in search(space, run):
        if run.plan is not None:
            break
    assert run.plan is not None
    assert [*arrays_in(space.space)] == before
