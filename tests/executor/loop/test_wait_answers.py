"""What answers to waiting steps mean: choices, refusals, results, facts that choices mean, and late answers."""

from __future__ import annotations

import asyncio
from typing import Annotated

import pytest

from executor import ActionResult, Context, ExecutionPolicy, Executor, RunStatus, StepStatus, Wait, World
from executor.errors import RunError
from executor.events.open_questions import OpenQuestions, explain_late, post_answer
from executor.observe.reports import literal_of
from executor.testing import run_virtual
from planner import Domain, From
from planner.cli import main as command
from planner.errors import InputError


class Shop:
    """`sign` waits as the test says; `pay` needs `signed`, and its payments are counted."""

    def __init__(self, wait, *, tags=("trusted",), policy=None):
        self.bank, self.signs = [], 0
        domain = self.domain = Domain("shop")
        domain.predicate("refused")
        domain.action("sign", provides=["signed"], tags=tags)
        domain.action("pay", requires=["signed"], provides=["paid"], tags=["irreversible", "trusted"])
        self.world = World(domain)

        @self.world.handler("sign", policy=policy)
        def sign():
            self.signs += 1
            return wait

        self.world.handler("pay")(lambda: self.bank.append("paid"))

    def play(self, place, *, answers=None, results=None):
        async def main():
            executor = Executor(self.world, place)
            await executor.run(self.domain.problem(goal=["paid"]), run="r")
            return await executor.resume("r", answers=answers, results=results)

        return run_virtual(main())


CHOICES = Wait("Which?", choices=("t1", "t2"))
WAYS = ["answers", "results"]


def say(way, answer):
    return {"answers": {"wait:s1": answer}} if way == "answers" else {"results": {"s1": answer}}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "answer",
    [
        "t2",
        " T2 ",
        {"answer": "t2"},
        {"choice": "t2"},
        {"success": True, "data": "t2"},
        {"success": True, "text": "t2"},
        {"data": "t2"},
        ActionResult(text="t2"),
        ActionResult(data="t2"),
    ],
    ids=str,
)
def test_a_choice_may_be_written_as_people_and_hosts_write_it(answer, way, tmp_path):
    shop = Shop(CHOICES)
    outcome = shop.play(tmp_path / "runs.db", **say(way, answer))
    assert (outcome.status, shop.bank) == (RunStatus.SUCCEEDED, ["paid"])
    assert (outcome.steps[0].result["text"], outcome.steps[0].result["data"]) == ("t2", "t2")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("answer", ["t3", True, 2, None, {}, {"success": True}, {"data": "t3"}, ["t1"]], ids=str)
def test_what_is_no_choice_is_refused(answer, way, tmp_path):
    shop = Shop(CHOICES)
    with pytest.raises(InputError):
        shop.play(tmp_path / "runs.db", **say(way, answer))
    assert shop.bank == []


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("answer", ["no", "No: too dear", False, {"answer": "no"}, "rejected"], ids=str)
@pytest.mark.parametrize("wait", [CHOICES, Wait(event="signed"), Wait("Ada looks")], ids=["choice", "event", "result"])
def test_no_is_a_refusal_of_whatever_is_awaited(wait, answer, way, tmp_path):
    if isinstance(answer, dict) and not wait.choices:
        return  # the data of a result
    shop = Shop(wait, policy=ExecutionPolicy(retries=3))
    outcome = shop.play(tmp_path / "runs.db", **say(way, answer))
    assert (outcome.status, outcome.steps[0].status) == (RunStatus.FAILED, StepStatus.FAILED)
    assert (shop.bank, shop.signs) == ([], 1)


MEANINGS = Wait("Does Ada agree?", choices={"yes": ["signed"], "no": ["refused"], "later": []})


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("answer", "facts", "bank"),
    [
        ("yes", {"signed": True, "refused": False}, ["paid"]),
        (True, {"signed": True, "refused": False}, ["paid"]),
        ("no", {"signed": False, "refused": True}, []),
        (False, {"signed": False, "refused": True}, []),
        ("later", {"signed": False, "refused": False}, []),
    ],
)
def test_a_choice_means_facts(answer, facts, bank, way, tmp_path):
    shop = Shop(MEANINGS)
    outcome = shop.play(tmp_path / "runs.db", **say(way, answer))
    believed = {str(note.fact): note.holds for note in outcome.state.beliefs.notes()}
    assert {name: believed.get(name, False) for name in facts} == facts
    assert shop.bank == bank


def test_a_choice_that_means_what_is_no_fact_fails_the_step_before_anybody_is_asked():
    shop = Shop(Wait("Does Ada agree?", choices={"yes": ["signd"]}))
    outcome = run_virtual(Executor(shop.world).run(shop.domain.problem(goal=["paid"])))
    assert (outcome.status, outcome.questions) == (RunStatus.FAILED, ())
    assert "'signd'" in outcome.reason


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("observed", [["not signed"], "not signed"], ids=str)
def test_a_report_without_success_is_a_report(observed, way, tmp_path):
    shop = Shop(Wait("Ada looks"))
    outcome = shop.play(tmp_path / "runs.db", **say(way, {"observed": observed}))
    assert (outcome.succeeded, shop.bank) == (False, [])


def test_a_step_that_was_answered_takes_no_other_result():
    shop = Shop(Wait("Ada looks"))

    async def main():
        run = Executor(shop.world, stay=True).start(shop.domain.problem(goal=["paid"]))
        async for event in run.events():
            if type(event).__name__ == "Asked":
                break
        run.answer("wait:s1", {"observed": ["not signed"]})
        with pytest.raises(RunError, match="waits for no result: it has one"):
            run.complete("s1", True)
        with pytest.raises(RunError, match="the answer to 'wait:s1' comes too late; its step waits no more"):
            run.answer("wait:s1", True)
        return await run

    assert (run_virtual(main()).succeeded, shop.bank) == (False, [])


def test_an_answer_and_a_result_for_one_step_are_one_too_many(tmp_path):
    shop = Shop(Wait("Ada looks"))
    with pytest.raises(InputError, match="'s1' has two results"):
        shop.play(tmp_path / "runs.db", answers={"wait:s1": True}, results={"s1": False})
    assert shop.bank == []


def test_a_result_for_a_step_that_asks_for_an_approval_names_the_question():
    domain = Domain("desk")
    domain.action("ask", provides=["asked"], tags=["trusted", "needs_approval"])
    world = World(domain)
    world.handler("ask")(lambda: True)

    async def main():
        executor = Executor(world)
        await executor.run(domain.problem(goal=["asked"]), run="r")
        with pytest.raises(RunError, match="has not begun: it waits for an answer to 'approve:s1'"):
            await executor.resume("r", results={"s1": True})

    run_virtual(main())


@pytest.mark.parametrize("way", WAYS)
def test_whoever_answers_a_run_that_is_over_is_told_that_it_is_late(way, tmp_path):
    shop = Shop(CHOICES)
    assert shop.play(tmp_path / "runs.db", **say(way, "t1")).succeeded
    executor = Executor(shop.world, tmp_path / "runs.db")
    with pytest.raises(RunError, match=r"is over, SUCCEEDED: .* too late"):
        run_virtual(executor.resume("r", **say(way, "t2")))
    with pytest.raises(RunError, match="comes too late; the run is over: SUCCEEDED"):
        post_answer(executor.journal, "r", "wait:s1", "t2")
    assert shop.bank == ["paid"]


def test_questions_of_a_run_that_was_called_off_are_closed(tmp_path):
    shop = Shop(CHOICES)

    async def main():
        run = Executor(shop.world, tmp_path / "runs.db", stay=True).start(shop.domain.problem(goal=["paid"]), run="r")
        async for event in run.events():
            if type(event).__name__ == "Asked":
                run.cancel()
        return await run

    outcome = asyncio.run(main())
    assert (outcome.status, outcome.questions) == (RunStatus.CANCELLED, ())
    assert Executor(shop.world, tmp_path / "runs.db").questions("r") == ()


@pytest.mark.parametrize("how", ["posted", "resumed"])
def test_an_answer_after_the_deadline_is_too_late(how, tmp_path, monkeypatch):
    shop, clock = Shop(Wait("Which?", choices=("t1", "t2"), deadline=60, conclusive=True)), [1000.0]
    monkeypatch.setattr("time.time", lambda: clock[0])
    executor = Executor(shop.world, tmp_path / "runs.db")
    run_virtual(executor.run(shop.domain.problem(goal=["paid"]), run="r"))
    [asked] = executor.questions("r")
    assert asked.until == 1060.0
    clock[0] = 1061.0
    assert explain_late(asked, clock[0]).startswith("its time was over at ")
    ways = {
        "posted": lambda: executor.answer("r", "wait:s1", "t1"),
        "resumed": lambda: run_virtual(executor.resume("r", answers={"wait:s1": "t1"})),
    }
    with pytest.raises(RunError, match="too late; its time was over at"):
        ways[how]()
    assert shop.bank == []


def test_a_question_is_listed_with_its_deadline_and_as_late_after_it(tmp_path, monkeypatch, capsys):
    shop, clock = Shop(Wait("Which?", choices=("t1", "t2"), deadline=60, conclusive=True)), [1000.0]
    monkeypatch.setattr("time.time", lambda: clock[0])
    executor = Executor(shop.world, tmp_path / "runs.db")
    run_virtual(executor.run(shop.domain.problem(goal=["paid"]), run="r"))
    for now, told in ((1000.0, "until"), (1061.0, "its time was over at")):
        clock[0] = now
        with pytest.raises(SystemExit, match="0"):
            command(["runs", "answer", str(tmp_path / "runs.db"), "r"])
        assert f"    {told} 1970-01-01 00:17:40 UTC" in capsys.readouterr().out.splitlines()
    outcome = run_virtual(executor.resume("r"))
    assert (outcome.status, outcome.questions, executor.questions("r")) == (RunStatus.FAILED, (), ())
    assert shop.bank == []


def test_an_answer_that_was_posted_in_time_counts_though_it_is_taken_later(tmp_path, monkeypatch):
    shop, clock = Shop(Wait("Which?", choices=("t1", "t2"), deadline=60)), [1000.0]
    monkeypatch.setattr("time.time", lambda: clock[0])
    executor = Executor(shop.world, tmp_path / "runs.db")
    run_virtual(executor.run(shop.domain.problem(goal=["paid"]), run="r"))
    clock[0] = 1059.0
    executor.answer("r", "wait:s1", "t1")
    clock[0] = 2000.0
    assert run_virtual(executor.resume("r")).succeeded
    assert shop.bank == ["paid"]


class Seats:
    """`book` asks for a seat, and goes on with the answer; `bank` counts what is reserved."""

    def __init__(self, *, rounds=1, choices=("aisle", "window", "no")):
        self.bank, domain = [], Domain("plane")
        self.domain = domain
        domain.action("book", provides=["booked"], tags=["irreversible", "trusted"])
        domain.action("tell", {"seat": Annotated[str, From("booked", "data")]}, requires=["booked"], provides=["told"])
        self.world = World(domain)

        @self.world.handler("book")
        def book(context: Context):
            self.bank.append(context.answer)
            if context.attempt <= rounds:
                return Wait("Which seat?", choices=choices, goes_on=True)
            return context.answer

        self.world.handler("tell")(lambda seat: self.bank.append(f"told {seat}"))
        self.world.observer("told", conclusive=True)(lambda: "told" in str(self.bank))


@pytest.mark.parametrize("answer", ["aisle", "no"])
def test_a_handler_goes_on_with_the_answer(answer, tmp_path):
    seats = Seats()
    run_virtual(Executor(seats.world, tmp_path / "runs.db").run(seats.domain.problem(goal=["told"]), run="r"))
    outcome = run_virtual(Executor(seats.world, tmp_path / "runs.db").resume("r", answers={"wait:s1": answer}))
    assert (outcome.status, seats.bank) == (RunStatus.SUCCEEDED, [None, answer, f"told {answer}"])
    [entry] = Executor(seats.world, tmp_path / "runs.db").journal.ledger.entries()
    assert entry.outcome.name == "DONE"


def test_a_handler_may_ask_more_than_once(tmp_path):
    seats, place = Seats(rounds=2), tmp_path / "runs.db"
    run_virtual(Executor(seats.world, place).run(seats.domain.problem(goal=["told"]), run="r"))
    second = run_virtual(Executor(seats.world, place).resume("r", answers={"wait:s1": "aisle"}))
    assert [each.question for each in second.questions] == ["wait:s1:2"]
    outcome = run_virtual(Executor(seats.world, place).resume("r", answers={"wait:s1:2": "window"}))
    assert (outcome.status, seats.bank) == (RunStatus.SUCCEEDED, [None, "aisle", "window", "told window"])


def test_a_handler_goes_on_after_the_answer_though_its_process_died_before(tmp_path):
    """The answer is in the journal, and the handler was not called again yet."""
    seats, place = Seats(), tmp_path / "runs.db"
    run_virtual(Executor(seats.world, place).run(seats.domain.problem(goal=["told"]), run="r"))
    run_virtual(Executor(seats.world, place).hand_over("r", answers={"wait:s1": "aisle"}))
    assert seats.bank == [None]
    outcome = run_virtual(Executor(seats.world, place).resume("r"))
    assert (outcome.status, seats.bank) == (RunStatus.SUCCEEDED, [None, "aisle", "told aisle"])


def test_a_refusal_that_is_no_choice_does_not_call_the_handler_again(tmp_path):
    seats, place = Seats(choices=("aisle", "window")), tmp_path / "runs.db"
    run_virtual(Executor(seats.world, place).run(seats.domain.problem(goal=["told"]), run="r"))
    outcome = run_virtual(Executor(seats.world, place).resume("r", answers={"wait:s1": "no"}))
    assert (outcome.status, seats.bank) == (RunStatus.FAILED, [None])


def test_a_run_of_an_earlier_version_asks_when_it_is_taken_up(tmp_path):
    """Its journal says that a step waits, and has no question."""
    from executor.events.events import Asked, event_from_data
    from executor.journal import Journal
    from executor.tools.json_data import load_json

    shop = Shop(CHOICES)
    run_virtual(Executor(shop.world, tmp_path / "new.db").run(shop.domain.problem(goal=["paid"]), run="r"))
    with Journal(tmp_path / "new.db") as new, Journal(tmp_path / "old.db") as old:
        old.create("r")
        with old.drive("r"):
            for each in new.read("r"):
                if not isinstance(event_from_data(each.kind, load_json(each.data)), Asked):
                    old.append("r", each.kind, each.data, status=each.status)
        found = OpenQuestions()
        for each in old.read("r"):
            found.take(event_from_data(each.kind, load_json(each.data)))
        assert (found.asked, [*found.waits]) == ({}, ["s1"])
    executor = Executor(shop.world, tmp_path / "old.db")
    assert [each.question for each in run_virtual(executor.resume("r")).questions] == ["wait:s1"]
    assert run_virtual(executor.resume("r", answers={"wait:s1": "t1"})).succeeded
    assert shop.bank == ["paid"]


@pytest.mark.parametrize("wait", [CHOICES, Wait(event="signed")], ids=["choice", "event"])
def test_a_run_at_work_takes_an_answer_that_another_process_posts(wait, tmp_path):
    shop, place = Shop(wait), tmp_path / "runs.db"

    async def main():
        run = Executor(shop.world, place, stay=True).start(shop.domain.problem(goal=["paid"]), run="r")
        async for event in run.events():
            if type(event).__name__ == "Asked":
                break
        elsewhere = Executor(Shop(wait).world, place)
        [asked] = elsewhere.questions("r")
        elsewhere.answer("r", asked.question, "t1")
        return await asyncio.wait_for(run, 60)

    assert asyncio.run(main()).succeeded
    assert shop.bank == ["paid"]


MEANT = Wait("May we?", choices={"yes": ["signed"], "no": ["refused"]})


@pytest.mark.parametrize("answer", ["no", "no: not this month", {"answer": "No: not this month"}])
@pytest.mark.parametrize("way", WAYS)
def test_no_with_a_reason_is_the_choice_that_means_no(tmp_path, way, answer):
    outcome = Shop(MEANT).play(tmp_path / "runs.db", **say(way, answer))
    (step, _) = outcome.steps
    assert (step.result["text"], outcome.state.beliefs.holds(literal_of("refused")[0])) == ("no", True)
    assert outcome.reason.splitlines()[0] == "sign(): what was reported is not signed"
    assert step.result["data"] == (answer if isinstance(answer, str) else "no")  # with the reason


def test_a_refusal_that_is_a_choice_without_a_meaning_keeps_its_reason(tmp_path):
    shop = Shop(Wait("May we?", choices=("yes", "no")))
    outcome = shop.play(tmp_path / "runs.db", answers={"wait:s1": "no: not this month"})
    assert outcome.reason.splitlines()[0] == "sign(): May we?: the answer is 'no: not this month'"
    assert shop.bank == []


def test_the_objection_to_an_answer_lists_no_word_twice(tmp_path):
    with pytest.raises(InputError, match=r"say one of: yes, no$"):
        Shop(MEANT).play(tmp_path / "runs.db", answers={"wait:s1": "perhaps"})


def test_choices_name_objects_and_no_parameters():
    domain = Domain("shop", types=["order"])
    domain.action("sign", {"o": "order"}, provides=["signed(o)"], tags=["trusted"])
    world = World(domain)
    world.handler("sign")(lambda **_: Wait("May we?", choices={"yes": ["signed(o)"], "no": []}))
    outcome = run_virtual(Executor(world).run(domain.problem(objects={"o 7": "order"}, goal=['signed("o 7")'])))
    assert outcome.reason.splitlines()[0] == (
        'sign("o 7"): signed(o) names a parameter of sign; name its object: signed("o 7")'
    )
    known = domain.problem(objects={"o": "order"}, goal=["signed(o)"])
    assert run_virtual(Executor(world).run(known)).status is RunStatus.WAITING


def test_a_report_of_a_predicate_that_nobody_declared_says_how_to_declare_it():
    domain = Domain("shop")
    domain.action("sign", provides=["signed"])
    world = World(domain)
    world.handler("sign")(lambda: ActionResult(observed=("refused",)))
    outcome = run_virtual(Executor(world).run(domain.problem(goal=["signed"])))
    assert "there is no predicate 'refused'; declare it: domain.predicate('refused', …)" in outcome.reason
