"""Solve a hierarchical task with GTPyhop, and print the answer as one line of JSON.

A script for an interpreter that has GTPyhop (Nau et al. 2021, "GTPyhop: A Hierarchical Goal+Task Planner Implemented in
Python") and nothing of ours: `python -I gtpyhop_guest.py gtpyhop OPTIONS DOMAIN PROBLEM SECONDS`. OPTIONS is JSON;
`strategy` is GTPyhop's name of one. The answer has `status` ("solved", "unknown", "unsupported"), `plan`,
`read_seconds` and `search_seconds`.

GTPyhop reads no files: domains are Python functions. `gtpyhop_domains` has those of three benchmarks, with the tasks
and methods of the HDDL domain, whose task names select one; a method chooses the first objects that its precondition
allows. GTPyhop returns no decomposition, so that this script recovers it by replaying the methods.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path.append(str(Path(__file__).resolve().parents[2]))  # the interpreter does not have this project

from benchmarks.hop.gtpyhop_domains import (
    Blocks,
    PythonDomain,
    Snacks,
    State,
    Subtasks,
    Task,
    Towers,
    find_parts,
    read_expression,
    read_tasks,
)


@dataclass(slots=True)
class Node:
    """A task: an action is step `step` of the plan, another one has its method and the places of its subtasks."""

    task: Task
    step: int | None = None
    method: str = ""
    children: list[int] = field(default_factory=list)


def recover_decomposition(
    domain: PythonDomain, state: State, roots: Sequence[Task], steps: Sequence[Task]
) -> list[Node] | None:
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
        node.method, subtasks = choose_method(domain, state, node.task)
        node.children = [*range(len(nodes), len(nodes) + len(subtasks or ()))]
        nodes += map(Node, subtasks or ())
        waiting += reversed(node.children)
        if subtasks is None:
            return None
    return nodes if done == len(steps) else None


def choose_method(domain: PythonDomain, state: State, task: Task) -> tuple[str, Subtasks]:
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


STRATEGY = "iterative_dfs_backtracking"


def find_python_domain(domain: list[Any], problem: list[Any], state: Any) -> Any:
    """Return the domain in Python that has the tasks of `domain`, made for `problem`; None where there is none."""
    kinds: dict[frozenset[str], Any] = {
        frozenset({"serve"}): Snacks,
        frozenset({"do_put_on", "do_on_table", "do_move", "do_clear"}): Blocks,
        frozenset({"shifttower", "selectdirection", "rotatetower", "exchange", "move_abstract"}): Towers,
    }
    kind = kinds.get(frozenset(part[1] for part in find_parts(domain, ":task")))
    return None if kind is None else kind(state, problem)


def solve(domain_path: str, problem_path: str, options: dict[str, str]) -> dict[str, Any]:
    """Solve with GTPyhop, which knows no limits."""
    import gtpyhop as peer

    began = time.perf_counter()
    domain, problem = read_expression(domain_path), read_expression(problem_path)
    state = peer.State("initial", steps=0)
    found = find_python_domain(domain, problem, state)
    if found is None:
        return {"status": "unsupported", "detail": "no domain in Python is written for it"}
    peer.set_verbose_level(0)
    peer.set_recursive_planning(options.get("strategy", STRATEGY))
    peer.Domain("benchmark")
    peer.declare_actions(*found.actions)
    for name, methods in found.methods.items():
        peer.declare_task_methods(name, *methods.values())
    prepared = time.perf_counter()
    steps = peer.find_plan(state, read_tasks(problem))
    searched = time.perf_counter()
    solved = steps is not None and steps is not False
    return {
        "status": "solved" if solved else "unknown",
        "plan": plan_of(steps, found, state, domain, problem) if solved else None,
        "read_seconds": prepared - began,
        "search_seconds": searched - prepared,
    }


def plan_of(steps: Any, found: Any, state: Any, domain: list[Any], problem: list[Any]) -> str:
    """Return the plan with its decomposition; actions have the names of `domain`, with `-` where Python has `_`."""
    names = {part[1].replace("-", "_"): part[1] for part in find_parts(domain, ":action")}
    roots = read_tasks(problem)
    return plan_text(steps, len(roots), recover_decomposition(found, state, roots, steps), names)


def main() -> None:
    """Solve the task of the command line."""
    options, domain, problem = json.loads(sys.argv[2]), *sys.argv[3:5]
    print(json.dumps(solve(domain, problem, options)))  # noqa: T201 - that is the answer


if __name__ == "__main__":
    main()
