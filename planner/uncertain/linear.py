"""Linear equations x = b + A x of absorbing Markov chains.

Differences such as 1 - 0.999… lose all digits where a chain is left with a tiny probability only, so each equation also
says with which probability the chain is left from there: then sums will do (Grassmann, Taksar and Heyman, 1985).
"""

from __future__ import annotations

from collections.abc import Mapping

from planner.annotations import Final

Row = tuple[float, float, dict[int, float]]
"""A constant, the probability to leave the chain at once, and those of all that may come next: factors of unknowns."""

FEW: Final = 100
"""Up to so many unknowns, plain Python is faster than importing numpy."""
MANY: Final = 3000
"""Beyond so many unknowns, a dense matrix takes more memory than the problem is worth."""
CLOSE: Final = 1e-14
"""Iteration stops where a round changes nothing by more than this part of a value."""
ROUNDS: Final = 10_000
"""After so many rounds, iteration is given up."""
SURE: Final = 1e-9
"""By so much the probability to leave the chain at last may be found to differ from 1; more shows a loss of digits."""


def solved(rows: Mapping[int, Row]) -> dict[int, float]:
    """Return the unknowns x by their keys: x = constant + the sum of factor · unknown.

    From every key, the factors lead at last to one from which the chain can be left.
    """
    direct = {key: _without_loop(key, row) for key, row in rows.items()}
    found = None
    if len(rows) > FEW:
        found = _dense(direct) if len(rows) <= MANY else _iterated(direct)
    return _eliminated(direct) if found is None else found


def _without_loop(key: int, row: Row) -> Row:
    """Return the equation of `key` without `key` on its right-hand side."""
    constant, leaving, factors = row
    others = {other: share for other, share in factors.items() if other != key and share}
    rest = leaving + sum(others.values())
    return constant / rest, leaving / rest, {other: share / rest for other, share in others.items()}


def _eliminated(rows: Mapping[int, Row]) -> dict[int, float]:
    """Gaussian elimination without pivots: unknowns are replaced one by one by what they stand for."""
    done: dict[int, Row] = {}
    for key, (fixed, left, given) in rows.items():
        constant, leaving, factors = fixed, left, dict(given)
        for other, (more, out, shares) in done.items():
            share = factors.pop(other, 0.0)
            if share:
                constant += share * more
                leaving += share * out
                for after, each in shares.items():
                    factors[after] = factors.get(after, 0.0) + share * each
        done[key] = _without_loop(key, (constant, leaving, factors))
    values: dict[int, float] = {}
    for key in reversed(list(rows)):
        constant, _, factors = done[key]
        values[key] = constant + sum([share * values[after] for after, share in factors.items()])
    return values


def _dense(rows: Mapping[int, Row]) -> dict[int, float] | None:
    """Solve with a matrix; None where digits were lost."""
    import numpy as np  # noqa: PLC0415 - slow to import, and small systems do without

    place = {key: number for number, key in enumerate(rows)}
    matrix = np.eye(len(rows))
    for key, (_, _, factors) in rows.items():
        for after, share in factors.items():
            matrix[place[key], place[after]] -= share
    sides = np.array([(constant, leaving) for constant, leaving, _ in rows.values()])
    try:
        found = np.linalg.solve(matrix, sides)
    except np.linalg.LinAlgError:
        return None
    if not np.all(np.abs(found[:, 1] - 1) <= SURE):
        return None
    return dict(zip(rows, map(float, found[:, 0]), strict=True))


def _iterated(rows: Mapping[int, Row]) -> dict[int, float] | None:
    """Gauss-Seidel, for large and sparse systems; None where it does not come to rest, or too early."""
    values, left = dict.fromkeys(rows, 0.0), dict.fromkeys(rows, 0.0)
    for _ in range(ROUNDS):
        change = 0.0
        for key, (constant, leaving, factors) in rows.items():
            value = constant + sum([share * values[after] for after, share in factors.items()])
            change = max(change, abs(value - values[key]) / max(1.0, abs(value)))
            values[key] = value
            left[key] = leaving + sum([share * left[after] for after, share in factors.items()])
        if change <= CLOSE:
            return values if all(abs(each - 1) <= SURE for each in left.values()) else None
    return None
