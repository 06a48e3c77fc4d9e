"""Make observers of SQL queries, for any DB-API connection and for SQLAlchemy.

A query names the arguments of its pattern as `:order`, and `:predicate` stands for the predicate. They reach the
database as parameters of the query, never as a part of its text.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from inspect import Parameter, Signature
from typing import Any, Final

from executor.tools.observers import Seen
from planner.errors import InputError, did_you_mean, kind_of
from planner.language.declare.atom_syntax import NotationError, parse_atom
from planner.lightweight import dataclass
from planner.model import OPEN, Atom

MOST_ROWS: Final = 10_000
"""Most rows that one look reads."""
PREDICATE: Final = "predicate"
"""Name by which queries and URLs of several patterns refer to the predicate of each."""
VERSION: Final = "version"
"""Column with the version of an item that is changed in place."""


def parse_observed(pattern: object) -> Atom:
    """Parse the pattern of an observer, with plain names; raises `InputError` for anything else."""
    try:
        atom = parse_atom(pattern if isinstance(pattern, str) else "")
    except NotationError as mistake:
        hint = mistake.hint or "such as 'pending(_)' or 'paid(order)'"
        raise InputError(f"{pattern!r} is no pattern of facts: {mistake.problem}", hint=hint) from None
    return Atom(atom.predicate, tuple([each.removeprefix("?") for each in atom.args]))


def name_look(look: Callable[..., Any], pattern: Atom, names: Sequence[str]) -> Callable[..., Any]:
    """Give the function `look`, which takes any arguments, the parameters `names` and a name for messages."""
    keyword = Parameter.KEYWORD_ONLY
    look.__signature__ = Signature([Parameter(each, keyword, annotation=str) for each in names])  # type: ignore[attr-defined]  # as functools.wraps does
    look.__name__ = f"{look.__name__.strip('_')} of {pattern.predicate}"
    return look


def select_bound(pattern: Atom, used: Sequence[str], where: str) -> list[str]:
    """Return the arguments of `pattern` that are `used`; raises `InputError` for a name that it does not have."""
    bound = [each for each in pattern.args if each != OPEN]
    for name in used:
        if name not in bound and name != PREDICATE:
            hint = did_you_mean(name, bound) or f"the arguments are {', '.join(bound) or 'all open'}"
            raise InputError(f"{where} has {name!r}, which {pattern} does not have", hint=hint)
    return [each for each in bound if each in used]


_TOKEN: Final = re.compile(
    r"""'(?:[^']|'')*' | "(?:[^"]|"")*" | `[^`]*` | --[^\n]* | /\*.*?\*/ | \$(\w*)\$.*?\$\1\$ | ::
    | (?<![\w:]):(?P<name>[A-Za-z_]\w*)""",
    re.VERBOSE | re.DOTALL,
)
_PLACE: Final[Mapping[str, str]] = {
    "qmark": "?",
    "format": "%s",
    "numeric": ":{number}",
    "named": ":{name}",
    "pyformat": "%({name})s",
}
"""How a parameter of a query is written in each parameter style of the DB-API (PEP 249)."""


@dataclass(frozen=True, slots=True)
class Query:
    """A query as texts and names of parameters by turns: an even place has a text, an odd one a name."""

    parts: tuple[str, ...]

    @classmethod
    def of(cls, text: object) -> Query:
        """Split the `text` of a query at its parameters; raises `InputError` for anything but a text."""
        if not (isinstance(text, str) and text.strip()):
            raise InputError(f"a query must be a text, got {text!r}", hint="such as 'select id from orders'")
        parts, start = list[str](), 0
        for match in _TOKEN.finditer(text):
            if match["name"]:
                parts += [text[start : match.start()], match["name"]]
                start = match.end()
        return cls((*parts, text[start:]))

    @property
    def names(self) -> list[str]:
        """The names of its parameters, in order."""
        return list(self.parts[1::2])

    def write(self, style: str, values: Mapping[str, str]) -> tuple[str, Any]:
        """Return the text of the query in a parameter style, and its parameters."""
        doubles = style in ("format", "pyformat") and values
        found = [each.replace("%", "%%") if doubles else each for each in self.parts]
        for number, name in enumerate(self.names):
            found[2 * number + 1] = _PLACE[style].format(name=name, number=number + 1)
        given: Any = {name: values[name] for name in self.names}
        return "".join(found), given if style in ("named", "pyformat") else [values[name] for name in self.names]

    def write_for_sqlalchemy(self) -> str:
        """Return the text for `sqlalchemy.text`, which takes a colon in quotes for a parameter unless it is escaped."""
        texts = [re.sub(r"(?<!:):(?=\w)", r"\\:", each) for each in self.parts[::2]]
        found = list(self.parts)
        found[::2], found[1::2] = texts, [f":{each}" for each in self.names]
        return "".join(found)


def make_query_look(pattern: Atom, text: str, database: Any, most: int = MOST_ROWS) -> Callable[..., Any]:
    """Return a function that looks for the facts of `pattern` by a query, for `World.observer`.

    `database` is a function that opens a connection, which is closed after each look; or an engine of SQLAlchemy; or a
    connection, which is used in the thread of the event loop. Raises `InputError` where query and pattern do not fit.
    """
    query = Query.of(text)
    names = select_bound(pattern, query.names, "the query")
    _check_database(database)

    def run(arguments: Mapping[str, str]) -> Any:
        values = {each: pattern.predicate if each == PREDICATE else arguments[each] for each in query.names}
        with _connect(database) as connection:
            columns, rows = _fetch(connection, query, values, most)
        if len(rows) > most:
            raise InputError(f"the query returns more than {most:,} rows", hint="let it select what is needed")
        return _read_rows(pattern, columns, rows)

    def query_look(**arguments: str) -> Any:
        return run(arguments)

    async def query_look_here(**arguments: str) -> Any:
        return run(arguments)

    async def query_look_awaited(**arguments: str) -> Any:
        values = {each: pattern.predicate if each == PREDICATE else arguments[each] for each in query.names}
        from sqlalchemy import text as as_clause

        async with database.connect() as connection:
            result = await connection.execute(as_clause(query.write_for_sqlalchemy()), values)
            columns, rows = list(result.keys()), result.fetchmany(most + 1)
        if len(rows) > most:
            raise InputError(f"the query returns more than {most:,} rows", hint="let it select what is needed")
        return _read_rows(pattern, columns, rows)

    if "asyncio" in type(database).__module__:
        return name_look(query_look_awaited, pattern, names)
    return name_look(query_look_here if _is_connection(database) else query_look, pattern, names)


def _is_connection(value: Any) -> bool:
    """Return whether `value` is an open connection: of the DB-API, or of SQLAlchemy."""
    return hasattr(value, "cursor") or (hasattr(value, "execute") and not hasattr(value, "connect"))


def _check_database(database: Any) -> None:
    if not (callable(database) or hasattr(database, "connect") or _is_connection(database)):
        hint = "give a function that opens a connection, such as lambda: sqlite3.connect('shop.db'), or an engine"
        raise InputError(f"{kind_of(database)} is no database", hint=hint)


@contextmanager
def _connect(database: Any) -> Iterator[Any]:
    """Yield a connection to `database`, and close it if it was opened here."""
    if _is_connection(database):
        yield database
        return
    connection = database.connect() if hasattr(database, "connect") else database()
    try:
        yield connection
    finally:
        connection.close()


def _fetch(connection: Any, query: Query, values: Mapping[str, str], most: int) -> tuple[list[str], list[Any]]:
    """Run `query`; return the names of its columns, and its rows: one more than `most` if there are more."""
    if not hasattr(connection, "cursor"):
        from sqlalchemy import text

        result = connection.execute(text(query.write_for_sqlalchemy()), dict(values))
        return list(result.keys()), list(result.fetchmany(most + 1))
    cursor = connection.cursor()
    try:
        cursor.execute(*query.write(_find_style(connection), values))
        if cursor.description is None:
            raise InputError("the query returns no rows", hint="an observer looks: write a select")
        return [each[0] for each in cursor.description], list(cursor.fetchmany(most + 1))
    finally:
        cursor.close()


def _find_style(connection: Any) -> str:
    """Return the parameter style of the driver that made `connection`; raises `InputError` for an unknown one."""
    for cls in type(connection).__mro__:
        name = cls.__module__
        while name:
            style = getattr(sys.modules.get(name), "paramstyle", None)
            if style in _PLACE:
                return str(style)
            name = name.rpartition(".")[0]
    hint = "give an engine of SQLAlchemy instead"
    raise InputError(f"the driver of {kind_of(connection)} declares no paramstyle", hint=hint)


def _read_rows(pattern: Atom, columns: Sequence[str], rows: Sequence[Any]) -> Any:
    """Convert rows to the answer of an observer: for a pattern without open arguments, whether there is a row.

    Rows with a null have no value. A column `version` of such a pattern is the version of the item.
    """
    size = pattern.args.count(OPEN)
    if size == 0:
        versions = [each.lower() for each in columns]
        if rows and VERSION in versions:
            return Seen(True, rows[0][versions.index(VERSION)])
        return bool(rows)
    if len(columns) != size:
        raise InputError(
            f"the query returns {len(columns)} columns, and {pattern} has {size} open arguments",
            hint="select a column for each _, in their order",
        )
    return [tuple(map(str, row)) if size > 1 else str(row[0]) for row in rows if None not in tuple(row)]
