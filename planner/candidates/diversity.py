"""How different the plans of a set are."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations

from planner.annotations import Any
from planner.plan import Plan
from planner.records import dataclass


@dataclass(frozen=True, slots=True)
class Diversity:
    """How far each plan of a set is from each, from 0 to 1, `by` its actions or links.

    Of all plans within the bound, `seen` were compared. If these are `all_seen`, no so many plans have a least distance
    of more than twice the `least` of these.
    """

    by: str
    distances: tuple[tuple[Fraction, ...], ...]
    seen: int
    all_seen: bool

    @property
    def least(self) -> Fraction | None:
        """The distance of the two plans that are nearest to each other; None where there are no two."""
        pairs = combinations(range(len(self.distances)), 2)
        return min([self.distances[one][other] for one, other in pairs], default=None)

    def to_dict(self) -> dict[str, Any]:
        """Return the same as JSON-ready data; distances are rounded."""
        return {
            "by": self.by,
            "distances": [[_rounded(each) for each in row] for row in self.distances],
            "least": None if self.least is None else _rounded(self.least),
            "seen": self.seen,
            "all_seen": self.all_seen,
        }

    def summary(self, plans: Sequence[Plan]) -> str:
        """Return for people how different `plans` are, and what is known of it: a sentence, and a table."""
        if self.least is None:
            return self._compared()
        apart = f"they differ by {float(self.least):.2f} or more in their {self.by}"
        return f"{apart}; {self._compared()}\n\n{self._table(plans)}"

    def _compared(self) -> str:
        if not self.all_seen:
            return f"of the plans within the bound, {self.seen} were compared"
        found, number = f"all plans within the bound were compared, {self.seen}", len(self.distances)
        most = 1 if self.least is None else 2 * self.least
        return found if most >= 1 else f"{found}: no {number} of them differ by more than {float(most):.2f}"

    def _table(self, plans: Sequence[Plan]) -> str:
        """Return for each plan its cost, and which other is the nearest."""
        lines = ["candidate      cost  nearest  distance"]
        for place, (plan, row) in enumerate(zip(plans, self.distances, strict=True)):
            far, nearest = min((value, other) for other, value in enumerate(row) if other != place)
            lines.append(f"{place + 1:>9}  {plan.charge:>8}  {nearest + 1:>7}  {float(far):>8.2f}")
        return "\n".join(lines)


def _rounded(value: Fraction) -> float:
    return round(float(value), 4)
