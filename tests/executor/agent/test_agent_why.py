"""Every choice in a run is explained from its record: who made it, and in whose words."""

from __future__ import annotations

import asyncio
from typing import Annotated

import pytest

from executor import ActionResult, Agent, Executor, World
from executor.agent.why import By, why
from executor.errors import RunError
from executor.events.events import StepEnded
from executor.testing import ScriptedModel
from planner import Domain, From
from planner.errors import InputError
from planner.lightweight import replace


def post(*said, **options) -> tuple[Agent, list]:
    domain, done = Domain("post", types=["person"]), []
    domain.action("look_up", {"to": "person"}, provides=["known(to)"])
    parameters = {"to": "person", "text": str, "copies": int, "colour": str}
    domain.action("write", {**parameters, "size": int}, requires=["known(to)"], provides=["written(to)"])
    domain.action(
        "mail",
        {"to": "person", "address": Annotated[str, From("known(to)", "data.address")]},
        requires=["written(to)", "known(to)"],
        provides=["told(to)"],
        tags=["needs_approval"],
    )
    domain.action("sing", {"to": "person", "song": str}, provides=["sung(to)"])
    domain.action("call", {"to": "person"}, provides=["told(to)"], cost=9)
    world = World(domain)

    @world.handler("look_up")
    def look_up(to):
        done.append(f"look_up {to}")
        return ActionResult(data={"address": "Elm 5"})

    @world.handler("write")
    def write(to, text, copies, colour, size=12):
        done.append(f"write {to} {text} {copies} {colour} {size}")

    for name in ("mail", "sing", "call"):
        world.handler(name)(lambda _name=name, **given: done.append(" ".join([_name, *map(str, given.values())])))
    for pattern, names in (
        ("known", ["look_up"]),
        ("written", ["write"]),
        ("told", ["mail", "call"]),
        ("sung", ["sing"]),
    ):
        world.observer(f"{pattern}(_)")(
            lambda _names=names: [each.split()[1] for each in done if each.split()[0] in _names]
        )
    problem = domain.problem(objects={"ada": "person", "ben": "person"})
    return Agent(world, problem, model=ScriptedModel(said), **options), done


READ = {"meanings": [{"goal": ["told(ada)"], "not_expressible": ["make her smile"]}], "thought": "Ada is to know"}
SING = {
    "parts": [{"part": "make her smile", "steps": [{"action": "sing", "values": {"song": "a hymn"}}]}],
    "thought": "songs cheer people up",
}
FILL = {"values": {"text": "hello", "colour": "red", "size": 10}, "thought": "the user says so"}


def told(found) -> dict[str, tuple[By, str]]:
    return {each.what: (each.by, each.thought) for each in found.choices}


def test_who_chose_what_in_a_run_and_in_its_steps(tmp_path) -> None:
    said = [READ, SING, FILL, FILL]
    agent, _ = post(*said, confirm=lambda _: True, approve=lambda _: True, journal=tmp_path / "runs.db")
    achieved = asyncio.run(agent.achieve("Tell Ada, and make her smile.", memory={"copies": 2}))
    run, steps = achieved.outcome.run, {each.step.action: each.id for each in achieved.outcome.steps}
    found = told(agent.why(run))
    (goal,) = [each for each in agent.why(run).choices if each.what.startswith("the goal")]
    assert (goal.by, goal.thought) == (By.MODEL, "Ada is to know")
    assert found["that this is meant"] == (By.PERSON, "")
    assert found["a plan of 4 steps"][0] is By.PLANNER
    sung = next(each for each in found if each.startswith("sing("))
    assert found[sung] == (By.MODEL, "songs cheer people up")

    written = told(agent.why(run, steps["write"]))
    assert written["that it is done"][0] is By.PLANNER
    assert written['text = "hello"'] == (By.MODEL, "the user says so")
    assert written["copies = 2"][0] is By.HOST
    (done, *_) = agent.why(run, steps["write"]).choices
    assert f"written(ada) is needed by {steps['mail']}, mail(ada)" in done.because

    mailed = told(agent.why(run, steps["mail"]))
    assert mailed['address = "Elm 5"'][0] is By.HANDLER
    assert mailed["that it may be done"][0] is By.PERSON
    assert "told(ada) is needed by the goal" in agent.why(run, steps["mail"]).choices[0].because

    (because, *rest) = agent.why(run, steps["sing"]).choices
    assert (because.by, because.thought) == (By.MODEL, "songs cheer people up")
    assert "'make her smile'" in because.because
    assert told(agent.why(run, steps["sing"]))['song = "a hymn"'] == (By.MODEL, "songs cheer people up")
    assert rest[-1].what == "that it may be done"
    assert agent.why(run).to_dict()["choices"][0]["by"] == "model"
    assert "by a language model" in str(agent.why(run))
    agent.executor.journal.close()

    again, _ = post(journal=tmp_path / "runs.db")
    assert str(again.why(run)) == str(why(achieved.outcome.state))


def test_patches_changes_and_answers_are_choices() -> None:
    agent, _ = post(approve=lambda _: True)
    agent.world.handler("mail")(lambda **_: False)
    both = ["told(ada)", "sung(ben)"]
    memory = {"copies": 1, "text": "x", "colour": "red", "size": 9}

    memory["song"] = "a hymn"

    async def story():
        run, other = agent.start(await agent.plan(["told(ada)"]), memory=memory), await agent.plan(both)
        async for event in run.events():
            if isinstance(event, StepEnded) and not run.state.redirected:
                run.change_goal(other.problem, "and sing")
        return await run

    outcome = asyncio.run(story())
    found = why(outcome.state)
    assert ("another goal on the way", By.PERSON, "and sing") in [(x.what, x.by, x.because) for x in found.choices]
    called = next(each for each in outcome.steps if each.step.action == "call")
    (because,) = why(outcome.state, called.id).choices
    assert because.by is By.PLANNER
    assert because.because.startswith("patch after")


def test_a_goal_that_was_stated_is_a_persons() -> None:
    agent, _ = post()
    achieved = asyncio.run(agent.achieve(["sung(ada)"], memory={"song": "a hymn"}))
    found = agent.why(achieved.outcome.run)
    assert found.choices[0].by is By.PERSON
    assert found.choices[0].because == "stated as a goal"


def test_what_is_not_known_is_an_error_of_its_own() -> None:
    agent, _ = post()
    achieved = asyncio.run(agent.achieve(["sung(ada)"], memory={"song": "a hymn"}))
    with pytest.raises(InputError, match="has no step 's9'"):
        agent.why(achieved.outcome.run, "s9")
    with pytest.raises(RunError):
        agent.why("nobody")
    assert "unknown" not in str(asyncio.run(Executor(agent.world).run(agent.problem)).state.plan.basis)


def test_data_come_from_results_of_earlier_runs_as_long_as_the_facts_hold() -> None:
    agent, acts = post(memory={"copies": 1, "text": "x", "colour": "red", "size": 9}, approve=lambda _: True)
    assert asyncio.run(agent.achieve(["known(ada)"])).succeeded
    achieved = asyncio.run(agent.achieve(["told(ada)"]))
    assert achieved.succeeded
    assert acts == ["look_up ada", "write ada x 1 red 9", "mail ada Elm 5"]
    mailed = next(each.id for each in achieved.outcome.steps if each.step.action == "mail")
    (address,) = [each for each in agent.why(achieved.outcome.run, mailed).choices if each.what.startswith("address")]
    assert (address.by, address.because) == (By.HANDLER, "what a step of an earlier run returned")
    agent.problem = replace(agent.problem, initial=())
    agent.world.handler("look_up")(lambda **_: False)
    assert asyncio.run(agent.achieve(["sung(ben)"], memory={"song": "a hymn"})).succeeded
    assert agent.runs.results == {}


def test_plans_that_were_not_searched_for_say_where_they_come_from() -> None:
    agent, _ = post()
    proposal = asyncio.run(agent.repair(["sing(ada)"], ["sung(ada)"]))
    achieved = asyncio.run(agent.carry_out(proposal, memory={"song": "a hymn"}))
    (plan,) = [each for each in agent.why(achieved.outcome.run).choices if each.what.startswith("a plan")]
    assert (plan.by, plan.because) == (By.HOST, "somebody else drew it up; it works as it stands: sing(ada)")
    template = agent.lift(achieved.outcome, "song")
    agent.proposer.planner.templates = [template]
    agent.problem = replace(agent.problem, initial=())
    achieved = asyncio.run(agent.achieve(["sung(ben)"], memory={"song": "a hymn"}))
    (plan,) = [each for each in agent.why(achieved.outcome.run).choices if each.what.startswith("a plan")]
    assert (plan.by, plan.because) == (By.HOST, "by the template 'song': sing(ben)")
