"""Problems in time in both directions: unified-planning's validator takes the plans, least makespans are the same."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from unified_planning.engines import PlanGenerationResultStatus, ValidationResultStatus
from unified_planning.engines.plan_validator import TimeTriggeredPlanValidator
from unified_planning.plans import ActionInstance, TimeTriggeredPlan
from unified_planning.shortcuts import (
    GE,
    ClosedTimeInterval,
    DurativeAction,
    EndTiming,
    Equals,
    Fluent,
    GlobalStartTiming,
    InstantaneousAction,
    IntType,
    MinimizeActionCosts,
    MinimizeMakespan,
    Object,
    OpenTimeInterval,
    StartTiming,
    UserType,
)
from unified_planning.shortcuts import Problem as ForeignProblem

from benchmarks.random_temporal import TemporalFeatures, random_temporal_task
from planner import Domain, solve, validate
from planner.errors import EngineError, UnsupportedError
from planner.language.pddl import parse_domain, parse_problem
from planner.model import Problem
from planner.plan import Plan, Statistics, Status, StepTime
from planner.unified_planning.conversion import from_unified_planning, to_unified_planning
from planner.unified_planning.engine import ForethoughtEngine
from planner.unified_planning.foreign_engines import check_answer
from planner.unified_planning.jobs import Answer, EngineOutcome
from planner.unified_planning.timed_writer import TimedOutgoing


def judge(problem: ForeignProblem, plan: Any) -> bool:
    """Return what unified-planning's own validator says of a plan."""
    validator = TimeTriggeredPlanValidator()
    validator.skip_checks = True
    return bool(validator.validate(problem, plan).status is ValidationResultStatus.VALID)


def shopping(**more: Any) -> Problem:
    """Two shops, one car, windows."""
    domain = Domain("shopping", types=["shop"])
    domain.function("minutes", "shop")
    domain.action(
        "shop", {"s": "shop"}, provides="bought(s)", duration="60 * minutes(s)", throughout="open(s)", holds={"car": 1}
    )
    domain.action("cook", {"s": "shop"}, requires=["bought(s)", "food(s)"], provides="dinner", duration=1800)
    return domain.problem(
        objects={"market": "shop", "bakery": "shop"},
        initial=["food(market)", "open(bakery)", "minutes(market) = 40", "minutes(bakery) = 10"],
        goal=["bought(bakery)", "dinner"],
        windows={"open(market)": "900..14400"},
        capacity={"car": 1},
        objective="makespan",
        **more,
    )


def test_a_plan_with_capacities_and_windows_is_valid_there_and_comes_back() -> None:
    problem = shopping()
    result = solve(problem)
    outgoing = to_unified_planning(problem)
    assert isinstance(outgoing, TimedOutgoing)
    plan = outgoing.foreign_plan(result.expect_plan())
    assert judge(outgoing.problem, plan)
    back = outgoing.plan(plan)
    assert back == result.plan
    assert validate(problem, back).valid
    early = [(Fraction(0), each, lasts) for _, each, lasts in plan.timed_actions]
    assert not judge(outgoing.problem, TimeTriggeredPlan(early))
    assert not validate(problem, outgoing.plan(TimeTriggeredPlan(early))).valid


def test_deadlines_of_goals_become_actions_that_plans_lose_on_the_way_back() -> None:
    problem = shopping(due={"dinner": 5200})
    outgoing = to_unified_planning(problem)
    assert isinstance(outgoing, TimedOutgoing)
    read = from_unified_planning(outgoing.problem)
    result = solve(read.problem)
    plan = outgoing.plan(read.plan(result.expect_plan()))
    assert [step.action for step in plan.steps] == ["shop", "shop", "cook"]
    assert validate(problem, plan).valid
    late = to_unified_planning(shopping(due={"dinner": 5000}))
    assert solve(from_unified_planning(late.problem).problem, time_limit=2).plan is None
    with pytest.raises(UnsupportedError, match="deadlines of goals"):
        outgoing.foreign_plan(plan)


@pytest.mark.parametrize("seed", range(24))
def test_random_problems_keep_their_least_makespan(seed: int) -> None:
    features = TemporalFeatures(coarse=seed % 2 == 1, longest=3 if seed % 2 else 6, instants=seed % 3 == 0)
    domain, text = random_temporal_task(seed, features).write()
    problem = parse_problem(text, parse_domain(domain))
    try:
        outgoing = to_unified_planning(problem)
    except UnsupportedError as error:
        if "duration" not in str(error):  # an effect depends on it, or it has no greatest value
            raise
        return
    assert isinstance(outgoing, TimedOutgoing)
    read = from_unified_planning(outgoing.problem)
    ours, theirs = [solve(each, mode="optimal", time_limit=20) for each in (problem, read.problem)]
    if ours.status is Status.OPTIMAL and theirs.status is Status.OPTIMAL:
        assert ours.expect_plan().makespan == theirs.expect_plan().makespan
    assert {ours.status, theirs.status} != {Status.OPTIMAL, Status.UNSOLVABLE}
    for result, plans in ((ours, outgoing.foreign_plan), (theirs, read.plan)):
        if result.plan is not None:
            plan = plans(result.plan)
            assert judge(outgoing.problem, plan)
            assert read.verdict(plan).valid
            assert validate(problem, outgoing.plan(plan)).valid


@pytest.fixture
def ferry() -> ForeignProblem:
    """A ferry that crosses while the tide is high; its captain is paid, its berth changes at noon."""
    place = UserType("Place")
    berth, high = Fluent("berth", place), Fluent("high")
    fuel, aboard = Fluent("fuel", IntType(0, 10)), Fluent("aboard")
    cross = DurativeAction("cross", target=place)
    cross.set_closed_duration_interval(4, 9)
    cross.add_condition(StartTiming(), GE(fuel, 3))
    cross.add_condition(ClosedTimeInterval(StartTiming(), EndTiming()), high)
    cross.add_decrease_effect(StartTiming(), fuel, 3)
    cross.add_effect(EndTiming(), berth, cross.target)
    board = InstantaneousAction("board")
    board.add_effect(aboard, True)
    problem = ForeignProblem("ferry")
    north, south, dock = [Object(name, place) for name in ("north", "south", "dock")]
    problem.add_objects([north, south, dock])
    for fluent, value in ((berth, north), (high, False), (fuel, 5), (aboard, False)):
        problem.add_fluent(fluent, default_initial_value=value)
    problem.add_actions([cross, board])
    problem.add_timed_effect(GlobalStartTiming(10), high, True)
    problem.add_timed_effect(GlobalStartTiming(12), berth, dock)
    problem.add_goal(Equals(berth, south))
    problem.add_goal(aboard)
    problem.add_quality_metric(MinimizeMakespan())
    return problem


def test_closed_intervals_object_fluents_and_known_changes(ferry: ForeignProblem) -> None:
    engine = ForethoughtEngine()
    result = engine.solve(ferry)
    assert result.status is PlanGenerationResultStatus.SOLVED_OPTIMALLY
    assert judge(ferry, result.plan)
    assert {str(instance): start for start, instance, _ in result.plan.timed_actions}["cross(south)"] > 10
    verdict = engine.validate(ferry, result.plan)
    assert verdict.status is ValidationResultStatus.VALID
    assert list(verdict.metric_evaluations.values()) == [Fraction("14.001")]
    read = from_unified_planning(ferry).problem
    known = [str(each) for each in read.timed]
    assert known == ["at 10: high", "at 12: berth(dock), not berth(north), not berth(south)"]


def test_an_invalid_plan_names_its_action(ferry: ForeignProblem) -> None:
    cross, board = ferry.action("cross"), ferry.action("board")
    south = ferry.environment.expression_manager.ObjectExp(ferry.object("south"))
    early = TimeTriggeredPlan(
        [
            (Fraction(3), ActionInstance(cross, (south,)), Fraction(4)),
            (Fraction(1), ActionInstance(board), None),
        ]
    )
    verdict = ForethoughtEngine().validate(ferry, early)
    assert verdict.status is ValidationResultStatus.INVALID
    assert verdict.inapplicable_action.action == cross
    assert not judge(ferry, early)


def test_costs_count_where_the_metric_says_so(ferry: ForeignProblem) -> None:
    ferry.clear_quality_metrics()
    ferry.add_quality_metric(MinimizeActionCosts({ferry.action("cross"): 7, ferry.action("board"): 2}))
    problem = from_unified_planning(ferry).problem
    result = solve(problem)
    assert result.cost == 9
    assert validate(problem, result.expect_plan()).valid


def _inside(problem: ForeignProblem) -> None:
    problem.action("cross").add_effect(StartTiming(2), problem.fluent("aboard"), True)


def _within(problem: ForeignProblem) -> None:
    interval = OpenTimeInterval(StartTiming(1), EndTiming())
    problem.action("cross").add_condition(interval, problem.fluent("aboard"))


def _open(problem: ForeignProblem) -> None:
    problem.action("cross").set_open_duration_interval(4, 9)


def _goal(problem: ForeignProblem) -> None:
    problem.add_timed_goal(GlobalStartTiming(20), problem.fluent("aboard"))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_inside, "between the start and the end of actions"),
        (_within, "between the start and the end of actions"),
        (_open, "the open interval of durations"),
        (_goal, "goals at times"),
    ],
)
def test_what_is_refused_is_named(ferry: ForeignProblem, change: Any, message: str) -> None:
    change(ferry)
    with pytest.raises(UnsupportedError, match=message):
        from_unified_planning(ferry)
    result = ForethoughtEngine().solve(ferry) if ForethoughtEngine.supports(ferry.kind) else None
    assert result is None or result.status is PlanGenerationResultStatus.UNSUPPORTED_PROBLEM


def test_a_metric_that_weighs_time_is_refused() -> None:
    problem = replace(shopping(), metric=parse_problem(*_weighed()).metric)
    with pytest.raises(UnsupportedError, match="weighs time or cost"):
        to_unified_planning(problem)


def _weighed() -> tuple[str, Any]:
    domain = parse_domain(
        "(define (domain d) (:predicates (done)) (:durative-action act :parameters () :duration (= ?duration 2)"
        " :effect (at end (done))))"
    )
    return "(define (problem p) (:domain d) (:goal (done)) (:metric minimize (* 4 (total-time))))", domain


def test_an_engine_that_puts_steps_too_close_is_spaced() -> None:
    problem = shopping()
    plan = solve(problem).expect_plan()
    tight = tuple([StepTime(min(time.start, 3300), time.duration) for time in plan.times])
    assert not validate(problem, Plan(plan.steps, problem, times=tight)).valid
    answer = Answer(EngineOutcome.FINISHED, "SOLVED_SATISFICING", plan.steps, times=tight, sees_costs=True)
    result = check_answer(problem, "somebody", answer, Statistics())
    assert (result.status, result.expect_plan().makespan) == (Status.SOLVED, plan.makespan)
    assert validate(problem, result.expect_plan()).valid
    wrong = replace(answer, times=tuple([StepTime(0, time.duration) for time in plan.times]))
    with pytest.raises(EngineError, match="somebody gave an invalid plan"):
        check_answer(problem, "somebody", wrong, Statistics())
