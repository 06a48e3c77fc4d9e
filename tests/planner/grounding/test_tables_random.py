"""Actions in tables are what they are one by one: tables of any size against none at all."""

from __future__ import annotations

from unittest.mock import patch

import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.random_problems import random_problem
from planner.grounding.action_tables import ActionTable, either, same
from planner.grounding.ground import ground
from planner.limits import Limits

SIZE = "planner.grounding.action_tables.LEAST_ROWS"


def described(task):
    """Return all that `task` says, by names: facts may be numbered in another order."""

    def named(facts):
        return frozenset(str(task.facts[fact]) for fact in facts)

    def parts(effect):
        return named(effect.adds), named(effect.deletes)

    actions = [
        (
            action.step,
            action.cost,
            named(action.precondition),
            parts(action),
            {(named(effect.condition), parts(effect)) for effect in action.conditional},
        )
        for action in task.actions
    ]
    return (
        actions,
        sorted(map(str, task.facts)),
        len(task.variables),
        named(task.initial),
        named(task.goal),
        task.resolution,
        task.unreachable_goal,
    )


@settings(max_examples=examples(150), deadline=None)
@given(seed=st.integers(0, 10**9), least=st.sampled_from([1, 2, 4]))
def test_tasks_are_the_same_with_tables_and_without(seed, least):
    problem = random_problem(seed)
    with patch(SIZE, 10**9):
        expected = described(ground(problem, Limits()))
    with patch(SIZE, least):
        assert described(ground(problem, Limits())) == expected


def table(condition, adds, deletes):
    """Return a table of three rows."""
    return ActionTable(None, range(3), [("a",), ("b",), ("c",)], [1, 2, 3], condition, adds, deletes)


def test_cutting_leaves_rows_alike_together():
    whole = table([[1, 2, 3], [4, 5, 6]], [[7, 8, 9]], [])
    parts = list(whole.cut({1: [True, False, True], 2: [False, False, True]}, [False, True, False]))
    assert [(list(part.numbers), part.condition, part.adds) for part in parts] == [
        ([0], [(1,)], [(7,)]),
        ([2], [(3,)], []),
    ]
    assert list(whole.cut({}, [True, True, True])) == []
    (kept,) = whole.cut({0: [True, True, True]})
    assert (kept.condition, list(kept.numbers)) == ([[4, 5, 6]], [0, 1, 2])


@pytest.mark.parametrize(
    ("masks", "expected"),
    [([], None), ([[False, False]], None), ([[True, False], [False, False]], [True, False])],
)
def test_either(masks, expected):
    assert either(masks) == expected
    assert same([1, 2], [1, 3]) == [True, False]
