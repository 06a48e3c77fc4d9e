"""What is known about the small problems: the most net benefit, plans, and plans that fail, with the reason."""

from decimal import Decimal

from domains.outing.instances import afternoon, stroll
from planner.testing import Case

GARDEN = """
walk(hotel, garden)
visit(garden)
walk(garden, hotel)
"""

MEAL = """
walk(hotel, bistro)
eat(bistro)
walk(bistro, hotel)
"""

GALLERY = """
walk(hotel, bistro)
eat(bistro)
walk(bistro, gallery)
visit(gallery)
walk(gallery, bistro)
walk(bistro, hotel)
"""

TOWER = """
ride(hotel, market)
walk(market, tower)
visit(tower)
walk(tower, market)
walk(market, gallery)
walk(gallery, bistro)
eat(bistro)
walk(bistro, gallery)
visit(gallery)
walk(gallery, bistro)
walk(bistro, hotel)
"""

CASES = (
    Case(
        "stroll",
        stroll(),
        3,
        valid=(GARDEN + MEAL, MEAL),
        invalid=(
            (GARDEN + MEAL.replace("eat(bistro)", ""), "the goal requires fed"),
            (MEAL.replace("walk(bistro, hotel)", "walk(bistro, gallery)\nvisit(gallery)"), "at(hotel)"),
        ),
    ),
    Case(
        "afternoon",
        afternoon(),
        4,
        valid=(GARDEN + GALLERY, GALLERY, MEAL),
        invalid=(
            (GALLERY.replace("eat(bistro)", "") + MEAL, "before"),
            (GALLERY.replace("visit(gallery)", "walk(gallery, market)\nwalk(market, tower)\nvisit(tower)"), "after"),
            (TOWER, "the plan uses 26 of money, and the budget is 25"),
        ),
        proved=False,
    ),
    Case(
        "there is money for the tram",
        afternoon(money=26),
        Decimal("4.5"),
        valid=(TOWER, GARDEN + GALLERY),
        invalid=((GARDEN + TOWER, "18000"), ("ride(hotel, market)\nride(market, hotel)" + TOWER, "at most 2 times")),
        proved=False,
    ),
    Case("there is no money for a meal", stroll(money=8), None, invalid=((GARDEN + MEAL, "money"),)),
)
