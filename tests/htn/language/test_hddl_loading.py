"""Loading HDDL as everything else is loaded, and what commands say that take classical problems only."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from htn.model import HtnDomain, HtnProblem
from planner import InputError, load, load_domain
from planner.cli.output import Exit
from planner.language.loading.load import PLUGIN_GROUP, find_languages

DOMAIN = """(define (domain trips) (:types place) (:predicates (at ?x - place))
(:task visit :parameters (?x - place))
(:method there :parameters (?x - place) :task (visit ?x) :precondition (at ?x))
(:method go :parameters (?x ?y - place) :task (visit ?x) :precondition (at ?y) :subtasks (walk ?y ?x))
(:action walk :parameters (?x ?y - place) :precondition (at ?x) :effect (and (not (at ?x)) (at ?y))))"""
PROBLEM = """(define (problem one) (:domain trips) (:objects a b - place)
(:htn :subtasks (visit b)) (:init (at a)))"""
CLASSICAL = "(define (domain trips) (:predicates (at)))"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with HDDL and other files, which is also where relative names are looked up."""
    texts = {"trips/domain.hddl": DOMAIN, "trips/p1.hddl": PROBLEM, "trips/problems/p2.hddl": PROBLEM}
    texts |= {"d.hddl": DOMAIN, "p.hddl": PROBLEM, "p.pddl": PROBLEM, "p01": PROBLEM, "d.pddl": CLASSICAL}
    texts |= {
        "P.HDDL": PROBLEM,
        "p.yaml": "problem: one\n",
        "wrong.hddl": DOMAIN.replace("(walk ?y ?x)", "(wlak ?y ?x)"),
    }
    for name, text in texts.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    "given",
    [
        ("d.hddl", "p.hddl"),
        (Path("d.hddl"), Path("p.hddl")),
        ("d.hddl", "P.HDDL"),
        ("d.hddl", "p.pddl"),
        ("d.hddl", "p01"),
        ("trips",),
        ("trips", "p1"),
        ("trips", "p2"),
        ("trips", "p.hddl"),
        ("trips", "p.pddl"),
    ],
)
def test_hierarchical_problems(given: tuple[str, ...]) -> None:
    problem = load(*given)
    assert isinstance(problem, HtnProblem)
    assert problem.name == "one"
    assert [each.task.predicate for each in problem.network.subtasks] == ["visit"]
    assert list(problem.domain.methods) == ["there", "go"]


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("given", ["d.hddl", "trips"])
def test_hierarchical_domains(given: str) -> None:
    domain = load_domain(given)
    assert isinstance(domain, HtnDomain)
    assert domain.name == "trips"


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("a.hddl",), "a.hddl: there is no such file"),
        (("d.hddl",), "d.hddl: there is a domain, but no problem; give a problem after the domain"),
        (("d.hddl", "a.hddl"), "a.hddl: there is no such file"),
        (
            ("d.hddl", "a"),
            "d.hddl has no problem 'a', and there is no such file; it has no problems of its own: give a fi",
        ),
        (("trips", "p3"), "trips has no problem 'p3', and there is no such file; its problems are p1, p2"),
        (("d.hddl", "d.hddl"), "d.hddl:1:9: this file defines a domain, and a problem was expected; "),
        (
            ("d.hddl", "p.yaml"),
            "p.yaml:1:10: problem 'one' has no tasks, but its domain 'trips' has methods; write 'tasks: ",
        ),
        (
            ("d.pddl", "p.hddl"),
            "p.hddl: the problem is not in a language that goes with the domain of d.pddl; give the d",
        ),
        (("wrong.hddl", "p.hddl"), "wrong.hddl:4:91: the task or action 'wlak' is not declared; did you mean 'walk'?"),
    ],
)
def test_what_cannot_be_loaded(given: tuple[str, ...], message: str) -> None:
    with pytest.raises(InputError) as caught:
        load(*given)
    assert str(caught.value).startswith(message)


def test_a_reader_that_cannot_be_imported(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    info = folder / "site" / "broken-1.0.dist-info"
    info.mkdir(parents=True)
    text = f"[console_scripts]\na = b:c\n\n[{PLUGIN_GROUP}]\n.hddl = there.is.none\n\n[other]\n.hddl = htn\n"
    (info / "entry_points.txt").write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(folder / "site")
    with pytest.raises(InputError) as caught:
        load("d.hddl", "p.hddl")
    message = "d.hddl: the reader there.is.none of .hddl files cannot be imported: No module named 'there'"
    assert str(caught.value) == message


def test_languages_are_those_that_the_standard_library_finds() -> None:
    found = {name: language.value for name, language in find_languages().items()}
    assert found == {entry.name: entry.value for entry in entry_points(group=PLUGIN_GROUP)}
    assert found[".hddl"] == "htn.language.hddl"


@pytest.mark.usefixtures("folder")
def test_without_a_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["planner.language.loading.load"], "find_languages", dict)
    with pytest.raises(InputError) as caught:
        load("d.hddl", "p.hddl")
    message = "d.hddl: the ending of a file's name tells its kind, and .hddl is no known one; "
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize("command", ["compile --to pddl"])
def test_commands_for_classical_problems_only(folder: Path, command: str) -> None:
    words = [sys.executable, "-m", "planner.cli", *command.split(), "d.hddl", "p.hddl"]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == Exit.UNSUPPORTED
    assert done.stdout == ""
    assert "'one', which is no classical problem; this takes classical domains and problems" in done.stderr
    assert done.stderr.count("\n") == 1
