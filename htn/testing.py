"""Test cases for domains: facts that an author knows about a hierarchical problem, checked by replay and by solving."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from htn import problem_kind
from htn.model import HtnProblem
from planner.lightweight import dataclass, replace
from planner.model import Number
from planner.plan import Plan, Status
from planner.semantics.simulation import bind_parameters
from planner.semantics.step_effects import cost_of
from planner.solve import solve
from planner.testing import doubt_invalid, doubt_valid, steps_from


@dataclass(frozen=True, slots=True)
class HtnCase:
    """What is known about `problem`.

    `optimum` is the least cost of any plan, None where there is no plan. All of `valid`, texts with a step
    `move(r2, hall)` a line, are plans of some decomposition, and at least one of them has that cost. Each of `invalid`
    is no plan, with a part of the reason that the checker gives.
    """

    name: str
    problem: HtnProblem
    optimum: Number | None
    valid: tuple[str, ...] = ()
    invalid: tuple[tuple[str, str], ...] = ()


def check_cases(cases: Iterable[HtnCase]) -> None:
    """Assert that every case is as its author says; all that is not is listed in one `AssertionError`."""
    wrong = [f"{case.name}: {complaint}" for case in cases for complaint in complaints(case)]
    if wrong:
        raise AssertionError("\n".join(wrong))


def complaints(case: HtnCase) -> Iterator[str]:
    """Yield what is wrong with `case`; the optimum is proved by solving, without a limit."""
    found = [problem_kind.validate(case.problem, plan_of(case.problem, text)) for text in case.valid]
    yield from doubt_valid(found)
    costs = [each.cost for each in found if each.valid]
    if case.valid and costs and min(costs) != case.optimum:
        yield f"the optimum is said to be {case.optimum}, but the cheapest of its valid plans costs {min(costs)}"
    broken = [
        (problem_kind.validate(case.problem, plan_of(case.problem, text)), reason) for text, reason in case.invalid
    ]
    yield from doubt_invalid(broken)
    result = solve(case.problem, time_limit=None)
    expected = Status.UNSOLVABLE if case.optimum is None else Status.OPTIMAL
    if result.status is not expected or result.cost != case.optimum:
        yield f"expected {expected.name} with cost {case.optimum}, but solving gave {result.describe()}"


def plan_of(problem: HtnProblem, text: str) -> Plan:
    """Return the plan without decomposition that `text` gives, with the costs of its actions."""
    actions = problem.classical.domain.actions
    steps = steps_from(text)
    priced = [
        replace(
            step, cost=cost_of(problem.classical, actions[step.action], bind_parameters(actions[step.action], step))
        )
        for step in steps
    ]
    return Plan(tuple(priced), problem)
