"""Domains and problems of every kind, written in HDDL, YAML and JSON by the command, and read back."""

from __future__ import annotations

from pathlib import Path

import pytest
from brute_force import brute_force

from benchmarks.htn_brute import TooManyNetworks, cheapest
from benchmarks.random_problems import Features, random_problem
from htn.compilations.methods_from_actions import as_htn
from htn.language.hddl import parse_domain, parse_problem, write
from htn.model import HtnDomain, HtnProblem
from planner import load, load_domain
from planner.cli import main
from planner.errors import UnsupportedError
from planner.language.loading.python_files import list_shipped_names
from planner.lightweight import replace
from planner.model import DomainModel, Goal
from planner.model.domain import creates_objects
from planner.model.problem import is_temporal

TRIPS = """\
(define (domain trips)
  (:requirements :hierarchy :typing :negative-preconditions)
  (:types place)
  (:predicates (at ?p - place))
  (:task visit :parameters (?p - place))
  (:method go :parameters (?p ?q - place) :task (visit ?q) :precondition (at ?p) :subtasks (and (t1 (move ?p ?q))))
  (:method stay :parameters (?p - place) :task (visit ?p) :precondition (at ?p) :subtasks ())
  (:action move :parameters (?p ?q - place) :precondition (at ?p) :effect (and (not (at ?p)) (at ?q)))
)
"""
ONE = """\
(define (problem one) (:domain trips)
  (:objects a b - place)
  (:htn :parameters () :ordered-subtasks (and (visit b) (visit a)))
  (:init (at a))
  (:goal (at a))
)
"""


def compiled(*words: object) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["compile", *map(str, words)])
    assert ended.value.code == 0


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "d.hddl").write_text(TRIPS)
    (tmp_path / "p.hddl").write_text(ONE)
    return tmp_path


@pytest.mark.parametrize("language", ["hddl", "yaml", "json"])
def test_hierarchical_problems_are_compiled(folder: Path, language: str) -> None:
    given = folder / "d.hddl", folder / "p.hddl"
    compiled(*given, "--to", language, "--out", folder / "made")
    again = load(folder / f"made/domain.{language}", folder / f"made/problem.{language}")
    assert isinstance(again, HtnProblem)
    assert again == load(*given)
    assert cheapest(again) == 2


@pytest.mark.parametrize("language", ["hddl", "yaml", "json"])
def test_hierarchical_domains_are_compiled(folder: Path, language: str) -> None:
    compiled(folder / "d.hddl", "--to", language, "--out", folder / "made")
    assert load_domain(folder / f"made/domain.{language}") == load_domain(folder / "d.hddl")


def classical() -> list[str]:
    """Return the shipped classical domains without created objects and time: HDDL has no words for them."""
    found = [name for name in list_shipped_names() if isinstance(load_domain(name), DomainModel)]
    return [name for name in found if not creates_objects(load_domain(name)) and not is_temporal(load(name))]


@pytest.mark.parametrize("name", classical())
def test_shipped_domains_are_compiled_to_hddl(name: str) -> None:
    problem = load(name)
    if problem.goal.soft or problem.budgets:
        with pytest.raises(UnsupportedError, match=r"soft goals, in PDDL|a budget of \w+, in PDDL"):
            write(problem)
    hard = replace(problem, goal=Goal(problem.goal.hard), constraints=(), budgets={}, deadline=None)
    files = write(hard)
    domain = parse_domain(files["domain.hddl"])
    assert isinstance(domain, HtnDomain)
    assert "achieve-goal" in domain.tasks
    assert parse_problem(files["problem.hddl"], domain).domain == domain


def test_what_is_derived_means_the_same_in_hddl() -> None:
    features = Features(actions=3, objects=3, stale=False, after=False, modifies=False, axioms=False)
    compared = 0
    for seed in range(25):
        problem = random_problem(seed, features)
        files = write(problem)
        again = parse_problem(files["problem.hddl"], parse_domain(files["domain.hddl"]))
        assert list(again.domain.methods) == list(as_htn(problem).domain.methods), seed
        try:
            cost = cheapest(again, 200)
        except TooManyNetworks:
            continue
        assert cost == brute_force(problem), seed
        compared += 1
    assert compared > 10
