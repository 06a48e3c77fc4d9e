"""Pauses of the garbage collector: it goes on afterwards, and what others have frozen stays so."""

from __future__ import annotations

import gc
import subprocess
import sys

import pytest

from planner.garbage_collection import FEW, Keeper, pause_collector


def test_the_collector_goes_on_after_a_pause() -> None:
    with pause_collector():
        assert not gc.isenabled()
    assert gc.isenabled()


@pytest.mark.usefixtures("small_heap")
def test_frozen_objects_stay_frozen_and_are_not_counted_again_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Keeper, "_frozen_at", -10.0)
    counted = []
    count = gc.get_freeze_count
    monkeypatch.setattr(gc, "get_freeze_count", lambda: counted.append(1) or count())
    for _ in range(50):
        with pause_collector():
            made = [[] for _ in range(FEW + 1)]
            assert made
    assert count() > 1000
    assert len(counted) == 1


CYCLES = """
import gc, sys
from planner.garbage_collection import pause_collector
for _ in range(2_000_000 // int(sys.argv[1])):
    with pause_collector():
        for _ in range(int(sys.argv[1])):
            cycle = []
            cycle.append(cycle)
print(len(gc.get_objects()))
"""


@pytest.mark.parametrize("size", [100, 5_000, 50_000])
def test_garbage_of_many_pauses_is_collected(size: int) -> None:
    """Two million lists that refer to themselves are made, in pauses of this size; a sixth of them may remain."""
    done = subprocess.run([sys.executable, "-c", CYCLES, str(size)], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 400_000


BETWEEN = """
import gc
from collections import deque
from planner.garbage_collection import FEW, pause_collector
alive, most = deque(maxlen=20_000), 0
for _ in range(40):
    with pause_collector():
        made = [[] for _ in range(FEW + 1)]
    del made
    for _ in range(50_000):
        cycle = []
        cycle.append(cycle)
        alive.append(cycle)
    most = max(most, len(gc.get_objects()))
print(most)
"""


def test_garbage_of_work_between_pauses_is_collected() -> None:
    """Two million lists that refer to themselves live for a while between pauses; never are there half a million."""
    done = subprocess.run([sys.executable, "-c", BETWEEN], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 500_000
