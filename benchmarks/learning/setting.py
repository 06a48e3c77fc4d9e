"""Tools whose reliability nobody but the simulated world knows."""

from __future__ import annotations

import random
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from planner import Case, Domain, Problem
from planner.records import replace

STAGES: Final = ("search", "read", "write")
TOOLS: Final = 5
"""The tools for each stage."""
PRICES: Final = (1, 2, 3, 4, 5)
RISKS: Final = ("0.02", "0.1", "0.3", "0.5", "0.7", "0.9")
DECLARED: Final = Decimal("0.2")
"""What the domain says of the risk of all tools."""


@dataclass(frozen=True, slots=True)
class Setting:
    """A problem as it is `declared`, and as it is in `truth`; `prices` are those of one call of each tool."""

    declared: Problem
    truth: Problem
    prices: dict[str, int]


def setting(seed: int) -> Setting:
    """Return a job of several stages, for each of which there are tools of different prices and hidden risks."""
    dice = random.Random(f"tools {seed}")  # noqa: S311 - an experiment
    domain = Domain("tools", types=["tool", "stage"])
    domain.action(
        "call",
        {"tool": "tool", "stage": "stage"},
        requires=["does(tool, stage)"],
        provides=["done(stage)"],
        cost="price(tool)",
        risk=DECLARED,
        tags=["idempotent"],
    )
    tools = {f"{stage}-{number}": stage for stage in STAGES for number in range(1, TOOLS + 1)}
    prices = {tool: dice.choice(PRICES) for tool in tools}
    declared = domain.problem(
        objects={**dict.fromkeys(tools, "tool"), **dict.fromkeys(STAGES, "stage")},
        initial=[f"does({tool}, {stage})" for tool, stage in tools.items()],
        goal=[f"done({stage})" for stage in STAGES],
        values={f"price({tool})": price for tool, price in prices.items()},
    )
    cases = tuple([Case((tool, "_"), Decimal(dice.choice(RISKS))) for tool in tools])
    action = replace(declared.domain.actions["call"], cases=cases)
    truth = replace(declared, domain=replace(declared.domain, actions={"call": action}))
    return Setting(declared, truth, prices)
