"""Which tasks may lead to themselves."""

from __future__ import annotations

from collections.abc import Iterator

from htn.model import HtnDomain


def recursive(domain: HtnDomain) -> set[str]:
    """Return the tasks of `domain` that some chain of methods leads back to."""
    leads: dict[str, set[str]] = {name: set() for name in domain.tasks}
    for method in domain.methods.values():
        leads[method.task.predicate] |= {each.task.predicate for each in method.network.subtasks} & leads.keys()
    return {name for component in _components(leads) for name in component if len(component) > 1 or name in leads[name]}


def _components(leads: dict[str, set[str]]) -> Iterator[list[str]]:
    """Yield the strongly connected components (Tarjan, 1972), without recursion."""
    met: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
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
                yield _top(stack, name, low)


def _top(stack: list[str], name: str, low: dict[str, int]) -> list[str]:
    """Take what is on the `stack` down to `name` away."""
    component: list[str] = []
    while not component or component[-1] != name:
        component.append(stack.pop())
        del low[component[-1]]
    return component
