"""`forethought solve`, `explain` and `compile` on hierarchical problems."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path

import pytest

import planner
from htn.htn_portfolio import HEURISTICS, SEARCHES
from htn.solve import solve as solve_hierarchical
from planner.cli import interrupt, main
from planner.cli.output import Exit

DOMAIN = """\
(define (domain trips)
  (:types place)
  (:predicates (at ?x - place) (road ?x ?y - place))
  (:task visit :parameters (?x - place))
  (:method there :parameters (?x - place) :task (visit ?x) :precondition (at ?x))
  (:method via :parameters (?x ?y - place) :task (visit ?x) :precondition (road ?y ?x)
    :ordered-subtasks (and (visit ?y) (walk ?y ?x)))
  (:action walk :parameters (?x ?y - place) :precondition (and (at ?x) (road ?x ?y))
    :effect (and (not (at ?x)) (at ?y))))
"""
PROBLEM = """\
(define (problem one) (:domain trips) (:objects hall stairs lab - place)
  (:htn :subtasks (visit lab)) (:init (at hall) (road hall stairs) (road stairs lab)))
"""
FILES = {
    "domain.hddl": DOMAIN,
    "problem.hddl": PROBLEM,
    "shut.hddl": PROBLEM.replace(" (road stairs lab)", ""),
    "steps": "(walk hall stairs)\n(walk stairs lab)\n",
    "twice": "(walk hall stairs)\n",
}
TEXT = """\
==>
0 walk hall stairs
1 walk stairs lab
root 2
2 visit lab -> via 3 1
3 visit stairs -> via 4 0
4 visit hall -> there
<==
"""
TREE = """\
one
└── visit(lab)  by via
    ├── visit(stairs)  by via
    │   ├── visit(hall)  by there
    │   └── 1. walk(hall, stairs)
    └── 2. walk(stairs, lab)
"""


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., object]:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(interrupt.resource, "setrlimit", lambda *_: None)

    def run_in_process(*arguments: str) -> tuple[object, str, str]:
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        printed = capsys.readouterr()
        return ended.value.code or 0, printed.out, printed.err

    return run_in_process


def test_a_plan_is_solved_written_and_validated(run):
    code, out, err = run("solve", "domain.hddl", "problem.hddl", "--plan-file", "found")
    assert (code, out) == (Exit.OK, TEXT)
    assert err.startswith("proved optimal: cost 2, 2 steps [")
    assert Path("found").read_text() == TEXT
    assert run("validate", "domain.hddl", "problem.hddl", "found")[:2] == (Exit.OK, "valid, cost 2\n")


@pytest.mark.parametrize("mode", ["anytime", "first", "optimal"])
def test_json_has_the_decomposition_in_every_mode(mode, run):
    code, out, err = run("solve", "domain.hddl", "problem.hddl", "--json", "--quiet", "--mode", mode)
    assert (code, err) == (Exit.OK, "")
    result = json.loads(out)
    assert result["status"] in (("SOLVED", "OPTIMAL") if mode == "first" else ("OPTIMAL",))
    assert result["plan"]["decomposition"]["roots"]
    Path("found.json").write_text(out)
    assert run("validate", "domain.hddl", "problem.hddl", "found.json")[0] == Exit.OK


def test_the_tree_is_drawn_beside_the_plan(run):
    assert run("solve", "domain.hddl", "problem.hddl", "--quiet", "--tree") == (Exit.OK, TEXT, TREE)
    assert run("solve", "courier", "--quiet", "--tree")[2] == "no tree: the steps came of no tasks\n"


@pytest.mark.parametrize("search", SEARCHES)
def test_each_search_by_itself_finds_a_plan(search, run):
    code, out, err = run("solve", "domain.hddl", "problem.hddl", "--search", search, "--json", "--quiet")
    assert (code, err) == (Exit.OK, "")
    result = json.loads(out)
    assert result["status"] in ("SOLVED", "OPTIMAL")
    assert result["statistics"]["search"] == search
    Path("found.json").write_text(out)
    assert run("validate", "domain.hddl", "problem.hddl", "found.json")[0] == Exit.OK


@pytest.mark.parametrize("search", ["astar", "uniform"])
@pytest.mark.parametrize("heuristic", HEURISTICS)
def test_searches_by_cost_prove_their_plan(search, heuristic, run):
    code, out, _ = run("solve", "domain.hddl", "problem.hddl", "--search", search, "--heuristic", heuristic, "--json")
    assert (code, json.loads(out)["status"]) == (Exit.OK, "OPTIMAL")


@pytest.mark.parametrize(
    ("option", "value", "known"), [("search", "bfws", SEARCHES), ("heuristic", "lmcut", HEURISTICS)]
)
def test_what_is_for_classical_problems_only_is_refused(option, value, known, run):
    code, out, err = run("solve", "domain.hddl", "problem.hddl", f"--{option}", value)
    assert (code, out) == (Exit.USAGE, "")
    assert f"there is no {option} for hierarchical problems '{value}'" in err
    assert all(name in err for name in known)


def test_depth_first_search_takes_no_estimate(run):
    options = ("--search", "depth-first", "--heuristic")
    assert run("solve", "domain.hddl", "problem.hddl", *options, "blind", "--quiet")[0] == Exit.OK
    code, out, err = run("solve", "domain.hddl", "problem.hddl", *options, "composition")
    assert (code, out) == (Exit.USAGE, "")
    assert "depth-first search does not use the heuristic 'composition'" in err


def test_limits_end_in_no_verdict(run):
    code, out, err = run("solve", "domain.hddl", "problem.hddl", "--time-limit", "0.000001")
    assert (code, out) == (Exit.NO_VERDICT, "")
    assert err.startswith("unknown: no plan found")


NEEDS = "there(lab) needs at(lab), which does not hold, and nothing that the tasks lead to makes it true"


def test_why_there_is_no_plan_is_said(run):
    code, out, err = run("solve", "domain.hddl", "shut.hddl")
    assert (code, out) == (Exit.NEGATIVE, "")
    assert err.startswith(f"proved unsolvable: visit(lab) cannot be done: {NEEDS} [")
    code, out, err = run("explain", "domain.hddl", "shut.hddl", "--quiet")
    assert (code, err) == (Exit.NEGATIVE, "")
    assert out.startswith("no decomposition, proved: these tasks can never be done")
    assert f"visit(lab)\n  {NEEDS}\n" in out


def test_each_step_is_explained_by_its_tasks(run):
    Path("plan").write_text(TEXT)
    for arguments in ([], ["plan"], ["steps"]):
        code, out, _ = run("explain", "domain.hddl", "problem.hddl", "--quiet", *arguments)
        assert code == Exit.OK
        assert out.endswith("2. walk(stairs, lab)\n   for visit(lab), by via\n")
    code, out, _ = run("explain", "domain.hddl", "problem.hddl", "twice")
    assert (code, out) == (Exit.NEGATIVE, "invalid: no decomposition of the tasks gives these steps\n")


def test_it_is_written_in_hddl_and_not_in_pddl(run):
    code, out, _ = run("compile", "domain.hddl", "problem.hddl", "--to", "hddl", "--out", "made")
    assert (code, out) == (Exit.OK, "")
    assert run("solve", "made/domain.hddl", "made/problem.hddl", "--quiet")[1] == TEXT
    code, out, err = run("compile", "domain.hddl", "problem.hddl", "--to", "pddl")
    assert (code, out) == (Exit.UNSUPPORTED, "")
    assert "which is no classical problem" in err


def test_an_interrupted_search_is_told(run, monkeypatch):
    def interrupted(problem, options):
        options.cancel.set()
        return solve_hierarchical(problem, options)

    monkeypatch.setattr("htn.problem_kind.solve", interrupted)
    code, out, err = run("solve", "domain.hddl", "problem.hddl")
    assert (code, out) == (Exit.INTERRUPTED, "")
    assert "ended: cancellation" in err


@pytest.mark.usefixtures("run")
def test_python_solves_and_improves_hierarchical_problems_too():
    problem = planner.load("domain.hddl", "problem.hddl")
    assert planner.solve(problem).cost == 2

    async def last():
        return [result async for result in planner.improve(problem)][-1]

    assert asyncio.run(last()).status is planner.Status.OPTIMAL


def test_lint_takes_hierarchies(run):
    assert run("check", "domain.hddl") == (Exit.OK, "", "trips: nothing to report\n")
    assert run("check", "domain.hddl", "problem.hddl") == (Exit.OK, "", "one: nothing to report\n")
    code, out, err = run("check", "domain.hddl", "shut.hddl")
    assert (code, err) == (Exit.NEGATIVE, "one: 1 error, 1 warning, 2 hints\n")
    first, *others = out.splitlines()
    assert first.endswith(f"error FT604: task visit(lab): it can never be done: {NEEDS} [impossible-task]")
    assert first.startswith("shut.hddl:")
    assert all(line.endswith("[single-repair]") for line in others)
