"""Every shipped domain: its cases, its generator, its problems, and its lint."""

from __future__ import annotations

from functools import partial
from importlib import import_module

import pytest

from planner import load, solve
from planner.check import check_problem
from planner.check.findings import Level
from planner.loading.shipped import shipped_names
from planner.plan import Status
from planner.testing import check_cases
from planner.validate import validate

NAMES = ["assistant", "courier", "elevator", "runbook", "secretary", "stacking"]


@pytest.fixture(params=NAMES)
def shipped(request):
    return import_module(f"domains.{request.param}")


def test_all_are_found_by_name():
    assert set(NAMES) <= set(shipped_names())


def test_cases_are_as_their_authors_say(shipped):
    cases = shipped.cases()
    assert any(case.invalid for case in cases)
    assert any(case.optimum is not None for case in cases)
    check_cases(cases, partial(solve, mode="optimal", time_limit=None))


def test_a_generator_gives_the_same_for_the_same_seed_only(shipped):
    assert shipped.generate(1, 3) == shipped.generate(1, 3)
    assert shipped.generate(1, 5) != shipped.generate(2, 5)


@pytest.mark.parametrize("seed", range(3))
def test_what_is_generated_can_be_solved(shipped, seed):
    problem = shipped.generate(seed, 2)
    result = solve(problem, time_limit=None)
    assert result.status is Status.OPTIMAL
    assert validate(problem, result.plan).valid


def test_problems_are_named_and_made_when_asked_for(shipped):
    problems = shipped.problems()
    assert len(problems) >= 4
    first = next(iter(problems))
    assert load(shipped.__name__.removeprefix("domains.")) == problems[first]
    assert problems[first] is problems[first]


def test_no_domain_has_findings(shipped):
    findings = [finding for finding in check_problem(shipped.generate(1, 6)) if finding.level is not Level.NOTE]
    assert findings == []
