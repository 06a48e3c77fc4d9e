"""The check of a plan finds an error exactly where the plan checker does."""

from __future__ import annotations

from effort import examples
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from random_plans import random_plan, spoiled

from executor.plan_check.check_plan import check_plan, errors_in
from executor.plans.action_plan import ActionPlan
from planner.validation.validate import validate


@settings(max_examples=examples(60))
@given(st.randoms(use_true_random=False))
def test_errors_are_found_exactly_where_the_planner_finds_the_plan_invalid(rng):
    plan = spoiled(random_plan(rng), rng)
    assume(len(plan) > 0)
    found = errors_in(check_plan(ActionPlan.of(plan), plan.problem.domain))
    verdict = validate(plan.problem, plan.steps)
    assert bool(found) is not verdict.valid
    if verdict.failing_step is not None:
        assert found[0].step == f"s{verdict.failing_step}" or found[0].rule == "goal"
        assert any(each.step == f"s{verdict.failing_step}" for each in found)
