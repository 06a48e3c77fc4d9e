"""Searches of all kinds in one process: nothing of them stays in memory."""

from __future__ import annotations

from collections import Counter

from benchmarks.many_searches import KINDS, count_held, measure, search

MANY = 150
KEPT = 10
"""Objects and blocks of memory that may remain of a search on average; a problem alone has hundreds."""


def test_nothing_remains_of_searches_that_are_done_again() -> None:
    """The first time, modules are imported and caches fill."""
    kinds = [*KINDS]
    outcomes = Counter([search(number, kinds) for number in range(MANY)])
    _, blocks, objects, threads, files = count_held()
    outcomes.update([search(number, kinds) for number in range(MANY)])
    _, more_blocks, more_objects, more_threads, more_files = count_held()
    assert {kind for kind in kinds if any(name.startswith(f"{kind}: optimal") for name in outcomes)} == {*kinds}
    assert more_objects - objects < KEPT * MANY
    assert more_blocks - blocks < KEPT * MANY
    assert (more_threads, more_files) == (threads, files)


def test_each_row_counts_an_equal_part_of_the_searches() -> None:
    outcomes = Counter[str]()
    rows = list(measure(6, 3, ["classical"], outcomes))
    assert [row[0] for row in rows] == ["2", "4", "6"]
    assert outcomes.total() == 6
