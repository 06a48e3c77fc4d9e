"""Tasks of a suite from which facts were taken away, so that no plan is left, although none of their parts is missing.

Which facts is in `taken.tsv`: found by taking some away at random, kept where a planner has proved that there is no
plan, and where ignoring deletes there would be one.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks.pddltext import Expression, read_expression, read_file, sections, write_expression
from benchmarks.unsolvable.written import Written
from planner.errors import DocumentError, Location

TABLE: Final = Path(__file__).with_name("taken.tsv")


@dataclass(frozen=True, slots=True)
class Taken:
    """A task of a suite, the facts to take away from it, and who has proved that no plan is left."""

    domain: str
    domain_file: str
    problem_file: str
    facts: tuple[str, ...]
    proved_by: str

    @property
    def name(self) -> str:
        """The name of what is left."""
        return f"{self.domain}-{Path(self.problem_file).stem}"

    def of(self, suite: Path) -> Written:
        """Return what is left of the task in `suite`; raises `DocumentError` where a fact is not there."""
        path = suite / self.domain / self.problem_file
        problem = read_file(path)
        for initial in sections(problem, ":init"):
            for fact in self.facts:
                _take(initial, fact, path)
        domain = (suite / self.domain / self.domain_file).read_text(encoding="utf-8")
        because = f"proved by {self.proved_by} without {' '.join(self.facts)}"
        return Written(self.name, domain, write_expression(problem) + "\n", because)


def _take(initial: list[Expression], fact: str, path: Path) -> None:
    gone = read_expression(fact, "taken.tsv")
    if gone not in initial:
        raise DocumentError(f"{fact} is not in the initial state", Location(str(path)), "is this the same collection?")
    initial.remove(gone)


def all_taken() -> Iterator[Taken]:
    """Yield what `taken.tsv` says."""
    with TABLE.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            facts = tuple(fact.strip() for fact in row["facts"].split(";"))
            yield Taken(row["domain"], row["domain_file"], row["problem_file"], facts, row["proved_by"])


def taken(suite: Path) -> list[Written]:
    """Return what is left of tasks in `suite`; those that it does not have are left out."""
    return [each.of(suite) for each in all_taken() if (suite / each.domain / each.problem_file).exists()]
