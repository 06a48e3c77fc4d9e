"""Puzzles without a solution: something that no move changes is different at the start and in the goal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from benchmarks.unsolvable.grids import Cell, grid, in_rows, name_of, named, names_of
from benchmarks.unsolvable.written import Written, problem_text

TILES: Final = """(define (domain tiles)
(:requirements :strips :typing)
(:types tile cell)
(:predicates (on ?t - tile ?c - cell) (gap ?c - cell) (beside ?c ?d - cell))
(:action slide :parameters (?t - tile ?c ?d - cell) :precondition (and (beside ?c ?d) (on ?t ?c) (gap ?d))
  :effect (and (on ?t ?d) (gap ?c) (not (on ?t ?c)) (not (gap ?d)))))
"""

LAMPS: Final = """(define (domain lamps)
(:requirements :adl :typing)
(:types lamp)
(:predicates (lit ?l - lamp) (near ?l ?m - lamp))
(:action press :parameters (?l - lamp)
  :effect (forall (?m - lamp) (and (when (and (near ?l ?m) (lit ?m)) (not (lit ?m)))
                                   (when (and (near ?l ?m) (not (lit ?m))) (lit ?m))))))
"""

ROBOTS: Final = """(define (domain robots)
(:requirements :strips :typing)
(:types robot cell)
(:predicates (at ?r - robot ?c - cell) (free ?c - cell) (beside ?c ?d - cell))
(:action go :parameters (?r - robot ?c ?d - cell) :precondition (and (beside ?c ?d) (at ?r ?c) (free ?d))
  :effect (and (at ?r ?d) (free ?c) (not (at ?r ?c)) (not (free ?d)))))
"""

STACKS: Final = """(define (domain stacks)
(:requirements :strips :typing)
(:types block)
(:predicates (on ?x ?y - block) (bottom ?x - block) (clear ?x - block) (holding ?x - block) (empty))
(:action lift :parameters (?x - block) :precondition (and (clear ?x) (bottom ?x) (empty))
  :effect (and (holding ?x) (not (clear ?x)) (not (bottom ?x)) (not (empty))))
(:action lower :parameters (?x - block) :precondition (holding ?x)
  :effect (and (clear ?x) (bottom ?x) (empty) (not (holding ?x))))
(:action stack :parameters (?x ?y - block) :precondition (and (holding ?x) (clear ?y))
  :effect (and (on ?x ?y) (clear ?x) (empty) (not (holding ?x)) (not (clear ?y))))
(:action unstack :parameters (?x ?y - block) :precondition (and (on ?x ?y) (clear ?x) (empty))
  :effect (and (holding ?x) (clear ?y) (not (on ?x ?y)) (not (clear ?x)) (not (empty)))))
"""

PEGS: Final = """(define (domain pegs)
(:requirements :strips :typing)
(:types cell)
(:predicates (peg ?c - cell) (hole ?c - cell) (line ?c ?d ?e - cell))
(:action jump :parameters (?c ?d ?e - cell) :precondition (and (line ?c ?d ?e) (peg ?c) (peg ?d) (hole ?e))
  :effect (and (hole ?c) (hole ?d) (peg ?e) (not (peg ?c)) (not (peg ?d)) (not (hole ?e)))))
"""

CRATES: Final = """(define (domain crates)
(:requirements :strips :typing)
(:types crate cell)
(:predicates (me ?c - cell) (at ?b - crate ?c - cell) (free ?c - cell) (beside ?c ?d - cell) (line ?c ?d ?e - cell)
  (target ?c - cell) (home ?b - crate))
(:action walk :parameters (?c ?d - cell) :precondition (and (beside ?c ?d) (me ?c) (free ?d))
  :effect (and (me ?d) (free ?c) (not (me ?c)) (not (free ?d))))
(:action push :parameters (?b - crate ?c ?d ?e - cell)
  :precondition (and (line ?c ?d ?e) (me ?c) (at ?b ?d) (free ?e))
  :effect (and (me ?d) (at ?b ?e) (free ?c) (not (me ?c)) (not (at ?b ?d)) (not (free ?e)) (not (home ?b))))
(:action store :parameters (?b - crate ?c - cell) :precondition (and (at ?b ?c) (target ?c)) :effect (home ?b)))
"""

CROSSING: Final = """(define (domain crossing)
(:requirements :strips :typing)
(:types count bank)
(:predicates (sheep ?b - bank ?n - count) (wolves ?b - bank ?n - count) (boat ?b - bank) (across ?b ?c - bank)
  (sum ?n ?m ?l - count) (safe ?n ?m - count) (load ?n ?m - count))
(:action cross :parameters (?b ?c - bank ?s ?w ?s1 ?w1 ?s2 ?w2 ?s3 ?w3 ?s4 ?w4 - count)
  :precondition (and (boat ?b) (across ?b ?c) (load ?s ?w) (sheep ?b ?s1) (wolves ?b ?w1) (sheep ?c ?s2) (wolves ?c ?w2)
    (sum ?s3 ?s ?s1) (sum ?w3 ?w ?w1) (sum ?s2 ?s ?s4) (sum ?w2 ?w ?w4) (safe ?s3 ?w3) (safe ?s4 ?w4))
  :effect (and (boat ?c) (sheep ?b ?s3) (wolves ?b ?w3) (sheep ?c ?s4) (wolves ?c ?w4) (not (boat ?b))
    (not (sheep ?b ?s1)) (not (wolves ?b ?w1)) (not (sheep ?c ?s2)) (not (wolves ?c ?w2)))))
"""


def tiles(rows: int, columns: int) -> Written:
    """Return the sliding-tile puzzle of this size with the last two tiles swapped (Johnson and Story, 1879)."""
    cells = grid(rows, columns)
    pieces, places = named("t", len(cells) - 1), names_of(cells)
    gap = f"gap {places[-1]}"
    goal = [gap, *_each("on", pieces, places)]
    start = [gap, *_each("on", [*pieces[:-2], pieces[-1], pieces[-2]], places), *in_rows("beside", cells, 2)]
    text = problem_text("tiles", {"tile": pieces, "cell": places}, start, goal)
    because = "two tiles are swapped and the gap is where it was, which takes an odd and an even number of moves"
    return Written(f"tiles-{rows}x{columns}", TILES, text, because)


def lamps(side: int, lit: Cell) -> Written:
    """Return Lights Out on a square, with one lamp lit that is in a quiet pattern (Anderson and Feil, 1998)."""
    cells = grid(side, side)
    start = [f"lit {name_of(lit)}", *(f"near {cell} {cell}" for cell in names_of(cells)), *in_rows("near", cells, 2)]
    text = problem_text("lamps", {"lamp": names_of(cells)}, start, [f"not (lit {cell})" for cell in names_of(cells)])
    because = "each button changes an even number of some lamps, of which one is lit"
    return Written(f"lamps-{side}x{side}", LAMPS, text, because)


def line(cells: int, robots: int) -> Written:
    """Return the task to swap two robots of several that cannot pass each other on a line."""
    places, names = named("c", cells), named("r", robots)
    start = [
        *_each("at", names, places),
        *(f"free {place}" for place in places[robots:]),
        *_steps(places, closed=False),
    ]
    goal = _each("at", [names[1], names[0], *names[2:]], places)
    text = problem_text("robots", {"robot": names, "cell": places}, start, goal)
    return Written(f"line-{cells}-{robots}", ROBOTS, text, "robots on a line stay in their order")


def ring(cells: int, robots: int) -> Written:
    """Return the task to swap two robots of several that cannot pass each other on a ring."""
    places, names = named("c", cells), named("r", robots)
    start = [*_each("at", names, places), *(f"free {place}" for place in places[robots:]), *_steps(places, closed=True)]
    goal = _each("at", [names[1], names[0], *names[2:]], places)
    text = problem_text("robots", {"robot": names, "cell": places}, start, goal)
    return Written(f"ring-{cells}-{robots}", ROBOTS, text, "robots on a ring stay in their order")


def circle(blocks: int) -> Written:
    """Return the task to put three blocks of several on each other in a circle."""
    names = named("b", blocks)
    start = ["empty", *(f"{what} {block}" for block in names for what in ("bottom", "clear"))]
    text = problem_text("stacks", {"block": names}, start, ["on b0 b1", "on b1 b2", "on b2 b0"])
    return Written(f"circle-{blocks}", STACKS, text, "the last block to be put down is below another one")


def pegs(rows: int, columns: int, last: Cell) -> Written:
    """Return peg solitaire with a hole in a corner, and the last peg where it cannot be (Reiss, 1857)."""
    cells = grid(rows, columns)
    start = ["hole c0-0", *(f"peg {cell}" for cell in names_of(cells[1:])), *in_rows("line", cells, 3)]
    goal = [f"{'peg' if cell == last else 'hole'} {name_of(cell)}" for cell in cells]
    text = problem_text("pegs", {"cell": names_of(cells)}, start, goal)
    because = "of three colours along the diagonals a jump changes the parities of all, and these do not fit the goal"
    return Written(f"pegs-{rows}x{columns}", PEGS, text, because)


def crates(rows: int, columns: int, count: int) -> Written:
    """Return Sokoban with crates along a wall, and one target less along it."""
    cells = grid(rows, columns)
    boxes, along = named("b", count), [(0, 1 + 2 * place) for place in range(count)]
    start = ["me c1-0", *_each("at", boxes, names_of(along))]
    start += [f"target {cell}" for cell in names_of((0, columns - 1 - place) for place in range(count - 1))]
    start += [f"target {cell}" for cell in names_of((rows - 1, 1 + place) for place in range(count))]
    start += [f"free {name_of(cell)}" for cell in cells if cell not in {(1, 0), *along}]
    start += [*in_rows("beside", cells, 2), *in_rows("line", cells, 3)]
    text = problem_text("crates", {"crate": boxes, "cell": names_of(cells)}, start, [f"home {box}" for box in boxes])
    because = f"none of {count} crates ever leaves the wall, along which there are {count - 1} targets"
    return Written(f"crates-{rows}x{columns}-{count}", CRATES, text, because)


def crossing(pairs: int) -> Written:
    """Return the task to take as many sheep as wolves over a river in a boat for two, sheep never outnumbered."""
    counts = named("n", pairs + 1)
    numbers = range(pairs + 1)
    start = ["boat west", "across west east", "across east west"]
    start += [f"{who} {bank} {count}" for who in ("sheep", "wolves") for bank, count in _banks(counts)]
    start += [f"sum n{one} n{other} n{one + other}" for one in numbers for other in range(pairs + 1 - one)]
    start += [f"safe n{one} n{other}" for one in numbers for other in numbers if one == 0 or one >= other]
    start += [f"load n{one} n{other}" for one in numbers for other in numbers if 1 <= one + other <= 2]
    text = problem_text(
        "crossing", {"count": counts, "bank": ["west", "east"]}, start, ["sheep west n0", "wolves west n0"]
    )
    return Written(f"crossing-{pairs}", CROSSING, text, "a boat for two takes at most three pairs across")


def _banks(counts: list[str]) -> list[tuple[str, str]]:
    return [("west", counts[-1]), ("east", counts[0])]


def _each(predicate: str, first: Sequence[str], second: Sequence[str]) -> list[str]:
    """Return the first fact about the first of both, and so on."""
    return [f"{predicate} {one} {other}" for one, other in zip(first, second, strict=False)]


def _steps(places: Sequence[str], *, closed: bool) -> list[str]:
    pairs = list(zip(places, [*places[1:], places[0]] if closed else places[1:], strict=False))
    return [f"beside {one} {other}" for pair in pairs for one, other in (pair, pair[::-1])]
