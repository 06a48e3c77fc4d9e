"""A ranking in words, and as a table."""

from __future__ import annotations

from planner.annotations import TYPE_CHECKING
from planner.model import Number

if TYPE_CHECKING:
    from planner.selection.ranking import Ranked, Ranking


def why(ranking: Ranking) -> str:
    """Return sentences that say why the first plan of `ranking` is first, and which are excluded."""
    excluded = [f"Candidate {each.number} is excluded: {'; '.join(each.reasons)}." for each in ranking.excluded]
    if not ranking.ranked:
        return "\n".join(["No plan is left to choose.", *excluded])
    lines = _by_sum(ranking) if ranking.order.weights else _in_turn(ranking)
    first = ranking.ranked[0]
    if first.approvals:
        steps = ", ".join(f"{number} {first.plan.steps[number - 1]}" for number in first.approvals)
        lines.append(f"It needs approval for step{'s' if len(first.approvals) > 1 else ''} {steps}.")
    return "\n".join([*lines, *excluded])


def _by_sum(ranking: Ranking) -> list[str]:
    first, *others = ranking.ranked
    lines = [f"Candidate {first.number} comes first: {ranking.order} is the least ({first.score})."]
    if others:
        second = others[0]
        if second.score == first.score:
            return [*lines, f"Candidate {second.number} comes to the same, and was given later."]
        differences = [f"{name} {_signed(loss)}" for name, loss in ranking.losses(second).items() if loss]
        lines.append(f"The next, candidate {second.number}, comes to {second.score}: {', '.join(differences)}.")
    return lines


def _in_turn(ranking: Ranking) -> list[str]:
    """Say which criterion leaves which plans."""
    left, lines = list(ranking.ranked), list[str]()
    for place, each in enumerate(ranking.order.criteria):
        best = ranking.ranked[0].values[place]
        kept = [one for one in left if one.values[place] == best]
        if len(kept) < len(left) or len(left) == 1:
            among = "" if len(left) == len(ranking.ranked) else "of these, "
            verb, extreme = "have" if len(kept) > 1 else "has", "most" if each.more else "least"
            what = f"{among}{_numbers(kept)} {verb} the {extreme} {each.name} ({_shown(best, each.unit)})."
            lines.append(what[0].upper() + what[1:])
        left = kept
        if len(left) == 1:
            break
    if len(left) > 1:
        lines.append(f"{_numbers(left)} are equally good; the one given first comes first.".capitalize())
    return lines


def table(ranking: Ranking) -> str:
    """Return a table for people: a line for each plan, the best first."""
    order = ranking.order
    rows = [["", "candidate", *map(str, order.criteria), *([str(order)] if order.weights else [])]]
    for each in ranking.ranked:
        values = [_shown(value, one.unit) for value, one in zip(each.values, order.criteria, strict=True)]
        score = [] if each.score is None else [_shown(each.score, "")]
        rows.append([f"{each.place}.", str(each.number), *values, *score])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    decided = ["decided by", "", *[ranking.decided_by(each) or "equal" for each in ranking.ranked[1:]]]
    lines = []
    for row, reason in zip(rows, decided, strict=False):
        cells = [cell.rjust(width) for cell, width in zip(row, widths, strict=True)]
        lines.append("  ".join([*cells, *([reason] if len(rows) > 2 else [])]).rstrip())
    return "\n".join(lines)


def _numbers(plans: list[Ranked]) -> str:
    numbers = [str(each.number) for each in sorted(plans, key=lambda each: each.number)]
    if len(numbers) == 1:
        return f"candidate {numbers[0]}"
    return f"candidates {', '.join(numbers[:-1])} and {numbers[-1]}"


def _shown(value: Number, unit: str) -> str:
    text = str(value) if isinstance(value, int) else f"{value:f}"
    return f"{text} {unit}" if unit == "s" else text


def _signed(number: Number) -> str:
    return f"{number:+d}" if isinstance(number, int) else f"{number:+f}"
