"""Why a problem in time has no plan: which promises in time clash, and how far one of them must be relaxed.

A conflict is found by deletion (Chinneck and Dravnieks, 1991): a promise is left out for good where the others still
have no plan. The least relaxation of a promise is found by bisection: a plan says how much is enough, a proof that
there is none how much is not. Each plan that is found is tightened: the least relaxation is looked for that it needs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from math import lcm

from planner.compilations.sequential_steps import compile_sequential
from planner.errors import UnsupportedError
from planner.explain.temporal_promises import PLENTY, Kind, Promise, find_promises, relax_problem
from planner.explain.unsolvability import Diagnosis, explain_unsolvable
from planner.grounding.ground_temporal import ground_temporal
from planner.lightweight import Any, Final, dataclass, field, replace
from planner.limits import STOPS, LimitReached, Limits, Stop, stop_reason
from planner.model.actions import positive_atoms
from planner.model.formulas import Number
from planner.model.problem import NumericMetric, Problem, seal
from planner.model.timing import TOTAL_TIME
from planner.options import SolveOptions
from planner.plan import Plan, Status, StoppedBy, json_number
from planner.semantics.durations import SEPARATION
from planner.semantics.snap_actions import make_snap_problem
from planner.validation.timed_replay import price_plan
from planner.validation.validate import check_steps

MOST_CONFLICTS: Final = 3
"""Conflicts that are searched for, no two of which share a promise."""
CONFLICT_SHARE: Final = 0.5
"""The part of the time for conflicts; the rest is for relaxations."""
SEARCH_SHARE: Final = 0.2
"""The part of the time that is left which one search may take."""

Relaxation = Mapping[Promise, Fraction | None]
"""By how much promises are relaxed; those of None are dropped."""


@dataclass(frozen=True, slots=True)
class TemporalConflict:
    """Promises that no plan keeps together.

    It `is_proved` that there is no plan that keeps them all; else none was found. It `is_smallest` where leaving out
    each one gives a plan.
    """

    promises: tuple[Promise, ...]
    is_proved: bool
    is_smallest: bool

    def lines(self) -> Iterator[str]:
        """Yield lines for people."""
        if len(self.promises) == 1:
            yield "This cannot be kept:" if self.is_proved else "No plan was found that keeps this:"
        else:
            yield "These cannot hold together:" if self.is_proved else "No plan was found that keeps these together:"
        yield from (f"  {each}" for each in self.promises)
        one = len(self.promises) == 1
        if self.is_smallest:
            yield "Without it, there is a plan." if one else "Without any one of them, there is a plan."
        else:
            yield "Whether fewer of them clash was not found out."

    def to_dict(self) -> dict[str, Any]:
        """Return the conflict as JSON-ready data."""
        promises = [each.to_dict() for each in self.promises]
        return {"promises": promises, "proved": self.is_proved, "smallest": self.is_smallest}


@dataclass(frozen=True, slots=True)
class LeastRelaxation:
    """By how much one `promise` must be relaxed so that there is a `plan`, and which time or amount it is `most` then.

    `most` and `plan` are None where no relaxation was found; `is_proved` says then that none of this promise is enough,
    and else that no smaller one is. Relaxing it by `not_enough` is proved not to do.
    """

    promise: Promise
    most: Number | None
    plan: Plan | None
    is_proved: bool
    not_enough: Number | None = None

    @property
    def amount(self) -> Number | None:
        """By how much the promise is relaxed: seconds, or how much more of a capacity."""
        return None if self.most is None else self.most - self.promise.most

    def lines(self) -> Iterator[str]:
        """Yield lines for people."""
        if self.plan is None:
            yield f"{self.promise}: {'no change of this alone' if self.is_proved else 'no change was found that'} helps"
            return
        yield f"{self._headline()}; then a plan ends at {self.plan.makespan} s:"
        yield from (f"  {line}" for line in str(self.plan).splitlines())

    def _headline(self) -> str:
        if self.most is None:
            return f"{self.promise}: dropped (less may do)"
        unit = (
            f"{self.amount} s later" if self.promise.is_time else f"{self.amount} more, instead of {self.promise.most}"
        )
        known = "no less does" if self.is_proved else self._bounds()
        return f"{self.promise.describe(self.most)}: {unit} ({known})"

    def _bounds(self) -> str:
        if self.not_enough is None or not self.not_enough:
            return "less may do"
        return f"{self.not_enough} {'s later' if self.promise.is_time else 'more'} is not enough; less than this may do"

    def to_dict(self) -> dict[str, Any]:
        """Return the relaxation as JSON-ready data."""
        return {
            "promise": self.promise.to_dict(),
            "amount": json_number(self.amount),
            "most": json_number(self.most),
            "proved": self.is_proved,
            "not_enough": json_number(self.not_enough),
            "makespan": None if self.plan is None else json_number(self.plan.makespan),
            "plan": None if self.plan is None else self.plan.to_dict(),
        }


@dataclass(frozen=True, slots=True)
class TimedDiagnosis:
    """Why a problem in time has no plan.

    `solvable` is False if there is proved to be no plan, True if there is one after all (`plan`), and None if that is
    unknown. `conflicts` are promises that clash, no two of them with a common one. `relaxations` are those of single
    promises. `blames_time` is False where there is no plan even without any promise, and None where this is unknown.
    `cause` explains that as if there was no time, where it can. `stopped_by` is the limit that ended the work.
    """

    problem: str
    solvable: bool | None
    conflicts: tuple[TemporalConflict, ...] = ()
    relaxations: tuple[LeastRelaxation, ...] = ()
    blames_time: bool | None = None
    plan: Plan | None = None
    stopped_by: StoppedBy | None = None
    reason: str = ""
    cause: Diagnosis | None = None

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        if self.plan is not None:
            yield f"{self.problem} has a plan that ends at {self.plan.makespan} s:"
            yield from (f"  {line}" for line in str(self.plan).splitlines())
            return
        yield f"{self.problem} has no plan." if self.solvable is False else f"{self.problem}: no plan is known."
        if self.blames_time is False:
            yield "No deadline, window or capacity is to blame: without all of them, there is no plan either."
            if self.cause is not None:
                yield from str(self.cause).splitlines()[1:]
            elif self.reason:
                yield f"{self.reason[0].upper()}{self.reason[1:]}."
        elif not self.conflicts:
            yield "Whether deadlines, windows and capacities are to blame was not found out."
        for conflict in self.conflicts:
            yield from conflict.lines()
        yield from self._relaxation_lines()
        if self.stopped_by is not None:
            yield f"({self.stopped_by.value} ended the search)"

    def _relaxation_lines(self) -> Iterator[str]:
        helping = [each for each in self.relaxations if each.plan is not None]
        others = [each for each in self.relaxations if each.plan is None]
        if helping:
            yield "It would have a plan with" + (" one of these changes:" if len(helping) > 1 else " this change:")
        for each in helping:
            yield from (f"  {line}" for line in each.lines())
        if others:
            yield "Other changes:" if helping else "Changes of one promise:"
            yield from (f"  {line}" for each in others for line in each.lines())
        elif len(self.conflicts) > 1 and not helping:
            yield "Something of each of these conflicts has to change."

    def to_dict(self) -> dict[str, Any]:
        """Return the diagnosis as JSON-ready data."""
        return {
            "problem": self.problem,
            "solvable": self.solvable,
            "blames_time": self.blames_time,
            "conflicts": [each.to_dict() for each in self.conflicts],
            "relaxations": [each.to_dict() for each in self.relaxations],
            "plan": None if self.plan is None else self.plan.to_dict(),
            "reason": self.reason,
            "cause": None if self.cause is None else self.cause.to_dict(),
            "stopped_by": None if self.stopped_by is None else self.stopped_by.name.lower(),
        }


def explain_no_plan_in_time(problem: Problem, limits: Limits) -> TimedDiagnosis:
    """Return why `problem`, a problem in time, has no plan, and which change of one promise would give one.

    A limit that ends the work is reported, not raised. Raises `InputError` for mistakes in the problem, and
    `UnsupportedError` for constructs that search in time does not take.
    """
    promises = find_promises(problem)
    oracle = Oracle(problem, limits)
    return _Diagnosing(problem, promises, oracle).diagnose()


@dataclass(frozen=True, slots=True)
class Answer:
    """Whether a relaxed problem has a plan: `plan`, or proved to be without one (`is_refuted`), or neither."""

    plan: Plan | None = None
    is_refuted: bool = False
    reason: str = ""


@dataclass(slots=True)
class Oracle:
    """Says whether relaxed copies of `problem` have plans, within `limits`; plans found before are tried first."""

    problem: Problem
    limits: Limits
    plans: list[Plan] = field(default_factory=list)
    stopped_by: StoppedBy | None = None
    _asked: dict[frozenset[tuple[Promise, Fraction | None]], Answer] = field(default_factory=dict)

    def ask(self, relaxed: Relaxation, limits: Limits | None = None) -> Answer:
        """Search for a plan of the problem with promises that are `relaxed`, in a part of the time of `limits`."""
        key = frozenset(relaxed.items())
        if key not in self._asked:
            found = self._search(relaxed, limits or self.limits)
            if found.plan is None and not found.is_refuted:
                return found
            self._asked[key] = found
        return self._asked[key]

    def keeps(self, plan: Plan, relaxed: Relaxation) -> Plan | None:
        """Return `plan` as one of the problem with promises that are `relaxed`; None where it is not valid."""
        problem = relax_problem(self.problem, relaxed)
        moved = replace(plan, problem=problem)
        return moved if check_steps(problem, moved).valid else None

    def _search(self, relaxed: Relaxation, limits: Limits) -> Answer:
        known = next((own for plan in reversed(self.plans) if (own := self.keeps(plan, relaxed)) is not None), None)
        if known is not None:
            return Answer(price_plan(known))
        if limits.remaining == 0:
            self.stopped_by = StoppedBy.TIME
            return Answer()
        from planner.solve import answer

        problem = relax_problem(self.problem, relaxed)
        stop = Stop(limits.cancel)
        options = SolveOptions().within(limits, SEARCH_SHARE, on_progress=stop.end_at_plan, cancel=stop)
        result = answer(problem, options)
        if result.plan is not None:
            self.plans.append(result.plan)
            return Answer(result.plan)
        if result.stopped_by is StoppedBy.CANCELLED:
            raise LimitReached(StoppedBy.CANCELLED)
        if result.status is Status.UNSOLVABLE:
            return Answer(is_refuted=True, reason=result.reason)
        self.stopped_by = result.stopped_by
        return Answer()


@dataclass(slots=True)
class _Diagnosing:
    problem: Problem
    promises: list[Promise]
    oracle: Oracle
    conflicts: list[TemporalConflict] = field(default_factory=list)
    relaxations: list[LeastRelaxation] = field(default_factory=list)
    solvable: bool | None = None
    blames_time: bool | None = None
    reason: str = ""
    cause: Diagnosis | None = None

    def diagnose(self) -> TimedDiagnosis:
        """Return what is found within the limits."""
        stopped: StoppedBy | None = None
        plan = None
        try:
            plan = self._diagnose()
        except STOPS as stop:
            stopped = stop_reason(stop)
        return TimedDiagnosis(
            self.problem.name,
            True if plan is not None else self.solvable,
            tuple(self.conflicts),
            tuple(self.relaxations),
            self.blames_time,
            plan,
            stopped or self.oracle.stopped_by,
            self.reason,
            self.cause,
        )

    def _diagnose(self) -> Plan | None:
        """Find conflicts and relaxations; return a plan if there is one after all."""
        oracle = self.oracle
        half = oracle.limits.share(CONFLICT_SHARE)
        found = oracle.ask({}, half)
        if found.plan is not None:
            return found.plan
        self.solvable = False if found.is_refuted else None
        free = oracle.ask(dict.fromkeys(self.promises), half)
        if free.is_refuted:
            self.blames_time, self.solvable, self.reason = False, False, free.reason
            self.cause = self._explain_without_time()
        if free.plan is None:
            return None
        self.blames_time = True
        among = self.promises
        while len(self.conflicts) < MOST_CONFLICTS:
            found = oracle.ask(self._without(among), half)
            if found.plan is not None or not (found.is_refuted or not self.conflicts):
                break
            conflict = self._shrink(among, half, refuted=found.is_refuted)
            self.conflicts.append(conflict)
            if conflict.is_proved:
                self.solvable = False
            among = [each for each in among if each not in conflict.promises]
        for promise in self.conflicts[0].promises if len(self.conflicts) == 1 else ():
            self.relaxations.append(self._relax(promise))
        return None

    def _explain_without_time(self) -> Diagnosis | None:
        """Explain why the problem has no plan even if steps take no time; None where that is not the reason.

        Where a step makes something true at its start, others may have to overlap it, which sequences do not show.
        """
        free = relax_problem(self.problem, dict.fromkeys(self.promises))
        overlaps = any(
            positive_atoms(when.provides) for each in free.domain.actions.values() for when in each.at_start.effects
        )
        if free.timed or overlaps:
            return None
        try:
            found = explain_unsolvable(seal(compile_sequential(free)), self.oracle.limits)
        except UnsupportedError:
            return None
        return found if found.solvable is False else None

    def _without(self, kept: Sequence[Promise]) -> Relaxation:
        return dict.fromkeys([each for each in self.promises if each not in kept])

    def _shrink(self, among: Sequence[Promise], limits: Limits, *, refuted: bool) -> TemporalConflict:
        """Return a smallest part of `among` that has no plan, as far as it is found.

        Where nothing proves that `among` has no plan, parts count for which none is found.
        """
        kept, needed = list(among), 0
        kinds = [[each for each in among if each.kind is kind] for kind in Kind]
        groups = [group for group in kinds if 1 < len(group) < len(among)]
        for group in [*groups, *[[each] for each in reversed(among)]]:
            rest = [each for each in kept if each not in group]
            if len(rest) == len(kept) or not rest:
                needed += len(rest) != len(kept) and len(group) == 1  # without all promises there is a plan
                continue
            found = self.oracle.ask(self._without(rest), limits)
            if found.is_refuted or (found.plan is None and not refuted):
                kept, refuted = rest, refuted or found.is_refuted
            elif len(group) == 1:
                needed += found.plan is not None
        return TemporalConflict(tuple(kept), refuted, needed == len(kept))

    def _relax(self, promise: Promise) -> LeastRelaxation:
        """Return the least relaxation of `promise` that gives a plan, as far as it is found."""
        found = self.oracle.ask({promise: None})
        if found.plan is None:
            return LeastRelaxation(promise, None, None, found.is_refuted)
        unit, is_exact = self._find_unit(promise)
        low = Fraction(0)
        high, plan = self._tighten(promise, found.plan, low, unit)
        if high is None:
            return LeastRelaxation(promise, None, plan, is_proved=False)
        floor, is_proved = low, self.solvable is False
        if promise.kind is Kind.DEADLINE and is_proved:
            high, plan, is_exact_least = self._minimise(promise, high, plan, unit)
            low = floor = high - unit if is_exact_least else low
        turn = 0
        while high - floor > unit:
            turn += 1
            middle = high - unit if turn == 1 else floor + ((high - floor) / unit // 2) * unit
            found = self.oracle.ask({promise: middle})
            if found.plan is not None:
                tight, plan = self._tighten(promise, found.plan, floor, unit, middle)
                high = middle if tight is None else tight
            elif found.is_refuted:
                low = floor = middle
            else:
                floor = middle
                if self.oracle.limits.remaining == 0:
                    break
        is_proved &= is_exact and promise.is_monotone and high - low <= unit
        enough = promise.relax(low) - promise.most if promise.is_monotone else None
        return LeastRelaxation(promise, promise.relax(high), plan, is_proved, enough)

    def _minimise(self, promise: Promise, high: Fraction, plan: Plan, unit: Fraction) -> tuple[Fraction, Plan, bool]:
        """Search for the least makespan without the deadline; return what it needs, and whether this is proved."""
        from planner.solve import answer

        limits = self.oracle.limits
        hard = tuple([each for each in self.problem.due if each.weight is None])
        free = replace(self.problem, deadline=None, metric=NumericMetric(TOTAL_TIME), due=hard)
        result = answer(free, SolveOptions(mode="optimal").within(limits, SEARCH_SHARE))
        if result.stopped_by is StoppedBy.CANCELLED:
            raise LimitReached(StoppedBy.CANCELLED)
        if result.plan is None or result.plan.makespan is None:
            return high, plan, False
        amount = Fraction(result.plan.makespan) - Fraction(promise.most)
        own = self.oracle.keeps(result.plan, {promise: amount}) if unit <= amount <= high else None
        if own is None:
            return high, plan, False
        self.oracle.plans.append(own)
        return amount, price_plan(own), result.status is Status.OPTIMAL

    def _find_unit(self, promise: Promise) -> tuple[Fraction, bool]:
        """Return the step between amounts by which `promise` is relaxed, and whether none between them may be less."""
        if not promise.is_time:
            return Fraction(1), True
        problem = relax_problem(self.problem, {promise: None})
        task = ground_temporal(problem, make_snap_problem(problem), self.oracle.limits)
        ticks = lcm(task.resolution, Fraction(promise.most).denominator)
        return Fraction(1, ticks), all(lapse.variable is None for lapse in task.lapses)

    def _tighten(
        self, promise: Promise, plan: Plan, low: Fraction, unit: Fraction, high: Fraction | None = None
    ) -> tuple[Fraction | None, Plan]:
        """Return the least amount above `low` with which `plan` is valid, in whole units, and the plan with it.

        Return None as the amount where the plan needs that the promise is dropped.
        """
        amounts = self._list_amounts(promise, plan, low, unit, high)
        first, last = 0, len(amounts) - 1
        enough = self.oracle.keeps(plan, {promise: Fraction(amounts[last])})
        if enough is None:
            return None, plan
        while first < last:
            middle = (first + last) // 2
            found = self.oracle.keeps(plan, {promise: Fraction(amounts[middle])})
            if found is None:
                first = middle + 1
            else:
                last, enough = middle, found
        return Fraction(amounts[last]), price_plan(enough)

    def _list_amounts(
        self, promise: Promise, plan: Plan, low: Fraction, unit: Fraction, high: Fraction | None
    ) -> Sequence[Fraction | int]:
        """Return amounts above `low`, ascending, one of which is the least with which `plan` is valid.

        What a plan needs in time ends with one of its happenings, or a separation after it.
        """
        most = Fraction(promise.most)
        if not promise.is_time:
            few, top = int(low) + len(plan.steps), int(high or PLENTY)
            is_few = few < top and self.oracle.keeps(plan, {promise: Fraction(few)}) is not None
            return range(int(low) + 1, (few if is_few else top) + 1)
        moments = [Fraction(moment) for time in plan.times for moment in (time.start, time.end)]
        last = max([*moments, *[Fraction(each.time) for each in self.problem.timed]], default=most)
        if high is None:
            high = last + 1 - most
            if promise.until is not None:
                high = min(high, Fraction(promise.until) - most)
        found = {moment + gap - most for moment in moments for gap in (0, Fraction(SEPARATION))}
        whole = {(amount / unit).__ceil__() * unit for amount in (*found, high)}
        return sorted(amount for amount in whole if low < amount <= max(high, unit)) or [max(high, unit)]
