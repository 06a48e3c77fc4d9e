"""Small models choose one of the facts that can be brought about; it is confirmed as every goal is."""

from __future__ import annotations

import asyncio

import pytest

from benchmarks.adversary.adversary_models import AdversarialModel
from executor import Agent, Standing
from executor.agent.goal_reading.read_sentence import MOST, NONE, find_attainable_facts
from executor.language_model.event_loop import ThreadedModel
from executor.language_model.settings import Settings, settings_of
from executor.testing import ScriptedModel, SimulatedWorld
from planner import load, solve
from planner.errors import InputError
from planner.lightweight import replace


class Small(ScriptedModel):
    is_small = True


def plan(model, sentence: str, problem):
    return asyncio.run(Agent(SimulatedWorld(problem).world, problem, model=model).plan(sentence))


@pytest.mark.parametrize("name", ["assistant", "secretary", "runbook", "helpdesk", "tools", "outing"])
def test_what_is_offered_can_be_brought_about_or_nobody_knows_that_it_cannot(name: str) -> None:
    problem = load(name)
    facts = find_attainable_facts(problem)
    assert facts
    assert not set(facts) & set(problem.initial)
    free = replace(problem, constraints=(), budgets={}, deadline=None)
    reached = [solve(replace(free, goal=replace(problem.goal, hard=fact, soft=())), mode="first") for fact in facts]
    assert sum(result.has_plan for result in reached) >= len(facts) - 2


def test_a_small_model_chooses_and_somebody_confirms() -> None:
    problem, model = load("assistant", "one-page"), Small([{"goal": "summarised(survey)"}])
    proposal = plan(model, "Sum up the survey.", problem)
    assert proposal.standing is Standing.UNCONFIRMED
    assert proposal.words == "At the end:\n- summarised(survey)"
    (request,) = model.requests
    schema = request.answer.model_json_schema()["properties"]["goal"]["enum"]
    assert schema == [*map(str, find_attainable_facts(problem)), NONE]
    assert "- found(heating): Search the web for sources about a topic." in request.prompt


def test_it_may_choose_nothing_and_what_it_invents_goes_back() -> None:
    problem = load("assistant", "one-page")
    assert plan(Small([{"goal": NONE}]), "What is love?", problem).standing is Standing.NOTHING
    model = Small([{"goal": "loved(all)"}, {"goal": "summarised(survey)"}])
    assert plan(model, "Sum it up.", problem).plan is not None
    assert "Your answer before" in model.requests[1].prompt


def test_what_it_cannot_say_is_doubted() -> None:
    problem = load("assistant", "one-page")
    proposal = plan(Small([{"goal": "sent(memo, board)"}]), "Send the memo to the board, but not to Ada.", problem)
    assert proposal.doubts == ("the sentence says 'not', and nothing is excluded",)


def test_of_many_facts_a_predicate_is_chosen_first() -> None:
    problem = load("assistant", "archive")
    assert len(find_attainable_facts(problem)) > MOST
    model = Small([{"goal": "address_known"}, {"goal": "address_known(person3)"}])
    assert plan(model, "Where does person3 live?", problem).plan is not None
    assert len(model.requests) == 2
    assert "- address_known: Find out how to write to a person." in model.requests[0].prompt
    assert plan(Small([{"goal": NONE}, {"goal": NONE}]), "What is love?", problem).standing is Standing.NOTHING


def test_a_model_that_says_anything_chooses_nothing_else() -> None:
    problem = load("assistant", "one-page")
    facts = {f"- {fact}" for fact in find_attainable_facts(problem)}
    planned = 0
    for seed in range(60):
        model = AdversarialModel(seed, slow=0.0)
        model.is_small = True
        proposal = plan(model, "Sum up the survey.", problem)
        assert proposal.plan is None or set(proposal.words.splitlines()[1:]) <= facts
        planned += proposal.plan is not None
    assert planned


def test_models_are_small_by_their_settings() -> None:
    assert settings_of({"model": "m"}, {"XDG_CONFIG_HOME": "/nowhere", "FORETHOUGHT_MODEL_SMALL": "1"}).small is True
    assert settings_of({"model": "m"}, {"XDG_CONFIG_HOME": "/nowhere"}).small is False
    with pytest.raises(InputError, match="true or false"):
        settings_of({"model": "m", "small": "tiny"}, {"XDG_CONFIG_HOME": "/nowhere"})
    with ThreadedModel(Small([])) as small, ThreadedModel(ScriptedModel([])) as other:
        assert (small.is_small, other.is_small) == (True, False)
    assert Settings("m", small=True).small
