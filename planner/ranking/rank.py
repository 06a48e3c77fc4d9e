"""Ranks plans by criteria and rules, and explains the ranking in words, in a table and as data."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from planner.errors import InputError, kind_of
from planner.lightweight import dataclass, replace
from planner.model import Number
from planner.plan import Plan, exact_sum, json_number
from planner.problem_kinds import classical_of
from planner.ranking import criteria
from planner.ranking.criteria import Criterion, Order, Rule, RuleKind, StepPattern


@dataclass(frozen=True, slots=True)
class Ranked:
    """A plan with its `number` among the candidates, from 1, and its `values` by the criteria.

    `score` is their weighted sum, None without weights. `approvals` are the numbers of the steps that need approval.
    `place` counts from 1; equally good plans share it.
    """

    number: int
    plan: Plan
    values: tuple[Number, ...]
    score: Number | None = None
    approvals: tuple[int, ...] = ()
    place: int = 1


@dataclass(frozen=True, slots=True)
class Excluded:
    """An excluded plan with its `number` among the candidates, from 1, and the `reasons`."""

    number: int
    plan: Plan
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Ranking:
    """Ranked plans, the best first, and excluded plans. Iterating gives the ranked plans."""

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
        """Return the criterion that ranks the first plan before `other`; None if they are equal.

        It is the first that differs; in a sum, the one that differs most.
        """
        losses = self.losses(other)
        if self.order.weights:
            name, most = max(zip(losses, losses.values(), strict=True), key=lambda loss: loss[1])
            return name if most > 0 and other.score != self.ranked[0].score else None
        return next((name for name, loss in losses.items() if loss), None)

    def losses(self, other: Ranked) -> dict[str, Number]:
        """Return by how much `other` is worse than the first plan by each criterion, below 0 where it is better."""
        mine, theirs = self.order.charges(self.ranked[0].values), self.order.charges(other.values)
        names = [each.name for each in self.order.criteria]
        return {name: exact_sum([b, -a]) for name, a, b in zip(names, mine, theirs, strict=True)}

    def why(self) -> str:
        """Return sentences that say why the first plan is first, and which plans are excluded."""
        return _explain_first(self)

    def table(self) -> str:
        """Return a table for people: a line for each plan, the best first."""
        return _make_table(self)

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
    """Return the ranking of `plans`, the best first, with reasons.

    `by` lists criteria, the most important first (`"cost, duration"` or `["cost", "duration"]`): each decides between
    plans that are equal by all before it. With weights, as in `"2*cost + duration"` or `{"cost": 2, "duration": 1}`,
    the weighted sum decides. Values are not normalised: a weight is the worth of one unit, and other plans in the list
    do not matter. The criteria are `cost`, `length`, `duration` (makespan in seconds), `risk` (probability that some
    step has another outcome than the intended one), `forgone` (utility of forgone wishes), `irreversible` and
    `approvals` (numbers of such steps), `count ACTION`, `count @TAG`, every resource, and any function from a plan to a
    number. Less is better; with `-` before the name, more is better.

    `rules` are `never WHAT`, `at most 2 times WHAT` and `only if approved WHAT`, with an action, a pattern
    `action(args, _)` or `@TAG`. Plans that break a rule are excluded; steps that need approval are named. With
    `pareto`, plans that another plan dominates are excluded.

    Raises `InputError` for invalid criteria and rules, `PlanError` for invalid plans where that matters.
    """
    given = _list_plans(plans)
    for plan in given:
        if not isinstance(plan, Plan):
            raise InputError(f"{kind_of(plan)} is no plan", hint="candidates(…) gives plans; result.plan is one")
    if not given:
        return Ranking(Order(()), (), ())
    problem = classical_of(given[0].problem)
    ordered = criteria.read_order(by, problem)
    obeyed = [criteria.read_rule(each, problem) for each in ((rules,) if isinstance(rules, str) else rules)]
    excluded, kept = list[Excluded](), list[Ranked]()
    for number, plan in enumerate(given, start=1):
        reasons = tuple(filter(None, [each.find_violation(plan) for each in obeyed]))
        if reasons:
            excluded.append(Excluded(number, plan, reasons))
        else:
            values = tuple([criteria.measure_plan(each, plan) for each in ordered.criteria])
            kept.append(Ranked(number, plan, values, ordered.score(values), _approvals(plan, obeyed)))
    if pareto:
        kept, dominated = _split_front(kept, ordered)
        excluded = sorted([*excluded, *dominated], key=lambda each: each.number)
    return Ranking(ordered, tuple(_sort(kept, ordered)), tuple(excluded))


def _list_plans(plans: Any) -> list[Any]:
    if not isinstance(plans, Iterable):
        hint = "k_best(…).plans are plans, and so is [result.plan]"
        raise InputError(f"rank takes several plans, not {kind_of(plans)}", hint=hint)
    return list(plans)


def _approvals(plan: Plan, rules: list[Rule]) -> tuple[int, ...]:
    """Return the numbers of the steps that need approval by their tag or by a rule."""
    asked = [StepPattern("needs_approval"), *(each.steps for each in rules if each.kind is RuleKind.ONLY_IF_APPROVED)]
    return tuple(sorted({number for each in asked for number in each.find_in(plan)}))


def _sort(plans: list[Ranked], ordered: Order) -> list[Ranked]:
    """Return `plans` sorted, with places; equal plans share a place and keep their order."""
    plans = sorted(plans, key=lambda each: ordered.key(each.values))
    keys = [ordered.key(each.values) for each in plans]
    return [replace(each, place=keys.index(key) + 1) for each, key in zip(plans, keys, strict=True)]


def _split_front(plans: list[Ranked], ordered: Order) -> tuple[list[Ranked], list[Excluded]]:
    """Return the plans that no other plan dominates, and the others with the reason."""
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


def _explain_first(ranking: Ranking) -> str:
    excluded = [f"Candidate {each.number} is excluded: {'; '.join(each.reasons)}." for each in ranking.excluded]
    if not ranking.ranked:
        return "\n".join(["No plan is left to choose.", *excluded])
    lines = _explain_sum(ranking) if ranking.order.weights else _explain_criteria(ranking)
    first = ranking.ranked[0]
    if first.approvals:
        steps = ", ".join(f"{number} {first.plan.steps[number - 1]}" for number in first.approvals)
        lines.append(f"It needs approval for step{'s' if len(first.approvals) > 1 else ''} {steps}.")
    return "\n".join([*lines, *excluded])


def _explain_sum(ranking: Ranking) -> list[str]:
    first, *others = ranking.ranked
    lines = [f"Candidate {first.number} comes first: {ranking.order} is the least ({first.score})."]
    if others:
        second = others[0]
        if second.score == first.score:
            return [*lines, f"Candidate {second.number} comes to the same, and was given later."]
        differences = [f"{name} {_format_signed(loss)}" for name, loss in ranking.losses(second).items() if loss]
        lines.append(f"The next, candidate {second.number}, comes to {second.score}: {', '.join(differences)}.")
    return lines


def _explain_criteria(ranking: Ranking) -> list[str]:
    """Say which plans each criterion leaves."""
    left, lines = list(ranking.ranked), list[str]()
    for place, each in enumerate(ranking.order.criteria):
        best = ranking.ranked[0].values[place]
        kept = [one for one in left if one.values[place] == best]
        if len(kept) < len(left) or len(left) == 1:
            among = "" if len(left) == len(ranking.ranked) else "of these, "
            verb, extreme = "have" if len(kept) > 1 else "has", "most" if each.more else "least"
            what = (
                f"{among}{_name_candidates(kept)} {verb} the {extreme} {each.name} ({_format_value(best, each.unit)})."
            )
            lines.append(what[0].upper() + what[1:])
        left = kept
        if len(left) == 1:
            break
    if len(left) > 1:
        lines.append(f"{_name_candidates(left)} are equally good; the one given first comes first.".capitalize())
    return lines


def _make_table(ranking: Ranking) -> str:
    order = ranking.order
    rows = [["", "candidate", *map(str, order.criteria), *([str(order)] if order.weights else [])]]
    for each in ranking.ranked:
        values = [_format_value(value, one.unit) for value, one in zip(each.values, order.criteria, strict=True)]
        score = [] if each.score is None else [_format_value(each.score, "")]
        rows.append([f"{each.place}.", str(each.number), *values, *score])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    decided = ["decided by", "", *[ranking.decided_by(each) or "equal" for each in ranking.ranked[1:]]]
    lines = []
    for row, reason in zip(rows, decided, strict=False):
        cells = [cell.rjust(width) for cell, width in zip(row, widths, strict=True)]
        lines.append("  ".join([*cells, *([reason] if len(rows) > 2 else [])]).rstrip())
    return "\n".join(lines)


def _name_candidates(plans: list[Ranked]) -> str:
    numbers = [str(each.number) for each in sorted(plans, key=lambda each: each.number)]
    if len(numbers) == 1:
        return f"candidate {numbers[0]}"
    return f"candidates {', '.join(numbers[:-1])} and {numbers[-1]}"


def _format_value(value: Number, unit: str) -> str:
    text = str(value) if isinstance(value, int) else f"{value:f}"
    return f"{text} {unit}" if unit == "s" else text


def _format_signed(number: Number) -> str:
    return f"{number:+d}" if isinstance(number, int) else f"{number:+f}"
