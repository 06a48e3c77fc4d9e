"""Abstractions of a task as arrays for the kernels: projections, and Cartesian abstractions that were refined before.

The transitions of actions on single variables are arrays, too, and so is the room for abstract state spaces.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from itertools import accumulate
from typing import Final, NamedTuple

from planner.heuristics.abstractions import abstract_states_kernel as space
from planner.heuristics.abstractions import projections_kernel as kernel
from planner.heuristics.abstractions import refinement_kernel as refinement
from planner.heuristics.abstractions.abstract_states_kernel import Abstractions
from planner.heuristics.abstractions.cartesian import Aim, Box, generate_aims
from planner.heuristics.abstractions.cost_partitioning_kernel import Lookup, Trees
from planner.heuristics.abstractions.projections import Condition, Moves, Pattern, compute_factors
from planner.heuristics.abstractions.refinement_kernel import Form, Refinement
from planner.jit.arrays import empty_index, flatten, index, lengthen, words, zeros
from planner.jit.common_kernel import DONE, FULL, NOTHING, PAUSED
from planner.jit.library import Call
from planner.search.search_run import Pauses
from planner.search.task_compiled import Board
from planner.task.ground_task import Task
from planner.task.packed_task_compiled import Packing

FEW: Final = 1 << 12
"""Elements for which there is room at first."""


def make_spaces() -> Abstractions:
    """Return room for some spaces."""
    return Abstractions(*(index([0]) * FEW for _ in Abstractions._fields))


def lengthen_spaces(spaces: Abstractions, counts: array[int]) -> None:
    """Double the room in `spaces`, of which there is so much, where half is taken, or else everywhere."""
    by_field = {
        "state_start": space.ABSTRACTIONS,
        "group_start": space.ABSTRACTIONS,
        "edge_start": space.STATES,
        "goal": space.STATES,
        "source": space.EDGES,
        "group": space.EDGES,
        "label_start": space.GROUPS,
        "loops": space.GROUPS,
        "label": space.LABELS,
    }
    short = [name for name, place in by_field.items() if 2 * counts[place] > len(getattr(spaces, name))]
    for name in short or by_field:
        lengthen(getattr(spaces, name), 2 * len(getattr(spaces, name)))


MOST_VALUES: Final = 20_000
"""Values of all variables up to which pairs of them are looked at: they take 50 MB then."""


def pack_moves(task: Task, moves: Moves) -> kernel.Moves:
    """Return `moves` as arrays."""
    touches = [options for touched in moves.touches for options in touched.values()]
    options = [option for each in touches for option in each]
    condition_start, condition = flatten([[variable for variable, _ in option.conditions] for option in options])
    affecting_start, affecting = flatten(moves.affecting)
    return kernel.Moves(
        flatten([range(len(touched)) for touched in moves.touches])[0],
        index(variable for touched in moves.touches for variable in touched),
        index(accumulate(map(len, touches), initial=0)),
        index(NOTHING if option.origin is None else option.origin for option in options),
        index(NOTHING if option.target is None else option.target for option in options),
        condition_start,
        condition,
        index(value for option in options for _, value in option.conditions),
        affecting_start,
        affecting,
        index(moves.sizes),
        index(accumulate(moves.sizes, initial=0)),
        _pack_exclusions(task, moves),
    )


def _pack_exclusions(task: Task, moves: Moves) -> array[int]:
    """Return which values are never together, a row of bits for each; nothing if there are too many."""
    first = list(accumulate(moves.sizes, initial=0))
    if first[-1] > MOST_VALUES:
        return index([])
    rows = [0] * first[-1]
    for group in task.mutexes:
        numbers = [first[place[0]] + place[1] for fact in group if (place := moves.places[fact]) is not None]
        together = sum([1 << number for number in numbers])
        for number in numbers:
            rows[number] |= together & ~(1 << number)
    width = 4 * ((first[-1] + 31) >> 5)
    found = array("I")
    found.frombytes(b"".join([row.to_bytes(width, "little") for row in rows]))
    return found


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
    **dict.fromkeys(("distance", "way", "goal", "leaf", "first_out", "first_in", "stale", "list"), refinement.STATES),
    **dict.fromkeys(("source", "target", "action", "next_out", "last_out", "next_in", "last_in"), refinement.EDGES),
    **dict.fromkeys(("variable", "low", "high", "bit"), refinement.NODES),
    "piece": refinement.PIECES,
}
"""Which of the counts says how much of an array is used."""


class Gathered(NamedTuple):
    """Abstractions that were made: their `spaces`, with their `counts`; the tree of number i is that of `roots[i]`."""

    spaces: Abstractions
    counts: array[int]
    trees: Trees
    roots: list[int]


def gather_nothing() -> Gathered:
    """Return no abstractions, and room for some."""
    return Gathered(make_spaces(), zeros(space.COUNTS), Trees(*map(index, [[]] * 8)), [])


class Cartesian:
    """Makes Cartesian abstractions of the task on `board`, with its `moves`; they are `gathered`.

    With `anywhere`, there are estimates for states, too, that are not reached from the initial one.
    """

    def __init__(self, board: Board, moves: Moves, arrays: kernel.Moves, *, anywhere: bool = False) -> None:
        self._anywhere = anywhere
        self._moves, self._arrays, self._entries = moves, arrays, board.entries
        self.form = choose_form(moves, board.costs)
        self._group = empty_index(board.actions)
        coding, many = board.packed.coding, len(moves.sizes)
        places = {"word": coding.word[:many], "shift": coding.shift[:many], "mask": coding.mask[:many]}
        none = gather_nothing()
        self.gathered = none._replace(trees=none.trees._replace(**places))

    def make(self, work: int) -> Pauses:
        """Make abstractions, for about so many steps; yields often."""
        wanted = []
        for aim in generate_aims(self._moves, self._before):
            wanted.append(aim)
            yield
        made, spent = make_refinement(self.form), 0
        for number, aim in enumerate(wanted):
            rest, left = len(wanted) - number, MOST_EDGES - self.gathered.counts[space.EDGES]
            edges = min(left, LARGEST, 2 * left // rest)
            yield from self._refined(made, aim, (work - spent) // rest, edges)
            spent += made.counts[refinement.STEPS]
            if made.counts[refinement.CUT] == len(self._moves.sizes) and made.counts[refinement.STATES] > 1:
                self._settle(made)

    def _refined(self, made: Refinement, aim: Aim, work: int, edges: int) -> Pauses:
        """Refine an abstraction anew, for about so many steps or transitions."""
        box = pack_box(aim.box, self.form)
        made.counts[refinement.STATES] = made.counts[refinement.STEPS] = made.counts[refinement.EDGES] = 0
        outcome = PAUSED
        while made.counts[refinement.STEPS] < work and made.counts[refinement.EDGES] < edges and outcome != DONE:
            outcome = self._entries["refine"](WORK, int(aim.inside), self._arrays, self.form, box, made)
            if outcome == FULL and not _lengthen_refinement(made):
                break
            yield

    def _settle(self, made: Refinement) -> None:
        """Add a refinement to the others."""
        spaces, counts, trees, roots = self.gathered
        anywhere = int(self._anywhere)
        while (
            self._entries["add_refinement"](anywhere, self._arrays, self.form, made, spaces, self._group, counts)
            == FULL
        ):
            lengthen_spaces(spaces, counts)
        nodes, root, pieces = made.counts[refinement.NODES], len(trees.variable), len(trees.piece)
        roots.append(root)
        trees.variable.extend(made.variable[:nodes])
        trees.low.extend(made.low[:nodes])
        trees.high.extend(made.high[:nodes])
        trees.bit.extend(made.bit[:nodes])
        trees.piece.extend(made.piece[: made.counts[refinement.PIECES]])
        self._entries["append_tree"](trees, root, pieces)

    def _before(self, value: Condition) -> tuple[Box, list[Condition]]:
        """Return what is reached before this value is, and what all need that may lead to it first."""
        moves, box, common = self._moves, index([0]) * self.form.word[-1], zeros(sum(self._moves.sizes))
        many = self._entries["reach_without"](self._arrays, self.form, *value, box, common)
        first = accumulate(moves.sizes, initial=0)
        needed = [
            (variable, each)
            for variable, (begin, size) in enumerate(zip(first, moves.sizes, strict=False))
            for each in range(size)
            if many and common[begin + each] == many and moves.initial[variable] != each
        ]
        return unpack_box(box, self.form, moves), needed


def choose_form(moves: Moves, costs: list[int]) -> Form:
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


def pack_box(box: Box, form: Form) -> array[int]:
    """Return a box as words."""
    found = index([0]) * form.word[-1]
    for variable, values in enumerate(box):
        for value in values:
            place = form.shift[variable] + value
            found[form.word[variable] + place // BITS] |= 1 << place % BITS
    return found


def unpack_box(box: array[int], form: Form, moves: Moves) -> Box:
    """Return what a box was made of."""
    places = zip(form.word, form.shift, moves.sizes, strict=False)
    return tuple(
        [
            frozenset([each for each in range(size) if box[word + (shift + each) // BITS] >> (shift + each) % BITS & 1])
            for word, shift, size in places
        ]
    )


def make_refinement(form: Form) -> Refinement:
    """Return room for refining an abstraction."""
    made = {name: empty_index(FEW) for name in Refinement._fields}
    made |= {"counts": zeros(refinement.COUNTS), "distance": zeros(FEW), "key": zeros(FEW)}
    made["box"] = empty_index(FEW * form.word[-1])
    made["part"] = empty_index(form.word[-1])
    made |= {name: empty_index(len(form.mask)) for name in ("value", "touch")}
    return Refinement(**made)


def _lengthen_refinement(made: Refinement) -> bool:
    """Double what is used by half or more, or else everything that grows; return whether that was allowed."""
    if len(made.source) >= ROOM:
        return False
    used = {name: made.counts[place] for name, place in GROWING.items()}
    used["box"] = used["goal"] * len(made.part)
    used["key"] = used["heap"] = used["source"] + used["goal"]
    short = [name for name, many in used.items() if 2 * many >= len(getattr(made, name))]
    for name in short or used:
        lengthen(getattr(made, name), 2 * len(getattr(made, name)))
    return True


MOST_INDICES: Final = 100_000
"""States of a projection by index, dead ones among them."""
MOST_ABSTRACT_EDGES: Final = 400_000
"""Transitions of a projection."""
MOST_RULES: Final = 1 << 15
MOST_KEY: Final = 1 << 62
"""Rules are numbers below this."""


class Projections:
    """Projections of a task with these `moves`, as many as were made, and some of the `others`, which are Cartesian.

    Their names are `patterns`: that of a projection is its pattern, that of Cartesian abstraction i is `(~i,)`. With
    `anywhere`, there are estimates for states, too, that are not reached from the initial one.
    """

    def __init__(
        self,
        moves: Moves,
        arrays: kernel.Moves,
        packed: Packing,
        entries: dict[str, Call],
        others: Gathered | None = None,
        *,
        anywhere: bool = False,
    ) -> None:
        self._anywhere = int(anywhere)
        self._others = others or gather_nothing()
        self._moves, self._arrays, self._packed, self._entries = moves, arrays, packed, entries
        self._shop = _make_workshop(len(moves.sizes), len(moves.touches))
        self.patterns: list[Pattern] = []
        self.number: dict[Pattern, int] = {}
        self.counts = zeros(space.COUNTS)
        self.spaces = make_spaces()
        self.rank = empty_index(FEW)
        self.first_rank: list[int] = []

    def adopt(self, number: int) -> None:
        """Add a Cartesian abstraction."""
        while self._entries["copy_abstraction"](number, self._others.spaces, self.spaces, self.counts) == FULL:
            lengthen_spaces(self.spaces, self.counts)
        self._name((~number,), 0)

    def _name(self, name: Pattern, ranks: int) -> None:
        self.number[name] = len(self.patterns)
        self.patterns.append(name)
        self.first_rank.append(ranks)

    def add(self, pattern: Pattern) -> bool:
        """Make the projection to `pattern`, unless it would be too large; return whether it was made."""
        if pattern[0] < 0:
            self.adopt(~pattern[0])
            return True
        moves, counts = self._moves, self.counts
        rules = 1
        for variable in pattern:
            rules *= (moves.sizes[variable] + 1) ** 2
        if moves.product(pattern) > MOST_INDICES or rules >= MOST_KEY:
            return False
        arrays = kernel.Pattern(
            index(pattern),
            index(compute_factors(moves, pattern)),
            index(moves.initial[variable] for variable in pattern),
            index(moves.goal.get(variable, NOTHING) for variable in pattern),
        )
        ranks = counts[space.RANKS]
        while True:
            outcome = self._project(arrays)
            if outcome != FULL:
                break
            self._grow()
        if outcome == DONE:
            self._name(pattern, ranks)
        return outcome == DONE

    def _project(self, pattern: kernel.Pattern) -> int:
        room = self._shop, self.spaces, self.rank, self.counts
        return self._entries["project"](self._anywhere, self._arrays, pattern, *room)

    def _grow(self) -> None:
        """Lengthen what may be too short."""
        lengthen_spaces(self.spaces, self.counts)
        if self.counts[space.RANKS] + MOST_INDICES > len(self.rank):
            lengthen(self.rank, max(2 * len(self.rank), len(self.rank) + MOST_INDICES))

    def lookup(self, patterns: Iterable[Pattern]) -> Lookup:
        """Return how the states of the abstractions of these names are found."""
        coding, starts, ranks, first = self._packed.coding, [0], index([]), []
        places: list[tuple[int, int]] = []
        for pattern in patterns:
            if pattern[0] < 0:
                starts.append(len(places))
                first.append(self._others.roots[~pattern[0]])
                continue
            places += zip(pattern, compute_factors(self._moves, pattern), strict=True)
            starts.append(len(places))
            first.append(len(ranks))
            begin = self.first_rank[self.number[pattern]]
            ranks += self.rank[begin : begin + self._moves.product(pattern)]
        return Lookup(
            index(starts),
            index(coding.word[variable] for variable, _ in places),
            words(coding.shift[variable] for variable, _ in places),
            words(coding.mask[variable] for variable, _ in places),
            words(factor for _, factor in places),
            words(first),
            ranks,
            self._others.trees,
        )


def _make_workshop(variables: int, actions: int) -> kernel.Workshop:
    """Return room for making projections."""
    entries = empty_index(4 * actions + MOST_RULES)
    by_variable, by_rule = empty_index(variables + 1), empty_index(MOST_RULES)
    by_edge, by_state = empty_index(MOST_ABSTRACT_EDGES), empty_index(MOST_INDICES + 2)
    return kernel.Workshop(
        position=by_variable,
        marked=empty_index(actions),
        touch=by_variable[:],
        choice=by_variable[:],
        origin=by_variable[:],
        target=by_variable[:],
        table=empty_index(2 * MOST_RULES),
        key=zeros(MOST_RULES),
        head=by_rule,
        tail=by_rule[:],
        label=entries,
        next=entries[:],
        source=by_edge,
        reached=by_edge[:],
        rule=by_edge[:],
        sorted=by_edge[:],
        stage=by_state,
        queue=by_state[:],
        start=by_state[:],
    )
