"""Policies in time: one step after another, as early as it can; their executions are valid plans in time."""

from __future__ import annotations

from dataclasses import replace

import pytest

from planner import Domain, Outcome, Problem, Status, decide, evaluate, executions, never, validate
from planner.model import Atom
from planner.plan import Plan, StepTime
from planner.policies.evaluation import world_of
from planner.policies.policy import Policy


def make_port(**more) -> Problem:
    """Return a problem of a ship that needs the tide, and of a plane that may not fly."""
    domain = Domain("port")
    domain.action("ship", provides="there", throughout="tide", duration=20, cost=1)
    domain.action("fly", provides="there", duration=5, risk="0.5", cost=3)
    return domain.problem(goal=["there"], windows={"tide": "10..40"}, **more)


@pytest.mark.parametrize("search", [None, "lao", "vi", "mcts"])
def test_the_makespan_counts_the_time_of_steps_in_turn(search) -> None:
    found = decide(make_port(objective="makespan"), search=search)
    assert found.status is Status.SOLVED
    assert found.validated
    assert found.policy.cost == pytest.approx(10.001)  # two flights on average, and the gap between two of them
    assert "one step is done after another" in found.describe()


def test_a_step_waits_for_what_it_needs() -> None:
    found = decide(make_port())
    assert found.policy.cost == 1
    assert [str(node.step) for node in found.policy.nodes if node.step] == ["ship()"]


def test_outcomes_beside_the_intended_one_may_change_numbers() -> None:
    domain = Domain("mill")
    domain.function("stock", low=0, high=3)
    intended, spilled = Outcome("0.75", provides="ground"), Outcome("0.25", provides="swept", modifies="stock += 1")
    domain.action("grind", duration=2, requires="open", outcomes=[intended, spilled])
    lost = Outcome("0.5", modifies="stock -= 1")
    domain.action("sift", duration=2, outcomes=[Outcome("0.5", provides="ground"), lost])
    domain.action("weigh", duration=4, requires="stock >= 1", provides="weighed")
    found = decide(domain.problem(values={"stock": 1}, goal=["swept"], windows={"open": "2..10"}))
    assert found.status in (Status.SOLVED, Status.OPTIMAL)
    assert found.policy.success == pytest.approx(1 - 0.75**4)  # it begins at 2, 4, 6 and 8, a gap later each time


def test_a_goal_that_is_due_must_be_reached_in_time() -> None:
    found = decide(make_port(due={"there": 16}))
    assert found.status is Status.SOLVED
    assert found.policy.success == pytest.approx(0.875)
    late = decide(make_port(due={"there": 4}))
    assert late.status is Status.UNKNOWN
    assert "in time" in late.reason


def test_lateness_with_a_weight_is_paid() -> None:
    found = decide(make_port(due={"there": {"by": 5, "weight": 1}}))
    assert found.status is Status.SOLVED
    assert found.validated
    assert found.policy.cost == pytest.approx(6 + 5.001)


def test_a_deadline_alone_is_a_budget_on_durations() -> None:
    domain = Domain("d")
    domain.action("slow", provides="there", duration=20)
    domain.action("fast", provides="there", duration=5, risk="0.5", cost=3)
    problem = domain.problem(goal=["there"], deadline=12)
    found = decide(problem)
    assert found.status is Status.SOLVED
    policy = found.policy
    assert (policy.success, policy.cost) == (0.75, 4.5)
    assert str(policy.next_step([], spent={"seconds": 5})) == "fast()"
    assert policy.next_step([], spent={"seconds": 10}) is None
    assert evaluate(problem, policy).success == 0.75
    assert decide(replace(problem, deadline=4)).status is Status.UNKNOWN
    assert decide(replace(problem, deadline=20)).policy.cost == 1


def test_policies_in_time_are_written_read_and_followed_by_the_clock() -> None:
    problem = make_port(due={"there": 16})
    policy = decide(problem).expect_policy()
    again = Policy.from_dict(policy.to_dict(), problem)
    assert again == policy
    assert str(again.next_step([], now=0)) == "fly()"
    assert str(again.next_step([Atom("tide")], now=10)) == "fly()"
    assert again.next_step([Atom("tide")], now=16) is None
    assert "from 5.001 s on" in str(policy)
    assert {each.success for each in executions(problem, policy, 40, 1)} == {True, False}


def make_bank() -> Problem:
    """Return a problem with capacities, ranges, moments and a window, whose steps are certain."""
    domain = Domain("bank")
    domain.function("level", low=0, high=9)
    domain.action("fill", duration="2..9", modifies="level += 2 * ?duration", holds={"desk": 1})
    domain.action("open", requires="day", provides="opened", duration=3, holds={"desk": 1})
    domain.action("pay", requires=["level >= 4", "opened"], provides="paid", modifies="level -= 4", duration=1)
    return domain.problem(
        initial=["level = 0"],
        goal="paid",
        windows={"day": "4..20"},
        capacity={"desk": 1},
        due={"paid": 30},
        objective="makespan",
    )


def test_an_execution_in_turn_is_a_valid_plan_in_time() -> None:
    problem = make_bank()
    found = decide(problem)
    assert found.status is Status.SOLVED
    world, steps, times = world_of(problem, found.policy), [], []
    state = world.declared.initial
    while (step := world.ask_for_step(found.policy, state, ())) is not None:
        ((_, after),) = world.declared.outcomes(state, step)
        lasts = {"fill": 2, "open": 3, "pay": 1}[step.action]
        steps.append(step)
        times.append(StepTime(after.clock.end - lasts, lasts))
        state = after
    assert sorted(step.action for step in steps) == ["fill", "open", "pay"]
    verdict = validate(problem, Plan(tuple(steps), problem, times=tuple(times)))
    assert verdict.valid, verdict.reason
    assert float(verdict.cost) == pytest.approx(found.policy.cost)


def test_what_policies_in_time_do_not_take_is_named() -> None:
    found = decide(make_port(constraints=[never("not tide")]))
    assert found.status is Status.UNSUPPORTED
    assert "constraints in a problem in time" in found.reason
    assert "time" in decide(make_port(), search="plans").reason
