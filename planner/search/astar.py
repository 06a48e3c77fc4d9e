"""A*: the cheapest plan, with a proof (Hart, Nilsson and Raphael, 1968).

Admissible estimates make the proof; consistent ones are not needed, since a state that is reached more cheaply is
opened again. Estimates are taken as late as can be (lazy A*: Tolpin et al., 2013): a new state first waits under the
bound that it inherits from its parent, and many wait there for ever.
"""

from __future__ import annotations

from planner.lightweight import Any, Final, Protocol
from planner.search.open_lists import LastIn
from planner.search.search_run import Ending, Estimate, Knowing, Run, Steps, path
from planner.task.ground_task import INFINITY, State
from planner.task.state_space import Space

PAUSE: Final = 8
"""Expansions between two pauses."""


class Prices(Protocol):
    """What each action costs, by its number."""

    def __getitem__(self, action: int, /) -> int:
        """Return the cost of `action`."""


class PathMax:
    """What a plain estimate lets a successor inherit: the parent's value less the cost of the step."""

    def __init__(self, estimate: Estimate, costs: Prices) -> None:
        self._estimate = estimate
        self._costs = costs

    def inherit(self, known: int, action: int) -> tuple[int, int]:
        """Return a bound for the successor by `action`, and what is known of it."""
        bound = max(0, known - self._costs[action])
        return bound, bound

    def evaluate(self, state: State, inherited: int | None, _limit: int) -> tuple[int, int]:
        """Return the estimate for `state`, twice: it is all that is known."""
        value = max(inherited or 0, self._estimate(state))
        return value, value


def astar(space: Space, estimate: Estimate | Knowing, run: Run) -> Steps:
    """Search for the cheapest plan; all plans cheaper than `run.limit` are excluded when it ends."""
    source: Any = estimate if isinstance(estimate, Knowing) else PathMax(estimate, space.costs)
    costs, inherit, evaluate = space.costs, source.inherit, source.evaluate
    reached: dict[State, int] = {space.initial: 0}
    parents: dict[State, tuple[State, int] | None] = {space.initial: None}
    waiting = LastIn()
    waiting.push(0, 0, (space.initial, 0, None, False))
    while waiting:
        f, h, (state, g, known, evaluated) = waiting.pop()
        if reached[state] < g:
            continue
        run.proved(f)
        if f >= run.limit:
            break
        if not evaluated:
            run.evaluated += 1
            value, known = evaluate(state, known, run.limit - g)
            if value > h:
                if g + value < run.limit:
                    waiting.push(g + value, value, (state, g, known, True))
                continue
        if space.is_goal(state):
            run.found(path(parents, state), g)
            break
        run.expanded += 1
        if not run.expanded % PAUSE:
            yield
        for action, child in space.successors(state):
            cost = g + costs[action]
            if cost < reached.get(child, INFINITY):
                reached[child] = cost
                parents[child] = (state, action)
                bound, inherited = inherit(known, action)
                if cost + bound < run.limit:
                    run.generated += 1
                    waiting.push(cost + bound, bound, (child, cost, inherited, False))
    run.proved(run.limit)
    return Ending.EXHAUSTED
