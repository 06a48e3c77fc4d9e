"""Every shipped domain: its cases, its generator, its problems, and its lint."""

from __future__ import annotations

import tomllib
from functools import partial
from importlib import import_module
from pathlib import Path

import pytest

from planner import load, solve
from planner.explain.plan_explanation import explain_plan
from planner.explain.unsolvability import explain_unsolvable
from planner.language.loading.python_files import GROUP, list_shipped_names
from planner.limits import Limits
from planner.lint.findings import Level
from planner.lint.problem_lint import check_domain, check_problem
from planner.model import DomainModel, is_temporal
from planner.plan import Plan
from planner.testing import check_cases, steps_from
from planner.validation.validate import validate

ROOT = Path(__file__).parents[2]
ALL = sorted(path.name for path in (ROOT / "domains").iterdir() if (path / "__init__.py").exists())
NAMES = [name for name in ALL if isinstance(import_module(f"domains.{name}").domain(), DomainModel)]
"""The classical ones."""


@pytest.fixture(params=NAMES)
def shipped(request):
    return import_module(f"domains.{request.param}")


def test_all_are_shipped_and_found_by_name():
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"][GROUP]
    assert declared == {name: f"domains.{name}" for name in ALL}
    assert len(NAMES) >= 6
    assert set(ALL) <= set(list_shipped_names())


def test_cases_are_as_their_authors_say(shipped):
    cases = shipped.cases()
    timed = [case for case in cases if is_temporal(case.problem)]
    check_cases(timed)
    provable = [case for case in timed if case.proved and case.optimum is not None]
    check_cases(provable, partial(solve, mode="optimal", time_limit=None))
    check_cases([case for case in cases if case not in timed], partial(solve, mode="optimal", time_limit=None))


def test_cases_have_plans_good_and_bad_for_the_first_problems(shipped):
    known = {case.name: case for case in shipped.cases()}
    for name in list(shipped.problems())[:2]:
        assert known[name].problem == shipped.problems()[name]
        assert known[name].valid
        assert len(known[name].invalid) >= 2


def test_plans_of_cases_are_explained(shipped):
    for case in shipped.cases():
        for text in case.valid:
            if is_temporal(case.problem):  # `explain_times` says when the steps come: tests/planner/explain
                continue
            plan = Plan(steps_from(text), case.problem)
            explanation = explain_plan(case.problem, plan)
            assert explanation.redundant == ()
            assert all(step.chain for step in explanation.steps)


def test_cases_without_a_plan_are_explained(shipped):
    hopeless = [case.problem for case in shipped.cases() if case.optimum is None]
    assert hopeless
    if is_temporal(hopeless[0]):
        pytest.skip("changes that would give a plan in time are not searched for")
    for problem in hopeless:
        diagnosis = explain_unsolvable(problem, Limits(30))
        assert diagnosis.solvable is False
        assert diagnosis.change is not None
        assert diagnosis.change.proved_smallest
        assert solve(diagnosis.change.problem, time_limit=None).has_plan


def test_a_generator_gives_the_same_for_the_same_seed_only(shipped):
    assert shipped.generate(1, 3) == shipped.generate(1, 3)
    assert shipped.generate(1, 5) != shipped.generate(2, 5)


@pytest.mark.parametrize("size", range(1, 4))
@pytest.mark.parametrize("seed", range(4))
def test_what_is_generated_can_be_solved(shipped, seed, size):
    problem = shipped.generate(seed, size)
    assert validate(problem, solve(problem, mode="first", time_limit=None).expect_plan()).valid


def test_problems_are_named_and_made_when_asked_for(shipped):
    problems = shipped.problems()
    assert len(problems) >= 6
    first = next(iter(problems))
    assert load(shipped.__name__.removeprefix("domains.")) == problems[first]
    assert load(shipped.__name__.removeprefix("domains."), first) == problems[first]
    assert problems[first] is problems[first]


def test_problems_grow_and_can_all_be_made(shipped):
    sizes = [len(problem.objects) for problem in shipped.problems().values()]
    assert sizes[2:] == sorted(sizes[2:])
    assert sizes[-1] > 5 * sizes[0]


def test_no_domain_has_findings(shipped):
    assert [finding for finding in check_domain(shipped.domain()) if finding.level is not Level.HINT] == []


@pytest.mark.parametrize("checked", NAMES)
def test_no_problem_has_findings(checked):
    for problem in list(import_module(f"domains.{checked}").problems().values())[:5]:
        assert [finding for finding in check_problem(problem, Limits(30)) if finding.level is not Level.HINT] == []


@pytest.mark.parametrize("name", ["assistant", "helpdesk", "purchasing", "runbook", "secretary", "tools"])
def test_what_agents_read_is_there(name):
    for action in import_module(f"domains.{name}").domain().actions.values():
        assert action.description
        assert action.similes
