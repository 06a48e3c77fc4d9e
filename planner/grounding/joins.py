"""Relational joins over indexed relations: the engine under reachability and lifted decomposition.

A `Relation` is a set of tuples of object names with hash indexes that grow with it. `compile_join` turns a conjunction
of atoms into one Python comprehension over such indexes, which starts from the tuples of one atom and extends them atom
by atom:

    [(r, a, b) for (r, a) in start for b in door.get(a, ()) if b != a if (r, b) in allowed]

The text of the comprehension depends only on the shape of the join, so joins of one shape share the compiled code.
Compiling takes as long as interpreting some hundred rows, and most joins of a small problem never see as many. So a
join is interpreted at first, and compiled when it has seen enough rows.
"""

from __future__ import annotations

import functools
import itertools
import operator
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from operator import itemgetter
from types import CodeType

from planner.lightweight import Any, Final, TypeVar, dataclass, field
from planner.model import Atom, Equals, Term, is_variable

Row = tuple[str, ...]
Key = tuple[int, ...]
EMPTY: Final[tuple[Any, ...]] = ()
PRODUCT_PENALTY: Final = 8
"""Factor on the expected rows of a Cartesian product, which is worse than a join with as many rows."""


class Relation:
    """A growing set of rows, with the indexes that joins have asked for."""

    __slots__ = ("_distinct", "_indexes", "rows")

    def __init__(self, rows: Iterable[Row] = ()) -> None:
        self.rows: dict[Row, None] = dict.fromkeys(rows)
        self._indexes: dict[tuple[Key, Key], dict[Any, list[Any]]] = {}
        self._distinct: dict[Key, int] = {}

    def distinct(self, key: Key) -> int:
        """Count the different values at `key`, for relations that do not grow any more."""
        if key not in self._distinct:
            self._distinct[key] = len(set(map(getter(key), self.rows)))
        return self._distinct[key]

    def add(self, rows: Iterable[Row]) -> list[Row]:
        """Add `rows` and return the new ones among them, each once."""
        known = self.rows
        before = len(known)
        known.update(dict.fromkeys(rows))
        new = list(itertools.islice(reversed(known), len(known) - before))
        new.reverse()
        for (key, rest), index in self._indexes.items():
            _extend(index, key, rest, new)
        return new

    def index(self, key: Key, rest: Key) -> dict[Any, list[Any]]:
        """Return a live index: the values at `key` → those at `rest`; single values are not wrapped in tuples."""
        found = self._indexes.get((key, rest))
        if found is None:
            found = self._indexes[key, rest] = {}
            _extend(found, key, rest, self.rows)
        return found


def _extend(index: dict[Any, list[Any]], key: Key, rest: Key, rows: Iterable[Row]) -> None:
    key_of, rest_of = getter(key), getter(rest)
    for row in rows:
        place = key_of(row)
        if place in index:
            index[place].append(rest_of(row))
        else:
            index[place] = [rest_of(row)]


def getter(positions: Key) -> Callable[[Row], Any]:
    """Return a function that picks `positions` from a row: a bare value for one, a tuple otherwise."""
    return operator.itemgetter(*positions) if positions else lambda _row: EMPTY


def projector(terms: Sequence[Term], variables: Sequence[Term]) -> Callable[[Row], Row]:
    """Return a function from rows over `variables` to rows over `terms`, which may hold constants too."""
    places = {variable: place for place, variable in enumerate(variables)}
    constants = tuple([term for term in terms if term not in places])
    fixed = iter(range(len(places), len(places) + len(constants)))
    picked = tuple([places[term] if term in places else next(fixed) for term in terms])
    if not any(term in places for term in terms):
        return lambda _row: constants
    if constants:
        pick = operator.itemgetter(*picked)
        return lambda row: pick(row + constants)
    if len(picked) == 1:
        only = picked[0]
        return lambda row: (row[only],)
    return tuple if picked == tuple(range(len(places))) else operator.itemgetter(*picked)


@dataclass(frozen=True, slots=True)
class Source:
    """An atom of a join with the relation of its rows, which is `growing` while reachability adds to it.

    A `whole` source has all variables of the rule, so that each of its rows is at most one instance.
    """

    atom: Atom
    relation: Relation
    growing: bool = False
    whole: bool = False


@dataclass(frozen=True, slots=True)
class Filters:
    """Conditions that are tested as early as possible; `absent` atoms must not be in their relations."""

    equal: tuple[Equals, ...] = ()
    unequal: tuple[Equals, ...] = ()
    absent: tuple[Source, ...] = ()


Join = Callable[[Iterable[Row]], Iterator[Row]]


def compile_join(
    start: Sequence[Term], sources: Sequence[Source], filters: Filters, output: Sequence[Term], tick: Callable[[], bool]
) -> Join:
    """Compile a join to a function from rows over the terms `start` to an iterator of rows over the terms `output`.

    Every variable of `filters` and `output` must occur in `start` or `sources`. `tick` must return True; it is called
    for each row that enters a third or deeper level, to check the limits within one call.
    """
    builder = _Builder(filters)
    builder.start(start)
    for source in order_sources(builder.names.keys(), list(sources)):
        builder.extend(source)
    text = builder.finish(output)
    values = [tick, *builder.values]
    function: Callable[..., Iterator[Row]] = eval(_code(text, len(values)))  # noqa: S307 - our own text, see _Builder
    return lambda rows: function(rows, values)


@functools.lru_cache(maxsize=4096)
def _code(text: str, arity: int) -> CodeType:
    names = ", ".join(["tick", *[f"k{number}" for number in range(arity - 1)]])
    return compile(f"lambda rows, values: (lambda {names}: {text})(*values)", "<join>", "eval")


def order_sources(bound: Iterable[Term], sources: list[Source]) -> Iterator[Source]:
    """Yield the sources in greedy order: next the one with the fewest expected rows per binding."""
    known = set(bound)
    users: dict[Term, list[int]] = defaultdict(list)
    for place, source in enumerate(sources):
        for term in source.atom.args:
            users[term].append(place)
    expected = {place: _expected_rows(source, known) for place, source in enumerate(sources)}
    while expected:
        best = min(expected, key=expected.__getitem__)
        del expected[best]
        new = {term for term in sources[best].atom.args if term not in known}
        known |= new
        for place in {place for term in new for place in users[term]}:
            if place in expected:
                expected[place] = _expected_rows(sources[place], known)
        yield sources[best]


def _expected_rows(source: Source, known: set[Term]) -> tuple[float, bool]:
    """Estimate the rows per binding from the distinct values of the open columns; relations that grow count more."""
    free = [arg for arg in dict.fromkeys(source.atom.args) if is_variable(arg) and arg not in known]
    if not free:
        return (0.0, source.growing)
    key = tuple([place for place, arg in enumerate(source.atom.args) if arg not in free])
    product = 1 if key else PRODUCT_PENALTY
    if source.whole:
        return (float(product), True)
    if source.growing:
        return (product * 4.0 ** (len(free) + 1), True)
    return (product * len(source.relation.rows) / max(source.relation.distinct(key), 1), False)


@dataclass(slots=True)
class _Builder:
    """Writes the comprehension: names for bound variables, and the values (indexes, constants) that it refers to."""

    filters: Filters
    names: dict[Term, str] = field(default_factory=dict)
    values: list[Any] = field(default_factory=list)
    clauses: list[str] = field(default_factory=list)
    pending: list[tuple[frozenset[Term], Callable[[], str]]] = field(default_factory=list)
    depth: int = 0

    def start(self, terms: Sequence[Term]) -> None:
        self.pending = [*self._comparisons(self.filters.equal, "=="), *self._comparisons(self.filters.unequal, "!=")]
        self.pending += [
            (_variables(source.atom), functools.partial(self._absent, source)) for source in self.filters.absent
        ]
        self._bind("rows", terms, wrap=True)

    def extend(self, source: Source) -> None:
        args = source.atom.args
        key = tuple([place for place, arg in enumerate(args) if not is_variable(arg) or arg in self.names])
        if len(key) == len(args):
            self.clauses.append(f"if {self._membership(args, source.relation)}")
            return
        rest = tuple([place for place in range(len(args)) if place not in key])
        index = self._value(source.relation.index(key, rest))
        if self.depth >= 2:  # shallower levels are watched by whoever reads the rows
            self.clauses.append("if tick()")
        where = self._row([args[place] for place in key]) if len(key) != 1 else self._term(args[key[0]])
        self._bind(f"{index}.get({where}, ())", [args[place] for place in rest], wrap=len(rest) != 1)

    def finish(self, output: Sequence[Term]) -> str:
        return f"({self._row(output)} {' '.join(self.clauses)})"

    def _bind(self, iterable: str, terms: Sequence[Term], *, wrap: bool) -> None:
        """Add a loop that binds `terms`; constants and repeated variables become tests."""
        targets: list[str] = []
        checks: list[str] = []
        for term in terms:
            target = f"v{len(self.names) + len(checks)}_{self.depth}"
            if is_variable(term) and term not in self.names:
                self.names[term] = target
            else:
                checks.append(f"if {target} == {self._term(term)}")
            targets.append(target)
        pattern = f"({''.join(target + ', ' for target in targets)})" if wrap and targets else (targets or ["_"])[0]
        self.clauses += [f"for {pattern} in {iterable}", *checks]
        self.depth += 1
        self._add_ready_tests()

    def _add_ready_tests(self) -> None:
        ready = [test for variables, test in self.pending if variables <= self.names.keys()]
        self.pending = [(variables, test) for variables, test in self.pending if not variables <= self.names.keys()]
        self.clauses += [test() for test in ready]

    def _comparisons(self, tests: Iterable[Equals], sign: str) -> list[tuple[frozenset[Term], Callable[[], str]]]:
        def text(test: Equals) -> str:
            return f"if {self._term(test.left)} {sign} {self._term(test.right)}"

        return [
            (frozenset(filter(is_variable, (test.left, test.right))), functools.partial(text, test)) for test in tests
        ]

    def _absent(self, source: Source) -> str:
        return f"if not {self._membership(source.atom.args, source.relation)}"

    def _membership(self, args: Sequence[Term], relation: Relation) -> str:
        if len(args) == 1:
            return f"{self._term(args[0])} in {self._value(relation.index((0,), ()))}"
        return f"{self._row(args)} in {self._value(relation.rows)}"

    def _row(self, terms: Sequence[Term]) -> str:
        return f"({''.join(self._term(term) + ', ' for term in terms)})"

    def _term(self, term: Term) -> str:
        return self.names[term] if is_variable(term) else self._value(term)

    def _value(self, value: Any) -> str:
        self.values.append(value)
        return f"k{len(self.values) - 1}"


def _variables(atom: Atom) -> frozenset[Term]:
    return frozenset(filter(is_variable, atom.args))


Item = TypeVar("Item")


def batches(items: Iterable[Item], size: int = 256) -> Iterator[list[Item]]:
    """Yield `items` in lists of at most `size`: so many actions with conditional effects take some ms."""
    iterator = iter(items)
    while batch := list(itertools.islice(iterator, size)):
        yield batch


ROWS_BEFORE_COMPILING: Final = 150
"""Rows in and out of a join before it is compiled."""
CHUNK: Final = 2
"""Rows that enter an interpreted join at a time: few, as each may yield many."""
DEPTH: Final = 50
"""Most nested generators of an interpreted join; then its rows are collected in a list."""

Step = Callable[[Iterable[Row]], Iterable[Row]]


def make_join(
    start: Sequence[Term], sources: Sequence[Source], filters: Filters, output: Sequence[Term], tick: Callable[[], bool]
) -> Join:
    """Return a join like `compile_join`, which is interpreted until it has seen many rows."""
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
            for row in apply_steps(steps, chunk):
                taken += 1
                yield row
        if compiled is None:
            compiled = compile_join(start, sources, filters, output, tick)
        yield from compiled(iterator)

    return lambda rows: first(rows) if compiled is None else compiled(rows)


def apply_steps(steps: Sequence[Step], rows: Iterable[Row]) -> Iterable[Row]:
    """Apply `steps` to `rows`, one after the other."""
    for number, step in enumerate(steps, start=1):
        rows = step(rows) if number % DEPTH else list(step(rows))
    return rows


def interpret(
    start: Sequence[Term], sources: Sequence[Source], filters: Filters, output: Sequence[Term], tick: Callable[[], bool]
) -> list[Step]:
    """Return the steps of an interpreted join; the arguments are those of `compile_join`."""
    writer = _Interpreter(filters)
    writer.bind(start)
    depth = 1
    for source in order_sources(filter(is_variable, start), list(sources)):
        depth += writer.extend(source, tick if depth > 1 else None)
    project = projector(output, writer.columns)
    if project is not tuple:
        writer.steps.append(partial(map, project))
    return writer.steps


class _Interpreter:
    """Makes the steps of a join; `columns` are the terms of the rows so far, repeated ones under new names."""

    def __init__(self, filters: Filters) -> None:
        self.steps: list[Step] = []
        self.columns: list[Term] = []
        self._tests = [(test, True) for test in filters.equal] + [(test, False) for test in filters.unequal]
        self._absent = list(filters.absent)

    def bind(self, terms: Sequence[Term]) -> None:
        """Append `terms` to the columns; constants and repeated variables become tests."""
        for term in terms:
            if is_variable(term) and term not in self.columns:
                self.columns.append(term)
            else:
                self.columns.append(f"?\0{len(self.columns)}")
                self._test(Equals(self.columns[-1], term), expected=True)
        self._add_ready_tests()

    def extend(self, source: Source, tick: Callable[[], bool] | None) -> bool:
        """Join the rows with `source`; return whether that binds a variable."""
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
        self.steps.append(partial(_extend_rows, pick, index.get, wrap=len(rest) == 1, tick=tick))
        self.bind([args[place] for place in rest])
        return True

    def _add_ready_tests(self) -> None:
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


def _extend_rows(
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
