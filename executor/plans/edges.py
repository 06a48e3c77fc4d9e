"""Which steps come before which: causal links, threats, items, data flow, and declared dependencies.

What is not ordered may run in any order, or at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from executor.plans.action_plan import PlanStep
from executor.plans.conflicts import possible_accesses
from executor.plans.dataflow import BEFORE, Flow, flows
from executor.plans.references import references
from executor.plans.stated import Spelled, spelled_out
from executor.plans.supposed import looks
from planner.collector import collector_paused
from planner.errors import PlanError
from planner.model import Atom, Problem
from planner.model.actions import has_open
from planner.order.accesses import Access, accesses
from planner.order.links import links_between
from planner.order.orderings import Ordering, item_orderings, orderings
from planner.plan import Plan
from planner.records import dataclass, replace


@dataclass(frozen=True, slots=True)
class Edge:
    """Why step `earlier` comes before step `later`, and `about` what.

    `reason` is "link" (a condition that one provides for the other), "threat" (a condition that one would undo), "item"
    (both touch it, and one writes it), "look" (at a fact that the other supposes), "undone" (a fact that one makes true
    and the other false: if both were at work, what is seen of it would tell nothing of either), "data" (a parameter or
    a reference that is filled from a result), "object" (it is created), "declared" (`depends_on`), or "given": both
    speak of a fact, the plan does not work as far as is known, and so they stay in the order in which they were given.
    """

    earlier: str
    later: str
    reason: str
    about: str = ""


@dataclass(frozen=True, slots=True)
class Order:
    """The order of the steps of a plan; `sources` say which step fills a data parameter (step, parameter)."""

    before: Mapping[str, frozenset[str]]
    edges: tuple[Edge, ...]
    sources: Mapping[tuple[str, str], str]

    def why(self, earlier: str, later: str) -> tuple[Edge, ...]:
        """Return why `earlier` comes right before `later`; nothing where it need not."""
        return tuple([each for each in self.edges if (each.earlier, each.later) == (earlier, later)])


def edges(problem: Problem, steps: Sequence[PlanStep]) -> dict[str, frozenset[str]]:
    """Return the direct predecessors of each step, by id; see `order_of`."""
    return dict(order_of(problem, steps).before)


def order_of(problem: Problem, steps: Sequence[PlanStep]) -> Order:
    """Return the order of `steps`, whose ids differ, from the initial state of `problem`.

    All linearisations are valid plans with the same effects and the same data flow, if the order given is one; else
    they do what the order given does. Steps that are named and not among `steps` are taken to be done. Raises
    `InputError` where a step is no instance of an action, or states what is no condition.
    """
    with collector_paused():
        return _order_of(problem, steps)


def _order_of(problem: Problem, steps: Sequence[PlanStep]) -> Order:
    spelled = spelled_out(problem, steps)
    found, causal = _causal(spelled)
    provided: list[dict[Atom, None]] = [{} for _ in steps]
    for place, access in zip(spelled.owners, found, strict=False):
        provided[place].update(dict.fromkeys(access.changes.provided))
    ground = [spelled.steps[part] for part in spelled.main]
    flow = flows(spelled.problem, steps, ground, provided)
    places = {each.id: place for place, each in enumerate(steps)}
    seen = [(one, other, "look", str(fact)) for one, other, fact in looks(problem.domain, ground, steps)]
    pairs = dict.fromkeys([*causal, *seen, *_data(flow), *_created(steps), *_named(steps, places)])
    before: list[set[str]] = [set() for _ in steps]
    for one, other, _, _ in pairs:
        before[other].add(steps[one].id)
    return Order(
        {each.id: frozenset(before[place]) for place, each in enumerate(steps)},
        tuple([Edge(steps[one].id, steps[other].id, reason, about) for one, other, reason, about in pairs]),
        dict(_sources(flow, steps)),
    )


Pair = tuple[int, int, str, str]
"""The places of two steps, and why one comes before the other."""


def _causal(spelled: Spelled) -> tuple[list[Access], list[Pair]]:
    """Return what the parts of steps access, and how steps are ordered by that."""
    problem, owners = spelled.problem, spelled.owners
    try:
        found = accesses(problem, Plan(spelled.steps, problem))
        pairs = [*orderings(found, links_between(found, problem.ran)), *_undone(found[:-1])]
    except PlanError:
        found = possible_accesses(problem, spelled.steps)
        pairs = [replace(each, reason="given") for each in item_orderings(found[:-1])]
    places = (
        (owners[each.earlier - 1], owners[each.later - 1], each.reason, str(each.about))
        for each in pairs
        if each.later <= len(owners)
    )
    return found, [each for each in places if each[0] != each[1]]


def _undone(found: Sequence[Access]) -> Iterator[Ordering]:
    """Keep steps in their order of which one makes a fact true and the other makes it false."""
    latest: dict[Atom, tuple[bool, list[int]]] = {}
    for number, access in enumerate(found, start=1):
        changes = access.changes
        ended = dict.fromkeys([*(each for each in changes.retracted if not has_open(each)), *changes.removed])
        for fact, holds in {**dict.fromkeys(ended, False), **dict.fromkeys(changes.provided, True)}.items():
            before, steps = latest.get(fact, (holds, []))
            if before is holds:
                steps.append(number)
                latest[fact] = holds, steps
            else:
                yield from (Ordering(each, number, "undone", fact) for each in steps)
                latest[fact] = holds, [number]


def _data(flow: Mapping[Atom, Flow]) -> Iterator[Pair]:
    return ((one, other, "data", str(fact)) for fact, each in flow.items() for one, other in each.orderings())


def _created(steps: Sequence[PlanStep]) -> Iterator[Pair]:
    """Yield who uses what others create."""
    creators = {name: place for place, each in enumerate(steps) for name in each.creates.values()}
    if creators:
        for place, each in enumerate(steps):
            used = (name for name in each.arguments.values() if creators.get(name, place) != place)
            yield from ((creators[name], place, "object", name) for name in used)


def _named(steps: Sequence[PlanStep], places: Mapping[str, int]) -> Iterator[Pair]:
    """Yield who names others in `depends_on` or in references."""
    for place, each in enumerate(steps):
        yield from ((places[name], place, "declared", "") for name in each.depends_on if name in places)
        yield from ((places[name], place, "data", name) for name in references(each.parameters) if name in places)


def _sources(flow: Mapping[Atom, Flow], steps: Sequence[PlanStep]) -> Iterator[tuple[tuple[str, str], str]]:
    for each in flow.values():
        for provider, consumers in each.consumers.items():
            if provider != BEFORE:
                yield from (((steps[place].id, name), steps[provider].id) for place, name in consumers)
