"""Wishes of tasks beside a metric of numbers: the best plan by both, as an enumeration finds it."""

from __future__ import annotations

import pytest
from pairs.enumeration import optimum
from pairs.services import Case, Kind, judge

from htn.language.declare import Methods
from planner import Domain, Status, solve, validate

WISHES = ("soft_goals", "soft_constraints")
TASKS = ("tasks_total", "tasks_partial")


@pytest.mark.parametrize("tasks", TASKS)
@pytest.mark.parametrize("metric", ["minimized", "maximized"])
@pytest.mark.parametrize("wishes", WISHES)
def test_the_best_plan_is_that_of_the_enumeration(wishes: str, metric: str, tasks: str) -> None:
    case = Case((wishes, metric, tasks), 10)
    assert optimum(case.problem) is not None
    verdict = judge("solve", case)
    assert verdict.kind in (Kind.PROVED, Kind.RIGHT), verdict.reason


@pytest.mark.parametrize(("utility", "names"), [(5, ["dig", "dig", "rest"]), (1, ["dig", "dig"])])
def test_a_wish_is_weighed_against_the_numbers(utility: int, names: list[str]) -> None:
    mine = Domain("mine")
    mine.function("gold", low=0, high=9)
    mine.action("dig", modifies=["gold += 1"])
    mine.action("rest", requires=["gold >= 1"], provides=["rested"], modifies=["gold -= 1"])
    how = Methods(mine)
    how.task("day")
    how.method("short", {}, task="day", subtasks=["dig", "dig"])
    how.method("long", {}, task="day", subtasks=["dig", "dig", "rest"])
    wish = {"hard": [], "soft": {"rested": utility}}
    problem = how.problem(tasks=["day"], values={"gold": 0}, goal=wish, metric="maximize 2 * gold")
    found = solve(problem, time_limit=10)
    assert (found.status, [step.action for step in found.plan.steps]) == (Status.OPTIMAL, names)
    assert validate(problem, found.plan).valid
    assert len(found.plan.forgone) == (utility == 1)
