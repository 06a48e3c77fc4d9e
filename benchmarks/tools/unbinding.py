"""Deletes that are there and do not bind: a known plan keeps working, so its optimality is kept as well."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from random import Random
from typing import Final

from benchmarks.tools.library import Tool

SHARE: Final = 0.3
"""How many of the tools delete something."""


def with_deletes(tools: Sequence[Tool], goal: Iterable[str], plan: Sequence[str], random: Random) -> list[Tool]:
    """Return the tools, some of which now delete one of the facts that they require or that a neighbour provides.

    A tool of the plan deletes only what no later step and no goal needs.
    """
    by_name = {tool.name: tool for tool in tools}
    later = set(goal)
    kept: dict[str, set[str]] = {}
    for name in reversed(plan):
        kept[name] = set(later)
        later |= set(by_name[name].requires)
    found = []
    for tool in tools:
        if random.random() < SHARE:
            options = {*tool.requires, random.choice(tools).provides[0]}
            allowed = sorted(options.difference(tool.provides, kept.get(tool.name, ())))
            found.append(replace(tool, deletes=(random.choice(allowed),)) if allowed else tool)
        else:
            found.append(tool)
    return found
