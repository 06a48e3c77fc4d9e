"""Attend to standing goals: look, take reports, watch the clock, and pursue what is in force and unmet.

One loop does all of this: `_turn` takes what is new and decides what to do next, and then sleeps until something new
may have come.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Generator
from functools import partial
from typing import Any, Final, Self

from executor.agent import agent_events as told
from executor.agent.propose import Proposer
from executor.agent.run_goals import Runs
from executor.agent.standing_goals.due_goals import DueGoals
from executor.agent.standing_goals.goal_board import GoalBoard, Report
from executor.agent.standing_goals.goal_instances import Picture, with_facts
from executor.agent.standing_goals.goal_log import GoalLog
from executor.agent.standing_goals.goal_watch import GoalWatch, Sighted
from executor.agent.standing_goals.loop_guard import CALM, WORLD
from executor.agent.standing_goals.pursuits import Pursuits
from executor.agent.standing_goals.schedules import Once
from executor.agent.standing_goals.standing_goal import End, Resume
from executor.errors import RunError
from executor.events.events import Disagreement, FactsSeen, Note, Provenance
from planner.errors import InputError
from planner.lightweight import dataclass, field

POLL: Final = 5.0
"""Default time between looks, in seconds."""
LONGEST_SLEEP: Final = 60.0
"""Longest sleep in seconds: the clock of the machine may be set meanwhile."""
REPORTED: Final = "reported from outside"


@dataclass(slots=True, eq=False)
class Attendance:
    """Attends to the standing goals of an agent: within `async with`, or, awaited, until it is stopped.

    `poll` is the time between looks in seconds; None: nobody looks. `tell` gets the events, `clock` gives seconds since
    1970.
    """

    board: GoalBoard
    runs: Runs
    proposer: Proposer
    poll: float | None = POLL
    tell: told.Tell = told.ignore_event
    clock: Callable[[], float] = time.time
    _goal_log: GoalLog = field(init=False)
    _goals: DueGoals = field(init=False)
    _pursuits: Pursuits = field(init=False)
    _look: asyncio.Task[Sighted] | None = None
    _look_at: float | None = None
    """Time of the next look, in the time of the event loop."""
    _wants_look: bool = False
    """Whether a fresh look is needed at once."""
    _unreadable: set[str] = field(init=False, default_factory=set)
    """Goals that the journal keeps, and that do not fit the domain."""
    _wake: asyncio.Event = field(init=False, default_factory=asyncio.Event)
    _idle: asyncio.Event = field(init=False, default_factory=asyncio.Event)
    _task: asyncio.Task[None] | None = None
    _is_stopping: bool = False
    _is_in_turn: bool = False

    async def __aenter__(self) -> Self:
        """Begin to attend; raises `JournalError` if another process attends already."""
        if self._task is not None:
            raise RunError("this attendance is over", hint="begin another one: agent.attend()")
        if self.board.is_attended:
            raise RunError("somebody attends to the standing goals of this agent already", hint="stop that one first")
        began = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._attend(began))
        self._task.add_done_callback(lambda _: _set_done(began))
        await began
        if self._task.done():
            self._task.result()
        return self

    async def __aexit__(self, *_: object) -> None:
        """Stop, and wait until the step at work is over; its run goes on when somebody attends again."""
        self.stop()
        assert self._task is not None
        await self._task

    def __await__(self) -> Generator[Any, None, None]:
        return self._serve().__await__()

    async def _serve(self) -> None:
        async with self:
            assert self._task is not None
            try:
                await asyncio.shield(self._task)
            finally:
                self.stop()

    def stop(self) -> None:
        """Begin nothing more, and interrupt the run at work at the end of its step."""
        self._is_stopping = True
        self._notice()

    @property
    def waiting(self) -> tuple[str, ...]:
        """The runs that wait for a person, or for something from outside: `agent.resume(run, answers=…)` goes on."""
        return () if self._task is None else tuple(sorted(self._pursuits.waiting))

    async def settled(self) -> None:
        """Wait until a fresh look finds nothing to do; goals that are paused for good, or not due yet, may be left.

        Raises what ended the attendance.
        """
        if self._task is None:
            raise RunError("nobody attends yet", hint="async with agent.attend() as attending:")
        self._wants_look = True
        self._notice()
        idle = asyncio.create_task(self._idle.wait())
        try:
            await asyncio.wait({idle, self._task}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            idle.cancel()
        if self._task.done():
            self._task.result()

    def _receive(self) -> None:
        """Take messages and new goals at once, unless they come from somebody who is just being told of an event."""
        if not self._is_in_turn and not self._goal_log.is_telling:
            self._take_messages()
            self._state_goals()
        self._notice()

    def _notice(self) -> None:
        self._idle.clear()
        self._wake.set()

    async def _attend(self, began: asyncio.Future[None]) -> None:
        """Turn after turn, until stopped."""
        self._goal_log = GoalLog(self.tell, self.clock, self.runs.executor.journal, self._calm_of)
        with self._goal_log.open():
            self._begin()
            self.board.goal_log = self._goal_log
            self.board.attach(self._receive)
            _set_done(began)
            try:
                while not self._is_stopping:
                    self._wake.clear()
                    self._is_in_turn = True
                    self._turn()
                    self._is_in_turn = False
                    await self._sleep()
            finally:
                self.board.attach(None)
                await self._end()

    def _begin(self) -> None:
        """Take over what the journal knows: facts, goals that it keeps, and unfinished pursuits."""
        places = {name: len(each.parameters) for name, each in self.runs.problem.domain.predicates.items()}
        known = {
            fact: bool(note.holds)
            for fact, note in self._goal_log.facts.items()
            if places.get(fact.predicate) == len(fact.args)
        }
        self.runs.problem = with_facts(self.runs.problem, known)
        take_turn = partial(self.runs.executor.performer.turns.take_turn, asyncio.Event())
        watch = GoalWatch(
            self.proposer.world, Picture(self.runs.problem), take_turn, self.runs.executor.make_deps_of(None).get
        )
        self._goals = DueGoals(self.board, self._goal_log, self.runs, watch, self.clock())
        self._pursuits = Pursuits(self._goals, self.runs, self.proposer, self._wake.set)
        self._look_at = None if self.poll is None else asyncio.get_running_loop().time()
        self.board.has_new = True
        self._state_goals()
        for pursuit in list(self._goal_log.pursuits.values()):
            self._pursuits.reconcile(pursuit)

    async def _end(self) -> None:
        """Interrupt the run at work, and wait for the end of its step."""
        self._pursuits.is_stopping = True
        await self._pursuits.stop()
        if self._look is not None:
            self._look.cancel()
            await asyncio.wait([self._look])

    def _turn(self) -> None:
        """Take what is new, and do what is to be done now."""
        self._take_messages()
        self._state_goals()
        self._synchronise()
        self._goals.fire()
        self._take_look()
        self._goals.judge_new()
        self._pursuits.take_end()
        self._pursuits.go_on()
        if self._is_idle():
            self._idle.set()

    async def _sleep(self) -> None:
        """Wait for news, or for the next time at which something may be due."""
        loop = asyncio.get_running_loop()
        times = [LONGEST_SLEEP]
        if self._look_at is not None and self._look is None:
            times.append(self._look_at - loop.time())
        now = self.clock()
        times += [until - now for until in self._goals.untils()]
        times += [due - now for due in self._goals.firing.values() if due is not None]
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._wake.wait(), max(min(times), 0.0))

    def _take_messages(self) -> None:
        while (message := self.board.take()) is not None:
            match message:
                case Report(facts):
                    news = [Note(fact, holds, Provenance.REPORTED, REPORTED) for fact, holds in facts.items()]
                    self._goal_log.emit(FactsSeen(tuple(news), REPORTED))
                    if self._pursuits.active is not None:
                        self.runs.report(self._pursuits.active.run, facts)
                    self._goals.learn(facts, "", by=WORLD)
                case Resume(name, objects):
                    for each, found in list(self._goal_log.attempts.items()):
                        if each.goal == name and objects in ((), each.objects) and (found.paused or found.until):
                            self._goal_log.emit(told.PauseEnded(each, "somebody resumed it", True))
                case End(name, reason):
                    self._goal_log.emit(told.GoalEnded(name, reason))
                    self._goals.forget(name)

    def _state_goals(self) -> None:
        """State the goals that the journal does not know yet, and take over those that it keeps."""
        if not self.board.has_new:
            return
        self.board.has_new, records = False, self._goal_log.goals
        for name, record in list(records.items()):
            if record.kept is None or record.is_over or name in self.board.goals or name in self._unreadable:
                continue
            try:
                self.board.goals[name] = self.board.restore(name, record.kept)
            except InputError as error:
                self._unreadable.add(name)
                reason = f"the journal keeps the goal {name!r}, which does not fit the domain: {error}"
                self._goal_log.tell_event(Disagreement((), reason))
        for name, goal in list(self.board.goals.items()):
            known = records.get(name)
            if known is None or (known.is_over and not isinstance(goal.schedule, Once)):
                self._goal_log.emit(told.GoalStated(name, goal.kept))
            elif known.is_over:
                self.board.remove(name)

    def _synchronise(self) -> None:
        """Take over what other runs and requests have changed."""
        changed = self._goals.picture.compare(self.runs.problem)
        if changed or self.runs.problem is not self._goals.picture.problem:
            self._goals.learn(changed, "a request" if changed else "", by="a request")
            self._pursuits.check_waiting()

    def _take_look(self) -> None:
        """Take over a finished look, and begin the next one when it is time."""
        now = asyncio.get_running_loop().time()
        if self._look is not None and self._look.done():
            sighted, self._look = self._look.result(), None
            self._look_at = None if self.poll is None else now + self.poll
            self._goals.take_sighted(sighted)
        is_wanted = self._wants_look or self._pursuits.wants_look or self._goals.wants_look
        is_time = is_wanted or (self._look_at is not None and self._look_at <= now)
        if self._look is None and is_time:
            self._wants_look = self._pursuits.wants_look = False
            self._look_at = None
            self._goals.begin_look()
            self._look = asyncio.create_task(
                self._goals.watch.look(list(self.board.goals.values()), list(self._goals.due))
            )
            self._look.add_done_callback(lambda _: self._wake.set())
            self._goal_log.forget_calm()
            self._pursuits.check_waiting()

    def _is_idle(self) -> bool:
        """Return whether nothing is to be done before a later time of a schedule."""
        wants_look = self._wants_look or self._pursuits.wants_look or self._goals.wants_look
        if self._look is not None or wants_look or self.board.has_messages:
            return False
        return self._pursuits.is_idle and not any(True for _ in self._goals.untils())

    def _calm_of(self, name: str) -> float:
        return self.board.goals[name].calm if name in self.board.goals else CALM


def _set_done(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
