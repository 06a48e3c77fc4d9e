"""On the way somewhere: tyres burst, currents carry away, floors are slippery, robots vanish."""

from __future__ import annotations

from itertools import pairwise, product

from planner import Domain, Outcome, Problem


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
