"""Long plans: written, read, checked and drawn with work in proportion to their length."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest
from htn_towers import tower_plan

from htn.language.plan_drawing import draw_tree
from htn.language.plan_text import read_plan, write_plan
from htn.verification.plan_verification import check_thoroughly, complete_bindings, validate
from planner.plan import Plan

SHORT, LONG = 6, 9


def calls(work: Callable[[], object]) -> int:
    """How many functions `work` calls."""
    number = 0

    def count(_frame: object, event: str, _argument: object) -> None:
        nonlocal number
        number += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(None)
    return number


WORK: dict[str, Callable[[Plan], object]] = {
    "write": write_plan,
    "read": lambda plan: read_plan(write_plan(plan), plan.problem),
    "check": lambda plan: validate(plan.problem, plan),
    "check thoroughly": lambda plan: check_thoroughly(plan.problem, plan),
    "draw": lambda plan: draw_tree(plan, depth=None),
}


@pytest.mark.parametrize("bound", [True, False])
@pytest.mark.parametrize("name", WORK)
def test_work_grows_with_the_length_of_the_plan(name: str, bound: bool) -> None:
    work = WORK[name]
    short, long = tower_plan(SHORT, bound=bound), tower_plan(LONG, bound=bound)
    assert validate(long.problem, long).valid
    assert calls(lambda: work(long)) < 1.1 * 2 ** (LONG - SHORT) * calls(lambda: work(short))


def test_long_plans_come_back_as_they_were() -> None:
    plan = tower_plan(10)
    assert validate(plan.problem, plan).valid
    again = read_plan(write_plan(plan), plan.problem)
    assert again.steps == plan.steps
    assert validate(plan.problem, again).cost == 2**10 - 1
    bound = complete_bindings(plan.problem, again)
    assert bound.tree.nodes[bound.tree.roots[0]].binding == plan.tree.nodes[0].binding
    assert len(draw_tree(plan, depth=None).splitlines()) == len(plan.tree.nodes) + 1
