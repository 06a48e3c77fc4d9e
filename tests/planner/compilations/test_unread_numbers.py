"""Plans where numbers are unknown: suppositions, what is read first, and what is proved."""

from __future__ import annotations

from typing import Any

import pytest

from planner import Domain, Status, When, candidates, decide, explain_unsolvable, mend, solve, validate
from planner.compilations.unlisted_objects import READ_FIRST, may_find_more, plan_to_find
from planner.limits import Limits
from planner.model import Problem
from planner.plan import Plan, Step
from planner.repair.patching import patch


def shop(**read: Any) -> Domain:
    domain = Domain("shop", types=["receipt"])
    domain.function("amount", ["receipt"], low=0)
    domain.action("read", {"r": "receipt"}, senses=["amount(r)"], **read)
    domain.action("approve", {"r": "receipt"}, requires=["amount(r) <= 100"], provides=["approved(r)"])
    domain.action("ask_boss", {"r": "receipt"}, requires=["amount(r) > 100"], provides=["approved(r)"], cost=5)
    domain.action("pay", {"r": "receipt"}, requires=["approved(r)"], modifies="spent += amount(r)", provides="paid(r)")
    return domain


def problem_of(domain: Domain, supposed: int | None = None, **more: Any) -> Problem:
    values = {"spent": 0} if "spent" in domain.model.functions else {}
    values |= {} if supposed is None else {"amount(r1)": supposed}
    given = {"objects": {"r1": "receipt"}, "unknown": ["amount(_)"], "goal": ["paid(r1)"], **more}
    return domain.problem(values=values, **given)


def steps_of(plan: Plan | None) -> list[str]:
    return [str(step) for step in plan.steps] if plan is not None else []


@pytest.mark.parametrize(("supposed", "second"), [(30, "approve(r1)"), (142, "ask_boss(r1)")])
def test_plan_reads_a_number_before_it_relies_on_its_supposed_value(supposed: int, second: str) -> None:
    problem = problem_of(shop(), supposed)
    found = solve(problem)
    assert (found.status, found.lower_bound) == (Status.SOLVED, None)
    assert steps_of(found.plan) == ["read(r1)", second, "pay(r1)"]
    said = f"amount(r1) = {supposed} (step 1 looks at it; step 2 and step 3 rest on it)"
    assert found.reason == f"it supposes {said}"
    assert found.plan is not None
    (supposition,) = found.plan.suppositions
    assert (supposition.value, supposition.seen, supposition.steps) == (supposed, 1, (2, 3))
    assert str(validate(problem, found.plan)).endswith(f"if {said}")
    assert supposition.to_dict()["value"] == supposed


def test_no_bound_is_told_where_numbers_are_supposed() -> None:
    told: list[Any] = []
    found = solve(problem_of(shop(), 30), on_progress=told.append)
    assert found.history.milestones
    bounds = [each.lower_bound for each in (*told, *found.history.milestones, found)]
    assert not any(bound is not None for bound in bounds)


def test_plan_that_reads_a_number_too_late_is_invalid() -> None:
    problem = problem_of(shop(), 30)
    steps = [Step("approve", ("r1",)), Step("read", ("r1",)), Step("pay", ("r1",))]
    verdict = validate(problem, steps)
    assert not verdict.valid
    assert verdict.failing_step == 1


def test_without_a_supposed_value_a_number_is_read_first() -> None:
    problem = problem_of(shop())
    found = solve(problem)
    assert found.status is Status.UNKNOWN
    assert "amount(r1) is unknown" in found.reason
    first = plan_to_find(problem, solve)
    assert first is not None
    assert (steps_of(first.plan), first.reason) == (["read(r1)"], READ_FIRST)


def test_a_number_is_read_first_where_no_plan_suits_the_supposed_value() -> None:
    domain = shop()
    problem = problem_of(domain, 30, goal=["paid(r1)", "amount(r1) > 50"])
    assert solve(problem).status is Status.UNKNOWN
    first = plan_to_find(problem, solve)
    assert first is not None
    assert steps_of(first.plan) == ["read(r1)"]


def test_numbers_that_a_plan_needs_are_read_first() -> None:
    problem = problem_of(shop(), objects=dict.fromkeys(["r0", "r1", "r2", "r3"], "receipt"))
    first = plan_to_find(problem, solve)
    assert first is not None
    assert steps_of(first.plan) == ["read(r1)"]


def test_another_number_is_read_where_the_one_that_is_needed_is_out_of_reach() -> None:
    domain = shop()
    domain.function("seal", low=0)
    domain.action("spend", {"r": "receipt"}, requires=["amount(r) > 5"], modifies="seal += amount(r)")
    domain.action("open", requires=["seal >= 5"], provides=["opened"])
    domain.function("weight")
    domain.action("weigh", requires=["opened"], senses=["weight"], cost=0)
    domain.action("lift", requires=["weight < 9"], provides=["lifted"])
    first = plan_to_find(problem_of(domain, unknown=["amount(_)", "weight"], goal=["lifted"]), solve)
    assert first is not None
    assert steps_of(first.plan) == ["read(r1)"]


def test_what_no_number_helps_is_unsolvable() -> None:
    domain = shop()
    domain.predicate("signed", ["receipt"])
    problem = problem_of(domain, goal=["paid(r1)", "signed(r1)"])
    assert solve(problem).status is Status.UNSOLVABLE
    assert not may_find_more(problem)
    assert plan_to_find(problem, solve) is None


def test_bounds_decide_without_a_look() -> None:
    domain = shop()
    domain.action("file", {"r": "receipt"}, requires=["amount(r) >= 0"], provides=["filed(r)"])
    found = solve(problem_of(domain, goal=["filed(r1)"]))
    assert steps_of(found.plan) == ["file(r1)"]
    assert found.status is Status.SOLVED


def test_numbers_beyond_a_bound_are_out_of_the_question() -> None:
    domain = shop()
    domain.action("refund", {"r": "receipt"}, requires=["amount(r) < 0"], provides=["refunded(r)"])
    assert solve(problem_of(domain, 30, goal=["refunded(r1)"])).status is not Status.SOLVED


def test_a_number_that_nobody_reads_costs_no_look() -> None:
    domain = shop()
    domain.action("burn", {"r": "receipt"}, provides=["burnt(r)"])
    found = solve(problem_of(domain, goal=["burnt(r1)"]))
    assert (steps_of(found.plan), found.status) == (["burn(r1)"], Status.SOLVED)


def test_conditional_effects_wait_for_numbers() -> None:
    domain = shop()
    effect = When("amount(r) > 100", provides=["large(r)"])
    domain.action("file", {"r": "receipt"}, when=[effect], provides=["filed(r)"])
    found = solve(problem_of(domain, 30, goal=["filed(r1)"]))
    assert steps_of(found.plan) == ["read(r1)", "file(r1)"]
    first = plan_to_find(problem_of(domain, goal=["filed(r1)"]), solve)
    assert first is not None
    assert steps_of(first.plan) == ["read(r1)"]


def test_known_numbers_are_proved() -> None:
    problem = problem_of(shop(), 30, unknown=())
    found = solve(problem)
    assert (found.status, steps_of(found.plan)) == (Status.OPTIMAL, ["approve(r1)", "pay(r1)"])


def test_patches_claim_no_proof() -> None:
    problem = problem_of(shop(), 30)
    found = patch(problem, [Step("approve", ("r1",)), Step("pay", ("r1",))])
    assert found.status is Status.SOLVED
    assert found.steps is not None
    assert [step.action for step in found.steps] == ["read", "approve", "pay"]
    assert patch(problem_of(shop()), []).status is Status.UNKNOWN
    assert mend(problem, [Step("approve", ("r1",)), Step("pay", ("r1",))]).status is Status.SOLVED


def test_explanation_leaves_open_what_a_number_may_bring() -> None:
    assert explain_unsolvable(problem_of(shop()), Limits(5)).solvable is not False


def test_services_that_refuse_unknown_numbers() -> None:
    problem = problem_of(shop(), 30)
    decision = decide(problem)
    assert (decision.status, decision.reason) == (
        Status.UNSUPPORTED,
        "policies do not take unknown numbers; solve(…) gives a plan, which supposes their values",
    )


def test_candidates_suppose_unknown_numbers() -> None:
    found = candidates(problem_of(shop(), 30))
    first = next(found)
    assert first.suppositions
    assert validate(first.problem, first).valid
    assert not found.complete
    assert found.lower_bound is None


def test_plans_in_time_read_first() -> None:
    domain = Domain("shop", types=["receipt"])
    domain.function("amount", ["receipt"], low=0)
    domain.action("read", {"r": "receipt"}, senses=["amount(r)"], duration=3)
    domain.action("pay", {"r": "receipt"}, requires=["amount(r) <= 100"], provides="paid(r)", duration=2)
    problem = domain.problem(
        objects={"r1": "receipt"},
        values={"amount(r1)": 30},
        unknown=["amount(_)"],
        goal=["paid(r1)"],
        metric="makespan",
    )
    found = solve(problem)
    assert found.status is Status.SOLVED
    assert found.plan is not None
    assert found.plan.makespan >= 5
