"""Patterns worth looking at: interesting ones, smallest first (Pommerening, Röger and Helmert, 2013).

A pattern is interesting if its variables hang together, and each leads to a goal variable: a value of it is needed for
a change of the next one on the way. Others are no better than what they fall apart into.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from itertools import cycle, repeat

from planner.abstractions.moves import Moves

Pattern = tuple[int, ...]
Links = tuple[list[set[int]], list[set[int]]]
"""For each variable: those that changes of it need, and those that change together with it."""


def interesting(moves: Moves, most: int, *, least: int = 1, links: Links | None = None) -> Iterator[Pattern]:
    """Yield the interesting patterns of `least` to `most` variables, by their size."""
    needed_by, changed_with = links or links_of(moves)
    level: dict[Pattern, None] = dict.fromkeys([(variable,) for variable in sorted(moves.goal)])
    for size in range(1, most + 1):
        if size >= least:
            yield from level
        if size < most:
            level = dict.fromkeys(
                [
                    tuple(sorted((*pattern, more)))
                    for pattern in level
                    for more in _extensions(moves, pattern, needed_by, changed_with)
                ]
            )


def grown(moves: Moves, sizes: Sequence[int], links: Links | None = None) -> Iterator[Pattern]:
    """Yield patterns grown at random from goal variables (Rovner, Sievers and Helmert, 2019), without end.

    They have as many states as go into one of the `sizes`, each at its turn.
    """
    needed_by, changed_with = links or links_of(moves)
    draw = random.Random(0)  # noqa: S311 - no secret
    for goal, most in zip(cycle(sorted(moves.goal)), _spread(sizes, len(moves.goal)), strict=False):
        pattern: Pattern = (goal,)
        while True:
            room = most // moves.product(pattern)
            near = [each for each in _extensions(moves, pattern, needed_by, changed_with) if moves.sizes[each] <= room]
            if not near:
                break
            pattern = (*pattern, draw.choice(near))
        yield tuple(sorted(pattern))


def _spread(sizes: Sequence[int], many: int) -> Iterator[int]:
    """Yield each of the sizes for `many` patterns, over and over."""
    for size in cycle(sizes):
        yield from repeat(size, many)


def _extensions(
    moves: Moves, pattern: Pattern, needed_by: list[set[int]], changed_with: list[set[int]]
) -> Iterator[int]:
    """Yield the variables that make `pattern` a larger one that is interesting."""
    near = set[int]().union(*(needed_by[variable] for variable in pattern))
    for variable in pattern:
        near.update([other for other in changed_with[variable] if other in moves.goal])
        near.update([other for other in moves.goal if variable in needed_by[other]])
    yield from sorted(near.difference(pattern))


def links_of(moves: Moves) -> Links:
    """Return how the variables hang together."""
    needed_by: list[set[int]] = [set() for _ in moves.sizes]
    changed_with: list[set[int]] = [set() for _ in moves.sizes]
    changes: list[list[int]] = [[] for _ in moves.touches]
    for variable, actions in enumerate(moves.affecting):
        for action in actions:
            changes[action].append(variable)
    for touched, changed in zip(moves.touches, changes, strict=True):
        needed = {variable for variable, options in touched.items() if options[0].origin is not None}
        needed.update([other for options in touched.values() for option in options for other, _ in option.conditions])
        for variable in changed:
            needed_by[variable] |= needed
            changed_with[variable].update(changed)
    return needed_by, changed_with
