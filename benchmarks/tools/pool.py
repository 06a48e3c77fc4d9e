"""One pool of facts that all tools share: almost any tool may turn out to be of use.

The facts lie in layers. A tool makes one or two facts of a layer from one or two of those below.
"""

from __future__ import annotations

from random import Random
from typing import Final

from benchmarks.tools.certify import regression
from benchmarks.tools.library import Task, Tool
from benchmarks.tools.unbinding import with_deletes

LAYERS: Final = 6
TOOLS_PER_FACT: Final = 5
START: Final = 3
"""Facts to start from."""


def dense(size: int, random: Random) -> Task:
    """Return a task with `size` tools over one pool."""
    width = max(1, size // (LAYERS * TOOLS_PER_FACT))
    layers = [[f"known{place}" for place in range(1, START + 1)]]
    layers += [[f"fact{layer}_{place}" for place in range(1, width + 1)] for layer in range(1, LAYERS + 1)]
    targets = [(layer, place) for layer in range(LAYERS, 0, -1) for place in range(width)]
    tools = []
    for number in range(size):
        layer, place = targets[number % len(targets)]
        tools.append(_tool(f"tool{number + 1}", layers, layer, place, random))
    goal = tuple(sorted(random.sample(layers[-1], min(3 if size <= 5_000 else 2, width))))
    level = {fact: number for number, layer in enumerate(layers) for fact in layer}
    initial = tuple(fact for fact in layers[0] if any(fact in tool.requires for tool in tools))
    plan = regression(tools, initial, goal, level)
    return Task(with_deletes(tools, goal, plan, random), initial, goal, plan, "regression")


def _tool(name: str, layers: list[list[str]], layer: int, place: int, random: Random) -> Tool:
    provides = {layers[layer][place]}
    if random.random() < 0.2:
        provides.add(random.choice(layers[layer]))
    needs = {random.choice(layers[layer - 1])}
    if random.random() < 0.7:
        needs.add(random.choice(layers[random.randrange(layer)]))
    return Tool(name, tuple(sorted(needs)), tuple(sorted(provides)), cost=random.randint(1, 9))
