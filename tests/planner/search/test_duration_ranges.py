"""Steps whose duration is a range: they last as long as what happens meanwhile, and what they change, need."""

from __future__ import annotations

import random
from collections.abc import Sequence
from fractions import Fraction

import pytest

from planner import Status, solve, validate
from planner.compilations.duration_choices import choose_durations
from planner.explain.timed_explanation import explain_times
from planner.grounding.clocks import separate_clocks
from planner.grounding.ground_temporal import ground_temporal
from planner.grounding.lasting_facts import add_lasting_facts
from planner.heuristics.critical_path_in_time import bound_makespan
from planner.heuristics.timed_relaxation_kernel import NEVER, Windows, find_long_end, find_long_start
from planner.jit import library
from planner.jit.arrays import flatten, index, words
from planner.language.pddl import parse_domain, parse_problem
from planner.limits import Limits
from planner.model import Problem
from planner.plan import Plan, Step, StepTime
from planner.scheduling.shorten_durations import shorten_durations
from planner.search.search_run import Run
from planner.search.temporal_search_compiled import TemporalBestFirst
from planner.search.timed_sequences_compiled import SequenceSpace, TimedSequences
from planner.semantics.snap_actions import make_snap_problem
from planner.task.numeric_task_compiled import pack_numeric_task
from planner.task.temporal_task import TemporalTask
from planner.validation.timed_replay import price_plan

ROOM = """
(define (domain room)
  (:requirements :typing :durative-actions :numeric-fluents :timed-initial-literals :duration-inequalities
    :conditional-effects)
  (:types letter)
  (:predicates (lit) (dark) (free) (blank ?l - letter) (written ?l - letter) (open) (late) (done) (cared))
  (:functions (weakness))
  (:durative-action light
    :parameters () :duration {light}
    :condition (at start (dark))
    :effect (and (at start (not (dark))) (at start (lit)) (at end (not (lit))) (at end (dark))))
  (:durative-action write
    :parameters (?l - letter) :duration (= ?duration 4)
    :condition (and (over all (lit)) (at start (free)) (at start (blank ?l)))
    :effect (and (at start (not (free))) (at start (not (blank ?l))) (at end (free)) (at end (written ?l))
      (when (at end (open)) (at end (cared)))))
  (:action weaken :parameters () :precondition (dark) :effect (increase (weakness) 1))
  (:durative-action attend
    :parameters () :duration {attend}
    :condition (and (at start (open)) (at end (late)))
    :effect (at end (done))))
"""


def between(low: object, high: object) -> str:
    return f"(and (>= ?duration {low}) (<= ?duration {high}))"


def room(
    init: str, goal: str, *, light: str = between(1, 10), attend: str = between(1, 30), letters: Sequence[str] = ()
) -> Problem:
    """Return the problem of a room whose actions have these durations."""
    domain = parse_domain(ROOM.format(light=light, attend=attend))
    facts = " ".join(f"(blank {name})" for name in letters)
    objects = f"(:objects {' '.join(letters)} - letter)" if letters else ""
    return parse_problem(
        f"(define (problem p) (:domain room) {objects} (:init (free) (= (weakness) 1) {facts} {init})"
        f" (:goal {goal}) (:metric minimize (total-time)))",
        domain,
    )


CAR = """
(define (domain car)
  (:requirements :durative-actions :numeric-fluents :duration-inequalities)
  (:predicates (free) (done) (lit))
  (:functions (battery))
  (:durative-action charge
    :parameters () :duration (and (>= ?duration 1) (<= ?duration 50))
    :condition (at start (free))
    :effect (and (at start (not (free))) (at end (free)) (at end (increase (battery) (* 2 ?duration)))))
  (:durative-action drive
    :parameters () :duration (= ?duration 5)
    :condition (and (at start (free)) (at start (>= (battery) 20)))
    :effect (and (at start (decrease (battery) 20)) (at end (done)))))
"""


def car(goal: str, battery: int = 0) -> Problem:
    """Return the problem of a car that is charged for as long as one likes."""
    text = f"(define (problem p) (:domain car) (:init (free) (= (battery) {battery})) (:goal {goal})"
    return parse_problem(f"{text} (:metric minimize (total-time)))", parse_domain(CAR))


def letters_by_light(light: str) -> Problem:
    return room("(dark)", "(and (written a) (written b) (dark))", light=light, letters=("a", "b"))


def grounded(problem: Problem) -> TemporalTask:
    return ground_temporal(problem, make_snap_problem(problem), Limits())


LIGHTS = (between(1, 10), "(>= ?duration 1)", between("(weakness)", "(+ (weakness) 9)"))


@pytest.mark.parametrize("light", LIGHTS)
@pytest.mark.parametrize("mode", ["first", "anytime"])
def test_a_light_burns_as_long_as_letters_are_written(light: str, mode: str) -> None:
    problem = letters_by_light(light)
    result = solve(problem, mode=mode, time_limit=5)
    assert validate(problem, result.expect_plan()).valid
    assert result.cost == result.lower_bound or mode == "first"
    assert str(result.cost) == "8.001" or mode == "first"


def test_decision_epochs_let_a_light_burn_by_themselves() -> None:
    problem = room("(dark) (open)", "(and (written a) (cared) (dark))", light="(>= ?duration 1)", letters=("a",))
    task = add_lasting_facts(grounded(problem))
    space = pack_numeric_task(task.source, lambda: None)
    assert space is not None
    found: list[list[str]] = []

    def take(actions: list[int]) -> int:
        found.append([task.source.task.actions[each].step.action for each in actions])
        return 0

    search = TemporalBestFirst(task, space, library.load_or_plain(), take)
    assert list(search.steps(Run())) is not None
    assert sorted(found[0]) == ["light ends", "light starts", "write ends", "write starts"]
    assert found[0].index("write ends") < found[0].index("light ends")


def test_a_light_that_burns_too_short_is_proved_to_be_of_no_use() -> None:
    problem = letters_by_light(between(1, 3))
    result = solve(problem, time_limit=2)
    assert result.plan is None
    assert result.status is not Status.SOLVED


def test_a_range_without_any_duration_is_never_taken() -> None:
    result = solve(room("(open) (at 5 (late))", "(done)", attend=between(3, 2)), time_limit=1)
    assert result.status is Status.UNSOLVABLE


@pytest.mark.parametrize("mode", ["first", "anytime"])
@pytest.mark.parametrize(("high", "start"), [(30, "0"), (16, "4.001")])
def test_a_step_waits_for_a_known_change_at_its_end(mode: str, high: int, start: str) -> None:
    problem = room("(at 2 (open)) (at 5 (not (open))) (at 20 (late))", "(done)", attend=between(1, high))
    if high == 30:
        problem = room("(open) (at 5 (not (open))) (at 20 (late))", "(done)", attend=between(1, high))
    plan = solve(problem, mode=mode, time_limit=2).expect_plan()
    assert validate(problem, plan).valid
    assert str(plan.makespan) == "20.001"
    assert str(plan.times[0].start) == start


def test_scheduled_sequences_wait_for_windows_at_the_end_of_a_step() -> None:
    found: list[list[tuple[int, int, int, int]]] = []
    for high in (30, 16, 14):
        problem = room("(at 2 (open)) (at 5 (not (open))) (at 20 (late))", "(done)", attend=between(1, high))
        separated = separate_clocks(grounded(problem))
        assert separated is not None
        space = pack_numeric_task(separated[0].source, lambda: None)
        assert space is not None
        shared = SequenceSpace.of(separated[0], space, separated[1], 1)
        search = TimedSequences(
            shared, library.load_or_plain(), lambda each: found.append(each) or 0, pace=1000, step=100
        )
        assert list(search.steps(Run())) is not None
    assert [(start, lasts) for ((_, _, start, lasts),) in found] == [(2001, 18000), (4001, 16000)]


def test_the_end_of_a_step_is_no_later_than_what_it_waits_for() -> None:
    for attend in (between(1, 30), "(= ?duration 1)"):
        problem = room("(open) (at 20 (late))", "(done)", attend=attend)
        task = grounded(problem)
        assert bound_makespan(task, task.resolution // 1000, ()).ticks == Fraction("20.001") * task.resolution
        assert solve(problem, time_limit=2).status is Status.OPTIMAL


def draw_windows(rng: random.Random, length: int) -> list[tuple[int, int]]:
    ends = sorted(rng.sample(range(length), 2 * rng.randint(1, 3)))
    return list(zip(ends[::2], ends[1::2], strict=True))


def may_be_at(windows: Sequence[tuple[int, int]], first: int, last: int, apart: int) -> bool:
    return any(
        (opens + apart <= first or (opens == 0 and first >= 0)) and last <= closes - apart for opens, closes in windows
    )


@pytest.mark.parametrize("seed", range(200))
def test_the_first_start_of_a_step_is_that_of_all_starts_and_durations(seed: int) -> None:
    rng = random.Random(seed)
    reads = [(rng.randrange(3), draw_windows(rng, 30)) for _ in range(rng.randint(1, 3))]
    ticks, slack, earliest, ends = rng.randint(1, 5), rng.randint(1, 12), rng.randint(0, 6), rng.randint(0, 20)
    windows = Windows(
        index([0, len(reads)]),
        index(range(len(reads))),
        index(when for when, _ in reads),
        flatten([range(len(each)) for _, each in reads])[0],
        words(opens for _, each in reads for opens, _ in each),
        words(closes for _, each in reads for _, closes in each),
    )

    def fits(start: int, end: int) -> bool:
        spans = {0: (start, start, 1), 1: (start, end, 0), 2: (end, end, 1)}
        return all(may_be_at(each, *spans[when]) for when, each in reads)

    choices = [
        (start, start + lasts)
        for start in range(earliest, 60)
        for lasts in range(ticks, ticks + slack + 1)
        if start + lasts >= ends and fits(start, start + lasts)
    ]
    found = find_long_start(windows, 0, earliest, ends, ticks, slack, 1)
    assert found == (min(choices)[0] if choices else NEVER)
    if choices:
        end = find_long_end(windows, 0, found, ends, ticks, 1)
        assert end == min(choices)[1]


def test_a_battery_is_charged_just_enough() -> None:
    problem = car("(done)")
    reported: list[Plan] = []
    result = solve(
        problem, mode="first", on_progress=lambda progress: reported.append(progress.plan) if progress.plan else None
    )
    plan = result.expect_plan()
    assert result.status is Status.SOLVED
    assert [str(step) for step in plan.steps] == ["charge()", "drive()"]
    assert (str(plan.times[0].duration), str(plan.makespan)) == ("10", "15.001")
    assert validate(problem, plan).valid
    assert all(validate(problem, each).valid for each in reported)
    assert explain_times(problem, plan).plan is plan


def test_nothing_is_proved_where_durations_are_only_tried() -> None:
    problem = car("(and (done) (= (battery) 7))")
    result = solve(problem, time_limit=1)
    assert result.status is not Status.UNSOLVABLE
    assert result.plan is None or validate(problem, result.plan).valid
    impossible = solve(car("(and (done) (lit))"), time_limit=1)
    assert impossible.status is Status.UNKNOWN


def test_useful_durations_are_the_least_the_greatest_and_what_is_just_enough() -> None:
    compiled = choose_durations(car("(done)"))
    assert compiled is not None
    names = [name for name in compiled.problem.domain.actions if name.startswith("charge")]
    lengths = [str(compiled.problem.domain.actions[name].duration) for name in names]
    assert lengths == ["(20 - battery) / 2", "50", "1"]
    assert choose_durations(letters_by_light(between(1, 10))) is None


def test_charging_is_shortened_to_what_is_needed() -> None:
    problem = car("(done)", battery=5)
    times = (StepTime(0, 50), StepTime(60, 5))
    plan = price_plan(Plan((Step("charge"), Step("drive")), problem, times=times))
    assert validate(problem, plan).valid
    better = shorten_durations(plan, make_snap_problem(problem), lambda: True)
    assert [str(time.duration) for time in better.times] == ["7.5", "5"]
    assert str(better.makespan) == "12.501"
    assert shorten_durations(plan, make_snap_problem(problem), lambda: False) is plan
