"""Causal links: which step makes true (or false) what a later step, or the goal, needs."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from planner.creation import for_steps
from planner.model import Atom, Literal, Not, Problem
from planner.order.accesses import Access, accesses
from planner.plan import Plan
from planner.records import dataclass

INITIAL = 0
"""The number of the initial state as a provider; steps count from 1."""


@dataclass(frozen=True, slots=True)
class CausalLink:
    """Step `provider` makes `condition` hold for step `consumer`, or sees that it does.

    Provider 0 is the initial state, or what ran before it; the consumer after the last step is the goal. A fact
    `ran-<action>(…)` says that an action has run.
    """

    provider: int
    consumer: int
    condition: Literal


def causal_links(problem: Problem, plan: Plan) -> tuple[CausalLink, ...]:
    """Return the causal links of `plan`, by consumer; reads through axioms are reads of their base facts.

    A condition on all objects is linked only to facts that the plan could change.

    Raises `PlanError` for an invalid plan.
    """
    problem = for_steps(problem, plan.steps)
    return links_between(accesses(problem, plan), problem.ran)


def links_between(found: Sequence[Access], ran: Sequence[Atom]) -> tuple[CausalLink, ...]:
    """Return the causal links between steps with these accesses, before which the actions `ran` have run."""
    writers: dict[Atom, int] = {}
    links: dict[CausalLink, None] = {}
    for number, access in enumerate(found, start=1):
        for fact, holds in access.reads:
            links[CausalLink(writers.get(fact, INITIAL), number, fact if holds else Not(fact))] = None
        for pattern in access.ran:
            links[_ran(pattern, ran, found, number)] = None
        changes = access.changes
        writers.update(dict.fromkeys((*access.looks, *changes.added, *changes.removed), number))
    return tuple(links)


def _ran(pattern: Atom, ran: Sequence[Atom], found: Sequence[Access], consumer: int) -> CausalLink:
    """Return the link from what `pattern` covers: something that ran before the plan, else its first such step."""
    before = ((INITIAL, action) for action in ran)
    earlier = ((number, access.step) for number, access in enumerate(found[: consumer - 1], start=1))
    steps = ((number, Atom(step.action, step.arguments)) for number, step in earlier)
    for provider, action in chain(before, steps):
        if pattern.matches(action):
            return CausalLink(provider, consumer, Atom(f"ran-{action.predicate}", action.args))
    raise AssertionError(f"nothing ran that {pattern} covers, in a valid plan")


def purposes(problem: Problem, plan: Plan) -> dict[int, tuple[CausalLink, ...]]:
    """Return why each step is there: a shortest chain of causal links from it to the goal.

    The chain is empty for a step that nothing later needs. Raises `PlanError` for an invalid plan.
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
