"""Answers about random problems, against the plain search that visits every state."""

from __future__ import annotations

from itertools import combinations, product

import pytest
from engines_random import Draw

from planner import questions
from planner.model.problem import seal
from planner.plan import Status, Step
from planner.questions import Basis
from planner.semantics.simulation import Simulation
from planner.validation.validate import check_steps

MOST = 200


def visit(problem, *, allowed=lambda _simulation, _step: True, keep=lambda _facts: True):
    """Return a simulation in each reachable state, by its facts; None if there are too many."""
    first = Simulation(problem)
    found = {first.facts: first} if keep(first.facts) else {}
    waiting = list(found.values())
    while waiting:
        simulation = waiting.pop()
        for step in list(simulation.applicable()):
            if not allowed(simulation, step):
                continue
            child = simulation.copy()
            child.apply(step)
            if child.facts not in found and keep(child.facts):
                if len(found) >= MOST:
                    return None
                found[child.facts] = child
                waiting.append(child)
    return found


def distances(problem, states):
    """Return the least number of steps from each state to the goal, for the states from which there is a plan."""
    before = {}
    for facts, simulation in states.items():
        for step in simulation.applicable():
            child = simulation.copy()
            child.apply(step)
            before.setdefault(child.facts, set()).add(facts)
    layer = {facts for facts, simulation in states.items() if simulation.holds(problem.goal.hard)}
    found = dict.fromkeys(layer, 0)
    depth = 0
    while layer:
        depth += 1
        layer = {other for facts in layer for other in before.get(facts, ())} - found.keys()
        found |= dict.fromkeys(layer, depth)
    return found


def drawn(seed, **options):
    problem = seal(Draw(seed, **options).problem())  # its names have spaces
    states = visit(problem)
    if states is None:
        pytest.skip("too many states for the plain search")
    return problem, states


@pytest.mark.parametrize("seed", range(30))
def test_applicable_steps_and_their_changes_are_those_of_the_simulation(seed):
    problem, _ = drawn(seed)
    simulation = Simulation(problem)
    found = questions.applicable(problem)
    names = [item.name for item in problem.all_objects]
    every = [
        Step(name, row)
        for name, action in problem.domain.actions.items()
        for row in product(names, repeat=len(action.parameters))
    ]
    assert {(step.action, step.arguments) for step in found} == {
        (step.action, step.arguments) for step in every if simulation.find_objection(step) is None
    }
    for step in found:
        child = simulation.copy()
        child.apply(step)
        changed = questions.progress(problem, step)
        assert set(changed.positive) == child.facts - simulation.facts
        assert set(changed.negative) == simulation.facts - child.facts
        assert changed.state == child.facts


@pytest.mark.parametrize("axioms", [False, True])
@pytest.mark.parametrize("seed", range(30))
def test_reachable_facts_are_those_of_the_visited_states(seed, axioms):
    problem, states = drawn(seed, axioms=axioms)
    found = questions.reachable_facts(problem, static=True, time_limit=None)
    assert found.answers
    assert not found.unknown
    for each in found.answers:
        assert each.basis is not None
        assert each.reachable is any(simulation.holds(each.item) for simulation in states.values())
        assert each.reachable is (each.basis in (Basis.INITIAL, Basis.VISITED))


@pytest.mark.parametrize("axioms", [False, True])
@pytest.mark.parametrize("seed", range(30))
def test_reachable_steps_are_those_of_the_visited_states(seed, axioms):
    problem, states = drawn(seed, axioms=axioms)
    found = questions.reachable_steps(problem, time_limit=None)
    assert not found.unknown
    for each in found.answers:
        seen = any(simulation.find_objection(each.item) is None for simulation in states.values())
        assert each.reachable is seen, str(each)


@pytest.mark.parametrize("seed", range(45))
def test_landmarks_are_the_facts_without_which_no_plan_is_left(seed):
    problem, states = drawn(seed)
    found = questions.fact_landmarks(problem, time_limit=None)
    solvable = Simulation(problem).facts in distances(problem, states)
    assert found.status is (Status.SOLVED if solvable else Status.UNSOLVABLE)
    if not solvable:
        return
    assert not found.unknown
    assert check_steps(problem, found.plan.steps).valid
    changing = {fact for facts in states for fact in facts} - frozenset.intersection(*states)
    for fact in changing:
        left = visit(problem, keep=lambda facts, fact=fact: fact not in facts)
        is_landmark = not any(simulation.holds(problem.goal.hard) for simulation in left.values())
        assert found.judge(fact) is is_landmark, str(fact)


@pytest.mark.parametrize("seed", range(30))
def test_first_steps_are_all_that_bring_the_goal_nearer(seed):
    problem, states = drawn(seed)
    far = distances(problem, states)
    start = Simulation(problem)
    found = questions.optimal_first_steps(problem, time_limit=None)
    if start.facts not in far:
        assert found.status is Status.UNSOLVABLE
        return
    assert found.status is Status.OPTIMAL
    assert found.cost == far[start.facts]
    nearer = set()
    for step in start.applicable():
        child = start.copy()
        child.apply(step)
        if far.get(child.facts) == found.cost - 1:
            nearer.add((step.action, step.arguments))
    assert {(step.action, step.arguments) for step in found.steps} == nearer


@pytest.mark.parametrize("seed", range(30))
def test_simplifications_are_the_cheapest_of_all_subsequences(seed):
    problem, states = drawn(seed)
    plan = wander(problem, states, seed)
    if plan is None:
        pytest.skip("there is no plan")
    found = questions.simplify(problem, plan)
    places = range(len(plan))
    valid = [
        kept
        for number in range(len(plan) + 1)
        for kept in combinations(places, number)
        if check_steps(problem, [plan[place] for place in kept]).valid
    ]
    assert found.is_least
    assert found.kept in valid
    assert len(found.kept) == min(map(len, valid))
    alone = {(place,) for place in places} | {(place, place + 1) for place in places[:-1]}
    assert set(found.removals) == {each for each in alone if tuple([p for p in places if p not in each]) in valid}


def wander(problem, states, seed):
    """Return a plan of at most eight steps that begins with steps at random."""
    from random import Random

    rng, far, simulation, plan = Random(seed), distances(problem, states), Simulation(problem), []
    while simulation.facts in far and far[simulation.facts] + len(plan) < 7:
        steps = [step for step in simulation.applicable() if _after(simulation, step) in far]
        if not steps:
            break
        plan.append(rng.choice(steps))
        simulation.apply(plan[-1])
    while far.get(simulation.facts):
        step = next(s for s in simulation.applicable() if far.get(_after(simulation, s)) == far[simulation.facts] - 1)
        plan.append(step)
        simulation.apply(step)
    return plan if simulation.facts in far and len(plan) <= 9 else None


def _after(simulation, step):
    child = simulation.copy()
    child.apply(step)
    return child.facts
