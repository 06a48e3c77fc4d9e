"""Groups of about twenty related tools, as the integrations of an assistant are: mail, calendar, files.

A group has four layers of facts; each tool makes one or two facts of a layer from facts below, in most cases of the
layer next to it. The lowest tools of a group need what one or two earlier groups hand on. The goal is what two
groups hand on; it needs more and more groups as the library grows, most tools stay out of it.
"""

from __future__ import annotations

from math import log10
from random import Random
from typing import Final

from benchmarks.tools.certify import regression
from benchmarks.tools.library import Task, Tool
from benchmarks.tools.unbinding import with_deletes

GROUP: Final = 20
LAYERS: Final = 4
WIDTH: Final = 3
"""Facts in each layer but the last, which has one: what the group hands on."""
AREAS: Final = ("mail", "calendar", "files", "tickets", "wiki", "chat", "search", "billing", "code", "cloud")


def groups(size: int, random: Random) -> Task:
    """Return a task with `size` tools in groups."""
    number = max(1, size // GROUP)
    parents = _parents(number, random)
    tools: list[Tool] = []
    for group in range(number):
        room = size - len(tools) if group == number - 1 else size // number
        entry = tuple(sorted(output(parent) for parent in parents[group])) or ("signed_in",)
        tools += group_tools(name_of(group), entry, room, random)
    level = {"signed_in": 0}
    for group in range(number):
        for layer in range(LAYERS):
            level |= dict.fromkeys(layer_facts(name_of(group), layer), 1 + group * LAYERS + layer)
    goal = _goal(parents, int(2 * log10(size) - 1), random)
    plan = regression(tools, ("signed_in",), goal, level)
    return Task(with_deletes(tools, goal, plan, random), ("signed_in",), goal, plan, "regression")


def name_of(group: int) -> str:
    """Return the name of a group."""
    return f"{AREAS[group % len(AREAS)]}{group // len(AREAS) or ''}"


def output(group: int) -> str:
    """Return the fact that a group hands on."""
    return layer_facts(name_of(group), LAYERS - 1)[0]


def layer_facts(name: str, layer: int) -> list[str]:
    """Return the facts in one layer of a group."""
    if layer == LAYERS - 1:
        return [f"{name}_done"]
    return [f"{name}_{'abc'[layer]}{place}" for place in range(1, WIDTH + 1)]


def group_tools(name: str, entry: tuple[str, ...], number: int, random: Random) -> list[Tool]:
    """Return the tools of a group that starts from the facts in `entry`; every fact has a provider if there is room."""
    targets = [[fact] for layer in reversed(range(LAYERS)) for fact in layer_facts(name, layer)]
    wanted = targets[:number]
    while len(wanted) < number:
        facts = layer_facts(name, random.randrange(LAYERS))
        wanted.append(random.sample(facts, min(len(facts), random.choice((1, 1, 1, 2)))))
    random.shuffle(wanted)
    return [
        Tool(f"{name}_tool{place}", _needs(name, entry, facts[0], random), tuple(facts), cost=random.randint(1, 9))
        for place, facts in enumerate(wanted, start=1)
    ]


def _needs(name: str, entry: tuple[str, ...], target: str, random: Random) -> tuple[str, ...]:
    layer = next(each for each in range(LAYERS) if target in layer_facts(name, each))
    if layer == 0:
        return entry
    below = layer_facts(name, layer - 1)
    deeper = [fact for each in range(layer - 1) for fact in layer_facts(name, each)]
    needs = set(random.sample(below, random.choice((1, 1, 2))))
    if deeper and random.random() < 0.3:
        needs.add(random.choice(deeper))
    return tuple(sorted(needs))


def _parents(number: int, random: Random) -> list[list[int]]:
    """Return for each group the one or two earlier ones that it builds on, none for the first and some others."""
    return [random.sample(range(group), min(group, random.choice((0, 1, 1, 2)))) for group in range(number)]


def _goal(parents: list[list[int]], number: int, random: Random) -> tuple[str, ...]:
    """Return what two groups hand on that need `number` groups between them, or as near as a few tries come."""
    if len(parents) == 1:
        return (output(0),)
    pairs = [random.sample(range(len(parents)), 2) for _ in range(100)]
    best = min(pairs, key=lambda pair: abs(len(_closure(pair, parents)) - number))
    return tuple(sorted(map(output, best)))


def _closure(groups: list[int], parents: list[list[int]]) -> set[int]:
    found, queue = set(groups), list(groups)
    while queue:
        fresh = set(parents[queue.pop()]) - found
        found |= fresh
        queue.extend(fresh)
    return found
