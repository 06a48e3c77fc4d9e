"""Contended resources: what one step takes is missing for the next, and estimates that ignore this are far too low.

`quotas`: calls use up a quota, and refilling it is dear. `sessions`: only one session is open at a time, and work
alternates between systems. `locks`: a few slots for locks, and jobs that need two files locked at once. Each optimum is
found by an exhaustive search; tasks whose relaxed plan costs more than three quarters of it are drawn again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import log10
from random import Random
from typing import Final

from benchmarks.tools.certify import exhaustive, relaxed_cost
from benchmarks.tools.library import Task, Tool
from benchmarks.tools.related import GROUP, group_tools

MOST_RELAXED: Final = 0.75
"""The share of the optimum that a plan which ignores deletes may cost."""
DEARER: Final = 0.2
"""The share of core tools of which there is a dearer version."""


@dataclass(frozen=True, slots=True)
class Core:
    """The part of a task that matters."""

    tools: list[Tool]
    initial: tuple[str, ...]
    goal: tuple[str, ...]


def contended(core: Callable[[float, Random], Core], size: int, random: Random) -> Task:
    """Return a task with `size` tools around a core, whose difficulty is given the decimal logarithm of the size."""
    while True:
        drawn = core(log10(size), random)
        room = size - len(drawn.tools)
        if room < 0:
            raise ValueError(f"{size} tools are too few")
        tools = [*drawn.tools, *_dearer(drawn.tools, room, random)]
        plan = exhaustive(tools, drawn.initial, drawn.goal)
        task = Task(tools, drawn.initial, drawn.goal, plan, "exhaustive search")
        if relaxed_cost(drawn.tools, drawn.initial, drawn.goal) <= MOST_RELAXED * task.optimum:
            return replace(task, tools=[*tools, *bystanders(drawn, size - len(tools), random)])


def _dearer(tools: Sequence[Tool], room: int, random: Random) -> list[Tool]:
    chosen = [tool for tool in tools if random.random() < DEARER][:room]
    return [replace(tool, name=f"slow_{tool.name}", cost=tool.cost + random.randint(1, 3)) for tool in chosen]


def bystanders(core: Core, number: int, random: Random) -> list[Tool]:
    """Return tools of other groups, a fifth of which also use up something that the core needs."""
    found: list[Tool] = []
    facts = sorted({fact for tool in core.tools for fact in tool.requires})
    while len(found) < number:
        found += group_tools(f"other{len(found) // GROUP}", core.initial[:1], min(GROUP, number - len(found)), random)
    return [_using_up(tool, random.choice(facts)) if random.random() < 0.2 else tool for tool in found]


def _using_up(tool: Tool, fact: str) -> Tool:
    return replace(tool, requires=(*tool.requires, fact), deletes=(fact,))


def quotas(size: int, random: Random) -> Task:
    """Return a task with `size` tools around calls of two services with quotas."""
    return contended(_quotas, size, random)


def _quotas(scale: float, random: Random) -> Core:
    items, full = max(2, int(2.5 * scale)), 1 if scale < 2 else 2
    names = ("search",) if scale < 2 else ("search", "maps")
    tools = []
    for name in names:
        left = [f"{name}_left{number}" for number in range(full + 1)]
        tools.append(Tool(f"refill_{name}", (left[0],), (left[full],), (left[0],), random.randint(5, 7)))
        for item in range(1, items + 1):
            cost = random.randint(1, 3)
            for level in range(1, full + 1):
                provides = (f"item{item}", left[level - 1])
                tools.append(Tool(f"{name}_item{item}_at{level}", (left[level],), provides, (left[level],), cost))
    goal = tuple(f"item{item}" for item in range(1, items + 1))
    return Core(tools, tuple(f"{name}_left{full}" for name in names), goal)


def sessions(size: int, random: Random) -> Task:
    """Return a task with `size` tools around work in systems of which one is open at a time."""
    return contended(_sessions, size, random)


def _sessions(scale: float, random: Random) -> Core:
    systems, chains = (2, 1) if scale < 2 else (int(scale) + 1, 3)
    length = 4 if scale < 2 else int(2 * scale) - 1
    tools = [
        Tool(f"switch_{old}_to_{new}", (f"open{old}",), (f"open{new}",), (f"open{old}",), random.randint(4, 6))
        for old in range(systems)
        for new in range(systems)
        if old != new
    ]
    for chain in range(chains):
        system = random.randrange(systems)
        for work in range(1, length + 1):
            system = random.choice([each for each in range(systems) if each != system])
            before = (f"work{chain}_{work - 1}",) if work > 1 else ()
            done = f"work{chain}_{work}"
            tools.append(Tool(f"do_{done}", (f"open{system}", *before), (done,), cost=random.randint(1, 2)))
    return Core(tools, ("open0",), tuple(f"work{chain}_{length}" for chain in range(chains)))


def locks(size: int, random: Random) -> Task:
    """Return a task with `size` tools around files to be locked, with few slots for locks."""
    return contended(_locks, size, random)


def _locks(scale: float, random: Random) -> Core:
    slots, files, jobs = (1, 2, 4) if scale < 2 else (2, int(scale) + 2, int(2 * scale))
    tools = []
    for file in range(1, files + 1):
        take, give = random.randint(2, 4), random.randint(2, 4)
        for slot in range(1, slots + 1):
            held = (f"locked{file}", f"slot{slot}_has{file}")
            free = (f"free{file}", f"slot{slot}")
            tools.append(Tool(f"lock{file}_in{slot}", free, held, free, take))
            tools.append(Tool(f"unlock{file}_in{slot}", held, free, held, give))
    for job in range(1, jobs + 1):
        needs = sorted(random.sample(range(1, files + 1), min(2, slots)))
        before = (f"job{random.randrange(1, job)}",) if job > 1 and random.random() < 0.6 else ()
        tools.append(Tool(f"do_job{job}", (*(f"locked{file}" for file in needs), *before), (f"job{job}",)))
    initial = (*(f"slot{slot}" for slot in range(1, slots + 1)), *(f"free{file}" for file in range(1, files + 1)))
    return Core(tools, initial, (*(f"job{job}" for job in range(1, jobs + 1)), *initial))
