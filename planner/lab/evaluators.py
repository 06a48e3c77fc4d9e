"""The heuristics of the registry as functions of states of a ground problem."""

from __future__ import annotations

import math
from typing import cast

from planner.errors import InputError, did_you_mean
from planner.heuristics import REGISTRY, Heuristic
from planner.lab.state_space import ActionInstance, GroundState, StateSpace
from planner.lightweight import dataclass, field
from planner.limits import never
from planner.model import Number
from planner.plan import divide_exactly
from planner.search.search_run import AdvisingHeuristic
from planner.task.ground_task import INFINITY


@dataclass(frozen=True, slots=True)
class Evaluator:
    """A heuristic of `space`: call it with a state for the estimated cost of a plan, infinite for a dead end.

    Estimates are in the units of the problem; those of `goalcount` are numbers of facts, and those with unit costs are
    numbers of steps. `admissible` and `consistent` are what it claims for this problem, with the costs that it counts.
    """

    name: str
    space: StateSpace = field(repr=False)
    admissible: bool
    consistent: bool
    _heuristic: Heuristic = field(repr=False, compare=False)
    _resolution: int = field(repr=False)

    def __call__(self, state: GroundState) -> Number | float:
        """Return the estimate of `state`."""
        value = self._heuristic(self.space.bits_of(state))
        return math.inf if value >= INFINITY else divide_exactly(value, self._resolution)

    def prefer(self, state: GroundState) -> tuple[ActionInstance, ...]:
        """Return the preferred actions (helpful actions) that are applicable in `state`; none if it prefers none."""
        bits = self.space.bits_of(state)
        if not isinstance(self._heuristic, AdvisingHeuristic):
            return ()
        _, advised = cast("AdvisingHeuristic", self._heuristic).advise(bits)
        return tuple([action for action in self.space.applicable(state) if action.number in advised])


def build_evaluator(space: StateSpace, name: str, *, unit_costs: bool, seed: int) -> Evaluator:
    """Build the heuristic `name` of the registry for `space`; raises `InputError` for an unknown name."""
    kind = REGISTRY.get(name) if isinstance(name, str) else None
    if kind is None:
        near = did_you_mean(name, REGISTRY) if isinstance(name, str) else None
        known = f"the heuristics are {', '.join(REGISTRY)}"
        raise InputError(f"there is no heuristic {name!r}", hint=f"{near} ({known})" if near else known)
    task = space.task
    costs = [1] * len(task.actions) if unit_costs else space.engine.costs
    heuristic, holds = kind.build_for(task, costs, never, seed), kind.supports(task)
    heuristic(space.engine.initial)  # LM-cut chooses an order in the first state: always the same one
    resolution = task.resolution if kind.sums_costs and not unit_costs else 1
    return Evaluator(name, space, kind.admissible and holds, kind.consistent and holds, heuristic, resolution)
