"""Candidates as patches: how other plans of the run's problem end, where that fits what was observed; no search."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from executor.recovery.options import Options
from planner.declare.syntax import parse_atom
from planner.model import Number, Problem
from planner.model.numbers import exact_decimal
from planner.plan import Status, Step, StoppedBy, exact, exact_sum
from planner.records import replace
from planner.repair import Patch
from planner.repair.regression import Unclear, regressed
from planner.validate import Simulation, validate

NONE_FITS: Final = "no candidate leads from here to the goal"


@dataclass(slots=True, eq=False)
class Candidates:
    """The other plans of one run, and what of them can be done now."""

    options: Options
    weight: float

    def are_there(self) -> bool:
        """Return whether the run has any."""
        return bool(self.options.state.plan.alternatives)

    def patch(self, now: Problem, left: Sequence[Step]) -> Patch:
        """Return the end of a candidate that leads from `now` to the goal: the one with the least objective.

        `left` are the steps of the plan that are left. Those with which they end as the candidate does are kept; what
        is dropped counts as in other patches. The end is proved by the plan checker; nothing was searched, and nothing
        better is excluded. New steps that are not needed are left out. Nothing that has failed is done again in a state
        in which it did.
        """
        found = [self._patch(steps, left) for steps in self._fitting(now)]
        for each in sorted(found, key=lambda patch: (patch.objective, -patch.kept)):
            if validate(now, each.steps or ()).valid:
                shortest = _needed(now, each.steps or (), each.new)
                if not self.options.repeats(shortest):
                    return self._patch(shortest, left)
        return Patch(Status.UNKNOWN, StoppedBy.INCOMPLETE, reason=NONE_FITS)

    def _fitting(self, now: Problem) -> Iterator[tuple[Step, ...]]:
        """Yield the ends of candidates that may lead to the goal, with their costs."""
        simulation = Simulation(now)
        for texts in self.options.state.plan.alternatives:
            steps = [_step(text) for text in texts]
            if not any(simulation.rules.misfit(each) for each in steps):
                priced = [replace(each, cost=simulation.cost(each)) for each in steps]
                yield from (tuple(priced[place:]) for place in _places(simulation, priced))

    def _patch(self, steps: tuple[Step, ...], left: Sequence[Step]) -> Patch:
        kept = 0
        for mine, old in zip(reversed(steps), reversed(left), strict=False):
            if (mine.action, mine.arguments) != (old.action, old.arguments):
                break
            kept += 1
        dropped, cost = len(left) - kept, exact_sum(each.cost for each in steps)
        objective: Number = exact(cost + exact_decimal(self.weight) * dropped)
        new = len(steps) - kept
        return Patch(Status.SOLVED, StoppedBy.FIRST_PLAN, steps, new, kept, dropped, cost, objective)


def _needed(now: Problem, steps: tuple[Step, ...], new: int) -> tuple[Step, ...]:
    """Return a plan without those of its first `new` steps that it works without, one after the other."""
    place = 0
    while place < new:
        others = (*steps[:place], *steps[place + 1 :])
        if validate(now, others).valid:
            steps, new = others, new - 1
        else:
            place += 1
    return steps


def _step(text: str) -> Step:
    atom = parse_atom(text)
    return Step(atom.predicate, atom.args)


def _places(now: Simulation, steps: Sequence[Step]) -> list[int]:
    """Return the places in `steps` from which on they can be done and lead to the goal; all, where that is unclear."""
    with suppress(Unclear):
        return [place for place, needs in regressed(now, steps, now.problem.goal.hard) if not needs.unmet]
    return list(range(len(steps) + 1))
