"""The places at which a plan may be entered again without new steps, or where few facts are missing, by regression."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from heapq import nsmallest

from planner.lightweight import Final, dataclass, replace
from planner.limits import LimitReached, Limits
from planner.model import Atom, Goal, Number, Problem
from planner.plan import Step, exact_sum
from planner.repair.regression import Unclear, regress_goal, regress_suffixes
from planner.repair.repair_search import Choice, Chooser, Prices
from planner.semantics.simulation import Simulation

MAX_PLACES: Final = 3
"""Number of places with the least estimated cost that are tried beside the nearest one."""
REENTRY_SECONDS: Final = 2.0
"""Time limit for one place, in seconds, if there is no limit; otherwise a quarter of the remaining time."""
MAX_MOVED: Final = 5
"""Number of steps that are tried as the first one."""


@dataclass(frozen=True, slots=True)
class ReentryPoints:
    """The places at which the plan may be entered again, by regression.

    `missing` has for each place whose suffix of `old` can lead to the goal the number of missing facts; None if
    regression cannot tell. `charges` are, for each place, the cost of the suffix and the weight of the dropped steps. A
    plan may not begin with a step of `not_first`.
    """

    now: Simulation
    old: tuple[Step, ...]
    missing: Mapping[int, int] | None
    charges: Sequence[Number]
    not_first: Collection[Atom]

    @classmethod
    def of(cls, now: Simulation, old: tuple[Step, ...], weight: Number, not_first: Collection[Atom]) -> ReentryPoints:
        """Return the re-entry points from `now` into `old`."""
        charges = charge_places(old, weight)
        try:
            found = [(place, len(needs.unmet)) for place, needs in regress_suffixes(now, old, now.problem.goal.hard)]
        except Unclear:
            return cls(now, old, None, charges, not_first)
        return cls(now, old, dict(reversed(found)), charges, not_first)

    @property
    def first(self) -> int:
        """The first place at which a plan can go on, if any state is to be reached for that."""
        return 0 if self.missing is None else min(self.missing, default=len(self.old))

    def _is_barred(self, steps: Sequence[Step]) -> bool:
        """Return whether the first of `steps` may not come first."""
        return bool(steps) and Atom(steps[0].action, steps[0].arguments) in self.not_first

    def find_direct_place(self, check: Callable[[], None]) -> int | None:
        """Return the cheapest place at which the old steps work without new ones; None if there is none."""
        every = range(len(self.old) + 1)
        places = every if self.missing is None else [place for place in every if self.missing.get(place) == 0]
        for place in sorted(places, key=lambda place: (self.charges[place], place)):
            check()
            rest = self.old[place:]
            if not self._is_barred(rest[:1]) and (self.missing is not None or self._works(rest)):
                return place
        return None

    def _works(self, steps: Sequence[Step]) -> bool:
        """Return whether `steps` lead to the goal, by simulation."""
        if steps and self.now.find_objection(steps[0]) is not None:
            return False
        trial = self.now.copy()
        for step in steps:
            if trial.find_objection(step) is not None:
                return False
            trial.apply(step)
        return trial.holds(trial.problem.goal.hard)

    def list_promising(self) -> list[int]:
        """Return the place with the fewest missing facts, then the cheapest by estimate.

        The estimate of a missing fact is the average cost of an old step.
        """
        found = self.missing
        if not found:
            return []
        average = max(float(self.charges[0]) / max(len(self.old), 1), 1.0)
        nearest = min(found, key=lambda place: (found[place], place))
        cheapest = nsmallest(MAX_PLACES, found, key=lambda place: float(self.charges[place]) + average * found[place])
        return list(dict.fromkeys([nearest, *cheapest]))

    def search_new_steps(self, place: int, plain: Problem, limits: Limits) -> list[Step] | None:
        """Return steps of `plain` after which the plan goes on at `place`; None if none are found soon."""
        goal = Goal(regress_goal(self.now, self.old[place:], self.now.problem.goal.hard))
        left = limits.remaining
        try:
            chooser = Chooser(
                Choice(replace(plain, goal=goal), {}), limits.part(REENTRY_SECONDS if left is None else left / 4)
            )
        except LimitReached:
            limits.check()
            return None
        found = chooser.search_best(Prices())
        return None if found.plan is None else [step for _, step in chooser.steps(found.plan)]

    def vary_first_step(self, new: Sequence[Step], place: int) -> Iterator[tuple[tuple[Step, ...], int]]:
        """Yield plans of the steps `new` and the old ones from `place`, each with the place from which all are kept.

        If the first step may not come first, later steps are tried as the first.
        """
        steps = (*new, *self.old[place:])
        if not self._is_barred(steps):
            yield steps, place
            return
        for number in range(1, min(len(steps), MAX_MOVED)):
            moved = (steps[number], *steps[:number], *steps[number + 1 :])
            if not self._is_barred(moved) and self._works(moved):
                yield moved, max(place, place + number + 1 - len(new))


def charge_places(old: Sequence[Step], weight: Number) -> list[Number]:
    """Return for each place in `old` the cost of the steps from there on, and the weight of those before."""
    left = [exact_sum([step.cost for step in old])]
    for step in old:
        left.append(left[-1] - step.cost)
    return [cost + weight * place for place, cost in enumerate(left)]
