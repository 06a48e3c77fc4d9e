"""The order of plans, and what it says to people and programs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from planner.errors import InputError
from planner.model import Number
from planner.plan import Plan, exact_sum, json_number
from planner.records import dataclass, replace
from planner.selection.orders import Order


@dataclass(frozen=True, slots=True)
class Ranked:
    """A plan, the candidate of this `number` (from 1), with its `values` by the criteria.

    `score` is their weighted sum; None where none is taken. `approvals` are the numbers of the steps that somebody has
    to approve. `place` counts from 1; equally good plans have the same.
    """

    number: int
    plan: Plan
    values: tuple[Number, ...]
    score: Number | None = None
    approvals: tuple[int, ...] = ()
    place: int = 1

    def at(self, place: int) -> Ranked:
        """Return the same at `place`."""
        return replace(self, place=place)


@dataclass(frozen=True, slots=True)
class Excluded:
    """A plan that is out of the question, the candidate of this `number`, and the `reasons`."""

    number: int
    plan: Plan
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Ranking:
    """Plans in their order, the best first, and those that are excluded. Iterating gives the plans."""

    order: Order
    ranked: tuple[Ranked, ...]
    excluded: tuple[Excluded, ...] = ()

    def __iter__(self) -> Iterator[Plan]:
        return (each.plan for each in self.ranked)

    def __len__(self) -> int:
        return len(self.ranked)

    def __bool__(self) -> bool:
        raise TypeError("a Ranking is neither true nor false; ask len(ranking)")

    @property
    def best(self) -> Plan:
        """The first plan; raises `InputError` where there is none."""
        if not self.ranked:
            raise InputError("no plan is left to choose", hint=self.why() if self.excluded else "none was given")
        return self.ranked[0].plan

    def decided_by(self, other: Ranked) -> str | None:
        """Return the criterion that puts the first plan before `other`; None where they are equal.

        It is the first that differs; of a sum, the one that differs most.
        """
        losses = self.losses(other)
        if self.order.weights:
            name, most = max(zip(losses, losses.values(), strict=True), key=lambda loss: loss[1])
            return name if most > 0 and other.score != self.ranked[0].score else None
        return next((name for name, loss in losses.items() if loss), None)

    def losses(self, other: Ranked) -> dict[str, Number]:
        """Return by how much `other` is worse than the first plan, by each criterion; below 0 where it is better."""
        mine, theirs = self.order.charges(self.ranked[0].values), self.order.charges(other.values)
        names = [each.name for each in self.order.criteria]
        return {name: exact_sum([b, -a]) for name, a, b in zip(names, mine, theirs, strict=True)}

    def why(self) -> str:
        """Return sentences that say why the first plan is first, and which are excluded."""
        from planner.selection.telling import why  # noqa: PLC0415 - not every use of a ranking is told

        return why(self)

    def table(self) -> str:
        """Return a table for people: a line for each plan, the best first."""
        from planner.selection.telling import table  # noqa: PLC0415 - as above

        return table(self)

    def __str__(self) -> str:
        return f"{self.table()}\n\n{self.why()}"

    def to_dict(self) -> dict[str, Any]:
        """Return the ranking as JSON-ready data."""
        weights = self.order.weights or [None] * len(self.order.criteria)
        by = [
            {"criterion": each.name, "weight": json_number(weight), "more_is_better": each.more}
            for each, weight in zip(self.order.criteria, weights, strict=True)
        ]
        return {
            "by": by,
            "ranked": [self._row(each) for each in self.ranked],
            "excluded": [
                {"candidate": each.number, "reasons": list(each.reasons), "plan": each.plan.to_dict()}
                for each in self.excluded
            ],
            "why": self.why(),
        }

    def _row(self, each: Ranked) -> dict[str, Any]:
        names = [one.name for one in self.order.criteria]
        losses = self.losses(each) if each is not self.ranked[0] else {}
        return {
            "place": each.place,
            "candidate": each.number,
            "values": {name: json_number(value) for name, value in zip(names, each.values, strict=True)},
            "score": json_number(each.score),
            "approvals": list(each.approvals),
            "decided_by": self.decided_by(each) if losses else None,
            "loses": {name: json_number(loss) for name, loss in losses.items()},
            "plan": each.plan.to_dict(),
        }
