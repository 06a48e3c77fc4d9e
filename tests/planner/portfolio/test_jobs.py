"""Searches side by side: whatever `jobs` is, statuses and proved costs are the same, and no thread is left behind."""

from __future__ import annotations

import _thread
import itertools
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from brute_force import TooManyStates, brute_force
from effort import examples
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from kept_machine_code import use_machine_code
from numeric_problems import TooManyStates as TooManyNumericStates
from numeric_problems import Unbounded, explore, find_least_cost, random_numeric_problem

from benchmarks.random_problems import random_problem
from planner import load, solve
from planner.errors import InputError, PlanError
from planner.plan import Result, Status, StoppedBy
from planner.portfolio import symbolic_process, tiers
from planner.portfolio.tiers import Contender, contend, take_turns
from planner.portfolio.workplace import Workplace
from planner.search import exact_numeric_search, lanes
from planner.search.lanes import Lanes
from planner.search.numeric_astar_estimates_compiled import NumericEstimates
from planner.search.search_run import Ending, Run, Steps
from planner.validation.validate import check_steps, validate

JOBS = (1, 2, 3)


@pytest.fixture(autouse=True)
def no_thread_is_left() -> Iterator[None]:
    before, until = _thread._count(), time.monotonic() + 10
    yield
    while _thread._count() > before and time.monotonic() < until:
        time.sleep(0.001)  # one whose work is over may not be gone yet
    assert _thread._count() <= before


@pytest.fixture
def short_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let searches change places all the time, and kernels begin at once."""
    monkeypatch.setattr(tiers._Turns, "_length", lambda _: 0.0005)
    monkeypatch.setattr(tiers, "PATIENCE_LOADED", 0.0)


# -- turns in lanes


def run_with_lanes(jobs: int) -> Run:
    return Run(failures=[], lanes=Lanes(jobs))


def finish(steps: Steps) -> Ending:
    while True:
        try:
            next(steps)
        except StopIteration as stop:
            return stop.value


def meet(barrier: threading.Barrier, run: Run) -> Steps:
    barrier.wait()
    run.report_plan([1], 3)
    yield
    return Ending.INCOMPLETE


@pytest.mark.parametrize("jobs", [2, 3])
def test_so_many_searches_are_at_work_at_once(jobs: int) -> None:
    run, barrier = run_with_lanes(jobs), threading.Barrier(jobs, timeout=20)
    contenders = [contend(run, lambda own, _: meet(barrier, own), 1, by=(str(n), "")) for n in range(jobs)]
    assert finish(take_turns(contenders, run)) is Ending.INCOMPLETE
    assert (run.plan, run.limit, run.lanes.free) == ([1], 3, jobs - 1)
    assert run.found_by[0] in map(str, range(jobs))
    assert run.beside == {}


def count_at_work(inside: list[int], most: list[int]) -> Steps:
    for _ in range(40):
        inside.append(1)
        most.append(len(inside))
        time.sleep(0.001)
        inside.pop()
        yield
    return Ending.INCOMPLETE


@pytest.mark.usefixtures("short_turns")
def test_no_more_are_at_work_than_jobs() -> None:
    inside, most, run = [], [], run_with_lanes(2)

    def nest(own: Run, _: Any) -> Steps:
        return take_turns([contend(own, lambda *_: count_at_work(inside, most), 1) for _ in range(3)], own)

    assert finish(take_turns([contend(run, nest, 1) for _ in range(3)], run)) is Ending.INCOMPLETE
    assert max(most) == 2
    assert run.lanes.free == 1


def test_a_search_that_shares_memory_stays_in_its_thread() -> None:
    run, threads = run_with_lanes(3), set()

    def note(_: Run, __: Any) -> Steps:
        for _ in range(200):
            threads.add(threading.current_thread())
            time.sleep(0.0005)
            yield
        return Ending.INCOMPLETE

    contenders = [tiers.Contender(note(run, None), 1), contend(run, lambda *_: count_at_work([], []), 1)]
    finish(take_turns(contenders, run))
    assert threads == {threading.main_thread()}


def test_what_one_finds_the_others_know() -> None:
    run = run_with_lanes(2)

    def find(own: Run, _: Any) -> Steps:
        own.report_plan([7], 5)
        yield
        while True:
            time.sleep(0.001)
            yield

    def wait_for_it(own: Run, _: Any) -> Steps:
        while own.plan != [7]:
            time.sleep(0.001)
            yield
        own.raise_bound(own.limit)
        return Ending.EXHAUSTED

    contenders = [contend(run, find, 1, by=("finder", "")), contend(run, wait_for_it, 1, by=("prover", ""))]
    assert finish(take_turns(contenders, run)) is Ending.EXHAUSTED
    assert (run.plan, run.limit, run.lower_bound) == ([7], 5, 5)
    assert (run.found_by, run.news_by) == (("finder", ""), ("prover", ""))


@pytest.mark.contained_errors
def test_an_error_in_a_lane_ends_that_search_only() -> None:
    run, barrier = run_with_lanes(2), threading.Barrier(2, timeout=20)

    def fail(_: Run, __: Any) -> Steps:
        barrier.wait()
        yield
        raise ValueError("for a test")

    def go_on(own: Run, _: Any) -> Steps:
        barrier.wait()
        for _ in range(30):
            time.sleep(0.001)
            yield
        own.raise_bound(own.limit)
        return Ending.EXHAUSTED

    for order in itertools.permutations([("bad", fail), ("good", go_on)]):
        run.failures.clear()
        contenders = [contend(run, make, 1, by=(name, "")) for name, make in order]
        assert finish(take_turns(contenders, run)) is Ending.EXHAUSTED
        assert [each.search for each in run.failures] == ["bad"]


@pytest.mark.contained_errors
def test_all_errors_are_raised() -> None:
    run, barrier = run_with_lanes(2), threading.Barrier(2, timeout=20)

    def fail(_: Run, __: Any) -> Steps:
        barrier.wait()
        raise ValueError("for a test")
        yield

    with pytest.raises(ValueError, match="for a test"):
        finish(take_turns([contend(run, fail, 1, by=(name, "")) for name in "ab"], run))
    assert sorted(each.search for each in run.failures) == ["a", "b"]


def test_closing_the_turns_ends_searches_in_lanes() -> None:
    run, ended = run_with_lanes(2), []

    def look_forever(_: Run, guard: Any) -> Steps:
        check = guard(lambda: None)
        try:
            yield
            while True:
                check()
                time.sleep(0.001)
        finally:
            ended.append(threading.current_thread())

    steps = take_turns([contend(run, lambda *_: count_at_work([], []), 1), contend(run, look_forever, 1)], run)
    for _ in range(5):
        next(steps)
    steps.close()
    assert len(ended) == 1
    assert run.lanes.free == 1


def test_a_thread_that_dies_before_it_begins_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    run, dead = run_with_lanes(2), []

    def start_new_thread(_: Callable[..., None], __: tuple[Any]) -> int:
        dead.append(1)
        return 1

    monkeypatch.setattr(lanes, "start_new_thread", start_new_thread)
    contenders = [contend(run, lambda *_: count_at_work([], []), 1) for _ in range(2)]
    assert finish(take_turns(contenders, run)) is Ending.INCOMPLETE
    run.lanes.close()
    assert dead
    assert (run.lanes.free, run.beside) == (1, {})


@pytest.mark.usefixtures("short_turns")
def test_its_clock_goes_on_in_another_thread() -> None:
    run, seen, places = run_with_lanes(2), [], set()

    def watch_clock(_: Run, __: Any) -> Steps:
        from planner.limits import work_seconds

        while len(places) < 2:
            seen.append(work_seconds())
            places.add(threading.current_thread() is threading.main_thread())
            sum(range(3000))
            yield
        return Ending.INCOMPLETE

    def stay() -> Steps:
        while len(seen) < 20:
            yield
        return Ending.INCOMPLETE

    finish(take_turns([contend(run, watch_clock, 1), Contender(stay(), 1)], run))
    assert seen == sorted(seen)


# -- kinds of problems, and ends


SLIDING = """(define (domain sliding) (:requirements :strips :typing) (:types cell tile)
  (:predicates (near ?a ?b - cell) (at ?t - tile ?c - cell) (gap ?c - cell))
  (:action slide :parameters (?t - tile ?a ?b - cell)
    :precondition (and (at ?t ?a) (gap ?b) (near ?a ?b))
    :effect (and (at ?t ?b) (gap ?a) (not (at ?t ?a)) (not (gap ?b)))))"""


def sliding(width: int = 3, *, solvable: bool = True) -> Any:
    """A sliding-tile puzzle, shuffled; if it is not `solvable`, with two tiles exchanged in 2 x 3 cells."""
    height = width if solvable else 2
    many = width * height
    near = [
        (a, b)
        for a in range(many)
        for b in range(many)
        if abs(a % width - b % width) + abs(a // width - b // width) == 1
    ]
    order, gap, draw = [*range(many)], 0, Random(7)
    for _ in range(200):
        other = draw.choice([b for a, b in near if a == gap])
        order[gap], order[other], gap = order[other], 0, other
    goal = [*range(many)] if solvable else [0, 2, 1, *range(3, many)]
    facts = [f"(near c{a} c{b})" for a, b in near]
    facts += [f"(at t{tile} c{place})" if tile else f"(gap c{place})" for place, tile in enumerate(order)]
    objects = f"{name_all('c', many)} - cell {name_all('t', many)} - tile"
    wanted = " ".join(f"(at t{tile} c{place})" for place, tile in enumerate(goal) if tile)
    return load(SLIDING, problem_text("sliding", objects, " ".join(facts), wanted))


def name_all(letter: str, many: int) -> str:
    return " ".join(f"{letter}{number}" for number in range(many))


def problem_text(domain: str, objects: str, facts: str, goal: str, metric: str = "") -> str:
    return (
        f"(define (problem p) (:domain {domain}) (:objects {objects}) (:init {facts}) (:goal (and {goal}))"
        f"{metric and f' (:metric minimize {metric})'})"
    )


JUGS = """(define (domain jugs) (:requirements :strips :typing :numeric-fluents) (:types jug)
  (:predicates (other ?a ?b - jug))
  (:functions (in ?j - jug) (size ?j - jug) (total-cost))
  (:action fill :parameters (?j - jug) :precondition (< (in ?j) (size ?j))
    :effect (and (assign (in ?j) (size ?j)) (increase (total-cost) 3)))
  (:action empty :parameters (?j - jug) :precondition (> (in ?j) 0)
    :effect (and (assign (in ?j) 0) (increase (total-cost) 1)))
  (:action pour-all :parameters (?a ?b - jug)
    :precondition (and (other ?a ?b) (> (in ?a) 0) (<= (+ (in ?a) (in ?b)) (size ?b)))
    :effect (and (increase (in ?b) (in ?a)) (assign (in ?a) 0) (increase (total-cost) 1)))
  (:action pour-some :parameters (?a ?b - jug)
    :precondition (and (other ?a ?b) (> (+ (in ?a) (in ?b)) (size ?b)) (< (in ?b) (size ?b)))
    :effect (and (decrease (in ?a) (- (size ?b) (in ?b))) (assign (in ?b) (size ?b)) (increase (total-cost) 1))))"""


def jugs(sizes: tuple[int, ...] = (5, 7, 11), *, solvable: bool = True) -> Any:
    """Jugs and a tap; no sum of multiples of three is four."""
    sizes = sizes if solvable else (6, 9, 15)
    many = range(len(sizes))
    facts = [f"(other j{a} j{b})" for a in many for b in many if a != b]
    facts += [f"(= (size j{n}) {size}) (= (in j{n}) 0)" for n, size in enumerate(sizes)]
    wanted = " ".join(f"(= (in j{n}) {4 if n else 0})" for n in many)
    text = problem_text(
        "jugs", f"{name_all('j', len(sizes))} - jug", " ".join(facts) + " (= (total-cost) 0)", wanted, "(total-cost)"
    )
    return load(JUGS, text)


BELTS = """(define (domain belts) (:requirements :strips :typing :durative-actions) (:types part machine)
  (:predicates (raw ?p - part) (cut ?p - part) (done ?p - part) (free ?m - machine))
  (:durative-action cut :parameters (?p - part ?m - machine) :duration (= ?duration 3)
    :condition (and (at start (raw ?p)) (at start (free ?m)))
    :effect (and (at start (not (raw ?p))) (at start (not (free ?m))) (at end (free ?m)) (at end (cut ?p))))
  (:durative-action polish :parameters (?p - part ?m - machine) :duration (= ?duration 5)
    :condition (and (at start (cut ?p)) (at start (free ?m)))
    :effect (and (at start (not (free ?m))) (at end (free ?m)) (at end (done ?p)))))"""


def belts(parts: int = 3, *, solvable: bool = True) -> Any:
    """Parts that two machines cut and polish; a part that is done is no longer raw."""
    return load(BELTS, belts_text(parts, solvable=solvable))


def belts_text(parts: int, *, solvable: bool = True) -> str:
    facts = " ".join(f"(raw p{number})" for number in range(parts)) + " (free m0) (free m1)"
    wanted = " ".join(f"(done p{number})" for number in range(parts)) + ("" if solvable else " (raw p0)")
    objects = f"{name_all('p', parts)} - part m0 m1 - machine"
    return problem_text("belts", objects, facts, wanted, "(total-time)")


KINDS: dict[str, Callable[..., Any]] = {"classical": sliding, "numeric": jugs, "in time": belts}


def check(result: Result) -> None:
    if result.plan is not None:
        assert check_steps(result.plan.problem, result.plan).valid


@pytest.mark.parametrize("kind", KINDS)
def test_proofs_are_the_same(kind: str) -> None:
    found = {jobs: solve(KINDS[kind](), time_limit=60, jobs=jobs) for jobs in JOBS}
    for result in found.values():
        check(result)
        assert result.history.failures == ()
        assert (result.status, result.cost) == (found[1].status, found[1].cost)
        assert result.statistics.search
        assert result.lower_bound == result.cost
    assert found[1].status is Status.OPTIMAL


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("jobs", JOBS)
def test_first_plans_are_valid(kind: str, jobs: int) -> None:
    found = solve(KINDS[kind](), mode="first", time_limit=60, jobs=jobs)
    check(found)
    assert found.has_plan
    assert found.history.failures == ()
    assert all(each.search for each in found.history.milestones)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("mode", ["anytime", "first", "optimal"])
@pytest.mark.parametrize("jobs", JOBS)
def test_unsolvable_is_proved(kind: str, mode: str, jobs: int) -> None:
    assert solve(KINDS[kind](solvable=False), mode=mode, time_limit=60, jobs=jobs).status is Status.UNSOLVABLE


HARD: dict[str, Callable[[], Any]] = {
    "classical": lambda: sliding(5),
    "numeric": lambda: jugs((101, 103, 107, 109, 113, 127)),
    "in time": lambda: belts(14),
}


@pytest.mark.parametrize("kind", HARD)
@pytest.mark.parametrize("jobs", JOBS)
def test_the_time_limit_is_kept(kind: str, jobs: int) -> None:
    problem, began = HARD[kind](), time.monotonic()
    found = solve(problem, mode="optimal", time_limit=1.5, jobs=jobs)
    check(found)
    assert time.monotonic() - began < 20
    assert found.status in (Status.UNKNOWN, Status.SOLVED)
    assert found.stopped_by is StoppedBy.TIME


@pytest.mark.parametrize("kind", HARD)
@pytest.mark.parametrize("jobs", JOBS)
@pytest.mark.parametrize("seconds", [0.0, 0.2, 1.0])
def test_cancelling_ends_all_searches(kind: str, jobs: int, seconds: float) -> None:
    cancel = threading.Event()
    timer = threading.Timer(seconds, cancel.set)
    timer.start()
    found = solve(HARD[kind](), mode="optimal", time_limit=60, cancel=cancel, jobs=jobs)
    timer.join()
    check(found)
    assert found.stopped_by is StoppedBy.CANCELLED


@pytest.mark.contained_errors
@pytest.mark.parametrize("jobs", JOBS)
def test_an_error_of_a_member_is_told_and_ends_nothing_else(jobs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: Workplace) -> Steps:
        yield
        raise ValueError("for a test")

    monkeypatch.setattr(Workplace, "try_relaxed_plans", fail)
    found = solve(sliding(), time_limit=60, jobs=jobs)
    check(found)
    assert found.status is Status.OPTIMAL
    assert [each.error.split(" (")[0] for each in found.history.failures] == ["ValueError: for a test"]


@pytest.mark.contained_errors
@pytest.mark.parametrize("jobs", JOBS)
def test_an_error_of_a_numeric_member_is_told(jobs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: NumericEstimates) -> Iterator[None]:
        yield
        raise ValueError(f"for a test {self.kind}")

    monkeypatch.setattr(NumericEstimates, "prepare", fail)
    found = solve(jugs(), time_limit=60, jobs=jobs)
    check(found)
    assert found.has_plan
    assert {each.error.split(" (")[0][:22] for each in found.history.failures} == {"ValueError: for a test"}


@pytest.mark.parametrize("jobs", JOBS)
def test_an_error_of_the_callback_ends_all(jobs: int) -> None:
    def fail(_: Any) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        solve(sliding(), time_limit=60, on_progress=fail, jobs=jobs)


@pytest.mark.usefixtures("short_turns")
def test_callbacks_come_in_the_thread_of_the_caller() -> None:
    threads = set()
    solve(sliding(), time_limit=60, on_progress=lambda _: threads.add(threading.current_thread()), jobs=3)
    assert threads == {threading.main_thread()}


# -- random tasks, against enumerations


def compare_classical(seed: int, jobs: int, mode: str) -> None:
    """Compare the answer of `jobs` with brute force over the declared states, where these are few."""
    problem = random_problem(seed)
    try:
        optimum = brute_force(problem, max_states=400)
        solve(problem, time_limit=0)
    except (TooManyStates, InputError):  # InputError: a mistake in the problem
        return
    result = solve(problem, mode=mode, jobs=jobs, time_limit=None)
    assert result.has_plan == (optimum is not None)
    assert result.history.failures == ()
    if result.plan is not None:
        assert validate(problem, result.plan).valid
        assert result.lower_bound <= optimum <= result.cost
        assert result.cost == optimum or mode == "first"
    if mode != "first":
        assert result.status is (Status.UNSOLVABLE if optimum is None else Status.OPTIMAL)


def compare_numeric(seed: int, jobs: int, mode: str) -> bool:
    """Compare the answer of `jobs` with that of one and with an enumeration; return whether that is possible."""
    problem = random_numeric_problem(seed)
    try:
        shortest = explore(problem, 250).plan
        least = None if shortest is None else find_least_cost(problem, 2000)
        alone = solve(problem, mode=mode, time_limit=20)
    except (TooManyNumericStates, PlanError, Unbounded, InputError):  # InputError: a mistake in the problem
        return False
    beside = solve(problem, mode=mode, time_limit=20, jobs=jobs)
    check(beside)
    assert beside.has_plan == alone.has_plan
    assert beside.status is alone.status or mode == "first"
    assert beside.cost == least or beside.status is not Status.OPTIMAL
    return True


@pytest.mark.usefixtures("short_turns")
@settings(max_examples=examples(25), suppress_health_check=[*HealthCheck])
@given(seed=st.integers(0, 10**9), jobs=st.sampled_from([2, 3]), mode=st.sampled_from(["anytime", "optimal", "first"]))
def test_random_tasks_have_the_optimum_of_brute_force(seed: int, jobs: int, mode: str) -> None:
    compare_classical(seed, jobs, mode)


@pytest.mark.usefixtures("short_turns")
@pytest.mark.parametrize("block", range(20, 23))
def test_random_numeric_tasks(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exact_numeric_search, "MOST_STATES", 250)
    seeds = range(block * 10, (block + 1) * 10)
    compared = [compare_numeric(seed, 2 + seed % 2, ("anytime", "optimal", "first")[seed % 3]) for seed in seeds]
    assert sum(compared) > 2


@pytest.mark.usefixtures("short_turns")
def test_machine_code_in_lanes_proves_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    use_machine_code(monkeypatch)
    monkeypatch.setattr(tiers, "PATIENCE_BUILT", 0.0)
    monkeypatch.setattr(exact_numeric_search, "MOST_STATES", 250)
    for seed in range(40):
        compare_classical(seed, 2 + seed % 2, ("anytime", "optimal", "first")[seed % 3])
    for seed in range(200, 230):
        compare_numeric(seed, 2 + seed % 2, ("anytime", "optimal", "first")[seed % 3])


# -- doors


@pytest.mark.parametrize("jobs", [0, -1, 1.5, "2", None, True])
def test_jobs_is_a_positive_integer(jobs: Any) -> None:
    with pytest.raises(InputError, match="`jobs` must be a positive integer"):
        solve(sliding(), jobs=jobs)


@pytest.mark.parametrize("option", [{"plain": True}, {"search": "astar"}, {"heuristic": "hmax"}, {"engine": "lpg"}])
def test_one_search_is_not_at_work_beside_others(option: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=f"`jobs` is for searches that share the work, and `{next(iter(option))}`"):
        solve(sliding(), jobs=2, **option)


@pytest.fixture
def command(tmp_path: Path) -> Callable[[int], list[str]]:
    """The command that solves a task that nobody solves to the end, with so many jobs."""
    files = [tmp_path / "domain.pddl", tmp_path / "problem.pddl"]
    for path, text in zip(files, (BELTS, belts_text(14)), strict=True):
        path.write_text(text)
    named = [sys.executable, "-m", "planner.cli", "solve", *map(str, files), "--time-limit", "60"]
    return lambda jobs: [*named, "--jobs", str(jobs)]


@pytest.mark.parametrize(("number", "jobs"), [(signal.SIGTERM, 2), (signal.SIGINT, 3), (signal.SIGTERM, 1)])
def test_a_signal_ends_the_command_with_what_it_has_found(tmp_path: Path, command: Any, number: int, jobs: int) -> None:
    plan = tmp_path / "plan"
    with subprocess.Popen(
        [*command(jobs), "--plan-file", str(plan)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        wait_until(plan.exists)
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
    assert "p13" in out, err
    assert not is_there(process.pid)


def wait_until(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + 60
    while not condition() and time.monotonic() < until:
        time.sleep(0.02)


def is_there(group: int) -> bool:
    """Return whether a process of this group is there."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize("jobs", [1, 2])
def test_killing_it_leaves_no_process(jobs: int) -> None:
    script = "import sys, test_jobs; test_jobs.search_long(int(sys.argv[1]))"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path])}
    with subprocess.Popen(
        [sys.executable, "-c", script, str(jobs)], stdout=subprocess.PIPE, start_new_session=True, env=environment
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline()
        process.kill()
        process.wait()
    wait_until(lambda: not is_there(process.pid))
    assert not is_there(process.pid)


def search_long(jobs: int) -> None:
    """Search for the proof of a large task; print a line once symbolic search is at work in a process of its own."""
    start = symbolic_process.SymbolicProcess

    def tell(*given: Any, **options: Any) -> Any:
        process = start(*given, **options)
        print("begun", flush=True)  # noqa: T201 - the test waits for it
        return process

    symbolic_process.SymbolicProcess = tell  # type: ignore[misc,assignment]
    solve(sliding(4), mode="optimal", time_limit=60, jobs=jobs)
