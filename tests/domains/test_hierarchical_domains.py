"""Every shipped hierarchical domain: its cases, its generator, its problems, and its lint."""

from __future__ import annotations

from importlib import import_module

import pytest

from benchmarks.htn_brute import cheapest
from htn import problem_kind
from htn.explain.task_explanations import explain_unsolvable
from htn.language.hddl import parse_domain, parse_problem
from htn.language.hddl.hddl_writer import write_domain, write_problem
from htn.model import HtnDomain
from htn.testing import check_cases
from planner import load
from planner.limits import Limits
from planner.lint.findings import Level
from planner.solve import solve

HIERARCHIES = ("household", "incident", "travel")


@pytest.fixture(params=HIERARCHIES)
def shipped(request):
    return import_module(f"domains.{request.param}")


def test_cases_are_as_their_authors_say(shipped):
    check_cases(shipped.cases())


def test_optima_are_those_of_all_decompositions(shipped):
    for case in shipped.cases():
        assert cheapest(case.problem) == case.optimum, case.name


def test_cases_have_plans_good_and_bad_for_the_first_problems(shipped):
    known = {case.name: case for case in shipped.cases()}
    for name in list(shipped.problems())[:2]:
        assert known[name].problem == shipped.problems()[name]
        assert known[name].valid
        assert len(known[name].invalid) >= 2


def test_cases_without_a_plan_are_explained(shipped):
    hopeless = [case.problem for case in shipped.cases() if case.optimum is None]
    assert hopeless
    for problem in hopeless:
        found = explain_unsolvable(problem, Limits(30))
        assert found.proved
        assert found.failures or found.dead_ends


def test_a_generator_gives_the_same_for_the_same_seed_only(shipped):
    assert shipped.generate(1, 3) == shipped.generate(1, 3)
    assert shipped.generate(1, 5) != shipped.generate(2, 5)


@pytest.mark.parametrize("size", [2, 3, 4])
@pytest.mark.parametrize("seed", range(3))
def test_what_is_generated_can_be_solved(shipped, seed, size):
    problem = shipped.generate(seed, size)
    assert problem_kind.validate(problem, solve(problem, mode="first", time_limit=None).expect_plan()).valid


def test_problems_are_named_and_made_when_asked_for(shipped):
    problems = shipped.problems()
    assert len(problems) >= 4
    first = next(iter(problems))
    name = shipped.__name__.removeprefix("domains.")
    assert load(name) == problems[first]
    assert load(name, first) == problems[first]
    assert problems[first] is problems[first]
    sizes = [len(problem.classical.objects) for problem in problems.values()]
    assert sizes[2:] == sorted(sizes[2:])
    assert sizes[-1] > 2 * sizes[0]


def test_no_domain_has_findings(shipped):
    findings = problem_kind.check_domain(shipped.domain())
    for problem in list(shipped.problems().values())[:4]:
        findings += problem_kind.check(problem, Limits(30))
    assert [str(finding) for finding in findings if finding.level is not Level.HINT] == []


def test_they_are_written_in_hddl_and_solved_as_well(shipped):
    case = shipped.cases()[0]
    domain = parse_domain(write_domain(case.problem.domain))
    assert isinstance(domain, HtnDomain)
    assert solve(parse_problem(write_problem(case.problem), domain), time_limit=None).cost == case.optimum


@pytest.mark.parametrize("name", ["incident", "travel"])
def test_what_agents_read_is_there(name):
    domain = import_module(f"domains.{name}").domain()
    for action in domain.classical.actions.values():
        assert action.description
        assert action.similes
    assert all(task.description for task in domain.tasks.values())
