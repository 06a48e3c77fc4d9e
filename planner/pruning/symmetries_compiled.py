"""Symmetries as arrays for packed states; maps plans back from canonical states."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Final, NamedTuple

from planner.jit.arrays import empty_index, flatten, index, make_hollow, words, zeros
from planner.jit.common_kernel import NOTHING, Words
from planner.limits import never
from planner.pruning.symmetries import SECONDS, Moved, Structure, find_interchanges
from planner.pruning.symmetries_kernel import Descent, Symmetries
from planner.task.ground_task import Task
from planner.task.packed_states_kernel import Space, apply
from planner.task.packed_task_compiled import Packing

if TYPE_CHECKING:
    from planner.jit.library import Call

MOST_ACTIONS: Final = 25_000
"""Maximum number of actions for which symmetries are computed: the search then takes tenths of a second."""
NONE: Final[Symmetries] = make_hollow(Symmetries)
"""No symmetries."""
Move = tuple[int, int, list[int]]
"""The effect of a symmetry on a variable: the written variable, the read variable, and the new value by old value."""


class Field(NamedTuple):
    """A field of states that a symmetry writes, at `word` and `shift`, and the field that it reads.

    `images` has the new value by the old one; None where the value stays as it is.
    """

    word: int
    shift: int
    mask: int
    source: int
    across: int
    images: list[int] | None


def find_orbits(
    task: Task, packing: Packing, space: Space, check: Callable[[], None] = never, seconds: float = SECONDS
) -> Orbits | None:
    """Find the symmetries of packed states of `task`, until none was found for so many seconds.

    Return None if there are none, if facts are derived, or if there are too many actions. `check` raises when a limit
    is reached.
    """
    if task.has_axioms or len(task.actions) > MOST_ACTIONS:
        return None
    structure = Structure(task)
    found = find_interchanges(structure, check, seconds)
    return Orbits(structure, packing, space, found) if found else None


class Orbits:
    """The symmetries `found` for packed states; `symmetries` are their arrays for the kernel."""

    def __init__(self, structure: Structure, packing: Packing, space: Space, found: Sequence[Moved]) -> None:
        self._structure, self._space, self._packing = structure, space, packing
        self._row, self._values = packing.words, Values(packing)
        fields = [(each, self._fields(each)) for each in found]
        self._moved = [each for each, fits in fields if fits]
        self.symmetries = _pack_symmetries([fits for _, fits in fields if fits])

    def __len__(self) -> int:
        return len(self._moved)

    def plan(self, initial: Sequence[int], actions: Sequence[int], entries: Mapping[str, Call]) -> list[int]:
        """Map `actions`, found on canonical states, back to a plan from the packed state `initial`.

        Search applied each action in the canonical representative of a state. The symmetry that leads from the
        representative to the state of the plan maps the action to the action of the plan.
        """
        here, state, plan = index(range(len(self._structure.literals))), words([*initial, *initial]), []
        start, item = flatten([[*each] for each in self._moved])
        image = index([each for moved in self._moved for each in moved.values()])
        room = empty_index(max(map(len, self._moved)))
        descent = Descent(self.symmetries, state, start, item, image, here, room)
        for action in actions:
            plan.append(self._structure.image(action, dict(enumerate(here))))
            self._apply(action, state)
            entries["trace_descent"](self._row, descent)
            state[: self._row] = state[self._row :]
        return plan

    def _apply(self, action: int, state: Words) -> None:
        """Write the state after `action` behind the one at the beginning of `state`."""
        apply(self._space, action, state, 0, self._row, self._row)

    def _fields(self, moved: Moved) -> list[Field]:
        """Return the fields that the symmetry `moved` writes, in their order; none if values have no images."""
        coding = self._packing.coding
        return [
            Field(
                coding.word[written],
                coding.shift[written],
                coding.mask[written],
                coding.word[read],
                coding.shift[read],
                images,
            )
            for written, read, images in self._values.moves(moved)
        ]


class Values:
    """The values of packed variables: the facts that they stand for, or `NOTHING`."""

    def __init__(self, packing: Packing) -> None:
        coding = packing.coding
        ends = [*coding.first[1:], len(coding.fact)]
        self._facts = [list(coding.fact[first:end]) for first, end in zip(coding.first, ends, strict=True)]
        self._variable_of = packing.variable_of

    def moves(self, moved: Moved) -> list[Move]:
        """Return the effects of `moved` on variables, ascending by the written one; none if values have no images."""
        found = []
        for read in {self._variable_of[fact] for fact in moved}:
            facts = self._facts[read]
            written = self._variable_of[next(moved.get(fact, fact) for fact in facts if fact != NOTHING)]
            images = [fact if fact == NOTHING else moved.get(fact, fact) for fact in facts]
            if {*images} != {*self._facts[written]}:
                return []
            found.append((written, read, [self._facts[written].index(image) for image in images]))
        return sorted(found)


def _pack_symmetries(symmetries: list[list[Field]]) -> Symmetries:
    """Pack `symmetries` into the arrays of the kernel."""
    fields = [field for own in symmetries for field in own]
    first, image = flatten([field.images or () for field in fields])
    return Symmetries(
        index(accumulate(map(len, symmetries), initial=0)),
        index([field.word for field in fields]),
        words([field.shift for field in fields]),
        words([field.mask for field in fields]),
        index([field.source for field in fields]),
        words([field.across for field in fields]),
        index([NOTHING if field.images is None else begin for field, begin in zip(fields, first, strict=False)]),
        image,
        zeros(max(map(len, symmetries), default=0)),
    )
