"""Fast Downward on the shipped domains as they are exported: the same optima, and plans that hold in the source."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest
from downward import optimal_plans

from planner import compile_object_creation
from planner.language.pddl.export import determinize, export
from planner.lightweight import replace
from planner.model import Problem
from planner.model.problem import is_numeric
from planner.validation.validate import validate

DOMAINS = Path(__file__).parents[2] / "domains"
MOST_CREATED = 3
"""Objects of a type that any of the cases creates."""
NAMES = sorted(path.name for path in DOMAINS.iterdir() if (path / "__init__.py").exists())


def known_cases():
    return [case for name in NAMES for case in import_module(f"domains.{name}").cases()]


def freed(problem):
    """Return `problem` without what PDDL has no words for: what it costs is then a lower bound."""
    goal = replace(problem.goal, soft=())
    return replace(problem, goal=goal, constraints=(), budgets={}, deadline=None, unknown=(), likely={})


def certain(problem):
    """Return `problem` as classical planners see it: with the intended outcomes alone."""
    return replace(problem, domain=determinize(problem.domain))


def test_fast_downward_finds_the_optima_of_all_cases(tmp_path):
    cases = [case for case in known_cases() if isinstance(case.problem, Problem) and not is_numeric(case.problem)]
    problems = [freed(case.problem) for case in cases]
    exports = [export(certain(compile_object_creation(each, MOST_CREATED).problem)) for each in problems]
    found = optimal_plans(tmp_path, [(each.domain, each.problem) for each in exports])
    for case, problem, written, text in zip(cases, problems, exports, found, strict=True):
        if text is None:
            assert case.optimum is None, case.name
            continue
        plan = written.read_plan(text)
        assert validate(problem, plan).valid, case.name
        if problem == case.problem:
            assert plan.cost == case.optimum, case.name
        else:
            assert case.optimum is None or plan.cost <= case.optimum, case.name


@pytest.mark.parametrize("name", ["courier", "stacking"])
def test_what_is_plain_strips_is_exported_so(name):
    shipped = import_module(f"domains.{name}")
    assert export(shipped.generate(1, 3)).level == "strips"
