"""Guided searches by kernels: lazy best-first, best-first width and Monte Carlo tree search.

Each class allocates the arrays of its kernel, calls it until it ends, lengthens full arrays, and reports plans and
bounds to the run.
"""

from __future__ import annotations

from itertools import count

from planner.heuristics.search_guide_compiled import Guide
from planner.jit import slots_kernel as slot
from planner.jit.arrays import empty_index, index, reals, words, zeros
from planner.jit.common_kernel import DONE, EXHAUSTED, FOUND, FULL, INFINITE, NOTHING
from planner.lightweight import Final
from planner.search import best_first_width_kernel, lazy_best_first_kernel, task_compiled
from planner.search.best_first_width_kernel import NOVEL, Facts, Frontier
from planner.search.lazy_best_first import lower_weights
from planner.search.lazy_best_first_kernel import Reached, RelaxedPlans
from planner.search.mcts import EXPLORATION, LOGARITHM_OF_2, LOGARITHMS, LOW_BITS, MULTIPLIER
from planner.search.mcts_kernel import MOST, NO_NODE, ROOT, Bandit, Evaluated, SearchTree
from planner.search.open_lists_kernel import QUEUES, Batches, Types, first_slot
from planner.search.search_run import Ending, Run, Steps
from planner.search.task_compiled import ensure_length
from planner.task.packed_facts_kernel import holds

NO_STATE: Final = -1
FIRST_TYPES: Final = 256
"""Initial capacity for types of states in a lazy search."""
BUCKETS: Final = 1 << 13
"""Number of buckets of each queue of a lazy search."""
SEEN: Final = 1 << 20
"""Number of 32-bit elements in the hash table of novelty: 4 MiB."""


def relaxed_plans_of(guide: Guide) -> RelaxedPlans:
    """Return the records by which kernels compute relaxed plans."""
    return RelaxedPlans(guide.relaxed, guide.board.exploration, guide.achievers, guide.reachable)


class States:
    """The states that a guided search has reached, with their paths."""

    def __init__(self, guide: Guide, room: int) -> None:
        self._guide = guide
        self.registry = task_compiled.new_registry(guide.board.initial, room, guide.board.entries)
        self.reached = Reached(
            empty_index(room), empty_index(room), index([0] * room), zeros(room), zeros(room * guide.mark_words)
        )
        guide.board.entries["accept_initial"](guide.milestones, self.reached.accepted, self.registry.state)

    def grow(self, count: int, states: int) -> None:
        """Make room for this number of `states`; there are `count` now."""
        guide, reached = self._guide, self.reached
        ensure_length(states, reached.parent)
        length = len(reached.parent)
        ensure_length(length, reached.action, reached.depth, reached.cost)
        ensure_length(length * guide.mark_words, reached.accepted)
        ensure_length(length * guide.board.packed.words, self.registry.state)
        self.registry = task_compiled.enlarge_table(
            self.registry, count, states, guide.board.packed.words, guide.board.entries
        )

    def look(self, run: Run, state: int, estimate: int) -> None:
        """Let `run.watch` look at the expansion of `state`, which has this `estimate`."""
        assert run.watch is not None
        reached, board = self.reached, self._guide.board
        action = None if reached.parent[state] == NOTHING else reached.action[state]
        found = board.unpack_state(self.registry, state)
        run.watch.look(board.task, found, reached.cost[state], estimate, action)

    def report(self, outcome: int, goal: int, run: Run) -> Ending | None:
        """Report to `run` what a kernel found or proved; return how the search ended, or None if it continues.

        `outcome` is the result of the kernel, and `goal` the number of the goal state that it reached, if any.
        """
        if outcome == FOUND:
            reached = self.reached
            run.report_plan(task_compiled.trace_actions(reached.parent, reached.action, goal), reached.cost[goal])
            return Ending.FIRST_PLAN
        if outcome == EXHAUSTED and task_compiled.were_cut_off(run, self.reached.cost):
            return Ending.INCOMPLETE
        if outcome == EXHAUSTED:
            run.raise_bound(run.limit)
            return Ending.EXHAUSTED
        return None


class CompiledLazy:
    """Lazy best-first search by `guide`; the kernel is `planner.search.lazy_best_first_kernel`."""

    def __init__(self, guide: Guide, *, work: int = task_compiled.WORK, room: int = 1024) -> None:
        self._given, self._work, self._room = guide, work, room

    def greedy(self, run: Run) -> Steps:
        """Search for any plan, and stop at the first."""
        return (yield from self._search(run, weight=1, reopen=False))

    def restarting(self, run: Run, unit: int) -> Steps:
        """Search for any plan in new random orders, each for a multiple of `unit` evaluations (Luby restarts).

        Every other search ignores landmarks, and uses relaxed plans that prefer other actions.
        """
        for order in count(1):
            steps = self._search(run, weight=1, reopen=False, order=order, most=unit * luby(order))
            if (ending := (yield from steps)) is not Ending.INCOMPLETE:
                break
            yield
        return ending

    def weighted(self, run: Run, weight: int) -> Steps:
        """Search for a plan cheaper than the best one, in the order of cost so far plus `weight` times the estimate."""
        return (yield from self._search(run, weight=weight, reopen=True))

    def _search(self, run: Run, *, weight: int, reopen: bool, order: int = 0, most: int | None = None) -> Steps:
        self._allocate(order, run.seed)
        number, states, counter = self._number, self._states, task_compiled.WorkCounter(run, self._number)
        number[slot.WEIGHT], number[slot.REOPEN] = weight, int(reopen)
        pending = NO_STATE

        def call(work: int) -> int:
            nonlocal pending
            pending = number[slot.PENDING]
            return self._call(work)

        def update() -> None:
            counter.update(self._at.registry, self._at.reached, self._at.batches, self._at.types)

        while True:
            number[slot.LIMIT] = min(run.limit, task_compiled.MOST_COST) if reopen else task_compiled.MOST_COST
            outcome = yield from counter.call_watched(call, self._work, update, lambda: self._look(run, pending))
            if (ending := states.report(outcome, number[slot.GOAL_STATE], run)) is not None:
                return ending
            if outcome == FULL:
                self._grow()
            if most is not None and number[slot.EVALUATIONS] >= most:
                return Ending.INCOMPLETE
            yield

    def _look(self, run: Run, state: int) -> None:
        """Let `run.watch` look at the expansion of `state`, which the latest relaxed plan is for."""
        self._states.look(run, state, self._guide.cost_of_plan(self._number[slot.EVALUATIONS]))

    def _call(self, work: int) -> int:
        return self._guide.board.entries["lazy"](work, self._at)

    def _allocate(self, order: int, seed: int) -> None:
        """Allocate the arrays of a search, with the initial state as state 0.

        With a `seed`, and from `order` 1 on, the order of actions and the ties of relaxed plans are random.
        """
        self._guide = self._given.copy_afresh(landmarks=not order & 1)
        number = self._number = zeros(slot.HOW_MANY)
        number[slot.STATES] = 1
        number[slot.SEED] = number[slot.RANDOM] = order + seed * MULTIPLIER & LOW_BITS
        for queue in range(QUEUES):
            number[slot.LOWEST + queue] = queue
        number[slot.BEST] = number[slot.BEST + 1] = INFINITE
        self._states = States(self._guide, self._room + 2)
        buckets, batches = empty_index(BUCKETS * QUEUES), empty_index(self._room + QUEUES + 1)
        edges = empty_index(self._room + self._guide.board.actions)
        batches_of = Batches(buckets, buckets[:], batches, batches[:], batches[:], batches[:], edges)
        types = empty_index(FIRST_TYPES)
        types_of = Types(empty_index(2 * FIRST_TYPES), zeros(FIRST_TYPES), types, types[:], types[:])
        records = (self._states.registry, self._states.reached, batches_of, types_of, relaxed_plans_of(self._guide))
        board = self._guide.board
        self._at = lazy_best_first_kernel.Workspace(
            number, board.space, *records, self._guide.milestones, board.found, board.stack
        )

    def _grow(self) -> None:
        """Lengthen the arrays that are full."""
        number, batches, types = self._number, self._at.batches, self._at.types
        self._states.grow(number[slot.STATES], number[slot.STATES] + 2)
        ensure_length(number[slot.BATCHES] + QUEUES + 1, batches.state, batches.at, batches.end, batches.next)
        ensure_length(number[slot.EDGES] + len(self._at.found), batches.edge)
        if number[slot.TYPES] >= len(types.key):
            types = double_types(types)
        self._at = self._at._replace(registry=self._states.registry, types=types)


def luby(number: int) -> int:
    """Return element `number` (from 1) of the Luby sequence 1 1 2 1 1 2 4 … (Luby, Sinclair and Zuckerman, 1993)."""
    power = number.bit_length()
    while number != (1 << power) - 1:
        number -= (1 << (power - 1)) - 1
        power = number.bit_length()
    return 1 << (power - 1)


def double_types(types: Types) -> Types:
    """Return the full `types` with room for twice as many."""
    known = list(types.key)
    length, mask = 2 * len(known), 4 * len(known) - 1
    ensure_length(length, *types[1:])
    longer = types._replace(table=empty_index(2 * length))
    for kind, key in enumerate(known):
        bucket = first_slot(key, mask)
        while longer.table[bucket] != NOTHING:
            bucket = (bucket + 1) & mask
        longer.table[bucket] = kind
    return longer


class CompiledWidth:
    """Best-first width search by `guide`; the kernel is `planner.search.best_first_width_kernel`."""

    def __init__(self, guide: Guide, *, work: int = task_compiled.WORK, room: int = 1024, seen: int = SEEN) -> None:
        self._guide, self._work = guide.copy_afresh(), work
        number = self._number = zeros(slot.HOW_MANY)
        number[slot.STATES], number[slot.PENDING], number[slot.LIMIT] = 1, NO_STATE, INFINITE
        self._states = States(self._guide, room + 2)
        length = room + 2
        buckets = empty_index(NOVEL * (len(guide.milestones.goal) + 1))
        none, plan_start, fact = index([0]) * length, index([0]) * (room + 3), guide.board.relaxation.size + room
        states = (empty_index(length), none, zeros(length), none[:])
        self._frontier = Frontier(buckets, buckets[:], *states, plan_start, empty_index(fact), index([0]) * seen)
        self._frontier.left[0] = len(guide.milestones.goal) + 1
        self._frontier.first[0] = self._frontier.last[0] = 0
        places, found = guide.board.packed.places, empty_index(guide.board.actions + 1)
        facts = Facts(
            index(each[0] for each in places), words(each[1] for each in places), words(each[2] for each in places)
        )
        records = (self._states.registry, self._states.reached, self._frontier, relaxed_plans_of(self._guide))
        self._at = best_first_width_kernel.Workspace(
            number, guide.board.space, facts, *records, self._guide.milestones, found, guide.board.stack
        )

    def steps(self, run: Run) -> Steps:
        """Search for any plan, and stop at the first."""
        number, states, counter = self._number, self._states, task_compiled.WorkCounter(run, self._number)
        if holds(self._guide.board.space.goal, 0, states.registry.state, 0):
            run.report_plan([], 0)
            return Ending.FIRST_PLAN

        def update() -> None:
            counter.update(states.registry, states.reached, self._frontier)

        def look() -> None:
            states.look(run, number[slot.EXPANDED], self._frontier.left[number[slot.EXPANDED]])

        while True:
            outcome = yield from counter.call_watched(self._call, self._work, update, look)
            if (ending := states.report(outcome, number[slot.GOAL_STATE], run)) is not None:
                return ending
            if outcome == FULL:
                self._grow()
            yield

    def _call(self, work: int) -> int:
        return self._guide.board.entries["width"](work, self._at)

    def _grow(self) -> None:
        """Lengthen the arrays that are full."""
        number, frontier = self._number, self._frontier
        self._states.grow(number[slot.STATES], number[slot.STATES] + 2)
        length = len(self._states.reached.parent)
        ensure_length(length, frontier.next, frontier.origin, frontier.made, frontier.left)
        ensure_length(number[slot.TYPES] + 3, frontier.plan_start)
        ensure_length(number[slot.EDGES] + self._guide.board.relaxation.size, frontier.fact)
        self._at = self._at._replace(registry=self._states.registry)


class CompiledMcts:
    """Monte Carlo tree search by `guide`: a sequence of trees, and a transposition table that outlives them.

    The kernel is `planner.search.mcts_kernel`.
    """

    def __init__(self, guide: Guide, run: Run, *, work: int = task_compiled.WORK, room: int = 1024) -> None:
        self._guide, self._run, self._work = guide.copy_afresh(), run, work
        board, length = guide.board, room + 3
        number = self._number = zeros(slot.HOW_MANY)
        number[slot.RANDOM] = run.seed & LOW_BITS
        self._accounts = task_compiled.WorkCounter(run, number)
        self._bandit = Bandit(reals(LOGARITHMS), reals([LOGARITHM_OF_2, EXPLORATION]))
        self._registry = task_compiled.new_registry(board.initial, length, board.entries)
        self._known = Evaluated(zeros(length), index([0]) * (length + 1), empty_index(board.actions + 1))
        self.tree = new_tree(length)

    def steps(self) -> Steps:
        """Search for cheaper and cheaper plans until none can be cheaper, or all simulations were made."""
        return (yield from lower_weights(self._grow_tree))

    def _grow_tree(self, weight: int) -> Steps:
        """Grow a tree until it contains a plan that is cheaper than the best one."""
        run, number = self._run, self._number
        if run.limit > 0 and holds(self._guide.board.space.goal, 0, self._registry.state, 0):
            run.report_plan([], 0)
            return Ending.FIRST_PLAN
        self.tree = new_tree(len(self.tree.parent))
        number[slot.PENDING] = NO_NODE
        number[slot.MOST_SIMULATIONS] = min(MOST, MOST if run.most_simulations is None else run.most_simulations)
        while True:
            number[slot.LIMIT] = min(run.limit, task_compiled.MOST_COST)
            outcome = yield from self._accounts.call_watched(
                lambda work: self._call(weight, work), self._work, self._update, self._look
            )
            if outcome == FOUND:
                goal = number[slot.GOAL_STATE]
                run.report_plan(
                    task_compiled.trace_actions(self.tree.parent, self.tree.action, goal), self.tree.cost[goal]
                )
                return Ending.FIRST_PLAN
            if outcome == EXHAUSTED:
                if task_compiled.were_cut_off(run, words([cost for cost in self.tree.cost if cost < INFINITE])):
                    return Ending.INCOMPLETE
                run.raise_bound(run.limit)
                return Ending.EXHAUSTED
            if outcome == DONE:
                return Ending.INCOMPLETE
            if outcome == FULL:
                self._grow()
            yield

    def _update(self) -> None:
        """Bring the counts of the run up to date."""
        self._accounts.update(self._registry, self._known, self.tree)
        self._run.simulations = self._number[slot.SIMULATIONS]

    def _look(self) -> None:
        """Let the watch of the run look at the latest state, which was expanded when it was evaluated."""
        run, board, state = self._run, self._guide.board, self._number[slot.STATES] - 1
        assert run.watch is not None
        cost, action = self.tree.cost[state], None if state == ROOT else self.tree.action[state]
        found, estimate = board.unpack_state(self._registry, state), self._known.estimate[state]
        run.watch.look(board.task, found, cost, estimate, action)

    def _call(self, weight: int, work: int) -> int:
        board = self._guide.board
        records = (self._registry, self._known, self.tree, self._bandit, *relaxed_plans_of(self._guide))
        return board.entries["mcts"](weight, work, self._number, board.space, *records, board.found, board.stack)

    def _grow(self) -> None:
        """Lengthen the arrays that are full."""
        number, board, known = self._number, self._guide.board, self._known
        states = number[slot.STATES] + 3
        ensure_length(states, self.tree.parent)
        length = len(self.tree.parent)
        ensure_length(length, *self.tree[1:], known.estimate)
        ensure_length(length + 1, known.first)
        ensure_length(length * board.packed.words, self._registry.state)
        self._registry = task_compiled.enlarge_table(
            self._registry, number[slot.STATES], states, board.packed.words, board.entries
        )
        ensure_length(number[slot.EDGES] + len(board.found), known.action)


def new_tree(length: int) -> SearchTree:
    """Allocate a tree with room for this number of states that contains only the root."""
    none, none_tried, unreached = empty_index(length), index([0]) * length, words([INFINITE]) * length
    values, visits = zeros(length), zeros(length)
    tree = SearchTree(none, none[:], unreached, values, visits, none_tried, none_tried[:], none[:], none[:])
    tree.cost[ROOT], tree.visits[ROOT] = 0, 1
    return tree
