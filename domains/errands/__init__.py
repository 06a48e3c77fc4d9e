"""Errands: the day of somebody who goes from place to place, while shops open and close and meetings begin.

Declared in Python. What it shows: a calendar, windows in which a shop is open or somebody can be reached, steps that go
on by themselves while others are done, steps that share hands and voice, and parts of the goal that are due.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from functools import cache, partial
from typing import TYPE_CHECKING

from planner.language.declare import Domain, Entity
from planner.language.loading.load import LazyProblems
from planner.model import Atom, DomainModel, Problem

if TYPE_CHECKING:
    from planner.testing import Case


class Place(Entity):
    """Where one can be."""


class Shop(Place):
    """A place that sells things while it is open."""


class Item(Entity):
    """Something to be bought."""


class Person(Entity):
    """Somebody to be called."""


class Meeting(Entity):
    """Something that takes place once, for as long as it takes."""


@cache
def domain() -> DomainModel:
    """Return the domain; durations are in seconds."""
    errands = Domain("errands", description="Buy, call, meet and wash, in one day.")
    at = errands.predicate("at", place=Place)
    way = errands.predicate("way", origin=Place, target=Place)
    is_open = errands.predicate("open", shop=Shop)
    sells = errands.predicate("sells", shop=Shop, item=Item)
    got = errands.predicate("got", item=Item)
    awake = errands.predicate("reachable", person=Person)
    told = errands.predicate("told", person=Person)
    begun = errands.predicate("on", meeting=Meeting, description="it takes place now")
    held = errands.predicate("held", meeting=Meeting, place=Place)
    attended = errands.predicate("attended", meeting=Meeting)
    errands.function("walk", Place, Place)
    errands.function("length", Meeting)
    hands, voice = {"hands": 1}, {"voice": 1}

    errands.action(
        "go",
        {"origin": Place, "target": Place},
        requires=[at("origin"), way("origin", "target")],
        provides=[at("target")],
        modifies=[at("_")],
        duration="walk(origin, target)",
        holds=hands,
        description="Walk; one can talk meanwhile.",
    )
    errands.action(
        "buy",
        {"item": Item, "shop": Shop},
        requires=[sells("shop", "item")],
        throughout=[at("shop"), is_open("shop")],
        provides=[got("item")],
        duration=300,
        holds=hands,
        description="Buy something while the shop is open.",
    )
    errands.action(
        "call",
        {"person": Person},
        throughout=[awake("person")],
        provides=[told("person")],
        duration=600,
        holds=voice,
        description="Call somebody, wherever one is, while they can be reached.",
    )
    errands.action(
        "attend",
        {"meeting": Meeting, "place": Place},
        requires=[held("meeting", "place")],
        throughout=[at("place"), begun("meeting")],
        provides=[attended("meeting")],
        duration="length(meeting)",
        holds={**hands, **voice},
        description="Be there from the beginning of a meeting to its end.",
    )
    errands.action(
        "wash",
        {"place": Place},
        requires=[at("place"), "washer(place)", "dirty"],
        provides=["clean", "not dirty"],
        duration=3600,
        description="Start the washing machine; it goes on by itself.",
    )
    errands.action(
        "hang_up",
        {"place": Place},
        requires=["clean"],
        throughout=[at("place"), "washer(place)"],
        provides=["hung_up", "not clean"],
        duration=900,
        holds=hands,
        description="Hang up the washing.",
    )
    return errands.model


def problems() -> Mapping[str, Problem]:
    """Return the shipped problems by name, from easy to hard; each is made when it is looked up."""
    return LazyProblems(
        {
            "bread": bread,
            "saturday": saturday,
            "short": partial(generate, 1, 3),
            "long": partial(generate, 2, 6),
            "errand-boy": partial(generate, 3, 10),
            "courier-day": partial(generate, 4, 14),
        }
    )


def bread(*, closes: str = "13:00") -> Problem:
    """Return the smallest day: go to the bakery, which `closes`, and buy bread."""
    return Domain.of(domain()).problem(
        "bread",
        objects={"home": Place, "bakery": Shop, "bread": Item},
        initial=["at(home)", "way(home, bakery)", "sells(bakery, bread)"],
        values={"walk(home, bakery)": 600},
        goal=["got(bread)"],
        windows={"open(bakery)": f"..{closes}"},
        capacity={"hands": 1, "voice": 1},
        starts_at="2026-11-28T09:00+01:00",
        objective="makespan",
    )


def saturday(*, closes: str = "13:00") -> Problem:
    """Return a day with a bakery that `closes`, a meeting at eleven, a call and the washing.

    The washing runs while one is out, and the call is made on the way.
    """
    return Domain.of(domain()).problem(
        "saturday",
        objects={
            "home": Place,
            "office": Place,
            "bakery": Shop,
            "bread": Item,
            "mother": Person,
            "review": Meeting,
        },
        initial=[
            "at(home)",
            "washer(home)",
            "dirty",
            "sells(bakery, bread)",
            "held(review, office)",
            *[f"way({a}, {b})" for a, b in PAIRS],
        ],
        values={
            "length(review)": 3600,
            **{f"walk({a}, {b})": seconds for (a, b), seconds in zip(PAIRS, WALKS, strict=True)},
        },
        goal=["got(bread)", "told(mother)", "attended(review)", "hung_up", "at(home)"],
        windows={"open(bakery)": f"..{closes}", "on(review)": "11:00..12:01", "reachable(mother)": "9:30..12:30"},
        due={"got(bread)": "12:45"},
        capacity={"hands": 1, "voice": 1},
        starts_at="2026-11-28T09:00+01:00",
        objective="makespan",
    )


PAIRS = (
    ("home", "bakery"),
    ("bakery", "home"),
    ("home", "office"),
    ("office", "home"),
    ("bakery", "office"),
    ("office", "bakery"),
)
WALKS = (600, 600, 1200, 1200, 900, 900)


def generate(seed: int, size: int) -> Problem:
    """Return a random day with `size` things to do; the same seed and size give the same problem.

    Shops are open for some hours, people can be reached for some, and each meeting has its own hour.
    """
    rng = random.Random(f"errands {seed} {size}")
    shops = [f"shop{n}" for n in range(1, 2 + size // 3)]
    places = ["home", "office", *shops]
    where = {place: (rng.randint(0, 20), rng.randint(0, 20)) for place in places}
    walks = {
        (a, b): 60 * (2 + abs(where[a][0] - where[b][0]) + abs(where[a][1] - where[b][1]))
        for a in places
        for b in places
        if a != b
    }
    kinds = [rng.choice(("item", "item", "person", "meeting")) for _ in range(size)]
    objects: dict[str, type[Entity]] = {place: Shop if place in shops else Place for place in places}
    windows: dict[str | Atom, str] = {}
    facts, goal, values = list[str](), list[str](), dict[str | Atom, int]()
    for shop in shops:
        windows[f"open({shop})"] = f"{rng.randint(9, 10)}:00..{rng.randint(14, 19)}:00"
    hour = 9
    for number, kind in enumerate(kinds, start=1):
        name = f"{kind}{number}"
        if kind == "item":
            objects[name] = Item
            facts.append(f"sells({rng.choice(shops)}, {name})")
            goal.append(f"got({name})")
        elif kind == "person":
            objects[name] = Person
            start = rng.randint(9, 15)
            windows[f"reachable({name})"] = f"{start}:00..{start + 3}:00"
            goal.append(f"told({name})")
        else:
            objects[name] = Meeting
            hour += 2
            windows[f"on({name})"] = f"{hour}:00..{hour}:46"
            values[f"length({name})"] = 2700
            facts.append(f"held({name}, {rng.choice(('home', 'office'))})")
            goal.append(f"attended({name})")
    return Domain.of(domain()).problem(
        f"errands-{seed}-{size}",
        objects=objects,
        initial=["at(home)", "washer(home)", "dirty", *facts, *[f"way({a}, {b})" for a, b in walks]],
        values={**values, **{f"walk({a}, {b})": seconds for (a, b), seconds in walks.items()}},
        goal=[*goal, "hung_up"],
        windows=windows,
        capacity={"hands": 1, "voice": 1},
        starts_at="2026-11-28T08:00+01:00",
        objective="makespan",
    )


BREAD = """
0.000: (go home bakery) [600.000]
600.001: (buy bread bakery) [300.000]
"""

SATURDAY = """
0.000: (wash home) [3600.000]
1800.000: (call mother) [600.000]
3600.001: (hang_up home) [900.000]
4500.002: (go home bakery) [600.000]
5100.003: (buy bread bakery) [300.000]
5400.004: (go bakery home) [600.000]
6000.005: (go home office) [1200.000]
7200.006: (attend review office) [3600.000]
10800.007: (go office home) [1200.000]
"""


def cases() -> tuple[Case, ...]:
    """Return the optima, plans and invalid plans of the small problems, for tests."""
    from decimal import Decimal

    from planner.testing import Case

    return (
        Case(
            "bread",
            bread(),
            Decimal("900.001"),
            valid=(BREAD,),
            invalid=(
                (BREAD.replace("600.001", "500.001"), "holds 1 of hands"),
                (BREAD.replace("600.001", "600.000"), "are less than 0.001 s apart"),
            ),
            proved=False,
        ),
        Case(
            "saturday",
            saturday(),
            Decimal("12000.007"),
            valid=(SATURDAY,),
            invalid=(
                (SATURDAY.replace("7200.006", "7100.006"), "holds 1 of hands"),
                (SATURDAY.replace("5100.003: (buy bread bakery) [300.000]", ""), "the goal requires got(bread)"),
                (SATURDAY.replace("1800.000", "1000.000"), "requires reachable(mother) throughout"),
            ),
            proved=False,
        ),
        Case("closed", bread(closes="9:10"), None),
    )
