"""Whether a plan has steps that it can do without."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from planner.annotations import Final
from planner.search.space import Space
from planner.task import State, bits

MOST: Final = 10_000
"""States that are looked at, at most, after each step."""


def is_wasteful(space: Space, plan: Sequence[int], spare: int) -> bool | None:
    """Return whether some steps of `plan`, `spare` in cost at most, can be left out so that the rest is a plan.

    None where too many of them can be left out without that the rest breaks at once.
    """
    settled = _settled(space, plan)
    state, others = space.initial, dict[State, int]()
    for step, action in enumerate(plan):
        cost, goals = space.costs[action], settled[step + 1]
        after: dict[State, int] = {}
        for other, skipped in (*others.items(), (state, 0)):
            if skipped + cost <= spare:
                _take(after, other, skipped + cost, goals)
            if other != state and not space.preconditions[action] & ~space.closed(other):
                _take(after, space.apply(action, other), skipped, goals)
        state, others = space.apply(action, state), after
        if state in others:
            return True
        if len(others) > MOST:
            return None
    return any(map(space.is_goal, others))


def _take(found: dict[State, int], state: State, skipped: int, goals: State) -> None:
    """Take in `state`, if it has the `goals` that can no longer be attained."""
    if not goals & ~state:
        found[state] = min(skipped, found.get(state, skipped))


def _settled(space: Space, plan: Iterable[int]) -> list[State]:
    """Return, for each place in `plan`, the goals that no step from there on makes true."""
    goal = 0 if space.task.has_axioms else space.goal
    found = [goal]
    for action in reversed([*plan]):
        ground = space.task.actions[action]
        added = bits(ground.adds)
        for effect in ground.conditional:
            added |= bits(effect.adds)
        found.append(found[-1] & ~added)
    return found[::-1]
