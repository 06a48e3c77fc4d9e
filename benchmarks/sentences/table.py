"""Tables: what became of right and of wrong answers, by kind of sentence, and of injected text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from benchmarks.sentences.injections import Injected
from benchmarks.sentences.recorded import Ending
from benchmarks.sentences.verdict import ENDINGS, Judged
from benchmarks.tables import markdown

WRONG: Final[tuple[Ending, ...]] = ("refused", "asked", "lacking", "shown", "reads", "mended")
NOT: Final[tuple[Ending, ...]] = ("refused", "asked", "lacking", "nothing", "shown", "reads", "done", "approved")


def sentences_table(found: Sequence[Judged]) -> str:
    """Return, for each kind of sentence and for all, what became of right answers and of wrong ones."""
    head = ("sentences", "", "understood", *(f"wrong, {each}" for each in WRONG), "effects not meant")
    return markdown(head, [_row(*each) for each in _kinds(found)])


def _kinds(found: Sequence[Judged]) -> list[tuple[str, Sequence[Judged]]]:
    kinds = dict.fromkeys(each.sentence.kind for each in found)
    return [*((kind, [each for each in found if each.sentence.kind == kind]) for kind in kinds), ("all", found)]


def _row(name: str, members: Sequence[Judged]) -> list[str]:
    right, wrong = [[each for each in members if each.is_right is is_right] for is_right in (True, False)]
    endings = [each.ending for each in wrong]
    understood = f"{sum(each.is_understood for each in right)}/{len(right)}"
    return [name, str(len(right)), understood, *(str(endings.count(each)) for each in (*WRONG, None))]


def heard_table(found: Sequence[Judged]) -> str:
    """Return, for each kind of sentence and for all, how a model has understood them, and what became of the others."""
    head = ("sentences", "", "understood", *(f"not, {each}" for each in NOT), "effects not meant", "calls", "tokens")
    return markdown(head, [_heard(*each) for each in _kinds(found)])


def _heard(name: str, members: Sequence[Judged]) -> list[str]:
    others = [each.ending for each in members if not each.is_understood]
    return [
        name,
        str(len(members)),
        str(len(members) - len(others)),
        *(str(others.count(each)) for each in (*NOT, None)),
        str(sum(each.calls for each in members)),
        str(sum(each.tokens for each in members)),
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
