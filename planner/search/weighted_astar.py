"""Restarting weighted A*: better and better plans (Richter, Thayer and Ruml, 2010).

A search by g + w · h is run for each of a row of falling weights, each time from the start: cheap plans rarely begin
like the first one found. Whatever cannot beat the best plan is cut off by its g alone, which needs no admissible
estimate: when a search ends without a plan, the best one is proved optimal.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain, repeat

from planner.lightweight import Final
from planner.search.open_lists import Batches
from planner.search.search_run import DEAD_END, Advice, Ending, Estimate, Run, Steps, advice, path
from planner.task.ground_task import INFINITY, State
from planner.task.state_space import Space

WEIGHTS: Final = (1_000, 5, 3, 2, 1)
"""The first is greedy search, but for costs."""
PREFERRED_TURNS: Final = 2
"""Preferred actions have so many turns for one of the others."""


def weighted(space: Space, estimate: Estimate, run: Run) -> Steps:
    """Search for cheaper and cheaper plans until none can be cheaper."""
    advise = advice(estimate)
    return (yield from falling(lambda weight: once(space, advise, run, weight)))


def falling(search: Callable[[int], Steps]) -> Steps:
    """Run `search` with one weight after the other, and with the last until it finds no better plan."""
    for weight in chain(WEIGHTS, repeat(WEIGHTS[-1])):
        ending = yield from search(weight)
        if ending is not Ending.FIRST_PLAN:
            break
    return ending


def once(space: Space, advise: Advice, run: Run, weight: int) -> Steps:
    """Search with one weight, until a plan is found that is cheaper than the best one."""
    costs = space.costs
    reached: dict[State, int] = {space.initial: 0}
    parents: dict[State, tuple[State, int] | None] = {space.initial: None}
    everything, preferred = Batches(), Batches()
    state, turn = space.initial, 0
    while reached[state] < run.limit:
        g = reached[state]
        if space.is_goal(state):
            run.found(path(parents, state), g)
            return Ending.FIRST_PLAN
        run.evaluated += 1
        value, helpful = advise(state)
        if value < DEAD_END:
            run.expanded += 1
            actions = space.actions_in(state)
            run.generated += len(actions)
            preferred.push(g + weight * value, state, [action for action in actions if action in helpful])
            everything.push(g + weight * value, state, actions)
        yield
        while everything or preferred:
            turn += 1
            favoured = preferred and (turn % (PREFERRED_TURNS + 1) or not everything)
            parent, action = (preferred if favoured else everything or preferred).pop()
            g = reached[parent] + costs[action]
            state = space.apply(action, parent)
            if g < run.limit and g < reached.get(state, INFINITY):
                reached[state], parents[state] = g, (parent, action)
                break
        else:
            break
    run.proved(run.limit)
    return Ending.EXHAUSTED
