"""Plan neighborhood search for decompositions: it replaces windows of the best plan by cheaper ones.

A *window* is a part of the plan in which some consecutive tasks are done. A search does these tasks from the state
before the window, and must reach the needs of the rest of the plan. Its plan replaces the window if it is cheaper
(Siddiqui and Haslum, 2015, for classical plans). The decomposition above the window stays.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence

from htn.search.decomposition_kernel import BLIND, EAGER
from htn.search.packed_hierarchy import PackedHierarchy, blind_guide, make_guide
from htn.search.progression import Part, Progression
from htn.search.relaxed_composition_kernel import Guide
from planner.jit.arrays import index
from planner.lightweight import Final, dataclass
from planner.search.plan_neighborhood import EFFORT, GROWTH, LENGTH, MOST_EFFORT
from planner.search.search_run import Ending, Run, Steps
from planner.task.ground_task import State, bits, facts_of
from planner.task.packed_task_compiled import pack_conjunction

EXPANSIONS_PER_EVALUATION: Final = 30
"""Number of expansions without an estimate that take as much time as one evaluation."""


@dataclass(frozen=True, slots=True)
class _Window:
    """The moves from `start` to `end`, which do the first `tasks` of the open tasks in `steps` steps."""

    start: int
    end: int
    tasks: int
    steps: int


class PlanWindows:
    """Improves the best plan of `run`; `moves` returns its moves, or None if there is no plan.

    Tasks must be totally ordered, and actions must have no conditional or numeric effects; `fits` tests this.
    """

    def __init__(self, packed: PackedHierarchy, run: Run, moves: Callable[[], Sequence[int] | None]) -> None:
        self._packed, self._run, self._given = packed, run, moves
        self._effects: dict[int, tuple[State, State, State]] = {}
        self._moves: list[int] = []
        self._states: list[State] = []
        self._needs: list[State] = []
        self._guide: Guide | None = None
        self._evaluations = 0

    @staticmethod
    def fits(packed: PackedHierarchy) -> bool:
        """Return whether windows of plans on `packed` can be searched."""
        ground = packed.ground
        plain = ground.numeric is None and not ground.task.has_axioms and not ground.task.has_conditional_effects
        return ground.is_ordered and plain

    def steps(self) -> Steps:
        """Search windows of growing length with growing effort, as long as more effort may help."""
        effort = EFFORT
        while effort <= MOST_EFFORT:
            for kind in (BLIND, EAGER):
                length, steps = float(LENGTH), LENGTH
                while length < GROWTH * steps:
                    moves = self._given()
                    if moves is None:
                        return Ending.INCOMPLETE
                    self._take(moves)
                    yield from self._search_round(kind, int(length), effort)
                    length, steps = length * GROWTH, moves.count(0)
            effort *= 2
        return Ending.INCOMPLETE

    def _take(self, moves: Sequence[int]) -> None:
        """Make `moves` the plan to improve."""
        self._moves = [*moves]
        self._plan = self._run.plan
        self._tasks = self._tasks_of(moves)
        self._states = self._states_from(bits(self._packed.ground.task.initial), 0, len(moves))
        self._needs = self._needs_before(bits(self._packed.ground.task.goal), 0, len(moves))

    def _tasks_of(self, moves: Sequence[int]) -> list[int]:
        """Return the task of each move."""
        root = self._packed.ground.root
        assert root is not None
        tasks, left, sequences = [], [root], self._packed.sequences
        for move in moves:
            tasks.append(left.pop())
            if move:
                begin, end = sequences.start[move - 1], sequences.start[move]
                left += reversed(sequences.item[begin:end])
        return tasks

    def _effects_of(self, action: int) -> tuple[State, State, State]:
        """Return the facts that `action` requires, adds and deletes, as bits."""
        if action not in self._effects:
            source = self._packed.ground.task.actions[action]
            self._effects[action] = bits(source.precondition), bits(source.adds), bits(source.deletes)
        return self._effects[action]

    def _states_from(self, state: State, start: int, end: int) -> list[State]:
        """Return the states before each move from `start` to `end`, beginning with `state`, and the last state."""
        found = [state]
        for place in range(start, end):
            if not self._moves[place]:
                _, adds, deletes = self._effects_of(self._tasks[place])
                state = state & ~deletes | adds
            found.append(state)
        return found

    def _needs_before(self, need: State, start: int, end: int) -> list[State]:
        """Return the facts needed before each move from `start` to `end` for `need` to hold at the end (regression)."""
        found = [need]
        for place in range(end - 1, start - 1, -1):
            move = self._moves[place]
            if move:
                need |= bits(self._packed.ground.methods[move - 1].precondition)
            else:
                requires, adds, _ = self._effects_of(self._tasks[place])
                need = need & ~adds | requires
            found.append(need)
        return found[::-1]

    def _search_round(self, kind: int, length: int, effort: int) -> Generator[None]:
        """Search windows of up to `length` steps along the plan, unless another search finds a better plan."""
        start = 0
        while start < len(self._moves) and self._plan is self._run.plan:
            yield
            window = self._longest_window(start, length)
            if window is None:
                start += 1
                continue
            yield from self._search_window(window, kind, effort)
            done = 0
            while start < len(self._moves) and 2 * done <= window.steps:
                done += not self._moves[start]
                start += 1

    def _longest_window(self, start: int, length: int) -> _Window | None:
        """Return the longest window from the move `start` on; None if the task there takes more than `length` steps."""
        depth, low, steps, found = 0, 0, 0, None
        subtasks = self._packed.sequences.start
        for place in range(start, len(self._moves)):
            move = self._moves[place]
            depth += subtasks[move] - subtasks[move - 1] - 1 if move else -1
            steps += not move
            if steps > length:
                break
            if depth < low:
                low, found = depth, _Window(start, place + 1, -depth, steps)
        return found

    def _search_window(self, window: _Window, kind: int, effort: int) -> Generator[None]:
        """Replace the plan in the window by a cheaper one if `effort` evaluations find one."""
        packed, start, end = self._packed, window.start, window.end
        cost = sum(packed.costs[self._tasks[place]] for place in range(start, end) if not self._moves[place])
        left = self._open_tasks(start, window.tasks)
        if cost <= sum(packed.least[task] for task in left):
            return
        goal = facts_of(self._needs[end])
        space = packed.space._replace(goal=pack_conjunction(goal, packed.packing))
        guide = blind_guide(packed) if kind == BLIND else self._guide_to(goal)
        part = Part(packed.packing.pack(facts_of(self._states[start])), left, space, guide, self._evaluations)
        run = Run(limit=cost, trusted=False)
        search = Progression(packed, 1, int(kind != BLIND), 0, kind=kind, part=part)
        for _ in search.steps(run):
            if run.evaluated + run.expanded // EXPANSIONS_PER_EVALUATION >= effort:
                break
            yield
        self._evaluations += run.evaluated
        self._run.evaluated += run.evaluated
        self._run.expanded += run.expanded
        self._run.generated += run.generated
        if run.plan is not None and self._plan is self._run.plan:
            self._replace(window, run.plan)

    def _open_tasks(self, start: int, count: int) -> list[int]:
        """Return the first `count` open tasks before the move `start`."""
        subtasks, found, depth = self._packed.sequences.start, [], 0
        for place in range(start, len(self._moves)):
            if not depth:
                found.append(self._tasks[place])
                depth = 1
                if len(found) == count:
                    break
            move = self._moves[place]
            depth += subtasks[move] - subtasks[move - 1] - 1 if move else -1
        return found

    def _guide_to(self, goal: Sequence[int]) -> Guide:
        """Return a guide to the goal `goal`."""
        packed = self._packed
        if self._guide is None:
            self._guide = make_guide(packed, packed.costs, 0)
        relaxed = self._guide.relaxed
        last = len(relaxed.cost) - 1
        begin = relaxed.precondition_start[last]
        aimed = relaxed._replace(
            precondition_start=relaxed.precondition_start[:-1] + index([begin + len(goal)]),
            precondition=relaxed.precondition[:begin] + index(goal),
        )
        return self._guide._replace(relaxed=aimed)

    def _replace(self, window: _Window, moves: list[int]) -> None:
        """Replace the window by `moves`, and report the plan."""
        start, end = window.start, window.end
        new = start + len(moves)
        later = self._states[end:]
        self._moves[start:end] = moves
        self._tasks = self._tasks_of(self._moves)
        self._needs[start:end] = self._needs_before(self._needs[end], start, new)[:-1]
        self._states[start:] = self._states_from(self._states[start], start, new)
        if self._states[-1] == later[0]:
            self._states += later[1:]
        else:
            self._states += self._states_from(self._states[-1], new, len(self._moves))[1:]
        cost = sum(self._packed.costs[task] for task, move in zip(self._tasks, self._moves, strict=True) if not move)
        self._run.report_plan([*self._moves], cost)
        self._plan = self._run.plan
