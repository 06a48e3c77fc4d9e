"""On random problems: the checker, the verifier of bare steps and the plan text agree with enumeration."""

from __future__ import annotations

import random

import pytest
from htn_brute import TooManyNetworks, accepts, cheapest_steps
from hypothesis import given, settings
from hypothesis import strategies as st

from htn.model import HtnProblem, Network
from htn.plan import Decomposition, Node
from htn.plan_files import plan_from_data
from htn.plans import read_plan, write_plan
from htn.testing import ORDERED, PARTIAL, HtnFeatures, random_htn
from htn.verify import completed, validate
from htn.verify.sequence import decomposition_of, judged
from planner.budget import Budget
from planner.plan import Plan, Step
from planner.records import replace

ANYWHERE = HtnFeatures(anywhere=True)
KINDS = pytest.mark.parametrize("features", [ORDERED, PARTIAL, ANYWHERE], ids=["ordered", "partial", "anywhere"])
SEEDS = st.integers(0, 10_000)
Steps = tuple[Step, ...]


def plan_of(problem: HtnProblem) -> Plan | None:
    """A cheapest plan with a decomposition."""
    try:
        steps = cheapest_steps(problem, 1_000)
    except TooManyNetworks:
        return None
    return None if steps is None else Plan(steps, problem, decomposition_of(problem, steps, Budget(20)))


def edited(steps: Steps, rng: random.Random) -> Steps:
    """The steps with two exchanged, one left out, one done once more, or all done twice."""
    found = list(steps)
    first, second = rng.randrange(len(found)), rng.randrange(len(found))
    match rng.randrange(4):
        case 0:
            found[first], found[second] = found[second], found[first]
        case 1:
            del found[first]
        case 2:
            found.insert(first, found[second])
        case _:
            found *= 2
    return tuple(found)


def enumerated(problem: HtnProblem, steps: Steps) -> bool | None:
    """Whether the steps are a plan; None where it takes too long to say."""
    try:
        return accepts(problem, steps, 1_000)
    except TooManyNetworks:
        return None


@KINDS
@given(seed=SEEDS)
@settings(max_examples=40)
def test_bare_steps_are_accepted_where_enumeration_finds_a_decomposition(features: HtnFeatures, seed: int):
    problem, rng = random_htn(seed, features), random.Random(seed)
    plan = plan_of(problem)
    if plan is None:
        return
    assert validate(problem, plan).valid
    for _ in range(3 if plan.steps else 0):
        steps = edited(plan.steps, rng)
        expected = enumerated(problem, steps)
        if expected is not None:
            assert judged(problem, Plan(steps, problem), Budget(20)).valid is expected


def mutated(tree: Decomposition, rng: random.Random) -> Decomposition:
    """The tree with one node changed: its method, its children, its binding or its step."""
    nodes = list(tree.nodes)
    if not nodes:
        return tree
    place, other = rng.randrange(len(nodes)), rng.choice(nodes)
    node = nodes[place]
    change = rng.choice(("method", "binding", "children", "step", "task", "exchange"))
    if change == "exchange":
        nodes[place], nodes[nodes.index(other)] = other, node
    elif change == "children":
        nodes[place] = replace(node, children=tuple(rng.sample(node.children, len(node.children))))
    else:
        nodes[place] = replace(node, **{change: getattr(other, change)})
    return replace(tree, nodes=tuple(nodes))


@KINDS
@given(seed=SEEDS)
@settings(max_examples=40)
def test_what_the_checker_accepts_has_a_decomposition(features: HtnFeatures, seed: int):
    """Trees and steps are changed at random: what is accepted after that must still be a plan."""
    problem, rng = random_htn(seed, features), random.Random(seed)
    plan = plan_of(problem)
    if plan is None or not plan.steps:
        return
    for _ in range(10):
        steps = plan.steps if rng.random() < 0.7 else edited(plan.steps, rng)
        changed = Plan(steps, problem, mutated(plan.tree, rng))
        if validate(problem, changed).valid:
            assert decomposition_of(problem, steps, Budget(20)) is not None
            assert validate(problem, completed(problem, changed)).valid


def shuffled(tree: Decomposition, rng: random.Random) -> Decomposition:
    """The same tree with its nodes in another order."""
    order = rng.sample(range(len(tree.nodes)), len(tree.nodes))
    places = {old: new for new, old in enumerate(order)}

    def moved(node: Node) -> Node:
        return replace(node, children=tuple([places[child] for child in node.children]))

    nodes = tuple([moved(tree.nodes[old]) for old in order])
    return Decomposition(nodes, tuple([places[root] for root in tree.roots]), tree.binding)


@KINDS
@given(seed=SEEDS)
@settings(max_examples=40)
def test_plans_in_text_and_in_json_are_the_same_plans(features: HtnFeatures, seed: int):
    problem, rng = random_htn(seed, features), random.Random(seed)
    plan = plan_of(problem)
    if plan is None:
        return
    plan = replace(plan, tree=shuffled(plan.tree, rng))
    assert validate(problem, plan).valid
    assert plan_from_data(plan.to_dict(), problem).tree == plan.tree
    read = read_plan(write_plan(plan), problem)
    assert read == plan
    assert validate(problem, read).valid
    assert write_plan(completed(problem, read)) == write_plan(read)


@given(seed=SEEDS)
@settings(max_examples=80)
def test_unordered_subtasks_may_be_written_in_any_order(seed: int):
    problem, rng = random_htn(seed, PARTIAL), random.Random(seed)
    plan = plan_of(problem)
    if plan is None:
        return

    def mixed(children: tuple[int, ...], network: Network) -> tuple[int, ...]:
        return children if network.is_sequence else tuple(rng.sample(children, len(children)))

    nodes = [
        node
        if node.step is not None
        else replace(node, children=mixed(node.children, problem.domain.methods[node.method].network))
        for node in plan.tree.nodes
    ]
    roots = mixed(plan.tree.roots, problem.network)
    text = write_plan(replace(plan, tree=Decomposition(tuple(nodes), roots)))
    assert validate(problem, read_plan(text, problem)).valid
