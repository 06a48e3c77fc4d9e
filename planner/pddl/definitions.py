"""What domain and problem files have in common: `(define (domain name) section …)`."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from planner.annotations import Final
from planner.pddl import refused
from planner.pddl.refused import unsupported
from planner.pddl.trees import Source, Tree, nearest, quote
from planner.records import dataclass

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
    """Return the one definition in `source`, a `kind` ("domain" or "problem") with sections `known` and `ignored`.

    Raises `PddlError` where there is none, where it is of the other kind, and for sections that are not known.
    """
    tree = _define(source, kind)
    name = _name(source, tree, kind)
    sections: dict[str, list[Tree]] = {}
    for index in range(2, len(tree)):
        section = tree[index]
        keyword = section[0] if isinstance(section, list) and section else None
        if not isinstance(keyword, str):
            raise source.error(f"found {quote(section)}, expected a section such as '({_first(known)} …)'", tree, index)
        if keyword in refused.SECTIONS and keyword not in known:
            name_of = section[1] if len(section) > 1 and isinstance(section[1], str) and section[1][0] != ":" else ""
            raise unsupported(source, refused.SECTIONS[keyword], section, None, name_of)
        if keyword not in known and keyword not in ignored:
            hint = nearest(keyword, [*known, *ignored]) or f"a {kind} has {', '.join(known)}"
            raise source.error(f"the section {quote(keyword)} is not known in a {kind}", section, 0, hint)
        sections.setdefault(keyword, []).append(section)
    return Definition(source, name, tree, sections)


def _first(known: Collection[str]) -> str:
    """Return the first of `known`, as an example."""
    return next(iter(known))


def _define(source: Source, kind: str) -> Tree:
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
