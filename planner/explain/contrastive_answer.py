"""The answer to a contrastive question, for people and as data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from enum import Enum

from planner.compilations.foils import ALLOWED
from planner.explain.conflicts import Conflict
from planner.explain.contrastive_questions import Question
from planner.explain.cost_proof import CostShare, describe_costs
from planner.explain.unsolvability import Diagnosis
from planner.lightweight import Any, Final, dataclass
from planner.model.formulas import Number
from planner.plan import Plan, Step, StoppedBy, exact, exact_sum, json_number, name_as_written, render_html
from planner.problem_kinds import Reasons

MOST_LINES: Final = 20
"""Most lines of a diagnosis of tasks or times in lines for people."""
MOST_SHARES: Final = 12
"""Most shares of the cost that are named in lines for people."""


class Outcome(Enum):
    """What is known of the plans that a question asks for."""

    CHEAPER = "such a plan costs less"
    SAME = "such a plan costs no more"
    DEARER = "such a plan costs more"
    POSSIBLE = "there is such a plan"
    IMPOSSIBLE = "there is proved to be no such plan"
    OPEN = "no such plan was found, and none is excluded"


@dataclass(frozen=True, slots=True)
class WhyNot:
    """The answer to a contrastive question.

    `reference` is the plan that the question is about: the one given, or the best one found; no plan of the problem
    costs less than `reference_bound`. `plan` does what is asked for, and no such plan costs less than `lower_bound`.
    Where there is none, `conflicts` are smallest sets of demands that no plan meets together, and `diagnosis` says
    which needs are never met, and which smallest change would help. `shares` are what every plan of the problem pays.
    `reasons` are sentences about the reference. Of plans for tasks, `methods_changed` are the topmost tasks that
    `plan` does by another method than `reference`, such as "deliver(box) by m-plane, not by m-truck". `stopped_by` is
    the limit that ended the work, if one did.
    """

    question: Question
    outcome: Outcome
    reference: Plan | None = None
    reference_bound: Number | None = None
    plan: Plan | None = None
    lower_bound: Number | None = None
    conflicts: tuple[Conflict, ...] = ()
    diagnosis: Reasons | None = None
    shares: tuple[CostShare, ...] = ()
    reasons: tuple[str, ...] = ()
    methods_changed: tuple[str, ...] = ()
    stopped_by: StoppedBy | None = None

    @property
    def extra(self) -> Number | None:
        """What `plan` costs more than `reference`; negative where it costs less."""
        return _difference(_charge(self.plan), _charge(self.reference))

    @property
    def extra_at_least(self) -> Number | None:
        """What any plan that is asked for costs more than `reference` at least."""
        return _difference(self.lower_bound, _charge(self.reference))

    @property
    def proved(self) -> bool:
        """Whether no better answer is possible: the cheapest such plan, or the proof that there is none."""
        if self.plan is None:
            return self.outcome is Outcome.IMPOSSIBLE
        return self.plan.charge == self.lower_bound

    @property
    def steps_added(self) -> tuple[Step, ...]:
        """The steps of `plan` that `reference` has not."""
        return _missing_steps(self.plan, self.reference)

    @property
    def steps_left_out(self) -> tuple[Step, ...]:
        """The steps of `reference` that `plan` has not."""
        return _missing_steps(self.reference, self.plan)

    def describe(self) -> str:
        """Return the answer in lines for people."""
        return "\n".join(
            [f"Why not {self.question.text}?" if self._asks_for_plan else f"If {self.question.text}:"]
            + [f"  {line}" for line in self._lines()]
        )

    def __str__(self) -> str:
        return self.describe()

    def _repr_html_(self) -> str | None:
        return render_html(self)

    @property
    def _asks_for_plan(self) -> bool:
        return self.question.restricts

    def _lines(self) -> Iterator[str]:
        yield from self.reasons
        if not self.question.foils:
            yield from self._lines_about_cost()
        elif self.plan is not None:
            yield from self._lines_about_plan(self.plan)
        else:
            yield from self._lines_about_none()

    def _lines_about_cost(self) -> Iterator[str]:
        assert self.reference is not None
        if self.plan is not None:
            yield f"A plan costs {self.plan.charge}, {-(self.extra or 0)} less than this one:"
            yield from _indent(str(self.plan))
        elif self.outcome is Outcome.IMPOSSIBLE:
            yield f"It is proved that no plan costs less than {self.reference.charge}."
        else:
            gap = f"no plan costs less than {self.lower_bound}" if self.lower_bound is not None else "nothing is proved"
            yield f"No cheaper plan was found, but one may exist: {gap} ({self._limit})."
        best = self.reference if self.plan is None else self.plan
        yield f"It costs {'; '.join(describe_costs(best)) or 'nothing'}."
        if self.shares:
            total = exact_sum([each.worth for each in self.shares])
            yield f"Every plan pays {total} in any case:"
            yield from (f"  {share}" for share in self.shares[:MOST_SHARES])
            rest = self.shares[MOST_SHARES:]
            if rest:
                yield f"  {exact_sum([each.worth for each in rest])} for {len(rest)} more"
            if total < best.charge and self.outcome is Outcome.IMPOSSIBLE:
                yield f"That the other {exact(best.charge - total)} cannot be saved was proved by search."

    @property
    def _limit(self) -> str:
        return f"{self.stopped_by.value} ended the search" if self.stopped_by is not None else "the search gave up"

    def _lines_about_plan(self, plan: Plan) -> Iterator[str]:
        yield f"{self._compare(plan)}{self._say_proof()}."
        if self.reference is None or plan.steps != self.reference.steps:
            yield from _indent(str(plan) or "(no steps)")
            if self.reference is not None:
                for word, steps in (("It adds", self.steps_added), ("It leaves out", self.steps_left_out)):
                    if steps:
                        yield f"{word} {', '.join(map(str, steps))}."
        yield from (f"It does {each}." for each in self.methods_changed)

    def _compare(self, plan: Plan) -> str:
        if self.reference is None:
            return f"There is such a plan, which costs {plan.charge}"
        if plan.steps == self.reference.steps and plan.times == self.reference.times:
            done = "does so already" if self._asks_for_plan else "stays the same"
            return f"The plan {done}, at cost {plan.charge}"
        extra = self.extra or 0
        if not extra:
            return f"Such a plan costs no more: {plan.charge}"
        more = f"{abs(extra)} {'more' if extra > 0 else 'less'} than {self.reference.charge}"
        return f"Such a plan costs {plan.charge}, {more}"

    def _say_proof(self) -> str:
        if self.proved:
            return "; it is proved that none costs less"
        if self.lower_bound is None:
            return f"; a cheaper one may exist ({self._limit})"
        return f"; a cheaper one may exist, but none costs less than {self.lower_bound} ({self._limit})"

    def _lines_about_none(self) -> Iterator[str]:
        if self.outcome is Outcome.OPEN:
            least = f"; one would cost {self.lower_bound} at least" if self.lower_bound is not None else ""
            yield f"No such plan was found, and none is excluded: {self._limit}{least}."
            return
        yield "There is proved to be no such plan." if self.question.restricts else "There is proved to be no plan."
        for conflict in self.conflicts:
            yield f"{'These' if len(conflict.demands) > 1 else 'This'} {conflict}."
        if isinstance(self.diagnosis, Diagnosis):
            for part in self.diagnosis.unreachable:
                if not all(missing.fact.startswith(ALLOWED) for missing in part.missing):
                    yield from part.lines()  # else the conflicts say all of it
            yield from self.diagnosis.change_lines()
        elif self.diagnosis is not None:
            from planner.explain.timed_unsolvability import TimedDiagnosis

            head = 1 if isinstance(self.diagnosis, TimedDiagnosis) else 0  # it says that there is no plan
            lines = str(self.diagnosis).splitlines()[head:]
            yield from lines[:MOST_LINES]
            if len(lines) > MOST_LINES:
                yield f"… and {len(lines) - MOST_LINES} lines more"

    def to_dict(self) -> dict[str, Any]:
        """Return the answer as JSON-ready data."""
        return {
            "question": self.question.text,
            "outcome": self.outcome.name,
            "proved": self.proved,
            "cost": json_number(_charge(self.plan)),
            "lower_bound": json_number(self.lower_bound),
            "extra": json_number(self.extra),
            "extra_at_least": json_number(self.extra_at_least),
            "plan": self.plan.to_dict() if self.plan is not None else None,
            "reference": self.reference.to_dict() if self.reference is not None else None,
            "reference_cost": json_number(_charge(self.reference)),
            "reference_bound": json_number(self.reference_bound),
            "steps_added": list(map(str, self.steps_added)),
            "steps_left_out": list(map(str, self.steps_left_out)),
            "methods_changed": list(self.methods_changed),
            "reasons": list(self.reasons),
            "shares": [each.to_dict() for each in self.shares],
            "conflicts": [each.to_dict() for each in self.conflicts],
            "diagnosis": self.diagnosis.to_dict() if self.diagnosis is not None else None,
            "stopped_by": self.stopped_by.name.lower() if self.stopped_by is not None else None,
        }


def _charge(plan: Plan | None) -> Number | None:
    return None if plan is None else plan.charge


def _difference(one: Number | None, other: Number | None) -> Number | None:
    return None if one is None or other is None else exact(one - other)


def _missing_steps(one: Plan | None, other: Plan | None) -> tuple[Step, ...]:
    """Return the steps of `one` that `other` has not, or not so often; none without both plans."""
    if one is None or other is None:
        return ()
    left = Counter((step.action, step.arguments) for step in other.steps)
    found = []
    for step in one.steps:
        if left[step.action, step.arguments]:
            left[step.action, step.arguments] -= 1
        else:
            found.append(step)
    return name_as_written(found, one.problem)


def _indent(text: str) -> Iterator[str]:
    yield from (f"  {line}" for line in text.splitlines())
