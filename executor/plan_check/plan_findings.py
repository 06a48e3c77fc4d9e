"""Findings about a plan, with their places."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from executor.plans.action_plan import PlanStep
from planner.errors import InputError, Location, did_you_mean
from planner.lint.findings import Level

Path = tuple[str | int, ...]
FEW: Final = 100
"""A search for a similar name among at most so many known names is cheap."""
MOST: Final = 100
"""Most searches among more than `FEW` known names."""


@dataclass(frozen=True, slots=True)
class PlanFinding:
    """One remark about a plan: `rule` is its stable name, `hint` how to mend it.

    `step` is the id of its step, empty for the whole plan. `path` is the place in the plan as data, `location` the
    place in the file of the plan.
    """

    level: Level
    rule: str
    message: str
    step: str = ""
    path: Path = ()
    hint: str = ""
    location: Location | None = None

    @property
    def is_error(self) -> bool:
        """Whether the plan cannot be run as it is."""
        return self.level is Level.ERROR

    def __str__(self) -> str:
        where = str(self.location) if self.location and (self.location.line or not self.path) else path_text(self.path)
        parts = [where, self.level.name.lower(), f"step {self.step!r}" if self.step else "", self.message]
        hint = f"; {self.hint}" if self.hint else ""
        return f"{': '.join(part for part in parts if part)}{hint} [{self.rule}]"


@dataclass(frozen=True, slots=True)
class PlanPlace:
    """A place in a plan, with methods that make findings at this place."""

    step: str
    path: Path

    @classmethod
    def of(cls, number: int, step: PlanStep) -> PlanPlace:
        """Return the place of step `number`, counted from 0."""
        return cls(step.id, ("steps", number))

    def error(self, rule: str, message: str, *path: str | int, hint: str | None = None) -> PlanFinding:
        """Make an error at `path` below this place."""
        return PlanFinding(Level.ERROR, rule, message, self.step, (*self.path, *path), hint or "")

    def warning(self, rule: str, message: str, *path: str | int, hint: str | None = None) -> PlanFinding:
        """Make a warning at `path` below this place."""
        return PlanFinding(Level.WARNING, rule, message, self.step, (*self.path, *path), hint or "")

    def from_error(self, rule: str, error: InputError, *path: str | int) -> PlanFinding:
        """Convert an `InputError` to a finding."""
        return self.error(rule, error.message, *path, hint=error.hint)


PLAN = PlanPlace("", ())


class Hints:
    """Suggests similar known names, in bounded time.

    A search takes time proportional to the number of names, and each of thousands of steps may have a mistake.
    """

    def __init__(self) -> None:
        self._left = MOST

    def near(self, name: str, known: Collection[str], otherwise: str = "") -> str:
        """Suggest the known name most similar to `name` as a question, or return `otherwise`."""
        if len(known) > FEW:
            self._left -= 1
            if self._left < 0:
                return otherwise
        return did_you_mean(name, known) or otherwise


def path_text(path: Path) -> str:
    """Write a path as `steps[2].arguments.robot`, counting from 1."""
    return "".join(f"[{part + 1}]" if isinstance(part, int) else f".{part}" for part in path).removeprefix(".")
