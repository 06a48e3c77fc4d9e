"""Runs: every attempt recorded once, plans judged, the command line."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest
from typer import BadParameter
from typer.testing import CliRunner

from benchmarks.cli import app
from benchmarks.commands.options import parse_processors
from benchmarks.planners import Answer, Job, Outcome, planner_of
from benchmarks.planners.base import read_stated_cost
from benchmarks.process import Limits, Run
from benchmarks.records import Record, lock_results, read_records
from benchmarks.run import Attempt, Settings, apply_verdicts, attempts_of, carry_out, check_again, plan_length, run_all
from benchmarks.suite import BenchmarkTask, load_suite
from benchmarks.validators import Verdict
from planner.errors import DocumentError, InputError

DOMAIN = """(define (domain walk) (:requirements :strips)
  (:predicates (at ?p) (way ?p ?q))
  (:action go :parameters (?p ?q) :precondition (and (at ?p) (way ?p ?q)) :effect (and (at ?q) (not (at ?p)))))"""
PROBLEM = """(define (problem p) (:domain walk) (:objects a b c d)
  (:init (at a) (way a b) (way b c) (way a d) (way d b)) (:goal (at {goal})))"""
NEXT = "from pathlib import Path; assert 'walk' in Path('domain.pddl').read_text(); Path('plan').write_text({plan!r})"


@dataclass(frozen=True)
class Scripted:
    """A planner that writes the same plan for every task."""

    label: str
    plan: str
    outcome: Outcome = Outcome.SOLVED
    packages: tuple[str, ...] = ()

    @property
    def configuration(self) -> str:
        return "scripted"

    def job(self, limits: Limits) -> Job:
        assert limits.cpu_seconds > 0
        return Job((sys.executable, "-c", NEXT.format(plan=self.plan)))

    def read(self, run: Run, folder: Path, features: frozenset[str]) -> Answer:
        assert (run.returncode, features) == (0, frozenset())
        text = (folder / "plan").read_text()
        return Answer(self.outcome, plan=text, cost=read_stated_cost(text))


GOOD = "(go a b)\n(go b c)\n; cost = 2 (unit cost)\n"
SETTINGS = Settings(Limits(10, 1), validators=("fast-downward",))


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    folder = tmp_path / "walks"
    folder.mkdir()
    (folder / "domain.pddl").write_text(DOMAIN)
    for number, goal in enumerate("cba", start=1):
        (folder / f"p{number}.pddl").write_text(PROBLEM.format(goal=goal))
    return folder


@pytest.fixture
def task(suite: Path) -> BenchmarkTask:
    return load_suite(suite)[0]


def test_a_valid_plan(task: BenchmarkTask) -> None:
    pytest.importorskip("up_fast_downward")
    found = carry_out(Attempt(task, Scripted("x", GOOD)), SETTINGS)
    assert (found.suite, found.domain, found.task, found.planner) == ("walks", "walks", "p1.pddl", "x")
    assert (found.outcome, found.cost, found.plan_length, found.plan) == (Outcome.SOLVED, 2, 2, GOOD)
    assert found.checks == {"fast-downward": "valid"}
    assert found.limits == {"cpu_seconds": 10, "memory_gib": 1}
    assert found.cpu_seconds > 0
    assert found.peak_mib > 1
    assert "python" in found.versions
    assert found.date


@pytest.mark.parametrize(
    ("plan", "detail"),
    [
        ("(go a c)\n", "fast-downward says invalid: "),
        (GOOD.replace("= 2", "= 1"), "cost 1 was claimed, validators say [2]"),
    ],
)
def test_an_invalid_plan_or_claim(plan: str, detail: str, task: BenchmarkTask) -> None:
    pytest.importorskip("up_fast_downward")
    found = carry_out(Attempt(task, Scripted("x", plan, Outcome.OPTIMAL)), SETTINGS)
    assert found.outcome is Outcome.INVALID
    assert found.detail.startswith(detail)
    assert not found.covered


@pytest.mark.parametrize(
    ("verdicts", "outcome", "cost"),
    [
        ({}, Outcome.SOLVED, 2),
        ({"v": Verdict("valid")}, Outcome.SOLVED, 2),
        ({"v": Verdict("valid", 2), "w": Verdict("unsupported: axioms")}, Outcome.SOLVED, 2),
        ({"v": Verdict("error: crashed")}, Outcome.SOLVED, 2),
        ({"v": Verdict("valid", 2), "w": Verdict("invalid: goal")}, Outcome.INVALID, 2),
        ({"v": Verdict("valid", 3)}, Outcome.INVALID, 3),
    ],
)
def test_judgement(verdicts: dict[str, Verdict], outcome: Outcome, cost: int) -> None:
    before = Record("s", "d", "t", "p", "c", Outcome.SOLVED, cost=2, checks={"earlier": "valid"})
    after = apply_verdicts(before, verdicts)
    assert (after.outcome, after.cost) == (outcome, cost)
    assert after.checks == {"earlier": "valid", **{name: verdict.said for name, verdict in verdicts.items()}}


def test_planners_alternate_on_each_task(suite: Path) -> None:
    tasks = load_suite(suite)[:2]
    order = [(one.task.name, one.round, one.planner.label) for one in attempts_of(tasks, [A, B], rounds=2)]
    assert order == [
        ("p1.pddl", 0, "a"),
        ("p1.pddl", 0, "b"),
        ("p1.pddl", 1, "a"),
        ("p1.pddl", 1, "b"),
        ("p2.pddl", 0, "a"),
        ("p2.pddl", 0, "b"),
        ("p2.pddl", 1, "a"),
        ("p2.pddl", 1, "b"),
    ]


A, B = Scripted("a", GOOD), Scripted("b", GOOD)


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_run_continues_where_it_stopped(jobs: int, suite: Path, tmp_path: Path) -> None:
    out = tmp_path / "results.jsonl"
    settings = Settings(Limits(10, 1), validators=(), jobs=jobs)
    attempts = attempts_of(load_suite(suite), [A, B])
    told: list[Record] = []
    assert run_all(attempts[:3], out, settings, told.append) == 3
    with out.open("a") as file:
        file.write('{"suite": "wal')
    assert run_all(attempts, out, settings, told.append) == 3
    assert run_all(attempts, out, settings, told.append) == 0
    records = read_records(out)
    assert records == told
    assert len({record.key for record in records}) == len(records) == 6


def test_a_planner_that_breaks_stops_the_run_but_keeps_the_records(suite: Path, tmp_path: Path) -> None:
    out = tmp_path / "results.jsonl"
    attempts = [Attempt(load_suite(suite)[0], one) for one in (A, Scripted("c", "", packages=("no",)))]
    broken = Attempt(attempts[0].task, Broken("d", GOOD))
    with pytest.raises(ZeroDivisionError):
        run_all([*attempts, broken], out, Settings(Limits(10, 1), validators=()), lambda _: None)
    assert [record.planner for record in read_records(out)] == ["a", "c"]


class Broken(Scripted):
    def job(self, limits: Limits) -> Job:
        raise ZeroDivisionError(limits)


def test_plans_are_checked_again_only_by_those_who_have_not_seen_them(task: BenchmarkTask) -> None:
    pytest.importorskip("up_fast_downward")
    seen = Record(
        "walks", "walks", task.name, "p", "c", Outcome.SOLVED, cost=2, checks={"pyperplan": "said"}, plan=GOOD
    )
    again = check_again(seen, task, ["pyperplan", "fast-downward"])
    assert again.checks == {"pyperplan": "said", "fast-downward": "valid"}


def test_plan_length() -> None:
    assert plan_length("(a)\n (b x)\n\n; cost = 2\n; (c)\n") == 2


def bench(*arguments: object) -> str:
    result = CliRunner().invoke(app, [str(word) for word in arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_the_command_line(suite: Path, tmp_path: Path) -> None:
    pytest.importorskip("up_fast_downward")
    out = tmp_path / "results.jsonl"
    run = ("run", suite, "--planner", "pyperplan-bfs", "--planner", "pyperplan-gbf-hff", "--out", out)
    run = (*run, "--core", ",".join(map(str, here())))
    bench(*run, "--check", "pyperplan", "--name", "p1*", "--name", "p2*")
    records = read_records(out)
    assert [(record.task, record.planner, record.outcome, dict(record.checks)) for record in records] == [
        ("p1.pddl", "pyperplan-bfs", Outcome.OPTIMAL, {"pyperplan": "valid"}),
        ("p1.pddl", "pyperplan-gbf-hff", Outcome.SOLVED, {"pyperplan": "valid"}),
        ("p2.pddl", "pyperplan-bfs", Outcome.OPTIMAL, {"pyperplan": "valid"}),
        ("p2.pddl", "pyperplan-gbf-hff", Outcome.SOLVED, {"pyperplan": "valid"}),
    ]
    assert "| **total** | **2** | **2** | **2** |" in bench("table", out)
    assert "| **total** | **2** | **2** | **0** |" in bench("table", out, "--proved")
    assert "Contradictions: 0" in bench("compare", out)
    assert "satisficing score" in bench("table", out)
    assert "| p2.pddl | optimal | 1 |" in bench("table", out, "--tasks", "--planner", "pyperplan-bfs")
    assert "no planner tells" not in bench("rates", out, "--least-seconds", "0")
    assert "left: pyperplan-gbf-hff" in bench("compare", out, out, "--left", "pyperplan-gbf-hff")
    judged_file = tmp_path / "judged.jsonl"
    table = bench("validate", suite, out, "--check", "fast-downward", "--out", judged_file)
    assert "| pyperplan-bfs | fast-downward | 2 |" in table
    assert read_records(out) == records
    assert all(record.checks["fast-downward"] == "valid" for record in read_records(judged_file))


def test_the_listings(suite: Path) -> None:
    assert "| walks | 3 |  | STRIPS |" in bench("suites", suite)
    listing = bench("planners")
    assert "| fd-astar-lmcut | `fd:astar(lmcut())` |" in listing
    assert "| unified-planning | axioms, hierarchy |" in listing


def test_a_planner_that_is_not_installed_is_left_out(
    suite: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("benchmarks.planners.find_missing", lambda one: "symk" if "symk" in one.label else None)
    out = tmp_path / "results.jsonl"
    arguments = ["run", suite, "--planner", "symk-bd", "--planner", "pyperplan-bfs", "--out", out, "--name", "p1*"]
    result = CliRunner().invoke(app, [*map(str, arguments), "--check", "none"], catch_exceptions=False)
    assert "symk-bd is left out: symk is not installed" in result.output
    assert [(record.planner, dict(record.checks)) for record in read_records(out)] == [("pyperplan-bfs", {})]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("run", "SUITE", "--planner", "symk-db"), "there is no planner 'symk-db'; did you mean 'symk-bd'?"),
        (
            ("run", "SUITE", "--planner", "a=ours:mode=first", "--planner", "a=ours:mode=optimal"),
            "two planners are labelled 'a'; give one of them another label",
        ),
        (
            ("run", "SUITE", "--planner", "symk-bd", "--check", "pyperplam"),
            "there is no validator 'pyperplam'; did you",
        ),
        (("run", "SUITE/none", "--planner", "symk-bd"), "no planning tasks found"),
        (("run", "SUITE", "--planner", "ours:mode=bad"), "there is no mode 'bad'; there are anytime, first, optimal"),
        (("run", "SUITE", "--planner", "ours:tempo=3"), "is not a configuration: there is no option 'tempo'"),
        (("run", "SUITE", "--planner", "ours:", "--domain", "zz*"), "no task fits --domain 'zz*'"),
        (
            ("run", "SUITE", "--planner", "ours:", "--track", "opt", "--name", "p1*"),
            "no task fits --track 'opt' --name",
        ),
        (("table", "SUITE/empty"), "empty: there are no results; "),
        (("compare", "SUITE/empty"), "there are no results; "),
        (("table", "SUITE/binary"), "binary: the file is no UTF-8 text: "),
    ],
)
def test_mistakes_on_the_command_line(arguments: tuple[str, ...], message: str, suite: Path) -> None:
    given = [word.replace("SUITE", str(suite)) for word in arguments]
    (suite / "empty").touch()
    (suite / "binary").write_bytes(b"\xff\n")
    with pytest.raises(InputError, match=re.escape(message)):
        CliRunner().invoke(app, given, catch_exceptions=False)


@pytest.mark.parametrize(
    "option",
    [
        "--time-limit=-1",
        "--time-limit=nan",
        "--time-limit=inf",
        "--memory-limit=0",
        "--core=99999",
        "--core=x",
        "--core=0,",
        "--core=",
        "--sample=-3",
    ],
)
def test_numbers_that_make_no_sense(option: str, suite: Path, tmp_path: Path) -> None:
    out = tmp_path / "results.jsonl"
    result = CliRunner().invoke(app, ["run", str(suite), "--planner", "ours:", "--out", str(out), option])
    assert (result.exit_code, out.exists()) == (2, False), result.output
    assert option.partition("=")[0] in result.output


def here() -> list[int]:
    return sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else list(range(os.cpu_count() or 1))


def test_processors_that_are_there() -> None:
    known = here()
    assert parse_processors(str(known[0])).numbers == (known[0],)
    assert parse_processors(f"{known[-1]},{known[0]}-{known[-1]}").numbers == tuple(dict.fromkeys([known[-1], *known]))


def test_processors_backwards() -> None:
    if len(here()) > 1:
        with pytest.raises(BadParameter, match="is empty; write the lower number first"):
            parse_processors(f"{here()[-1]}-{here()[0]}")


@pytest.mark.parametrize(
    ("jobs", "cores", "shares"),
    [(1, (), [()]), (2, (), [(), ()]), (1, (0, 1), [(0, 1)]), (2, (4, 1), [(4,), (1,)]), (2, (0, 1, 2), [(0,), (1,)])],
)
def test_each_job_has_processors_of_its_own(jobs: int, cores: tuple[int, ...], shares: list[tuple[int, ...]]) -> None:
    assert Settings(jobs=jobs, cores=cores).shares() == shares


def test_jobs_do_not_share_a_processor(suite: Path, tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match="3 jobs at a time need that many processors; --core names 2"):
        run_all(
            attempts_of(load_suite(suite), [A]), tmp_path / "r.jsonl", Settings(jobs=3, cores=(0, 1)), lambda _: None
        )


WHERE = "import os; open('plan', 'w').write(' '.join(map(str, os.sched_getaffinity(0))))"


@dataclass(frozen=True)
class Placed(Scripted):
    """Writes where it runs as its plan."""

    def job(self, limits: Limits) -> Job:  # noqa: ARG002 - as the protocol says
        return Job((sys.executable, "-c", WHERE))


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="processors cannot be chosen here")
def test_jobs_run_on_their_processors(suite: Path, tmp_path: Path) -> None:
    known, out = here()[:2], tmp_path / "r.jsonl"
    settings = Settings(Limits(10, 1), validators=(), jobs=len(known), cores=known)
    attempts = attempts_of(load_suite(suite), [Placed(label, "") for label in "abc"])
    run_all(attempts, out, settings, lambda _: None)
    places = [record.plan for record in read_records(out)]
    assert set(places) <= {str(number) for number in known}
    assert len(places) == 9


SLOW = "import time; from pathlib import Path; Path('plan').write_text({plan!r}); time.sleep({seconds})"


@dataclass(frozen=True)
class Slow(Scripted):
    """Takes a while, and sees nothing of it in CPU time."""

    seconds: float = 0.2

    def job(self, limits: Limits) -> Job:  # noqa: ARG002 - as the protocol says
        return Job((sys.executable, "-c", SLOW.format(plan=self.plan, seconds=self.seconds)))


def test_an_interrupt_ends_what_runs_and_keeps_what_is_done(suite: Path, tmp_path: Path) -> None:
    out = tmp_path / "r.jsonl"
    attempts = [Attempt(task, one) for task in load_suite(suite)[:1] for one in (A, Slow("b", GOOD, seconds=3600))]

    def interrupt(_: Record) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_all(attempts, out, Settings(Limits(30, 1), validators=(), jobs=2), interrupt)
    assert [record.planner for record in read_records(out)] == ["a"]


KILLED = """
import sys
from pathlib import Path
sys.path.insert(0, {tests!r})
from test_run import GOOD, Limits, Settings, Slow, attempts_of, load_suite, run_all
slow = [Slow(name, GOOD, seconds=0.3) for name in "ab"]
attempts = attempts_of(load_suite(Path({suite!r})), slow)
run_all(attempts, Path({out!r}), Settings(Limits(10, 1), validators=(), jobs=2), lambda _: None)
"""


def test_parallel_jobs_continue_after_a_kill(suite: Path, tmp_path: Path) -> None:
    out = tmp_path / "r.jsonl"
    code = KILLED.format(tests=str(Path(__file__).parent), suite=str(suite), out=str(out))
    root = Path(__file__).parents[2]
    with subprocess.Popen([sys.executable, "-c", code], cwd=root) as process:
        while not (out.exists() and out.read_bytes().count(b"\n") >= 2):
            time.sleep(0.02)
        process.kill()
    before = read_records(out)
    assert 2 <= len(before) < 6
    slow = [Slow(name, GOOD, seconds=0.3) for name in "ab"]
    attempts = attempts_of(load_suite(suite), slow)
    settings = Settings(Limits(10, 1), validators=(), jobs=2)
    assert run_all(attempts, out, settings, lambda _: None) == 6 - len(before)
    after = read_records(out)
    assert after[: len(before)] == before
    assert sorted((one.task, one.planner) for one in after) == sorted(
        (one.task.name, one.planner.label) for one in attempts
    )
    assert {(one.outcome, one.plan, one.cost) for one in after} == {(Outcome.SOLVED, GOOD, 2)}


def test_what_was_there_already_is_told_only_where_it_was(
    suite: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("benchmarks.planners.planner_of", lambda name: Scripted(name, GOOD))
    arguments = ["run", str(suite), "--out", str(tmp_path / "r.jsonl"), "--check", "none", "--planner", "a"]
    said = [
        CliRunner().invoke(app, [*arguments, *more], catch_exceptions=False).output for more in ([], ["--planner", "b"])
    ]
    assert said[0].endswith("3 of 3 runs carried out\n")
    assert said[1].endswith(f"3 of 6 runs carried out, the others were in {tmp_path / 'r.jsonl'} already\n")


def test_two_runs_do_not_write_one_file(suite: Path, tmp_path: Path) -> None:
    pytest.importorskip("fcntl")
    out = tmp_path / "deeper" / "results.jsonl"
    attempts = attempts_of(load_suite(suite), [A])
    with lock_results(out), pytest.raises(DocumentError, match="another run is writing to this file; wait"):
        run_all(attempts, out, SETTINGS, lambda _: None)
    assert run_all(attempts, out, Settings(Limits(10, 1), validators=()), lambda _: None) == 3


def test_ours_solves_a_task(task: BenchmarkTask) -> None:
    found = carry_out(Attempt(task, planner_of("ours-optimal")), Settings(Limits(20, 2)))
    assert (found.outcome, found.cost, found.lower_bound) == (Outcome.OPTIMAL, 2, 2), found
    assert found.checks == {"forethought": "valid"}
