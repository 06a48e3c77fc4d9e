"""Pauses of the garbage collector: it goes on afterwards, and what others have frozen stays so."""

from __future__ import annotations

import gc

import pytest

from planner.garbage_collection import Keeper, pause_collector


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
            pass
    assert count() > 1000
    assert len(counted) == 1
