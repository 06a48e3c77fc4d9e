"""An agent takes plans, templates and readings that were there already, checks them, and counts what that saves."""

from __future__ import annotations

import asyncio

import pytest

from executor.agent.agent import Agent
from executor.agent.goal_reading.confirmed_readings import Readings
from executor.agent.proposals import Standing
from executor.testing import Fault, FaultKind, ScriptedModel, SimulatedWorld, run_virtual
from planner import Status, load, validate
from planner.errors import InputError
from planner.lightweight import replace
from planner.reuse.plan_cache import PlanCache
from planner.reuse.templates import template

SENTENCE = "Sum up the survey."
SUM_UP = {"meanings": [{"goal": ["summarised(survey)"]}], "thought": "a summary"}
FILL = [{"values": {"query": "heat pumps"}}, {"values": {"words": 200}}]
KNOWN = {"query": "heat pumps", "words": 200, "style": "plain", "subject": "Heating"}
PROBLEM = load("assistant", "one-page")


def agent(*said, faults=(), **options) -> Agent:
    world = SimulatedWorld(PROBLEM, faults=faults).world
    model = ScriptedModel(said) if said else None
    return Agent(world, PROBLEM, model=model, approve=lambda _: True, **options)


def plan(acting: Agent, request):
    return asyncio.run(acting.plan(request))


def test_plans_found_before_are_taken_again_by_other_agents(tmp_path) -> None:
    first = plan(agent(cache=PlanCache(tmp_path / "plans.db")), ["sent(memo, board)"])
    cache = PlanCache(tmp_path / "plans.db")
    again = plan(agent(cache=cache), ["sent(memo, board)"])
    assert (cache.savings.hits, cache.savings.misses) == (1, 0)
    assert again.result.statistics.search == "cache"
    assert again.plan.cost == first.plan.cost
    assert validate(again.problem, again.plan).valid
    assert again.saved.seconds == cache.savings.seconds


def test_where_any_plan_will_do_similar_ones_are_adapted() -> None:
    cache = PlanCache()
    plan(agent(cache=cache, mode="first"), ["written(memo)"])
    found = plan(agent(cache=cache, mode="first"), ["written(memo)", "proofread(memo)"])
    assert cache.savings.adapted == 0
    acting = agent(cache=cache, mode="first")
    acting.problem = load("assistant", "with-chart")
    found = plan(acting, ["written(memo)"])
    assert (cache.savings.adapted, found.result.statistics.search) == (1, "adapted")
    assert validate(found.problem, found.plan).valid


def test_a_template_comes_first_and_brings_its_values() -> None:
    steps = ["search_web(topic)", "fetch(source, topic)", ("summarise(source)", {"words": 99})]
    sum_up = template(PROBLEM.domain, "sum-up", steps, parameters={"topic": "Topic", "source": "Source"})
    acting = agent(templates=[sum_up])
    achieved = run_virtual(acting.achieve(["summarised(survey)"], memory={"query": "heat pumps"}))
    assert achieved.succeeded
    assert achieved.proposal.result.statistics.search == "template"
    assert achieved.outcome.steps[-1].parameters["words"] == 99
    assert plan(acting, ["written(memo)"]).result.statistics.search != "template"


@pytest.mark.parametrize(("worth", "expected"), [(1, False), (50, True)])
def test_wishes_are_seen_to_after_the_steps_of_a_template(worth, expected) -> None:
    steps = ["search_web(topic)", "fetch(source, topic)", "summarise(source)"]
    sum_up = template(PROBLEM.domain, "sum-up", steps, parameters={"topic": "Topic", "source": "Source"})
    goal = {"hard": ["summarised(survey)"], "soft": {"proofread(memo)": worth}}
    acting = agent(templates=[sum_up])
    found = plan(acting, goal)
    assert found.result.statistics.search == "template"
    assert found.result.status is Status.SOLVED
    assert found.result.gap is None
    taken = [step.action for step in found.plan.steps]
    assert taken[:3] == ["search_web", "fetch", "summarise"]
    assert ("proofread" in taken) is expected
    verdict = validate(found.problem, found.plan)
    assert verdict.valid
    assert verdict.forgone == found.plan.forgone
    assert bool(found.plan.forgone) is not expected
    assert run_virtual(acting.achieve(goal, memory=KNOWN)).succeeded


def test_wishes_under_limits_leave_a_template_as_it_is() -> None:
    sum_up = template(PROBLEM.domain, "find", ["search_web(topic)"], parameters={"topic": "Topic"})
    acting = agent(templates=[sum_up])
    problem = plan(acting, {"hard": ["found(heating)"], "soft": {"summarised(survey)": 50}}).problem
    assert len(plan(acting, problem).plan.steps) > 1
    limited = plan(acting, replace(problem, budgets={"cost": 100}))
    assert [step.action for step in limited.plan.steps] == ["search_web"]
    assert len(limited.plan.forgone) == 1


def test_what_a_run_has_done_is_lifted_and_done_again_that_way() -> None:
    acting = agent(faults=[Fault(FaultKind.FAILS, "summarise(survey)")])
    first = run_virtual(acting.achieve(["written(memo)"], memory=KNOWN))
    assert first.succeeded
    made = acting.lift(first.outcome, "write")
    assert made.to_dict()["steps"][-1] == "write_report(memo)"
    again = plan(agent(templates=[made]), ["written(memo)"])
    assert again.result.statistics.search == "template"
    assert again.plan.cost == first.proposal.plan.cost


def test_what_does_not_lead_to_the_goal_as_it_is_declared_is_not_lifted() -> None:
    acting = agent()
    outcome = run_virtual(acting.achieve(["written(memo)"], memory=KNOWN)).outcome
    outcome.state.source = replace(PROBLEM, initial=())
    with pytest.raises(InputError, match=r"cannot be lifted: .*covers\(survey, heating\)"):
        acting.lift(outcome)


def test_a_confirmed_sentence_is_not_read_again(tmp_path) -> None:
    first = agent(SUM_UP, *FILL, confirm=lambda _: True, readings=Readings(tmp_path / "kept.db"))
    used = run_virtual(first.achieve(SENTENCE)).proposal.usage
    readings = Readings(tmp_path / "kept.db")
    acting = agent(*FILL, confirm=lambda _: True, readings=readings)
    achieved = run_virtual(acting.achieve("  Sum up   the survey.\n"))
    assert achieved.succeeded
    assert achieved.proposal.usage.calls == 0
    assert (readings.hits, readings.saved) == (1, used)
    metrics = achieved.outcome.metrics
    assert (metrics["saved_calls"], metrics["saved_tokens"]) == (1, used.tokens)


def test_what_reading_took_counts_in_the_metrics_of_the_run() -> None:
    model = ScriptedModel([SUM_UP, *FILL])
    acting = Agent(SimulatedWorld(PROBLEM).world, PROBLEM, model=model, confirm=lambda _: True)
    achieved = run_virtual(acting.achieve(SENTENCE))
    asked = sum((len(each.prompt) + len(each.instructions)) // 4 for each in model.requests)
    assert achieved.outcome.metrics["tokens"] > asked
    assert (
        achieved.proposal.usage.input_tokens
        == (len(model.requests[0].prompt) + len(model.requests[0].instructions)) // 4
    )


@pytest.mark.parametrize("sentence", ["Sum up the Survey.", "Sum up the survey!", "Do not sum up the survey."])
def test_other_words_are_read(sentence: str) -> None:
    readings = Readings()
    run_virtual(agent(SUM_UP, *FILL, confirm=lambda _: True, readings=readings).achieve(SENTENCE))
    acting = agent({"meanings": []}, confirm=lambda _: True, readings=readings)
    assert plan(acting, sentence).standing is Standing.NOTHING


def test_the_same_words_about_other_things_are_read() -> None:
    readings = Readings()
    run_virtual(agent(SUM_UP, *FILL, confirm=lambda _: True, readings=readings).achieve(SENTENCE))
    acting = agent({"meanings": []}, readings=readings)
    acting.problem = load("assistant", "with-chart")
    assert plan(acting, SENTENCE).standing is Standing.NOTHING


@pytest.mark.parametrize("options", [{"waived": True}, {}, {"confirm": lambda _: False}])
def test_only_what_somebody_has_confirmed_is_kept(options) -> None:
    readings = Readings()
    run_virtual(agent(SUM_UP, *FILL, readings=readings, **options).achieve(SENTENCE))
    assert len(readings) == 0


def test_what_somebody_refuses_is_forgotten() -> None:
    readings = Readings()
    run_virtual(agent(SUM_UP, *FILL, confirm=lambda _: True, readings=readings).achieve(SENTENCE))
    assert len(readings) == 1
    refused = run_virtual(agent(SUM_UP, readings=readings, confirm=lambda _: False).achieve(SENTENCE))
    assert refused.proposal.standing is Standing.DECLINED
    assert len(readings) == 0


def test_what_is_remembered_is_confirmed_again() -> None:
    readings = Readings()
    run_virtual(agent(SUM_UP, *FILL, confirm=lambda _: True, readings=readings).achieve(SENTENCE))
    assert plan(agent({"meanings": []}, readings=readings), SENTENCE).standing is Standing.UNCONFIRMED


def test_files_will_do_and_what_they_save_is_counted(tmp_path) -> None:
    path, how = tmp_path / "kept.db", tmp_path / "templates.yaml"
    how.write_text("templates: {address: {parameters: {who: Person}, steps: [look_up_address(who)]}}")
    first = agent(SUM_UP, *FILL, confirm=lambda _: True, cache=path)
    run_virtual(first.achieve(SENTENCE))
    second = agent(*FILL, confirm=lambda _: True, cache=str(path), templates=how)
    run_virtual(second.achieve(SENTENCE))
    plan(second, ["address_known(ada)"])
    saved = second.savings
    assert (saved["hits"], saved["misses"], saved["adapted"], saved["templates"]) == (1, 0, 0, 1)
    assert (saved["read"], saved["calls"]) == (1, 1)
    assert saved["tokens"] > 0
    assert agent().savings == {"templates": 0}
    with pytest.raises(InputError, match="no cache"):
        agent(cache=how)
