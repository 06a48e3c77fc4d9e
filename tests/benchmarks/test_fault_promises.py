"""The checks of the fault campaign find broken promises in doctored events, calls and sightings."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from benchmarks.faults.fault_campaign import run_campaign
from benchmarks.faults.fault_run import carry_out
from benchmarks.faults.fault_setting import KINDS, ORDERS_MODELS, TIMEOUT, Setting, plan_orders
from benchmarks.faults.fault_verdict import Ending, Violation, evidence_of, find_not_undone, judge_run
from benchmarks.faults.promises import (
    Evidence,
    find_broken_promises,
    find_early_steps,
    find_repeated_steps,
    find_steps_despite_questions,
    find_successes_with_strangers,
    find_undoing_final_steps,
)
from executor.events.answers import HAPPENED, NOTHING
from executor.events.events import Answered, Asked, PlanChanged, RunEnded, RunStatus, StepStarted
from executor.testing import Fault, FaultKind, Observe
from executor.testing.simulated_handlers import Call
from executor.testing.simulated_observers import STRANGER, Sighting
from executor.tools.step_policy import ExecutionPolicy
from planner import Domain
from planner.model import Atom
from planner.plan import Step

CHARGE = Atom("charge", ("o1",))
CHARGED = Atom("charged", ("o1",))


def run_of(name: str, *faults: Fault, model="sequential", hasty=False, twice=False) -> Setting:
    kind, plan = faults[0].kind if faults else KINDS[0], plan_orders(name, is_hasty=hasty)
    observe, policy = Observe(conclusive=True, twice=twice), ExecutionPolicy(timeout=TIMEOUT)
    return Setting(0, kind, model, plan, faults, observe, policy, 0.0, 1, has_journal=False, is_asked=False)


def evidence(folder: Path, name: str, **options) -> Evidence:
    setting = run_of(name, **options)
    found = evidence_of(setting, carry_out(setting, folder))
    assert find_broken_promises(found) == []
    return found


@pytest.fixture
def siblings(tmp_path: Path) -> Evidence:
    return evidence(tmp_path, "siblings")


def begun(found: Evidence, action: str) -> int:
    """Return the place of the event with which the step of `action` began."""
    [plan] = [event.plan for _, event in found.events if hasattr(event, "plan")]
    [id_] = [each["id"] for each in plan["steps"] if each["action"] == action]
    events = [event for _, event in found.events]
    return next(at for at, each in enumerate(events) if isinstance(each, StepStarted) and each.step == id_)


def with_events(found: Evidence, at: int, *events) -> Evidence:
    when = found.events[at][0]
    return replace(found, events=[*found.events[:at], *[(when, each) for each in events], *found.events[at:]])


def test_an_irreversible_step_in_an_undo_is_found(siblings: Evidence) -> None:
    def undo(action):
        step = {"id": "u1", "action": action, "arguments": {"order": "o1"}}
        return PlanChanged((step,), 0, 1, 0, "given up", undoes=True)

    last = len(siblings.events) - 1
    assert list(find_undoing_final_steps(with_events(siblings, last, undo("release")))) == []
    [found] = find_undoing_final_steps(with_events(siblings, last, undo("refund")))
    assert found == "refund(o1) is irreversible and part of an undo"


def test_an_irreversible_call_for_an_undo_is_found_whatever_the_plan_said(siblings: Evidence) -> None:
    step = {"id": "u1", "action": "release", "arguments": {"order": "o1"}}
    doctored = with_events(siblings, len(siblings.events) - 1, PlanChanged((step,), 0, 1, 0, "", undoes=True))
    doctored = replace(doctored, calls=[*siblings.calls, Call(9.0, Atom("refund", ("o1",)), "r/u1")])
    assert list(find_undoing_final_steps(doctored)) == ["refund(o1) is irreversible and was called to undo something"]


def repeated(found: Evidence, *sightings: Sighting, **changes) -> list[str]:
    [first] = [call for call in found.calls if call.step == CHARGE]
    again = Call(first.at + 5, CHARGE, "r/p1")
    looks = [replace(each, at=first.at + each.at) for each in sightings]
    return list(find_repeated_steps(replace(found, calls=[*found.calls, again], sightings=looks, **changes)))


def test_a_repeated_irreversible_step_needs_conclusive_evidence(siblings: Evidence) -> None:
    absent, present = frozenset[Atom](), frozenset({CHARGED})
    unseen = Sighting(1.0, "main", CHARGED, absent)
    assert repeated(siblings, unseen) == []
    assert repeated(siblings)
    assert repeated(siblings, unseen, conclusive=False)
    assert repeated(siblings, unseen, Sighting(1.0, "second", CHARGED, present))
    assert repeated(siblings, unseen, Sighting(2.0, "main", CHARGED, present))
    assert repeated(siblings, Sighting(-1.0, "main", CHARGED, absent))
    assert repeated(siblings, Sighting(6.0, "main", CHARGED, absent))


@pytest.mark.parametrize(("answer", "broken"), [(NOTHING, False), (HAPPENED, True)])
def test_a_person_may_say_that_nothing_happened(siblings: Evidence, answer: str, broken: bool) -> None:
    at = begun(siblings, "charge")
    started = siblings.events[at][1]
    assert isinstance(started, StepStarted)
    told = with_events(siblings, at + 1, Answered(f"doubt:{started.step}", answer))
    assert bool(repeated(told, conclusive=False)) is broken


@pytest.mark.parametrize("model", ORDERS_MODELS)
def test_an_irreversible_step_before_a_reversible_sibling_is_found(tmp_path: Path, model: str) -> None:
    found = evidence(tmp_path, "siblings", model=model, hasty=True)
    charge, check = begun(found, "charge"), begun(found, "check")
    assert check < charge
    events = list(found.events)
    events.insert(check, (events[check][0], events.pop(charge)[1]))
    reserved = found.state_at(float("inf")).copy()
    reserved.world.update([CHARGED, Atom("at", ("o1", "s1")), Atom("checked", ("s1",))], [])
    [text] = find_early_steps(replace(found, events=events, state_at=lambda _: reserved))
    assert text.startswith("charge(o1) began before ")
    assert "check(s1)" in text


def test_an_irreversible_step_that_others_depend_on_is_not_early(tmp_path: Path) -> None:
    found = evidence(tmp_path, "shipped")
    assert begun(found, "ship") < begun(found, "thank")


def test_an_irreversible_step_despite_an_open_question_is_found(siblings: Evidence) -> None:
    at, asked = begun(siblings, "charge"), Asked("doubt:s1", "s1", "Did it happen?")
    answered = with_events(siblings, at, asked, Answered("doubt:s1", HAPPENED))
    assert list(find_steps_despite_questions(answered)) == []
    assert list(find_steps_despite_questions(with_events(siblings, at, asked))) == [
        "charge(o1) began while doubt:s1 had no answer"
    ]


def test_an_irreversible_step_may_begin_while_a_question_about_another_part_of_the_goal_is_open(
    siblings: Evidence,
) -> None:
    at, about_all = begun(siblings, "charge"), Asked("limit:cost", "", "May it go on?")
    asked = Asked("doubt:s3", "s3", "Did it happen?")
    assert list(find_steps_despite_questions(with_events(siblings, at, asked))) == []
    assert list(find_steps_despite_questions(with_events(siblings, at, asked, about_all))) == [
        "charge(o1) began while limit:cost had no answer"
    ]


def test_an_undo_despite_an_open_question_is_found(siblings: Evidence) -> None:
    doubt, undo = Asked("doubt:s3", "s3", "Did it happen?"), PlanChanged((), 0, 0, 0, "given up", undoes=True)
    found = with_events(siblings, len(siblings.events) - 1, doubt, undo)
    assert list(find_steps_despite_questions(found)) == ["an undo was planned while doubt:s3 had no answer"]


def test_success_with_an_unknown_object_is_found_where_the_goal_is_over_all(tmp_path: Path) -> None:
    told = [Atom("at", ("o1", STRANGER))]
    shelves = evidence(tmp_path, "shelves")
    [text] = find_successes_with_strangers(replace(shelves, strangers=told))
    assert text == "the run succeeded, though at(o1, stranger) was told"
    ended = RunEnded(RunStatus.UNVERIFIED)
    honest = replace(shelves, strangers=told, events=[*shelves.events[:-1], (shelves.events[-1][0], ended)])
    assert list(find_successes_with_strangers(honest)) == []


def test_success_with_an_unknown_object_that_the_goal_is_not_about_is_none(siblings: Evidence) -> None:
    assert list(find_successes_with_strangers(replace(siblings, strangers=[Atom("at", ("o1", STRANGER))]))) == []


def test_a_broken_promise_is_a_violation(tmp_path: Path) -> None:
    setting = run_of("siblings")
    carried = carry_out(setting, tmp_path)
    assert judge_run(setting, carried).ending is Ending.REACHED
    carried.simulated.calls.append(Call(99.0, CHARGE, "r/p1"))
    assert judge_run(setting, carried).violation is Violation.PROMISE


@pytest.mark.parametrize(
    "kind", [FaultKind.APPROVAL_REFUSED, FaultKind.APPROVAL_RAISES, FaultKind.APPROVAL_UNPRINTABLE]
)
@pytest.mark.parametrize("model", ORDERS_MODELS)
def test_what_is_not_approved_is_not_done(tmp_path: Path, kind: FaultKind, model: str) -> None:
    setting = run_of("siblings", Fault(kind, "charge", times=None), model=model)
    carried = carry_out(setting, tmp_path)
    assert judge_run(setting, carried).violation is None
    assert CHARGE not in [call.step for call in carried.simulated.calls]
    assert carried.strikes[kind] >= 1


def test_a_late_approval_is_waited_for(tmp_path: Path) -> None:
    setting = run_of("siblings", Fault(FaultKind.APPROVAL_LATE, "charge", seconds=5.0))
    assert judge_run(setting, carry_out(setting, tmp_path)).ending is Ending.REACHED


@pytest.mark.parametrize("model", ORDERS_MODELS)
def test_the_second_observer_alone_disagrees(tmp_path: Path, model: str) -> None:
    setting = run_of("siblings", Fault(FaultKind.OBSERVER_DISAGREES, "charged", times=None), model=model, twice=True)
    carried = carry_out(setting, tmp_path)
    assert judge_run(setting, carried).violation is None
    assert [call.step for call in carried.simulated.calls].count(CHARGE) <= 1
    said = {look.by: look.says(CHARGED) for look in carried.simulated.sightings if look.says(CHARGED) is not None}
    assert set(said) == {"main", "second"}


@pytest.mark.parametrize("model", ORDERS_MODELS)
@pytest.mark.parametrize(
    "fault", [Fault(FaultKind.OBSERVER_STRANGER, "at", times=None), Fault(FaultKind.RESULT_STRANGER, "charge")]
)
def test_strangers_are_told_and_noted(tmp_path: Path, fault: Fault, model: str) -> None:
    setting = run_of("shelves", fault, model=model)
    carried = carry_out(setting, tmp_path)
    assert carried.simulated.strangers
    assert judge_run(setting, carried).violation is None
    assert carried.outcome is not None
    assert carried.outcome.status is not RunStatus.SUCCEEDED


def test_the_true_state_of_an_evidence_can_be_asked(siblings: Evidence) -> None:
    before = siblings.state_at(-1.0)
    assert before.find_objection(Step("charge", ("o1",))) is not None


@pytest.mark.parametrize(("seed", "number"), [(0, 341), (1, 365)])
def test_a_step_that_begins_during_the_search_for_a_patch_is_not_planned_again(seed: int, number: int) -> None:
    [found] = run_campaign([number], seed)
    assert found.verdict.violation is None, found.verdict.detail


def test_what_somebody_else_has_done_does_not_make_a_step_early() -> None:
    [found] = run_campaign([155], 1)
    assert found.verdict.violation is None, found.verdict.detail


@pytest.mark.parametrize(
    ("acts", "now", "left"),
    [
        ([("s1", ["p0"], []), ("s1", [], ["p0"])], [], []),  # it was not there before, and is gone again
        ([("s1", ["p0"], []), ("s1", [], [])], ["p0"], ["p0"]),
        ([("s1", [], ["p0"]), ("u1", ["p0"], [])], ["p0"], ["p0"]),  # it is there again, but written
    ],
)
def test_what_was_written_and_is_gone_as_before_is_undone(acts: Any, now: list[str], left: list[str]) -> None:
    problem = Domain("d").problem(initial="p0")
    done = [
        SimpleNamespace(
            step=None,
            by=by,
            added=tuple(map(Atom, added)),
            removed=tuple(map(Atom, removed)),
            written=(Atom("p0"),),
        )
        for by, added, removed in acts
    ]
    world: Any = SimpleNamespace(problem=problem, acts=done, facts=frozenset(map(Atom, now)))
    assert find_not_undone(world) == [Atom(name) for name in left]
