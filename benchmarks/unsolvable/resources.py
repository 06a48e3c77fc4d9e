"""Tasks that ask for one more of something than there is: boxes, room, colours, fuel, planks."""

from __future__ import annotations

from itertools import pairwise
from typing import Final

from benchmarks.unsolvable.grids import grid, in_rows, name_of, named, names_of
from benchmarks.unsolvable.written import Written, problem_text

PACKING: Final = """(define (domain packing)
(:requirements :strips :typing)
(:types thing box)
(:predicates (loose ?t - thing) (packed ?t - thing) (free ?b - box) (in ?t - thing ?b - box))
(:action put :parameters (?t - thing ?b - box) :precondition (and (loose ?t) (free ?b))
  :effect (and (in ?t ?b) (packed ?t) (not (loose ?t)) (not (free ?b))))
(:action take :parameters (?t - thing ?b - box) :precondition (in ?t ?b)
  :effect (and (loose ?t) (free ?b) (not (in ?t ?b)) (not (packed ?t)))))
"""

COVER: Final = """(define (domain cover)
(:requirements :strips :typing)
(:types cell)
(:predicates (bare ?c - cell) (covered ?c - cell) (beside ?c ?d - cell))
(:action lay :parameters (?c ?d - cell) :precondition (and (beside ?c ?d) (bare ?c) (bare ?d))
  :effect (and (covered ?c) (covered ?d) (not (bare ?c)) (not (bare ?d)))))
"""

TOUR: Final = """(define (domain tour)
(:requirements :strips :typing)
(:types cell level)
(:predicates (at ?c - cell) (seen ?c - cell) (beside ?c ?d - cell) (fuel ?l - level) (less ?l ?m - level))
(:action drive :parameters (?c ?d - cell ?l ?m - level)
  :precondition (and (at ?c) (beside ?c ?d) (fuel ?m) (less ?l ?m))
  :effect (and (at ?d) (seen ?d) (fuel ?l) (not (at ?c)) (not (fuel ?m)))))
"""

BRIDGES: Final = """(define (domain bridges)
(:requirements :strips :typing)
(:types place plank)
(:predicates (here) (on ?p - place) (parcel ?p - place) (carrying) (kept ?p - place) (whole ?p - plank))
(:action cross :parameters (?p - place ?k - plank) :precondition (and (here) (whole ?k))
  :effect (and (on ?p) (not (here)) (not (whole ?k))))
(:action fetch :parameters (?p - place) :precondition (and (on ?p) (parcel ?p))
  :effect (and (here) (kept ?p) (not (on ?p)) (not (parcel ?p))))
(:action return :parameters (?p - place) :precondition (on ?p) :effect (and (here) (not (on ?p)))))
"""

COLOURS: Final = """(define (domain colours)
(:requirements :strips :typing :negative-preconditions :universal-preconditions)
(:types node colour)
(:predicates (beside ?n ?m - node) (has ?n - node ?c - colour) (plain ?n - node) (done ?n - node))
(:action paint :parameters (?n - node ?c - colour)
  :precondition (and (plain ?n) (forall (?m - node) (or (not (beside ?n ?m)) (not (has ?m ?c)))))
  :effect (and (has ?n ?c) (done ?n) (not (plain ?n))))
(:action clean :parameters (?n - node ?c - colour) :precondition (has ?n ?c)
  :effect (and (plain ?n) (not (has ?n ?c)) (not (done ?n)))))
"""


def packing(boxes: int) -> Written:
    """Return the task to pack things into boxes, one into each, of which there is one too few."""
    things, names = named("t", boxes + 1), named("b", boxes)
    initial = [f"loose {thing}" for thing in things] + [f"free {box}" for box in names]
    text = problem_text("packing", {"thing": things, "box": names}, initial, [f"packed {thing}" for thing in things])
    return Written(f"packing-{boxes}", PACKING, text, f"{boxes + 1} things do not go into {boxes} boxes, one each")


def cover(side: int) -> Written:
    """Return the task to cover a chessboard without two opposite corners with dominoes (Black, 1946)."""
    cells = [cell for cell in grid(side, side) if cell not in {(0, 0), (side - 1, side - 1)}]
    initial = [*(f"bare {cell}" for cell in names_of(cells)), *in_rows("beside", cells, 2)]
    goal = [f"covered {cell}" for cell in names_of(cells)]
    because = "a domino covers a black and a white cell; two more are of one colour than of the other"
    text = problem_text("cover", {"cell": names_of(cells)}, initial, goal)
    return Written(f"cover-{side}x{side}", COVER, text, because)


def tour(rows: int, columns: int) -> Written:
    """Return the task to see all cells of a grid with fuel for one drive less than there are cells to go to."""
    cells = grid(rows, columns)
    levels = named("l", len(cells) - 1)
    start = name_of(cells[0])
    initial = [f"at {start}", f"seen {start}", f"fuel {levels[-1]}", *in_rows("beside", cells, 2)]
    initial += [f"less {low} {high}" for low, high in pairwise(levels)]
    objects = {"cell": names_of(cells), "level": levels}
    text = problem_text("tour", objects, initial, [f"seen {cell}" for cell in names_of(cells)])
    because = f"{len(cells) - 1} cells are new, each takes a drive, and there is fuel for {len(cells) - 2}"
    return Written(f"tour-{rows}x{columns}", TOUR, text, because)


def bridges(islands: int) -> Written:
    """Return the task to fetch a parcel from each island over planks that break, with one plank too few."""
    places, planks = named("i", islands), named("k", islands - 1)
    initial = ["here", *(f"parcel {place}" for place in places), *(f"whole {plank}" for plank in planks)]
    text = problem_text("bridges", {"place": places, "plank": planks}, initial, [f"kept {place}" for place in places])
    because = f"each of {islands} islands takes a plank, and there are {islands - 1}"
    return Written(f"bridges-{islands}", BRIDGES, text, because)


def colours(cycle: int) -> Written:
    """Return the task to colour the graph that Mycielski (1955) makes of an odd cycle with three colours."""
    outer, inner = named("u", cycle), named("v", cycle)
    edges = [(outer[place], outer[(place + 1) % cycle]) for place in range(cycle)]
    edges += [(inner[place], outer[(place + step) % cycle]) for place in range(cycle) for step in (1, cycle - 1)]
    edges += [("w", each) for each in inner]
    initial = [f"beside {one} {other}" for edge in edges for one, other in (edge, edge[::-1])]
    nodes = [*outer, *inner, "w"]
    initial += [f"plain {node}" for node in nodes]
    objects = {"node": nodes, "colour": named("c", 3)}
    text = problem_text("colours", objects, initial, [f"done {node}" for node in nodes])
    because = (
        f"it takes four colours: Mycielski's graph of a cycle of {cycle} takes one more than the cycle, which is odd"
    )
    return Written(f"colours-{cycle}", COLOURS, text, because)
