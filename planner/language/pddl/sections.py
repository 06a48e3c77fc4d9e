"""Read definitions `(define (domain name) section …)`, and the parts of sections by their keywords."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from planner.errors import PddlError
from planner.language.pddl import syntax
from planner.language.pddl.pddl_conditions import subtree
from planner.language.pddl.syntax import Source, Tree, is_number, quote, refuse_construct, suggest_nearest
from planner.lightweight import Final, dataclass
from planner.model import Number
from planner.model.formulas import exact_number

_OTHER: Final = {"domain": "problem", "problem": "domain"}


@dataclass(frozen=True, slots=True)
class Definition:
    """The name that is defined and its sections by keyword, each kind in the order of the file."""

    source: Source
    name: str
    tree: Tree
    sections: Mapping[str, list[Tree]]

    def all(self, keyword: str) -> list[Tree]:
        """Return every section `keyword`."""
        return self.sections.get(keyword, [])

    def one(self, keyword: str) -> Tree | None:
        """Return the section `keyword`, or None; raise where there are several."""
        found = self.all(keyword)
        if len(found) > 1:
            first = self.source.location(found[0])
            raise self.source.error(f"a second {quote(keyword)}; the first is at {first}", found[1], None, "remove one")
        return found[0] if found else None


def read_definition(source: Source, kind: str, known: Collection[str], ignored: Collection[str]) -> Definition:
    """Read the one definition in `source`, a `kind` ("domain" or "problem") with sections `known` and `ignored`.

    Raises `PddlError` where there is none, where it is of the other kind, and for sections that are not known.
    """
    tree = _check_definition(source, kind)
    name = _name(source, tree, kind)
    sections: dict[str, list[Tree]] = {}
    for index in range(2, len(tree)):
        section = tree[index]
        keyword = section[0] if isinstance(section, list) and section else None
        if not isinstance(keyword, str):
            raise source.error(
                f"found {quote(section)}, expected a section such as '({next(iter(known))} …)'", tree, index
            )
        if keyword in syntax.REFUSED_SECTIONS and keyword not in known:
            name_of = section[1] if len(section) > 1 and isinstance(section[1], str) and section[1][0] != ":" else ""
            raise refuse_construct(source, syntax.REFUSED_SECTIONS[keyword], section, None, name_of)
        if keyword not in known and keyword not in ignored:
            hint = suggest_nearest(keyword, [*known, *ignored]) or f"a {kind} has {', '.join(known)}"
            raise source.error(f"the section {quote(keyword)} is not known in a {kind}", section, 0, hint)
        sections.setdefault(keyword, []).append(section)
    return Definition(source, name, tree, sections)


def _check_definition(source: Source, kind: str) -> Tree:
    top = source.expressions
    if not top:
        raise source.error(f"the file is empty, expected '(define ({kind} …) …)'", top, 0)
    tree = top[0]
    if not isinstance(tree, list) or tree[:1] != ["define"]:
        hint = "this is no PDDL file" if isinstance(tree, str) else None
        raise source.error(f"found {quote(tree)}, expected '(define ({kind} …) …)'", top, 0, hint)
    if len(top) > 1:
        end = source.location(tree, len(tree))
        message = f"found {quote(top[1])} after the end of the definition, which was closed at line {end.line}"
        hint = f"remove it, or a ')' too many at line {end.line}, column {end.column} or before"
        raise source.error(message, top, 1, hint)
    return tree


def _name(source: Source, tree: Tree, kind: str) -> str:
    match tree[1] if len(tree) > 1 else None:
        case [str(word), str(name)] if word == kind:
            return name
        case [str(word), *_] if word == _OTHER[kind]:
            order = "the domain file comes first, then the problem file"
            raise source.error(f"this file defines a {word}, and a {kind} was expected", tree, 1, order)
        case other:
            raise source.error(f"found {quote(other)}, expected '({kind} name)'", tree, 1)


_SINGLE: Final = frozenset({":task"})
"""Keywords whose parts cannot be joined by `and`."""
EMPTY: Final[Mapping[str, str]] = {}


def read_name(source: Source, tree: Tree, what: str) -> str:
    """Read the name at item 1 of the section `tree`; messages say that it is the name of `what`."""
    name = tree[1] if len(tree) > 1 else None
    if not isinstance(name, str) or name[0] in "?:":
        raise source.error(f"found {quote(name)}, expected the name of {what}", tree, 1)
    return name


def read_parts(
    source: Source,
    tree: Tree,
    start: int,
    keys: Mapping[str, str],
    what: str,
    *,
    ignored: Collection[str] = (),
    foreign: Mapping[str, str] = EMPTY,
) -> dict[str, Tree]:
    """Read the lists that follow the keywords of the section `tree` from item `start` on.

    `keys` describes the list of each keyword for messages, and `what` describes the section. Keywords in `foreign`
    belong to other tools: they are read too, and messages do not suggest them. Those in `ignored` are skipped.
    """
    taken = {**keys, **foreign}
    found: dict[str, Tree] = {}
    for index in range(start, len(tree), 2):
        key = tree[index]
        if not isinstance(key, str) or (key not in taken and key not in ignored):
            hint = suggest_nearest(key, keys) if isinstance(key, str) else "join several with '(and …)'"
            raise source.error(f"found {quote(key)} in {what}, expected one of {', '.join(keys)}", tree, index, hint)
        if key in found:
            hint = "remove one" if key in _SINGLE else "join the two with '(and …)'"
            raise source.error(f"a second {quote(key)} in {what}", tree, index, hint)
        if key in taken:
            found[key] = subtree(source, tree, index + 1, taken[key])
    return found


def duplicate_error(source: Source, kind: str, tree: Tree, sections: Collection[Tree]) -> PddlError:
    """Make the error for the `kind` that `tree` declares with the name of an earlier one of `sections`."""
    first = source.location(next(each for each in sections if each[1] == tree[1]))
    message = f"the {kind} {quote(tree[1])} is declared twice; the first is at {first}"
    return source.error(message, tree, 1, "rename one of them")


def choose_free_name(name: str, taken: set[str]) -> str:
    """Append a number to `name` if it is in `taken`, and add the result there."""
    found, number = name, 2
    while found in taken:
        found, number = f"{name}-{number}", number + 1
    taken.add(found)
    return found


def read_number(source: Source, tree: Tree, index: int, what: str = "a cost") -> Number:
    """Read the non-negative number at item `index` of `tree` exactly; messages call it `what`."""
    item = tree[index] if index < len(tree) else None
    if not isinstance(item, str) or not is_number(item):
        raise source.error(f"found {quote(item)}, expected a number", tree, index)
    try:
        number = exact_number(item)
    except ValueError as problem:
        raise source.error(f"the number {quote(item)} is not usable: {problem}", tree, index) from None
    if number < 0:
        raise source.error(f"found {quote(item)}, expected {what}, which is not negative", tree, index)
    return number
