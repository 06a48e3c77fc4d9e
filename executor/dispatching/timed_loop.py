"""Drive a run of a plan in time: let time pass, watch the deadlines, and start each step when its time has come."""

from __future__ import annotations

from dataclasses import dataclass, field

from executor.dispatching.dispatcher import Dispatcher
from executor.dispatching.timed_replanning import TimedReplanning
from executor.events.events import Event, RunEnded, RunStatus, StepStarted, StepStatus
from executor.loop.run_loop import Loop
from executor.loop.step import LOOK
from executor.observe.goal import end_run


@dataclass(slots=True, eq=False)
class TimedLoop(Loop):
    """Drives one run of a plan in time to its end, or until it waits for an answer."""

    dispatcher: Dispatcher = field(kw_only=True)
    _attended: tuple[object, ...] = field(init=False, default=())
    """Counts of events and plan changes when a lateness was attended to last."""
    _lateness: str = field(init=False, default="")
    """The deadline that the plan cannot meet, if nothing has helped."""

    def __post_init__(self) -> None:
        Loop.__post_init__(self)
        tell = self.emit

        def emit(event: Event) -> None:
            tell(event)
            if isinstance(event, StepStarted):  # others may wait for this start
                self.wake()

        self.stepper.emit = emit

    async def _skip_ahead(self) -> None:
        """Let the changes at known times come about whose time has come."""
        while passed := self.dispatcher.find_passed():
            for event in passed:
                self.emit(event)

    def _update_agenda(self) -> None:
        """Update the temporal network."""
        self._agenda_version = self.state.changes, self.state.settled, len(self.supervisor.passed)
        self.dispatcher.update()

    async def _begin_ready_steps(self) -> None:
        """Begin the steps whose time has come, unless the plan is too late."""
        while not self._must_pause and await self._attend_to_lateness():
            self._update_agenda()
        if self._must_pause:
            return
        for id_ in self.dispatcher.take_ready(self._tasks, self.most, self._is_barred):
            self._start_task(self.state.steps[id_])

    async def _attend_to_lateness(self) -> bool:
        """Change the plan at once if it cannot meet its deadlines; return whether it was changed."""
        if self.dispatcher.find_overrun():
            self.dispatcher.held = True
            return False
        late = "" if self.state.is_undoing else self.dispatcher.find_lateness()
        if not late:
            self.dispatcher.held, self._lateness = False, ""
            return False
        now, is_asking = self._count_news(), self._is_asking
        if now == self._attended:
            return False
        self._attended = now
        self.supervisor.put_back(self._tasks)
        replanning = self.ladder.replanning
        assert isinstance(replanning, TimedReplanning), "the plan is one in time"
        if await replanning.catch_up(late):
            self.dispatcher.held, self._lateness = False, ""
            return True
        if not is_asking:  # else the steps that were put back ask the same again
            self._attended = self._count_news()
        self.dispatcher.held, self._lateness = True, late
        return False

    def _note_step_over(self, id_: str) -> None:
        """Look at the network again: the status of the step says what has become of it."""

    async def _wait_for_step(self) -> None:
        """Wait until a step ends, news come from outside, or something is due by the clock."""
        self._hand_over()
        await self._wait_for_time()

    async def _wait_for_time(self) -> None:
        await self._wait_for_news(self.dispatcher.seconds_to_news())
        back, self._tasks_over = self._tasks_over, []
        for id_ in back:
            self._tasks.pop(id_).result()
        if not self.stepper.blocked.keys() >= set(back):
            self.stepper.blocked.clear()
        await self._look_after_news()

    def _is_barred(self, id_: str) -> bool:
        """Return whether a step is held or registered, or was blocked by another run when this one looked last."""
        return id_ in self.stepper.blocked or Loop._is_barred(self, id_)  # noqa: SLF001 - as below

    async def _wait_for_idle_runs(self) -> RunEnded | None:
        """Wait for runs that hold what steps need and that nobody drives; end as WAITING unless the run stays."""
        reasons = "; ".join(self.stepper.blocked.values())
        if not (self.stay or self._is_expecting()):
            return self.supervisor.end_in_doubt() or end_run(self.state, RunStatus.WAITING, reasons)
        await self._wait_for_news(LOOK)
        self.stepper.blocked.clear()
        await self._look_after_news()
        return None

    async def _act_while_idle(self) -> RunEnded | None:
        """Recover, wait for the time of the next step, or check the goal, while no step is at work."""
        if await self._settle_returned():
            return None
        stopped = self._end_if_stopped()
        if stopped is not None:
            return stopped
        overrun = self.dispatcher.find_overrun()
        if overrun and not self.state.with_status(StepStatus.IN_DOUBT):  # somebody is asked about these first
            return end_run(self.state, RunStatus.FAILED, overrun)
        if self._lateness and not self.supervisor.is_needed:
            self._request_replanning(self._lateness)
        if self.supervisor.is_needed:
            return await self.supervisor.recover()
        if self.stepper.blocked:
            return None if self._resume_answered() else await self._wait_for_idle_runs()
        if self.dispatcher.has_ready(self._is_held):
            return await self.supervisor.ask_about_limits()
        is_stalled = bool(self.state.with_status(StepStatus.WAITING) or self.supervisor.list_open_doubts())
        if self.dispatcher.has_coming(self._is_held) or (self.dispatcher.is_waiting() and not is_stalled):
            await self._wait_for_time()
            return None
        return await Loop._act_while_idle(self)  # noqa: SLF001 - its own, which `super` does not find in a class with slots
