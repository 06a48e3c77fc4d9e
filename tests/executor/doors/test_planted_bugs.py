"""Bugs of a line or two, planted in the executor: a cell of the matrix finds each by the promise that it has to break.

A cell takes a tenth of a second, so that every commit plants them all: one that no longer fits the executor is seen.
"""

from __future__ import annotations

from functools import cache

import pytest
from doors.cells import judge, list_cells
from doors.plants import PLANTS
from doors.promises import is_refusal

from executor.loop.flights import Flights

CELLS = {str(each): each for each in list_cells()}


def test_there_are_twenty_bugs():
    assert len({each.name for each in PLANTS}) >= 20


@pytest.mark.parametrize(
    ("bug", "cell"),
    [pytest.param(bug, cell, id=f"{bug.name.replace(' ', '-')}-{cell}") for bug in PLANTS for cell in bug.cells],
)
def test_each_planted_bug_is_found(bug, cell, monkeypatch):
    assert bug.promise not in find_broken_without_bug(cell)
    bug.apply(monkeypatch)
    assert bug.promise in find_broken(cell)


@cache
def find_broken_without_bug(cell):
    return find_broken(cell)


def find_broken(cell):
    """Return the promises that are broken in a cell; raises an error that is no refusal: no bug counts as found by it.

    What falls over breaks two promises: "ends with status and reason", and "resumed".
    """
    story, broken = judge(CELLS[cell])
    for error in story.errors:
        if not is_refusal(error):
            raise error
    return {each.partition(":")[0] for each in broken}


def test_a_bug_that_falls_over_is_not_found(monkeypatch):
    monkeypatch.setattr(Flights, "identify", lambda _: "")  # it is called with a step
    with pytest.raises(TypeError, match="takes 1 positional argument"):
        find_broken("sequential:none:blind")
