"""Greedy best-first search: a plan soon, however dear.

States are expanded in the order of the estimate, which is taken when a state is expanded; its successors wait under
their parent's (deferred evaluation). Preferred actions have a queue of their own; each time the estimate sinks below
all before, they get many turns more (dual queues and boosting: Helmert, 2006; Richter and Helmert, 2009).
"""

from __future__ import annotations

from planner.lightweight import Final
from planner.search.open_lists import Batches
from planner.search.search_run import DEAD_END, Advice, Ending, Estimate, Run, Steps, advice, path
from planner.task.ground_task import State
from planner.task.state_space import Space

BOOST: Final = 1000
"""Turns that preferred actions get when the best estimate improves."""


def greedy(space: Space, estimate: Estimate, run: Run) -> Steps:
    """Search for any plan, and stop at the first."""
    advise = advice(estimate)
    parents: dict[State, tuple[State, int] | None] = {space.initial: None}
    queues = Queues()
    state = space.initial
    while True:
        if space.is_goal(state):
            actions = path(parents, state)
            run.found(actions, space.cost_of(actions))
            return Ending.FIRST_PLAN
        queues.open(state, space, advise, run)
        yield
        while queues:
            parent, action = queues.pop()
            state = space.apply(action, parent)
            if state not in parents:
                parents[state] = (parent, action)
                break
        else:
            run.proved(run.limit)
            return Ending.EXHAUSTED


class Queues:
    """All edges, and again those by preferred actions; the two take turns."""

    def __init__(self) -> None:
        self._all, self._preferred = Batches(), Batches()
        self._best = DEAD_END
        self._ahead = 0
        """How many turns the preferred edges have had more than the others, less their boosts."""

    def __bool__(self) -> bool:
        return bool(self._all) or bool(self._preferred)

    def open(self, state: State, space: Space, advise: Advice, run: Run) -> None:
        """Estimate `state` and put in the edges that leave it, unless it is a dead end."""
        run.evaluated += 1
        value, preferred = advise(state)
        if value >= DEAD_END:
            return
        if value < self._best:
            self._best = value
            self._ahead -= BOOST
        run.expanded += 1
        actions = space.actions_in(state)
        run.generated += len(actions)
        self._preferred.push(value, state, [action for action in actions if action in preferred])
        self._all.push(value, state, actions)

    def pop(self) -> tuple[State, int]:
        """Take out the edge whose turn it is."""
        if self._preferred and (self._ahead <= 0 or not self._all):
            self._ahead += 1
            return self._preferred.pop()
        self._ahead -= 1
        return self._all.pop()
