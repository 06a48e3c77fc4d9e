"""What a goal does not need makes no difference, and actions without parameters are ground as all others are."""

from __future__ import annotations

import importlib
from random import Random

import pytest
from brute_force import TooManyStates, brute_force
from effort import examples
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from benchmarks.random_problems import random_problem
from planner.compilations.lifted_relevance import remove_irrelevant_actions
from planner.grounding.ground import ground, ground_propositional
from planner.limits import Limits
from planner.model import Action, And, Atom, DomainModel, Goal, Not, Object, Predicate, Problem, Variable
from planner.solve import solve


def outcome(problem):
    """Return what a cheapest plan costs, None where there is no plan."""
    try:
        return brute_force(problem, max_states=300)
    except TooManyStates:
        assume(False)


@settings(max_examples=examples(60), suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])
@given(seed=st.integers(0, 10**9))
def test_the_relevant_part_has_the_same_optimum(seed):
    problem = random_problem(seed)
    part = remove_irrelevant_actions(problem)
    assume(part is not problem)
    assert outcome(part) == outcome(problem)


def test_of_random_problems_some_have_irrelevant_actions():
    parts = [(problem, remove_irrelevant_actions(problem)) for problem in map(random_problem, range(60))]
    assert 5 < sum(len(part.domain.actions) < len(problem.domain.actions) for problem, part in parts) < 55


def plain_problem(seed):
    """Return a problem of actions without parameters; facts may have constants as arguments."""
    draw = Random(seed)
    atoms = [*[Atom(f"p{number}") for number in range(4)], *[Atom("q", (name,)) for name in "abc"]]

    def literals(most):
        chosen = draw.sample(atoms, draw.randint(0, most))
        return tuple([Not(atom) if draw.random() < 0.3 else atom for atom in chosen])

    actions = {}
    for number in range(draw.randint(2, 9)):
        effect = (*literals(3), *literals(1))
        actions[f"a{number}"] = Action(f"a{number}", (), And(literals(3)), effect, cost=(draw.randint(0, 3),))
    predicates = {
        atom.predicate: Predicate(atom.predicate, tuple([Variable(f"?{name}") for name in atom.args])) for atom in atoms
    }
    domain = DomainModel("plain", predicates=predicates, actions=actions)
    initial = tuple(draw.sample(atoms, draw.randint(0, 4)))
    objects = tuple(Object(name) for name in "abc")
    return Problem(
        "plain", domain, objects=objects, initial=initial, goal=Goal(And(literals(3) or (draw.choice(atoms),)))
    )


def named(task):
    """Return the task with names in place of numbers; what is in no particular order as sets."""

    def names(facts):
        return frozenset([str(task.facts[fact]) for fact in facts])

    actions = {
        (action.step, names(action.precondition), names(action.adds), names(action.deletes), action.cost)
        for action in task.actions
    }
    return names(range(len(task.facts))), names(task.initial), names(task.goal), actions, task.unreachable_goal is None


def differently_ground(problem):
    """Return the task as plain actions are ground, and as all others are."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            importlib.import_module("planner.grounding.ground"), "ground_propositional", lambda _problem: None
        )
        expected = named(ground(problem, Limits()))
    return named(ground(problem, Limits())), expected


def test_plain_actions_are_ground_as_all_others_are():
    """The general way drops unreachable actions earlier, and so finds a constant more in one problem of 2,000."""
    pairs = [differently_ground(plain_problem(seed)) for seed in range(500)]
    assert sum(plain != expected for plain, expected in pairs) <= 1


@settings(max_examples=examples(200), suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])
@given(seed=st.integers(0, 10**9))
def test_plain_actions_lead_to_the_same_optimum(seed):
    problem = plain_problem(seed)
    assert ground_propositional(remove_irrelevant_actions(problem)) is not None
    result = solve(problem)
    assert result.cost == outcome(problem)


def test_an_effect_may_be_stated_twice():
    """Its action was taken for two that make the fact, and what needs the fact for one that nothing makes possible."""
    p, r = Atom("p"), Atom("r")
    actions = {"make": Action("make", (), And(()), (p, p)), "use": Action("use", (), p, (r,))}
    domain = DomainModel("twice", predicates={"p": Predicate("p"), "r": Predicate("r")}, actions=actions)
    result = solve(Problem("twice", domain, initial=(), goal=Goal(r)))
    assert [step.action for step in result.plan.steps] == ["make", "use"]
