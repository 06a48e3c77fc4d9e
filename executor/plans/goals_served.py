"""Find which parts of the goal each step of a plan serves: what waits for one part holds up no step for another.

A part is a conjunct of the goal, or one instance of a conjunct about all objects. A step serves what its results serve:
by causal links, data, created objects, senses, and declared dependencies.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from math import prod
from typing import Final

from executor.observe.condition_facts import trace_atoms
from executor.plans.action_plan import PlanStep
from executor.plans.partial_order import order_of
from executor.plans.stated_steps import spell_out
from planner.errors import ForethoughtError
from planner.model import Atom, Formula, Problem
from planner.model.formulas import Forall, Not, conjuncts, substitute
from planner.partial_order.causal_links import INITIAL, find_links
from planner.partial_order.read_write_sets import find_accesses
from planner.plan import Plan
from planner.semantics.condition_solver import Universe

MOST_PARTS: Final = 10_000
"""Most instances of a conjunct about all objects; one with more is a single part."""
_FEEDS: Final = frozenset({"data", "object", "look", "declared"})
"""Reasons of an order by which a step gives something to another one, beside causal links."""

Served = Mapping[str, frozenset[int]]
"""The numbers of the parts that each step serves, by its id; a step with unknown purpose is left out."""


def find_goals_served(problem: Problem, steps: Sequence[PlanStep]) -> Served:
    """Return the parts of the goal of `problem` that each of `steps` serves.

    Nothing is known of a plan that does not work from the initial state of `problem`, or with constraints. A step that
    gives the goal a fact of none of its parts, such as a number, serves all of them.
    """
    if problem.constraints:
        return {}
    try:
        spelled = spell_out(problem, steps)
        found = find_accesses(spelled.problem, Plan(spelled.steps, spelled.problem))
        edges = order_of(problem, steps).edges
    except ForethoughtError:
        return {}
    universe = Universe(problem)
    parts = list(_list_parts(problem, universe))
    numbers: defaultdict[Atom, set[int]] = defaultdict(set)
    for number, part in enumerate(parts):
        for fact in trace_atoms(part, problem.domain, universe, {}):
            numbers[fact].add(number)
    served: defaultdict[str, set[int]] = defaultdict(set)
    feeds = [(each.earlier, each.later) for each in edges if each.reason in _FEEDS]
    ids = [steps[place].id for place in spelled.owners]
    for link in find_links(found, problem.ran):
        if link.provider == INITIAL:
            continue
        provider = ids[link.provider - 1]
        if link.consumer > len(ids):
            about = link.condition.part if isinstance(link.condition, Not) else link.condition
            known = numbers.get(about) if isinstance(about, Atom) else None
            served[provider] |= set(range(len(parts))) if known is None else known
        else:
            feeds.append((provider, ids[link.consumer - 1]))
    _spread(served, feeds)
    return {id_: frozenset(each) for id_, each in served.items() if each}


def serves_others(served: Served, one: str, other: str) -> bool:
    """Return whether two steps are known to serve different parts of the goal."""
    return one in served and other in served and served[one].isdisjoint(served[other])


def _list_parts(problem: Problem, universe: Universe) -> Iterator[Formula]:
    """Yield the conjuncts of the goal, those about all objects for each of these."""
    for part in conjuncts(problem.goal.hard):
        if not isinstance(part, Forall):
            yield part
            continue
        domains = universe.domains(part.variables)
        if prod(map(len, domains.values())) > MOST_PARTS:
            yield part
            continue
        for objects in product(*domains.values()):
            yield substitute(part.part, dict(zip(domains, objects, strict=True)))


def _spread(served: defaultdict[str, set[int]], feeds: Sequence[tuple[str, str]]) -> None:
    """Add to what each step serves what is served by the steps that it feeds, directly or not."""
    feeding: defaultdict[str, set[str]] = defaultdict(set)
    for earlier, later in feeds:
        feeding[later].add(earlier)
    stack = list(served)
    while stack:
        later = stack.pop()
        for earlier in feeding[later]:
            if earlier != later and not served[earlier] >= served[later]:
                served[earlier] |= served[later]
                stack.append(earlier)
