"""An agent with handlers of its own, whose world is a SQLite file, observes it by two declarations."""

import asyncio
from contextlib import closing

import pytest
import support_agent

from executor import Executor, RunStatus, StepStatus


@pytest.fixture
def agent(tmp_path, monkeypatch):
    monkeypatch.setenv("SUPPORT_DB", str(tmp_path / "world.db"))
    support_agent.create_tables()
    return support_agent


def run(agent, **options):
    executor = Executor(agent.world, approve=lambda _: True, **options)
    return asyncio.run(executor.run(agent.make_problem()))


def list_calls(agent):
    with closing(agent.connect()) as db:
        return [tool for (tool,) in db.execute("select tool from calls")]


def test_a_ticket_is_closed_and_all_of_it_is_seen(agent):
    outcome = run(agent)
    assert outcome.status is RunStatus.SUCCEEDED
    assert {each.status for each in outcome.steps} == {StepStatus.SUCCEEDED}
    assert list_calls(agent).count("PAID") == 1


def test_a_handler_that_lies_is_found_out(agent, monkeypatch):
    lies = ["draft_reply"]

    async def lie(call, proceed):
        return "done" if call.action.name in lies and lies.pop() else await proceed()

    monkeypatch.setattr(agent.world, "hooks", [*agent.world.hooks, lie])
    outcome = run(agent)
    assert outcome.status is RunStatus.SUCCEEDED
    assert list_calls(agent).count("draft_reply") == 2
    assert list_calls(agent).count("PAID") == 1
