"""Requests become plans that are confirmed and carried out; what is in the way is said, and nothing is done."""

from __future__ import annotations

import asyncio

import pytest

from executor import RunStatus, World
from executor.agent.agent import Agent
from executor.agent.proposals import Standing
from executor.errors import Unreachable
from executor.language_model import Origin, Part
from executor.testing import ScriptedModel
from planner import Domain, validate
from planner.errors import InputError
from planner.model import Atom


def post() -> tuple[World, list]:
    domain, done = Domain("post"), []
    domain.type("letter")
    domain.type("person")
    domain.action("look_up", {"person": "person"}, provides=["address(person)"], tags=["read_only"])
    domain.action("write", {"letter": "letter", "text": str}, provides=["written(letter)"])
    domain.action(
        "mail",
        {"letter": "letter", "person": "person"},
        requires=["written(letter)", "address(person)"],
        provides=["told(person)"],
    )
    domain.predicate("rich", person="person")
    world = World(domain)
    for name in ("look_up", "write", "mail"):
        world.handler(name)(lambda _name=name, **given: done.append((_name, given)))
    for pattern in ("address(_)", "written(_)", "told(_)"):
        action = {"address(_)": "look_up", "written(_)": "write", "told(_)": "mail"}[pattern]
        key = "letter" if action == "write" else "person"
        world.observer(pattern)(lambda _action=action, _key=key: [str(x[_key]) for name, x in done if name == _action])
    return world, done


def agent(*said, **options) -> tuple[Agent, list, ScriptedModel]:
    world, done = post()
    problem = Domain.of(world.model).problem(objects={"note": "letter", "ada": "person", "ben": "person"})
    model = ScriptedModel(said)
    return Agent(world, problem, model=model, **options), done, model


TELL = {"meanings": [{"goal": ["told(ada)"]}], "thought": "Ada is to know"}
FILL = {"values": {"text": "hello"}}


def test_a_sentence_is_read_planned_confirmed_and_carried_out() -> None:
    asked = []

    def confirm(proposal) -> bool:
        asked.append(proposal.words)
        return True

    acting, done, model = agent(TELL, FILL, confirm=confirm)
    achieved = asyncio.run(acting.achieve("Tell Ada."))
    assert achieved.outcome.status is RunStatus.SUCCEEDED
    assert asked == ["At the end:\n- told(ada)"]
    assert {name for name, _ in done} == {"look_up", "write", "mail"}
    assert ("write", {"letter": "note", "text": "hello"}) in [(n, {k: str(v) for k, v in g.items()}) for n, g in done]
    assert validate(achieved.proposal.problem, achieved.proposal.plan).valid
    assert len(model.requests) == 2


@pytest.mark.parametrize("sentence", ["", " \n\t"])
def test_who_says_nothing_asks_for_nothing(sentence) -> None:
    acting, done, model = agent(TELL, FILL, confirm=lambda _: True)
    assert asyncio.run(acting.achieve(sentence)).proposal.standing is Standing.NOTHING
    assert (done, model.requests) == ([], [])


def test_types_that_nobody_declared_cannot_be_open() -> None:
    with pytest.raises(InputError, match="did you mean 'person'"):
        agent(open_types=["persons"])


def test_a_goal_that_means_nothing_is_refused_without_a_line_of_ours() -> None:
    acting, _, _ = agent()
    with pytest.raises(InputError, match=r"^'carl' in told\(carl\) is no object"):
        asyncio.run(acting.plan(["told(carl)"]))


@pytest.mark.parametrize("number", [-1, 2, "1", None])
def test_a_reading_that_was_not_given_cannot_be_chosen(number) -> None:
    acting, _, _ = agent({"meanings": [{"goal": ["told(ada)"]}, {"goal": ["told(ben)"]}]})
    proposal = asyncio.run(acting.plan("Tell one of them."))
    with pytest.raises(InputError, match=f"there is no reading {number!r}; there are 2, from 0"):
        asyncio.run(acting.choose(proposal, number))


def test_without_confirmation_nothing_is_done() -> None:
    acting, done, _ = agent(TELL)
    achieved = asyncio.run(acting.achieve("Tell Ada."))
    assert achieved.proposal.standing is Standing.UNCONFIRMED
    assert achieved.outcome is None
    assert done == []


@pytest.mark.parametrize("said", [False, "no", "yes please", 1])
def test_only_a_clear_yes_confirms(said) -> None:
    acting, done, _ = agent(TELL, confirm=lambda _: said)
    assert asyncio.run(acting.achieve("Tell Ada.")).proposal.standing is Standing.DECLINED
    assert done == []


@pytest.mark.parametrize("said", [True, "yes", " Y "])
def test_a_clear_yes_may_be_a_word(said) -> None:
    acting, _, _ = agent(TELL, FILL, confirm=lambda _: said)
    assert asyncio.run(acting.achieve("Tell Ada.")).succeeded


def test_where_asking_fails_nobody_has_decided(caplog) -> None:
    acting, done, _ = agent(TELL, confirm=lambda _: 1 / 0)
    assert asyncio.run(acting.achieve("Tell Ada.")).proposal.standing is Standing.UNCONFIRMED
    assert done == []
    assert "ZeroDivisionError" in caplog.text


def test_what_only_reads_and_goals_that_were_given_need_no_confirmation() -> None:
    acting, done, _ = agent({"meanings": [{"goal": ["address(ben)"]}]})
    assert asyncio.run(acting.achieve("Find out where Ben lives.")).succeeded
    assert [name for name, _ in done] == ["look_up"]
    acting, done, _ = agent(FILL)
    assert asyncio.run(acting.achieve(["told(ben)"])).succeeded
    assert asyncio.run(acting.achieve(["told(ben)"])).proposal.plan.steps == ()


@pytest.mark.parametrize(
    ("said", "standing"),
    [
        ([{"meanings": []}], Standing.NOTHING),
        ([{"meanings": [{"goal": ["told(ada)"]}, {"goal": ["told(ben)"]}]}], Standing.AMBIGUOUS),
        ([{"meanings": [{"goal": ["told(cleo)"], "new_objects": {"cleo": "person"}}]}], Standing.UNKNOWN),
        ([{"meanings": [{"goal": ["rich(ada)"]}]}] * 2, Standing.UNREACHABLE),
        ([{"meanings": [{"goal": ["told(ada)"], "not_expressible": ["with love"]}]}], Standing.UNMODELLED),
        ([{"meanings": [{"goal": ["told(nobody)"]}]}] * 3, Standing.UNREAD),
        ([Unreachable("connection refused")], Standing.UNREAD),
        ([RuntimeError("a bug")], Standing.UNREAD),
    ],
)
def test_what_is_in_the_way_is_said_and_nothing_is_done(said, standing) -> None:
    acting, done, _ = agent(*said, confirm=lambda _: True)
    achieved = asyncio.run(acting.achieve("Tell Ada with love, and Cleo."))
    assert achieved.proposal.standing is standing
    assert achieved.outcome is None
    assert done == []
    assert achieved.proposal.to_dict()["standing"] == standing.name


def test_a_missing_capability_is_data() -> None:
    said = {"meanings": [{"goal": ["rich(ada)"]}]}
    acting, _, _ = agent(said, said)
    proposal = asyncio.run(acting.plan("Make Ada rich."))
    assert proposal.to_dict()["missing"][0]["fact"] == "rich(ada)"
    assert "missing: rich(ada)" in proposal.reason


def test_without_a_model_goals_do_and_sentences_are_refused() -> None:
    world, done = post()
    problem = Domain.of(world.model).problem(objects={"ada": "person"})
    acting = Agent(world, problem)
    assert asyncio.run(acting.achieve(["address(ada)"])).succeeded
    assert [name for name, _ in done] == ["look_up"]
    with pytest.raises(InputError, match="needs a language model"):
        asyncio.run(acting.plan("Tell Ada."))


def test_an_agent_knows_how_things_stand_after_a_run() -> None:
    acting, _, _ = agent(FILL)
    asyncio.run(acting.achieve(["told(ada)"]))
    assert {str(fact) for fact in acting.problem.initial} == {"address(ada)", "written(note)", "told(ada)"}


@pytest.mark.parametrize(("origin", "standing"), [(Origin.TOOL, "UNCONFIRMED"), (Origin.USER, "PLANNED")])
def test_nothing_is_waived_where_the_model_has_seen_what_tools_returned(origin: Origin, standing: str) -> None:
    acting, done, _ = agent(TELL, waived=True)
    proposal = asyncio.run(acting.plan("Tell them.", context=[Part("Mail", "The user wants Ada told.", origin)]))
    assert proposal.standing.name == standing
    assert done == []


def test_an_agent_looks_before_it_says_that_there_is_no_plan():
    till, bank = Domain("till"), []
    till.function("budget", low=0)
    till.action("pay", {}, provides=["paid"], modifies=["budget -= 60"], tags=["irreversible"])
    world = World(till)
    world.handler("pay")(lambda: bank.append(60))
    world.observer("paid", conclusive=True)(lambda: bool(bank))
    world.observer("budget")(lambda: 100 - sum(bank))
    for look, status in (("never", Standing.UNREACHABLE), ("plan", Standing.PLANNED)):
        agent = Agent(world, problem=till.problem(initial=["budget = 20"]), look=look)
        proposal = asyncio.run(agent.plan(["paid"]))
        assert proposal.standing is status
    assert agent.problem.values == {Atom("budget", ()): 100}
    assert asyncio.run(agent.carry_out(proposal)).outcome.succeeded
    assert bank == [60]


def test_an_agent_looks_at_the_facts_that_a_plan_rests_on():
    till, seen = Domain("till"), []
    till.action("pay", {}, requires=["open"], provides=["paid"], cost=1)
    world = World(till)
    world.handler("pay")(lambda: None)
    world.observer("open", conclusive=True)(lambda: not seen.append("open"))
    proposal = asyncio.run(Agent(world, till.problem()).plan(["paid"]))
    assert seen
    assert [each.action for each in proposal.plan.steps] == ["pay"]
