"""What must come before what in a plan, in few pairs: their transitive closure is the order.

A plan of ten thousand steps may have fifty million ordered pairs. Where a step comes before another by way of a third,
the pair is left out if that shows without looking for it: a condition is made to hold and undone in turns, and those
who write an item follow each other.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Container, Iterator, Sequence
from itertools import pairwise
from typing import cast

from planner.model import Atom, Literal
from planner.order.accesses import Access
from planner.order.links import INITIAL, CausalLink
from planner.order.patterns import Patterns
from planner.records import dataclass

LINK, THREAT, ITEM = "link", "threat", "item"


@dataclass(frozen=True, slots=True)
class Ordering:
    """Step `earlier` must come before step `later`.

    The reason is "link" (the first provides what the second needs), "threat" (the second undoes what the first needs,
    or what the first would undo), or "item" (one writes an item of `modifies` that the other reads or writes). `about`
    is the condition, or the item.
    """

    earlier: int
    later: int
    reason: str
    about: Literal


def orderings(found: Sequence[Access], links: Sequence[CausalLink]) -> Iterator[Ordering]:
    """Yield what orders steps with these accesses and links; the goal counts as the last of them."""
    for link in links:
        if link.provider != INITIAL:
            yield Ordering(link.provider, link.consumer, LINK, link.condition)
    yield from _threats(found, links)
    yield from item_orderings(found[:-1])


def _threats(found: Sequence[Access], links: Sequence[CausalLink]) -> Iterator[Ordering]:
    """Keep each step that would undo the condition of a link before its provider or after its consumer."""
    served: dict[Literal, dict[int, list[int]]] = {}
    for link in links:
        served.setdefault(link.condition, {INITIAL: []}).setdefault(link.provider, []).append(link.consumer)
    undoers, end = _Undoers(found), len(found) + 1
    for condition, consumers in served.items():
        for group in undoers.of(condition):
            for provider, following in pairwise((*sorted(consumers), end)):
                first, last = group.between(provider, following)
                for step in first:
                    yield from (Ordering(each, step, THREAT, condition) for each in consumers[provider] if each < step)
                if following != end:
                    yield from (Ordering(step, following, THREAT, condition) for step in last)


@dataclass(frozen=True, slots=True, eq=False)
class _Group:
    """Steps that undo a condition, but for those among them that provide it; if `is_chain`, all write one item."""

    steps: Sequence[int]
    spared: Container[int]
    is_chain: bool

    def between(self, one: int, other: int) -> tuple[Sequence[int], Sequence[int]]:
        """Return the steps between two others: those without one before them, and those without one after them.

        The first of a chain may be a consumer itself; so the second counts as having none before it, too.
        """
        low, high = bisect_right(self.steps, one), bisect_left(self.steps, other)
        if not self.is_chain:
            steps = [step for step in self.steps[low:high] if step not in self.spared]
            return steps, steps
        while low < high and self.steps[low] in self.spared:
            low += 1
        while low < high and self.steps[high - 1] in self.spared:
            high -= 1
        first = [step for step in self.steps[low : min(low + 2, high)] if step not in self.spared]
        return first, self.steps[max(high - 1, low) : high]


class _Undoers:
    """Finds the steps that make a condition false, or would if it held."""

    def __init__(self, found: Sequence[Access]) -> None:
        self._provide: dict[Atom, list[int]] = {}
        self._retract: dict[Atom, tuple[list[int], list[int]]] = {}
        for number, access in enumerate(found, start=1):
            for fact in access.changes.provided:
                self._provide.setdefault(fact, []).append(number)
            for pattern in access.changes.retracted:
                single, chain = self._retract.setdefault(pattern, ([], []))
                (chain if pattern in access.changes.modified else single).append(number)
        self._patterns = Patterns(self._retract)

    def of(self, condition: Literal) -> Iterator[_Group]:
        """Yield the steps that undo `condition`."""
        if isinstance(condition, Atom):
            spared = frozenset(self._provide.get(condition, ()))
            for pattern in self._patterns.overlapping(condition):
                single, chain = self._retract[pattern]
                if single:
                    yield _Group(single, spared, is_chain=False)
                if chain:
                    yield _Group(chain, spared, is_chain=True)
        else:
            yield _Group(self._provide.get(cast("Atom", condition.part), ()), (), is_chain=False)


def item_orderings(found: Sequence[Access]) -> Iterator[Ordering]:
    """Keep steps in their order of which one writes an item of `modifies` that the other reads or writes."""
    touching: dict[Atom, dict[int, bool]] = {item: {} for access in found for item in access.changes.modified}
    items = Patterns(touching)
    for number, access in enumerate(found, start=1):
        changes = access.changes
        for pattern in {*changes.modified, *changes.provided, *changes.retracted, *(fact for fact, _ in access.reads)}:
            for item in items.overlapping(pattern):
                touching[item][number] = item in changes.modified
    for item, steps in touching.items():
        writer, users = INITIAL, list[int]()
        for number, writes in steps.items():
            before = users if writes and users else [writer] if writer != INITIAL else []
            yield from (Ordering(each, number, ITEM, item) for each in before)
            if writes:
                writer, users = number, []
            else:
                users.append(number)
