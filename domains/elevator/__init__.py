"""Elevators: people board and leave wherever a lift stops, and some must never ride together.

Declared in PDDL (`domain.pddl`), with two problems in PDDL (`problems/`). What it shows: the ADL level: universal
conditional effects, quantified conditions, and derived predicates, recursive and negated.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from functools import cache, partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Final

from planner.language.declare import Domain
from planner.language.loading.load import LazyProblems
from planner.language.pddl import read_domain, read_problem
from planner.model import DomainModel, Problem

if TYPE_CHECKING:
    from planner.testing import Case


FOLDER: Final = Path(__file__).parent


@cache
def domain() -> DomainModel:
    """Return the domain."""
    return read_domain(FOLDER / "domain.pddl")


def problems() -> Mapping[str, Problem]:
    """Return the shipped problems by name, from easy to hard; each is made when it is looked up."""
    return LazyProblems(
        {
            "two-guests": partial(read_shipped_problem, "two-guests"),
            "quarrel": partial(read_shipped_problem, "quarrel"),
            "inn": partial(generate, 1, 3),
            "office": partial(generate, 2, 5),
            "hotel": partial(generate, 3, 8),
            "hospital": partial(generate, 4, 12),
            "skyscraper": partial(generate, 5, 30),
        }
    )


def read_shipped_problem(name: str) -> Problem:
    """Return the problem of that name in `problems/`."""
    return read_problem(FOLDER / "problems" / f"{name}.pddl", domain())


def waiting_together() -> Problem:
    """Return a problem without a plan: two who quarrel wait at one door, and a lift with both in it never moves."""
    return Domain.of(domain()).problem(
        "waiting-together",
        objects={"slow": "lift", "ground": "floor", "first": "floor", "ada": "person", "ben": "person"},
        initial=[
            *["at(slow, ground)", "lobby(ground)", "next(ground, first)"],
            *["halts(slow, ground)", "halts(slow, first)"],
            *["waits(ada, ground)", "waits(ben, ground)", "wants(ada, first)", "wants(ben, first)"],
            "quarrel(ada, ben)",
        ],
        goal="(forall (?p - person) (arrived ?p))",
    )


def generate(seed: int, size: int) -> Problem:
    """Return a random problem with `size` people; the same seed and size give the same problem.

    There are two floors more than people and a lift for every four; the first halts everywhere, the others at most
    floors. A third of the people quarrel with one other each: these wait where nobody else waits or wants to go, so
    that there is always a plan.
    """
    rng = random.Random(f"elevator {seed} {size}")
    floors = [f"floor{n}" for n in range(size + 2)]
    lifts = [f"lift{n}" for n in range(1, 2 + size // 4)]
    people = [f"person{n}" for n in range(1, size + 1)]
    alone = dict(zip(people, rng.sample(floors[1:], size // 3), strict=False))
    shared = [floor for floor in floors if floor not in alone.values()]
    initial = [f"next({low}, {high})" for low, high in pairwise(floors)]
    initial += ["lobby(floor0)", *[f"at({lift}, {rng.choice(floors)})" for lift in lifts]]
    initial += [f"halts({lift}, {floor})" for lift in lifts for floor in floors if _halts(lift, floor, rng)]
    for person in people:
        origin, target = alone.get(person), rng.choice(shared)
        while origin is None or origin == target:
            origin = rng.choice(shared)
        initial += [f"waits({person}, {origin})", f"wants({person}, {target})"]
    initial += [f"quarrel({person}, {rng.choice([other for other in people if other != person])})" for person in alone]
    return Domain.of(domain()).problem(
        f"elevator-{seed}-{size}",
        objects={**dict.fromkeys(lifts, "lift"), **dict.fromkeys(floors, "floor"), **dict.fromkeys(people, "person")},
        initial=initial,
        goal="(forall (?p - person) (arrived ?p))",
    )


def _halts(lift: str, floor: str, rng: random.Random) -> bool:
    return lift == "lift1" or rng.random() < 0.7 or floor == "floor0"


TWO_GUESTS = """
open-doors(slow, ground)
go-up(slow, ground, first)
go-up(slow, first, second)
open-doors(slow, second)
return(slow, second, ground)
open-doors(slow, ground)
"""

QUARREL = """
open-doors(slow, ground)
go-up(slow, ground, first)
go-up(slow, first, second)
open-doors(slow, second)
go-up(slow, second, third)
open-doors(slow, third)
go-down(slow, third, second)
go-down(slow, second, first)
open-doors(slow, first)
go-up(slow, first, second)
go-up(slow, second, third)
open-doors(slow, third)
"""


def cases() -> tuple[Case, ...]:
    """Return the optima, plans and invalid plans of the small problems, for tests."""
    from planner.testing import Case

    return (
        Case(
            "two-guests",
            read_shipped_problem("two-guests"),
            10,
            valid=(
                TWO_GUESTS,
                TWO_GUESTS.replace(
                    "return(slow, second, ground)", "go-down(slow, second, first)\ngo-down(slow, first, ground)"
                ),
            ),
            invalid=(
                (TWO_GUESTS.replace("open-doors(slow, second)", ""), "arrived(ada)"),
                (TWO_GUESTS.replace("return(slow, second, ground)", "return(slow, second, first)"), "lobby(first)"),
                (
                    TWO_GUESTS.replace("go-up(slow, ground, first)", "go-up(slow, ground, second)"),
                    "next(ground, second)",
                ),
            ),
        ),
        Case(
            "quarrel",
            read_shipped_problem("quarrel"),
            19,
            valid=(QUARREL,),
            invalid=(
                (
                    QUARREL.replace(
                        "go-up(slow, first, second)", "open-doors(slow, first)\ngo-up(slow, first, second)"
                    ),
                    "tense",
                ),
                (
                    QUARREL.replace("go-up(slow, ground, first)", "return(slow, ground, ground)"),
                    "above(ground, ground)",
                ),
            ),
        ),
        Case(
            "who quarrels waits at the same door",
            waiting_together(),
            None,
            invalid=(("open-doors(slow, ground)\ngo-up(slow, ground, first)", "not tense(slow)"),),
        ),
    )
