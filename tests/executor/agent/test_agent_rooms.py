"""Rooms: requests are understood by what was said before, answers need no model, and errands take their turns."""

from __future__ import annotations

import asyncio
from typing import Annotated

import pytest
from pydantic import AfterValidator, Field

from benchmarks.adversary.adversary_models import AdversarialModel
from executor import Agent, Allowance, Journal, RunStatus, Wait, World
from executor.agent import agent_events as told
from executor.agent.proposals import Standing
from executor.agent.propose import join_problems
from executor.events.events import GoalChanged, StepEnded, StepStarted
from executor.language_model import Origin
from executor.loop.parameters import Fillings
from executor.testing import ScriptedModel
from planner import Domain
from planner.errors import InputError
from planner.model.formulas import conjuncts

PEOPLE = {"ada": "person", "ben": "person", "cleo": "person"}


class Gate:
    """Keeps steps at work until it is opened."""

    def __init__(self) -> None:
        self.open = asyncio.Event()


def post(*said, gate: Gate | None = None, **options) -> tuple[Agent, list]:
    """Return an agent that tells people things by letters, one lamp, and what it did."""
    domain, done = Domain("post", types=["person"]), []
    domain.action("write", {"to": "person"}, provides=["written(to)"])
    domain.action("mail", {"to": "person"}, requires=["written(to)"], provides=["told(to)"])
    domain.action("light", {}, provides=["lit"])
    domain.action("dim", {}, provides=["not lit", "dark"], modifies=["lit"])
    domain.action("pay", {"to": "person", "amount": int}, provides=["paid(to)"], tags=["irreversible"])
    world = World(domain)
    for name in ("write", "mail", "light", "dim", "pay"):

        @world.handler(name)
        async def act(name=name, **given) -> None:
            if gate is not None:
                await gate.open.wait()
            done.append(" ".join([name, *map(str, given.values())]))

    world.observer("written(_)")(lambda: [each.split()[1] for each in done if each.startswith("write")])
    world.observer("told(_)")(lambda: [each.split()[1] for each in done if each.startswith("mail")])
    world.observer("paid(_)")(lambda: [each.split()[1] for each in done if each.startswith("pay")])
    world.observer("lit")(lambda: [each for each in done if each in {"light", "dim"}][-1:] == ["light"])
    world.observer("dark")(lambda: [each for each in done if each in {"light", "dim"}][-1:] == ["dim"])
    model = ScriptedModel(said)
    return Agent(world, domain.problem(objects=PEOPLE), model=model, **options), done


def goal(*conditions, relation="alone", **more) -> dict:
    return {"meanings": [{"goal": list(conditions), "relation": relation, **more}]}


def test_what_was_said_before_is_shown_to_the_model_and_nothing_of_it_is_an_instruction() -> None:
    agent, done = post(goal("told(ada)"), goal("told(ben)"), waived=True)
    room = agent.room("kitchen")

    async def story():
        await room.achieve("Tell Ada.")
        return await room.achieve("And Ben.")

    assert asyncio.run(story()).succeeded
    assert done == ["write ada", "mail ada", "write ben", "mail ben"]
    parts = agent.model.requests[1].parts
    assert [(each.text, each.origin) for each in parts if each.title == "The user said before"] == [
        ("Tell Ada.", Origin.USER)
    ]
    (answer,) = [each.text for each in parts if each.title == "You said"]
    assert answer.startswith("At the end:\n- told(ada)\nThis is succeeded")
    assert agent.room("kitchen") is room
    assert agent.room("hall").record.turns == ()


def test_objects_that_were_named_before_may_be_made() -> None:
    new = {"dora": "person"}
    agent, done = post({"meanings": []}, goal("told(dora)", new_objects=new), waived=True, open_types=["person"])
    room = agent.room()

    async def story():
        await room.achieve("There is somebody new: Dora.")
        return await room.achieve("Tell her.")

    assert asyncio.run(story()).succeeded
    assert done == ["write dora", "mail dora"]


@pytest.mark.parametrize(
    ("answer", "does"), [("Yes.", True), ("go ahead", True), ("no", False), ("Never mind!", False)]
)
def test_a_yes_or_no_needs_no_model(answer, does) -> None:
    agent, done = post(goal("told(ada)"))
    room = agent.room()

    async def story():
        first = await room.achieve("Tell Ada.")
        assert first.proposal.standing is Standing.UNCONFIRMED
        assert "told(ada)" in room.question
        return await room.achieve(answer)

    achieved = asyncio.run(story())
    assert achieved.succeeded is does
    assert bool(done) is does
    assert room.question == ""
    assert len(agent.model.requests) == 1


def test_anything_else_is_another_request() -> None:
    agent, done = post(goal("told(ada)"), goal("told(ben)"))
    room = agent.room()

    async def story():
        await room.achieve("Tell Ada.")
        await room.achieve("Ben I mean.")
        return await room.achieve("yes")

    assert asyncio.run(story()).succeeded
    assert done == ["write ben", "mail ben"]


@pytest.mark.parametrize("answer", ["2", "the second one", "second"])
def test_one_of_several_readings_is_chosen(answer) -> None:
    several = {"meanings": [{"goal": ["told(ada)"]}, {"goal": ["told(ben)"]}]}
    agent, done = post(several, waived=True)
    room = agent.room()

    async def story():
        first = await room.achieve("Tell one of them.")
        assert first.proposal.standing is Standing.AMBIGUOUS
        return await room.achieve(answer)

    assert asyncio.run(story()).succeeded
    assert done == ["write ben", "mail ben"]


def test_what_nobody_knows_is_made_where_somebody_says_that_it_is_new() -> None:
    agent, done = post(goal("told(dora)", new_objects={"dora": "person"}), waived=True)
    room = agent.room()

    async def story():
        first = await room.achieve("Tell Dora.")
        assert first.proposal.standing is Standing.UNKNOWN
        return await room.achieve("new")

    assert asyncio.run(story()).succeeded
    assert done == ["write dora", "mail dora"]


@pytest.mark.parametrize("said", [goal("told(ada)"), {"meanings": [{"goal": ["told(ada)"]}, {"goal": ["told(ben)"]}]}])
def test_a_room_survives_the_process(said, tmp_path) -> None:
    agent, _ = post(said, journal=tmp_path / "runs.db")
    asyncio.run(agent.room("ada").achieve("Tell one of them."))
    question = agent.room("ada").question
    agent.executor.journal.close()
    again, done = post(journal=tmp_path / "runs.db", confirm=lambda _: True)
    room = again.room("ada")
    assert room.question == question
    assert [turn.text for turn in room.record.turns] == ["Tell one of them.", question]
    achieved = asyncio.run(room.achieve("1" if "Which" in question else "yes"))
    assert achieved.succeeded
    assert done == ["write ada", "mail ada"]
    assert again.model.requests == []
    with Journal(tmp_path / "runs.db") if again.executor.journal.close() is None else None as journal:
        assert [each.name for each in journal.rooms()] == ["ada"]


def test_half_a_character_is_kept_as_it_reads(tmp_path) -> None:
    agent, done = post(goal("told(ada)"), journal=tmp_path / "runs.db", confirm=lambda _: True)
    assert asyncio.run(agent.room("ada").achieve("Tell Ada \ud800.")).succeeded
    agent.executor.journal.close()
    assert done == ["write ada", "mail ada"]
    again, _ = post(journal=tmp_path / "runs.db")
    assert again.room("ada").record.turns[0].text == "Tell Ada \\ud800."


def test_questions_of_runs_are_answered_in_the_room_also_after_a_restart(tmp_path) -> None:
    ask = {"values": {}, "question": "How much?"}
    agent, done = post(goal("paid(ada)"), ask, waived=True, journal=tmp_path / "runs.db")
    first = asyncio.run(agent.room("ada").achieve("Pay Ada."))
    assert first.outcome.status is RunStatus.WAITING
    agent.executor.journal.close()
    again, done = post(journal=tmp_path / "runs.db")
    room = again.room("ada")
    assert room.question == "How much?"
    assert len(room.errands) == 1
    achieved = asyncio.run(room.achieve("12"))
    assert achieved.succeeded
    assert done == ["pay ada 12"]
    assert room.errands == ()


def test_an_answer_in_words_is_read_where_it_does_not_fit_as_it_stands() -> None:
    ask, answer = {"values": {}, "question": "How much?"}, {"values": {"amount": 12}}
    agent, done = post(goal("paid(ada)"), ask, answer, waived=True)
    room = agent.room()

    async def story():
        await room.achieve("Pay Ada.")
        return await room.achieve("a dozen, please")

    assert asyncio.run(story()).succeeded
    assert done == ["pay ada 12"]
    shown = agent.model.requests[2]
    assert not shown.shows_tools
    assert shown.parts[-1].text == "a dozen, please"


def test_an_answer_that_says_nothing_leaves_the_question_open() -> None:
    ask = {"values": {}, "question": "How much?"}
    agent, done = post(goal("paid(ada)"), ask, {"values": {}}, waived=True)
    room = agent.room()

    async def story():
        await room.achieve("Pay Ada.")
        return await room.achieve("as you like")

    achieved = asyncio.run(story())
    assert achieved.outcome is None
    assert room.question == "How much?"
    assert done == []


@pytest.mark.parametrize("said", ["maybe later", "what is this?"])
def test_what_answers_nothing_leaves_the_question_open_without_a_model_too(said) -> None:
    domain, done = Domain("post"), []
    domain.action("send", provides=["sent"], tags=["needs_approval", "trusted"])
    world = World(domain)
    world.handler("send")(lambda: done.append("sent"))
    room = Agent(world, domain.problem()).room("hall")

    async def story():
        await room.achieve(["sent"])
        asked = room.question
        unclear = await room.achieve(said)
        assert (unclear.proposal.standing, unclear.proposal.question, room.question) == (Standing.NOTHING, asked, asked)
        assert (unclear.outcome, done) == (None, [])
        return await room.achieve("yes")

    assert asyncio.run(story()).succeeded
    assert done == ["sent"]


@pytest.mark.parametrize(("said", "why"), [("as you like", "integer"), ("-5", "greater than 0"), ("7", "no odd sum")])
def test_a_value_that_does_not_fit_is_told_and_leaves_the_question_open(said, why) -> None:
    def check_even(amount: int) -> int:
        assert amount % 2 == 0, "no odd sum"
        return amount

    domain, done = Domain("post"), []
    amount = Annotated[int, Field(gt=0), AfterValidator(check_even)]
    domain.action("pay", {"amount": amount}, provides=["paid"], tags=["trusted"])
    world = World(domain)

    @world.handler("pay")
    def pay(amount: int) -> None:
        done.append(amount)

    agent = Agent(world, domain.problem())
    agent.executor.fill = ask_how_much
    room = agent.room("hall")

    async def story():
        await room.achieve(["paid"])
        achieved = await room.achieve(said)
        assert (achieved.proposal.standing, achieved.outcome) == (Standing.NOTHING, None)
        assert (achieved.proposal.question, room.question, done) == ("How much?", "How much?", [])
        assert why in achieved.proposal.reason
        return await room.achieve("12")

    assert asyncio.run(story()).succeeded
    assert done == [12]


async def ask_how_much(_) -> Fillings:
    return Fillings({}, question="How much?")


def test_a_sentence_without_a_question_needs_a_model() -> None:
    room = Agent(World(Domain("post")), Domain("post").problem()).room("hall")
    with pytest.raises(InputError, match="a sentence needs a language model"):
        asyncio.run(room.achieve("maybe later"))


def test_who_wants_no_more_calls_the_run_off() -> None:
    agent, done = post(goal("paid(ada)"), {"values": {}, "question": "How much?"}, waived=True)
    room = agent.room()

    async def story():
        await room.achieve("Pay Ada.")
        return await room.achieve("never mind")

    assert asyncio.run(story()).outcome.status is RunStatus.CANCELLED
    assert room.errands == ()
    assert done == []


def test_steps_that_nothing_confirms_are_approved_in_the_room_and_stay_so_in_what_is_also_wanted() -> None:
    read = {"meanings": [{"goal": ["told(ada)"], "not_expressible": ["make it bright"]}]}
    bright = {"parts": [{"part": "make it bright", "steps": [{"action": "light"}]}]}
    gate = Gate()
    agent, done = post(
        read, bright, goal("told(ben)", relation="also"), gate=gate, confirm=lambda each: each.request in sure or None
    )
    room, sure = agent.room(), {"and Ben"}

    async def story():
        first = await room.achieve("Tell Ada, and make it bright.")
        assert first.proposal.standing is Standing.UNVERIFIED
        assert "light" in room.question
        return await together(room, {"say": "yes"}, {"say": "and Ben"}, gate, of(told.Joined))

    (first, second), _ = asyncio.run(story())
    assert first.outcome.run == second.outcome.run
    assert first.outcome.status is RunStatus.UNVERIFIED
    assert sorted(done) == ["light", "mail ada", "mail ben", "write ada", "write ben"]
    assert "make it bright" in second.outcome.reason


BRIGHT = [
    {"meanings": [{"goal": ["told(ada)"], "not_expressible": ["make it bright"]}]},
    {"parts": [{"part": "make it bright", "steps": [{"action": "light"}]}], "thought": "a lamp"},
]


@pytest.mark.parametrize(("answer", "expected"), [("yes", ["light", "write ada", "mail ada"]), ("no", [])])
def test_steps_that_nothing_confirms_are_still_asked_about_after_a_restart(answer, expected, tmp_path) -> None:
    first, _ = post(*BRIGHT, journal=tmp_path / "runs.db")
    asyncio.run(first.room("hall").achieve("Tell Ada, and make it bright."))
    question = first.room("hall").question
    assert "make it bright" in question
    agent, done = post(journal=tmp_path / "runs.db")  # its model says nothing at all
    room = agent.room("hall")
    assert room.question == question
    achieved = asyncio.run(room.achieve(answer))
    assert sorted(done) == sorted(expected)
    assert achieved.proposal.standing is (Standing.UNVERIFIED if expected else Standing.DECLINED)
    if expected:
        assert achieved.outcome.status is RunStatus.UNVERIFIED
        assert achieved.proposal.improvised.thought == "a lamp"
    assert room.question == ""


def test_what_is_another_plan_after_a_restart_is_asked_again(tmp_path) -> None:
    first, _ = post(goal("told(ada)"), journal=tmp_path / "runs.db")
    asyncio.run(first.room("hall").achieve("Tell Ada."))
    agent, done = post(journal=tmp_path / "runs.db")
    room = agent.room("hall")
    room.note(room.record.model_copy(update={"open": room.record.open.model_copy(update={"question": "Another?"})}))
    achieved = asyncio.run(room.achieve("yes"))
    assert achieved.proposal.standing is Standing.UNCONFIRMED
    assert "told(ada)" in room.question
    assert done == []
    assert asyncio.run(room.achieve("yes")).succeeded


@pytest.mark.parametrize("heard", ["", " \n\u2003", "what?"])
def test_what_asks_for_nothing_leaves_open_what_is_open(heard) -> None:
    agent, done = post(goal("told(ada)"), {"meanings": []}, {"meanings": []})
    room = agent.room()
    asyncio.run(room.achieve("Tell Ada."))
    question = room.question
    assert "told(ada)" in question
    achieved = asyncio.run(room.achieve(heard))
    assert achieved.proposal.standing in {Standing.NOTHING, Standing.UNREAD}
    assert achieved.proposal.question == room.question == question
    assert done == []
    assert asyncio.run(room.achieve("yes")).succeeded
    assert done == ["write ada", "mail ada"]


@pytest.mark.parametrize("seed", range(25))
def test_whatever_a_model_says_in_a_room_nothing_undeclared_is_done_and_no_success_is_claimed(seed) -> None:
    agent, done = post(confirm=lambda _: seed % 2 == 0, allowance=Allowance(calls=12))
    agent.model = agent.runs.model = agent.proposer.model = AdversarialModel(seed, slow=0)
    room = agent.room()

    async def story():
        return [await room.achieve(text) for text in ("Tell Ada.", "and Ben", "yes", "2", "new", "Pay Cleo")]

    for achieved in asyncio.run(story()):
        state = achieved.outcome.state if achieved.outcome is not None else None
        if achieved.succeeded:
            assert all(state.beliefs.is_true(part) for part in conjuncts(state.goal))
            assert state.has_goal or not state.steps
    assert {each.split()[0] for each in done} <= set(agent.world.model.actions)


def two(room, _) -> bool:
    """Return whether two errands are known."""
    return len(room.errands) == 2


def at_once(room, _) -> bool:
    """Return whether the second request was heard."""
    return len([turn for turn in room.record.turns if turn.who == "user"]) == 2


def of(kind):
    """Return a function that says whether an event of a `kind` was heard."""
    return lambda _, heard: any(isinstance(each, kind) for each in heard)


async def together(room, first, second, gate=None, opens=two):
    """Ask for `first`, and for `second` when its first step is at work, until the gate opens; return what was told."""
    heard: list = []
    tasks: list = []

    def more(event) -> None:
        heard.append(event)
        if isinstance(event, StepStarted) and len(tasks) == 1:
            ask(second)

    def ask(request) -> None:
        options = {key: value for key, value in request.items() if key != "say"}
        tasks.append(asyncio.create_task(room.achieve(request["say"], tell=more, **options)))

    ask(first)
    async with asyncio.timeout(30):
        while gate is not None and not opens(room, heard):  # noqa: ASYNC110 - of several kinds
            await asyncio.sleep(0.005)
        if gate is not None:
            gate.open.set()
        while len(tasks) < 2:  # noqa: ASYNC110 - as above
            await asyncio.sleep(0.005)
        return await asyncio.gather(*tasks), heard


def test_what_is_also_wanted_is_added_to_the_run_at_work() -> None:
    gate = Gate()
    agent, done = post(goal("told(ada)"), goal("told(ben)", relation="also"), waived=True, gate=gate)
    asked = {"say": "Tell Ada."}, {"say": "and also to Ben"}
    (first, second), heard = asyncio.run(together(agent.room(), *asked, gate, of(told.Joined)))
    assert first.outcome.run == second.outcome.run
    assert first.succeeded
    assert sorted(done) == ["mail ada", "mail ben", "write ada", "write ben"]
    assert second.proposal.words == "At the end:\n- told(ada)\n- told(ben)"
    assert any(isinstance(each, told.Joined) and each.also for each in heard)
    assert any(isinstance(each, GoalChanged) for each in heard)
    assert "relation" in next(part for part in agent.model.requests[1].parts if "being done" in part.title).text


def test_what_is_wanted_instead_takes_its_place() -> None:
    gate = Gate()
    agent, done = post(goal("told(ada)"), goal("told(ben)", relation="instead"), waived=True, gate=gate)
    asked = {"say": "Tell Ada."}, {"say": "Ben instead!"}
    (first, second), _ = asyncio.run(together(agent.room(), *asked, gate, of(told.Joined)))
    assert first.outcome.run == second.outcome.run
    assert done == ["write ada", "write ben", "mail ben"]


def test_the_more_urgent_goes_first_and_the_other_goes_on_after_it() -> None:
    gate = Gate()
    agent, done = post(gate=gate)
    room = agent.room()
    asked = [{"say": ["told(ada)", "told(ben)"]}, {"say": ["told(cleo)"], "priority": 5}]
    (first, second), heard = asyncio.run(together(room, *asked, gate))
    assert first.succeeded
    assert second.succeeded
    assert done[1:3] == ["write cleo", "mail cleo"]
    assert len(done) == len(set(done)) == 6
    assert sum(isinstance(each, told.Preempted) for each in heard) == 1
    assert room.errands == ()


def test_the_less_urgent_waits_for_its_turn() -> None:
    gate = Gate()
    agent, done = post(gate=gate)
    asked = [{"say": ["told(ada)"], "priority": 1}, {"say": ["told(ben)"]}]
    (first, second), heard = asyncio.run(together(agent.room(), *asked, gate))
    assert first.succeeded
    assert second.succeeded
    assert done == ["write ada", "mail ada", "write ben", "mail ben"]
    assert not any(isinstance(each, told.Preempted) for each in heard)


@pytest.mark.parametrize("urgency", [0, 5])
def test_of_two_that_clash_the_less_urgent_is_not_done(urgency) -> None:
    gate = Gate()
    agent, done = post(gate=gate)
    asked = [{"say": ["told(ada)", "lit"]}, {"say": ["dark", "not lit"], "priority": urgency}]
    opens = two if urgency else of(told.Conflict)
    (first, second), heard = asyncio.run(together(agent.room(), *asked, gate, opens))
    (conflict,) = [each for each in heard if isinstance(each, told.Conflict)]
    if urgency:
        assert second.succeeded
        assert first.outcome.status is RunStatus.WAITING
        assert conflict.gives_way == first.proposal.words
        assert done[-1] == "dim"
    else:
        assert first.succeeded
        assert second.proposal.standing is Standing.CONFLICTING
        assert second.outcome is None
        assert "dim" not in done


def test_a_room_is_interrupted_and_taken_up() -> None:
    agent, done = post()
    room = agent.room()

    def stop(event) -> None:
        if isinstance(event, StepEnded):
            room.interrupt()

    async def story():
        first = await room.achieve(["told(ada)"], tell=stop)
        before = list(done)
        return first, before, await room.resume()

    first, before, (outcome,) = asyncio.run(story())
    assert (first.outcome.status, before) == (RunStatus.WAITING, ["write ada"])
    assert outcome.status is RunStatus.SUCCEEDED
    assert done == ["write ada", "mail ada"]
    assert room.errands == ()


def test_stop_and_go_on_need_no_model() -> None:
    gate = Gate()
    agent, done = post(goal("told(ada)"), waived=True, gate=gate)
    room = agent.room()

    async def story():
        (first, stopped), _ = await together(room, {"say": "Tell Ada."}, {"say": "Stop!"}, gate, at_once)
        before = list(done)
        return first, stopped, before, await room.achieve("go on")

    first, stopped, before, last = asyncio.run(story())
    assert first.outcome.status is stopped.outcome.status is RunStatus.WAITING
    assert before == ["write ada"]
    assert last.succeeded
    assert done == ["write ada", "mail ada"]
    assert len(agent.model.requests) == 1


def test_what_waited_for_its_turn_is_done_after_a_restart(tmp_path) -> None:
    agent, _ = post(journal=tmp_path / "runs.db", gate=Gate())
    room = agent.room("hall")

    async def broken_off() -> None:
        work = asyncio.create_task(together(room, {"say": ["told(ada)"]}, {"say": ["told(ben)"]}))
        async with asyncio.timeout(20):
            while len(room.errands) < 2:  # noqa: ASYNC110 - until both were asked for
                await asyncio.sleep(0.005)
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)

    asyncio.run(broken_off())
    agent.executor.journal.close()
    again, done = post(journal=tmp_path / "runs.db")
    room = again.room("hall")
    assert [bool(each.run) for each in room.errands] == [True, False]
    ended = asyncio.run(room.resume())
    assert [each.status for each in ended] == [RunStatus.IN_DOUBT, RunStatus.SUCCEEDED]
    assert done == ["write ben", "mail ben"]
    assert [each.words for each in room.errands] == ["At the end:\n- told(ada)"]


def test_two_goals_are_joined_as_they_are_meant() -> None:
    domain = Domain("lamps", types=["lamp"])
    domain.action("light", {"lamp": "lamp"}, provides=["lit(lamp)"])
    one = domain.problem(objects={"a": "lamp"}, goal={"hard": "lit(a)"}, budgets={"cost": 5}, deadline=9)
    two = domain.problem(objects={"b": "lamp"}, goal={"hard": "lit(b)", "soft": {"not lit(b)": 2}}, budgets={"cost": 3})
    both = join_problems(two, one)
    assert {each.name for each in both.objects} == {"a", "b"}
    assert str(both.goal.hard) == "lit(a) and lit(b)"
    assert len(both.goal.soft) == 1
    assert (both.budgets["cost"], both.deadline) == (3, 9)


@pytest.mark.parametrize("is_improvised", [False, True])
def test_what_was_not_begun_when_the_process_ended_keeps_no_room_from_going_on(is_improvised, tmp_path) -> None:
    first, _ = post(*(BRIGHT if is_improvised else [goal("told(ada)")]), journal=tmp_path / "runs.db")
    room = first.room("hall")

    def end(event: object) -> None:
        if isinstance(event, told.Began):
            raise KeyboardInterrupt

    async def story():
        await room.achieve("Tell Ada, and make it bright.")
        await room.achieve("yes", tell=end)

    with pytest.raises(KeyboardInterrupt):
        asyncio.run(story())
    agent, done = post(journal=tmp_path / "runs.db")
    again = agent.room("hall")
    (errand,) = again.errands
    assert not agent.runs.is_known(errand.run)
    achieved = asyncio.run(again.achieve("go on"))
    assert again.errands == ()
    assert achieved.succeeded is not is_improvised
    assert done == ([] if is_improvised else ["write ada", "mail ada"])
    assert not is_improvised or "ask for it once more" in achieved.proposal.reason


@pytest.mark.parametrize(("said", "holds"), [("yes", True), ("no", False)])
def test_an_event_that_a_run_waits_for_is_answered_with_yes_or_no(said, holds) -> None:
    domain = Domain("post")
    domain.action("receive", provides=["received"], tags=["trusted"])
    world = World(domain)
    world.handler("receive")(lambda: Wait(event="parcel"))
    room = Agent(world, domain.problem()).room("hall")

    async def story():
        await room.achieve(["received"])
        assert room.question == "Has 'parcel' come?"
        assert (await room.achieve("it rains")).outcome is None
        return await room.achieve(said)

    assert asyncio.run(story()).succeeded is holds
