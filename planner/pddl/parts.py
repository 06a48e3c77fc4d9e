"""What sections such as `(:action name :keyword (…) …)` are made of: a name, and a list after each keyword."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from planner.annotations import Final
from planner.errors import PddlError
from planner.pddl.conditions import subtree
from planner.pddl.trees import Source, Tree, nearest, quote

_SINGLE: Final = frozenset({":task"})
"""Keywords of which no two can be joined."""
EMPTY: Final[Mapping[str, str]] = {}


def read_name(source: Source, tree: Tree, what: str) -> str:
    """Return the name at item 1 of the section `tree`; `what` says whose it is."""
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
    """Return the lists that follow the keywords of the section `tree` from item `start` on.

    `keys` says for each keyword what its list holds, `what` whose keywords they are. Those of `foreign` belong to other
    tools: they are taken, and named in no message. What follows those in `ignored` is left out.
    """
    taken = {**keys, **foreign}
    found: dict[str, Tree] = {}
    for index in range(start, len(tree), 2):
        key = tree[index]
        if not isinstance(key, str) or (key not in taken and key not in ignored):
            hint = nearest(key, keys) if isinstance(key, str) else "join several with '(and …)'"
            raise source.error(f"found {quote(key)} in {what}, expected one of {', '.join(keys)}", tree, index, hint)
        if key in found:
            hint = "remove one" if key in _SINGLE else "join the two with '(and …)'"
            raise source.error(f"a second {quote(key)} in {what}", tree, index, hint)
        if key in taken:
            found[key] = subtree(source, tree, index + 1, taken[key])
    return found


def declared_twice(source: Source, kind: str, tree: Tree, sections: Collection[Tree]) -> PddlError:
    """Return the error for the `kind` that `tree` declares, as an earlier one of `sections` has its name."""
    first = source.location(next(each for each in sections if each[1] == tree[1]))
    message = f"the {kind} {quote(tree[1])} is declared twice; the first is at {first}"
    return source.error(message, tree, 1, "rename one of them")


def free_name(name: str, taken: set[str]) -> str:
    """Return `name`, with a number where it is in `taken` already, and add it there."""
    found, number = name, 2
    while found in taken:
        found, number = f"{name}-{number}", number + 1
    taken.add(found)
    return found
