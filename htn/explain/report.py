"""Explanations of unsolvability as data: failing tasks, the methods tried for them, and what each of these lacks."""

from __future__ import annotations

from collections.abc import Iterator

from planner.explain.conflicts import Conflict
from planner.lightweight import Any, Final, dataclass
from planner.plan import StoppedBy

LEVELS: Final = 8
"""So many tasks above a task are written."""


@dataclass(frozen=True, slots=True)
class Lack:
    """A condition that does not hold, and why: a clause that begins with "which" or "but"."""

    condition: str
    why: str

    def __str__(self) -> str:
        return f"{self.condition}, {self.why}"

    def to_dict(self) -> dict[str, Any]:
        """Return the condition as JSON-ready data."""
        return {"condition": self.condition, "why": self.why}


@dataclass(frozen=True, slots=True)
class Attempt:
    """A method for certain objects, or the action itself, and why it does not do the task.

    Either it `lacks` conditions, or it leads to subtasks that are `undoable`, or a `remark` says what else is wrong.
    `others` counts further choices of objects, which fail in the same or in another way.
    """

    label: str
    lacks: tuple[Lack, ...] = ()
    undoable: tuple[str, ...] = ()
    remark: str = ""
    others: int = 0

    def __str__(self) -> str:
        also = f" (and {self.others} more choice{'' if self.others == 1 else 's'} of objects)" if self.others else ""
        if self.lacks:
            return f"{self.label} needs {'; and '.join(map(str, self.lacks))}{also}"
        if self.undoable:
            return f"{self.label} leads to {', '.join(self.undoable)}, which cannot be done{also}"
        return f"{self.label}: {self.remark}{also}"

    def to_dict(self) -> dict[str, Any]:
        """Return the attempt as JSON-ready data."""
        return {
            "by": self.label,
            "lacks": [each.to_dict() for each in self.lacks],
            "undoable": list(self.undoable),
            "remark": self.remark,
            "others": self.others,
        }


@dataclass(frozen=True, slots=True)
class Failure:
    """A `task` that cannot be done, and all that was tried; `above` are the tasks that it is there for, nearest first.

    Where nothing was tried, the task has no methods.
    """

    task: str
    attempts: tuple[Attempt, ...] = ()
    above: tuple[str, ...] = ()

    def lines(self) -> Iterator[str]:
        """Yield the task, and a line for each attempt."""
        path = [*self.above[:LEVELS], *(["…"] if len(self.above) > LEVELS else [])]
        purpose = f", for {' ← '.join(path)}" if path else ""
        yield f"{self.task}{purpose}"
        yield from (f"  {each}" for each in self.attempts)
        if not self.attempts:
            yield "  no method is for this task"

    def to_dict(self) -> dict[str, Any]:
        """Return the failure as JSON-ready data."""
        return {"task": self.task, "above": list(self.above), "attempts": [each.to_dict() for each in self.attempts]}


@dataclass(frozen=True, slots=True)
class DeadEnd:
    """Where a search got no further: the `steps` so far, and then a task that fails, or the goal that is `missed`."""

    steps: tuple[str, ...]
    failure: Failure | None = None
    missed: str = ""

    @property
    def summary(self) -> str:
        """What fails, in one line."""
        after = f"after {len(self.steps)} step{'' if len(self.steps) == 1 else 's'}"
        if self.failure is None:
            return f"the furthest way ends {after}: the goal requires {self.missed}"
        tried = f": {self.failure.attempts[0]}" if self.failure.attempts else ", for which there is no method"
        return f"the furthest way ends {after} with {self.failure.task}{tried}"

    def lines(self) -> Iterator[str]:
        """Yield what was done, and what fails then."""
        done = ", ".join(f"{number}. {step}" for number, step in enumerate(self.steps, start=1))
        yield f"after {done}:" if done else "at the beginning:"
        if self.failure is None:
            yield f"  all tasks are done, but the goal requires {self.missed}"
        else:
            yield from (f"  {line}" for line in self.failure.lines())

    def to_dict(self) -> dict[str, Any]:
        """Return the dead end as JSON-ready data."""
        failure = self.failure.to_dict() if self.failure is not None else None
        return {"steps": list(self.steps), "failure": failure, "missed": self.missed or None}


@dataclass(frozen=True, slots=True)
class WhyNot:
    """Why a hierarchical problem has no plan.

    `failures` are the tasks that can never be done, and `goal` the parts of the goal that nothing brings about, even if
    nothing that holds ever ended: both are proved, and the deepest tasks come first. Where there are none, `dead_ends`
    were met on the way, those that got furthest first; that these are all there is (`exhausted`) is proved, too.
    `solvable` says that a plan was met instead. `conflicts` are parts of the goal, constraints and budgets that cannot
    be kept together, which is proved.
    """

    problem: str
    failures: tuple[Failure, ...] = ()
    goal: tuple[Lack, ...] = ()
    dead_ends: tuple[DeadEnd, ...] = ()
    exhausted: bool = False
    solvable: bool = False
    stopped_by: StoppedBy | None = None
    conflicts: tuple[Conflict, ...] = ()

    @property
    def proved(self) -> bool:
        """Whether it is proved that there is no plan."""
        return bool(self.failures or self.goal or self.exhausted or self.conflicts)

    @property
    def summary(self) -> str:
        """The deepest reason in one line; nothing where none was found."""
        if self.conflicts:
            return str(self.conflicts[0])
        if self.failures and self.failures[0].attempts:
            return f"{self.failures[0].task} cannot be done: {self.failures[0].attempts[0]}"
        if self.failures:
            return f"no method is for {self.failures[0].task}"
        if self.goal:
            return f"the goal requires {self.goal[0]}"
        return self.dead_ends[0].summary if self.dead_ends else ""

    def describe(self) -> str:
        """Return the explanation in lines for people."""
        return "\n".join(self._lines())

    def __str__(self) -> str:
        return self.describe()

    def _lines(self) -> Iterator[str]:
        yield from (f"no plan, proved: for these tasks, {each}" for each in self.conflicts)
        if self.failures:
            yield "no decomposition, proved: these tasks can never be done, even if nothing that holds ever ended"
            for failure in self.failures:
                yield from failure.lines()
        for lack in self.goal:
            yield f"no plan, proved: the goal requires {lack}"
        if self.solvable:
            yield "there is a plan"
        elif self.dead_ends:
            yield (
                "no plan, proved: everything was tried, and each way ends; the furthest:"
                if self.exhausted
                else "of what was tried, these ways got furthest:"
                if self.stopped_by is not None
                else "no single condition rules out a plan; of what was tried, these ways got furthest:"
            )
            for dead_end in self.dead_ends:
                yield from dead_end.lines()
        if self.stopped_by is not None:
            yield f"not followed further; ended: {self.stopped_by.value}"
        elif not (self.proved or self.solvable or self.dead_ends):
            yield "no reason was found"

    def to_dict(self) -> dict[str, Any]:
        """Return the explanation as JSON-ready data."""
        return {
            "problem": self.problem,
            "proved": self.proved,
            "failures": [each.to_dict() for each in self.failures],
            "goal": [each.to_dict() for each in self.goal],
            "dead_ends": [each.to_dict() for each in self.dead_ends],
            "exhausted": self.exhausted,
            "solvable": self.solvable,
            "conflicts": [each.to_dict() for each in self.conflicts],
            "stopped_by": self.stopped_by.name.lower() if self.stopped_by is not None else None,
        }
