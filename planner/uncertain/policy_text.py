"""Policies for people: a contingent plan, line by line."""

from __future__ import annotations

from collections.abc import Iterator

from planner.uncertain.policy import Branch, Node, Policy


def policy_text(policy: Policy) -> str:
    """Return the policy with numbered steps; under each what may come of it, if that is not just the next one."""
    numbers: dict[int, int] = {}
    for place, node in enumerate(policy.nodes):
        if node.step is not None:
            numbers[place] = len(numbers) + 1
    return "\n".join(line for place in numbers for line in _lines(policy, place, numbers)) or "no steps"


def _lines(policy: Policy, place: int, numbers: dict[int, int]) -> Iterator[str]:
    node = policy.nodes[place]
    yield f"{numbers[place]}. {node.step}{_supposing(node)}"
    following = numbers[place] + 1
    if [numbers.get(branch.node) for branch in node.branches] == [following]:
        return
    for branch in node.branches:
        yield f"     {percent(branch.probability)}: {branch.change} → {_where(policy, place, branch, numbers)}"


def _supposing(node: Node) -> str:
    if node.supposed is None:
        return ""
    fact, holds = node.supposed
    return f", supposing {fact}" if holds else f", supposing not {fact}"


def _where(policy: Policy, place: int, branch: Branch, numbers: dict[int, int]) -> str:
    if branch.node == place:
        return "again"
    if branch.node in numbers:
        return str(numbers[branch.node])
    return ending(policy.nodes[branch.node])


def ending(node: Node) -> str:
    """Return what it means that a policy ends in `node`."""
    return "the goal" if node.is_goal else "the end, without the goal"


def percent(probability: float) -> str:
    """Return a probability in percent, as precisely as it takes to tell it from none and from certainty."""
    for digits in (3, 6, 9):
        text = f"{100 * probability:.{digits}g}"
        if text not in ("0", "100") or probability in (0.0, 1.0):
            break
    return f"{text} %"
