"""What files declare before they use it: objects, predicates and functions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from planner.model import ROOT_TYPE, Function, Object, Predicate, Variable
from planner.pddl import refused
from planner.pddl.conditions import subtree
from planner.pddl.effects import TOTAL_COST
from planner.pddl.refused import unsupported
from planner.pddl.trees import Source, Tree, quote
from planner.pddl.typed import Types, typed_list


def read_objects(section: Tree, types: Types, known: Mapping[str, Object]) -> dict[str, Object]:
    """Return the objects that `section` declares; one that it or `known` has already is of both types."""
    found: dict[str, Object] = {}
    for name, kinds, index in typed_list(types.source, section, 1, "an object"):
        types.check(kinds, section, index)
        if name[0] == "?":
            raise types.source.error(f"found the variable {quote(name)}, expected an object", section, index)
        before = found.get(name) or known.get(name)
        if before is None or before.types == kinds:
            found[name] = Object(name, kinds)
        else:
            both = tuple(dict.fromkeys((*before.types, *kinds)))
            found[name] = Object(name, tuple(kind for kind in both if kind != ROOT_TYPE))
    return found


def read_predicates(sections: list[Tree], types: Types) -> dict[str, Predicate]:
    """Return the predicates that `sections` declare; `=` is known anyway."""
    found: dict[str, Predicate] = {}
    for section in sections:
        for index in range(1, len(section)):
            name, variables = read_head(types, section, index, "a predicate")
            if name != "=":
                _check_same(types.source, found.get(name), variables, section[index])
                found.setdefault(name, Predicate(name, variables))
    return found


def read_functions(sections: list[Tree], types: Types) -> dict[str, Function]:
    """Return the functions that `sections` declare; `total-cost` is the sum of costs, and none of them."""
    found: dict[str, Function] = {}
    for section in sections:
        for index in _function_heads(types.source, section):
            name, variables = read_head(types, section, index, "a function")
            if name != TOTAL_COST:
                _check_same(types.source, found.get(name), variables, section[index])
                found.setdefault(name, Function(name, variables))
    return found


def _function_heads(source: Source, section: Tree) -> Iterator[int]:
    """Yield where functions are declared in `section`: all items but `- number`."""
    items = iter(range(1, len(section)))
    for index in items:
        if section[index] != "-":
            yield index
            continue
        index = next(items, len(section))  # noqa: PLW2901 - the type is the next item, and the loop skips it
        kind = section[index] if index < len(section) else None
        if kind != "number":
            if isinstance(kind, str):
                raise unsupported(source, refused.OBJECT_FUNCTION, section, index)
            raise source.error(f"found {quote(kind)} after '-', expected 'number'", section, index)


def _check_same(
    source: Source, known: Predicate | Function | None, variables: tuple[Variable, ...], tree: Tree
) -> None:
    if known is not None and [each.types for each in known.parameters] != [each.types for each in variables]:
        raise source.error(f"{quote(known.name)} is declared twice, with other parameters", tree, None, "remove one")


def read_head(
    types: Types, section: Tree, index: int, what: str, *, twice: bool = True
) -> tuple[str, tuple[Variable, ...]]:
    """Return the name and the parameters at item `index` of `section`; their names may repeat where `twice`."""
    tree = subtree(types.source, section, index, what)
    if not tree or not isinstance(tree[0], str) or tree[0][0] in "?:":
        raise types.source.error(f"found {quote(tree)}, expected {what} with its parameters", section, index)
    return tree[0], types.variables(tree, 1, twice=twice)
