"""Bugs of one line, planted in the executor: at least one cell of the matrix finds each of them."""

from __future__ import annotations

import pytest
from doors.cells import judge, list_cells
from doors.plants import PLANTS

CELLS = {str(each): each for each in list_cells()}


def test_there_are_twenty_bugs():
    assert len({each.name for each in PLANTS}) >= 20


@pytest.mark.slow
@pytest.mark.parametrize("bug", PLANTS, ids=[each.name.replace(" ", "-") for each in PLANTS])
def test_each_planted_bug_is_found(bug, monkeypatch):
    before = {name: find_broken(CELLS[name]) for name in bug.cells}
    bug.apply(monkeypatch)
    assert any(find_broken(CELLS[name]) - before[name] for name in bug.cells)


def find_broken(cell):
    """Return the promises that are broken in a cell; an executor that falls over breaks one, too."""
    try:
        return {each.partition(":")[0] for each in judge(cell)[1]}
    except Exception as error:  # noqa: BLE001 - a bug may break anything
        return {type(error).__name__}
