"""State standing goals: the part of an agent by which it pursues goals that nobody asks for at that moment."""

from __future__ import annotations

import time as system_time
from collections.abc import Callable, Mapping
from datetime import datetime, tzinfo
from types import MappingProxyType
from typing import Any, Final, Literal, get_args

from executor.agent import agent_events
from executor.agent.agent_options import check_given
from executor.agent.propose import Proposer
from executor.agent.run_goals import Runs
from executor.agent.standing_goals.attendance import POLL, Attendance
from executor.agent.standing_goals.goal_board import GoalBoard, Report, read_report
from executor.agent.standing_goals.goal_conditions import negate, read_parameters, read_pattern
from executor.agent.standing_goals.goal_instances import with_facts
from executor.agent.standing_goals.loop_guard import CALM, TRIES
from executor.agent.standing_goals.schedules import Once, read_cron, read_time
from executor.agent.standing_goals.standing_goal import Measure, StandingGoal
from executor.tools.containment import quote_value
from executor.tools.step_policy import is_amount
from planner.errors import InputError
from planner.lightweight import replace
from planner.model import Atom
from planner.model.formulas import Formula

Missed = Literal["once", "skip"]
"""What becomes of times that passed while nobody attended: the last one is made up for, or all are let pass."""
_PYTHON: Final = "a Python condition is a function that returns True or False, or a number between low= and high="


class StandingGoals:
    """States standing goals on a board, and attends to them."""

    runs: Runs
    proposer: Proposer

    def __init__(self) -> None:
        self._board = GoalBoard(restore=self._restore_kept)

    @property
    def standing_goals(self) -> Mapping[str, StandingGoal]:
        """The standing goals by name."""
        return MappingProxyType(self._board.goals)

    def when(
        self,
        condition: Any,
        achieve: Any,
        *,
        priority: int = 0,
        name: str | None = None,
        tries: int = TRIES,
        calm: float = CALM,
    ) -> StandingGoal:
        """Pursue the goal `achieve` whenever `condition` holds and the goal does not, for all objects that fit.

        Both are atoms, lists of atoms or PDDL expressions; names that are no objects are variables, and the goal may
        use those of the condition. The condition may also be a function that returns True or False; its parameters, of
        planning types, are variables. A higher `priority` is more urgent. `tries` bounds the attempts without lasting
        success, and a goal that stays reached for `calm` seconds was reached lastingly. Raises `InputError` for a
        mistake, and where there is already a goal of this `name`.
        """
        if callable(condition) and not isinstance(condition, Formula):
            measured = self._read_measured(Measure(condition), achieve, name)
            return self._state(replace(measured, priority=priority, tries=tries, calm=calm))
        pattern = read_pattern(self.runs.problem, condition, achieve)
        return self._state(StandingGoal(name or "", pattern, self._board, priority, tries=tries, calm=calm))

    def maintain(
        self,
        condition: Any,
        *,
        restore: Any = None,
        low: float | None = None,
        high: float | None = None,
        priority: int = 0,
        name: str | None = None,
        tries: int = TRIES,
        calm: float = CALM,
    ) -> StandingGoal:
        """Keep `condition`: wherever it does not hold, pursue the goal `restore`, or else the condition itself.

        Variables stand for all objects of their types. The condition may also be a function that returns True or
        False, or a number that is to stay between `low` and `high`; then `restore` is needed, and what is merely
        believed of it does not count. Otherwise as `when`.
        """
        if callable(condition) and not isinstance(condition, Formula):
            if restore is None:
                raise InputError("a Python condition cannot be achieved", hint="say what restores it: restore=…")
            measured = self._read_measured(Measure(condition, low, high, restores=True), restore, name)
            return self._state(replace(measured, priority=priority, tries=tries, calm=calm))
        if low is not None or high is not None:
            hint = "give a function that returns the number: agent.maintain(stock, low=5, restore=…)"
            raise InputError("low and high are bounds of a number, and facts have none", hint=hint)
        if restore is None:
            pattern = read_pattern(self.runs.problem, None, condition)
        else:
            pattern = negate(read_pattern(self.runs.problem, condition, restore))
        return self._state(StandingGoal(name or "", pattern, self._board, priority, tries=tries, calm=calm))

    def at(
        self,
        time: datetime,
        achieve: Any,
        *,
        when: Any = None,
        missed: Missed = "once",
        priority: int = 0,
        name: str | None = None,
        tries: int = TRIES,
    ) -> StandingGoal:
        """Pursue the goal `achieve` once, from a `time` (with a time zone) on, where the condition `when` holds.

        A journal keeps the goal itself, so that a process pursues it that never stated it. A time that passes while
        nobody attends is made up for (`missed="once"`), or let pass ("skip"). Otherwise as `when`.
        """
        schedule, skips = read_time(time), _read_missed(missed)
        pattern = read_pattern(self.runs.problem, when, achieve)
        kept = {
            "time": schedule.time,
            "achieve": _as_texts(achieve),
            "when": _as_texts(when),
            "skips": skips,
            "priority": priority,
            "tries": tries,
        }
        goal = StandingGoal(name or "", pattern, self._board, priority, schedule, skips=skips, tries=tries, kept=kept)
        return self._state(goal)

    def every(
        self,
        cron: str,
        achieve: Any,
        *,
        when: Any = None,
        zone: str | tzinfo = "UTC",
        missed: Missed = "once",
        renew: bool = True,
        priority: int = 0,
        name: str | None = None,
        tries: int = TRIES,
    ) -> StandingGoal:
        """Pursue the goal `achieve` at each time of a `cron` expression in a time `zone`.

        At each time, what is merely believed of the goal counts no more, and only what observers see does; with
        `renew=False`, a goal that is believed to hold is left alone. Times that pass while nobody attends are made up
        for by one pursuit (`missed="once"`), or let pass ("skip"). Otherwise as `at`, but the journal keeps only which
        times were served: each process states the goal.
        """
        schedule, skips = read_cron(cron, zone), _read_missed(missed)
        pattern = read_pattern(self.runs.problem, when, achieve)
        return self._state(
            StandingGoal(name or "", pattern, self._board, priority, schedule, skips=skips, renews=renew, tries=tries)
        )

    def notify(self, *facts: str | Atom | Formula) -> None:
        """Report facts from outside, such as "pending(o7)" and "not open(door)"; standing goals react at once.

        Objects that nobody knew take the type of their place. The facts count as reported: steps that are irreversible
        or need observed facts do not rest on them. Any thread may call this. Raises `InputError` for the first mistake.
        """
        found = read_report(facts, self.runs.problem)
        if not self._board.is_attended:
            self.runs.problem = with_facts(self.runs.problem, found)
        self._board.send(Report(found))

    def attend(
        self,
        *,
        poll: float | None = POLL,
        tell: agent_events.Tell = agent_events.ignore_event,
        clock: Callable[[], float] = system_time.time,
    ) -> Attendance:
        """Attend to the standing goals: within `async with agent.attend():`, or, awaited, until it is cancelled.

        Observers are asked every `poll` seconds; None: never, so that only events and times count. `tell` gets the
        events, and `clock` gives the time in seconds since 1970. With a journal, all of it survives the process, and
        one process at a time attends.
        """
        check_given(tell=tell)
        if poll is not None and not (is_amount(poll) and poll > 0):
            raise InputError(f"poll must be a number of seconds above 0, or None, got {quote_value(poll)}")
        return Attendance(self._board, self.runs, self.proposer, poll, tell, clock)

    def _read_measured(self, measure: Measure, achieve: Any, name: str | None) -> StandingGoal:
        """Read a goal with a Python condition, whose parameters are variables."""
        for bound in (measure.low, measure.high):
            if bound is not None and (isinstance(bound, bool) or not isinstance(bound, int | float)):
                raise InputError(f"low and high are numbers, got {quote_value(bound)}")
        types = read_parameters(measure.function, self.runs.problem)
        pattern = read_pattern(self.runs.problem, None, achieve, types=types)
        goal = StandingGoal(name or "", pattern, self._board, measure=measure)
        return goal if name else replace(goal, name=f"{_describe_measure(measure)}: {goal}")

    def _state(self, goal: StandingGoal) -> StandingGoal:
        """Check the options of a goal, name it by what it says if it has no name, and put it on the board."""
        check_given(priority=goal.priority, name=goal.name)
        if isinstance(goal.tries, bool) or not isinstance(goal.tries, int) or goal.tries < 1:
            raise InputError(f"tries must be a positive number of attempts, got {quote_value(goal.tries)}")
        if not is_amount(goal.calm):
            raise InputError(f"calm must be a number of seconds, got {quote_value(goal.calm)}")
        return self._board.add(goal if goal.name else replace(goal, name=str(goal)))

    def _restore_kept(self, name: str, kept: Mapping[str, Any]) -> StandingGoal:
        """Make a goal again that the journal keeps."""
        pattern = read_pattern(self.runs.problem, kept["when"], kept["achieve"])
        return StandingGoal(
            name,
            pattern,
            self._board,
            kept["priority"],
            Once(kept["time"]),
            skips=kept["skips"],
            tries=kept["tries"],
            kept=kept,
        )


def _describe_measure(measure: Measure) -> str:
    name = getattr(measure.function, "__name__", "condition")
    if measure.low is None and measure.high is None:
        return f"{'unless' if measure.restores else 'when'} {name}"
    low = "" if measure.low is None else f"{measure.low} <= "
    high = "" if measure.high is None else f" <= {measure.high}"
    return f"unless {low}{name}{high}"


def _read_missed(missed: Any) -> bool:
    """Return whether missed times are let pass."""
    if missed not in get_args(Missed):
        raise InputError(f"missed is 'once' or 'skip', got {quote_value(missed)}")
    return bool(missed == "skip")


def _as_texts(condition: Any) -> list[str]:
    """Return a condition as texts for the journal; raises `InputError` where it is no text."""
    parts = [] if condition is None else list(condition) if isinstance(condition, list | tuple) else [condition]
    for each in parts:
        if not isinstance(each, str | Atom):
            hint = "such as 'handled(o7)', or '(and (handled o7) (not (open door)))'"
            raise InputError(f"the journal keeps goals as texts, and {quote_value(each)} is none", hint=hint)
    return [str(each) for each in parts]
