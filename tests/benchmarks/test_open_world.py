"""Runs in which orders turn up, vanish and are renamed break no promise, and doctored evidence is found."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.faults.fault_campaign import format_report, run_campaign
from benchmarks.faults.fault_run import Restored, carry_out
from benchmarks.faults.fault_setting import MODELS
from benchmarks.faults.fault_verdict import Ending, judge_run
from benchmarks.faults.open_promises import OpenEvidence, find_broken_open_promises
from benchmarks.faults.open_world import GOALS, OPEN_KINDS, Turn, draw_open_setting
from executor.events.events import ObjectsFound
from executor.testing.simulated_handlers import Call
from executor.testing.simulated_observers import Sighting
from planner.model import Atom

RUNS, BLOCKS = 180, 3
"""Enough for all kinds of faults in all models, one after the other; a block has all kinds in two models."""
pytestmark = pytest.mark.timeout(300)


@pytest.mark.parametrize("block", range(BLOCKS))
def test_no_run_breaks_a_promise(block: int) -> None:
    size = RUNS // BLOCKS
    judged = list(run_campaign(range(block * size, (block + 1) * size), draw=draw_open_setting))
    assert [f"{each.setting}: {each.verdict.detail}" for each in judged if each.verdict.violation] == []
    assert {each.setting.kind for each in judged} == set(OPEN_KINDS)
    assert sum(each.found for each in judged) > size, "objects turn up"
    assert len({kind for each in judged for kind in each.strikes}) > len(OPEN_KINDS) * 2 // 3


@pytest.mark.slow
def test_all_kinds_strike_and_objects_turn_up_in_all_models() -> None:
    judged = list(run_campaign(range(RUNS), draw=draw_open_setting))
    assert {kind for each in judged for kind in each.strikes} == set(OPEN_KINDS)
    assert {each.setting.model for each in judged if each.found and each.verdict.ending is Ending.REACHED} == set(
        MODELS
    )
    worlds = [each.setting.open_world for each in judged if each.setting.open_world is not None]
    assert {world.name for world in worlds} == set(GOALS)
    assert {turn for world in worlds for turn in world.turns} == set(Turn)
    assert f"| {Turn.RENAMED.value} |" in format_report(judged)


@pytest.fixture
def evidence(tmp_path: Path) -> OpenEvidence:
    """Return the evidence of a run that has found orders, handled them and locked up, all of it seen."""
    for seed in range(1000):
        setting = draw_open_setting(seed)
        world = setting.open_world
        assert world is not None
        if world.name != "locked" or not setting.observe.conclusive or world.is_listed or world.turns:
            continue
        carried = carry_out(setting, tmp_path)
        if judge_run(setting, carried).ending is Ending.REACHED and carried.outcome and carried.outcome.state.found:
            found = OpenEvidence.of(setting, carried)
            if found.is_told_truly and any(call.step.predicate == "charge" for call in found.calls):
                return found
    raise AssertionError("no such run is drawn")


def test_what_happens_to_orders_that_nobody_named_is_found(evidence: OpenEvidence) -> None:
    assert find_broken_open_promises(evidence) == []
    call = Call(1e6, Atom("charge", ("o99",)), "r/s99")
    found = find_broken_open_promises(replace(evidence, calls=[*evidence.calls, call]))
    assert "charge(o99) was called at 1e+06, and nothing had named o99" in found


def test_an_act_on_an_order_that_was_seen_to_be_gone_is_found(evidence: OpenEvidence) -> None:
    charge = next(call for call in evidence.calls if call.step.predicate == "charge")
    again = Call(1e6, charge.step, "r/s99")
    [found] = find_broken_open_promises(replace(evidence, calls=[*evidence.calls, again]))
    assert found.startswith(f"{charge.step} was called at 1e+06, though it was seen not to be pending")


def test_a_success_without_a_complete_source_or_with_an_order_that_was_named_is_found(evidence: OpenEvidence) -> None:
    blind = replace(evidence, conclusive=False, listings=())
    assert any("nothing had said that all orders are known" in each for each in find_broken_open_promises(blind))
    locked = next(call for call in evidence.calls if call.step.predicate == "lock_up")
    order = Atom("pending", (next(iter(evidence.named_by(locked.at))),))
    seen = Sighting(locked.at, "main", Atom("pending", ("_",)), frozenset({order}))
    found = find_broken_open_promises(replace(evidence, sightings=[*evidence.sightings, seen]))
    assert any(each.startswith("it was locked up at") for each in found)


def test_what_a_restart_has_forgotten_is_found(evidence: OpenEvidence) -> None:
    known = {
        name: types
        for _, event in evidence.events
        if isinstance(event, ObjectsFound)
        for name, types in event.objects.items()
    }
    assert known
    whole = Restored(len(evidence.events), known)
    assert find_broken_open_promises(replace(evidence, restored=[whole])) == []
    less = find_broken_open_promises(replace(evidence, restored=[replace(whole, objects={})]))
    assert len(less) == len(known)
