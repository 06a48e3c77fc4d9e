"""Runs in which something goes wrong end honestly, and a fault campaign notices where they do not."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from benchmarks.cli import app
from benchmarks.faults.fault_campaign import format_report, run_campaign
from benchmarks.faults.fault_run import Carried, carry_out
from benchmarks.faults.fault_setting import KINDS, MODELS, TIMEOUT, Setting, draw_setting, plan_shipped
from benchmarks.faults.fault_verdict import REPEATS, Ending, Violation, judge_run
from benchmarks.faults.journal_comparison import compare_journals
from executor.events.events import RunEnded, RunStatus
from executor.events.failures import Tried
from executor.testing import Fault, FaultKind, Observe
from executor.tools.step_policy import ExecutionPolicy
from planner.plan import Step

RUNS, BLOCKS = 150, 3
"""Runs of the campaign; each block has all kinds of faults, and all blocks together have all models."""
pytestmark = pytest.mark.timeout(300)


@pytest.mark.parametrize("block", range(BLOCKS))
def test_runs_end_honestly_do_nothing_twice_and_give_up_nothing_in_reach(block: int) -> None:
    size = RUNS // BLOCKS
    judged = list(run_campaign(range(block * size, (block + 1) * size)))
    assert [f"{each.setting}: {each.verdict.detail}" for each in judged if each.verdict.violation] == []
    assert {each.setting.kind for each in judged} == set(KINDS)
    assert sum(each.verdict.ending is Ending.REACHED for each in judged) > size // 4


@pytest.mark.slow
def test_all_kinds_of_faults_and_all_models_had_their_turn() -> None:
    judged = list(run_campaign(range(RUNS)))
    assert {each.setting.kind for each in judged} == set(KINDS)
    assert {each.setting.model for each in judged} == set(MODELS)
    assert sum(each.crashes for each in judged) >= RUNS // 15
    endings = Counter(each.verdict.ending for each in judged)
    assert endings[Ending.REACHED] > RUNS // 3, endings
    text = format_report(judged)
    assert all(f"| {kind.name} |" in text for kind in KINDS)
    assert f"| **all** | **{RUNS}** |" in text


def test_a_seed_draws_the_same_run_again() -> None:
    first, again = draw_setting(77), draw_setting(77)
    assert (str(first), first.plan.steps, first.faults) == (str(again), again.plan.steps, again.faults)
    assert {str(draw_setting(seed)) for seed in range(40)} != {
        str(draw_setting(seed, campaign=1)) for seed in range(40)
    }


@pytest.mark.parametrize("seed", [200, 636])
def test_no_success_rests_on_what_is_stale_and_was_seen_otherwise(seed: int) -> None:
    [found] = run_campaign([seed])
    assert found.verdict.violation is None, found.verdict.detail


def test_one_run_can_be_replayed() -> None:
    result = CliRunner().invoke(app, ["faults", "--only", "11"])
    assert result.exit_code == 0, result.output
    assert "CRASH_BEFORE" in result.stdout
    assert "RunStarted" in result.stdout
    assert RunEnded.__name__ in result.stdout


def test_the_command_prints_tables() -> None:
    result = CliRunner().invoke(app, ["faults", "--runs", "3"])
    assert result.exit_code == 0, result.output
    assert "| FAILS | 1 |" in result.stdout
    assert "3 runs" in result.stderr


def courier(*faults: Fault, observe: Observe = Observe()) -> Setting:  # noqa: B008 - frozen
    plan, kind = plan_shipped("courier", "one-parcel"), faults[0].kind if faults else KINDS[0]
    return Setting(0, kind, "sequential", plan, faults, observe, ExecutionPolicy(timeout=TIMEOUT), 0.0, 1, False, False)


@pytest.fixture
def carried(tmp_path: Path) -> Carried:
    return carry_out(courier(), tmp_path)


def test_a_run_without_faults_reaches_the_goal(carried: Carried) -> None:
    assert judge_run(courier(), carried).ending is Ending.REACHED


def test_success_that_is_none_is_noticed(carried: Carried) -> None:
    carried.simulated.truth.change([f"not {fact}" for fact in carried.simulated.facts if fact.predicate == "lies"])
    assert judge_run(courier(), carried).violation is Violation.FALSE


def test_what_is_done_twice_is_noticed(carried: Carried) -> None:
    truth = carried.simulated.truth
    for step in (truth.applicable()[0], *truth.applicable()[:1]):
        truth.apply(step, "r/s1")
    assert judge_run(courier(), carried).violation is Violation.DOUBLE


def test_errors_and_silence_are_noticed(carried: Carried) -> None:
    assert carried.outcome is not None
    carried.outcome = replace(carried.outcome, status=RunStatus.FAILED, reason="")
    assert judge_run(courier(), carried).violation is Violation.SILENT
    carried.outcome = None
    assert judge_run(courier(), carried).violation is Violation.ERROR


def test_who_is_always_undone_may_give_up(carried: Carried) -> None:
    assert carried.outcome is not None
    carried.outcome = replace(carried.outcome, status=RunStatus.FAILED, reason="circles")
    truth = carried.simulated.truth
    truth.change(["not lies(sample, office)", "on(sample, r2-tray1)", "not empty(r2-tray1)"])
    there, back = Step("move", ("r2", "office", "hall")), Step("move", ("r2", "hall", "office"))
    for times in range(REPEATS):
        assert judge_run(courier(), carried).violation is Violation.GAVE_UP, times
        truth.apply(there, "")
        truth.apply(back, f"r/s{times}")
    assert judge_run(courier(), carried).ending is Ending.UNDONE


def test_giving_up_is_judged_by_what_can_still_be_reached(carried: Carried) -> None:
    assert carried.outcome is not None
    carried.outcome = replace(carried.outcome, status=RunStatus.FAILED, reason="tired")
    changes = ["not lies(sample, office)", "on(sample, r2-tray1)", "not empty(r2-tray1)"]
    carried.simulated.truth.change(changes)
    assert judge_run(courier(), carried).violation is Violation.GAVE_UP
    assert judge_run(courier(observe=Observe(share=0.5)), carried).ending is Ending.BLIND
    assert judge_run(courier(Fault(FaultKind.FAILS, "put_down", times=None)), carried).ending is Ending.OUT_OF_REACH
    tried = carried.outcome.state.tried
    for tray in ("r2-tray1", "r1-tray1"):
        tried["put_down", ("r2", tray, "sample", "office")] = Tried(1, carried.simulated.facts, spent=False)
    assert judge_run(courier(), carried).ending is Ending.SPENT


def test_journals_are_compared_after_a_run_that_no_journal_knows_as_it_was_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    refused = carry_out(replace(draw_setting(3), has_journal=True), tmp_path)
    assert refused.refusal
    compare_journals([3, 4], 0, draw_setting, tmp_path / "other.db")
    assert "2 runs, 0 of them not the same" in capsys.readouterr().err
