"""Tell a search debugger of each expansion: `forethought solve --search-tree-dump http://localhost:PORT`.

The debugger is that of the PDDL extension of VS Code, which listens on loopback, and takes JSON by POST:
`/state/initial`, `/state` with the parent and the plan so far, `/state/heuristic`, and `/plan`. A debugger that goes
away ends the messages, and not the search.
"""

from __future__ import annotations

import http.client
import json
from typing import Any, Final
from urllib.parse import urlsplit

from executor.listening.addresses import Address
from planner.errors import InputError
from planner.lightweight import dataclass
from planner.plan import Plan, Step
from planner.search import Space
from planner.search.expansion import Expansion
from planner.task.ground_task import State, Task

ANSWER_SECONDS: Final = 5.0
"""Seconds after which a debugger that does not answer is given up."""


@dataclass(frozen=True, slots=True)
class Node:
    """A state in the tree that a debugger shows, with its number there, and the steps that lead to it."""

    number: int
    parent: Node | None
    g: Any
    steps: tuple[Step, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the state as the debugger takes it; each step takes one unit of time."""
        head = [_describe(step, time) for time, step in enumerate(self.steps, start=1)]
        return {
            "id": str(self.number),
            "parentId": None if self.parent is None else str(self.parent.number),
            "g": float(self.g),
            "earliestTime": len(self.steps),
            "appliedAction": head[-1] if head else None,
            "planHead": head,
        }


class SearchDebugger:
    """Sends the expansions of one search to the debugger at `url`.

    Raises `InputError` where the URL is not on this machine, or nothing listens there.
    """

    def __init__(self, url: str) -> None:
        self._connection: http.client.HTTPConnection | None = _connect(url)
        self._task: Task | None = None
        self._space: Space | None = None
        self._nodes: dict[State, Node] = {}
        self._edges: dict[State, dict[Step, list[Node]]] = {}
        """The expanded states before each generated one, by the step between them."""

    def __call__(self, expansion: Expansion) -> None:
        """Send one expansion; those of a search that follows on the first are left out."""
        if self._connection is None or (self._task is not None and expansion.task is not self._task):
            return
        if self._space is None:
            self._task, self._space = expansion.task, Space(expansion.task)
        node = self._find_node(expansion)
        if expansion.h is not None:
            self._send("/state/heuristic", _describe_estimate(node, expansion.h))
        for action, child in self._space.successors(expansion.state):
            step = expansion.task.actions[action].step
            self._edges.setdefault(child, {}).setdefault(step, []).append(node)

    def end(self, plan: Plan | None) -> None:
        """Send the plan, if there is one, and close the connection."""
        if plan is not None and self._space is not None:
            self._send_plan(plan)
        if self._connection is not None:
            self._connection.close()

    def _find_node(self, expansion: Expansion) -> Node:
        """Return the node of an expanded state; a new one is sent."""
        step, found = expansion.step, self._nodes.get(expansion.state)
        if found is not None:  # a cheaper path, or another estimate: the debugger keeps the first place in its tree
            return found
        if step is None:
            return self._add(expansion.state, None, expansion.g, ())
        before = self._edges.get(expansion.state, {}).get(step, [])
        cost = self._cost_before(expansion)
        parent = next((each for each in before if each.g == cost), before[-1] if before else None)
        return self._add(expansion.state, parent, expansion.g, (*(parent.steps if parent else ()), step))

    def _cost_before(self, expansion: Expansion) -> Any:
        assert expansion.step is not None
        return expansion.g - expansion.step.cost

    def _add(self, state: State, parent: Node | None, g: Any, steps: tuple[Step, ...]) -> Node:
        node = self._nodes[state] = Node(len(self._nodes), parent, g, steps)
        self._send("/state" if steps else "/state/initial", node.to_dict())
        return node

    def _send_plan(self, plan: Plan) -> None:
        """Send the states of a plan that are new, and that the last one is reached."""
        assert self._space is not None
        assert self._task is not None
        actions = {_name(action.step): number for number, action in enumerate(self._task.actions)}
        state, node = self._space.initial, self._nodes.get(self._space.initial)
        for step in plan.steps:
            number = actions.get(_name(step))
            if node is None or number is None:
                return  # the plan is of a problem that was compiled into this one
            state = dict(self._space.successors(state)).get(number, -1)
            if state == -1:
                return
            known = self._nodes.get(state)
            node = known or self._add(state, node, node.g + step.cost, (*node.steps, step))
        if node is not None:
            self._send("/plan", node.to_dict())

    def _send(self, path: str, data: dict[str, Any]) -> None:
        if self._connection is None:
            return
        try:
            self._connection.request("POST", path, json.dumps(data), {"Content-Type": "application/json"})
            self._connection.getresponse().read()
        except (OSError, http.client.HTTPException):
            self._connection.close()
            self._connection = None


def _connect(url: str) -> http.client.HTTPConnection:
    parts = urlsplit(url)
    try:
        host, port = parts.hostname or "", parts.port
    except ValueError:
        host, port = "", None
    if parts.scheme != "http" or port is None or not Address(host, port).is_loopback:
        hint = "such as --search-tree-dump http://localhost:8000"
        raise InputError(f"a search debugger is at a port of this machine, not at {url!r}", hint=hint)
    connection = http.client.HTTPConnection(host, port, timeout=ANSWER_SECONDS)
    try:
        connection.connect()
    except OSError as error:
        hint = "start it first: 'PDDL: Start search debugger' in VS Code"
        raise InputError(f"no search debugger listens at {url}: {error.strerror or error}", hint=hint) from None
    return connection


def _name(step: Step) -> str:
    return " ".join([step.action, *step.arguments])


def _describe(step: Step, time: int) -> dict[str, Any]:
    data = {"shotCounter": 0, "iterations": 1, "kind": "INSTANTANEOUS"}
    return {"earliestTime": time, "actionName": _name(step), **data}


def _describe_estimate(node: Node, estimate: Any) -> dict[str, Any]:
    data = {"h": float(estimate), "totalMakespan": len(node.steps), "helpfulActions": [], "relaxedPlan": []}
    return {"id": str(node.number), **data}
