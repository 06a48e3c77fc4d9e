"""Why one step of a plan comes before another: a chain of causal links and threats, or no reason at all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter

from planner.compilations.object_creation import for_steps
from planner.explain.near_misses import describe_literal
from planner.lightweight import replace
from planner.model import Not, Problem
from planner.model.formulas import Atom
from planner.partial_order.causal_links import LINK, THREAT, CausalLink, Ordering, find_links, find_orderings
from planner.partial_order.read_write_sets import find_accesses
from planner.plan import Plan, name_as_written
from planner.semantics.simulation import price_steps
from planner.validation.validate import check_steps

Pair = tuple[int, int]
"""The numbers of two steps, the earlier one first."""


def explain_order(
    problem: Problem, plan: Plan, first: int, second: int, more: Mapping[Pair, str] | None = None
) -> tuple[list[str], Plan | None]:
    """Return why step `first` of `plan` comes before step `second`, in sentences.

    If nothing orders them, return also a plan of the same steps in which they come the other way round. There may be
    `more` reasons for orders, as clauses, than what steps need and change.
    """
    expanded = for_steps(problem, plan.steps)
    found = find_accesses(expanded, plan)
    links = find_links(found, expanded.ran)
    orderings: dict[Pair, Ordering | str] = {**(more or {})}
    for each in find_orderings(found, links):
        if each.later <= len(plan.steps):
            orderings.setdefault((each.earlier, each.later), each)
    chain = _find_chain(orderings, first, second)
    if chain:
        names = [f"{number}. {step}" for number, step in enumerate(name_as_written(plan.steps, problem), start=1)]
        return [_describe(pair, orderings[pair], names, problem, links) for pair in chain], None
    other = _reorder(problem, plan, orderings, first, second)
    if other is None:
        return [], None
    return ["Nothing in the plan orders these steps: they may come the other way round."], other


def _find_chain(orderings: Iterable[Pair], first: int, second: int) -> list[Pair]:
    """Return a shortest chain of orderings from `first` to `second`; empty if there is none."""
    onward: dict[int, list[int]] = {}
    for earlier, later in orderings:
        onward.setdefault(earlier, []).append(later)
    reached: dict[int, list[Pair]] = {first: []}
    queue = [first]
    for number in queue:
        for later in onward.get(number, ()):
            if later not in reached:
                reached[later] = [*reached[number], (number, later)]
                queue.append(later)
    return reached.get(second, [])


def _describe(
    pair: Pair, ordering: Ordering | str, names: Sequence[str], problem: Problem, links: Iterable[CausalLink]
) -> str:
    earlier, later = names[pair[0] - 1], names[pair[1] - 1]
    order = f"{earlier} comes before {later}"
    if isinstance(ordering, str):
        return f"{order}: {ordering}."
    about = ordering.about
    text = describe_literal(about, problem.domain) if isinstance(about, Atom | Not) else str(about)
    if ordering.reason == LINK:
        return f"{order}, as it provides {text} for it."
    if ordering.reason == THREAT:
        if any(each.consumer == ordering.earlier and each.condition == about for each in links):
            return f"{order}: {later} undoes {text}, which {earlier} needs."
        return f"{order}: {earlier} undoes {text}, which {later} provides."
    return f"{order}: one changes {text}, which the other reads or changes."


def _reorder(problem: Problem, plan: Plan, orderings: Iterable[Pair], first: int, second: int) -> Plan | None:
    """Return a plan of the same steps with `second` before `first`; None where that is no plan after all."""
    graph: dict[int, set[int]] = {number: set() for number in range(1, len(plan.steps) + 1)}
    for earlier, later in orderings:
        graph[later].add(earlier)
    graph[first].add(second)
    try:
        order = list(TopologicalSorter(graph).static_order())
    except CycleError:
        return None
    steps = [plan.steps[number - 1] for number in order]
    if not check_steps(problem, steps).valid:
        return None
    return replace(plan, steps=price_steps(problem, steps), suppositions=())
