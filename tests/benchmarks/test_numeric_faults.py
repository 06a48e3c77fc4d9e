"""The fault campaign with numbers: it finds nothing, and would find what it looks for."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.faults.fault_campaign import run_campaign
from benchmarks.faults.fault_run import carry_out
from benchmarks.faults.fault_verdict import Ending, judge_run
from benchmarks.faults.numeric_promises import find_blind_calls, find_forbidden_calls, find_repeated_effects
from benchmarks.faults.numeric_setting import KINDS, WORLDS, draw_numeric_setting
from executor.loop.preconditions import StepConditions
from executor.loop.step import Stepper
from planner.lightweight import replace
from planner.model import Problem


def test_the_campaign_keeps_its_promises() -> None:
    judged = list(run_campaign(range(2 * len(KINDS)), 5, draw_numeric_setting))
    assert [each.verdict.detail for each in judged if each.verdict.ending is Ending.VIOLATION] == []
    assert sum(each.verdict.ending is Ending.REACHED for each in judged) > len(judged) / 2
    assert {each.setting.kind for each in judged} == set(KINDS)
    problems = [each.setting.plan.problem for each in judged]
    assert {each.name for each in problems if isinstance(each, Problem)} == set(WORLDS)


def test_runs_that_do_not_look_are_found_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def look_at_nothing(*_: object) -> str:
        return ""

    monkeypatch.setattr(StepConditions, "find_unmet", look_at_nothing)
    monkeypatch.setattr(Stepper, "_reserve", look_at_nothing)
    monkeypatch.setattr(StepConditions, "find_objection", lambda *_: "")
    found = []
    for seed in range(2 * len(KINDS)):
        setting = draw_numeric_setting(seed)
        carried = carry_out(setting, tmp_path)
        found += [*find_forbidden_calls(setting, carried), *find_blind_calls(setting, carried)]
    assert any("had been seen" in each for each in found)
    assert any("without a look at" in each for each in found)


def test_a_second_payment_is_found_out(tmp_path: Path) -> None:
    setting = replace(draw_numeric_setting(0), faults=())
    carried = carry_out(setting, tmp_path)
    assert judge_run(setting, carried).ending is Ending.REACHED
    final = [act for act in carried.simulated.acts if act.step is not None and act.step.predicate in ("pay", "ship")]
    carried.simulated.acts.append(replace(final[0], by="r/s99"))
    assert any("and again by r/s99" in each for each in find_repeated_effects(setting, carried))
