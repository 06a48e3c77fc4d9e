"""Let policies begin irreversible steps late: reversible steps that come anyway, and could still fail, come first.

A policy says one step for each state. Where it is irreversible, and a reversible step follows on every way to the goal
that does not depend on any step before it, nor these on it, the reversible step is taken first. Each of its outcomes
then leads to a copy of the nodes in between, and the copies end where the policy goes on after that outcome. The goal
is reached as often as before. A copy from which it cannot be reached any more ends at once, and nothing irreversible is
done there; on the other hand, the reversible step is done even where the irreversible one then fails for good.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from executor.plans.partial_order import find_possible_accesses
from planner.lightweight import replace
from planner.model import TRUE, Action, Atom, Number, Problem, When
from planner.partial_order.causal_links import find_item_orderings
from planner.plan import Step, exact
from planner.policies.policy import Branch, Node, Policy
from planner.problem_kinds import classical_of

MOST: Final = 500
"""Most nodes between an irreversible step and a reversible one that is taken before it."""
MORE: Final = 5_000
"""Most nodes that copies add to a policy."""
WORK: Final = 500_000
"""Most nodes that are looked at for one policy, about a second; the rest of it stays as it is."""
DIGITS: Final = 12
"""Decimal digits to which probabilities are compared."""


def take_reversible_first(policy: Policy) -> Policy:
    """Return `policy` with reversible steps before the irreversible ones that they do not depend on.

    Policies for unknown facts or constraints stay as they are: there, the sequence of steps has a meaning.
    """
    problem = classical_of(policy.problem)
    careful = {name for name, each in problem.domain.actions.items() if "irreversible" in each.tags}
    taken = {node.step.action for node in policy.nodes if node.step is not None}
    if careful.isdisjoint(taken) or taken <= careful or problem.unknown or problem.constraints:
        return policy
    return replace(policy, nodes=tuple(_Nodes(policy, careful).reorder()))


Key = tuple[str, tuple[str, ...]]


def _key_of(step: Step) -> Key:
    return step.action, step.arguments


@dataclass(slots=True, eq=False)
class Independence:
    """Tells which steps may be exchanged in any state, whatever their outcomes: none reads or writes what one writes.

    So no step takes a value from the result of the other, as it requires the fact that the value comes with.
    """

    problem: Problem
    _known: dict[tuple[Key, Key], bool] = field(default_factory=dict)

    def __post_init__(self) -> None:
        domain = self.problem.domain
        actions = {name: _merge_outcomes(action) for name, action in domain.actions.items()}
        self.problem = replace(self.problem, domain=replace(domain, actions=actions))

    def holds(self, one: Step, other: Step) -> bool:
        """Return whether the two steps are independent."""
        key = _key_of(one), _key_of(other)
        if key not in self._known:
            accesses = find_possible_accesses(self.problem, [one, other])[:-1]
            self._known[key] = next(find_item_orderings(accesses), None) is None
        return self._known[key]


def _merge_outcomes(action: Action) -> Action:
    """Return `action` with the effects of all its outcomes; what it lists and senses counts as changed."""
    effects = [When(TRUE, each.provides, each.modifies, numbers=each.numbers) for each in action.outcomes]
    found = *action.lists, *action.senses
    effects += [When(TRUE, (), found)] if found else []
    return replace(action, when=(*action.when, *effects)) if effects else action


@dataclass(frozen=True, slots=True)
class Change:
    """What an outcome changes: facts that begin and end to hold, values, and what it takes of budgets."""

    begun: frozenset[Atom]
    ended: frozenset[Atom]
    values: tuple[tuple[Atom, Number], ...] = ()
    used: tuple[tuple[str, Number], ...] = ()

    @classmethod
    def between(cls, before: Node, after: Node) -> Change:
        """Return the difference of two nodes."""
        values = [(term, number) for term, number in after.values.items() if before.values.get(term) != number]
        used = [(name, exact(before.left[name] - left)) for name, left in after.left.items()]
        return cls(after.facts - before.facts, before.facts - after.facts, tuple(values), tuple(used))

    def apply(self, node: Node) -> Node:
        """Return `node` as it is after the change."""
        used = dict(self.used)
        left = {name: exact(amount - used.get(name, 0)) for name, amount in node.left.items()}
        return replace(
            node, facts=(node.facts - self.ended) | self.begun, left=left, values={**node.values, **dict(self.values)}
        )


@dataclass(frozen=True, slots=True)
class Region:
    """The nodes `between` an irreversible step and the `step` to take before it, which is that of the nodes `at`.

    `outcomes` has the node that follows each change of the step, by the node in `at`.
    """

    step: Step
    between: tuple[int, ...]
    at: tuple[int, ...]
    outcomes: Mapping[int, Mapping[Change, Branch]]


State = tuple[frozenset[Atom], tuple[tuple[Atom, Number], ...], tuple[tuple[str, Number], ...]]


def _state_of(node: Node) -> State:
    return node.facts, tuple(sorted(node.values.items(), key=str)), tuple(sorted(node.left.items(), key=str))


class _Nodes:
    """The nodes of a policy, which change, and to which copies are added."""

    def __init__(self, policy: Policy, careful: Collection[str]) -> None:
        self._careful = careful
        self._nodes = [*policy.nodes]
        self._stated = [node.step for node in policy.nodes]
        """The step of each node before another one was taken first."""
        self._places = {_state_of(node): number for number, node in reversed([*enumerate(policy.nodes)])}
        self._most = len(policy.nodes) + MORE
        self._hopeful = _find_hopeful(range(len(self._nodes)), self._nodes, ())
        """The nodes from which a goal may be reached."""
        self._work = 0
        """The nodes that were looked at."""
        self._are_independent: Callable[[Step, Step], bool] = Independence(classical_of(policy.problem)).holds

    def reorder(self) -> list[Node]:
        """Take reversible steps first wherever the policy may come to, and return the nodes."""
        queue = {0: None}
        order = [0]
        for number in order:
            step = self._nodes[number].step
            if step is not None and step.action in self._careful and self._work < WORK:
                self._take_another_first(number, step)
            fresh = [each.node for each in self._nodes[number].branches if each.node not in queue]
            queue.update(dict.fromkeys(fresh))
            order += dict.fromkeys(fresh)
        return self._nodes

    def _take_another_first(self, number: int, late: Step) -> None:
        """Take a reversible step first in a node, if there is one that may come before `late`."""
        for step in self._list_following(number):
            if not self._are_independent(late, step):
                continue
            region = self._find_region(number, step)
            if region is not None and self._move(number, region):
                return

    def _list_following(self, number: int) -> list[Step]:
        """Return the reversible steps that may follow in the policy, the next ones first."""
        order, found = [number], dict[Key, Step]()
        met = {number}
        for each in order:
            step = self._nodes[each].step
            if step is not None and step.action not in self._careful:
                found.setdefault(_key_of(step), step)
            fresh = [branch.node for branch in self._nodes[each].branches if branch.node not in met]
            met.update(fresh)
            order += dict.fromkeys(fresh)
            if len(order) > MOST:
                break
        self._work += len(order)
        return [*found.values()]

    def _find_region(self, number: int, step: Step) -> Region | None:
        """Return the nodes before `step` on all ways from a node; None where the goal is reached without it."""
        between, at, stack = dict[int, None](), dict[int, None](), [number]
        while stack:
            place = stack.pop()
            node = self._nodes[place]
            self._work += 1
            if place in between or place in at:
                continue
            if node.step is not None and _key_of(node.step) == _key_of(step):
                at[place] = None
                continue
            if (node.step is None and node.is_goal) or len(between) >= MOST:
                return None
            if node.step is not None and not self._are_independent(node.step, step):
                return None
            between[place] = None
            stack += [branch.node for branch in node.branches]
        outcomes = {place: self._list_outcomes(place) for place in at}
        if not at or len({_shares_of(each) for each in outcomes.values()}) > 1:
            return None
        return Region(step, tuple(between), tuple(at), outcomes)

    def _list_outcomes(self, place: int) -> dict[Change, Branch]:
        """Return the branches of a node that lead elsewhere, by what they change."""
        node = self._nodes[place]
        others = [branch for branch in node.branches if branch.node != place]
        return {Change.between(node, self._nodes[branch.node]): branch for branch in others}

    def _move(self, number: int, region: Region) -> bool:
        """Take the step of `region` first in a node; return False where it leads to states with other steps."""
        outcomes = region.outcomes[region.at[0]]
        made = {(place, change): change.apply(self._nodes[place]) for place in region.between for change in outcomes}
        known = {key: self._places[state] for key, node in made.items() if (state := _state_of(node)) in self._places}
        if any(self._stated[place] != self._nodes[key[0]].step for key, place in known.items()):
            return False
        if len(self._nodes) + len(made) > self._most or len({*map(_state_of, made.values())}) < len(made):
            return False
        if any(left < 0 for node in made.values() for left in node.left.values()):
            return False
        numbers = dict(known)
        for key, node in made.items():
            if key not in numbers:
                numbers[key] = self._places[_state_of(node)] = len(self._nodes)
                self._nodes.append(node)
                self._stated.append(node.step)

        def follow(target: int, change: Change) -> int:
            return region.outcomes[target][change].node if target in region.outcomes else numbers[target, change]

        for (place, change), own in numbers.items():
            if (place, change) not in known:
                branches = [replace(each, node=follow(each.node, change)) for each in made[place, change].branches]
                self._nodes[own] = replace(self._nodes[own], branches=tuple(branches))
        self._end_hopeless([own for key, own in numbers.items() if key not in known])
        stays = [each for each in self._nodes[region.at[0]].branches if each.node == region.at[0]]
        branches = [replace(each, node=numbers[number, change]) for change, each in outcomes.items()]
        branches += [replace(each, node=number) for each in stays]
        self._nodes[number] = replace(self._nodes[number], step=region.step, branches=tuple(branches))
        return True

    def _end_hopeless(self, copies: Collection[int]) -> None:
        """End the policy in those of the `copies` from which it reaches no goal any more."""
        self._hopeful |= _find_hopeful(copies, self._nodes, self._hopeful)
        for place in copies:
            if place not in self._hopeful:
                self._nodes[place] = replace(self._nodes[place], step=None, branches=())


def _find_hopeful(places: Iterable[int], nodes: Sequence[Node], hopeful: Collection[int]) -> set[int]:
    """Return those of the `places` from which the policy may reach a goal, or one of the `hopeful` nodes."""
    before, queue = defaultdict[int, list[int]](list), list[int]()
    for place in places:
        after = [branch.node for branch in nodes[place].branches]
        if nodes[place].is_goal or any(each in hopeful for each in after):
            queue.append(place)
        for each in after:
            before[each].append(place)
    found = set(queue)
    for place in queue:
        fresh = dict.fromkeys([each for each in before[place] if each not in found])
        found.update(fresh)
        queue += fresh
    return found


def _shares_of(outcomes: Mapping[Change, Branch]) -> frozenset[tuple[Change, float]]:
    return frozenset([(change, round(branch.probability, DIGITS)) for change, branch in outcomes.items()])
