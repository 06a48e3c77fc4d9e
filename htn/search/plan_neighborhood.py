"""Better plans from a plan, piece by piece.

A *window* is a part of the plan in which some tasks are done that come one after the other: a search that does them
from the state before it, to what the rest of the plan needs, takes its place if that is cheaper (Siddiqui and Haslum,
2015, do so with classical plans). What was decomposed above the window stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence

from htn.search.decomposition_kernel import BLIND, EAGER
from htn.search.ground_hierarchy import Board
from htn.search.progression import Part, Progression
from htn.search.search_guide import Guide, blind
from planner.jit.arrays import index
from planner.lightweight import Final, dataclass, replace
from planner.search.plan_neighborhood import EFFORT, GROWTH, LENGTH, MOST_EFFORT
from planner.search.search_run import Ending, Run, Steps
from planner.task.ground_task import State, bits, facts_of
from planner.task.packed_task_compiled import pack_conjunction

PRICE: Final = 30
"""So many places without an estimate are as much work as an evaluation."""


@dataclass(frozen=True, slots=True)
class _Window:
    """The moves from `start` to `end`, in which the first `tasks` of what is left are done in so many `steps`."""

    start: int
    end: int
    tasks: int
    steps: int


class Windows:
    """Makes the best plan of `run` better; `moves` returns it, or None as long as it has none of this kind.

    Only for totally ordered tasks, and actions without conditional effects: `fits` tells.
    """

    def __init__(self, board: Board, run: Run, moves: Callable[[], Sequence[int] | None]) -> None:
        self._board, self._run, self._given = board, run, moves
        self._effects: dict[int, tuple[State, State, State]] = {}
        self._moves: list[int] = []
        self._states: list[State] = []
        self._needs: list[State] = []
        self._guide: Guide | None = None
        self._evaluations = 0

    @staticmethod
    def fits(board: Board) -> bool:
        """Return whether windows of plans on `board` can be searched."""
        task = board.ground.task
        return board.ground.is_ordered and not task.has_axioms and not task.has_conditional_effects

    def steps(self) -> Steps:
        """Go on as long as more effort may help."""
        effort = EFFORT
        while effort <= MOST_EFFORT:
            for kind in (BLIND, EAGER):
                length, steps = float(LENGTH), LENGTH
                while length < GROWTH * steps:
                    moves = self._given()
                    if moves is None:
                        return Ending.INCOMPLETE
                    self._take(moves)
                    yield from self._round(kind, int(length), effort)
                    length, steps = length * GROWTH, moves.count(0)
            effort *= 2
        return Ending.INCOMPLETE

    def _take(self, moves: Sequence[int]) -> None:
        """Go on with a plan."""
        self._moves = [*moves]
        self._plan = self._run.plan
        self._tasks = self._tasks_of(moves)
        self._states = self._after(bits(self._board.ground.task.initial), 0, len(moves))
        self._needs = self._before(bits(self._board.ground.task.goal), 0, len(moves))

    def _tasks_of(self, moves: Sequence[int]) -> list[int]:
        """Return for each move the task that it is about."""
        root = self._board.ground.root
        assert root is not None
        tasks, left, sequences = [], [root], self._board.sequences
        for move in moves:
            tasks.append(left.pop())
            if move:
                begin, end = sequences.start[move - 1], sequences.start[move]
                left += reversed(sequences.item[begin:end])
        return tasks

    def _of(self, action: int) -> tuple[State, State, State]:
        """Return what `action` requires, adds and deletes."""
        if action not in self._effects:
            source = self._board.ground.task.actions[action]
            self._effects[action] = bits(source.precondition), bits(source.adds), bits(source.deletes)
        return self._effects[action]

    def _after(self, state: State, start: int, end: int) -> list[State]:
        """Return the states before each of the moves from `start` to `end`, the first being `state`, and at the end."""
        found = [state]
        for place in range(start, end):
            if not self._moves[place]:
                _, adds, deletes = self._of(self._tasks[place])
                state = state & ~deletes | adds
            found.append(state)
        return found

    def _before(self, need: State, start: int, end: int) -> list[State]:
        """Return what each of the moves from `start` to `end` needs so that `need` holds after them, and that."""
        found = [need]
        for place in range(end - 1, start - 1, -1):
            move = self._moves[place]
            if move:
                need |= bits(self._board.ground.methods[move - 1].precondition)
            else:
                requires, adds, _ = self._of(self._tasks[place])
                need = need & ~adds | requires
            found.append(need)
        return found[::-1]

    def _round(self, kind: int, length: int, effort: int) -> Generator[None]:
        """Try windows of up to `length` steps all along the plan, unless another search finds a better one."""
        start = 0
        while start < len(self._moves) and self._plan is self._run.plan:
            yield
            window = self._window(start, length)
            if window is None:
                start += 1
                continue
            yield from self._try(window, kind, effort)
            done = 0
            while start < len(self._moves) and 2 * done <= window.steps:
                done += not self._moves[start]
                start += 1

    def _window(self, start: int, length: int) -> _Window | None:
        """Return the longest window from the move `start` on, None if the task there takes more steps than `length`."""
        depth, low, steps, found = 0, 0, 0, None
        subtasks = self._board.sequences.start
        for place in range(start, len(self._moves)):
            move = self._moves[place]
            depth += subtasks[move] - subtasks[move - 1] - 1 if move else -1
            steps += not move
            if steps > length:
                break
            if depth < low:
                low, found = depth, _Window(start, place + 1, -depth, steps)
        return found

    def _try(self, window: _Window, kind: int, effort: int) -> Generator[None]:
        """Replace what is in the window by something cheaper, if that is found with so much effort."""
        board, start, end = self._board, window.start, window.end
        cost = sum(board.costs[self._tasks[place]] for place in range(start, end) if not self._moves[place])
        left = self._left(start, window.tasks)
        if cost <= sum(board.least[task] for task in left):
            return
        goal = facts_of(self._needs[end])
        space = board.space._replace(goal=pack_conjunction(goal, board.packed))
        guide = blind(board) if kind == BLIND else self._aimed(goal)
        part = Part(board.packed.pack(facts_of(self._states[start])), left, space, guide, self._evaluations)
        run = Run(limit=cost, trusted=False)
        search = Progression(board, 1, int(kind != BLIND), 0, kind=kind, part=part)
        for _ in search.steps(run):
            if run.evaluated + run.expanded // PRICE >= effort:
                break
            yield
        self._evaluations += run.evaluated
        self._run.evaluated += run.evaluated
        self._run.expanded += run.expanded
        self._run.generated += run.generated
        if run.plan is not None and self._plan is self._run.plan:
            self._replace(window, run.plan)

    def _left(self, start: int, count: int) -> list[int]:
        """Return the first `count` tasks that are left before the move `start`."""
        subtasks, found, depth = self._board.sequences.start, [], 0
        for place in range(start, len(self._moves)):
            if not depth:
                found.append(self._tasks[place])
                depth = 1
                if len(found) == count:
                    break
            move = self._moves[place]
            depth += subtasks[move] - subtasks[move - 1] - 1 if move else -1
        return found

    def _aimed(self, goal: Sequence[int]) -> Guide:
        """Return a guide to `goal`, facts that the task has."""
        board = self._board
        if self._guide is None:
            self._guide = Guide.of(board, board.costs, 0)
        relaxed = self._guide.relaxed
        last = len(relaxed.cost) - 1
        begin = relaxed.precondition_start[last]
        aimed = relaxed._replace(
            precondition_start=relaxed.precondition_start[:-1] + index([begin + len(goal)]),
            precondition=relaxed.precondition[:begin] + index(goal),
        )
        return replace(self._guide, relaxed=aimed)

    def _replace(self, window: _Window, moves: list[int]) -> None:
        """Go on with the plan that has `moves` in the window."""
        start, end = window.start, window.end
        new = start + len(moves)
        later = self._states[end:]
        self._moves[start:end] = moves
        self._tasks = self._tasks_of(self._moves)
        self._needs[start:end] = self._before(self._needs[end], start, new)[:-1]
        self._states[start:] = self._after(self._states[start], start, new)
        if self._states[-1] == later[0]:
            self._states += later[1:]
        else:
            self._states += self._after(self._states[-1], new, len(self._moves))[1:]
        cost = sum(self._board.costs[task] for task, move in zip(self._tasks, self._moves, strict=True) if not move)
        self._run.report_plan([*self._moves], cost)
        self._plan = self._run.plan
