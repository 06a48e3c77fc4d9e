"""Requests that join a run: equal ones that are made at once, and those that name a run which is known."""

import asyncio
import json
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from joined_runs import Till

from executor import Agent, Executor, RunError, RunExists, RunStatus, World, joining
from executor.testing import run_virtual
from planner import Domain

PROGRAM = Path(__file__).parents[2] / "joined_runs.py"


class Shop:
    """Orders are paid at a bank whose clerk takes a second; everybody sees what is paid."""

    def __init__(self):
        self.bank = []
        self.domain = Domain("shop", types=["order"])
        self.domain.action("pay", {"order": "order"}, provides=["paid(order)"])
        self.domain.action("refund", {"order": "order"}, requires=["paid(order)"], tags=["irreversible"])
        self.world = World(self.domain)

        @self.world.handler("pay")
        async def pay(order):
            self.bank.append(order)
            await asyncio.sleep(1)

        self.world.observer("paid(order)", conclusive=True)(lambda order: order in self.bank)

    def problem(self, *goal, **stated):
        return self.domain.problem(objects={"o7": "order", "o8": "order"}, goal=goal or ["paid(o7)"], **stated)


@pytest.fixture
def shop():
    return Shop()


@pytest.fixture(params=["without a journal", "with a journal"])
def executor(request, shop, tmp_path):
    return Executor(shop.world, None if request.param == "without a journal" else tmp_path / "runs.db")


def gather(*requests):
    async def main():
        return await asyncio.gather(*[each() for each in requests], return_exceptions=True)

    return run_virtual(main())


def test_equal_requests_at_once_are_one_run_told_to_all(shop, executor):
    heard = [[], []]

    async def ask(number):
        run = executor.start(shop.problem())
        run.listen(lambda event: heard[number].append(type(event).__name__))
        return await run

    one, other = gather(lambda: ask(0), lambda: ask(1))
    assert shop.bank == ["o7"]
    assert (one.run, one.status) == (other.run, other.status)
    assert one.status is RunStatus.SUCCEEDED
    assert heard[0] == heard[1]
    assert heard[0][-1] == "RunEnded"


def test_a_request_joins_a_run_whose_plan_is_carried_out_already(shop, executor):
    async def late():
        await asyncio.sleep(0.5)
        return await executor.run(shop.problem())

    one, other = gather(lambda: executor.run(shop.problem()), late)
    assert (one.run, shop.bank) == (other.run, ["o7"])


@pytest.mark.parametrize(
    ("options", "payments"),
    [
        ({"memory": {"note": "other"}}, 2),
        ({"occasion": "2026-11"}, 2),
        ({"again": ("refund(o7)",)}, 2),
        ({"approve": lambda _: True}, 2),
        ({"join": False}, 2),
        ({"run": "named"}, 2),
        ({}, 1),
    ],
    ids=["memory", "occasion", "again", "approve", "join", "run", "the same"],
)
def test_requests_for_something_else_are_runs_of_their_own(shop, executor, options, payments):
    outcomes = gather(lambda: executor.run(shop.problem()), lambda: executor.run(shop.problem(), **options))
    assert len({each.run for each in outcomes}) == payments
    assert len(shop.bank) == payments


def test_the_order_of_goals_and_the_initial_state_make_no_other_request(shop, executor):
    one, other = ["paid(o7)", "paid(o8)"], ["paid(o8)", "paid(o7)"]
    first, second = gather(
        lambda: executor.run(shop.problem(*one)), lambda: executor.run(shop.problem(*other, initial=["paid(o8)"]))
    )
    assert first.run == second.run


def test_plans_without_a_goal_are_equal_if_their_steps_are(shop, executor):
    from executor import ActionPlan

    def plan(order):
        step = {"id": "s1", "action": "pay", "arguments": {"order": order}}
        return ActionPlan.model_validate({"steps": [step], "objects": {"o7": "order", "o8": "order"}})

    outcomes = gather(*[lambda order=order: executor.run(plan(order)) for order in ("o7", "o8", "o7")])
    assert outcomes[0].run == outcomes[2].run != outcomes[1].run
    assert sorted(shop.bank) == ["o7", "o8"]


def test_whoever_is_cancelled_leaves_the_run_to_the_others(shop, executor):
    async def hasty():
        async with asyncio.timeout(0.5):
            await executor.run(shop.problem())

    for requests in ((hasty, lambda: executor.run(shop.problem())), (lambda: executor.run(shop.problem()), hasty)):
        shop.bank.clear()
        found = {type(each).__name__: each for each in gather(*requests)}
        assert found["RunOutcome"].status is RunStatus.SUCCEEDED
        assert "TimeoutError" in found
        assert shop.bank == ["o7"]


def test_a_run_is_called_off_when_the_last_of_its_callers_calls_it_off(shop, executor):
    async def main():
        first, second = executor.start(shop.problem("paid(o7)", "paid(o8)")), None
        second = executor.start(shop.problem("paid(o7)", "paid(o8)"))
        await asyncio.sleep(0.5)
        first.cancel()
        await asyncio.sleep(0)
        went_on = not first.called_off.is_set()
        second.cancel()
        return went_on, (await first).status, (await second).status

    assert run_virtual(main()) == (True, RunStatus.CANCELLED, RunStatus.CANCELLED)
    assert len(shop.bank) == 1


def test_a_run_of_which_all_callers_are_cancelled_can_be_taken_up(shop, tmp_path):
    executor = Executor(shop.world, tmp_path / "runs.db")

    async def hasty(seconds):
        async with asyncio.timeout(seconds):
            await executor.run(shop.problem("paid(o7)", "paid(o8)"))

    assert [type(each) for each in gather(lambda: hasty(0.4), lambda: hasty(0.6))] == [TimeoutError] * 2
    [run] = executor.runs()
    assert run_virtual(executor.resume(run)).status is RunStatus.SUCCEEDED
    assert sorted(shop.bank) == ["o7", "o8"]


def test_requests_of_other_threads_join(shop, monkeypatch):
    executor, outcomes, together = Executor(shop.world), [], threading.Barrier(3)

    def find_slowly(*given):
        found = joining.find_leader(*given)
        time.sleep(0.05)  # so that others ask before the run is noted
        return found

    monkeypatch.setattr("executor.executor.find_leader", find_slowly)

    def ask():
        together.wait()
        outcomes.append(asyncio.run(executor.run(shop.problem())))

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert shop.bank == ["o7"]
    assert len({each.run for each in outcomes}) == 1


def test_what_stops_the_run_stops_it_for_all(shop, executor):
    hopeless = shop.domain.problem(objects={"o7": "order"}, goal=["paid(o7)", "not paid(o7)"])
    found = gather(lambda: executor.run(hopeless), lambda: executor.run(hopeless))
    assert [type(each).__name__ for each in found] == ["NoPlan"] * 2


@pytest.mark.parametrize("doors", ["achieve", "rooms", "agents"])
def test_equal_requests_to_agents_are_one_run(shop, doors):
    agents = [Agent(shop.world, shop.problem())] * 2
    if doors == "agents":
        agents = [Agent(shop.world, shop.problem()) for _ in range(2)]
    asked = [each.room(f"room {n}") if doors == "rooms" else each for n, each in enumerate(agents)]
    told = [[], []]
    one, other = gather(
        lambda: asked[0].achieve(["paid(o7)"], tell=told[0].append),
        lambda: asked[1].achieve(["paid(o7)"], tell=told[1].append),
    )
    assert one.succeeded
    assert other.succeeded
    assert (one.outcome.run, shop.bank) == (other.outcome.run, ["o7"])
    assert [[type(each).__name__ for each in events].count("StepEnded") for events in told] == [1, 1]


def test_a_name_that_is_known_joins_its_run(shop, executor):
    for _ in range(2):
        outcome = run_virtual(executor.run(shop.problem(), run="bill"))
        assert (outcome.run, outcome.status, shop.bank) == ("bill", RunStatus.SUCCEEDED, ["o7"])
    first, second = gather(*[lambda: executor.run(shop.problem("paid(o8)"), run="other")] * 2)
    assert (first.run, second.run, shop.bank) == ("other", "other", ["o7", "o8"])


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"goal": "paid(o8)"}, "there is already a run 'bill', and it was begun for another goal; take another name"),
        ({"memory": {"note": 1}}, "and it was begun for another memory"),
        ({"occasion": "2026-12"}, "and it was begun for another occasion"),
        ({"again": ("refund(o7)",)}, "and it was begun for another choice of steps to do again; take another name"),
        ({"join": False}, "there is already a run 'bill'; take another name"),
    ],
)
@pytest.mark.parametrize("stands", ["over", "at work"])
def test_a_name_of_a_run_for_something_else_is_refused(shop, executor, stands, asked, said):
    problem = shop.problem(asked.get("goal", "paid(o7)"))
    options = {name: value for name, value in asked.items() if name != "goal"}

    async def main():
        run = executor.start(shop.problem(), run="bill")
        if stands == "over":
            await run
        with pytest.raises(RunExists, match=said):
            await executor.start(problem, run="bill", **options)
        await run

    run_virtual(main())
    assert shop.bank == ["o7"]


def test_a_run_that_was_interrupted_is_taken_up_by_its_name(shop, executor):
    both = shop.problem("paid(o7)", "paid(o8)")

    async def main():
        run = executor.start(both, run="bill")
        await asyncio.sleep(0.5)
        run.interrupt()
        return (await run).status, (await executor.run(both, run="bill")).status

    assert run_virtual(main()) == (RunStatus.WAITING, RunStatus.SUCCEEDED)
    assert sorted(shop.bank) == ["o7", "o8"]


def test_a_request_for_a_run_that_waits_for_an_answer_returns_its_question(tmp_path):
    domain, bank = Domain("till"), []
    domain.action("pay", provides=["paid"], tags=["needs_approval"])
    world = World(domain)
    world.handler("pay")(lambda: bank.append("pay"))
    world.observer("paid", conclusive=True)(lambda: bool(bank))
    for place in (None, tmp_path / "runs.db"):
        executor, problem = Executor(world, place, ask="later"), domain.problem(goal=["paid"])
        for _ in range(2):
            outcome = run_virtual(executor.run(problem, run="bill"))
            assert (outcome.status, [each.question for each in outcome.questions]) == (
                RunStatus.WAITING,
                ["approve:s1"],
            )
        assert run_virtual(executor.resume("bill", answers={"approve:s1": "yes"})).status is RunStatus.SUCCEEDED
        assert run_virtual(executor.run(problem, run="bill")).status is RunStatus.SUCCEEDED
        assert bank == ["pay"]
        bank.clear()


def test_another_executor_joins_by_the_journal(shop, tmp_path):
    executors = [Executor(shop.world, tmp_path / "runs.db") for _ in range(2)]
    first, second = gather(*[lambda each=each: each.run(shop.problem(), run="bill") for each in executors])
    assert (first.run, second.run, shop.bank) == ("bill", "bill", ["o7"])
    with pytest.raises(RunExists, match=r"runs\.db: there is already a run 'bill', and it was begun for another goal"):
        run_virtual(executors[0].run(shop.problem("paid(o8)"), run="bill"))


def test_enqueueing_twice_by_name_records_one_run(shop, tmp_path):
    executor = Executor(shop.world, tmp_path / "runs.db")

    async def main():
        return [await executor.enqueue(shop.problem(), run="bill") for _ in range(2)]

    assert run_virtual(main()) == ["bill", "bill"]
    assert [(each.run, each.status) for each in executor.runs().values()] == [("bill", RunStatus.PROPOSED)]
    assert shop.bank == []
    assert run_virtual(executor.run(shop.problem(), run="bill")).status is RunStatus.SUCCEEDED


def test_without_a_journal_the_latest_outcomes_are_kept(shop, monkeypatch):
    monkeypatch.setattr("executor.executor.MOST_KEPT", 1)
    executor = Executor(shop.world)
    for name in ("first", "second"):
        run_virtual(executor.run(shop.problem(), run=name))
    assert run_virtual(executor.run(shop.problem(), run="second")).succeeded
    with pytest.raises(RunExists, match="its outcome is kept no longer; take another name; a journal keeps outcomes"):
        run_virtual(executor.run(shop.problem(), run="first"))


def begin(*arguments):
    return subprocess.Popen([sys.executable, PROGRAM, *map(str, arguments)], stdout=subprocess.PIPE, text=True)


def read(process):
    return json.loads(process.communicate(timeout=60)[0])


async def wait_for_payment(till):
    while not till.payments():  # noqa: ASYNC110 - another process makes them
        await asyncio.sleep(0.02)


@pytest.mark.parametrize("run", ["bill", "-"])
def test_a_run_of_another_process_is_followed(tmp_path, run):
    till, other, heard = Till(tmp_path), begin(tmp_path, "run", run, "paid(o7)", "waits"), []

    async def main():
        await wait_for_payment(till)
        mine = till.executor.start(till.problem(), **({} if run == "-" else {"run": run}))
        mine.listen(lambda event: heard.append(type(event).__name__))
        await asyncio.sleep(0.3)
        with pytest.raises(RunError, match="another process drives the run"):
            mine.answer("approve:s1", "yes")
        (tmp_path / "go").touch()
        return await mine

    outcome = asyncio.run(main())
    assert read(other)[:2] == [outcome.run, "SUCCEEDED"]
    assert outcome.status is RunStatus.SUCCEEDED
    assert till.payments() == ["o7"]
    assert (heard[0], heard[-1]) == ("RunStarted", "RunEnded")


@pytest.mark.parametrize("run", ["bill", "-"])
def test_a_run_of_a_process_that_dies_is_taken_up_by_whoever_followed_it(tmp_path, run):
    till, other = Till(tmp_path), begin(tmp_path, "run", run, "paid(o7)", "waits")

    async def main():
        await wait_for_payment(till)
        mine = till.executor.start(till.problem(), **({} if run == "-" else {"run": run}))
        await asyncio.sleep(0.3)
        other.kill()
        return await mine

    outcome = asyncio.run(main())
    other.communicate()
    assert outcome.status is RunStatus.SUCCEEDED
    assert till.payments() == ["o7"]
    assert list(till.executor.runs()) == [outcome.run]


def test_a_run_that_was_killed_is_taken_up_by_its_name(tmp_path):
    begin(tmp_path, "run", "bill", "paid(o7)", "dies").communicate()
    assert read(begin(tmp_path, "run", "bill", "paid(o7)", "pays"))[:2] == ["bill", "SUCCEEDED"]
    assert read(begin(tmp_path, "run", "bill", "paid(o7)", "pays"))[:2] == ["bill", "SUCCEEDED"]
    assert read(begin(tmp_path, "run", "bill", "paid(o8)", "pays"))[1] == "RunExists"
    assert Till(tmp_path).payments() == ["o7"]


def test_under_trio_it_is_said_that_asyncio_is_needed(monkeypatch):
    trio = SimpleNamespace(lowlevel=SimpleNamespace(in_trio_run=lambda: True))
    monkeypatch.setitem(sys.modules, "trio", trio)
    domain = Domain("quick")
    domain.action("go", provides=["gone"], tags=["trusted"])
    world = World(domain)
    world.handler("go")(lambda: None)
    with pytest.raises(RunError, match="needs the event loop of asyncio, and trio's runs here"):
        Executor(world).start(domain.problem(goal=["gone"]))
