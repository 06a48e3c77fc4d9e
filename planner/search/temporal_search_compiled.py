"""Search in time by kernels."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import accumulate

from planner.jit import slots_kernel as slot
from planner.jit.arrays import flatten, index, words
from planner.jit.common_kernel import INFINITE, NOTHING
from planner.jit.library import Call
from planner.lightweight import Final, replace
from planner.search.best_first_compiled import BestFirst
from planner.search.best_first_kernel import LATER
from planner.search.search_run import Ending, Run
from planner.task.lapses_kernel import FREE, SHIFT, Lapses
from planner.task.numeric_task_compiled import NumericSpace
from planner.task.packed_task_compiled import pack_conjunctions
from planner.task.temporal_task import ENDING, FOREVER, INSTANT, Doom, TemporalTask

MOST_PLACES: Final = 48
"""Most lapses that run at once."""


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


class TemporalBestFirst(BestFirst):
    """Lazy greedy best-first search over decision epochs; `take` is told the actions of each plan that is found.

    It returns the tick before which better plans end.
    """

    def __init__(
        self,
        task: TemporalTask,
        space: NumericSpace,
        entries: Mapping[str, Call],
        take: Callable[[list[int]], int],
        *,
        options: Collection[str] = (),
        pace: int = 0,
    ) -> None:
        self.take = take
        places = min(MOST_PLACES, len(task.lapses) + 1)
        agenda = sorted(
            (lapse.ticks << SHIFT) + place for place, lapse in enumerate(task.lapses) if place >= task.events
        )
        agenda += [FREE] * (places - len(agenda))
        costs = [int(begun != ENDING) for begun in task.begins]
        lapses = pack_lapses(task, space)
        super().__init__(space, entries, costs, lapses=lapses, agenda=agenda, options=options, pace=pace)

    @property
    def limit(self) -> int:
        """The tick before which plans must end."""
        return self._number[slot.LIMIT]

    @limit.setter
    def limit(self, ticks: int) -> None:
        self._number[slot.LIMIT] = min(ticks, INFINITE)

    def _take_plan(self, run: Run, state: int) -> Ending | None:  # noqa: ARG002 - `take` reports the schedule
        self.limit = self.take([action for action in self._trace(state) if action != LATER])
        return None

    def _note_left_out(self, run: Run) -> None:
        """Say nothing: no plan was excluded."""
