"""The services that search: plans, policies, several plans, repaired plans, remembered plans."""

from __future__ import annotations

from fractions import Fraction
from functools import cache

from pairs.judging import RIGHT, Case, Kind, Verdict, judge_result, refuse, service, wrong
from pairs.policies import SAME, Policies, Worth

from planner import Objective, Status, Step, candidates, decide, mend, patch, validate
from planner.reuse.plan_cache import PlanCache


@service
def judge_solve(case: Case) -> Verdict:
    return judge_result(case, case.result)


@service
def judge_decide(case: Case) -> Verdict:
    wishes = case.classical.wishes
    objective = Objective.UTILITY if wishes else Objective.SUCCESS
    decision = decide(case.problem, objective=objective, time_limit=case.limit)
    if decision.status is Status.UNSUPPORTED:
        return refuse(decision.reason)
    if decision.status is Status.UNKNOWN:
        return Verdict(Kind.NOTHING, decision.reason)
    if decision.policy is None:
        return Verdict(Kind.PROVED) if case.truth is None else wrong(f"{decision.status.name}, but there is a plan")
    policy = decision.policy
    found = Worth(policy.success, policy.utility or 0.0, policy.cost)
    best = find_worth(case.names)
    if best is None:
        return Verdict(Kind.RIGHT, f"{decision.status.name} {found}, not enumerated")
    if same(found, best):
        return Verdict(Kind.PROVED if decision.status is Status.OPTIMAL else Kind.RIGHT)
    if decision.status is Status.OPTIMAL or is_better(found, best):
        return wrong(f"{decision.status.name} {found}, but the best is {best}")
    return Verdict(Kind.WORSE, f"{found}, but the best is {best}")


@cache
def find_worth(names: tuple[str, ...]) -> Worth | None:
    """Return the worth of the best policy; None where nothing enumerates it."""
    case = Case(names)
    if case.is_in_time or case.has_tasks:
        if case.is_uncertain or case.classical.wishes or case.truth is None:
            return None
        return Worth(1.0, 0.0, float(case.truth.charge))
    return Policies(case.classical).best()


def same(one: Worth, other: Worth) -> bool:
    pairs = ((one.success, other.success), (one.utility, other.utility), (one.cost, other.cost))
    return all(abs(a - b) < 1e-6 * max(1, abs(b)) for a, b in pairs)


def is_better(one: Worth, other: Worth) -> bool:
    if abs(one.success - other.success) > SAME:
        return one.success > other.success
    if abs(one.utility - other.utility) > SAME:
        return one.utility > other.utility
    return one.cost < other.cost


@service
def judge_candidates(case: Case) -> Verdict:
    found = candidates(case.problem, time_limit=case.limit)
    return judge_plans(case, list(found), complete=found.complete)


def judge_plans(case: Case, plans: list, *, complete: bool) -> Verdict:
    """Judge several plans: all are valid and differ, the first one is the best."""
    if not plans:
        return Verdict(Kind.PROVED) if case.truth is None and complete else Verdict(Kind.NOTHING, "no candidates")
    if case.truth is None:
        return wrong(f"there is no plan, but {plans[0]}")
    for plan in plans:
        verdict = validate(case.problem, plan)
        if not verdict.valid:
            return wrong(f"{plan} is no plan: {verdict.reason}")
    texts = [str(plan) for plan in plans]
    if len(set(texts)) < len(texts):
        return wrong("two candidates are the same")
    least = min(Fraction(plan.charge) for plan in plans)
    if least < case.truth.charge:
        return wrong(f"a candidate of {least}, but the optimum is {case.truth.charge}")
    if least == case.truth.charge:
        return Verdict(Kind.PROVED if complete else Kind.RIGHT)
    if complete:
        return wrong(f"complete, the best {least}, but the optimum is {case.truth.charge}")
    return Verdict(Kind.WORSE, f"the best candidate costs {least}, but the optimum is {case.truth.charge}")


@service
def judge_cache(case: Case) -> Verdict:
    cache = PlanCache()
    first, again = [cache.solve(case.problem, time_limit=case.limit) for _ in range(2)]
    verdict = judge_result(case, first)
    if verdict.kind not in (Kind.PROVED, Kind.RIGHT):
        return verdict
    if (first.status, first.plan and first.plan.charge) != (again.status, again.plan and again.plan.charge):
        return wrong(f"{first.describe()}, and the second time {again.describe()}")
    return verdict


@service
def judge_mend(case: Case) -> Verdict:
    plan = case.plan
    broken = [Step(each.action, each.arguments) for each in plan.steps[1:]]
    found = mend(case.problem, broken, time_limit=case.limit)
    return judge_repaired(case, found, "mended")


@service
def judge_patch(case: Case) -> Verdict:
    steps = [Step(each.action, each.arguments) for each in case.plan.steps]
    found = patch(case.problem, steps[1:], time_limit=case.limit)
    return judge_repaired(case, found, "patched")


def judge_repaired(case: Case, found: object, word: str) -> Verdict:
    """Judge a plan made of another one: it is valid, and costs no less than the optimum."""
    status, reason, steps = found.status, found.reason, found.steps  # type: ignore[attr-defined]
    if status is Status.UNSUPPORTED:
        return refuse(reason)
    if status is Status.UNSOLVABLE:
        return wrong("UNSOLVABLE, but there is a plan")
    if status is Status.UNKNOWN:
        return Verdict(Kind.NOTHING, reason)
    plan = getattr(found, "plan", None) or list(steps)
    verdict = validate(case.problem, plan)
    if not verdict.valid:
        return wrong(f"{word} {[*map(str, steps)]} is no plan: {verdict.reason}")
    return Verdict(Kind.PROVED) if status is Status.OPTIMAL else RIGHT
