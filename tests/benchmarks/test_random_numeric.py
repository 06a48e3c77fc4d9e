"""Random tasks with numbers: what they contain, and what their semantics says against unified-planning's."""

from __future__ import annotations

import random
from dataclasses import fields, replace
from fractions import Fraction
from pathlib import Path

import pytest
from effort import share

from benchmarks.numeric_brute import TooManyStates, Unbounded, find_best
from benchmarks.numeric_semantics import ConflictError, NumericSemantics, State, Term
from benchmarks.pddltext import classify_numeric, find_features, find_sections, lists_in, read_expression
from benchmarks.random_numeric import ALL, SIMPLE, NumericFeatures, NumericTask, random_numeric_task, write_number

SEEDS = range(60)
NOTHING = NumericFeatures(**{field.name: False for field in fields(NumericFeatures) if field.type == "bool"})


def features_of(task: NumericTask) -> set[str]:
    return set(find_features(read_expression(task.domain, "domain"), read_expression(task.problem, "problem")))


def test_a_seed_determines_a_task() -> None:
    assert random_numeric_task(7) == random_numeric_task(random.Random(7)) != random_numeric_task(8)


def test_tasks_use_everything_and_only_what_they_may() -> None:
    everything = [features_of(random_numeric_task(seed)) for seed in SEEDS]
    wanted = {"assignments", "scaling", "linear effects", "conditional effects", "disjunctive conditions"}
    wanted |= {"negative conditions", "costs", "state-dependent costs", "general metric", "maximised metric"}
    assert wanted <= set().union(*everything)
    assert not any("nonlinear expressions" in found for found in everything)
    assert any(
        "nonlinear expressions" in features_of(random_numeric_task(seed, replace(ALL, nonlinear=True)))
        for seed in SEEDS
    )
    assert {classify_numeric(features_of(random_numeric_task(seed, SIMPLE))) for seed in SEEDS} == {"simple"}
    plain = set().union(*(features_of(random_numeric_task(seed, NOTHING)) for seed in SEEDS))
    assert plain - {"constants"} == {"numeric conditions", "numeric effects"}


def test_most_tasks_have_plans_and_few_are_solved_from_the_beginning() -> None:
    found = [best_of(random_numeric_task(seed)) for seed in SEEDS]
    assert sum(isinstance(one, tuple) for one in found) > len(SEEDS) / 2
    assert sum(one == () for one in found) < len(SEEDS) / 4
    assert {None, "states", "unbounded"} & {one for one in found if not isinstance(one, tuple)}


def best_of(task: NumericTask) -> tuple[Term, ...] | str | None:
    try:
        best = find_best(task, 200)
    except TooManyStates:
        return "states"
    except Unbounded:
        return "unbounded"
    if best is None:
        return None
    assert replay(task, best.steps) == best.value
    return best.steps


def replay(task: NumericTask, steps: tuple[Term, ...]) -> Fraction:
    semantics = NumericSemantics(task.domain, task.problem)
    state = semantics.find_initial()
    for step in steps:
        after = semantics.apply(state, step)
        assert after is not None
        state = after
    assert semantics.is_goal(state)
    return semantics.measure(state, len(steps))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # unified-planning's reader against newer pyparsing
def test_unified_planning_sees_the_same_states(tmp_path: Path) -> None:
    pytest.importorskip("unified_planning")
    compared = [compare_walk(seed, tmp_path) for seed in share(SEEDS[:25], 4)]
    assert sum(compared) > 3 * len(compared)


def compare_walk(seed: int, folder: Path) -> int:
    """Walk at random through a task that unified-planning reads, and return how many states were compared."""
    from unified_planning.engines import UPSequentialSimulator
    from unified_planning.io import PDDLReader

    rng = random.Random(seed)
    task = random_numeric_task(seed, replace(ALL, undefined=False, scaling=False))
    files = folder / "domain.pddl", folder / "problem.pddl"
    files[0].write_text(task.domain, encoding="utf-8")
    files[1].write_text(task.problem, encoding="utf-8")
    problem = PDDLReader().parse_problem(*map(str, files))
    semantics = NumericSemantics(task.domain, task.problem)
    simulator = UPSequentialSimulator(problem, error_on_failed_checks=False)
    state, other, count = semantics.find_initial(), simulator.get_initial_state(), 0
    while count < 8:
        count += 1
        assert semantics.is_goal(state) == simulator.is_goal(other)
        following = dict(semantics.successors(state))
        for step in semantics.list_steps():
            action, arguments = problem.action(step[0]), tuple(map(problem.object, step[1:]))
            assert (step in following) == simulator.is_applicable(other, action, arguments), (seed, step)
        if not following:
            break
        step, state = rng.choice(list(following.items()))
        other = simulator.apply(other, problem.action(step[0]), tuple(map(problem.object, step[1:])))
        for term, value in state.values:
            if not problem.has_fluent(term[0]):
                continue  # it has made costs of actions of it
            fluent = problem.fluent(term[0])(*map(problem.object, term[1:]))
            assert Fraction(str(other.get_value(fluent))) == value, (seed, step, term)
    return count


SEMANTICS = """(define (domain d) (:types thing) (:predicates (p)) (:functions (x) (y) (z) (total-cost))
  (:action a :parameters () :precondition (and {condition}) :effect (and {effect})))"""
PROBLEM = "(define (problem p) (:objects o - thing) (:init (= (x) 2) (= (y) 0.5)) (:goal (and {goal})) {metric})"


def apply(condition: str, effect: str) -> dict[str, Fraction] | None:
    semantics = NumericSemantics(
        SEMANTICS.format(condition=condition, effect=effect), PROBLEM.format(goal="", metric="")
    )
    after = semantics.apply(semantics.find_initial(), ("a",))
    return None if after is None else {term[0]: value for term, value in after.values}


@pytest.mark.parametrize(
    ("condition", "effect", "expected"),
    [
        ("", "(increase (x) (y)) (increase (x) 1) (decrease (x) 0.25)", {"x": "3.25", "y": "0.5"}),
        ("", "(assign (x) (y)) (assign (y) (x))", {"x": "0.5", "y": "2"}),
        ("", "(scale-up (x) (+ (y) 1)) (scale-down (y) 2)", {"x": "3", "y": "0.25"}),
        ("", "(when (p) (increase (x) 1)) (when (not (p)) (decrease (x) 1))", {"x": "1", "y": "0.5"}),
        ("", "(assign (z) (- (x)))", {"x": "2", "y": "0.5", "z": "-2"}),
        ("", "(increase (z) 1)", None),
        ("", "(assign (x) (z))", None),
        ("", "(when (p) (assign (x) (z)))", {"x": "2", "y": "0.5"}),
        ("", "(assign (x) (/ (x) (- (y) 0.5)))", None),
        ("", "(scale-down (x) 0)", None),
        ("(>= (z) 0)", "", None),
        ("(not (>= (z) 0))", "", {"x": "2", "y": "0.5"}),
        ("(> (x) 2)", "", None),
        ("(= (x) (* 4 (y)))", "", {"x": "2", "y": "0.5"}),
        ("(or (< (x) 2) (<= (x) 2))", "", {"x": "2", "y": "0.5"}),
    ],
)
def test_corners_of_the_semantics(condition: str, effect: str, expected: dict[str, str] | None) -> None:
    found = apply(condition, effect)
    assert found == (None if expected is None else {name: Fraction(value) for name, value in expected.items()})


@pytest.mark.parametrize(
    "effect", ["(assign (x) 1) (increase (x) 1)", "(scale-up (x) 2) (scale-up (x) 3)", "(assign (x) 1) (assign (x) 1)"]
)
def test_an_assignment_beside_another_effect_is_a_fault(effect: str) -> None:
    with pytest.raises(ConflictError, match="x is changed in two ways"):
        apply("", effect)


WALK = """(define (domain w) (:types thing) (:predicates (p)) (:functions (x) (total-cost))
  (:action up :parameters () :precondition (< (x) 3) :effect (and (increase (x) 1) (increase (total-cost) {up})))
  (:action leap :parameters () :precondition (= (x) 0) :effect (and (increase (x) 2) (increase (total-cost) 5)))
  (:action down :parameters () :precondition (> (x) 0)
    :effect (and (decrease (x) 1) (increase (total-cost) {down})))
)"""
GOAL = """(define (problem p) (:objects o - thing) (:init (= (x) 0) (= (total-cost) 0)) (:goal (>= (x) {goal}))
  {metric})"""


@pytest.mark.parametrize(
    ("up", "down", "goal", "metric", "value", "length"),
    [
        ("1", "1", "2", "", "1", 1),
        ("1", "1", "2", "(:metric minimize (total-cost))", "2", 2),
        ("3.5", "1", "2", "(:metric minimize (total-cost))", "5", 1),
        ("(x)", "1", "3", "(:metric minimize (total-cost))", "3", 3),
        ("1", "1", "1", "(:metric maximize (x))", "-3", 2),
        ("1", "1", "1", "(:metric maximize (- (* 4 (x)) (total-cost)))", "-9", 3),
        ("2", "-1", "1", "(:metric minimize (total-cost))", "2", 1),
        ("1", "1", "4", "", None, None),
    ],
)
def test_best_plans(  # noqa: PLR0917 - a table
    up: str, down: str, goal: str, metric: str, value: str | None, length: int | None
) -> None:
    task = NumericTask(WALK.format(up=up, down=down), GOAL.format(goal=goal, metric=metric))
    best = find_best(task)
    assert (best is None) is (value is None)
    if best is not None and value is not None:
        assert (best.value, len(best.steps)) == (Fraction(value), length)
        assert replay(task, best.steps) == best.value


def test_circles_that_improve_for_ever() -> None:
    task = NumericTask(WALK.format(up="1", down="-2"), GOAL.format(goal="1", metric="(:metric minimize (total-cost))"))
    with pytest.raises(Unbounded):
        find_best(task)
    with pytest.raises(TooManyStates):
        find_best(task, 3)
    hopeless = NumericTask(task.domain, task.problem.replace("(>= (x) 1)", "(>= (x) 9)"))
    assert find_best(hopeless) is None


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [(Fraction(3, 2), 0, "1.5"), (Fraction(-1, 4), 0, "-0.25"), (2, 0, "2"), (2, 2, "2.00"), (Fraction(-5), 1, "-5.0")],
)
def test_numbers_are_written_as_decimals(value: Fraction | int, digits: int, text: str) -> None:
    assert write_number(value, digits) == text


def test_declared_functions_are_the_ones_used() -> None:
    for seed in SEEDS:
        task = random_numeric_task(seed)
        domain, problem = read_expression(task.domain, "domain"), read_expression(task.problem, "problem")
        (functions,) = find_sections(domain, ":functions")
        declared = {str(one[0]) for one in functions[1:]}
        (initial,) = find_sections(problem, ":init")
        assert {str(part[1][0]) for part in initial[1:] if part[0] == "="} <= declared
        assert isinstance(NumericSemantics(task.domain, task.problem).find_initial(), State)
        heads = {str(inner[0]) for part in find_sections(domain, ":action") for inner in lists_in(part) if inner}
        assert {head for head in heads if head.startswith(("f", "k"))} <= declared
