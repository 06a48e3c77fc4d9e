"""The slow twins of hierarchical planning agree, and random problems are what they promise to be."""

import pytest
from effort import examples, share
from hypothesis import given, settings

from benchmarks.htn_brute import Progression, Sequences, TooManyNetworks, World, accepts, cheapest, cheapest_steps
from benchmarks.random_hierarchies import ORDERED, PARTIAL, WILD, HtnFeatures, htn_problems, random_htn
from htn.model import HtnProblem
from planner.model import TypeHierarchy
from planner.validation.validate import validate

KINDS = [ORDERED, PARTIAL, HtnFeatures(classical=WILD)]


@pytest.mark.parametrize("features", KINDS)
def test_both_ways_of_enumerating_agree_on_sequences(features):
    compared = 0
    for seed in share(range(60), 4):
        problem = random_htn(seed, features)
        if not problem.is_ordered:
            continue
        fixed = Sequences(World(problem), 20_000).cheapest()
        try:
            visited = Progression(World(problem), 1_000).cheapest()
        except TooManyNetworks:
            continue
        assert (fixed and fixed[0]) == (visited and visited[0]), seed
        compared += 1
    assert compared > 1


@pytest.mark.parametrize("features", KINDS)
def test_cheapest_plans_are_plans(features):
    solved = 0
    for seed in share(range(60), 4):
        problem = random_htn(seed, features)
        try:
            steps = cheapest_steps(problem, 2_000)
        except TooManyNetworks:
            continue
        if steps is not None:
            assert validate(problem.classical, steps).valid, seed
            assert accepts(problem, steps), seed
            assert sum(step.cost for step in steps) == cheapest(problem), seed
            solved += bool(steps)
    assert solved > 3


@pytest.mark.parametrize("features", KINDS)
def test_random_problems_are_well_typed(features):
    for seed in range(60):
        problem = random_htn(seed, features)
        known = {**problem.domain.tasks, **problem.domain.classical.actions}
        is_a = TypeHierarchy(problem.domain.classical.types).is_a
        objects = {each.name: each.types for each in problem.classical.all_objects}
        networks = [(problem.parameters, problem.network)]
        networks += [(each.parameters, each.network) for each in problem.domain.methods.values()]
        for parameters, network in networks:
            types = {**objects, **{each.name: each.types for each in parameters}}
            for each in network.subtasks:
                wanted = known[each.task.predicate].parameters
                pairs = zip(each.task.args, wanted, strict=True)
                assert all(is_a(types[arg], parameter.types) for arg, parameter in pairs), seed


@settings(max_examples=examples(30))
@given(htn_problems(ORDERED))
def test_hypothesis_draws_them_too(problem: HtnProblem):
    assert problem.is_ordered
    steps = cheapest_steps(problem)
    assert steps is None or accepts(problem, steps)


def test_the_same_seed_gives_the_same_problem():
    assert random_htn(7) == random_htn(7) != random_htn(8)
