"""Places of runs: threads, processes and farms of dask workers give the same records, whoever is lost."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

import pytest
from farm_planners import EAT, KILL, SPIN, Script, is_alive, sleeper
from typer.testing import CliRunner

from benchmarks import farm
from benchmarks.cli import app
from benchmarks.farm import Equipment, Farm, digest_source, raise_refusal
from benchmarks.places import MOST_LOSSES, Place, Processes, RunsLost, Threads, find_place
from benchmarks.planners import planner_of
from benchmarks.process import Limits
from benchmarks.records import Record, read_records
from benchmarks.run import Attempt, Settings, attempts_of, run_all
from benchmarks.suite import load_suite
from planner.errors import InputError

ROOT = Path(__file__).parents[2]
DOMAIN = """(define (domain walk) (:requirements :strips)
  (:predicates (at ?p) (way ?p ?q))
  (:action go :parameters (?p ?q) :precondition (and (at ?p) (way ?p ?q)) :effect (and (at ?q) (not (at ?p)))))"""
PROBLEM = """(define (problem p) (:domain walk) (:objects a b c d)
  (:init (at a) (way a b) (way b c) (way a d) (way d b)) (:goal (at {goal})))"""
MEASURED = {
    *("cpu_seconds", "wall_seconds", "peak_mib", "date", "start_seconds", "translate_seconds", "search_seconds"),
    *("first_plan_seconds", "effort_seconds", "search_bytes"),
}
SETTINGS = Settings(Limits(20, 1), validators=("forethought",))
UNCHECKED = Settings(Limits(20, 1), validators=())


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    folder = tmp_path / "walks"
    (folder / "deep").mkdir(parents=True)
    (folder / "deep" / "domain.pddl").write_text(DOMAIN)
    for number, goal in enumerate("cca", start=1):
        (folder / "deep" / f"p{number}.pddl").write_text(PROBLEM.format(goal=goal))
    return folder


class Cluster:
    """A dask scheduler and workers on loopback, as processes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        with socket.socket() as found:
            found.bind(("127.0.0.1", 0))
            self.port = found.getsockname()[1]
        self.started: list[subprocess.Popen[bytes]] = []
        self.scheduler = self.start("scheduler", "--port", str(self.port))

    @property
    def url(self) -> str:
        return f"dask://127.0.0.1:{self.port}"

    def start(self, kind: str, *arguments: str, path: Sequence[Path] = (), cwd: Path = ROOT) -> subprocess.Popen[bytes]:
        log = self.folder / f"{kind}-{len(self.started)}.log"
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, [*path, ROOT / "tests"]))}
        environment["DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL"] = "300s"  # workers starve where others use the processor
        command = [sys.executable, "-m", "dask", kind, "--host", "127.0.0.1", "--dashboard-address", "127.0.0.1:0"]
        with log.open("wb") as file:
            process = subprocess.Popen([*command, *arguments], stdout=file, stderr=file, env=environment, cwd=cwd)
        self.started.append(process)
        return process

    def start_worker(self, *path: Path, cwd: Path = ROOT) -> subprocess.Popen[bytes]:
        options = ["--nthreads", "1", "--no-nanny", "--local-directory", str(self.folder)]
        return self.start("worker", f"tcp://127.0.0.1:{self.port}", *options, path=path, cwd=cwd)

    def close(self) -> None:
        for process in reversed(self.started):
            process.kill()
            process.wait()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    pytest.importorskip("distributed", reason="needs the extra `farm`")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(farm, "CONNECT_SECONDS", 200.0)
        patch.setattr(farm, "WORKERS_SECONDS", 200.0)
        found = Cluster(tmp_path_factory.mktemp("farm"))
        found.start_worker()
        yield found
        found.close()


def compare(record: Record) -> dict[str, object]:
    return {name: value for name, value in asdict(record).items() if name not in MEASURED}


def carry_out(place: Place, attempts: Sequence[Attempt], out: Path, settings: Settings) -> list[Record]:
    run_all(attempts, out, settings, lambda _: None, place)
    return sorted(read_records(out), key=lambda record: (record.task, record.planner))


def wait_for(condition: Callable[[], object], seconds: float = 200.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.mark.timeout(400)
def test_places_give_the_same_records(cluster: Cluster, suite: Path, tmp_path: Path) -> None:
    planners = [planner_of("ours-first"), Script("good"), Script("bad", "raise SystemExit('no plan')")]
    attempts = attempts_of(load_suite(suite)[1:], planners)
    places = {"threads": Threads(), "processes": Processes(), "farm": find_place(cluster.url)}
    found = {name: carry_out(place, attempts, tmp_path / name, SETTINGS) for name, place in places.items()}
    plain = [compare(record) for record in found["threads"]]
    assert len(plain) == 6
    assert {record.outcome for record in found["threads"]} == {"solved", "optimal", "error", "invalid"}
    assert [compare(record) for record in found["processes"]] == plain
    assert [compare(record) for record in found["farm"]] == plain
    tables = set()
    for name in places:
        command = ["latex", str(tmp_path / name), "--out", str(tmp_path / f"{name}.tex")]
        assert CliRunner().invoke(app, command).exit_code == 0
        tables.add((tmp_path / f"{name}.tex").read_text())
    assert len(tables) == 1


@pytest.mark.timeout(400)
@pytest.mark.parametrize("kind", ["processes", "farm"])
def test_limits_hold_wherever_a_run_is(kind: str, cluster: Cluster, suite: Path, tmp_path: Path) -> None:
    place = find_place(cluster.url if kind == "farm" else kind)
    attempts = attempts_of(load_suite(suite)[:1], [Script("eats", EAT), Script("spins", SPIN)])
    settings = Settings(Limits(1, 0.5, wall_factor=200), validators=())
    eats, spins = carry_out(place, attempts, tmp_path / "out", settings)
    assert (eats.outcome, spins.outcome) == ("memory", "time")
    assert eats.peak_mib < 600
    assert spins.cpu_seconds < 4


@pytest.mark.timeout(400)
def test_a_lost_worker_takes_no_run_with_it(cluster: Cluster, suite: Path, tmp_path: Path) -> None:
    (marks := tmp_path / "marks").mkdir()
    attempts = attempts_of(load_suite(suite), [sleeper(name, marks, 1.0) for name in "abcd"])
    victim = cluster.start_worker()
    of_victim = f"{victim.pid}-*"
    driver = threading.Thread(target=carry_out, args=(Farm.at(cluster.url), attempts, tmp_path / "out", UNCHECKED))
    driver.start()
    wait_for(lambda: list(marks.glob(of_victim)))
    victim.kill()
    driver.join()
    records = read_records(tmp_path / "out")
    assert len(records) == len({record.key for record in records}) == len(attempts)
    assert {record.outcome for record in records} <= {"solved", "invalid"}
    left = [int(path.name.partition("-")[2]) for path in marks.glob(of_victim)]
    wait_for(lambda: not any(map(is_alive, left)))


KILLED = """
from pathlib import Path
from farm_planners import sleeper
from benchmarks.places import find_place
from benchmarks.process import Limits
from benchmarks.run import Settings, attempts_of, run_all
from benchmarks.suite import load_suite
attempts = attempts_of(load_suite(Path({suite!r})), [sleeper(name, Path({marks!r}), 0.3) for name in "ab"])
run_all(attempts, Path({out!r}), Settings(Limits(20, 1), (), jobs={jobs}), lambda _: None, find_place({place!r}))
"""


@pytest.mark.timeout(400)
@pytest.mark.parametrize("kind", ["processes", "farm"])
def test_the_same_command_goes_on_where_a_killed_driver_stopped(
    kind: str, cluster: Cluster, suite: Path, tmp_path: Path
) -> None:
    (marks := tmp_path / "marks").mkdir()
    out, place = tmp_path / "out", cluster.url if kind == "farm" else kind
    jobs = 1 if kind == "farm" else 2
    code = tmp_path / "driver.py"
    text = KILLED.format(suite=str(suite), marks=str(marks), out=str(out), place=place, jobs=jobs)
    code.write_text(f"if __name__ == '__main__':\n    {text.strip().replace(chr(10), chr(10) + '    ')}\n")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests")])}
    with subprocess.Popen([sys.executable, str(code)], env=environment) as process:
        wait_for(lambda: out.exists() and out.read_bytes().count(b"\n") >= 2)
        process.kill()
    before = read_records(out)
    attempts = attempts_of(load_suite(suite), [sleeper(name, marks, 0.3) for name in "ab"])
    settings = Settings(Limits(20, 1), (), jobs=jobs)
    assert run_all(attempts, out, settings, lambda _: None, find_place(place)) == 6 - len(before)
    after = read_records(out)
    assert after[: len(before)] == before
    assert len(after) == len({record.key for record in after}) == 6


@pytest.mark.timeout(400)
def test_a_lost_process_of_the_pool_takes_no_run_with_it(suite: Path, tmp_path: Path) -> None:
    (marks := tmp_path / "marks").mkdir()
    attempts = attempts_of(load_suite(suite), [sleeper("a", marks, 1.0)])
    settings = Settings(Limits(20, 1), (), jobs=2)
    driver = threading.Thread(target=carry_out, args=(Processes(), attempts, tmp_path / "out", settings))
    driver.start()
    wait_for(lambda: list(marks.iterdir()))
    os.kill(int(next(marks.iterdir()).name.partition("-")[0]), signal.SIGKILL)
    driver.join()
    records = read_records(tmp_path / "out")
    assert sorted(record.task for record in records) == ["deep/p1.pddl", "deep/p2.pddl", "deep/p3.pddl"]


@pytest.mark.timeout(400)
def test_an_interrupt_ends_the_processes_of_a_pool(suite: Path, tmp_path: Path) -> None:
    (marks := tmp_path / "marks").mkdir()
    attempts = attempts_of(load_suite(suite)[:1], [sleeper("slow", marks, 3600), Script("good")])

    def interrupt(_: Record) -> None:
        wait_for(lambda: list(marks.iterdir()))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_all(attempts, tmp_path / "out", Settings(Limits(20, 1), (), jobs=2), interrupt, Processes())
    (mark,) = marks.iterdir()
    wait_for(lambda: not is_alive(int(mark.name.partition("-")[2])))


@pytest.mark.timeout(400)
def test_a_worker_with_another_version_is_refused(suite: Path, tmp_path: Path) -> None:
    pytest.importorskip("distributed", reason="needs the extra `farm`")
    for name in farm.PACKAGES:
        shutil.copytree(ROOT / name, tmp_path / "other" / name, ignore=shutil.ignore_patterns("__pycache__"))
    with (tmp_path / "other" / "benchmarks" / "run.py").open("a") as file:
        file.write("# another version\n")
    cluster = Cluster(tmp_path)
    try:
        cluster.start_worker(tmp_path / "other", cwd=tmp_path)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(farm, "CONNECT_SECONDS", 200.0)
            patch.setattr(farm, "WORKERS_SECONDS", 200.0)
            attempts = attempts_of(load_suite(suite), [Script("good")])
            with pytest.raises(InputError, match=r"it runs Forethought .*, and this is .*start the workers again"):
                run_all(attempts, tmp_path / "out", UNCHECKED, lambda _: None, Farm.at(cluster.url))
        assert not (tmp_path / "out").exists()
    finally:
        cluster.close()


@pytest.mark.timeout(400)
def test_a_run_that_takes_its_workers_with_it_is_told(suite: Path, tmp_path: Path) -> None:
    pytest.importorskip("distributed", reason="needs the extra `farm`")
    cluster = Cluster(tmp_path)
    try:
        for _ in range(MOST_LOSSES + 1):
            cluster.start_worker()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(farm, "CONNECT_SECONDS", 200.0)
            patch.setattr(farm, "WORKERS_SECONDS", 200.0)
            attempts = attempts_of(load_suite(suite)[:1], [Script("kills", KILL)])
            with pytest.raises(RunsLost, match=r"kills on deep/p1\.pddl have no record: .* was lost 4 times"):
                run_all(attempts, tmp_path / "out", UNCHECKED, lambda _: None, Farm.at(cluster.url))
        assert read_records(tmp_path / "out") == []
    finally:
        cluster.close()


@pytest.mark.timeout(400)
def test_a_run_that_takes_the_processes_of_a_pool_with_it_is_told(suite: Path, tmp_path: Path) -> None:
    attempts = attempts_of(load_suite(suite)[:1], [Script("kills", KILL), Script("good")])
    with pytest.raises(RunsLost, match=r"kills on deep/p1\.pddl have no record"):
        run_all(attempts, tmp_path / "out", UNCHECKED, lambda _: None, Processes())
    assert [record.planner for record in read_records(tmp_path / "out")] == ["good"]


HERE = Equipment("0.1", "a" * 64, "CPython 3.11", ("fd needs up-fast-downward",))


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (HERE, None),
        (Equipment("0.1", "b" * 64, "CPython 3.11"), r"it runs Forethought 0\.1 \(bbbbbbbbbbbb\), and this is 0\.1"),
        (Equipment("0.2", "a" * 64, "CPython 3.11"), r"it runs Forethought 0\.2"),
        (Equipment("0.1", "a" * 64, "CPython 3.12"), "it runs Python CPython 3.12, and this is CPython 3.11"),
        (Equipment("0.1", "a" * 64, "CPython 3.11", ("x needs y",)), "it lacks what is needed: x needs y"),
        (ModuleNotFoundError("no", name="benchmarks"), "it has no benchmarks"),
        (OSError("odd"), "OSError: odd"),
    ],
)
def test_which_workers_are_refused(other: Equipment | BaseException, message: str | None) -> None:
    if message is None:
        raise_refusal("w", other, HERE)
        return
    with pytest.raises(InputError, match=f"w is of no use: {message}"):
        raise_refusal("w", other, HERE)


def test_equipment() -> None:
    found = Equipment.find([Script("x", packages=("no-such-package",))], ["forethought", "val"])
    assert "x needs no-such-package" in found.lacks
    assert len(found.source) == 64
    assert found.source == digest_source()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("dask", "there is no place 'dask' to run planners on; write threads, processes or dask://HOST:PORT"),
        ("dask://", "'dask://' is no address of a farm; such as dask://127.0.0.1:8786"),
        ("dask://here", "is no address of a farm"),
        ("dask://here:port", "is no address of a farm"),
        ("dask://here:1/path", "is no address of a farm"),
    ],
)
def test_mistakes_in_a_place(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message.replace("(", r"\(")):
        find_place(text)


def test_addresses_of_farms() -> None:
    assert Farm.at("dask://h:1").address == "tcp://h:1"
    assert Farm.at("dask+tls://[::1]:2").address == "tls://[::1]:2"


def test_processors_are_for_this_machine() -> None:
    with pytest.raises(InputError, match="--core and --jobs are for this machine"):
        Farm.at("dask://h:1").check([], Settings(jobs=2))


@pytest.mark.timeout(200)
def test_a_farm_that_is_not_there(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("distributed", reason="needs the extra `farm`")
    monkeypatch.setattr(farm, "CONNECT_SECONDS", 1.5)
    with pytest.raises(InputError, match=r"no dask scheduler answers at tcp://127\.0\.0\.1:9"):
        Farm.at("dask://127.0.0.1:9").check([], SETTINGS)
    assert "waiting for the dask scheduler at tcp://127.0.0.1:9, 1.5 s at most" in capsys.readouterr().err


def test_a_farm_without_dask(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(InputError, match=r"pip install 'forethought\[farm\]'"):
        Farm.at("dask://127.0.0.1:9").check([], SETTINGS)


def test_lost_runs_are_told(suite: Path) -> None:
    attempts = attempts_of(load_suite(suite), [Script("a")])
    assert str(RunsLost(attempts)).startswith("a on deep/p1.pddl and 2 others have no record: ")
