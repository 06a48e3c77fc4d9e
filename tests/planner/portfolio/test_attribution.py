"""History and statistics credit each plan to the search that found it."""

from __future__ import annotations

from typing import Any

import pytest

from planner import Domain, load, solve
from planner.jit import slots_kernel as slot
from planner.plan import Result, Status
from planner.portfolio.workplace import Workplace
from planner.search.astar_compiled import CompiledAstar
from planner.search.best_first_compiled import BestFirst
from planner.search.search_run import Run, Steps


class Watch:
    """The search whose code runs, and which search found each plan."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.at_work = ""
        self.found: list[str] = []
        self._patch = patch
        report = Run.report_plan

        def note(run: Run, plan: list[int], cost: int, *by: Any) -> None:
            if cost < run.limit and self.at_work:
                self.found.append(self.at_work)
            report(run, plan, cost, *by)

        patch.setattr(Run, "report_plan", note)

    def follow(self, owner: type, method: str, name: Any) -> None:
        """Note that `name` is at work while steps of this `method` run; a function gets the search and its options."""
        original = getattr(owner, method)

        def steps(search: Any, *args: Any, **options: Any) -> Steps:
            inner = original(search, *args, **options)
            called = name(search, *args) if callable(name) else name
            while True:
                before, self.at_work = self.at_work, called
                try:
                    next(inner)
                except StopIteration as stop:
                    return stop.value  # type: ignore[no-any-return]
                finally:
                    self.at_work = before
                yield

        self._patch.setattr(owner, method, steps)


@pytest.fixture
def watch(monkeypatch: pytest.MonkeyPatch) -> Watch:
    made = Watch(monkeypatch)

    def name_numeric(search: Any, *_: Any) -> str:
        if search._board.numeric is None:
            return made.at_work
        return "astar" if search._number[slot.WEIGHT] == 1 else "weighted astar"

    made.follow(BestFirst, "steps", "numeric")
    made.follow(CompiledAstar, "steps", name_numeric)
    made.follow(Workplace, "search", lambda _, name, *__: name)
    made.follow(Workplace, "try_relaxed_plans", "unbinding")
    made.follow(Workplace, "look_ahead", "lookahead")
    made.follow(Workplace, "improve_windows", "windows")
    return made


def credited(result: Result) -> list[str]:
    """Return the search that each new plan of the history is credited to."""
    costs: list[Any] = []
    searches = []
    for each in result.history.milestones:
        if each.cost is not None and each.cost not in costs:
            costs.append(each.cost)
            searches.append(each.search)
    return searches


STORE = Domain("store")
STORE.function("count")
STORE.function("spare")
STORE.action("add", requires=["count <= 40"], modifies=["count += 3"], cost=2)
STORE.action("swap", requires=["count >= 1", "spare <= 9"], modifies=["count -= 1", "spare += 1"], cost=1)
STORE.action("fill", modifies=["spare += 5"], cost=3)


@pytest.mark.parametrize("goal", [8, 11, 20, 37])
@pytest.mark.parametrize("mode", ["first", "anytime"])
def test_numeric_plans_are_credited_to_their_searches(watch: Watch, mode: str, goal: int) -> None:
    problem = STORE.problem(values={"count": 0, "spare": 0}, goal=[f"count == {goal}", "spare >= 4"])
    result = solve(problem, mode=mode, time_limit=60)
    assert watch.found
    assert credited(result)[0] == watch.found[0]
    assert set(credited(result)) <= set(watch.found)
    if result.status is Status.SOLVED:
        assert result.statistics.search == watch.found[-1]


@pytest.mark.parametrize("mode", ["first", "anytime", "optimal"])
@pytest.mark.parametrize(("domain", "name"), [("courier", "two-robots"), ("stacking", "swap")])
def test_classical_plans_are_credited_to_their_searches(watch: Watch, mode: str, domain: str, name: str) -> None:
    result = solve(load(domain, name), mode=mode, time_limit=60)
    assert credited(result) == watch.found
    if result.status is Status.SOLVED:
        assert result.statistics.search == watch.found[-1]


def test_the_search_for_a_first_plan_begins_before_symmetries_are_found(
    watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[bool] = []

    def find_none(*_: Any) -> None:
        begun.append(bool(watch.found))

    monkeypatch.setattr("planner.pruning.numeric_symmetries.find_numeric_orbits", find_none)
    result = solve(STORE.problem(values={"count": 0, "spare": 0}, goal=["count == 3", "spare >= 4"]), time_limit=60)
    assert result.status is Status.OPTIMAL
    assert begun == [True]
