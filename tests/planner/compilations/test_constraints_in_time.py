"""Trajectory constraints of problems in time: what plans keep, what is proved, and what the checker says."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from planner import Domain, always, at_most, before, done, never, solve, sometime, validate
from planner.lint.findings import Level
from planner.lint.problem_lint import check_problem
from planner.model import Problem
from planner.plan import Plan, Status, Step, StepTime


def work(*constraints: Any, **more: Any) -> Problem:
    """Two pieces of work, each with a rest after it, that one may do at once."""
    domain = Domain("work", types=["t"])
    domain.action("work", {"x": "t"}, requires="free(x)", provides="ready(x)", duration=5)
    domain.action("rest", {"x": "t"}, requires="ready(x)", provides=["rested(x)", "not ready(x)"], duration=3)
    return domain.problem(
        objects={"a": "t", "b": "t"},
        initial=["free(a)", "free(b)"],
        objective="makespan",
        constraints=constraints,
        **{"goal": ["rested(a)", "rested(b)"], **more},
    )


@pytest.mark.parametrize(
    ("constraint", "makespan"),
    [
        (sometime("(and (ready a) (ready b))"), "8.001"),
        (before("rested(a)", "ready(b)"), "11.003"),
        (before(done("rest(a)"), done("work(b)")), "16.003"),
        (at_most(2, done("work(_)")), "8.001"),
        (at_most(1, "ready(a)"), "8.001"),
        (always("free(a)"), "8.001"),
        (sometime(done("work(b)")), "8.001"),
    ],
)
def test_the_shortest_plan_that_keeps_a_constraint_is_proved(constraint: Any, makespan: str) -> None:
    problem = work(constraint)
    result = solve(problem, time_limit=10)
    assert (result.status, str(result.cost)) == (Status.OPTIMAL, makespan)
    assert validate(problem, result.expect_plan()).valid


@pytest.mark.parametrize("constraint", [never("ready(a)"), at_most(1, done("work(_)")), never(done("rest(b)"))])
def test_no_plan_keeps_a_constraint_and_that_is_proved(constraint: Any) -> None:
    result = solve(work(constraint), time_limit=10)
    assert result.status is Status.UNSOLVABLE


def test_what_monitors_of_single_happenings_may_miss_is_not_proved() -> None:
    """One may become ready at the moment at which the other one no longer is: 8.002, while monitors see 8.003."""
    problem = work(never("(and (ready a) (ready b))"))
    result = solve(problem, time_limit=1)
    assert (result.status, result.cost, result.lower_bound) == (Status.SOLVED, Decimal("8.003"), Decimal("8.001"))
    assert "at one moment" in result.reason
    steps = (Step("work", ("a",)), Step("work", ("b",)), Step("rest", ("a",)), Step("rest", ("b",)))
    begun = [Decimal(each) for each in ("0", "0.001", "5.001", "5.002")]
    times = tuple([StepTime(at, 5 if at < 1 else 3) for at in begun])
    assert validate(problem, Plan(steps, problem, times=times), claimed_cost=Decimal("8.002")).valid


def test_a_plan_that_keeps_a_constraint_by_the_way_is_proved() -> None:
    result = solve(work(never("(and (ready a) (not (ready b)))")), time_limit=5)
    assert (result.status, result.cost) == (Status.OPTIMAL, Decimal("8.001"))


def test_a_soft_constraint_is_kept_where_that_is_worth_the_time() -> None:
    wish = before(done("rest(a)"), done("work(b)"), utility=5)
    result = solve(work(wish), time_limit=10)
    plan = result.expect_plan()
    assert (result.status, plan.charge, plan.utility) == (Status.OPTIMAL, Decimal("13.001"), 0)
    rich = work(before(done("rest(a)"), done("work(b)"), utility=10))
    assert (solve(rich, time_limit=10).cost, solve(rich).forgone) == (Decimal("16.003"), ())


def test_soft_goals_soft_constraints_and_budgets_meet() -> None:
    domain = Domain("shop")
    domain.action("fetch", provides="milk", duration=4, uses={"money": 2})
    domain.action("ring", provides="rung", duration=1, uses={"money": 2})
    wished = domain.problem(
        goal={"soft": {"milk": 9}},
        constraints=[before("rung", "milk", utility=3), never(done("ring"), utility=1)],
        budgets={"money": 4},
        objective="makespan",
    )
    result = solve(wished, time_limit=10)
    assert (result.status, result.expect_plan().charge) == (Status.OPTIMAL, 5)
    poor = domain.problem(
        goal={"soft": {"milk": 9}}, constraints=[before("rung", "milk")], budgets={"money": 3}, objective="makespan"
    )
    assert solve(poor, time_limit=10).expect_plan().charge == 9


def test_changes_at_known_times_are_watched() -> None:
    domain = Domain("lamp")
    domain.predicate("alarm")
    domain.action("read", requires="light", provides="known", duration=2)
    given: dict[str, Any] = {"goal": ["known"], "objective": "makespan"}
    broken = domain.problem(timed={3: ["light"]}, constraints=[never("light")], **given)
    assert solve(broken).status is Status.UNSOLVABLE
    met = domain.problem(timed={3: ["light"]}, constraints=[sometime("light")], **given)
    assert (solve(met).status, str(solve(met).cost)) == (Status.OPTIMAL, "5.001")
    late = domain.problem(
        initial=["light"], timed={3: ["not light"], 5: ["light"]}, constraints=[before("known", "not light")], **given
    )
    assert (solve(late).status, solve(late).cost) == (Status.OPTIMAL, 2)
    early = domain.problem(initial=["light"], timed={1: ["alarm"]}, constraints=[before("known", "alarm")], **given)
    assert solve(early, time_limit=2).plan is None


def test_the_checker_names_the_moment_and_the_constraint() -> None:
    problem = work(before("rested(a)", "ready(b)"))
    plan = solve(work()).expect_plan()
    verdict = validate(problem, plan)
    assert not verdict.valid
    assert verdict.reason == "what happens at 5 breaks the constraint 'rested(a) before ready(b)'"
    unmet = validate(work(sometime(done("rest(a)")), goal=["ready(b)"]), plan)
    assert unmet.valid is False
    nothing = validate(work(sometime("rested(a)"), goal=["free(a)"]), [])
    assert nothing.reason == "at the end, the constraint 'sometime rested(a)' is not met"


def test_check_tells_of_constraints_in_time() -> None:
    found = [each.rule for each in check_problem(work(always("ready(a)"), sometime("free(b)")))]
    assert "broken-constraint" in found
    assert not [each for each in check_problem(work(before("rested(a)", "ready(b)"))) if each.level is Level.ERROR]
