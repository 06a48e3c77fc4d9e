"""Random stories at every door, judged by the bank: `python -m doors.campaign --runs 1000`, in the folder `tests`.

A story is told by a token, such as "agent / vague approved / raises after, lies; two at once / ask resume | ask": the
door, the scene, what goes wrong, and what is asked in which process. Of two doors, as in "sequential+agent", whoever
asks again comes through the second. A seed draws one; `--only TOKEN` plays one again. Stories at the command line and
on Temporal take real time: they are played where `--door` names them ("command line", "temporal").
A story that breaks a promise is shrunk to the least that breaks it.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import count, islice
from pathlib import Path
from typing import TextIO, get_args

from doors.bank import PAYMENTS
from doors.cells import find_broken, makes_sense
from doors.command_door import play_by_commands
from doors.door import APART, DOORS, find_doors, list_pairs
from doors.faults import FAULTS, Fault, Inside
from doors.processes import HungProcess, play_in_processes
from doors.registry import DOORS as REGISTERED
from doors.scenes import Scene
from doors.story import Moves, Story, play
from doors.temporal_door import play_on_temporal, serve
from executor.journal import DatabaseAddress, Place, read_place
from executor.journal.postgres.connection import Database

assert REGISTERED is DOORS
WORDS = {
    "vague": {"sight": "vague"},
    "blind": {"sight": "blind"},
    "approved": {"approval": "yes"},
    "refused": {"approval": "no"},
    "refused-first": {"approval": "no first"},
    "edited": {"approval": "edited"},
    "elsewhere": {"is_answered_elsewhere": True},
    "late": {"prepare": "late"},
    "never": {"prepare": "never"},
    "other-way": {"has_other_way": True},
    "detour": {"has_detour": True},
    "paid": {"is_paid": True},
    "budget": {"has_budget": True},
    "typed": {"has_types": True},
    "within": {"reports": "within"},
    "over": {"reports": "over"},
    "found": {"has_found": True},
}
"""What a scene may have, by the word for it in a token."""
LOOKS = ("slow", "disagree")
HOSTS = ("two at once", "two wishes at once", "by hand", "later by hand")
MOST_SECONDS = 120.0
"""Time limit of a story, in real seconds."""
SHRINK_SECONDS = 20.0
"""Time limit of a story while a smaller one is looked for, in real seconds: most take less than one."""
AGAIN_SECONDS = 1.0
"""Time after which a story that has swallowed its end is stopped again, in real seconds."""
HUNG = "hung: it did not end within its time limit"
AT_LAST = ("resume", "ask", "resume", "ask", "resume", "ask")
"""What a person does at last who wants the goal; up to four requests fail: a late form, and three faults in calls."""


@dataclass(frozen=True, slots=True)
class Tale:
    """A story to be played, as a token tells it."""

    door: str
    words: tuple[str, ...] = ()
    calls: tuple[str, ...] = ()
    looks: str = ""
    host: str = ""
    moves: Moves = ((),)
    journal: str = ""
    """The database in which its journal is, in place of a file; no part of its token."""

    def __str__(self) -> str:
        wrong = [", ".join(each or "-" for each in self.calls), self.looks, self.host]
        asked = " | ".join(" ".join(each) for each in self.moves)
        return " / ".join([self.door, " ".join(self.words), "; ".join(filter(None, wrong)), asked])

    @classmethod
    def parse(cls, token: str) -> Tale:
        """Read a token."""
        door, words, wrong, asked = [each.strip() for each in token.split("/")]
        tale = cls(door, tuple(words.split()), moves=tuple([tuple(each.split()) for each in asked.split("|")]))
        for part in filter(None, map(str.strip, wrong.split(";"))):
            if part in LOOKS:
                tale = replace(tale, looks=part)
            elif part in HOSTS:
                tale = replace(tale, host=part)
            else:
                calls = [each.strip() for each in part.split(",")]
                tale = replace(tale, calls=tuple(["" if each == "-" else each for each in calls]))
        return tale

    @property
    def scene(self) -> Scene:
        """The scene, as the words say."""
        fields: dict[str, object] = {}
        for word in self.words:
            fields |= WORDS[word]
        return Scene("drawn", **fields)

    @property
    def fault(self) -> Fault:
        """What goes wrong."""
        first, *later = self.calls or ("",)
        return Fault("drawn", first, looks=self.looks, host=self.host, later=tuple(later))

    def play(self, *, in_processes: bool = False) -> tuple[Story, list[str]]:
        """Play the story in virtual time, or in real processes; return it, and what is broken in it."""
        with tempfile.TemporaryDirectory() as folder:
            moves = (*self.moves[:-1], (*self.moves[-1], *AT_LAST))
            story = self._play(Path(folder), moves, in_processes=in_processes)
        return story, find_broken(story)

    def _play(self, folder: Path, moves: Moves, *, in_processes: bool) -> Story:
        told = self.scene, self.fault, folder
        if self.door == "command line":
            return play_by_commands(*told, moves)
        if self.door == "temporal":
            return asyncio.run(play_on_temporal(*told, serve, moves))
        if in_processes:
            return play_in_processes(find_doors(self.door), *told, moves)
        with make_place(self.journal) as place:
            return play(find_doors(self.door), *told, moves, place=place)

    @property
    def has_journal(self) -> bool:
        """Whether its doors have a journal."""
        return find_doors(self.door)[0].has_journal

    @property
    def may_be_in_processes(self) -> bool:
        """Whether it can happen in real processes: they share a journal, and take no hour."""
        return self.has_journal and not any(each.is_virtual for each in find_doors(self.door))


@contextmanager
def make_place(address: str) -> Iterator[Place | None]:
    """Make a schema for the journal of one story in the database at `address`; None without one."""
    if not address:
        yield None
        return
    made = read_place(address)
    assert isinstance(made, DatabaseAddress), "--journal is one"
    place = replace(made, schema=f"story_{os.getpid()}")
    try:
        yield place
    finally:
        database = Database(place)
        database.run(f"DROP SCHEMA IF EXISTS {place.schema} CASCADE")
        database.close()


def draw_at_pair(seed: int) -> Tale:
    """Draw a story at two doors."""
    return draw(random.Random(f"pair {seed}").choice(list_pairs()), seed)


def draw(door: str, seed: int) -> Tale:
    """Draw a story at a door, or at two."""
    rng = random.Random(f"{door} {seed}")
    words = tuple(_draw_words(rng))
    if "blind" in words:  # nobody could know what was paid before
        words = tuple([each for each in words if each != "paid"])
    tale = Tale(door, words)
    possible = [each for each in get_args(Inside) if each and _may_happen(tale, each)]
    number = rng.choices((0, 1, 2, 3), (2, 5, 2, 1))[0]
    calls = [rng.choice(["", *possible]) for _ in range(number)]
    if "thread acts late" in calls:
        calls = ["thread acts late"]
    tale = replace(tale, calls=tuple(calls))
    if tale.scene.sight == "conclusive":
        tale = replace(tale, looks=rng.choices(("", *LOOKS), (7, 2, 1))[0])
    hosts = [each for each in HOSTS if _may_host(tale, each)]
    tale = replace(tale, host=rng.choice(["", "", "", *hosts]))
    number = rng.choice((1, 1, 2, 3)) if tale.has_journal else 1
    moves = [tuple(rng.choices(("resume", "ask"), k=rng.randint(0, 3))) for _ in range(number)]
    return replace(tale, moves=tuple(moves))


def _draw_words(rng: random.Random) -> Iterator[str]:
    yield from filter(None, [rng.choices(("", "vague", "blind"), (6, 2, 2))[0]])
    yield from filter(None, [rng.choices(("", "approved", "refused"), (6, 3, 1))[0]])
    yield from filter(None, [rng.choices(("", "late", "never"), (15, 3, 1))[0]])
    has_other_way = rng.random() < 0.15
    if has_other_way:
        yield "other-way"
    if rng.random() < 0.1:
        yield "paid"
    if rng.random() < 0.3:
        yield "budget"
    if rng.random() < 0.3 and not has_other_way:  # the other way returns no day
        yield "typed"
    elif rng.random() < 0.2:
        yield "detour"
    yield from filter(None, [rng.choices(("", "within", "over"), (17, 2, 1))[0]])
    if rng.random() < 0.15:
        yield "found"


def _may_happen(tale: Tale, inside: str) -> bool:
    """Return whether a fault inside the handler makes sense in the scene of `tale`."""
    if "mcp" in tale.door.split("+") and inside.startswith("is ca"):
        return False  # its client cancels again and again, and time stands still
    if tale.door == "temporal" and inside.startswith("is cancelled"):
        return False  # the handler goes on, and takes its thousand seconds
    found = next(each for each in FAULTS if each.inside == inside)
    return makes_sense(replace(found, host=""), tale.scene) and (tale.has_journal or not found.needs_journal)


def _may_host(tale: Tale, host: str) -> bool:
    if "by hand" in host and tale.looks == "slow":
        return False  # nobody says how late they see what others do
    found = next(each for each in FAULTS if each.host == host)
    return makes_sense(replace(found, inside=""), tale.scene)


class Hung(BaseException):
    """A story goes on and on."""


def play_within(tale: Tale, seconds: float, *, in_processes: bool = False) -> tuple[Story | None, list[str]]:
    """Play a story within a time limit; a story that hangs has broken a promise.

    A task may swallow what stops it: it is stopped again and again, and the story counts as hung however it ends.
    """
    is_late = False

    def stop(*_: object) -> None:
        nonlocal is_late
        is_late = True
        raise Hung

    handler, timer = signal.signal(signal.SIGALRM, stop), signal.setitimer(signal.ITIMER_REAL, seconds, AGAIN_SECONDS)
    try:
        try:
            played: tuple[Story | None, list[str]] = tale.play(in_processes=in_processes)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    except HungProcess:
        is_late = True
    except BaseException as error:
        if not is_late or isinstance(error, KeyboardInterrupt | SystemExit):
            raise
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, *timer)
    return (None, [HUNG]) if is_late else played


def shrink(tale: Tale, broken: list[str], *, in_processes: bool = False) -> Tale:
    """Return the least story that breaks one of the same promises; those that hang are stopped soon."""
    names = {each.partition(":")[0] for each in broken}
    for _ in range(100):
        for smaller in _list_smaller(tale):
            found = play_within(smaller, SHRINK_SECONDS, in_processes=in_processes)[1]
            if names & {each.partition(":")[0] for each in found}:
                tale = smaller
                break
        else:
            return tale
    return tale


def _list_smaller(tale: Tale) -> Iterator[Tale]:
    if "+" in tale.door:
        yield from [replace(tale, door=each) for each in tale.door.split("+")]
    for number in range(len(tale.words)):
        yield replace(tale, words=tale.words[:number] + tale.words[number + 1 :])
    if tale.calls:
        yield replace(tale, calls=tale.calls[:-1])
    for number, each in enumerate(tale.calls):
        if each:
            yield replace(tale, calls=(*tale.calls[:number], "", *tale.calls[number + 1 :]))
    if tale.looks:
        yield replace(tale, looks="")
    if tale.host:
        yield replace(tale, host="")
    if len(tale.moves) > 1:
        yield replace(tale, moves=tale.moves[:-1])
    for number, each in enumerate(tale.moves):
        if each:
            yield replace(tale, moves=(*tale.moves[:number], each[:-1], *tale.moves[number + 1 :]))


def give(text: str, to: TextIO | None = None) -> None:
    """Print a line at once."""
    to = to or sys.stdout
    to.write(f"{text}\n")
    to.flush()


def main() -> int:
    """Run a campaign, or play one story again."""
    parser = argparse.ArgumentParser(description="Random stories at every door.")
    parser.add_argument("--runs", type=int, default=1000, help="stories at each door")
    parser.add_argument("--first", type=int, default=0, help="the number of the first")
    parser.add_argument(
        "--door", action="append", type=_read_doors, help="only this door, or two: sequential+agent (may be repeated)"
    )
    parser.add_argument("--pairs", action="store_true", help="draw two doors for each story")
    parser.add_argument("--only", action="append", help="play the story of this token, and print it (may be repeated)")
    parser.add_argument("--processes", action="store_true", help="play in real processes and real time")
    parser.add_argument("--journal", default="", help="keep journals in this database: postgresql://…")
    parser.add_argument("--plant", help="plant this bug of `doors.plants` before")
    given = parser.parse_args()
    logging.getLogger("executor").setLevel(logging.CRITICAL)  # handlers raise on purpose
    if given.plant is not None:
        _plant(given.plant)
    if given.only is not None:
        tokens = [replace(Tale.parse(each), journal=given.journal) for each in given.only]
        return max([_show(each, in_processes=given.processes) for each in tokens])
    totals = Counter[str]()
    give("| door | stories | payments | deaths | questions | a look could have answered | violations |")
    give("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for door in ["pairs"] if given.pairs else given.door or DOORS:
        counts, started = Counter[str](), time.perf_counter()
        draw_next = draw_at_pair if given.pairs else partial(draw, door)
        tales = (replace(draw_next(number), journal=given.journal) for number in count(given.first))
        fitting = (each for each in tales if each.may_be_in_processes or not given.processes)
        has_stories = given.pairs or draw(door, 0).may_be_in_processes or not given.processes
        for tale in islice(fitting, given.runs if has_stories else 0):
            story, broken = play_within(tale, MOST_SECONDS, in_processes=given.processes)
            counts += Counter(stories=1, violations=bool(broken))
            if story is not None:
                counts += Counter(
                    payments=len(story.bank.acts(*PAYMENTS)),
                    deaths=story.crashes,
                    questions=len(story.asked),
                    needless=len(story.needless),
                )
                for each in story.needless:
                    give(f"needless: {tale}: {each}", to=sys.stderr)
            if broken:
                give(f"{tale}: {broken}\n  shrunk: {shrink(tale, broken, in_processes=given.processes)}", to=sys.stderr)
        totals += counts
        names = ("stories", "payments", "deaths", "questions", "needless", "violations")
        give(f"| {door} | {' | '.join(str(counts[name]) for name in names)} |")
        give(f"{door}: {time.perf_counter() - started:.0f} s", to=sys.stderr)
    give(f"| **all** | {' | '.join(str(totals[name]) for name in names)} |")
    return int(totals["violations"] > 0)


def _read_doors(name: str) -> str:
    """Return the name of one or two doors; raises `ArgumentTypeError` where they are not in one story."""
    if name in DOORS or name in APART or name in list_pairs():
        return name
    raise argparse.ArgumentTypeError(f"{name!r} is no door, and no pair of doors (say {', '.join(DOORS | APART)})")


def _plant(name: str) -> None:
    import pytest

    from doors.plants import PLANTS

    next(each for each in PLANTS if each.name == name).apply(pytest.MonkeyPatch())


def _show(tale: Tale, *, in_processes: bool) -> int:
    give(str(tale))
    story, broken = play_within(tale, MOST_SECONDS, in_processes=in_processes)
    for deed in story.bank.own if story else ():
        give(f"{deed.at:10.2f} {deed.kind} {deed.what} {deed.detail if deed.detail is not None else ''}")
    for told in story.told if story else ():
        give(f"told {told.status}: {told.reason} {told.error or ''}")
    give("\n".join(broken) or "all promises hold")
    return bool(broken)


if __name__ == "__main__":
    sys.exit(main())
