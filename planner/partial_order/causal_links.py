"""Causal links, and the partial order of a plan by links and threats: each of its linearisations is a valid plan.

A causal link says which step makes true, or false, what a later step or the goal needs. The order is given by pairs
whose transitive closure it is: a plan of ten thousand steps may have fifty million ordered pairs. Sets of steps are
integers with bit n for step n.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Container, Iterator, Mapping, Sequence
from itertools import chain, pairwise
from typing import TYPE_CHECKING, TypeGuard, cast

from planner.compilations.object_creation import for_steps
from planner.lightweight import dataclass
from planner.model import Atom, Literal, Not, Problem
from planner.partial_order.number_order import Condition, NumberOrder
from planner.partial_order.read_write_sets import Access, Patterns, find_accesses
from planner.plan import Plan, Step
from planner.problem_kinds import check_classical

if TYPE_CHECKING:
    import networkx as nx


def is_literal(condition: Condition) -> TypeGuard[Literal]:
    """Return whether `condition` is about a fact, not about numbers."""
    return isinstance(condition.part if isinstance(condition, Not) else condition, Atom)


INITIAL = 0
"""The number of the initial state as a provider; steps count from 1."""


@dataclass(frozen=True, slots=True)
class CausalLink:
    """Step `provider` makes `condition` hold for step `consumer`, or observes that it holds.

    Provider 0 is the initial state, or what ran before it; the consumer after the last step is the goal. A fact
    `ran-<action>(…)` says that an action has run. A comparison has a provider for each change that it needs; the
    comparison `fluent == value` stands for a fluent whose very value the consumer reads.
    """

    provider: int
    consumer: int
    condition: Condition


def causal_links(problem: Problem, plan: Plan) -> tuple[CausalLink, ...]:
    """Return the causal links of `plan` by consumer; a read of a derived fact is one of its base facts.

    A condition on all objects is linked only to facts that the plan may change. Raises `PlanError` for an invalid plan,
    and `InputError` for a problem of tasks.
    """
    check_classical(problem, "causal_links", "give its classical part, problem.classical, or ask for partial_order")
    problem = for_steps(problem, plan.steps)
    return find_links(find_accesses(problem, plan), problem.ran)


def find_links(found: Sequence[Access], ran: Sequence[Atom], moments: Sequence[int] = ()) -> tuple[CausalLink, ...]:
    """Return the causal links between steps with these accesses, after the actions `ran`.

    Steps with the same of `moments` come at once, if these are given, and are linked only where they must be.
    """
    writers: dict[Atom, int] = {}
    links: dict[CausalLink, None] = {}
    for number, access in enumerate(found, start=1):
        for fact, holds in access.reads:
            links[CausalLink(writers.get(fact, INITIAL), number, fact if holds else Not(fact))] = None
        for pattern in access.ran:
            links[_link_to_ran(pattern, ran, found, number)] = None
        changes = access.changes
        writers.update(dict.fromkeys((*access.looks, *changes.added, *changes.removed), number))
    numbers = NumberOrder([access.numbers for access in found], moments)
    links.update((CausalLink(*link), None) for link in numbers.links)
    return tuple(links)


def _link_to_ran(pattern: Atom, ran: Sequence[Atom], found: Sequence[Access], consumer: int) -> CausalLink:
    """Return the link from an action that matches `pattern` and ran before the plan, else from the first such step."""
    before = ((INITIAL, action) for action in ran)
    earlier = ((number, access.step) for number, access in enumerate(found[: consumer - 1], start=1))
    steps = ((number, Atom(step.action, step.arguments)) for number, step in earlier)
    for provider, action in chain(before, steps):
        if pattern.matches(action):
            return CausalLink(provider, consumer, Atom(f"ran-{action.predicate}", action.args))
    raise AssertionError(f"nothing ran that {pattern} covers, in a valid plan")


def find_purposes(problem: Problem, plan: Plan) -> dict[int, tuple[CausalLink, ...]]:
    """Return a shortest chain of causal links from each step to the goal, which says why the step is there.

    The chain of an unnecessary step is empty. Raises `PlanError` for an invalid plan.
    """
    goal = len(plan.steps) + 1
    onward: dict[int, tuple[CausalLink, ...]] = {goal: ()}
    by_consumer: dict[int, list[CausalLink]] = {}
    for link in causal_links(problem, plan):
        by_consumer.setdefault(link.consumer, []).append(link)
    queue = [goal]
    for consumer in queue:
        for link in by_consumer.get(consumer, ()):
            if link.provider != INITIAL and link.provider not in onward:
                onward[link.provider] = (link, *onward[consumer])
                queue.append(link.provider)
    return {number: onward.get(number, ()) for number in range(1, goal)}


LINK, THREAT, ITEM = "link", "threat", "item"


@dataclass(frozen=True, slots=True)
class Ordering:
    """Step `earlier` must come before step `later`.

    The reason is "link" (the first provides what the second needs), "threat" (the second undoes what the first needs,
    or what the first would undo), or "item" (one writes an item of `modifies`, or a numeric fluent, that the other
    reads or writes). `about` is the condition, or the item.
    """

    earlier: int
    later: int
    reason: str
    about: Condition


def find_orderings(
    found: Sequence[Access], links: Sequence[CausalLink], moments: Sequence[int] = ()
) -> Iterator[Ordering]:
    """Yield the orderings of steps with these accesses and links; the goal counts as the last step.

    Of steps that come at once, by `moments`, only those are ordered that must be.
    """
    for link in links:
        if link.provider != INITIAL:
            yield Ordering(link.provider, link.consumer, LINK, link.condition)
    yield from _order_threats(found, links)
    yield from find_item_orderings(found[:-1])
    numbers = NumberOrder([access.numbers for access in found], moments)
    yield from (Ordering(earlier, later, THREAT, about) for earlier, later, about in numbers.threats)
    yield from (Ordering(earlier, later, ITEM, fluent) for earlier, later, fluent in numbers.items())


def _order_threats(found: Sequence[Access], links: Sequence[CausalLink]) -> Iterator[Ordering]:
    """Order each step that threatens a link before its provider or after its consumer."""
    served: dict[Literal, dict[int, list[int]]] = {}
    for link in links:
        if is_literal(link.condition):
            served.setdefault(link.condition, {INITIAL: []}).setdefault(link.provider, []).append(link.consumer)
    undoers, end = _Undoers(found), len(found) + 1
    for condition, consumers in served.items():
        for group in undoers.of(condition):
            for provider, following in pairwise((*sorted(consumers), end)):
                first, last = group.between(provider, following)
                for step in first:
                    yield from (Ordering(each, step, THREAT, condition) for each in consumers[provider] if each < step)
                if following != end:
                    yield from (Ordering(step, following, THREAT, condition) for step in last)


@dataclass(frozen=True, slots=True, eq=False)
class _Group:
    """Steps that undo a condition, without those `spared` as they provide it; in a chain, all write one item."""

    steps: Sequence[int]
    spared: Container[int]
    is_chain: bool

    def between(self, one: int, other: int) -> tuple[Sequence[int], Sequence[int]]:
        """Return the minimal and the maximal steps of the group between two others.

        The first step of a chain may be a consumer itself, so the second one counts as minimal, too.
        """
        low, high = bisect_right(self.steps, one), bisect_left(self.steps, other)
        if not self.is_chain:
            steps = [step for step in self.steps[low:high] if step not in self.spared]
            return steps, steps
        while low < high and self.steps[low] in self.spared:
            low += 1
        while low < high and self.steps[high - 1] in self.spared:
            high -= 1
        first = [step for step in self.steps[low : min(low + 2, high)] if step not in self.spared]
        return first, self.steps[max(high - 1, low) : high]


class _Undoers:
    """Finds the steps that make a condition false, or would make it false if it held."""

    def __init__(self, found: Sequence[Access]) -> None:
        self._provide: dict[Atom, list[int]] = {}
        self._retract: dict[Atom, tuple[list[int], list[int]]] = {}
        for number, access in enumerate(found, start=1):
            for fact in access.changes.provided:
                self._provide.setdefault(fact, []).append(number)
            for pattern in access.changes.retracted:
                single, chain = self._retract.setdefault(pattern, ([], []))
                (chain if pattern in access.changes.modified else single).append(number)
        self._patterns = Patterns(self._retract)

    def of(self, condition: Literal) -> Iterator[_Group]:
        """Yield the steps that undo `condition`."""
        if isinstance(condition, Atom):
            spared = frozenset(self._provide.get(condition, ()))
            for pattern in self._patterns.overlapping(condition):
                single, chain = self._retract[pattern]
                if single:
                    yield _Group(single, spared, is_chain=False)
                if chain:
                    yield _Group(chain, spared, is_chain=True)
        else:
            yield _Group(self._provide.get(cast("Atom", condition.part), ()), (), is_chain=False)


def find_item_orderings(found: Sequence[Access]) -> Iterator[Ordering]:
    """Yield orderings of steps of which one writes an item of `modifies` that the other reads or writes."""
    touching: dict[Atom, dict[int, bool]] = {item: {} for access in found for item in access.changes.modified}
    items = Patterns(touching)
    for number, access in enumerate(found, start=1):
        changes = access.changes
        for pattern in {*changes.modified, *changes.provided, *changes.retracted, *(fact for fact, _ in access.reads)}:
            for item in items.overlapping(pattern):
                touching[item][number] = item in changes.modified
    for item, steps in touching.items():
        writer, users = INITIAL, list[int]()
        for number, writes in steps.items():
            before = users if writes and users else [writer] if writer != INITIAL else []
            yield from (Ordering(each, number, ITEM, item) for each in before)
            if writes:
                writer, users = number, []
            else:
                users.append(number)


Steps = int
"""A set of steps as bits."""


@dataclass(frozen=True, slots=True)
class Order:
    """What orders the steps of a plan, by their numbers from 1.

    `before` has for each step those that must come before it, `reasons` and `links` why, by pairs.
    """

    before: tuple[Steps, ...]
    reasons: Mapping[tuple[int, int], str]
    links: Mapping[tuple[int, int], Sequence[CausalLink]]


def order_sequence(problem: Problem, plan: Plan) -> nx.DiGraph[int]:
    """Return the order of the steps of `plan`, a sequence, as `planner.scheduling.plan_order.partial_order` does.

    Raises `PlanError` for an invalid plan.
    """
    found = find_order(for_steps(problem, plan.steps), plan)
    return draw_order(plan.steps, found.before, found.reasons, found.links, LINK)


def find_order(problem: Problem, plan: Plan) -> Order:
    """Return what orders the steps of `plan`, a sequence. Raises `PlanError` for an invalid plan."""
    found = find_accesses(problem, plan)
    links = find_links(found, problem.ran)
    reasons: dict[tuple[int, int], str] = {}
    before: list[Steps] = [0] * (len(found) + 1)
    for each in find_orderings(found, links):
        before[each.later] |= 1 << each.earlier
        reasons.setdefault((each.earlier, each.later), each.reason)
    between: dict[tuple[int, int], list[CausalLink]] = {}
    for link in links:
        between.setdefault((link.provider, link.consumer), []).append(link)
    return Order(tuple(before[:-1]), reasons, between)


def draw_order(
    steps: Sequence[Step],
    before: Sequence[Steps],
    reasons: Mapping[tuple[int, int], str],
    links: Mapping[tuple[int, int], Sequence[CausalLink]],
    otherwise: str,
) -> nx.DiGraph[int]:
    """Return the transitively reduced graph of `order_sequence`; pairs without a reason have the one `otherwise`."""
    import networkx as nx

    graph: nx.DiGraph[int] = nx.DiGraph()
    graph.add_nodes_from((number, {"step": step}) for number, step in enumerate(steps, start=1))
    for number, direct in enumerate(_reduce_transitively(before)):
        for earlier in members(direct):
            pair = earlier, number
            graph.add_edge(*pair, reason=reasons.get(pair, otherwise), links=tuple(links.get(pair, ())))
    return graph


def _reduce_transitively(before: Sequence[Steps]) -> Iterator[Steps]:
    """Yield the direct predecessors of each step from 0: those that precede no other predecessor."""
    closed: list[Steps] = []
    for steps in before:
        direct, covered, left = 0, 0, steps
        while left:
            earlier = left.bit_length() - 1
            direct |= 1 << earlier
            covered |= 1 << earlier | closed[earlier]
            left = steps & ~covered
        closed.append(covered)
        yield direct


def members(steps: Steps) -> Iterator[int]:
    """Yield the numbers of the steps in a set."""
    while steps:
        lowest = steps & -steps
        yield lowest.bit_length() - 1
        steps ^= lowest
