"""Patches and mended plans where a metric of numbers prices steps, or steps draw on resources beside numbers."""

from __future__ import annotations

from typing import Any

from planner import Domain, Status, Step, mend, patch, validate
from planner.model import Problem

GO, REFUEL, DROP = Step("go", ("home", "shop")), Step("refuel"), Step("drop", ("shop",))


def declare(**more: Any) -> Problem:
    """Return a problem whose tank is nearly empty, so that the last steps of a plan do not work from the beginning."""
    domain = Domain("courier", types=["place"])
    domain.function("fuel", low=0)
    domain.function("profit", high=20)
    domain.function("drain", "place", "place")
    domain.action("refuel", modifies="fuel += 4")
    domain.action(
        "go",
        {"a": "place", "b": "place"},
        requires=["at(a)"],
        provides=["at(b)"],
        modifies=["at(_)", "fuel -= 2"],
        uses={"power": "drain(a, b)"},
    )
    domain.action("drop", {"b": "place"}, requires=["at(b)", "sells(b)"], provides=["delivered"])
    domain.action("advertise", requires=["not known"], provides=["known"], modifies="profit += 3")
    values = {"fuel": 1, "profit": 0, "drain(home, shop)": 3}
    return domain.problem(
        objects={"home": "place", "shop": "place"},
        initial=["at(home)", "sells(shop)"],
        values=values,
        goal=["delivered"],
        **more,
    )


def test_steps_of_a_patch_are_priced_where_they_are_taken() -> None:
    problem = declare(metric="minimize total-cost - fuel")
    found = patch(problem, [REFUEL, GO, DROP])
    assert found.steps is not None
    verdict = validate(problem, found.steps)
    assert verdict.valid
    assert (verdict.cost, [step.cost for step in found.steps][-2:]) == (found.cost, [3, 1])


def test_a_patch_that_changes_nothing_of_the_metric_is_not_called_the_best() -> None:
    problem = declare(metric="maximize profit")
    found = patch(problem, [REFUEL, GO, DROP])
    assert found.status is not Status.OPTIMAL or found.cost == -3


def test_kept_steps_draw_on_resources_beside_numbers() -> None:
    problem = declare(budgets={"power": 5})
    found = mend(problem, [GO, DROP])
    assert found.steps is not None
    assert validate(problem, found.steps).valid
    assert found.kept == (0, 1)
    poor = mend(declare(budgets={"power": 2}), [GO, DROP])
    assert poor.steps is None
