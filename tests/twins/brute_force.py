"""The slow and obvious twins of planning: every reachable state of the declared problem, one by one."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count

from benchmarks.random_problems import StateKey, key_of, successors
from planner.errors import ForethoughtError
from planner.model import Number, Problem
from planner.plan import Plan, Step
from planner.semantics.constraint_monitors import ConstraintMonitors
from planner.semantics.simulation import Simulation

Steps = tuple[Step, ...]


class TooManyStates(ForethoughtError):
    """A problem has more reachable states than the caller wanted to look at."""


def brute_force_plan(problem: Problem, max_states: int = 10_000) -> Plan | None:
    """Return a best plan, found by uniform-cost search through the declared states; None where there is none.

    That is a cheapest one of those that keep the hard constraints, the utilities of the wishes that it does without
    counted as costs. Raises `TooManyStates` when more than `max_states` states would be expanded.
    """
    ticket = count()
    start = Simulation(problem)
    queue: list[tuple[Number, int, Steps, tuple[Simulation, ConstraintMonitors] | None]]
    queue = [(0, next(ticket), (), (start, ConstraintMonitors(start)))]
    closed: set[tuple[StateKey, tuple[object, ...]]] = set()
    while queue:
        cost, _, steps, where = heapq.heappop(queue)
        if where is None:
            return Plan(steps, problem)
        state, watches = where
        key = key_of(state), watches.key
        if key in closed or watches.broken:
            continue
        if len(closed) >= max_states:
            raise TooManyStates(f"more than {max_states} states")
        closed.add(key)
        if state.holds(problem.goal.hard) and not any(watches.unmet):
            heapq.heappush(queue, (cost + _forgone(state, watches), next(ticket), steps, None))
        for step, after in successors(state):
            seen = watches.copy()
            seen.look(state, step)
            seen.look(after)
            heapq.heappush(queue, (cost + step.cost, next(ticket), (*steps, step), (after, seen)))
    return None


def _forgone(state: Simulation, watches: ConstraintMonitors) -> Number:
    """Return what a plan that ends here loses."""
    wishes = [wish.utility for wish in state.problem.goal.soft if not state.holds(wish.condition)]
    return sum([*wishes, *[wish.utility or 0 for wish in watches.forgone]])


def brute_force(problem: Problem, max_states: int = 10_000) -> Number | None:
    """Return the cost of a best plan; None where there is no plan. Raises as `brute_force_plan` does."""
    found = brute_force_plan(problem, max_states)
    return None if found is None else found.cost


@dataclass(frozen=True, slots=True)
class TransitionSystem:
    """What a problem looks like from outside: which steps can be taken, what they cost, and where the goal holds.

    States are numbered breadth first from 0, the initial state; states that no sequence of steps can tell apart are
    one. So two problems that mean the same have equal systems, whatever their facts are called.
    `transitions[s]` maps the steps that can be taken in state s to their successors; `goals` are the states in which
    the goal holds.
    """

    transitions: tuple[dict[Step, int], ...]
    goals: frozenset[int]


def transition_system(
    problem: Problem, max_states: int = 2_000, *, label: Callable[[Step], Step] | None = None
) -> TransitionSystem:
    """Return the ground transition system of the declared problem; `label` may give other names to its steps.

    Raises `TooManyStates` when more than `max_states` states can be reached.
    """
    numbers: dict[StateKey, int] = {}
    queue = [Simulation(problem)]
    numbers[key_of(queue[0])] = 0
    transitions: list[dict[Step, int]] = []
    for state in queue:
        row = {}
        for step, after in successors(state):
            number = numbers.setdefault(key_of(after), len(numbers))
            if number == len(queue):
                if len(queue) >= max_states:
                    raise TooManyStates(f"more than {max_states} states")
                queue.append(after)
            row[label(step) if label else step] = number
        transitions.append(row)
    goals = {number for number, state in enumerate(queue) if state.holds(problem.goal.hard)}
    return _minimised(transitions, goals)


def _minimised(transitions: list[dict[Step, int]], goals: set[int]) -> TransitionSystem:
    """Merge the states that no sequence of steps can tell apart (partition refinement; Moore 1956)."""
    block = [int(number in goals) for number in range(len(transitions))]
    while True:
        signatures: dict[tuple[int, frozenset[tuple[Step, int]]], int] = {}
        refined = [
            signatures.setdefault(
                (block[number], frozenset((step, block[target]) for step, target in row.items())), len(signatures)
            )
            for number, row in enumerate(transitions)
        ]
        if len(signatures) == len(set(block)):
            break
        block = refined
    return _renumbered({block[number]: row for number, row in enumerate(transitions)}, block, goals)


def _renumbered(rows: dict[int, dict[Step, int]], block: list[int], goals: set[int]) -> TransitionSystem:
    """Return the system with its blocks numbered breadth first, steps taken by name and arguments."""
    order = [block[0]]
    numbers = {block[0]: 0}
    transitions = []
    for current in order:
        row = {}
        for step, target in sorted(rows[current].items(), key=lambda item: (item[0].action, item[0].arguments)):
            row[step] = numbers.setdefault(block[target], len(numbers))
            if row[step] == len(order):
                order.append(block[target])
        transitions.append(row)
    return TransitionSystem(tuple(transitions), frozenset(numbers[block[goal]] for goal in goals))
