"""Real workers: killed at every event, stopped beyond their lease, cut off from the database, terminated."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import pytest
from belt_workers import WORLD, acts_of, enqueue, start_worker, status_of, wait_until
from postgres_server import Wire

from executor import Executor, World
from executor.journal import open_journal
from executor.workers.worker import Worker
from planner.language.loading.load import open_source

PROGRAM = Path(__file__).parents[2] / "killed_workers.py"
BLOCKS = 3
"""Parts of the writes, of which a run tests one."""
STEPS = {f"p{number}": 1 for number in range(1, 21)}


@pytest.mark.timeout(180)
@pytest.mark.parametrize("block", range(BLOCKS))
def test_a_worker_that_is_killed_at_any_event_is_replaced_by_another(tmp_path, place, block):
    call = [sys.executable, PROGRAM, tmp_path, place, str(block), str(BLOCKS)]
    done = subprocess.run(call, capture_output=True, text=True, timeout=170, check=True)
    runs = [json.loads(line) for line in done.stdout.splitlines()]
    assert {tuple(run["codes"]) for run in runs} == {(-signal.SIGKILL, 0)}
    assert [run for run in runs if (run["acts"], run["status"]) != (STEPS, "SUCCEEDED")] == []
    assert len(runs) >= 2 * 3 * 20 // BLOCKS, "each step is begun, answers, and ends"


@pytest.fixture
def belt(tmp_path):
    path = tmp_path / "belt.py"
    path.write_text(WORLD)
    return path


@pytest.mark.timeout(240)
def test_a_worker_that_was_stopped_beyond_its_lease_is_fenced_off(postgres, belt):
    place = postgres.address("stopped", lease=1)
    run = enqueue(belt, place)
    first = start_worker(belt, place)
    wait_until(lambda: len(acts_of(belt)) >= 2)
    first.send_signal(signal.SIGSTOP)
    second = start_worker(belt, place)
    wait_until(lambda: status_of(place, run) == "SUCCEEDED")
    with open_journal(place) as journal:
        before = list(journal.read(run))
    first.send_signal(signal.SIGCONT)
    time.sleep(1)
    for worker in (first, second):
        worker.send_signal(signal.SIGTERM)
        _, told = worker.communicate(timeout=30)
        assert worker.returncode == 0, told
    with open_journal(place) as journal:
        assert list(journal.read(run)) == before
    assert Counter(step for step, _ in acts_of(belt)) == {f"do{number}": 1 for number in range(8)}
    assert [token for _, token in acts_of(belt)] == sorted(token for _, token in acts_of(belt))
    assert {token for _, token in acts_of(belt)} == {"2", "3"}


@pytest.mark.timeout(240)
def test_a_worker_that_is_terminated_leaves_its_run_to_another_at_once(place, belt):
    run = enqueue(belt, place)
    first = start_worker(belt, place)
    wait_until(lambda: len(acts_of(belt)) >= 2)
    first.send_signal(signal.SIGTERM)
    _, told = first.communicate(timeout=30)
    assert first.returncode == 0, told
    assert f"{run}: WAITING (interrupted)" in told
    second = start_worker(belt, place, "--once")
    _, told = second.communicate(timeout=60)
    assert second.returncode == 0, told
    assert f"{run}: SUCCEEDED" in told
    assert Counter(step for step, _ in acts_of(belt)) == {f"do{number}": 1 for number in range(8)}


@pytest.mark.timeout(240)
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_worker_that_is_cut_off_from_the_database_is_replaced_and_does_nothing_more(postgres, belt, monkeypatch):
    monkeypatch.setattr("executor.journal.postgres.connection.SOCKET_SECONDS", 0.5)
    wire = Wire(postgres)
    far, near = (
        postgres.address("cut_off", port=wire.port, lease=0.9, patience=2),
        postgres.address("cut_off", lease=0.9),
    )
    run = enqueue(belt, near)
    workers, told = [], []

    def work(place):
        async def main():
            worker = Worker(executor, poll=0.1, tell=told.append)
            workers.append((asyncio.get_running_loop(), worker))
            await worker.work()

        executor = Executor(open_source(str(belt)).values(World)[0], place)
        asyncio.run(main())
        executor.journal.close()

    threads = [threading.Thread(target=work, args=(place,)) for place in (far, near)]
    threads[0].start()
    wait_until(lambda: len(acts_of(belt)) >= 2)
    wire.is_silent = True
    threads[1].start()
    wait_until(lambda: status_of(near, run) == "SUCCEEDED")
    with open_journal(near) as journal:
        before = list(journal.read(run))
    wire.is_silent = False
    time.sleep(1)
    for loop, worker in workers:
        loop.call_soon_threadsafe(worker.stop)
    for thread in threads:
        thread.join(30)
    wire.close()
    with open_journal(near) as journal:
        assert list(journal.read(run)) == before
    assert Counter(step for step, _ in acts_of(belt)) == {f"do{number}": 1 for number in range(8)}
