"""Policies as JSON-ready data, and back."""

from __future__ import annotations

from decimal import Decimal

from planner.annotations import Any
from planner.declare.syntax import NotationError, parse_atom
from planner.errors import PlanError, did_you_mean
from planner.model import Atom, Number, Problem
from planner.plan import Step, exact, json_number
from planner.uncertain.policy import Branch, Node, Policy


def policy_data(policy: Policy) -> dict[str, Any]:
    """Return `{"success", "cost", "utility", "watched", "nodes": [{"facts", "step", "branches", …}, …]}`."""
    return {
        "success": policy.success,
        "cost": policy.cost,
        "utility": policy.utility,
        "watched": sorted(map(str, policy.watched)),
        "nodes": [_node_data(node) for node in policy.nodes],
    }


def _node_data(node: Node) -> dict[str, Any]:
    step = node.step
    return {
        "facts": sorted(map(str, node.facts)),
        "goal": node.is_goal,
        **({"left": {name: json_number(amount) for name, amount in node.left.items()}} if node.left else {}),
        **({"unknown": sorted(map(str, node.unknown))} if node.unknown else {}),
        **({"supposed": {str(node.supposed[0]): node.supposed[1]}} if node.supposed else {}),
        "step": step and {"action": step.action, "arguments": list(step.arguments), "cost": json_number(step.cost)},
        "branches": [
            {"probability": each.probability, "change": each.change, "node": each.node} for each in node.branches
        ],
    }


def policy_from(data: Any, problem: Problem) -> Policy:
    """Return the policy that `policy_data` made `data` of; raises `PlanError`."""
    match data:
        case {"watched": list() as watched, "nodes": list() as nodes} if nodes:
            found = tuple([_node(item, number, len(nodes), problem) for number, item in enumerate(nodes)])
            values = {name: _real(data.get(name, 0), name) for name in ("success", "cost", "utility")}
            return Policy(found, frozenset(_atoms(watched, "watched")), problem, **values)
    raise PlanError(
        "this is no policy", hint='expected {"watched": […], "nodes": [{"facts": […], "step": …, "branches": […]}, …]}'
    )


def _node(item: Any, number: int, count: int, problem: Problem) -> Node:
    where = f"node {number}"
    match item:
        case {"facts": list() as facts, "step": step, "branches": list() as branches}:
            left = item.get("left", {})
            if isinstance(left, dict):
                return Node(
                    frozenset(_atoms(facts, where)),
                    None if step is None else _step(step, where, problem),
                    tuple([_branch(each, where, count) for each in branches]),
                    item.get("goal") is True,
                    {name: _number(amount, where) for name, amount in left.items()},
                    frozenset(_atoms(item.get("unknown", []), where)),
                    _supposed(item.get("supposed"), where),
                )
    raise PlanError(f"{where} is no node of a policy", hint="a node has 'facts', 'step' and 'branches'")


def _step(item: Any, where: str, problem: Problem) -> Step:
    match item:
        case {"action": str(action), "arguments": list(arguments)} if all(isinstance(word, str) for word in arguments):
            declared = problem.domain.actions.get(action)
            if declared is None:
                raise PlanError(
                    f"{where}: the problem has no action {action!r}",
                    hint=did_you_mean(action, problem.domain.actions)
                    or "check that the policy belongs to this problem",
                )
            if len(arguments) != len(declared.parameters):
                raise PlanError(f"{where}: {declared.signature} is given {len(arguments)} arguments")
            return Step(action, tuple(arguments), _number(item.get("cost", 0), where))
    raise PlanError(f"{where}: its step is none", hint='expected {"action": "move", "arguments": ["r1", "a", "b"]}')


def _supposed(item: Any, where: str) -> tuple[Atom, bool] | None:
    match item:
        case None:
            return None
        case dict() if len(item) == 1 and all(isinstance(holds, bool) for holds in item.values()):
            ((text, holds),) = item.items()
            return _atoms([text], where)[0], holds
    raise PlanError(f"{where}: {item!r} is nothing that is supposed", hint='expected {"open(d1)": true}')


def _branch(item: Any, where: str, count: int) -> Branch:
    match item:
        case {"probability": int() | float() | Decimal() as share, "node": int(node)} if 0 <= node < count:
            return Branch(float(share), str(item.get("change", "")), node)
    raise PlanError(f"{where}: {item!r} is no branch", hint='expected {"probability": 0.5, "node": 2}')


def _atoms(texts: list[Any], where: str) -> list[Atom]:
    try:
        return [parse_atom(str(text)) for text in texts]
    except NotationError as error:
        raise PlanError(f"{where}: {error.problem}", hint=error.hint) from None


def _number(value: Any, where: str) -> Number:
    if isinstance(value, int | float | Decimal) and not isinstance(value, bool):
        return exact(Decimal(str(value)))
    raise PlanError(f"{where}: {value!r} is no number")


def _real(value: Any, where: str) -> float:
    return float(_number(value, where))
