"""The cells of the matrix: which scenes and faults each door is tried in, and what is refused by name."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from doors.agent_doors import AgentDoor, StandingDoor
from doors.door import find_doors, list_pairs
from doors.faults import FAULTS, Fault
from doors.promises import PROMISES
from doors.registry import DOORS
from doors.scenes import Scene
from doors.story import MOVES, PAIR_MOVES, Story, play
from executor.journal import Place

SCENES = (
    Scene("seen"),
    Scene("vague", sight="vague"),
    Scene("blind", sight="blind"),
    Scene("approved", approval="yes"),
    Scene("answered elsewhere", approval="yes", is_answered_elsewhere=True),
    Scene("edited", approval="edited", is_answered_elsewhere=True),
    Scene("refused", approval="no"),
    Scene("refused first", approval="no first"),
    Scene("refused one way", approval="no", has_other_way=True),
    Scene("detour", has_detour=True),
    Scene("detour paid", has_detour=True, is_paid=True),
    Scene("late form", prepare="late"),
    Scene("no form", prepare="never"),
    Scene("paid already", is_paid=True),
    Scene("budget", has_budget=True),
    Scene("typed", has_types=True),
    Scene("typed blind", sight="blind", has_types=True),
    Scene("reported within", reports="within"),
    Scene("reported over", reports="over"),
    Scene("found", has_found=True),
)
UNREACHED = frozenset({"refused", "refused first", "refused one way", "no form", "paid already", "reported over"})
"""Scenes in which no payment is begun, so that no fault strikes inside one."""


LEAVE_DOUBT = ("raises after acting", "cancelled after acting", "killed after acting")
"""Faults after which nobody knows at first that it was paid."""
NEEDS_PROOF = frozenset({"false failure", "lie", "done by hand meanwhile", "disagreeing observers"})
"""Faults that are not tried where those who look cannot say no: a conclusive observer that is wrong outranks them."""


Kept = Literal["file", "database"]
"""Where the journal of a story is."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One door, or a pair of doors, under one fault in one scene."""

    door: str
    fault: Fault
    scene: Scene

    def __str__(self) -> str:
        return f"{self.door.replace(' ', '-')}:{self.fault}:{self.scene}"


def list_cells(journal: Kept = "file") -> list[Cell]:
    """Return every cell that makes sense with a kind of `journal`, door by door.

    With a database, that is the doors that have a journal, and no full disk: the database has another one.
    """
    is_file = journal == "file"
    return [
        Cell(door, fault, scene)
        for door, made in DOORS.items()
        for fault in FAULTS
        for scene in SCENES
        if makes_sense(fault, scene)
        and (made.has_journal or (is_file and not fault.needs_journal))
        and (is_file or fault.inside != "fills the disk")
    ]


def list_pair_cells() -> list[Cell]:
    """Return the cells in which one door has begun what may have happened, and whoever asks again comes by another.

    Or one door was refused, and the other one asks for the same.
    """
    scenes = [each for each in SCENES if each.name in ("seen", "blind", "approved")]
    faults = [each for each in FAULTS if each.name in LEAVE_DOUBT]
    told = [(fault, scene) for fault in faults for scene in scenes]
    told += [(FAULTS[0], scene) for scene in SCENES if scene.name == "refused first"]
    return [
        Cell(pair, fault, scene)
        for pair in list_pairs()
        for fault, scene in told
        if find_doors(pair)[0].has_journal or not fault.needs_journal
    ]


def makes_sense(fault: Fault, scene: Scene) -> bool:
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
    """A promise that cannot be kept in stories to which it `applies`, and why; a door says so by `words`."""

    promise: str
    words: str
    why: str
    applies: Callable[[Story], bool]

    def __post_init__(self) -> None:
        assert self.words, f"{self.promise} is refused without a word: {self.why}"


REFUSALS = (
    Refusal(
        "resumed",
        "called off",
        "a name is that of one run: who has called it off takes another name",
        lambda story: "named run" in story.names and "is called off" in story.fault.calls,
    ),
    Refusal(
        "resumed",
        "there is already a run",
        "a name is that of one run: who wants something else takes another name",
        lambda story: "named run" in story.names and story.fault.host == "two wishes at once",
    ),
    Refusal(
        "resumed",
        "approval was refused",
        "a name is that of one run: who was refused takes another name",
        lambda story: "named run" in story.names and story.scene.approval == "no first",
    ),
    Refusal(
        "resumed",
        "approval was refused",
        "without a journal, planned calls are one run: who was refused makes others",
        lambda story: "calls without journal" in story.names and story.scene.approval == "no first",
    ),
    Refusal(
        "resumed",
        "approval was refused before",
        "a standing goal is no new request of a person: it stays refused until somebody asks for it",
        lambda story: (
            story.scene.approval == "no first"
            and any(issubclass(each, StandingDoor) for each in (story.door, story.other or story.door))
        ),
    ),
    Refusal(
        "resumed",
        "wire(): it was refused before",
        "a standing goal is no new request of a person: while observers disagree, what was refused is all that is left",
        lambda story: (
            story.scene.has_detour
            and story.fault.looks == "disagree"
            and any(issubclass(each, StandingDoor) for each in (story.door, story.other or story.door))
        ),
    ),
    Refusal(
        "resumed",
        "budget",
        "there is no money to pay again, and nobody can say for sure that it was paid",
        lambda story: story.scene.has_budget and (story.scene.sight != "conclusive" or story.fault.looks == "disagree"),
    ),
    *[
        Refusal(
            "resumed",
            words,
            "there is no money to pay again, and observers disagree whether it was paid",
            lambda story: story.scene.has_budget and story.fault.looks == "disagree",
        )
        for words in (
            "proved to have no plan",
            "what it brings about is so already",
            "the goal is not reached",
            "the world is not as was believed (paid)",
        )
    ],
    Refusal(
        "resumed",
        "(): ",
        "a name is that of one run: whose run has failed, at a step that it names, takes another name",
        lambda story: "named run" in story.names and story.told[-1].status == "FAILED",
    ),
    Refusal(
        "resumed",
        "the form is not there",
        "who plans anew where it was late, and somebody else has paid, knows no day: only the payment tells it",
        lambda story: story.scene.has_types and not story.bank.acts("pay") and issubclass(story.door, AgentDoor),
    ),
    Refusal(
        "resumed",
        "lacks a value for 'day'",
        "who plans anew after another run has paid knows no day: only that payment tells it",
        lambda story: story.scene.has_types and issubclass(story.door, AgentDoor),
    ),
    Refusal(
        "resumed",
        "other runs have reserved",
        "without a journal, nobody takes up the run of an agent whose caller was cancelled: it keeps its reservation",
        lambda story: story.scene.has_budget and "agent without journal" in story.names,
    ),
    Refusal(
        "resumed",
        "the outcomes of 'check' in a run in time",
        "no run in time has an action with outcomes",
        lambda story: bool(story.scene.reports) and story.door.flavour == "timed",
    ),
    Refusal(
        "resumed",
        "the tasks are done, and the goal does not hold",
        "tasks say all that is done: no task is for an order that turns up",
        lambda story: story.scene.has_found and story.door.flavour == "tasks",
    ),
    Refusal(
        "resumed",
        "are attended to already",
        "one process at a time attends to standing goals",
        lambda story: story.has_processes and story.fault.host.startswith("two"),
    ),
)
"""Every refusal by name."""


def judge(cell: Cell, place: Place | None = None) -> tuple[Story, list[str]]:
    """Play a cell, its journal at `place` or else in a file; return its story, and each broken promise not refused."""
    with tempfile.TemporaryDirectory() as folder:
        doors = find_doors(cell.door)
        moves = MOVES if len(doors) == 1 else PAIR_MOVES
        story = play(doors, cell.scene, cell.fault, Path(folder), moves, place=place)
    return story, find_broken(story)


def find_broken(story: Story) -> list[str]:
    """Return what is broken in a story, promise by promise, and not refused in words."""
    return [
        f"{name}: {why}" for name, promise in PROMISES.items() if not _is_refused(name, story) for why in promise(story)
    ]


def _is_refused(promise: str, story: Story) -> bool:
    """Return whether the door has said in the words of a refusal that it cannot keep a promise."""
    told = f"{story.told[-1].reason} {story.told[-1].error}" if story.told else ""
    return any(each.promise == promise and each.words in told and each.applies(story) for each in REFUSALS)
