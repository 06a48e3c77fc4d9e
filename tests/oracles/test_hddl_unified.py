"""HDDL as unified-planning reads it: the same tasks, methods, actions and objects."""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from htn.language.hddl import parse_domain, parse_problem, read
from htn.language.hddl.hddl_writer import write_domain, write_problem
from htn.model import HtnProblem

if TYPE_CHECKING:
    from unified_planning.model.htn import HierarchicalProblem

up = pytest.importorskip("unified_planning.shortcuts", reason="unified-planning is not installed")

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # its own use of pyparsing

TASKS = Path(__file__).parents[3] / "shared" / "data" / "ipc2020-htn"
REFUSED = {"Barman-BDI", "Woodworking", "UM-Translog"}
"""Domains that unified-planning does not take: a name of two things, a type with two parents."""
LARGEST = 20_000
"""Larger files are left out, in bytes: their reader takes seconds for them."""

DOMAIN = """(define (domain rooms) (:requirements :hierarchy :typing :negative-preconditions :method-preconditions)
(:types room - object) (:constants lobby - room) (:predicates (at ?x - room) (door ?x ?y - room))
(:task visit :parameters (?x - room)) (:task tour :parameters ())
(:method there :parameters (?x - room) :task (visit ?x) :precondition (at ?x) :ordered-subtasks ())
(:method through :parameters (?x ?y ?z - room) :task (visit ?z) :precondition (and (at ?x) (door ?x ?y))
  :subtasks (and (a (move ?x ?y)) (b (visit ?z))) :ordering (and (< a b)) :constraints (and (not (= ?x ?y))))
(:method round :parameters (?x - room) :task (tour) :ordered-subtasks (and (visit ?x) (visit lobby)))
(:action move :parameters (?x ?y - room) :precondition (door ?x ?y) :effect (and (not (at ?x)) (at ?y))))"""
PROBLEM = """(define (problem one) (:domain rooms) (:objects kitchen - room)
(:htn :parameters (?x - room) :subtasks (and (a (visit ?x)) (b (tour)))) (:init (at lobby)) (:goal (at kitchen)))"""


def samples() -> list[tuple[Path, Path]]:
    """Return the files of one task of each domain; none where they are not at hand."""
    found: dict[Path, tuple[Path, Path]] = {}
    if (TASKS / "tasks.tsv").exists():
        with (TASKS / "tasks.tsv").open(encoding="utf-8") as file:
            for row in csv.DictReader(file, delimiter="\t"):
                folder = TASKS / row["track"] / row["domain"]
                files = folder / row["domain_file"], folder / row["problem_file"]
                if row["domain"] not in REFUSED and sum(path.stat().st_size for path in files) < LARGEST:
                    found.setdefault(folder, files)
    return list(found.values())


def theirs(domain: str, problem: str) -> HierarchicalProblem:
    from unified_planning.io import PDDLReader

    up.get_environment().credits_stream = None
    return PDDLReader().parse_problem_string(domain, problem)


def check_same(ours: HtnProblem, other: HierarchicalProblem) -> None:
    domain = ours.domain
    assert {name: len(task.parameters) for name, task in domain.tasks.items()} == {
        task.name: len(task.parameters) for task in other.tasks
    }
    assert {name: (method.task.predicate, len(method.parameters), subtasks(method.network.subtasks))
            for name, method in domain.methods.items()} == {
        method.name: (method.achieved_task.task.name, len(method.parameters), subtasks_of(method.subtasks))
        for method in other.methods
    }  # fmt: skip
    assert set(domain.classical.actions) == {action.name for action in other.actions}
    assert {each.name for each in ours.classical.all_objects} == {each.name for each in other.all_objects}
    assert subtasks(ours.network.subtasks) == subtasks_of(other.task_network.subtasks)
    assert len(ours.parameters) == len(other.task_network.variables)


def subtasks(found: object) -> Counter[str]:
    return Counter(each.task.predicate for each in found)


def subtasks_of(found: object) -> Counter[str]:
    return Counter(each.task.name for each in found)


@pytest.mark.slow
@pytest.mark.parametrize("files", [pytest.param(each, id=each[0].parent.name) for each in samples()])
def test_the_competitions_files(files: tuple[Path, Path]) -> None:
    ours = read(*files)
    check_same(ours, theirs(*(path.read_text(encoding="utf-8") for path in files)))
    check_same(ours, theirs(write_domain(ours.domain), write_problem(ours)))


def test_what_is_written() -> None:
    problem = parse_problem(PROBLEM, parse_domain(DOMAIN))
    check_same(problem, theirs(DOMAIN, PROBLEM))
    check_same(problem, theirs(write_domain(problem.domain), write_problem(problem)))
