"""The search for steps that restore items: all of them at once, where that can be done, or as many as can be."""

from __future__ import annotations

from collections.abc import Sequence

from planner.annotations import Final
from planner.budget import Budget
from planner.model import Atom, Formula, Goal, Problem
from planner.model.formulas import conjunction
from planner.normalise.wishes import granted_by
from planner.plan import Step, StoppedBy
from planner.records import dataclass, replace
from planner.repair.collecting import collecting, settled
from planner.repair.search import STOPS, Chooser, Found, Prices, stopped_by
from planner.repair.stages import Choice

SECONDS: Final = 5.0
"""So long steps are searched that restore everything, where there is no limit; else half of it."""


@dataclass(frozen=True, slots=True)
class Restored:
    """Steps that a search has found, and what it has proved: of the `hopeless` wishes, none can come true."""

    steps: tuple[Step, ...]
    proved: bool
    stopped_by: StoppedBy
    hopeless: frozenset[int] = frozenset()


RESTORED: Final = Restored((), proved=True, stopped_by=StoppedBy.EXHAUSTED)
"""There is nothing to be done."""


@dataclass(frozen=True, slots=True)
class Restoring:
    """One search in the `plain` problem: as few of `wishes` as can be are to fail, and none of `kept` may.

    `holding` says which of the wishes hold now.
    """

    plain: Problem
    wishes: Sequence[Formula]
    kept: Sequence[Atom]
    holding: Sequence[bool]
    budget: Budget

    def restored(self) -> Restored:
        """Return the steps.

        Those that restore everything are a plan for an ordinary goal. Where there are none, or it is not proved that
        none are cheaper, each wish is granted or given up.
        """
        try:
            return self._restored()
        except STOPS as stop:
            return Restored((), proved=False, stopped_by=stopped_by(stop))

    def _restored(self) -> Restored:
        every = range(len(self.wishes))
        steps, proved = self._together(every)
        if proved and steps is not None:
            return Restored(tuple(steps), proved=True, stopped_by=StoppedBy.EXHAUSTED)
        chooser = Chooser(collecting(self.plain, self.wishes, self.kept), self.budget)
        possible = granted_by(action.step.action for action in chooser.task.actions)
        hopeless = frozenset(every) - possible
        if hopeless:
            steps, proved = self._together(sorted(possible))
            if proved and steps is not None:
                return Restored(tuple(steps), proved=True, stopped_by=StoppedBy.EXHAUSTED, hopeless=hopeless)
        start = None if steps is None else chooser.named([*steps, *settled(place in possible for place in every)])
        found = chooser.fewest(start or chooser.named(settled(self.holding)))
        taken = tuple([step for _, step in chooser.steps(found.plan or ())])
        return Restored(taken, found.proved, found.stopped_by, hopeless)

    def _together(self, places: Sequence[int]) -> tuple[list[Step] | None, bool]:
        """Return steps after which the wishes at `places` hold, and whether nothing that costs less does that."""
        left = self.budget.remaining
        goal = Goal(conjunction([*(self.wishes[place] for place in places), *self.kept]))
        budget = self.budget.part(SECONDS if left is None else left / 2)
        try:
            chooser = Chooser(Choice(replace(self.plain, goal=goal), {}), budget)
            found: Found = chooser.best(Prices())
        except STOPS:
            self.budget.check()
            return None, False
        return (None if found.plan is None else [step for _, step in chooser.steps(found.plan)]), found.proved
