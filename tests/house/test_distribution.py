"""What surrounds the package: recipes that name its version and dependencies, and the interface of the competitions."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from planner import load, validate
from planner.cli.options import read_plan_file

ROOT = Path(__file__).parents[2]
RECIPES = ROOT / ".packaging"
PLANUTILS = RECIPES / "planutils" / "forethought"
APPTAINER = RECIPES / "apptainer" / "Apptainer.forethought"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
ENGINE = tomllib.loads((RECIPES / "up-forethought" / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def read_yaml(path: Path) -> Any:
    return YAML(typ="safe", pure=True).load(path.read_text(encoding="utf-8"))


CONDA = read_yaml(RECIPES / "conda" / "recipe.yaml")
CITATION = read_yaml(ROOT / "CITATION.cff")


def read_sections(recipe: str, **arguments: str) -> dict[str, str]:
    """Return the sections of an Apptainer recipe, with its arguments filled in, as `--build-arg` does."""
    head, *parts = re.split(r"^%(\w+)[ \t]*\n", recipe, flags=re.MULTILINE)
    sections = {"head": head} | dict(zip(parts[::2], parts[1::2], strict=True))
    defaults = dict(re.findall(r"^\s*(\w+)=(\S+)$", sections["arguments"], flags=re.MULTILINE))
    values = defaults | arguments
    return {name: re.sub(r"\{\{ *(\w+) *\}\}", lambda found: values[found[1]], text) for name, text in sections.items()}


def find_versions() -> dict[str, list[str]]:
    """Return the versions that each file names."""
    texts = {
        "CHANGELOG.md": r"^## \[(\d\S*)\] - ",
        ".packaging/apptainer/Apptainer.forethought": r"forethought==(\S+)|^ +Version (\S+)$",
        ".packaging/planutils/forethought/install": r"forethought==(\S+)",
    }
    found = {
        name: ["".join(each) for each in re.findall(pattern, (ROOT / name).read_text(encoding="utf-8"), re.MULTILINE)]
        for name, pattern in texts.items()
    }
    found["CHANGELOG.md"] = found["CHANGELOG.md"][:1]
    manifest = json.loads((PLANUTILS / "manifest.json").read_text(encoding="utf-8"))
    needed = [each.partition(">=")[2] for each in ENGINE["dependencies"] if each.startswith("forethought")]
    return found | {
        "CITATION.cff": [str(CITATION["version"])],
        "conda": [str(CONDA["context"]["version"])],
        "planutils": [manifest["version"]],
        "up-forethought": [ENGINE["version"], *needed],
        "forethought --version": [version("forethought")],
    }


def test_every_file_names_the_version_of_the_package() -> None:
    found = find_versions()
    assert all(found.values())
    assert {name: set(versions) for name, versions in found.items()} == {name: {PROJECT["version"]} for name in found}
    assert re.fullmatch(r"\d+\.\d+\.\d+((a|b|rc)\d+)?", PROJECT["version"]), "semantic, in Python's spelling"


def as_conda(requirement: str) -> str:
    """Return a requirement of Python as conda writes it; markers of platforms are left out."""
    name, operator, bound = re.fullmatch(
        r"([\w.-]+)(?:\[[\w,-]*\])?\s*(\W*)(.*)", requirement.partition(";")[0].strip()
    ).groups()
    return f"{name} {operator}{bound}".strip()


def test_the_conda_recipe_has_the_dependencies_of_the_package() -> None:
    needed = {as_conda(each) for each in [*PROJECT["dependencies"], *PROJECT["optional-dependencies"].get("jit", [])]}
    python = f"python {PROJECT['requires-python']}".replace(CONDA["context"]["python_min"], "${{ python_min }}")
    assert set(CONDA["requirements"]["run"]) == needed | {python}
    assert CONDA["about"]["license"] == PROJECT["license"] == CITATION["license"]
    [command] = [f"{name} = {function}" for name, function in PROJECT["scripts"].items()]
    assert CONDA["build"]["python"]["entry_points"] == [command]


def test_the_citation_says_who_and_what() -> None:
    assert {"cff-version", "message", "title", "authors", "type", "abstract"} <= set(CITATION)


def test_the_changelog_has_a_section_for_each_version_and_known_headings() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    headings = re.findall(r"^## (.*)$", text, re.MULTILINE)
    pattern = r"\[Unreleased\]|\[\d+\.\d+\.\d+\S*\] - (\d{4}-\d\d-\d\d|unreleased)"
    assert all(re.fullmatch(pattern, each) for each in headings)
    [date, *_] = [each.rpartition(" ")[2] for each in headings if " - " in each]
    assert str(CITATION.get("date-released", "unreleased")) == date
    kinds = re.findall(r"^### (.*)$", text, re.MULTILINE)
    assert set(kinds) <= {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}


def test_planutils_finds_what_it_asks_for() -> None:
    manifest = json.loads((PLANUTILS / "manifest.json").read_text(encoding="utf-8"))
    assert {"name", "description", "dependencies", "install-size"} <= set(manifest)
    assert all(os.access(PLANUTILS / name, os.X_OK) for name in ("install", "run", "uninstall"))


@pytest.mark.parametrize("track", ["satisficing", "agile", "optimal"])
def test_the_apptainer_recipe_has_what_the_competition_asks_for(track: str) -> None:
    sections = read_sections(APPTAINER.read_text(encoding="utf-8"), track=track)
    assert {"files", "post", "runscript", "labels", "environment", "test"} <= set(sections)
    assert f'plan "$1" "$2" "$3" {track}\n' in sections["runscript"]
    labels = dict(line.strip().split(" ", 1) for line in sections["labels"].strip().splitlines())
    assert labels["Tracks"] == track
    assert {"Name", "Description", "Authors", "License"} <= set(labels)
    supports = {name: value for name, value in labels.items() if name.startswith("Supports")}
    assert len(supports) == 9
    assert set(supports.values()) == {"yes"}, "the task of the tests below uses them all"
    copied = [line.split()[0] for line in sections["files"].strip().splitlines()]
    assert all((ROOT / each).exists() for each in copied if each != "dist")
    for name in ("post", "runscript", "environment", "test"):
        subprocess.run(["sh", "-n"], input=sections[name], text=True, check=True)


DOMAIN = """
(define (domain rooms) (:requirements :adl :derived-predicates :action-costs)
  (:types room item)
  (:constants cellar - room)
  (:predicates (in ?r - room) (door ?a ?b - room) (lit ?r - room) (has ?i - item) (lies ?i - item ?r - room)
    (clean ?r - room) (reachable ?r - room))
  (:functions (total-cost) - number)
  (:derived (reachable ?r - room) (or (in ?r) (exists (?m - room) (and (reachable ?m) (door ?m ?r)))))
  (:action go
    :parameters (?a ?b - room)
    :precondition (and (in ?a) (not (= ?a ?b)) (reachable ?b) (imply (= ?b cellar) (exists (?i - item) (has ?i))))
    :effect (and (not (in ?a)) (in ?b) (when (not (lit ?b)) (lit ?b)) (increase (total-cost) 2)))
  (:action collect
    :parameters (?r - room)
    :precondition (and (in ?r) (not (clean ?r)) (forall (?s - room) (imply (= ?s ?r) (lit ?s))))
    :effect (and (clean ?r) (forall (?i - item) (when (lies ?i ?r) (has ?i))) (increase (total-cost) 1))))
"""
PROBLEM = """
(define (problem tidy) (:domain rooms)
  (:objects hall attic - room lamp - item)
  (:init (in hall) (door hall attic) (door attic hall) (door hall cellar) (lit hall) (lies lamp attic)
    (= (total-cost) 0))
  (:goal (and (in cellar) (clean hall)))
  (:metric minimize (total-cost)))
"""
WALK = """
(define (domain walk) (:requirements :strips)
  (:predicates (at ?c) (visited ?c) (next ?a ?b))
  (:action move
    :parameters (?a ?b)
    :precondition (and (at ?a) (next ?a ?b))
    :effect (and (not (at ?a)) (at ?b) (visited ?b))))
"""


def write_walk(side: int) -> str:
    """Return the problem to visit all cells of a square whose side is odd, from where some cell is visited twice.

    Searches count one move for each other cell, and take long to prove that this is not enough.
    """
    cells = [(x, y) for x in range(side) for y in range(side)]
    name = {cell: f"c{cell[0]}-{cell[1]}" for cell in cells}
    next_to = [(a, b) for a in cells for b in cells if abs(a[0] - b[0]) + abs(a[1] - b[1]) == 1]
    facts = [f"(next {name[a]} {name[b]})" for a, b in next_to]
    start = name[0, 1]
    goal = " ".join(f"(visited {each})" for each in name.values())
    return f"""(define (problem all) (:domain walk) (:objects {" ".join(name.values())})
        (:init (at {start}) (visited {start}) {" ".join(facts)}) (:goal (and {goal})))"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Make a folder with tasks, and `bin` with the command `forethought` of this checkout."""
    (tmp_path / "bin").mkdir()
    command = tmp_path / "bin" / "forethought"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m planner.cli "$@"\n', encoding="utf-8")
    command.chmod(0o755)
    for name, text in {"d.pddl": DOMAIN, "p.pddl": PROBLEM, "walk.pddl": WALK, "all.pddl": write_walk(7)}.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def begin_plan(folder: Path, *arguments: str, **variables: str) -> subprocess.Popen[str]:
    """Start the interface of the competitions in `folder`."""
    environment = os.environ | {"PATH": f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(
        [RECIPES / "apptainer" / "plan", *arguments],
        cwd=folder,
        env=environment | variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def run_plan(folder: Path, *arguments: str, **variables: str) -> tuple[int, str, str]:
    """Return the exit code, stdout and stderr of the interface of the competitions."""
    process = begin_plan(folder, *arguments, **variables)
    out, err = process.communicate(timeout=50)
    return process.returncode, out, err


def costs_of(folder: Path, domain: str, problem: str, names: list[str]) -> list[float]:
    """Return the costs of the plans in files with these names, which must be valid."""
    task = load(str(folder / domain), str(folder / problem))
    verdicts = [validate(task, read_plan_file(folder / name, task)[0]) for name in names]
    assert all(verdict.valid for verdict in verdicts)
    return [float(verdict.cost) for verdict in verdicts]


@pytest.mark.parametrize(
    ("track", "file"), [("satisficing", "sas_plan.1"), ("agile", "sas_plan"), ("optimal", "sas_plan")]
)
@pytest.mark.parametrize("told", ["in a word", "in the environment"])
def test_a_track_gets_the_plans_that_it_counts(folder: Path, track: str, file: str, told: str) -> None:
    (folder / "sas_plan").write_text("of an earlier run", encoding="utf-8")
    (folder / "sas_plan.12").write_text("of an earlier run", encoding="utf-8")
    words = [track] if told == "in a word" else []
    code, out, err = run_plan(folder, "d.pddl", "p.pddl", "sas_plan", *words, FORETHOUGHT_TRACK=track)
    assert (code, out) == (0, ""), err
    names = sorted(path.name for path in folder.glob("sas_plan*"))
    assert names[0] == file
    costs = costs_of(folder, "d.pddl", "p.pddl", names)
    assert track == "agile" or costs[-1] == 6, "collect in the hall, fetch the lamp from the attic, go to the cellar"


def test_files_may_have_odd_names(folder: Path) -> None:
    (folder / "-a b").mkdir()
    for old, new in {"d.pddl": "-a b/do main.pddl", "p.pddl": "-p.pddl"}.items():
        (folder / old).rename(folder / new)
    assert run_plan(folder, "-a b/do main.pddl", "-p.pddl", "a plan", "optimal")[0] == 0
    assert costs_of(folder, "-a b/do main.pddl", "-p.pddl", ["a plan"]) == [6]


@pytest.mark.parametrize("name", ["SIGTERM", "SIGXCPU", "SIGKILL"])
def test_what_was_found_before_a_signal_is_there_and_whole(folder: Path, name: str) -> None:
    process = begin_plan(folder, "walk.pddl", "all.pddl", "sas_plan")
    try:
        until = time.monotonic() + 40
        while not (folder / "sas_plan.2").exists():
            assert process.poll() is None
            assert time.monotonic() < until
            time.sleep(0.02)
        process.send_signal(getattr(signal, name))
        _, err = process.communicate(timeout=20)
    finally:
        process.kill()
    assert process.returncode == (-signal.SIGKILL if name == "SIGKILL" else 130), err
    numbers = sorted(int(path.suffix[1:]) for path in folder.glob("sas_plan.*"))
    assert numbers == list(range(1, len(numbers) + 1))
    costs = costs_of(folder, "walk.pddl", "all.pddl", [f"sas_plan.{number}" for number in numbers])
    assert all(worse > better for worse, better in pairwise(costs))


def test_without_a_proof_the_optimal_track_gets_no_plan(folder: Path) -> None:
    process = begin_plan(folder, "walk.pddl", "all.pddl", "sas_plan", "optimal")
    time.sleep(2)
    process.terminate()
    process.communicate(timeout=20)
    assert process.returncode == 130
    assert not list(folder.glob("sas_plan*"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["d.pddl", "p.pddl"], "usage: plan DOMAIN PROBLEM PLAN"),
        (["d.pddl", "p.pddl", "a", "optimal", "b"], "usage: plan DOMAIN PROBLEM PLAN"),
        (["d.pddl", "p.pddl", "plan", "fastest"], "there is no track 'fastest'"),
        (["d.pddl", "p.pddl", "./d.pddl"], "./d.pddl is an input file"),
        (["nowhere.pddl", "p.pddl", "plan"], "nowhere.pddl"),
        (["d.pddl", "p.pddl", "nowhere/plan"], "nowhere/plan"),
        (["d.pddl", "p.pddl", "bin"], "bin: Is a directory"),
        (["d.pddl", "p.pddl", ""], "Is a directory"),
    ],
    ids=lambda given: " ".join(given) if isinstance(given, list) else "",
)
def test_mistakes_of_usage_are_told(folder: Path, arguments: list[str], message: str) -> None:
    code, out, err = run_plan(folder, *arguments)
    assert (code, out) == (2, "")
    assert message in err
    assert (folder / "d.pddl").read_text(encoding="utf-8") == DOMAIN


def test_planutils_runs_tasks_and_other_commands(folder: Path) -> None:
    package = folder / "package"
    shutil.copytree(PLANUTILS, package)
    (package / "environment").mkdir()
    (folder / "bin").rename(package / "environment" / "bin")
    (folder / "linked").symlink_to(package, target_is_directory=True)
    run = [folder / "linked" / "run"]
    subprocess.run([*run, "d.pddl", "p.pddl", "--quiet"], cwd=folder, capture_output=True, check=True)
    assert costs_of(folder, "d.pddl", "p.pddl", ["sas_plan"]) == [6]
    done = subprocess.run([*run, "--version"], cwd=folder, capture_output=True, text=True, check=True)
    assert done.stdout == f"forethought {PROJECT['version']}\n"


REGISTERED = """
import up_forethought
from unified_planning.shortcuts import (
    Fluent, InstantaneousAction, MinimizeActionCosts, OneshotPlanner, Problem, get_environment
)
get_environment().credits_stream = None
lit, switch, problem = Fluent("lit"), InstantaneousAction("switch"), Problem("lamp")
switch.add_effect(lit, True)
problem.add_fluent(lit, default_initial_value=False)
problem.add_action(switch)
problem.add_goal(lit)
problem.add_quality_metric(MinimizeActionCosts({switch: 1}))
get_environment().factory.preference_list = [
    each for each in get_environment().factory.preference_list if each.startswith("forethought")
]
for chosen in ({"name": "forethought"}, {"name": "forethought-opt"}, {"problem_kind": problem.kind}):
    with OneshotPlanner(**chosen) as engine:
        assert isinstance(engine, up_forethought.ForethoughtEngine)
        assert engine.solve(problem).status.name == "SOLVED_OPTIMALLY"
"""
NAMED = """
from unified_planning.shortcuts import OneshotPlanner, get_environment
get_environment().credits_stream = None
with OneshotPlanner(name="forethought") as engine:
    assert type(engine).__name__ == "ForethoughtEngine"
"""


def test_importing_up_forethought_registers_the_engines(tmp_path: Path) -> None:
    """In processes of their own, since the global environment of unified-planning keeps what was registered."""
    path = os.pathsep.join([str(RECIPES / "up-forethought"), str(ROOT)])
    environment = os.environ | {"PYTHONPATH": path, "HOME": str(tmp_path)}
    subprocess.run([sys.executable, "-c", REGISTERED], cwd=tmp_path, env=environment, check=True)
    readme = (RECIPES / "up-forethought" / "README.md").read_text(encoding="utf-8")
    [named] = re.findall(r"```ini\n(.*?)```", readme, re.DOTALL)
    (tmp_path / "up.ini").write_text(named, encoding="utf-8")
    subprocess.run([sys.executable, "-c", NAMED], cwd=tmp_path, env=environment, check=True)
