"""What the matrix of doors asks of each door, asked of runs on Temporal: its cells, and random stories.

Its faults strike within one process; test_killed_workers.py has workers that die.
"""

from __future__ import annotations

import asyncio

import pytest
from doors import campaign
from doors.campaign import Tale, draw
from doors.cells import SCENES, find_broken, makes_sense
from doors.faults import FAULTS
from doors.plants import PLANTS
from doors.temporal_door import TemporalDoor, play_on_temporal

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
BLOCKS = 12
LONG = frozenset({"vague", "late form", "budget", "typed"})
"""Scenes in which no caller is cancelled: the handler goes on for 20 seconds."""
CELLS = [
    (fault, scene)
    for fault in FAULTS
    for scene in SCENES
    if makes_sense(fault, scene)
    and not fault.needs_journal
    and not (fault.inside.startswith("is cancelled") and scene.name in LONG)
]


@pytest.mark.parametrize("block", range(BLOCKS))
def test_every_promise_holds_on_temporal(block, on_temporal, tmp_path):
    found = {}
    for number, (fault, scene) in enumerate(CELLS[block::BLOCKS]):
        folder = tmp_path / str(number)
        folder.mkdir()
        found[f"{fault}:{scene}"] = find_broken(asyncio.run(play_on_temporal(scene, fault, folder, on_temporal)))
    assert {name: broken for name, broken in found.items() if broken} == {}


@pytest.mark.parametrize("seed", range(12))
def test_random_stories_on_temporal_keep_their_promises(seed, on_temporal, monkeypatch):
    monkeypatch.setattr(campaign, "serve", on_temporal)
    tales = [draw(TemporalDoor.name, number) for number in range(seed, 36, 12)]
    found = {str(tale): tale.play()[1] for tale in tales}
    assert {token: broken for token, broken in found.items() if broken} == {}


@pytest.mark.timeout(60)
@pytest.mark.parametrize("token", ["temporal / approved / is called off; two wishes at once / "])
def test_a_story_that_hung_on_temporal_ends_now(token, on_temporal, monkeypatch):
    monkeypatch.setattr(campaign, "serve", on_temporal)
    assert Tale.parse(token).play()[1] == []


@pytest.mark.parametrize(
    ("name", "cell"),
    [
        ("a step is done once more unasked", "none:blind"),
        ("nobody is asked for approval", "none:approved"),
        ("what a handler reports counts as seen", "lie:seen"),
        ("reasons are left out", "none:no-form"),
    ],
)
def test_planted_bugs_are_found_on_temporal(name, cell, on_temporal, tmp_path, monkeypatch):
    bug = next(each for each in PLANTS if each.name == name)
    bug.apply(monkeypatch)
    fault, scene = next(each for each in CELLS if f"{each[0]}:{each[1]}" == cell)
    broken = find_broken(asyncio.run(play_on_temporal(scene, fault, tmp_path, on_temporal)))
    assert any(each.startswith(f"{bug.promise}:") for each in broken)


def test_every_fault_and_every_scene_is_tried():
    assert {fault.name for fault, _ in CELLS} == {each.name for each in FAULTS if not each.needs_journal}
    assert {scene.name for _, scene in CELLS} == {each.name for each in SCENES}
