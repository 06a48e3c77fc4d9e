"""What no fact expresses: proposed steps are checked, simulated, planned through and approved; nothing else is done."""

from __future__ import annotations

import asyncio
import random

import pytest

from benchmarks.adversary.adversary_models import AdversarialModel
from executor import Executor, RunStatus, StepStatus, World
from executor.agent.agent import Agent
from executor.agent.improvise import Improvised, Improviser
from executor.agent.proposals import Standing
from executor.agent.run_goals import plan_to_run
from executor.language_model import Purpose
from executor.testing import ScriptedModel
from planner import Domain, validate
from planner.model import Problem

PART = "make it special"
READ = {"meanings": [{"goal": ["told(ada)"], "not_expressible": [PART]}], "thought": "Ada is to know"}


def post() -> Domain:
    domain = Domain("post")
    domain.type("letter")
    domain.type("person")
    domain.type("colour")
    domain.action("write", {"letter": "letter"}, provides=["written(letter)"])
    domain.action(
        "mail", {"letter": "letter", "person": "person"}, requires=["written(letter)"], provides=["told(person)"]
    )
    domain.action(
        "paint",
        {"letter": "letter", "colour": "colour", "motif": str},
        requires=["written(letter)", "in_stock(colour)"],
        provides=["painted(letter)"],
        similes=["decorate"],
    )
    domain.action("buy", {"colour": "colour"}, provides=["in_stock(colour)"], cost=2)
    domain.action("frame", {"letter": "letter"}, requires=["has_glass"], provides=["framed(letter)"])
    domain.action("sign", {"letter": "letter"}, provides=["signed(letter)"], tags=["irreversible"])
    return domain


OBJECTS = {"note": "letter", "card": "letter", "ada": "person", "red": "colour", "blue": "colour"}


def problem() -> Problem:
    return post().problem(objects=OBJECTS, initial=["in_stock(blue)"], goal=["told(ada)"])


def proposed(*steps, **more) -> dict:
    return {"parts": [{"part": PART, "steps": list(steps), **more}], "thought": "colours are special"}


def step(action, values=None, **arguments) -> dict:
    return {"action": action, "arguments": arguments, "values": values or {}}


PAINT = step("decorate", {"motif": "roses"}, letter="card", colour="red")


def improvised(*said, parts=(PART,)) -> tuple[Improvised, ScriptedModel]:
    model = ScriptedModel(said)
    sentence = f"Tell Ada, and {PART}."
    return asyncio.run(Improviser(model).improvise(problem(), parts, sentence)), model


def test_conditions_of_a_proposed_step_are_repaired_by_search() -> None:
    found, model = improvised(proposed(PAINT))
    plan = found.result.expect_plan()
    assert validate(found.problem, plan).valid
    steps = list(map(str, plan.steps))
    assert sorted(steps) == ["buy(red)", "mail(card, ada)", "paint(card, red)", "write(card)"]
    assert found.unverified == {PART: ("paint(card, red)",)}
    assert found.values == {steps.index("paint(card, red)"): {"motif": "roses"}}
    assert (found.left, found.missing, found.thought) == ((), (), "colours are special")
    assert model.requests[0].purpose is Purpose.STEPS
    assert f'"- {PART}"' in model.requests[0].prompt


def test_steps_for_one_part_keep_their_order_and_what_is_open_is_chosen() -> None:
    found, _ = improvised(proposed(step("mail", letter="note"), step("paint", letter="card")))
    plan = found.result.expect_plan()
    steps = [str(each) for each in plan.steps]
    assert steps.index("mail(note, ada)") < steps.index("paint(card, blue)")
    assert validate(found.problem, plan).valid


@pytest.mark.parametrize(
    ("wrong", "objection"),
    [
        (proposed(step("bake", letter="card")), "there is no action 'bake'"),
        (proposed(step("paint", letter="ada")), "'ada' is a person, and paint(letter, colour) takes a letter there"),
        (proposed(step("paint", letter="poster")), "there is no object 'poster'"),
        (proposed(step("paint", wall="card")), "has no parameter 'wall'"),
        (proposed(step("paint", {"motif": 7})), "motif of paint cannot be 7"),
        (proposed(step("paint", {"frame": "gold"})), "paint has no open parameter 'frame'"),
        (proposed(PAINT, PAINT), "paint(card, red) is proposed more than once"),
        (proposed(), "neither steps, nor what is lacking"),
        ({"parts": []}, f"nothing is said to {PART!r}"),
        ({"parts": [{"part": "make it", "steps": [PAINT]}]}, "is none of the parts, word for word"),
        (proposed(step("frame", letter="card")), "frame(card) can never be done: missing: has_glass"),
        ({"parts": [], "note": "x"}, "note"),
        ("nonsense", "not JSON"),
    ],
)
def test_mistakes_go_back_to_the_model(wrong, objection) -> None:
    found, model = improvised(wrong, proposed(PAINT))
    assert objection in model.requests[1].parts[-1].text
    assert found.unverified == {PART: ("paint(card, red)",)}


def test_what_cannot_be_done_is_left_and_what_it_lacks_is_data() -> None:
    found, _ = improvised(*[proposed(step("frame", letter="card"))] * 3)
    assert found.left == (PART,)
    assert found.unverified == {}
    (missing,) = found.missing
    assert (missing.fact, missing.pattern, missing.provided_by) == ("has_glass", "has_glass", ())
    assert missing.needed_by[-2:] == ("frame(card)", PART)
    assert [each.action for each in found.result.expect_plan().steps] == ["write", "mail"]


def test_a_part_that_nothing_serves_is_left_with_what_is_lacking() -> None:
    song = {"part": "sing to her", "lacking": "something that sings"}
    said = {"parts": [*proposed(PAINT)["parts"], song]}
    found, _ = improvised(said, parts=(PART, "sing to her"))
    assert found.left == ("sing to her",)
    assert found.unverified == {PART: ("paint(card, red)",)}
    assert [(each.fact, each.needed_by) for each in found.missing] == [("something that sings", ("sing to her",))]


def acting(*said, **options) -> tuple[Agent, list]:
    domain, done = post(), []
    world = World(domain)
    for name in domain.model.actions:
        world.handler(name)(lambda _name=name, **given: done.append((_name, {k: str(v) for k, v in given.items()})))
    for pattern, action, key in (
        ("written(_)", "write", "letter"),
        ("told(_)", "mail", "person"),
        ("painted(_)", "paint", "letter"),
        ("signed(_)", "sign", "letter"),
    ):
        world.observer(pattern)(lambda _action=action, _key=key: [x[_key] for name, x in done if name == _action])
    world.observer("in_stock(_)")(lambda: ["blue", *[x["colour"] for name, x in done if name == "buy"]])
    return Agent(world, problem(), model=ScriptedModel(said), **options), done


def test_a_run_with_unverified_steps_is_confirmed_first_and_unverified_at_best() -> None:
    asked = []
    agent, done = acting(READ, proposed(PAINT), confirm=lambda proposal: asked.append(proposal.question) or True)
    achieved = asyncio.run(agent.achieve(f"Tell Ada, and {PART}."))
    assert f"- for {PART!r}: paint(card, red)" in asked[0]
    assert ("paint", {"letter": "card", "colour": "red", "motif": "roses"}) in done
    assert achieved.outcome.status is RunStatus.UNVERIFIED
    assert not achieved.succeeded
    assert PART in achieved.outcome.reason
    assert achieved.proposal.to_dict()["unverified"] == {PART: ("paint(card, red)",)}


@pytest.mark.parametrize("options", [{}, {"waived": True}, {"confirm": lambda _: False}])
def test_nothing_unverified_is_done_without_a_yes(options) -> None:
    agent, done = acting(READ, proposed(PAINT), **options)
    achieved = asyncio.run(agent.achieve(f"Tell Ada, and {PART}."))
    assert achieved.outcome is None
    assert done == []


def test_values_that_are_filled_in_later_need_approval_then() -> None:
    fill = {"values": {"motif": "skulls"}}
    agent, done = acting(READ, proposed(step("paint", letter="card", colour="red")), fill, confirm=lambda _: True)
    achieved = asyncio.run(agent.achieve(f"Tell Ada, and {PART}."))
    assert achieved.outcome.status is RunStatus.WAITING
    (question,) = achieved.outcome.state.questions.values()
    assert question.known == ('motif = "skulls"',)
    assert "paint" not in [name for name, _ in done]


def test_without_approval_no_executor_runs_a_proposed_step() -> None:
    agent, done = acting(READ, proposed(PAINT))
    proposal = asyncio.run(agent.plan(f"Tell Ada, and {PART}."))
    assert proposal.standing is Standing.UNVERIFIED
    outcome = asyncio.run(Executor(agent.world).run(plan_to_run(proposal).plan))
    assert outcome.status is RunStatus.WAITING
    (record,) = outcome.state.with_status(StepStatus.WAITING)
    assert record.step.action == "paint"
    assert list(outcome.state.questions) == [f"approve:{record.id}"]
    assert "paint" not in [name for name, _ in done]


def test_what_nothing_serves_is_in_the_way_and_the_rest_is_a_plan() -> None:
    lacking = {"parts": [{"part": PART, "lacking": "a taste"}]}
    agent, done = acting(READ, lacking, confirm=lambda _: True)
    achieved = asyncio.run(agent.achieve(f"Tell Ada, and {PART}."))
    assert achieved.proposal.standing is Standing.UNMODELLED
    assert achieved.proposal.missing[0].fact == "a taste"
    assert achieved.outcome is None
    assert done == []
    rest = asyncio.run(agent.carry_out(achieved.proposal))
    assert rest.outcome.status is RunStatus.LOWERED
    assert [name for name, _ in done] == ["write", "mail"]


def test_no_patch_goes_without_a_proposed_step() -> None:
    agent, done = acting(READ, proposed(PAINT), confirm=lambda _: True)
    agent.world.handler("paint")(lambda **_: False)
    achieved = asyncio.run(agent.achieve(f"Tell Ada, and {PART}."))
    assert achieved.outcome.status is RunStatus.FAILED
    assert "paint" not in [name for name, _ in done]


def test_actions_without_handler_are_not_planned_with_and_reported() -> None:
    world = World(post())
    world.handler("write")(lambda **_: True)
    agent = Agent(world, problem())
    proposal = asyncio.run(agent.plan(["told(ada)"]))
    assert proposal.standing is Standing.UNREACHABLE
    (missing,) = proposal.missing
    assert (missing.fact, missing.pattern) == ("told(ada)", "told(person)")
    assert missing.provided_by == ("mail(letter, person)",)


@pytest.mark.parametrize("seed", range(40))
def test_whatever_a_model_says_only_declared_steps_are_planned(seed) -> None:
    model = AdversarialModel(seed, slow=0)
    found = asyncio.run(Improviser(model, timeout=1).improvise(problem(), (PART,), f"Tell Ada, and {PART}."))
    assert [each.action for each in found.result.expect_plan().steps] == ["write", "mail"]
    assert found.left == (PART,)


def test_random_proposals_are_kept_where_they_can_be_and_refused_otherwise() -> None:
    rng, base, kept = random.Random(3), problem(), 0
    names = [*post().model.actions, "decorate", "burn"]
    for _ in range(40):
        wanted = []
        for _ in range(rng.randint(1, 3)):
            action = rng.choice(names)
            known = base.domain.actions.get("paint" if action == "decorate" else action)
            kinds = {each.name.removeprefix("?"): each.types[0] for each in known.parameters} if known else {}
            fitting = {name: [each for each in OBJECTS if OBJECTS[each] == kind] for name, kind in kinds.items()}
            odd = ["_", rng.choice([*OBJECTS, "nobody"])] if rng.random() < 0.2 else ["_"]
            wanted.append(step(action, **{name: rng.choice(each + odd) for name, each in fitting.items()}))
        found, model = improvised(*[proposed(*wanted)] * 3)
        assert validate(found.problem, found.result.expect_plan()).valid
        if found.left:
            assert (len(model.requests), found.unverified) == (3, {})
            assert [each.action for each in found.result.expect_plan().steps] == ["write", "mail"]
        else:
            assert len(found.unverified[PART]) == len(wanted)
            kept += 1
    assert 5 < kept < 35
