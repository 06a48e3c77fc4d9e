"""What travellers can do, and how journeys are put together."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from htn.language.declare import Methods
from htn.model import HtnDomain
from planner.language.declare import Domain, Entity


class Traveller(Entity):
    """Somebody who travels."""


class City(Entity):
    """A city."""


class Hotel(Entity):
    """A hotel with one room that is left."""


class Meeting(Entity):
    """A meeting that takes place in a city."""


def _actions(travel: Domain) -> None:
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


def _tasks(how: Methods) -> None:
    """Declare what there is to be done."""
    how.task("visit", traveller=Traveller, meeting=Meeting, description="Take part in a meeting, wherever it is.")
    how.task("reach", traveller=Traveller, city=City, description="Be in a city.")
    how.task("sleep", traveller=Traveller, city=City, description="Be rested.")


def _journeys(how: Methods) -> None:
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


def _stays(how: Methods) -> None:
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
    _actions(travel)
    how = Methods(travel)
    for declare in (_tasks, _journeys, _stays):
        declare(how)
    return how


def domain() -> HtnDomain:
    """Return the domain."""
    return methods().model
