"""Problems for couriers, from one parcel to a building full of them."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from functools import partial

from domains.courier.declarations import domain
from planner.language.declare import Domain
from planner.language.loading.load import LazyProblems
from planner.model import Problem

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
    name: str,
    corridors: Corridors,
    robots: Mapping[str, tuple[str, int]],
    parcels: Mapping[str, tuple[str, str]],
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
