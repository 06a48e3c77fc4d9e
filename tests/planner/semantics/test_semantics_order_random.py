"""Every linearisation of a plan's partial order is a valid plan, on random plans of random problems."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import combinations, product

from effort import examples, share
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from order_twin import ordered_pairs, reduced
from random_plans import random_plan
from random_tasks import with_random_constraints, with_random_wishes

from benchmarks.random_problems import ALL
from planner.model import Atom, Not
from planner.partial_order.causal_links import causal_links, find_links, find_orderings, find_purposes
from planner.partial_order.read_write_sets import Patterns, find_accesses, overlap
from planner.plan import Plan
from planner.scheduling.plan_order import partial_order
from planner.semantics.simulation import Simulation
from planner.validation.validate import validate


def linearisation(graph, rng):
    """Return the nodes in a random order that the graph allows."""
    waiting, order = dict(graph.in_degree()), []
    while waiting:
        ready = sorted(node for node, count in waiting.items() if not count)
        order.append(rng.choice(ready))
        del waiting[order[-1]]
        for after in graph.successors(order[-1]):
            waiting[after] -= 1
    return order


@settings(max_examples=examples(60))
@given(st.randoms(use_true_random=False))
def test_every_linearisation_is_valid(rng):
    plan = random_plan(rng)
    assume(len(plan) > 1)
    graph = partial_order(plan.problem, plan)
    for _ in range(4):
        order = linearisation(graph, rng)
        verdict = validate(plan.problem, [plan.steps[number - 1] for number in order])
        assert verdict.valid, (order, verdict.reason)
        assert verdict.cost == plan.cost


def promising(plan, rng):
    """Return `plan` for a problem with constraints that it keeps, and with wishes; None where it keeps none of ten."""
    bound = with_random_wishes(with_random_constraints(plan.problem, rng, ALL, most=10, soft=0.4), rng, ALL)
    alone = [(each, replace(bound, constraints=(each,))) for each in bound.constraints]
    kept = tuple([each for each, problem in alone if each.utility or validate(problem, plan.steps).valid])
    return Plan(plan.steps, replace(bound, constraints=kept)) if kept else None


def test_every_linearisation_keeps_constraints_and_wishes():
    tried = parallel = 0
    for seed in share(range(150), 4):
        rng = random.Random(seed)
        plan = promising(random_plan(rng), rng)
        if plan is None or len(plan) < 2:
            continue
        tried += 1
        graph, forgone = partial_order(plan.problem, plan), set(validate(plan.problem, plan).forgone)
        for _ in range(4):
            order = linearisation(graph, rng)
            parallel += order != sorted(order)
            verdict = validate(plan.problem, [plan.steps[number - 1] for number in order])
            assert verdict.valid, (seed, order, verdict.reason)
            assert set(verdict.forgone) <= forgone, (seed, order)
    assert tried > 8 < parallel


@settings(max_examples=examples(60))
@given(st.randoms(use_true_random=False))
def test_the_order_is_that_of_all_pairs(rng):
    plan = random_plan(rng, longest=14)
    graph = partial_order(plan.problem, plan)
    expected = reduced(ordered_pairs(plan.problem, plan), len(plan))
    assert {pair: graph.edges[pair]["reason"] for pair in graph.edges} == expected


@settings(max_examples=examples(80))
@given(st.randoms(use_true_random=False))
def test_few_pairs_say_the_whole_order(rng):
    import networkx as nx

    plan = random_plan(rng, longest=14)
    found = find_accesses(plan.problem, plan)
    few = find_orderings(found, find_links(found, plan.problem.ran))
    graph = nx.DiGraph([(each.earlier, each.later) for each in few if each.later <= len(plan)])
    every = nx.DiGraph(list(ordered_pairs(plan.problem, plan)))
    assert nx.transitive_closure(graph).edges == nx.transitive_closure(every).edges


PATTERNS = [Atom(name, args) for name in "pq" for args in product("ab_", repeat=2)]


@given(st.sets(st.sampled_from(PATTERNS)), st.sampled_from(PATTERNS))
def test_patterns_are_found_by_what_overlaps_them(patterns, other):
    assert set(Patterns(patterns).overlapping(other)) == {each for each in patterns if overlap(each, other)}


@settings(max_examples=examples(40))
@given(st.randoms(use_true_random=False))
def test_unordered_steps_do_not_touch_each_others_items(rng):
    import networkx as nx

    plan = random_plan(rng)
    found = find_accesses(plan.problem, plan)[:-1]
    graph = partial_order(plan.problem, plan)
    assert nx.is_directed_acyclic_graph(graph)
    closed = nx.transitive_closure(graph)
    assert nx.transitive_reduction(graph).edges == graph.edges
    for one, other in combinations(range(len(found)), 2):
        if not closed.has_edge(one + 1, other + 1):
            for writer, user in ((found[one], found[other]), (found[other], found[one])):
                touched = {*user.changes.modified, *user.changes.provided, *(fact for fact, _ in user.reads)}
                assert not any(overlap(item, each) for item in writer.changes.modified for each in touched)


@settings(max_examples=examples(40))
@given(st.randoms(use_true_random=False))
def test_links_are_true_and_lead_to_the_goal(rng):
    plan = random_plan(rng)
    states, current = [], Simulation(plan.problem)
    for step in plan.steps:
        states.append(current.copy())
        current.apply(step)
    states.append(current)
    for link in causal_links(plan.problem, plan):
        atom = link.condition.part if isinstance(link.condition, Not) else link.condition
        if not atom.predicate.startswith("ran-"):
            assert all(state.holds(link.condition) for state in states[link.provider : link.consumer])
            assert link.provider == 0 or not states[link.provider - 1].holds(link.condition)
    for number, chain in find_purposes(plan.problem, plan).items():
        ends = [number, *(link.consumer for link in chain)]
        assert [link.provider for link in chain] == ends[:-1]
        assert not chain or ends[-1] == len(plan) + 1
