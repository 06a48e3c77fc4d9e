"""What ran before the initial state counts for actions that come `after` it: a plan can be cut anywhere."""

from __future__ import annotations

import random
import re
from dataclasses import replace
from functools import cache

import pytest
import random_plans
from brute_force import TooManyStates, transition_system

from benchmarks.random_problems import Features, random_problem
from htn.language.declare import Methods
from htn.language.hddl.hddl_writer import write_problem
from planner import (
    DocumentError,
    Domain,
    Status,
    causal_links,
    partial_order,
    read_documents,
    solve,
    validate,
    write_json,
    write_yaml,
)
from planner.compilations.adl import compile_adl
from planner.language.pddl import parse_domain, parse_problem
from planner.language.pddl.export import export
from planner.model import Atom
from planner.plan import Plan
from planner.semantics.simulation import Simulation
from planner.unified_planning.conversion import to_unified_planning

MOST_STATES = 80


def cut(plan, place):
    """Return the problem as it stands after so many steps of `plan`, with what ran, and the rest of the plan."""
    state = Simulation(plan.problem)
    for step in plan.steps[:place]:
        state.apply(step)
    ran = tuple([Atom(step.action, step.arguments) for step in plan.steps[:place]])
    problem = replace(plan.problem, initial=tuple(state.facts), ran=ran)
    return Plan(plan.steps[place:], problem)


@cache
def plans(block):
    """Return random plans that are cut somewhere, and what is left of them: no plan, if nothing had run before."""
    found = []
    for seed in range(150 * block, 150 * block + 150):
        rng = random.Random(seed)
        plan = random_plans.random_plan(rng)
        if any(action.after for action in plan.problem.domain.actions.values()) and len(plan.steps) > 1:
            rest = cut(plan, rng.randint(1, len(plan.steps) - 1))
            if not validate(replace(rest.problem, ran=()), rest).valid:
                found.append((plan, rest))
    return found


@pytest.mark.parametrize("block", range(3))
def test_the_rest_of_a_plan_is_a_plan(block):
    assert len(plans(block)) > 5
    for _, rest in plans(block):
        verdict = validate(rest.problem, rest)
        assert verdict.valid, verdict.reason


@pytest.mark.parametrize("block", range(3))
def test_links_come_from_what_ran(block):
    for plan, rest in plans(block):
        ran = len(plan.steps) - len(rest.steps)

        def shifted(links, ran=ran):
            return {
                (max(0, link.provider - ran), link.consumer - ran, str(link.condition))
                for link in links
                if link.consumer > ran and str(link.condition).startswith("ran-")
            }

        expected = shifted(causal_links(plan.problem, plan))
        assert shifted(causal_links(rest.problem, rest), 0) == expected
        assert sorted(partial_order(rest.problem, rest)) == list(range(1, len(rest.steps) + 1))


@pytest.mark.parametrize("block", range(3))
def test_every_form_of_a_problem_says_what_ran(block):
    compared = 0
    for seed in range(200 * block, 200 * block + 200):
        problem = random_problem(seed, Features(actions=4, objects=3))
        if not any(action.after for action in problem.domain.actions.values()):
            continue
        first = list(Simulation(problem).applicable())[:4]
        problem = replace(problem, ran=tuple([Atom(step.action, step.arguments) for step in first]))
        try:
            expected = transition_system(problem, MOST_STATES)
            otherwise = transition_system(replace(problem, ran=()), MOST_STATES)
        except TooManyStates:
            continue
        plain = compile_adl(problem)
        assert not plain.ran
        assert transition_system(plain, MOST_STATES) == expected
        written = export(problem, "adl")
        read = parse_problem(written.problem, parse_domain(written.domain))
        assert transition_system(read, MOST_STATES, label=written.lift) == expected
        for write in (write_yaml, write_json):
            (again,) = read_documents(write(problem)).problems
            assert (again.ran, again.initial) == (problem.ran, problem.initial)
        compared += expected != otherwise
    assert compared > 5


@pytest.fixture
def parting():
    """Return a domain in which robots part once they have met."""
    domain = Domain("parting", types=["robot"])
    domain.action("meet", {"a": "robot", "b": "robot"}, provides=["friends(a)"])
    domain.action("part", {"a": "robot", "b": "robot"}, after=["meet(a, b)"], provides=["alone(a)"])
    return domain


def met(domain, *ran):
    problem = domain.problem(objects={"r1": "robot", "r2": "robot"}, goal=["alone(r1)"])
    return replace(problem, ran=ran)


def test_unified_planning_is_told_what_ran(parting):
    outgoing = to_unified_planning(met(parting, Atom("meet", ("r1", "r2"))))
    names = [str(fluent) for fluent, value in outgoing.problem.initial_values.items() if value.is_true()]
    assert names == ["ran-meet-0-1(r1, r2)"]


def test_hierarchies_are_told_what_ran(parting):
    how = Methods(parting)
    how.task("leave", a="robot")
    how.method("go", {"a": "robot", "b": "robot"}, task="leave(a)", subtasks=["part(a, b)"])
    problem = how.problem(objects={"r1": "robot", "r2": "robot"}, tasks=["leave(r1)"])
    assert solve(problem).status is Status.UNSOLVABLE
    ran = replace(problem, classical=replace(problem.classical, ran=(Atom("meet", ("r1", "r2")),)))
    assert [str(step) for step in solve(ran).expect_plan().steps] == ["part(r1, r2)"]
    assert "(ran-meet-0-1 r1 r2)" in write_problem(ran)


@pytest.mark.parametrize(
    ("ran", "complaint"),
    [
        ("mett(r1, r2)", "'parting' has no action 'mett'; did you mean 'meet'"),
        ("meet(r1)", "meet(r1) gives action 'meet' 1 argument; it takes 2"),
        ("meet(r1, r3)", "'r3' in meet(r1, r3) is no object of the problem"),
        ("meet(r1, _)", "'_' leaves an argument of meet(r1, _) open"),
        ("meet(r1", "lacks a ')'"),
    ],
)
def test_what_cannot_have_run(parting, ran, complaint):
    text = write_yaml(met(parting, Atom("meet", ("r1", "r2"))))
    with pytest.raises(DocumentError, match=re.escape(complaint)):
        list(read_documents(text.replace("meet(r1, r2)", ran)).problems)
