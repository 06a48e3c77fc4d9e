"""Explanations against brute force: what is called unreachable is, and no smaller change helps."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from brute_force import TooManyStates, brute_force, brute_force_plan
from effort import examples
from hypothesis import HealthCheck, assume, given, settings
from random_tasks import problems

from benchmarks.random_problems import Features, instances
from planner.compilations.normal_form import normalise
from planner.explain.excuses import Items
from planner.explain.plan_explanation import explain_plan
from planner.explain.smallest_change import Change
from planner.explain.unsolvability import Diagnosis, explain_unsolvable
from planner.limits import Limits
from planner.model import COST, Goal, Problem
from planner.model.formulas import atoms_in, conjuncts
from planner.validation.validate import validate

STATES = 200
SMALL = Features(objects=3, actions=3)
SLOW = settings(
    max_examples=examples(80), deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much]
)


def has_plan(problem: Problem) -> bool:
    try:
        return brute_force(problem, STATES) is not None
    except TooManyStates:
        assume(False)
        raise


def diagnosed(problem: Problem) -> Diagnosis:
    diagnosis = explain_unsolvable(problem, Limits(30))
    assert diagnosis.stopped_by is None
    return diagnosis


def single_changes(problem: Problem) -> Iterator[Problem]:
    """Yield the problems with one fact more or less, none of which the goal speaks of, and no item with two values."""
    of_goal = {atom.predicate for atom in atoms_in(problem.goal.hard)}
    free = [p for name, p in problem.domain.predicates.items() if name not in of_goal | problem.domain.derived]
    facts = list(instances(free, problem.all_objects))
    rivals = Items(normalise(problem)).rivals(facts, problem.initial, one_predicate=True)
    for fact in facts:
        if fact in problem.initial:
            yield replace(problem, initial=tuple([each for each in problem.initial if each != fact]))
        elif not rivals[fact]:
            yield replace(problem, initial=(*problem.initial, fact))


@SLOW
@given(problems(SMALL))
def test_the_diagnosis_knows_what_brute_force_knows(problem: Problem) -> None:
    solvable = has_plan(problem)
    diagnosis = diagnosed(problem)
    assert diagnosis.solvable is solvable
    parts = {str(part): part for part in conjuncts(problem.goal.hard)}
    for unreachable in diagnosis.unreachable:
        assert not has_plan(replace(problem, goal=Goal(parts[unreachable.goal])))
    if not solvable:
        check_change(problem, diagnosis.change)


def check_change(problem: Problem, change: Change | None) -> None:
    """Assert that the change helps, and that no single fact does where it is larger, or where there is none."""
    if change is not None:
        assert change.proved_smallest
        assert validate(change.problem, change.plan).valid
    if change is None or change.uses_goal or len(change.assumptions) > 1:
        assert not any(has_plan(single) for single in single_changes(problem))


@settings(SLOW, max_examples=examples(40))
@given(problems(SMALL))
def test_changes_keep_budgets_on_the_cost(problem: Problem) -> None:
    assume(has_plan(problem))
    most = brute_force(problem, STATES)
    assume(most)
    diagnosis = diagnosed(replace(problem, budgets={COST: most - 1}))
    change = diagnosis.change
    assert diagnosis.solvable is False
    if change is not None:
        assert validate(change.problem, change.plan).valid
        assert change.plan.cost < most
    if change is None or change.uses_goal or len(change.assumptions) > 1:
        assert not any(has_plan(single) and brute_force(single, STATES) < most for single in single_changes(problem))


@SLOW
@given(problems(SMALL))
def test_redundant_steps_are_and_all_others_serve_the_goal(problem: Problem) -> None:
    try:
        plan = brute_force_plan(problem, STATES)
    except TooManyStates:
        plan = None
    assume(plan is not None)
    assert plan is not None
    explanation = explain_plan(problem, plan)
    left = explanation.leaner or plan
    assert validate(problem, left).valid
    assert left.cost == plan.cost
    assert all(each.chain or each.redundant for each in explanation.steps)
    assert all(each.chain[-1].consumer is None for each in explanation.steps if each.chain)
