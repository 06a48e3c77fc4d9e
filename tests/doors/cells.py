"""The cells of the matrix: which scenes and faults each door is tried in, and what is refused by name."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

from doors.faults import FAULTS, Fault
from doors.promises import PROMISES
from doors.registry import DOORS
from doors.scenes import Scene
from doors.story import Story, play

SCENES = (
    Scene("seen"),
    Scene("vague", sight="vague"),
    Scene("blind", sight="blind"),
    Scene("approved", approval="yes"),
    Scene("refused", approval="no"),
    Scene("refused one way", approval="no", has_other_way=True),
    Scene("late form", prepare="late"),
    Scene("no form", prepare="never"),
    Scene("paid already", is_paid=True),
    Scene("budget", has_budget=True),
    Scene("typed", has_types=True),
)
UNREACHED = frozenset({"refused", "refused one way", "no form", "paid already"})
"""Scenes in which no payment is begun, so that no fault strikes inside one."""


NEEDS_PROOF = frozenset({"false failure", "lie", "done by hand meanwhile", "disagreeing observers"})
"""Faults that are not tried where those who look cannot say no: a conclusive observer that is wrong outranks them."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One door under one fault in one scene."""

    door: str
    fault: Fault
    scene: Scene

    def __str__(self) -> str:
        return f"{self.door.replace(' ', '-')}:{self.fault}:{self.scene}"


def list_cells() -> list[Cell]:
    """Return every cell that makes sense, door by door."""
    return [
        Cell(door, fault, scene)
        for door, made in DOORS.items()
        for fault in FAULTS
        for scene in SCENES
        if _makes_sense(fault, scene) and (made.has_journal or not fault.needs_journal)
    ]


def _makes_sense(fault: Fault, scene: Scene) -> bool:
    """Return whether a scene has what a fault is about."""
    if fault.needs_sight and scene.sight == "blind":
        return False  # nobody could know: a handler that says that it failed is believed
    if fault.name in NEEDS_PROOF and scene.sight != "conclusive":
        return False
    if fault.host == "later by hand":
        return scene.approval == "yes"
    if scene.name in UNREACHED:
        return not fault.inside and fault.host != "by hand"
    return True


@dataclass(frozen=True, slots=True)
class Refusal:
    """A promise that cannot be kept in some cells, `why`, and the `words` by which a door says so; "" is any."""

    promise: str
    words: str
    why: str
    door: str = ""
    scene: str = ""
    fault: str = ""

    def covers(self, cell: Cell, promise: str) -> bool:
        """Return whether the promise is refused in `cell`."""
        named = ((self.door, cell.door), (self.scene, cell.scene.name), (self.fault, cell.fault.name))
        return self.promise == promise and all(mine in ("", its) for mine, its in named)


ONE_NAME = "a name is that of one run: whose run is over takes another name"
SPENT = "tasks are to be done again, there is no money left for that, and who could say that it is so disagrees"
REFUSALS = (
    Refusal("resumed", "called off", ONE_NAME, door="named run", fault="called off inside"),
    Refusal("resumed", "it requires budget", SPENT, scene="budget", fault="disagreeing observers"),
    Refusal("resumed", "the form is not there", ONE_NAME, door="named run", scene="late form"),
)
"""Every refusal by name."""


def judge(cell: Cell) -> tuple[Story, list[str]]:
    """Play a cell; return its story, and what is broken in it, promise by promise, and not refused in words."""
    with tempfile.TemporaryDirectory() as folder:
        story = play(DOORS[cell.door], cell.scene, cell.fault, Path(folder))
    broken = [
        f"{name}: {why}"
        for name, promise in PROMISES.items()
        if not _is_refused(cell, name, story)
        for why in promise(story)
    ]
    return story, broken


def _is_refused(cell: Cell, promise: str, story: Story) -> bool:
    """Return whether the door has said in the words of a refusal that it cannot keep a promise."""
    told = f"{story.told[-1].reason} {story.told[-1].error}" if story.told else ""
    return any(each.covers(cell, promise) and each.words in told for each in REFUSALS)
