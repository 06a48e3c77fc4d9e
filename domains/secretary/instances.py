"""The secretary's domain, read from its file, and problems from one meeting to a crowded month."""

from __future__ import annotations

import random
from collections.abc import Mapping
from functools import cache, partial
from pathlib import Path

from domains.secretary.timetable import Timetable
from planner.language.declare import Domain
from planner.language.documents import read_documents
from planner.language.loading.load import LazyProblems
from planner.model import DomainModel, Problem


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
        objects=_objects(["ada", "ben"], ["budget"], ["nine", "ten"], ["office"]),
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
        objects=_objects(["ada", "ben", "cleo"], ["budget", "lunch"], ["noon", "one"], ["office", "hall"]),
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


def _objects(people: list[str], meetings: list[str], slots: list[str], rooms: list[str]) -> dict[str, str]:
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
        objects=_objects(people, meetings, slots, rooms),
        initial=initial,
        goal=[*goal, "set(phone, silent)"],
    )
