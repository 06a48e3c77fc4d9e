"""Tasks in time in benchmarks: their features, plans with times, files rewritten for peers, validators, LPG."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from benchmarks.compare import find_contradiction
from benchmarks.pddltext import find_features, read_expression, read_plan_steps
from benchmarks.plain_pddl import declare_plainly, rewrite_for_integers, rewrite_for_unified_planning
from benchmarks.planners import Outcome, planner_of
from benchmarks.process import Limits, Run
from benchmarks.records import Record
from benchmarks.run import apply_verdicts, lay_out, plan_length
from benchmarks.suite import BenchmarkTask
from benchmarks.timed_plans import divide_times, find_least_gap, find_makespan, read_timed_steps, write_timed_plan
from benchmarks.validators import VALIDATORS, Verdict
from benchmarks.validators.plan_checks import CHECKS
from planner import Problem, load, validate
from planner.language.pddl.plan_files import read_plan, write_plan

LAMPS = """(define (domain lamps)
  (:requirements :typing :durative-actions :numeric-fluents)
  (:types candle torch - lamp desk)
  (:predicates (lit ?l - (either candle torch)) (written ?d -desk) (new ?l - lamp) (open))
  (:functions (size ?d - desk) (speed) (oil) (used))
  (:durative-action light :parameters (?l - torch) :duration (= ?duration 10)
    :condition (and (at start (new ?l)) (at start (>= (oil) 1)))
    :effect (and (at start (not (new ?l))) (at start (lit ?l)) (at end (not (lit ?l)))
      (at end (increase (used) (* 2 ?duration)))))
  (:durative-action write :parameters (?d - desk ?l - lamp) :duration (= ?duration (/ (size ?d) (speed)))
    :condition (and (over all (lit ?l)) (at start (open)))
    :effect (at end (written ?d))))"""
EVENING = """(define (problem evening) (:domain lamps)
  (:objects torch1 torch2 - torch desk1 desk2 - desk)
  (:init (new torch1) (new torch2) (at 2.5 (open))
    (= (size desk1) 8) (= (size desk2) 7) (= (speed) 4) (= (oil) 1) (= (used) 0))
  (:goal (and (written desk1) (written desk2)))
  (:metric minimize (+ (total-time) (used))))"""
PLAN = """0.000: (light torch1) [10.000]
2.501: (write desk1 torch1) [2.000]
2.501: (write desk2 torch1) [1.750]
; cost = 30
"""


def read(domain: str, problem: str) -> Problem:
    found = load(domain, problem)
    assert isinstance(found, Problem)
    return found


def features(domain: str, problem: str = EVENING) -> set[str]:
    return {*find_features(read_expression(domain, "d"), read_expression(problem, "p"))}


def test_features_of_time() -> None:
    assert features(LAMPS) == {
        "costs",
        "durations",
        "general metric",
        "numeric conditions",
        "required concurrency",
        "timed initial literals",
    }
    ranged = LAMPS.replace("(= ?duration 10)", "(and (>= ?duration 1) (<= ?duration (used)))")
    assert features(ranged) - features(LAMPS) == {"duration ranges", "state-dependent durations"}
    assert "continuous effects" in features(LAMPS.replace("(* 2 ?duration)", "(* 2 #t)"))
    makespan = EVENING.replace("(+ (total-time) (used))", "(total-time)")
    assert features(LAMPS, makespan).isdisjoint({"costs", "general metric"})


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("(at end (not (lit ?l)))", "(at start (open))"),  # the light stays on
        ("(over all (lit ?l))", "(at start (open))"),  # nobody needs it
        ("(at end (written ?d))", "(and (at end (written ?d)) (at end (lit ?l)))"),  # there is another way
    ],
)
def test_concurrency_is_not_required(before: str, after: str) -> None:
    assert "required concurrency" in features(LAMPS)
    assert "required concurrency" not in features(LAMPS.replace(before, after))


def test_what_holds_at_first_needs_no_overlap() -> None:
    assert "required concurrency" not in features(LAMPS, EVENING.replace("(:init", "(:init (lit torch1)"))


def test_plans_with_times_are_read_and_written() -> None:
    steps = read_timed_steps("0.0003:   (LIGHT TORCH1) [D:10.0; C:0.1])\n; x\n 12: (rest)\n")
    assert [(step.start, step.words, step.duration) for step in steps] == [
        (Fraction(3, 10000), ("light", "torch1"), Fraction(10)),
        (Fraction(12), ("rest",), None),
    ]
    assert write_timed_plan(reversed(steps)) == "0.0003: (light torch1) [10.000]\n12.000: (rest)\n"
    assert (find_makespan(PLAN), find_makespan("(light torch1)\n"), find_makespan("")) == (10, None, None)
    assert (plan_length(PLAN), plan_length("(a)\n(b)\n")) == (3, 2)
    assert read_plan_steps(PLAN)[0] == ("light", "torch1")
    assert divide_times("3: (a) [4]\n5: (b)\n", 1000) == "0.003: (a) [0.004]\n0.005: (b)\n"
    assert divide_times("(a)\n", 1000) == "(a)\n"
    assert find_least_gap(PLAN) == Fraction("0.25")
    assert find_least_gap("(a)\n") is None


def rewritten(rewrite: object, domain: str = LAMPS, problem: str = EVENING) -> tuple[str, str, int]:
    assert callable(rewrite)
    task = rewrite(read_expression(domain, "d"), read_expression(problem, "p"))
    return (*task.files(), task.units)


@pytest.mark.parametrize("rewrite", [declare_plainly, rewrite_for_unified_planning])
def test_a_plan_for_the_rewritten_task_is_one_for_the_task(rewrite: object) -> None:
    for domain, problem in ((LAMPS, EVENING), rewritten(rewrite)[:2]):
        task = read(domain, problem)
        assert validate(task, read_plan(PLAN, task)).valid
        assert not validate(task, read_plan(PLAN.replace("2.501", "2.500"), task)).valid


def test_what_peers_do_not_read_is_rewritten() -> None:
    domain, problem, units = rewritten(rewrite_for_unified_planning)
    assert "either" not in domain
    assert "-desk" not in domain
    assert "lamp - object" in domain
    assert "( increase ( used ) ( * 2 10 ) )" in domain
    assert "( total-time )" in problem
    assert units == 1


def test_times_become_integers_for_aries() -> None:
    domain, problem, units = rewritten(rewrite_for_integers)
    assert units == 100
    assert "( = ?duration 1000 )" in domain
    assert "( = ?duration ( lasts-1 ?d ) )" in domain
    assert "( = ( lasts-1 desk2 ) 175 )" in problem
    assert "( at 250 ( open ) )" in problem
    assert "size" not in domain + problem
    task = read(domain, problem)
    plan = read_plan(
        "0: (light torch1) [1000]\n251: (write desk1 torch1) [200]\n251: (write desk2 torch1) [175]\n", task
    )
    assert validate(task, plan).valid
    original = read(LAMPS, EVENING)
    assert validate(original, read_plan(divide_times(write_plan(plan), units), original)).valid


def test_durations_that_depend_on_the_state_stay_expressions() -> None:
    domain, _, _ = rewritten(rewrite_for_integers, LAMPS.replace("(/ (size ?d) (speed))", "(+ (used) 1)"))
    assert "( = ?duration ( * 100 ( + ( used ) 1 ) ) )" in domain


def test_an_object_of_two_types_gets_the_common_one() -> None:
    problem = EVENING.replace("torch1 torch2 - torch", "torch1 - torch torch1 - candle torch2 - torch")
    domain, problem, _ = rewritten(declare_plainly, LAMPS, problem)
    assert problem.count("torch1 - ") == 1
    assert "( is-candle torch1 )" in problem
    assert "( is-torch torch2 )" in problem
    task = read(domain, problem)
    assert validate(task, read_plan(PLAN, task)).valid
    other = read(domain, problem.replace("( is-torch torch1 )", ""))
    assert not validate(other, read_plan(PLAN, other)).valid


@pytest.fixture
def task(tmp_path: Path) -> BenchmarkTask:
    files = tmp_path / "domain.pddl", tmp_path / "problem.pddl"
    for file, text in zip(files, rewritten(declare_plainly)[:2], strict=True):
        file.write_text(text, encoding="utf-8")
    return BenchmarkTask("suite", "lamps", "lamps/problem.pddl", *files)


def test_only_tasks_with_durations_are_rewritten(task: BenchmarkTask, tmp_path: Path) -> None:
    for name, found in (("one", frozenset({"durations"})), ("two", frozenset[str]())):
        folder = tmp_path / name
        folder.mkdir()
        assert lay_out(task, planner_of("lpg-first"), found, folder) == 1
        assert (folder / "domain.pddl").is_symlink() is (not found)


def check(name: str, task: BenchmarkTask, plan: str) -> Verdict:
    return CHECKS[name](task.domain_path, task.problem_path, plan)


@pytest.mark.parametrize("name", ["forethought", "val"])
def test_validators_of_plans_in_time(name: str, task: BenchmarkTask) -> None:
    if not VALIDATORS[name].takes({"durations"}):
        pytest.skip("it is not installed")
    assert check(name, task, PLAN) == Verdict("valid", 30)
    late = PLAN.replace("2.501: (write desk1", "8.500: (write desk1")
    for wrong in (late, PLAN.replace("2.501: (write desk1", "1.000: (write desk1"), PLAN.replace("[1.750]", "[1.500]")):
        assert check(name, task, wrong).invalid
    assert VALIDATORS["pyperplan"].lacks & VALIDATORS["fast-downward"].lacks >= {"durations"}


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # unified-planning's reader against newer pyparsing
def test_unified_planning_validates_plans_in_time(task: BenchmarkTask) -> None:
    pytest.importorskip("unified_planning")
    domain, problem, _ = rewritten(rewrite_for_unified_planning)
    task.domain_path.write_text(domain, encoding="utf-8")
    task.problem_path.write_text(problem, encoding="utf-8")
    assert check("unified-planning", task, PLAN).valid
    assert check("unified-planning", task, PLAN.replace("2.501: (write desk1", "8.500: (write desk1")).invalid
    assert check("unified-planning", task, PLAN.replace("1.750", "1.7505")).said.startswith("unsupported: durations")


def test_less_time_between_steps_than_the_rule_is_not_judged_by_ours(task: BenchmarkTask) -> None:
    close = PLAN.replace("2.501", "2.5003")
    assert check("forethought", task, close).said.startswith("unsupported: less than 0.001 s")


def record(planner: str, outcome: Outcome, cost: float) -> Record:
    return Record("s", "d", "d/p", planner, planner, outcome, cost, cost, plan_length=3, makespan=cost)


def test_costs_of_plans_in_time_are_compared_as_they_are_printed() -> None:
    kept = apply_verdicts(record("x", Outcome.SOLVED, 1234.5678), {"val": Verdict("valid", 1234.57)})
    assert kept.outcome is Outcome.SOLVED
    wrong = apply_verdicts(record("x", Outcome.SOLVED, 1234.5678), {"val": Verdict("valid", 1235.57)})
    assert wrong.outcome is Outcome.INVALID


def test_a_planner_that_keeps_less_time_between_steps_contradicts_no_proof() -> None:
    proof = record("ours", Outcome.OPTIMAL, 10.006)
    assert find_contradiction(proof, record("lpg", Outcome.SOLVED, 10.0003)) is None
    assert find_contradiction(proof, record("lpg", Outcome.SOLVED, 9.9)) is not None


def test_lpg_keeps_its_best_plan(tmp_path: Path) -> None:
    for number, end in ((1, "12.0"), (2, "10.0"), (3, "11.0")):
        (tmp_path / f"plan_{number}.SOL").write_text(f"; Version\n0.0003: (LIGHT TORCH1) [{end}])\n\n")
    log = "first_solution_cpu_time: 0.07\n" + "".join(
        f"Plan quality:    {quality}\n     Plan file:       plan_{number}.SOL\n"
        for number, quality in ((1, 9), (2, 8), (3, 7))
    )
    limits = Limits(5, 1)
    answer = planner_of("lpg-anytime").read(Run(0, 1, 1, 1, None, log, "", limits), tmp_path, frozenset())
    assert (answer.outcome, answer.plan) == (Outcome.SOLVED, "0.0003: (light torch1) [11.000]\n")
    assert answer.first_plan_seconds == 0.07
    killed = planner_of("lpg-anytime").read(Run(-9, 5, 5, 1, "cpu", "", "", limits), tmp_path, frozenset())
    assert killed.plan == "0.0003: (light torch1) [10.000]\n"


@pytest.mark.parametrize(
    ("log", "code", "outcome"),
    [
        ("domain.pddl: syntax error in line 3", 1, Outcome.UNSUPPORTED),
        ("Max time exceeded.", 0, Outcome.TIME),
        ("search limit exceeded.", 0, Outcome.UNKNOWN),
        ("", -11, Outcome.ERROR),
    ],
)
def test_lpg_without_a_plan(log: str, code: int, outcome: Outcome, tmp_path: Path) -> None:
    run = Run(code, 1, 1, 1, None, log, "", Limits(5, 1))
    assert planner_of("lpg-first").read(run, tmp_path, frozenset()).outcome is outcome


def test_lpg_has_modes() -> None:
    with pytest.raises(Exception, match="there is no mode 'fast'; there are first, speed, quality, anytime"):
        planner_of("lpg:fast")
