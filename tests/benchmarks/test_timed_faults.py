"""The fault campaign in time: it finds nothing, and would find what it looks for."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.faults.fault_campaign import faults
from benchmarks.faults.timed_campaign import format_timed_report, run_timed_campaign
from benchmarks.faults.timed_run import carry_out_in_time
from benchmarks.faults.timed_schedules import Change, Errand, Situation, Way, find_schedule, is_schedule
from benchmarks.faults.timed_setting import TimedFault, TimedSetting, draw_timed_setting
from benchmarks.faults.timed_verdict import TimedEnding, judge_in_time
from executor.dispatching.build_network import check_times
from executor.dispatching.dispatcher import Dispatcher
from executor.dispatching.timed_replanning import TimedReplanning
from planner.lightweight import replace

KINDS = len(TimedFault)


def is_found_out(wrong: str, folder: Path) -> bool:
    """Return whether a run among the first of the campaign is judged to break its promises so."""
    verdicts = (judge_in_time(carry_out_in_time(draw_timed_setting(each), folder)) for each in range(3 * KINDS))
    return any(wrong in each.detail for each in verdicts if each.ending is TimedEnding.VIOLATION)


def make_errand(*, deadline: float, closes: float = 99) -> Errand:
    """A parcel is packed and brought away by one worker, while the office is open; a taxi is quicker."""
    pack = Way("pack", 4, frozenset(["packed"]), holds={"worker": 1})
    walk = Way("walk", 6, frozenset(["sent"]), frozenset(["packed"]), frozenset(["open"]), holds={"worker": 1})
    taxi = replace(walk, name="taxi", seconds=2, cost=9)
    changes = (Change(1, "open", holds=True), Change(closes, "open", holds=False))
    return Errand((pack, walk, taxi), frozenset(), frozenset(["sent"]), {"worker": 1}, changes, deadline=deadline)


def test_the_campaign_keeps_its_promises() -> None:
    judged = list(run_timed_campaign(range(3 * KINDS), 5))
    assert [each.verdict.detail for each in judged if each.verdict.ending is TimedEnding.VIOLATION] == []
    assert sum(each.verdict.ending is TimedEnding.MET for each in judged) > len(judged) / 2
    assert {each.setting.kind for each in judged} == set(TimedFault)
    assert "| KILLED_ON | 3 |" in format_timed_report(judged)


def test_the_command_replays_a_run(capsys: pytest.CaptureFixture[str]) -> None:
    faults(runs=1, seed=0, only=0, in_time=True)
    assert TimedEnding.MET.value in capsys.readouterr().out


@pytest.mark.parametrize("number", range(0, 40, 3))
def test_plans_that_are_drawn_are_valid_for_both_semantics(number: int) -> None:
    setting = draw_timed_setting(number)
    starts = [(float(each.start or 0), each.action) for each in setting.plan.steps]
    assert is_schedule(setting.errand, starts)
    assert check_times(setting.problem, setting.plan) == ""


@pytest.mark.parametrize(("deadline", "closes", "found"), [(11, 99, "walk"), (7, 99, "taxi"), (5, 99, ""), (11, 5, "")])
def test_all_schedules_are_looked_at(deadline: float, closes: float, found: str) -> None:
    errand = make_errand(deadline=deadline, closes=closes)
    schedule = find_schedule(errand, Situation.first(errand))
    assert ("" if schedule is None else schedule[-1][1]) == found
    assert schedule is None or is_schedule(errand, schedule)
    barred = find_schedule(errand, Situation.first(errand), bars=frozenset(["walk", "taxi"]))
    assert barred is None


def test_too_much_of_a_capacity_is_found_out(tmp_path: Path) -> None:
    setting = next(each for each in map(draw_timed_setting, range(100)) if each.errand.capacity)
    scarce = replace(setting.errand, capacity=dict.fromkeys(setting.errand.capacity, 0))
    found = judge_in_time(carry_out_in_time(replace(setting, errand=scarce, mishaps=setting.mishaps[:1]), tmp_path))
    assert "is held than there is" in found.detail


def test_starts_outside_windows_are_found_out(tmp_path: Path) -> None:
    def judge_moved(number: int) -> str:
        setting = draw_timed_setting(number)
        later = tuple([replace(each, at=each.at + 50) for each in setting.errand.changes])
        moved = replace(setting, errand=replace(setting.errand, changes=later))
        return judge_in_time(carry_out_in_time(moved, tmp_path)).detail

    assert any("open_1 does not hold, as the run knows" in judge_moved(each) for each in range(2 * KINDS))


def test_a_run_that_does_not_watch_its_deadlines_is_found_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Dispatcher, "find_lateness", lambda _: "")
    monkeypatch.setattr(Dispatcher, "find_overrun", lambda _: "")
    assert is_found_out("after the deadline", tmp_path)


def test_a_run_that_gives_up_too_early_is_found_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def find_no_plan(*_: object, **__: object) -> bool:
        return False

    monkeypatch.setattr(TimedReplanning, "_search", find_no_plan)
    assert is_found_out("given up without need", tmp_path)


def test_a_run_that_idles_is_found_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    take = Dispatcher.take_ready

    def take_late(self: Dispatcher, *rest: object) -> list[str]:
        return [] if self.now() < 5_000_000 else take(self, *rest)  # type: ignore[arg-type]  # as they are given

    monkeypatch.setattr(Dispatcher, "take_ready", take_late)
    assert is_found_out("time was lost for nothing", tmp_path)


def test_settings_are_reproducible() -> None:
    one, other = draw_timed_setting(7), draw_timed_setting(7)
    assert isinstance(one, TimedSetting)
    assert (one.errand, one.mishaps, str(one)) == (other.errand, other.mishaps, str(other))
