"""Whether a plan has steps that it can do without."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from planner.annotations import Final
from planner.candidates.variants import Variants
from planner.search.space import Space
from planner.task import State, bits

MOST: Final = 10_000
"""States that are looked at, at most, after each step."""


def is_wasteful(space: Space, variants: Variants, plan: Sequence[int], spare: int) -> bool | None:
    """Return whether some steps of `plan`, `spare` in cost at most, can be left out so that the rest is a plan.

    Each action of it stands for all of its `variants`. None where too many steps can be left out without that the rest
    breaks at once.
    """
    settled = _settled(space, variants, plan)
    state, others = space.initial, dict[State, int]()
    for step, action in enumerate(plan):
        cost, goals = space.costs[action], settled[step + 1]
        after: dict[State, int] = {}
        for other, skipped in (*others.items(), (state, 0)):
            if skipped + cost <= spare:
                _take(after, other, skipped + cost, goals)
            following = _after(space, variants.of[action], other) if other != state else None
            if following is not None:
                _take(after, following, skipped, goals)
        following = _after(space, variants.of[action], state)
        assert following is not None  # noqa: S101 - it is a plan
        state, others = following, after
        if state in others:
            return True
        if len(others) > MOST:
            return None
    return any(map(space.is_goal, others))


def _after(space: Space, actions: Sequence[int], state: State) -> State | None:
    """Return the state after the first of `actions` that can be applied in `state`."""
    full = space.closed(state)
    return next((space.apply(each, state) for each in actions if not space.preconditions[each] & ~full), None)


def _take(found: dict[State, int], state: State, skipped: int, goals: State) -> None:
    """Take in `state`, if it has the `goals` that can no longer be attained."""
    if not goals & ~state:
        found[state] = min(skipped, found.get(state, skipped))


def _settled(space: Space, variants: Variants, plan: Iterable[int]) -> list[State]:
    """Return, for each place in `plan`, the goals that no step from there on may make true."""
    goal = 0 if space.task.has_axioms else space.goal
    found = [goal]
    for action in reversed([*plan]):
        added = 0
        for ground in [space.task.actions[variant] for variant in variants.of[action]]:
            added |= bits(ground.adds)
            for effect in ground.conditional:
                added |= bits(effect.adds)
        found.append(found[-1] & ~added)
    return found[::-1]
