"""Workers and what happens to hosts and databases: outages, restarts, processes that die of a run, other versions."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
import time
from collections import Counter

import pytest
from postgres_server import PostgresServer, find_obstacle

from executor import Executor, World
from executor.errors import DamagedError, JournalError
from executor.events.events import RunResumed, StepStarted, event_to_data
from executor.journal import open_journal
from executor.journal.postgres.connection import JUST_TRIED
from executor.tools.json_data import dump_json
from executor.workers.worker import Worker
from planner import Domain

STEPS = 4


class Mill:
    """A world of a few steps for each sack, one after the other; `acts` counts what was done, by sack."""

    def __init__(self, seconds=0.05, steps=STEPS):
        self.acts, self.seconds, self.goal = Counter(), seconds, f"done{steps - 1}"
        self.domain = Domain("mill", types=["sack"])
        for number in range(steps):
            needs = [f"done{number - 1}(sack)"] if number else []
            self.domain.action(f"do{number}", {"sack": "sack"}, requires=needs, provides=[f"done{number}(sack)"])
        self.world = World(self.domain)
        for number in range(steps):
            self._bind(f"do{number}", f"done{number}(sack)")

    def _bind(self, name, fact):
        @self.world.handler(name)
        async def act(sack):
            self.acts[sack, name] += 1
            await asyncio.sleep(self.seconds)

        @self.world.observer(fact, conclusive=True)
        def look(sack):
            return (sack, name) in self.acts

    def enqueue(self, place, sacks):
        """Record a run for each sack, with its name."""

        async def main():
            for sack in sacks:
                problem = self.domain.problem(objects={sack: "sack"}, goal=[f"{self.goal}({sack})"])
                await executor.enqueue(problem, run=sack)

        executor = Executor(self.world, place)
        asyncio.run(main())
        executor.journal.close()


class Crew:
    """Workers in threads of their own, which share a world."""

    def __init__(self, worlds, place):
        self.told, self._workers = [], []
        self._threads = [threading.Thread(target=self._work, args=(world, place)) for world in worlds]
        for each in self._threads:
            each.start()

    def _work(self, world, place):
        async def main():
            worker = Worker(executor, poll=0.1, tell=self.told.append)
            self._workers.append((asyncio.get_running_loop(), worker))
            await worker.work()

        executor = Executor(world, place)
        asyncio.run(main())
        executor.journal.close()

    def stop(self):
        for loop, worker in self._workers:
            loop.call_soon_threadsafe(worker.stop)
        for each in self._threads:
            each.join(60)
            assert not each.is_alive()


def statuses(place):
    with open_journal(place) as journal:
        return {each.run: each.status for each in journal.runs()}


def wait_until(condition, seconds=90.0):
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.05)


@pytest.mark.timeout(240)
@pytest.mark.parametrize("mode", ["fast", "immediate"])
def test_nothing_is_lost_or_done_twice_when_the_database_is_restarted(postgres, address, mode):
    mill, runs = Mill(), [f"r{number}" for number in range(8)]
    mill.enqueue(address, runs)
    crew = Crew([mill.world, mill.world], address)
    for half in (1, 2):
        wait_until(lambda: len(mill.acts) >= half * 10)  # noqa: B023 - done at once
        postgres.restart(mode)
    wait_until(lambda: set(statuses(address).values()) == {"SUCCEEDED"})
    crew.stop()
    assert mill.acts == {(run, f"do{number}"): 1 for run in runs for number in range(STEPS)}


@pytest.mark.timeout(240)
def test_a_worker_takes_its_runs_up_again_after_an_outage_that_outlasted_its_patience(postgres, monkeypatch):
    monkeypatch.setattr("executor.workers.worker.RETRY_SECONDS", 0.2)
    place = postgres.address("outlasted", patience=1, lease=30)
    mill, runs = Mill(seconds=0.2), ["a", "b", "c"]
    mill.enqueue(place, runs)
    crew = Crew([mill.world], place)
    wait_until(lambda: len(mill.acts) >= 3)
    postgres.halt()
    try:
        wait_until(lambda: sum("taken up again" in each for each in crew.told) == 3)
    finally:
        postgres.start()
    wait_until(lambda: {*statuses(place).values()} == {"SUCCEEDED"})
    crew.stop()
    assert mill.acts == {(run, f"do{number}"): 1 for run in runs for number in range(STEPS)}


@pytest.mark.timeout(120)
def test_many_runs_wait_for_a_database_together_and_not_one_after_the_other(postgres):
    with open_journal(postgres.address("together", patience=1.5)) as journal:
        postgres.halt()
        try:
            began = time.monotonic()
            for number in range(20):
                with pytest.raises(JournalError, match="the database does not answer"):
                    journal.create(f"r{number}")
            assert time.monotonic() - began < 10
        finally:
            postgres.start()
        time.sleep(JUST_TRIED)
        assert journal.runs() == []


def test_what_could_not_be_released_is_free_when_the_database_answers_again(postgres):
    place = postgres.address("released", patience=0.2, lease=6)
    with open_journal(place) as journal, open_journal(place) as other:
        journal.create("a")
        assert journal.locks.hold("saw")
        with journal.drive("a"):
            postgres.halt()
        journal.locks.let_go("saw")
        postgres.start()
        wait_until(lambda: [each.run for each in other.free([""])] == ["a"], 20)
        assert journal.locks.hold("saw")  # what waits to be released is not what is held now
        assert not other.locks.hold("saw")
        time.sleep(2.2)  # longer than until the next renewal
        assert not other.locks.hold("saw")


@pytest.mark.timeout(120)
def test_a_lease_is_renewed_though_there_is_no_room_for_another_connection(postgres, monkeypatch):
    made = []

    def refuse(address, **options):
        if threading.current_thread().name == "forethought lease":
            made.append(address)
            raise JournalError("there", "too many clients", "raise max_connections")
        return genuine(address, **options)

    from executor.journal.postgres import leases

    genuine = leases.Database
    monkeypatch.setattr(leases, "Database", refuse)
    place = postgres.address("no_room", lease=0.6)
    with open_journal(place) as journal, open_journal(place) as other:
        journal.create("a")
        with journal.drive("a"):
            time.sleep(1.5)
            assert other.free([""]) == []
            journal.append("a", "A", "")
    assert made


@pytest.mark.timeout(120)
def test_journals_do_not_depend_on_how_the_database_isolates_transactions(postgres):
    place, errors = postgres.address("isolated"), []
    open_journal(place).close()
    change = "ALTER DATABASE postgres {} default_transaction_isolation {}"
    postgres.run_sql(change.format("SET", "TO 'serializable'"))

    def work(name):
        try:
            with open_journal(place) as journal:
                for number in range(6):
                    run = f"{name}{number}"
                    journal.create(run)
                    with journal.drive(run):
                        journal.append(run, "A", "")
                        journal.rates.reserve("mail", 1000, 60, None)
                        journal.reservations.reserve(run, "s1", {"gold": 1})
                    journal.save_plan(run, "{}")
                    journal.free([""])
        except Exception as error:  # noqa: BLE001 - the test says so
            errors.append(error)

    threads = [threading.Thread(target=work, args=(each,)) for each in "abcd"]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    postgres.run_sql(change.format("RESET", ""))
    assert errors == []


READ_ONLY = "ALTER DATABASE postgres {} default_transaction_read_only {}"
HANG_UP = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'forethought'"


def test_a_database_that_becomes_a_standby_is_waited_for_and_then_told(postgres):
    place = postgres.address("standby", patience=0.5)
    with open_journal(place) as journal:
        journal.create("a")
        with journal.drive("a"):
            postgres.run_sql(READ_ONLY.format("SET", "TO on"), HANG_UP)
            try:
                with pytest.raises(JournalError, match=r"read-only transaction.*name the primary server"):
                    journal.append("a", "A", "")
            finally:
                postgres.run_sql("SET default_transaction_read_only TO off", READ_ONLY.format("RESET", ""), HANG_UP)
            time.sleep(0.3)
            assert journal.append("a", "B", "") == 1


POISON = """
import asyncio, os, signal
from pathlib import Path
from executor import World
from planner import Domain

lab = Domain("lab", types=["sample"])
lab.action("test", {"sample": "sample"}, provides=["tested(sample)"], tags=["idempotent"])
world = World(lab)
TESTED = Path(__file__).with_name("tested")


@world.handler("test")
async def test(sample):
    await asyncio.sleep(0.1 if sample == "acid" else 1.0)
    if sample == "acid":
        os.kill(os.getpid(), signal.SIGKILL)
    with TESTED.open("a") as file:
        file.write(f"{sample}\\n")


@world.observer("tested(sample)", conclusive=True)
def tested(sample):
    return TESTED.exists() and sample in TESTED.read_text().split()


SAMPLES = ["acid", "milk", "salt", "tea", "wine"]
"""


@pytest.mark.timeout(240)
def test_a_run_that_kills_its_workers_takes_no_other_with_it(place, tmp_path):
    path = tmp_path / "lab.py"
    path.write_text(POISON)
    namespace = {"__file__": str(path), "__name__": "lab"}
    exec(POISON, namespace)

    async def main():
        for sample in namespace["SAMPLES"]:
            problem = namespace["lab"].problem(objects={sample: "sample"}, goal=[f"tested({sample})"])
            await executor.enqueue(problem, run=sample)

    executor = Executor(namespace["world"], place)
    asyncio.run(main())
    executor.journal.close()
    command = [sys.executable, "-m", "planner.cli", "worker", path, "--journal", place, "--poll", "0.05", "--once"]
    codes = []
    while not codes or codes[-1] < 0:
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=60, check=False)
        codes.append(done.returncode)
        assert len(codes) < 12, done.stderr
    found = statuses(place)
    assert found.pop("acid") == "IN_DOUBT"
    assert set(found.values()) == {"SUCCEEDED"}
    assert codes == [*[-9] * 5, 11], "five die, and one gives the run up"


def test_a_text_that_is_too_large_for_the_database_is_refused_at_once(address):
    with open_journal(address) as journal:
        journal.create("a")
        with journal.drive("a"):
            with pytest.raises(JournalError, match=r"has 17 MB, and a journal in PostgreSQL takes at most 16 MB; keep"):
                journal.append("a", "A", "x" * (17 << 20))
            assert journal.append("a", "A", "x" * (1 << 20)) == 1


def test_a_run_is_carried_out_by_a_worker_whose_domain_has_its_actions(place):
    old, new = Mill(steps=2), Mill(steps=3)
    new.enqueue(place, ["a"])

    async def main():
        told = {"old": [], "new": []}
        for name, mill in (("old", old), ("new", new), ("old", old)):
            executor = Executor(mill.world, place)
            await Worker(executor, tell=told[name].append).work(once=True)
            executor.journal.close()
        return told

    told = asyncio.run(main())
    assert "no predicate 'done2'" in "".join(told["old"])
    assert told["new"][-1] == "a: SUCCEEDED"
    assert old.acts == {}
    assert new.acts == {("a", f"do{number}"): 1 for number in range(3)}


@pytest.mark.timeout(240)
def test_what_a_replica_has_lost_is_noticed_and_not_done_again():
    obstacle = find_obstacle()
    if obstacle:
        pytest.skip(obstacle)
    server = PostgresServer()
    try:
        place, mill = server.address("replica", patience=20), Mill()
        mill.enqueue(place, ["a"])
        with open_journal(place) as journal, journal.drive("a"):
            for event in (RunResumed("a"), StepStarted("s1", 1, "do0", "a/s1")):
                status = "ACTIVE" if isinstance(event, RunResumed) else None
                journal.append("a", type(event).__name__, dump_json(event_to_data(event)), status=status)
            server.halt()
            subprocess.run(["cp", "-a", server.folder / "data", server.folder / "older"], check=True)
            server.start()
            mill.acts["a", "do0"] += 1
            journal.append("a", "StepEnded", "{}")
            server.halt()
            subprocess.run(["rm", "-r", server.folder / "data"], check=True)
            (server.folder / "older").rename(server.folder / "data")
            server.start()
            with pytest.raises(DamagedError, match="run 'a' has 3 events, and its driver has appended 4"):
                journal.append("a", "StepStarted", "{}")
        crew = Crew([mill.world], place)
        wait_until(lambda: statuses(place) == {"a": "SUCCEEDED"})
        crew.stop()
        assert mill.acts == {("a", f"do{number}"): 1 for number in range(STEPS)}
    finally:
        server.stop()


def test_rates_in_a_file_outlive_another_start_of_the_machine(tmp_path, monkeypatch):
    with open_journal(tmp_path / "runs.db") as journal:
        monkeypatch.setattr("executor.journal.rates.read_uptime", lambda: 3605.0)
        assert journal.rates.reserve("mail", 1, 60, None)[1] == 0
        assert journal.rates.reserve("mail", 1, 60, 0) == (None, 60)
        monkeypatch.setattr("executor.journal.rates.read_uptime", lambda: 5.0)
        assert journal.rates.reserve("mail", 1, 60, None)[1] == 0


@pytest.mark.timeout(120)
def test_a_run_goes_on_after_somebody_kept_the_tables_locked(postgres, monkeypatch):
    import pg8000.native

    monkeypatch.setattr("executor.journal.postgres.connection.STATEMENT_SECONDS", 0.5)
    monkeypatch.setattr("executor.workers.worker.RETRY_SECONDS", 0.2)
    place, mill = postgres.address("locked"), Mill(seconds=0.2)
    mill.enqueue(place, ["a"])
    crew = Crew([mill.world], place)
    wait_until(lambda: mill.acts)
    socket = f"{postgres.folder}/.s.PGSQL.{postgres.port}"
    with pg8000.native.Connection("postgres", unix_sock=socket, database="postgres") as connection:
        connection.run("BEGIN")
        connection.run("LOCK TABLE locked.heads IN ACCESS EXCLUSIVE MODE")
        wait_until(lambda: any("taken up again" in each for each in crew.told))
        connection.run("ROLLBACK")
    wait_until(lambda: statuses(place) == {"a": "SUCCEEDED"})
    crew.stop()
    assert any("57014" in each and "transaction that holds locks" in each for each in crew.told)
    assert mill.acts == {("a", f"do{number}"): 1 for number in range(STEPS)}


@pytest.mark.timeout(120)
def test_a_worker_that_is_stopped_during_an_outage_ends(postgres):
    place, mill = postgres.address("stopped_meanwhile", patience=1.5), Mill(seconds=0.2)
    mill.enqueue(place, [f"r{number}" for number in range(8)])
    crew = Crew([mill.world], place)
    wait_until(lambda: len(mill.acts) >= 8)
    postgres.halt()
    try:
        began = time.monotonic()
        crew.stop()
        assert time.monotonic() - began < 15
    finally:
        postgres.start()
