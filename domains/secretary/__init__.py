"""A secretary: a calendar, invitations and reminders that a move makes stale, and settings of a phone."""

from __future__ import annotations

import functools
import random
from collections.abc import Mapping

from domains.series import Series
from planner.declare import Domain, Entity
from planner.model import Problem
from planner.testing import Case

SIZES = {"two-meetings": 2, "three-meetings": 3, "four-meetings": 4, "six-meetings": 6}


class Person(Entity):
    """Someone who is invited."""


class Meeting(Entity):
    """An entry of the calendar."""


class Slot(Entity):
    """A time in the calendar: it holds one meeting."""


class Mode(Entity):
    """How the phone behaves."""


_SECRETARY = Domain("secretary", description="Book meetings, invite people, set reminders, and mind the phone.")

_ONLINE = Mode("online")
_SECRETARY.constant(_ONLINE)
_SECRETARY.predicate("invited(person, meeting)", Person, Meeting, stale_with=["booked(meeting, _)"])
_SECRETARY.predicate("reminder(meeting)", Meeting, stale_with=["booked(meeting, _)"])


def domain() -> Domain:
    """Return the domain."""
    return _SECRETARY


@_SECRETARY.action(
    requires=["free(slot)", "unscheduled(meeting)"],
    provides=["booked(meeting, slot)", "not unscheduled(meeting)", "not free(slot)"],
    similes=["schedule", "book_meeting"],
    examples=["put the review on Monday"],
)
def book(meeting: Meeting, slot: Slot, title: str = "") -> None:
    """Put a meeting into a free slot."""


@_SECRETARY.action(
    requires=["booked(meeting, origin)", "free(target)"],
    provides=["booked(meeting, target)", "free(origin)", "not free(target)"],
    modifies=["booked(meeting, _)"],
    cost=2,
    similes=["reschedule", "move_meeting"],
)
def move(meeting: Meeting, origin: Slot, target: Slot) -> None:
    """Move a meeting: invitations and reminders no longer say the right time."""


@_SECRETARY.action(
    requires=["booked(meeting, slot)", "available(person, slot)", "mode(online)"],
    provides=["invited(person, meeting)"],
    tags=["irreversible"],
    similes=["send_invitation"],
)
def invite(person: Person, meeting: Meeting, slot: Slot, note: str = "") -> None:
    """Invite someone who is available at the time of the meeting."""


@_SECRETARY.action(
    requires=["booked(meeting, slot)"], provides=["reminder(meeting)"], tags=["idempotent"], similes=["set_alarm"]
)
def remind(meeting: Meeting, slot: Slot, minutes_before: int = 15) -> None:
    """Set a reminder for a meeting."""


@_SECRETARY.action(
    requires=["mode(old)", "old != new"], provides=["mode(new)"], modifies=["mode(_)"], similes=["switch_mode"]
)
def set_mode(old: Mode, new: Mode) -> None:
    """Change how the phone behaves."""


def problems() -> Mapping[str, Problem]:
    """Return the problems, from tiny to hard."""
    makers = {name: functools.partial(generate, 13, size) for name, size in SIZES.items()}
    return Series({"one-meeting": _one_meeting, "no-time": _no_time, **makers})


_SILENT = Mode("silent")
_ANN, _BOB = Person("ann"), Person("bob")
_MONDAY, _FRIDAY = Slot("monday"), Slot("friday")
_REVIEW = Meeting("review")


def _one_meeting() -> Problem:
    return _SECRETARY.problem(
        name="one-meeting",
        objects=[_ANN, _BOB, _MONDAY, _FRIDAY, _REVIEW, _SILENT],
        initial=[
            "mode(silent)",
            "booked(review, monday)",
            "free(friday)",
            "available(ann, monday)",
            "available(ann, friday)",
            "available(bob, friday)",
            "invited(ann, review)",
        ],
        goal=["invited(ann, review)", "invited(bob, review)", "reminder(review)", "mode(silent)"],
    )


def _no_time() -> Problem:
    return _SECRETARY.problem(
        name="no-time",
        objects=[_ANN, _BOB, _MONDAY, _FRIDAY, _REVIEW],
        initial=[
            "mode(online)",
            "unscheduled(review)",
            "free(monday)",
            "free(friday)",
            "available(ann, monday)",
            "available(bob, friday)",
        ],
        goal=["invited(ann, review)", "invited(bob, review)"],
    )


def generate(seed: int, size: int) -> Problem:
    """Return a problem with `size` meetings of two people each, in one slot more, half of them booked at first."""
    rng = random.Random(seed)
    slots = [Slot(f"slot{number}") for number in range(1, size + 2)]
    meetings = [Meeting(f"meeting{number}") for number in range(1, size + 1)]
    people = [Person(f"person{number}") for number in range(1, size + 2)]
    final = dict(zip(meetings, rng.sample(slots, size), strict=True))
    guests = {meeting: rng.sample(people, 2) for meeting in meetings}
    booked = dict(zip(rng.sample(meetings, size // 2), rng.sample(slots, size // 2), strict=True))
    initial = ["mode(silent)", *[f"free({slot.name})" for slot in slots if slot not in booked.values()]]
    initial += [f"booked({meeting.name}, {slot.name})" for meeting, slot in booked.items()]
    initial += [f"unscheduled({meeting.name})" for meeting in meetings if meeting not in booked]
    available = {(guest, final[meeting]) for meeting in meetings for guest in guests[meeting]}
    available |= {(person, rng.choice(slots)) for person in people}
    initial += sorted(f"available({person.name}, {slot.name})" for person, slot in available)
    goal = [f"invited({guest.name}, {meeting.name})" for meeting in meetings for guest in guests[meeting]]
    goal += [f"reminder({meeting.name})" for meeting in meetings]
    return _SECRETARY.problem(
        name=f"secretary-{seed}-{size}",
        objects=[*slots, *meetings, *people, _SILENT],
        initial=initial,
        goal=[*goal, "mode(silent)"],
    )


def cases() -> list[Case]:
    """Return what is known of some problems."""
    known = problems()
    moved = "move(review, monday, friday)\nset_mode(silent, online)\n"
    return [
        Case(
            "one-meeting",
            known["one-meeting"],
            7,
            valid=(
                moved + "invite(ann, review, friday)\ninvite(bob, review, friday)\n"
                "remind(review, friday)\nset_mode(online, silent)",
            ),
            invalid=(
                (
                    moved + "invite(bob, review, friday)\nremind(review, friday)\nset_mode(online, silent)",
                    "the goal requires invited(ann, review)",
                ),
                ("invite(bob, review, monday)", "requires available(bob, monday)"),
                ("move(review, monday, friday)\ninvite(bob, review, friday)", "requires mode(online)"),
            ),
        ),
        Case("no-time", known["no-time"], None),
    ]
