"""Forethought as an engine of unified-planning, on the problems that unified-planning is tested with."""

from __future__ import annotations

import io
import threading
import warnings
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import pytest
from unified_planning.engines import PlanGenerationResultStatus as Outcome
from unified_planning.engines import SequentialPlanValidator, ValidationResult, ValidationResultStatus
from unified_planning.engines.plan_validator import TimeTriggeredPlanValidator
from unified_planning.environment import Environment, get_environment
from unified_planning.exceptions import UPUsageError
from unified_planning.model.scheduling import SchedulingProblem
from unified_planning.plans import SequentialPlan, TimeTriggeredPlan
from unified_planning.shortcuts import (
    AnytimePlanner,
    BoolType,
    Fluent,
    InstantaneousAction,
    IntType,
    MinimizeActionCosts,
    Object,
    OneshotPlanner,
    PlanValidator,
    Problem,
    UserType,
)
from unified_planning.test.examples import get_example_problems

from planner.unified_planning import NAMES, register
from planner.unified_planning.problem_features import SUPPORTED, TIME, other_features
from planner.unified_planning.scheduling_problems import SCHEDULES

EXAMPLES = get_example_problems()
TAKEN = sorted(name for name, case in EXAMPLES.items() if set(case.problem.kind.features) <= SUPPORTED)
IN_TIME = sorted(
    name
    for name, case in EXAMPLES.items()
    if TIME & set(case.problem.kind.features) <= set(case.problem.kind.features) <= SUPPORTED | TIME
    and name not in TAKEN
    and not isinstance(case.problem, SchedulingProblem)
)
WITHOUT_SEPARATION = frozenset({"logistic", "temporal_conditional"})
"""Their plans let steps read and write one fact at once."""
KNOWN = SUPPORTED | TIME | SCHEDULES | other_features()
REFUSED = sorted(name for name, case in EXAMPLES.items() if not set(case.problem.kind.features) <= KNOWN)


@pytest.fixture(autouse=True)
def _registered() -> None:
    get_environment().credits_stream = None
    register()


def ladder(*, last: int = 2) -> Problem:
    """Two ways up: one dear step, or three cheap ones; and a trap."""
    problem, rung = Problem("ladder"), UserType("rung")
    at, fuse = Fluent("at", BoolType(), rung=rung), Fluent("fuse")
    toll = Fluent("toll", IntType(), origin=rung, target=rung)
    problem.add_fluent(at, default_initial_value=False)
    problem.add_fluent(fuse, default_initial_value=True)
    problem.add_fluent(toll, default_initial_value=2)
    rungs = [Object(f"rung{number}", rung) for number in range(4)]
    problem.add_objects(rungs)
    problem.set_initial_value(at(rungs[0]), value=True)
    problem.set_initial_value(toll(rungs[0], rungs[3]), 9)
    problem.set_initial_value(toll(rungs[0], rungs[2]), 5)
    problem.set_initial_value(toll(rungs[1], rungs[3]), last)
    climb = InstantaneousAction("climb", origin=rung, target=rung)
    climb.add_precondition(at(climb.origin))
    climb.add_precondition(fuse)
    climb.add_effect(at(climb.origin), value=False)
    climb.add_effect(at(climb.target), value=True)
    burn = InstantaneousAction("burn")
    burn.add_effect(fuse, value=False)
    problem.add_actions([climb, burn])
    problem.add_goal(at(rungs[3]))
    costs = {climb: toll(climb.origin, climb.target)}
    problem.add_quality_metric(MinimizeActionCosts(costs, default=0))
    return problem


def judge(problem: Problem, plan: SequentialPlan) -> ValidationResult:
    """Return what their validator says, which warns of undefined numbers and judges them all the same."""
    validator = SequentialPlanValidator()
    validator.skip_checks = True
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return validator.validate(problem, plan)


@pytest.mark.parametrize("name", TAKEN)
def test_examples_are_solved(name: str) -> None:
    case = EXAMPLES[name]
    with OneshotPlanner(name="forethought-opt") as engine:
        result = engine.solve(case.problem)
    if not case.solvable:
        assert result.status is Outcome.UNSOLVABLE_PROVEN
        return
    assert result.status is (Outcome.SOLVED_OPTIMALLY if case.problem.quality_metrics else Outcome.SOLVED_SATISFICING)
    verdict = judge(case.problem, result.plan)
    assert verdict.status is ValidationResultStatus.VALID
    known = [judge(case.problem, plan) for plan in case.valid_plans]
    assert all(is_as_good(case.problem, verdict, each) for each in known)
    if case.optimum is not None:
        assert set(verdict.metric_evaluations.values()) == {case.optimum}


def is_as_good(problem: Problem, one: ValidationResult, other: ValidationResult) -> bool:
    """Return whether the first of two valid plans is as good as the other, by the metric or the length."""
    if one.metric_evaluations is None or other.metric_evaluations is None:
        return len(one.trace) <= len(other.trace)
    (metric,) = problem.quality_metrics
    left, right = one.metric_evaluations[metric], other.metric_evaluations[metric]
    return left >= right if metric.is_maximize_expression_on_final_state() else left <= right


@pytest.mark.parametrize(
    "name",
    ["hierarchical_blocks_world", "robot_loader_adv", "robot_locations_connected_without_battery", "ladder", "dear"],
)
def test_optima_are_those_of_fast_downward(name: str) -> None:
    problem = EXAMPLES[name].problem if name in EXAMPLES else ladder(last=2 if name == "ladder" else 20)
    costs = []
    for engine_name in ("forethought-opt", "fast-downward-opt"):
        with OneshotPlanner(name=engine_name) as engine:
            plan = engine.solve(problem).plan
        values = SequentialPlanValidator().validate(problem, plan).metric_evaluations
        costs.append(len(plan.actions) if values is None else next(iter(values.values())))
    assert costs[0] == costs[1]


@pytest.mark.parametrize("name", TAKEN)
def test_plans_of_examples_are_judged_alike(name: str) -> None:
    case = EXAMPLES[name]
    for plan in [*case.valid_plans, *case.invalid_plans]:
        for length in range(len(plan.actions) + 1):
            part = SequentialPlan(plan.actions[:length])
            with PlanValidator(name="forethought") as engine:
                verdict = engine.validate(case.problem, part)
            expected = judge(case.problem, part)
            assert verdict.status is expected.status
            assert verdict.reason is expected.reason
            assert verdict.metric_evaluations == expected.metric_evaluations


def judge_in_time(problem: Problem, plan: TimeTriggeredPlan) -> ValidationResultStatus:
    """Return what their validator says of a plan in time."""
    validator = TimeTriggeredPlanValidator()
    validator.skip_checks = True
    status: ValidationResultStatus = validator.validate(problem, plan).status
    return status


@pytest.mark.parametrize("name", IN_TIME)
def test_examples_in_time_are_solved(name: str) -> None:
    case = EXAMPLES[name]
    with OneshotPlanner(name="forethought") as engine:
        result = engine.solve(case.problem, timeout=20)
    assert result.plan is not None
    assert judge_in_time(case.problem, result.plan) is ValidationResultStatus.VALID
    for plan in (result.plan, *case.valid_plans, *case.invalid_plans):
        with PlanValidator(name="forethought") as engine:
            status = engine.validate(case.problem, plan).status
        expected = ValidationResultStatus.INVALID if name in WITHOUT_SEPARATION else judge_in_time(case.problem, plan)
        assert status is expected or plan is result.plan


def test_a_schedule_of_an_example() -> None:
    problem = EXAMPLES["sched:basic"].problem
    with OneshotPlanner(name="forethought") as engine:
        plan = engine.solve(problem, timeout=20).plan
    starts = sorted(plan.get(each.start).constant_value() for each in problem.activities)
    assert starts == [0, 17]  # between 10 and 17 one of four workers is away, and each activity needs two


@pytest.mark.parametrize("name", REFUSED)
def test_other_examples_are_refused(name: str) -> None:
    problem = EXAMPLES[name].problem
    with OneshotPlanner(name="forethought") as engine:
        assert not engine.supports(problem.kind)
        with pytest.warns(UserWarning, match="cannot establish"):
            result = engine.solve(problem)
    assert (result.status, result.plan) == (Outcome.UNSUPPORTED_PROBLEM, None)
    assert "unsupported: " in result.log_messages[0].message


def test_the_default_improves_and_proves() -> None:
    with OneshotPlanner(name="forethought") as engine:
        result = engine.solve(ladder())
    assert result.status is Outcome.SOLVED_OPTIMALLY
    assert (result.engine_name, result.metrics["cost"], result.metrics["lower_bound"]) == ("forethought", "4", "4")
    verdict = SequentialPlanValidator().validate(ladder(), result.plan)
    assert set(verdict.metric_evaluations.values()) == {4}


def test_modes_and_configurations_are_parameters() -> None:
    options = {"mode": "optimal", "search": "astar", "heuristic": "lmcut", "memory_limit": 4}
    with OneshotPlanner(name="forethought", params=options) as engine:
        assert engine.solve(ladder(), timeout=30).status is Outcome.SOLVED_OPTIMALLY
    with OneshotPlanner(name="forethought", params={"mode": "first"}) as engine:
        stream = io.StringIO()
        assert engine.solve(ladder(), output_stream=stream).plan is not None
        assert "cost" in stream.getvalue()


def test_a_guarantee_asks_for_the_proof() -> None:
    environment = Environment()
    register(environment)
    environment.factory.preference_list = ["forethought"]
    environment.credits_stream = None
    planner = environment.factory.OneshotPlanner
    with planner(problem_kind=ladder().kind, optimality_guarantee="SOLVED_OPTIMALLY") as engine:
        assert engine.name == "forethought"
        assert engine.solve(ladder()).status is Outcome.SOLVED_OPTIMALLY
        with pytest.raises(UPUsageError, match="no quality metrics"):
            engine.solve(EXAMPLES["basic"].problem)


def test_unsolvable_is_a_proof() -> None:
    problem = ladder()
    problem.set_initial_value(problem.fluent("fuse"), value=False)
    with OneshotPlanner(name="forethought") as engine:
        result = engine.solve(problem)
    assert (result.status, result.plan) == (Outcome.UNSOLVABLE_PROVEN, None)


def test_no_time_is_a_timeout() -> None:
    with OneshotPlanner(name="forethought") as engine:
        result = engine.solve(ladder(), timeout=0)
    assert (result.status, result.plan) == (Outcome.TIMEOUT, None)


def test_without_a_timeout_patience_ends_with_a_plan() -> None:
    with OneshotPlanner(name="forethought", params={"patience": 0.0}) as engine:
        result = engine.solve(ladder())
    assert result.status in (Outcome.SOLVED_SATISFICING, Outcome.SOLVED_OPTIMALLY)
    assert SequentialPlanValidator().validate(ladder(), result.plan).status is ValidationResultStatus.VALID


def test_anytime_plans_get_better() -> None:
    with AnytimePlanner(name="forethought", params={}) as engine:
        results = list(engine.get_solutions(ladder(), timeout=30))
    *before, last = results
    assert last.status is Outcome.SOLVED_OPTIMALLY
    assert all(result.status is Outcome.INTERMEDIATE for result in before)
    costs = [_cost(result.plan) for result in before]
    assert costs == sorted(set(costs), reverse=True)
    assert _cost(last.plan) == 4


def test_anytime_may_be_left_early() -> None:
    before = set(threading.enumerate())
    with AnytimePlanner(problem_kind=ladder().kind, anytime_guarantee="INCREASING_QUALITY") as any_engine:
        assert any_engine is not None
    with AnytimePlanner(name="forethought") as engine:
        solutions: Iterator[object] = engine.get_solutions(ladder())
        assert next(solutions).plan is not None
        solutions.close()
    assert not [thread for thread in threading.enumerate() if thread.daemon and thread not in before]


def test_anytime_refuses_and_proves_too() -> None:
    with AnytimePlanner(name="forethought") as engine:
        with pytest.warns(UserWarning, match="cannot establish"):
            (refused,) = engine.get_solutions(EXAMPLES["basic_oversubscription"].problem)
        problem = ladder()
        problem.set_initial_value(problem.fluent("fuse"), value=False)
        (unsolvable,) = engine.get_solutions(problem)
    assert (refused.status, unsolvable.status) == (Outcome.UNSUPPORTED_PROBLEM, Outcome.UNSOLVABLE_PROVEN)


def test_the_checker_names_the_step_that_fails() -> None:
    problem = ladder()
    burn, climb = problem.action("burn"), problem.action("climb")
    up = climb(problem.object("rung0"), problem.object("rung3"))
    with PlanValidator(problem_kind=problem.kind, plan_kind="SEQUENTIAL_PLAN") as first:
        assert first.name
    with PlanValidator(name="forethought") as engine:
        verdict = engine.validate(problem, SequentialPlan([burn(), up]))
        valid = engine.validate(problem, SequentialPlan([up, burn()]))
        unmet = engine.validate(problem, SequentialPlan([burn()]))
        with pytest.warns(UserWarning, match="cannot establish"):
            unknown = engine.validate(
                EXAMPLES["basic_oversubscription"].problem, EXAMPLES["basic_oversubscription"].valid_plans[0]
            )
    assert (verdict.inapplicable_action, verdict.reason.name) == (up, "INAPPLICABLE_ACTION")
    assert "fuse" in verdict.log_messages[0].message
    assert valid.status is ValidationResultStatus.VALID
    assert set(valid.metric_evaluations.values()) == {Fraction(9)}
    assert (unmet.status, unmet.reason.name) == (ValidationResultStatus.INVALID, "UNSATISFIED_GOALS")
    assert unknown.status is ValidationResultStatus.UNKNOWN


def test_an_action_whose_cost_has_no_value_is_inapplicable() -> None:
    problem = ladder()
    toll = Fluent("missing", IntType())
    problem.add_fluent(toll)
    problem.clear_quality_metrics()
    problem.add_quality_metric(MinimizeActionCosts({}, default=toll()))
    with OneshotPlanner(name="forethought") as engine:
        result = engine.solve(problem)
    assert (result.plan, result.status) == (None, Outcome.UNSOLVABLE_PROVEN)


def test_soft_goals_go_through_the_meta_engine() -> None:
    case = EXAMPLES["basic_oversubscription"]
    with OneshotPlanner(name="oversubscription[forethought]") as engine:
        result = engine.solve(case.problem)
    assert SequentialPlanValidator().validate(case.problem, result.plan).status is ValidationResultStatus.VALID


def test_a_configuration_file_registers_it(tmp_path: Path) -> None:
    config = tmp_path / "up.ini"
    config.write_text(
        "[engine forethought]\nmodule_name: planner.unified_planning.engine\nclass_name: ForethoughtEngine\n",
        encoding="utf-8",
    )
    environment = Environment()
    environment.factory.configure_from_file(str(config))
    assert "forethought" in environment.factory.engines


def test_registering_twice_changes_nothing() -> None:
    factory = get_environment().factory
    before = list(factory.preference_list)
    register()
    assert factory.preference_list == before
    assert set(NAMES) <= set(factory.engines)


def _cost(plan: SequentialPlan) -> Fraction:
    (value,) = SequentialPlanValidator().validate(ladder(), plan).metric_evaluations.values()
    return Fraction(value)
