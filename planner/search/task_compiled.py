"""The parts that all compiled searches share: arrays of a task, growing registries of states, and counts of work."""

from __future__ import annotations

import math
import threading
from array import array
from collections.abc import Callable, Generator, Mapping, Sequence
from copy import copy
from functools import cached_property

from planner.heuristics import relaxation_compiled
from planner.heuristics.abstractions.cost_partitioning_kernel import Tables
from planner.heuristics.landmarks import Landmarks, find_landmarks
from planner.heuristics.landmarks_kernel import Milestones
from planner.heuristics.relaxation import RelaxedTask, relax
from planner.heuristics.relaxation_kernel import Exploration, Relaxed
from planner.jit import library
from planner.jit import slots_kernel as slot
from planner.jit.arrays import count_bytes, empty_index, flatten, index, lengthen, words, zeros
from planner.jit.common_kernel import ENTRIES, NOTHING, PAUSED
from planner.jit.library import Call
from planner.lightweight import TYPE_CHECKING, Any, Final, TypeVar, dataclass, replace
from planner.limits import never
from planner.pruning.stubborn_sets_compiled import make_tables
from planner.pruning.stubborn_sets_kernel import Stubborn
from planner.pruning.symmetries import SECONDS
from planner.pruning.symmetries_compiled import Orbits, find_orbits
from planner.search.search_run import Run
from planner.task.ground_task import State, Task
from planner.task.packed_task_compiled import (
    Packing,
    branch_space,
    choose_packing,
    pack_conjunction,
    pack_initial_state,
    pack_space,
)
from planner.task.state_registry_kernel import Registry

if TYPE_CHECKING:
    from planner.task.numeric_task_compiled import NumericSpace

T = TypeVar("T")

WORK: Final = 4_000_000
"""Steps of inner loops between two pauses: about 10 ms."""
MOST_COST: Final = 1 << 56
"""Kernels prune states from this cost on; a search that has pruned any of them proves nothing."""
SPARE: Final = 1 << 52
"""Upper bound of the cost of an action, and of the sum of all action costs."""


class Board:
    """The arrays of `task` and the kernels `entries`; it builds optional arrays at first use.

    Searches may share a board if they take turns: `found` and `stack` are buffers for the applicable actions of a
    state, and `tables` are the abstractions that one of the searches has prepared. A search that is at work in another
    thread has a `branch` of it. `check` raises at a limit. Random numbers of abstractions are drawn from `seed`. With
    `patient`, symmetries are found without a time limit. `relaxation` is that of the task, where it is known already.

    If the task is that of a `numeric` space, `row` words of a state are `packed.words` for facts and one for each
    variable.
    """

    def __init__(
        self,
        task: Task,
        entries: Mapping[str, Call],
        check: Callable[[], None] = never,
        *,
        seed: int = 0,
        patient: bool = False,
        numeric: NumericSpace | None = None,
        relaxation: RelaxedTask | None = None,
    ) -> None:
        self.task, self.entries, self.check, self.seed, self._patient = task, entries, check, seed, patient
        self.numeric = numeric
        self.packed = choose_packing(task) if numeric is None else numeric.packing
        check()
        self.space = pack_space(task, self.packed, check) if numeric is None else numeric.space
        check()
        self.initial = pack_initial_state(task, self.packed, self.space) if numeric is None else numeric.initial
        self.row = len(self.initial)
        self.actions = len(task.actions)
        self.costs = [action.cost for action in task.actions]
        self.found = empty_index(self.actions + 1)
        self.stack = empty_index(len(self.space.tree.action_start))
        self.tables: Tables | None = None
        self._kept: dict[str, Any] = {} if relaxation is None else {"relaxation": relaxation}
        """What searches only read, by name, for all branches."""
        self._lock = threading.RLock()

    def branch(self, check: Callable[[], None]) -> Board:
        """Return a board for a search in another thread, with memory of its own for all that searches write to."""
        other = copy(self)
        for name in ("exploration", "stubborn", "orbits"):
            other.__dict__.pop(name, None)
        other.check, other.tables = check, None
        other.found, other.stack = empty_index(len(self.found)), empty_index(len(self.stack))
        other.space = branch_space(self.space)
        if self.numeric is not None:
            other.numeric = replace(self.numeric, space=other.space)
        return other

    def _share(self, name: str, make: Callable[[], T]) -> T:
        """Return what all branches have under this `name`; make it at the first call.

        No other lock is taken meanwhile, not even that of a cached property.
        """
        with self._lock:
            if name not in self._kept:
                self._kept[name] = make()
            return self._kept[name]  # type: ignore[no-any-return]

    @property
    def relaxation(self) -> RelaxedTask:
        """The delete relaxation."""
        return self._share("relaxation", lambda: relax(self.task))

    @property
    def relaxed(self) -> Relaxed:
        """The delete relaxation as arrays."""
        return self._share("relaxed", lambda: relaxation_compiled.pack_relaxation(self.relaxation, self.costs))

    def price_relaxation(self, costs: Sequence[int]) -> Relaxed:
        """Return the relaxation with other `costs` of the actions."""
        return self.relaxed._replace(cost=relaxation_compiled.price_operators(self.relaxation, costs))

    @cached_property
    def exploration(self) -> Exploration:
        """Working memory for explorations of the relaxation."""
        return relaxation_compiled.make_exploration(self.relaxation, self._missing[:], self.costs, self.packed)

    @cached_property
    def _missing(self) -> array[int]:
        """The number of unmet preconditions of each operator in the state whose words are all 0."""
        return relaxation_compiled.count_missing(self.relaxation, self.packed)

    @property
    def milestones(self) -> Milestones:
        """The landmarks as arrays."""
        return self._share(
            "milestones", lambda: packed_milestones(find_landmarks(self.task, self.relaxation, self.check), self.packed)
        )

    @cached_property
    def stubborn(self) -> Stubborn | None:
        """The tables for stubborn sets; None if they are unsound for the task, or would take too long."""
        return make_tables(self.task, self.packed, self.check) if self.numeric is None else None

    @cached_property
    def orbits(self) -> Orbits | None:
        """The symmetries of the task; None if there are none."""
        seconds = math.inf if self._patient else SECONDS
        if self.numeric is not None:
            from planner.pruning.numeric_symmetries import find_numeric_orbits

            return find_numeric_orbits(self.numeric, self.check, seconds)
        return find_orbits(self.task, self.packed, self.space, self.check, seconds)

    def unpack_state(self, registry: Registry, number: int) -> State:
        """Return the base facts of state `number` of a registry, as bits."""
        first = number * self.row
        return self.packed.unpack(registry.state[first : first + self.packed.words], len(self.task.variables))

    def retarget(self, state: Sequence[int], goal: Sequence[int]) -> Board:
        """Return a board from another packed `state` to another `goal`, given by base facts.

        Only searches without proofs may use it: `stubborn`, `orbits` and `tables` are still those of the whole goal.
        """
        part = copy(self)
        part.initial = list(state)
        part.space = self.space._replace(goal=pack_conjunction(goal, self.packed))
        relaxed = relaxation_compiled.replace_goal(self.relaxed, self.relaxation, goal)
        part._kept = {**self._kept, "relaxed": relaxed}  # noqa: SLF001 - it is a copy of this board
        missing = self._missing[:]
        missing[-1] = len(set(goal).difference(relaxation_compiled.facts_of_zero(self.packed)))
        part.exploration = relaxation_compiled.make_exploration(self.relaxation, missing, self.costs, self.packed)
        return part


def tier_of(entries: Mapping[str, Call], *kernels: str) -> str:
    """Return the tier of searches by these modules of `kernels`, named as `planner.jit.library` names them."""
    return "interpreted" if entries is ENTRIES or library.load(*kernels) is None else "compiled"


def packed_milestones(marks: Landmarks, packed: Packing) -> Milestones:
    """Return landmarks as arrays."""
    places = [packed.places[fact] for facts in marks.facts for fact in facts]
    return Milestones(
        flatten(marks.facts)[0],
        index(word for word, _, _ in places),
        words(mask for _, mask, _ in places),
        words(bits for _, _, bits in places),
        *flatten(marks.before),
        *flatten(marks.needed_for),
        index(map(int, marks.goals)),
    )


def new_registry(initial: list[int], states: int, entries: Mapping[str, Call]) -> Registry:
    """Allocate a registry with room for this number of `states`, and the packed initial state as number 0."""
    registry = Registry(zeros(states * len(initial)), empty_index(1 << (2 * states).bit_length()))
    for word, value in enumerate(initial):
        registry.state[word] = value
    entries["rehash_states"](registry, 1, len(initial))
    return registry


def enlarge_table(registry: Registry, count: int, states: int, words: int, entries: Mapping[str, Call]) -> Registry:
    """Return `registry`, which has `count` states, with a hash table large enough for this number of `states`."""
    if 2 * states > len(registry.table):
        registry = registry._replace(table=empty_index(1 << (4 * states).bit_length()))
        entries["rehash_states"](registry, count, words)
    return registry


def ensure_length(length: int, *arrays: array[int]) -> None:
    """Lengthen each of `arrays` in place to at least `length` elements."""
    for each in arrays:
        if length > len(each):
            lengthen(each, length)


def trace_actions(parent: array[int], action: array[int], node: int) -> list[int]:
    """Return the actions that lead to `node` from the node without a parent."""
    actions: list[int] = []
    while parent[node] != NOTHING:
        actions.append(action[node])
        node = parent[node]
    return actions[::-1]


def were_cut_off(run: Run, costs: array[int]) -> bool:
    """Return whether kernels may have pruned states by `MOST_COST`; `costs` are those of all other states."""
    return run.limit > MOST_COST and max(costs) >= MOST_COST - 2 * SPARE


LEAST_WORK: Final = 20
"""Steps of inner loops that each expansion takes at least, in all kernels of searches."""


@dataclass(slots=True)
class WorkCounter:
    """Adds the increase of the counters in `number` since the last update to the statistics of `run`."""

    run: Run
    number: array[int]
    evaluated: int = 0
    expanded: int = 0
    generated: int = 0
    stored: int = 0
    stored_bytes: int = 0

    def update(self, *records: Any) -> None:
        """Bring `run` up to date; `records` are those that grow with the states."""
        number = self.number
        counts = {
            "evaluated": number[slot.EVALUATIONS],
            "expanded": number[slot.EXPANSIONS],
            "generated": number[slot.GENERATED],
            "stored": number[slot.STATES],
            "stored_bytes": count_bytes(*records),
        }
        for name, count in counts.items():
            setattr(self.run, name, getattr(self.run, name) + count - getattr(self, name))
            setattr(self, name, count)

    def call_watched(
        self, call: Callable[[int], int], work: int, update: Callable[[], None], look: Callable[[], None]
    ) -> Generator[None, None, int]:
        """Call a kernel for `work` steps, and `update` the counts; return the result of the kernel.

        If expansions are watched, the kernel is called in parts, which together do the same: a part ends with an
        expansion, which `look` reports, or before the limit on expansions could be exceeded.
        """
        number, watch, done = self.number, self.run.watch, 0
        if watch is None:
            outcome = call(work)
            update()
            return outcome
        while True:
            before = self.expanded
            outcome = call(min(LEAST_WORK * (watch.rest() - 1) + 1, work - done))
            update()
            done += number[slot.WORK]
            if self.expanded > before:
                watch.expanded += self.expanded - before
                if watch.tells:
                    look()
            if outcome != PAUSED or done >= work:
                number[slot.WORK] = done
                return outcome
            yield
