"""Planning with placeholders finds what fresh objects give (`creation_twin`): optima, proofs, bounds, and plans."""

from __future__ import annotations

import random
from collections import Counter

import creation_twin
import pytest
from brute_force import TooManyStates
from constraint_twin import is_kept
from effort import share
from random_tasks import with_random_constraints

from htn.compilations.methods_from_actions import as_htn
from planner import Status, compile_object_creation, created_by, for_steps, partial_order, solve, validate
from planner.compilations.creation_relaxation import bound_costs, ground_merged
from planner.compilations.placeholder_pools import SOME, Pools, Split, birth_facts, slots_of
from planner.compilations.pool_selection import relax_creation
from planner.language.pddl.plan_files import read_plan, write_plan
from planner.lightweight import replace
from planner.limits import Limits
from planner.model import Goal, Metric
from planner.plan import Step
from planner.plan_json import read_json_data

pytestmark = pytest.mark.usefixtures("counted_clock")

SEEDS = share([range(25 * block, 25 * block + 25) for block in range(4)], 4)
STATES = 80


def most_created(problem, plan):
    """Return how many objects of one type `plan` creates at most."""
    found = Counter()
    for step in plan.steps if plan else ():
        creates = problem.domain.actions[step.action].creates
        found.update(creates[f"?{name}"] for name in created_by(problem, step))
    return max(found.values(), default=0)


def optimum(problem, most):
    """Return a one-tuple of the twin's optimum; none where it would take too long."""
    try:
        return (creation_twin.optimum(problem, most, STATES),)
    except TooManyStates:
        return ()


@pytest.mark.drawn
@pytest.mark.parametrize("seeds", SEEDS)
def test_so_many_placeholders_are_as_good_as_so_many_fresh_objects(seeds):
    compared = 0
    for seed in seeds:
        problem = creation_twin.random_creation(seed)
        for number in (1, 2):
            for expected in optimum(problem, number):
                result = solve(compile_object_creation(problem, number).problem, time_limit=None)
                assert result.cost == expected, (seed, number)
                compared += 1
                if result.plan is not None:
                    assert validate(problem, result.plan.steps).valid
    assert compared > len(seeds)


def random_pools(problem, rng):
    """Return a partition of the created objects by some of their birth facts, with some pools apart."""
    domain, pools = problem.domain, Pools()
    creating = [(action, name, slot) for action in domain.actions.values() for name, slot in slots_of(action).items()]
    for action, name, slot in creating:
        for fact in birth_facts(action, name):
            wider = Pools(pools.splits | {Split(slot.kind, fact.predicate, fact.args.index(name))})
            if rng.random() < 0.7 and wider.order_kinds(domain) is not None:
                pools = wider
    objects = [each.name for each in problem.all_objects]
    own = set()
    for action, name, slot in creating * 3:
        binding = {each.name: rng.choice(objects) for each in action.step_parameters} | {name: SOME}
        facts = [fact.substitute(binding) for fact in pools.naming_facts(action, name)]
        own.update([slot.pool(facts)] if facts else [])
    return Pools(pools.splits, frozenset(own))


@pytest.mark.drawn
@pytest.mark.parametrize("seeds", SEEDS)
def test_pools_lose_no_plans_and_the_relaxation_bounds_them_all(seeds):
    """Compare with the twin, which knows no placeholders, whatever pools there are."""
    apart = 0
    for seed in seeds:
        problem = creation_twin.random_creation(seed)
        pools = random_pools(problem, random.Random(seed))
        for best in optimum(problem, 2):
            apart += bool(pools.own)
            kinds = {kind for action in problem.domain.actions.values() for kind in action.creates.values()}
            result = solve(pools.compile(problem, dict.fromkeys(kinds, 2)).problem, time_limit=3.0)
            if result.plan is not None:
                assert validate(problem, result.plan.steps).valid, seed
            if best is not None and result.status in (Status.OPTIMAL, Status.UNSOLVABLE):
                assert result.cost is not None, seed
                assert result.cost <= best, seed
            for relaxation in (relax_creation(problem, Limits()), ground_merged(problem, pools, Limits())):
                if relaxation.is_unreachable:
                    assert best is None, seed
                elif best is not None:
                    assert bound_costs(relaxation, Limits()).total <= best, seed
    assert apart


def test_what_a_conditional_effect_adds_may_be_false_in_a_plan():
    """Guard against a bound that counts on an effect which objects that became one seemed to bring about."""
    problem = creation_twin.random_creation(1608)
    assert creation_twin.optimum(problem, 2, 300) == 0
    assert bound_costs(relax_creation(problem, Limits()), Limits()).total == 0


@pytest.mark.drawn
@pytest.mark.parametrize("seeds", SEEDS)
def test_what_is_proved_holds_however_many_objects_are_created(seeds):
    for seed in seeds:
        problem = creation_twin.random_creation(seed)
        result = solve(problem, time_limit=0.3)
        created = most_created(problem, result.plan)
        for best in optimum(problem, created or 2):
            match result.status:
                case Status.OPTIMAL:
                    assert best == result.cost, seed
                case Status.UNSOLVABLE:
                    assert best is None, seed
                case _:
                    bound = result.lower_bound or 0
                    assert best is None or bound <= best, seed


@pytest.mark.drawn
@pytest.mark.parametrize("seeds", SEEDS)
def test_plans_are_plans_of_the_source_in_every_form_and_order(seeds):
    creating = 0
    for seed in seeds:
        problem = creation_twin.random_creation(seed)
        plan = solve(compile_object_creation(problem, 2).problem, mode="first", time_limit=2.0).plan
        if plan is None or not most_created(problem, plan):
            continue
        creating += 1
        plan = replace(plan, problem=problem)
        assert read_plan(write_plan(plan), problem) == plan
        assert read_json_data(plan.to_dict(), problem, "plan") == (plan, plan.cost)
        rng = random.Random(seed)
        for _ in range(3):
            assert validate(problem, linearisation(problem, plan, rng)).valid, seed
        swapped = [replace(step, arguments=tuple(map(renamed, step.arguments))) for step in plan.steps]
        assert validate(problem, swapped).valid, seed
        assert len(for_steps(problem, swapped).objects) == len(for_steps(problem, plan.steps).objects)
    assert creating


def linearisation(problem, plan, rng):
    """Return the steps of `plan` in another order that their partial order allows."""
    graph = partial_order(problem, plan)
    left, found = set(graph), []
    while left:
        ready = sorted(number for number in left if not left.intersection(graph.predecessors(number)))
        number = rng.choice(ready)
        left.remove(number)
        found.append(plan.steps[number - 1])
    return found


def renamed(name):
    """Return another name for a placeholder, not in the order that search would take them in."""
    kind, _, number = name.rpartition("-")
    return f"other-{kind}-{9 - int(number)}" if name.startswith("new-") else name


ENDLESS = {5, 12, 13, 17, 20}
"""Seeds of problems whose task networks have ever longer decompositions, so that nothing is proved."""


@pytest.mark.parametrize("seed", range(21))
def test_tasks_come_to_what_search_finds(seed):
    problem = creation_twin.random_creation(seed)
    flat, found = solve(problem, time_limit=2), solve(as_htn(problem), time_limit=0.5 if seed in ENDLESS else None)
    assert found.plan is None or validate(problem, found.plan.steps).valid
    assert found.plan is None or flat.status is not Status.UNSOLVABLE
    assert found.status is not Status.UNSOLVABLE or flat.plan is None
    if found.status is Status.OPTIMAL and flat.plan is not None:
        assert found.cost <= flat.cost
    if flat.status is Status.OPTIMAL and found.plan is not None:
        assert flat.cost <= found.cost
    assert (found.status in (Status.OPTIMAL, Status.UNSOLVABLE)) != (seed in ENDLESS)


@pytest.mark.parametrize("block", range(4))
def test_constraints_speak_of_the_objects_that_there_are(block):
    """Of those that a walk creates, and of no others; patterns of steps say nothing of what a step creates."""
    verdicts = Counter()
    for seed in range(40 * block, 40 * block + 40):
        rng = random.Random(seed)
        problem = replace(creation_twin.random_creation(seed), goal=Goal())
        problem = with_random_constraints(problem, rng, creation_twin.SMALL)
        for _ in range(2):
            steps, states = creation_twin.walk(problem, rng)
            kept = all(is_kept(each, steps, states) for each in problem.constraints)
            assert validate(problem, [Step(each.action, each.arguments) for each in steps]).valid is kept, seed
            verdicts[kept, len(states[-1].world.objects) > len(problem.objects)] += 1
    assert min(verdicts.values()) > 3
    assert len(verdicts) == 4


@pytest.mark.parametrize("block", range(4))
def test_what_is_proved_of_problems_with_constraints_holds_for_walks(block):
    """No walk that keeps them and reaches the goal costs less than what is proved, and none is where there is none."""
    reached = 0
    for seed in range(15 * block, 15 * block + 15):
        rng = random.Random(seed)
        problem = with_random_constraints(creation_twin.random_creation(seed), rng, creation_twin.SMALL, most=1)
        result = solve(problem, time_limit=0.2)
        for _ in range(12):
            steps, states = creation_twin.walk(problem, rng, 3)
            if states[-1].holds(problem.goal.hard) and is_kept(problem.constraints[0], steps, states):
                reached += 1
                assert result.status is not Status.UNSOLVABLE, seed
                assert result.lower_bound is None or result.lower_bound <= cost_of(problem, steps), seed
    assert reached > 10


def cost_of(problem, steps):
    return (
        len(steps)
        if problem.metric is Metric.LENGTH
        else sum(sum(problem.domain.actions[each.action].cost) for each in steps)
    )
