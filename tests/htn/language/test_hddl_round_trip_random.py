"""HDDL → model → HDDL → model gives the same model, and model → HDDL → model the same problem under legal names."""

from __future__ import annotations

import csv
from collections import defaultdict
from pathlib import Path

import pytest
from effort import examples
from hypothesis import given, settings

from benchmarks.random_hierarchies import ORDERED, WILD, HtnFeatures, htn_problems
from htn.language.hddl import parse_domain, parse_problem, read
from htn.language.hddl.hddl_writer import write_domain, write_problem
from htn.model import HtnProblem, Network
from planner.errors import PddlError
from planner.lightweight import replace
from planner.model import ROOT_TYPE

TASKS = Path(__file__).parents[4] / "shared" / "data" / "ipc2020-htn"
NO_PROBLEM = "satellite2.hddl"
"""What the competition's list has as a problem of Satellite is the domain once more."""


def tasks() -> dict[str, list[tuple[Path, Path]]]:
    """Return the files of the competition's tasks, by track and domain; none where they are not at hand."""
    found: dict[str, list[tuple[Path, Path]]] = defaultdict(list)
    if (TASKS / "tasks.tsv").exists():
        with (TASKS / "tasks.tsv").open(encoding="utf-8") as file:
            for row in csv.DictReader(file, delimiter="\t"):
                folder = TASKS / row["track"] / row["domain"]
                files = folder / row["domain_file"], folder / row["problem_file"]
                found[f"{row['track']}-{row['domain']}"].append(files)
    return found


def written(problem: HtnProblem) -> HtnProblem:
    """Return what is read of what is written of `problem`."""
    return parse_problem(write_problem(problem), parse_domain(write_domain(problem.domain)))


def labels(problem: HtnProblem) -> list[list[str]]:
    networks: list[Network] = [problem.network, *(method.network for method in problem.domain.methods.values())]
    return [[subtask.label for subtask in network.subtasks] for network in networks]


@pytest.mark.skipif(not TASKS.exists(), reason="the competition's tasks are not beside this checkout")
def test_all_tasks_are_at_hand() -> None:
    assert sum(map(len, tasks().values())) == 161


@pytest.mark.parametrize("files", [pytest.param(files, id=name) for name, files in tasks().items()])
def test_real_files_come_back_as_they_were(files: list[tuple[Path, Path]]) -> None:
    for domain, problem in files:
        if problem.name == NO_PROBLEM:
            with pytest.raises(PddlError, match="this file defines a domain"):
                read(domain, problem)
            continue
        found = read(domain, problem)
        again = written(found)
        assert again == found
        assert labels(again) == labels(found)


def rooted(problem: HtnProblem) -> HtnProblem:
    """Return `problem` with the root named as the parent of the types that have no other, as files are read."""
    model = problem.domain.classical
    model = replace(model, types={name: parents or (ROOT_TYPE,) for name, parents in model.types.items()})
    domain, classical = replace(problem.domain, classical=model), replace(problem.classical, domain=model)
    return replace(problem, domain=domain, classical=classical)


@settings(deadline=None, max_examples=examples(100))
@given(htn_problems() | htn_problems(ORDERED))
def test_random_problems_come_back_as_they_were(problem: HtnProblem) -> None:
    assert written(problem) == rooted(problem)


@settings(deadline=None, max_examples=examples(60))
@given(htn_problems(HtnFeatures(classical=replace(WILD, stale=False))))
def test_what_is_declared_in_other_ways_becomes_what_stays(problem: HtnProblem) -> None:
    """`modifies` and the like become effects and are no more there to be read; their tasks and methods are."""
    found = written(problem)
    assert written(found) == found
    assert found.domain.tasks == problem.domain.tasks
    assert found.domain.methods == problem.domain.methods
    assert found.network == problem.network
