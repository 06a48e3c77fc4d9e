"""The story of a cell: somebody asks, answers, cancels or is killed, asks again, restarts, and asks once more."""

from __future__ import annotations

import asyncio
import json
import re
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any
from unittest import mock

from doors.bank import CLOCK, EFFECTS, Bank
from doors.door import Door, Question, Told
from doors.scenes import DAY, EDITED, SLIP, Site, clear_disk, make_site
from executor import joining
from executor.events.answers import GIVE_UP, HAPPENED, NOTHING, SO
from executor.journal import AnyJournal, Journal, Place, open_journal
from executor.journal.postgres.postgres_journal import PostgresJournal
from executor.testing import Crash, run_virtual

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from doors.faults import Fault
    from doors.scenes import Scene

MOST_ANSWERS = 12
"""Answers to what one request asks, one after the other."""
DONE_BEFORE = re.compile(r"was done.* by run")
"""What a question says that shows an earlier payment."""
REFUSED = "was refused"
"""What a question says that shows an earlier refusal."""
PERSON_SECONDS = 60.0
"""Seconds that a person takes who looks what happened."""


Moves = tuple[tuple[str, ...], ...]
"""What is done in each process after the first request: "resume" what is left, or "ask" again."""
MOVES: Moves = (("resume", "ask"), ("resume", "ask"))
"""What each story of the matrix does."""
PAIR_MOVES: Moves = (("ask", "resume", "ask"), ("ask", "resume", "ask"))
"""What each story of a pair does: the other door asks while nobody has settled what the first has left."""


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
    moves: Moves = MOVES
    other: type[Door] | None = None
    """The door through which whoever asks again comes, if it is another one."""
    needless: list[str] = field(default_factory=list)
    """Questions that a look could have answered."""
    process: int = 0
    """The number of the process that lives now."""
    crashes: int = 0
    has_processes: bool = False
    """Whether it happens in real processes: what two of them do is in the bank's log in any order."""
    is_over: bool = False
    """Whether the story has been told: what dead processes do while they are buried does not count."""

    def __str__(self) -> str:
        return f"{'+'.join(self.names)} / {self.fault.name} / {self.scene.name}"

    @property
    def names(self) -> list[str]:
        """The names of its doors."""
        return [each.name for each in (self.door, self.other) if each is not None]

    @property
    def has_place(self) -> bool:
        """Whether others can reach what its door asks: it has a journal, or a server."""
        return self.door.has_journal or self.door.name == "temporal"

    @property
    def errors(self) -> list[BaseException]:
        """What the door raised."""
        return [each.error for each in self.told if each.error is not None]


def play(
    doors: Sequence[type[Door]],
    scene: Scene,
    fault: Fault,
    folder: Path,
    moves: Moves = MOVES,
    *,
    place: Place | None = None,
) -> Story:
    """Let a story happen at one or two `doors` in virtual time, its journal at `place` or else in `folder`.

    A database keeps its own time for leases and rates; all that a run reads of its clock is virtual.
    """
    door, other = doors[0], doors[1] if len(doors) > 1 else None
    story = Story(door, scene, fault, moves=moves, other=other)
    if scene.is_paid:
        story.bank.pay_long_ago()
    start = 0.0
    with (
        ExitStack() as graves,
        mock.patch.object(Journal, "clock", CLOCK),
        mock.patch.object(PostgresJournal, "clock", CLOCK),
    ):
        deaths, left = 0, len(moves) if door.has_journal else 1
        while left:
            deaths = story.crashes
            part = ask_after_restart if story.process else ask_first
            journal = open_journal(place or folder / "till.db") if door.has_journal else None
            start = _process(story, partial(live, story, part, folder, journal), journal, start, graves)
            left -= left > 1 or story.crashes == deaths  # where the last one dies, there is another
            story.process = min(story.process + 1, len(moves) - 1)
        story.is_over = story.bank.is_closed = True
    return story


def _process(
    story: Story, live_on: Callable[[], Any], journal: AnyJournal | None, start: float, graves: ExitStack
) -> float:
    """Let one process live, until it ends or dies; return the time. No other process knows its runs at work."""
    ended = [start]

    async def main() -> None:
        try:
            await live_on()
        finally:
            ended[0] = asyncio.get_running_loop().time()

    try:
        with mock.patch.dict(joining._at_work, clear=True):
            run_virtual(main(), start=start, time_limit=None)
    except Crash as crash:
        graves.callback(crash.bury)
        story.crashes += 1
        ended[0] = start if crash.loop is None else crash.loop.now
    finally:
        clear_disk()
        if journal is not None:
            journal.close()
    return ended[0] + PERSON_SECONDS


async def live(story: Story, part: Any, folder: Path, journal: AnyJournal | None) -> None:
    """Let one process live."""
    site = make_site(story.bank, story.scene, story.fault, story.door.flavour, folder=folder, journal=journal)
    await part(story, site)
    if journal is not None:
        story.reserved = list_reserved(journal)


def list_reserved(journal: AnyJournal) -> list[str]:
    """Return the runs that hold an amount of the budget, without what a payment in doubt may have taken of it."""
    found = journal.reservations.reserve("probe", "probe", {"till budget": 0})
    journal.reservations.release("probe", "probe")
    doubted = {(each.run, each.step) for each in journal.ledger.flights() if each.doubt}
    held = [each for each in found if each.run != "probe" and (each.run, each.step) not in doubted]
    return [f"{each.amount} by {each.run}" for each in held]


async def ask_first(story: Story, site: Site) -> None:
    """Ask with the fault in effect, and then as the story says; a door without a journal forgets all else."""
    is_double = story.fault.host.startswith("two")
    doors = [story.door(site), *([(story.other or story.door)(site)] if is_double else [])]
    await asyncio.gather(*[_request(story, site, each, each.ask) for each in doors])
    await asyncio.sleep(PERSON_SECONDS * story.bank.pace)
    if story.other is not None and not is_double:
        doors.append(story.other(site))
    processes = story.moves[:1] if story.door.has_journal else story.moves
    await _go_on(story, site, doors, [move for moves in processes for move in moves])


async def ask_after_restart(story: Story, site: Site) -> None:
    """In a new process: take up what is left, and ask once more."""
    doors = [made(site) for made in (story.door, story.other) if made is not None]
    await _go_on(story, site, doors, story.moves[story.process])


async def _go_on(story: Story, site: Site, doors: list[Door], moves: Sequence[str]) -> None:
    """Resume what the first of `doors` has begun, or each where they differ, or ask by the last, move by move."""
    for move in moves:
        if move == "ask":
            await _request(story, site, doors[-1], doors[-1].ask)
            continue
        for door in doors if story.other is not None else doors[:1]:
            await _request(story, site, door, door.resume)


async def _request(story: Story, site: Site, door: Door, begin: Any) -> None:
    """Begin something, cancel it where that is the fault, and answer what is asked."""
    told = await _listen(story, site, door, begin())
    for _ in range(MOST_ANSWERS):
        if told is None or not told.questions:
            return
        question = told.questions[0]
        story.asked.append(question)
        if _could_be_seen(story, question):
            story.needless.append(f"{question.name}: {question.text}")
        await asyncio.sleep(PERSON_SECONDS * story.bank.pace)
        reply = _reply(story, question)
        story.bank.note("answer", question.text, reply)
        told = await _answer(story, site, door, question, reply)


async def _answer(story: Story, site: Site, door: Door, question: Question, reply: Any) -> Told | None:
    """Answer at the door that has asked, or by another executor; then the door goes on."""
    if not (story.scene.is_answered_elsewhere and story.has_place):
        return await _listen(story, site, door, door.answer(question, reply))
    is_listed = await door.post(question, reply)
    is_shared = story.fault.host.startswith("two") and any(each.kind == "posted" for each in story.bank.log)
    if is_listed or not is_shared:  # else the other one, who was asked the same, has had it answered
        story.bank.note("posted" if is_listed else "not listed", question.text, question.name)
    told = await _listen(story, site, door, door.resume(), is_new=False)
    told = await _listen(story, site, door, door.ask()) if told is None else told
    if told is not None and any(replace(each, choices=question.choices) == question for each in told.questions):
        story.bank.note("asked again", question.text, question.name)
    return told


async def _listen(story: Story, site: Site, door: Door, coroutine: Any, *, is_new: bool = True) -> Told | None:
    """Return what a door tells; what it raises is told, too. What an answer has begun is no new request."""
    if is_new:
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


def _could_be_seen(story: Story, question: Question) -> bool:
    """Return whether a look could have told what is asked: observers are sure, agree, and have had their time.

    Nobody looks at what was wired.
    """
    about = _find_effect(question)
    if story.scene.sight != "conclusive" or story.fault.looks or about == "wired":
        return False
    is_doubt = question.choices[:2] == (HAPPENED, NOTHING) and "still at work" not in question.text
    is_in_place = "in its place" in question.text
    return is_doubt or ("again:" in question.name and not is_in_place and story.bank.holds(about))


def _find_effect(question: Question) -> str:
    """Return what the step brings about that a question is about."""
    asked = re.search(r"(?:May|whether) (\w+)\(", question.text)
    return EFFECTS.get(asked[1], "paid") if asked else "paid"


def _reply(story: Story, question: Question) -> Any:
    """Answer as a person who approves as the scene says, looks what happened, and wants to pay once.

    Who is shown that it, or something else for the same, was done before says no; nobody looks before an approval that
    does not show it.
    """
    bank, text = story.bank, question.text
    if story.fault.host == "later by hand" and not bank.holds("paid"):
        bank.act("pay", by="hand")
    about = _find_effect(question)
    if question.choices[:2] == (HAPPENED, NOTHING) or "doubt:" in question.name:
        return HAPPENED if bank.holds(about) else NOTHING
    if "fill:" in question.name:
        known = {"day": DAY.isoformat(), "slip": SLIP.decode()}
        return json.dumps({name: each for name, each in known.items() if name in text})
    if GIVE_UP in question.choices:
        return GIVE_UP
    if "in its place" in text:
        return "no"
    is_shown = "again:" in question.name and DONE_BEFORE.search(text)
    if SO in question.choices and bank.holds(about) and not is_shown:
        return SO
    if "again:" in question.name or DONE_BEFORE.search(text):
        is_unwanted = story.scene.approval == "no" or (story.scene.approval == "no first" and REFUSED not in text)
        is_paid = bank.holds("paid") or bank.holds("wired")
        return "no" if is_paid or is_unwanted else "yes"
    match story.scene.approval:
        case "no first":
            return "yes" if REFUSED in text else "no"
        case "edited":
            return {"values": {"amount": str(EDITED)}}
    return story.scene.approval or "yes"
