"""What `solve` will refuse, `check` says before, in the same words."""

from __future__ import annotations

from planner import Domain, Status, solve
from planner.limits import Limits
from planner.lint.findings import Finding
from planner.lint.problem_lint import check_problem
from planner.model.problem import Problem


def make_shop(budget: int | None = None) -> Problem:
    """Return a problem with numbers in which a purchase uses money, by a Python function."""
    domain = Domain("shop", types=["item"])
    domain.function("stock", low=0)
    domain.action(
        "buy", {"x": "item"}, provides=["has(x)"], modifies=["stock -= 1"], uses={"money": lambda x: 1 + len(x)}
    )
    budgets = {} if budget is None else {"money": budget}
    return domain.problem(objects={"pen": "item"}, initial=["stock = 2"], goal=["has(pen)"], budgets=budgets)


def find_refusals(problem: Problem) -> list[Finding]:
    return [each for each in check_problem(problem, Limits(20)) if each.rule == "refused"]


def test_what_solve_refuses_is_a_finding():
    problem = make_shop(9)
    result = solve(problem)
    assert result.status is Status.UNSUPPORTED
    (found,) = find_refusals(problem)
    assert found.message == f"solve refuses it: {result.reason}"


def test_what_solve_takes_is_no_finding():
    assert solve(make_shop()).status is Status.OPTIMAL
    assert not find_refusals(make_shop())
