"""Which subtask of one network each of its children may be.

Names, arguments and types have to agree, and both the steps and the list of children have to keep the ordering.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from htn.model import Network
from planner.annotations import Final
from planner.model import Atom, is_variable
from planner.records import dataclass
from planner.validate.conditions import Binding

MOST_TRIES: Final = 20_000
"""After so many placings of children no further ways to place them are looked for."""

Places = tuple[int, ...]
"""For each subtask the number of its child, from 0."""


@dataclass(frozen=True, slots=True, eq=False)
class Child:
    """A task that a plan has below another one, and its first and its last step; (steps, -1) where it has none."""

    task: Atom
    span: tuple[int, int]


@dataclass(frozen=True, slots=True, eq=False)
class _Choice:
    """What was known before a child was placed, and the children that could be placed there instead."""

    binding: Binding
    others: Iterator[int]


class Placing:
    """Children and the subtasks of `network`; `known` is what shows of the method's binding in its task.

    `fits` says of a binding whether it may be one at all.
    """

    def __init__(
        self, network: Network, children: Sequence[Child], known: Binding, fits: Callable[[Binding], bool]
    ) -> None:
        self._subtasks = [subtask.task for subtask in network.subtasks]
        self._children = children
        self._known = known
        self._fits = fits
        self._before: list[set[int]] = [set() for _ in self._subtasks]
        self._after: list[set[int]] = [set() for _ in self._subtasks]
        for first, second in network.ordering:
            self._before[second].add(first)
            self._after[first].add(second)
        self._twins = self._groups()
        self._numbers = {place: number for group in self._twins for number, place in enumerate(group)}

    def found(self) -> Iterator[Places]:
        """Yield the ways to place the children: as they are written, if they may be; what is first has first steps.

        Subtasks that nothing tells apart are placed in one way only.
        """
        if len(self._children) != len(self._subtasks):
            return
        written = tuple(range(len(self._children)))
        told = None
        if self._may_be(written):
            told = self._normal(written)
            yield written
        fitting = self._fitting()
        if told is not None and all(len(children) == 1 for children in fitting):
            return
        for places in self._searched(fitting):
            if places != told:
                yield places

    def _may_be(self, places: Places) -> bool:
        binding: Binding | None = self._known
        for pattern, child in zip(self._subtasks, places, strict=True):
            binding = None if binding is None else unified(pattern, self._children[child].task, binding)
        placed = dict(enumerate(places))
        return binding is not None and all(self._is_ordered(place, placed) for place in placed) and self._fits(binding)

    def _groups(self) -> list[list[int]]:
        """Return for each subtask those that are as it is: the same task, before and after the same ones."""
        groups: dict[object, list[int]] = {}
        for place, task in enumerate(self._subtasks):
            groups.setdefault((task, *map(frozenset, (self._before[place], self._after[place]))), []).append(place)
        group_of = {place: group for group in groups.values() for place in group}
        return [group_of[place] for place in range(len(self._subtasks))]

    def _normal(self, places: Places) -> Places:
        """Return `places` with the children of like subtasks in the order of their steps."""
        found = list(places)
        for group in {group[0]: group for group in self._twins}.values():
            for place, child in zip(group, sorted([places[each] for each in group], key=self._rank), strict=True):
                found[place] = child
        return tuple(found)

    def _rank(self, child: int) -> tuple[tuple[int, int], int]:
        return self._children[child].span, child

    def _is_ordered(self, place: int, placed: dict[int, int]) -> bool:
        """Return whether the child at `place` comes in the order of the network, among those that are placed.

        Two orders count: that of the steps, and that in which the plan lists the children.
        """
        number = placed[place]
        before = [placed[each] for each in self._before[place] if each in placed]
        after = [placed[each] for each in self._after[place] if each in placed]
        if any(each > number for each in before) or any(each < number for each in after):
            return False
        first, last = self._children[number].span
        children = self._children
        return all(children[each].span[1] < first for each in before) and all(
            last < children[each].span[0] for each in after
        )

    def _fitting(self) -> list[list[int]]:
        """Return the children that each subtask may be, those with the first steps first."""
        by_name: dict[str, list[int]] = {}
        by_task: dict[Atom, list[int]] = {}
        for child in sorted(range(len(self._children)), key=self._rank):
            task = self._children[child].task
            by_name.setdefault(task.predicate, []).append(child)
            by_task.setdefault(task, []).append(child)
        found = []
        for place, task in enumerate(self._subtasks):
            pattern = task.substitute(self._known)
            if pattern.is_ground:
                fitting = by_task.get(pattern, [])
            else:
                fitting = [
                    child
                    for child in by_name.get(pattern.predicate, ())
                    if unified(pattern, self._children[child].task, self._known) is not None
                ]
            number, spare = self._numbers[place], len(fitting) - len(self._twins[place])
            found.append(fitting[number : number + spare + 1] if spare >= 0 else [])
        return found

    def _searched(self, fitting: list[list[int]]) -> Iterator[Places]:
        """Yield places found by backtracking, the most exacting subtasks first."""
        line = sorted(range(len(fitting)), key=lambda place: len(fitting[place]))
        placed: dict[int, int] = {}
        used: set[int] = set()
        choices = [_Choice(self._known, iter(fitting[line[0]]))] if line else []
        for _ in range(MOST_TRIES):
            if not choices:
                return
            place = line[len(choices) - 1]
            used.discard(placed.pop(place, -1))
            child = next((each for each in choices[-1].others if each not in used), None)
            if child is None:
                choices.pop()
                continue
            binding = unified(self._subtasks[place], self._children[child].task, choices[-1].binding)
            placed[place] = child
            if binding is None or not self._is_ordered(place, placed) or not self._is_in_turn(place, placed):
                del placed[place]
                continue
            used.add(child)
            if len(placed) < len(line):
                choices.append(_Choice(binding, iter(fitting[line[len(choices)]])))
            elif self._fits(binding):
                yield tuple([placed[each] for each in range(len(line))])

    def _is_in_turn(self, place: int, placed: dict[int, int]) -> bool:
        """Return whether of like subtasks the first has the first steps, as far as its neighbours tell."""
        group, number, rank = self._twins[place], self._numbers[place], self._rank(placed[place])
        before, after = group[max(number - 1, 0) : number], group[number + 1 : number + 2]
        return all(self._rank(placed[each]) < rank for each in before if each in placed) and all(
            rank < self._rank(placed[each]) for each in after if each in placed
        )


def unified(pattern: Atom, task: Atom, known: Binding) -> Binding | None:
    """Return `known` with what else makes `pattern` to `task`; None where they differ."""
    if pattern.predicate != task.predicate or len(pattern.args) != len(task.args):
        return None
    binding = known.copy()
    for term, value in zip(pattern.args, task.args, strict=True):
        if (binding.setdefault(term, value) if is_variable(term) else term) != value:
            return None
    return binding
