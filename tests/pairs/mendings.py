"""The best plans that keep steps of a given one, by looking at all sequences of a small problem."""

from __future__ import annotations

import heapq
from dataclasses import replace
from fractions import Fraction
from itertools import count
from typing import Any

from pairs.decompositions import ANY, Network, decompose
from pairs.enumeration import MOST_STEPS, Node, follow, unknown_ways
from pairs.interpreter import State, World
from pairs.trajectories import Kept, Price, forgone, look_all, may_go_on

from htn.model import HtnProblem
from planner.model import Atom, Problem

Mending = tuple[int, Fraction]
"""How many given steps are not kept, and the charge of the plan."""


def best_mending(problem: Problem | HtnProblem, given: tuple[Atom, ...]) -> Mending | None:
    """Return the fewest steps of `given` that a plan leaves out, and the least charge of these plans; None without any.

    Plans are sequences of at most `MOST_STEPS` steps; unknown facts turn out as well as may be.
    """
    classical = problem.classical if isinstance(problem, HtnProblem) else problem
    found: list[Mending] = []
    for facts in unknown_ways(classical):
        world = World(classical)
        start = world.start(facts)
        networks = decompose(problem, world, start) if isinstance(problem, HtnProblem) else [ANY]
        found += [best for each in networks if (best := _explore(world, start, each, given)) is not None]
    return min(found, default=None)


def _explore(world: World, start: State, network: Network, given: tuple[Atom, ...]) -> Mending | None:
    price, fresh = Price(world), count()
    first = Node(start, look_all(world, tuple([Kept() for _ in world.problem.constraints]), state=start))
    rows = (0,) * (len(given) + 1)
    queue: list[tuple[Fraction, int, Node, tuple[int, ...], int]] = [(Fraction(0), next(fresh), first, rows, 0)]
    least: dict[Any, Fraction] = {}
    best: Mending | None = None
    while queue:
        _, _, node, row, length = heapq.heappop(queue)
        lost = forgone(world, node.state, node.kept) if network.is_done(node.done) else None
        if lost is not None:
            mine = len(given) - row[-1], price.charge(node.state, node.cost, Fraction(0)) + lost
            best = mine if best is None else min(best, mine)
        if length == MOST_STEPS:
            continue
        for ground, place in network.choices(world, node.state, node.done):
            after = follow(world, node, ground)
            if after is None or not may_go_on(world, after.kept):
                continue
            after = replace(after, done=node.done | ({place} if place is not None else set()))
            worth = price.charge(after.state, after.cost, Fraction(0))
            common = advance(row, ground.head, given)
            key = (replace(after, cost=Fraction(0)), common)
            if key not in least or worth < least[key]:
                least[key] = worth
                heapq.heappush(queue, (worth, next(fresh), after, common, length + 1))
    return best


def advance(row: tuple[int, ...], step: Atom, given: tuple[Atom, ...]) -> tuple[int, ...]:
    """Return the lengths of the longest common subsequences with each beginning of `given` after one more step."""
    found = [0]
    for place, each in enumerate(given):
        same = each.predicate == step.predicate and each.args[: len(step.args)] == step.args
        found.append(max(found[-1], row[place + 1], row[place] + 1 if same else 0))
    return tuple(found)
