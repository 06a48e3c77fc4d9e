"""Robots fetch parcels through a building: a transport domain with costs, written in YAML."""

from __future__ import annotations

import functools
import random
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path

from domains.series import Series
from planner.documents import Documents, read_documents
from planner.model import And, Atom, DomainModel, Goal, Number, Object, Problem
from planner.testing import Case

SIZES = {"two-parcels": 2, "three-parcels": 3, "four-parcels": 4, "six-parcels": 6, "ten-parcels": 10}


@functools.cache
def _documents() -> Documents:
    return read_documents(Path(__file__).parent / "domain.yaml")


def domain() -> DomainModel:
    """Return the domain."""
    return _documents().domains[0]


def problems() -> Mapping[str, Problem]:
    """Return the problems, from tiny to hard."""
    makers = {name: functools.partial(generate, 7, size) for name, size in SIZES.items()}
    return Series({"one-parcel": lambda: _documents().problems[0], **makers})


def generate(seed: int, size: int) -> Problem:
    """Return a problem with `size` parcels, a robot for every three of them, and a connected building."""
    rng = random.Random(seed)
    rooms = [f"room{number}" for number in range(1, size + 3)]
    robots = [f"robot{number}" for number in range(1, size // 3 + 2)]
    parcels = [f"parcel{number}" for number in range(1, size + 1)]
    lengths = dict(_doors(rooms, rng))
    kinds = [(robots, "robot"), (rooms, "room"), (parcels, "parcel")]
    initial = [Atom("door", ends) for ends in lengths]
    initial += [Atom("at", (robot, rng.choice(rooms))) for robot in robots]
    initial += [Atom("free", (robot,)) for robot in robots]
    ways = {parcel: rng.sample(rooms, 2) for parcel in parcels}
    initial += [Atom("lies", (parcel, origin)) for parcel, (origin, _) in ways.items()]
    return Problem(
        name=f"courier-{seed}-{size}",
        domain=domain(),
        objects=tuple([Object(name, (kind,)) for names, kind in kinds for name in names]),
        initial=tuple(initial),
        goal=Goal(And(tuple([Atom("lies", (parcel, target)) for parcel, (_, target) in ways.items()]))),
        values={Atom("distance", ends): length for ends, length in lengths.items()},
    )


def _doors(rooms: list[str], rng: random.Random) -> Iterator[tuple[tuple[str, str], Number]]:
    """Yield both directions of the doors: along a chain of all rooms, and a third as many across."""
    chain = list(pairwise(rng.sample(rooms, len(rooms))))
    across = [(one, other) for one, other in (rng.sample(rooms, 2) for _ in range(len(rooms) // 3))]
    for one, other in dict.fromkeys(tuple(sorted(pair)) for pair in [*chain, *across]):
        length = rng.randint(1, 5)
        yield (one, other), length
        yield (other, one), length


def cases() -> list[Case]:
    """Return what is known of some problems."""
    known = problems()
    return [
        Case(
            "one-parcel",
            known["one-parcel"],
            4,
            valid=("pick_up(r2, letter, hall)\nmove(r2, hall, lab)\nput_down(r2, letter, lab)",),
            invalid=(
                ("move(r2, hall, lab)\nput_down(r2, letter, lab)", "requires carries(r2, letter)"),
                ("pick_up(r2, letter, hall)\nmove(r2, hall, lab)", "the goal requires lies(letter, lab)"),
                ("pick_up(r2, letter, lab)", "requires at(r2, lab)"),
            ),
        ),
        Case("two-parcels", known["two-parcels"], 10),
        Case("four-parcels", known["four-parcels"], 25),
    ]
