"""On random problems: the checker, the verifier of bare steps and the plan text agree with enumeration."""

from __future__ import annotations

import random
from itertools import count, permutations, product

import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.htn_brute import TooManyNetworks, accepts, cheapest_steps
from benchmarks.random_hierarchies import ORDERED, PARTIAL, WILD, HtnFeatures, random_htn
from htn.language.plan_text import plan_from_data, read_plan, write_plan
from htn.model import Decomposition, HtnProblem, Network, Node
from htn.verification.chart_parsing import find_decomposition, verify
from htn.verification.plan_verification import check_thoroughly, complete_bindings, validate
from htn.verification.total_order import SinglePass
from planner.lightweight import replace
from planner.limits import Limits
from planner.model.formulas import substitute
from planner.plan import Plan, Step
from planner.semantics.simulation import Simulation
from planner.validation.validate import validate as validate_steps

ANYWHERE = HtnFeatures(anywhere=True)
KINDS = pytest.mark.parametrize("features", [ORDERED, PARTIAL, ANYWHERE], ids=["ordered", "partial", "anywhere"])
WILDER = HtnFeatures(WILD, partial=False, anywhere=True)
SEEDS = st.integers(0, 10_000)
Steps = tuple[Step, ...]


def plan_of(problem: HtnProblem) -> Plan | None:
    """A cheapest plan with a decomposition."""
    try:
        steps = cheapest_steps(problem, 1_000)
    except TooManyNetworks:
        return None
    return None if steps is None else Plan(steps, problem, find_decomposition(problem, steps, Limits(20)))


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
@settings(max_examples=examples(40))
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
            assert verify(problem, Plan(steps, problem), Limits(20)).valid is expected


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
@settings(max_examples=examples(40))
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
            assert find_decomposition(problem, steps, Limits(20)) is not None
            assert validate(problem, complete_bindings(problem, changed)).valid


def opened(tree: Decomposition, rng: random.Random) -> Decomposition:
    """The tree without some of its bindings, as the competition's format has none."""
    nodes = [replace(node, binding=()) if rng.random() < 0.7 else node for node in tree.nodes]
    return replace(tree, nodes=tuple(nodes), binding=tree.binding if rng.random() < 0.5 else ())


@pytest.mark.parametrize("features", [ORDERED, WILDER], ids=["ordered", "anything in actions"])
@given(seed=SEEDS)
@settings(max_examples=examples(100))
def test_the_pass_over_total_orders_accepts_what_the_checker_for_all_plans_does(features: HtnFeatures, seed: int):
    problem, rng = random_htn(seed, features), random.Random(seed)
    plan = plan_of(problem)
    if plan is None:
        return
    for number in range(12):
        steps = plan.steps if not plan.steps or rng.random() < 0.8 else edited(plan.steps, rng)
        tree = opened(mutated(plan.tree, rng) if number else plan.tree, rng)
        changed = Plan(steps, problem, tree)
        quick, (expected, found) = SinglePass(problem, changed), check_thoroughly(problem, changed)
        verdict = quick.verdict()
        assert (verdict is not None) is expected.valid
        if verdict is not None:
            assert verdict == expected
            assert quick.found.keys() == found.keys()
            nodes = [replace(node, binding=quick.found.get(place, ())) for place, node in enumerate(tree.nodes)]
            bound = Decomposition(tuple(nodes), tree.roots, quick.found[len(nodes)])
            assert check_thoroughly(problem, Plan(steps, problem, bound))[0] == expected


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
@settings(max_examples=examples(40))
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
    assert write_plan(complete_bindings(problem, read)) == write_plan(read)


def with_children(tree: Decomposition, place: int, children: tuple[int, ...]) -> Decomposition:
    """The tree without bindings, with other children of one node, or other roots where the place is -1."""
    nodes = [
        replace(node, binding=(), children=children if each == place else node.children)
        for each, node in enumerate(tree.nodes)
    ]
    return Decomposition(tuple(nodes), children if place < 0 else tree.roots)


def listing(network: Network, children: tuple[int, ...]) -> tuple[int, ...]:
    """The children as `write_plan` lists them."""
    return tuple([children[place] for place in network.linearisation])


@given(seed=SEEDS)
@settings(max_examples=examples(80))
def test_subtasks_may_be_listed_in_any_linearisation_and_no_other_order(seed: int):
    """Twin: whether any placing of the listed children keeps the ordering, and makes a valid plan."""
    problem, rng = random_htn(seed, PARTIAL), random.Random(seed)
    plan = plan_of(problem)
    if plan is None:
        return
    networks = {-1: (problem.network, plan.tree.roots)}
    networks |= {
        place: (problem.domain.methods[node.method].network, node.children)
        for place, node in enumerate(plan.tree.nodes)
        if node.step is None
    }
    place, (network, children) = rng.choice([each for each in networks.items() if len(each[1][1]) < 5])
    listed = tuple(rng.sample(children, len(children)))
    expected = False
    for placed in permutations(listed):
        is_linear = all(listed.index(placed[one]) < listed.index(placed[other]) for one, other in network.ordering)
        expected |= is_linear and validate(problem, replace(plan, tree=with_children(plan.tree, place, placed))).valid
    lines = write_plan(plan).splitlines()
    number, places = dict(enumerate(numbers_of(plan))), listing(network, children)
    old, new = (" ".join(str(number[each]) for each in each_list) for each_list in (places, listed))
    start = "root" if place < 0 else f"{number[place]} "
    text = [f"{line.removesuffix(old)}{new}" if line.startswith(start) and old else line for line in lines]
    assert validate(problem, read_plan("\n".join(text), problem)).valid is expected


def numbers_of(plan: Plan) -> list[int]:
    """The number of each node in the text: a step's place, and numbers after all steps for compound tasks."""
    free = count(len(plan.steps))
    return [next(free) if node.step is None else node.step for node in plan.tree.nodes]


def below(tree: Decomposition, place: int) -> list[int]:
    """The nodes below a node, itself included."""
    found = [place]
    for each in found:
        found.extend(tree.nodes[each].children)
    return found


def orders(problem: HtnProblem, tree: Decomposition) -> list[tuple[int, int]]:
    """All pairs of nodes of which the first is, or has its method chosen, before the second."""
    pairs = [(place, other) for place in range(len(tree.nodes)) for other in below(tree, place)[1:]]
    networks = [(problem.network, tree.roots)]
    networks += [(problem.domain.methods[node.method].network, node.children) for node in tree.nodes if node.method]
    for network, children in networks:
        for first, second in network.ordering:
            pairs += product(below(tree, children[first]), below(tree, children[second]))
    return pairs


def justified(problem: HtnProblem, plan: Plan) -> bool:
    """Whether some slots for the preconditions make the tree a justification of the steps, by trying all slots."""
    if not validate_steps(problem.classical, plan).valid:
        return False
    simulation = Simulation(problem.classical)
    states = [simulation.copy()]
    for step in plan.steps:
        simulation.apply(step)
        states.append(simulation.copy())
    nodes = plan.tree.nodes
    methods = [place for place, node in enumerate(nodes) if node.method]
    possible = []
    for place in methods:
        method = problem.domain.methods[nodes[place].method]
        names = [parameter.name for parameter in method.parameters]
        condition = substitute(method.precondition, dict(zip(names, nodes[place].binding, strict=True)))
        possible.append([slot for slot, state in enumerate(states) if state.holds(condition)])
    pairs = orders(problem, plan.tree)
    # Slot s lies between the steps s - 1 and s, so that step s stands at s + 1/2.
    steps = {place: node.step + 0.5 for place, node in enumerate(nodes) if node.step is not None}
    return any(
        all(times[first] <= times[second] for first, second in pairs)
        for slots in product(*possible)
        for times in [{**steps, **dict(zip(methods, slots, strict=True))}]
    )


@KINDS
@given(seed=SEEDS)
@settings(max_examples=examples(60))
def test_the_first_slots_that_fit_are_as_good_as_any(features: HtnFeatures, seed: int):
    """The checker takes each precondition as early as it can; the twin tries all slots, for steps in any order."""
    problem, rng = random_htn(seed, features), random.Random(seed)
    plan = plan_of(problem)
    if plan is None or (len(plan.steps) + 1) ** sum(bool(node.method) for node in plan.tree.nodes) > 2_000:
        return
    assert justified(problem, plan)
    for _ in range(4):
        order = rng.sample(range(len(plan.steps)), len(plan.steps))
        nodes = [node if node.step is None else replace(node, step=order.index(node.step)) for node in plan.tree.nodes]
        tree = replace(plan.tree, nodes=tuple(nodes))
        moved = Plan(tuple([plan.steps[number] for number in order]), problem, tree)
        assert validate(problem, moved).valid is justified(problem, moved)
