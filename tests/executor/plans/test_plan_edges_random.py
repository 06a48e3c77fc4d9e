"""Whatever order the edges of a plan allow is a valid plan with the same data flow, on random plans."""

from __future__ import annotations

from dataclasses import replace as renewed

from effort import examples
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from random_plans import random_plan, spoiled

from benchmarks.random_problems import Features
from executor.plans.action_plan import ActionPlan
from executor.plans.partial_order import find_possible_accesses, order_of
from planner.lightweight import replace
from planner.model import DataParameter, From
from planner.model.actions import positive_atoms
from planner.partial_order.causal_links import find_item_orderings
from planner.semantics.simulation import Simulation
from planner.validation.validate import validate


def linearisation(before, rng):
    """Return the ids in a random order that `before` allows."""
    left, order = dict(before), []
    while left:
        ready = [id_ for id_, needed in left.items() if needed.isdisjoint(left)]
        order.append(rng.choice(ready))
        del left[order[-1]]
    return order


def end(problem, steps):
    """Return the facts that hold after `steps`, each of which is applied whether it can be or not."""
    state = Simulation(problem)
    for step in steps:
        state.apply(step)
    return state.facts


@settings(max_examples=examples(150))
@given(st.randoms(use_true_random=False))
def test_every_linearisation_is_a_valid_plan(rng):
    plan = random_plan(rng, longest=12)
    assume(len(plan) > 1)
    data = ActionPlan.of(plan)
    ground = {each.id: step for each, step in zip(data.steps, plan.steps, strict=True)}
    before = order_of(plan.problem, data.steps).before
    for _ in range(4):
        steps = [ground[id_] for id_ in linearisation(before, rng)]
        verdict = validate(plan.problem, steps)
        assert verdict.valid, verdict.reason


@settings(max_examples=examples(150))
@given(st.randoms(use_true_random=False))
def test_what_conflicts_stays_in_order_and_the_end_is_the_same(rng):
    """Plans that do not work keep the order of what conflicts: all orders end in the same state."""
    plan = spoiled(random_plan(rng, longest=12), rng)
    data = ActionPlan.of(plan)
    accesses = find_possible_accesses(plan.problem, plan.steps)
    before = {each.id: set() for each in data.steps}
    for each in find_item_orderings(accesses[:-1]):
        before[f"s{each.later}"].add(f"s{each.earlier}")
    ground = {each.id: step for each, step in zip(data.steps, plan.steps, strict=True)}
    for _ in range(4):
        steps = [ground[id_] for id_ in linearisation(before, rng)]
        assert end(plan.problem, steps) == end(plan.problem, plan.steps)
        assert validate(plan.problem, steps).valid is validate(plan.problem, plan.steps).valid


def taking(domain, rng):
    """Return `domain` with actions that take data with facts they name; which, is left to chance."""
    facts = [atom for action in domain.actions.values() for atom in positive_atoms(action.provides) if atom.is_ground]
    actions = {
        name: replace(action, data=tuple([DataParameter(f"v{i}", source=From(rng.choice(facts))) for i in range(2)]))
        for name, action in domain.actions.items()
        if facts
    }
    return replace(domain, actions=actions or domain.actions)


def sources(problem, data, order):
    """Return from whom each parameter is filled when the steps run in `order`: who provided the fact last."""
    state, last, found = Simulation(problem), {}, {}
    steps = {each.id: each for each in data.steps}
    for id_ in order:
        step = steps[id_].step(problem.domain)
        for parameter in problem.domain.actions[step.action].data:
            if parameter.source.fact in last:
                found[id_, parameter.name] = last[parameter.source.fact]
        last.update(dict.fromkeys(state.apply(step).provided, id_))
    return found


@settings(max_examples=examples(150))
@given(st.randoms(use_true_random=False))
def test_data_comes_from_the_same_steps_in_every_order(rng):
    plan = random_plan(rng, Features(objects=2), longest=12)
    problem = replace(plan.problem, domain=taking(plan.problem.domain, rng))
    data = ActionPlan.of(renewed(plan, problem=problem))
    order = order_of(problem, data.steps)
    assert order.sources == sources(problem, data, [each.id for each in data.steps])
    for _ in range(4):
        assert sources(problem, data, linearisation(order.before, rng)) == order.sources


@settings(max_examples=examples(100))
@given(st.randoms(use_true_random=False))
def test_what_steps_state_is_kept_in_every_order(rng):
    """Conditions that hold where steps begin, and facts that they are said to provide, count as those of actions."""
    plan = random_plan(rng, longest=8)
    assume(len(plan) > 2)
    data = ActionPlan.of(plan)
    state, steps = Simulation(plan.problem), []
    for each, step in zip(data.steps, plan.steps, strict=True):
        facts = sorted(map(str, state.facts))
        steps.append(each.model_copy(update={"requires": tuple(rng.sample(facts, min(len(facts), 2)))}))
        state.apply(step)
    order = order_of(plan.problem, steps)
    assert not any(edge.reason == "given" for edge in order.edges)
    stated = {each.id: each for each in steps}
    for _ in range(3):
        state = Simulation(plan.problem)
        for id_ in linearisation(order.before, rng):
            assert set(stated[id_].requires) <= set(map(str, state.facts))
            state.apply(stated[id_].step(plan.problem.domain))


@settings(max_examples=examples(100))
@given(st.randoms(use_true_random=False))
def test_plans_survive_json(rng):
    plan = random_plan(rng)
    data = ActionPlan.of(plan, model=rng.choice(["sequential", "dag"]))
    again = ActionPlan.model_validate_json(data.model_dump_json())
    assert again == data
    assert again.problem(plan.problem.domain) == plan.problem
    assert tuple([each.step(plan.problem.domain) for each in again.steps]) == plan.steps
