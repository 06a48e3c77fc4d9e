"""The stacking domain and its first problems, read from their files, and generated problems up to a full yard."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from itertools import pairwise, permutations
from pathlib import Path
from typing import Final

from planner.language.declare import Domain
from planner.language.loading.load import LazyProblems
from planner.language.pddl import read_domain, read_problem
from planner.model import DomainModel, Problem

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
            "swap": partial(written, "swap"),
            "tower": partial(written, "tower"),
            "shelf": partial(generate, 1, 5),
            "bay": partial(generate, 2, 7),
            "hold": partial(generate, 3, 9),
            "quay": partial(generate, 4, 12),
            "yard": partial(generate, 5, 25),
        }
    )


def written(name: str) -> Problem:
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
    before, after = _stacks(boxes, len(places), rng), _stacks(boxes, len(places), rng)
    return yard(places, before, after, boxes, f"stacking-{seed}-{size}")


def yard(
    places: Sequence[str], before: Stacks, after: Stacks, weights: Mapping[str, int], name: str = "yard"
) -> Problem:
    """Return the problem to turn the stacks `before` into those of `after`; none bears what is heavier than itself."""
    return Domain.of(domain()).problem(
        name,
        objects=dict.fromkeys(weights, "box") | dict.fromkeys(places, "place"),
        initial=[*_standing(places, before), *_bearing(weights, places)],
        goal=list(_on(places, after)),
        values={f"weight({box})": weight for box, weight in weights.items()},
    )


def _stacks(boxes: Mapping[str, int], places: int, rng: random.Random) -> Stacks:
    """Return random stacks in which no box bears a heavier one."""
    stacks: list[list[str]] = [[] for _ in range(places)]
    for box in sorted(boxes, key=lambda box: (-boxes[box], rng.random())):
        rng.choice(stacks).append(box)
    return stacks


def _on(places: Iterable[str], stacks: Stacks) -> Iterator[str]:
    for place, stack in zip(places, stacks, strict=True):
        yield from (f"on({above}, {below})" for below, above in pairwise([place, *stack]))


def _standing(places: Sequence[str], stacks: Stacks) -> Iterator[str]:
    yield from _on(places, stacks)
    for place, stack in zip(places, stacks, strict=True):
        yield f"clear({[place, *stack][-1]})"


def _bearing(boxes: Mapping[str, int], places: Iterable[str]) -> Iterator[str]:
    yield from (f"bears({place}, {box})" for place in places for box in boxes)
    yield from (f"bears({below}, {above})" for below, above in permutations(boxes, 2) if boxes[below] >= boxes[above])
