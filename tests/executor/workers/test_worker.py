"""Workers take up what nobody drives: runs that were enqueued, interrupted, answered, or whose process has died."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest

from executor import Executor, RunStatus, Wait, World
from executor.errors import DrivenError
from executor.events.events import RunResumed, RunStarted, StepStarted, event_to_data
from executor.journal import open_journal
from executor.tools.json_data import dump_json
from executor.workers.worker import History, Worker
from planner import Domain
from planner.errors import InputError


class Shop:
    """A world in which orders are packed and sent; `acts` counts what was done, by run."""

    def __init__(self, name="shop", asks=()):
        self.acts, self.inside, self.most = Counter(), 0, 0
        self.domain = Domain(name)
        self.domain.action("pack", {}, provides=["packed"], tags=["trusted"])
        self.domain.action("send", {}, requires=["packed"], provides=["sent"], tags=["trusted", *asks])
        self.world = World(self.domain)

        @self.world.handler("pack")
        async def pack(context):
            self.inside += 1
            self.most = max(self.most, self.inside)
            await asyncio.sleep(0.02)
            self.inside -= 1
            self.acts[context.run, "pack"] += 1

        @self.world.handler("send")
        async def send(context):
            self.acts[context.run, "send"] += 1

    def problem(self):
        return self.domain.problem(goal=["sent"])


def enqueue(shop, place, *runs):
    async def main():
        for run in runs:
            assert await executor.enqueue(shop.problem(), run=run) == run

    executor = Executor(shop.world, place)
    asyncio.run(main())
    executor.journal.close()


def work(shop, place, **options):
    """Let a worker take up all that is due; return what it told."""
    told = []
    executor = Executor(shop.world, place, ask="later")
    try:
        asyncio.run(Worker(executor, tell=told.append, **options).work(once=True))
    finally:
        executor.journal.close()
    return told


def statuses(place):
    with open_journal(place) as journal:
        return {each.run: each.status for each in journal.runs()}


def test_what_was_enqueued_is_carried_out_once(place):
    shop = Shop()
    enqueue(shop, place, "a", "b", "c")
    assert statuses(place) == dict.fromkeys("abc", "PROPOSED")
    assert shop.acts == {}
    told = work(shop, place)
    assert statuses(place) == dict.fromkeys("abc", "SUCCEEDED")
    assert shop.acts == {(run, act): 1 for run in "abc" for act in ("pack", "send")}
    assert "a: SUCCEEDED" in told
    assert work(shop, place) == []


def test_a_worker_drives_so_many_runs_at_once_as_it_is_told(place):
    shop = Shop()
    enqueue(shop, place, *map(str, range(7)))
    work(shop, place, concurrency=3)
    assert set(statuses(place).values()) == {"SUCCEEDED"}
    assert shop.most == 3


def test_runs_of_another_domain_are_left_alone(place):
    enqueue(Shop(), place, "a")
    assert work(Shop("another_shop"), place) == []
    assert statuses(place) == {"a": "PROPOSED"}


def test_a_run_that_waits_for_an_answer_is_taken_up_with_it(place):
    shop = Shop(asks=["needs_approval"])
    enqueue(shop, place, "a")
    work(shop, place)
    assert statuses(place) == {"a": "WAITING"}
    assert work(shop, place) == []

    async def answer():
        (question,) = executor.state_of("a").open_questions
        await executor.hand_over("a", answers={question: "yes"})

    executor = Executor(shop.world, place)
    asyncio.run(answer())
    executor.journal.close()
    assert shop.acts == {("a", "pack"): 1}
    work(shop, place)
    assert statuses(place) == {"a": "SUCCEEDED"}
    assert shop.acts == {("a", "pack"): 1, ("a", "send"): 1}


def test_a_worker_that_is_stopped_leaves_its_runs_free(place):
    shop = Shop()
    enqueue(shop, place, "a", "b")

    async def main():
        executor = Executor(shop.world, place)
        worker = Worker(executor, poll=0.05)
        working = asyncio.ensure_future(worker.work())
        while not shop.inside:  # noqa: ASYNC110 - the handler tells nobody
            await asyncio.sleep(0.001)
        worker.stop()
        await working
        free = [each.run for each in executor.journal.free(["WAITING", "PROPOSED"])]
        executor.journal.close()
        return free

    assert asyncio.run(main()) == ["a", "b"]
    work(shop, place)
    assert statuses(place) == {"a": "SUCCEEDED", "b": "SUCCEEDED"}
    assert set(shop.acts.values()) == {1}


def test_two_workers_share_the_runs(place):
    shop = Shop()
    runs = [f"r{number}" for number in range(12)]
    enqueue(shop, place, *runs)

    async def main():
        executors = [Executor(shop.world, open_journal(place)) for _ in range(2)]
        workers = [Worker(each, concurrency=2, poll=0.02) for each in executors]
        await asyncio.gather(*(each.work(once=True) for each in workers))
        for each in executors:
            each.journal.close()
        return [each.done for each in workers]

    done = asyncio.run(main())
    assert sum(done) == 12
    assert min(done) > 0
    assert shop.acts == {(run, act): 1 for run in runs for act in ("pack", "send")}


def begun(place, shop, *events):
    """Make a run that died after `events`."""
    enqueue(shop, place, "a")
    with open_journal(place) as journal, journal.drive("a"):
        for event in events:
            status = "ACTIVE" if isinstance(event, RunResumed | RunStarted) else None
            journal.append("a", type(event).__name__, dump_json(event_to_data(event)), status=status)


RESUMED, STARTED = RunResumed("a"), StepStarted("s1", 1, "pack", "a/s1")


@pytest.mark.parametrize(
    ("events", "status", "reason"),
    [
        ([RESUMED] * 3, "FAILED", "given up: 3 processes died one after the other, and it got no further"),
        ([RESUMED, STARTED, RESUMED, RESUMED], "IN_DOUBT", "given up: 3 .* while s1 was at work, and it got no"),
        ([RESUMED] * 2, "SUCCEEDED", ""),
    ],
)
def test_a_run_that_kills_its_processes_is_given_up(place, events, status, reason):
    shop = Shop()
    begun(place, shop, *events)
    told = work(shop, place, deaths=3)
    assert statuses(place) == {"a": status}
    assert reason.split(".*")[-1] in "\n".join(told)
    assert bool(shop.acts) is (status == "SUCCEEDED")
    assert work(shop, place, deaths=3) == []


def test_a_run_in_doubt_that_was_given_up_can_be_taken_up_by_somebody(place):
    shop = Shop()
    begun(place, shop, RESUMED, STARTED, RESUMED)
    work(shop, place, deaths=2)
    executor = Executor(shop.world, place)
    outcome = asyncio.run(executor.resume("a"))
    executor.journal.close()
    assert outcome.status in (RunStatus.SUCCEEDED, RunStatus.IN_DOUBT)


def test_a_run_that_cannot_be_rebuilt_is_told_once(place):
    shop = Shop()
    with open_journal(place) as journal:
        journal.create("a")
        with journal.drive("a"):
            data = event_to_data(RunStarted("a", {"steps": [{"id": "s1", "action": "fly"}]}, "sequential", {}, "shop"))
            journal.append("a", "RunStarted", dump_json(data), status="PROPOSED")
    told = work(shop, place)
    assert len(told) == 2
    assert "fly" in told[1]


def test_deaths_are_counted_since_the_run_last_got_on(place):
    shop = Shop()
    enqueue(shop, place, "a")
    with open_journal(place) as journal:
        assert History.of(journal.read("a"))[:4] == ("shop", 0, (), True)
    work(shop, place)
    with open_journal(place) as journal:
        assert History.of(journal.read("a")).deaths == 0


def test_a_run_that_waits_keeps_its_driver_until_its_time_comes(place):
    shop = Shop()
    waited = []

    @shop.world.handler("pack", name="later")
    def later():
        waited.append(1)
        return Wait(seconds=0.1)

    shop.world.skills["pack"] = shop.world.skills["pack"][1:]
    enqueue(shop, place, "a")
    work(shop, place)
    assert statuses(place) == {"a": "SUCCEEDED"}
    assert waited == [1]


def test_what_a_worker_cannot_work_with_is_told():
    with pytest.raises(InputError, match="a worker needs a journal"):
        Worker(Executor(Shop().world))
    with pytest.raises(InputError, match="concurrency of a worker is a whole number above 0, not 0"):
        Worker(Executor(Shop().world), concurrency=0)


def test_a_run_that_is_driven_is_left_to_its_driver(place):
    shop = Shop()
    enqueue(shop, place, "a")
    with open_journal(place) as journal, journal.drive("a"):
        assert work(shop, place) == []
        with pytest.raises(DrivenError):
            asyncio.run(Executor(shop.world, place).resume("a"))
