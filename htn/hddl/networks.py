"""Task networks: subtasks with or without labels, their ordering, and constraints on their variables."""

from __future__ import annotations

from collections.abc import Mapping

from htn.hddl.ordering import read_ordering
from htn.hddl.tasks import Bound, Heads
from htn.model import Network, Subtask
from planner.annotations import Final
from planner.model import Formula
from planner.pddl.lenient import warn
from planner.pddl.parts import read_parts
from planner.pddl.trees import Source, Tree, quote, ungrouped

NETWORK_KEYS: Final = {
    ":ordered-subtasks": "tasks",
    ":subtasks": "tasks",
    ":ordering": "an ordering",
    ":constraints": "constraints",
    ":ordered-tasks": "tasks",
    ":tasks": "tasks",
}
_OTHERS: Final = {":order": "an ordering", ":causal-links": "causal links", ":causallinks": "causal links"}
"""Keywords of other tools."""
_LISTS: Final = tuple(key for key, held in NETWORK_KEYS.items() if held == "tasks")


def network_parts(source: Source, tree: Tree, start: int, keys: Mapping[str, str], what: str) -> dict[str, Tree]:
    """Return the lists after the keywords `keys` and those of a network in the section `tree`, from item `start` on.

    Raises `PddlError` for a second list of tasks under another keyword.
    """
    parts = read_parts(source, tree, start, {**keys, **NETWORK_KEYS}, what, foreign=_OTHERS)
    if ":order" in parts and ":ordering" not in parts:
        warn(source, tree, tree.index(":order"), "':order' is read as ':ordering'")
        parts[":ordering"] = parts.pop(":order")
    for key in [each for each in _OTHERS if each in parts]:
        warn(source, tree, tree.index(key), f"{quote(key)} is left out: the order says what comes before what")
        del parts[key]
    lists = [key for key in parts if key in _LISTS]
    if len(lists) > 1:
        message = f"found {quote(lists[1])} after {quote(lists[0])} in {what}"
        hint = f"put all tasks after {quote(lists[0])}, and their order after ':ordering'"
        raise source.error(message, tree, tree.index(lists[1]), hint)
    return parts


def read_network(parts: Mapping[str, Tree], heads: Heads, bound: Bound, constraints: Formula) -> Network:
    """Return the network that `parts` state, with `constraints`; its tasks are among `heads`, their variables `bound`.

    A sequence may have an ordering as well: both count.
    """
    key = next((key for key in _LISTS if key in parts), ":subtasks")
    subtasks, trees = _subtasks(heads, parts.get(key, []), bound)
    ordering = [(place - 1, place) for place in range(1, len(subtasks))] if "ordered" in key else []
    if ":ordering" in parts:
        labels = _labels(heads.words.source, subtasks, trees)
        ordering = read_ordering(heads.words.source, parts[":ordering"], len(subtasks), labels, ordering)
    return Network(subtasks, tuple(ordering), constraints)


def _subtasks(heads: Heads, tree: Tree, bound: Bound) -> tuple[tuple[Subtask, ...], list[Tree]]:
    """Return the subtasks that `tree` lists, and where each is written."""
    if not tree:
        return (), []
    trees = tree[1:] if tree[0] == "and" else [tree]
    return tuple([_subtask(heads, tree, each, bound) for each in trees]), trees


def _subtask(heads: Heads, around: Tree, tree: Tree | str, bound: Bound) -> Subtask:
    """Return the subtask that `tree`, an item of `around` or the whole of it, is."""
    source = heads.words.source
    match tree:
        case [str(label), [str(), *_] as task] if label[0] not in "?:":
            return Subtask(heads.atom(task, bound), label)
        case [str(), *_]:
            return Subtask(heads.atom(tree, bound))
        case str():
            place = next(index for index, item in enumerate(around) if item is tree and index)
            message = f"found {quote(tree)}, expected a task with its arguments"
            raise source.error(message, around, place, f"write '({tree})'")
    raise source.error(f"found {quote(tree)}, expected a task with its arguments", tree, None, ungrouped(tree))


def _labels(source: Source, subtasks: tuple[Subtask, ...], trees: list[Tree]) -> dict[str, int]:
    """Return the place of each labelled subtask; raise where two have the same label."""
    found: dict[str, int] = {}
    for place, (subtask, tree) in enumerate(zip(subtasks, trees, strict=True)):
        if subtask.label and found.setdefault(subtask.label, place) != place:
            first = source.location(trees[found[subtask.label]])
            message = f"the label {quote(subtask.label)} is given twice; the first is at {first}"
            raise source.error(message, tree, 0, "rename one of them")
    return found
