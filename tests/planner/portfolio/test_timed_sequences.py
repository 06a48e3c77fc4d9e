"""Scheduled sequences: the facts that say how long others hold, windows, relevance, and the searches themselves."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import pytest
from timed_domains import letters

from benchmarks.random_temporal import random_temporal_task
from benchmarks.temporal_brute import TooManyStates, find_least_makespan
from benchmarks.temporal_semantics import TemporalSemantics
from planner import Status, solve, validate
from planner.grounding.clocks import AT_START, THROUGHOUT, separate_clocks
from planner.grounding.ground_temporal import ground_temporal
from planner.grounding.lasting_facts import add_lasting_facts
from planner.language.pddl import parse_domain, parse_problem
from planner.limits import Limits
from planner.model import Problem
from planner.semantics.snap_actions import make_snap_problem
from planner.task.temporal_task import TemporalTask


def grounded(problem: Problem) -> TemporalTask:
    return ground_temporal(problem, make_snap_problem(problem), Limits())


def started(task: TemporalTask) -> Counter[str]:
    names = [
        action.step.action for action, begun in zip(task.source.task.actions, task.begins, strict=True) if begun >= 0
    ]
    return Counter(names)


def test_steps_that_no_goal_needs_are_left_out() -> None:
    whole, part = (
        grounded(letters((9, 12, 30), goal="posted", timed="(at 3 (post-open))")),
        grounded(letters((9, 12, 30))),
    )
    assert started(whole) == {"light starts": 1, "write starts": 3, "post starts": 3}
    assert started(part) == {"light starts": 1, "write starts": 3}
    assert len(part.lapses) == part.events == 4
    assert len(whole.lapses) == whole.events + 1


def test_a_letter_that_takes_longer_than_the_lamp_burns_is_never_begun() -> None:
    task = add_lasting_facts(grounded(letters((9, 36))))
    facts, actions = task.source.task.facts, task.source.task.actions
    added = {str(facts[fact]) for action in actions if action.step.action == "light starts" for fact in action.adds}
    assert "lit(desk0) for 3000 ticks" in added
    assert not any("12000" in name for name in added)
    assert solve(letters((9, 36)), time_limit=1).plan is None


def test_windows_take_the_place_of_facts_that_only_known_changes_change() -> None:
    task = grounded(
        letters((9,), goal="posted", timed="(at 3 (post-open)) (at 8 (not (post-open))) (at 20 (post-open))")
    )
    found = separate_clocks(task)
    assert found is not None
    without, clocks = found
    opened = tuple([(first * task.resolution, last * task.resolution) for first, last in [(3, 8)]])
    assert [each[:1] for each in clocks.windows if len(each) == 2 and each[0][0]] == [opened]
    reads = [when for own in clocks.reads for _, when in own]
    assert reads == [THROUGHOUT]
    assert AT_START not in reads
    names = [
        str(without.source.task.facts[fact])
        for action in without.source.task.actions
        for fact in action.precondition
        if action.step.action == "post starts"
    ]
    assert "post-open" not in names


def test_a_letter_is_posted_when_the_office_opens_again() -> None:
    problem = letters((9, 12), goal="posted", timed="(at 3 (post-open)) (at 4 (not (post-open))) (at 20 (post-open))")
    plan = solve(problem, time_limit=2).expect_plan()
    assert validate(problem, plan).valid
    assert plan.makespan == 21


@pytest.mark.parametrize("seed", range(30))
def test_plans_of_random_tasks_are_valid_and_no_shorter_than_the_least(seed: int) -> None:
    drawn = random_temporal_task(seed)
    try:
        least = find_least_makespan(TemporalSemantics(*drawn.write(Fraction(1)), 1), 3_000)
    except TooManyStates:
        pytest.skip("the task has too many states to look at all")
    domain, text = drawn.write()
    problem = parse_problem(text, parse_domain(domain))
    result = solve(problem, time_limit=0.4)
    if result.plan is not None:
        assert validate(problem, result.plan).valid
        assert least is not None
        assert least <= Fraction(result.plan.makespan or 0) * 1000
    elif least is not None:
        assert result.status is not Status.UNSOLVABLE
