"""Creates the searches for one task and picks the tier of each."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Collection, Generator

from planner.heuristics import REGISTRY as HEURISTICS
from planner.heuristics import Kind
from planner.heuristics.hplus import find_relaxed_plans
from planner.heuristics.relaxation import RelaxedTask, make_relaxed_planner, relax
from planner.lightweight import TYPE_CHECKING, Final, dataclass, field, replace
from planner.limits import work_seconds
from planner.portfolio.tiers import Guard, ask_for_machine_code, run_at_most, run_in_tiers
from planner.search import REGISTRY as SEARCHES
from planner.search import Counts, Ending, Run, Space
from planner.search.lazy_best_first import search_with_weight
from planner.search.relaxed_plans import try_relaxed_plans
from planner.search.search_run import Steps, as_advice, search_reduced_task
from planner.task.ground_task import State, Task, facts_of

if TYPE_CHECKING:
    from planner.pruning.h2 import Pruned
    from planner.search.task_compiled import Board

ABSTRACTIONS: Final = ("astar", "abstract_states", "projections", "cartesian_refinement", "cost_partitioning")
"""Modules of kernels for A* with abstractions."""
COMPILED: Final = {
    ("astar", "blind"): ("astar",),
    ("astar", "hmax"): ("astar",),
    ("astar", "lmcut"): ("astar",),
    ("astar", "scp"): ABSTRACTIONS,
    ("astar", "scp+lmcut"): ABSTRACTIONS,
    ("uniform", ""): ("astar",),
    ("greedy", "hff"): ("lazy_best_first",),
    ("weighted", "hff"): ("lazy_best_first",),
    ("bfws", "hff"): ("best_first_width",),
    ("mcts", "hff"): ("mcts",),
}
"""Searches and heuristics that have kernels, and the modules of these kernels, named without `_kernel`."""
PREPARED: Final = frozenset({"scp", "scp+lmcut"})
"""Heuristics that take long to prepare in plain Python: these searches begin in machine code, if there is any."""
MANY_ACTIONS: Final = 2_000
"""From this number of actions on, preparing a search in plain Python takes longer than loading machine code."""
MOST_TOGETHER: Final = 1 << 50
"""Sum of all action costs below which machine code is used: it computes in words of 64 bits."""
COMPACT: Final = 4
"""Packed states that take about as much memory as one state in plain Python."""
RELAXED_PLAN_ACTIONS: Final = 10_000
"""Most actions for which relaxed plans are tried: the first relaxed plan looks at all actions."""
H2_FACTS: Final = 10_000
"""Most facts for which h² is computed: the pairs take some 50 MB then."""
H2_ACTIONS: Final = 100_000
"""Most actions for which h² is computed: preparing more takes seconds."""

TOO_DEAR: Final = "plans cost more than the kernels of this search can count"
"""The reason reported where kernels give up, after which only a search in plain Python could go on."""
NO_NUMBERS: Final = "however often each action is used, they do not add up to the goal"
"""The reason reported where the state equation has no solution."""


@dataclass(slots=True)
class Common:
    """What the workplaces for one task share, which may be in several threads."""

    pruned: Pruned | None = None
    """The result of h² pruning, once that has run."""
    relaxation: RelaxedTask | None = None
    """The delete relaxation, once a search has needed it."""
    board: Board | None = None
    """The arrays of the task, which the search that needed them first writes to."""
    lock: threading.Lock = field(default_factory=threading.Lock)
    """Held while `relaxation` or `board` is made."""


@dataclass(slots=True)
class Workplace:
    """A task, and the data that all searches for it share."""

    task: Task
    space: Space
    run: Run
    check: Callable[[], None]
    """Raises when a limit is reached."""
    plain: bool = False
    """Whether a search keeps to one tier, which depends on the task only."""
    pruning: Collection[str] | None = None
    """The pruning by `planner.search.astar_compiled.OWN_PRUNING` that A* may use; None: all of it."""
    common: Common = field(default_factory=Common)
    _board: Board | None = None
    """The arrays of the task, once a kernel has needed them."""

    def search(
        self,
        name: str,
        heuristic: str | None = None,
        *,
        states: int | None = None,
        landmarks: bool = False,
        pruning: Collection[str] | None = None,
    ) -> Steps:
        """Run the search called `name` with `heuristic`, or with its default heuristic, in either tier.

        A plain workplace runs kernels wherever there are some for the search and the heuristic. With a number of
        `states`, the search gives up after about so many in plain Python, or four times as many in machine code, where
        states are smaller. With `landmarks`, machine code also counts landmarks. A* prunes only by `pruning`; None: by
        that of the workplace. The ending is never EXHAUSTED if the search is incomplete or the heuristic is not safe
        for the task.
        """
        heuristic = heuristic_of(name, heuristic)
        self.run.by = (name, heuristic)

        def reference() -> Steps:
            self.run.note_tier("reference")
            steps = self._reference(name, heuristic)
            return steps if states is None else run_at_most(states, steps, self.run)

        def compiled() -> Steps:
            from planner.portfolio.compiled_searches import compiled_search

            if self.plain:
                self._set_plain_board(COMPILED[name, heuristic])
            costs = SEARCHES[name].counts.of(self.space.costs)
            most = None if states is None else COMPACT * states
            kept = self.pruning if pruning is None else pruning
            self.run.by = (name, f"{heuristic} and landmarks" if landmarks else heuristic)
            self.run.note_tier(self._tier_of(COMPILED[name, heuristic]))
            search = compiled_search(
                self.board(), name, heuristic, costs, states=most, landmarks=landmarks, pruning=kept
            )
            return search(self.run)

        kind = HEURISTICS[heuristic or "blind"]
        if self.run.watch is not None:
            self.run.watch.sums_costs = SEARCHES[name].counts is Counts.COSTS
        if self.plain and self.has_kernels(name, heuristic):
            ending = yield from compiled()
            if ending is Ending.INCOMPLETE and not self.run.has_made_all_simulations:
                self.run.failed = TOO_DEAR
        elif self.has_kernels(name, heuristic) and not self.plain:
            large, kernels = self.is_large() or heuristic in PREPARED, COMPILED[name, heuristic]
            ending = yield from run_in_tiers(reference, compiled, kernels, large=large, again=states is None)
        else:
            ending = yield from reference()
        proves = self.is_safe(kind) and SEARCHES[name].complete
        return Ending.INCOMPLETE if ending is Ending.EXHAUSTED and not proves else ending

    def _tier_of(self, kernels: Collection[str]) -> str:
        """Return the tier of searches by these `kernels`."""
        from planner.search.task_compiled import tier_of

        return tier_of(self.board().entries, *kernels)

    def has_kernels(self, name: str, heuristic: str) -> bool:
        """Return whether there are kernels for a search and a heuristic that can compute with the costs of the task."""
        return (name, heuristic) in COMPILED and self.has_small_costs()

    def prune_by_h2(self, seconds: float | None) -> Generator[None, None, Pruned | None]:
        """Prune the task by h², for so many seconds of processor time; return None for tasks that are too large.

        Set `pruned` to the result. If that leaves the task solvable, test whether its state equation is, except in a
        plain workplace.
        """
        if len(self.task.facts) > H2_FACTS or len(self.task.actions) > H2_ACTIONS:
            return None
        from planner.jit import library
        from planner.pruning.h2 import Pruning
        from planner.pruning.state_equation import disprove

        until = math.inf if seconds is None else work_seconds() + seconds
        entries, began = library.load("h2", "disambiguation"), work_seconds()
        pruning = Pruning(self.task, self.check, entries)
        for _ in pruning.steps():
            if work_seconds() > until:
                break
            if entries is None and not self.plain:
                ask_for_machine_code(work_seconds() - began, ("h2", "disambiguation", *COMPILED["astar", "lmcut"]))
            yield
        found = pruning.result()
        if found.solvable and not self.plain:
            by = yield from disprove(pruning.values, pruning.pairs, library.load("simplex"), seed=self.run.seed)
            if by:
                found, self.run.excluded = replace(found, solvable=False, by=by), NO_NUMBERS
        self.common.pruned = found
        return found

    def search_pruned(self, pruned: Pruned, search: Callable[[Workplace], Steps]) -> Steps:
        """Run `search` on the pruned task, and report its plans and bounds to the run of this task."""
        task, space = pruned.task, Space(pruned.task)
        return search_reduced_task(
            lambda run: search(Workplace(task, space, run, self.check, plain=self.plain, pruning=self.pruning)),
            self.run,
            pruned.actions,
        )

    def has_small_costs(self) -> bool:
        """Return whether the sum of all costs fits the words of machine code."""
        return sum(self.space.costs) < MOST_TOGETHER

    def has_machine_code(self, kernels: Collection[str]) -> bool:
        """Return whether there is machine code of these `kernels`, and it can compute with the costs of the task."""
        from planner.jit import library

        return self.has_small_costs() and library.load(*kernels) is not None

    def is_large(self) -> bool:
        """Return whether searches should begin in machine code, if there is any."""
        return len(self.space.costs) >= MANY_ACTIONS

    def board(self) -> Board:
        """Return the arrays of the task; build them at the first call."""
        if self._board is None:
            from planner.jit import library
            from planner.search.task_compiled import Board

            with self.common.lock:
                first = self.common.board
                if first is None:
                    made = Board(
                        self.task,
                        library.load_or_plain(),
                        self.check,
                        seed=self.run.seed,
                        relaxation=self.common.relaxation,
                    )
                    self._board = self.common.board = made
                else:
                    self._board = first.branch(self.check)
        return self._board

    def branch(self, run: Run, guard: Guard | None) -> Workplace:
        """Return a workplace for a search in a lane, with this `run` and memory of its own; this one without guard."""
        if guard is None:
            return self
        return Workplace(
            self.task, self.space, run, guard(self.check), plain=self.plain, pruning=self.pruning, common=self.common
        )

    def _set_plain_board(self, kernels: Collection[str]) -> None:
        """Build the arrays of the task for a search that keeps to one tier, even if machine code is made meanwhile."""
        from planner.jit import library
        from planner.jit.common_kernel import ENTRIES
        from planner.search.task_compiled import Board

        entries = library.load(*kernels) or ENTRIES
        self._board = Board(self.task, entries, self.check, seed=self.run.seed, patient=True)

    def _reference(self, name: str, heuristic: str) -> Steps:
        """Search in plain Python."""
        algorithm, kind = SEARCHES[name], HEURISTICS[heuristic or "blind"]
        estimate = kind.build_for(self.task, algorithm.counts.of(self.space.costs), self.check, self.run.seed)
        return (yield from algorithm.search(self.space, estimate, self.run))

    def improve_windows(self) -> Steps:
        """Improve the incumbent by plan neighborhood search."""
        from planner.search.plan_neighborhood import Windows

        self.run.by = ("windows", "hff")
        costs = SEARCHES["weighted"].counts.of(self.space.costs)

        def part(state: State, goal: State, run: Run) -> Steps:
            task = replace(self.task, initial=tuple(facts_of(state)), goal=tuple(facts_of(goal)))
            return search_with_weight(Space(task), as_advice(HEURISTICS["hff"].build(task, costs, self.check)), run, 1)

        def reference() -> Steps:
            self.run.note_tier("reference")
            return Windows(self.space, self.run, part).steps()

        def compiled() -> Steps:
            from planner.portfolio.compiled_searches import part_search

            self.run.note_tier(self._tier_of(kernels))
            return Windows(self.space, self.run, part_search(self.board(), costs)).steps()

        if not self.has_small_costs():
            return (yield from reference())
        kernels = COMPILED["weighted", "hff"]
        return (yield from run_in_tiers(reference, compiled, kernels, large=self.is_large(), again=False))

    def relax(self) -> RelaxedTask:
        """Return the delete relaxation of the task; build it at the first call."""
        with self.common.lock:
            self.common.relaxation = self.common.relaxation or relax(self.task)
            return self.common.relaxation

    def look_ahead(self) -> Steps:
        """Search for a first plan by executing relaxed plans."""
        from planner.search.lookahead import look_ahead

        self.run.by = ("lookahead", "hff")
        self.run.note_tier("reference")
        costs = SEARCHES["greedy"].counts.of(self.space.costs)
        plans = make_relaxed_planner(self.relax().price(costs))
        return (yield from look_ahead(self.space, plans, self.run, self.check))

    def try_relaxed_plans(self) -> Steps:
        """Try to execute cheapest relaxed plans."""
        self.run.by = ("unbinding", "hplus")
        if len(self.space.costs) > RELAXED_PLAN_ACTIONS:
            return Ending.INCOMPLETE
        self.run.note_tier("reference")
        plans = find_relaxed_plans(self.task, self.space.costs, self.check)
        return (yield from try_relaxed_plans(self.space, plans, self.run))

    def is_safe(self, kind: Kind) -> bool:
        """Return whether every dead end that the heuristic reports for this task is one."""
        return kind.safe and kind.supports(self.task)


def heuristic_of(search: str, heuristic: str | None) -> str:
    """Return the heuristic that `search` runs with if the options name `heuristic`; "" where it uses none."""
    own = SEARCHES[search].heuristic
    return "" if own is None else heuristic or own
