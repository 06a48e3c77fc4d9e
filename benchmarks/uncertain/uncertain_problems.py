"""Ten kinds of problems with uncertain outcomes, each in any size.

Blocks that explode and balls that slip; roads, rivers and floors on which moves go astray; tools that fail, people who
may refuse, deliveries and sights within a budget.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise, product
from random import Random

from planner import Domain, Outcome, Problem
from planner.model import COST


def blocks(count: int, seed: int = 1) -> Problem:
    """Return blocks of which all but one make a tower; where one is first put down, it may destroy what is below.

    After the exploding blocks of IPC 2006: what is destroyed can neither be taken nor have anything put on it.
    """
    domain = Domain("blocks", types={"thing": "object", "block": "thing"})
    domain.action(
        "take",
        {"block": "block", "below": "thing"},
        requires=["on(block, below)", "clear(block)", "free", "not destroyed(block)"],
        provides=["holding(block)", "clear(below)", "not free", "not on(block, below)", "not clear(block)"],
    )
    down = ["on(block, below)", "clear(block)", "free", "not holding(block)"]
    for place, more in {"stack": ["not clear(below)"], "put_down": []}.items():
        fits = ["is_block(below)"] if place == "stack" else ["is_table(below)"]
        needs = ["holding(block)", "clear(below)", "not destroyed(below)", *fits]
        domain.action(
            place,
            {"block": "block", "below": "thing"},
            requires=[*needs, "armed(block)"],
            provides=[*down, *more],
            outcomes=[
                Outcome(0.9, [*down, *more]),
                Outcome(0.1, [*down, *more, "destroyed(below)", "not armed(block)"]),
            ],
        )
        domain.action(
            f"{place}_spent",
            {"block": "block", "below": "thing"},
            requires=[*needs, "not armed(block)"],
            provides=[*down, *more],
        )
    rng = Random(seed)
    names = [f"b{number}" for number in range(count)]
    start, half = rng.sample(names, count), max(1, count // 2)
    return domain.problem(
        objects={**dict.fromkeys(names, "block"), "table": "thing"},
        initial=[
            "free",
            "clear(table)",
            "is_table(table)",
            *[f"armed({name})" for name in names],
            *[f"is_block({name})" for name in names],
            *[f"on({above}, {below})" for above, below in pairwise([*start[:half], "table"])],
            *[f"on({above}, {below})" for above, below in pairwise([*start[half:], "table"])],
            f"clear({start[0]})",
            f"clear({start[half]})",
        ],
        goal=[f"on({above}, {below})" for above, below in pairwise(rng.sample(names, count - 1))],
    )


def gripper(balls: int) -> Problem:
    """Return balls to be carried to another room by two hands that miss one ball in four, and drop some on the way."""
    domain = Domain("gripper", types=["room", "ball", "hand"])
    domain.action(
        "pick",
        {"ball": "ball", "hand": "hand", "room": "room"},
        requires=["robot(room)", "at(ball, room)", "empty(hand)"],
        provides=["holds(hand, ball)", "not at(ball, room)", "not empty(hand)"],
        risk="0.25",
    )
    domain.action(
        "drop",
        {"ball": "ball", "hand": "hand", "room": "room"},
        requires=["robot(room)", "holds(hand, ball)"],
        provides=["at(ball, room)", "empty(hand)", "not holds(hand, ball)"],
    )
    domain.action(
        "move_empty",
        {"origin": "room", "target": "room", "left": "hand", "right": "hand"},
        requires=["robot(origin)", "door(origin, target)", "left(left)", "right(right)", "empty(left)", "empty(right)"],
        provides=["robot(target)"],
        modifies=["robot(_)"],
    )
    lost = ["robot(target)", "at(ball, origin)", "empty(hand)", "not holds(hand, ball)"]
    domain.action(
        "carry",
        {"origin": "room", "target": "room", "hand": "hand", "ball": "ball"},
        requires=["robot(origin)", "door(origin, target)", "holds(hand, ball)"],
        provides=["robot(target)"],
        modifies=["robot(_)"],
        outcomes=[Outcome(0.8, ["robot(target)"], modifies=["robot(_)"]), Outcome(0.2, lost, modifies=["robot(_)"])],
    )
    names = [f"ball{number}" for number in range(balls)]
    return domain.problem(
        objects={
            **dict.fromkeys(["here", "there"], "room"),
            **dict.fromkeys(names, "ball"),
            **dict.fromkeys(["left", "right"], "hand"),
        },
        initial=[
            "robot(here)",
            "door(here, there)",
            "door(there, here)",
            "empty(left)",
            "empty(right)",
            "left(left)",
            "right(right)",
            *[f"at({name}, here)" for name in names],
        ],
        goal=[f"at({name}, there)" for name in names],
    )


def tires(rows: int) -> Problem:
    """Return the way along a triangle of roads: the short side has no spare tyres, the two long ones everywhere.

    Half of all drives end with a flat tyre (Little and Thiébaux, 2007: probabilistically interesting).
    """
    domain = Domain("tires", types=["place"])
    domain.action(
        "drive",
        {"origin": "place", "target": "place"},
        requires=["at(origin)", "road(origin, target)", "not flat"],
        provides=["at(target)"],
        modifies=["at(_)"],
        outcomes=[
            Outcome(0.5, ["at(target)"], modifies=["at(_)"]),
            Outcome(0.5, ["at(target)", "flat"], modifies=["at(_)"]),
        ],
    )
    domain.action(
        "change_tire",
        {"place": "place"},
        requires=["at(place)", "spare(place)", "flat"],
        provides=["not flat", "not spare(place)"],
    )
    places = [(row, column) for row in range(rows) for column in range(rows - row)]
    ways = [(a, b) for a in places for b in ((a[0], a[1] + 1), (a[0] + 1, a[1]), (a[0] - 1, a[1] + 1)) if b in places]
    spares = [(row, column) for row, column in places if row and (column == 0 or row + column == rows - 1)]
    return domain.problem(
        objects=dict.fromkeys([_place(at) for at in places], "place"),
        initial=[
            "at(l0-0)",
            *[f"road({_place(a)}, {_place(b)})" for a, b in ways],
            *[f"spare({_place(at)})" for at in spares],
        ],
        goal=[f"at({_place((0, rows - 1))})"],
    )


def _place(at: tuple[int, int]) -> str:
    return f"l{at[0]}-{at[1]}"


def river(width: int) -> Problem:
    """Return a river to cross above a waterfall: the further upstream one starts, the more often one gets over."""
    length = 2 * width
    domain = Domain("river", types=["row", "column"])
    domain.action(
        "walk",
        {"origin": "row", "target": "row", "column": "column"},
        requires=["at(origin, column)", "beside(origin, target)", "bank(column)"],
        provides=["at(target, column)"],
        modifies=["at(_, _)"],
    )
    domain.action(
        "swim",
        {"row": "row", "below": "row", "column": "column", "target": "column"},
        requires=["at(row, column)", "below(row, below)", "across(column, target)"],
        provides=["at(row, target)"],
        modifies=["at(_, _)"],
        outcomes=[
            Outcome(0.7, ["at(row, target)"], modifies=["at(_, _)"]),
            Outcome(0.3, ["at(below, column)"], modifies=["at(_, _)"]),
        ],
    )
    rows, columns = [f"r{number}" for number in range(length)], [f"c{number}" for number in range(width)]
    land = rows[:-1]
    return domain.problem(
        objects={**dict.fromkeys(rows, "row"), **dict.fromkeys(columns, "column")},
        initial=[
            f"at({land[-1]}, {columns[0]})",
            *[f"below({a}, {b})" for a, b in pairwise(rows)],
            *[f"beside({a}, {b})" for a, b in pairwise(land)],
            *[f"beside({b}, {a})" for a, b in pairwise(land)],
            *[f"across({a}, {b})" for a, b in pairwise(columns)],
            f"bank({columns[0]})",
            f"bank({columns[-1]})",
        ],
        goal=[f"at({land[-1]}, {columns[-1]})"],
    )


def navigation(size: int) -> Problem:
    """Return a grid in whose middle rows robots vanish, the likelier the further to the right (as in IPC 2011)."""
    domain = Domain("navigation", types=["row", "column"])
    columns, rows = [f"c{number}" for number in range(size)], [f"r{number}" for number in range(size)]
    for number in range(size):
        lost = 0.05 + 0.9 * number / size
        domain.action(
            f"ride{number}",
            {"origin": "row", "target": "row", "column": "column"},
            requires=["row(origin)", "column(column)", f"danger{number}(column)", "next(origin, target)"],
            provides=["row(target)"],
            modifies=["row(_)"],
            outcomes=[
                Outcome(f"{1 - lost:.2f}", ["row(target)"], modifies=["row(_)"]),
                Outcome(f"{lost:.2f}", modifies=["row(_)"]),
            ],
        )
    domain.action(
        "sidestep",
        {"row": "row", "origin": "column", "target": "column"},
        requires=["row(row)", "safe(row)", "column(origin)", "beside(origin, target)"],
        provides=["column(target)"],
        modifies=["column(_)"],
    )
    return domain.problem(
        objects={**dict.fromkeys(columns, "column"), **dict.fromkeys(rows, "row")},
        initial=[
            f"row({rows[0]})",
            f"column({columns[-1]})",
            f"safe({rows[0]})",
            f"safe({rows[-1]})",
            *[f"danger{number}({column})" for number, column in enumerate(columns)],
            *[f"next({a}, {b})" for a, b in pairwise(rows)],
            *[f"beside({a}, {b})" for a, b in pairwise(columns)],
            *[f"beside({b}, {a})" for a, b in pairwise(columns)],
        ],
        goal=[f"row({rows[-1]})", f"column({columns[-1]})"],
    )


def grid(size: int) -> Problem:
    """Return a slippery floor with holes: one in five steps goes astray to the left or the right."""
    domain = Domain("grid", types=["cell"])
    sides = {
        "north": ("west", "east"),
        "south": ("east", "west"),
        "east": ("north", "south"),
        "west": ("south", "north"),
    }
    for way, (left, right) in sides.items():
        domain.action(
            f"go_{way}",
            {"here": "cell", "ahead": "cell", "left": "cell", "right": "cell"},
            requires=[
                "at(here)",
                "not hole(here)",
                f"{way}(here, ahead)",
                f"{left}(here, left)",
                f"{right}(here, right)",
            ],
            provides=["at(ahead)"],
            modifies=["at(_)"],
            outcomes=[
                Outcome(0.8, ["at(ahead)"], modifies=["at(_)"]),
                Outcome(0.1, ["at(left)"], modifies=["at(_)"]),
                Outcome(0.1, ["at(right)"], modifies=["at(_)"]),
            ],
        )
    steps = {"north": (0, -1), "south": (0, 1), "east": (1, 0), "west": (-1, 0)}
    cells = list(product(range(size), range(size)))
    holes = [(x, y) for x, y in cells if (3 * x + 5 * y) % 7 == 3 and (x, y) not in {(0, 0), (size - 1, size - 1)}]

    def beside(cell: tuple[int, int], way: str) -> tuple[int, int]:
        found = (cell[0] + steps[way][0], cell[1] + steps[way][1])
        return found if found in cells else cell

    return domain.problem(
        objects=dict.fromkeys([_cell(cell) for cell in cells], "cell"),
        initial=[
            f"at({_cell((0, 0))})",
            *[f"{way}({_cell(cell)}, {_cell(beside(cell, way))})" for cell in cells for way in steps],
            *[f"hole({_cell(cell)})" for cell in holes],
        ],
        goal=[f"at({_cell((size - 1, size - 1))})"],
    )


def _cell(at: tuple[int, int]) -> str:
    return f"x{at[0]}y{at[1]}"


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
