"""Couriers: robots carry parcels on trays from room to room, along corridors of different lengths.

Declared in Python, with predicates as values. What it shows: costs from a static function, and items with one value at
a time, in a domain that is plain STRIPS for other planners.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from functools import cache, partial
from typing import TYPE_CHECKING

from planner.language.declare import Domain, Entity
from planner.language.loading.load import LazyProblems
from planner.model import DomainModel, Problem

if TYPE_CHECKING:
    from planner.testing import Case


class Robot(Entity):
    """A courier."""


class Tray(Entity):
    """A place on a robot for one parcel."""


class Parcel(Entity):
    """Something to be carried."""


class Room(Entity):
    """A place where robots stop and parcels lie."""


@cache
def domain() -> DomainModel:
    """Return the domain."""
    courier = Domain("courier", description="Carry parcels from room to room.")
    at = courier.predicate("at", robot=Robot, room=Room)
    lies = courier.predicate("lies", parcel=Parcel, room=Room, description="the parcel is in the room, on no tray")
    on = courier.predicate("on", parcel=Parcel, tray=Tray)
    has = courier.predicate("has", robot=Robot, tray=Tray)
    empty = courier.predicate("empty", tray=Tray)
    corridor = courier.predicate("corridor", origin=Room, target=Room)
    distance = courier.function("distance", origin=Room, target=Room)

    courier.action(
        "move",
        {"robot": Robot, "origin": Room, "target": Room},
        requires=[at("robot", "origin"), corridor("origin", "target")],
        provides=[at("robot", "target")],
        modifies=[at("robot", "_")],
        cost=distance("origin", "target"),
        description="Go along a corridor.",
        similes=["go", "drive"],
    )
    courier.action(
        "pick_up",
        {"robot": Robot, "tray": Tray, "parcel": Parcel, "room": Room},
        requires=[at("robot", "room"), lies("parcel", "room"), has("robot", "tray"), empty("tray")],
        provides=[on("parcel", "tray"), "not empty(tray)"],
        modifies=[lies("parcel", "_")],
        description="Put a parcel on an empty tray.",
        similes=["load", "take"],
    )
    courier.action(
        "put_down",
        {"robot": Robot, "tray": Tray, "parcel": Parcel, "room": Room},
        requires=[at("robot", "room"), on("parcel", "tray"), has("robot", "tray")],
        provides=[lies("parcel", "room"), empty("tray")],
        modifies=[on("parcel", "_")],
        description="Leave a parcel in a room.",
        similes=["unload", "drop"],
    )
    return courier.model


Corridors = Mapping[tuple[str, str], int]
"""The length of each corridor, which is open both ways."""


def problems() -> Mapping[str, Problem]:
    """Return the shipped problems by name, from easy to hard; each is made when it is looked up."""
    return LazyProblems(
        {
            "one-parcel": one_parcel,
            "two-robots": two_robots,
            "floor": partial(generate, 1, 3),
            "wing": partial(generate, 2, 5),
            "house": partial(generate, 3, 8),
            "tower": partial(generate, 4, 14),
            "campus": partial(generate, 5, 20),
        }
    )


def building(
    name: str, corridors: Corridors, robots: Mapping[str, tuple[str, int]], parcels: Mapping[str, tuple[str, str]]
) -> Problem:
    """Return the problem to bring each parcel from its first room to its second.

    `robots` maps each robot to the room where it stands and the number of its trays.
    """
    trays = {f"{robot}-tray{n}": robot for robot, (_, count) in robots.items() for n in range(1, count + 1)}
    kinds: dict[str, Iterable[str]] = {
        "Room": dict.fromkeys(room for ends in corridors for room in ends),
        "Robot": robots,
        "Tray": trays,
        "Parcel": parcels,
    }
    both_ways = {(a, b): length for one, length in corridors.items() for a, b in (one, one[::-1])}
    return Domain.of(domain()).problem(
        name,
        objects={name: kind for kind, names in kinds.items() for name in names},
        initial=[
            *[f"corridor({origin}, {target})" for origin, target in both_ways],
            *[f"at({robot}, {room})" for robot, (room, _) in robots.items()],
            *[fact for tray, robot in trays.items() for fact in (f"has({robot}, {tray})", f"empty({tray})")],
            *[f"lies({parcel}, {room})" for parcel, (room, _) in parcels.items()],
        ],
        goal=[f"lies({parcel}, {room})" for parcel, (_, room) in parcels.items()],
        values={f"distance({origin}, {target})": length for (origin, target), length in both_ways.items()},
    )


def one_parcel() -> Problem:
    """Return the smallest real errand: fetch a parcel from the far end of the hall."""
    corridors = {("hall", "office"): 2, ("hall", "lab"): 3}
    return building("one-parcel", corridors, {"r2": ("office", 1)}, {"sample": ("lab", "office")})


def two_robots() -> Problem:
    """Return an errand for two robots with one tray each, which may also leave parcels for each other in the hall."""
    corridors = {("dock", "hall"): 3, ("hall", "lab"): 3, ("hall", "office"): 4}
    robots = {"r1": ("dock", 1), "r2": ("hall", 1)}
    parcels = {"crate": ("dock", "lab"), "letter": ("dock", "office")}
    return building("two-robots", corridors, robots, parcels)


def generate(seed: int, size: int) -> Problem:
    """Return a random problem with `size` parcels; the same seed and size give the same problem.

    Rooms form a tree with some more corridors, three rooms for two parcels; there is a robot for every four parcels.
    """
    rng = random.Random(f"courier {seed} {size}")
    rooms = [f"room{n}" for n in range(1, 4 + size * 3 // 2)]
    corridors = {(rng.choice(rooms[:n]), rooms[n]): rng.randint(1, 4) for n in range(1, len(rooms))}
    for _ in range(len(rooms) // 3):
        one, other = sorted(rng.sample(range(len(rooms)), 2))
        corridors.setdefault((rooms[one], rooms[other]), rng.randint(2, 6))
    robots = {f"robot{n}": (rng.choice(rooms), rng.randint(1, 3)) for n in range(1, 2 + size // 4)}
    parcels: dict[str, tuple[str, str]] = {}
    for number in range(1, size + 1):
        origin, target = rng.sample(rooms, 2)
        parcels[f"parcel{number}"] = (origin, target)
    return building(f"courier-{seed}-{size}", corridors, robots, parcels)


ONE_PARCEL = """
move(r2, office, hall)
move(r2, hall, lab)
pick_up(r2, r2-tray1, sample, lab)
move(r2, lab, hall)
move(r2, hall, office)
put_down(r2, r2-tray1, sample, office)
"""

ALONE = """
pick_up(r1, r1-tray1, letter, dock)
move(r1, dock, hall)
move(r1, hall, office)
put_down(r1, r1-tray1, letter, office)
move(r1, office, hall)
move(r1, hall, dock)
pick_up(r1, r1-tray1, crate, dock)
move(r1, dock, hall)
move(r1, hall, lab)
put_down(r1, r1-tray1, crate, lab)
"""

RELAY = """
pick_up(r1, r1-tray1, letter, dock)
move(r1, dock, hall)
put_down(r1, r1-tray1, letter, hall)
pick_up(r2, r2-tray1, letter, hall)
move(r2, hall, office)
put_down(r2, r2-tray1, letter, office)
move(r1, hall, dock)
pick_up(r1, r1-tray1, crate, dock)
move(r1, dock, hall)
move(r1, hall, lab)
put_down(r1, r1-tray1, crate, lab)
"""

APART = """
pick_up(r1, r1-tray1, crate, dock)
move(r1, dock, hall)
move(r1, hall, lab)
put_down(r1, r1-tray1, crate, lab)
move(r2, hall, dock)
pick_up(r2, r2-tray1, letter, dock)
move(r2, dock, hall)
move(r2, hall, office)
put_down(r2, r2-tray1, letter, office)
"""


def cases() -> tuple[Case, ...]:
    """Return the optima, plans and invalid plans of the small problems, for tests."""
    from planner.testing import Case

    return (
        Case(
            "one-parcel",
            one_parcel(),
            12,
            valid=(ONE_PARCEL,),
            invalid=(
                (ONE_PARCEL.replace("move(r2, hall, lab)", ""), "at(r2, lab)"),
                (ONE_PARCEL.replace("move(r2, office, hall)", "move(r2, office, lab)"), "corridor(office, lab)"),
                (ONE_PARCEL.replace("put_down", "pick_up"), "lies(sample, office)"),
                (ONE_PARCEL.replace("move(r2, hall, office)\nput", "put"), "at(r2, office)"),
            ),
        ),
        Case(
            "two-robots",
            two_robots(),
            20,
            valid=(APART, RELAY, ALONE),
            invalid=(
                ("pick_up(r1, r1-tray1, crate, dock)" + RELAY, "empty(r1-tray1), which was retracted by step 1"),
                (RELAY.replace("put_down(r1, r1-tray1, letter, hall)", ""), "lies(letter, hall)"),
                (ALONE.replace("put_down(r1, r1-tray1, letter, office)", ""), "empty(r1-tray1)"),
            ),
        ),
        Case(
            "a room that no corridor leads to",
            building(
                "island", {("hall", "office"): 1, ("lab", "store"): 1}, {"r2": ("hall", 1)}, {"box": ("hall", "lab")}
            ),
            None,
            invalid=(("move(r2, hall, lab)", "corridor(hall, lab)"),),
        ),
    )
