"""`forethought worker`: exit codes, what it says of runs that it cannot drive, health, metrics, and retention."""

from __future__ import annotations

import asyncio
import json
import re
import signal
import urllib.error
import urllib.request

import pytest
from belt_workers import WORLD, enqueue, start_worker, status_of, wait_until

from executor import Executor, World
from executor.cli.worker import judge_runs
from executor.events.events import RunStatus
from executor.events.stored_runs import Retention
from executor.journal import open_journal
from executor.workers.worker import Worker
from planner import Domain
from planner.cli import main

SHOP = """
from executor import World
from planner import Domain
from executor.tools.results import ActionResult, Wait

shop = Domain("shop")
shop.action("{action}", {{}}, provides=["done"], tags=["trusted"])
world = World(shop)
problem = shop.problem(goal=["done"])


@world.handler("{action}")
def act():
    {body}
"""
TOKEN = "a-token-of-the-test-0123456789"


def write_shop(tmp_path, body="return True", action="do", name="shop.py"):
    path = tmp_path / name
    path.write_text(SHOP.format(body=body, action=action))
    return path


def forethought(*words):
    """Run a command in this process; return its exit code."""
    with pytest.raises(SystemExit) as ended:
        main([*map(str, words)])
    return ended.value.code


def fetch(url, **headers):
    """Return the code and the body of a response."""
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=20) as found:
            return found.status, found.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


@pytest.mark.parametrize(
    ("body", "code"),
    [("return True", 0), ('return Wait(event="mail")', 11), ('return ActionResult.failed("no")', 11)],
    ids=["succeeds", "waits", "asks what to do"],
)
def test_the_exit_code_says_what_became_of_the_runs(tmp_path, body, code):
    shop, place = write_shop(tmp_path, body), tmp_path / "runs.db"
    assert forethought("run", shop, "--real", "--journal", place, "--enqueue", "-q") == 0
    assert forethought("worker", shop, "--journal", place, "--once", "-q") == code
    assert forethought("worker", shop, "--journal", place, "--once", "-q") == 0, "nothing was due"


@pytest.mark.parametrize(
    ("ends", "code"),
    [
        ([], 0),
        ([RunStatus.FAILED], 10),
        ([RunStatus.WAITING, RunStatus.IMPOSSIBLE, None], 10),
        ([RunStatus.IN_DOUBT], 11),
        ([RunStatus.UNVERIFIED], 11),
        ([None], 11),
    ],
)
def test_a_failed_run_outweighs_one_that_waits(ends, code):
    assert judge_runs(ends) == code


def test_a_worker_with_another_version_of_the_domain_says_what_to_do(tmp_path, capsys):
    place = tmp_path / "runs.db"
    forethought("run", write_shop(tmp_path), "--real", "--journal", place, "--enqueue", "-q")
    run = open_journal(place).runs()[0].run
    capsys.readouterr()
    other = write_shop(tmp_path, action="act", name="other.py")
    assert forethought("worker", other, "--journal", place, "--once") == 11
    said = capsys.readouterr().err
    assert f"{run}: its plan does not fit this worker's version of the domain 'shop': there is no action 'do'" in said
    assert re.search(r"was made on \d{4}-\d\d-\d\d .* with the actions do, and this version has act;", said)
    assert f"was made with, or delete the run: forethought runs delete {place} {run}" in said


@pytest.mark.timeout(240)
def test_a_worker_that_wakes_up_late_says_that_its_run_was_taken_over(postgres, tmp_path):
    belt, place = tmp_path / "belt.py", postgres.address("late", lease=1)
    belt.write_text(WORLD.replace("sleep(0.1)", "sleep(3 if number == 1 else 0.1)"))  # time to stop the first one
    run, log = enqueue(belt, place), tmp_path / "log"
    with log.open("w") as file:
        first = start_worker(belt, place, stderr=file)
        wait_until((tmp_path / "acts").exists)
        first.send_signal(signal.SIGSTOP)
        with (tmp_path / "second").open("w") as other:
            second = start_worker(belt, place, stderr=other)
            wait_until(lambda: status_of(place, run) == "SUCCEEDED")
        first.send_signal(signal.SIGCONT)
        wait_until(lambda: f"another process has taken over run '{run}'" in log.read_text())
    for each in (first, second):
        each.terminate()
        each.wait(60)


@pytest.fixture
def shop():
    domain = Domain("shop")
    domain.action("do", {}, provides=["done"], tags=["trusted"])
    world = World(domain)
    world.handler("do")(lambda: True)
    return domain, world


def test_a_worker_deletes_what_has_expired_and_one_does_so_at_a_time(place, shop):
    domain, world = shop
    executor, told = Executor(world, place), []

    async def main():
        await executor.run(domain.problem(goal=["done"]), run="old")
        worker = Worker(executor, tell=told.append, retention=Retention(over=0))
        with open_journal(place) as other:
            if isinstance(place, str):  # a lock in a file is of the process
                assert other.locks.hold("retention")
                await worker.work(once=True)
                assert [each.run for each in executor.journal.runs()] == ["old"]
                other.locks.let_go("retention")
        await worker.work(once=True)
        assert executor.journal.runs() == []

    asyncio.run(main())
    executor.journal.close()
    assert told == ["old: deleted, as it has expired"]


def test_the_command_keeps_finished_runs_as_long_as_it_is_told(tmp_path, capsys):
    shop, place = write_shop(tmp_path), tmp_path / "runs.db"
    forethought("run", shop, "--real", "--journal", place, "-q")
    assert forethought("worker", shop, "--journal", place, "--once", "--keep-finished", "1d", "-q") == 0
    assert len(open_journal(place).runs()) == 1
    assert forethought("worker", shop, "--journal", place, "--once", "--keep-finished", "0s", "-q") == 0
    assert open_journal(place).runs() == []
    assert forethought("worker", shop, "--journal", place, "--once", "--keep-finished", "soon") == 2
    assert "--keep-finished takes a number and a unit of time, not 'soon'" in capsys.readouterr().err


def start_listening(belt, place, log, *options):
    """Start a worker that listens; return its process and URL."""
    with log.open("w") as file:
        process = start_worker(belt, place, "--listen", "127.0.0.1:0", *options, stderr=file)
    wait_until(lambda: "its health is at" in log.read_text() or process.poll() is not None)
    return process, re.search(r"(http://\S+)/health", log.read_text())[1]


@pytest.mark.timeout(240)
def test_health_and_metrics_of_a_worker(postgres, tmp_path):
    belt, place = tmp_path / "belt.py", postgres.address("health", patience=60)
    belt.write_text(WORLD)
    run = enqueue(belt, place)
    process, url = start_listening(belt, place, tmp_path / "log")
    try:
        wait_until(lambda: status_of(place, run) == "SUCCEEDED")
        code, body = fetch(f"{url}/health")
        assert (code, json.loads(body)["ready"], json.loads(body)["status"]) == (200, True, "ok")
        wait_until(lambda: 'forethought_runs_ended_total{status="SUCCEEDED"} 1' in fetch(f"{url}/metrics")[1])
        metrics = fetch(f"{url}/metrics")[1]
        for line in (
            "forethought_worker_ready 1",
            "forethought_runs_at_work 0",
            'forethought_runs_taken_up_total{died="no"} 1',
            'forethought_steps_ended_total{status="SUCCEEDED"} 8',
            "# TYPE forethought_journal_seconds histogram",
        ):
            assert line in metrics
        assert fetch(f"{url}/health", Host="evil.example")[0] == 403
        assert fetch(f"{url}/metrics", Host="evil.example")[0] == 403
        postgres.halt()
        try:
            wait_until(lambda: fetch(f"{url}/health")[0] == 503)
            assert json.loads(fetch(f"{url}/health")[1])["status"] == "the journal does not answer"
        finally:
            postgres.start()
        wait_until(lambda: fetch(f"{url}/health")[0] == 200)
    finally:
        process.terminate()
        assert process.wait(60) == 0


def test_metrics_ask_for_the_token_and_health_does_not(tmp_path):
    belt, token = tmp_path / "belt.py", tmp_path / "token"
    belt.write_text(WORLD)
    token.write_text(TOKEN)
    token.chmod(0o600)
    process, url = start_listening(belt, tmp_path / "runs.db", tmp_path / "log", "--token-file", token)
    try:
        wait_until(lambda: fetch(f"{url}/health")[0] == 200)
        assert fetch(f"{url}/metrics")[0] == 401
        assert fetch(f"{url}/metrics", Authorization=f"Bearer {TOKEN}x")[0] == 401
        assert fetch(f"{url}/metrics", Authorization=f"Bearer {TOKEN}")[0] == 200
    finally:
        process.terminate()
        assert process.wait(60) == 0


def test_a_worker_does_not_listen_beyond_loopback_without_a_token(tmp_path, capsys, monkeypatch):
    monkeypatch.delenv("FORETHOUGHT_WORKER_TOKEN", raising=False)
    words = ["worker", write_shop(tmp_path), "--journal", tmp_path / "runs.db", "--listen", "0.0.0.0:0"]
    assert forethought(*words) == 2
    assert "0.0.0.0 can be reached from other machines, and there is no token" in capsys.readouterr().err
