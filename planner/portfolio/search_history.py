"""Records how a search goes: what is known when, and which searches are at work when."""

from __future__ import annotations

from collections.abc import Iterable
from math import log1p

from planner.lightweight import Final, replace
from planner.model import Number
from planner.plan import History, Milestone, Plan, Result, SearchFailure, SearchTurns, Statistics

SLOTS: Final = 100
"""Slots of time for each factor of e that the time grows by: 10 ms at first, then 1 % of the time so far."""
By = tuple[str, str]
"""The names of a search and its heuristic."""


class Recorder:
    """The history of one search, or of several for one problem; times are seconds since its beginning."""

    def __init__(self) -> None:
        self._milestones: list[Milestone] = []
        self._turns: dict[By, list[tuple[float, float]]] = {}
        self._failures: dict[SearchFailure, None] = {}

    def note(self, elapsed: float, cost: Number | None, bound: Number | None, by: By) -> None:
        """Keep what is known; a better bound takes the place of one that the same search found in the same slot."""
        found = Milestone(elapsed, cost, bound, *by)
        last = self._milestones[-1] if self._milestones else None
        if last is not None:
            if (last.cost, last.lower_bound) == (cost, bound):
                return
            before = self._milestones[-2].cost if len(self._milestones) > 1 else None
            if before == last.cost == cost and last.search == by[0] and _slot(last.elapsed) == _slot(elapsed):
                self._milestones.pop()
        self._milestones.append(found)

    def note_turn(self, by: By, begin: float, end: float) -> None:
        """Note that a search was at work; turns that touch become one."""
        turns = self._turns.setdefault(by, [])
        if turns and turns[-1][1] >= begin:
            turns[-1] = turns[-1][0], end
        else:
            turns.append((begin, end))

    def note_failures(self, failures: Iterable[SearchFailure]) -> None:
        """Note searches that errors have ended, each error once."""
        self._failures |= dict.fromkeys(failures)

    def note_progress(self, elapsed: float, plan: Plan | None, bound: Number | None, found_by: Statistics) -> None:
        """Keep what is known after a search for another problem has found something, in terms of the problem itself."""
        if plan is not None or bound is not None:
            charge = None if plan is None else plan.charge
            self.note(elapsed, charge, bound, (found_by.search, found_by.heuristic))

    def take_turns(self, history: History, began: float) -> None:
        """Take the turns and failures of a search that began at `began`."""
        self.note_failures(history.failures)
        for each in history.searches:
            for begin, end in each.turns:
                self.note_turn((each.search, each.heuristic), began + begin, began + end)

    def finish(self, elapsed: float, result: Result) -> Result:
        """Return `result` with the history, whose last milestone says what the result says."""
        self.note_progress(elapsed, result.plan, result.lower_bound, result.statistics)
        return replace(result, history=self.history())

    def history(self) -> History:
        """Return what was recorded."""
        searches = [SearchTurns(*by, tuple(turns)) for by, turns in self._turns.items() if any(by)]
        return History(tuple(self._milestones), tuple(searches), tuple(self._failures))


def _slot(elapsed: float) -> int:
    return int(SLOTS * log1p(elapsed))
