"""Interchangeable providers: each step of a job can be done through any of many services, once connected to one.

The services are of three kinds, each with steps that it does cheaply; those of one kind cost nearly the same. The
optimum is certified by its construction: the steps fall into blocks, each done through one service, so it is a
cheapest partition of them.
"""

from __future__ import annotations

from math import log10
from random import Random

from benchmarks.tools.library import Task, Tool
from benchmarks.tools.related import group_tools


def providers(size: int, random: Random) -> Task:
    """Return a task with `size` tools, of which one job's can be of use."""
    steps = 2 if size < 30 else int(log10(size)) + 1
    services = max(2, min(size // (steps + 1), 4 * int(log10(size)) ** 2))
    prices = [_prices(service % 3, steps, random) for service in range(services)]
    tools = [_connect(service, prices[service][0]) for service in range(services)]
    tools += [
        _step(service, step, prices[service][step]) for service in range(services) for step in range(1, steps + 1)
    ]
    plan = _plan(_blocks(prices, steps), steps)
    tools += group_tools("other", ("request",), size - len(tools), random)
    return Task(tools, ("request",), (f"step{steps}_done",), plan, "construction")


def _prices(kind: int, steps: int, random: Random) -> list[int]:
    """Return what it takes to connect to a service of one of three kinds, and each step: one in three is its own."""
    usual = [(4, 3, 2)[kind], *((1 if step % 3 == kind else 5) for step in range(1, steps + 1))]
    return [cost if random.random() < 0.8 else cost + 1 for cost in usual]


def _connect(service: int, cost: int) -> Tool:
    return Tool(f"connect_{service}", ("request",), (f"connected_{service}",), cost=cost)


def _step(service: int, step: int, cost: int) -> Tool:
    before = f"step{step - 1}_done" if step > 1 else "request"
    deletes = (before,) if step > 1 else ()
    return Tool(f"step{step}_by_{service}", (before, f"connected_{service}"), (f"step{step}_done",), deletes, cost)


def _blocks(prices: list[list[int]], steps: int) -> list[tuple[int, int]]:
    """Return (service, its steps as bits): the cheapest partition of all steps into blocks of one service each."""
    everything = (1 << steps) - 1
    single = [(0, 0)]
    for block in range(1, everything + 1):
        members = [step + 1 for step in range(steps) if block >> step & 1]
        single.append(min((row[0] + sum(row[step] for step in members), number) for number, row in enumerate(prices)))
    best: list[tuple[int, list[tuple[int, int]]]] = [(0, [])]
    for whole in range(1, everything + 1):
        options = []
        block = whole
        while block:
            rest = best[whole & ~block]
            options.append((rest[0] + single[block][0], [*rest[1], (single[block][1], block)]))
            block = (block - 1) & whole
        best.append(min(options))
    return best[everything][1]


def _plan(blocks: list[tuple[int, int]], steps: int) -> tuple[str, ...]:
    """Return the plan: connect to the services, then the steps in their order. A service is in one block at most."""
    by_step = {step: service for service, block in blocks for step in range(1, steps + 1) if block >> (step - 1) & 1}
    used = dict.fromkeys(service for service, _ in blocks)
    return (*(f"connect_{service}" for service in used), *(f"step{s}_by_{by_step[s]}" for s in range(1, steps + 1)))
