"""What a run has taken, against what its plan allows: cost, seconds, and tokens."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from executor.checks.limits import TOKENS
from executor.record.answers import NO, YES, meant
from executor.record.events import Asked
from executor.record.state import RunState
from executor.schedule import SINGLE
from planner.model import Number
from planner.plan import exact_sum


@dataclass(slots=True, eq=False)
class Limits:
    """Compares what the steps of one run take with the constraints of its plan.

    An attempt whose result reports no tokens takes as many as its step or its action declares.
    """

    state: RunState
    _started: float = field(init=False, default_factory=time.monotonic)
    _before: float = field(init=False)
    """Seconds that steps took before this process."""
    _is_limited: bool = field(init=False)

    def __post_init__(self) -> None:
        self._before = self.state.spent.duration
        allowed = self.state.plan.metadata.constraints
        self._is_limited = any(each is not None for each in (allowed.cost, allowed.duration, allowed.tokens))

    def passed(self) -> list[Asked]:
        """Return what is to be asked about limits that are passed, and that nobody has lifted."""
        return list(self._passed()) if self._is_limited and not self.state.is_undoing else []

    def _passed(self) -> Iterator[Asked]:
        allowed, spent = self.state.plan.metadata.constraints, self.state.spent
        for name, value, most, unit in (
            ("cost", spent.cost, allowed.cost, ""),
            ("duration", self._seconds(), allowed.duration, " s"),
            ("tokens", self._tokens() if allowed.tokens is not None else 0, allowed.tokens, " tokens"),
        ):
            if most is not None and value > most:
                does = "cost" if name == "cost" else "taken"
                text = f"the run has {does} {value:,g}{unit}, and no more than {most:,g}{unit} is allowed"
                asked = Asked(f"limit:{name}", "", f"{text}. May it go on?", (YES, NO), (text,))
                if meant(asked, self.state.answers.get(asked.question)) != YES:
                    yield asked

    def _tokens(self) -> Number:
        """Return the tokens that attempts reported, and those that are declared of the others."""
        simulation, steps = self.state.beliefs.simulation, self.state.steps
        tokens: list[Number] = [self.state.spent.tokens]
        for id_, times in self.state.spent.silent.items():
            record = steps[id_]
            uses = simulation.uses(record.step).get(TOKENS, 0) if record.plan.tokens is None else record.plan.tokens
            tokens.append(exact_sum([uses] * times))
        return exact_sum(tokens)

    def _seconds(self) -> float:
        """Return how long steps were at work; where several are at once, no longer than the run is driven."""
        spent = self.state.spent.duration
        if self.state.model in SINGLE:
            return spent
        return min(spent, self._before + time.monotonic() - self._started)
