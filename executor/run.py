"""One run: steps are begun, what comes is waited for, failures are recovered from, and the goal is looked at."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from executor.looking.goal import Verdict, looked_at
from executor.looking.judge import Expected
from executor.plans.edges import edges
from executor.record.events import Event, RunEnded
from executor.record.state import RunState, StepRecord
from executor.record.status import RunStatus, StepStatus
from executor.recovery.ladder import Ladder
from executor.schedule import SINGLE, Agenda
from executor.steps.perform import Attempt
from executor.steps.stepping import Stepper
from executor.world.results import ActionResult, Metrics, result_of

TROUBLE = frozenset({StepStatus.FAILED, StepStatus.PARTIAL, StepStatus.IN_DOUBT})
NOTHING = Expected({}, frozenset(), frozenset(), {})


@dataclass(slots=True, eq=False)
class Loop:
    """Drives one run to its end, or until it waits for somebody; `most` steps may be at work at once."""

    state: RunState
    emit: Callable[[Event], None]
    stepper: Stepper
    ladder: Ladder
    most: int | None = None
    stay: bool = True
    """Whether to stay while nothing but answers from outside is missing."""
    agenda: Agenda = field(init=False)
    _tasks: dict[str, asyncio.Task[None]] = field(init=False, default_factory=dict)
    _back: list[str] = field(init=False, default_factory=list)
    """Those of the steps in tasks that are over."""
    _seen: set[str] = field(init=False, default_factory=set)
    _inbox: asyncio.Event = field(init=False, default_factory=asyncio.Event)
    _arrived: dict[str, Any] = field(init=False, default_factory=dict)
    _alarms: dict[tuple[str, float], float | None] = field(init=False, default_factory=dict)
    _postponed: set[str] = field(init=False, default_factory=set)
    """The steps that failed, and are looked after when no step is at work."""
    _given_up: list[str] = field(init=False, default_factory=list)
    """What the run failed at."""
    _changed: int = field(init=False, default=-1)
    _surprised: int = field(init=False, default=-1)

    async def drive(self) -> RunEnded:
        """Carry out the plan, and return how it ended; what is left to do is in the state.

        When it is broken off, so are the steps at work.
        """
        try:
            return await self._driven()
        finally:
            for task in self._tasks.values():
                task.cancel()
            await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    async def _driven(self) -> RunEnded:
        self._seen |= self.state.mended
        await self._take_up()
        while True:
            if self._is_reactive and not self._react() and not self._unsettled():
                self.stepper.replanning.append("nothing of the plan works any more")
            self._arrange()
            await self._begin()
            if self._tasks:
                if not await self._patched_meanwhile():
                    await self._next()
                continue
            ended = await self._idle()
            if ended is not None:
                return ended

    async def _patched_meanwhile(self) -> bool:
        """Patch around steps that failed while others go on; return whether that could be done.

        What takes more than a patch waits until no step is at work, and meanwhile blocks what depends on it.
        """
        fresh = [record for record in self._records(TROUBLE) if record.id not in self._seen | self._postponed]
        policies = {self.stepper.policy_of(record).on_error for record in fresh}
        if not fresh or "abort" in policies:
            return False
        failed = [record for record in fresh if record.status is not StepStatus.IN_DOUBT]
        if failed and policies == {"patch"} and self.state.has_aim and await self.ladder.climb(failed, meanwhile=True):
            self._seen |= {record.id for record in failed}
            return True
        self._postponed |= {record.id for record in fresh}
        return False

    async def _idle(self) -> RunEnded | None:
        """Do what is to be done while no step is at work; return the end of the run, if it is that."""
        if self.stepper.aborted.is_set():
            return self._end(RunStatus.CANCELLED, "called off")
        trouble = [record for record in self._records(TROUBLE) if record.id not in self._seen]
        if trouble or self.stepper.replanning:
            return await self._recover(trouble)
        if self.agenda.has_ready:
            return None
        if self._records({StepStatus.WAITING}):
            return None if await self._wait() else self._end(RunStatus.WAITING, self._waiting_for())
        return await self._finish()

    @property
    def _is_reactive(self) -> bool:
        return self.state.model == "reactive" and self.state.has_goal

    def wake(self) -> None:
        """Look again at what is to be done."""
        self._inbox.set()

    def complete(self, step: str, result: Any) -> None:
        """Take the answer that a waiting step has got from outside."""
        self._arrived[step] = result
        self._inbox.set()

    async def _take_up(self) -> None:
        """Settle the steps that were at work when the process that drove the run before stopped."""
        self._answered()
        for record in self._records({StepStatus.RUNNING}):
            if record.result is not None:
                got = Attempt(result_of({**record.result}))
            else:
                reason = "the process stopped while it was being done"
                got = Attempt(ActionResult.failed(reason), in_doubt=reason, crashed=True)
            wanted = self._wanted(record)
            policy = self.stepper.policy_of(record)
            if await self.stepper.ended(record, got, wanted, policy, record.attempts):
                self._start(record)

    def _wanted(self, record: StepRecord) -> Expected:
        simulation = self.state.beliefs.simulation
        return NOTHING if simulation.objection(record.step) else self.stepper.wanted(record)

    def _react(self) -> bool:
        """Go on from the furthest point of the plan that works as things are; return whether there is one."""
        if self._surprised == self.state.surprises:
            return True
        self._surprised = self.state.surprises
        start = self.ladder.furthest()
        if start:
            self.ladder.skip(start)
        return start is not None

    def _arrange(self) -> None:
        """Make the agenda anew where the plan has changed."""
        if self._changed == self.state.changes:
            return
        self._changed = self.state.changes
        left = self._records({StepStatus.PENDING, StepStatus.RUNNING, StepStatus.WAITING})
        ordered = self.state.model in SINGLE or len(left) < 2
        before = {} if ordered else edges(self.state.beliefs.problem, [record.plan for record in left])
        begun = {record.id for record in left if record.status is not StepStatus.PENDING}
        self.agenda = Agenda(self.state.model, [record.id for record in left], before, begun)

    async def _begin(self) -> None:
        """Begin the steps that may begin now; alone, a step is done right here."""
        if self.stepper.aborted.is_set() or self._unsettled():
            return
        while ids := self.agenda.take(len(self._tasks), self.most):
            if len(ids) == 1 and not self._tasks and not self._records({StepStatus.WAITING}):
                await self.stepper.carry_out(self.state.steps[ids[0]])
                self._ended(ids[0])
                if self.state.model == "reactive" or self._unsettled() or self.stepper.aborted.is_set():
                    return
                continue
            for id_ in ids:
                self._start(self.state.steps[id_])

    def _unsettled(self) -> bool:
        """Return whether something is amiss that the plan may have to be changed for."""
        known = self._seen | self._postponed
        return bool(self.stepper.replanning) or any(record.id not in known for record in self._records(TROUBLE))

    def _start(self, record: StepRecord) -> None:
        task = self._tasks[record.id] = asyncio.create_task(self.stepper.carry_out(record))
        task.add_done_callback(lambda _: self._came_back(record.id))

    def _came_back(self, id_: str) -> None:
        self._back.append(id_)
        self._inbox.set()

    def _ended(self, id_: str) -> None:
        if self.state.steps[id_].status.is_done:
            self.agenda.done(id_)

    async def _next(self) -> None:
        """Wait until a step ends, something comes from outside, or the time of a waiting step is over."""
        await self._heard()
        back, self._back = self._back, []
        for id_ in back:
            self._tasks.pop(id_).result()
            self._ended(id_)
        await self._deliver()

    async def _wait(self) -> bool:
        """Wait for time, or an answer from outside; return whether to go on."""
        if self._answered():
            return True
        timed = any(self._due(record) is not None for record in self._records({StepStatus.WAITING}))
        if not self._arrived and not timed and not self.stay:
            return False
        await self._heard()
        await self._deliver()
        return True

    async def _heard(self) -> None:
        """Wait for news; what waiting steps get when their time is over is news, too."""
        waiting = self._records({StepStatus.WAITING})
        due = {record.id: when for record in waiting if (when := self._due(record)) is not None}
        if not due:
            await self._inbox.wait()
            return
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout_at(min(due.values())):
                await self._inbox.wait()
        now = asyncio.get_running_loop().time()
        for id_, when in due.items():
            if when <= now and id_ not in self._arrived:
                self._arrived[id_] = self._timed_out(self.state.steps[id_])

    def _answered(self) -> bool:
        """Begin again with the steps whose question was answered meanwhile; return whether there are any."""
        found = [
            record
            for record in self._records({StepStatus.WAITING})
            if (record.wait or {}).get("question") in self.state.answers and record.id not in self._tasks
        ]
        for record in found:
            self._start(record)
        return bool(found)

    def _due(self, record: StepRecord) -> float | None:
        """Return when a waiting step goes on by itself, in the time of the loop; None where it never does."""
        key = record.id, record.since
        if key not in self._alarms:
            wait = record.wait or {}
            seconds = [each for each in (wait.get("seconds"), wait.get("deadline")) if each is not None]
            ago = time.time() - record.since
            now = asyncio.get_running_loop().time()
            self._alarms[key] = now + max(min(seconds) - ago, 0) if seconds else None
        return self._alarms[key]

    @staticmethod
    def _timed_out(record: StepRecord) -> ActionResult:
        wait = record.wait or {}
        seconds, deadline = wait.get("seconds"), wait.get("deadline")
        if seconds is not None and (deadline is None or seconds <= deadline):
            return ActionResult(text="the time is over that it waited for")
        return ActionResult.failed(f"no answer came within {deadline:g} s")

    async def _deliver(self) -> None:
        """Give waiting steps what has come for them."""
        self._inbox.clear()
        for id_ in list(self._arrived):
            record = self.state.steps.get(id_)
            result = self._arrived.pop(id_)
            if record is None or record.status is not StepStatus.WAITING:
                continue
            if "question" in (record.wait or {}):
                self._start(record)
                continue
            policy = self.stepper.policy_of(record)
            await self.stepper.ended(record, Attempt(result_of(result)), self._wanted(record), policy)
            self._ended(id_)

    def _waiting_for(self) -> str:
        found = self._records({StepStatus.WAITING})
        return "; ".join(f"{record.step} waits" for record in found)

    async def _recover(self, trouble: list[StepRecord]) -> RunEnded | None:
        """Climb the ladder; return the end of the run where nothing helps."""
        self.stepper.replanning.clear()
        self._seen |= {record.id for record in trouble}
        doubts = [record for record in trouble if record.status is StepStatus.IN_DOUBT]
        for record in doubts:
            if not await self.ladder.settle(record):
                self._seen.discard(record.id)
                return self._end(RunStatus.IN_DOUBT, f"{record.step}: {record.reason}")
        if doubts:
            self._changed = -1
            again = {record.id for record in doubts if record.status is StepStatus.PENDING}
            self._seen -= again
            self._postponed -= again
            trouble = [record for record in trouble if record.id not in again]
            if not trouble:
                return None
        policies = [self.stepper.policy_of(record).on_error for record in trouble]
        if "abort" in policies:
            return self._end(RunStatus.FAILED, f"{trouble[0].step}: {trouble[0].reason}")
        if trouble and (all(each == "continue" for each in policies) or not self.state.has_aim):
            return None
        if not self.state.is_undoing:
            self._given_up = [f"{record.step}: {record.reason}" for record in trouble]
        if await self.ladder.climb(trouble):
            return None
        return await self._give_up(trouble)

    async def _give_up(self, trouble: list[StepRecord]) -> RunEnded:
        if self.state.is_undoing:
            self.ladder.compensation.note()
        reasons = [f"{record.step}: {record.reason}" for record in trouble] + self.ladder.reasons
        if self.state.questions:
            return self._end(RunStatus.WAITING, "; ".join(reasons))
        return self._end(RunStatus.FAILED, "; ".join(reasons) or "the goal does not hold")

    async def _finish(self) -> RunEnded | None:
        """Look whether the goal holds; None where the run goes on to reach it."""
        if self.state.is_undoing:
            return await self._undone()
        verdict = await looked_at(self.state, self.stepper.lookout, self.emit)
        blocked = self.state.pending()
        if verdict is Verdict.MISSING or (blocked and not self.state.has_aim):
            failed = self._records(TROUBLE)
            if not self.state.has_aim or any(self._goes_on(each) for each in failed):
                return await self._give_up(failed)
            if await self.ladder.climb([]):
                return None
            return await self._give_up([])
        if self.state.dropped:
            return self._end(RunStatus.LOWERED if verdict is Verdict.SEEN else RunStatus.UNVERIFIED, "")
        return self._end(RunStatus.SUCCEEDED if verdict is Verdict.SEEN else RunStatus.UNVERIFIED, "")

    async def _undone(self) -> RunEnded | None:
        """Return the end of a run that was given up: what it did is undone, as far as that can be."""
        self.ladder.compensation.note()
        left = [*self.state.left, *self.ladder.compensation.remains()]
        return self._end(RunStatus.FAILED if left else RunStatus.COMPENSATED, "; ".join([*self._given_up, *left]))

    def _goes_on(self, record: StepRecord) -> bool:
        return self.stepper.policy_of(record).on_error == "continue"

    def _records(self, wanted: Any) -> list[StepRecord]:
        return self.state.with_status(*wanted)

    def _end(self, status: RunStatus, reason: str) -> RunEnded:
        return RunEnded(status, reason, self._metrics())

    def _metrics(self) -> dict[str, Any]:
        total = Metrics()
        for record in self.state.steps.values():
            if record.result is not None:
                total += Metrics(**record.result.get("metrics", {}))
        return {"duration": total.duration, "tokens": total.tokens, "cost": total.cost}
