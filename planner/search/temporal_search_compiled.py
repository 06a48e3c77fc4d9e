"""Search in time by kernels."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate

from planner.heuristics.numeric_relaxation_compiled import relax_numeric
from planner.jit import slots_kernel as slot
from planner.jit.arrays import empty_index, flatten, index, words, zeros
from planner.jit.common_kernel import FOUND, FULL, INFINITE, NOTHING
from planner.jit.library import Call
from planner.lightweight import Final, replace
from planner.search import task_compiled
from planner.search.search_run import Ending, Run, Steps
from planner.search.task_compiled import ensure_length
from planner.search.temporal_best_first_kernel import FREE, LATER, SHIFT, Lapses, TemporalPaths, TemporalQueues
from planner.task.numeric_task_compiled import NumericSpace
from planner.task.packed_task_compiled import pack_conjunctions
from planner.task.temporal_task import ENDING, FOREVER, INSTANT, Doom, TemporalTask

WORK: Final = 2_000_000
"""Steps of inner loops between two pauses: some milliseconds."""
SEEN: Final = 1 << 19
"""Number of words in the table of novelty, of 32 bits each in use: 4 MiB."""
MOST_PLACES: Final = 48
"""Most lapses that run at once."""
SPARE: Final = 2
"""Rows of the registry, behind its states, that a search writes to."""


def pack_lapses(task: TemporalTask, space: NumericSpace) -> Lapses:
    """Return the lapses of `task` as arrays."""
    lapses, dooms = list(task.lapses), list(task.dooms or ((),) * len(task.lapses))
    longer = [NOTHING] * len(lapses)
    for place, lapse in enumerate(task.lapses):
        if not lapse.is_fixed:
            longer[place] = len(lapses)
            lapses.append(
                replace(lapse, ticks=lapse.slack, variable=lapse.greatest, divisor=lapse.greatest_divisor),
            )
            dooms.append(dooms[place])
            slack = lapse.slack if lapse.greatest is None else FOREVER
            dooms[place] = tuple([replace(each, ticks=each.ticks - slack) for each in dooms[place]])
    added = len(lapses) - len(task.lapses)
    numbers = {INSTANT: NOTHING, ENDING: len(lapses) + 1}
    invariants: list[list[int]] = []
    conjunctions: list[tuple[int, ...]] = []
    for lapse in lapses:
        invariants.append([*range(len(conjunctions), len(conjunctions) + len(lapse.invariants))])
        conjunctions += lapse.invariants
    return Lapses(
        index(numbers.get(each, each) for each in task.begins),
        index([*longer, *[NOTHING] * added]),
        index([*[0] * len(task.lapses), *[1] * added]),
        words(lapse.ticks for lapse in lapses),
        index(NOTHING if lapse.variable is None else lapse.variable for lapse in lapses),
        words(lapse.factor for lapse in lapses),
        words(lapse.divisor for lapse in lapses),
        *flatten([lapse.ends for lapse in lapses]),
        *flatten(invariants),
        pack_conjunctions(conjunctions, space.packing),
        *_pack_dooms(dooms, space),
    )


def _pack_dooms(dooms: Sequence[Sequence[Doom]], space: NumericSpace) -> tuple[array[int], ...]:
    joined = [each for own in dooms for each in own]
    places = [space.packing.places[each.fact + 1] for each in joined]
    return (
        index(accumulate(map(len, dooms), initial=0)),
        words(each.ticks for each in joined),
        index(word for word, _, _ in places),
        words(mask for _, mask, _ in places),
        words(bits for _, _, bits in places),
    )


class TemporalBestFirst:
    """Lazy greedy best-first search over decision epochs; `take` is told the actions of each plan that is found.

    Of equal states the oldest comes first, or the `youngest`. If `novel`, states with a new value come before the
    others. Each `pace` ticks that a plan takes count as much as a step; 0 leaves them out. `take` returns the tick
    before which better plans end.
    """

    def __init__(
        self,
        task: TemporalTask,
        space: NumericSpace,
        entries: Mapping[str, Call],
        take: Callable[[list[int]], int],
        *,
        youngest: bool = False,
        novel: bool = False,
        pace: int = 0,
        room: int = 4096,
    ) -> None:
        self._task, self._space, self._entries, self.take = task, space, entries, take
        self._options = (int(youngest), int(novel), pace)
        self._lapses = pack_lapses(task, space)
        self._places = min(MOST_PLACES, len(task.lapses) + 1)
        free = [task.begins[number] != ENDING for number in range(len(task.begins))]
        self._relaxation = relax_numeric(space, [int(each) for each in free])
        number = self._number = zeros(slot.HOW_MANY)
        number[slot.STATES] = 1
        number[slot.BEST] = INFINITE
        number[slot.LIMIT] = INFINITE
        agenda = sorted(
            (lapse.ticks << SHIFT) + place for place, lapse in enumerate(task.lapses) if place >= task.events
        )
        agenda += [FREE] * (self._places - len(agenda))
        self._places = len(agenda)
        initial = [*space.initial, *agenda]
        self._row = len(initial)
        length = room + SPARE
        self._registry = task_compiled.new_registry(initial, length, entries)
        self._paths = TemporalPaths(empty_index(length), empty_index(length), zeros(length), zeros(length))
        batches, self._actions = 2 * length, len(space.source.task.actions)
        edges = 4 * length + 2 * self._actions + 8
        self._queues = TemporalQueues(
            zeros(batches),
            empty_index(batches),
            zeros(batches),
            empty_index(batches),
            *[index([0]) * length for length in (batches, batches, batches, edges)],
        )
        self._seen = zeros(SEEN)
        self._found = empty_index(self._actions + 1)
        self._stack = empty_index(len(space.space.tree.action_start))

    @property
    def limit(self) -> int:
        """The tick before which plans must end."""
        return self._number[slot.LIMIT]

    @limit.setter
    def limit(self, ticks: int) -> None:
        self._number[slot.LIMIT] = min(ticks, INFINITE)

    def has_evaluated_fewer(self, states: int) -> bool:
        """Return whether the search has evaluated fewer states than that."""
        return self._number[slot.EVALUATIONS] < states

    def steps(self, run: Run) -> Steps:
        """Search for plans, each of which ends before those found before."""
        number = self._number
        counter = task_compiled.WorkCounter(run, number)
        while True:
            outcome = self._call()
            counter.update(self._registry, self._paths, self._queues)
            if outcome == FOUND:
                self.limit = self.take(self._trace(number[slot.GOAL_STATE]))
            elif outcome == FULL:
                self._grow()
            elif outcome:
                return Ending.INCOMPLETE
            yield

    def _call(self) -> int:
        space = self._space
        return self._entries["temporal_best_first"](
            WORK,
            self._places,
            *self._options,
            self._number,
            space.space,
            space.preconditions,
            self._lapses,
            self._registry,
            self._paths,
            self._queues,
            self._relaxation.relaxed,
            self._relaxation.room,
            self._seen,
            self._found,
            self._stack,
        )

    def _trace(self, state: int) -> list[int]:
        found = task_compiled.trace_actions(self._paths.parent, self._paths.action, state)
        return [action for action in found if action != LATER]

    def _grow(self) -> None:
        number, paths, queues = self._number, self._paths, self._queues
        states = number[slot.STATES]
        if states + SPARE >= len(paths.parent) or 2 * (states + 1) > len(self._registry.table):
            length = states + states // 2 + SPARE + 1
            ensure_length(length, *paths)
            length = len(paths.parent)
            ensure_length(length * self._row, self._registry.state)
            self._registry = task_compiled.enlarge_table(self._registry, states, length, self._row, self._entries)
        if number[slot.BATCHES] + 2 >= len(queues.state):
            ensure_length(2 * len(queues.state), *queues[:7])
        least = number[slot.EDGES] + 2 * len(self._found) + 2 * self._places + 4
        if least >= len(queues.edge):
            ensure_length(least + len(queues.edge) // 2 + 1, queues.edge)
