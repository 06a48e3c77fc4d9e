"""The ground task in time: a numeric task whose actions are starts, ends and changes at known times."""

from __future__ import annotations

from planner.lightweight import Final, dataclass
from planner.task.numeric_task import NumericTask

FOREVER: Final = 1 << 40
"""Ticks that are as good as any time."""


@dataclass(frozen=True, slots=True)
class Lapse:
    """What passes from one happening to another: a step that lasts, or the time until a change at a known time.

    It ends by the first of the actions `ends` that can be applied. A conjunction of `invariants` must hold until then;
    without any, nothing must. It takes `ticks`; or, where `variable` is not None, the value of that variable after its
    start times `factor`, divided by `divisor`. It may last up to `slack` ticks longer, `FOREVER` for any time; or,
    where `greatest` is not None, up to the value of that variable times `factor`, divided by `greatest_divisor`. The
    fact `running` says that a step runs; -1 where there is none.
    """

    ends: tuple[int, ...]
    invariants: tuple[tuple[int, ...], ...] = ()
    ticks: int = 0
    variable: int | None = None
    factor: int = 1
    divisor: int = 1
    running: int = -1
    slack: int = 0
    greatest: int | None = None
    greatest_divisor: int = 1

    @property
    def is_fixed(self) -> bool:
        """Whether the state at its start says how long it takes."""
        return not self.slack and self.greatest is None


@dataclass(frozen=True, slots=True)
class Doom:
    """A fact that does not hold while a lapse runs with less than `ticks` left; `fact` + 1 is its negation."""

    ticks: int
    fact: int


@dataclass(frozen=True, slots=True)
class TemporalTask:
    """A ground problem in time.

    `source` has the happenings as actions. `begins` has for each action the lapse that it starts, by its number in
    `lapses`; -1 for an action without a duration, and -2 for one that only the end of a lapse applies. The lapses from
    `events` on run from the beginning: they end with the changes at known times. `resolution` ticks are a second.
    `dooms` has by lapse the facts that depend on the time that is left, those of most ticks first.
    """

    source: NumericTask
    lapses: tuple[Lapse, ...]
    begins: tuple[int, ...]
    events: int
    resolution: int
    dooms: tuple[tuple[Doom, ...], ...] = ()


INSTANT = -1
"""In `begins`: the action takes no time."""
ENDING = -2
"""In `begins`: only the end of a lapse applies the action."""
