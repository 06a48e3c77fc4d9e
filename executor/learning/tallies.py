"""What attempts at an action come to: counts, and running means with their spread."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from executor.learning.trials import Trial, Verdict


@dataclass(slots=True)
class Mean:
    """The mean of numbers that come one by one, and the sum of the `squares` of how far they are from it.

    Exact in the long run, and mergeable (Welford 1962; Chan, Golub and LeVeque 1979).
    """

    count: int = 0
    value: float = 0.0
    squares: float = 0.0

    def add(self, number: float) -> None:
        """Take in a number."""
        self.merge(Mean(1, number))

    def merge(self, other: Mean) -> None:
        """Take in all numbers that `other` has taken in."""
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


@dataclass(slots=True)
class Tally:
    """Attempts: `done` were seen to be, `said` are done by somebody's word, `failed` did not come out as declared.

    Of those that are `open` nobody can say. `cost`, `seconds` and `tokens` are what an attempt took.
    """

    done: int = 0
    said: int = 0
    failed: int = 0
    open: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    cost: Mean = field(default_factory=Mean)
    seconds: Mean = field(default_factory=Mean)
    tokens: Mean = field(default_factory=Mean)

    @property
    def worked(self) -> int:
        """How many attempts were done, by the word of whoever did them where nobody has looked."""
        return self.done + self.said

    @property
    def count(self) -> int:
        """How many attempts say something of the risk."""
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
        """Take in an attempt."""
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

    def merge(self, other: Tally) -> None:
        """Take in all attempts that `other` has taken in."""
        self.done += other.done
        self.said += other.said
        self.failed += other.failed
        self.open += other.open
        self.outcomes.update(other.outcomes)
        self.cost.merge(other.cost)
        self.seconds.merge(other.seconds)
        self.tokens.merge(other.tokens)


def together(tallies: Iterable[Tally]) -> Tally:
    """Return what `tallies` come to together."""
    found = Tally()
    for each in tallies:
        found.merge(each)
    return found
