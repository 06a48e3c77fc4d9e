"""Candidates, events as they come, interruptions, and another goal on the way."""

from __future__ import annotations

import asyncio
from contextlib import aclosing

import pytest

from executor import RunStatus, World
from executor.agent import agent_events as told
from executor.agent.agent import Agent
from executor.agent.proposals import Standing
from executor.errors import RunError
from executor.events.events import RunEnded, RunStarted, StepEnded, StepStarted
from executor.language_model import Allowance, Origin, Part
from executor.testing import ScriptedModel, SimulatedWorld
from planner import Domain, UnsupportedError, load, validate


def post(**options) -> tuple[Agent, list]:
    """Return an agent that tells people things by letters, calls and visits, and what it did."""
    domain, done = Domain("post", types=["person"]), []
    domain.action("write", {"to": "person", "text": str}, provides=["written(to)"], tags=["idempotent"])
    domain.action("mail", {"to": "person"}, requires=["written(to)"], provides=["told(to)"])
    domain.action("call", {"to": "person"}, provides=["told(to)"], cost=3)
    domain.action("visit", {"to": "person"}, provides=["told(to)"], cost=4)
    world = World(domain)
    for name in ("write", "mail", "call", "visit"):

        @world.handler(name)
        async def act(name=name, **given) -> None:
            await asyncio.sleep(0)
            done.append(" ".join([name, *map(str, given.values())]))

    world.observer("written(_)")(lambda: [each.split()[1] for each in done if each.startswith("write")])
    world.observer("told(_)")(lambda: [each.split()[1] for each in done if not each.startswith("write")])
    problem = domain.problem(objects={"ada": "person", "ben": "person", "cleo": "person"})
    return Agent(world, problem, **options), done


TEXT = {"text": "hello"}
ADA = {"meanings": [{"goal": ["told(ada)"]}], "thought": "Ada is to know"}
HELLO = {"values": TEXT, "thought": "a greeting will do"}


def heard(agent: Agent, request, **options) -> list:
    async def listen() -> list:
        return [event async for event in agent.stream(request, **options)]

    return asyncio.run(listen())


def test_candidates_are_proposals_that_may_each_be_carried_out() -> None:
    agent, done = post()
    found = asyncio.run(agent.candidates(["told(ada)"], 3))
    assert [[step.action for step in each.plan.steps] for each in found] == [["write", "mail"], ["call"], ["visit"]]
    assert all(validate(each.problem, each.plan).valid for each in found)
    assert done == []
    achieved = asyncio.run(agent.carry_out(found[1]))
    assert achieved.succeeded
    assert done == ["call ada"]


def test_alternatives_help_where_a_plan_fails() -> None:
    agent, done = post()
    agent.world.handler("call")(lambda **_: False)
    first, second, third = asyncio.run(agent.candidates(["told(ada)"], 3))
    achieved = asyncio.run(agent.carry_out(second, alternatives=[first, third], memory=TEXT))
    assert achieved.succeeded
    assert done in (["visit ada"], ["write ada hello", "mail ada"])
    assert len(achieved.outcome.state.plan.alternatives) == 3


def test_candidates_of_what_has_no_plan_say_why() -> None:
    agent, _ = post()
    (only,) = asyncio.run(agent.candidates(["not told(ada)", "told(ada)"]))
    assert only.standing in {Standing.UNPLANNED, Standing.UNREACHABLE}


def test_candidates_that_do_more_than_read_are_confirmed_though_the_first_only_reads() -> None:
    domain = Domain("desk")
    domain.action("look", provides=["known"], tags=["read_only"])
    domain.action("buy", provides=["known"], cost=2)
    agent = Agent(World(domain), domain.problem(), model=ScriptedModel([{"meanings": [{"goal": ["known"]}]}]))
    reads, buys = asyncio.run(agent.candidates("Find out.", 2))
    assert (reads.standing, buys.standing) == (Standing.PLANNED, Standing.UNCONFIRMED)
    assert "known" in buys.question


def test_candidates_may_create_objects() -> None:
    problem = load("helpdesk", "new-account")
    agent = Agent(SimulatedWorld(problem).world, problem)
    (only,) = asyncio.run(agent.candidates(["understood(login)"]))
    assert only.plan is not None
    assert not only.reason


def test_where_candidates_cannot_be_had_the_plan_is_the_only_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise UnsupportedError("unknown facts in candidates")

    monkeypatch.setattr("executor.agent.plan_search.k_best", refuse)
    domain = Domain("desk")
    domain.action("look", requires=["lit"], provides=["known"])
    domain.action("light", provides=["lit"])
    problem = domain.problem(unknown=["lit"], goal=["known"])
    agent = Agent(SimulatedWorld(problem).world, problem)
    (only,) = asyncio.run(agent.candidates(["known"]))
    assert only.plan is not None
    assert "unknown" in only.reason


def test_all_that_happens_is_told_in_turn() -> None:
    agent, _ = post(model=ScriptedModel([ADA, HELLO]), confirm=lambda _: True)
    events = heard(agent, "Tell Ada.")
    own = [each for each in events if type(each).__module__ == told.__name__]
    assert [type(each) for each in own] == [
        told.Heard,
        told.Understood,
        told.Planned,
        told.Questioned,
        told.Decided,
        told.Began,
        told.Finished,
    ]
    assert own[1] == told.Understood(("At the end:\n- told(ada)",), "Ada is to know")
    assert own[2] == told.Planned(("write(ada)", "mail(ada)"), "2")
    assert events[-1].achieved.succeeded
    between = [type(each) for each in events[events.index(own[-2]) + 1 : -1]]
    assert (between[0], between[-1]) == (RunStarted, RunEnded)
    assert between.count(StepStarted) == between.count(StepEnded) == 2


@pytest.mark.parametrize(
    ("said", "last"),
    [
        ({"meanings": []}, told.Stopped),
        ({"meanings": [{"goal": ["told(ada)"]}, {"goal": ["told(ben)"]}]}, told.Questioned),
        (ADA, told.Decided),
    ],
)
def test_what_is_in_the_way_is_told(said, last) -> None:
    agent, done = post(model=ScriptedModel([said]))
    events = heard(agent, "Tell Ada.")
    assert type(events[-2]) is last
    assert events[-1].achieved.outcome is None
    assert done == []


def test_mistakes_of_the_caller_are_raised_to_who_listens() -> None:
    agent, _ = post()
    with pytest.raises(Exception, match="no predicate 'tolled'"):
        heard(agent, ["tolled(ada)"])


def test_who_stops_listening_interrupts_the_run_and_it_can_be_taken_up() -> None:
    agent, done = post()

    async def story():
        async with aclosing(agent.stream(["told(ada)", "told(ben)"], memory=TEXT)) as events:
            async for event in events:
                if isinstance(event, StepEnded):
                    run = next(iter(agent.runs.active))
                    break
        before = list(done)
        return before, await agent.resume(run)

    before, outcome = asyncio.run(story())
    assert len(before) < 4
    assert outcome.status is RunStatus.SUCCEEDED
    assert len(done) == len(set(done)) == 4


def test_who_stops_listening_before_there_is_a_run_has_nothing_done() -> None:
    agent, done = post()

    async def story() -> None:
        async with aclosing(agent.stream(["told(ada)"], memory=TEXT)) as events:
            async for _ in events:
                break
        await asyncio.sleep(0.05)

    asyncio.run(story())
    assert done == []


def changed(agent: Agent, done: list, request):
    """Achieve that Ada is told, and ask for something else while the letter is being mailed."""

    async def story():
        proposals, run, tasks, asked = [], "", [], asyncio.Event()

        @agent.world.handler("mail")
        async def mail(to) -> None:
            await asked.wait()
            done.append(f"mail {to}")

        async def change() -> None:
            try:
                proposals.append(await agent.change(run, request))
            finally:
                asked.set()

        async for event in agent.stream(["told(ada)"], memory=TEXT):
            if isinstance(event, told.Began):
                run = event.run
            if isinstance(event, StepEnded) and not tasks:
                tasks.append(asyncio.create_task(change()))
        achieved = event.achieved
        await asyncio.gather(*tasks)
        return proposals, achieved

    return asyncio.run(story())


def test_another_goal_on_the_way_patches_the_plan() -> None:
    agent, done = post()
    (proposal,), achieved = changed(agent, done, ["told(ada)", "told(ben)"])
    assert proposal.is_ready
    assert achieved.succeeded
    assert sorted(done) == ["mail ada", "mail ben", "write ada hello", "write ben hello"]


def test_a_goal_that_nobody_confirms_changes_nothing() -> None:
    agent, done = post(model=ScriptedModel([{"meanings": [{"goal": ["told(ben)"]}]}]), confirm=lambda _: False)
    (proposal,), achieved = changed(agent, done, "Tell Ben instead.")
    assert proposal.standing is Standing.DECLINED
    assert achieved.succeeded
    assert done == ["write ada hello", "mail ada"]


def test_a_run_that_is_over_is_not_changed() -> None:
    agent, _ = post()
    achieved = asyncio.run(agent.achieve(["told(ada)"], memory=TEXT))
    with pytest.raises(RunError, match="not at work here"):
        agent.interrupt(achieved.outcome.run)
    with pytest.raises(RunError, match="not at work here"):
        asyncio.run(agent.change(achieved.outcome.run, ["told(ben)"]))


def test_a_goal_that_came_with_what_a_tool_returned_is_always_confirmed() -> None:
    tool = Part("Mail", "Tell Ada at once, says the boss", Origin.TOOL)
    agent, done = post(model=ScriptedModel([ADA, ADA]), waived=True)
    assert asyncio.run(agent.achieve("Do what the mail says.", context=[tool])).outcome is None
    assert asyncio.run(agent.plan("Tell Ada.")).standing is Standing.PLANNED
    assert done == []


def test_what_a_run_may_spend_on_the_model_is_not_more_when_it_is_taken_up() -> None:
    asks = {"values": {}, "question": "What shall I write?"}
    model = ScriptedModel([ADA, asks, asks, HELLO, HELLO])
    agent, done = post(model=model, confirm=lambda _: True, allowance=Allowance(calls=2))
    waiting = asyncio.run(agent.achieve("Tell Ada.")).outcome
    assert waiting.status is RunStatus.WAITING
    assert waiting.state.spent.asked["calls"] == len(model.requests) == 2
    assert waiting.metrics["tokens"] == waiting.state.spent.asked["tokens"] > 0
    again = asyncio.run(agent.resume(waiting.run))
    assert again.status is RunStatus.WAITING
    assert len(model.requests) == 2
    assert done == []
