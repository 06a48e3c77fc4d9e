"""Which records to look at: of which planners and tasks, and without what some planners do not support."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from benchmarks.planners import Outcome
from benchmarks.records import Record, TaskId
from benchmarks.suite import domain_matches, matches
from planner.errors import DocumentError, did_you_mean

FEATURES: Final = (
    "axioms",
    "conditional effects",
    "constants",
    "costs",
    "disjunctive conditions",
    "equality",
    "hierarchy",
    "method constraints",
    "method preconditions",
    "negative conditions",
    "quantified conditions",
    "universal effects",
)
"""What `benchmarks.pddltext.features` tells apart."""


@dataclass(frozen=True, slots=True)
class Choice:
    """The records to look at; empty fields choose all.

    `planners` are labels, `domains` and `names` patterns. Left out are tasks with any of the features `without`, and
    those of which one of the planners `supported_by` has said that it does not support them.
    """

    planners: Sequence[str] = ()
    without: Sequence[str] = ()
    supported_by: Sequence[str] = ()
    domains: Sequence[str] = ()
    names: Sequence[str] = ()

    def __post_init__(self) -> None:
        for feature in self.without:
            if feature not in FEATURES:
                hint = f"{did_you_mean(feature, FEATURES) or 'there are'} {', '.join(FEATURES)}"
                raise DocumentError(f"there is no feature '{feature}'", hint=hint)

    def of(self, records: Sequence[Record], others: Iterable[Record] = ()) -> list[Record]:
        """Return the chosen `records`; what is unsupported is looked up in `others` too.

        Raises `DocumentError` where there are no results of a planner that is named.
        """
        everything = [*records, *others]
        known = list(dict.fromkeys(record.planner for record in everything))
        for label in (*self.planners, *self.supported_by):
            if label not in known:
                raise DocumentError(f"there are no results of '{label}'", hint=did_you_mean(label, known))
        barred = self._barred(everything)
        return [record for record in records if record.task_id not in barred and self._takes(record)]

    def _barred(self, records: Iterable[Record]) -> set[TaskId]:
        """Return the tasks that are left out for what they use, by anybody's record of them."""
        return {
            record.task_id
            for record in records
            if (record.outcome is Outcome.UNSUPPORTED and record.planner in self.supported_by)
            or not set(self.without).isdisjoint(record.features)
        }

    def _takes(self, record: Record) -> bool:
        return (
            (not self.planners or record.planner in self.planners)
            and domain_matches(record.domain, self.domains)
            and matches(record.task, self.names)
        )
