"""Who takes how much of the costs: abstractions in an order, each what it needs of what is left."""

from __future__ import annotations

from collections.abc import Sequence

from planner.abstractions.space import AbstractSpace


def best_order(estimates: Sequence[int], stolen: Sequence[int]) -> list[int]:
    """Return the numbers of the abstractions, those first that estimate much of a state for what they take of others.

    (Seipp, Keller and Helmert, 2020.)
    """
    return sorted(range(len(estimates)), key=lambda number: -estimates[number] / max(1, stolen[number]))


def shared(spaces: Sequence[AbstractSpace], order: Sequence[int], costs: Sequence[int]) -> list[list[int]]:
    """Return the distances in each of the `spaces`, by place in the `order`."""
    left, tables = list(costs), []
    for number in order:
        distances = spaces[number].distances(left)
        for action, need in spaces[number].needs(distances).items():
            left[action] -= need
        tables.append(distances)
    return tables


def stolen(spaces: Sequence[AbstractSpace], costs: Sequence[int]) -> list[int]:
    """Return what each of the `spaces`, if it has all that it needs, takes of what others need."""
    needs = [space.needs(space.distances(costs)) for space in spaces]
    wanted = [0] * len(costs)
    for need in needs:
        for action, much in need.items():
            wanted[action] += max(0, much)
    return [sum([max(0, min(much, wanted[action] - costs[action])) for action, much in need.items()]) for need in needs]
