"""Workshop: parts are sawn, glued and painted by machines, clamps and people, of which there are too few.

Declared in Python. What it shows: durations that depend on the part, machines that a step changes and nobody else may
use meanwhile, capacities that steps hold while they last, and painting that must happen while the fan runs.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from functools import cache, partial
from typing import TYPE_CHECKING

from planner.language.declare import Domain, Entity
from planner.language.declare.marks import Moment
from planner.language.loading.load import LazyProblems
from planner.model import Atom, DomainModel, Problem

if TYPE_CHECKING:
    from planner.testing import Case


class Part(Entity):
    """Something to be made."""


class Saw(Entity):
    """A machine that saws one part at a time."""


class Booth(Entity):
    """A room with a fan in which one part at a time is painted."""


@cache
def domain() -> DomainModel:
    """Return the domain."""
    workshop = Domain("workshop", description="Saw, glue and paint parts, and be done soon.")
    blank = workshop.predicate("blank", part=Part)
    sawn = workshop.predicate("sawn", part=Part)
    glued = workshop.predicate("glued", part=Part)
    painted = workshop.predicate("painted", part=Part)
    ready = workshop.predicate("ready", saw=Saw, description="a saw that works")
    empty = workshop.predicate("empty", booth=Booth, description="a booth to paint in; a part in it is not told apart")
    airy = workshop.predicate("airy", booth=Booth, description="its fan runs")
    still = workshop.predicate("still", booth=Booth, description="its fan does not run")
    workshop.function("sawing", Part, description="seconds")
    workshop.function("drying", Part, description="seconds in the clamp")
    workshop.function("painting", Part, description="seconds")

    workshop.action(
        "saw",
        {"part": Part, "saw": Saw},
        requires=[blank("part"), ready("saw")],
        provides=[sawn("part")],
        modifies=[ready("saw"), blank("part")],
        at_end=Moment(provides=["not blank(part)"]),
        duration="sawing(part)",
        holds={"worker": 1},
        description="Saw a part; the saw is nobody else's meanwhile.",
    )
    workshop.action(
        "glue",
        {"part": Part},
        requires=[sawn("part")],
        provides=[glued("part"), "not sawn(part)"],
        duration="drying(part)",
        holds={"clamp": 1},
        description="Put a part into a clamp until the glue is dry; nobody has to watch it.",
    )
    workshop.action(
        "run_fan",
        {"booth": Booth},
        requires=[still("booth")],
        at_start=Moment(provides=[airy("booth"), "not still(booth)"]),
        at_end=Moment(provides=["not airy(booth)", still("booth")]),
        duration=60,
        description="Let the fan of a booth run for a minute.",
    )
    workshop.action(
        "paint",
        {"part": Part, "booth": Booth},
        requires=[glued("part"), empty("booth")],
        throughout=[airy("booth")],
        provides=[painted("part"), "not glued(part)"],
        modifies=[empty("booth")],
        duration="painting(part)",
        holds={"worker": 1},
        description="Paint a part while the fan runs.",
    )
    return workshop.model


def problems() -> Mapping[str, Problem]:
    """Return the shipped problems by name, from easy to hard; each is made when it is looked up."""
    return LazyProblems(
        {
            "stool": stool,
            "two-stools": two_stools,
            "morning": partial(generate, 1, 3),
            "day": partial(generate, 2, 5),
            "rush": partial(generate, 3, 8),
            "fair": partial(generate, 4, 15),
        }
    )


Seconds = tuple[int, int, int]
"""How long a part is sawn, dries, and is painted."""


def order(
    name: str, parts: Mapping[str, Seconds], *, saws: int = 1, booths: int = 1, workers: int = 1, clamps: int = 1
) -> Problem:
    """Return the problem to make `parts` with so many machines, people and clamps."""
    values: dict[str | Atom, int] = {
        f"{what}({part})": seconds
        for part, times in parts.items()
        for what, seconds in zip(("sawing", "drying", "painting"), times, strict=True)
    }
    machines = {f"saw{n}": "Saw" for n in range(1, saws + 1)} | {f"booth{n}": "Booth" for n in range(1, booths + 1)}
    return Domain.of(domain()).problem(
        name,
        objects={**dict.fromkeys(parts, "Part"), **machines},
        initial=[
            *[f"blank({part})" for part in parts],
            *[f"ready({name})" for name, kind in machines.items() if kind == "Saw"],
            *[f"{fact}({name})" for name, kind in machines.items() if kind == "Booth" for fact in ("empty", "still")],
        ],
        goal=[f"painted({part})" for part in parts],
        values=values,
        capacity={"worker": workers, "clamp": clamps},
        objective="makespan",
    )


def stool() -> Problem:
    """Return the smallest order: one part, which waits for nothing."""
    return order("stool", {"seat": (30, 40, 20)})


def two_stools() -> Problem:
    """Return an order of two parts: while the one dries, the other is sawn; the fan must run twice."""
    return order("two-stools", {"seat": (30, 60, 20), "leg": (10, 30, 20)}, clamps=2)


def generate(seed: int, size: int) -> Problem:
    """Return a random order of `size` parts; the same seed and size give the same problem."""
    rng = random.Random(f"workshop {seed} {size}")
    parts = {
        f"part{n}": (5 * rng.randint(1, 8), 10 * rng.randint(1, 9), 5 * rng.randint(1, 6)) for n in range(1, size + 1)
    }
    return order(
        f"workshop-{seed}-{size}",
        parts,
        saws=1 + size // 6,
        booths=1 + size // 8,
        workers=1 + size // 4,
        clamps=1 + size // 3,
    )


STOOL = """
0.000: (saw seat saw1) [30.000]
30.001: (glue seat) [40.000]
30.002: (run_fan booth1) [60.000]
70.002: (paint seat booth1) [20.000]
"""

TWO_STOOLS = """
0.000: (saw leg saw1) [10.000]
10.001: (glue leg) [30.000]
10.001: (saw seat saw1) [30.000]
40.002: (glue seat) [60.000]
40.002: (paint leg booth1) [20.000]
0.002: (run_fan booth1) [60.000]
60.003: (run_fan booth1) [60.000]
100.003: (paint seat booth1) [20.000]
"""


def cases() -> tuple[Case, ...]:
    """Return the optima, plans and invalid plans of the small problems, for tests."""
    from decimal import Decimal

    from planner.testing import Case

    return (
        Case(
            "stool",
            stool(),
            Decimal("90.002"),
            valid=(STOOL,),
            invalid=(
                (STOOL.replace("30.002", "20.002"), "requires airy(booth1) throughout"),
                (STOOL.replace("(paint seat booth1) [20.000]", "(paint seat booth1) [10.000]"), "its duration is 20 s"),
                ("0.000: (saw seat saw1) [30.000]", "at the end, the goal requires painted(seat)"),
            ),
        ),
        Case(
            "two-stools",
            two_stools(),
            Decimal("120.003"),
            valid=(TWO_STOOLS,),
            invalid=(
                (TWO_STOOLS.replace("10.001: (saw", "10.000: (saw"), "are less than 0.001 s apart"),
                (TWO_STOOLS.replace("10.001: (saw", "5.000: (saw"), "requires"),
            ),
            proved=False,
        ),
        Case("no booth", order("no-booth", {"seat": (30, 40, 20)}, booths=0), None),
    )
