"""Search for scheduled sequences of steps by kernels."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from planner.grounding.clocks import Clocks
from planner.heuristics.numeric_relaxation_compiled import NumericRelaxation, relax_numeric
from planner.heuristics.timed_relaxation_kernel import TimedRelaxed, TimedRoom, Windows
from planner.jit import slots_kernel as slot
from planner.jit.arrays import empty_index, flatten, index, words, zeros
from planner.jit.common_kernel import FOUND, FULL, INFINITE, NOTHING
from planner.jit.library import Call
from planner.lightweight import Final, dataclass
from planner.limits import under_limits
from planner.search import task_compiled
from planner.search.edge_queues_compiled import allocate_queues, grow_queues
from planner.search.search_run import Ending, Run, Steps
from planner.search.task_compiled import ensure_length
from planner.search.temporal_search_compiled import pack_lapses
from planner.search.timed_sequences_kernel import SequencePaths, Times, Touched, Workspace
from planner.task.ground_task import effects_of
from planner.task.lapses_kernel import Lapses
from planner.task.numeric_task_compiled import NumericSpace
from planner.task.temporal_task import ENDING, TemporalTask

WORK: Final = 2_000_000
"""Steps of inner loops between two pauses: some milliseconds."""
PLAIN_WORK: Final = 20_000
"""The same without machine code."""
SPARE: Final = 4
"""Rows of the registry, behind its states, that a search writes to."""
COST: Final = 4
"""Cost of a step in the relaxation, where it is not disturbed."""


@dataclass(slots=True)
class SequenceSpace:
    """What all searches for sequences of one task share: the task as arrays, and its relaxation.

    So far, `estimated` relaxed plans were made.
    """

    task: TemporalTask
    space: NumericSpace
    clocks: Clocks
    separation: int
    relaxation: NumericRelaxation
    timed: TimedRelaxed
    touched: Touched
    windows: Windows
    lapses: Lapses
    estimated: int = 0

    @classmethod
    def of(cls, task: TemporalTask, space: NumericSpace, clocks: Clocks, separation: int) -> SequenceSpace:
        """Prepare the searches for sequences of `task`, whose happenings are `separation` ticks apart."""
        costs = [0 if begun == ENDING else COST for begun in task.begins]
        relaxation = relax_numeric(space, costs)
        return cls(
            task,
            space,
            clocks,
            separation,
            relaxation,
            _pack_running(task, relaxation),
            _pack_touched(task, space),
            _pack_windows(clocks),
            pack_lapses(task, space),
        )


def _pack_running(task: TemporalTask, relaxation: NumericRelaxation) -> TimedRelaxed:
    begun = [task.begins[action] if action != NOTHING else ENDING for action in relaxation.relaxed.action]
    running = [task.lapses[lapse].running if lapse >= 0 else -1 for lapse in begun]
    return TimedRelaxed(
        index(lapse if lapse >= 0 else NOTHING for lapse in begun),
        index(fact if fact >= 0 else NOTHING for fact in running),
    )


def _pack_touched(task: TemporalTask, space: NumericSpace) -> Touched:
    """Return the variables that actions and steps read and write."""
    variable_of, facts = space.packing.variable_of, len(space.packing.coding.word)
    terms = {each.fact: [facts + variable for variable, _ in each.terms] for each in task.source.conditions}

    def variables(literals: Iterable[int]) -> set[int]:
        if not terms:
            return {variable_of[fact] for fact in literals}
        return {variable for fact in literals for variable in terms.get(fact, [variable_of[fact]])}

    read: list[list[int]] = []
    written: list[list[int]] = []
    added: list[list[int]] = []
    for action, changes in under_limits(zip(task.source.task.actions, task.source.changes, strict=True)):
        if not (changes or action.conditional):
            read.append(sorted(variables(action.precondition)))
            written.append(sorted({variable_of[fact] for fact in (*action.adds, *action.deletes)}))
            added.append([])
            continue
        conditions = [each.condition for each in action.conditional]
        guards = [condition for each in changes for condition in each.conditions]
        effects = [each for group in changes for each in group.effects]
        depends = {facts + variable for each in effects for variable, _ in each.terms}
        sums = {facts + each.variable for each in effects if each.additive and not each.terms}
        sets = {facts + each.variable for each in effects if not each.additive or each.terms}
        changed = {variable_of[fact] for part in effects_of(action) for fact in (*part.adds, *part.deletes)}
        reads = depends.union(*[variables(each) for each in (action.precondition, *conditions, *guards)])
        read.append(sorted(reads))
        written.append(sorted(changed | sets))
        added.append(sorted(sums - sets))
    through = [sorted(variables([fact for each in lapse.invariants for fact in each])) for lapse in task.lapses]
    return Touched(*flatten(read), *flatten(written), *flatten(added), *flatten(through))


def _pack_windows(clocks: Clocks) -> Windows:
    return Windows(
        flatten([range(len(each)) for each in clocks.reads])[0],
        index(clock for each in clocks.reads for clock, _ in each),
        index(when for each in clocks.reads for _, when in each),
        flatten([range(len(each)) for each in clocks.windows])[0],
        words(opens for each in clocks.windows for opens, _ in each),
        words(closes for each in clocks.windows for _, closes in each),
    )


class TimedSequences:
    """Best-first search for scheduled sequences; `take` is told each one that ends before those found before.

    It is told the steps: the actions that start and end each (`NOTHING` without an end), when it starts, and how long
    it lasts. Each step that is still to come counts as `pace` ticks, and as `step` ticks where relaxed plans choose.
    `costs` are those of the actions in the relaxation. Sequences begin with the actions `prefix`, as far as they apply.
    """

    def __init__(
        self,
        shared: SequenceSpace,
        entries: Mapping[str, Call],
        take: Callable[[list[tuple[int, int, int, int]]], int],
        *,
        pace: int,
        step: int,
        youngest: bool = False,
        costs: Sequence[int] = (),
        prefix: Sequence[int] = (),
        room: int = 1024,
    ) -> None:
        self._shared, self._entries, self.take = shared, entries, take
        is_compiled = task_compiled.tier_of(entries, "timed_sequences") == "compiled"
        self._work = WORK if is_compiled else PLAIN_WORK
        number = self._number = zeros(slot.HOW_MANY)
        number[slot.PACE], number[slot.STEP], number[slot.SEPARATION] = pace, step, shared.separation
        number[slot.YOUNGEST] = int(youngest)
        number[slot.STATES], number[slot.BEST], number[slot.LIMIT] = 1, INFINITE, INFINITE
        number[slot.EXPANDED], number[slot.MANY] = NOTHING, len(prefix)
        space, relaxation = shared.space, shared.relaxation
        self._row = len(space.initial)
        length = room + SPARE
        paths = SequencePaths(*[empty_index(length) for _ in range(3)], *[zeros(length) for _ in range(5)])
        variables = len(space.packing.coding.word) + len(space.source.variables)
        actions, facts = len(space.source.task.actions), len(space.source.task.facts)
        relaxed = relaxation.relaxed
        if costs:
            relaxed = relaxed._replace(cost=words(0 if each == NOTHING else costs[each] for each in relaxed.action))
        self._at = Workspace(
            number,
            index([*prefix, 0]),
            space.space,
            space.preconditions,
            shared.lapses,
            shared.touched,
            shared.windows,
            task_compiled.new_registry(space.initial, length, entries),
            paths,
            Times(zeros(variables), zeros(variables), empty_index(length)),
            allocate_queues(2 * length, 4 * length + 2 * actions + 8),
            relaxed,
            shared.timed,
            relaxation.room,
            TimedRoom(zeros(facts), zeros(facts), *[zeros(len(shared.task.lapses)) for _ in range(2)]),
            empty_index(actions + 1),
            empty_index(len(space.space.tree.action_start)),
        )

    @property
    def limit(self) -> int:
        """The tick before which plans must end."""
        return self._number[slot.LIMIT]

    @limit.setter
    def limit(self, ticks: int) -> None:
        self._number[slot.LIMIT] = min(ticks, INFINITE)

    @property
    def evaluations(self) -> int:
        """How many states were evaluated."""
        return self._number[slot.EVALUATIONS]

    def steps(self, run: Run) -> Steps:
        """Search for plans, each of which ends before those found before."""
        number = self._number
        counter = task_compiled.WorkCounter(run, number)
        while True:
            number[slot.ESTIMATED] = self._shared.estimated
            outcome = self._entries["search_timed_sequences"](self._work, self._at)
            self._shared.estimated = number[slot.ESTIMATED]
            counter.update(self._at.registry, self._at.paths, self._at.queues)
            if outcome == FOUND:
                self.limit = min(self.limit, self.take(self._trace(number[slot.GOAL_STATE])))
            elif outcome == FULL:
                self._grow()
            elif outcome:
                return Ending.INCOMPLETE
            yield

    def _trace(self, state: int) -> list[tuple[int, int, int, int]]:
        paths = self._at.paths
        found = []
        while paths.parent[state] != NOTHING:
            found.append((paths.action[state], paths.end[state], paths.start[state], paths.lasts[state]))
            state = paths.parent[state]
        return found[::-1]

    def _grow(self) -> None:
        number, paths, registry = self._number, self._at.paths, self._at.registry
        states = number[slot.STATES]
        if states + SPARE > len(paths.parent) or 2 * (states + 1) > len(registry.table):
            length = states + states // 2 + SPARE + 1
            ensure_length(length, *paths, self._at.times.path)
            length = len(paths.parent)
            ensure_length(length * self._row, registry.state)
            registry = task_compiled.enlarge_table(registry, states, length, self._row, self._entries)
            self._at = self._at._replace(registry=registry)
        grow_queues(self._at.queues, number, 2 * len(self._at.found) + 2)
