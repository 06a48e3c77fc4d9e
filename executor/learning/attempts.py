"""Attempts at actions, read from the events of a run, and their tallies: counts, and running means with errors.

| how it ended | counts as |
| --- | --- |
| SUCCEEDED | done, with the observed outcome |
| UNVERIFIED | said: done by the report of a handler, or of a person who was asked |
| FAILED, PARTIAL, tried again | failed |
| IN_DOUBT | open until somebody settles it |
| it never began: its requirements did not hold, it was refused, or a lock was held | nothing |
| its process died meanwhile, or it failed last in a run that was cancelled | nothing |
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final

from executor.events.events import RunStatus, StepStatus
from executor.loop.attempt import NEVER_BEGUN


class Verdict(Enum):
    """Results of an attempt."""

    DONE = "it came out as declared, and that was seen"
    SAID = "somebody says that it came out as declared, and nobody has looked"
    FAILED = "it did not come out as declared"
    OPEN = "nobody can say"


READ: Final = frozenset(
    {"RunStarted", "RunResumed", "RunEnded", "PlanChanged", "RungTaken"}
    | {"StepStarted", "StepReturned", "StepWaiting", "StepEnded"}
)
"""The kinds of events that `AttemptReader` uses."""
_VERDICTS: Final = {
    StepStatus.SUCCEEDED.name: Verdict.DONE,
    StepStatus.UNVERIFIED.name: Verdict.SAID,
    StepStatus.FAILED.name: Verdict.FAILED,
    StepStatus.PARTIAL.name: Verdict.FAILED,
    StepStatus.PENDING.name: Verdict.FAILED,  # somebody says that it did not happen, and it is to be done again
}


@dataclass(frozen=True, slots=True)
class Trial:
    """One attempt at `action` with `arguments`, objects by parameter.

    Cost, seconds and tokens are None where they are unknown: a failed handler that reports no `cost` or `tokens` leaves
    them unknown. `outcome` is the declared outcome that came about, "" where unknown.
    """

    action: str
    arguments: tuple[tuple[str, str], ...]
    verdict: Verdict
    outcome: str = ""
    cost: float | None = None
    seconds: float | None = None
    tokens: float | None = None
    lasted: float | None = None
    """Seconds from the start of the step to its end, by the clock of the run."""


@dataclass(slots=True)
class _Begun:
    """An attempt that has begun: its result, and whether it waits, is in doubt, or lost its process."""

    result: Mapping[str, Any] | None = None
    answered: bool = False
    waits: bool = False
    in_doubt: bool = False
    died: bool = False
    at: float | None = None
    """When it began, in seconds since 1970."""

    @property
    def says_nothing(self) -> bool:
        """Whether the attempt is no evidence about its action."""
        return self.died or str((self.result or {}).get("error")).startswith(NEVER_BEGUN)


class AttemptReader:
    """Reads the events of one run, as kinds and data; `trials` are the attempts that are over or in doubt."""

    def __init__(self) -> None:
        self._over: list[Trial] = []
        self._failed_last: list[Trial] = []
        """Those that failed with nothing done about it since."""
        self._begun: dict[str, _Begun] = {}
        self._at: float | None = None
        self._steps: dict[str, tuple[str, tuple[tuple[str, str], ...]]] = {}

    @property
    def trials(self) -> list[Trial]:
        """The attempts, in the order in which they ended."""
        doubts = [self._trial(step, begun, Verdict.OPEN) for step, begun in self._begun.items() if begun.in_doubt]
        return [*self._over, *self._failed_last, *doubts]

    def take(self, kind: str, data: Mapping[str, Any], at: float | None = None) -> None:
        """Read an event that happened `at` a time, in seconds since 1970."""
        self._at = at
        match kind:
            case "RunStarted":
                self._plan(data["plan"]["steps"])
            case "PlanChanged":
                self._plan(data["steps"])
                self._go_on()
            case "StepStarted":
                self._start(data["step"])
            case "StepReturned":
                self._return(data)
            case "StepWaiting" if data["step"] in self._begun:
                self._begun[data["step"]].waits = True
            case "StepEnded" if data["step"] in self._begun:
                self._end(data)
            case "RungTaken":
                self._go_on()
            case "RunResumed":
                for begun in self._begun.values():
                    begun.died |= not (begun.answered or begun.waits or begun.in_doubt)
            case "RunEnded":
                if data["status"] == RunStatus.CANCELLED.name:
                    self._failed_last.clear()
                self._go_on()

    def _plan(self, steps: Iterable[Mapping[str, Any]]) -> None:
        for each in steps:
            self._steps[each["id"]] = each["action"], tuple(each["arguments"].items())

    def _go_on(self) -> None:
        self._over += self._failed_last
        self._failed_last.clear()

    def _start(self, step: str) -> None:
        self._go_on()
        before = self._begun.get(step)
        if before is not None and not before.says_nothing:
            self._over.append(self._trial(step, before, Verdict.FAILED))
        self._begun[step] = _Begun(at=self._at)

    def _return(self, data: Mapping[str, Any]) -> None:
        begun = self._begun.get(data["step"])
        if begun is not None:
            begun.result, begun.answered = data["result"], True
            begun.in_doubt, begun.waits = False, False

    def _end(self, data: Mapping[str, Any]) -> None:
        step, begun = data["step"], self._begun[data["step"]]
        begun.result = data["result"] or begun.result
        begun.in_doubt = data["status"] == StepStatus.IN_DOUBT.name
        verdict = _VERDICTS.get(data["status"])
        if begun.in_doubt or verdict is None:
            return
        del self._begun[step]
        if begun.says_nothing:
            return
        trial = self._trial(step, begun, verdict, data.get("outcome", ""), self._at)
        (self._failed_last if verdict is Verdict.FAILED else self._over).append(trial)

    def _trial(
        self, step: str, begun: _Begun, verdict: Verdict, outcome: str = "", ended: float | None = None
    ) -> Trial:
        action, arguments = self._steps[step]
        result = begun.result or {}
        metrics = result.get("metrics") or {}
        nothing = 0.0 if result.get("success") else None
        cost, tokens = (metrics.get(name) or nothing for name in ("cost", "tokens"))
        lasted = None if ended is None or begun.at is None or begun.died else max(ended - begun.at, 0.0)
        return Trial(action, arguments, verdict, outcome, cost, metrics.get("duration"), tokens, lasted)


@dataclass(slots=True)
class Mean:
    """A running mean, with the sum of the `squares` of the deviations from it.

    Numerically stable and mergeable (Welford 1962; Chan, Golub and LeVeque 1979).
    """

    count: int = 0
    value: float = 0.0
    squares: float = 0.0

    def add(self, number: float) -> None:
        """Add a number."""
        self.merge(Mean(1, number))

    def merge(self, other: Mean) -> None:
        """Add all numbers of `other`."""
        count = self.count + other.count
        if not other.count:
            return
        apart = other.value - self.value
        self.squares += other.squares + apart * apart * self.count * other.count / count
        self.value += apart * other.count / count
        self.count = count

    @property
    def error(self) -> float:
        """The standard error of the mean: infinite for less than two numbers."""
        return float("inf") if self.count < 2 else (self.squares / (self.count - 1) / self.count) ** 0.5


MOST_KEPT: Final = 1_000
"""Most numbers of a sample: the latest ones count."""


@dataclass(slots=True)
class Sample:
    """The latest of some numbers, for their quantiles."""

    numbers: deque[float] = field(default_factory=lambda: deque(maxlen=MOST_KEPT))

    def add(self, number: float) -> None:
        """Add a number."""
        self.numbers.append(number)

    def merge(self, other: Sample) -> None:
        """Add all numbers of `other`."""
        self.numbers.extend(other.numbers)

    def quantile(self, share: float, prior: float | None = None, weight: float = 0.0) -> float:
        """Return the least number that at least a `share` of the numbers does not exceed.

        A `prior` counts as `weight` numbers. Raises `ValueError` where there is none.
        """
        weighted = [(each, 1.0) for each in self.numbers]
        weighted += [] if prior is None or not weight else [(prior, weight)]
        if not weighted:
            raise ValueError("there is no number to take a quantile of")
        weighted.sort()
        left = share * sum(each for _, each in weighted)
        for number, each in weighted:
            left -= each
            if left <= 1e-9:
                return number
        return weighted[-1][0]


@dataclass(slots=True)
class Tally:
    """Counts of attempts: `done` was observed, `said` is done by report only, `failed` did not come out as declared.

    The result of `open` attempts is unknown. `cost`, `seconds` and `tokens` are means over attempts.
    """

    done: int = 0
    said: int = 0
    failed: int = 0
    open: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    cost: Mean = field(default_factory=Mean)
    seconds: Mean = field(default_factory=Mean)
    tokens: Mean = field(default_factory=Mean)
    durations: Sample = field(default_factory=Sample)
    """Seconds from the start to the end of the attempts that worked."""

    @property
    def worked(self) -> int:
        """The attempts that were done, observed or by report."""
        return self.done + self.said

    @property
    def count(self) -> int:
        """The attempts that are evidence about the risk."""
        return self.worked + self.failed

    def __str__(self) -> str:
        counts = {"done": self.done, "said to be done": self.said, "failed": self.failed, "in doubt": self.open}
        said = [f"{number} {what}" for what, number in counts.items() if number]
        outcomes = [f"{name} {number} times" for name, number in self.outcomes.most_common()]
        means = {"cost": self.cost, "s": self.seconds, "tokens": self.tokens}
        taken = [
            f"{name} {mean.value:.4g}" if name == "cost" else f"{mean.value:.4g} {name}"
            for name, mean in means.items()
            if round(mean.value, 6)
        ]
        parts = [", ".join(said), ", ".join(outcomes), f"{', '.join(taken)} on average" if taken else ""]
        return f"{self.count + self.open} attempts, {'; '.join(filter(None, parts))}"

    def add(self, trial: Trial) -> None:
        """Count an attempt."""
        match trial.verdict:
            case Verdict.DONE:
                self.done += 1
            case Verdict.SAID:
                self.said += 1
            case Verdict.FAILED:
                self.failed += 1
            case Verdict.OPEN:
                self.open += 1
                return
        if trial.outcome:
            self.outcomes[trial.outcome] += 1
        for mean, number in ((self.cost, trial.cost), (self.seconds, trial.seconds), (self.tokens, trial.tokens)):
            if number is not None:
                mean.add(number)
        if trial.lasted is not None and trial.verdict in (Verdict.DONE, Verdict.SAID):
            self.durations.add(trial.lasted)

    def merge(self, other: Tally) -> None:
        """Count all attempts of `other`."""
        self.done += other.done
        self.said += other.said
        self.failed += other.failed
        self.open += other.open
        self.outcomes.update(other.outcomes)
        self.cost.merge(other.cost)
        self.seconds.merge(other.seconds)
        self.tokens.merge(other.tokens)
        self.durations.merge(other.durations)


def merge_tallies(tallies: Iterable[Tally]) -> Tally:
    """Merge `tallies` into one."""
    found = Tally()
    for each in tallies:
        found.merge(each)
    return found
