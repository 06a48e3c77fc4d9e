"""Find which parts of the goal each step of a plan serves: what waits for one part holds up no step for another.

A part is a conjunct of the goal, or one instance of a conjunct about all objects. A step serves what its results serve:
by causal links, data, created objects, senses, and declared dependencies. Steps of a plan in time overlap, so that all
steps that read or change what another one changes count as linked.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from math import prod
from typing import Final

from executor.events.fluent_values import FluentValue
from executor.observe.condition_facts import trace_atoms
from executor.plans.action_plan import PlanStep
from executor.plans.partial_order import find_possible_accesses, order_of
from executor.plans.stated_steps import spell_out
from planner.errors import ForethoughtError
from planner.lightweight import replace
from planner.model import Action, Atom, Formula, Problem
from planner.model.actions import Moment
from planner.model.formulas import TRUE, Forall, Not, conjunction, conjuncts, substitute
from planner.partial_order.causal_links import INITIAL, find_item_orderings, find_links
from planner.partial_order.read_write_sets import find_accesses
from planner.plan import Plan
from planner.semantics.condition_solver import Universe
from planner.semantics.snap_actions import at_once, split_moments

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
    numbers = _number_parts(problem)
    count = 1 + max([number for each in numbers.values() for number in each], default=-1)
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
            served[provider] |= set(range(count)) if known is None else known
        else:
            feeds.append((provider, ids[link.consumer - 1]))
    _spread(served, feeds)
    return {id_: frozenset(each) for id_, each in served.items() if each}


def find_goals_served_in_time(problem: Problem, steps: Sequence[PlanStep]) -> Served:
    """Return the parts of the goal of `problem` that each of `steps` may serve, whenever it comes.

    Nothing is known with constraints.
    """
    if problem.constraints:
        return {}
    actions = {name: _join_moments(each) for name, each in problem.domain.actions.items()}
    problem = replace(problem, domain=replace(problem.domain, actions=actions), capacity={}, timed=(), due=())
    try:
        spelled = spell_out(problem, steps)
        found = find_possible_accesses(spelled.problem, spelled.steps)[:-1]
        edges = order_of(problem, steps).edges
    except ForethoughtError:
        return {}
    ids = [steps[place].id for place in spelled.owners]
    served: defaultdict[str, set[int]] = defaultdict(set)
    for fact, numbers in _number_parts(problem).items():
        item = fact.fluent if isinstance(fact, FluentValue) else fact
        for id_, access in zip(ids, found, strict=True):
            if any(each.matches(item) for each in access.changes.modified):
                served[id_] |= numbers
    feeds = [(each.earlier, each.later) for each in edges if each.reason in _FEEDS]
    pairs = [(ids[each.earlier - 1], ids[each.later - 1]) for each in find_item_orderings(found)]
    _spread(served, [*feeds, *pairs, *[(later, earlier) for earlier, later in pairs]])
    return {id_: frozenset(each) for id_, each in served.items() if each}


def _join_moments(action: Action) -> Action:
    """Return `action` without a duration: its start, what holds between, and its end are one moment."""
    start, throughout, end = split_moments(action)
    required = [*conjuncts(start.requires), *conjuncts(throughout), *conjuncts(end.requires)]
    return replace(
        action,
        requires=conjunction(required),
        provides=(*start.provides, *end.provides),
        modifies=(*start.modifies, *end.modifies),
        when=(*start.when, *map(at_once, end.when)),
        numbers=(*start.numbers, *end.numbers),
        duration=None,
        throughout=TRUE,
        at_start=Moment(),
        at_end=Moment(),
        holds={},
    )


def serves_others(served: Served, one: str, other: str) -> bool:
    """Return whether two steps are known to serve different parts of the goal."""
    return one in served and other in served and served[one].isdisjoint(served[other])


def _number_parts(problem: Problem) -> Mapping[Atom, set[int]]:
    """Return the numbers of the parts of the goal that depend on each fact."""
    universe, found = Universe(problem), defaultdict[Atom, set[int]](set)
    for number, part in enumerate(_list_parts(problem, universe)):
        for fact in trace_atoms(part, problem.domain, universe, {}):
            found[fact].add(number)
    return found


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
