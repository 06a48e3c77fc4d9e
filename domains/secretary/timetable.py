"""A random timetable that works, and a calendar in which it is not yet in place."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product

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
