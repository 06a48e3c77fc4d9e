"""`StandingGoal`: a goal that an agent pursues by itself whenever it is in force and unmet."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from executor.agent.agent_events import GoalInstance
from executor.agent.standing_goals.goal_conditions import GoalPattern
from executor.agent.standing_goals.loop_guard import CALM, TRIES
from executor.agent.standing_goals.schedules import Schedule
from executor.tools.containment import quote_value
from planner.errors import InputError
from planner.lightweight import dataclass, field
from planner.model.formulas import TRUE

if TYPE_CHECKING:
    from executor.agent.standing_goals.goal_board import GoalBoard


@dataclass(frozen=True, slots=True)
class Measure:
    """A Python condition: a `function` that returns True or False, or a number that stays between `low` and `high`.

    The goal is in force where the function returns True, or, for a goal that `restores`, where the condition is
    violated.
    """

    function: Callable[..., Any]
    low: float | None = None
    high: float | None = None
    restores: bool = False

    def judge(self, value: Any) -> tuple[bool, str]:
        """Return whether the goal is in force by a returned `value`, and why; raises `InputError` for an odd value."""
        name = getattr(self.function, "__name__", "the condition")
        if self.low is None and self.high is None:
            if not isinstance(value, bool):
                raise InputError(f"{name} returned {quote_value(value)}", hint="True or False, or say low= or high=")
            return value is not self.restores, f"{name} returned {value}"
        if isinstance(value, bool) or not isinstance(value, int | float) or value != value:  # noqa: PLR0124 - no number
            raise InputError(f"{name} returned {quote_value(value)}", hint="with low= or high= it returns a number")
        is_low = self.low is not None and value < self.low
        is_high = self.high is not None and value > self.high
        why = f"below {self.low}" if is_low else f"above {self.high}" if is_high else "within its bounds"
        return (is_low or is_high) is self.restores, f"{name} returned {value}, {why}"


@dataclass(slots=True, eq=False)
class StandingGoal:
    """A goal for all objects for which a condition holds; see `Agent.when`, `maintain`, `at` and `every`.

    `skips`: times that pass while nobody attends are let pass. `renews`: at each time of the schedule, what is merely
    believed of the goal counts no more. After `tries` attempts without lasting success it is paused; a goal that stays
    reached for `calm` seconds was reached lastingly.
    """

    name: str
    pattern: GoalPattern
    board: GoalBoard = field(repr=False)
    priority: int = 0
    schedule: Schedule | None = None
    measure: Measure | None = None
    skips: bool = False
    renews: bool = False
    tries: int = TRIES
    calm: float = CALM
    kept: Mapping[str, Any] | None = None
    """Its declaration as data, if the journal keeps it."""

    def __str__(self) -> str:
        when = "" if self.pattern.condition == TRUE else f"when {_plain(str(self.pattern.condition))}: "
        return f"{when}{_plain(str(self.pattern.goal))}{f', {self.schedule}' if self.schedule else ''}"

    def resume(self, *objects: str) -> None:
        """Let the goal be pursued again where it is paused: for these `objects`, or for all."""
        self.board.send(Resume(self.name, objects))

    def end(self, reason: str = "") -> None:
        """Pursue the goal no more; a run at work goes on to its end."""
        if not self.board.is_attended:
            self.board.remove(self.name)
        self.board.send(End(self.name, reason))

    @property
    def paused(self) -> dict[GoalInstance, str]:
        """The reasons of the pauses that last until somebody or something resumes the goal."""
        return self.board.paused(self.name)


def _plain(text: str) -> str:
    return text.replace("?", "")


@dataclass(frozen=True, slots=True)
class Resume:
    """A person resumes a paused goal."""

    goal: str
    objects: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class End:
    """A goal is to be pursued no more."""

    goal: str
    reason: str
