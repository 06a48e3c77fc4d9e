"""Wishes, constraints and deadlines of tasks in time, against all decompositions at all times."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import product
from typing import Any

import pytest
from constraints_in_time import draw_watches, read_watch

from benchmarks.random_temporal import SEPARATION, TemporalFeatures, random_temporal_task
from benchmarks.temporal_constraints import MonitoredSemantics, Watch
from benchmarks.temporal_semantics import TimedStep
from htn.model import HtnDomain, HtnProblem, Method, Network, Subtask, Task
from htn.problem_kind import validate
from planner import Status, solve
from planner.language.pddl import parse_domain, parse_problem
from planner.lightweight import replace
from planner.model import Atom
from planner.model.formulas import TRUE
from planner.model.problem import Goal, Metric

TINY = TemporalFeatures(actions=3, longest=3, ranges=0, objects=1, numbers=False)
LAST_CHANGE = 6
"""The tick from which on nothing changes but by steps."""
Steps = tuple[tuple[int, ...], frozenset[tuple[int, int]]]
"""The actions that a decomposition comes to, by their numbers, and the pairs of steps that it orders."""


def all_networks(choices: Sequence[Sequence[Steps]], order: Sequence[tuple[int, int]]) -> Iterator[Steps]:
    """Yield what tasks with these `choices` come to, of which pairs are ordered."""
    for chosen in product(*choices):
        first = [sum(len(each[0]) for each in chosen[:place]) for place in range(len(chosen))]
        spans = [range(begin, begin + len(each[0])) for begin, each in zip(first, chosen, strict=True)]
        pairs = {(first[place] + one, first[place] + two) for place, each in enumerate(chosen) for one, two in each[1]}
        closure = set(order)
        for one, two in product(order, order):
            closure |= {(one[0], two[1])} if one[1] == two[0] else set()
        pairs |= {(one, two) for before, after in closure for one in spans[before] for two in spans[after]}
        yield tuple([number for each in chosen for number in each[0]]), frozenset(pairs)


class Tasks:
    """One or two tasks of two methods each at most, which come to three steps at most."""

    def __init__(self, seed: int) -> None:
        self.rng = rng = random.Random(seed)
        task = random_temporal_task(seed, TINY)
        self.units = task.write(Fraction(1))
        self.watches = draw_watches(rng, MonitoredSemantics(*self.units, 1, []))
        domain, text = task.write()
        classical = parse_problem(text, parse_domain(domain))
        self.names = [action.name for action in MonitoredSemantics(*self.units, 1, []).actions]
        tasks, methods, choices = dict[str, Task](), dict[str, Method](), list[list[Steps]]()
        self.is_ordered = rng.random() < 0.6
        for place in range(rng.choice([1, 2, 2])):
            tasks[f"t{place}"] = Task(f"t{place}")
            choices.append([])
            for number in range(rng.choice([1, 2])):
                steps = tuple([rng.randrange(len(self.names)) for _ in range(1 if place else rng.choice([1, 1, 2]))])
                pairs = [(0, 1)] if len(steps) > 1 and (self.is_ordered or rng.random() < 0.5) else []
                choices[-1].append((steps, frozenset(pairs)))
                subtasks = tuple([Subtask(Atom(self.names[each][0], self.names[each][1:])) for each in steps])
                name = f"m{place}-{number}"
                methods[name] = Method(name, Atom(f"t{place}"), network=Network(subtasks, tuple(pairs)))
        order = [(place, place + 1) for place in range(len(choices) - 1) if self.is_ordered or rng.random() < 0.3]
        self.choices, self.order = choices, order
        network = Network(tuple([Subtask(Atom(name)) for name in tasks]), tuple(order))
        has_goal = rng.random() < 0.5
        self.has_goal = has_goal
        classical = classical if has_goal else replace(classical, goal=Goal(TRUE))
        self.problem = HtnProblem(HtnDomain(classical.domain, tasks, methods), classical, network)

    def put(self, **changes: Any) -> HtnProblem:
        """Return the problem with `changes` of its classical part."""
        return replace(self.problem, classical=replace(self.problem.classical, **changes))

    def costs(self, watches: Sequence[Watch], deadline: int | None, *, by_length: bool) -> list[int]:
        """Return what the plans cost that keep these constraints: their ticks, or their steps."""
        semantics = MonitoredSemantics(*self.units, 1, watches)
        if not self.has_goal:
            semantics.goal = replace(semantics.goal, holds=frozenset(), fails=frozenset(), comparisons=())
        found: list[int] = []
        for numbers, pairs in set(all_networks(self.choices, self.order)):
            lengths = [semantics.actions[number].low for number in numbers]
            horizon = LAST_CHANGE + sum(lengths) + len(lengths)
            for starts in product(range(horizon), repeat=len(numbers)):
                ends = [start + length for start, length in zip(starts, lengths, strict=True)]
                end = max(ends)
                cost = len(numbers) if by_length else end
                is_late = deadline is not None and end > deadline
                if is_late or (found and cost >= min(found)) or any(ends[one] > starts[two] for one, two in pairs):
                    continue
                plan = [
                    TimedStep(start, self.names[number], length)
                    for start, number, length in zip(starts, numbers, lengths, strict=True)
                ]
                if not semantics.replay(plan):
                    found.append(cost)
        return found


def compare(seed: int) -> str:
    tasks = Tasks(seed)
    rng, watches = tasks.rng, tasks.watches
    by_length, is_soft = rng.random() < 0.3, rng.random() < 0.4
    deadline = rng.randint(2, 12) if rng.random() < 0.3 else None
    worth = [rng.randint(1, 4) for _ in watches]
    unit = Decimal(1) if by_length else Decimal("0.001")
    constraints = [
        read_watch(each, price * unit if is_soft else None) for each, price in zip(watches, worth, strict=True)
    ]
    problem = tasks.put(
        constraints=tuple(constraints),
        metric=Metric.LENGTH if by_length else tasks.problem.classical.metric,
        deadline=None if deadline is None else deadline * Decimal("0.001"),
    )
    charges: list[int] = []
    for bits in range(1 << len(watches)) if is_soft else [(1 << len(watches)) - 1]:
        kept = [each for place, each in enumerate(watches) if bits >> place & 1]
        lost = sum(price for place, price in enumerate(worth) if not bits >> place & 1)
        charges += [cost + lost for cost in tasks.costs(kept, deadline, by_length=by_length)]
    truth = min(charges) * (Fraction(1) if by_length else SEPARATION) if charges else None
    result = solve(problem, mode="optimal", time_limit=2)
    assert result.status is not Status.UNSUPPORTED, (seed, result.reason)
    if result.plan is not None:
        verdict = validate(problem, result.plan)
        assert verdict.valid, (seed, verdict.reason)
        assert truth is not None, seed
        assert Fraction(result.plan.charge) >= truth, seed
    if result.status is Status.OPTIMAL:
        assert Fraction(result.expect_plan().charge) == truth, seed
    if truth is not None:
        assert result.status is not Status.UNSOLVABLE, seed
        assert result.lower_bound is None or Fraction(result.lower_bound) <= truth, (seed, result.lower_bound, truth)
    return result.status.name if result.plan is not None or truth is None else f"{result.status.name}, missed"


@pytest.mark.parametrize("block", range(40))
def test_what_is_said_of_tasks_in_time_holds(block: int) -> None:
    found = Counter(compare(seed) for seed in range(10 * block, 10 * block + 10))
    assert found["OPTIMAL"] + found["SOLVED"] + found["UNSOLVABLE"] > 0
