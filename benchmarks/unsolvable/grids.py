"""Cells of a grid, and names for them and for other things."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

Cell = tuple[int, int]


def named(letter: str, count: int) -> list[str]:
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


def in_rows(predicate: str, cells: Iterable[Cell], length: int) -> list[str]:
    """Return `predicate` of each straight row of so many of the cells, in a fixed order."""
    return [" ".join([predicate, *names_of(row)]) for row in sorted(rows_of(cells, length))]
