"""Hierarchical tasks in benchmarks: suites by track, plans with decompositions, lengths, and what cannot be read."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from benchmarks.cli import app
from benchmarks.html_report import report_page
from benchmarks.pddltext import find_features, read_expression
from benchmarks.planners import Answer, Job, Outcome, planner_of
from benchmarks.planners.base import PROBLEM_FILE, languages_of
from benchmarks.process import Limits, Run
from benchmarks.records import Record, is_done, read_records
from benchmarks.report import find_shortest_plans, length_score, track_tables
from benchmarks.run import Attempt, Settings, carry_out, plan_length
from benchmarks.suite import BenchmarkTask, Selection, load_suite
from benchmarks.validators.plan_checks import check_by_forethought
from planner.errors import DocumentError

DOMAIN = """; what follows is a domain
(define
  (domain errands) (:types place) (:predicates (at ?p - place) (way ?p ?q - place) (done ?p - place))
  (:task visit :parameters (?p - place))
  (:method here :parameters (?p - place) :task (visit ?p) :precondition (at ?p) :ordered-subtasks (and (look ?p)))
  (:method there :parameters (?o ?p - place) :task (visit ?p) :precondition (way ?o ?p)
    :ordered-subtasks (and (go ?o ?p) (look ?p)))
  (:action go :parameters (?p ?q - place) :precondition (and (at ?p) (way ?p ?q)) :effect (and (at ?q) (not (at ?p))))
  (:action look :parameters (?p - place) :precondition (at ?p) :effect (done ?p)))"""
PROBLEM = """(define (problem p) (:domain errands) (:objects a b c - place)
  (:htn :ordered-subtasks (and (visit a) (visit {last}))) (:init (at a) (way a b) (way b c)))"""
PLAN = """==>
0 look a
1 go a b
2 look b
root 3 4
3 visit a -> here 0
4 visit b -> there 1 2
<==
"""
TABLE = """track\tdomain\tdomain_file\tproblem_file
total-order\tErrands\tdomain.hddl\tp1.hddl
total-order\tErrands\tdomain.hddl\tp2.hddl
partial-order\tErrands\tdomain.hddl\tp1.hddl
partial-order\tErrands\tdomain.hddl\tother.hddl
"""
KNOWN = """track\tdomain\tproblem_file\tshortest_known
total-order\tErrands\tp1.hddl\t2
"""


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    folder = tmp_path / "hierarchies"
    for track in ("total-order", "partial-order"):
        place = folder / track / "Errands"
        place.mkdir(parents=True)
        (place / "domain.hddl").write_text(DOMAIN)
        for name, last in (("p1", "b"), ("p2", "c")):
            (place / f"{name}.hddl").write_text(PROBLEM.format(last=last))
    (folder / "partial-order/Errands/other.hddl").write_text(DOMAIN)
    (folder / "tasks.tsv").write_text(TABLE)
    (folder / "best_known.tsv").write_text(KNOWN)
    return folder


def test_a_table_with_tracks(suite: Path) -> None:
    tasks = load_suite(suite)
    place = suite / "total-order/Errands"
    assert tasks[0] == BenchmarkTask(
        "hierarchies",
        "total-order/Errands",
        "total-order/Errands/p1.hddl",
        place / "domain.hddl",
        place / "p1.hddl",
        frozenset({"total-order"}),
        2,
    )
    assert [task.shortest_known for task in tasks] == [2, None, None, None]
    assert {task.suffix for task in tasks} == {".hddl"}


@pytest.mark.parametrize(
    ("selection", "places"),
    [
        (Selection(track="partial-order"), [2, 3]),
        (Selection(domains=["Errands"]), [0, 1, 2, 3]),
        (Selection(domains=["total*"]), [0, 1]),
        (Selection(names=["*/p1.hddl"], track="total-order"), [0]),
        (Selection(domains=["errands"]), []),
    ],
)
def test_tracks_and_domains_are_chosen(selection: Selection, places: list[int], suite: Path) -> None:
    tasks = load_suite(suite)
    assert selection.of(tasks) == [tasks[place] for place in places]


def test_a_folder_of_hierarchical_files(suite: Path) -> None:
    (suite / "tasks.tsv").unlink()
    (suite / "best_known.tsv").unlink()
    names = [task.name for task in load_suite(suite)]
    assert names == [
        f"{track}/Errands/{name}.hddl"
        for track, files in (("partial-order", ("other", "p1", "p2")), ("total-order", ("p1", "p2")))
        for name in files
    ]


@pytest.mark.parametrize("line", ["total-order\tErrands\tp1.hddl\tfew", "total-order\tErrands\tp1.hddl"])
def test_best_known_lengths_that_are_none(line: str, suite: Path) -> None:
    (suite / "best_known.tsv").write_text(KNOWN + line + "\n")
    with pytest.raises(DocumentError, match=r"best_known\.tsv:3: found .*, expected a problem and a number of steps"):
        load_suite(suite)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (PROBLEM, None),
        (DOMAIN, "defines a domain, not a problem"),
        ("(DEFINE (Problem x) (:domain y))", None),
        (";" + "x" * 1000 + "\n\n(define ; why\n (domain\n  x))", "defines a domain, not a problem"),
        ("nonsense", None),
        ("", None),
        (None, "there is no file"),
    ],
)
def test_files_that_are_no_task(text: str | None, says: str | None, suite: Path) -> None:
    task = load_suite(suite)[0]
    task.problem_path.unlink()
    if text is not None:
        task.problem_path.write_text(text)
    fault = task.fault()
    assert fault == says if says is None else says in (fault or "")


def test_what_hierarchies_use() -> None:
    problem = read_expression(PROBLEM, "p")
    assert find_features(read_expression(DOMAIN, "d"), problem) == {"hierarchy", "method preconditions"}
    plain = re.sub(r":precondition \((at|way)[^()]*\)", ":precondition (and) :constraints (and)", DOMAIN)
    assert find_features(read_expression(plain, "d"), problem) == {"hierarchy"}


@pytest.mark.parametrize(
    ("plan", "length"),
    [(PLAN, 3), ("==>\nroot\n<==\n", 0), ("; note\n==>\n0 go a b\n", 1), ("(go a b)\n; cost = 1\n", 1), ("", 0)],
)
def test_the_length_of_plans(plan: str, length: int) -> None:
    assert plan_length(plan) == length


@pytest.mark.parametrize(
    ("plan", "said"),
    [
        (PLAN, "valid"),
        ("(look a)\n(go a b)\n(look b)\n", "valid"),
        (PLAN.replace("-> there 1 2", "-> here 2"), "invalid: "),
        (PLAN.replace("1 go a b", "1 go b a"), "invalid: "),
        (PLAN.replace("3 visit a -> here 0\n", ""), "invalid: "),
        ("(look a)\n(go a b)\n(look b)\n(go b c)\n", "invalid: "),
    ],
)
def test_plans_are_judged(plan: str, said: str, suite: Path) -> None:
    task = load_suite(suite)[0]
    verdict = check_by_forethought(task.domain_path, task.problem_path, plan)
    assert verdict.said.startswith(said)
    assert (verdict.cost == 3) is verdict.valid


@dataclass(frozen=True)
class Scripted:
    """A planner that answers with a plan, and has been given files of a name."""

    label: str = "scripted"
    plan: str = PLAN
    languages: frozenset[str] = frozenset({".hddl"})
    configuration: str = "scripted"
    packages: tuple[str, ...] = ()

    def job(self, limits: Limits) -> Job:
        assert limits.cpu_seconds > 0
        code = "import sys; print(sys.argv[1], 'htn' in open(sys.argv[1]).read())"
        return Job((sys.executable, "-c", code, PROBLEM_FILE))

    def read(self, run: Run, folder: Path, features: frozenset[str]) -> Answer:
        assert run.stdout == "problem.hddl True\n"
        assert (folder / "domain.hddl").read_text() == DOMAIN
        assert "hierarchy" in features
        return Answer(Outcome.SOLVED, plan=self.plan)


def test_a_run_is_judged_and_knows_its_track(suite: Path) -> None:
    found = carry_out(Attempt(load_suite(suite)[0], Scripted()), Settings(Limits(10, 1)))
    assert (found.outcome, found.cost, found.plan_length) == (Outcome.SOLVED, 3, 3)
    assert (found.tracks, found.shortest_known) == (("total-order",), 2)
    assert found.checks == {"forethought": "valid"}
    assert Record.from_line(found.to_line()) == found


def test_a_false_decomposition_is_noticed(suite: Path) -> None:
    planner = Scripted(plan=PLAN.replace("4 visit b -> there 1 2", "4 visit b -> here 2"))
    found = carry_out(Attempt(load_suite(suite)[0], planner), Settings(Limits(10, 1)))
    assert found.outcome is Outcome.INVALID
    assert found.detail.startswith("forethought says invalid: ")


def test_who_reads_no_hierarchies_is_not_run(suite: Path) -> None:
    planner = Scripted(languages=frozenset({".pddl"}))
    found = carry_out(Attempt(load_suite(suite)[0], planner), Settings(Limits(10, 1)))
    assert (found.outcome, found.detail) == (Outcome.UNSUPPORTED, "it reads no .hddl files")
    assert (found.cpu_seconds, "hierarchy" in found.features) == (0.0, True)


@pytest.mark.parametrize(
    ("name", "reads"),
    [
        ("ours-first", {".pddl", ".hddl"}),
        ("fd-lama-first", {".pddl"}),
        ("kairos", {".pddl"}),
        ("gtpyhop", {".hddl"}),
        ("aries", {".pddl", ".hddl"}),
        ("nextflap", {".pddl"}),
    ],
)
def test_languages(name: str, reads: set[str]) -> None:
    assert languages_of(planner_of(name)) == reads


def bench(*arguments: Any) -> str:
    result = CliRunner().invoke(app, [*map(str, arguments)], catch_exceptions=False)
    assert result.exit_code == 0
    return result.output


def test_from_the_suite_to_the_page(suite: Path, tmp_path: Path) -> None:
    out, page = tmp_path / "results.jsonl", tmp_path / "page.html"
    arguments = ("--name", "*/p1.hddl", "--name", "*/other.hddl", "--time-limit", "20")
    told = bench("run", suite, "--planner", "ours-first", "--out", out, *arguments)
    assert re.search(r"partial-order/Errands/other\.hddl is left out: .* defines a domain, not a problem", told)
    assert "2 of 2 runs carried out" in told
    records = read_records(out)
    assert [(record.plan_length, dict(record.checks)) for record in records] == [(3, {"forethought": "valid"})] * 2
    report = bench("table", out)
    assert re.search(
        r"\| ours-first \| total-order \| 1 \| 1 \| 100 \| [01] \| [01] \| 0\.67 \| 0\.667 \| 0 \|", report
    )
    assert re.search(
        r"\| ours-first \| partial-order \| 1 \| 1 \| 100 \| [01] \| [01] \| 1\.00 \| 1\.000 \| 0 \|", report
    )
    assert "| length score | tasks | ours-first |" in report
    bench("html", out, "--out", page)
    assert "<h2>By track</h2>" in page.read_text()


def record(task: str, planner: str, length: int | None, seconds: float = 1.0, known: int | None = None) -> Record:
    outcome = Outcome.SOLVED if length is not None else Outcome.TIME
    track, domain, _ = task.split("/")
    return Record(
        "s",
        f"{track}/{domain}",
        task,
        planner,
        "c",
        outcome,
        plan_length=length,
        cpu_seconds=seconds,
        features=("hierarchy",),
        tracks=(track,),
        shortest_known=known,
    )


RECORDS = [
    record("total-order/a/1", "x", 10, 0.05, 5),
    record("total-order/a/2", "x", 4, 0.3, 5),
    record("total-order/b/1", "x", None, 9.0, 5),
    record("partial-order/a/1", "x", 8, 0.6),
    record("partial-order/a/1", "y", 6, 0.1),
]


def test_length_scores() -> None:
    shortest = find_shortest_plans(RECORDS)
    assert shortest == {
        ("s", "total-order/a/1"): 5,
        ("s", "total-order/a/2"): 5,
        ("s", "total-order/b/1"): 5,
        ("s", "partial-order/a/1"): 6,
    }
    assert [length_score(one, shortest) for one in RECORDS] == [0.5, 1.0, 0.0, 0.75, 1.0]
    unsolvable = Record("s", "d", "t", "x", "c", Outcome.UNSOLVABLE)
    assert length_score(unsolvable, {}) == 1.0


def test_tables_by_track() -> None:
    tracks, soon, lengths = track_tables(RECORDS)
    assert list(tracks.rows) == [
        ("x", "total-order", 3, 2, "67", 2, 1, "1.50", "0.750", 1),
        ("x", "partial-order", 1, 1, "100", 0, 0, "0.75", "0.750", 0),
        ("y", "partial-order", 1, 1, "100", 1, 0, "1.00", "1.000", 0),
    ]
    assert soon.total == ("total", 4, "2", "1")
    assert lengths.rows[0] == ("partial-order/a", 1, "0.75", "1.00")


def test_classical_tasks_have_no_such_tables() -> None:
    classical = Record("s", "d", "t", "x", "c", Outcome.SOLVED, plan_length=3, tracks=("opt",))
    assert track_tables([classical]) == []
    assert "By track" not in report_page([classical], is_done, {}, "Results")
    assert "By track" in report_page([classical, *RECORDS], is_done, {}, "Results")
