"""The state equation, against all states of random tasks, and its solvers against trying everything."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import combinations, product
from random import Random

from effort import examples
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from random_tasks import random_task as random_declared
from search_twins import finished, perfect, random_task

from benchmarks.random_problems import Features
from planner.jit import library
from planner.pruning.h2 import Pruning
from planner.pruning.state_equation import Equation, disprove, find_weights, is_odd, is_proof
from planner.task.ground_task import INFINITY, Task

PLAIN = library.ENTRIES
seeds = st.integers(0, 10**9)


@st.composite
def equations(draw, most=2):
    """Equations of a few rows and columns."""
    rows = draw(st.integers(1, 4))
    numbers = st.lists(st.integers(-most, most), min_size=rows, max_size=rows)
    columns = draw(st.lists(numbers, min_size=1, max_size=5))
    right = draw(numbers)
    return Equation(rows, tuple(map(sparse, columns)), sparse(right))


def sparse(numbers):
    return tuple((row, number) for row, number in enumerate(numbers) if number)


def dense(column, rows):
    return [dict(column).get(row, 0) for row in range(rows)]


def has_solution(asked: Equation) -> bool:
    """Return whether numbers that are not negative solve it: then so few do that their columns are independent."""
    columns = [dense(column, asked.rows) for column in asked.columns]
    right = dense(asked.right, asked.rows)
    return any(
        (found := solution([columns[each] for each in chosen], right)) is not None and min(found, default=0) >= 0
        for count in range(len(columns) + 1)
        for chosen in combinations(range(len(columns)), count)
    )


def solution(columns, right):
    """Return the only numbers with which independent columns add up to the right side; None where there are none."""
    lines = [[*(Fraction(column[row]) for column in columns), Fraction(right[row])] for row in range(len(right))]
    for place in range(len(columns)):
        pivot = next((line for line in lines[place:] if line[place]), None)
        if pivot is None:
            return None
        lines.remove(pivot)
        pivot = [each / pivot[place] for each in pivot]
        lines = [[one - line[place] * other for one, other in zip(line, pivot, strict=True)] for line in lines]
        lines.insert(place, pivot)
    return None if any(line[-1] for line in lines[len(columns) :]) else [line[-1] for line in lines[: len(columns)]]


@given(equations())
def test_weights_are_found_where_nothing_solves_an_equation(asked):
    found = finished(find_weights(asked, PLAIN, 10.0, work=20))
    assert (found is None) is has_solution(asked)
    assert found is None or is_proof(asked, found)


@given(equations())
def test_parity_is_what_trying_all_even_and_odd_numbers_says(asked):
    columns = [dense(column, asked.rows) for column in asked.columns]
    right = dense(asked.right, asked.rows)
    fits = any(
        all(
            (sum(often[c] * columns[c][row] for c in range(len(columns))) - right[row]) % 2 == 0
            for row in range(asked.rows)
        )
        for often in product(range(2), repeat=len(columns))
    )
    assert is_odd(asked) is not fits


def disproved(task: Task, rounds: int) -> str:
    """What is shown of a task after so many steps of h²."""
    pruning = Pruning(task)
    for _, _ in zip(range(rounds), pruning.steps(), strict=False):
        pass
    return finished(disprove(pruning.values, pruning.pairs, None)) if pruning.result().solvable else ""


@given(seeds, st.sampled_from([0, 20, 10_000]))
def test_what_is_disproved_has_no_plan(seed, rounds):
    task = random_task(seed)
    if disproved(task, rounds):
        assert perfect(task)[frozenset(task.initial)] == INFINITY


@settings(max_examples=examples(25))
@given(seeds, st.sampled_from([0, 20, 10_000]))
def test_nor_does_what_was_declared(seed, rounds):
    task = random_declared(seed, Features(objects=4))
    assume(task.unreachable_goal is None and len(task.variables) < 9)
    base = [fact for fact in range(len(task.facts)) if fact not in task.derived]
    task = replace(task, goal=tuple(sorted(Random(seed).sample(base, min(3, len(base))))))
    if disproved(task, rounds):
        assert perfect(task)[frozenset(task.initial)] == INFINITY


def test_much_is_disproved_without_pairs():
    found = [
        disproved(task, 0)
        for seed in range(150)
        if perfect(task := random_task(seed))[frozenset(task.initial)] == INFINITY
    ]
    assert {"parity", "weights"} <= set(found)
