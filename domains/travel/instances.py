"""Trips, from one meeting to a whole team on tour."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from functools import partial
from itertools import pairwise

from domains.travel.declarations import methods
from htn.model import HtnProblem
from planner.language.loading.load import LazyProblems

Lines = Mapping[tuple[str, str], int]
"""The fare between two cities, either way."""


def problems() -> Mapping[str, HtnProblem]:
    """Return the shipped problems by name, from easy to hard; each is made when it is looked up."""
    return LazyProblems(
        {
            "board": board,
            "couple": couple,
            "week": partial(generate, 1, 4),
            "tour": partial(generate, 2, 6),
            "season": partial(generate, 3, 12),
        }
    )


def trips(
    name: str,
    trains: Lines,
    flights: Lines,
    *,
    homes: Mapping[str, str],
    meetings: Mapping[str, str],
    hotels: Mapping[str, tuple[str, int]],
    friends: Iterable[tuple[str, str]] = (),
    visits: Mapping[str, list[str]],
) -> HtnProblem:
    """Return the problem that each traveller visits meetings, one after the other, and is at home and rested again.

    `homes` and `meetings` map to cities, `hotels` to their city and price. Travellers do not wait for each other.
    """
    both = [{(a, b): fare for one, fare in lines.items() for a, b in (one, one[::-1])} for lines in (trains, flights)]
    kinds: dict[str, Iterable[str]] = {
        "City": dict.fromkeys(city for lines in both for ends in lines for city in ends),
        "Traveller": homes,
        "Meeting": meetings,
        "Hotel": hotels,
    }
    tasks, ordering = [], []
    for who, wanted in visits.items():
        labels = [f"{who}_{number}" for number in range(len(wanted) + 1)]
        tasks += [f"{label}: visit({who}, {each})" for label, each in zip(labels, wanted, strict=False)]
        tasks.append(f"{labels[-1]}: reach({who}, {homes[who]})")
        ordering += [f"{one} < {other}" for one, other in pairwise(labels)]
    return methods().problem(
        name,
        objects={each: kind for kind, names in kinds.items() for each in names},
        initial=[
            *[f"train({a}, {b})" for a, b in both[0]],
            *[f"flight({a}, {b})" for a, b in both[1]],
            *[fact for who, city in homes.items() for fact in (f"at({who}, {city})", f"rested({who})")],
            *[f"held({meeting}, {city})" for meeting, city in meetings.items()],
            *[fact for hotel, (city, _) in hotels.items() for fact in (f"vacant({hotel})", f"stands({hotel}, {city})")],
            *[f"friend({who}, {city})" for who, city in friends],
        ],
        goal=[f"rested({who})" for who in homes],
        values={
            **{f"train_fare({a}, {b})": fare for (a, b), fare in both[0].items()},
            **{f"air_fare({a}, {b})": fare for (a, b), fare in both[1].items()},
            **{f"price({hotel})": price for hotel, (_, price) in hotels.items()},
        },
        tasks=tasks,
        ordering=ordering,
    )


def board() -> HtnProblem:
    """Return the smallest trip: flying there is cheap and makes tired; whoever flies home is tired at the end."""
    return trips(
        "board",
        {("bern", "lyon"): 5, ("lyon", "nice"): 3},
        {("bern", "nice"): 3},
        homes={"ada": "bern"},
        meetings={"board": "nice"},
        hotels={"palace": ("nice", 4)},
        visits={"ada": ["board"]},
    )


def couple() -> HtnProblem:
    """Return a trip of two to one meeting, where a single room is left and only one of them has a friend."""
    return trips(
        "couple",
        {("bern", "nice"): 12},
        {("bern", "nice"): 3},
        homes={"ada": "bern", "ben": "bern"},
        meetings={"board": "nice"},
        hotels={"palace": ("nice", 5)},
        friends=[("ben", "nice")],
        visits={"ada": ["board"], "ben": ["board"]},
    )


def full() -> HtnProblem:
    """Return a problem without a plan: only flights lead to the meeting, and there is no bed."""
    return trips(
        "full",
        {("bern", "lyon"): 4},
        {("bern", "nice"): 3},
        homes={"ada": "bern"},
        meetings={"board": "nice"},
        hotels={"inn": ("lyon", 5)},
        visits={"ada": ["board"]},
    )


def generate(seed: int, size: int) -> HtnProblem:
    """Return a random problem with `size` cities; the same seed and size give the same problem.

    Trains run along a tree of cities, flights across it. There is a traveller for every four cities, with one or two
    meetings; each city has a hotel.
    """
    rng = random.Random(f"travel {seed} {size}")
    cities = [f"city{n}" for n in range(1, size + 1)]
    trains = {(rng.choice(cities[:n]), cities[n]): rng.randint(2, 5) for n in range(1, size)}
    flights: dict[tuple[str, str], int] = {}
    for _ in range(size // 2):
        one, other = sorted(rng.sample(range(size), 2))
        flights.setdefault((cities[one], cities[other]), rng.randint(2, 6))
    meetings = {f"meeting{n}": rng.choice(cities) for n in range(1, 2 + size // 2)}
    homes = {f"traveller{n}": rng.choice(cities) for n in range(1, 2 + size // 4)}
    return trips(
        f"travel-{seed}-{size}",
        trains,
        flights,
        homes=homes,
        meetings=meetings,
        hotels={f"hotel{n}": (city, rng.randint(1, 6)) for n, city in enumerate(cities, start=1)},
        visits={who: rng.sample(sorted(meetings), min(len(meetings), rng.randint(1, 2))) for who in homes},
    )
