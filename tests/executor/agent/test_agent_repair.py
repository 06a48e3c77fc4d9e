"""A plan that somebody else drew up becomes a proposal: checked, repaired, confirmed with all its steps, and done."""

from __future__ import annotations

import asyncio
from decimal import Decimal

import pytest

from executor import RunStatus
from executor.agent.agent import Agent
from executor.agent.proposals import Standing
from executor.agent.run_goals import plan_to_run
from executor.testing import ScriptedModel, SimulatedWorld, run_virtual
from planner import Domain, load, validate
from planner.errors import InputError, PlanError

PROBLEM = load("assistant", "one-page")
STEPS = [
    {"tool": "web search", "args": {"topic": "heating", "query": "heat pumps"}},
    {"tool": "summarise", "args": {"source": "Survey", "words": 120}},
    {"tool": "draw pictures", "args": {"report": "memo"}},
]


def agent(model=None, **options) -> Agent:
    return Agent(SimulatedWorld(PROBLEM).world, PROBLEM, model=model, approve=lambda _: True, **options)


def test_a_plan_is_repaired_confirmed_and_carried_out_with_its_values() -> None:
    acting = agent()
    proposal = asyncio.run(acting.repair(STEPS, ["summarised(survey)"]))
    assert proposal.standing is Standing.UNCONFIRMED
    assert validate(proposal.problem, proposal.plan).valid
    assert proposal.repaired.kept == (0, 1)
    assert '1. search_web(heating); query = "heat pumps"' in proposal.question
    assert "3. summarise(survey); words = 120" in proposal.question
    achieved = run_virtual(acting.carry_out(proposal))
    assert achieved.outcome.status is RunStatus.SUCCEEDED
    assert [each.parameters.get("words") for each in achieved.outcome.steps] == [None, None, 120]


def test_what_the_goal_does_not_need_is_shown_too() -> None:
    proposal = asyncio.run(agent().repair(["write_report(memo)", "look_up_address(ada)"], ["address_known(ada)"]))
    assert "look_up_address(ada)" in proposal.question
    proposal = asyncio.run(agent().repair(["look_up_address(ada)"], ["address_known(ada)"]))
    assert proposal.standing is Standing.PLANNED


def test_what_cannot_be_repaired_is_refused_with_the_counterexample() -> None:
    proposal = asyncio.run(agent(waived=True).repair(STEPS, ["archived(survey)"]))
    assert proposal.standing is Standing.UNPLANNED
    assert proposal.plan is None
    assert "summarise(survey): requires fetched(survey)" in proposal.reason
    assert proposal.to_dict()["repaired"]["status"] == "REFUSED"


def test_a_plan_is_for_what_a_sentence_means() -> None:
    acting = agent(ScriptedModel([{"meanings": [{"goal": ["summarised(survey)"]}]}]))

    async def asked():
        return await acting.repair(STEPS, await acting.plan("Sum up the survey."))

    proposal = asyncio.run(asked())
    assert (proposal.request, proposal.standing) == ("Sum up the survey.", Standing.UNCONFIRMED)
    assert proposal.usage.calls == 1


def test_steps_for_what_no_fact_expresses_stay() -> None:
    part = "something readable"
    said = [
        {"meanings": [{"goal": ["summarised(survey)"], "not_expressible": [part]}]},
        {"parts": [{"part": part, "steps": [{"action": "proofread", "arguments": {"report": "memo"}}]}]},
    ]
    acting = agent(ScriptedModel(said), waived=True)

    async def asked():
        return await acting.repair(STEPS, await acting.plan(f"Sum up the survey as {part}."))

    proposal = asyncio.run(asked())
    assert proposal.standing is Standing.UNVERIFIED
    assert proposal.improvised.unverified == {part: ("proofread(memo)",)}
    made = {each.action: each.parameters for each in plan_to_run(proposal).plan.steps}
    assert made["summarise"] == {"words": 120}
    assert "proofread" in made


def test_what_is_no_plan_or_no_goal_is_told() -> None:
    with pytest.raises(PlanError):
        asyncio.run(agent().repair(7, ["summarised(survey)"]))
    with pytest.raises(InputError, match="nothing"):
        asyncio.run(agent().repair(STEPS, ["nothing(survey)"]))
    acting = agent(ScriptedModel([{"meanings": []}]))
    with pytest.raises(InputError, match="there is no goal"):
        asyncio.run(acting.repair(STEPS, asyncio.run(acting.plan("Hello."))))


def test_the_repair_of_a_plan_in_time_has_times() -> None:
    domain = Domain("kitchen")
    domain.action("boil", provides=["hot"], duration=3)
    domain.action("brew", requires=["hot"], provides=["tea"], duration=2)
    agent = Agent(domain, problem=domain.problem(metric="minimize total-time", deadline=30))
    proposal = asyncio.run(agent.repair(["brew"], ["tea"]))
    plan = proposal.result.expect_plan()
    assert ([str(step) for step in plan.steps], plan.makespan) == (["boil()", "brew()"], Decimal("5.001"))
    assert validate(plan.problem, plan).valid
    assert plan.problem.deadline == 30
