"""How runs with a model that says anything ended, by what was asked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from benchmarks.adversary.setting import WAYS
from benchmarks.adversary.verdict import Judged
from benchmarks.tables import markdown

SAID: Final = 6
"""The endings that are told, the most frequent first."""


def adversary_table(found: Sequence[Judged]) -> str:
    """Return a line for each way of asking, and one for all."""
    head = ("asked", "runs", "violations", "calls", "tokens", "seconds, most", "how they ended")
    rows = [_row(way, [each for each in found if each.setting.way == way]) for way in WAYS]
    return markdown(head, [*[row for row in rows if row[1] != "0"], _row("all", found)])


def _row(name: str, members: Sequence[Judged]) -> tuple[str, ...]:
    endings = Counter(each.ending for each in members).most_common(SAID)
    return (
        name,
        str(len(members)),
        str(sum(bool(each.violations) for each in members)),
        str(sum(each.calls for each in members)),
        str(sum(each.tokens for each in members)),
        f"{max((each.seconds for each in members), default=0):.1f}",
        ", ".join(f"{ending} {number}" for ending, number in endings),
    )
