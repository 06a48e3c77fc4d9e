"""Shortens plans with numbers by action elimination; the kernel is `numeric_action_elimination_kernel`."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from itertools import groupby

from planner.jit import slots_kernel as slot
from planner.jit.arrays import flatten, index, words, zeros
from planner.jit.common_kernel import PAUSED
from planner.jit.library import Call
from planner.lightweight import Final
from planner.limits import under_limits, work_seconds
from planner.search.numeric_action_elimination_kernel import (
    ELIMINATE,
    LAY_OUT,
    MERGE,
    SCRATCH,
    Needs,
    PlanRuns,
)
from planner.task.numeric_task_compiled import LARGEST_VALUE, NumericSpace, find_opposites

WORK: Final = 50_000
"""Steps of inner loops between two pauses: half a millisecond, and a tenth of a second without machine code."""
HORIZON: Final = 32
"""Runs that a trial follows at first."""
GROWTH: Final = 4
"""Factor by which the horizon grows whenever nothing changes, up to the whole plan."""
MOST_WORDS: Final = 1 << 24
"""Longer plans, by the words of their states, are left as they are: 128 MiB, twice."""


def shorten_plan(
    space: NumericSpace, entries: Mapping[str, Call], plan: Sequence[int], seconds: float
) -> Generator[None, None, list[int]]:
    """Return a part of `plan`, perhaps in another order, that is a plan too; take about so many `seconds` at most.

    Seconds are those of the processor. The result costs no more than `plan`.
    """
    elimination = _Elimination(space, entries, seconds)
    runs = [(action, len(list(steps))) for action, steps in groupby(plan)]
    horizon = HORIZON
    while True:
        cut = yield from elimination.cut_loops(runs)
        changed, runs = len(cut) < len(runs), cut
        for phase in (MERGE, ELIMINATE):
            shorter, is_whole = yield from elimination.work_on(runs, phase, horizon)
            changed, runs = changed or shorter != runs, shorter
            if not is_whole:
                return [action for action, times in runs for _ in range(times)]
        if not changed:
            if horizon >= len(runs):
                return [action for action, times in runs for _ in range(times)]
            horizon *= GROWTH


_Runs = list[tuple[int, int]]
"""Actions, and how often they are repeated."""


class _Elimination:
    def __init__(self, space: NumericSpace, entries: Mapping[str, Call], seconds: float) -> None:
        self._space, self._entries = space, entries
        self._until = work_seconds() + seconds
        self._row = len(space.initial)
        self._needs = _list_needs(space)

    def cut_loops(self, runs: _Runs) -> Generator[None, None, _Runs]:
        """Return `runs` without those between two equal states."""
        plan = yield from self._lay_out(runs)
        if plan is None:
            return runs
        row, kept, last = self._row, _Runs(), dict[bytes, int]()
        states = [plan.state[place * row : (place + 1) * row].tobytes() for place in range(len(runs) + 1)]
        for place, state in enumerate(states):
            last[state] = place
        place = 0
        while place < len(runs):
            place = last[states[place]]
            if place < len(runs):
                kept.append(runs[place])
                place += 1
        return kept

    def _pause(self) -> Generator[None]:
        """Pause, and leave out of account how long that takes."""
        began = work_seconds()
        yield
        self._until += work_seconds() - began

    def work_on(self, runs: _Runs, phase: int, horizon: int) -> Generator[None, None, tuple[_Runs, bool]]:
        """Return what a `phase` leaves of `runs`, and whether it was over before the time was."""
        plan = yield from self._lay_out(runs)
        if plan is None:
            return runs, False
        number = zeros(slot.HOW_MANY)
        while (outcome := self._call(phase, horizon, number, plan)) == PAUSED and work_seconds() < self._until:
            yield from self._pause()
        left = [(action, times) for action, times in zip(plan.action, plan.times, strict=True) if times]
        joined = [(action, sum([times for _, times in same])) for action, same in groupby(left, lambda run: run[0])]
        return joined, outcome != PAUSED

    def _lay_out(self, runs: _Runs) -> Generator[None, None, PlanRuns | None]:
        """Return the plan with its states; None if they are too large."""
        row = self._row
        if (len(runs) + 1 + SCRATCH) * row > MOST_WORDS:
            return None
        times = words(times for _, times in runs)
        plan = PlanRuns(
            index(action for action, _ in runs),
            times,
            times[:],
            zeros((len(runs) + 1) * row),
            zeros((len(runs) + 1 + SCRATCH) * row),
        )
        plan.state[:row] = words(self._space.initial)
        self._call(LAY_OUT, len(runs), zeros(slot.HOW_MANY), plan)
        yield from self._pause()
        return plan

    def _call(self, phase: int, horizon: int, number: Sequence[int], plan: PlanRuns) -> int:
        space = self._space
        return self._entries["eliminate_numeric_actions"](
            WORK,
            phase,
            horizon,
            number,
            space.space,
            space.preconditions,
            self._needs,
            plan,
            space.words,
        )


def _list_needs(space: NumericSpace) -> Needs:
    """Return the linear conditions of actions and of the goal."""
    source, opposite = space.source, find_opposites(space.source.task)
    known = {each.fact: (number, 1) for number, each in enumerate(source.conditions)}
    known |= {opposite[each.fact]: (number, 0) for number, each in enumerate(source.conditions)}
    actions = source.task.actions
    lists = [
        [known[fact] for fact in facts if fact in known]
        for facts in under_limits((*[action.precondition for action in actions], source.task.goal))
    ]
    start, comparison = flatten([[number for number, _ in each] for each in lists])
    steady = [_count_steady(space, action) for action in under_limits(range(len(actions)))]
    return Needs(start, comparison, index(sense for each in lists for _, sense in each), words(steady))


def _count_steady(space: NumericSpace, action: int) -> int:
    """Return how many repetitions of `action` may be added up at once; 0 if what it does depends on the state.

    Where it needs derived facts, which the state behind many repetitions does not have yet, it is 1.
    """
    changes = space.source.changes[action]
    effects = [each for change in changes for each in change.effects]
    if space.source.task.actions[action].conditional or any(() not in change.conditions for change in changes):
        return 0
    if any(not each.additive or each.terms for each in effects):
        return 0
    if not space.source.task.derived.isdisjoint(space.source.task.actions[action].precondition):
        return 1
    return LARGEST_VALUE // max([1, *[abs(each.constant) for each in effects]])
