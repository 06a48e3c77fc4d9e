"""Attend to standing goals: look, take reports, watch the clock, and pursue what is in force and unmet.

One loop does all of this: `_turn` takes what is new and decides what to do next, and then sleeps until something new
may have come. At most one run of standing goals is at work. A more urgent goal interrupts it at the end of a step.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping
from typing import Any, Final, Self

from executor.agent import agent_events as told
from executor.agent.agent_events import Occasion
from executor.agent.proposals import Proposal, Standing
from executor.agent.propose import Proposer
from executor.agent.run_goals import Runs
from executor.agent.standing_goals import loop_guard
from executor.agent.standing_goals.goal_board import GoalBoard, Report
from executor.agent.standing_goals.goal_conditions import find_predicates
from executor.agent.standing_goals.goal_watch import GoalWatch, Sighted
from executor.agent.standing_goals.ledger import Ledger, Pursuit
from executor.agent.standing_goals.merge_goals import MOST_MERGED, GoalMerger, Wanted
from executor.agent.standing_goals.occasions import Picture, select_fitting, with_facts
from executor.agent.standing_goals.schedules import Once, find_due
from executor.agent.standing_goals.standing_goal import End, Resume, StandingGoal
from executor.errors import DrivenError, RunError
from executor.events.events import Disagreement, FactsSeen, Note, Provenance, StepStatus
from executor.loop.preconditions import CAREFUL
from executor.run import RunOutcome
from planner.errors import ForethoughtError, InputError
from planner.lightweight import dataclass, field
from planner.model import Atom, DomainModel, Formula
from planner.model.formulas import literals_in
from planner.semantics.simulation import Simulation

POLL: Final = 5.0
"""Default time between looks, in seconds."""
LONGEST_SLEEP: Final = 60.0
"""Longest sleep in seconds: the clock of the machine may be set meanwhile."""
REPORTED: Final = "reported from outside"
OBSERVED: Final = "looking for standing goals"


@dataclass(slots=True, eq=False)
class _Active:
    """The pursuit at work: its task, its priority, its run once that has begun, and whether it has to give way."""

    priority: int
    goals: tuple[Occasion, ...]
    task: asyncio.Task[None] | None = None
    run: str = ""
    gives_way: bool = False


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
    _ledger: Ledger = field(init=False)
    _picture: Picture = field(init=False)
    _watch: GoalWatch = field(init=False)
    _merger: GoalMerger = field(init=False)
    _due: dict[Occasion, None] = field(init=False, default_factory=dict)
    """The goals that are in force and unmet, in the order in which they came to be so."""
    _judged: set[str] = field(init=False, default_factory=set)
    """The standing goals that were judged for all objects."""
    _active: _Active | None = None
    _look: asyncio.Task[Sighted] | None = None
    _look_at: float | None = None
    """Time of the next look, in the time of the event loop."""
    _wants_look: bool = False
    """Whether a fresh look is needed at once."""
    _firing: dict[StandingGoal, float | None] = field(init=False, default_factory=dict)
    """The next time of each schedule."""
    _unreadable: set[str] = field(init=False, default_factory=set)
    """Goals that the journal keeps, and that do not fit the domain."""
    _misfits: set[Atom] = field(init=False, default_factory=set)
    """Facts about things that cannot become objects."""
    _left_at: dict[str, frozenset[Atom]] = field(init=False, default_factory=dict)
    """The facts that held when a run was interrupted here."""
    _waiting: set[str] = field(init=False, default_factory=set)
    """Runs that wait for a person, or for something from outside."""
    _planned: dict[Occasion, Proposal] = field(init=False, default_factory=dict)
    """Plans of goals whose turn comes later."""
    _wake: asyncio.Event = field(init=False, default_factory=asyncio.Event)
    _idle: asyncio.Event = field(init=False, default_factory=asyncio.Event)
    _task: asyncio.Task[None] | None = None
    _is_stopping: bool = False
    _is_in_turn: bool = False
    _began: float = 0.0

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
        return tuple(sorted(self._waiting))

    async def settled(self) -> None:
        """Wait until a fresh look finds nothing to do; goals that are paused for good, or not due yet, may be left.

        Raises what ended the attendance.
        """
        assert self._task is not None
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
        if not self._is_in_turn and not self._ledger.is_telling:
            self._take_messages()
            self._state_goals()
        self._notice()

    def _notice(self) -> None:
        self._idle.clear()
        self._wake.set()

    async def _attend(self, began: asyncio.Future[None]) -> None:
        """Turn after turn, until stopped."""
        self._ledger = Ledger(self.tell, self.clock, self.runs.executor.journal, self._calm_of)
        with self._ledger.open():
            self._begin()
            self.board.ledger = self._ledger
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
        self._began = self.clock()
        places = {name: len(each.parameters) for name, each in self.runs.problem.domain.predicates.items()}
        known = {
            fact: bool(note.holds)
            for fact, note in self._ledger.facts.items()
            if places.get(fact.predicate) == len(fact.args)
        }
        self.runs.problem = with_facts(self.runs.problem, known)
        self._picture = Picture(self.runs.problem)
        self._watch = GoalWatch(self.proposer.world, self._picture)
        self._merger = GoalMerger(self.proposer)
        self._look_at = None if self.poll is None else asyncio.get_running_loop().time()
        self._state_goals()
        for pursuit in list(self._ledger.pursuits.values()):
            self._reconcile(pursuit)

    def _reconcile(self, pursuit: Pursuit) -> None:
        """Find out what became of a pursuit that was unfinished when its process ended."""
        if not self.runs.is_known(pursuit.run):
            self._ledger.emit(told.PursuitEnded(pursuit.run, pursuit.goals))
            return
        state = self.runs.state_of(pursuit.run)
        waits = [record.wait or {} for record in state.with_status(StepStatus.WAITING)]
        if state.status.is_over:
            before, unsure = frozenset(state.source.initial), state.beliefs.unsettled | state.beliefs.unconfirmed
            after = state.beliefs.simulation.facts - unsure
            goals = [self._make_wanted(each).goal for each in pursuit.goals if self._is_stated(each)]
            if not all(map(self._picture.holds, goals)):  # else whoever went on with it has told so
                self._learn({fact: fact in after for fact in before ^ after}, f"the run {pursuit.run}")
            self._end_pursuit(pursuit.run, pursuit.goals, state.reason or state.status.value)
        elif state.open_questions or any(each.get("event") or each.get("choices") for each in waits):
            self._waiting.add(pursuit.run)

    async def _end(self) -> None:
        """Interrupt the run at work, and wait for the end of its step."""
        active = self._active
        if active is not None and active.task is not None:
            if not (active.run and self.runs.interrupt(active.run)):
                active.task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await active.task
        if self._look is not None:
            self._look.cancel()
            await asyncio.wait([self._look])

    def _turn(self) -> None:
        """Take what is new, and do what is to be done now."""
        self._take_messages()
        self._state_goals()
        self._synchronise()
        self._fire()
        self._take_look()
        self._judge_new()
        self._take_pursuit()
        self._go_on()
        if self._is_idle():
            self._idle.set()

    async def _sleep(self) -> None:
        """Wait for news, or for the next time at which something may be due."""
        loop = asyncio.get_running_loop()
        times = [LONGEST_SLEEP]
        if self._look_at is not None and self._look is None:
            times.append(self._look_at - loop.time())
        now = self.clock()
        times += [until - now for until in self._untils()]
        times += [due - now for due in self._firing.values() if due is not None]
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._wake.wait(), max(min(times), 0.0))

    # What is new

    def _take_messages(self) -> None:
        while (message := self.board.take()) is not None:
            match message:
                case Report(facts):
                    news = [Note(fact, holds, Provenance.REPORTED, REPORTED) for fact, holds in facts.items()]
                    self._ledger.emit(FactsSeen(tuple(news), REPORTED))
                    if self._active is not None:
                        self.runs.report(self._active.run, facts)
                    self._learn(facts, "", by=loop_guard.WORLD)
                case Resume(name, objects):
                    for each, found in list(self._ledger.attempts.items()):
                        if each.goal == name and objects in ((), each.objects) and (found.paused or found.until):
                            self._ledger.emit(told.PauseEnded(each, "somebody resumed it", True))
                case End(name, reason):
                    self._ledger.emit(told.GoalEnded(name, reason))
                    self.board.remove(name)
                    self._judged.discard(name)
                    self._due = {each: None for each in self._due if each.goal != name}

    def _state_goals(self) -> None:
        """State the goals that the journal does not know yet, and take over those that it keeps."""
        records = self._ledger.goals
        for name, record in list(records.items()):
            if record.kept is None or record.is_over or name in self.board.goals or name in self._unreadable:
                continue
            try:
                self.board.goals[name] = self.board.restore(name, record.kept)
            except InputError as error:
                self._unreadable.add(name)
                reason = f"the journal keeps the goal {name!r}, which does not fit the domain: {error}"
                self._ledger.tell_event(Disagreement((), reason))
        for name, goal in list(self.board.goals.items()):
            known = records.get(name)
            if known is None or (known.is_over and not isinstance(goal.schedule, Once)):
                self._ledger.emit(told.GoalStated(name, goal.kept))
            elif known.is_over:
                self.board.remove(name)

    def _synchronise(self) -> None:
        """Take over what other runs and requests have changed."""
        changed = self._picture.compare(self.runs.problem)
        if changed or self.runs.problem is not self._picture.problem:
            self._learn(changed, "a request" if changed else "", by="a request")
            self._check_waiting()

    def _learn(self, facts: Mapping[Atom, bool], cause: str, *, by: str = "", provenance: Any = None) -> None:
        """Take over values of facts; keep them in the ledger if there is a `cause`."""
        if cause and facts:
            source = provenance or Provenance.ASSUMED
            self._ledger.emit(
                FactsSeen(tuple([Note(fact, holds, source, cause) for fact, holds in facts.items()]), cause)
            )
        problem = with_facts(self.runs.problem, facts)
        self.runs.problem = problem
        if self._picture.adopt(problem):
            self._watch = GoalWatch(self.proposer.world, self._picture, self._watch.measured)
            self._judge(None, by)
        else:
            self._judge(facts.keys(), by)
        self._end_pauses()

    def _fire(self) -> None:
        """Let the schedules fire whose time has come."""
        now = self.clock()
        self._firing = {
            goal: self._next_firing(goal) for goal in self.board.goals.values() if goal.schedule is not None
        }
        for goal, due in list(self._firing.items()):
            if due is None or due > now or goal.schedule is None:
                continue
            record = self._ledger.goals[goal.name]
            latest, count = find_due(goal.schedule, record.since, now) or (due, 1)
            is_skipped, was_due = goal.skips and latest < self._began, record.is_due
            renewed = self._list_renewed(goal) if goal.renews and not (is_skipped or was_due) else {}
            cause = f"{goal.name} is due again"
            notes = [Note(fact, False, Provenance.ASSUMED, cause) for fact in renewed]
            seen = [FactsSeen(tuple(notes), cause)] if notes else []
            self._ledger.emit(*seen, told.Fired(goal.name, latest, count - 1, is_skipped))
            self._firing[goal] = goal.schedule.after(latest)
            if is_skipped and isinstance(goal.schedule, Once):
                self._ledger.emit(told.GoalEnded(goal.name, "its time passed while nobody attended"))
                self.board.remove(goal.name)
            elif not (is_skipped or was_due):
                self._learn(renewed, "")
                self._judge_goal(goal, None, "")
                self._close_firing(goal)

    def _list_renewed(self, goal: StandingGoal) -> dict[Atom, bool]:
        """Return the facts that count no more when the schedule of a goal fires."""
        goals = [goal.pattern.goal_for(each) for each in self._picture.find(goal.pattern)]
        return dict.fromkeys(self._list_achieved(goals), False)

    def _next_firing(self, goal: StandingGoal) -> float | None:
        """Return the next time of the schedule of a goal, in seconds since 1970; None without one."""
        record = self._ledger.goals.get(goal.name)
        if goal.schedule is None or record is None or record.is_over:
            return None
        if goal in self._firing:
            return self._firing[goal]
        if isinstance(goal.schedule, Once):
            return None if record.is_due else goal.schedule.time
        return goal.schedule.after(record.since)

    def _close_firing(self, goal: StandingGoal) -> None:
        """End the firing of a schedule if all goals are reached."""
        record = self._ledger.goals.get(goal.name)
        if goal.schedule is None or record is None or not record.is_due:
            return
        pursued = [each.goal for pursuit in self._ledger.pursuits.values() for each in pursuit.goals]
        if goal.name in pursued or any(each.goal == goal.name for each in self._due):
            return
        if isinstance(goal.schedule, Once):
            self._ledger.emit(told.GoalEnded(goal.name, "it was reached"))
            self.board.remove(goal.name)
        else:
            self._ledger.emit(told.FiringEnded(goal.name))

    def _take_look(self) -> None:
        """Take over a finished look, and begin the next one when it is time."""
        now = asyncio.get_running_loop().time()
        if self._look is not None and self._look.done():
            sighted, self._look = self._look.result(), None
            self._look_at = None if self.poll is None else now + self.poll
            self._take_sighted(sighted)
        is_time = self._wants_look or (self._look_at is not None and self._look_at <= now)
        if self._look is None and is_time:
            self._wants_look, self._look_at = False, None
            self._look = asyncio.create_task(self._watch.look(list(self.board.goals.values()), list(self._due)))
            self._look.add_done_callback(lambda _: self._wake.set())
            self._ledger.forget_calm()
            self._check_waiting()

    def _take_sighted(self, sighted: Sighted) -> None:
        """Take over what observers and Python conditions said."""
        for each in sighted.disagreements:
            self._ledger.tell_event(each)
        beliefs = self._picture.beliefs
        fitting, _ = select_fitting(self._picture.problem, sighted.facts)
        misfits = [fact for fact in sighted.facts.keys() - fitting.keys() - self._misfits if sighted.facts[fact]]
        if misfits:
            self._misfits.update(misfits)
            reason = f"{', '.join(sorted(map(str, misfits)))} names what cannot be an object of the problem"
            self._ledger.tell_event(Disagreement(tuple(misfits), reason))
        reported = self._ledger.reported()
        known = {
            fact: holds
            for fact, holds in fitting.items()
            if (beliefs.holds(fact) is not holds or reported.get(fact) is holds)
        }
        self._learn(known, OBSERVED, by=loop_guard.WORLD, provenance=Provenance.OBSERVED)
        for name, measured in sighted.measured.items():
            if name in self.board.goals:
                self._watch.measured[name] = measured
                why = "; ".join(dict.fromkeys([why for is_wanted, why in measured.values() if is_wanted]))
                self._judge_goal(self.board.goals[name], None, why or loop_guard.WORLD)

    def _check_waiting(self) -> None:
        """Find out which waiting runs are over."""
        for pursuit in list(self._ledger.pursuits.values()):
            if pursuit.run in self._waiting and pursuit.run not in self.runs.active:
                if self.runs.state_of(pursuit.run).status.is_over:
                    self._waiting.discard(pursuit.run)
                    self._reconcile(pursuit)

    # What is due

    def _judge_new(self) -> None:
        """Judge the goals that were added."""
        for name, goal in list(self.board.goals.items()):
            if name not in self._judged:
                self._judged.add(name)
                self._judge_goal(goal, None, "")
                self._close_firing(goal)
        self._judged &= self.board.goals.keys()

    def _judge(self, changed: Collection[Atom] | None, by: str) -> None:
        """Find which goals are due after a change of facts; None: judge all."""
        predicates = None if changed is None else {each.predicate for each in changed}
        for goal in list(self.board.goals.values()):
            if predicates is None or not predicates.isdisjoint(goal.pattern.predicates):
                self._judge_goal(goal, changed, by)
                self._close_firing(goal)

    def _judge_goal(self, goal: StandingGoal, changed: Collection[Atom] | None, by: str) -> None:
        in_force = self._watch.find_in_force(goal, changed)
        due = {each.objects for each in self._due if each.goal == goal.name}
        for objects in sorted(in_force | self._picture.find_related(goal.pattern, changed, due)):
            occasion = Occasion(goal.name, objects)
            if not self._is_due(goal, objects):
                self._due.pop(occasion, None)
            elif occasion not in self._due:
                self._due[occasion] = None
                self._note_due(goal, occasion, by)

    def _is_due(self, goal: StandingGoal, objects: tuple[str, ...]) -> bool:
        """Return whether a goal is in force for `objects` and unmet."""
        record = self._ledger.goals.get(goal.name)
        if record is None or record.is_over or (goal.schedule is not None and not record.is_due):
            return False
        return self._watch.is_unmet(goal, objects)

    def _note_due(self, goal: StandingGoal, occasion: Occasion, by: str) -> None:
        """Note that a goal which was reached is unmet again, and let it wait if that happens again and again."""
        found = self._ledger.attempts.get(occasion)
        if found is None or goal.schedule is not None or found.reached is None:
            return
        self._ledger.emit(told.Undone(occasion, by or loop_guard.WORLD))
        self._guard(goal, occasion)

    def _guard(self, goal: StandingGoal, occasion: Occasion, rests: Iterable[Atom] | None = ()) -> None:
        """Let a goal wait after attempts in vain: longer each time, and for good after the last one."""
        found = self._ledger.attempts.get(occasion)
        if found is None or found.paused:
            return
        if max(found.failed, len(found.undone)) >= goal.tries:
            is_vain = found.failed >= goal.tries
            reason = loop_guard.describe_vain(occasion, found) if is_vain else loop_guard.describe_loop(occasion, found)
            self._pause(goal, occasion, reason, rests)
        elif found.failed or len(found.undone) > 1:
            reason = found.reasons[-1] if found.failed else loop_guard.describe_loop(occasion, found)
            pause = loop_guard.next_pause(found.failed or len(found.undone) - 1)
            self._ledger.emit(told.Paused(occasion, reason, self.clock() + pause))

    def _pause(
        self,
        goal: StandingGoal,
        occasion: Occasion,
        reason: str,
        rests: Iterable[Atom] | None,
        against: Occasion | None = None,
    ) -> None:
        """Pause a goal until a person, or a change of the facts on which it rests, resumes it."""
        names = None
        if rests is not None:
            pattern = goal.pattern
            own = [
                fact
                for part in (pattern.condition_for(occasion.objects), pattern.goal_for(occasion.objects))
                for fact in self._picture.facts_of(part)
            ]
            names = tuple(sorted({str(fact) for fact in (*rests, *own)}))
        state = self._digest(names, {str(fact) for fact in self._picture.facts})
        self._ledger.emit(told.Paused(occasion, reason, None, against, names, state))

    def _digest(self, names: tuple[str, ...] | None, facts: Collection[str]) -> int:
        return loop_guard.compute_digest(facts if names is None else [each for each in names if each in facts])

    def _end_pauses(self) -> None:
        """End the pauses of goals whose facts are as they never were when the goal was paused."""
        paused = [(each, found) for each, found in self._ledger.attempts.items() if found.paused]
        facts = {str(fact) for fact in self._picture.facts} if paused else set()
        for each, found in paused:
            if found.against is not None:
                other = found.against
                goal = self.board.goals.get(other.goal) if self._is_stated(other) else None
                if goal is None or not self._watch.is_in_force(goal, other.objects):
                    self._ledger.emit(told.PauseEnded(each, f"{found.against} is in force no more"))
            elif self._digest(found.rests, facts) not in found.seen:
                self._ledger.emit(told.PauseEnded(each, "what it rests on has changed"))

    # What to do

    def _go_on(self) -> None:
        """Begin the most urgent pursuit, or interrupt a less urgent one."""
        ready = self._list_ready()
        suspended = [each for each in self._ledger.pursuits.values() if self._may_be_taken_up(each)]
        best = max((self._priority_of(each) for each in ready), default=None)
        if self._active is not None:
            if best is not None and best > self._active.priority and not self._active.gives_way:
                self._preempt(self._active)
            return
        taken_up = max(suspended, key=lambda each: each.priority, default=None)
        if taken_up is not None and (best is None or taken_up.priority >= best):
            self._begin_pursuit(taken_up.priority, taken_up.goals, self._take_up(taken_up))
        elif best is not None:
            batch = [each for each in ready if self._priority_of(each) == best][:MOST_MERGED]
            self._begin_pursuit(best, tuple(batch), self._pursue(batch))

    def _list_ready(self) -> list[Occasion]:
        """Return the goals that are due and may be pursued now, in their order."""
        now, busy = self.clock(), {each for pursuit in self._ledger.pursuits.values() for each in pursuit.goals}
        if self._active is not None:
            busy.update(self._active.goals)
        attempts = self._ledger.attempts
        return [
            each
            for each in self._due
            if each not in busy and (each not in attempts or attempts[each].may_be_pursued(now))
        ]

    def _priority_of(self, occasion: Occasion) -> int:
        return self.board.goals[occasion.goal].priority

    def _may_be_taken_up(self, pursuit: Pursuit) -> bool:
        return pursuit.run not in self._waiting and pursuit.run not in self.runs.active

    def _begin_pursuit(self, priority: int, goals: tuple[Occasion, ...], work: Any) -> None:
        self._active = _Active(priority, goals)
        self._active.task = asyncio.create_task(work)
        self._active.task.add_done_callback(lambda _: self._wake.set())

    def _preempt(self, active: _Active) -> None:
        """Let the pursuit at work give way: at the end of a step, or at once while it is planned."""
        active.gives_way = True
        if active.run:
            self.runs.interrupt(active.run)
        elif active.task is not None:
            active.task.cancel()

    def _take_pursuit(self) -> None:
        """Take note of the end of the pursuit at work."""
        active = self._active
        if active is None or active.task is None or not active.task.done():
            return
        self._active = None
        if not active.task.cancelled():
            active.task.result()

    async def _pursue(self, batch: list[Occasion]) -> None:
        """Look at the goals of `batch`, plan for those that are unmet, and carry out the first plan."""
        sighted = await self._watch.look_at(batch, self.board.goals)
        self._take_sighted(sighted)
        wanted = [self._make_wanted(each) for each in batch if each in self._due]
        if not wanted:
            return
        self._retract_restored(wanted)
        plans = await self._plan(wanted)
        if not plans:
            return
        chosen, proposal = plans[0]
        self._planned = {each[0].occasion: found for each, found in plans[1:] if len(each) == 1}
        goals, active = tuple([each.occasion for each in chosen]), self._active
        assert active is not None
        careful = find_careful_predicates(self._picture.problem.domain)
        reported = {fact: holds for fact, holds in self._ledger.reported().items() if fact.predicate in careful}
        try:
            run = self.runs.start(proposal, {}, is_shown=False, reported=reported)
        except ForethoughtError as error:
            self._end_pursuit("", goals, str(error))
            return
        self._ledger.emit(told.Pursued(run.id, goals, proposal.words, active.priority))  # before its first event
        active.run, active.goals = run.id, goals
        self._note_outcome(run.id, goals, await self.runs.follow(run, self._ledger.tell_event))

    def _make_wanted(self, occasion: Occasion) -> Wanted:
        return Wanted(occasion, self.board.goals[occasion.goal].pattern.goal_for(occasion.objects))

    def _retract_restored(self, wanted: list[Wanted]) -> None:
        """Take back what is believed of goals that hold although a measurement says that they are due."""
        goals = [each.goal for each in wanted if self._picture.holds(each.goal)]
        self._learn(dict.fromkeys(self._list_achieved(goals), False), "a measurement says otherwise")

    def _list_achieved(self, goals: Iterable[Formula]) -> list[Atom]:
        """Return the facts that hold and that `goals` want to hold."""
        found = [atom for goal in goals for atom, positive in literals_in(goal) if positive]
        return [fact for fact in dict.fromkeys(found) if self._picture.holds(fact)]

    async def _plan(self, wanted: list[Wanted]) -> list[tuple[tuple[Wanted, ...], Proposal]]:
        """Choose plans for `wanted`, and note conflicts and goals without a plan."""
        now = self.runs.problem
        first = self._planned.pop(wanted[0].occasion, None)
        if first is not None:
            renewed = await self.proposer.renew(first, now)
            if renewed.plan is not None:
                return [((wanted[0],), renewed)]
        try:
            choice = await self._merger.choose(now, wanted, lambda state: self._find_broken(state, wanted))
        except ForethoughtError as error:
            for each in wanted:
                self._note_failure(each, Proposal(Standing.UNPLANNED, reason=str(error)))
            return []
        if choice.compared is not None:
            self._ledger.emit(choice.compared)
        for stays, goes in choice.conflicts:
            self._ledger.tell_event(told.Conflict(f"{stays.goal}; {goes.goal}", str(goes.occasion)))
            reason = f"no plan reaches it together with {stays.occasion}: {stays.goal}"
            self._pause(self.board.goals[goes.occasion.goal], goes.occasion, reason, (), stays.occasion)
        for each, proposal in choice.failed:
            self._note_failure(each, proposal)
        return choice.plans

    def _note_failure(self, wanted: Wanted, proposal: Proposal) -> None:
        reason = f"{proposal.standing.value}: {proposal.reason}" if proposal.reason else proposal.standing.value
        self._ledger.emit(told.PursuitEnded("", (wanted.occasion,), (), reason))
        self._guard(self.board.goals[wanted.occasion.goal], wanted.occasion, None)

    def _find_broken(self, state: Simulation, wanted: list[Wanted]) -> list[Wanted]:
        """Return the goals in force, no less urgent than `wanted`, that hold now and not in `state`."""
        changed = state.facts ^ self._picture.facts
        chosen = {each.occasion for each in wanted}
        least = min(self._priority_of(each) for each in chosen)
        found = []
        for goal in self.board.goals.values():
            if goal.priority < least or goal.schedule is not None or goal.measure is not None:
                continue
            if goal.pattern.predicates.isdisjoint({each.predicate for each in changed}):
                continue
            for objects in sorted(self._watch.find_in_force(goal, changed)):
                each = Wanted(Occasion(goal.name, objects), goal.pattern.goal_for(objects))
                still = goal.pattern.condition_for(objects)
                if each.occasion not in chosen and self._picture.holds(each.goal) and state.holds(still):
                    found += [] if state.holds(each.goal) else [each]
        return found

    async def _take_up(self, pursuit: Pursuit) -> None:
        """Go on with a run that was interrupted, with what has changed meanwhile."""
        left, now = self._left_at.pop(pursuit.run, None), frozenset(self.runs.problem.initial)
        facts = {} if left is None else {fact: fact in now for fact in left ^ now}
        assert self._active is not None
        try:
            run = self.runs.take_up(pursuit.run, facts=facts)
            self._active.run = run.id
            outcome = await self.runs.follow(run, self._ledger.tell_event)
        except DrivenError:
            self._waiting.add(pursuit.run)
        except InputError as error:  # its plan fits no longer
            self._end_pursuit(pursuit.run, pursuit.goals, str(error))
        else:
            self._note_outcome(pursuit.run, pursuit.goals, outcome)

    def _note_outcome(self, run: str, goals: tuple[Occasion, ...], outcome: RunOutcome) -> None:
        """Take over what a run has changed, and note whether its goals are reached."""
        gives_way = self._active is not None and self._active.gives_way
        if not outcome.status.is_over:
            self._left_at[run] = frozenset(self.runs.problem.initial)
            if gives_way:
                self._ledger.tell_event(told.Preempted(run))
            elif not self._is_stopping:
                self._waiting.add(run)
        changed = self._picture.compare(self.runs.problem)
        self._learn(changed, f"the run {run}" if changed else "", by=" and ".join(str(each) for each in goals))
        if outcome.status.is_over:
            rests = _facts_of_steps(outcome, self._picture)
            self._end_pursuit(run, goals, outcome.reason or outcome.status.value, rests)

    def _end_pursuit(
        self, run: str, goals: tuple[Occasion, ...], reason: str, rests: Iterable[Atom] | None = ()
    ) -> None:
        """Note the end of a pursuit, and guard the goals that it has not reached."""
        stated = [each for each in goals if self._is_stated(each)]
        reached = [
            each for each in stated if self._picture.holds(self.board.goals[each.goal].pattern.goal_for(each.objects))
        ]
        self._ledger.emit(told.PursuitEnded(run, goals, tuple(reached), "" if len(reached) == len(goals) else reason))
        for each in stated:
            goal = self.board.goals[each.goal]
            if goal.measure is not None:  # it says no more until it is asked again
                self._watch.measured.get(goal.name, {}).pop(each.objects, None)
                self._wants_look = True
            if each in reached:
                self._due.pop(each, None)
                self._close_firing(goal)
            else:
                self._guard(goal, each, rests)

    def _is_stated(self, occasion: Occasion) -> bool:
        """Return whether there still is such a goal; one of another process may have had other variables."""
        goal = self.board.goals.get(occasion.goal)
        return goal is not None and len(goal.pattern.variables) == len(occasion.objects)

    def _is_idle(self) -> bool:
        """Return whether nothing is to be done before a later time of a schedule."""
        if self._active is not None or self._look is not None or self.board.has_messages:
            return False
        if self._wants_look or any(self._may_be_taken_up(each) for each in self._ledger.pursuits.values()):
            return False
        return not self._list_ready() and not any(True for _ in self._untils())

    def _untils(self) -> Iterator[float]:
        """Yield the times until which goals wait that are due."""
        for each in self._due:
            found = self._ledger.attempts.get(each)
            if found is not None and found.until is not None and not found.paused and found.until > self.clock():
                yield found.until

    def _calm_of(self, name: str) -> float:
        return self.board.goals[name].calm if name in self.board.goals else loop_guard.CALM


def find_careful_predicates(domain: DomainModel) -> frozenset[str]:
    """Return the predicates on which steps rest that need observed facts, through axioms, too."""
    careful = [each for each in domain.actions.values() if not each.tags.isdisjoint(CAREFUL)]
    return find_predicates([each.requires for each in careful], domain)


def _set_done(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


def _facts_of_steps(outcome: RunOutcome, picture: Picture) -> list[Atom]:
    """Return the facts that the steps of a run read and write."""
    beliefs = outcome.state.beliefs
    found: dict[Atom, None] = {}
    for record in outcome.steps:
        found.update(dict.fromkeys(beliefs.facts_of_precondition(record.step)))
        found.update(dict.fromkeys([note.fact for note in record.facts]))
    return [fact for fact in found if fact.predicate in picture.problem.domain.predicates]
