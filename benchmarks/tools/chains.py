"""Several chains of steps that share facts: pipelines that use the same sources and now and then each other's results.

Each stage of a chain can be done in a few ways: straight on, more cheaply with one of a few shared facts, from
another chain's previous stage, or together with another chain's.
"""

from __future__ import annotations

from math import log10
from random import Random
from typing import Final

from benchmarks.tools.certify import regression
from benchmarks.tools.library import Task, Tool
from benchmarks.tools.unbinding import with_deletes

STAGES: Final = 10
WAYS: Final = 4
SHARED: Final = 4
"""Shared facts that a chain makes use of; neighbouring chains use some of the same."""


def multi(size: int, random: Random) -> Task:
    """Return a task with `size` tools in chains."""
    stages = min(STAGES, max(1, size // (2 * WAYS)))
    number = max(1, (size - SHARED) // (stages * WAYS + 2))
    tools = [
        _stage_tool(c, s, number, straight=True, random=random) for c in range(number) for s in range(1, stages + 1)
    ]
    pool = number + SHARED - 1
    tools += [_source(shared, place, random) for place in (1, 2) for shared in range(pool)]
    del tools[size:]
    while len(tools) < size:
        chain, stage = random.randrange(number), random.randint(1, stages)
        tools.append(_stage_tool(chain, stage, number, straight=False, random=random, place=len(tools)))
    wanted = min(number, int(log10(size)), 3)
    first = random.randrange(number - wanted + 1)
    goal = tuple(fact_of(chain, stages) for chain in range(first, first + wanted))
    level = {f"shared{place}": 0 for place in range(pool)}
    level |= {fact_of(c, s): s for c in range(number) for s in range(1, stages + 1)}
    plan = regression(tools, (), goal, level)
    return Task(with_deletes(tools, goal, plan, random), (), goal, plan, "regression")


def fact_of(chain: int, stage: int) -> str:
    """Return the fact that `stage` of `chain` is done."""
    return f"chain{chain}_stage{stage}"


def _source(shared: int, place: int, random: Random) -> Tool:
    return Tool(f"fetch{shared}_way{place}", (), (f"shared{shared}",), cost=random.randint(4, 9))


def _stage_tool(chain: int, stage: int, number: int, *, straight: bool, random: Random, place: int = 0) -> Tool:
    """Return a way to do a stage; `straight` ones need nothing but the chain's previous stage, and cost the most."""
    name = f"do{chain}_{stage}" if straight else f"do{chain}_{stage}_way{place}"
    other = min(number - 1, max(0, chain + random.choice((-1, 1))))
    needs, provides, cost = [chain], {fact_of(chain, stage)}, random.randint(6, 9)
    extra: list[str] = []
    if not straight:
        match random.choice(("shared", "shared", "other", "together")):
            case "shared":
                extra, cost = [f"shared{chain + random.randrange(SHARED)}"], random.randint(2, 5)
            case "other":
                needs, cost = [other], random.randint(3, 7)
            case _:
                needs, provides, cost = [chain, other], {*provides, fact_of(other, stage)}, random.randint(8, 13)
    previous = {fact_of(each, stage - 1) for each in needs} if stage > 1 else set()
    return Tool(name, tuple(sorted({*previous, *extra})), tuple(sorted(provides)), cost=cost)
