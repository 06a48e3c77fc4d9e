"""A lift whose passengers get on and off by themselves: conditional effects and derived predicates, in PDDL."""

from __future__ import annotations

import functools
import random
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path

from domains.series import Series
from planner.model import And, Atom, DomainModel, Forall, Goal, Object, Problem, Variable
from planner.pddl import read_domain
from planner.testing import Case

SIZES = {"two-passengers": 2, "three-passengers": 3, "five-passengers": 5, "eight-passengers": 8}


@functools.cache
def domain() -> DomainModel:
    """Return the domain."""
    return read_domain(Path(__file__).parent / "domain.pddl")


def problems() -> Mapping[str, Problem]:
    """Return the problems, from tiny to hard."""
    makers = {name: functools.partial(generate, 5, size) for name, size in SIZES.items()}
    return Series({"one-passenger": functools.partial(_problem, "one-passenger", 2, {"ann": (1, 2)}, ()), **makers})


def generate(seed: int, size: int) -> Problem:
    """Return a problem with `size` passengers, a third of them afraid, and two floors more than passengers.

    Each waits on a floor of his own, so all can be served one by one at the worst.
    """
    rng = random.Random(seed)
    floors = range(1, size + 3)
    origins = dict(zip([f"p{number}" for number in range(1, size + 1)], rng.sample(floors, size), strict=True))
    trips = {name: (origin, rng.choice([f for f in floors if f != origin])) for name, origin in origins.items()}
    afraid = tuple(rng.sample(sorted(trips), size // 3))
    return _problem(f"elevator-{seed}-{size}", len(floors), trips, afraid)


def _problem(name: str, floors: int, trips: Mapping[str, tuple[int, int]], afraid: tuple[str, ...]) -> Problem:
    levels = [f"f{number}" for number in range(1, floors + 1)]
    initial = [Atom("lift-at", ("f1",)), *[Atom("next", pair) for pair in pairwise(levels)]]
    initial += [Atom("waits", (person, f"f{origin}")) for person, (origin, _) in trips.items()]
    initial += [Atom("wants", (person, f"f{target}")) for person, (_, target) in trips.items()]
    initial += [Atom("afraid", (person,)) for person in afraid]
    everyone = Forall((Variable("?p", ("passenger",)),), Atom("served", ("?p",)))
    return Problem(
        name=name,
        domain=domain(),
        objects=(*[Object(p, ("passenger",)) for p in trips], *[Object(f, ("floor",)) for f in levels]),
        initial=tuple(initial),
        goal=Goal(And((everyone,))),
    )


def cases() -> list[Case]:
    """Return what is known of some problems."""
    return [
        Case(
            "one-passenger",
            problems()["one-passenger"],
            5,
            valid=("open-door(f1)\nclose-door\nup(f1, f2)\nopen-door(f2)",),
            invalid=(
                ("open-door(f1)\nup(f1, f2)", "requires not open"),
                ("up(f1, f2)\nopen-door(f2)", "served(ann)"),
                ("down(f1, f2)", "requires above(f1, f2)"),
            ),
        ),
        Case(
            "shy",
            _problem("shy", 3, {"ann": (1, 3), "bob": (1, 2)}, ("ann",)),
            None,
        ),
    ]
