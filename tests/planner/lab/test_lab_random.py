"""Ground problems of the lab against simulation, and what they claim against all reachable states of small tasks."""

from __future__ import annotations

import math
import random
from itertools import chain, combinations

import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from search_twins import closed, is_goal, perfect, random_task, reachable

from benchmarks.random_problems import key_of, random_problem, successors
from planner.heuristics import REGISTRY
from planner.lab import Abstraction, GroundProblem, GroundState, Order, ground
from planner.model import Atom, DomainModel, Problem
from planner.semantics.simulation import Simulation
from planner.task.ground_task import INFINITY, bits

SEEDS = range(40)
seeds = st.integers(0, 10**9)
MANY = 60
"""States that are looked at in a declared problem."""


def made_of(seed: int, **options) -> GroundProblem:
    """Return a random ground task with axioms and conditional effects, whose atoms are f0, f1, …"""
    return GroundProblem(Problem("made", DomainModel("made")), random_task(seed, **options))


def state_of(space: GroundProblem, facts) -> GroundState:
    return GroundState(bits(facts), space)


def some_states(task: GroundProblem) -> list[GroundState]:
    """Return the states near the initial one, which may be all."""
    states = {task.initial: None}
    queue = [task.initial]
    for state in queue:
        if len(states) >= 4 * MANY:
            break
        for each in task.successors(state):
            if each.state not in states:
                states[each.state] = None
                queue.append(each.state)
    return list(states)


def exact(value) -> float:
    return math.inf if value >= INFINITY else value


def all_states(space: GroundProblem) -> dict[frozenset[int], float]:
    return {state: exact(value) for state, value in perfect(space.task).items()}


@settings(max_examples=examples(150))
@given(seeds, st.booleans())
def test_states_and_successors_are_those_of_simulation(seed, whole):
    """An action that the ground problem does not have changes nothing that it does have, if it is whole."""
    problem = random_problem(seed)
    task = ground(problem, whole=whole)
    known = {fact for fact in task.facts if isinstance(fact, Atom) and fact.predicate in problem.domain.predicates}
    queue, seen = [(Simulation(problem), task.initial)], set()
    for simulation, state in queue:
        if key_of(simulation) in seen or len(seen) > MANY:
            continue
        seen.add(key_of(simulation))
        assert all(state.holds(fact) == simulation.holds(fact) for fact in known)
        assert {*state.atoms, *state.derived} & known == {fact for fact in known if simulation.holds(fact)}
        if task.unreachable_goal is None:
            assert task.is_goal(state) == simulation.holds(problem.goal.hard)
        else:
            assert not task.is_goal(state)
            assert not simulation.holds(problem.goal.hard)
        by_step = {each.action.step: each.state for each in task.successors(state)}
        expected = dict(successors(simulation))
        assert by_step.keys() <= expected.keys()
        for step, after in expected.items():
            if step in by_step:
                assert task.apply(step, state) == by_step[step]
                queue.append((after, by_step[step]))
            elif whole:
                assert all(after.holds(fact) == simulation.holds(fact) for fact in known)


@pytest.mark.parametrize("seed", SEEDS)
def test_no_reachable_state_has_two_facts_of_a_group(seed):
    task = ground(random_problem(seed), whole=True)
    for state in some_states(task):
        for group in task.mutex_groups():
            assert sum(fact in state for fact in group) <= 1
        for variable in task.variables:
            held = sum(fact in state for fact in variable.values)
            assert held == 1 or (held == 0 and variable.optional)
    assert {fact for variable in task.variables for fact in variable.values} | {*task.derived_facts} == {*task.facts}


@pytest.mark.parametrize("seed", SEEDS)
def test_h2_excludes_only_what_no_state_has(seed):
    space = made_of(seed)
    found, values = space.h2(), all_states(space)
    pairs = [*found.mutex_pairs, *((fact, fact) for fact in found.unreachable_facts)]
    for facts, value in values.items():
        held = set(space.name_facts(facts))
        assert not any(one in held and other in held for one, other in pairs)
        if value < math.inf:
            assert not any(one in held and other in held for one, other in found.dead_end_pairs)
            assert found.solvable
    assert all(found.are_mutex(*pair) and found.are_mutex(*reversed(pair)) for pair in pairs)
    used = {action for below in reachable(space.task).values() for action, child in below if values[child] < math.inf}
    assert used.isdisjoint([action.number for action in found.useless_actions])


def test_h2_finds_something():
    found = [made_of(seed).h2() for seed in SEEDS]
    assert any(each.mutex_pairs for each in found)
    assert any(each.dead_end_pairs for each in found)
    assert any(each.unreachable_facts for each in found)
    assert any(each.useless_actions and each.solvable for each in found)
    assert not all(each.solvable for each in found)


@pytest.mark.parametrize("seed", SEEDS)
def test_each_plan_meets_the_landmarks_in_their_order(seed):
    space = made_of(seed)
    task, graph = space.task, space.landmarks()
    number = {fact: place for place, fact in enumerate(task.facts)}
    edges = reachable(task)
    for landmark in graph.landmarks:
        without = states_before(task, edges, {number[fact] for fact in landmark.facts})
        assert not any(is_goal(task, state) for state in without)
        assert landmark.is_initial == (not without)
        wanted = {number[fact] for fact in landmark.facts}
        if wanted.isdisjoint(task.derived):
            first = {a for state in without for a, child in edges[state] if not wanted.isdisjoint(child)}
            assert first <= {action.number for action in landmark.achievers}
    for each in graph.orderings:
        before, after = ({number[fact] for fact in side.facts} for side in (each.before, each.after))
        if each.order is Order.REASONABLE:
            continue
        assert all(closed(task, state).isdisjoint(after) for state in states_before(task, edges, before))
        if each.order is Order.GREEDY_NECESSARY:
            for state in states_before(task, edges, after):
                for _, child in edges[state]:
                    if not closed(task, child).isdisjoint(after):
                        right_before = child if after & task.derived else state
                        assert not closed(task, right_before).isdisjoint(before)


def states_before(task, edges, facts: set[int]) -> set[frozenset[int]]:
    """Return the states that can be reached without ever making any of `facts` true."""
    seen = {state for state in [frozenset(task.initial)] if closed(task, state).isdisjoint(facts)}
    waiting = list(seen)
    while waiting:
        for _, child in edges[waiting.pop()]:
            if child not in seen and closed(task, child).isdisjoint(facts):
                seen.add(child)
                waiting.append(child)
    return seen


def test_landmarks_are_of_every_kind():
    graphs = [ground(random_problem(seed)).landmarks() for seed in range(150)]
    assert {order for graph in graphs for each in graph.orderings for order in [each.order]} == {*Order}
    assert any(each.is_disjunctive for graph in graphs for each in graph.landmarks)


@pytest.mark.parametrize("seed", SEEDS)
def test_estimates_are_what_they_claim_to_be(seed):
    space = made_of(seed)
    values = all_states(space)
    for name in REGISTRY:
        estimate = space.heuristic(name)
        for facts, value in values.items():
            found = estimate(state_of(space, facts))
            assert not estimate.admissible or found <= value
            assert found < math.inf or value == math.inf
            assert value > 0 or not estimate.admissible or found == 0
    assert space.heuristic("lmcut").admissible
    assert not space.heuristic("hff").admissible


@pytest.mark.parametrize("seed", SEEDS)
def test_cuts_add_up_to_lmcut_and_no_plan_avoids_one(seed):
    space = made_of(seed)
    estimate, edges = space.heuristic("lmcut"), reachable(space.task)
    for facts in list(edges)[:20]:
        state = state_of(space, facts)
        found = space.lmcut(state)
        assert found.estimate == estimate(state)
        assert found.estimate == math.inf or found.estimate == sum(each.cost for each in found.landmarks)
        for landmark in found.landmarks:
            avoided = {action.number for action in landmark.actions}
            seen, waiting = {facts}, [facts]
            for here in waiting:
                assert not is_goal(space.task, here)
                more = {child for number, child in edges[here] if number not in avoided} - seen
                seen |= more
                waiting += more


def relaxed_facts(task, start, actions) -> set[int]:
    """Return what holds in the delete relaxation after `actions`, each of which must be applicable in its turn."""
    held, done = {*start, *(negated for layer in task.axioms for negated, _ in layer.negated)}, []
    for number in [None, *actions]:
        if number is not None:
            assert held.issuperset(task.actions[number].precondition)
            done.append(task.actions[number])
            held.update(task.actions[number].adds)
        before = -1
        while before != len(held):
            before = len(held)
            for effect in chain.from_iterable(action.conditional for action in done):
                if held.issuperset(effect.condition):
                    held.update(effect.adds)
            for rule in chain.from_iterable(layer.rules for layer in task.axioms):
                if held.issuperset(rule.body):
                    held.add(rule.head)
    return held


def is_relaxed_plan(task, start, actions) -> bool:
    """Return whether some order of `actions` is a plan of the relaxation."""
    left, order = set(actions), []
    while True:
        held = relaxed_facts(task, start, order)
        now = [number for number in left if held.issuperset(task.actions[number].precondition)]
        if not now:
            return held.issuperset(task.goal)
        left.difference_update(now)
        order += now


@pytest.mark.parametrize("seed", SEEDS)
def test_relaxed_plans_work_in_the_relaxation_and_none_is_cheaper_than_the_cheapest(seed):
    space = made_of(seed)
    task = space.task
    for facts in list(reachable(task))[:5]:
        state = state_of(space, facts)
        found, best = space.relaxed_plan(state), space.relaxed_plan(state, optimal=True)
        numbers = range(len(task.actions))
        sets = chain.from_iterable(combinations(numbers, size) for size in range(len(numbers) + 1))
        costs = [
            sum(task.actions[number].cost for number in each) for each in sets if is_relaxed_plan(task, facts, each)
        ]
        assert (found is None) == (best is None) == (not costs)
        if found is None or best is None:
            continue
        for plan in (found, best):
            assert relaxed_facts(task, facts, [action.number for action in plan.actions]).issuperset(task.goal)
            assert plan.cost == sum(action.cost for action in plan.actions)
            assert plan.lower_bound <= plan.cost
        assert best.is_optimal
        assert best.cost == min(costs)
        assert found.cost == space.heuristic("hff")(state)


def check_abstraction(space: GroundProblem, made: Abstraction) -> None:
    """Each way of the task is one of the abstraction, and no estimate is above what the cheapest plan costs."""
    values = all_states(space)
    links = {
        (each.source.number, action.number, each.target.number) for each in made.transitions for action in each.actions
    }
    for facts, below in reachable(space.task).items():
        state = state_of(space, facts)
        here = made.find_state(state)
        assert made(state) <= values[facts]
        if here is None:
            continue
        assert here.is_goal or not is_goal(space.task, facts)
        assert all(any(fact is None or fact in state for fact in each) for each in here.values)
        for number, child in below:
            there = made.find_state(state_of(space, child))
            if there is not None and there != here:
                assert (here.number, number, there.number) in links
    for each in made.transitions:
        cheapest = min(action.cost for action in each.actions)
        assert each.source.distance <= each.target.distance + cheapest


@pytest.mark.parametrize("seed", SEEDS)
def test_projections_are_admissible(seed):
    space = made_of(seed)
    for pattern in [*combinations(range(len(space.variables)), 1), *combinations(range(len(space.variables)), 2)]:
        check_abstraction(space, space.projection(pattern))


@pytest.mark.parametrize("seed", SEEDS)
def test_a_projection_to_all_variables_knows_the_cost_of_each_plan(seed):
    space = made_of(seed, conditional=False, axioms=False)
    if any(len({*facts} & {*space.task.goal}) > 1 for facts in space.task.variables):
        return  # no state has two values of a variable, and abstractions look at one of them
    made = space.projection(space.variables)
    assert all(made(state_of(space, facts)) == value for facts, value in all_states(space).items())


@pytest.mark.parametrize("seed", SEEDS)
def test_cartesian_abstractions_are_admissible(seed):
    space = made_of(seed)
    for states in (1, 4, 30):
        made = space.cartesian(states)
        check_abstraction(space, made)
        assert len(made.states) <= max(states, 1 + len(space.task.goal))


@pytest.mark.parametrize("seed", SEEDS)
def test_states_are_made_of_their_atoms(seed):
    task = ground(random_problem(seed), whole=True)
    for state in some_states(task):
        again = task.state(random.Random(seed).sample(state.atoms, len(state.atoms)))
        assert again == state
        assert hash(again) == hash(state)
