"""A day out in a city: more sights than there is time and money for, and people with wishes.

Declared in YAML. What it shows: soft goals and wishes about the way, each worth something, constraints that hold
whatever they cost, a budget on money, and a deadline on plans whose steps take time.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from decimal import Decimal
from functools import cache, partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from planner.language.declare import Domain, at_most, before, done, never, never_after, sometime
from planner.language.documents import read_documents
from planner.language.loading.load import LazyProblems
from planner.model import DomainModel, Problem

if TYPE_CHECKING:
    from planner.testing import Case


HOUR = 3600
Ways = Mapping[tuple[str, str], int]
"""The effort of walking between two places, either way."""


@cache
def domain() -> DomainModel:
    """Return the domain."""
    (found,) = read_documents(Path(__file__).with_name("domain.yaml")).classical_domains
    return found


def problems() -> Mapping[str, Problem]:
    """Return the shipped problems by name, from easy to hard; each is made when it is looked up."""
    return LazyProblems(
        {
            "stroll": stroll,
            "afternoon": afternoon,
            "day": partial(generate, 1, 6),
            "long-day": partial(generate, 2, 9),
            "weekend": partial(generate, 3, 14),
            "long-weekend": partial(generate, 4, 20),
        }
    )


def outing(
    name: str,
    ways: Ways,
    *,
    kinds: Mapping[str, str],
    prices: Mapping[str, int],
    home: str,
    lines: Iterable[tuple[str, str]] = (),
    wishes: Mapping[str, int],
    **more: Any,
) -> Problem:
    """Return the problem to have a meal, be back home, and see sights that are worth so much to those who go.

    `kinds` are those of the places, `prices` what it costs to go in; it costs nothing where none is said.
    """
    both = {(a, b): effort for one, effort in ways.items() for a, b in (one, one[::-1])}
    paid = {place: 0 for place, kind in kinds.items() if kind not in ("place", "stop")}
    return Domain.of(domain()).problem(
        name,
        objects=dict(kinds),
        initial=[
            f"at({home})",
            *[f"way({a}, {b})" for a, b in both],
            *[f"line({a}, {b})" for one in lines for a, b in (one, one[::-1])],
        ],
        goal={"hard": ["fed", f"at({home})"], "soft": {f"seen({sight})": worth for sight, worth in wishes.items()}},
        values={
            **{f"effort({a}, {b})": effort for (a, b), effort in both.items()},
            **{f"price({place})": price for place, price in {**paid, **prices}.items()},
        },
        **more,
    )


CITY: Ways = {
    ("hotel", "bistro"): 1,
    ("hotel", "garden"): 2,
    ("bistro", "gallery"): 2,
    ("market", "tower"): 1,
    ("market", "gallery"): 1,
}
KINDS = {
    "hotel": "stop",
    "market": "stop",
    "bistro": "kitchen",
    "garden": "sight",
    "tower": "sight",
    "gallery": "museum",
}
PRICES = {"bistro": 9, "tower": 8, "gallery": 6}


def stroll(*, money: int = 12) -> Problem:
    """Return the smallest outing: a meal, and a garden that is worth the way, unless there is no `money` for the meal.

    The gallery is not worth what it costs to get there.
    """
    return outing(
        "stroll",
        {way: CITY[way] for way in [("hotel", "bistro"), ("hotel", "garden"), ("bistro", "gallery")]},
        kinds={place: KINDS[place] for place in ("hotel", "bistro", "garden", "gallery")},
        prices={"bistro": 9, "gallery": 3},
        home="hotel",
        wishes={"garden": 10, "gallery": 4},
        budgets={"money": money},
    )


def afternoon(*, money: int = 25) -> Problem:
    """Return an outing of two, one of whom does not like trams.

    The tower is to be seen before the meal, and the gallery after it.
    """
    return outing(
        "afternoon",
        CITY,
        kinds=KINDS,
        prices=PRICES,
        home="hotel",
        lines=[("hotel", "market")],
        wishes={"garden": 6, "tower": 9, "gallery": 8},
        constraints=[
            before("fed", "seen(gallery)"),
            never_after(done("visit(tower)"), "fed"),
            at_most(2, done("ride")),
            never(done("ride"), utility=2),
            sometime("at(market)", utility="0.5"),
        ],
        budgets={"money": money},
        deadline=5 * HOUR,
    )


def generate(seed: int, size: int) -> Problem:
    """Return a random problem with `size` sights; the same seed and size give the same problem.

    Sights and squares lie along a ring of streets with some shortcuts; a tram joins every fifth place. There are two
    kitchens; some sights are to be seen before the meal, and some after it.
    """
    rng = random.Random(f"outing {seed} {size}")
    sights = [f"sight{n}" for n in range(1, size + 1)]
    kinds = {
        "home": "stop",
        "inn": "kitchen",
        **{each: "museum" if rng.random() < 0.4 else "sight" for each in sights},
        "cafe": "kitchen",
        **{f"stop{n}": "stop" for n in range(1, 1 + size // 3)},
    }
    others = sorted(set(kinds) - {"home", "inn"})
    ring = ["home", "inn", *rng.sample(others, len(others))]
    ways = {(one, other): rng.randint(1, 3) for one, other in zip(ring, [*ring[1:], ring[0]], strict=True)}
    for _ in range(size // 3):
        one, other = rng.sample(ring, 2)
        if (other, one) not in ways:
            ways.setdefault((one, other), rng.randint(2, 4))
    stops = [place for place in ring if kinds[place] == "stop"]
    prices = {place: rng.randint(0, 9) for place, kind in kinds.items() if kind != "stop"} | {"inn": 8}
    late, early = rng.sample(sights, size // 4), rng.sample(sights, size // 4)
    return outing(
        f"outing-{seed}-{size}",
        ways,
        kinds=kinds,
        prices=prices,
        home="home",
        lines=pairwise(stops),
        wishes={sight: rng.randint(3, 15) for sight in sights},
        constraints=[
            *[before("fed", f"seen({sight})") for sight in late],
            *[never_after(done(f"visit({sight})"), "fed") for sight in early if sight not in late],
            at_most(2, done("ride")),
            never(done("ride"), utility=rng.randint(1, 3)),
        ],
        budgets={"money": 10 + 4 * size},
        deadline=(3 + size) * HOUR,
    )


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


def cases() -> tuple[Case, ...]:
    """Return the optima, plans and invalid plans of the small problems, for tests."""
    from planner.testing import Case

    return (
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
                (
                    GALLERY.replace("visit(gallery)", "walk(gallery, market)\nwalk(market, tower)\nvisit(tower)"),
                    "after",
                ),
                (TOWER, "the plan uses 26 of money, and the budget is 25"),
            ),
            proved=False,
        ),
        Case(
            "there is money for the tram",
            afternoon(money=26),
            Decimal("4.5"),
            valid=(TOWER, GARDEN + GALLERY),
            invalid=(
                (GARDEN + TOWER, "18000"),
                ("ride(hotel, market)\nride(market, hotel)" + TOWER, "at most 2 times"),
            ),
            proved=False,
        ),
        Case("there is no money for a meal", stroll(money=8), None, invalid=((GARDEN + MEAL, "money"),)),
    )
