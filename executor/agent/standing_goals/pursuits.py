"""Pursue standing goals: choose the most urgent ones, plan for them, carry the plans out, and note what became of them.

At most one run of standing goals is at work. A more urgent goal interrupts it at the end of a step.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Any

from executor.agent import agent_events as told
from executor.agent.agent_events import GoalInstance
from executor.agent.proposals import Proposal, Standing
from executor.agent.propose import Proposer
from executor.agent.run_goals import Runs, RunTerms, find_careful_predicates
from executor.agent.standing_goals.due_goals import DueGoals
from executor.agent.standing_goals.goal_instances import Picture
from executor.agent.standing_goals.goal_log import GoalLog, Pursuit
from executor.agent.standing_goals.merge_goals import MOST_MERGED, GoalMerger, Wanted
from executor.errors import DrivenError
from executor.events.events import StepStatus
from executor.run import RunOutcome
from planner.errors import ForethoughtError, InputError
from planner.lightweight import dataclass, field
from planner.model import Atom


@dataclass(slots=True, eq=False)
class ActivePursuit:
    """The pursuit at work: its task, its priority, its run once that has begun, and whether it has to give way."""

    priority: int
    goals: tuple[GoalInstance, ...]
    task: asyncio.Task[None] | None = None
    run: str = ""
    gives_way: bool = False


@dataclass(slots=True, eq=False)
class Pursuits:
    """Pursues the due ones of `goals`; `wake` is called when a pursuit ends."""

    goals: DueGoals
    runs: Runs
    proposer: Proposer
    wake: Callable[[], None]
    active: ActivePursuit | None = None
    waiting: set[str] = field(default_factory=set)
    """Runs that wait for a person, or for something from outside."""
    is_stopping: bool = False
    wants_look: bool = False
    """Whether Python conditions have to be asked again."""
    _left_at: dict[str, frozenset[Atom]] = field(init=False, default_factory=dict)
    """The facts that held when a run was interrupted here."""
    _planned: dict[GoalInstance, Proposal] = field(init=False, default_factory=dict)
    """Plans of goals whose turn comes later."""
    _merger: GoalMerger = field(init=False)

    def __post_init__(self) -> None:
        self._merger = GoalMerger(self.proposer)

    @property
    def goal_log(self) -> GoalLog:
        """The record of what happened."""
        return self.goals.goal_log

    def go_on(self) -> None:
        """Begin the most urgent pursuit, or interrupt a less urgent one."""
        ready = self.goals.list_ready(() if self.active is None else self.active.goals)
        suspended = [each for each in self.goal_log.pursuits.values() if self._may_be_taken_up(each)]
        best = max((self.goals.priority_of(each) for each in ready), default=None)
        if self.active is not None:
            if best is not None and best > self.active.priority and not self.active.gives_way:
                self._preempt(self.active)
            return
        taken_up = max(suspended, key=lambda each: each.priority, default=None)
        if taken_up is not None and (best is None or taken_up.priority >= best):
            self._begin_pursuit(taken_up.priority, taken_up.goals, self._take_up(taken_up))
        elif best is not None:
            batch = [each for each in ready if self.goals.priority_of(each) == best][:MOST_MERGED]
            self._begin_pursuit(best, tuple(batch), self._pursue(batch))

    def _may_be_taken_up(self, pursuit: Pursuit) -> bool:
        return pursuit.run not in self.waiting and pursuit.run not in self.runs.active

    def _begin_pursuit(self, priority: int, goals: tuple[GoalInstance, ...], work: Any) -> None:
        self.active = ActivePursuit(priority, goals)
        self.active.task = asyncio.create_task(work)
        self.active.task.add_done_callback(lambda _: self.wake())

    def _preempt(self, active: ActivePursuit) -> None:
        """Let the pursuit at work give way: at the end of a step, or at once while it is planned."""
        active.gives_way = True
        if active.run:
            self.runs.interrupt(active.run)
        elif active.task is not None:
            active.task.cancel()

    def take_end(self) -> None:
        """Take note of the end of the pursuit at work."""
        active = self.active
        if active is None or active.task is None or not active.task.done():
            return
        self.active = None
        if not active.task.cancelled():
            active.task.result()

    async def stop(self) -> None:
        """Interrupt the run at work, and wait for the end of its step."""
        active = self.active
        if active is None or active.task is None:
            return
        if not (active.run and self.runs.interrupt(active.run)):
            active.task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await active.task

    @property
    def is_idle(self) -> bool:
        """Return whether nothing is at work, or may be begun."""
        if self.active is not None or any(map(self._may_be_taken_up, self.goal_log.pursuits.values())):
            return False
        return not self.goals.list_ready()

    async def _pursue(self, batch: list[GoalInstance]) -> None:
        """Look at the goals of `batch`, plan for those that are unmet, and carry out the first plan."""
        sighted = await self.goals.watch.look_at(batch, self.goals.board.goals)
        self.goals.take_sighted(sighted)
        wanted = [self.goals.want(each) for each in batch if each in self.goals.due]
        if not wanted:
            return
        self.goals.retract_restored(wanted)
        plans = await self._plan(wanted)
        if not plans:
            return
        chosen, proposal = plans[0]
        self._planned = {each[0].instance: found for each, found in plans[1:] if len(each) == 1}
        goals, active = tuple([each.instance for each in chosen]), self.active
        assert active is not None
        careful = find_careful_predicates(self.goals.picture.problem.domain)
        reported = {fact: holds for fact, holds in self.goal_log.reported().items() if fact.predicate in careful}
        try:
            terms = RunTerms(occasion=self._name_occasion(goals))
            run = self.runs.start(proposal, {}, terms=terms, is_shown=False, reported=reported, is_unattended=True)
        except ForethoughtError as error:
            self._end_pursuit("", goals, str(error))
            return
        self.goal_log.emit(told.Pursued(run.id, goals, proposal.words, active.priority))  # before its first event
        active.run, active.goals = run.id, goals
        self._note_outcome(run.id, goals, await self.runs.follow(run, self.goal_log.tell_event))

    def _name_occasion(self, goals: Iterable[GoalInstance]) -> str:
        """Name the occasion of a pursuit: the times at which the schedules of its goals were due last."""
        names = dict.fromkeys(each.goal for each in goals if self.goals.board.goals[each.goal].schedule is not None)
        return "; ".join(f"{name} at {_write_time(self.goal_log.goals[name].since)}" for name in names)

    async def _plan(self, wanted: list[Wanted]) -> list[tuple[tuple[Wanted, ...], Proposal]]:
        """Choose plans for `wanted`, and note conflicts and goals without a plan."""
        now = self.runs.problem
        first = self._planned.pop(wanted[0].instance, None)
        if first is not None:
            renewed = await self.proposer.renew(first, now)
            if renewed.plan is not None:
                return [((wanted[0],), renewed)]
        try:
            choice = await self._merger.choose(now, wanted, lambda state: self.goals.find_broken(state, wanted))
        except ForethoughtError as error:
            for each in wanted:
                self._note_failure(each, Proposal(Standing.UNPLANNED, reason=str(error)))
            return []
        if choice.compared is not None:
            self.goal_log.emit(choice.compared)
        for stays, goes in choice.conflicts:
            self.goal_log.tell_event(told.Conflict(f"{stays.goal}; {goes.goal}", str(goes.instance)))
            reason = f"no plan reaches it together with {stays.instance}: {stays.goal}"
            self.goals.pauses.pause(
                self.goals.board.goals[goes.instance.goal], goes.instance, reason, (), stays.instance
            )
        for each, proposal in choice.failed:
            self._note_failure(each, proposal)
        return choice.plans

    def _note_failure(self, wanted: Wanted, proposal: Proposal) -> None:
        reason = f"{proposal.standing.value}: {proposal.reason}" if proposal.reason else proposal.standing.value
        self.goal_log.emit(told.PursuitEnded("", (wanted.instance,), (), reason))
        self.goals.pauses.guard(self.goals.board.goals[wanted.instance.goal], wanted.instance, None)

    async def _take_up(self, pursuit: Pursuit) -> None:
        """Go on with a run that was interrupted, with what has changed meanwhile."""
        left, now = self._left_at.pop(pursuit.run, None), frozenset(self.runs.problem.initial)
        facts = {} if left is None else {fact: fact in now for fact in left ^ now}
        assert self.active is not None
        try:
            run = self.runs.take_up(pursuit.run, facts=facts)
            self.active.run = run.id
            outcome = await self.runs.follow(run, self.goal_log.tell_event)
        except DrivenError:
            self.waiting.add(pursuit.run)
        except InputError as error:  # its plan fits no longer
            self._end_pursuit(pursuit.run, pursuit.goals, str(error))
        else:
            self._note_outcome(pursuit.run, pursuit.goals, outcome)

    def _note_outcome(self, run: str, goals: tuple[GoalInstance, ...], outcome: RunOutcome) -> None:
        """Take over what a run has changed, and note whether its goals are reached."""
        gives_way = self.active is not None and self.active.gives_way
        if not outcome.status.is_over:
            self._left_at[run] = frozenset(self.runs.problem.initial)
            if gives_way:
                self.goal_log.tell_event(told.Preempted(run))
            elif not self.is_stopping:
                self.waiting.add(run)
        changed = self.goals.picture.compare(self.runs.problem)
        self.goals.learn(changed, f"the run {run}" if changed else "", by=" and ".join(str(each) for each in goals))
        if outcome.status.is_over:
            rests = _facts_of_steps(outcome, self.goals.picture)
            self._end_pursuit(run, goals, outcome.reason or outcome.status.value, rests)

    def _end_pursuit(
        self, run: str, goals: tuple[GoalInstance, ...], reason: str, rests: Iterable[Atom] | None = ()
    ) -> None:
        """Note the end of a pursuit, and guard the goals that it has not reached."""
        stated = [each for each in goals if self.goals.is_stated(each)]
        reached = [
            each
            for each in stated
            if self.goals.picture.holds(self.goals.board.goals[each.goal].pattern.goal_for(each.objects))
        ]
        self.goal_log.emit(told.PursuitEnded(run, goals, tuple(reached), "" if len(reached) == len(goals) else reason))
        for each in stated:
            goal = self.goals.board.goals[each.goal]
            if goal.measure is not None:  # it says no more until it is asked again
                self.goals.watch.measured.get(goal.name, {}).pop(each.objects, None)
                self.wants_look = True
            if each in reached:
                self.goals.due.pop(each, None)
                self.goals.close_firing(goal)
            else:
                self.goals.pauses.guard(goal, each, rests)

    def reconcile(self, pursuit: Pursuit) -> None:
        """Find out what became of a pursuit that was unfinished when its process ended."""
        if not self.runs.is_known(pursuit.run):
            self.goal_log.emit(told.PursuitEnded(pursuit.run, pursuit.goals))
            return
        state = self.runs.state_of(pursuit.run)
        waits = [record.wait or {} for record in state.with_status(StepStatus.WAITING)]
        if state.status.is_over:
            before, unsure = frozenset(state.source.initial), state.beliefs.unsettled | state.beliefs.unconfirmed
            after = state.beliefs.simulation.facts - unsure
            goals = [self.goals.want(each).goal for each in pursuit.goals if self.goals.is_stated(each)]
            if not all(map(self.goals.picture.holds, goals)):  # else whoever went on with it has told so
                self.goals.learn({fact: fact in after for fact in before ^ after}, f"the run {pursuit.run}")
            self._end_pursuit(pursuit.run, pursuit.goals, state.reason or state.status.value)
        elif self.runs.executor.is_answered(pursuit.run):
            return
        elif state.open_questions or any(each.get("event") or each.get("choices") for each in waits):
            self.waiting.add(pursuit.run)

    def check_waiting(self) -> None:
        """Find out which waiting runs are over, and which may go on: somebody answered, or others are done."""
        for pursuit in list(self.goal_log.pursuits.values()):
            if pursuit.run not in self.waiting or pursuit.run in self.runs.active:
                continue
            state = self.runs.state_of(pursuit.run)
            if state.status.is_over:
                self.waiting.discard(pursuit.run)
                self.reconcile(pursuit)
            else:
                is_answered, is_free = self.runs.executor.is_answered(pursuit.run), self.runs.executor.book.is_free
                if is_answered or any(map(is_free, state.list_awaited())):
                    self.waiting.discard(pursuit.run)


def _write_time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


def _facts_of_steps(outcome: RunOutcome, picture: Picture) -> list[Atom]:
    """Return the facts that the steps of a run read and write."""
    beliefs = outcome.state.beliefs
    found: dict[Atom, None] = {}
    for record in outcome.steps:
        found.update(dict.fromkeys(beliefs.facts_of_precondition(record.step)))
        found.update(dict.fromkeys([note.fact for note in record.facts]))
    return [fact for fact in found if fact.predicate in picture.problem.domain.predicates]
