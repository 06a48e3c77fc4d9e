"""The recovery ladder above retries: patch, plan anew, ask, compensate; each rung is noted with what it costs."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any, Final

from executor.looking.survey import Survey
from executor.plans.action_plan import PlanStep, steps_of
from executor.record.events import Asked, Event, GoalDropped, PlanChanged, Rung, RungTaken, StepEnded
from executor.record.facts import Note, Provenance
from executor.record.state import RunState
from executor.record.status import StepStatus
from executor.record.steps import StepRecord
from executor.recovery.asking import GIVE_UP, HAPPENED, NOTHING, RETRY, Asking, meant
from executor.recovery.compensation import Compensation
from executor.recovery.hierarchy import TASKS, goes_on, repairing
from planner.model import Goal, Or, Problem
from planner.plan import Step, exact_sum
from planner.records import replace
from planner.repair import Patch, patch
from planner.validate import Simulation

if TYPE_CHECKING:
    from htn.repair import Repair

MOST_TRIES: Final = 3
"""An action that failed so often with the same arguments is not tried again in a run."""
SECONDS: Final = 10.0
"""The time for one patch, where nothing else is said."""


@dataclass(frozen=True, slots=True)
class Recovery:
    """What is done about failures that retries do not mend.

    `rungs` are those that may be taken, in this order. `weight` is what dropping a step of the plan costs, against the
    costs of actions. `time_limit` is in seconds for each search. A run that came of tasks does these tasks; where they
    cannot be done, one may `leave_tasks` and go on to the goal by any steps, if there is a goal: it is LOWERED then.
    """

    rungs: tuple[Rung, ...] = (Rung.PATCH, Rung.REPLAN, Rung.ASK, Rung.COMPENSATE)
    weight: float = 0
    time_limit: float = SECONDS
    most_patches: int = 100
    leave_tasks: bool = False


@dataclass(slots=True, eq=False)
class Ladder:
    """Recovers one run."""

    state: RunState
    emit: Callable[[Event], None]
    asking: Asking
    recovery: Recovery
    without_handler: frozenset[str]
    survey: Survey
    compensation: Compensation = field(init=False)
    reasons: list[str] = field(default_factory=list)
    """Why the rungs taken last did not help."""

    def __post_init__(self) -> None:
        self.compensation = Compensation(self.state, self.emit, self.problem, self.recovery.time_limit)

    async def climb(self, failed: Sequence[StepRecord], *, meanwhile: bool = False) -> bool:
        """Take rung after rung, until the run can go on; return whether it can.

        Only the first, a patch, is taken `meanwhile`: while other steps are at work.
        """
        self.reasons.clear()
        about = failed[-1].id if failed else ""
        if self.state.is_undoing:
            return not meanwhile and await self._compensate(about)
        await self.survey.near(failed)
        if self.state.hierarchy is None and self.still_works(self.left()):
            self._change(self.left(), 0, 0, "the rest of the plan still works")
            return True
        steps = {
            Rung.PATCH: self._patch,
            Rung.REPLAN: self._replan,
            Rung.ASK: self._ask,
            Rung.COMPENSATE: self._compensate,
        }
        rungs = [rung for rung in self.recovery.rungs if rung is not Rung.ASK or self.asking.ask is not None]
        for rung in rungs if not meanwhile else rungs[:1]:
            if meanwhile and rung is not Rung.PATCH:
                return False
            if len(self.state.rungs) >= self.recovery.most_patches:
                break
            if rung in steps and await steps[rung](about):
                return True
            if rung is Rung.PATCH and await self.survey.everywhere() and await self._patch(about):
                return True
        return False

    def left(self) -> list[StepRecord]:
        """Return the steps that have not begun, without those that wait for one that has failed."""
        orphans: set[str] = set()
        for record in self.state.pending():
            if any(self._is_lost(id_, orphans) for id_ in record.plan.needs):
                orphans.add(record.id)
        return [record for record in self.state.pending() if record.id not in orphans]

    def _is_lost(self, id_: str, orphans: set[str]) -> bool:
        record = self.state.steps.get(id_)
        return id_ in orphans or record is None or (record.status.is_over and not record.status.is_done)

    def fixed(self) -> list[StepRecord]:
        """Return the steps that no patch can change: those at work, waiting, or in doubt."""
        return self.state.with_status(StepStatus.RUNNING, StepStatus.WAITING, StepStatus.IN_DOUBT)

    def still_works(self, left: Iterable[StepRecord]) -> bool:
        """Return whether steps that are at work, and then those of `left`, lead from what is believed to the goal."""
        simulation, barred = Simulation(self.problem()), self.barred()
        for record in (*self.fixed(), *left):
            step = record.step
            if step.action in self.without_handler or step in barred or simulation.objection(step) is not None:
                return False
            simulation.apply(record.step)
        return simulation.holds(self.state.goal)

    def furthest(self) -> int | None:
        """Return how many of the steps that are left need not be done any more: all others still work after those.

        It is the furthest point of the plan whose conditions hold (Fikes, Hart, Nilsson 1972). None where nothing does.
        """
        left, now = self.left(), Simulation(self.problem())
        for start in range(len(left), -1, -1):
            if start < len(left) and now.objection(left[start].step) is not None:
                continue
            if self.still_works(left[start:]):
                return start
        return None

    def skip(self, number: int) -> None:
        """Leave out the next `number` steps."""
        self._change(self.left()[number:], 0, number, "what they are for has come about by itself")

    def problem(self) -> Problem:
        """Return what is to be solved now: the goal from what is believed, with the actions that have handlers."""
        problem = replace(self.state.beliefs.problem, goal=Goal(self.state.goal))
        if not self.without_handler:
            return problem
        actions = {
            name: replace(action, requires=Or(())) if name in self.without_handler else action
            for name, action in problem.domain.actions.items()
        }
        return replace(problem, domain=replace(problem.domain, actions=actions))

    def barred(self) -> set[Step]:
        """Return the ground actions that are not to be tried as things stand."""
        facts = self.state.beliefs.simulation.facts
        return self.never() | {Step(*key) for key, tried in self.state.tried.items() if tried.facts == facts}

    def never(self) -> set[Step]:
        """Return the ground actions that are not to be tried any more."""
        tried = self.state.tried.items()
        return {Step(*key) for key, each in tried if each.spent or each.times >= MOST_TRIES}

    async def _compensate(self, about: str) -> bool:
        """Undo what was done."""
        return await self.compensation.begin(about)

    async def _patch(self, about: str) -> bool:
        """Find the cheapest way back into the plan."""
        return await self._search(Rung.PATCH, about, forbidden=self.barred(), not_first=set())

    async def _replan(self, about: str) -> bool:
        """Let actions be tried again once something has changed, and give up soft goals, the least useful first."""
        never = self.never()
        later = self.barred() - never
        if later and await self._search(Rung.REPLAN, about, forbidden=never, not_first=later):
            return True
        while self.state.soft:
            wish = min(self.state.soft, key=lambda each: each.utility)
            self.emit(GoalDropped(str(wish.condition), float(wish.utility)))
            if await self._search(Rung.REPLAN, about, forbidden=never, not_first=later):
                return True
        if self.state.hierarchy is not None and self.recovery.leave_tasks and self.state.has_goal:
            self.emit(GoalDropped(TASKS, 0.0))
            return await self._search(Rung.REPLAN, about, forbidden=never, not_first=later)
        return False

    async def _search(self, rung: Rung, about: str, *, forbidden: set[Step], not_first: set[Step]) -> bool:
        left, started = self.left(), time.perf_counter()
        found = await asyncio.to_thread(self._searching(left, forbidden, not_first))
        took = time.perf_counter() - started
        if found.steps is None or self._repeats(found.steps):
            why = found.reason or found.status.value
            why = why if found.steps is None else "nothing else would be tried than what has failed already"
            self.reasons.append(f"{rung.name.lower()}: {why}")
            self.emit(RungTaken(rung, about, self.reasons[-1], seconds=took))
            return False
        self.emit(RungTaken(rung, about, _said(found), float(exact_sum(each.cost for each in _new(found))), took))
        reason = f"{rung.name.lower()} after {about}"
        if isinstance(found, Patch):
            self._change(left[len(left) - found.kept :], found.new, found.dropped, reason, _new(found))
        else:
            self._decompose(found, reason)
        return True

    def _searching(
        self, left: Sequence[StepRecord], forbidden: set[Step], not_first: set[Step]
    ) -> Callable[[], Patch | Repair]:
        """Return the search for other steps: of those that the tasks can be decomposed into, or of all."""
        limits: dict[str, Any] = {
            "forbidden": forbidden,
            "not_first": not_first,
            "time_limit": self.recovery.time_limit,
        }
        fixed = self.fixed()
        if self.state.hierarchy is not None:
            return repairing(self.state, self.problem(), fixed, left, **limits)
        return partial(
            patch,
            self.problem(),
            [record.step for record in left],
            weight=self.recovery.weight,
            fixed=[record.step for record in fixed],
            **limits,
        )

    def _decompose(self, found: Repair, reason: str) -> None:
        """Go on with other tasks."""
        steps, hierarchy = goes_on(self.state, found)
        plans = [*(record.plan for record in self.fixed()), *steps]
        data = tuple([each.model_dump(mode="json") for each in plans])
        counts = found.kept, found.new, found.dropped
        self.emit(PlanChanged(data, *counts, reason, decomposition=hierarchy.to_dict()))

    def _repeats(self, steps: Sequence[Step]) -> bool:
        """Return whether `steps` would lead to trying again, in a state in which it failed, what has failed."""
        simulation = Simulation(self.problem())
        for step in (*(record.step for record in self.fixed()), *steps):
            tried = self.state.tried.get((step.action, step.arguments))
            if tried is not None and tried.facts == simulation.facts:
                return True
            simulation.apply(step)
        return False

    def _change(
        self, kept: Sequence[StepRecord], new: int, dropped: int, reason: str, steps: Sequence[Step] = ()
    ) -> None:
        fresh = [each.model_dump(mode="json") for each in self._named(steps)]
        old = [record.plan.model_dump(mode="json") for record in (*self.fixed(), *kept)]
        at = len(self.fixed())
        self.emit(PlanChanged((*old[:at], *fresh, *old[at:]), len(kept), new, dropped, reason))

    def _named(self, steps: Sequence[Step]) -> list[PlanStep]:
        """Return `steps` with ids that no step of the run has had."""
        return list(steps_of(steps, self.state.domain, self.state.steps))

    async def settle(self, record: StepRecord) -> bool:
        """Ask whether a step in doubt happened; return whether anybody knows."""
        text = f"Nobody can say whether {record.step} happened: {record.reason}. Did it?"
        name = f"doubt:{record.id}" + (f":{record.attempts}" if record.attempts > 1 else "")
        question = Asked(name, record.id, text, (HAPPENED, NOTHING), self._known(record))
        answer = await self.asking.answer(question)
        if answer is None:
            return False
        self.emit(self._settled(record, happened=meant(question, answer) == HAPPENED))
        return True

    def _settled(self, record: StepRecord, *, happened: bool) -> StepEnded:
        beliefs = self.state.beliefs
        notes = [
            Note(each.fact, each.holds if happened else not each.holds, Provenance.REPORTED, "answer")
            for each in record.awaited
        ]
        again = StepStatus.PENDING if record.attempts < MOST_TRIES else StepStatus.FAILED
        status = StepStatus.UNVERIFIED if happened else again
        reason = "somebody says that it happened" if happened else "somebody says that it did not happen"
        return StepEnded(record.id, status, reason, None, tuple(beliefs.would_change(notes)))

    async def _ask(self, about: str) -> bool:
        """Ask what to do, with what is known."""
        for number in count(1):
            question = f"stuck:{about or 'goal'}:{number}"
            if question not in self.state.answers:
                break
        text = f"The run cannot go on: {'; '.join(self.reasons) or 'the plan does not work'}. What now?"
        record = self.state.steps.get(about)
        known = self._known(record) if record else ()
        asked = Asked(question, about, text, (RETRY, GIVE_UP), known)
        answer = await self.asking.answer(asked)
        if answer is None or meant(asked, answer) != RETRY:
            return False
        self.emit(RungTaken(Rung.ASK, about, "somebody says that it is worth another try"))
        return await self._search(Rung.REPLAN, about, forbidden=set(), not_first=set())

    def _known(self, record: StepRecord) -> tuple[str, ...]:
        """Return what is known about a step, in words."""
        found: list[Any] = [record.reason, record.result and record.result.get("error")]
        return tuple(dict.fromkeys(str(each) for each in found if each))


def _new(found: Patch | Repair) -> list[Step]:
    """Return the steps that are not of the old plan."""
    steps = found.steps or ()
    if isinstance(found, Patch):
        return list(steps[: found.new])
    return [step for step, origin in zip(steps, found.origins, strict=True) if origin is None]


def _said(found: Patch | Repair) -> str:
    """Return what was found, in words."""
    if isinstance(found, Patch) or not found.anew:
        return found.status.value
    return f"{found.status.value}; done anew: {', '.join(map(str, found.anew))}"
