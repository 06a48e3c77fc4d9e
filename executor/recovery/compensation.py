"""The last rung: what a run wrote is returned to what it was before, by a plan that is searched and validated."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import Final

from executor.looking.beliefs import is_in_place
from executor.looking.observe import Lookout
from executor.plans.action_plan import PlanStep
from executor.record.events import Event, PlanChanged, Rung, RungTaken, StepEnded
from executor.record.state import RunState
from executor.record.status import StepStatus
from executor.recovery.looking_back import looked_back
from executor.searches import search_in_turn
from planner.model import Problem
from planner.plan import Step, exact_sum
from planner.repair import Written, undo
from planner.validate.simulation import bound

MOST: Final = 10
"""Undo plans in one run: each after a step of the one before has failed."""
_WROTE: Final = frozenset({StepStatus.SUCCEEDED, StepStatus.UNVERIFIED, StepStatus.PARTIAL})


@dataclass(slots=True, eq=False)
class Compensation:
    """Undoes one run; `problem` gives what is believed now, with the actions that have handlers."""

    state: RunState
    emit: Callable[[Event], None]
    lookout: Lookout
    problem: Callable[[], Problem]
    time_limit: float
    reasons: list[str]
    """Why the rungs taken last did not help."""
    _plans: int = 0

    async def begin(self, about: str) -> bool:
        """Find steps that undo what the run wrote, and make them the plan; return whether there are any to be taken."""
        if self._plans >= MOST:
            return False
        self._plans += 1
        written, started = list(self._written()), time.perf_counter()
        forbidden = [key for key, tried in self.state.tried.items() if tried.spent or tried.times > 1]
        look = partial(
            undo,
            self.problem(),
            self.state.problem.initial,
            written,
            forbidden=[Step(*key) for key in forbidden],
            time_limit=self.time_limit,
        )
        found = await search_in_turn(look)
        left = [f"{each.item} is not as before: {each.reason}" for each in found.left]
        left += [f"{each.item} was written by {each.step}, which is irreversible" for each in found.exempt]
        cost = float(exact_sum(each.step.cost for each in found.steps))
        seconds = time.perf_counter() - started
        said = "; ".join([found.status.value, *left])
        self.emit(RungTaken(Rung.COMPENSATE, about, said, cost, seconds, found=bool(found.steps)))
        if not found.steps:
            self.reasons += [f"compensate: {each}" for each in left]
            return False
        names = (name for number in count(1) if (name := f"u{number}") not in self.state.steps)
        steps = [
            PlanStep.of(each.step, self.state.domain.actions[each.step.action], next(names)).model_copy(
                update={"undoes": tuple(id_ for id_ in each.undoes if id_ in self.state.steps)}
            )
            for each in found.steps
        ]
        data, reason = tuple([each.model_dump(mode="json") for each in steps]), f"undoing, after {about or 'the end'}"
        self.emit(PlanChanged(data, 0, len(steps), 0, reason, undoes=True, left=tuple(left)))
        return True

    async def end(self) -> list[str]:
        """Look back, say which steps are undone, and return what is not seen to be as before, in words."""
        remains = await looked_back(self.state, self.lookout, self.emit)
        undone = [
            id_
            for record in self.state.steps.values()
            if record.status.is_done
            for id_ in record.plan.undoes
            if self.state.steps[id_].status in _WROTE
        ]
        for id_ in dict.fromkeys(undone):
            if remains.facts.isdisjoint([note.fact for note in self.state.steps[id_].facts]):
                self.emit(StepEnded(id_, StepStatus.COMPENSATED, "undone"))
        return [*self.state.left, *remains.reasons]

    def _written(self) -> Iterator[Written]:
        """Yield what the steps of the plan wrote, in the order in which they ended."""
        for id_ in self.state.finished:
            record = self.state.steps[id_]
            if record.status not in _WROTE or record.plan.undoes:
                continue
            action = self.state.problem.domain.actions[record.step.action]
            if "read_only" in action.tags:
                continue
            final = "irreversible" in action.tags
            for note in record.facts:
                if not self.state.beliefs.is_internal(note.fact):
                    yield Written(note.fact, id_, final)
            for pattern in action.modifies:
                item = pattern.substitute(bound(action, record.step))
                if is_in_place(item):
                    yield Written(item, id_, final, in_place=True)
