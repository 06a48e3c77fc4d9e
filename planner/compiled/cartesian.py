"""Cartesian abstractions of a task as arrays."""

from __future__ import annotations

from array import array
from itertools import accumulate
from typing import Final, NamedTuple

from planner.abstractions.aims import Aim, Box, aims
from planner.abstractions.moves import Condition, Moves
from planner.compiled.arrays import empty_index, index, lengthened, words, zeros
from planner.compiled.board import Board
from planner.compiled.spaces import FEW, lengthen, no_spaces
from planner.kernels import numbers as n
from planner.kernels import projections
from planner.kernels import refinement as kernel
from planner.kernels.abstractions import Abstractions
from planner.kernels.boxes import Form
from planner.kernels.data import NOTHING
from planner.kernels.refinement import Refinement
from planner.kernels.scp import Trees
from planner.search.run import Pauses

WORK: Final = 300_000
"""Steps of inner loops at a time."""
MOST_EDGES: Final = 1_000_000
"""Transitions of all abstractions together, about."""
LARGEST: Final = 300_000
"""Transitions of one of them, about."""
ROOM: Final = 1 << 21
"""Transitions of one that there is room for."""
STEP: Final = 20
"""Of what costs the same, fewer actions are nearer: actions have prices of `cost << STEP | 1`."""
HIGHEST: Final = 1 << 31
"""Costs above this are one to refinement."""
BITS: Final = 32
GROWING: Final = {
    **dict.fromkeys(("distance", "way", "goal", "leaf", "first_out", "first_in", "stale", "list"), kernel.STATES),
    **dict.fromkeys(("source", "target", "action", "next_out", "last_out", "next_in", "last_in"), kernel.EDGES),
    **dict.fromkeys(("variable", "low", "high", "bit"), kernel.NODES),
    "piece": kernel.PIECES,
}
"""Which of the counts says how much of an array is used."""


class Gathered(NamedTuple):
    """Abstractions that were made: their `spaces`, with their `counts`; the tree of number i is that of `roots[i]`."""

    spaces: Abstractions
    counts: array[int]
    trees: Trees
    roots: list[int]


def nothing_gathered() -> Gathered:
    """Return no abstractions, and room for some."""
    return Gathered(no_spaces(), zeros(projections.COUNTS), Trees(*map(index, [[]] * 8)), [])


class Cartesian:
    """Makes Cartesian abstractions of the task on `board`, with its `moves`; they are `gathered`.

    With `anywhere`, there are estimates for states, too, that are not reached from the initial one.
    """

    def __init__(self, board: Board, moves: Moves, arrays: projections.Moves, *, anywhere: bool = False) -> None:
        self._anywhere = anywhere
        self._moves, self._arrays, self._entries = moves, arrays, board.entries
        self.form = form_of(moves, board.costs)
        self._group = empty_index(board.actions)
        coding, many = board.packed.coding, len(moves.sizes)
        places = {"word": coding.word[:many], "shift": coding.shift[:many], "mask": coding.mask[:many]}
        none = nothing_gathered()
        self.gathered = none._replace(trees=none.trees._replace(**places))

    def make(self, work: int) -> Pauses:
        """Make abstractions, for about so many steps; yields often."""
        wanted = []
        for aim in aims(self._moves, self._before):
            wanted.append(aim)
            yield
        made, spent = room_for(self.form), 0
        for number, aim in enumerate(wanted):
            rest, left = len(wanted) - number, MOST_EDGES - self.gathered.counts[projections.EDGES]
            edges = min(left, LARGEST, 2 * left // rest)
            yield from self._refined(made, aim, (work - spent) // rest, edges)
            spent += made.counts[kernel.STEPS]
            if made.counts[kernel.CUT] == len(self._moves.sizes) and made.counts[kernel.STATES] > 1:
                self._settle(made)

    def _refined(self, made: Refinement, aim: Aim, work: int, edges: int) -> Pauses:
        """Refine an abstraction anew, for about so many steps or transitions."""
        box = packed_box(aim.box, self.form)
        made.counts[kernel.STATES] = made.counts[kernel.STEPS] = made.counts[kernel.EDGES] = 0
        outcome = n.PAUSED
        while made.counts[kernel.STEPS] < work and made.counts[kernel.EDGES] < edges and outcome != n.DONE:
            outcome = self._entries["refine"](WORK, int(aim.inside), self._arrays, self.form, box, made)
            if outcome == n.FULL and not _grown(made):
                break
            yield

    def _settle(self, made: Refinement) -> None:
        """Add a refinement to the others."""
        spaces, counts, trees, roots = self.gathered
        anywhere = int(self._anywhere)
        while self._entries["settle"](anywhere, self._arrays, self.form, made, spaces, self._group, counts) == n.FULL:
            lengthen(spaces, counts)
        nodes, root, pieces = made.counts[kernel.NODES], len(trees.variable), len(trees.piece)
        roots.append(root)
        trees.variable.extend(made.variable[:nodes])
        trees.low.extend(made.low[:nodes])
        trees.high.extend(made.high[:nodes])
        trees.bit.extend(made.bit[:nodes])
        trees.piece.extend(made.piece[: made.counts[kernel.PIECES]])
        self._entries["plant"](trees, root, pieces)

    def _before(self, value: Condition) -> tuple[Box, list[Condition]]:
        """Return what is reached before this value is, and what all need that may lead to it first."""
        moves, box, common = self._moves, index([0]) * self.form.word[-1], zeros(sum(self._moves.sizes))
        many = self._entries["before"](self._arrays, self.form, *value, box, common)
        first = accumulate(moves.sizes, initial=0)
        needed = [
            (variable, each)
            for variable, (begin, size) in enumerate(zip(first, moves.sizes, strict=False))
            for each in range(size)
            if many and common[begin + each] == many and moves.initial[variable] != each
        ]
        return unpacked_box(box, self.form, moves), needed


def form_of(moves: Moves, costs: list[int]) -> Form:
    """Return how boxes are written: what has at most a word of values shares one."""
    first, shift, mask, end, used = [], [], [], 0, BITS
    for size in moves.sizes:
        if used + size > BITS:
            end, used = end + 1, 0
        first.append(end - 1)
        shift.append(used)
        mask.append(NOTHING if size > BITS else (1 << size) - 1 << used)
        used += size
        if size > BITS:
            end, used = end - 1 + -(-size // BITS), BITS
    ends = [begin + -(-(bit + size) // BITS) for begin, bit, size in zip(first, shift, moves.sizes, strict=True)]
    prices = words(min(cost, HIGHEST) << STEP | 1 for cost in costs)
    return Form(index([*first, end]), index(ends), index(shift), index(mask), index(moves.initial), prices)


def packed_box(box: Box, form: Form) -> array[int]:
    """Return a box as words."""
    found = index([0]) * form.word[-1]
    for variable, values in enumerate(box):
        for value in values:
            place = form.shift[variable] + value
            found[form.word[variable] + place // BITS] |= 1 << place % BITS
    return found


def unpacked_box(box: array[int], form: Form, moves: Moves) -> Box:
    """Return what a box was made of."""
    places = zip(form.word, form.shift, moves.sizes, strict=False)
    return tuple(
        [
            frozenset([each for each in range(size) if box[word + (shift + each) // BITS] >> (shift + each) % BITS & 1])
            for word, shift, size in places
        ]
    )


def room_for(form: Form) -> Refinement:
    """Return room for refining an abstraction."""
    made = {name: empty_index(FEW) for name in Refinement._fields}
    made |= {"counts": zeros(kernel.COUNTS), "distance": zeros(FEW), "key": zeros(FEW)}
    made["box"] = empty_index(FEW * form.word[-1])
    made["part"] = empty_index(form.word[-1])
    made |= {name: empty_index(len(form.mask)) for name in ("value", "touch")}
    return Refinement(**made)


def _grown(made: Refinement) -> bool:
    """Double what is used by half or more, or else everything that grows; return whether that was allowed."""
    if len(made.source) >= ROOM:
        return False
    used = {name: made.counts[place] for name, place in GROWING.items()}
    used["box"] = used["goal"] * len(made.part)
    used["key"] = used["heap"] = used["source"] + used["goal"]
    short = [name for name, many in used.items() if 2 * many >= len(getattr(made, name))]
    for name in short or used:
        lengthened(getattr(made, name), 2 * len(getattr(made, name)))
    return True
