"""Bugs of one line, planted in the executor: at least one cell of the matrix finds each of them."""

from __future__ import annotations

import pytest
from doors.cells import judge, list_cells
from doors.plants import PLANTS

CELLS = {str(each): each for each in list_cells()}


def test_there_are_twenty_bugs():
    assert len({each.name for each in PLANTS}) >= 20


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted({name for each in PLANTS for name in each.cells}))
def test_the_cells_that_find_bugs_hold_without_them(name):
    assert judge(CELLS[name])[1] == []


@pytest.mark.slow
@pytest.mark.parametrize("bug", PLANTS, ids=[each.name.replace(" ", "-") for each in PLANTS])
def test_each_planted_bug_is_found(bug, monkeypatch):
    bug.apply(monkeypatch)
    assert any(_is_broken(CELLS[name]) for name in bug.cells)


def _is_broken(cell):
    """Return whether a promise is broken in a cell, or the executor falls over its bug."""
    try:
        return bool(judge(cell)[1])
    except Exception:  # noqa: BLE001 - what a bug breaks is found, too
        return True
