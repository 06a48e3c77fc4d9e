"""Every door keeps every promise under every fault: a twelfth of the cells, and all of them with `-m ''`."""

from __future__ import annotations

import pytest
from doors.cells import judge, list_cells

CELLS = list_cells()


@pytest.mark.parametrize(
    "cell", [pytest.param(each, id=str(each), marks=() if each.is_drawn else pytest.mark.slow) for each in CELLS]
)
def test_every_promise_holds_at_every_door_under_every_fault(cell):
    _, broken = judge(cell)
    assert broken == []
