"""Symbolic search in a process of its own, beside others."""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from pathlib import Path

import pytest
from search_twins import finished, perfect, random_task, replayed

import planner
from planner.limits import Limits, never
from planner.portfolio import symbolic_process as module
from planner.portfolio.symbolic_process import SymbolicProcess, run_symbolic_alone, run_symbolic_beside
from planner.portfolio.workplace import Common, Workplace
from planner.pruning.h2 import prune
from planner.search import Ending, Run, Space
from planner.task.ground_task import INFINITY

pytest.importorskip("oxidd")
PATIENT = 60.0
RESTING = """
import time
from planner import Domain
from planner.limits import Limits
from planner.grounding.ground import ground
from planner.pruning.h2 import prune
from planner.search import Run
from planner.portfolio.symbolic_process import SymbolicProcess
garden = Domain("garden")
garden.action("dig", provides=["hole"])
other = SymbolicProcess(prune(ground(garden.problem(goal=["hole"]), Limits())), 1 << 26)
while not other._dies_with_parent:
    other.poll(Run(), 0.01)
other.pause()
print(other._process.pid, flush=True)
time.sleep(60)
"""
RLIMIT = resource.getrlimit(resource.RLIMIT_NOFILE)[0]


def idle():
    """A search that never ends."""
    while True:
        time.sleep(0.001)
        yield


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    monkeypatch.setattr(module, "PATIENCE", 0.0)


def solvable():
    seeds = (seed for seed in range(100) if perfect(random_task(seed))[frozenset(random_task(seed).initial)])
    tasks = (random_task(seed) for seed in seeds)
    return next(task for task in tasks if perfect(task)[frozenset(task.initial)] < INFINITY)


def errand(*more: str):
    """A problem with a plan of two steps that costs 4, if no `more` is wanted."""
    garden = planner.Domain("garden")
    garden.action("dig", provides=["hole"], cost=3)
    garden.action("plant", requires=["hole"], provides=["tree", "not hole"])
    return garden.problem(goal=["tree", *more])


def place_of(task, run=None) -> Workplace:
    return Workplace(task, Space(task), run or Run(), never, common=Common(prune(task)))


def test_it_has_the_proof_while_the_others_go_on():
    task, run, limits = solvable(), Run(), Limits(PATIENT, 2.0)
    assert finished(run_symbolic_beside(idle(), place_of(task, run), limits)) is Ending.EXHAUSTED
    cost = perfect(task)[frozenset(task.initial)]
    assert replayed(task, run.plan) == run.limit == run.lower_bound == cost
    assert run.by == ("symbolic", "")
    assert limits.elsewhere == 0


def test_its_memory_counts():
    task, limits = solvable(), Limits(PATIENT, 2.0)
    steps = run_symbolic_beside(idle(), place_of(task), limits)
    next(steps)
    assert 0 < limits.elsewhere < 2.0 * 2**30
    steps.close()
    assert limits.elsewhere == 0


def test_what_has_no_room_goes_on_without_it():
    def steps():
        yield
        return Ending.EXHAUSTED

    assert finished(run_symbolic_beside(steps(), place_of(solvable()), Limits(PATIENT, 0.1))) is Ending.EXHAUSTED


def test_the_others_may_give_up_first():
    def steps():
        yield
        return Ending.INCOMPLETE

    task, run = solvable(), Run()
    assert finished(run_symbolic_beside(steps(), place_of(task, run), Limits(PATIENT, 2.0))) is Ending.EXHAUSTED
    assert replayed(task, run.plan) == run.lower_bound


def test_when_it_crashes_the_others_go_on(monkeypatch):
    monkeypatch.setattr("planner.subprocesses.sys.executable", "/bin/false")

    limits, held = Limits(PATIENT, 2.0), []

    def steps():
        for _ in range(100):
            time.sleep(0.01)
            held.append(limits.elsewhere)
            yield
        return Ending.INCOMPLETE

    run = Run()
    assert finished(run_symbolic_beside(steps(), place_of(solvable(), run), limits)) is Ending.INCOMPLETE
    assert 0 in held  # its memory is free as soon as it has ended
    assert run.failed == "symbolic search broke off with exit code 1"


def test_when_it_crashes_alone_it_is_said_why(tmp_path, monkeypatch):
    other = tmp_path / "other"
    other.write_text("#!/bin/sh\necho no room >&2\necho at all >&2\nexit 3\n")
    other.chmod(0o755)
    monkeypatch.setattr("planner.subprocesses.sys.executable", str(other))
    result = planner.solve(errand(), search="symbolic")
    assert (result.status, result.stopped_by) == (planner.Status.UNKNOWN, planner.StoppedBy.INCOMPLETE)
    assert result.reason == "symbolic search broke off with exit code 3: at all"


def test_without_room_for_it_memory_is_short():
    result = planner.solve(errand(), search="symbolic", memory_limit=0.05)
    assert (result.status, result.stopped_by) == (planner.Status.UNKNOWN, planner.StoppedBy.MEMORY)


def test_it_runs_under_the_limits_of_the_command(tmp_path):
    """The command limits its own address space, and diagrams reserve more of that than they use."""
    file = tmp_path / "errand.json"
    file.write_text(planner.write_json(errand()))
    command = [sys.executable, "-m", "planner.cli", "solve", str(file), "--search", "symbolic", "--memory-limit", "0.5"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENT, check=False)
    assert "proved optimal: cost 4, 2 steps [symbolic" in done.stderr


def test_it_imports_nothing_from_where_it_is_called(tmp_path, monkeypatch):
    (tmp_path / "json.py").write_text(f"open({str(tmp_path / 'imported')!r}, 'w').close()")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [path for path in sys.path if path])
    assert planner.solve(errand(), search="symbolic").status is planner.Status.OPTIMAL
    assert not (tmp_path / "imported").exists()


def test_it_ends_when_nobody_waits_for_it():
    other = SymbolicProcess(prune(solvable()), 1 << 26)
    process = other._process
    process.stdin.close()
    assert process.wait(PATIENT) in {0, 1}
    other.stop()


def test_too_little_memory_is_no_proof():
    from planner.search.symbolic.bidirectional import symbolic_search

    task = solvable()
    assert finished(symbolic_search(task, Run(), 100)) is Ending.INCOMPLETE


def test_it_is_asked_for_by_name():
    result = planner.solve(errand(), search="symbolic")
    assert result.status is planner.Status.OPTIMAL
    assert result.cost == result.lower_bound == 4
    assert planner.validate(result.expect_plan().problem, result.expect_plan()).valid
    assert result.statistics.search == "symbolic"
    never = planner.solve(errand("not tree"), search="symbolic")
    assert never.status is planner.Status.UNSOLVABLE


def test_without_the_library_the_name_is_refused_in_words(monkeypatch):
    monkeypatch.setattr("planner.search.symbolic.find_spec", lambda _: None)
    with pytest.raises(planner.InputError, match="OxiDD"):
        finished(run_symbolic_alone(place_of(solvable()), Limits()))


def test_there_may_be_many_open_files(tmp_path):
    opened = [(tmp_path / "file").open("w") for _ in range(1100)] if RLIMIT > 1500 else []
    try:
        task, run = solvable(), Run()
        assert finished(run_symbolic_beside(idle(), place_of(task, run), Limits(PATIENT, 2.0))) is Ending.EXHAUSTED
        assert replayed(task, run.plan) == run.lower_bound
    finally:
        for each in opened:
            each.close()


def test_on_one_processor_it_has_its_turns(monkeypatch):
    monkeypatch.setattr(module, "count_processors", lambda: 1)
    task, run = solvable(), Run()
    assert finished(run_symbolic_beside(idle(), place_of(task, run), Limits(PATIENT, 2.0))) is Ending.EXHAUSTED
    assert replayed(task, run.plan) == run.lower_bound == perfect(task)[frozenset(task.initial)]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only there does it know that it ends in time")
def test_it_ends_with_its_starter_also_where_it_rests():
    """It may be stopped in the moment in which its starter is killed."""
    with subprocess.Popen([sys.executable, "-c", RESTING], stdout=subprocess.PIPE, text=True) as starter:
        number = int(starter.stdout.readline())
        starter.kill()
    until = time.monotonic() + PATIENT
    while state_of(number) not in {"", "Z", "X"} and time.monotonic() < until:
        time.sleep(0.01)
    assert state_of(number) in {"", "Z", "X"}


def state_of(process: int) -> str:
    """Return the letter for the state of a process, "" where there is none any more."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return ""
