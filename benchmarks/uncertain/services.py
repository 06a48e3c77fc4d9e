"""What agents do all day: call tools that fail, ask people, deliver, and see as much as the money allows."""

from __future__ import annotations

from dataclasses import replace

from planner import Domain, Outcome, Problem
from planner.model import COST


def tools(sources: int) -> Problem:
    """Return a report to be made of several sources: a cheap tool that may be blocked, a dear one, and a review."""
    domain = Domain("tools", types=["source"])
    domain.action(
        "fetch",
        {"source": "source"},
        requires=["not blocked(source)"],
        provides=["data(source)"],
        outcomes=[Outcome(0.6, ["data(source)"]), Outcome(0.1, ["blocked(source)"]), Outcome(0.3)],
        cost=1,
    )
    domain.action("buy", {"source": "source"}, provides=["data(source)"], risk="0.05", cost=4)
    domain.action(
        "clean",
        {"source": "source"},
        requires=["data(source)"],
        provides=["clean(source)"],
        outcomes=[Outcome(0.85, ["clean(source)"]), Outcome(0.15, ["not data(source)"])],
        cost=1,
    )
    ready = ["(forall (?s - source) (clean ?s))", "not barred"]
    domain.action("check", requires=ready, provides=["checked"], cost=3)
    for name, needs, odds in [
        ("publish", "not checked", ("0.6", "0.4")),
        ("publish_checked", "checked", ("0.95", "0.05")),
    ]:
        domain.action(
            name,
            requires=[*ready, needs],
            provides=["published"],
            outcomes=[Outcome(odds[0], ["published"]), Outcome(odds[1], ["barred"])],
            cost=2,
        )
    return domain.problem(objects={f"s{number}": "source" for number in range(sources)}, initial=[], goal=["published"])


def asking(offices: int) -> Problem:
    """Return signatures to be had from offices of two people each, who say yes, or wait, or never again."""
    domain = Domain("asking", types=["office", "person"])
    for name, needs, odds in [
        ("ask", "not grateful(person)", ("0.4", "0.3", "0.3")),
        ("ask_friend", "grateful(person)", ("0.7", "0.25", "0.05")),
    ]:
        domain.action(
            name,
            {"person": "person", "office": "office"},
            requires=["works(person, office)", "not annoyed(person)", needs],
            provides=["signed(office)"],
            outcomes=[Outcome(odds[0], ["signed(office)"]), Outcome(odds[1]), Outcome(odds[2], ["annoyed(person)"])],
            cost=1,
        )
    domain.action(
        "help",
        {"person": "person"},
        requires=["not annoyed(person)", "not grateful(person)"],
        provides="grateful(person)",
        cost=3,
    )
    people = {f"p{office}{place}": f"o{office}" for office in range(offices) for place in "ab"}
    return domain.problem(
        objects={**dict.fromkeys(people.values(), "office"), **dict.fromkeys(people, "person")},
        initial=[f"works({person}, {office})" for person, office in people.items()],
        goal=[f"signed({office})" for office in dict.fromkeys(people.values())],
    )


def courier(parcels: int) -> Problem:
    """Return parcels to be delivered round a ring of streets with jams, and a short cut on which vans break down."""
    domain = Domain("courier", types=["place", "parcel"])
    for name, street, odds, harm, cost in [
        ("drive", "street", ("0.8", "0.2"), [], 2),
        ("short_cut", "track", ("0.7", "0.3"), ["broken"], 1),
    ]:
        domain.action(
            name,
            {"origin": "place", "target": "place"},
            requires=["van(origin)", f"{street}(origin, target)", "not broken"],
            provides=["van(target)"],
            modifies=["van(_)"],
            outcomes=[Outcome(odds[0], ["van(target)"], modifies=["van(_)"]), Outcome(odds[1], harm)],
            cost=cost,
        )
    domain.action("repair", requires=["broken"], provides=["not broken"], risk="0.2", cost=4)
    domain.action(
        "load",
        {"parcel": "parcel", "place": "place"},
        requires=["van(place)", "at(parcel, place)"],
        provides=["inside(parcel)"],
        modifies=["at(parcel, _)"],
    )
    domain.action(
        "hand_over",
        {"parcel": "parcel", "place": "place"},
        requires=["van(place)", "inside(parcel)", "home(parcel, place)"],
        provides=["delivered(parcel)", "not inside(parcel)"],
        outcomes=[Outcome(0.75, ["delivered(parcel)", "not inside(parcel)"]), Outcome(0.25)],
    )
    ring = [f"n{number}" for number in range(6)]
    streets = [(a, ring[(number + 1) % 6]) for number, a in enumerate(ring)]
    tracks = [(ring[0], ring[3]), (ring[1], ring[4])]
    return domain.problem(
        objects={**dict.fromkeys(ring, "place"), **{f"k{number}": "parcel" for number in range(parcels)}},
        initial=[
            "van(n0)",
            *[f"street({a}, {b})" for pair in streets for a, b in (pair, pair[::-1])],
            *[f"track({a}, {b})" for pair in tracks for a, b in (pair, pair[::-1])],
            *[f"at(k{number}, {ring[(2 * number + 1) % 6]})" for number in range(parcels)],
            *[f"home(k{number}, {ring[(3 * number + 4) % 6]})" for number in range(parcels)],
        ],
        goal=[f"delivered(k{number})" for number in range(parcels)],
    )


def tour(sights: int) -> Problem:
    """Return sights to be photographed within a budget: shots fail, most of them in mist, and one has to come back."""
    domain = Domain("tour", types=["place"])
    domain.action(
        "go",
        {"origin": "place", "target": "place"},
        requires=["at(origin)", "way(origin, target)"],
        provides=["at(target)"],
        modifies=["at(_)"],
        cost="distance(origin, target)",
    )
    domain.action(
        "taxi",
        {"origin": "place", "target": "place"},
        requires=["at(origin)"],
        provides=["at(target)"],
        modifies=["at(_)"],
        cost=5,
    )
    for name, sky, risk in [("shoot", "not misty(place)", "0.2"), ("shoot_in_mist", "misty(place)", "0.8")]:
        domain.action(name, {"place": "place"}, requires=["at(place)", sky], provides=["seen(place)"], risk=risk)
    places = ["hotel", *[f"sight{number}" for number in range(sights)]]
    ways = {
        (a, b): 1 + (i + 2 * j) % 3 for i, a in enumerate(places) for j, b in enumerate(places) if 0 < abs(i - j) < 3
    }
    problem = domain.problem(
        objects=dict.fromkeys(places, "place"),
        initial=["at(hotel)", *[f"way({a}, {b})" for a, b in ways], *[f"misty({place})" for place in places[2::2]]],
        goal={
            "hard": ["at(hotel)"],
            "soft": {f"seen({place})": 4 + 3 * (number % 2) for number, place in enumerate(places[1:])},
        },
        values={f"distance({a}, {b})": distance for (a, b), distance in ways.items()},
    )
    return replace(problem, budgets={COST: 3 + 2 * sights})
