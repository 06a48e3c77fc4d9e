"""Carry out the requests of one room one at a time: the most urgent first, and of these the oldest."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from executor.agent.agent_events import Conflict, Joined, Preempted, Tell
from executor.agent.conversations.record import Errand
from executor.agent.plan_search import restrict_to_handlers, solve_in_thread
from executor.agent.proposals import Achieved, Proposal, Standing
from executor.agent.propose import join_problems
from executor.agent.run_goals import NO_TERMS, PERSON, RunTerms
from executor.errors import RunError, RunExists
from executor.events.events import Asked
from executor.plans.action_plan import ActionPlan
from executor.run import Run, RunOutcome
from planner.lightweight import dataclass, field, replace
from planner.model import Atom
from planner.plan import Status

if TYPE_CHECKING:
    from executor.agent.agent import Agent
    from executor.agent.conversations.room import Room


@dataclass(slots=True, eq=False)
class RoomTask:
    """An errand in this process: its proposal, its run, and whether it has to give way."""

    number: int
    proposal: Proposal
    priority: int = 0
    terms: RunTerms = NO_TERMS
    run: str = ""
    gives_way: bool = False
    """Whether its run was interrupted for a more urgent task."""
    is_displaced: bool = False
    """Whether no plan fulfils it together with that task."""
    left_at: frozenset[Atom] | None = None
    """The facts that held when its run stopped, if known."""


@dataclass(slots=True, eq=False)
class Agenda:
    """The tasks of one room; `interrupt` stops a run at the end of a step."""

    interrupt: Callable[[str], bool]
    waiting: list[RoomTask] = field(default_factory=list)
    at_work: RoomTask | None = None
    _changed: asyncio.Event = field(init=False, default_factory=asyncio.Event)

    @property
    def tasks(self) -> list[RoomTask]:
        """All unfinished tasks."""
        return [*([self.at_work] if self.at_work is not None else []), *self.waiting]

    async def wait_for_turn(self, task: RoomTask) -> None:
        """Wait for the turn of `task`; a less urgent task gives way at the end of a step."""
        self.waiting.append(task)
        self._preempt()
        try:
            while self.at_work is not None or self._most_urgent() is not task:
                self._changed.clear()
                await self._changed.wait()
            self.at_work = task
        finally:
            self.waiting.remove(task)
            self._changed.set()

    def note_run(self, task: RoomTask, run: str) -> None:
        """Record the run of a task."""
        task.run = run
        self._preempt()

    def _preempt(self) -> None:
        """Interrupt the active task if a more urgent one waits."""
        now = self.at_work
        if now is not None and now.run and any(each.priority > now.priority for each in self.waiting):
            now.gives_way = self.interrupt(now.run)

    def end_turn(self, task: RoomTask) -> None:
        """Record that `task` is no longer active."""
        if self.at_work is task:
            self.at_work = None
        self._changed.set()

    def _most_urgent(self) -> RoomTask:
        return min(self.waiting, key=lambda each: (-each.priority, each.number))


CONFLICT_SECONDS: Final = 3.0
"""Time limit of the search for a plan for two goals, in seconds."""


class Errands:
    """Carries out the requests of `room`."""

    def __init__(self, agent: Agent, room: Room) -> None:
        self._agent, self._room = agent, room
        self._agenda = Agenda(agent.runs.interrupt)

    @property
    def active(self) -> RoomTask | None:
        """The active task, if there is one."""
        task = self._agenda.at_work
        return task if task is not None and task.run in self._agent.runs.active else None

    def open_questions(self) -> list[tuple[Errand, Asked]]:
        """Return the open questions of suspended runs."""
        runs = self._agent.runs
        begun = [each for each in self._room.errands if each.run and each.run not in runs.active]
        return [(each, asked) for each in begun for asked in runs.questions(each.run)]

    def interrupt(self) -> None:
        """Stop the active runs at the end of a step."""
        for task in self._agenda.tasks:
            self._agent.runs.interrupt(task.run)

    async def resume(self, tell: Tell) -> list[RunOutcome]:
        """Resume suspended errands and begin pending ones, the most urgent first; return their outcomes."""
        here = {task.number for task in self._agenda.tasks}
        left = [each for each in self._room.errands if each.number not in here]
        ended = []
        for errand in sorted(left, key=lambda each: (-each.priority, each.number)):
            is_begun = bool(errand.run) and self._agent.runs.is_known(errand.run)
            if is_begun:
                ended.append(await self._agent.resume(errand.run, tell=tell))
            elif errand.wanted is not None:
                proposal = await self._restore_proposal(errand, errand.wanted)
                task = RoomTask(errand.number, proposal, errand.priority, errand.terms)
                found = await self._carry_out_in_turn(task, {}, tell)
                ended += [] if found is None else [found]
                continue
            self.note_end(errand.number, ended[-1] if is_begun else None)
        return ended

    async def _restore_proposal(self, errand: Errand, wanted: ActionPlan) -> Proposal:
        """Plan `errand` anew from the present state; it was confirmed before the process ended."""
        now = self._agent.runs.current_problem(terms=errand.terms)
        problem = wanted.problem(self._agent.world.model)
        objects = {each.name: each for each in (*problem.objects, *now.objects)}
        problem = replace(problem, initial=now.initial, objects=tuple(objects.values()))
        found = await self._agent.proposer.propose_goal(problem)
        if found.plan is not None and wanted.basis.confirmed == PERSON:
            found = replace(found, standing=Standing.UNCONFIRMED)
        return replace(found, request=errand.request, words=errand.words, thought=wanted.basis.thought)

    async def resume_with(self, errand: Errand, answers: Mapping[str, Any], tell: Tell) -> Achieved:
        """Resume the run of `errand` with `answers`, and return its end."""
        return await self._follow_run(errand, self._agent.runs.take_up(errand.run, answers=answers), tell)

    async def cancel_run(self, errand: Errand, tell: Tell) -> Achieved:
        """Cancel the run of `errand`."""
        run = self._agent.runs.take_up(errand.run)
        run.cancel()
        return await self._follow_run(errand, run, tell)

    async def _follow_run(self, errand: Errand, run: Run, tell: Tell) -> Achieved:
        outcome = await self._agent.runs.follow(run, tell)
        self.note_end(errand.number, outcome)
        return Achieved(Proposal(Standing.PLANNED, errand.request, words=errand.words), outcome)

    async def carry_out(
        self, proposal: Proposal, priority: int, memory: Mapping[str, Any], terms: RunTerms, tell: Tell
    ) -> Achieved:
        """Carry out `proposal` on its `terms` in its turn, or as a part of the active task if it has none."""
        active = self.active
        if active is not None and proposal.relation != "alone":
            outcome = await self._join_active(active, proposal, terms, tell)
            if outcome is not None:
                return Achieved(proposal, outcome)
        task = RoomTask(self._room.record.count + 1, proposal, priority, terms)
        for other in self._agenda.tasks:
            if not other.is_displaced and await self._are_incompatible(task, other):
                stays, goes = (other, task) if task.priority <= other.priority else (task, other)
                tell(Conflict(stays.proposal.words, goes.proposal.words))
                goes.is_displaced = True
                if goes is task:
                    reason = f"it cannot be had together with what comes first:\n{stays.proposal.words}"
                    return Achieved(proposal.stopped(Standing.CONFLICTING, reason))
        self._note(task)
        outcome = await self._carry_out_in_turn(task, memory, tell)
        return Achieved(task.proposal, outcome)

    async def _join_active(self, task: RoomTask, proposal: Proposal, terms: RunTerms, tell: Tell) -> RunOutcome | None:
        """Redirect the active run to the goal of `proposal`, and return its end; None where that is impossible.

        If `proposal` was to replace the active task, that task then gives way for good.
        """
        also = proposal.relation == "also"
        run = None
        if terms == NO_TERMS:
            with contextlib.suppress(RunError):
                run = self._agent.runs.redirect(task.run, proposal, also=also)
        if run is None:
            task.is_displaced = not also
            if task.is_displaced:
                task.gives_way = self._agent.runs.interrupt(task.run)
            return None
        task.proposal = proposal
        self._note(task)
        tell(Joined(task.run, also))
        outcome: RunOutcome = await run
        return outcome

    async def _carry_out_in_turn(self, task: RoomTask, memory: Mapping[str, Any], tell: Tell) -> RunOutcome | None:
        """Carry out a task whenever it is its turn, and return its end; None where it has no plan any more."""
        while True:
            await self._agenda.wait_for_turn(task)
            try:
                outcome = await self._carry_out_once(task, memory, tell)
            except RunExists:
                self.note_end(task.number, None)
                raise
            finally:
                self._agenda.end_turn(task)
            gave_way, task.gives_way = task.gives_way, False
            if outcome is None or outcome.status.is_over or not gave_way or task.is_displaced:
                self.note_end(task.number, None if task.is_displaced else outcome)
                return outcome
            tell(Preempted(task.run))
            task.left_at = frozenset(self._agent.problem.initial)

    async def _carry_out_once(self, task: RoomTask, memory: Mapping[str, Any], tell: Tell) -> RunOutcome | None:
        runs = self._agent.runs
        if task.run:
            before, now = task.left_at or frozenset(), frozenset(self._agent.problem.initial)
            facts = {fact: fact in now for fact in before ^ now} if task.left_at is not None else {}
            run = runs.take_up(task.run, facts=facts)
        else:
            present = self._agent.runs.current_problem(terms=task.terms)
            task.proposal = await self._agent.proposer.renew(task.proposal, present)
            if task.proposal.plan is None or task.proposal.standing is Standing.UNPLANNED:
                return None
            run = self._agent.start(task.proposal, memory=memory, **dict(task.terms))
        self._agenda.note_run(task, run.id)
        self._note(task)
        return await runs.follow(run, tell)

    async def _are_incompatible(self, task: RoomTask, other: RoomTask) -> bool:
        """Return whether a search proves that no plan fulfils both tasks."""
        one, two = task.proposal.problem, other.proposal.problem
        if one is None or two is None:
            return False
        found = await solve_in_thread(
            restrict_to_handlers(join_problems(one, two), self._agent.world), time_limit=CONFLICT_SECONDS
        )
        return found.status is Status.UNSOLVABLE

    def _note(self, task: RoomTask) -> None:
        errand = Errand.of(task.number, task.proposal, task.priority, task.run, task.terms)
        self._room.note(self._room.record.with_errand(errand))

    def note_end(self, number: int, outcome: RunOutcome | None) -> None:
        """Remove an errand from the record if its run is over."""
        if outcome is None or outcome.status.is_over:
            self._room.note(self._room.record.without_errand(number))
