"""The strongly connected components of a graph."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from planner.lightweight import TypeVar

Key = TypeVar("Key")


def strong_components(leads: Mapping[Key, Iterable[Key]]) -> Iterator[list[Key]]:
    """Yield the strongly connected components (Tarjan, 1972), successors first.

    `leads` maps every node to its successors.
    """
    met: dict[Key, int] = {}
    low: dict[Key, int] = {}
    stack: list[Key] = []
    for first, after in leads.items():
        path = [] if first in met else [(first, iter(after))]
        while path:
            name, following = path[-1]
            if name not in met:
                met[name] = low[name] = len(met)
                stack.append(name)
            new = next((each for each in following if each not in met), None)
            if new is not None:
                path.append((new, iter(leads[new])))
                continue
            path.pop()
            low[name] = min([low[name], *[low[each] for each in leads[name] if each in low]])
            if low[name] == met[name]:
                yield _pop_component(stack, name, low)


def _pop_component(stack: list[Key], name: Key, low: dict[Key, int]) -> list[Key]:
    """Pop the component of `name` from the `stack`."""
    component: list[Key] = []
    while not component or component[-1] != name:
        component.append(stack.pop())
        del low[component[-1]]
    return component
