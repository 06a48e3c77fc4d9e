"""Answer questions about planning tasks that are given as texts. A process of the pool runs this.

Each function takes a `Question`, limits and a function that is told of better plans, and returns JSON-ready data.
Mistakes raise `InputError`; limits end `solve` with the best plan so far, and other questions by an exception.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

from executor.service.questions import Question
from planner.cli.interrupt import interruptible
from planner.cli.options import plan_text
from planner.cli.solve import Watch, attempt
from planner.explain.any_problem import explain_any_plan, explain_no_plan
from planner.language.loading.load import load_from, open_source
from planner.limits import Limits
from planner.model import Number, Problem
from planner.plan import Plan, Progress, Result, Status, json_number
from planner.problem_kinds import AnyProblem, service_of
from planner.solve import solve
from planner.topk.top_k import k_best

PLAN_TEXT: Final = "<plan>"
"""The source that messages about plans name."""
SOLVING_SHARE: Final = 0.5
"""Share of the time limit in which `explain` searches for a plan; the rest is for the explanation."""
DEFAULT_CANDIDATES: Final = 3
Report = Callable[[dict[str, Any]], None]


def answer(question: Question, limits: Limits, report: Report) -> dict[str, Any]:
    """Answer `question` within `limits`; signals end the work as they end a command."""
    return ANSWERS[question.kind](question, limits, report)


def _load(question: Question) -> AnyProblem:
    return load_from(open_source(question.domain), question.problem)


def answer_solve(question: Question, limits: Limits, report: Report) -> dict[str, Any]:
    """Find a plan; tell `report` of each better one."""
    watch = Watch()

    def follow(progress: Progress) -> None:
        is_better = progress.plan is not None and (watch.latest is None or progress.plan is not watch.latest.plan)
        watch(progress)
        if is_better:
            report(describe_progress(progress))

    def work() -> Result:
        with interruptible(limits.remaining) as watchman:
            problem = _load(question)
            with watchman.searching() as limits.cancel:
                return solve(problem, **question.options, **_options_of(limits), on_progress=follow)

    return describe_result(attempt(work, watch))


def describe_result(result: Result) -> dict[str, Any]:
    """Return a result as JSON-ready data, with the plan in the competition's format."""
    return result.to_dict() | {"plan_text": None if result.plan is None else plan_text(result.plan)}


def describe_progress(progress: Progress) -> dict[str, Any]:
    """Return the best plan and the bound as JSON-ready data."""
    assert progress.plan is not None
    return {
        "status": Status.SOLVED.name,
        "cost": json_number(progress.plan.cost),
        "lower_bound": json_number(progress.lower_bound),
        "elapsed": round(progress.elapsed, 6),
        "plan": progress.plan.to_dict(),
        "plan_text": plan_text(progress.plan),
    }


def answer_validate(question: Question, limits: Limits, _: Report) -> dict[str, Any]:
    """Check a plan step by step."""
    from planner.validation.validate import validate

    with interruptible(limits.remaining) as watchman:
        problem = _load(question)
        plan, claimed_cost = read_plan_data(question.options["plan"], problem)
        if isinstance(problem, Problem):
            return validate(problem, plan if plan.times else plan.steps, claimed_cost=claimed_cost).to_dict()
        with watchman.checking(plan) as limits.cancel:
            found: dict[str, Any] = service_of(problem).validate(problem, plan, limits).to_dict()
            return found


def read_plan_data(data: Any, problem: AnyProblem) -> tuple[Plan, Number | None]:
    """Read a plan from a text, in the competition's format or in JSON, or from JSON data; raises `PlanError`."""
    text = data if isinstance(data, str) else json.dumps(data)  # so that decimals are read exactly
    from planner.plan_json import read_written_plan

    return read_written_plan(text, problem, PLAN_TEXT)


def answer_explain(question: Question, limits: Limits, _: Report) -> dict[str, Any]:
    """Explain the steps of a plan, why there is none, or answer a contrastive question about a plan."""
    with interruptible(limits.remaining) as watchman:
        problem = _load(question)
        given = question.options.get("plan")
        plan = None if given is None else read_plan_data(given, problem)[0]
        with watchman.searching() as limits.cancel:
            if "question" in question.options:
                return _contrast(problem, question.options["question"], plan, limits)
            if plan is not None:
                return _explain_given(problem, plan, limits)
            found = solve(problem, **_options_of(limits.share(SOLVING_SHARE)))
            if found.plan is not None:
                reasons = explain_any_plan(found.plan, limits)
            elif found.status is Status.UNSUPPORTED:
                return {"text": found.reason, "result": describe_result(found)}
            else:
                reasons = explain_no_plan(problem, limits.share(1.0), found.status)
            return {"text": str(reasons), "reasons": reasons.to_dict(), "result": describe_result(found)}


def _contrast(problem: AnyProblem, text: str, plan: Plan | None, limits: Limits) -> dict[str, Any]:
    """Answer why a plan does not do something, or what changes if something were different."""
    from planner.explain.why_not import ask

    found = ask(problem, text, limits, plan)
    return {"text": str(found), "reasons": found.to_dict()}


def _explain_given(problem: AnyProblem, plan: Plan, limits: Limits) -> dict[str, Any]:
    """Explain a plan, or say why it does not work."""
    if isinstance(problem, Problem):
        from planner.validation.validate import validate_in_turn

        plan, verdict = validate_in_turn(problem, plan)
    else:
        verdict = service_of(problem).validate(problem, plan, limits)
    if not verdict.valid:
        return {"text": str(verdict), "verdict": verdict.to_dict()}
    reasons = explain_any_plan(plan, limits)
    return {"text": str(reasons), "reasons": reasons.to_dict(), "verdict": verdict.to_dict()}


def answer_candidates(question: Question, limits: Limits, _: Report) -> dict[str, Any]:
    """Find the cheapest plans."""
    options = dict(question.options)
    number = options.pop("number", DEFAULT_CANDIDATES)
    with interruptible(limits.remaining) as watchman:
        problem = _load(question)
        with watchman.searching() as limits.cancel:
            found = k_best(problem, number, **options, **_options_of(limits))
            return found.to_dict() | {"plan_texts": [plan_text(plan) for plan in found.plans]}


def _options_of(limits: Limits) -> dict[str, Any]:
    """Return `limits` as the options that searches take."""
    return {"time_limit": limits.remaining, "memory_limit": limits.memory_limit, "cancel": limits.cancel}


ANSWERS: Final[dict[str, Callable[[Question, Limits, Report], dict[str, Any]]]] = {
    "solve": answer_solve,
    "validate": answer_validate,
    "explain": answer_explain,
    "candidates": answer_candidates,
}
