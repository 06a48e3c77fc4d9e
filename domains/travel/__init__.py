"""Business trips: reach a city leg by leg, by train or by air, sleep somewhere, meet, and come home.

Tasks and methods declared in Python. What it shows: alternatives, recursion over the legs of a journey, goals besides
tasks, costs from static functions, and travellers whose tasks interleave while they compete for rooms.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, partial
from itertools import pairwise
from typing import TYPE_CHECKING

from htn.language.declare import Methods
from htn.model import HtnDomain, HtnProblem
from planner.language.declare import Domain, Entity
from planner.language.loading.load import LazyProblems

if TYPE_CHECKING:
    from htn.testing import HtnCase


class Traveller(Entity):
    """Somebody who travels."""


class City(Entity):
    """A city."""


class Hotel(Entity):
    """A hotel with one room that is left."""


class Meeting(Entity):
    """A meeting that takes place in a city."""


def _declare_actions(travel: Domain) -> None:
    """Declare what can be done: what is booked is used, and a flight makes tired."""
    at = travel.predicate("at", traveller=Traveller, city=City)
    rested = travel.predicate("rested", traveller=Traveller, description="fit for a meeting")
    ticket = travel.predicate("ticket", traveller=Traveller, origin=City, target=City)
    seat = travel.predicate("seat", traveller=Traveller, origin=City, target=City)
    train = travel.predicate("train", origin=City, target=City)
    flight = travel.predicate("flight", origin=City, target=City)
    room = travel.predicate("room", traveller=Traveller, hotel=Hotel)
    vacant = travel.predicate("vacant", hotel=Hotel)
    stands = travel.predicate("stands", hotel=Hotel, city=City)
    friend = travel.predicate("friend", traveller=Traveller, city=City, description="has a friend in the city")
    held = travel.predicate("held", meeting=Meeting, city=City)
    met = travel.predicate("met", traveller=Traveller, meeting=Meeting)
    by_train = travel.function("train_fare", origin=City, target=City)
    by_air = travel.function("air_fare", origin=City, target=City)
    price = travel.function("price", hotel=Hotel)
    leg = {"traveller": Traveller, "origin": City, "target": City}

    travel.action(
        "book_train",
        leg,
        requires=[train("origin", "target")],
        provides=[ticket(*leg)],
        cost=by_train("origin", "target"),
        description="Buy a ticket.",
        similes=["reserve a train"],
    )
    travel.action(
        "book_flight",
        leg,
        requires=[flight("origin", "target")],
        provides=[seat(*leg)],
        cost=by_air("origin", "target"),
        description="Buy a seat on a flight.",
        similes=["reserve a flight"],
    )
    travel.action(
        "ride",
        leg,
        requires=[at("traveller", "origin"), ticket(*leg), train("origin", "target")],
        provides=[at("traveller", "target"), f"not {ticket(*leg)}"],
        modifies=[at("traveller", "_")],
        description="Take the train.",
        similes=["go by train"],
    )
    travel.action(
        "fly",
        leg,
        requires=[at("traveller", "origin"), seat(*leg), flight("origin", "target")],
        provides=[at("traveller", "target"), f"not {seat(*leg)}", f"not {rested('traveller')}"],
        modifies=[at("traveller", "_")],
        description="Take the flight.",
        similes=["go by air"],
    )
    travel.action(
        "book_room",
        {"traveller": Traveller, "hotel": Hotel},
        requires=[vacant("hotel")],
        provides=[room("traveller", "hotel"), f"not {vacant('hotel')}"],
        cost=price("hotel"),
        description="Book the last room of a hotel.",
        similes=["reserve a room"],
    )
    travel.action(
        "stay_in",
        {"traveller": Traveller, "hotel": Hotel, "city": City},
        requires=[at("traveller", "city"), stands("hotel", "city"), room("traveller", "hotel")],
        provides=[rested("traveller"), f"not {room('traveller', 'hotel')}"],
        description="Sleep in a hotel.",
        similes=["check in"],
    )
    travel.action(
        "stay_with_friend",
        {"traveller": Traveller, "city": City},
        cost=2,
        requires=[at("traveller", "city"), friend("traveller", "city")],
        provides=[rested("traveller")],
        description="Sleep at a friend's, and bring a present.",
        similes=["crash on a couch"],
    )
    travel.action(
        "meet",
        {"traveller": Traveller, "meeting": Meeting, "city": City},
        requires=[at("traveller", "city"), held("meeting", "city"), rested("traveller")],
        provides=[met("traveller", "meeting")],
        description="Take part in a meeting.",
        similes=["attend"],
    )


def _declare_tasks(how: Methods) -> None:
    """Declare what there is to be done."""
    how.task("visit", traveller=Traveller, meeting=Meeting, description="Take part in a meeting, wherever it is.")
    how.task("reach", traveller=Traveller, city=City, description="Be in a city.")
    how.task("sleep", traveller=Traveller, city=City, description="Be rested.")


def _declare_journeys(how: Methods) -> None:
    """Declare how a city is reached: one leg, and then the rest of the way."""
    place = {"traveller": Traveller, "city": City}
    how.method("arrived", place, task="reach(traveller, city)", requires=["at(traveller, city)"], subtasks=[])

    @how.method(
        task="reach(traveller, city)",
        requires=["at(traveller, here)", "train(here, stop)"],
        constraints=["here != city"],
    )
    def by_train(traveller: Traveller, here: City, stop: City, city: City) -> Iterator[str]:
        yield f"book_train({traveller}, {here}, {stop})"
        yield f"ride({traveller}, {here}, {stop})"
        yield f"reach({traveller}, {city})"

    @how.method(
        task="reach(traveller, city)",
        requires=["at(traveller, here)", "flight(here, stop)"],
        constraints=["here != city"],
    )
    def by_air(traveller: Traveller, here: City, stop: City, city: City) -> Iterator[str]:
        yield f"book_flight({traveller}, {here}, {stop})"
        yield f"fly({traveller}, {here}, {stop})"
        yield f"reach({traveller}, {city})"


def _declare_stays(how: Methods) -> None:
    """Declare what is done in a city."""
    place = {"traveller": Traveller, "city": City}

    @how.method(task="visit(traveller, meeting)", requires=["held(meeting, city)"])
    def go_there(traveller: Traveller, meeting: Meeting, city: City) -> Iterator[str]:
        yield f"reach({traveller}, {city})"
        yield f"sleep({traveller}, {city})"
        yield f"meet({traveller}, {meeting}, {city})"

    how.method("awake", place, task="sleep(traveller, city)", requires=["rested(traveller)"], subtasks=[])

    @how.method(task="sleep(traveller, city)", requires=["stands(hotel, city)", "vacant(hotel)"])
    def at_hotel(traveller: Traveller, city: City, hotel: Hotel) -> Iterator[str]:
        yield f"book_room({traveller}, {hotel})"
        yield f"stay_in({traveller}, {hotel}, {city})"

    @how.method(task="sleep(traveller, city)", requires=["friend(traveller, city)"])
    def at_friends(traveller: Traveller, city: City) -> Iterator[str]:
        yield f"stay_with_friend({traveller}, {city})"


@cache
def methods() -> Methods:
    """Return the domain with its methods, into which problems are declared."""
    travel = Domain("travel", description="Business trips by train and by air.")
    _declare_actions(travel)
    how = Methods(travel)
    for declare in (_declare_tasks, _declare_journeys, _declare_stays):
        declare(how)
    return how


def domain() -> HtnDomain:
    """Return the domain."""
    return methods().model


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


def full_hotels() -> HtnProblem:
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


def _travel_leg(way: str, who: str, origin: str, target: str) -> str:
    """Return the steps of one leg, by train or by air."""
    book, go = ("book_train", "ride") if way == "train" else ("book_flight", "fly")
    return f"{book}({who}, {origin}, {target})\n{go}({who}, {origin}, {target})\n"


HOTEL = "book_room(ada, palace)\nstay_in(ada, palace, nice)\n"
HOME = _travel_leg("train", "ada", "nice", "lyon") + _travel_leg("train", "ada", "lyon", "bern")
BOARD = _travel_leg("air", "ada", "bern", "nice") + HOTEL + "meet(ada, board, nice)\n" + HOME
BY_TRAIN = (
    _travel_leg("train", "ada", "bern", "lyon")
    + _travel_leg("train", "ada", "lyon", "nice")
    + "meet(ada, board, nice)\n"
    + HOME
)

COUPLE = (
    _travel_leg("air", "ada", "bern", "nice")
    + _travel_leg("air", "ben", "bern", "nice")
    + HOTEL
    + "stay_with_friend(ben, nice)\nmeet(ben, board, nice)\nmeet(ada, board, nice)\n"
    + _travel_leg("train", "ada", "nice", "bern")
    + _travel_leg("train", "ben", "nice", "bern")
)


def cases() -> tuple[HtnCase, ...]:
    """Return the optima, plans and invalid plans of the small problems, for tests."""
    from htn.testing import HtnCase

    return (
        HtnCase(
            "board",
            board(),
            20,
            valid=(BOARD, BY_TRAIN),
            invalid=(
                (BOARD.replace(HOTEL, ""), "rested(ada), which was retracted by step 2 fly(ada, bern, nice)"),
                (
                    BOARD.replace(HOME, _travel_leg("air", "ada", "nice", "bern")),
                    "at the end, the goal requires rested(ada)",
                ),
                (BOARD.replace("book_room(ada, palace)\n", ""), "room(ada, palace)"),
                (BY_TRAIN + HOTEL, "at(ada, nice)"),
            ),
        ),
        HtnCase(
            "couple",
            couple(),
            44,
            valid=(COUPLE,),
            invalid=(
                (COUPLE.replace("stay_with_friend(ben, nice)", "book_room(ben, palace)"), "vacant(palace)"),
                (COUPLE.replace("meet(ben, board, nice)", ""), "no decomposition of the tasks gives these steps"),
            ),
        ),
        HtnCase("no bed where the meeting is", full_hotels(), None),
    )
