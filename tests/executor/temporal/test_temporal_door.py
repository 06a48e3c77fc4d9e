"""What the matrix of doors asks of each door, asked of runs on Temporal."""

from __future__ import annotations

import asyncio

import pytest
from doors.bank import Bank
from doors.cells import SCENES
from doors.faults import FAULTS
from doors.promises import PROMISES
from doors.scenes import make_site
from doors.story import Story, ask_first
from doors.temporal_door import TemporalDoor

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
PACE = 0.02
TRIED = ("none", "raises after acting", "called off inside", "two at once", "done by hand meanwhile")
"""Faults that strike within one process; test_killed_workers.py has workers that die."""


@pytest.mark.parametrize("scene", ["seen", "blind", "approved"])
@pytest.mark.parametrize("fault", TRIED)
def test_every_promise_holds_on_temporal(fault, scene, on_temporal, tmp_path):
    fault = next(each for each in FAULTS if each.name == fault)
    scene = next(each for each in SCENES if each.name == scene)
    if fault.needs_sight and scene.sight == "blind":
        return
    story = Story(TemporalDoor, scene, fault, Bank(tmp_path / "bank", pace=PACE))

    async def tell():
        site = make_site(story.bank, scene, fault, "plain", folder=tmp_path, journal=None)
        async with on_temporal(site.world) as executor:
            story.door = type("Door", (TemporalDoor,), {"executor": executor})
            await ask_first(story, site)

    asyncio.run(tell())
    assert [f"{name}: {why}" for name, judge in PROMISES.items() for why in judge(story)] == []
