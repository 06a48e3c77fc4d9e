"""The story of a cell: somebody asks, answers, cancels or is killed, asks again, restarts, and asks once more."""

from __future__ import annotations

import asyncio
import re
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from unittest import mock

from doors.bank import CLOCK, EFFECTS, Bank
from doors.door import Door, Question, Told
from doors.scenes import DAY, Site, clear_disk, make_site
from executor import joining
from executor.events.answers import GIVE_UP, HAPPENED, NOTHING, SO
from executor.journal import Journal
from executor.journal.reservations import ReservationsInJournal
from executor.testing import Crash, run_virtual

if TYPE_CHECKING:
    from pathlib import Path

    from doors.faults import Fault
    from doors.scenes import Scene

PAUSE = 1.0
"""Polling interval for reservations, in seconds of a story: each poll takes real time."""
MOST_ANSWERS = 12
"""Answers to what one request asks, one after the other."""
DONE_BEFORE = re.compile(r"was done.* by run")
"""What a question says that shows an earlier payment."""
PERSON_SECONDS = 60.0
"""Seconds that a person takes who looks what happened."""


@dataclass(slots=True)
class Story:
    """What happened in one cell: `told` is what the door told, in its order."""

    door: type[Door]
    scene: Scene
    fault: Fault
    bank: Bank = field(default_factory=Bank)
    told: list[Told] = field(default_factory=list)
    asked: list[Question] = field(default_factory=list)
    reserved: list[str] = field(default_factory=list)
    """Runs that still hold an amount of the budget at the end."""
    crashes: int = 0
    is_over: bool = False
    """Whether the story has been told: what dead processes do while they are buried does not count."""

    def __str__(self) -> str:
        return f"{self.door.name} / {self.fault.name} / {self.scene.name}"

    @property
    def errors(self) -> list[BaseException]:
        """What the door raised."""
        return [each.error for each in self.told if each.error is not None]


def play(door: type[Door], scene: Scene, fault: Fault, folder: Path) -> Story:
    """Let a story happen in virtual time, its journal in `folder`."""
    story = Story(door, scene, fault)
    if scene.is_paid:
        story.bank.pay_long_ago()
    start = 0.0
    with (
        ExitStack() as graves,
        mock.patch.object(Journal, "clock", CLOCK),
        mock.patch.object(ReservationsInJournal, "pause", PAUSE),
    ):
        parts = (ask_first, ask_after_restart) if door.has_journal else (ask_all,)
        for part in parts:
            start = _process(story, part, folder, start, graves)
        story.is_over = story.bank.is_closed = True
    return story


def _process(story: Story, part: Any, folder: Path, start: float, graves: ExitStack) -> float:
    """Let one process live, until it ends or dies; return the time. No other process knows its runs at work."""
    journal = Journal(folder / "till.db") if story.door.has_journal else None
    ended = [start]

    async def main() -> None:
        try:
            await live(story, part, folder, journal)
        finally:
            ended[0] = asyncio.get_running_loop().time()

    try:
        with mock.patch.dict(joining._at_work, clear=True):
            run_virtual(main(), start=start)
    except Crash as crash:
        graves.callback(crash.bury)
        story.crashes += 1
        ended[0] = start if crash.loop is None else crash.loop.now
    finally:
        clear_disk()
        if journal is not None:
            journal.close()
    return ended[0] + PERSON_SECONDS


async def live(story: Story, part: Any, folder: Path, journal: Journal | None) -> None:
    """Let one process live."""
    site = make_site(story.bank, story.scene, story.fault, story.door.flavour, folder=folder, journal=journal)
    await part(story, site)
    if journal is not None:
        story.reserved = _list_reserved(journal)


def _list_reserved(journal: Journal) -> list[str]:
    """Return the runs that hold an amount of the budget."""
    found = journal.reservations.reserve("probe", "probe", {"till budget": 0})
    journal.reservations.release("probe", "probe")
    return [f"{each.amount} by {each.run}" for each in found if each.run != "probe"]


async def ask_all(story: Story, site: Site) -> None:
    """Ask as often as with a restart, in one process: a door without a journal forgets all else."""
    door = await ask_first(story, site)
    await _request(story, site, door, door.resume)
    await _request(story, site, door, door.ask)


async def ask_first(story: Story, site: Site) -> Door:
    """Ask with the fault in effect, take up what is left, and ask again; return the door that was used last."""
    if story.fault.host.startswith("two"):
        doors = [story.door(site), story.door(site)]
        await asyncio.gather(*[_request(story, site, each, each.ask) for each in doors])
    else:
        doors = [story.door(site)]
        await _request(story, site, doors[0], doors[0].ask)
    await asyncio.sleep(PERSON_SECONDS * story.bank.pace)
    await _request(story, site, doors[0], doors[0].resume)
    await _request(story, site, doors[-1], doors[-1].ask)
    return doors[-1]


async def ask_after_restart(story: Story, site: Site) -> None:
    """In a new process: take up what is left, and ask once more."""
    door = story.door(site)
    await _request(story, site, door, door.resume)
    await _request(story, site, door, door.ask)


async def _request(story: Story, site: Site, door: Door, begin: Any) -> None:
    """Begin something, cancel it where that is the fault, and answer what is asked."""
    told = await _listen(story, site, door, begin())
    for _ in range(MOST_ANSWERS):
        if told is None or not told.questions:
            return
        question = told.questions[0]
        story.asked.append(question)
        await asyncio.sleep(PERSON_SECONDS * story.bank.pace)
        reply = _reply(story, question)
        story.bank.note("answer", question.text, reply)
        told = await _listen(story, site, door, door.answer(question, reply))


async def _listen(story: Story, site: Site, door: Door, coroutine: Any) -> Told | None:
    """Return what a door tells; what it raises is told, too."""
    story.bank.note("ask")
    task = asyncio.ensure_future(coroutine)
    watch = asyncio.ensure_future(_break_off(site, door, task))
    try:
        told = await task
    except asyncio.CancelledError as error:
        told = Told("CANCELLED", "the caller was cancelled", error=None if "is ca" in site.struck else error)
    except Exception as error:  # noqa: BLE001 - whatever a door raises is judged
        told = Told("RAISED", str(error), error=error)
    finally:
        watch.cancel()
        clear_disk()
    if told is not None and not story.is_over:
        story.told.append(told)
    return told


async def _break_off(site: Site, door: Door, task: asyncio.Task[Any]) -> None:
    """Cancel, or call off, once the handler waits for it."""
    await site.inside.wait()
    site.inside.clear()
    if site.struck.startswith("is cancelled"):
        task.cancel()
    elif site.struck == "is called off":
        door.call_off(task)


def _reply(story: Story, question: Question) -> Any:
    """Answer as a person who approves as the scene says, looks what happened, and wants to pay once.

    Who is shown that it was done before says no; nobody looks before an approval that does not show it.
    """
    bank, text = story.bank, question.text
    if story.fault.host == "later by hand" and not bank.holds("paid"):
        bank.act("pay", by="hand")
    about = next((fact for act, fact in EFFECTS.items() if f"{act}(" in text), "paid")
    if question.choices[:2] == (HAPPENED, NOTHING) or "doubt:" in question.name:
        return HAPPENED if bank.holds(about) else NOTHING
    if "fill:" in question.name:
        return DAY.isoformat()
    if GIVE_UP in question.choices:
        return GIVE_UP
    if SO in question.choices and bank.holds(about) and not DONE_BEFORE.search(text):
        return SO
    if "again:" in question.name or DONE_BEFORE.search(text):
        return "no" if bank.holds(about) or story.scene.approval == "no" else "yes"
    return story.scene.approval or "yes"
