"""An error inside one search ends that search only, and the history names both; all searches failing is an error."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from timed_domains import letters

from htn.search.progression import Progression
from planner import Domain, load, solve
from planner.plan import Progress, Result, SearchFailure, Status
from planner.portfolio.temporal_portfolio import _TemporalPortfolio
from planner.portfolio.tiers import Contender, contain_errors, take_turns
from planner.portfolio.workplace import Workplace
from planner.scheduling.landmark_steps import NO_LANDMARKS
from planner.search import REGISTRY
from planner.search.astar_compiled import CompiledAstar
from planner.search.best_first_compiled import BestFirst
from planner.search.search_run import Ending, Run, Steps
from planner.validation.validate import check_steps

pytestmark = pytest.mark.contained_errors


class Broken(Exception):
    """The bug."""


def fail(*_: Any, **__: Any) -> Iterator[None]:
    yield
    raise Broken("for a test")


def succeed() -> Steps:
    yield
    return Ending.EXHAUSTED


def check_plan(result: Result) -> None:
    plan = result.expect_plan()
    assert check_steps(plan.problem, plan).valid


def failed_searches(result: Result) -> set[str]:
    assert all(
        "Broken: for a test (" in each.error and "test_failed_searches" in each.error for each in failures(result)
    )
    return {each.search for each in failures(result)}


def failures(result: Result) -> tuple[SearchFailure, ...]:
    return result.history.failures


def test_others_go_on_when_a_search_fails() -> None:
    run = Run(failures=[])
    steps = take_turns([Contender(fail(), 1, by=("one", "")), Contender(succeed(), 1, by=("other", ""))], run)
    assert finish(steps) is Ending.EXHAUSTED
    assert run.failures is not None
    assert [(each.search, each.error.split(" (")[0]) for each in run.failures] == [("one", "Broken: for a test")]


def finish(steps: Steps) -> Any:
    while True:
        try:
            next(steps)
        except StopIteration as stop:
            return stop.value


def test_the_error_is_raised_when_all_searches_fail() -> None:
    run = Run(failures=[])
    inner = take_turns([Contender(fail(), 1, by=("one", "")), Contender(fail(), 1, by=("two", ""))], run)
    with pytest.raises(Broken):
        finish(take_turns([Contender(inner, 1, by=("outer", ""))], run))
    assert run.failures is not None
    assert [each.search for each in run.failures] == ["one", "two"]


def test_errors_are_raised_where_nothing_tells_of_them() -> None:
    with pytest.raises(Broken):
        finish(take_turns([Contender(fail(), 1), Contender(succeed(), 1)], Run()))


def test_lack_of_memory_is_a_limit_and_no_failure() -> None:
    def exhaust() -> Steps:
        yield
        raise MemoryError

    run = Run(failures=[])
    with pytest.raises(MemoryError):
        finish(take_turns([Contender(exhaust(), 1), Contender(succeed(), 1)], run))
    assert run.failures == []


def test_optional_work_may_fail() -> None:
    run = Run(failures=[], by=("h2", ""))
    assert finish(contain_errors(fail(), run)) is None
    assert run.failures is not None
    assert run.failures[0].search == "h2"


@pytest.mark.parametrize("name", ["astar", "greedy", "uniform"])
@pytest.mark.parametrize("mode", ["anytime", "first", "optimal"])
def test_classical_search_goes_on(monkeypatch: pytest.MonkeyPatch, name: str, mode: str) -> None:
    search = Workplace.search

    def break_one(self: Workplace, which: str, heuristic: str | None = None, **options: Any) -> Steps:
        if which != name:
            return (yield from search(self, which, heuristic, **options))
        self.run.by = which, heuristic or ""
        yield from fail()
        return Ending.INCOMPLETE

    monkeypatch.setattr(Workplace, "search", break_one)
    result = solve(load("courier", "two-robots"), mode=mode, time_limit=60)
    check_plan(result)
    assert failed_searches(result) <= {name}
    if mode != "first":
        assert result.status is Status.OPTIMAL


def test_h2_may_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("planner.portfolio.portfolio.PATIENCE", 0.0)
    monkeypatch.setattr("planner.portfolio.portfolio.PATIENCE_FOR_ACTION", 0.0)
    monkeypatch.setattr(Workplace, "prune_by_h2", fail)
    result = solve(load("courier", "two-robots"), mode="optimal", time_limit=60)
    assert result.status is Status.OPTIMAL
    assert "h2" in failed_searches(result)


def test_one_failed_search_alone_raises_its_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(REGISTRY, "breadth", replace(REGISTRY["breadth"], search=fail))
    with pytest.raises(Broken):
        solve(load("courier", "two-robots"), search="breadth", plain=True)


def test_a_plan_is_returned_when_all_searches_fail_after_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("planner.portfolio.portfolio.PORTFOLIOS", {})
    portfolio = "planner.portfolio.select_search.run_portfolio"

    def find_and_fail(_: str, workplace: Workplace) -> Steps:
        yield from workplace.search("greedy")
        yield from fail()
        return Ending.INCOMPLETE

    monkeypatch.setattr(portfolio, find_and_fail)
    result = solve(load("courier", "two-robots"), time_limit=60)
    check_plan(result)
    assert (result.status, failed_searches(result)) == (Status.SOLVED, {"greedy"})
    assert "greedy with hff failed: Broken: for a test" in result.describe()


COUNTER = Domain("counter")
COUNTER.function("count")
COUNTER.action("add", requires=["count <= 20"], modifies=["count += 3"])
COUNTER.action("drop", requires=["count >= 1"], modifies=["count -= 1"])


@pytest.mark.parametrize("broken", [CompiledAstar, BestFirst])
def test_numeric_search_goes_on(monkeypatch: pytest.MonkeyPatch, broken: type) -> None:
    monkeypatch.setattr(broken, "steps", fail)
    result = solve(COUNTER.problem(values={"count": 0}, goal=["count == 8"]), time_limit=60)
    check_plan(result)
    assert failed_searches(result) <= {"astar", "weighted astar", "numeric"}
    assert failures(result)


MEMBERS = {
    "decision epochs": "_search_epochs",
    "sequence": "_search_sequences",
    "proof": "_prove",
    "h2": "_exclude_plans",
    "rescheduling": "_reschedule",
}


@pytest.mark.parametrize("name", MEMBERS)
def test_search_in_time_goes_on(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    def break_down(*_: Any) -> None:
        raise Broken("for a test")

    monkeypatch.setattr(_TemporalPortfolio, "_schedule_landmarks", lambda *_: NO_LANDMARKS)
    monkeypatch.setattr(_TemporalPortfolio, MEMBERS[name], break_down if name == "rescheduling" else fail)
    result = solve(letters((9, 12, 30), desks=2), time_limit=5)
    check_plan(result)
    assert failed_searches(result) <= {name}
    if name in ("decision epochs", "rescheduling"):
        assert failed_searches(result) == {name}


def test_search_in_time_fails_when_all_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_TemporalPortfolio, "_schedule_landmarks", lambda *_: NO_LANDMARKS)
    for name in ("_search_epochs", "_search_sequences", "_prove", "_exclude_plans", "_schedule_sequences"):
        monkeypatch.setattr(_TemporalPortfolio, name, fail)
    with pytest.raises(Broken):
        solve(letters((9, 12, 30), desks=2), time_limit=60)


def test_decomposition_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = Progression.steps

    def break_first(self: Progression, run: Run, **options: Any) -> Steps:
        return fail() if options.get("first") else steps(self, run, **options)  # type: ignore[return-value]

    monkeypatch.setattr(Progression, "steps", break_first)
    result = solve(load("incident"), time_limit=20)
    assert result.has_plan


@pytest.mark.parametrize("problem", ["classical", "numeric", "in time"])
def test_errors_of_the_callback_end_all_searches(problem: str) -> None:
    problems: dict[str, Callable[[], Any]] = {
        "classical": lambda: load("courier", "two-robots"),
        "numeric": lambda: COUNTER.problem(values={"count": 0}, goal=["count == 8"]),
        "in time": lambda: letters((9, 12, 30), desks=2),
    }

    def tell(_: Progress) -> None:
        raise Broken("for a test")

    with pytest.raises(Broken):
        solve(problems[problem](), time_limit=60, on_progress=tell)


def test_an_invalid_plan_is_taken_back(monkeypatch: pytest.MonkeyPatch) -> None:
    def find_nothing(self: Workplace) -> Steps:
        self.run.by = "windows", "hff"
        self.run.report_plan([], 0)
        yield
        return Ending.INCOMPLETE

    monkeypatch.setattr(Workplace, "try_relaxed_plans", find_nothing)
    result = solve(load("courier", "two-robots"), time_limit=60, on_progress=lambda _: None)
    check_plan(result)
    assert result.status is Status.OPTIMAL
    assert "not valid" in failures(result)[0].error
