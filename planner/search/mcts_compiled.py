"""Monte-Carlo tree search by kernels: better and better plans, each from a tree of its own."""

from __future__ import annotations

from planner.heuristics.search_guide_compiled import Guide
from planner.jit import slots_kernel as slot
from planner.jit.arrays import empty_index, index, lengthened, reals, words, zeros
from planner.jit.common_kernel import DONE, EXHAUSTED, FOUND, FULL, INFINITE
from planner.search.compiled_driver import MOST_COST, WORK, Accounts, first_registry, were_cut_off, with_table
from planner.search.mcts import EXPLORATION, LOGARITHM_OF_2, LOGARITHMS, LOW_BITS
from planner.search.mcts_kernel import MOST, NO_NODE, ROOT, Bandit, Grown, Known
from planner.search.search_run import Ending, Run, Steps
from planner.search.weighted_astar import falling
from planner.task.packed_states_kernel import holds


class CompiledMcts:
    """The search by `guide`, in a `tree` after the other; what is known of states outlives them."""

    def __init__(self, guide: Guide, run: Run, *, work: int = WORK, room: int = 1024) -> None:
        self._guide, self._run, self._work = guide.fresh(), run, work
        board, length = guide.board, room + 3
        number = self._number = zeros(slot.HOW_MANY)
        number[slot.RANDOM] = run.seed & LOW_BITS
        self._accounts = Accounts(run, number)
        self._bandit = Bandit(reals(LOGARITHMS), reals([LOGARITHM_OF_2, EXPLORATION]))
        self._registry = first_registry(board.initial, length, board.entries)
        self._known = Known(zeros(length), index([0]) * (length + 1), empty_index(board.actions + 1))
        self.tree = new_tree(length)

    def steps(self) -> Steps:
        """Search for cheaper and cheaper plans until none can be cheaper, or all simulations were made."""
        return (yield from falling(self._grown))

    def _grown(self, weight: int) -> Steps:
        """Grow a tree until it has a plan that is cheaper than the best one."""
        run, number = self._run, self._number
        if run.limit > 0 and holds(self._guide.board.space.goal, 0, self._registry.state, 0):
            run.found([], 0)
            return Ending.FIRST_PLAN
        self.tree = new_tree(len(self.tree.parent))
        number[slot.PENDING] = NO_NODE
        number[slot.MOST_SIMULATIONS] = min(MOST, MOST if run.most_simulations is None else run.most_simulations)
        while True:
            number[slot.LIMIT] = min(run.limit, MOST_COST)
            outcome = self._call(weight)
            self._accounts.settle(self._registry, self._known, self.tree)
            run.simulations = number[slot.SIMULATIONS]
            if outcome == FOUND:
                goal = number[slot.GOAL_STATE]
                run.found(self._plan(goal), self.tree.cost[goal])
                return Ending.FIRST_PLAN
            if outcome == EXHAUSTED:
                return self._exhausted()
            if outcome == DONE:
                return Ending.INCOMPLETE
            if outcome == FULL:
                self._grow()
            yield

    def _exhausted(self) -> Ending:
        if were_cut_off(self._run, words([cost for cost in self.tree.cost if cost < INFINITE])):
            return Ending.INCOMPLETE
        self._run.proved(self._run.limit)
        return Ending.EXHAUSTED

    def _call(self, weight: int) -> int:
        guide = self._guide
        return guide.board.entries["mcts"](
            weight,
            self._work,
            self._number,
            guide.board.space,
            self._registry,
            self._known,
            self.tree,
            self._bandit,
            guide.relaxed,
            guide.board.exploration,
            guide.achievers,
            guide.reachable,
            guide.board.found,
            guide.board.stack,
        )

    def _plan(self, node: int) -> list[int]:
        """Return the actions that lead to `node`."""
        actions: list[int] = []
        while node != ROOT:
            actions.append(self.tree.action[node])
            node = self.tree.parent[node]
        return actions[::-1]

    def _grow(self) -> None:
        """Lengthen what is short."""
        number, board, known = self._number, self._guide.board, self._known
        states = number[slot.STATES] + 3
        if states > len(self.tree.parent):
            length = len(lengthened(self.tree.parent, states))
            for each in (*self.tree[1:], known.estimate):
                lengthened(each, length)
            lengthened(known.first, length + 1)
            lengthened(self._registry.state, length * board.packed.words)
        self._registry = with_table(self._registry, number[slot.STATES], states, board.packed.words, board.entries)
        if number[slot.EDGES] + len(board.found) > len(known.action):
            lengthened(known.action, number[slot.EDGES] + len(board.found))


def new_tree(length: int) -> Grown:
    """Return a tree over so many states of which only the root is in it."""
    tree = Grown(
        empty_index(length),
        empty_index(length),
        words([INFINITE]) * length,
        zeros(length),
        zeros(length),
        index([0]) * length,
        index([0]) * length,
        empty_index(length),
        empty_index(length),
    )
    tree.cost[ROOT], tree.visits[ROOT] = 0, 1
    return tree
