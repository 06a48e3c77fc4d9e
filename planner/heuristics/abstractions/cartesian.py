"""Cartesian abstractions: abstract states are boxes, refined at flaws of abstract plans (Seipp and Helmert, 2018).

Refinement (CEGAR) follows a cheapest abstract plan from the initial state. If the concrete state leaves the box of the
plan, refinement splits that box into the values that continue the plan and the others. It ends when the abstract plan
is a plan of the task, or there are enough boxes. Conditions of effects count as met if that makes the abstraction
cheaper.

An abstraction aims at one goal, at all goals, or at a landmark. Before a plan reaches a landmark, it visits only states
that the delete relaxation reaches without the landmark: a box of values. If some goal fact lies outside that box, every
plan leaves the box; the cost of the landmark is the least cost of doing so.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from typing import Final

from planner.heuristics.abstractions import abstract_states_kernel as space
from planner.heuristics.abstractions import cartesian_boxes_kernel as refinement
from planner.heuristics.abstractions import cartesian_refinement_kernel  # noqa: F401 - it fills ENTRIES
from planner.heuristics.abstractions import projections_kernel as kernel
from planner.heuristics.abstractions.cartesian_boxes_kernel import Form, Refinement
from planner.heuristics.abstractions.projections import Condition, Moves
from planner.heuristics.abstractions.projections_compiled import FEW, gather_nothing, lengthen_spaces
from planner.jit.arrays import double_used, empty_index, index, words, zeros
from planner.jit.common_kernel import DONE, ENTRIES, FULL, NOTHING, PAUSED
from planner.lightweight import dataclass
from planner.search.search_run import Pauses
from planner.search.task_compiled import Board

Box = tuple[frozenset[int], ...]
"""A set of states: the possible values of each variable."""
Before = Callable[[Condition], tuple[Box, list[Condition]]]
"""The values reached before a given value; and the unmet conditions common to all actions that may reach it first."""
MOST_LANDMARKS: Final = 200
WORK: Final = 300_000
"""Steps of inner loops between two pauses."""
MOST_EDGES: Final = 1_000_000
"""Approximate maximum number of transitions of all abstractions."""
LARGEST: Final = 300_000
"""Approximate maximum number of transitions of one abstraction."""
ROOM: Final = 1 << 21
"""Maximum capacity for the transitions of one abstraction."""
STEP: Final = 20
"""Actions have prices of `cost << STEP | 1`, so that fewer actions break ties among equal costs."""
HIGHEST: Final = 1 << 31
"""Refinement treats all costs above this one as equal."""
BITS: Final = 32
GROWING: Final = {
    **dict.fromkeys(("distance", "way", "goal", "leaf", "first_out", "first_in", "stale", "list"), refinement.STATES),
    **dict.fromkeys(("source", "target", "action", "next_out", "last_out", "next_in", "last_in"), refinement.EDGES),
    **dict.fromkeys(("variable", "low", "high", "bit"), refinement.NODES),
    "piece": refinement.PIECES,
}
"""The count that says how much of each array is used."""


@dataclass(frozen=True, slots=True)
class Aim:
    """A set of states that contains all goal states: the `box`, or if not `inside`, its complement."""

    box: Box
    inside: bool


def generate_aims(moves: Moves, before: Before) -> Iterator[Aim]:
    """Yield landmarks, single goals, and all goals together."""
    full = full_box(moves)
    goals = sorted(moves.goal.items())
    yield from _generate_landmarks(moves, [goal for goal in goals if moves.initial[goal[0]] != goal[1]], before)
    for goal in goals:
        yield Aim(_narrow(full, [goal]), inside=True)
    if len(goals) > 1:
        yield aim_at_goal(moves)


def full_box(moves: Moves) -> Box:
    """Return the box of all states."""
    return tuple([frozenset(range(size)) for size in moves.sizes])


def _narrow(box: Box, values: list[Condition]) -> Box:
    """Return the part of `box` with these values."""
    wanted = dict(values)
    return tuple([old & {wanted[variable]} if variable in wanted else old for variable, old in enumerate(box)])


def _generate_landmarks(moves: Moves, goals: list[Condition], before: Before) -> Iterator[Aim]:
    """Yield the landmarks before the `goals`: the common conditions of all actions that may reach one first."""
    waiting, known = list(goals), set(goals)
    while waiting and len(known) < MOST_LANDMARKS:
        value = waiting.pop()
        box, needed = before(value)
        if value not in goals and any(goal not in box[variable] for variable, goal in moves.goal.items()):
            yield Aim(box, inside=False)
        waiting += [each for each in needed if each not in known]
        known.update(needed)


class Cartesian:
    """Builds Cartesian abstractions of the task on `board`, with its `moves`; `gathered` collects them.

    With `anywhere`, unreachable states have estimates, too.
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
        """Build abstractions for about this number of steps; yields often."""
        wanted = []
        for aim in generate_aims(self._moves, self._find_reached_before):
            wanted.append(aim)
            yield
        made, spent = make_refinement(self.form), 0
        for number, aim in enumerate(wanted):
            rest, left = len(wanted) - number, MOST_EDGES - self.gathered.counts[space.EDGES]
            edges = min(left, LARGEST, 2 * left // rest)
            yield from self._refine(made, aim, (work - spent) // rest, edges)
            spent += made.counts[refinement.STEPS]
            if made.counts[refinement.CUT] == len(self._moves.sizes) and made.counts[refinement.STATES] > 1:
                self._settle(made)

    def _refine(self, made: Refinement, aim: Aim, work: int, edges: int) -> Pauses:
        """Refine one abstraction from the start, for about `work` steps or `edges` transitions."""
        box = pack_box(aim.box, self.form)
        made.counts[refinement.STATES] = made.counts[refinement.STEPS] = made.counts[refinement.EDGES] = 0
        outcome = PAUSED
        while made.counts[refinement.STEPS] < work and made.counts[refinement.EDGES] < edges and outcome != DONE:
            outcome = self._entries["refine"](WORK, int(aim.inside), self._arrays, self.form, box, made)
            if outcome == FULL and not _lengthen_refinement(made):
                break
            yield

    def _settle(self, made: Refinement) -> None:
        """Add a finished refinement to the gathered abstractions."""
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

    def _find_reached_before(self, value: Condition) -> tuple[Box, list[Condition]]:
        """Return the values reached before this value, and the common conditions of actions that may reach it first."""
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


def aim_at_goal(moves: Moves) -> Aim:
    """Return the set of the states with all goal values."""
    return Aim(_narrow(full_box(moves), sorted(moves.goal.items())), inside=True)


def refine_to(
    most: int, aim: Aim, moves: Moves, arrays: kernel.Moves, form: Form, *, check: Callable[[], None]
) -> Refinement:
    """Refine an abstraction in plain Python until it has `most` states, or its abstract plan is a plan of the task.

    It has more states only if cutting out the `aim` takes more. `arrays` are the packed `moves`; `check` raises when a
    limit is reached.
    """
    made, box, entry = make_refinement(form), pack_box(aim.box, form), ENTRIES["refine"]
    made.counts[refinement.STATES] = 0
    outcome = PAUSED
    while outcome != DONE and (made.counts[refinement.STATES] < most or made.counts[refinement.CUT] < len(moves.sizes)):
        check()
        outcome = entry(1, int(aim.inside), arrays, form, box, made)
        if outcome == FULL and not _lengthen_refinement(made):
            break
    return made


def find_box(made: Refinement, values: Sequence[int]) -> int:
    """Return the number of the box of a state, given by the value of each variable."""
    node = 0
    while made.variable[node] != NOTHING:
        place = made.bit[node] + values[made.variable[node]]
        is_inside = made.piece[place // BITS] >> place % BITS & 1
        node = made.high[node] if is_inside else made.low[node]
    return made.low[node]


def choose_form(moves: Moves, costs: list[int]) -> Form:
    """Choose the encoding of boxes: variables with few values share a word."""
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
    """Pack a box into words."""
    found = index([0]) * form.word[-1]
    for variable, values in enumerate(box):
        for value in values:
            place = form.shift[variable] + value
            found[form.word[variable] + place // BITS] |= 1 << place % BITS
    return found


def unpack_box(box: array[int], form: Form, moves: Moves) -> Box:
    """Unpack a box from its words."""
    places = zip(form.word, form.shift, moves.sizes, strict=False)
    return tuple(
        [
            frozenset([each for each in range(size) if box[word + (shift + each) // BITS] >> (shift + each) % BITS & 1])
            for word, shift, size in places
        ]
    )


def make_refinement(form: Form) -> Refinement:
    """Allocate working memory for the refinement of an abstraction."""
    made = {name: empty_index(FEW) for name in Refinement._fields}
    made |= {"counts": zeros(refinement.COUNTS), "distance": zeros(FEW), "key": zeros(FEW)}
    made["box"] = empty_index(FEW * form.word[-1])
    made["part"] = empty_index(form.word[-1])
    made |= {name: empty_index(len(form.mask)) for name in ("value", "touch")}
    return Refinement(**made)


def _lengthen_refinement(made: Refinement) -> bool:
    """Double the half-used arrays; return whether `ROOM` allows it."""
    if len(made.source) >= ROOM:
        return False
    used = {name: made.counts[place] for name, place in GROWING.items()}
    used["box"] = used["goal"] * len(made.part)
    used["key"] = used["heap"] = used["source"] + used["goal"]
    double_used(made, used)
    return True
