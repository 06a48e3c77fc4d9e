"""Plans in time from the cache: with their times, for problems of the same shape only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from htn.language.declare import Methods
from htn.model import HtnProblem
from planner import Domain, Status, solve, validate
from planner.model import Problem
from planner.reuse.plan_cache import PlanCache
from planner.reuse.problem_shapes import shape_of


def make_shop(wait: int = 2) -> Domain:
    shop = Domain("shop", types=["part"])
    shop.predicate("lit")
    shop.action("fetch", {"what": "part"}, provides=["got(what)"], cost=2, duration=2, holds={"hands": 1})
    shop.action("wait", requires=["lit"], provides=["seen"], duration=wait, throughout=["lit"])
    return shop


def ask(left: str = "left", domain: Domain | None = None, **more: Any) -> Problem:
    given = {
        "objects": {left: "part", "right": "part"},
        "goal": [f"got({left})", "got(right)", "seen"],
        "windows": {"lit": "3..30"},
        "capacity": {"hands": 1},
        "metric": "makespan",
    }
    return (domain or make_shop()).problem(**{**given, **more})


@pytest.mark.parametrize("path", [None, "plans.db"])
def test_a_plan_in_time_is_kept_with_its_times(path: str | None, tmp_path: Any) -> None:
    file = None if path is None else tmp_path / path
    first = PlanCache(file) if file else PlanCache()
    found = first.solve(ask(), time_limit=30)
    first = PlanCache(file) if file else first
    again = first.solve(ask("top"), time_limit=30)
    assert again.statistics.search == "cache"
    assert found.status is again.status is Status.OPTIMAL
    assert found.plan is not None
    assert again.plan is not None
    assert again.plan.times == found.plan.times
    assert (again.plan.charge, again.lower_bound) == (found.plan.charge, found.lower_bound)
    assert {step.arguments for step in again.plan.steps} == {("top",), ("right",), ()}
    assert validate(ask("top"), again.plan).valid


OTHERS = {
    "the window": {"windows": {"lit": "5..30"}},
    "the capacity": {"capacity": {"hands": 2}},
    "a deadline": {"due": {"got(right)": 3}},
    "the deadline": {"deadline": 90},
    "the duration": {"domain": make_shop(3)},
    "the metric": {"metric": "cost"},
}


@pytest.mark.parametrize("what", OTHERS)
def test_problems_that_differ_in_time_have_other_shapes(what: str) -> None:
    assert shape_of(ask(**OTHERS[what])).text != shape_of(ask()).text


def test_the_window_of_another_object_is_another_shape() -> None:
    def make(dark: str) -> Problem:
        domain = Domain("hall", types=["room"])
        domain.action("sweep", {"room": "room"}, requires=["lit(room)"], provides=["clean(room)"], duration=2)
        rooms = {"lab": "room", "bath": "room"}
        return domain.problem(objects=rooms, goal=["clean(lab)"], windows={f"lit({dark})": "3..9"})

    cache = PlanCache()
    assert cache.solve(make("lab")).status is Status.OPTIMAL
    assert cache.solve(make("bath")).status is solve(make("bath")).status is Status.UNSOLVABLE


def test_plans_in_time_are_not_adapted() -> None:
    cache = PlanCache()
    cache.solve(ask(), mode="first", time_limit=30)
    cache.solve(ask(windows={"lit": "6..30"}), mode="first", time_limit=30)
    assert (cache.savings.hits, cache.savings.adapted, cache.savings.misses) == (0, 0, 2)


def make_tasks() -> HtnProblem:
    hall = Domain("hall")
    hall.action("sweep", provides=["swept"], duration=2)
    hall.action("mop", requires=["swept"], provides=["clean"], duration=3)
    how = Methods(hall)
    how.task("tidy")
    how.method("thoroughly", task="tidy", subtasks=["sweep", "mop"])
    return how.problem(tasks=["tidy"], metric="makespan")


@pytest.mark.parametrize("make", [make_tasks, lambda: ask(unknown=["got(left)"])])
def test_an_equal_problem_gets_the_answer_again(make: Callable[[], Any]) -> None:
    cache = PlanCache()
    first, again = cache.solve(make(), time_limit=20), cache.solve(make(), time_limit=20)
    assert (first.status, first.plan, first.lower_bound) == (again.status, again.plan, again.lower_bound)
    assert again.plan is not None
    assert (cache.savings.hits, cache.savings.misses) == (1, 1)
    assert validate(make(), again.plan).valid
