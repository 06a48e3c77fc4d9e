"""A task without a plan as two texts, and why it has none."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

DOMAIN_FILE = "domain.pddl"


@dataclass(frozen=True, slots=True)
class Written:
    """A task in PDDL: its `name`, the texts of `domain` and `problem`, and the reason why there is no plan."""

    name: str
    domain: str
    problem: str
    because: str

    def write(self, folder: Path) -> None:
        """Write both files to a folder of the task's name in `folder`, as suites have them."""
        place = folder / self.name
        place.mkdir(parents=True, exist_ok=True)
        (place / DOMAIN_FILE).write_text(self.domain, encoding="utf-8")
        (place / "problem.pddl").write_text(f"; no plan: {self.because}\n{self.problem}", encoding="utf-8")


def problem_text(domain: str, objects: Mapping[str, Iterable[str]], initial: Iterable[str], goal: Iterable[str]) -> str:
    """Return a problem of `domain` with objects by their types; facts are written without parentheses."""
    typed = " ".join(f"{' '.join(names)} - {kind}" for kind, names in objects.items())
    return (
        f"(define (problem none) (:domain {domain})\n"
        f"(:objects {typed})\n"
        f"(:init {_facts(initial)})\n"
        f"(:goal (and {_facts(goal)})))\n"
    )


def _facts(facts: Iterable[str]) -> str:
    return " ".join(f"({fact})" for fact in facts)
