"""Saturated cost partitioning: each abstraction takes the costs that its distances need, and leaves the rest.

The abstractions take costs in an order. The estimate is the sum of their distances; since they share the costs, it
never exceeds the cost of a cheapest plan (Seipp, Keller and Helmert, 2020). The estimate of a state is the maximum over
several orders. `SCP_LM_CUT` is the maximum of this estimate and LM-cut. The compiled tier uses larger patterns,
Cartesian abstractions and more orders.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from planner.heuristics.abstractions.projections import AbstractSpace
from planner.heuristics.declare import Check, Heuristic, Kind
from planner.heuristics.lmcut import LM_CUT
from planner.lightweight import TYPE_CHECKING, Final
from planner.task.ground_task import INFINITY, State, Task, bits, facts_of

if TYPE_CHECKING:
    from planner.heuristics.abstractions.projections import AbstractSpace, Moves, Pattern

LARGEST: Final = 2
"""Maximum number of variables of a pattern."""
MOST_WORK: Final = 200_000
"""Limit of the sum, over all projections, of state indices times actions."""
SAMPLES: Final = 10
"""Number of sample states for orders, beside the initial state."""
FARTHEST: Final = 20
"""Maximum number of steps from the initial state to a sample."""


class Estimate:
    """The estimates of a task by `spaces`, its projections to `patterns`."""

    def __init__(self, made: Moves, patterns: Sequence[Pattern], spaces: Sequence[AbstractSpace]) -> None:
        from planner.heuristics.abstractions.projections import compute_factors

        self._places, self._spaces = made.places, spaces
        self._indices = [tuple(zip(pattern, compute_factors(made, pattern), strict=True)) for pattern in patterns]
        self._variables = len(made.sizes)
        self.orders: list[tuple[Sequence[int], list[list[int]]]] = []
        """Each an order, and the distances in its abstractions."""

    def __call__(self, state: State) -> int:
        """Return the maximum over all orders."""
        states = self.locate(state)
        if states is None:
            return INFINITY
        return max([sum_distances(states, order, tables) for order, tables in self.orders], default=0)

    def locate(self, state: State) -> list[int] | None:
        """Return the numbers of the abstract states of `state`; None if one of them is dead."""
        values = [0] * self._variables
        for fact in facts_of(state):
            if (place := self._places[fact]) is not None:
                values[place[0]] = place[1]
        found = []
        for space, index in zip(self._spaces, self._indices, strict=True):
            rank = space.ranks[sum([values[variable] * factor for variable, factor in index])]
            if rank < 0:
                return None
            found.append(rank)
        return found


def sum_distances(states: Sequence[int], order: Sequence[int], tables: Sequence[Sequence[int]]) -> int:
    """Return the sum of the distances of abstract `states`, one for each abstraction."""
    return sum([table[states[number]] for number, table in zip(order, tables, strict=True)])


def build(task: Task, costs: list[int], check: Check, seed: int = 0) -> Heuristic:
    """Build the heuristic for `task`, with samples drawn from `seed`."""
    from planner.heuristics.abstractions.projections import find_moves, make_exclusion, project
    from planner.task.packed_task_compiled import choose_packing

    made = find_moves(task, choose_packing(task), check)
    excluded, patterns, spaces = make_exclusion(task, made), [], []
    for pattern in _select_patterns(made):
        check()
        patterns.append(pattern)
        spaces.append(project(made, pattern, excluded))
    estimate = Estimate(made, patterns, spaces)
    diversify(estimate, spaces, costs, _sample_states(task, check, seed), check)
    return estimate


def diversify(
    estimate: Estimate, spaces: Sequence[AbstractSpace], costs: Sequence[int], states: Iterator[State], check: Check
) -> None:
    """Find orders that are good for some of the `states`, and add them to `estimate`."""
    samples = [located for state in states if (located := estimate.locate(state)) is not None]
    alone, taken = [space.compute_distances(costs) for space in spaces], measure_stolen(spaces, costs)
    best = [-1] * len(samples)
    for sample in samples:
        check()
        order = order_abstractions([table[state] for table, state in zip(alone, sample, strict=True)], taken)
        tables = share_costs(spaces, order, costs)
        values = [sum_distances(states, order, tables) for states in samples]
        if any(value > before for value, before in zip(values, best, strict=True)):
            estimate.orders.append((order, tables))
            best = [max(pair) for pair in zip(values, best, strict=True)]


def _select_patterns(made: Moves) -> Iterator[Pattern]:
    """Yield as many patterns as `MOST_WORK` allows."""
    from planner.heuristics.abstractions.projections import generate_interesting

    work = 0
    for pattern in generate_interesting(made, LARGEST):
        work += made.count_states(pattern) * (1 + sum([len(made.affecting[variable]) for variable in pattern]))
        if work > MOST_WORK:
            return
        yield pattern


def _sample_states(task: Task, check: Check, seed: int) -> Iterator[State]:
    """Yield the initial state, and the ends of random walks."""
    from planner.task.successor_generator import Space

    draw, space = random.Random(seed), Space(task)
    initial = bits(task.initial)
    yield initial
    for _ in range(SAMPLES):
        check()
        state = initial
        for _ in range(draw.randint(1, FARTHEST)):
            after = space.successors(state)
            if not after:
                break
            state = draw.choice(after)[1]
        yield state


SCP = Kind(build, "saturated cost partitionings over abstractions", admissible=True, consistent=True, draws=True)


def order_abstractions(estimates: Sequence[int], stolen: Sequence[int]) -> list[int]:
    """Order the abstractions by their distance in relation to the costs that they take from others.

    (Seipp, Keller and Helmert, 2020.)
    """
    return sorted(range(len(estimates)), key=lambda number: -estimates[number] / max(1, stolen[number]))


def share_costs(spaces: Sequence[AbstractSpace], order: Sequence[int], costs: Sequence[int]) -> list[list[int]]:
    """Return the distances in each of the `spaces`, by place in the `order`."""
    left, tables = list(costs), []
    for number in order:
        distances = spaces[number].compute_distances(left)
        for action, need in spaces[number].compute_needs(distances).items():
            left[action] -= need
        tables.append(distances)
    return tables


def measure_stolen(spaces: Sequence[AbstractSpace], costs: Sequence[int]) -> list[int]:
    """Return the costs that each of the `spaces` takes of the needs of others if it takes all that it needs."""
    needs = [space.compute_needs(space.compute_distances(costs)) for space in spaces]
    wanted = [0] * len(costs)
    for need in needs:
        for action, much in need.items():
            wanted[action] += max(0, much)
    return [sum([max(0, min(much, wanted[action] - costs[action])) for action, much in need.items()]) for need in needs]


def build_maximum(task: Task, costs: list[int], check: Check, seed: int = 0) -> Heuristic:
    """Build the maximum of saturated cost partitioning and LM-cut for `task`."""
    quick, thorough = build(task, costs, check, seed), LM_CUT.build(task, costs, check)

    def estimate(state: State) -> int:
        value = quick(state)
        return value if value == INFINITY else max(value, thorough(state))

    return estimate


SCP_LM_CUT = Kind(build_maximum, "the larger of scp and lmcut", admissible=True, draws=True)
