"""Stacking: boxes on a few places, of which only the topmost can be moved, and not every box bears every other.

Declared in PDDL (`domain.pddl`), with two problems in PDDL (`problems/`). What it shows: a puzzle whose difficulty
grows quickly, in STRIPS with types, inequality and costs.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from itertools import pairwise, permutations
from pathlib import Path
from typing import TYPE_CHECKING, Final

from planner.language.declare import Domain
from planner.language.loading.load import LazyProblems
from planner.language.pddl import read_domain, read_problem
from planner.model import DomainModel, Problem

if TYPE_CHECKING:
    from planner.testing import Case


FOLDER: Final = Path(__file__).parent

Stacks = Sequence[Sequence[str]]
"""The boxes of each place, from the ground up."""


@cache
def domain() -> DomainModel:
    """Return the domain."""
    return read_domain(FOLDER / "domain.pddl")


def problems() -> Mapping[str, Problem]:
    """Return the shipped problems by name, from easy to hard; each is made when it is looked up."""
    return LazyProblems(
        {
            "swap": partial(read_shipped_problem, "swap"),
            "tower": partial(read_shipped_problem, "tower"),
            "shelf": partial(generate, 1, 5),
            "bay": partial(generate, 2, 7),
            "hold": partial(generate, 3, 9),
            "quay": partial(generate, 4, 12),
            "yard": partial(generate, 5, 25),
        }
    )


def read_shipped_problem(name: str) -> Problem:
    """Return the problem of that name in `problems/`."""
    return read_problem(FOLDER / "problems" / f"{name}.pddl", domain())


def generate(seed: int, size: int) -> Problem:
    """Return a random problem with `size` boxes; the same seed and size give the same problem.

    Boxes weigh 1, 2 or 3, and none bears a heavier one. There are two places, and one more for every four boxes. Goal
    stacks are random too, as far as weights allow.
    """
    rng = random.Random(f"stacking {seed} {size}")
    boxes = {f"box{n}": rng.randint(1, 3) for n in range(1, size + 1)}
    places = [f"place{n}" for n in range(1, 3 + (size + 3) // 4)]
    before, after = _draw_stacks(boxes, len(places), rng), _draw_stacks(boxes, len(places), rng)
    return yard(places, before, after, boxes, f"stacking-{seed}-{size}")


def yard(
    places: Sequence[str], before: Stacks, after: Stacks, weights: Mapping[str, int], name: str = "yard"
) -> Problem:
    """Return the problem to turn the stacks `before` into those of `after`; none bears what is heavier than itself."""
    return Domain.of(domain()).problem(
        name,
        objects=dict.fromkeys(weights, "box") | dict.fromkeys(places, "place"),
        initial=[*_position_facts(places, before), *_bearing_facts(weights, places)],
        goal=list(_stack_facts(places, after)),
        values={f"weight({box})": weight for box, weight in weights.items()},
    )


def _draw_stacks(boxes: Mapping[str, int], places: int, rng: random.Random) -> Stacks:
    """Return random stacks in which no box bears a heavier one."""
    stacks: list[list[str]] = [[] for _ in range(places)]
    for box in sorted(boxes, key=lambda box: (-boxes[box], rng.random())):
        rng.choice(stacks).append(box)
    return stacks


def _stack_facts(places: Iterable[str], stacks: Stacks) -> Iterator[str]:
    for place, stack in zip(places, stacks, strict=True):
        yield from (f"on({above}, {below})" for below, above in pairwise([place, *stack]))


def _position_facts(places: Sequence[str], stacks: Stacks) -> Iterator[str]:
    yield from _stack_facts(places, stacks)
    for place, stack in zip(places, stacks, strict=True):
        yield f"clear({[place, *stack][-1]})"


def _bearing_facts(boxes: Mapping[str, int], places: Iterable[str]) -> Iterator[str]:
    yield from (f"bears({place}, {box})" for place in places for box in boxes)
    yield from (f"bears({below}, {above})" for below, above in permutations(boxes, 2) if boxes[below] >= boxes[above])


SWAP = """
restack(red, blue, middle)
restack(blue, left, right)
restack(red, middle, left)
restack(blue, right, red)
"""

TOWER = """
restack(small, medium, right)
restack(medium, large, middle)
restack(small, right, medium)
restack(large, left, right)
restack(small, medium, left)
restack(medium, middle, large)
restack(small, left, medium)
"""


def cases() -> tuple[Case, ...]:
    """Return the optima, plans and invalid plans of the small problems, for tests."""
    from planner.testing import Case

    return (
        Case(
            "swap",
            read_shipped_problem("swap"),
            6,
            valid=(SWAP,),
            invalid=(
                (SWAP.replace("restack(red, blue, middle)", ""), "clear(blue)"),
                (SWAP.replace("blue, right, red", "blue, right, middle"), "on(blue, red)"),
                ("restack(red, blue, red)", "bears(red, red)"),
            ),
        ),
        Case(
            "tower",
            read_shipped_problem("tower"),
            12,
            valid=(TOWER,),
            invalid=(
                (TOWER.replace("large, left, right", "large, left, medium"), "clear(medium)"),
                ("restack(small, medium, right)\nrestack(medium, large, small)", "bears(small, medium)"),
            ),
        ),
        Case(
            "no room to turn two boxes round",
            yard(["ground"], [["heavy", "light"]], [["light", "heavy"]], {"heavy": 2, "light": 1}),
            None,
            invalid=(("restack(light, heavy, ground)", "clear(ground)"),),
        ),
    )
