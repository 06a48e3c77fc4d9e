"""Find which standing goals are due: in force, unmet, and, if they have a schedule, at a time of it.

All that becomes known goes through `learn`, which keeps it, and judges the goals on which it bears.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, Final

from executor.agent import agent_events as told
from executor.agent.agent_events import GoalInstance
from executor.agent.run_goals import Runs
from executor.agent.standing_goals.goal_board import GoalBoard
from executor.agent.standing_goals.goal_instances import Picture, select_fitting, with_facts
from executor.agent.standing_goals.goal_log import GoalLog
from executor.agent.standing_goals.goal_watch import GoalWatch, Sighted
from executor.agent.standing_goals.loop_guard import WORLD
from executor.agent.standing_goals.merge_goals import Wanted
from executor.agent.standing_goals.pauses import Pauses
from executor.agent.standing_goals.schedules import Once, find_due
from executor.agent.standing_goals.standing_goal import StandingGoal
from executor.events.events import Disagreement, FactsSeen, Note, Provenance
from planner.lightweight import dataclass, field
from planner.model import Atom, Formula
from planner.model.formulas import literals_in
from planner.semantics.simulation import Simulation

OBSERVED: Final = "looking for standing goals"


@dataclass(slots=True, eq=False)
class DueGoals:
    """Judges the goals of `board` by what is known; `began` is when somebody began to attend to them."""

    board: GoalBoard
    goal_log: GoalLog
    runs: Runs
    watch: GoalWatch
    began: float
    pauses: Pauses = field(init=False)
    due: dict[GoalInstance, None] = field(init=False, default_factory=dict)
    """The goals that are due, in the order in which they came to be so."""
    firing: dict[StandingGoal, float | None] = field(init=False, default_factory=dict)
    """The next time of each schedule."""
    wants_look: bool = field(init=False, default=False)
    """Whether a schedule has fired since the latest look began."""
    _unlooked: set[str] = field(init=False, default_factory=set)
    """The goals that fired, and for which no look has ended since: nobody can say yet that they are reached."""
    _looking: set[str] = field(init=False, default_factory=set)
    """Those of them for which a look is at work."""
    _judged: set[str] = field(init=False, default_factory=set)
    """The standing goals that were judged for all objects."""
    _misfits: set[Atom] = field(init=False, default_factory=set)
    """Facts about things that cannot become objects."""

    def __post_init__(self) -> None:
        self.pauses = Pauses(self.board, self.goal_log, self.watch)

    @property
    def picture(self) -> Picture:
        """What is believed."""
        return self.watch.picture

    def learn(self, facts: Mapping[Atom, bool], cause: str, *, by: str = "", provenance: Any = None) -> None:
        """Take over values of facts; keep them in the goal_log if there is a `cause`."""
        if cause and facts:
            source = provenance or Provenance.ASSUMED
            self.goal_log.emit(
                FactsSeen(tuple([Note(fact, holds, source, cause) for fact, holds in facts.items()]), cause)
            )
        problem = with_facts(self.runs.problem, facts)
        self.runs.problem = problem
        if self.picture.adopt(problem):
            self.watch.renew()
            self.judge(None, by)
        else:
            self.judge(facts.keys(), by)
        self.pauses.end_where_changed()

    def begin_look(self) -> None:
        """Note that a look begins."""
        self.wants_look, self._looking = False, set(self._unlooked)

    def _await_look(self, goal: StandingGoal) -> None:
        """Keep a firing open until somebody has looked."""
        self._unlooked.add(goal.name)
        self.wants_look = True

    def take_sighted(self, sighted: Sighted) -> None:
        """Take over what observers and Python conditions said."""
        self._unlooked -= self._looking
        for each in sighted.disagreements:
            self.goal_log.tell_event(each)
        beliefs = self.picture.beliefs
        fitting, _ = select_fitting(self.picture.problem, sighted.facts)
        misfits = [fact for fact in sighted.facts.keys() - fitting.keys() - self._misfits if sighted.facts[fact]]
        if misfits:
            self._misfits.update(misfits)
            reason = f"{', '.join(sorted(map(str, misfits)))} names what cannot be an object of the problem"
            self.goal_log.tell_event(Disagreement(tuple(misfits), reason))
        reported = self.goal_log.reported()
        known = {
            fact: holds
            for fact, holds in fitting.items()
            if (beliefs.holds(fact) is not holds or reported.get(fact) is holds)
        }
        self.learn(known, OBSERVED, by=WORLD, provenance=Provenance.OBSERVED)
        for name, measured in sighted.measured.items():
            if name in self.board.goals:
                self.watch.measured[name] = measured
                why = "; ".join(dict.fromkeys([why for is_wanted, why in measured.values() if is_wanted]))
                self.judge_goal(self.board.goals[name], None, why or WORLD)
        for name in self._looking & self.board.goals.keys():
            self.judge_goal(self.board.goals[name], None, "")
            self.close_firing(self.board.goals[name])
        self._looking.clear()

    def judge_new(self) -> None:
        """Judge the goals that were added."""
        for name, goal in list(self.board.goals.items()):
            if name not in self._judged:
                self._judged.add(name)
                if goal.schedule is not None and name in self.goal_log.goals and self.goal_log.goals[name].is_due:
                    self._await_look(goal)
                self.judge_goal(goal, None, "")
                self.close_firing(goal)
        self._judged &= self.board.goals.keys()

    def judge(self, changed: Collection[Atom] | None, by: str) -> None:
        """Find which goals are due after a change of facts; None: judge all."""
        predicates = None if changed is None else {each.predicate for each in changed}
        for goal in list(self.board.goals.values()):
            if predicates is None or not predicates.isdisjoint(goal.pattern.predicates):
                self.judge_goal(goal, changed, by)
                self.close_firing(goal)

    def judge_goal(self, goal: StandingGoal, changed: Collection[Atom] | None, by: str) -> None:
        """Find for which objects one goal is due after a change of facts, or at all; `by` says who changed them."""
        in_force = self.watch.find_in_force(goal, changed)
        due = {each.objects for each in self.due if each.goal == goal.name}
        for objects in sorted(in_force | self.picture.find_related(goal.pattern, changed, due)):
            instance = GoalInstance(goal.name, objects)
            if not self._is_due(goal, objects):
                self.due.pop(instance, None)
            elif instance not in self.due:
                self.due[instance] = None
                self._note_due(goal, instance, by)

    def _is_due(self, goal: StandingGoal, objects: tuple[str, ...]) -> bool:
        """Return whether a goal is in force for `objects` and unmet."""
        record = self.goal_log.goals.get(goal.name)
        if record is None or record.is_over or (goal.schedule is not None and not record.is_due):
            return False
        return self.watch.is_unmet(goal, objects)

    def _note_due(self, goal: StandingGoal, instance: GoalInstance, by: str) -> None:
        """Note that a goal which was reached is unmet again, and let it wait if that happens again and again."""
        found = self.goal_log.attempts.get(instance)
        if found is None or goal.schedule is not None or found.reached is None:
            return
        self.goal_log.emit(told.Undone(instance, by or WORLD))
        self.pauses.guard(goal, instance)

    def forget(self, name: str) -> None:
        """Forget a goal that has ended."""
        self.board.remove(name)
        self._judged.discard(name)
        self._unlooked.discard(name)
        self.due = {each: None for each in self.due if each.goal != name}

    def fire(self) -> None:
        """Let the schedules fire whose time has come."""
        now = self.goal_log.clock()
        self.firing = {goal: self._next_firing(goal) for goal in self.board.goals.values() if goal.schedule is not None}
        for goal, due in list(self.firing.items()):
            if due is None or due > now or goal.schedule is None:
                continue
            record = self.goal_log.goals[goal.name]
            latest, count = find_due(goal.schedule, record.since, now) or (due, 1)
            is_skipped, was_due = goal.skips and latest < self.began, record.is_due
            renewed = self._list_renewed(goal) if goal.renews and not (is_skipped or was_due) else {}
            cause = f"{goal.name} is due again"
            notes = [Note(fact, False, Provenance.ASSUMED, cause) for fact in renewed]
            seen = [FactsSeen(tuple(notes), cause)] if notes else []
            self.goal_log.emit(*seen, told.Fired(goal.name, latest, count - 1, is_skipped))
            self.firing[goal] = goal.schedule.after(latest)
            if is_skipped and isinstance(goal.schedule, Once):
                self.goal_log.emit(told.GoalEnded(goal.name, "its time passed while nobody attended"))
                self.board.remove(goal.name)
            elif not (is_skipped or was_due):
                self._await_look(goal)
                self.learn(renewed, "")
                self.judge_goal(goal, None, "")
                self.close_firing(goal)

    def _list_renewed(self, goal: StandingGoal) -> dict[Atom, bool]:
        """Return the facts that count no more when the schedule of a goal fires."""
        goals = [goal.pattern.goal_for(each) for each in self.picture.find(goal.pattern)]
        return dict.fromkeys(self.list_achieved(goals), False)

    def _next_firing(self, goal: StandingGoal) -> float | None:
        """Return the next time of the schedule of a goal, in seconds since 1970; None without one."""
        record = self.goal_log.goals.get(goal.name)
        if goal.schedule is None or record is None or record.is_over:
            return None
        if goal in self.firing:
            return self.firing[goal]
        if isinstance(goal.schedule, Once):
            return None if record.is_due else goal.schedule.time
        return goal.schedule.after(record.since)

    def close_firing(self, goal: StandingGoal) -> None:
        """End the firing of a schedule if all goals are reached."""
        record = self.goal_log.goals.get(goal.name)
        if goal.schedule is None or record is None or not record.is_due or goal.name in self._unlooked:
            return
        pursued = {each.goal for each in self.goal_log.pursued}
        if goal.name in pursued or any(each.goal == goal.name for each in self.due):
            return
        if isinstance(goal.schedule, Once):
            reason = "it was reached" if self.picture.find(goal.pattern) else "there was nothing that it was about"
            self.goal_log.emit(told.GoalEnded(goal.name, reason))
            self.board.remove(goal.name)
        else:
            self.goal_log.emit(told.FiringEnded(goal.name))

    def list_ready(self, busy: Collection[GoalInstance] = ()) -> list[GoalInstance]:
        """Return the goals that are due and may be pursued now, in their order, without those that are `busy`."""
        now, busy = self.goal_log.clock(), {*busy, *self.goal_log.pursued}
        attempts = self.goal_log.attempts
        return [
            each
            for each in self.due
            if each not in busy and (each not in attempts or attempts[each].may_be_pursued(now))
        ]

    def untils(self) -> Iterator[float]:
        """Yield the times until which goals wait that are due."""
        for each in self.due:
            found = self.goal_log.attempts.get(each)
            if (
                found is not None
                and found.until is not None
                and not found.paused
                and found.until > self.goal_log.clock()
            ):
                yield found.until

    def is_stated(self, instance: GoalInstance) -> bool:
        """Return whether there still is such a goal."""
        return self.board.goal_of(instance) is not None

    def want(self, instance: GoalInstance) -> Wanted:
        """Return the goal of `instance`."""
        return Wanted(instance, self.board.goals[instance.goal].pattern.goal_for(instance.objects))

    def priority_of(self, instance: GoalInstance) -> int:
        """Return the priority of the goal of `instance`."""
        return self.board.goals[instance.goal].priority

    def list_achieved(self, goals: Iterable[Formula]) -> list[Atom]:
        """Return the facts that hold and that `goals` want to hold."""
        found = [atom for goal in goals for atom, positive in literals_in(goal) if positive]
        return [fact for fact in dict.fromkeys(found) if self.picture.holds(fact)]

    def retract_restored(self, wanted: Iterable[Wanted]) -> None:
        """Take back what is believed of goals that hold although a measurement says that they are due."""
        goals = [each.goal for each in wanted if self.picture.holds(each.goal)]
        self.learn(dict.fromkeys(self.list_achieved(goals), False), "a measurement says otherwise")

    def find_broken(self, state: Simulation, wanted: list[Wanted]) -> list[Wanted]:
        """Return the goals in force, no less urgent than `wanted`, that hold now and not in `state`."""
        changed = state.facts ^ self.picture.facts
        chosen = {each.instance for each in wanted}
        least = min(self.priority_of(each) for each in chosen)
        found = []
        for goal in self.board.goals.values():
            if goal.priority < least or goal.schedule is not None or goal.measure is not None:
                continue
            if goal.pattern.predicates.isdisjoint({each.predicate for each in changed}):
                continue
            for objects in sorted(self.watch.find_in_force(goal, changed)):
                each = Wanted(GoalInstance(goal.name, objects), goal.pattern.goal_for(objects))
                still = goal.pattern.condition_for(objects)
                if each.instance not in chosen and self.picture.holds(each.goal) and state.holds(still):
                    found += [] if state.holds(each.goal) else [each]
        return found
