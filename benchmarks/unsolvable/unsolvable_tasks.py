"""The tasks that are made so that an argument says that there is no plan.

Tasks of a suite from which facts were taken away, so that no plan is left, although none of their parts is missing.

Which facts is in `taken.tsv`: found by taking some away at random, kept where a planner has proved that there is no
plan, and where ignoring deletes there would be one.

Tasks that ask for one more of something than there is: boxes, room, colours, fuel, planks.

Puzzles without a solution: something that no move changes is different at the start and in the goal.

Cells of a grid, and names for them and for other things.

A task without a plan as two texts, and why it has none.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Final

from benchmarks.pddltext import Expression, find_sections, read_expression, read_file, write_expression
from planner.errors import DocumentError, Location

Cell = tuple[int, int]


def number_names(letter: str, count: int) -> list[str]:
    """Return so many names."""
    return [f"{letter}{number}" for number in range(count)]


def grid(rows: int, columns: int) -> list[Cell]:
    """Return the cells, row by row."""
    return [(row, column) for row in range(rows) for column in range(columns)]


def name_of(cell: Cell) -> str:
    """Return the name of a cell."""
    return f"c{cell[0]}-{cell[1]}"


def names_of(cells: Iterable[Cell]) -> list[str]:
    """Return the names of cells."""
    return list(map(name_of, cells))


def rows_of(cells: Iterable[Cell], length: int) -> Iterator[list[Cell]]:
    """Yield the straight rows of so many of the cells, in all four directions."""
    there = set(cells)
    for row, column in there:
        for down, right in ((0, 1), (1, 0), (0, -1), (-1, 0)):
            found = [(row + step * down, column + step * right) for step in range(length)]
            if there.issuperset(found):
                yield found


def row_facts(predicate: str, cells: Iterable[Cell], length: int) -> list[str]:
    """Return `predicate` of each straight row of so many of the cells, in a fixed order."""
    return [" ".join([predicate, *names_of(row)]) for row in sorted(rows_of(cells, length))]


DOMAIN_FILE = "domain.pddl"


@dataclass(frozen=True, slots=True)
class WrittenTask:
    """A task in PDDL: its `name`, the texts of `domain` and `problem`, and the reason why there is no plan."""

    name: str
    domain: str
    problem: str
    because: str

    def write(self, folder: Path) -> None:
        """Write both files to a folder of the task's name in `folder`, as suites have them."""
        place = folder / self.name
        place.mkdir(parents=True, exist_ok=True)
        (place / DOMAIN_FILE).write_text(self.domain, encoding="utf-8")
        (place / "problem.pddl").write_text(f"; no plan: {self.because}\n{self.problem}", encoding="utf-8")


def problem_text(domain: str, objects: Mapping[str, Iterable[str]], initial: Iterable[str], goal: Iterable[str]) -> str:
    """Return a problem of `domain` with objects by their types; facts are written without parentheses."""
    typed = " ".join(f"{' '.join(names)} - {kind}" for kind, names in objects.items())
    return (
        f"(define (problem none) (:domain {domain})\n"
        f"(:objects {typed})\n"
        f"(:init {_facts(initial)})\n"
        f"(:goal (and {_facts(goal)})))\n"
    )


def _facts(facts: Iterable[str]) -> str:
    return " ".join(f"({fact})" for fact in facts)


TABLE: Final = Path(__file__).with_name("taken.tsv")


@dataclass(frozen=True, slots=True)
class TakenTask:
    """A task of a suite, the facts to take away from it, and who has proved that no plan is left."""

    domain: str
    domain_file: str
    problem_file: str
    facts: tuple[str, ...]
    proved_by: str

    @property
    def name(self) -> str:
        """The name of what is left."""
        return f"{self.domain}-{Path(self.problem_file).stem}"

    def of(self, suite: Path) -> WrittenTask:
        """Return what is left of the task in `suite`; raises `DocumentError` where a fact is not there."""
        path = suite / self.domain / self.problem_file
        problem = read_file(path)
        for initial in find_sections(problem, ":init"):
            for fact in self.facts:
                _take(initial, fact, path)
        domain = (suite / self.domain / self.domain_file).read_text(encoding="utf-8")
        because = f"proved by {self.proved_by} without {' '.join(self.facts)}"
        return WrittenTask(self.name, domain, write_expression(problem) + "\n", because)


def _take(initial: list[Expression], fact: str, path: Path) -> None:
    gone = read_expression(fact, "taken.tsv")
    if gone not in initial:
        raise DocumentError(f"{fact} is not in the initial state", Location(str(path)), "is this the same collection?")
    initial.remove(gone)


def read_taken() -> Iterator[TakenTask]:
    """Yield what `taken.tsv` says."""
    with TABLE.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            facts = tuple(fact.strip() for fact in row["facts"].split(";"))
            yield TakenTask(row["domain"], row["domain_file"], row["problem_file"], facts, row["proved_by"])


def take_tasks(suite: Path) -> list[WrittenTask]:
    """Return what is left of tasks in `suite`; those that it does not have are left out."""
    return [each.of(suite) for each in read_taken() if (suite / each.domain / each.problem_file).exists()]


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


def packing(boxes: int) -> WrittenTask:
    """Return the task to pack things into boxes, one into each, of which there is one too few."""
    things, names = number_names("t", boxes + 1), number_names("b", boxes)
    initial = [f"loose {thing}" for thing in things] + [f"free {box}" for box in names]
    text = problem_text("packing", {"thing": things, "box": names}, initial, [f"packed {thing}" for thing in things])
    return WrittenTask(f"packing-{boxes}", PACKING, text, f"{boxes + 1} things do not go into {boxes} boxes, one each")


def cover(side: int) -> WrittenTask:
    """Return the task to cover a chessboard without two opposite corners with dominoes (Black, 1946)."""
    cells = [cell for cell in grid(side, side) if cell not in {(0, 0), (side - 1, side - 1)}]
    initial = [*(f"bare {cell}" for cell in names_of(cells)), *row_facts("beside", cells, 2)]
    goal = [f"covered {cell}" for cell in names_of(cells)]
    because = "a domino covers a black and a white cell; two more are of one colour than of the other"
    text = problem_text("cover", {"cell": names_of(cells)}, initial, goal)
    return WrittenTask(f"cover-{side}x{side}", COVER, text, because)


def tour(rows: int, columns: int) -> WrittenTask:
    """Return the task to see all cells of a grid with fuel for one drive less than there are cells to go to."""
    cells = grid(rows, columns)
    levels = number_names("l", len(cells) - 1)
    start = name_of(cells[0])
    initial = [f"at {start}", f"seen {start}", f"fuel {levels[-1]}", *row_facts("beside", cells, 2)]
    initial += [f"less {low} {high}" for low, high in pairwise(levels)]
    objects = {"cell": names_of(cells), "level": levels}
    text = problem_text("tour", objects, initial, [f"seen {cell}" for cell in names_of(cells)])
    because = f"{len(cells) - 1} cells are new, each takes a drive, and there is fuel for {len(cells) - 2}"
    return WrittenTask(f"tour-{rows}x{columns}", TOUR, text, because)


def bridges(islands: int) -> WrittenTask:
    """Return the task to fetch a parcel from each island over planks that break, with one plank too few."""
    places, planks = number_names("i", islands), number_names("k", islands - 1)
    initial = ["here", *(f"parcel {place}" for place in places), *(f"whole {plank}" for plank in planks)]
    text = problem_text("bridges", {"place": places, "plank": planks}, initial, [f"kept {place}" for place in places])
    because = f"each of {islands} islands takes a plank, and there are {islands - 1}"
    return WrittenTask(f"bridges-{islands}", BRIDGES, text, because)


def colours(cycle: int) -> WrittenTask:
    """Return the task to colour the graph that Mycielski (1955) makes of an odd cycle with three colours."""
    outer, inner = number_names("u", cycle), number_names("v", cycle)
    edges = [(outer[place], outer[(place + 1) % cycle]) for place in range(cycle)]
    edges += [(inner[place], outer[(place + step) % cycle]) for place in range(cycle) for step in (1, cycle - 1)]
    edges += [("w", each) for each in inner]
    initial = [f"beside {one} {other}" for edge in edges for one, other in (edge, edge[::-1])]
    nodes = [*outer, *inner, "w"]
    initial += [f"plain {node}" for node in nodes]
    objects = {"node": nodes, "colour": number_names("c", 3)}
    text = problem_text("colours", objects, initial, [f"done {node}" for node in nodes])
    because = (
        f"it takes four colours: Mycielski's graph of a cycle of {cycle} takes one more than the cycle, which is odd"
    )
    return WrittenTask(f"colours-{cycle}", COLOURS, text, because)


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


def tiles(rows: int, columns: int) -> WrittenTask:
    """Return the sliding-tile puzzle of this size with the last two tiles swapped (Johnson and Story, 1879)."""
    cells = grid(rows, columns)
    pieces, places = number_names("t", len(cells) - 1), names_of(cells)
    gap = f"gap {places[-1]}"
    goal = [gap, *_pair_facts("on", pieces, places)]
    start = [gap, *_pair_facts("on", [*pieces[:-2], pieces[-1], pieces[-2]], places), *row_facts("beside", cells, 2)]
    text = problem_text("tiles", {"tile": pieces, "cell": places}, start, goal)
    because = "two tiles are swapped and the gap is where it was, which takes an odd and an even number of moves"
    return WrittenTask(f"tiles-{rows}x{columns}", TILES, text, because)


def lamps(side: int, lit: Cell) -> WrittenTask:
    """Return Lights Out on a square, with one lamp lit that is in a quiet pattern (Anderson and Feil, 1998)."""
    cells = grid(side, side)
    start = [f"lit {name_of(lit)}", *(f"near {cell} {cell}" for cell in names_of(cells)), *row_facts("near", cells, 2)]
    text = problem_text("lamps", {"lamp": names_of(cells)}, start, [f"not (lit {cell})" for cell in names_of(cells)])
    because = "each button changes an even number of some lamps, of which one is lit"
    return WrittenTask(f"lamps-{side}x{side}", LAMPS, text, because)


def line(cells: int, robots: int) -> WrittenTask:
    """Return the task to swap two robots of several that cannot pass each other on a line."""
    places, names = number_names("c", cells), number_names("r", robots)
    start = [
        *_pair_facts("at", names, places),
        *(f"free {place}" for place in places[robots:]),
        *_step_facts(places, closed=False),
    ]
    goal = _pair_facts("at", [names[1], names[0], *names[2:]], places)
    text = problem_text("robots", {"robot": names, "cell": places}, start, goal)
    return WrittenTask(f"line-{cells}-{robots}", ROBOTS, text, "robots on a line stay in their order")


def ring(cells: int, robots: int) -> WrittenTask:
    """Return the task to swap two robots of several that cannot pass each other on a ring."""
    places, names = number_names("c", cells), number_names("r", robots)
    start = [
        *_pair_facts("at", names, places),
        *(f"free {place}" for place in places[robots:]),
        *_step_facts(places, closed=True),
    ]
    goal = _pair_facts("at", [names[1], names[0], *names[2:]], places)
    text = problem_text("robots", {"robot": names, "cell": places}, start, goal)
    return WrittenTask(f"ring-{cells}-{robots}", ROBOTS, text, "robots on a ring stay in their order")


def circle(blocks: int) -> WrittenTask:
    """Return the task to put three blocks of several on each other in a circle."""
    names = number_names("b", blocks)
    start = ["empty", *(f"{what} {block}" for block in names for what in ("bottom", "clear"))]
    text = problem_text("stacks", {"block": names}, start, ["on b0 b1", "on b1 b2", "on b2 b0"])
    return WrittenTask(f"circle-{blocks}", STACKS, text, "the last block to be put down is below another one")


def pegs(rows: int, columns: int, last: Cell) -> WrittenTask:
    """Return peg solitaire with a hole in a corner, and the last peg where it cannot be (Reiss, 1857)."""
    cells = grid(rows, columns)
    start = ["hole c0-0", *(f"peg {cell}" for cell in names_of(cells[1:])), *row_facts("line", cells, 3)]
    goal = [f"{'peg' if cell == last else 'hole'} {name_of(cell)}" for cell in cells]
    text = problem_text("pegs", {"cell": names_of(cells)}, start, goal)
    because = "of three colours along the diagonals a jump changes the parities of all, and these do not fit the goal"
    return WrittenTask(f"pegs-{rows}x{columns}", PEGS, text, because)


def crates(rows: int, columns: int, count: int) -> WrittenTask:
    """Return Sokoban with crates along a wall, and one target less along it."""
    cells = grid(rows, columns)
    boxes, along = number_names("b", count), [(0, 1 + 2 * place) for place in range(count)]
    start = ["me c1-0", *_pair_facts("at", boxes, names_of(along))]
    start += [f"target {cell}" for cell in names_of((0, columns - 1 - place) for place in range(count - 1))]
    start += [f"target {cell}" for cell in names_of((rows - 1, 1 + place) for place in range(count))]
    start += [f"free {name_of(cell)}" for cell in cells if cell not in {(1, 0), *along}]
    start += [*row_facts("beside", cells, 2), *row_facts("line", cells, 3)]
    text = problem_text("crates", {"crate": boxes, "cell": names_of(cells)}, start, [f"home {box}" for box in boxes])
    because = f"none of {count} crates ever leaves the wall, along which there are {count - 1} targets"
    return WrittenTask(f"crates-{rows}x{columns}-{count}", CRATES, text, because)


def crossing(pairs: int) -> WrittenTask:
    """Return the task to take as many sheep as wolves over a river in a boat for two, sheep never outnumbered."""
    counts = number_names("n", pairs + 1)
    numbers = range(pairs + 1)
    start = ["boat west", "across west east", "across east west"]
    start += [f"{who} {bank} {count}" for who in ("sheep", "wolves") for bank, count in _banks(counts)]
    start += [f"sum n{one} n{other} n{one + other}" for one in numbers for other in range(pairs + 1 - one)]
    start += [f"safe n{one} n{other}" for one in numbers for other in numbers if one == 0 or one >= other]
    start += [f"load n{one} n{other}" for one in numbers for other in numbers if 1 <= one + other <= 2]
    text = problem_text(
        "crossing", {"count": counts, "bank": ["west", "east"]}, start, ["sheep west n0", "wolves west n0"]
    )
    return WrittenTask(f"crossing-{pairs}", CROSSING, text, "a boat for two takes at most three pairs across")


def _banks(counts: list[str]) -> list[tuple[str, str]]:
    return [("west", counts[-1]), ("east", counts[0])]


def _pair_facts(predicate: str, first: Sequence[str], second: Sequence[str]) -> list[str]:
    """Return the first fact about the first of both, and so on."""
    return [f"{predicate} {one} {other}" for one, other in zip(first, second, strict=False)]


def _step_facts(places: Sequence[str], *, closed: bool) -> list[str]:
    pairs = list(zip(places, [*places[1:], places[0]] if closed else places[1:], strict=False))
    return [f"beside {one} {other}" for pair in pairs for one, other in (pair, pair[::-1])]


def make_tasks() -> list[WrittenTask]:
    """Return the tasks, small ones and large ones of each kind."""
    return [
        packing(7),
        packing(10),
        cover(6),
        tour(4, 4),
        bridges(10),
        colours(5),
        tiles(3, 3),
        tiles(2, 5),
        lamps(4, (0, 0)),
        lamps(5, (0, 0)),
        line(14, 7),
        ring(16, 7),
        circle(9),
        pegs(4, 5, (0, 0)),
        crates(4, 7, 3),
        crossing(4),
    ]
