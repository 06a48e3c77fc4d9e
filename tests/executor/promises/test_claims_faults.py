"""Every kind of fault at every step of a plan, in every execution model: each strikes, and each run ends honestly."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import pytest
from effort import share

from benchmarks.faults.fault_run import carry_out
from benchmarks.faults.fault_setting import (
    CRASHES,
    LATE,
    MODELS,
    PLAIN,
    SETTLED,
    TIMEOUT,
    Setting,
    classical_part,
    plan_shipped,
)
from benchmarks.faults.fault_verdict import judge_run
from executor.testing import Fault, FaultKind, Observe
from executor.tools.step_policy import ExecutionPolicy
from planner.semantics.simulation import Simulation

if TYPE_CHECKING:
    from pathlib import Path

    from executor.plans.execution_models import ExecutionModel
    from planner.plan import Plan

pytestmark = pytest.mark.timeout(300)
EVERYWHERE = (*PLAIN, FaultKind.OBSERVER_DISAGREES, FaultKind.RESULT_STRANGER)
"""The kinds of faults that strike in every domain: for the others, a step needs approval, or an argument is open."""


def faults(plan: Plan) -> list[Fault]:
    """Return a fault of each kind at each step of `plan`: of its handler, or of who looks at what it changes."""
    found = []
    simulation = Simulation(classical_part(plan))
    for step in plan.steps:
        changes = simulation.apply(step)
        seen = [*changes.added, *changes.removed, *changes.modified][0]
        for kind in EVERYWHERE:
            at = seen if kind.is_of_observers else step
            seconds = 0.5 if kind is FaultKind.CHANGE_AFTER else LATE
            found.append(Fault(kind, str(at), seconds=seconds))
    return found


def drawn(model: ExecutionModel, number: int, fault: Fault, plan: Plan) -> Setting:
    """Return a run in which all can be seen, and nobody is there to be asked."""
    settled, twice = SETTLED if fault.kind is FaultKind.LATE else 0.0, fault.kind is FaultKind.OBSERVER_DISAGREES
    observe = Observe(conclusive=True, settle_within=settled, timeout=TIMEOUT, twice=twice)
    policy, journal = ExecutionPolicy(timeout=TIMEOUT), fault.kind in CRASHES
    return Setting(number, fault.kind, model, plan, (fault,), observe, policy, 0.0, 1, journal, is_asked=False)


@pytest.mark.parametrize("model", MODELS)
def test_every_kind_of_fault_at_every_step_ends_honestly(model: ExecutionModel, tmp_path: Path) -> None:
    plan = plan_shipped("travel", "board") if model == "hierarchical" else plan_shipped("courier", "one-parcel")
    amiss, struck = [], set()
    steps = share(range(len(plan.steps)), 3)
    for number, fault in enumerate(faults(plan)):
        if number // len(EVERYWHERE) not in steps:
            continue
        setting = drawn(model, number, fault, plan)
        carried = carry_out(setting, tmp_path)
        judged = judge_run(setting, carried)
        if judged.violation:
            amiss.append(f"{setting}: {judged.violation.value}: {judged.detail}")
        if carried.strikes[fault.kind]:
            struck.add((fault.kind, number // len(EVERYWHERE)))
    assert amiss == []
    assert set(product(EVERYWHERE, steps)) - struck == set()
