"""Orderings of subtasks by their labels: `(and (< t1 t2) …)`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from graphlib import CycleError

from htn.orders import Order, linear
from planner.pddl.trees import Source, Tree, nearest, quote, ungrouped


def read_ordering(
    source: Source, tree: Tree, size: int, labels: Mapping[str, int], known: Iterable[Order]
) -> list[Order]:
    """Return the pairs in `known` and those that `tree` states, each once; `labels` are places of the `size` subtasks.

    `(t1 < t2)` is read as `(< t1 t2)`. Raises `PddlError` for labels that no task has, and for cycles.
    """
    found: dict[Order, Tree] = dict.fromkeys(known, tree)
    for pair in tree[1:] if tree[:1] == ["and"] else [tree] if tree else []:
        found.setdefault(_pair(source, tree, pair, labels), pair)
    try:
        linear(size, found)
    except CycleError as error:
        cycle = error.args[1]
        names = {place: label for label, place in labels.items()}
        around = " < ".join(names.get(place, f"task {place + 1}") for place in cycle)
        last = found[cycle[-2], cycle[-1]]
        raise source.error(f"the ordering goes round in a circle: {around}", last, None, "remove one of them") from None
    return list(found)


def _pair(source: Source, tree: Tree, pair: Tree | str, labels: Mapping[str, int]) -> Order:
    match pair:
        case ["<", str(first), str(second)] | [str(first), "<", str(second)]:
            places = [_place(source, pair, label, labels) for label in (first, second)]
            return places[0], places[1]
        case str():
            place = next(index for index, item in enumerate(tree) if item is pair and index)
            raise source.error(f"found {quote(pair)}, expected an ordering such as '(< t1 t2)'", tree, place)
    raise source.error(f"found {quote(pair)}, expected an ordering such as '(< t1 t2)'", pair, None, ungrouped(pair))


def _place(source: Source, pair: Tree, label: str, labels: Mapping[str, int]) -> int:
    if label in labels:
        return labels[label]
    index = next(index for index, item in enumerate(pair) if item is label)
    hint = nearest(label, labels) or "give the task its label, as in '(t1 (task ?x))'"
    raise source.error(f"no task here has the label {quote(label)}", pair, index, hint)
