"""What a run took: its steps, with all their attempts, and what led to its plan: seconds, tokens and money."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from executor.plans.basis import Basis


class Spent:
    """Adds up the metrics of results, each once: a result is told when it comes, and again when its step has ended."""

    def __init__(self, basis: Basis) -> None:
        self.duration = 0.0
        self.tokens = basis.tokens
        self.cost = basis.cost
        self.asked = {"calls": basis.calls, "tokens": basis.tokens, "cost": basis.cost}
        """What reading, proposing and filling took: calls of language models, tokens and money."""
        self._saved = {f"saved_{name}": amount for name, amount in basis.saved.items()}
        self._returned: set[str] = set()
        self._asked: set[str] = set()
        """The steps whose present attempt has asked a language model."""
        self.silent: Counter[str] = Counter()
        """How many attempts at each step reported no tokens."""

    def begun(self, step: str) -> None:
        """Note that another attempt at `step` is made."""
        self._returned.discard(step)
        self._asked.discard(step)
        self.silent[step] += 1

    def returned(self, step: str, result: Mapping[str, Any]) -> None:
        """Count the result of an attempt at `step`."""
        self._counted(step, result)
        self._returned.add(step)

    def ended(self, step: str, result: Mapping[str, Any] | None) -> None:
        """Count the result with which `step` has ended, if it was not told before."""
        if step in self._returned:
            self._returned.remove(step)
        elif result is not None:
            self._counted(step, result)

    def _counted(self, step: str, result: Mapping[str, Any]) -> None:
        metrics = result.get("metrics") or {}
        self.silent[step] -= bool(metrics.get("tokens")) and step not in self._asked
        self._count(metrics)

    def asked_by(self, step: str, metrics: Mapping[str, Any]) -> None:
        """Count what the handler of `step` spent on asking a language model."""
        if metrics.get("tokens") and step not in self._asked:
            self._asked.add(step)
            self.silent[step] -= 1
        self.add(metrics)

    def add(self, metrics: Mapping[str, Any]) -> None:
        """Count what was spent on asking language models."""
        self._count(metrics)
        for name in self.asked:
            self.asked[name] += metrics.get(name, 0)

    def _count(self, metrics: Mapping[str, Any] | None) -> None:
        if metrics:
            self.duration += metrics.get("duration", 0.0)
            self.tokens += metrics.get("tokens", 0)
            self.cost += metrics.get("cost", 0.0)

    def to_dict(self) -> dict[str, Any]:
        """Return the sums by name."""
        return {"duration": self.duration, "tokens": self.tokens, "cost": self.cost, **self._saved}
