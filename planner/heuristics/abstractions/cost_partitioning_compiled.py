"""Orders of abstractions for saturated cost partitioning, diversified over sample states.

An order is greedy for one sample: abstractions come first that have a high estimate and take little of what others
need. The search keeps an order if it improves the estimate of some sample (Seipp, Keller and Helmert, 2020). During the
search, sampled states yield new projections and orders (Seipp, 2021).
"""

from __future__ import annotations

import random
from array import array
from collections.abc import Generator, Iterable, Sequence
from itertools import accumulate, pairwise
from typing import Final

from planner.heuristics.abstractions import abstract_states_kernel as kernel
from planner.heuristics.abstractions.abstract_states_kernel import NO_NEED, Shares
from planner.heuristics.abstractions.cartesian import Cartesian
from planner.heuristics.abstractions.cost_partitioning import order_abstractions
from planner.heuristics.abstractions.cost_partitioning_kernel import Samples, Tables
from planner.heuristics.abstractions.projections import (
    Moves,
    Pattern,
    find_moves,
    generate_interesting,
    generate_random,
    links_of,
)
from planner.heuristics.abstractions.projections_compiled import Gathered, Projections, pack_moves
from planner.jit import slots_kernel as slot
from planner.jit.arrays import empty_index, index, words, zeros
from planner.lightweight import dataclass
from planner.search.search_run import Pauses
from planner.search.task_compiled import WORK, Board
from planner.task.state_registry_kernel import LOW_BITS


class Sharing:
    """Shares the costs of the task on `board` among `projections`; its generators pause often.

    `works` estimates the steps that it takes to share the costs of each abstraction.
    """

    def __init__(self, board: Board, projections: Projections) -> None:
        self._board, self.projections = board, projections
        self.every: Sequence[int] = range(len(projections.patterns))
        self.useful: Sequence[int] = self.every
        starts, edges = projections.spaces.state_start[: len(self.every) + 1], projections.spaces.edge_start
        self._sizes = [after - before for before, after in pairwise(starts)]
        self.works = [8 * (edges[after] - edges[before]) + 20 * (after - before) for before, after in pairwise(starts)]
        self._shares = make_shares(projections, board.costs)
        self._first = words(accumulate(self._sizes, initial=0))
        self._alone, self._table = empty_index(self._first[-1]), empty_index(self._first[-1])
        self._stolen = zeros(len(self.every))
        self.lookup = projections.lookup(projections.patterns)

    def compare_abstractions(self, useful: Sequence[int]) -> Pauses:
        """Restrict to these abstractions; compute their own estimates and the costs they take from others."""
        self.useful = useful
        self._shares.cost[:] = words(self._board.costs)
        self._shares.total[:] = zeros(len(self._shares.total))
        base = words(self._first[number] for number in useful)
        for mode in (kernel.INDEPENDENT, kernel.STOLEN):
            yield from self._run(mode, useful, base, self._alone)

    def find_order(self, samples: Samples, sample: int) -> list[int]:
        """Return a greedy order for a sample."""
        values = self.estimate_sample(samples, sample)
        places = order_abstractions([values[number] for number in self.useful], self._stolen)
        return [self.useful[place] for place in places]

    def estimate_sample(self, samples: Samples, sample: int) -> list[int]:
        """Return the estimate of a sample by each abstraction alone."""
        parts = len(self.every)
        states = samples.at[sample * parts : (sample + 1) * parts]
        return [self._alone[first + state] for first, state in zip(self._first, states, strict=False)]

    def share_in(self, order: list[int]) -> Generator[None, None, Tables]:
        """Share costs in this order; return the distances, which the next call overwrites."""
        base = words(accumulate([self._sizes[number] for number in order], initial=0))
        self._shares.cost[:] = words(self._board.costs)
        yield from self._run(kernel.IN_ORDER, order, base, self._table)
        return Tables(self.lookup, index([0, len(order)]), index(order), base, self._table, empty_index(1))

    def _run(self, mode: int, order: Iterable[int], base: array[int], table: array[int]) -> Pauses:
        numbers, at = index(order), 0
        share = self._board.entries["share_costs"]
        while at < len(numbers):
            at = share(mode, WORK, at, self.projections.spaces, self._shares, numbers, base, table, self._stolen)
            yield


def make_shares(projections: Projections, costs: Iterable[int]) -> Shares:
    """Allocate working memory for sharing `costs` among `projections`."""
    spaces, left = projections.spaces, words(costs)
    states = spaces.state_start[: len(projections.patterns) + 1]
    edges = [spaces.edge_start[state] for state in states]
    groups = _find_widest(spaces.group_start[: len(states)])
    return Shares(
        left,
        zeros(len(left)),
        words([NO_NEED]) * len(left),
        zeros(groups),
        zeros(groups),
        zeros(_find_widest(states) + _find_widest(edges)),
        empty_index(_find_widest(states) + _find_widest(edges)),
        zeros(_find_widest(states)),
    )


def _find_widest(starts: Sequence[int]) -> int:
    return max([after - before for before, after in pairwise(starts)], default=0)


LONGEST: Final = 1000
"""Average number of steps of random walks."""


def make_samples(board: Board, sharing: Sharing, states: Sequence[Sequence[int]], most: int = 0) -> Samples:
    """Return the `states`, given by their words, that are not dead, with room for up to `most` of them."""
    parts, width = len(sharing.every), board.packed.words
    found, room = Samples(zeros(3), words([]), index([]), words([])), zeros(1)
    shown = Tables(sharing.lookup, index([0]), index([]), words([]), index([]), index([0]) * (parts + 1))
    for state in states:
        room[:] = words(state)
        if board.entries["locate_state"](shown, room):
            found.state.extend(room)
            found.at.extend(shown.at[:parts])
            found.counts[0] += 1
    length = max(most, found.counts[0])
    found.state.extend(zeros((length + 2) * width - len(found.state)))
    found.at.extend(index([0]) * (length * parts - len(found.at)))
    found.best.extend(words([-1]) * length)
    return found


def sample_walks(board: Board, sharing: Sharing, most: int) -> Generator[None, None, Samples]:
    """Return up to `most` samples: the initial state, and ends of random walks; none if the initial state is dead."""
    samples = make_samples(board, sharing, [board.initial], most)
    if not samples.counts[0]:
        return samples
    average = max(1, sum(board.costs) // max(1, board.actions))
    far = max(sharing.estimate_sample(samples, 0), default=0)
    length = max(2, min(LONGEST, 2 * far // average))
    walk, number = board.entries["walk_randomly"], zeros(slot.HOW_MANY)
    number[slot.RANDOM] = board.seed & LOW_BITS
    while not walk(WORK, length, number, board.space, sharing.lookup, samples, board.found, board.stack):
        yield
    return samples


SMALL: Final = 2
"""Number of variables of the first patterns, ..."""
LARGEST: Final = 3
"""... and of the largest patterns that are enumerated systematically, if time allows."""
SIZES: Final = (2_000, 8_000, 20_000)
"""Maximum numbers of states of larger patterns."""
UNTIL: Final = (30, 60, 100)
"""Percentages of the effort at which small, larger, and medium patterns end."""
PATTERN: Final = 50_000
"""Steps of inner loops that count for each projection beside its own."""
KNOWN: Final = 100
"""Number of successive known patterns after which the search expects no others."""
FEWEST: Final = 2
"""Minimum number of orders of all abstractions."""
SAMPLES: Final = 1000
MOST_STATES: Final = 2_000_000
"""Maximum number of abstract states at a time."""
MOST_TRANSITIONS: Final = 8_000_000
MOST_VALUES: Final = 25_000_000
"""Maximum number of stored distances, over all orders."""
REFINING: Final = 100_000_000
"""Effort for Cartesian abstractions, in steps of inner loops."""
BUILDING: Final = 50_000_000
"""Effort for the first projections."""
SHARING: Final = 150_000_000
"""Effort for finding orders."""


@dataclass(slots=True)
class Order:
    """A cost partitioning: the patterns that take part, and the start of the distances of each in `values`."""

    patterns: list[Pattern]
    base: list[int]
    values: array[int]


class Partitions:
    """Estimates of the task on `board` by saturated cost partitioning; `tables` exist once prepared."""

    def __init__(self, board: Board, *, samples: int | None = None) -> None:
        self._board = board
        self._most_samples = SAMPLES if samples is None else samples
        self.orders: list[Order] = []
        self._draw = random.Random(board.seed)
        self._useful: set[Pattern] = set()
        self._cartesian: Gathered
        self._sharing: Sharing
        self._moves: Moves

    def prepare(self) -> Pauses:
        """Build abstractions and find orders, within the effort of each; yields often."""
        made = self._moves = find_moves(self._board.task, self._board.packed, self._board.check)
        yield
        # a canonical state of a reached state may be unreachable
        self._anywhere = self._board.orbits is not None
        self._arrays = pack_moves(self._board.task, made)
        yield
        cartesian = Cartesian(self._board, made, self._arrays, anywhere=self._anywhere)
        yield from cartesian.make(REFINING)
        self._cartesian = cartesian.gathered
        links = links_of(made)
        yield
        larger = generate_interesting(made, LARGEST, least=SMALL + 1, links=links)
        drawn = generate_random(made, SIZES, links, self._board.seed)
        self._sources = (generate_interesting(made, SMALL, links=links), drawn, larger)
        yield from self._collect(BUILDING)
        samples = yield from sample_walks(self._board, self._sharing, self._most_samples)
        yield from self._find(samples, SHARING)

    def renew(self, states: Sequence[Sequence[int]], work: int) -> Generator[None, None, bool]:
        """Find orders with new projections for `states`, given by their words, within this number of steps.

        Returns whether any order was kept.
        """
        before = len(self.orders)
        yield from self._collect(work // 2)
        samples = make_samples(self._board, self._sharing, states)
        for order in self.orders:
            self._board.entries["judge_order"](self._index_orders([order]), samples)
        yield from self._find(samples, work // 2)
        return len(self.orders) > before

    def _collect(self, work: int) -> Pauses:
        """Add projections to the useful abstractions (at first: all Cartesian ones), for about this number of steps."""
        board = self._board
        others, anywhere = self._cartesian, self._anywhere
        found = Projections(self._moves, self._arrays, board.packed, board.entries, others, anywhere=anywhere)
        if not self.orders:
            self._useful = {(~number,) for number in range(len(self._cartesian.roots))}
        for pattern in sorted(self._useful.union(*(order.patterns for order in self.orders))):
            found.add(pattern)
            yield
        spent = 0
        for patterns, until in zip(self._sources, UNTIL, strict=True):
            known = 0
            for pattern in patterns:
                known = known + 1 if pattern in found.number else 0
                if not known:
                    found.add(pattern)
                    spent += found.counts[kernel.WORK] + PATTERN
                    yield
                edges, states = found.counts[kernel.EDGES], found.counts[kernel.STATES]
                if (
                    known == KNOWN
                    or 100 * spent > until * work
                    or 100 * edges > until * MOST_TRANSITIONS
                    or 100 * states > until * MOST_STATES
                ):
                    break
        self._sharing = Sharing(board, found)
        yield from self._sharing.compare_abstractions(self._sharing.every)

    def _find(self, samples: Samples, work: int) -> Pauses:
        """Try orders for one sample after another, for about this number of steps.

        From half time on, orders consist of useful abstractions only.
        """
        sharing, spent, every = self._sharing, 0, True
        self._useful = {pattern for order in self.orders for pattern in order.patterns}
        for sample in range(samples.counts[0]):
            if spent > work or sum(len(order.values) for order in self.orders) > MOST_VALUES:
                break
            if every and sample >= FEWEST and spent > work // 2:
                every, spent = False, work // 2
                yield from sharing.compare_abstractions(
                    sorted([sharing.projections.number[pattern] for pattern in self._useful])
                )
            change = sample >= FEWEST and sample % 2
            order = self._vary_order(samples, sample) if change else sharing.find_order(samples, sample)
            made = yield from sharing.share_in(order)
            spent += sum([sharing.works[number] for number in order])
            self._judge(made, samples, every=every)

    def _judge(self, made: Tables, samples: Samples, *, every: bool) -> None:
        """Keep an order that improves any sample; if `every` abstraction takes part, record the useful ones."""
        better = self._board.entries["judge_order"](made, samples)
        if better or every:
            kept = self._compress(made)
            self._useful.update(kept.patterns)
            if better:
                self.orders.append(kept)

    def _vary_order(self, samples: Samples, sample: int) -> list[int]:
        """Return a kept order with a random abstraction moved to its front."""
        number, order = self._sharing.projections.number, self._draw.choice(self.orders)
        before = [number[pattern] for pattern in order.patterns]
        values = self._sharing.estimate_sample(samples, sample)
        first = [number for number in self._sharing.useful if values[number]]
        rest = [number for number in self._sharing.useful if number not in before]
        return [*dict.fromkeys([self._draw.choice(first), *before, *rest])] if first else [*before, *rest]

    def _compress(self, made: Tables) -> Order:
        """Return an order without abstractions whose distances are all 0."""
        kept = Order([], [], index([]))
        for number, (begin, end) in zip(made.part, pairwise(made.base), strict=True):
            values = made.value[begin:end]
            if max(values, default=0):
                kept.patterns.append(self._sharing.projections.patterns[number])
                kept.base.append(len(kept.values))
                kept.values += values
        return kept

    @property
    def held(self) -> list[tuple[array[int], ...]]:
        """The arrays that the next renewal needs."""
        projections = self._sharing.projections
        values = tuple([order.values for order in self.orders])
        return [projections.spaces, (projections.rank,), self._cartesian.spaces, values]

    @property
    def tables(self) -> Tables:
        """The distances of all orders."""
        if not self.orders:  # the initial state is dead
            return Tables(self._sharing.lookup, index([0]), index([]), words([]), index([]), self._room())
        used = sorted({pattern for order in self.orders for pattern in order.patterns})
        place = {pattern: place for place, pattern in enumerate(used)}
        made = self._join_orders(self.orders, place)
        return made._replace(lookup=self._sharing.projections.lookup(used))

    def _index_orders(self, orders: Iterable[Order]) -> Tables:
        """Return `orders` over all projections."""
        return self._join_orders(orders, self._sharing.projections.number)

    def _join_orders(self, orders: Iterable[Order], number: dict[Pattern, int]) -> Tables:
        starts, parts, bases, values = index([0]), index([]), words([]), index([])
        for order in orders:
            parts.extend(index(number[pattern] for pattern in order.patterns))
            bases.extend(words(len(values) + base for base in order.base))
            values.extend(order.values)
            starts.append(len(parts))
        return Tables(self._sharing.lookup, starts, parts, bases, values, self._room())

    def _room(self) -> array[int]:
        return empty_index(len(self._sharing.every) + 1)
