"""Typed lists: `a b - block c`, `?x - (either crate area)`, and the tables of types that they are checked against."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping

from planner.annotations import Final
from planner.errors import PddlError
from planner.model import ROOT_TYPE, TypeHierarchy, Variable
from planner.pddl.trees import Source, Tree, nearest, quote

UNTYPED: Final = (ROOT_TYPE,)
MAX_TYPE_DEPTH: Final = 100
"""How far below `object` a type may be: every type knows all that are above it, so a chain costs its square."""

Entry = tuple[str, tuple[str, ...], int]
"""A name, its types, and where in its list it stands."""


def typed_list(source: Source, tree: Tree, start: int, what: str) -> Iterator[Entry]:
    """Yield the entries of `tree` from item `start` on; `what` says for messages what is listed."""
    pending: list[tuple[str, int]] = []
    items = iter(range(start, len(tree)))
    for index in items:
        item = tree[index]
        if isinstance(item, list):
            hint = "write '- (either …)' before several types" if item[:1] == ["either"] else "remove the parentheses"
            raise source.error(f"found {quote(item)}, expected the name of {what}", tree, index, hint)
        if item[0] != "-":
            pending.append((item, index))
            continue
        if not pending:
            raise source.error(f"found {quote(item)} with no name before it, expected {what}", tree, index)
        if item == "-":
            index = next(items, len(tree))  # noqa: PLW2901 - the type is the next item, and the loop skips it
            types = _types(source, tree, index)
        else:
            types = (item[1:],)
        yield from ((name, types, place) for name, place in pending)
        pending = []
    yield from ((name, UNTYPED, place) for name, place in pending)


def _types(source: Source, tree: Tree, index: int) -> tuple[str, ...]:
    """Return the type, or the alternatives of `(either …)`, at item `index`."""
    if index == len(tree):
        raise source.error("found the end of the list after '-', expected a type", tree, index, "name the type")
    match tree[index]:
        case str(name):
            return (name,)
        case [str(word), *names] if word.lower() == "either" and names and all(isinstance(x, str) for x in names):
            return tuple(dict.fromkeys(names))
        case other:
            raise source.error(f"found {quote(other)}, expected a type or '(either type type …)'", tree, index)


class Types:
    """The types that a file may use; where `unresolved`, any."""

    __slots__ = ("_hierarchy", "declared", "source", "unresolved")

    def __init__(self, source: Source, declared: Mapping[str, tuple[str, ...]], *, unresolved: bool = False) -> None:
        self.source = source
        self.declared = declared
        self.unresolved = unresolved
        self._hierarchy: TypeHierarchy | None = None

    @property
    def hierarchy(self) -> TypeHierarchy:
        """What is above what; made when it is first asked for."""
        if self._hierarchy is None:
            self._hierarchy = TypeHierarchy(self.declared)
        return self._hierarchy

    def above(self, types: Iterable[str]) -> set[str]:
        """Return `types` and all types above them."""
        return set().union(*(self.hierarchy.ancestors(name) for name in types))

    def below(self, types: Iterable[str]) -> set[str]:
        """Return `types` and all types below them."""
        wanted = set(types)
        return wanted.union(name for name in self.declared if not wanted.isdisjoint(self.hierarchy.ancestors(name)))

    def check(self, types: tuple[str, ...], tree: Tree, index: int) -> None:
        """Raise unless all of `types` are declared; `index` is where their first user stands."""
        for name in types:
            if name != ROOT_TYPE and name not in self.declared and not self.unresolved:
                raise self.unknown(name, tree, index)

    def unknown(self, name: str, tree: Tree, index: int) -> PddlError:
        """Return the error for the undeclared type `name` of the name at item `index`."""
        near = nearest(name, [*self.declared, ROOT_TYPE])
        hint = near or "declare it in the domain's (:types …)"
        return self.source.error(f"{quote(tree[index])} has the unknown type {quote(name)}", tree, index, hint)

    def variables(self, tree: Tree, start: int = 0, *, twice: bool = False) -> tuple[Variable, ...]:
        """Return the variables that `tree` declares from item `start` on; where `twice`, names may be repeated."""
        found: dict[str, Variable] = {}
        for name, types, index in typed_list(self.source, tree, start, "a variable"):
            if name[0] != "?" or name == "?":
                hint = f"write '?{name}', or '- {name}' where it is a type" if name != "?" else "name it"
                raise self.source.error(f"found {quote(name)}, expected a variable such as '?x'", tree, index, hint)
            if name in found and twice:
                name = f"{name}-{index}"  # noqa: PLW2901 - the name means nothing, but the model has no doubles
            if name in found:
                raise self.source.error(f"the variable {quote(name)} is declared twice here", tree, index, "rename one")
            if types is not UNTYPED:
                self.check(types, tree, index)
            found[name] = Variable(name, types)
        return tuple(found.values())


def read_types(source: Source, sections: list[Tree]) -> dict[str, tuple[str, ...]]:
    """Return the types that the `:types` sections declare, with their parents.

    A parent that is not declared itself is a type below `object`; one that is declared twice has all its parents;
    what is said of `object` itself means nothing and is left out.
    """
    found: dict[str, tuple[str, ...]] = {}
    for section in sections:
        for name, parents, _ in typed_list(source, section, 1, "a type"):
            if name != ROOT_TYPE:
                both = dict.fromkeys((*found.get(name, ()), *parents))
                both.pop(name, None)
                if len(both) > 1:
                    both.pop(ROOT_TYPE, None)
                found[name] = tuple(both) or UNTYPED
            for parent in parents:
                if parent != ROOT_TYPE:
                    found.setdefault(parent, UNTYPED)
    _refuse_cycles(source, sections, found)
    return found


def _refuse_cycles(source: Source, sections: list[Tree], types: Mapping[str, tuple[str, ...]]) -> None:
    """Raise where a type is above itself, or further below `object` than `MAX_TYPE_DEPTH`."""
    children: dict[str, list[str]] = {}
    for name, parents in types.items():
        for parent in parents:
            children.setdefault(parent, []).append(name)
    waiting = {name: len(parents) for name, parents in types.items()}
    layer, depth = [ROOT_TYPE], 0
    while layer and depth <= MAX_TYPE_DEPTH:
        below = [child for parent in layer for child in children.get(parent, ())]
        layer, depth = [], depth + 1
        for child in below:
            waiting[child] -= 1
            if not waiting[child]:
                del waiting[child]
                layer.append(child)
    if not waiting:
        return
    section, index = _declaration(source, sections, waiting)
    if layer:
        message = f"the type {quote(section[index])} is more than {MAX_TYPE_DEPTH} levels below '{ROOT_TYPE}'"
        raise source.error(message, section, index, "make the hierarchy flatter")
    message = f"the type {quote(section[index])} is above itself, or below a type that is"
    raise source.error(message, section, index, "remove one of the parents on the way round")


def _declaration(source: Source, sections: list[Tree], wanted: Container[str]) -> tuple[Tree, int]:
    """Return the section and the index at which the first of `wanted` is declared."""
    entries = ((section, entry) for section in sections for entry in typed_list(source, section, 1, "a type"))
    return next((section, index) for section, (name, _, index) in entries if name in wanted)
