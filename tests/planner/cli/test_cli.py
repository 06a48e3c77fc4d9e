"""The command as other programs meet it: exit codes, what is on which stream, JSON, files."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from planner import load, validate
from planner.cli import Exit, interrupt, main, root
from planner.cli.demo import fold
from planner.cli.options import read_plan_file
from planner.heuristics import REGISTRY as HEURISTICS
from planner.language.loading.python_files import list_shipped_names
from planner.search import REGISTRY as SEARCHES

DOMAIN = """
(define (domain office)
  (:requirements :strips :typing)
  (:types robot room)
  (:predicates (at ?r - robot ?a - room) (door ?a ?b - room))
  (:action move
    :parameters (?r - robot ?a ?b - room)
    :precondition (and (at ?r ?a) (door ?a ?b))
    :effect (and (not (at ?r ?a)) (at ?r ?b))))
"""
PROBLEM = """
(define (problem to-the-lab) (:domain office)
  (:objects r - robot hall stairs lab - room)
  (:init (at r hall) (door hall stairs) (door stairs lab))
  (:goal (at r {goal})))
"""
COURIER = """
domain: courier
types: {robot: object, room: object}
actions:
  move:
    parameters: {robot: robot, origin: room, target: room}
    requires: ["at(robot, origin)", "door(origin, target)"]
    provides: ["at(robot, target)"]
    modifies: ["at(robot, _)"]
    cost: 2.5
---
problem: one-parcel
domain: courier
objects: {r2: robot, hall: room, lab: room}
initial: ["at(r2, hall)", "door(hall, lab)"]
goal: ["at(r2, lab)"]
"""
NUMERIC = """
(define (domain tank) (:requirements :fluents) (:functions (fuel))
  (:action fill :parameters () :precondition (>= (* (fuel) (fuel)) 1) :effect (increase (fuel) 1)))
"""
OVEN = """
domain: oven
types: [dish]
actions:
  bake: {parameters: {d: dish}, provides: [baked(d)], duration: 3, holds: {oven: 1}}
---
problem: feast
domain: oven
objects: {bread: dish, cake: dish}
capacity: {oven: 1}
goal: [baked(bread), baked(cake)]
due: {baked(bread): 5.5, baked(cake): 5.5}
objective: makespan
"""

FILES = {
    "domain.pddl": DOMAIN,
    "problem.pddl": PROBLEM.format(goal="lab"),
    "impossible.pddl": PROBLEM.format(goal="lab) (at r hall").replace("(:goal ", "(:goal (and ").replace(")))", "))))"),
    "unreachable.pddl": PROBLEM.format(goal="hall) (door lab hall")
    .replace("(:goal ", "(:goal (and ")
    .replace(")))", "))))"),
    "broken.pddl": "(define (domain office)\n  (:predicates (at ?r)",
    "numeric.pddl": NUMERIC,
    "numeric-problem.pddl": "(define (problem p) (:domain tank) (:init (= (fuel) 3)) (:goal (<= (fuel) 2)))",
    "courier.yaml": COURIER,
    "unpriced.yaml": COURIER.replace("2.5", "distance(origin, target)"),
    "oven.yaml": OVEN,
    "party.yaml": OVEN[: OVEN.index("due:")] + "objective: makespan\n",
    "baked": "(bake bread)\n(bake cake)\n",
    "plan": "(move r hall stairs)\n(move r stairs lab)\n",
    "carried": "(move r2 hall lab)",
    "early": "(move r stairs lab)\n",
    "unknown-action": "(jump r hall stairs)\n",
    "plan.json": json.dumps(
        [
            {"action": "move", "arguments": ["r", "hall", "stairs"], "cost": 1},
            {"action": "move", "arguments": ["r", "stairs", "lab"]},
        ]
    ),
    "unknown-action.json": json.dumps([{"action": "jump", "arguments": ["r", "hall"]}]),
    "unknown-object.json": json.dumps([{"action": "move", "arguments": ["r", "hall", "stair"]}]),
    "arity.json": json.dumps([{"action": "move", "arguments": ["r", "hall"]}]),
    "arity": "(move r hall)",
    "bad.json": '{"plan": {"steps": [}}',
    "no-steps.json": '{"plan": {"acts": []}}',
    "no-plan.json": '{"status": "UNKNOWN", "plan": null}',
    "deep.json": "[" * 100_000,
    "odd-step.json": '[{"action": "move", "arguments": "r"}]',
}

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command line in a folder with `FILES`; return the exit code, stdout and stderr."""
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "latin").write_bytes("(caf\xe9)".encode("latin-1"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(interrupt.resource, "setrlimit", lambda *_: None)

    def run_in_process(*arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        printed = capsys.readouterr()
        code = ended.value.code
        return 0 if code is None else int(code), printed.out, printed.err

    return run_in_process


CASES: dict[str, tuple[str, Exit, str, str]] = {
    "a plan": (
        "solve domain.pddl problem.pddl",
        Exit.OK,
        "(move r hall stairs)\n(move r stairs lab)\n; cost = 2\n",
        "proved optimal: cost 2, 2 steps [",
    ),
    "the first plan": ("solve domain.pddl problem.pddl --mode first", Exit.OK, "(move r hall", "cost 2, 2 steps"),
    "a search by name": ("solve domain.pddl problem.pddl --search uniform", Exit.OK, "(move r hall", "[uniform"),
    "exact decimals": (
        "solve courier.yaml",
        Exit.OK,
        "(move r2 hall lab)\n; cost = 2.5\n",
        "proved optimal: cost 2.5, 1 step [",
    ),
    "no plan": ("solve domain.pddl impossible.pddl", Exit.NEGATIVE, "", "proved unsolvable"),
    "a goal out of reach": ("solve domain.pddl unreachable.pddl", Exit.NEGATIVE, "", "proved unsolvable: "),
    "no time": ("solve domain.pddl problem.pddl --time-limit 1e-9", Exit.NO_VERDICT, "", "ended: the time limit"),
    "no memory": (
        "solve domain.pddl problem.pddl --memory-limit 1e-6",
        Exit.NO_VERDICT,
        "",
        "ended: the memory limit",
    ),
    "numbers": ("solve numeric.pddl numeric-problem.pddl", Exit.UNSUPPORTED, "", "unsupported: "),
    "numbers, quietly": ("solve numeric.pddl numeric-problem.pddl -q", Exit.UNSUPPORTED, "", "unsupported: "),
    "no memory at all": ("solve courier.yaml --memory-limit 1e-9", Exit.NO_VERDICT, "", "ended: the memory limit"),
    "no such language": ("compile courier.yaml --to xml", Exit.USAGE, "", "'xml' is not one of pddl, hddl, yaml, json"),
    "help of a command": ("compile --help", Exit.OK, "--to pddl|hddl|yaml|json", ""),
    "help before what is missing": ("compile -h", Exit.OK, "Usage: forethought compile", ""),
    "help before what is too much": ("compile a b c -h", Exit.OK, "Usage: forethought compile", ""),
    "quiet": ("solve domain.pddl problem.pddl --quiet", Exit.OK, "(move r hall stairs)", ""),
    "no file": ("solve nowhere.pddl problem.pddl", Exit.USAGE, "", "Error: nowhere.pddl: there is no such file"),
    "a broken file": ("solve broken.pddl problem.pddl", Exit.USAGE, "", "Error: broken.pddl:"),
    "no such domain": (
        "solve asistant",
        Exit.USAGE,
        "",
        "Error: there is no file, folder or shipped domain 'asistant'",
    ),
    "no such search": ("solve courier.yaml --search astr", Exit.USAGE, "", "did you mean 'astar'?"),
    "no such heuristic": ("solve courier.yaml --heuristic lmct", Exit.USAGE, "", "did you mean 'lmcut'?"),
    "no such mode": (
        "solve courier.yaml --mode fast",
        Exit.USAGE,
        "",
        "'fast' is not one of anytime, first, optimal",
    ),
    "no such option": ("solve courier.yaml --fast", Exit.USAGE, "", "there is no option '--fast'"),
    "no such command": ("sovle courier.yaml", Exit.USAGE, "", "no command 'sovle'; did you mean 'solve'?"),
    "no such option of the root": ("--verzion", Exit.USAGE, "", "no option '--verzion'; did you mean '--version'?"),
    "a misspelt option": ("solve courier.yaml --tme-limit 3", Exit.USAGE, "", "did you mean '--time-limit'?"),
    "the beginning of an option": ("solve courier.yaml --mod first", Exit.USAGE, "", "there is no option '--mod'"),
    "an option without its value": (
        "solve courier.yaml --time-limit",
        Exit.USAGE,
        "",
        "Error: expected SECONDS after --time-limit, found nothing; see 'forethought solve --help'",
    ),
    "an option for a value": (
        "solve courier.yaml --plan-file --json",
        Exit.USAGE,
        "",
        "FILE after --plan-file, found --json",
    ),
    "a value that is not wanted": ("solve courier.yaml --json=1", Exit.USAGE, "", "--json takes no value"),
    "no argument": ("solve", Exit.USAGE, "", "required: DOMAIN"),
    "no required option": ("compile courier.yaml", Exit.USAGE, "", "required: --to"),
    "one argument too many": (
        "solve domain.pddl problem.pddl plan",
        Exit.USAGE,
        "",
        "one argument too many, 'plan'; expected DOMAIN PROBLEM; see",
    ),
    "an argument of a command without": ("demo now", Exit.USAGE, "", "too many, 'now'; expected options only"),
    "options anywhere": ("solve --mode first domain.pddl -q problem.pddl", Exit.OK, "(move r hall stairs)", ""),
    "values after a sign": ("solve --mode=first courier.yaml --time-limit=5 -q", Exit.OK, "(move", ""),
    "an end of options": ("solve -q -- domain.pddl problem.pddl", Exit.OK, "(move r hall stairs)", ""),
    "an argument like an option": ("solve -- -x.pddl --json", Exit.USAGE, "", "-x.pddl has no problem '--json'"),
    "a cost without a value": (
        "solve unpriced.yaml",
        Exit.NEGATIVE,
        "",
        "no step applies that lacks a value of distance",
    ),
    "the same, asked why": (
        "explain unpriced.yaml one-parcel",
        Exit.NEGATIVE,
        "but needs value-of-distance(hall, lab)",
        "proved unsolvable",
    ),
    "a search that there is not, before anything is read": (
        "solve none.yaml --search x",
        Exit.USAGE,
        "",
        "Error: there is no search 'x'",
    ),
    "a negative time": (
        "solve courier.yaml --time-limit -1",
        Exit.USAGE,
        "",
        "'-1' is not a number of seconds above 0",
    ),
    "no number": ("solve courier.yaml --memory-limit lots", Exit.USAGE, "", "'lots' is not a number of GiB above 0"),
    "not a number": ("solve courier.yaml --time-limit nan", Exit.USAGE, "", "'nan' is not a number of seconds"),
    "no limits": ("solve courier.yaml --time-limit none --memory-limit none", Exit.OK, "(move", "proved optimal"),
    "a valid plan": ("validate domain.pddl problem.pddl plan", Exit.OK, "valid, cost 2\n", ""),
    "a valid plan in JSON": ("validate domain.pddl problem.pddl plan.json", Exit.OK, "valid, cost 2\n", ""),
    "an invalid plan": (
        "validate domain.pddl problem.pddl early",
        Exit.NEGATIVE,
        "invalid: step 1 move(r, stairs, lab): requires at(r, stairs), ",
        "",
    ),
    "a plan with an unknown action": (
        "validate domain.pddl problem.pddl unknown-action",
        Exit.USAGE,
        "",
        "unknown-action:1:2: ",
    ),
    "the same in JSON": (
        "validate domain.pddl problem.pddl unknown-action.json",
        Exit.USAGE,
        "",
        "unknown-action.json: step 1: the problem has no action 'jump'",
    ),
    "an unknown object in JSON": (
        "validate domain.pddl problem.pddl unknown-object.json",
        Exit.USAGE,
        "",
        "step 1: the problem has no object 'stair'; did you mean 'stairs'?",
    ),
    "a plan with too few arguments": (
        "validate domain.pddl problem.pddl arity",
        Exit.USAGE,
        "",
        "arity:1:2: ",
    ),
    "too few arguments in JSON": (
        "validate domain.pddl problem.pddl arity.json",
        Exit.USAGE,
        "",
        "step 1: 'move' is given 2 arguments, not 3; it is declared as move(",
    ),
    "no plan file": ("validate domain.pddl problem.pddl nowhere", Exit.USAGE, "", "nowhere: there is no such file"),
    "broken JSON": ("validate domain.pddl problem.pddl bad.json", Exit.USAGE, "", "Error: bad.json:1:21: no JSON"),
    "JSON without steps": ("validate domain.pddl problem.pddl no-steps.json", Exit.USAGE, "", "found no steps in it"),
    "JSON without an end": (
        "validate domain.pddl problem.pddl deep.json",
        Exit.USAGE,
        "",
        "Error: deep.json",
    ),
    "no text at all": (
        "validate domain.pddl problem.pddl latin",
        Exit.USAGE,
        "",
        "latin:1:",
    ),
    "a result without a plan": ("validate domain.pddl problem.pddl no-plan.json", Exit.USAGE, "", "holds no plan"),
    "an odd step in JSON": ("validate domain.pddl problem.pddl odd-step.json", Exit.USAGE, "", "step 1 is no step"),
    "a clean domain": ("check domain.pddl", Exit.OK, "", "office: nothing to report"),
    "a clean problem": ("check courier.yaml", Exit.OK, "", "one-parcel: nothing to report"),
    "findings": (
        "check domain.pddl unreachable.pddl",
        Exit.NEGATIVE,
        "unreachable.pddl:5:27: error FT303: goal: nothing can bring about",
        "1 error",
    ),
    "findings too late": (
        "check courier.yaml --time-limit 1e-9",
        Exit.NO_VERDICT,
        "",
        "no verdict: stopped by the time",
    ),
    "why a step is there": (
        "explain domain.pddl problem.pddl",
        Exit.OK,
        "1. move(r, hall, stairs)\n",
        "proved optimal",
    ),
    "which promises in time clash": (
        "explain oven.yaml",
        Exit.NEGATIVE,
        "capacity oven is 2: 1 more, instead of 1",
        "",
    ),
    "why there is no plan as data": ("explain domain.pddl unreachable.pddl --json", Exit.NEGATIVE, '"missing"', ""),
    "why steps are there as data": ("explain courier.yaml --json", Exit.OK, '"services"', ""),
    "why times clash as data": ("explain oven.yaml --json", Exit.NEGATIVE, '"amount": 0.501', ""),
    "what would help a plan in time": ("explain party.yaml baked", Exit.OK, "one more of oven (2 instead of 1)", ""),
    "why steps are there in the only problem": ("explain courier.yaml", Exit.OK, "1. move(r2, hall, lab)\n", ""),
    "a given plan of the only problem": ("explain courier.yaml carried", Exit.OK, "1. move(r2, hall, lab)\n", ""),
    "whether a plan of the only problem works": ("validate courier.yaml carried", Exit.OK, "valid, cost 2.5", ""),
    "why a given step is there": ("explain domain.pddl problem.pddl plan", Exit.OK, "1. move(r, hall, stairs)\n", ""),
    "why a given plan fails": ("explain domain.pddl problem.pddl early", Exit.NEGATIVE, "invalid: step 1", ""),
    "why there is no plan": ("explain domain.pddl unreachable.pddl", Exit.NEGATIVE, "door(lab, hall)", "unsolvable"),
    "HDDL": ("compile courier.yaml --to hddl", Exit.OK, "(:method at-by-move", ""),
    "a level of YAML": ("compile courier.yaml --to yaml --level adl", Exit.USAGE, "", "--level belongs to --to pddl"),
    "STRIPS of a domain alone": (
        "compile domain.pddl --to pddl --level strips",
        Exit.USAGE,
        "",
        "Error: STRIPS is written",
    ),
    "the version": ("--version", Exit.OK, "forethought ", ""),
    "help": ("--help", Exit.OK, "Usage: forethought", ""),
    "no command": ("", Exit.USAGE, "", "Usage: forethought"),
}


@pytest.mark.parametrize(("line", "code", "out", "err"), CASES.values(), ids=CASES)
def test_exit_code_and_streams(run: Run, line: str, code: Exit, out: str, err: str) -> None:
    real_code, real_out, real_err = run(*line.split())
    assert (real_code, out in real_out, err in real_err) == (code, True, True), (real_code, real_out, real_err)
    assert bool(real_out) is bool(out)
    assert "Traceback" not in real_err


def test_help_lists_all_commands_and_their_options(run: Run) -> None:
    listed = run("--help")[1]
    for name in (*root.OWN, "bench"):
        assert f"\n  {name} " in listed
    for name in root.OWN:
        code, out, err = run(name, "-h")
        assert (code, err) == (0, "")
        assert root.module_of(name).ABOUT in " ".join(out.split())


def test_help_names_all_searches_and_heuristics(run: Run) -> None:
    words = set(run("solve", "--help")[1].replace(",", " ").replace(".", " ").split())
    assert words >= {*SEARCHES, *HEURISTICS}


def test_json_has_the_promised_shape(run: Run) -> None:
    _, out, _ = run("solve", "courier.yaml", "--json")
    result = json.loads(out)
    statistics, history = result.pop("statistics"), result.pop("history")
    assert result == {
        "status": "OPTIMAL",
        "stopped_by": "exhausted",
        "cost": 2.5,
        "lower_bound": 2.5,
        "plan": {"steps": [{"action": "move", "arguments": ["r2", "hall", "lab"], "cost": 2.5}]},
        "reason": "",
    }
    assert statistics["search"]
    assert history["milestones"][-1].items() >= {"cost": 2.5, "lower_bound": 2.5}.items()
    assert history["searches"][0]["turns"]
    assert statistics["expanded"] >= 0


@pytest.mark.parametrize(
    ("line", "status", "stopped_by"),
    [
        ("domain.pddl unreachable.pddl", "UNSOLVABLE", "exhausted"),
        ("courier.yaml --time-limit 1e-9", "UNKNOWN", "time"),
        ("courier.yaml --memory-limit 1e-6", "UNKNOWN", "memory"),
        ("numeric.pddl numeric-problem.pddl", "UNSUPPORTED", "incomplete"),
    ],
)
def test_json_without_a_plan(run: Run, line: str, status: str, stopped_by: str) -> None:
    _, out, _ = run("solve", *line.split(), "--json")
    result = json.loads(out)
    assert (result["status"], result["stopped_by"]) == (status, stopped_by)
    assert result["plan"] is result["cost"] is None


def test_what_solve_prints_validates(run: Run, tmp_path: Path) -> None:
    for number, option in enumerate(((), ("--json",))):
        _, out, _ = run("solve", "domain.pddl", "problem.pddl", *option)
        (tmp_path / f"printed-{number}").write_text(out, encoding="utf-8")
        assert run("validate", "domain.pddl", "problem.pddl", f"printed-{number}")[:2] == (0, "valid, cost 2\n")


def test_a_wrong_cost_in_json_is_no_valid_claim(run: Run, tmp_path: Path) -> None:
    step: dict[str, Any] = {"action": "move", "arguments": ["r2", "hall", "lab"], "cost": 1}
    (tmp_path / "cheap.json").write_text(json.dumps({"plan": {"steps": [step]}}), encoding="utf-8")
    assert run("validate", "courier.yaml", "one-parcel", "cheap.json")[0] == Exit.NEGATIVE


def test_the_plan_file_is_written_whole_and_keeps_its_permissions(run: Run, tmp_path: Path) -> None:
    (tmp_path / "out").write_text("an old plan", encoding="utf-8")
    (tmp_path / "out").chmod(0o640)
    before = set(tmp_path.iterdir())
    _, out, _ = run("solve", "domain.pddl", "problem.pddl", "--plan-file", "out")
    assert (tmp_path / "out").read_text(encoding="utf-8") == out
    assert (tmp_path / "out").stat().st_mode & 0o777 == 0o640
    assert set(tmp_path.iterdir()) == before
    problem = load("domain.pddl", "problem.pddl")
    assert validate(problem, read_plan_file(tmp_path / "out", problem)[0]).valid


def test_a_plan_file_that_cannot_be_written_is_a_mistake_of_usage(run: Run) -> None:
    code, _, err = run("solve", "courier.yaml", "--plan-file", "nowhere/plan", "--quiet")
    assert (code, err) == (Exit.USAGE, "Error: nowhere/plan: No such file or directory\n")


def test_a_plan_file_that_cannot_be_written_is_told_before_the_search(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def searched(*_: object, **_others: object) -> None:
        raise AssertionError("the search was begun")

    monkeypatch.setattr(import_module("planner.language.loading.load"), "load", searched)
    assert run("solve", "courier.yaml", "--plan-file", str(tmp_path))[2] == f"Error: {tmp_path}: Is a directory\n"
    monkeypatch.setattr("os.access", lambda *_: False)
    assert run("solve", "courier.yaml", "--plan-file", "new")[2] == "Error: new: Permission denied\n"


def test_a_plan_is_printed_also_when_its_file_fails(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device", "out")

    monkeypatch.setattr("planner.cli.solve.write_atomically", full)
    code, out, err = run("solve", "courier.yaml", "--plan-file", "out", "--quiet")
    assert (code, out, err) == (
        Exit.USAGE,
        "(move r2 hall lab)\n; cost = 2.5\n",
        "Error: out: No space left on device\n",
    )


def test_without_a_plan_the_plan_file_is_left_alone(run: Run, tmp_path: Path) -> None:
    run("solve", "domain.pddl", "unreachable.pddl", "--plan-file", "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("language", ["pddl", "yaml", "json"])
@pytest.mark.parametrize("given", [("courier.yaml",), ("domain.pddl", "problem.pddl")])
def test_what_is_compiled_says_the_same(run: Run, language: str, given: tuple[str, ...]) -> None:
    assert run("compile", *given, "--to", language, "--out", "made")[:2] == (0, "")
    cost = load(*given).domain.actions["move"].cost
    code, out, _ = run("solve", f"made/domain.{language}", f"made/problem.{language}", "--json")
    result = json.loads(out)
    assert code == 0
    assert [step["action"] for step in result["plan"]["steps"]] == ["move"] * (1 if cost else 2)


@pytest.mark.parametrize("language", ["pddl", "yaml", "json"])
def test_a_domain_alone_compiles(run: Run, language: str) -> None:
    code, out, _ = run("compile", "domain.pddl", "--to", language)
    assert code == 0
    assert "move" in out


def test_several_documents_are_one_text(run: Run, tmp_path: Path) -> None:
    _, out, _ = run("compile", "domain.pddl", "problem.pddl", "--to", "yaml")
    (tmp_path / "both.yaml").write_text(out, encoding="utf-8")
    assert run("solve", "both.yaml", "--quiet")[:2] == run("solve", "domain.pddl", "problem.pddl", "--quiet")[:2]


def test_the_demo_shows_a_proof_and_a_reason(run: Run) -> None:
    code, out, err = run("demo")
    assert (code, err) == (0, "")
    assert "proved optimal: cost " in out
    assert "the plan: valid, cost " in out
    assert "without its first step: invalid: step 1 " in out
    assert "proved unsolvable" in out
    assert "It would have a plan if, from the start:" in out
    assert re.findall(r"^(\d+)\. [A-Z]", out, re.MULTILINE) == [str(number) for number in range(1, 9)]
    [page] = re.findall(r"^file://(\S+/run\.html)$", out, re.MULTILINE)
    assert "killed" in out
    assert "was done once" in out
    assert Path(page).read_text(encoding="utf-8").startswith("<!doctype html>")
    shutil.rmtree(Path(page).parent)


def test_the_demo_folds_lines_between_words_below_their_column() -> None:
    said = "  killed  send(memo, ada): the process got signal 9 when the mail was out"
    assert fold(said, 40).splitlines() == [
        "  killed  send(memo, ada): the process",
        "          got signal 9 when the mail was",
        "          out",
    ]
    assert fold(f"short\n{'a' * 50} b", 40).splitlines() == ["short", "a" * 50, "b"]


def test_the_demo_tells_commands_that_can_be_typed(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", [".venv/bin/forethought", "demo"])
    monkeypatch.setattr("shutil.which", lambda _: None)
    assert "\n.venv/bin/forethought check DOMAIN " in run("demo")[1]
    monkeypatch.setattr("shutil.which", lambda name: f"/usr/bin/{name}")
    assert "\nforethought check DOMAIN " in run("demo")[1]


@pytest.mark.parametrize("name", list_shipped_names())
def test_shipped_domains_are_solved_by_name(run: Run, name: str) -> None:
    assert run("solve", name)[0] == Exit.OK


@pytest.mark.parametrize("checked", list_shipped_names())
def test_shipped_domains_are_clean(run: Run, checked: str) -> None:
    assert run("check", checked)[0] == Exit.OK
