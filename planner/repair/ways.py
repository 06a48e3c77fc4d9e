"""Ways back into a plan that need little that is new: where it goes on at once, and where few facts are missing."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from heapq import nsmallest

from planner.annotations import Final
from planner.budget import Budget, LimitReached
from planner.model import Atom, Goal, Number, Problem
from planner.plan import Step, exact_sum
from planner.records import dataclass, replace
from planner.repair.regression import Unclear, needed, regressed
from planner.repair.search import Chooser, Prices
from planner.repair.stages import Choice
from planner.validate import Simulation

MOST_TRIED: Final = 3
"""So many places are tried beside the nearest one, those that seem to be cheapest."""
SECONDS: Final = 2.0
"""So long each of them may take where there is no limit; else a quarter of what is left."""

MOST_MOVED: Final = 5
"""So many other steps are tried as the first one."""


@dataclass(frozen=True, slots=True)
class Ways:
    """What each place in the steps `old` asks for.

    `missing` are the places from which the rest leads to the goal, ascending, each with the number of facts that are
    not as it needs; None where that is not clear. `charges` are, for each place, what the rest costs with the weight of
    what is dropped. A step of `not_first` may not come first.
    """

    now: Simulation
    old: tuple[Step, ...]
    missing: Mapping[int, int] | None
    charges: Sequence[Number]
    not_first: Collection[Atom]

    @classmethod
    def of(cls, now: Simulation, old: tuple[Step, ...], weight: Number, not_first: Collection[Atom]) -> Ways:
        """Return the ways from `now` into `old`."""
        left = [exact_sum([step.cost for step in old])]
        for step in old:
            left.append(left[-1] - step.cost)
        charges = [cost + weight * place for place, cost in enumerate(left)]
        try:
            found = [(place, len(needs.unmet)) for place, needs in regressed(now, old, now.problem.goal.hard)]
        except Unclear:
            return cls(now, old, None, charges, not_first)
        return cls(now, old, dict(reversed(found)), charges, not_first)

    @property
    def first(self) -> int:
        """The first place at which a plan can go on, if any state is to be reached for that."""
        return 0 if self.missing is None else min(self.missing, default=len(self.old))

    def _is_barred(self, steps: Sequence[Step]) -> bool:
        """Return whether a plan that begins with `steps` begins with one that may not come first."""
        return bool(steps) and Atom(steps[0].action, steps[0].arguments) in self.not_first

    def direct(self, check: Callable[[], None]) -> int | None:
        """Return the best place at which the old steps go on without any new one; None where there is none."""
        every = range(len(self.old) + 1)
        places = every if self.missing is None else [place for place in every if self.missing.get(place) == 0]
        for place in sorted(places, key=lambda place: (self.charges[place], place)):
            check()
            rest = self.old[place:]
            if not self._is_barred(rest[:1]) and (self.missing is not None or self._works(rest)):
                return place
        return None

    def _works(self, steps: Sequence[Step]) -> bool:
        """Return whether `steps` lead to the goal, by going through them."""
        if steps and self.now.objection(steps[0]) is not None:
            return False
        trial = self.now.copy()
        for step in steps:
            if trial.objection(step) is not None:
                return False
            trial.apply(step)
        return trial.holds(trial.problem.goal.hard)

    def promising(self) -> list[int]:
        """Return places that seem to need little: the first of those where least is missing, and then the cheapest.

        A missing fact is taken to cost a usual step.
        """
        found = self.missing
        if not found:
            return []
        usual = max(float(self.charges[0]) / max(len(self.old), 1), 1.0)
        nearest = min(found, key=lambda place: (found[place], place))
        cheapest = nsmallest(MOST_TRIED, found, key=lambda place: float(self.charges[place]) + usual * found[place])
        return list(dict.fromkeys([nearest, *cheapest]))

    def reached(self, place: int, plain: Problem, budget: Budget) -> list[Step] | None:
        """Return steps of `plain` after which the plan goes on at `place`; None where none are found soon."""
        goal = Goal(needed(self.now, self.old[place:], self.now.problem.goal.hard))
        left = budget.remaining
        try:
            chooser = Chooser(Choice(replace(plain, goal=goal), {}), budget.part(SECONDS if left is None else left / 4))
        except LimitReached:
            budget.check()
            return None
        found = chooser.best(Prices())
        return None if found.plan is None else [step for _, step in chooser.steps(found.plan)]

    def begun(self, new: Sequence[Step], place: int) -> Iterator[tuple[tuple[Step, ...], int]]:
        """Yield plans that take the steps `new` and go on at `place`, each with the place from which all is kept.

        If what would come first may not, a later step does.
        """
        steps = (*new, *self.old[place:])
        if not self._is_barred(steps):
            yield steps, place
            return
        for number in range(1, min(len(steps), MOST_MOVED)):
            moved = (steps[number], *steps[:number], *steps[number + 1 :])
            if not self._is_barred(moved) and self._works(moved):
                yield moved, max(place, place + number + 1 - len(new))
