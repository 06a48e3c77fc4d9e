"""A* for numeric tasks: proofs against the enumeration of all states, bounds against true costs, and how it ends."""

from __future__ import annotations

from array import array
from collections.abc import Callable
from fractions import Fraction

import pytest
from effort import share
from numeric_astar import search_numbers

from benchmarks.numeric_brute import Best, TooManyStates, Unbounded, find_best
from benchmarks.numeric_semantics import NumericSemantics
from benchmarks.random_numeric import ALL, SIMPLE, NumericFeatures, random_numeric_task
from planner.errors import InputError, UnsupportedError
from planner.grounding.ground_numeric import ground_numeric
from planner.heuristics.numeric_lmcut_compiled import bound_numeric
from planner.heuristics.numeric_lmcut_kernel import numeric_h_max, numeric_lm_cut
from planner.heuristics.numeric_state_equation_compiled import write_state_equation
from planner.heuristics.numeric_state_equation_kernel import bound_by_equation
from planner.jit.common_kernel import INFINITE
from planner.language.pddl import parse_domain, parse_problem
from planner.model import Problem
from planner.model.arithmetic import exact_value
from planner.options import SolveOptions
from planner.plan import Plan
from planner.pruning.numeric_dominance import find_signs
from planner.search.numeric_astar_estimates_compiled import KINDS
from planner.search.search_run import Ending, Run
from planner.semantics.simulation import price_steps
from planner.task.numeric_pricing import price_by_state
from planner.task.numeric_task import NumericTask
from planner.task.numeric_task_compiled import NumericSpace, pack_numeric_task
from planner.task.packed_facts_kernel import holds
from planner.task.packed_numbers_kernel import APPLIED
from planner.task.packed_states_kernel import apply
from planner.validation.validate import check_steps

MOST_STATES = 250
CONFIGURATIONS = [*[(heuristic, 1) for heuristic in KINDS], ("lmcut", 3)]


def ground(problem: Problem) -> NumericTask:
    return ground_numeric(problem, SolveOptions(time_limit=None).limits())


def pack(task: NumericTask) -> NumericSpace:
    space = pack_numeric_task(task)
    assert space is not None
    return space


def random_case(seed: int, features: NumericFeatures) -> tuple[Problem, NumericTask, Fraction | None] | None:
    """Return a random task and what a best plan adds to its metric; None where there is nothing to compare."""
    source = random_numeric_task(seed, features)
    semantics = NumericSemantics(source.domain, source.problem)
    problem = parse_problem(source.problem, parse_domain(source.domain))
    try:
        best: Best | None = find_best(source, MOST_STATES)
        task = ground(problem)
    except (TooManyStates, Unbounded, UnsupportedError, InputError):
        return None
    value = None if best is None else best.value - semantics.measure(semantics.find_initial(), 0)
    return problem, task, value


@pytest.mark.parametrize(("features", "many"), [(SIMPLE, 4), (ALL, 0)], ids=["simple", "all"])
def test_the_search_proves_what_enumeration_finds(features: NumericFeatures, many: int) -> None:
    compared = 0
    for seed in share(range(60), 4):
        case = random_case(seed, features)
        if case is None or not case[1].is_priced:
            continue
        problem, task, value = case
        if task.task.unreachable_goal is not None:
            assert value is None
            continue
        compared += 1
        space = pack(task)
        for heuristic, weight in CONFIGURATIONS:
            ending, run = search_numbers(space, heuristic, weight)
            assert ending is Ending.EXHAUSTED, (seed, heuristic)
            if run.plan is None:
                assert value is None, (seed, heuristic)
                continue
            assert Fraction(run.limit, task.task.resolution) == value, (seed, heuristic, weight)
            assert run.lower_bound == run.limit
            steps = tuple(task.task.actions[action].step for action in run.plan)
            assert check_steps(problem, Plan(steps, problem)).valid
    assert compared > many


@pytest.mark.parametrize("features", [SIMPLE, ALL], ids=["simple", "all"])
def test_changes_of_the_metric_are_proved_where_they_depend_on_the_state(features: NumericFeatures) -> None:
    compared = 0
    for seed in share(range(150), 2):
        case = random_case(seed, features)
        if case is None or case[1].is_priced or case[1].task.unreachable_goal is not None:
            continue
        problem, _, value = case
        try:
            pricing = price_by_state(ground_numeric(problem, SolveOptions(time_limit=None).limits(), with_metric=True))
        except UnsupportedError:  # what only the metric reads may have too many digits
            continue
        if pricing is None:
            continue
        compared += 1
        space = pack(pricing.source)
        for heuristic in KINDS:
            ending, run = search_numbers(space, heuristic, pricing=pricing)
            assert ending is Ending.EXHAUSTED, (seed, heuristic)
            assert (run.plan is None) == (value is None), (seed, heuristic)
            if run.plan is not None:
                found = Fraction(run.limit - pricing.offset, pricing.source.task.resolution)
                assert found == value, (seed, heuristic)
                steps = tuple(pricing.source.task.actions[action].step for action in run.plan)
                priced = price_steps(problem, steps)
                assert check_steps(problem, Plan(priced, problem)).valid
                assert sum(exact_value(step.cost) for step in priced) == value
    assert compared


def true_costs(space: NumericSpace) -> dict[tuple[int, ...], int]:
    """Return all reachable states and the cost of a cheapest plan from each, `INFINITE` where there is none."""
    start = tuple(space.initial)
    states, edges, queue = {start}, list[tuple[tuple[int, ...], int, tuple[int, ...]]](), [start]
    for state in queue:
        for number, action in enumerate(space.source.task.actions):
            if not holds(space.preconditions, number, array("q", state), 0):
                continue
            room = array("q", [*state, *state])
            if apply(space.space, number, room, 0, len(state), space.words) != APPLIED:
                continue
            after = tuple(room[len(state) :])
            edges.append((state, action.cost, after))
            if after not in states:
                states.add(after)
                queue.append(after)
    costs = {each: 0 if holds(space.space.goal, 0, array("q", each), 0) else INFINITE for each in states}
    changed = True
    while changed:
        changed = False
        for origin, cost, after in edges:
            if cost + costs[after] < costs[origin]:
                costs[origin] = cost + costs[after]
                changed = True
    return costs


def estimators(space: NumericSpace) -> Callable[[tuple[int, ...]], tuple[int, ...]]:
    """Return a function that gives h_max, LM-cut and the bound by the state equation of a state."""
    costs = [action.cost for action in space.source.task.actions]
    bounds, room = bound_numeric(space, costs)
    written = write_state_equation(space, costs)

    def estimate(state: tuple[int, ...]) -> tuple[int, ...]:
        packed = array("q", state)
        where = (space.space, space.words, packed, 0)
        relaxed = numeric_h_max(bounds, room, *where), numeric_lm_cut(bounds, room, *where, INFINITE)
        if written is None:
            return relaxed
        return *relaxed, bound_by_equation(*written, space.space, space.words, packed, 0, INFINITE)

    return estimate


@pytest.mark.parametrize("features", [SIMPLE, ALL], ids=["simple", "all"])
def test_bounds_are_below_the_true_costs_of_all_states(features: NumericFeatures) -> None:
    compared = 0
    for seed in share(range(100, 140), 4):
        case = random_case(seed, features)
        if case is None or case[1].task.unreachable_goal is not None:
            continue
        space = pack(case[1])
        estimate = estimators(space)
        for state, cost in true_costs(space).items():
            assert max(estimate(state)) <= cost, (seed, state)
            compared += 1
    assert compared > 10


DOMAIN = """(define (domain d) (:requirements :adl :numeric-fluents) (:predicates (p) (q))
(:functions (x) (y) (total-cost))
{actions})"""
PROBLEM = """(define (problem one) (:domain d) (:init (= (x) 0) (= (y) 0) (= (total-cost) 0))
  (:goal {goal}) (:metric minimize (total-cost)))"""


def action(name: str, condition: str, effect: str, cost: int = 1) -> str:
    text = "(:action {} :parameters () :precondition (and {}) :effect (and {} (increase (total-cost) {})))"
    return text.format(name, condition, effect, cost)


def declare(goal: str, *actions: str) -> NumericSpace:
    domain = parse_domain(DOMAIN.format(actions="\n".join(actions)))
    return pack(ground(parse_problem(PROBLEM.format(goal=goal), domain)))


BY_ONE, BY_TWO = action("one", "", "(increase (x) 1)"), action("two", "", "(increase (x) 2)", 3)
LATE = action("late", "(>= (x) 5)", "(increase (x) 2)")
EACH = action("each", "", "(increase (y) 1)")
SET = action("set", "(p)", "(assign (x) 5)")
START = action("start", "", "(p)", 4)
TRADE = action("trade", "(>= (y) 2)", "(increase (x) 1) (decrease (y) 2)")
GROW, MORE = action("grow", "", "(increase (x) (y))"), action("more", "(<= (y) 1)", "(increase (y) 1)")


@pytest.mark.parametrize(
    ("goal", "actions", "bounds", "cost"),
    [
        ("(>= (x) 7)", [BY_ONE], (7, 7, 7), 7),
        ("(>= (x) 7)", [BY_TWO], (12, 12, 12), 12),
        ("(>= (x) 7)", [BY_ONE, BY_TWO], (7, 7, 7), 7),
        ("(>= (x) 7)", [BY_ONE, LATE], (6, 6, 4), 6),
        ("(and (>= (x) 3) (>= (y) 4))", [BY_ONE, EACH], (4, 7, 7), 7),
        ("(>= (x) 7)", [BY_ONE, SET, START], (5, 6, 2), 7),
        ("(>= (x) 5)", [SET, START], (5, 5, 1), 5),
        ("(>= (x) 9)", [SET, START], (INFINITE, INFINITE, 2), None),
        ("(>= (+ (x) (y)) 6)", [BY_ONE, EACH], (6, 6, 6), 6),
        ("(>= (x) 6)", [GROW, MORE], (3, 3, 3), 5),
        ("(>= (x) 6)", [TRADE, EACH], (8, 8, 18), 18),
        ("(>= (x) 6)", [TRADE], (INFINITE, INFINITE, INFINITE), None),
    ],
)
def test_bounds_of_initial_states(goal: str, actions: list[str], bounds: tuple[int, ...], cost: int | None) -> None:
    space = declare(goal, *actions)
    assert estimators(space)(tuple(space.initial)) == bounds
    for heuristic in KINDS:
        ending, run = search_numbers(space, heuristic) if cost is not None else (Ending.EXHAUSTED, Run())
        assert ending is Ending.EXHAUSTED
        assert (None if run.plan is None else run.limit) == cost


def test_states_out_of_range_leave_no_proof() -> None:
    double = action("double", "", "(increase (x) (+ (x) 1))")
    space = declare("(p)", double, action("use", "(= (x) 2)", "(p)"))
    ending, run = search_numbers(space, "blind")
    assert ending is Ending.INCOMPLETE
    assert run.plan is None


WIDE, NARROW = action("wide", "", "(increase (x) 2)"), action("narrow", "", "(increase (x) 1)")


def test_states_with_less_at_no_less_cost_are_pruned() -> None:
    expanded = []
    for relation in (">=", "="):
        ending, run = search_numbers(
            declare(f"(and ({relation} (x) 16) ({relation} (y) 6))", WIDE, NARROW, EACH), "blind"
        )
        assert ending is Ending.EXHAUSTED
        assert run.limit == 14
        expanded.append(run.expanded)
    assert expanded[0] < 0.8 * expanded[1], expanded


@pytest.mark.parametrize(
    ("goal", "actions", "signs"),
    [
        ("(>= (x) 7)", [BY_ONE], {"x": 1}),
        ("(<= (x) 7)", [BY_ONE, action("need", "(<= (x) 3)", "(p)")], {"x": -1}),
        ("(and (q) (<= (x) 7))", [action("need", "(>= (x) 3)", "(q)"), BY_ONE], {"x": 0}),
        ("(>= (x) 6)", [TRADE, EACH], {"x": 1, "y": 1}),
        ("(>= (x) 6)", [GROW, EACH], {"x": 1, "y": 1}),
        ("(>= (x) 6)", [GROW, MORE], {"x": 1, "y": 0}),
        ("(<= (x) -6)", [action("fall", "", "(decrease (x) (y))"), EACH], {"x": -1, "y": 1}),
        ("(>= (x) 6)", [BY_ONE, action("maybe", "", "(when (>= (x) 2) (increase (x) 2))")], {"x": 0}),
    ],
)
def test_resources_are_what_nothing_wants_less_of(goal: str, actions: list[str], signs: dict[str, int]) -> None:
    source = declare(goal, *actions).source
    found = dict(zip([each.fluent.predicate for each in source.variables], find_signs(source), strict=True))
    assert found == signs
