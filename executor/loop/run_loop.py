"""Drive one run: begin steps, wait for them, recover from failures, and check the goal.

`Loop._run_until_end` shows the stages. The loop starts a task for each step; everything that happens is an event, and
the remaining work follows from the state after the events.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from executor.events.answers import find_refusal, name_wait, read_wait_answer
from executor.events.events import (
    UNFINISHED,
    Answered,
    Asked,
    Event,
    ParametersFilled,
    RunEnded,
    RunStatus,
    StepReturned,
    StepStatus,
)
from executor.events.run_state import RunState
from executor.events.steps import StepRecord
from executor.loop.aftermath import NextAttempt, check_created_objects
from executor.loop.asker import describe_unused
from executor.loop.attempt import Attempt
from executor.loop.detours import Detours
from executor.loop.dispatch import SINGLE, Agenda, Inbox, defer_irreversible, linearise
from executor.loop.driver import Driver
from executor.loop.locks_and_rates import find_pause
from executor.loop.step import LOOK, Stepper
from executor.observe.goal import Verdict, end_at_goal, end_run, end_waiting, look_at_goal
from executor.observe.step_verdict import Expected
from executor.plan_check.remaining_means import LACKING
from executor.plans.action_plan import PlanStep
from executor.plans.execution_models import OFFERED
from executor.plans.partial_order import predecessors_of
from executor.recovery.ask_people import WaitCallbacks
from executor.recovery.hierarchy import order_by_tasks, tasks_permit
from executor.recovery.ladder import Ladder
from executor.recovery.policy_execution import UNFORESEEN
from executor.recovery.supervisor import Supervisor
from executor.tools.json_data import data_of
from executor.tools.results import ActionResult
from executor.tools.returned_values import restore_result
from planner.lightweight import replace

INTERRUPTED: Final = "interrupted"
OUTDATED: Final = (-1, -1, -1)
UNREACHED: Final = frozenset({RunStatus.FAILED, RunStatus.COMPENSATED, RunStatus.IMPOSSIBLE})
NOTHING = Expected({}, frozenset(), frozenset(), {})


@dataclass(slots=True, eq=False)
class Loop:
    """Drives one run to its end, or until it waits for an answer; `most` steps may be at work at once."""

    state: RunState
    emit: Callable[[Event], None]
    stepper: Stepper
    ladder: Ladder
    inbox: Inbox
    most: int | None = None
    stay: bool = True
    """Whether to stay while only answers from outside are missing."""
    driver: Driver | None = None
    """Chooses the next step in the execution model "offered"."""
    interrupted: bool = field(init=False, default=False)
    """Whether the run begins no more steps, and ends so that it can be resumed."""
    agenda: Agenda = field(init=False)
    supervisor: Supervisor = field(init=False)
    _detours: Detours = field(init=False)
    _tasks: dict[str, asyncio.Task[None]] = field(init=False, default_factory=dict)
    _callbacks: WaitCallbacks = field(init=False)
    _unasked: set[str] = field(init=False, default_factory=set)
    """Steps whose open questions come from an earlier process, until the callbacks of this one are asked."""
    _tasks_over: list[str] = field(init=False, default_factory=list)
    """Steps whose tasks are over."""
    _agenda_version: tuple[int, int, int] = field(init=False, default=OUTDATED)
    """Counts of plan changes, settled steps and steps passed over when the agenda was made."""
    _surprises_seen: int = field(init=False, default=-1)
    _requested: tuple[object, ...] = field(init=False, default=())
    """The latest request for another plan, and the state in which it was made."""
    _chosen: str = field(init=False, default="")
    """The step that the driver has chosen."""

    def __post_init__(self) -> None:
        self.supervisor = Supervisor(self.state, self.stepper, self.ladder)
        self.agenda = Agenda(self.state.model, (), {})
        self._detours = Detours(self.state)
        self._callbacks = WaitCallbacks(self.stepper.asker.ask, self.inbox.wake)
        self.stepper.find_doom = self._find_doom
        self.ladder.has_other_done = self.stepper.clearance.is_done_by_other
        foresee = self.ladder.following.foresee
        first_look, flights = self.stepper.first_look, self.stepper.clearance.flights
        first_look.foresee = flights.finder.foresee = foresee
        flights.finder.is_watched = self.stepper.lookout.watches
        self.stepper.is_held = lambda id_: self._is_held(id_) or bool(self.supervisor.limits.find_passed_questions())

    async def drive(self) -> RunEnded:
        """Carry out the plan and return the end of the run; cancel the steps at work if interrupted by an exception."""
        try:
            return await self._run_until_end()
        except GeneratorExit:  # its event loop is gone: a worker has dropped the workflow
            self._tasks.clear()
            self._callbacks.tasks.clear()
            raise
        finally:
            for task in (*self._callbacks.tasks.values(), *self._tasks.values()):
                task.cancel()
            if self._tasks:
                await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    async def _run_until_end(self) -> RunEnded:
        """Begin steps, wait for them, recover from failures and look at the goal, until the run ends."""
        # What happened before this process, or while nobody drove the run, comes first.
        self.supervisor.take_up()
        lack = "" if self.interrupted or self.stepper.aborted.is_set() else self.ladder.means.find_lack()
        if lack:  # nothing is begun, and nothing undone: a process that has it goes on
            return end_run(self.state, RunStatus.WAITING, f"{LACKING}: {lack}")
        await self._settle_returned()
        for record in self.state.with_status(StepStatus.WAITING):
            self.stepper.ask_for_wait(record)  # the journal of an earlier version does not ask
            if self.stepper.asker.has_callback_for((record.wait or {}).get("question")):
                self._unasked.add(record.id)
        news = await self.stepper.first_look.take()  # with no step at work, which would change what is looked at
        if news and self.state.hierarchy is None:
            self.stepper.replanning_requests.append(news)
        await self._leave_out_needless()
        self._resume_answered()
        while True:
            if self.stepper.lacking:
                if not self._tasks:
                    return end_run(self.state, RunStatus.WAITING, f"{LACKING}: {self.stepper.lacking}")
                await self._wait_for_step()
                continue
            await self._skip_ahead()  # a reactive run goes on from the furthest point of its plan that works
            self._update_agenda()  # the plan may have changed
            self._follow_driver()  # a run in the model "offered" goes on with the step that its driver chooses
            await self._begin_ready_steps()  # those that the execution model allows; irreversible ones last
            if self._tasks:
                # While steps are at work, a failure is patched; without one, the run waits until a step ends.
                if not await self.supervisor.patch_meanwhile(self._tasks):
                    await self._wait_for_step()
            elif self._agenda_version != OUTDATED:
                # With nothing at work, the run recovers, waits for people, follows its policy, or checks its goal.
                end = await self._act_while_idle()
                if end is not None:
                    doubt = self.supervisor.end_in_doubt() if end.status in UNREACHED else None
                    return self._tell_unused(doubt or end)  # an answer to the open question comes first

    def _tell_unused(self, end: RunEnded) -> RunEnded:
        """Return the end of the run, whose reason says which steps that were to be done again were not."""
        unused = describe_unused(self.stepper.clearance.flights) if end.status.is_over else []
        return replace(end, reason="; ".join([*filter(None, [end.reason]), *unused])) if unused else end

    def _find_doom(self, record: StepRecord) -> str:
        """Return why a step after the irreversible `record` can never begin; an empty text if all may.

        A plan for a goal is made anew where a look differs; a hierarchy, and a plan without an aim, go on as they are.
        Where something has failed in a plan without an aim, that holds up only what builds on it.
        """
        state, options = self.state, self.ladder.options
        doom = self.ladder.means.find_doom()
        if doom or record.attempts or state.is_undoing or state.timetable is not None or self.supervisor.passed:
            return doom
        if state.hierarchy is not None:
            return options.find_doomed_by(record)
        is_bare = not (state.has_aim or state.dropped or state.steps.list_troubled())
        return options.find_doomed_by(record, dependent=True) if is_bare else ""

    async def _leave_out_needless(self) -> None:
        """Look whether what is asked about still matters, as much may have happened since; where it does not, go on.

        These are the irreversible steps that wait for an answer before they begin. A step with an answer looks itself.
        """
        stepper = self.stepper
        if self.interrupted or stepper.aborted.is_set() or self.state.is_undoing or stepper.first_look.look == "never":
            return
        for record in self.state.with_status(StepStatus.WAITING):
            is_asking = "question" in (record.wait or {}) and not (record.attempts or self._has_answer(record))
            if is_asking and self.state.is_irreversible(record) and record.status is StepStatus.WAITING:
                await stepper.leave_out_if_so(record)

    async def _settle_returned(self) -> bool:
        """Judge the running steps on which no task is at work; return whether there are any.

        Their handlers have answered, somebody outside has, or the process that drove the run before has stopped.
        """
        found = [record for record in self.state.with_status(StepStatus.RUNNING) if record.id not in self._tasks]
        for record in found:
            await self._look_after(record, _recover_attempt(record))
        return bool(found)

    async def _look_after(self, record: StepRecord, attempt: Attempt) -> None:
        """Judge an attempt at a step, and start the next attempt if there is one."""
        action = self.state.domain.actions[record.step.action]
        if attempt.crashed and "read_only" in action.tags and self._expect_effects(record) is not NOTHING:
            self._start_task(record)  # what it returned is lost, and somebody may take it
            return
        skills = () if record.wait is not None else self.stepper.world.skills.get(action.name, ())
        policy = self.stepper.policy_of(record)
        another = await self.stepper.aftermath.end_attempt(
            record, attempt, self._expect_effects(record), policy, skills
        )
        if another is None:
            self._note_step_over(record.id)
        else:
            self._start_task(record, another)

    def _expect_effects(self, record: StepRecord) -> Expected:
        if self.state.timetable is not None:
            return self.stepper.conditions.expect_end(record, NOTHING)
        if self.state.beliefs.simulation.find_objection(record.step):
            return NOTHING
        return self.stepper.conditions.expect_end(record, self.stepper.conditions.expect_now(record))

    async def _skip_ahead(self) -> None:
        """In a reactive run, look at the next step, and skip to the furthest point of the plan that works.

        In an offered one, only skip: what it does next is up to its driver.
        """
        state = self.state
        if state.model not in {"reactive", OFFERED} or state.is_undoing or self.supervisor.passed or not state.has_goal:
            return
        pending = state.pending()
        if state.model == "reactive" and pending and not (self._tasks or self._must_pause):
            await self.stepper.conditions.look_ahead(pending[0])
        is_waiting = state.model == OFFERED and (not pending or bool(state.with_status(StepStatus.WAITING)))
        if self._surprises_seen == state.surprises or is_waiting:  # what waits has not brought about anything yet
            return
        self._surprises_seen = state.surprises
        if state.model == "reactive" and state.beliefs.is_true(state.goal):
            self.supervisor.put_back(self._tasks)  # what is asked about is not needed any more
        start = self.ladder.options.find_furthest_start()
        if start:
            self.ladder.replanning.skip(start)
        elif start is None and not self.supervisor.is_called:
            why = self.stepper.conditions.find_objection(pending[0]) if pending else ""
            self._request_replanning("nothing of the plan works any more" + (f": {why}" if why else ""))

    def _request_replanning(self, reason: str) -> None:
        """Request another plan, for each `reason` once while steps wait for people and nothing else happens."""
        now = reason, self._count_news()
        if now != self._requested:
            self.stepper.replanning_requests.append(reason)
        self._requested = now

    def _count_news(self) -> tuple[object, ...]:
        """Count what has happened; while steps wait for people, what recovery does to them again and again is nothing.

        It puts them back, and they ask the same again: nothing helps then but an answer.
        """
        state = self.state
        if self._is_asking:
            return len(state.finished), state.changes, tuple(state.open_questions)
        return state.version, state.changes

    @property
    def _is_asking(self) -> bool:
        """Whether a step waits for the answer to a question before it begins."""
        return any("question" in (each.wait or {}) for each in self.state.with_status(StepStatus.WAITING))

    def _update_agenda(self) -> None:
        """Make a new agenda if the plan changed, a step in doubt was settled, or a failed step is passed over."""
        now = self.state.changes, self.state.settled, len(self.supervisor.passed)
        if self._agenda_version == now:
            return
        self._agenda_version = now
        left = self.state.with_status(*UNFINISHED)
        if self.supervisor.passed:
            possible = {record.id for record in self.ladder.options.find_possible()}
            left = [record for record in left if record.status is not StepStatus.PENDING or record.id in possible]
        begun = {record.id for record in left if record.status is not StepStatus.PENDING}
        self.agenda = Agenda(self.state.model, *self._order_steps(left), begun)

    def _order_steps(self, left: Sequence[StepRecord]) -> tuple[list[str], Mapping[str, Collection[str]]]:
        """Return the ids of the steps `left` in their order, and the steps that each waits for.

        In a model that takes one step at a time, the order suffices, and no step waits.
        """
        state, order = self.state, [record.id for record in left]
        late = {record.id for record in left if record.status is StepStatus.PENDING and state.is_irreversible(record)}
        single = state.model in SINGLE
        can_defer = len(left) > 1 and (late - {order[-1]} if single else late)
        if len(left) < 2 or (single and not can_defer):
            return order, {}
        before: Mapping[str, Collection[str]] = predecessors_of(state.beliefs.problem, [record.plan for record in left])
        if can_defer:
            return self._defer_irreversible(order, before, late)
        return order, before

    def _defer_irreversible(
        self, order: list[str], before: Mapping[str, Collection[str]], late: set[str]
    ) -> tuple[list[str], Mapping[str, Collection[str]]]:
        """Return order and predecessors with the irreversible steps in `late` as late as possible."""
        state = self.state
        tasks = {} if state.hierarchy is None else order_by_tasks(state, order)
        nodes = [*(each for each in tasks if each not in set(order)), *order]
        waiting = {each: {*before.get(each, ()), *tasks.get(each, ())} for each in nodes}
        deferred = defer_irreversible(nodes, waiting, late)
        if state.model not in SINGLE:
            return order, deferred
        line = [each for each in linearise(nodes, deferred) if each in set(order)]
        fits = len(line) == len(order) and (state.hierarchy is None or (bool(tasks) and tasks_permit(state, line)))
        return line if fits else order, {}

    def list_offered(self) -> list[StepRecord]:
        """Return the steps of which a driver may choose one; none while a failure awaits recovery."""
        if self.supervisor.is_needed or self._must_pause:
            return []
        ready = [id_ for id_ in self.agenda.ready if id_ not in self._tasks and not self._is_held_back(id_)]
        return [self.state.steps[id_] for id_ in ready]

    def _follow_driver(self) -> None:
        """Let the driver choose the next step, if it may choose now."""
        if self.driver is None or self._tasks or self._must_pause or self.supervisor.is_needed:
            return
        choice = self.driver.choose(self.list_offered(), self.ladder.options)
        if choice is None:
            return
        if isinstance(choice.step, PlanStep):
            self.ladder.replanning.put_in_front(choice.step)
            self._surprises_seen = -1  # when the step is over, the rest of the plan may not be needed, or not work
            self._update_agenda()
        elif self.state.has_failed_here(self.state.steps[choice.step].step):
            self.ladder.replanning.pardon()
            self._update_agenda()
        self._chosen = choice.step.id if isinstance(choice.step, PlanStep) else choice.step
        if choice.values or choice.marked:
            self.emit(ParametersFilled(self._chosen, choice.values, marked=choice.marked))

    async def _begin_ready_steps(self) -> None:
        """Begin the steps that may begin now; carry out a single step without a task of its own."""
        if self._must_pause:
            return
        while ids := self._take_ready():
            if len(ids) == 1 and not self._tasks and not self.state.with_status(StepStatus.WAITING):
                await self.stepper.carry_out(self.state.steps[ids[0]])
                self._note_step_over(ids[0])
                await asyncio.sleep(0)  # handlers that never wait would hold up the event loop for the whole plan
                is_waiting = self.state.steps[ids[0]].status is StepStatus.WAITING
                if self._must_pause or (self.state.model == "reactive" and not is_waiting):
                    return  # a reactive run looks where it stands after each step
                continue
            for id_ in ids:
                self._start_task(self.state.steps[id_])

    def _take_ready(self) -> list[str]:
        """Return the steps to begin now: the next ones, or else one that may pass those that wait for other goals."""
        ids = self.agenda.take_ready(len(self._tasks), self.most, self._is_barred)
        if ids or (self._tasks and self.state.model != "dag") or len(self._tasks) >= (self.most or math.inf):
            return ids
        return self._detours.find(self._find_stalled(), self._is_barred)

    def _find_stalled(self) -> list[StepRecord]:
        """Return the steps that wait, or are in doubt while somebody is asked; none if one of them may go on."""
        waiting = self.state.with_status(StepStatus.WAITING)
        if any(self._has_answer(each) and not self._is_held(each.id) for each in waiting):
            return []
        return [*waiting, *self.supervisor.list_open_doubts()]

    def _is_barred(self, id_: str) -> bool:
        """Return whether a step is held, or was put back while its task is still registered."""
        return id_ in self._tasks or self._is_held(id_)

    def _is_held(self, id_: str) -> bool:
        """Return whether a step is held back, or the driver of the run has not chosen it."""
        is_unchosen = self.state.model == OFFERED and not self.state.is_undoing and id_ != self._chosen
        return (is_unchosen and self.state.steps[id_].status is StepStatus.PENDING) or self._is_held_back(id_)

    def _is_held_back(self, id_: str) -> bool:
        """Return whether a failure, or a question about another step, holds an irreversible step back.

        A doubt holds reversible steps back, too.
        """
        record = self.state.steps[id_]
        if any(not self.state.serves_other_goals(id_, each.id) for each in self.supervisor.list_open_doubts()):
            return True
        if not self.state.is_irreversible(record):
            return False
        return self.supervisor.is_needed or self.state.is_asking_beside(record) or self._will_another_fail(record)

    def _will_another_fail(self, record: StepRecord) -> bool:
        """Return whether another step is about to end, as it failed in this very state: recovery comes first."""
        if not self.state.tried or self.state.has_failed_here(record.step):
            return False
        others = [self.state.steps[id_] for id_ in {*self.agenda.ready, *self._tasks} if id_ != record.id]
        pending = [each for each in others if each.is_pending]
        return any(self.state.has_failed_here(each.step) and not self._is_held(each.id) for each in pending)

    @property
    def _must_pause(self) -> bool:
        """Whether no step may begin now."""
        if self.interrupted or self.stepper.aborted.is_set():
            return True
        return self.supervisor.is_called or bool(self.supervisor.limits.find_passed_questions())

    def _start_task(self, record: StepRecord, another: NextAttempt | None = None) -> None:
        self._unasked.discard(record.id)
        is_begun = another is None and record.goes_on
        work = self.stepper.go_on(record) if is_begun else self.stepper.carry_out(record, another)
        task = self._tasks[record.id] = asyncio.create_task(work)
        task.add_done_callback(lambda _: self._note_task_over(record.id))

    def _note_task_over(self, id_: str) -> None:
        self._tasks_over.append(id_)
        self.inbox.wake()

    def _note_step_over(self, id_: str) -> None:
        record = self.state.steps[id_]
        if record.is_done:
            self.agenda.note_done(id_)
        elif record.is_pending:
            self._agenda_version = OUTDATED  # it was not begun after all, and stands in the agenda again
        else:
            self.agenda.note_begun(id_)

    async def _wait_for_step(self) -> None:
        """Wait until a step ends, news come from outside, or the time of a waiting step is over."""
        self._hand_over()
        await self._wait_for_news()
        back, self._tasks_over = self._tasks_over, []
        for id_ in back:
            self._tasks.pop(id_).result()
            self._note_step_over(id_)
        await self._look_after_news()

    async def _wait_for_news(self, seconds: float | None = None) -> None:
        """Wait for news, at most for so many `seconds`; look at the flights of other runs from time to time."""
        waiting, flights = self.state.with_status(StepStatus.WAITING), self.stepper.clearance.flights
        since = [each.since for each in waiting if "flight" in (each.wait or {})]
        if since and not flights.book.tells_changes:
            pause = find_pause(self.stepper.clock.time() - max(since), LOOK)
            seconds = pause if seconds is None else min(pause, seconds)
        self._callbacks.begin(self.state.open_questions.values())
        await self.inbox.wait_for_news(waiting, seconds)

    async def _look_after_news(self) -> None:
        """Resume the steps whose answers have come, and judge those whose time is over."""
        for question, asked in self.state.open_questions.items():
            answer = self._callbacks.take_answer(question)
            if answer is not None:
                self._take_answer(asked, answer)
        self._resume_answered()
        for record, attempt in self.inbox.find_expired(self.state.with_status(StepStatus.WAITING)):
            if record.id not in self._tasks:
                await self._look_after(record, attempt)
        await self._settle_returned()

    async def _act_while_idle(self) -> RunEnded | None:
        """Take the next stage while no step is at work; return the end of the run, if it ends."""
        if await self._settle_returned():
            return None
        stopped = self._end_if_stopped()
        if stopped is not None:
            return stopped
        if self.supervisor.is_needed:
            return await self.supervisor.recover()
        if self.agenda.has_ready(self._is_held):
            return await self.supervisor.ask_about_limits()
        doubt = self.supervisor.end_in_doubt()
        if doubt is not None and not self._is_expecting():
            return doubt
        if self.state.with_status(StepStatus.WAITING) or self.agenda.has_ready(lambda _: False):
            return None if await self._wait_for_answer() else end_waiting(self.state)
        return None if self._follow_policy() else await self._check_goal()

    def _end_if_stopped(self) -> RunEnded | None:
        """Return the end of a run that was called off or interrupted; None for any other."""
        if self.stepper.aborted.is_set():
            return end_run(self.state, RunStatus.CANCELLED, "called off")
        return end_run(self.state, RunStatus.WAITING, INTERRUPTED) if self.interrupted else None

    def _follow_policy(self) -> bool:
        """Take the next step of the policy, if the run follows one; return whether the run goes on with it."""
        following = self.ladder.following
        if not following.is_due:
            return False
        if not following.go_on() and following.is_lost():
            self.stepper.replanning_requests.append(UNFORESEEN)
        return not following.is_due or bool(self.stepper.replanning_requests)

    async def _wait_for_answer(self) -> bool:
        """Wait for a timer or, if the run stays, for an answer from outside; return whether to go on."""
        if self._resume_answered() or self._hand_over():
            return True
        if not self.stay and not self._is_expecting():
            return False
        await self._wait_for_news()
        await self._look_after_news()
        return True

    def _is_expecting(self) -> bool:
        """Return whether the run goes on without an answer from outside: a timer or a callback is at work."""
        self._callbacks.begin(self.state.open_questions.values())
        is_asking = self._callbacks.is_at_work(self.state.open_questions)
        return is_asking or self.inbox.is_expecting(self.state.with_status(StepStatus.WAITING))

    def _resume_answered(self) -> bool:
        """Restart steps whose question was answered, or that were held; return whether there are any.

        Steps that wait since an earlier process are restarted once if a callback of this one may answer.
        """
        if self._must_pause or (self._tasks and self.state.model in SINGLE):
            return False
        found = [
            record
            for record in self.state.with_status(StepStatus.WAITING)
            if (self._has_answer(record) or record.id in self._unasked) and record.id not in self._tasks
            if record.goes_on or not self._is_held(record.id)
        ]
        for record in found:
            self._start_task(record)
        return bool(found)

    def _has_answer(self, record: StepRecord) -> bool:
        wait = record.wait or {}
        if "flight" in wait:
            return self.stepper.clearance.flights.book.is_free(wait["flight"])
        question = name_wait(record.id, record.attempts) if record.goes_on else wait.get("question")
        return bool(wait.get("held")) or question in self.state.answers

    def _hand_over(self) -> bool:
        """Complete waiting steps with results that came early; return whether there are any."""
        found = list(self.inbox.take_early_results(self.state.with_status(StepStatus.WAITING)))
        for record, result in found:
            self.take_result(record, result)
        return bool(found)

    async def _check_goal(self) -> RunEnded | None:
        """Check the goal, and return the end of the run; None if it goes on."""
        if self.state.is_undoing:
            return await self.supervisor.end_undoing()
        look = await look_at_goal(self.state, self.stepper.lookout, self.emit)
        if self.state.wants_plan:
            return None
        is_for_its_steps = not (self.state.has_aim or self.state.dropped)
        if look.verdict is Verdict.UNEXPLAINED:
            return end_run(self.state, RunStatus.FAILED, look.reason)
        if look.verdict is Verdict.MISSING or (is_for_its_steps and self.state.pending()):
            return await self.supervisor.recover_at_end()
        return end_at_goal(self.state, look)

    def wake(self) -> None:
        """Wake the loop."""
        self.inbox.wake()

    def interrupt(self) -> None:
        """Begin no more steps, and end when the steps at work have ended."""
        self.interrupted = True
        self.stepper.paused.set()
        self.wake()

    def take_result(self, record: StepRecord, result: ActionResult, *, is_refused: bool = False) -> None:
        """Take the result of a waiting step that came from outside: its own, or one with which its handler goes on."""
        if is_refused:
            self.stepper.clearance.flights.note_refusal(record, result.error)
        if record.goes_on and not is_refused:
            answer = result.text if result.data is None else result.data
            self.emit(Answered(name_wait(record.id, record.attempts), answer))
        else:
            action = self.state.domain.actions[record.step.action]
            attempt = check_created_objects(self.state, record, action, Attempt(result))
            raised = attempt.result.error if attempt.raised else ""
            self.emit(StepReturned(record.id, data_of(attempt.result), raised=raised))
        self.inbox.wake()

    def _take_answer(self, asked: Asked, answer: Any) -> None:
        """Take the answer of a callback to what a step waits for."""
        record = self.state.steps[asked.step]
        wait = record.wait or {}
        is_refused = find_refusal(asked, answer, wait) is not None
        self.take_result(record, read_wait_answer(asked, answer, wait), is_refused=is_refused)

    def announce(self, event: str, result: ActionResult) -> int:
        """Complete all steps that wait for `event`, or else the first that will; return how many wait."""
        found = [each for each in self.state.with_status(StepStatus.WAITING) if (each.wait or {}).get("event") == event]
        for record in found:
            self.take_result(record, result)
        if not found:
            self.inbox.keep_early_result(event, result)
        return len(found)


def _recover_attempt(record: StepRecord) -> Attempt:
    """Return the latest attempt at a step, as far as the journal kept it."""
    if record.result is None:
        reason = "the process stopped while it was being done"
        return Attempt(ActionResult.failed(reason), in_doubt=reason, crashed=True)
    raised = RuntimeError(record.raised) if record.raised else None
    return Attempt(restore_result(record.result), raised=raised, in_doubt=record.doubt)
