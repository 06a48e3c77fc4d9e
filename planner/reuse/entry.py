"""A plan as a cache keeps it: the objects of its problem have numbers for names."""

from __future__ import annotations

import json
from decimal import Decimal

from planner.annotations import Any
from planner.model import Number
from planner.plan import StoppedBy, exact
from planner.records import dataclass


@dataclass(frozen=True, slots=True)
class Entry:
    """The `steps` that were found within so many `seconds`, and what was proved of them.

    `stopped_by` says how the search ended. `objects` are what the objects were called, by number: in a similar problem
    they may be called so, too. `goal` has the objects of the goal, by number, in its order.
    """

    steps: tuple[tuple[str, tuple[str, ...]], ...]
    proved: bool
    lower_bound: Number | None
    seconds: float
    stopped_by: StoppedBy
    goal: tuple[str, ...]
    objects: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the entry as JSON-ready data; the bound, which is exact, as text."""
        found: dict[str, Any] = {name: getattr(self, name) for name in self.__match_args__}
        bound = None if self.lower_bound is None else str(self.lower_bound)
        return found | {"lower_bound": bound, "stopped_by": self.stopped_by.name}

    @property
    def is_final(self) -> bool:
        """Whether the search ended by itself: another one would find the same, however much time it had."""
        return self.stopped_by in {StoppedBy.EXHAUSTED, StoppedBy.INCOMPLETE}

    @classmethod
    def of(cls, text: str) -> Entry | None:
        """Return the entry that `text` says as JSON; None for what is none."""
        try:
            data = json.loads(text)
            bound = data["lower_bound"]
            return cls(
                tuple([(action, tuple(args)) for action, args in data["steps"]]),
                bool(data["proved"]),
                None if bound is None else exact(Decimal(bound)),
                float(data["seconds"]),
                StoppedBy[data["stopped_by"]],
                tuple(data["goal"]),
                tuple(data["objects"]),
            )
        except (ValueError, KeyError, TypeError, ArithmeticError):
            return None
