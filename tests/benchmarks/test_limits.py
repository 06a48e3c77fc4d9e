"""The benchmark of limits: its tasks, its records, and what counts as lost."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from benchmarks import limits
from benchmarks.limits import Run

DOMAIN = "(define (domain walk) (:predicates (there) (here)) (:action go :precondition (here) :effect (there)))"
PROBLEM = "(define (problem {name}) (:domain walk) (:init (here)) (:goal (there)))"


@pytest.fixture
def suites(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(limits, "SUITES", {"ipc-classical": 1})
    folder = tmp_path / "ipc-classical" / "walk"
    folder.mkdir(parents=True)
    (folder / "domain.pddl").write_text(DOMAIN)
    for name in ("p1", "longer"):
        (folder / f"{name}.pddl").write_text(PROBLEM.format(name=name))
    return tmp_path


def test_the_largest_task_of_a_domain_is_taken(suites: Path) -> None:
    assert [problem.name for _, problem in limits.find_tasks(suites, 1)] == ["longer.pddl"]


@pytest.mark.parametrize("way", limits.WAYS)
def test_searches_end_with_their_results(suites: Path, way: str) -> None:
    run = limits.WAYS[way](*limits.find_tasks(suites, 1)[0], 20.0)
    assert (run.way, run.status, run.has_plan, run.is_lost) == (way, "OPTIMAL", True, False)
    assert run.late < 20


def test_records_are_taken_up_again(suites: Path, tmp_path: Path) -> None:
    tasks = limits.find_tasks(suites, 1)
    done = Run("cancel", tasks[0][1].as_posix(), 1.0, 0.5, "UNKNOWN", "cancelled", True, False, 30)
    (tmp_path / "records").write_text(json.dumps(asdict(done)) + "\n")
    runs = [*limits.measure(tasks, tmp_path / "records")]
    assert runs[0] == done
    assert [each.way for each in runs[1:]] == ["time limit", "SIGTERM", "memory limit"]
    assert len((tmp_path / "records").read_text().splitlines()) == 4
    table = limits.summarise(runs)
    assert "| cancel | 1 | 0.50 | 0.50 | 0 | 0 | 1 | 0 | 30 |" in table
