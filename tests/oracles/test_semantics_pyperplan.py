"""Random declared problems as STRIPS, ground where nothing else will do: pyperplan's shortest plans are ours."""

from __future__ import annotations

import logging
import os
from dataclasses import replace

import pytest
from brute_force import TooManyStates, brute_force

from benchmarks.random_problems import Features, random_problem
from planner.errors import UnsupportedError
from planner.language.pddl.export import export
from planner.model import Metric
from planner.validation.validate import validate

FEATURES = Features(conditional=False, universal=False, axioms=False, quantified=False)
TASKS = int(os.environ.get("ORACLE_TASKS", "40"))
BLOCK = 20


@pytest.fixture
def shortest_plan(tmp_path, caplog):
    """Return a function that gives the shortest plan for domain and problem text, as text, or None."""
    planner = pytest.importorskip("pyperplan.planner")
    caplog.set_level(logging.ERROR)  # pyperplan logs to the root

    def search(domain, problem):
        (tmp_path / "domain.pddl").write_text(domain)
        (tmp_path / "problem.pddl").write_text(problem)
        search = planner.SEARCHES["bfs"]
        plan = planner.search_plan(str(tmp_path / "domain.pddl"), str(tmp_path / "problem.pddl"), search, None)
        return None if plan is None else "\n".join(operator.name for operator in plan)

    return search


@pytest.mark.parametrize("block", range(TASKS // BLOCK))
def test_shortest_plans_agree(block, shortest_plan):
    compared = 0
    for seed in range(2000 + BLOCK * block, 2000 + BLOCK * (block + 1)):
        problem = replace(random_problem(seed, FEATURES), metric=Metric.LENGTH)
        try:
            length = brute_force(problem, max_states=200)
            written = export(problem, "strips")
        except (TooManyStates, UnsupportedError):
            continue
        compared += 1
        text = shortest_plan(written.domain, written.problem)
        assert (text is None) is (length is None), seed
        if text is not None:
            plan = written.read_plan(text)
            verdict = validate(problem, plan)
            assert verdict.valid, (seed, verdict.reason)
            assert plan.cost == length, seed
    assert compared >= BLOCK // 3
