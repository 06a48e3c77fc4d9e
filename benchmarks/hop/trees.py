"""The decompositions behind GTPyhop's plans, which it does not tell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from benchmarks.hop.reading import Task
from benchmarks.hop.written import State, Subtasks, Written


@dataclass(slots=True)
class Node:
    """A task: an action is step `step` of the plan, another one has its method and the places of its subtasks."""

    task: Task
    step: int | None = None
    method: str = ""
    children: list[int] = field(default_factory=list)


def decomposed(domain: Written, state: State, roots: Sequence[Task], steps: Sequence[Task]) -> list[Node] | None:
    """Return the tasks that come of `roots`, these first, when the first applicable method is always taken.

    `state` is the initial one, and is changed. None where that does not give `steps`: then GTPyhop has gone back from
    some method.
    """
    actions = {action.__name__: action for action in domain.actions}
    nodes = [Node(task) for task in roots]
    waiting = [*reversed(range(len(nodes)))]
    done = 0
    while waiting:
        node = nodes[waiting.pop()]
        name, *arguments = node.task
        if name in actions:
            if done == len(steps) or node.task != steps[done] or actions[name](state, *arguments) is None:
                return None
            node.step, done = done, done + 1
            continue
        node.method, subtasks = chosen(domain, state, node.task)
        node.children = [*range(len(nodes), len(nodes) + len(subtasks or ()))]
        nodes += map(Node, subtasks or ())
        waiting += reversed(node.children)
        if subtasks is None:
            return None
    return nodes if done == len(steps) else None


def chosen(domain: Written, state: State, task: Task) -> tuple[str, Subtasks]:
    """Return the name of the first method that is applicable, and what it gives."""
    tried = ((name, method(state, *task[1:])) for name, method in domain.methods[task[0]].items())
    return next(((name, given) for name, given in tried if given is not None), ("", None))


def plan_text(steps: Sequence[Task], roots: int, nodes: Sequence[Node] | None, names: Mapping[str, str]) -> str:
    """Return `steps` with their decomposition as the competition writes it, or alone where there is none.

    The first `roots` of `nodes` are the initial tasks; `names` are those of actions.
    """
    shown = [" ".join((names[step[0]], *step[1:])) for step in steps]
    if nodes is None:
        return "".join(f"({step})\n" for step in shown)
    numbers = [len(steps) + place if node.step is None else node.step for place, node in enumerate(nodes)]
    lines = ["==>", *(f"{number} {step}" for number, step in enumerate(shown))]
    lines.append(" ".join(["root", *(str(number) for number in numbers[:roots])]))
    for number, node in zip(numbers, nodes, strict=True):
        if node.step is None:
            words = [str(number), *node.task, "->", node.method, *(str(numbers[place]) for place in node.children)]
            lines.append(" ".join(words))
    return "\n".join([*lines, "<=="]) + "\n"
