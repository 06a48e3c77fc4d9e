"""Rank plans by criteria and rules, and say in words, in a table or as data why one comes before another."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from planner.errors import InputError, kind_of
from planner.lightweight import dataclass, replace
from planner.model import Number
from planner.plan import Plan, exact_sum, json_number
from planner.ranking.criteria import Criterion, Order, Rule, RuleKind, Steps, classical, measured, order, rule


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
        return why(self)

    def table(self) -> str:
        """Return a table for people: a line for each plan, the best first."""
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


By = str | Criterion | Callable[[Plan], Number] | Iterable[Any] | Mapping[Any, Any]


def rank(
    plans: Iterable[Plan], by: By = ("cost",), *, rules: str | Iterable[str | Rule] = (), pareto: bool = False
) -> Ranking:
    """Return `plans`, the best first, with reasons.

    `by` lists criteria, the most important first: a later one decides between plans that are equal in all before it
    (`"cost, duration"` or `["cost", "duration"]`). With weights, `"2*cost + duration"` or `{"cost": 2, "duration": 1}`,
    the weighted sum of the values decides. The values are taken as they are, in their own units, so that a weight says
    what one unit is worth, and no plan changes places when another joins the list. Names of criteria: `cost`,
    `length`, `duration` (the makespan, in seconds), `risk` (the probability that some step does not come out as
    intended), `forgone` (what the wishes are worth that do not come true), `irreversible` and `approvals` (numbers of
    such steps), `count ACTION` or `count @TAG`, and every resource that actions use; a function from a plan to a number
    is one, too. Less is better; with `-` before the name, more is.

    `rules`, one or several, are `never WHAT`, `at most 2 times WHAT` and `only if approved WHAT`, with an action, a
    pattern `action(args, _)` or `@TAG`. Plans that break one are excluded; steps that need approval are named. With
    `pareto`, plans are excluded to which another is preferred by one criterion and by none the other way round.

    Raises `InputError` for criteria and rules that mean nothing, `PlanError` for invalid plans where that matters.
    """
    given = _listed(plans)
    for plan in given:
        if not isinstance(plan, Plan):
            raise InputError(f"{kind_of(plan)} is no plan", hint="candidates(…) gives plans; result.plan is one")
    if not given:
        return Ranking(Order(()), (), ())
    problem = classical(given[0])
    ordered = order(by, problem)
    obeyed = [rule(each, problem) for each in ((rules,) if isinstance(rules, str) else rules)]
    excluded, kept = list[Excluded](), list[Ranked]()
    for number, plan in enumerate(given, start=1):
        reasons = tuple(filter(None, [each.broken_by(plan) for each in obeyed]))
        if reasons:
            excluded.append(Excluded(number, plan, reasons))
        else:
            values = tuple([measured(each, plan) for each in ordered.criteria])
            kept.append(Ranked(number, plan, values, ordered.score(values), _approvals(plan, obeyed)))
    if pareto:
        kept, dominated = _front(kept, ordered)
        excluded = sorted([*excluded, *dominated], key=lambda each: each.number)
    return Ranking(ordered, tuple(_placed(kept, ordered)), tuple(excluded))


def _listed(plans: Any) -> list[Any]:
    if not isinstance(plans, Iterable):
        hint = "k_best(…).plans are plans, and so is [result.plan]"
        raise InputError(f"rank takes several plans, not {kind_of(plans)}", hint=hint)
    return list(plans)


def _approvals(plan: Plan, rules: list[Rule]) -> tuple[int, ...]:
    """Return the numbers of the steps that need approval, by their tag or by a rule."""
    asked = [Steps("needs_approval"), *(each.steps for each in rules if each.kind is RuleKind.ONLY_IF_APPROVED)]
    return tuple(sorted({number for each in asked for number in each.among(plan)}))


def _placed(plans: list[Ranked], ordered: Order) -> list[Ranked]:
    """Return `plans` in their order, with places; equal ones share the place, and keep their order."""
    plans = sorted(plans, key=lambda each: ordered.key(each.values))
    keys = [ordered.key(each.values) for each in plans]
    return [each.at(keys.index(key) + 1) for each, key in zip(plans, keys, strict=True)]


def _front(plans: list[Ranked], ordered: Order) -> tuple[list[Ranked], list[Excluded]]:
    """Return the plans that no other dominates, and the others with the reason."""
    charges = [ordered.charges(each.values) for each in plans]
    kept, dominated = [], []
    for mine, one in zip(charges, plans, strict=True):
        better = next((other for theirs, other in zip(charges, plans, strict=True) if _dominates(theirs, mine)), None)
        if better is None:
            kept.append(one)
            continue
        theirs = ordered.charges(better.values)
        names = [each.name for each, a, b in zip(ordered.criteria, theirs, mine, strict=True) if a < b]
        reason = f"candidate {better.number} is better in {' and '.join(names)}, and worse in nothing"
        dominated.append(Excluded(one.number, one.plan, (reason,)))
    return kept, dominated


def _dominates(one: list[Number], other: list[Number]) -> bool:
    return one != other and all(mine <= theirs for mine, theirs in zip(one, other, strict=True))


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
