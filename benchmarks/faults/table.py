"""What a fault campaign came to: counts by kind of fault and by execution model, and how to replay what went wrong."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from benchmarks.faults.setting import KINDS, MODELS, Setting
from benchmarks.faults.verdict import Ending, Verdict
from benchmarks.tables import Table
from executor.testing import FaultKind

HEADS: Final = {
    Ending.REACHED: "goal seen",
    Ending.UNSEEN: "unverified",
    Ending.ASKED: "asks",
    Ending.OUT_OF_REACH: "out of reach",
    Ending.SPENT: "spent",
    Ending.UNDONE: "undone",
    Ending.REFUSED: "refused",
    Ending.BLIND: "blind",
    Ending.VIOLATION: "**violations**",
}


class Judged(NamedTuple):
    """A run of the campaign: how it was drawn, what is to be said about it, and seconds of real time."""

    setting: Setting
    verdict: Verdict
    seconds: float
    crashes: int
    strikes: Mapping[FaultKind, int]
    """How often each kind of fault struck."""


def report(judged: Sequence[Judged]) -> str:
    """Return the tables of a campaign as Markdown."""
    by_kind = _endings("fault", [kind.name for kind in KINDS], judged, lambda each: each.setting.kind.name)
    by_model = _endings("model", MODELS, judged, lambda each: each.setting.model)
    legend = "\n".join(f"- {head.strip('*')}: {ending.value}" for ending, head in HEADS.items())
    return "\n".join(
        [by_kind.markdown(), by_model.markdown(), injected(judged).markdown(), grid(judged).markdown(), legend]
    )


def _endings(head: str, names: Iterable[str], judged: Sequence[Judged], name: Callable[[Judged], str]) -> Table:
    """Return how runs ended: a row for each of `names`."""
    rows = []
    for each in names:
        counts = Counter(one.verdict.ending for one in judged if name(one) == each)
        rows.append([each, counts.total(), *[counts[ending] for ending in HEADS]])
    total = ["all", *[sum(column) for column in zip(*[row[1:] for row in rows], strict=True)]]
    return Table([head, "runs", *HEADS.values()], rows, total)


def injected(judged: Sequence[Judged]) -> Table:
    """Return how often each kind of fault struck."""
    counts = {kind.name: sum(each.strikes.get(kind, 0) for each in judged) for kind in KINDS}
    return Table(["fault", "times that it struck"], list(map(list, counts.items())), ["all", sum(counts.values())])


def grid(judged: Sequence[Judged]) -> Table:
    """Return, for each kind of fault and model, runs that reached the goal / that did not / violations."""
    rows = []
    for kind in KINDS:
        row = [kind.name]
        for model in MODELS:
            endings = [
                each.verdict.ending for each in judged if (each.setting.kind, each.setting.model) == (kind, model)
            ]
            reached, broken = endings.count(Ending.REACHED), endings.count(Ending.VIOLATION)
            row.append(f"{reached} / {len(endings) - reached - broken} / {broken}")
        rows.append(row)
    return Table(["reached / not / violations", *MODELS], rows)
