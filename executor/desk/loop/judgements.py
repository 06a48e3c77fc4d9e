"""Judgements of what a case expects: of costs and makespans, and of states that have a property."""

from __future__ import annotations

from enum import Enum

from planner.model import Number
from planner.plan import Plan, Result, Status


class Judgement(Enum):
    """How a check ended."""

    PASSED = "as expected"
    FAILED = "not as expected"
    UNDECIDED = "a limit was reached before anybody knew"
    UNSUPPORTED = "the check does not take such a problem"


Answer = tuple[Judgement, str]


def judge_optimum(result: Result, optimum: Number) -> Answer:
    """Judge the optimum that a case states."""
    found = result.cost
    if found is None:
        return judge_missing(result)
    if found < optimum:
        return Judgement.FAILED, f"a plan costs {found}: {list_steps(result.plan)}"
    if result.lower_bound is not None and result.lower_bound > optimum:
        proved = "proved" if result.status is Status.OPTIMAL else f"no plan costs less than {result.lower_bound}"
        return Judgement.FAILED, f"the cheapest plan found costs {found} ({proved}): {list_steps(result.plan)}"
    if result.status is Status.OPTIMAL:
        return Judgement.PASSED, ""
    return Judgement.UNDECIDED, f"the best plan costs {found}, which is not proved: {result.describe()}"


def judge_makespan(result: Result, expected: Number) -> Answer:
    """Judge the makespan that a case states, in seconds."""
    if result.plan is None:
        return judge_missing(result)
    found = makespan_of(result.plan)
    if found != expected:
        return Judgement.FAILED if result.status is Status.OPTIMAL else Judgement.UNDECIDED, f"the plan takes {found}"
    if result.status is Status.OPTIMAL:
        return Judgement.PASSED, ""
    return Judgement.UNDECIDED, f"not proved: {result.describe()}"


def cost_of(plan: Plan) -> Number:
    """Return the cost of `plan`."""
    return plan.cost


def makespan_of(plan: Plan) -> Number:
    """Return the time that `plan` takes, in seconds; that of its schedule where it is a sequence."""
    if plan.times and plan.makespan is not None:
        return plan.makespan
    from planner.scheduling.schedule import makespan

    return makespan(plan)


def judge_at_most(result: Result, most: Number) -> Answer:
    """Judge the most that a plan may cost."""
    if result.cost is None:
        return judge_missing(result)
    if result.cost <= most:
        return Judgement.PASSED, ""
    if result.lower_bound is not None and result.lower_bound > most:
        return Judgement.FAILED, f"no plan costs less than {result.lower_bound}"
    return Judgement.UNDECIDED, f"the best plan costs {result.cost}"


def judge_missing(result: Result) -> Answer:
    """Judge a result without a plan where one is expected."""
    if result.status is Status.UNSOLVABLE:
        return Judgement.FAILED, f"there is no plan: {result.describe()}; 'forethought explain' says what is missing"
    return without_verdict(result)


def without_verdict(result: Result) -> Answer:
    """Return the answer where the search decides nothing."""
    if result.status is Status.UNSUPPORTED:
        return Judgement.UNSUPPORTED, result.reason
    return Judgement.UNDECIDED, result.describe()


def judge_state(kind: str, where: str) -> Answer:
    """Return the answer where a state decides: it fails `always` and `never`, and meets `eventually`."""
    if kind == "eventually":
        return Judgement.PASSED, ""
    return Judgement.FAILED, f"it {'does not hold' if kind == 'always' else 'holds'} {where}"


def judge_end(kind: str, states: str) -> Answer:
    """Return the answer where no state has decided."""
    if kind == "eventually":
        return Judgement.FAILED, f"it holds in no {states}"
    return Judgement.PASSED, ""


def list_steps(plan: Plan | None, most: int = 12) -> str:
    """Return the first steps of `plan` in words."""
    steps = [] if plan is None else [str(step) for step in plan.steps]
    shown = ", ".join(steps[:most]) or "no step"
    return f"{shown}, and {len(steps) - most} more" if len(steps) > most else shown
