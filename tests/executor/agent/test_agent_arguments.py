"""What agents and rooms are given is refused, with how to mend it, where it means nothing."""

from __future__ import annotations

import asyncio

import pytest

from domains.travel import board
from executor.agent.agent import Agent
from executor.testing import SimulatedWorld
from planner import load
from planner.errors import InputError
from planner.lightweight import replace

PROBLEM = load("assistant", "one-page")
WORLD = SimulatedWorld(PROBLEM).world


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"model": "openai:gpt-5"}, "model_of"),
        ({"problem": "one-page"}, "load"),
        ({"problem": board()}, "problem.classical"),
        ({"confirm": True}, "waived=True"),
        ({"open_types": "Topic"}, "Topic"),
        ({"open_types": [5]}, "Topic"),
        ({"waived": "no"}, "True or False"),
        ({"allowance": 3}, "Allowance"),
        ({"cache": 3}, "plans.db"),
        ({"cache": ""}, "plans.db"),
        ({"templates": 3}, "templates.yaml"),
        ({"templates": ""}, "templates.yaml"),
        ({"templates": ["search_web(topic)"]}, "templates.yaml"),
        ({"readings": 7}, "plans.db"),
        ({"memory": 3}, "memory="),
        ({"memory": {1: 2}}, "memory="),
    ],
)
def test_agents_are_told_what_they_cannot_be_given(given, told) -> None:
    with pytest.raises(InputError) as refused:
        Agent(WORLD, **{"problem": PROBLEM, **given})
    assert told in str(refused.value)


@pytest.mark.parametrize(
    ("act", "told"),
    [
        (lambda agent: agent.achieve(["found(heating)"], memory=[1]), "memory must be a mapping from names"),
        (lambda agent: agent.room().achieve(["found(heating)"], priority="high"), "priority must be a whole number"),
        (lambda agent: agent.room().achieve(["found(heating)"], memory=[1]), "memory must be a mapping from names"),
        (lambda agent: agent.room().achieve(["found(heating)"], tell=3), "tell must be a function"),
        (lambda agent: agent.achieve(["found(heating)"], tell=3), "tell must be a function"),
        (lambda agent: agent.plan("Find it.", context="the heating"), "context must be several parts"),
        (lambda agent: agent.choose(None, 0), "proposal must be a proposal, got None"),
        (lambda agent: agent.carry_out(None), "proposal must be a proposal, got None"),
        (lambda agent: agent.plan(board()), "this problem is one of tasks"),
    ],
)
def test_requests_are_refused_before_anything_is_done(act, told) -> None:
    agent = Agent(WORLD, PROBLEM)
    with pytest.raises(InputError, match=told):
        asyncio.run(act(agent))
    assert agent.runs.active == {}
    assert agent.problem == replace(PROBLEM)


def test_rooms_have_names_and_only_runs_are_lifted() -> None:
    agent = Agent(WORLD, PROBLEM)
    with pytest.raises(InputError, match="name must be a text"):
        agent.room(None)
    with pytest.raises(InputError, match="the outcome of a run"):
        agent.lift(None)
