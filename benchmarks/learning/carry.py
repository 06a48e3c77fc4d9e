"""Consecutive runs with one journal, and what each of them paid."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from benchmarks.learning.setting import Setting
from executor import Executor, Experience, Journal, Learning, Policy
from executor.testing import SimulatedWorld, run_virtual
from planner import expected_costs, solve

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
PATIENT: Final = Policy(retries=1000, backoff=0, jitter=0)


def paid(setting: Setting, way: str, runs: int, seed: int, folder: Path) -> list[int]:
    """Return what each of `runs` runs paid for all its calls, the failed ones included."""
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
