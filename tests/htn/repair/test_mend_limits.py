"""Mending plans of tasks with a deadline heeds its limits: between the effects that mark kept steps, too."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module

import pytest

from htn.compilations.htn_in_time import schedule_tasks
from htn.language.declare import Methods
from planner import Domain, Status, Step, StoppedBy, mend, solve
from planner.compilations.kept_steps import KEPT, keep_steps
from planner.limits import LimitReached, Limits
from planner.model.problem import seal
from planner.plan import Result
from planner.repair.keeping_steps import MARKS_PER_SECOND, KeepingSearch, make_patterns
from planner.semantics.snap_actions import make_snap_problem

PARCELS = 8


def make_round():
    """A robot that takes parcels between two rooms in turn, and the steps that do so."""
    domain = Domain("round")
    for kind in ("room", "parcel"):
        domain.type(kind)
    domain.action(
        "move",
        parameters={"origin": "room", "target": "room"},
        requires=["at(origin)", "door(origin, target)"],
        provides=["at(target)"],
        modifies=["at(_)"],
        duration=2,
    )
    domain.action(
        "drop",
        parameters={"room": "room", "parcel": "parcel"},
        requires=["at(room)", "waits(parcel)"],
        provides=["dropped(parcel)"],
        modifies=[],
        duration=1,
    )
    how = Methods(domain)
    how.task("deliver", parcel="parcel", room="room")
    how.method(
        "go",
        {"origin": "room", "room": "room", "parcel": "parcel"},
        task="deliver(parcel, room)",
        requires=["at(origin)"],
        subtasks=["move(origin, room)", "drop(room, parcel)"],
    )
    ways = [("hall", "lab") if number % 2 == 0 else ("lab", "hall") for number in range(PARCELS)]
    problem = how.problem(
        "parcels",
        objects={"hall": "room", "lab": "room", **{f"p{number}": "parcel" for number in range(PARCELS)}},
        initial=["at(hall)", "door(hall, lab)", "door(lab, hall)", *[f"waits(p{each})" for each in range(PARCELS)]],
        tasks=[f"deliver(p{number}, {target})" for number, (_, target) in enumerate(ways)],
        deadline=100,
    )
    pairs = [(Step("move", way), Step("drop", (way[1], f"p{number}"))) for number, way in enumerate(ways)]
    return problem, [step for pair in pairs for step in pair]


PROBLEM, STEPS = make_round()
PATTERNS = make_patterns(PROBLEM.classical, STEPS)


class Late(Exception):
    """What a check raises that ends the work."""


def make_check(number):
    """Return a check that raises when it is called once more than so often, and the list of its calls."""
    calls = []

    def check():
        calls.append(None)
        if len(calls) > number:
            raise Late

    return check, calls


def test_the_snap_problem_is_checked_for_each_marking_effect():
    marked = keep_steps(PROBLEM.classical, PATTERNS, 3)
    effects = sum(len(action.when) for action in marked.domain.actions.values())
    check, calls = make_check(10**9)
    make_snap_problem(marked, check)
    assert len(calls) > effects > 100
    with pytest.raises(Late):
        make_snap_problem(replace(marked, name="another"), make_check(effects // 2)[0])


def test_the_snap_problem_is_made_once():
    marked = seal(keep_steps(PROBLEM.classical, PATTERNS, 1))
    assert make_snap_problem(marked) is make_snap_problem(marked)
    other = replace(marked, values={})
    assert make_snap_problem(other) is not make_snap_problem(marked)


def test_a_limit_that_ends_the_snap_problem_ends_it_for_good():
    marked = replace(PROBLEM.classical, name="late")
    with pytest.raises(LimitReached):
        make_snap_problem(keep_steps(marked, PATTERNS, 3), Limits(0).check)


def test_schedules_of_tasks_are_checked():
    plan = solve(PROBLEM, time_limit=20).expect_plan()
    with pytest.raises(Late):
        schedule_tasks(PROBLEM, plan, make_check(5)[0])


def test_after_a_search_that_ran_out_of_time_any_plan_is_asked_for(monkeypatch):
    asked = []

    def answer(problem, _):
        asked.append(any(name.startswith(KEPT) for name in problem.classical.domain.predicates))
        return Result(Status.UNKNOWN, StoppedBy.TIME)

    monkeypatch.setattr(import_module("planner.solve"), "answer", answer)
    found = mend(PROBLEM, STEPS[::-1], time_limit=100)
    assert (found.status, found.stopped_by) == (Status.UNKNOWN, StoppedBy.TIME)
    assert asked[:2] == [True, False]


def test_marks_are_no_more_than_can_be_compiled_in_the_time():
    search = KeepingSearch(PROBLEM, PROBLEM, PATTERNS, Limits(len(PATTERNS) * 9.5 / MARKS_PER_SECOND))
    assert search._is_small(1, 1)
    assert not search._is_small(3, 1)
    assert search._is_small(len(PATTERNS), 1)


def test_mended_steps_of_tasks_with_a_deadline_are_all_kept():
    found = mend(PROBLEM, STEPS, time_limit=30)
    assert found.kept == tuple(range(len(STEPS)))
