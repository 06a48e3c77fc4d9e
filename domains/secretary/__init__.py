"""A secretary: finds times and rooms for meetings, moves what is in the way, reminds people, and keeps the settings.

Declared in YAML (`domain.yaml`). What it shows: quantified conditions and effects over the people of a meeting, items
with one value at a time (the time of a meeting, the mode of a phone), and what goes stale when a meeting moves.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

from planner.language.declare import Domain
from planner.language.documents import read_documents
from planner.language.loading.load import LazyProblems
from planner.model import DomainModel, Problem

if TYPE_CHECKING:
    from planner.testing import Case


Place = tuple[str, str]
"""A slot and a room."""


@dataclass(slots=True)
class Bookings:
    """Who and what is taken when; a meeting fits where neither its people nor the room are."""

    taken: set[tuple[str, str]] = field(default_factory=set)

    def fits(self, place: Place, people: list[str]) -> bool:
        """Return whether the room and all `people` are free."""
        slot, room = place
        return not any((who, slot) in self.taken for who in (room, *people))

    def add(self, place: Place, people: list[str]) -> None:
        """Take the room and `people`."""
        slot, room = place
        self.taken.update((who, slot) for who in (room, *people))


class Timetable:
    """Random meetings, each with a place in a hidden timetable, and some with another place in the calendar."""

    def __init__(
        self, rng: random.Random, meetings: list[str], people: list[str], slots: list[str], rooms: list[str]
    ) -> None:
        self._rooms = rooms
        self._places = list(product(slots, rooms))
        self._hidden, self._now = Bookings(), Bookings()
        self._attends: dict[str, list[str]] = {}
        self._goal: dict[str, Place] = {}
        self._booked: dict[str, Place] = {}
        for meeting in meetings:
            self._plan(meeting, people, rng)
        free = [(person, slot) for person in people for slot in slots if (person, slot) not in self._hidden.taken]
        self._private = [appointment for appointment in free if rng.random() < 0.25]
        self._now.taken.update(self._private)
        for meeting in rng.sample(meetings, len(meetings) // 3):
            self._misplace(meeting, rng)
        self._size = {room: rng.sample(meetings, len(meetings) // 2) for room in rooms}

    def _plan(self, meeting: str, people: list[str], rng: random.Random) -> None:
        """Give the meeting people and a place; fewer people where it fits nowhere."""
        attending = rng.sample(people, rng.randint(2, 3))
        while not (open_places := [place for place in self._places if self._hidden.fits(place, attending)]):
            attending.pop()
        self._attends[meeting], self._goal[meeting] = attending, rng.choice(open_places)
        self._hidden.add(self._goal[meeting], attending)

    def _misplace(self, meeting: str, rng: random.Random) -> None:
        people = self._attends[meeting]
        open_places = [place for place in self._places if self._now.fits(place, people)]
        if open_places:
            self._booked[meeting] = rng.choice(open_places)
            self._now.add(self._booked[meeting], people)

    def facts(self) -> Iterator[str]:
        """Yield the initial facts."""
        for meeting, people in self._attends.items():
            yield from (f"attends({person}, {meeting})" for person in people)
            places = {self._goal[meeting], *([self._booked[meeting]] if meeting in self._booked else [])}
            roomy = {room for _, room in places} | {room for room in self._rooms if meeting in self._size[room]}
            yield from (f"big_enough({room}, {meeting})" for room in self._rooms if room in roomy)
            if meeting in self._booked:
                slot, room = self._booked[meeting]
                yield from (f"movable({meeting})", f"booked({meeting}, {slot})", f"placed({meeting}, {room})")
                yield f"taken({room}, {slot})"
            else:
                yield f"pending({meeting})"
        busy = {*self._private, *((p, self._booked[m][0]) for m in self._booked for p in self._attends[m])}
        yield from (f"busy({person}, {slot})" for person, slot in sorted(busy))


@cache
def domain() -> DomainModel:
    """Return the domain."""
    (found,) = read_documents(Path(__file__).with_name("domain.yaml")).classical_domains
    return found


def problems() -> Mapping[str, Problem]:
    """Return the shipped problems by name, from easy to hard; each is made when it is looked up."""
    return LazyProblems(
        {
            "one-meeting": one_meeting,
            "in-the-way": in_the_way,
            "morning": partial(generate, 1, 2),
            "day": partial(generate, 2, 4),
            "two-days": partial(generate, 3, 7),
            "week": partial(generate, 4, 12),
            "month": partial(generate, 5, 20),
        }
    )


def one_meeting(busy: tuple[str, ...] = ("nine",)) -> Problem:
    """Return the smallest real errand: one meeting of two people, a reminder, and then silence.

    `busy` are the hours of nine and ten at which Ben has no time.
    """
    return Domain.of(domain()).problem(
        "one-meeting",
        objects=_make_objects(["ada", "ben"], ["budget"], ["nine", "ten"], ["office"]),
        initial=[
            "pending(budget)",
            "attends(ada, budget)",
            "attends(ben, budget)",
            *[f"busy(ben, {slot})" for slot in busy],
            "big_enough(office, budget)",
            "set(phone, loud)",
            "silences(silent)",
        ],
        goal=["invited(budget)", "reminder(budget, phone)", "set(phone, silent)"],
    )


def in_the_way() -> Problem:
    """Return an errand in which another meeting has to move, and its people have to be told again."""
    return Domain.of(domain()).problem(
        "in-the-way",
        objects=_make_objects(["ada", "ben", "cleo"], ["budget", "lunch"], ["noon", "one"], ["office", "hall"]),
        initial=[
            "pending(budget)",
            "movable(lunch)",
            "booked(lunch, noon)",
            "placed(lunch, hall)",
            "taken(hall, noon)",
            "invited(lunch)",
            *[f"attends({person}, {meeting})" for person in ("ada", "ben") for meeting in ("budget", "lunch")],
            "attends(cleo, budget)",
            "busy(ada, noon)",
            "busy(ben, noon)",
            "busy(cleo, one)",
            "big_enough(hall, budget)",
            "big_enough(hall, lunch)",
            "big_enough(office, lunch)",
            "set(phone, silent)",
            "silences(silent)",
        ],
        goal=["invited(budget)", "invited(lunch)", "reminder(budget, phone)", "set(phone, silent)"],
    )


def _make_objects(people: list[str], meetings: list[str], slots: list[str], rooms: list[str]) -> dict[str, str]:
    kinds = {"person": people, "meeting": meetings, "slot": slots, "room": rooms}
    named = {name: kind for kind, names in kinds.items() for name in names}
    return named | {"phone": "device", "loud": "mode", "silent": "mode"}


def generate(seed: int, size: int) -> Problem:
    """Return a random problem with `size` meetings; the same seed and size give the same problem.

    About a third of the meetings are booked already and can be moved, and calendars are a quarter full with what
    cannot. It has a plan: there is a hidden timetable into which everything fits.
    """
    rng = random.Random(f"secretary {seed} {size}")
    people = [f"person{n}" for n in range(1, 4 + size // 2)]
    meetings = [f"meeting{n}" for n in range(1, size + 1)]
    slots = [f"slot{n}" for n in range(1, 4 + size // 2)]
    rooms = [f"room{n}" for n in range(1, 2 + (size + 3) // 4)]
    calendar = Timetable(rng, meetings, people, slots, rooms)
    initial = [*calendar.facts(), "set(phone, silent)", "silences(silent)"]
    goal = [f"invited({meeting})" for meeting in meetings]
    goal += [f"reminder({meeting}, phone)" for meeting in rng.sample(meetings, (size + 1) // 2)]
    return Domain.of(domain()).problem(
        f"secretary-{seed}-{size}",
        objects=_make_objects(people, meetings, slots, rooms),
        initial=initial,
        goal=[*goal, "set(phone, silent)"],
    )


ONE_MEETING = """
read_calendar(ada)
read_calendar(ben)
book(budget, ten, office)
invite(budget, ten, office)
set_reminder(budget, ten, phone, loud)
change_mode(phone, loud, silent)
"""

IN_THE_WAY = """
read_calendar(ada)
read_calendar(ben)
read_calendar(cleo)
cancel(lunch, noon, hall)
book(lunch, one, hall)
book(budget, noon, hall)
invite(lunch, one, hall)
invite(budget, noon, hall)
change_mode(phone, silent, loud)
set_reminder(budget, noon, phone, loud)
change_mode(phone, loud, silent)
"""


def cases() -> tuple[Case, ...]:
    """Return the optima, plans and invalid plans of the small problems, for tests."""
    from planner.testing import Case

    return (
        Case(
            "one-meeting",
            one_meeting(),
            7,
            valid=(ONE_MEETING,),
            invalid=(
                (ONE_MEETING.replace("read_calendar(ben)", ""), "calendar_read(ben)"),
                (ONE_MEETING.replace("ten", "nine"), "not busy(ben, nine)"),
                (ONE_MEETING.replace("phone, loud)", "phone, silent)"), "set(phone, silent)"),
                (
                    ONE_MEETING.replace("invite", "change_mode(phone, loud, silent)\ninvite"),
                    "set(phone, loud), which was retracted by step 4 change_mode(phone, loud, silent)",
                ),
            ),
        ),
        Case(
            "in-the-way",
            in_the_way(),
            16,
            valid=(IN_THE_WAY,),
            invalid=(
                (IN_THE_WAY.replace("invite(lunch, one, hall)", ""), "invited(lunch), which was retracted by step 4"),
                (IN_THE_WAY.replace("cancel(lunch, noon, hall)", ""), "pending(lunch)"),
                (
                    IN_THE_WAY.replace("cancel(lunch, noon, hall)", "change_room(lunch, noon, hall, office)")
                    .replace("book(lunch, one, hall)", "")
                    .replace("lunch, one, hall", "lunch, noon, office"),
                    "not busy(ada, noon)",
                ),
            ),
        ),
        Case(
            "ben has no time", one_meeting(busy=("nine", "ten")), None, invalid=((ONE_MEETING, "not busy(ben, ten)"),)
        ),
    )
