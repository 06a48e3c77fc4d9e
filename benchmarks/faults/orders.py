"""A domain in which money moves: irreversible steps with reversible siblings, approvals, and goals over all objects."""

from __future__ import annotations

from functools import cache
from typing import Final

from planner.declare import Domain, Entity
from planner.model import Problem


class Order(Entity):
    """What somebody has bought."""


class Shelf(Entity):
    """Where the goods of an order wait."""


PROBLEMS: Final = {
    "siblings": ((1, 1), ["charged(o1)", "at(o1, s1)", "checked(s1)"]),
    "shipped": ((1, 1), ["thanked(o1)", "checked(s1)"]),
    "two": ((2, 1), ["charged(o1)", "charged(o2)", "at(o1, s1)", "at(o2, s1)"]),
    "shelves": ((1, 2), ["charged(o1)", "at(o1, s2)", "(forall (?s - Shelf) (checked ?s))"]),
}
"""The numbers of orders and shelves, and the goal, of each problem."""


@cache
def orders(name: str) -> Problem:
    """Return the problem `name` of `PROBLEMS`."""
    (orders, shelves), goal = PROBLEMS[name]
    objects: dict[str, type[Entity]] = {f"o{number}": Order for number in range(1, orders + 1)}
    objects |= {f"s{number}": Shelf for number in range(1, shelves + 1)}
    return _domain().problem(name, objects=objects, goal=goal)


@cache
def _domain() -> Domain:
    domain = Domain("orders", description="Reserve goods, put them on a shelf, charge for them and ship them.")
    order, there = {"order": Order}, {"order": Order, "shelf": Shelf}
    domain.action("reserve", order, provides=["reserved(order)"])
    domain.action("release", order, requires=["reserved(order)"], provides=["not reserved(order)"])
    domain.action(
        "place",
        there,
        requires=["reserved(order)"],
        provides=["at(order, shelf)"],
        modifies=["at(order, _)"],
        tags=["needs_approval"],
    )
    domain.action("take_back", there, requires=["at(order, shelf)"], provides=["not at(order, shelf)"])
    domain.action("check", {"shelf": Shelf}, provides=["checked(shelf)"])
    domain.action("uncheck", {"shelf": Shelf}, requires=["checked(shelf)"], provides=["not checked(shelf)"])
    domain.action(
        "charge",
        order,
        requires=["reserved(order)", "not charged(order)"],
        provides=["charged(order)"],
        tags=["irreversible", "needs_approval"],
    )
    domain.action("refund", order, requires=["charged(order)"], provides=["not charged(order)"], tags=["irreversible"])
    domain.action(
        "ship",
        there,
        requires=["charged(order)", "at(order, shelf)"],
        provides=["shipped(order)"],
        tags=["irreversible"],
    )
    domain.action("thank", order, requires=["shipped(order)"], provides=["thanked(order)"])
    return domain
