"""Breadth-first search: the plan with the fewest steps, and everything that can be reached."""

from __future__ import annotations

from planner.lightweight import Final
from planner.search.search_run import Ending, Estimate, Run, Steps, path
from planner.task.ground_task import State
from planner.task.state_space import Space

PAUSE: Final = 16
"""Expansions between two pauses."""


def breadth_first(space: Space, _estimate: Estimate, run: Run) -> Steps:
    """Search layer by layer; what it proves about costs is that fewer steps do not suffice."""
    cheapest = min(space.costs, default=0)
    parents: dict[State, tuple[State, int] | None] = {space.initial: None}
    layer, depth = [space.initial], 0
    while layer:
        below: list[State] = []
        run.proved(depth * cheapest)
        for state in layer:
            if space.is_goal(state):
                actions = path(parents, state)
                run.found(actions, space.cost_of(actions))
                return Ending.FIRST_PLAN
            run.expanded += 1
            if not run.expanded % PAUSE:
                yield
            for action, child in space.successors(state):
                if child not in parents:
                    parents[child] = (state, action)
                    below.append(child)
        run.generated += len(below)
        layer, depth = below, depth + 1
    run.proved(run.limit)
    return Ending.EXHAUSTED
