"""Patches of plans of tasks beside steps that are running: these stay, and are not taken again."""

from __future__ import annotations

import pytest

from htn.language.declare import Methods
from planner import Domain, PlanError, Status, Step, patch, validate


def declare() -> Methods:
    domain = Domain("kitchen")
    domain.action("boil", provides=["hot"], duration=2, cost=3)
    domain.action("heat", provides=["hot"], duration=1)
    domain.action("brew", requires=["hot"], provides=["tea"], duration=1)
    domain.action("pour", requires=["tea"], provides=["served"], duration=1)
    how = Methods(domain)
    how.task("make")
    how.method("boiled", {}, task="make", subtasks=["boil", "brew"])
    how.method("heated", {}, task="make", subtasks=["heat", "brew"])
    return how


@pytest.mark.parametrize("more", [{}, {"deadline": 20}, {"objective": "makespan"}])
@pytest.mark.parametrize("weight", [0, 2])
def test_a_running_step_stays_and_is_not_taken_again(more, weight) -> None:
    problem = declare().problem(tasks=["make", "pour"], **more)
    old = [Step("brew"), Step("pour")]
    found = patch(problem, old, fixed=[Step("boil")], weight=weight, time_limit=10)
    assert found.status in (Status.OPTIMAL, Status.SOLVED), found.reason
    assert (list(map(str, found.steps)), found.new, found.kept, found.dropped) == (["brew()", "pour()"], 0, 2, 0)
    assert [step.action for step in found.plan.steps] == ["boil", "brew", "pour"]
    assert validate(problem, found.plan).valid
    if not more:
        assert (found.status, found.cost, found.objective) == (Status.OPTIMAL, 2, 2)


def test_what_is_running_decides_on_the_method() -> None:
    problem = declare().problem(tasks=["make"])
    assert [step.action for step in patch(problem, [], time_limit=10).steps] == ["heat", "brew"]
    found = patch(problem, [], fixed=[Step("boil")], time_limit=10)
    assert ([step.action for step in found.steps], found.cost) == (["brew"], 1)


def test_steps_that_no_decomposition_begins_with_have_no_patch() -> None:
    problem = declare().problem(tasks=["make"], initial=["tea"])
    found = patch(problem, [Step("brew")], fixed=[Step("pour")], time_limit=10)
    assert (found.status, found.steps) == (Status.UNSOLVABLE, None)
    assert "running" in found.reason
    with pytest.raises(PlanError, match="cannot be running"):
        patch(problem, [], fixed=[Step("fly")])


def test_others_that_are_not_to_come_first_are_refused_beside_running_steps() -> None:
    found = patch(declare().problem(tasks=["make"]), [], fixed=[Step("boil")], not_first=[Step("brew")])
    assert found.status is Status.UNSUPPORTED
    assert "initial state" in found.reason
