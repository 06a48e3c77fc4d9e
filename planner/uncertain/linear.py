"""Linear equations x = b + A x of absorbing Markov chains."""

from __future__ import annotations

from collections.abc import Mapping

from planner.annotations import Final

Row = tuple[float, dict[int, float]]
"""A constant, and the factors of unknowns."""

FEW: Final = 100
"""Up to so many unknowns, plain Python is faster than importing numpy."""
MANY: Final = 3000
"""Beyond so many unknowns, a dense matrix takes more memory than the problem is worth."""
CLOSE: Final = 1e-14
"""Iteration stops where a round changes nothing by more than this part of a value."""


def solved(rows: Mapping[int, Row]) -> dict[int, float]:
    """Return the unknowns x by their keys: x = constant + the sum of factor · unknown.

    From every key, factors lead with less than their full weight to what has none: then there is one solution.
    """
    if len(rows) <= FEW:
        return _eliminated(rows)
    if len(rows) <= MANY:
        return _dense(rows)
    return _iterated(rows)


def _eliminated(rows: Mapping[int, Row]) -> dict[int, float]:
    """Gaussian elimination without pivots: unknowns are replaced one by one by what they stand for."""
    done: dict[int, Row] = {}
    for key, (fixed, given) in rows.items():
        constant, factors = fixed, dict(given)
        for other, (more, shares) in done.items():
            share = factors.pop(other, 0.0)
            if share:
                constant += share * more
                for after, each in shares.items():
                    factors[after] = factors.get(after, 0.0) + share * each
        rest = 1.0 - factors.pop(key, 0.0)
        done[key] = constant / rest, {after: share / rest for after, share in factors.items()}
    values: dict[int, float] = {}
    for key in reversed(list(rows)):
        values[key] = done[key][0] + sum([share * values[after] for after, share in done[key][1].items()])
    return values


def _dense(rows: Mapping[int, Row]) -> dict[int, float]:
    import numpy as np  # noqa: PLC0415 - slow to import, and small systems do without

    place = {key: number for number, key in enumerate(rows)}
    matrix = np.eye(len(rows))
    for key, (_, factors) in rows.items():
        for after, share in factors.items():
            matrix[place[key], place[after]] -= share
    found = np.linalg.solve(matrix, np.array([constant for constant, _ in rows.values()]))
    return dict(zip(rows, map(float, found), strict=True))


def _iterated(rows: Mapping[int, Row]) -> dict[int, float]:
    """Gauss-Seidel, for large and sparse systems."""
    values = dict.fromkeys(rows, 0.0)
    change = 1.0
    while change > CLOSE:
        change = 0.0
        for key, (constant, factors) in rows.items():
            value = constant + sum([share * values[after] for after, share in factors.items()])
            change = max(change, abs(value - values[key]) / max(1.0, abs(value)))
            values[key] = value
    return values
