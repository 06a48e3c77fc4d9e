"""Processes that misbehave: each is ended in time, with all that it has started, and the next one answers."""

from __future__ import annotations

import asyncio
import os
import re

import pytest

from executor.service import pool
from executor.service.desk import Desk, DeskSettings
from executor.service.jobs import Job, State
from executor.service.kept_answers import Answers
from executor.service.keys import Busy, Client, Quota
from executor.service.messages import Answer, write_json
from executor.service.metrics import Metrics
from executor.service.pool import Worker, WorkerLost, WorkerSettings
from executor.service.questions import Question, Request
from executor.service.tracing import Tracing

pytestmark = pytest.mark.anyio
HOSTILE = WorkerSettings(0.2, "hostile_worker")


def ask(what, time_limit=30.0):
    return {"question": Question("solve", what).to_dict(), "time_limit": time_limit}


def exists(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.fixture(autouse=True)
def soon(monkeypatch):
    monkeypatch.setattr(pool, "LATE_SECONDS", 0.5)


@pytest.mark.parametrize(
    ("what", "limit", "kind", "says"),
    [
        ("exit", 30.0, "crashed", "code 3"),
        ("babble", 30.0, "crashed", "no message"),
        ("hang", 0.2, "time", "did not end at its time limit"),
        ("eat", 30.0, "memory", "more than 0.2 GiB"),
    ],
)
async def test_a_process_that_misbehaves_is_ended(what, limit, kind, says):
    worker = await Worker.start(HOSTILE)
    with pytest.raises(WorkerLost, match=says) as lost:
        await worker.ask(ask(what, limit), lambda _: None)
    assert lost.value.kind == kind
    await worker.close()
    assert worker.has_ended
    assert not exists(worker.pid)
    assert worker._process.stdout.at_eof()


async def test_what_a_process_has_started_is_ended_with_it(monkeypatch):
    worker, seen, measure = await Worker.start(HOSTILE), set(), pool.tree_bytes

    def look(pid):
        seen.update(pool.processes_below(pid))
        return measure(pid)

    monkeypatch.setattr(pool, "tree_bytes", look)
    with pytest.raises(WorkerLost):
        await worker.ask(ask("eat"), lambda _: None)
    await worker.close()
    assert seen
    for _ in range(200):
        if not any(map(exists, seen)):
            break
        await asyncio.sleep(0.05)
    assert not any(map(exists, seen))


async def test_a_process_that_ignores_interrupts_is_killed():
    worker = await Worker.start(HOSTILE)

    def interrupt(_):
        worker.interrupt()

    with pytest.raises(WorkerLost) as lost:
        await worker.ask(ask("plan and hang"), interrupt)
    assert lost.value.kind == "cancelled"
    await worker.close()


async def test_a_cancelled_question_whose_process_dies_is_not_asked_again(desk):
    job = submit(desk, "hang")
    await wait_until(lambda: job.state is State.RUNNING)
    desk.cancel(job)
    desk._at_work[job].kill()
    await job.wait_for_end()
    assert job.state is State.CANCELLED
    assert not job.is_repeated


def make_desk(workers=1, most_queued=4, *, is_shared=False):
    settings = DeskSettings(workers, most_queued, 1_000_000, 30.0, is_shared=is_shared, worker=HOSTILE)
    return Desk(settings, Metrics(), Tracing())


@pytest.fixture
async def desk():
    made = make_desk()
    made.open()
    yield made
    await made.close()


def submit(desk, what, client=None, **options):
    return desk.submit(
        Request(Question("solve", what, time_limit=options.pop("time_limit", None)), **options), client or Client("c")
    )


async def wait_until(holds):
    for _ in range(400):
        if holds():
            return
        await asyncio.sleep(0.05)
    assert holds()


def lost(desk):
    """Return how many processes were lost, by reason."""
    found = re.findall(r'workers_lost_total\{reason="(\w+)"\} (\d+)', desk.metrics.write({}))
    return {reason: int(count) for reason, count in found if int(count)}


async def test_others_are_answered_after_each_mishap(desk):
    for what, kind in [("exit", "crashed"), ("hang", "time"), ("eat", "memory"), ("babble", "crashed")]:
        bad = submit(desk, what, time_limit=0.3 if what == "hang" else None)
        good = submit(desk, "answer", fresh=True)
        await bad.wait_for_end()
        await good.wait_for_end()
        assert (bad.state, bad.error["kind"]) == (State.FAILED, kind)
        assert good.state is State.DONE


async def test_a_question_whose_process_crashed_is_asked_once_more(desk):
    job = submit(desk, "exit")
    await job.wait_for_end()
    assert job.is_repeated
    assert lost(desk) == {"crashed": 2}


async def test_a_plan_outlives_the_process_that_found_it(desk):
    job = submit(desk, "plan and hang", time_limit=0.2)
    await job.wait_for_end()
    assert job.state is State.DONE
    assert job.facts["status"] == "SOLVED"
    assert job.facts["stopped_by"] == "time"


async def test_an_idle_process_that_has_ended_is_replaced(desk):
    first = submit(desk, "answer")
    await first.wait_for_end()
    os.kill(first.answer.read()["by"], 9)
    await wait_until(lambda: lost(desk) == {"idle": 1})
    second = submit(desk, "answer", fresh=True)
    await second.wait_for_end()
    assert second.state is State.DONE
    assert second.answer.read()["by"] != first.answer.read()["by"]


async def test_a_process_that_has_grown_is_replaced_once_another_is_ready(desk):
    await wait_until(lambda: desk.workers == 2)
    grown = [submit(desk, "grow", fresh=True) for _ in range(2)]
    for each in grown:
        await each.wait_for_end()
    fewest = []
    gone = {each.answer.read()["by"] for each in grown}
    await wait_until(lambda: fewest.append(desk.workers) or not gone & {each.pid for each in desk._workers})
    assert min(fewest) == 1
    assert lost(desk) == {}


async def test_nobody_waits_for_the_next_process_to_start(monkeypatch):
    desk = make_desk()
    desk.open()
    await wait_until(lambda: desk.workers == 2)

    async def start(_):
        await asyncio.sleep(1000)

    monkeypatch.setattr(Worker, "start", start)
    os.kill(desk._workers[0].pid, 9)
    for _ in range(2):
        job = submit(desk, "answer", fresh=True)
        await asyncio.wait_for(job.wait_for_end(), 20)
    assert job.state is State.DONE
    await desk.close()


async def test_priorities_order_the_queue_and_age_counts():
    desk = make_desk(most_queued=10)
    low, high, middle = (submit(desk, "answer", priority=each, fresh=True) for each in (1, 8, 5))
    assert [desk._take().priority for _ in range(3)] == [8, 5, 1]
    old = submit(desk, "answer", priority=1, fresh=True)
    old.created -= 300
    new = submit(desk, "answer", priority=9, fresh=True)
    assert desk._take() is old
    assert desk._take() is new
    assert (low.state, high.state, middle.state) == (State.QUEUED,) * 3


async def test_among_equals_the_client_with_less_at_work_comes_first():
    desk = make_desk(most_queued=10)
    greedy, modest = Client("greedy"), Client("modest")
    jobs = [submit(desk, "answer", client=greedy, fresh=True) for _ in range(3)]
    late = submit(desk, "answer", client=modest, fresh=True)
    assert desk._take() is jobs[0]
    assert desk._take() is late


async def test_quotas():
    desk = make_desk(most_queued=10)
    client = Client("c", Quota(per_minute=2, at_once=1, priority=3))
    first, second = submit(desk, "answer", client=client, priority=9, fresh=True), submit(desk, "hang", client=client)
    assert first.priority == 3
    with pytest.raises(Busy, match="more than 2 questions in a minute") as busy:
        submit(desk, "answer", client=client)
    assert 1 <= busy.value.retry_after <= 60
    assert desk._take() is first
    other = submit(desk, "answer", fresh=True)
    assert desk._take() is other
    assert desk._queue == [second], "its client has one at work already"
    spender = Client("s", Quota(seconds_per_hour=5))
    spender.spend(6)
    with pytest.raises(Busy, match="5 seconds of processes in an hour"):
        spender.begin()


async def test_a_full_queue_refuses():
    desk = make_desk(most_queued=2)
    for _ in range(2):
        submit(desk, "answer", fresh=True)
    with pytest.raises(Busy, match="2 questions wait already"):
        submit(desk, "answer", fresh=True)


async def test_a_refused_question_takes_none_of_the_quota():
    desk, client = make_desk(most_queued=1), Client("c", Quota(per_minute=2))
    first = submit(desk, "answer", client=client, fresh=True)
    with pytest.raises(Busy, match="1 questions wait already"):
        submit(desk, "answer", client=client, fresh=True)
    desk.cancel(first)
    submit(desk, "answer", client=client, fresh=True)


async def test_one_client_cannot_take_the_whole_queue():
    desk, greedy = make_desk(most_queued=8, is_shared=True), Client("greedy")
    for _ in range(4):
        submit(desk, "answer", client=greedy, fresh=True)
    with pytest.raises(Busy, match="4 of your questions wait already"):
        submit(desk, "answer", client=greedy, fresh=True)
    for name in "abc":
        submit(desk, "answer", client=Client(name), fresh=True)


def test_a_client_is_asked_back_when_its_quota_is_free():
    assert Busy("quota", "", 59.2).retry_after == 60
    assert Busy("quota", "", -1.0).retry_after == 1


def test_clients_without_a_quota_are_not_counted():
    client = Client("c")
    for _ in range(3):
        client.begin()
    assert not client._begun


def job_with(answer, *, domain="d", kind="solve", time_limit=10.0):
    question = Question(kind, domain)
    job = Job(Request(question), Client("c"), time_limit, 5, question.content_hash)
    length = len(write_json(answer | {"reason": ""}))
    job.answer = Answer.of(answer | {"reason": "x" * (100 - length)})
    return job


async def test_kept_answers_are_as_good_as_new_ones():
    answers = Answers(250)
    proved = job_with({"status": "OPTIMAL", "stopped_by": "exhausted"})
    answers.keep(proved)
    assert answers.find(proved.content_hash, 1000.0) == proved.answer
    found = job_with({"status": "SOLVED", "stopped_by": "time"}, domain="e")
    answers.keep(found)
    assert answers.find(found.content_hash, 10.0) == found.answer
    assert answers.find(found.content_hash, 10.5) is None, "more time might give more"
    assert answers.find(proved.content_hash) == proved.answer
    answers.keep(job_with({"status": "OPTIMAL", "stopped_by": "exhausted"}, domain="f"))
    assert (len(answers), answers.bytes) == (2, 200)
    assert answers.find(found.content_hash) is None, "the one asked for least recently goes first"
    for answer in [
        {"status": "UNKNOWN", "stopped_by": "time"},
        {"status": "SOLVED", "stopped_by": "cancelled"},
        {"status": "SOLVED", "stopped_by": "crashed"},
    ]:
        bad = job_with(answer, domain=str(answer))
        answers.keep(bad)
        assert answers.find(bad.content_hash) is None
