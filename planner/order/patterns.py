"""Patterns, found by what overlaps them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from planner.model import OPEN, Atom

Positions = tuple[int, ...]


class Patterns:
    """Patterns in tables by the arguments that they bind; a table is made when it is first asked for."""

    def __init__(self, patterns: Iterable[Atom]) -> None:
        self._kinds: dict[tuple[str, int], dict[Positions, list[Atom]]] = {}
        for pattern in patterns:
            kinds = self._kinds.setdefault((pattern.predicate, len(pattern.args)), {})
            kinds.setdefault(bound_positions(pattern), []).append(pattern)
        self._tables: dict[tuple[str, Positions, Positions], dict[tuple[str, ...], list[Atom]]] = {}

    def overlapping(self, other: Atom) -> Iterator[Atom]:
        """Yield the patterns that some fact matches which `other` matches, too; see `overlap`."""
        kinds = self._kinds.get((other.predicate, len(other.args)))
        if kinds:
            theirs = bound_positions(other)
            for mine, patterns in kinds.items():
                common = mine if len(theirs) == len(other.args) else tuple([i for i in mine if i in theirs])
                table = self._tables.get((other.predicate, mine, common))
                if table is None:
                    table = self._tables[other.predicate, mine, common] = {}
                    for pattern in patterns:
                        table.setdefault(tuple([pattern.args[i] for i in common]), []).append(pattern)
                yield from table.get(tuple([other.args[i] for i in common]), ())


def bound_positions(pattern: Atom) -> Positions:
    """Return which arguments of `pattern` are not open."""
    return tuple([i for i, arg in enumerate(pattern.args) if arg != OPEN])


def overlap(one: Atom, other: Atom) -> bool:
    """Return whether some fact matches both patterns."""
    return (
        one.predicate == other.predicate
        and len(one.args) == len(other.args)
        and all(OPEN in (mine, theirs) or mine == theirs for mine, theirs in zip(one.args, other.args, strict=True))
    )
