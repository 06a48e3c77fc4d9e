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
"""So many names are looked through at once."""
MOST: Final = 100
"""Mistakes for which more names than that are looked through."""


@dataclass(frozen=True, slots=True)
class PlanFinding:
    """One remark about a plan: `rule` is its stable name, `hint` how to mend it.

    `step` is the id of the step that it is about, empty where it is about the plan. `path` leads to the place in the
    plan as data, `location` to that in the file that it was read from.
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
class Where:
    """A place in a plan; gives findings about it."""

    step: str
    path: Path

    @classmethod
    def of(cls, number: int, step: PlanStep) -> Where:
        """Return the place of the step that is at place `number`, from 0."""
        return cls(step.id, ("steps", number))

    def error(self, rule: str, message: str, *path: str | int, hint: str | None = None) -> PlanFinding:
        """Return an error about what `path` leads to from here."""
        return PlanFinding(Level.ERROR, rule, message, self.step, (*self.path, *path), hint or "")

    def warning(self, rule: str, message: str, *path: str | int, hint: str | None = None) -> PlanFinding:
        """Return a warning about what `path` leads to from here."""
        return PlanFinding(Level.WARNING, rule, message, self.step, (*self.path, *path), hint or "")

    def from_error(self, rule: str, error: InputError, *path: str | int) -> PlanFinding:
        """Return `error`, which somebody else found here, as a finding."""
        return self.error(rule, error.message, *path, hint=error.hint)


PLAN = Where("", ())


class Hints:
    """Finds the known name that may have been meant, for as many mistakes as anybody reads about.

    It takes as long as there are names, and a plan of thousands of steps may have a mistake in each.
    """

    def __init__(self) -> None:
        self._left = MOST

    def near(self, name: str, known: Collection[str], otherwise: str = "") -> str:
        """Return the known name that is nearest to `name` as a question, else what else may help."""
        if len(known) > FEW:
            self._left -= 1
            if self._left < 0:
                return otherwise
        return did_you_mean(name, known) or otherwise


def path_text(path: Path) -> str:
    """Return a path as people write it: `steps[2].arguments.robot`, counting from 1."""
    return "".join(f"[{part + 1}]" if isinstance(part, int) else f".{part}" for part in path).removeprefix(".")
