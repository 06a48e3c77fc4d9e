"""The landmarks of a ground problem with their orderings, and the disjunctive action landmarks of a state.

The definitions and sources are those of `planner.heuristics.landmarks` and `planner.heuristics.lmcut`.
"""

from __future__ import annotations

import math
from enum import Enum

from planner.heuristics.landmarks import find_landmarks
from planner.heuristics.lmcut import LmCut
from planner.heuristics.relaxation import AXIOM, relax
from planner.lab.state_space import ActionInstance, Fact, GroundState, StateSpace
from planner.lightweight import dataclass
from planner.limits import never
from planner.model import Number
from planner.plan import divide_exactly
from planner.task.ground_task import INFINITY, facts_of


class Order(Enum):
    """How one landmark is ordered before another."""

    NATURAL = "in each plan, the first becomes true no later than the other"
    GREEDY_NECESSARY = (
        "in each plan, the first holds right before the other first becomes true; if that is derived, when it does"
    )
    REASONABLE = "a plan that reaches the other first must give it up to reach the first"


@dataclass(frozen=True, slots=True)
class Landmark:
    """A landmark: in each plan, one of these `facts` holds at some time.

    `achievers` are the actions that may be the first to make one of the facts true; none if it holds initially, or is
    derived. `is_goal` tells whether it is part of the goal.
    """

    facts: tuple[Fact, ...]
    achievers: tuple[ActionInstance, ...]
    is_goal: bool
    is_initial: bool

    @property
    def is_disjunctive(self) -> bool:
        """Whether the landmark has several facts."""
        return len(self.facts) > 1

    def __repr__(self) -> str:
        return f"<{self}>"

    def __str__(self) -> str:
        return " | ".join(map(str, self.facts))


@dataclass(frozen=True, slots=True)
class Ordering:
    """Landmark `before` is ordered before landmark `after`."""

    before: Landmark
    after: Landmark
    order: Order

    def __str__(self) -> str:
        return f"{self.before} before {self.after} ({self.order.name.lower().replace('_', '-')})"


@dataclass(frozen=True, slots=True)
class LandmarkGraph:
    """Landmarks and the orderings among them. Both are empty if the delete relaxation has no plan."""

    landmarks: tuple[Landmark, ...]
    orderings: tuple[Ordering, ...]

    def __str__(self) -> str:
        return "\n".join([*map(str, self.landmarks), *map(str, self.orderings)])


def find_landmark_graph(space: StateSpace) -> LandmarkGraph:
    """Find the landmarks of plans from the initial state."""
    relaxed = relax(space.task)
    found = find_landmarks(space.task, relaxed, never)
    initial = set(facts_of(space.engine.closed(space.engine.initial)))
    landmarks = []
    for facts, is_goal in zip(found.facts, found.goals, strict=True):
        is_initial = not initial.isdisjoint(facts)
        operators = [] if is_initial else found.find_first_achievers(relaxed, facts)
        achievers = {relaxed.actions[operator] for operator in operators} - {AXIOM}
        actions = tuple([space.actions[number] for number in sorted(achievers)])
        landmarks.append(Landmark(space.name_facts(facts), actions, is_goal, is_initial))
    orderings = []
    for after, places in enumerate(found.before):
        for before in places:
            order = Order.NATURAL
            if after in found.needed_for[before]:
                order = Order.GREEDY_NECESSARY
            elif before in found.reasonable[after]:
                order = Order.REASONABLE
            orderings.append(Ordering(landmarks[before], landmarks[after], order))
    return LandmarkGraph(tuple(landmarks), tuple(orderings))


@dataclass(frozen=True, slots=True)
class ActionLandmark:
    """A disjunctive action landmark: each plan has one of these `actions`. It adds `cost` to the estimate of LM-cut."""

    actions: tuple[ActionInstance, ...]
    cost: Number

    def __str__(self) -> str:
        return f"{' | '.join(map(str, self.actions))} [{self.cost}]"


@dataclass(frozen=True, slots=True)
class LmCutLandmarks:
    """The `landmarks` of a state by LM-cut; `estimate` is the sum of their costs, or infinite for a dead end."""

    landmarks: tuple[ActionLandmark, ...]
    estimate: Number | float


def find_cuts(space: StateSpace, state: GroundState) -> LmCutLandmarks:
    """Find the cuts of LM-cut in `state`."""
    task, bits = space.task, space.bits_of(state)
    heuristic = LmCut(relax(task), len(task.actions), never)
    heuristic.evaluate(space.engine.initial, None, INFINITY)  # the first state chooses an order: always the same one
    value, cuts = heuristic.evaluate(bits, None, INFINITY)
    if value == INFINITY:
        return LmCutLandmarks((), math.inf)
    landmarks = [
        ActionLandmark(
            tuple([space.actions[number] for number in sorted(cut.actions)]), divide_exactly(cut.worth, task.resolution)
        )
        for cut in cuts
    ]
    return LmCutLandmarks(tuple(landmarks), divide_exactly(value, task.resolution))
