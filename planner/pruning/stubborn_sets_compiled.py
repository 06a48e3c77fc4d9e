"""The tables of `stubborn_sets_kernel`: interference between actions, and the actions that add each fact."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from planner.jit.arrays import empty_index, flatten, index, words, zeros
from planner.limits import never, under_limits
from planner.pruning.stubborn_sets_kernel import Stubborn
from planner.task.ground_task import GroundAction, Task
from planner.task.packed_task_compiled import Packing

MOST_ACTIONS: Final = 25_000
"""Maximum number of actions for which interference is computed: this then takes a second."""
MOST_INTERFERING: Final = 2_000_000
"""Maximum number of interfering pairs: with more, stubborn sets prune little."""
BATCH: Final = 256
"""Number of actions between two checks of limits."""


def make_tables(task: Task, packing: Packing, check: Callable[[], None] = never) -> Stubborn | None:
    """Build the tables for stubborn sets in packed states of `task`.

    Return None if facts are derived, or if there are too many actions or interferences. `check` raises when a limit is
    reached.
    """
    if task.has_axioms or len(task.actions) > MOST_ACTIONS:
        return None
    interfering = _list_actions(find_interferences(task), check)
    if interfering is None:
        return None
    adding: list[list[int]] = [[] for _ in task.facts]
    for number, action in enumerate(under_limits(task.actions)):
        for fact in _adds(action):
            adding[fact].append(number)
    check()
    return Stubborn(
        *flatten(interfering),
        *flatten([action.precondition for action in task.actions]),
        *flatten(adding),
        index(word for word, _, _ in packing.places),
        words(mask for _, mask, _ in packing.places),
        words(bits for _, _, bits in packing.places),
        index(task.goal),
        zeros(1),
        zeros(len(task.actions)),
        zeros(len(task.facts)),
        empty_index(len(task.actions)),
        empty_index(len(task.actions)),
    )


def _list_actions(interfering: Iterable[int], check: Callable[[], None]) -> list[list[int]] | None:
    """Return sets of actions, given as bits, as lists; None if they have over `MOST_INTERFERING` members."""
    written: list[list[int]] = []
    total = 0
    for each in interfering:
        if not len(written) % BATCH:
            check()
        written.append(_places_of(each))
        total += len(written[-1])
        if total > MOST_INTERFERING:
            return None
    return written


def _places_of(number: int) -> list[int]:
    """Return the places of the set bits of `number`, read from its text in one pass."""
    text = bin(number)[:1:-1]
    found, place = [], text.find("1")
    while place >= 0:
        found.append(place)
        place = text.find("1", place + 1)
    return found


def find_interferences(task: Task) -> Iterator[int]:
    """Yield for each action of `task` the actions that interfere with it, as bits.

    Two actions do not interfere if they commute wherever both are applicable, or if mutexes show that no state
    on a plan has both applicable.
    """
    needing, watching, adding, deleting = ([0] * len(task.facts) for _ in range(4))
    for number, action in enumerate(under_limits(task.actions)):
        _add_bit(needing, action.precondition, number)
        _add_bit(watching, _conditions(action), number)
        _add_bit(adding, _adds(action), number)
        _add_bit(deleting, _deletes(action), number)
    apart = _find_exclusive(task, needing)
    for number, action in enumerate(task.actions):
        found = _unite(deleting, action.precondition)
        found |= _unite(adding, _conditions(action)) | _unite(deleting, _conditions(action))
        found |= _unite(deleting, _adds(action)) | _unite(watching, _adds(action))
        found |= _unite(needing, _deletes(action)) | _unite(watching, _deletes(action))
        found |= _unite(adding, _deletes(action))
        yield found & ~(_unite(apart, action.precondition) | 1 << number)


def _find_exclusive(task: Task, needing: Sequence[int]) -> list[int]:
    """Return for each fact the actions that need another one of a mutex group, as bits."""
    apart = [0] * len(task.facts)
    for group in (*task.variables, *task.mutexes, *task.conflicts):
        for order in (group, group[::-1]):
            before = 0
            for fact in order:
                apart[fact] |= before
                before |= needing[fact]
    return apart


def _add_bit(table: list[int], facts: Iterable[int], number: int) -> None:
    """Set the bit of action `number` for each of the `facts`."""
    for fact in facts:
        table[fact] |= 1 << number


def _unite(table: Sequence[int], facts: Iterable[int]) -> int:
    found = 0
    for fact in facts:
        found |= table[fact]
    return found


def _conditions(action: GroundAction) -> Iterable[int]:
    """Return the facts in the conditions of the effects of `action`."""
    return [fact for effect in action.conditional for fact in effect.condition]


def _adds(action: GroundAction) -> Iterable[int]:
    """Return what `action` may add, each once."""
    return {*action.adds, *[fact for effect in action.conditional for fact in effect.adds]}


def _deletes(action: GroundAction) -> Iterable[int]:
    """Return what `action` may delete, each once."""
    return {*action.deletes, *[fact for effect in action.conditional for fact in effect.deletes]}
