"""Joins step by step: slower for each row than compiled ones, but there at once.

Compiling a join takes as long as running some hundred rows through these steps, and most joins of a small problem
never see as many. So a join starts here, and is compiled when it has proved to be worth it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from operator import itemgetter

from planner.annotations import Any, Final
from planner.grounding.joins import EMPTY, Filters, Join, Row, Source, compile_join, ordered, projector
from planner.model import Equals, Term, is_variable

ROWS_BEFORE_COMPILING: Final = 150
"""How many rows, of those that enter and those that leave, a join takes before it is compiled."""
CHUNK: Final = 2
"""How many rows enter at a time, so that few of them are done when it shows that they give many."""
DEPTH: Final = 50
"""How many steps are nested at most."""

Step = Callable[[Iterable[Row]], Iterable[Row]]


def make_join(
    start: Sequence[Term], sources: Sequence[Source], filters: Filters, output: Sequence[Term], tick: Callable[[], bool]
) -> Join:
    """Return what `compile_join` returns, compiled only when many rows have come."""
    taken = 0 if start else sum(len(source.relation.rows) for source in sources)
    steps: list[Step] = []
    compiled: Join | None = None

    def first(rows: Iterable[Row]) -> Iterator[Row]:
        nonlocal taken, compiled
        iterator = iter(rows)
        while compiled is None and taken < ROWS_BEFORE_COMPILING:
            chunk = list(islice(iterator, CHUNK))
            if not chunk:
                return
            if not steps:
                steps.extend(interpret(start, sources, filters, output, tick))
            taken += len(chunk)
            for row in run(steps, chunk):
                taken += 1
                yield row
        if compiled is None:
            compiled = compile_join(start, sources, filters, output, tick)
        yield from compiled(iterator)

    return lambda rows: first(rows) if compiled is None else compiled(rows)


def run(steps: Sequence[Step], rows: Iterable[Row]) -> Iterable[Row]:
    """Return what `steps` make of `rows`."""
    for number, step in enumerate(steps, start=1):
        rows = step(rows) if number % DEPTH else list(step(rows))
    return rows


def interpret(
    start: Sequence[Term], sources: Sequence[Source], filters: Filters, output: Sequence[Term], tick: Callable[[], bool]
) -> list[Step]:
    """Return the steps of a join from rows for `start` to rows for `output`; the arguments are as in `compile_join`."""
    writer = _Interpreter(filters)
    writer.bind(start)
    depth = 1
    for source in ordered(filter(is_variable, start), list(sources)):
        depth += writer.extend(source, tick if depth > 1 else None)
    project = projector(output, writer.columns)
    if project is not tuple:
        writer.steps.append(partial(map, project))
    return writer.steps


class _Interpreter:
    """Makes the steps; `columns` are the terms of the rows so far, with names of their own for repeated ones."""

    def __init__(self, filters: Filters) -> None:
        self.steps: list[Step] = []
        self.columns: list[Term] = []
        self._tests = [(test, True) for test in filters.equal] + [(test, False) for test in filters.unequal]
        self._absent = list(filters.absent)

    def bind(self, terms: Sequence[Term]) -> None:
        """Take `terms` as the next columns: constants and repeated variables become tests."""
        for term in terms:
            if is_variable(term) and term not in self.columns:
                self.columns.append(term)
            else:
                self.columns.append(f"?\0{len(self.columns)}")
                self._test(Equals(self.columns[-1], term), expected=True)
        self._test_what_is_bound()

    def extend(self, source: Source, tick: Callable[[], bool] | None) -> bool:
        """Join the rows with `source`; return whether that binds anything."""
        args = source.atom.args
        key = tuple([place for place, arg in enumerate(args) if not is_variable(arg) or arg in self.columns])
        if len(key) == len(args):
            self._membership(source, expected=True)
            return False
        rest = tuple([place for place in range(len(args)) if place not in key])
        index = source.relation.index(key, rest)
        pick: Callable[[Row], Any] = projector([args[place] for place in key], self.columns)
        if len(key) == 1:
            pick = self._value(args[key[0]])
        self.steps.append(partial(_extended, pick, index.get, wrap=len(rest) == 1, tick=tick))
        self.bind([args[place] for place in rest])
        return True

    def _test_what_is_bound(self) -> None:
        for test, expected in [test for test in self._tests if self._knows((test[0].left, test[0].right))]:
            self._tests.remove((test, expected))
            self._test(test, expected=expected)
        for source in [source for source in self._absent if self._knows(source.atom.args)]:
            self._absent.remove(source)
            self._membership(source, expected=False)

    def _knows(self, terms: Iterable[Term]) -> bool:
        return all(not is_variable(term) or term in self.columns for term in terms)

    def _test(self, test: Equals, *, expected: bool) -> None:
        left, right = self._value(test.left), self._value(test.right)
        self.steps.append(partial(filter, lambda row: (left(row) == right(row)) is expected))

    def _membership(self, source: Source, *, expected: bool) -> None:
        project, rows = projector(source.atom.args, self.columns), source.relation.rows
        self.steps.append(partial(filter, lambda row: (project(row) in rows) is expected))

    def _value(self, term: Term) -> Callable[[Row], str]:
        return itemgetter(self.columns.index(term)) if term in self.columns else lambda _row: term


def _extended(
    pick: Callable[[Row], Any],
    get: Callable[[Any, Row], Iterable[Any]],
    rows: Iterable[Row],
    *,
    wrap: bool,
    tick: Callable[[], bool] | None,
) -> Iterator[Row]:
    for row in rows:
        if tick is not None:
            tick()
        for more in get(pick(row), EMPTY):
            yield (*row, more) if wrap else row + more
