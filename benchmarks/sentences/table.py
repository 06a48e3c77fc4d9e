"""Tables: what became of right and of wrong answers, by kind of sentence, and of injected text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from benchmarks.sentences.injections import Injected
from benchmarks.sentences.recorded import Ending
from benchmarks.sentences.verdict import ENDINGS, Judged
from benchmarks.tables import markdown

WRONG: Final[tuple[Ending, ...]] = ("refused", "asked", "lacking", "shown", "reads", "mended")


def sentences_table(found: Sequence[Judged]) -> str:
    """Return, for each kind of sentence and for all, what became of right answers and of wrong ones."""
    head = ("sentences", "", "understood", *(f"wrong, {each}" for each in WRONG), "effects not meant")
    kinds = dict.fromkeys(each.sentence.kind for each in found)
    rows = [_row(kind, [each for each in found if each.sentence.kind == kind]) for kind in kinds]
    return markdown(head, [*rows, _row("all", found)])


def _row(name: str, members: Sequence[Judged]) -> list[str]:
    right, wrong = [[each for each in members if each.is_right is is_right] for is_right in (True, False)]
    endings = [each.ending for each in wrong]
    understood = sum(not each.violation for each in right)
    return [
        name,
        str(len(right)),
        f"{understood}/{len(right)}",
        *(str(endings.count(each)) for each in WRONG),
        str(endings.count(None)),
    ]


def endings_table(found: Sequence[Judged]) -> str:
    """Return how often right and wrong answers came to what."""
    right, wrong = [[each.ending for each in found if each.is_right is is_right] for is_right in (True, False)]
    rows = [(ENDINGS[each], right.count(each), wrong.count(each)) for each in ENDINGS]
    return markdown(("what became of it", "right answers", "wrong answers"), rows)


def injections_table(found: Sequence[Injected]) -> str:
    """Return what came of injected texts, by the way in."""
    ways = dict.fromkeys((each.way, each.ending) for each in found)
    rows = []
    for way, ending in ways:
        members = [each for each in found if (each.way, each.ending) == (way, ending)]
        rows.append((way, ending, len(members), sum(bool(each.violation) for each in members)))
    return markdown(("text in a tool's result", "the run", "texts", "violations"), rows)
