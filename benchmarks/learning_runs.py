"""`forethought bench learning`: costs of consecutive runs that learn from one journal how reliable their tools are.

Only the simulated world knows the reliability of its tools.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from statistics import mean, stdev
from typing import Annotated, Any, Final

import typer

from benchmarks.report import format_table
from executor import ExecutionPolicy, Executor, Experience, Journal, Learning
from executor.testing import SimulatedWorld, run_virtual
from planner import Case, Domain, Problem, expected_costs, solve
from planner.lightweight import replace

SHOWN = (1, 10, 100)
"""The runs whose costs are told."""


def learning(
    *,
    seeds: Annotated[int, typer.Option("--seeds", min=1, help="Number of sets of tools.")] = 50,
    runs: Annotated[int, typer.Option("--runs", min=1, help="Number of consecutive runs with each set.")] = 100,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the first set.")] = 0,
) -> None:
    """Let runs choose among tools of hidden reliability, and print what they pay.

    Runs that learn share a journal with those before them; others know what is declared, or the truth.
    """
    costs: dict[str, list[list[int]]] = {way: [] for way in WAYS}
    with tempfile.TemporaryDirectory(prefix="forethought-learning-") as folder:
        for number in range(seed, seed + seeds):
            drawn = draw_setting(number)
            for way, found in costs.items():
                found.append(measure_costs(drawn, way, runs, number, Path(folder)))
            typer.echo(f"{number - seed + 1} of {seeds}", err=True)
    typer.echo(learning_table(costs, SHOWN), nl=False)


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


def draw_setting(seed: int) -> Setting:
    """Return a job of several stages, for each of which there are tools of different prices and hidden risks."""
    dice = random.Random(f"tools {seed}")
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


BY: Final = {"call": ["tool"]}
ORACLE: Final = "knows the truth"
WAYS: Final[Mapping[str, Learning | None]] = {
    "knows nothing more": None,
    "learns, means": Learning(by=BY),
    "learns, optimistic": Learning(by=BY, explore="optimistic"),
    "learns, sample": Learning(by=BY, explore="sample"),
    ORACLE: None,
}
"""How runs choose their tools: by what is declared, by what was learned, or by the truth."""
PATIENT: Final = ExecutionPolicy(retries=1000, backoff=0, jitter=0)


def measure_costs(setting: Setting, way: str, runs: int, seed: int, folder: Path) -> list[int]:
    """Carry out `runs` runs, and return the cost of all calls of each, failed ones included."""
    learning, found = WAYS[way], []
    learned = False if learning is None else Experience(learning)
    known = solve(expected_costs(setting.truth)).expect_plan() if way == ORACLE else setting.declared
    with Journal(folder / f"{seed} {way}.db") as journal:
        for number in range(runs):
            simulated = SimulatedWorld(setting.truth, seed=runs * seed + number, chances=True)
            simulated.world.policy("call", PATIENT)
            executor = Executor(simulated.world, journal=journal, learned=learned)
            outcome = run_virtual(executor.run(known, run=f"run-{number}"))
            found.append(sum(each.attempts * setting.prices[each.step.arguments[0]] for each in outcome.steps))
            _check(outcome)
    return found


def _check(outcome: Any) -> None:
    """Raise `RuntimeError` for a run that did not do its job: its cost would say nothing."""
    if not outcome.succeeded:
        raise RuntimeError(f"run {outcome.run} ended as {outcome.status.name}: {outcome.reason}")


def learning_table(costs: Mapping[str, Sequence[Sequence[int]]], shown: Sequence[int]) -> str:
    """Return, as Markdown, the mean cost of the runs `shown`, and of all, with the standard errors of the means.

    `costs` are those of consecutive runs, for each seed, by how they choose.
    """
    runs = max((len(each) for found in costs.values() for each in found), default=0)
    places = [number for number in shown if number <= runs]
    head = ("a run that …", *(f"run {number}" for number in places), f"mean of {runs}")
    rows = []
    for way, found in costs.items():
        single = [_format_mean([each[number - 1] for each in found]) for number in places]
        rows.append((way, *single, _format_mean([mean(each) for each in found])))
    return format_table(head, rows)


def _format_mean(values: Sequence[float]) -> str:
    error = stdev(values) / len(values) ** 0.5 if len(values) > 1 else 0.0
    return f"{mean(values):.2f} ± {error:.2f}"
