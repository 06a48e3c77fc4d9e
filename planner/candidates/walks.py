"""Plans drawn at random from a part of the state space, by steps that others do without where there is the choice."""

from __future__ import annotations

from collections.abc import Container, Sequence
from random import Random

from planner.annotations import Final
from planner.candidates.part import Part

PREFERENCE: Final = 8
"""A step that is not avoided is drawn so many times as often as one that is."""


class Walks:
    """Walks through `part` to the goal, by actions with these `costs`, drawn by `random`."""

    def __init__(self, part: Part, costs: Sequence[int], random: Random) -> None:
        self._part, self._costs, self._random = part, costs, random

    def walk(self, avoided: Container[int]) -> list[int] | None:
        """Return a plan of which no steps can be left out, None where the walk does not come to one.

        It costs no more than a bound that is drawn, too, more often a low one: dear ways are often wasteful. Actions
        that are `avoided` are taken less often.
        """
        part = self._part
        state, spare, actions = part.start, frozenset[int](), list[int]()
        left = min(self._random.randint(part.distance(state), part.bound) for _ in range(2))
        while not part.is_goal(state):
            taken = self._step(state, spare, left, avoided)
            if taken is None:
                return None
            action, spare = taken
            left -= self._costs[action]
            state = part.edges(state)[action]
            actions.append(action)
        return actions

    def _step(
        self, state: int, spare: frozenset[int], left: int, avoided: Container[int]
    ) -> tuple[int, frozenset[int]] | None:
        """Return an action after which no step was wasted so far, and where its plan leads without some of its steps.

        See `Completions`; here, too, only what the goal can be reached from for what is left counts.
        """
        part, costs = self._part, self._costs
        edges = part.edges(state)
        choices = [action for action, child in edges.items() if costs[action] + part.distance(child) <= left]
        while choices:
            weights = [1 if action in avoided else PREFERENCE for action in choices]
            action = self._random.choices(choices, weights)[0]
            choices.remove(action)
            reached = {state, *spare, *[part.edges(other).get(action, other) for other in spare]}
            others = frozenset([other for other in reached if part.distance(other) <= left - costs[action]])
            if edges[action] not in others and not any(map(part.is_goal, others)):
                return action, others
        return None
