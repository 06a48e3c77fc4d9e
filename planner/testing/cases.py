"""Cases: what a domain's author knows about a problem, checked by replaying plans and, on request, by solving."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from planner.model import Number, Problem
from planner.plan import Plan, Result, Status, Step
from planner.testing.builder import steps_from
from planner.validate import validate

PlanText = str | tuple[Step, ...] | Plan
"""A plan, its steps, or text with one step a line: `move(r2, hall, lab)`."""


@dataclass(frozen=True, slots=True)
class Case:
    """What is known about `problem`.

    `optimum` is the least cost of any plan, None where there is no plan. All of `valid` are plans, and at least one of
    them has that cost. Each of `invalid` is no plan, with a part of the reason that the plan checker gives.
    """

    name: str
    problem: Problem
    optimum: Number | None
    valid: tuple[PlanText, ...] = ()
    invalid: tuple[tuple[PlanText, str], ...] = field(default=())


def check_cases(cases: Iterable[Case], solve: Callable[[Problem], Result] | None = None) -> None:
    """Assert that every case is as its author says; all that is not is listed in one `AssertionError`.

    With `solve`, a function that answers with a proof, such as `partial(solve, mode="optimal")`, optima are proved too.
    """
    wrong = [f"{case.name}: {complaint}" for case in cases for complaint in complaints(case, solve)]
    if wrong:
        raise AssertionError("\n".join(wrong))


def complaints(case: Case, solve: Callable[[Problem], Result] | None = None) -> Iterator[str]:
    """Yield what is wrong with `case`."""
    costs = []
    for number, text in enumerate(case.valid, start=1):
        verdict = validate(case.problem, steps_of(text))
        if verdict.valid:
            costs.append(verdict.cost)
        else:
            yield f"valid plan {number} is not valid: {verdict.reason}"
    yield from _wrong_costs(case, costs)
    for number, (text, reason) in enumerate(case.invalid, start=1):
        verdict = validate(case.problem, steps_of(text))
        if verdict.valid:
            yield f"invalid plan {number} is valid"
        elif reason not in verdict.reason:
            yield f"invalid plan {number} fails because {verdict.reason!r}, not because {reason!r}"
    if solve is not None:
        yield from _wrong_answer(case, solve(case.problem))


def _wrong_costs(case: Case, costs: list[Number]) -> Iterator[str]:
    if case.optimum is None:
        if costs:
            yield f"it is said to have no plan, but one costs {min(costs)}"
    elif case.valid and costs and min(costs) != case.optimum:
        yield f"the optimum is said to be {case.optimum}, but the cheapest of its valid plans costs {min(costs)}"


def _wrong_answer(case: Case, result: Result) -> Iterator[str]:
    expected = Status.UNSOLVABLE if case.optimum is None else Status.OPTIMAL
    if result.status is not expected or result.cost != case.optimum:
        yield f"expected {expected.name} with cost {case.optimum}, but solving gave {result.describe()}"
    elif result.plan is not None:
        verdict = validate(case.problem, result.plan)
        if not verdict.valid:
            yield f"solving gave an invalid plan: {verdict.reason}"


def steps_of(text: PlanText) -> tuple[Step, ...]:
    """Return the steps of a plan in any of its forms."""
    match text:
        case str():
            return steps_from(text)
        case Plan(steps):
            return steps
        case steps:
            return steps
