"""Where the searches for one task are started, each in the tier that suits it."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Generator

from planner.heuristics import REGISTRY as HEURISTICS
from planner.heuristics import Kind
from planner.heuristics.hplus import relaxed_plans
from planner.lightweight import TYPE_CHECKING, Final, dataclass, replace
from planner.portfolio.tiers import at_most, tiered
from planner.search import REGISTRY as SEARCHES
from planner.search import Ending, Run, Space
from planner.search.relaxed_plans import unbinding
from planner.search.search_run import Steps, advice, elsewhere
from planner.search.weighted_astar import once
from planner.task.ground_task import State, Task, facts_of

if TYPE_CHECKING:
    from planner.pruning.h2 import Pruned
    from planner.search.task_compiled import Board

COMPILED: Final = frozenset(
    {
        ("astar", "blind"),
        ("astar", "hmax"),
        ("astar", "lmcut"),
        ("astar", "scp"),
        ("astar", "scp+lmcut"),
        ("uniform", ""),
        ("greedy", "hff"),
        ("weighted", "hff"),
        ("bfws", "hff"),
        ("mcts", "hff"),
    }
)
"""Searches and heuristics that there are kernels for."""
PREPARED: Final = frozenset({"scp", "scp+lmcut"})
"""Heuristics that plain Python takes long to prepare: machine code begins, if there is some."""
FEW_ACTIONS: Final = 10_000
"""Actions up to which that is done: the first relaxed plan takes a look at all of them."""
MANY_ACTIONS: Final = 2_000
"""Actions from which on getting ready to search takes plain Python longer than loading machine code."""
MOST_TOGETHER: Final = 1 << 50
"""What all actions cost together, where machine code is used: it counts in words of 64 bits."""
COMPACT: Final = 4
"""So many packed states take about as much memory as one in plain Python."""
MOST_FACTS: Final = 10_000
"""Facts up to which it is found out which pairs of them may hold: they take some 50 MB then."""
MOST_ACTIONS: Final = 100_000
"""Actions up to which that is done: more take seconds to get ready."""

NO_NUMBERS: Final = "however often each action is used, they do not add up to the goal"
"""Why there is no plan where the state equation says so."""


@dataclass(slots=True)
class Workplace:
    """What all searches for one task share; `check` raises when a limit is reached.

    `pruned` is the task without what no plan needs, once that was looked for, `_board` the task as machine code sees
    it, once that was asked for.
    """

    task: Task
    space: Space
    run: Run
    check: Callable[[], None]
    pruned: Pruned | None = None
    _board: Board | None = None

    def search(
        self, name: str, heuristic: str | None = None, *, states: int | None = None, landmarks: bool = False
    ) -> Steps:
        """Run the search called `name` with a heuristic, its own by default, in either tier.

        With a number of `states` it gives up when it has generated about so many in plain Python, or, as they take less
        memory there, four times as many in machine code. With `landmarks`, machine code counts them too. A heuristic
        that is not safe for the task may have given up states: then nothing is exhausted.
        """
        heuristic = heuristic_for(name, heuristic)
        self.run.by = (name, heuristic)

        def reference() -> Steps:
            steps = self._reference(name, heuristic)
            return steps if states is None else at_most(states, steps, self.run)

        def compiled() -> Steps:
            from planner.portfolio.compiled_searches import compiled_search

            costs = SEARCHES[name].counts.of(self.space.costs)
            most = None if states is None else COMPACT * states
            self.run.by = (name, f"{heuristic} and landmarks" if landmarks else heuristic)
            search = compiled_search(self.packed(), name, heuristic, costs, states=most, landmarks=landmarks)
            return search(self.run)

        kind = HEURISTICS[heuristic or "blind"]
        if (name, heuristic) in COMPILED and self.fits():
            ending = yield from tiered(
                reference, compiled, large=self.is_large() or heuristic in PREPARED, again=states is None
            )
        else:
            ending = yield from reference()
        proves = self.safe(kind) and SEARCHES[name].complete
        return Ending.INCOMPLETE if ending is Ending.EXHAUSTED and not proves else ending

    def without_needless(self, seconds: float | None) -> Generator[None, None, Pruned | None]:
        """Find out by h² what no plan needs, for so many seconds of processor time; None where there is too much.

        That is kept as `pruned`. If there may be a plan, it is looked whether any numbers of actions could be one.
        """
        if len(self.task.facts) > MOST_FACTS or len(self.task.actions) > MOST_ACTIONS:
            return None
        from planner.jit import library
        from planner.pruning.h2 import Pruning
        from planner.pruning.state_equation import disproof

        until = math.inf if seconds is None else time.thread_time() + seconds
        pruning = Pruning(self.task, self.check, library.loaded())
        for _ in pruning.steps():
            if time.thread_time() > until:
                break
            yield
        found = pruning.result()
        if found.solvable and (by := (yield from disproof(pruning.values, pruning.pairs, library.loaded()))):
            found, self.run.excluded = replace(found, solvable=False, by=by), NO_NUMBERS
        self.pruned = found
        return found

    def elsewhere(self, pruned: Pruned, search: Callable[[Workplace], Steps]) -> Steps:
        """Run a search of what is left of the task."""
        task, space = pruned.task, Space(pruned.task)
        return elsewhere(lambda run: search(Workplace(task, space, run, self.check)), self.run, pruned.actions)

    def fits(self) -> bool:
        """Return whether costs are such that machine code can add them up."""
        return sum(self.space.costs) < MOST_TOGETHER

    def compiles(self) -> bool:
        """Return whether there is machine code, and it can count what plans cost."""
        from planner.jit import library

        return self.fits() and library.loaded() is not None

    def is_large(self) -> bool:
        """Return whether machine code had better begin, if there is some."""
        return len(self.space.costs) >= MANY_ACTIONS

    def packed(self) -> Board:
        """Return the task as arrays."""
        if self._board is None:
            from planner.jit import library
            from planner.search.task_compiled import Board

            self._board = Board(self.task, library.entries(), self.check)
        return self._board

    def _reference(self, name: str, heuristic: str) -> Steps:
        """Search in plain Python."""
        algorithm, kind = SEARCHES[name], HEURISTICS[heuristic or "blind"]
        estimate = kind.build(self.task, algorithm.counts.of(self.space.costs), self.check)
        return (yield from algorithm.search(self.space, estimate, self.run))

    def windows(self) -> Steps:
        """Make the best plan better, piece by piece."""
        from planner.search.plan_neighborhood import Windows

        self.run.by = ("windows", "hff")
        costs = SEARCHES["weighted"].counts.of(self.space.costs)

        def part(state: State, goal: State, run: Run) -> Steps:
            task = replace(self.task, initial=tuple(facts_of(state)), goal=tuple(facts_of(goal)))
            return once(Space(task), advice(HEURISTICS["hff"].build(task, costs, self.check)), run, 1)

        def reference() -> Steps:
            return Windows(self.space, self.run, part).steps()

        def compiled() -> Steps:
            from planner.portfolio.compiled_searches import part_search

            return Windows(self.space, self.run, part_search(self.packed(), costs)).steps()

        if not self.fits():
            return (yield from reference())
        return (yield from tiered(reference, compiled, large=self.is_large(), again=False))

    def relaxed(self) -> Steps:
        """Try cheapest relaxed plans."""
        self.run.by = ("unbinding", "hplus")
        if len(self.space.costs) > FEW_ACTIONS:
            return Ending.INCOMPLETE
        return (yield from unbinding(self.space, relaxed_plans(self.task, self.space.costs, self.check), self.run))

    def safe(self, kind: Kind) -> bool:
        """Return whether what a heuristic calls a dead end is one."""
        return kind.safe and kind.supports(self.task)


def heuristic_for(search: str, heuristic: str | None) -> str:
    """Return the heuristic that `search` uses when `heuristic` is asked for; "" where it uses none."""
    own = SEARCHES[search].heuristic
    return "" if own is None else heuristic or own
