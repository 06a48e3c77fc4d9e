"""Order the steps of a plan by causal links, threats, items, data flow, and declared dependencies.

Two steps keep their order if one writes what the other reads or writes; then every linearisation has the same effects
(conflict serialisability; Papadimitriou, 1979). All other steps may run in any order, or at once. Where a plan does not
work as it stands, steps are ordered by what they could read and write in any state.
"""

from __future__ import annotations

import sys
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final

from executor.plans.action_plan import PlanStep, references
from executor.plans.stated_steps import SpelledOutPlan, spell_out
from executor.plans.suppositions import find_looks
from planner.errors import PlanError
from planner.garbage_collection import pause_collector
from planner.lightweight import dataclass, field, replace
from planner.model import OPEN, Action, Atom, Formula, Problem, is_variable
from planner.model.actions import has_open_argument, negated_atoms, positive_atoms
from planner.model.domain import numeric_fluents
from planner.model.formulas import atoms_in, comparisons_in, functions_in
from planner.partial_order.causal_links import Ordering, find_item_orderings, find_links, find_orderings
from planner.partial_order.read_write_sets import Access, find_accesses, find_base_patterns
from planner.plan import Plan, Step
from planner.semantics.simulation import bind_parameters
from planner.semantics.step_effects import Changes, staleness_of


def find_possible_accesses(problem: Problem, steps: Sequence[Step]) -> list[Access]:
    """Return what each of `steps` could read and write in any state; the goal reads nothing.

    All writes count as writes of an item. Raises `PlanError` where a step is no instance of an action.
    """
    domain = problem.domain
    below = find_base_patterns(domain)
    stale = staleness_of(domain)
    remembered = {pattern.predicate for action in domain.actions.values() for pattern in action.after}
    schemas = {name: _Schema(domain.actions[name], below) for name in {step.action for step in steps}}
    found = []
    for step in steps:
        schema = schemas[step.action]
        binding = bind_parameters(schema.action, step)
        reads, writes, provides = [
            tuple([pattern.substitute(binding) for pattern in patterns])
            for patterns in (schema.reads, schema.writes, schema.provides)
        ]
        history = [_history_fact(Atom(step.action, step.arguments))] if step.action in remembered else []
        changed = dict.fromkeys([*writes, *stale.of(writes), *history])
        changes = Changes(provides, (), tuple(changed), (), ())
        found.append(Access(step, {(pattern, True): None for pattern in reads}, changes, ()))
    return [*found, Access(Step("goal"), {}, Changes((), (), (), (), ()), ())]


class _Schema:
    """The patterns that an action could read and write; all variables except its parameters are open."""

    def __init__(self, action: Action, below: Mapping[str, tuple[Atom, ...]]) -> None:
        self.action = action
        conditions = [action.requires, *(effect.requires for effect in action.effects)]
        numbers = [number for effect in action.effects for number in effect.numbers]
        read = [atom for each in conditions for atom in (*atoms_in(each), *_fluents_in(each))]
        read += [term for number in numbers for term in (number.fluent, *functions_in(number.value))]
        base = [pattern for atom in read for pattern in below.get(atom.predicate, (atom,))]
        provided = [atom for effect in action.effects for atom in positive_atoms(effect.provides)]
        ended = [atom for effect in action.effects for atom in (*negated_atoms(effect.provides), *effect.modifies)]
        names = {each.name for each in action.parameters}
        self.reads = _open_variables([*base, *map(_history_fact, action.after)], names)
        writes = _open_variables([*provided, *ended, *(number.fluent for number in numbers)], names)
        self.writes = [each for each in writes if not any(one != each and one.matches(each) for one in writes)]
        self.provides = _open_variables(provided, names)


def _fluents_in(condition: Formula) -> Iterator[Atom]:
    """Yield the functions that comparisons in `condition` read."""
    return (term for part in comparisons_in(condition) for term in part.functions)


def _open_variables(patterns: Iterable[Atom], names: set[str]) -> list[Atom]:
    found = (
        Atom(each.predicate, tuple([OPEN if is_variable(arg) and arg not in names else arg for arg in each.args]))
        for each in patterns
    )
    return list(dict.fromkeys(found))


def _history_fact(action: Atom) -> Atom:
    """Return the fact that `action` has run; the space in its predicate keeps it apart from declared predicates."""
    return Atom(f"ran {action.predicate}", action.args)


BEFORE: Final = -1
"""The position of the provider of a fact that holds before the plan."""
AFTER: Final = sys.maxsize
"""A position after all steps."""


@dataclass(slots=True, eq=False)
class Flow:
    """A fact that parameters come with: the positions of its providers, and the consumers of each provider's result."""

    fact: Atom
    providers: list[int] = field(default_factory=list)
    consumers: dict[int, list[tuple[int, str]]] = field(default_factory=lambda: {BEFORE: []})

    def orderings(self) -> Iterator[tuple[int, int]]:
        """Yield pairs (earlier, later) by which each consumer's last provider stays the last.

        Other providers come before that provider, or after its consumers.
        """
        for provider, following in pairwise([*sorted(self.consumers), AFTER]):
            taking = [place for place, _ in self.consumers[provider]]
            yield from ((provider, each) for each in taking if provider != BEFORE)
            for other in self.providers[
                bisect_right(self.providers, provider) : bisect_right(self.providers, following)
            ]:
                yield from ((each, other) for each in taking if each < other)
                if other < following < AFTER:
                    yield other, following


def find_flows(
    problem: Problem, steps: Sequence[PlanStep], ground: Sequence[Step], provided: Sequence[Collection[Atom]]
) -> Mapping[Atom, Flow]:
    """Return the facts that data parameters of `steps` come with; `provided` has the facts that each step provides."""
    actions = problem.domain.actions
    pairs = zip(steps, ground, strict=True)
    wanted = [dict(find_wanted_facts(actions[step.action], each, step)) for each, step in pairs]
    found = {fact: Flow(fact) for facts in wanted for fact in facts.values()}
    last: dict[Atom, int] = {}
    for place, facts in enumerate(wanted):
        for parameter, fact in facts.items():
            found[fact].consumers.setdefault(last.get(fact, BEFORE), []).append((place, parameter))
        for fact in provided[place]:
            if fact in found:
                found[fact].providers.append(place)
                last[fact] = place
    return found


def find_wanted_facts(action: Action, each: PlanStep, step: Step) -> Iterator[tuple[str, Atom]]:
    """Yield the data parameters that the plan leaves to earlier results, with the facts that they come with."""
    for parameter in action.data:
        if parameter.source is not None and parameter.name not in each.parameters:
            yield parameter.name, parameter.source.fact.substitute(bind_parameters(action, step))


@dataclass(frozen=True, slots=True)
class Edge:
    """A reason why step `earlier` comes before step `later`, and the object `about` which the reason is.

    `reason` is "link" (`earlier` provides a condition of `later`), "threat" (one of the steps would undo a condition),
    "item" (both access an item, and one writes it), "look" (`earlier` senses a fact that `later` supposes), "undone"
    (one makes a fact true, the other makes it false; if they overlapped, observers could confirm neither), "data" (a
    parameter or a reference takes a result), "object" (`earlier` creates an object of `later`), "declared"
    (`depends_on`), "twice" (`later` is the same irreversible step once more), or "given" (both mention a fact in a plan
    that does not work as far as is known, so that they keep the given order).
    """

    earlier: str
    later: str
    reason: str
    about: str = ""


@dataclass(frozen=True, slots=True)
class Order:
    """The order of the steps of a plan; `sources` maps (step, parameter) to the step that fills the data parameter."""

    before: Mapping[str, frozenset[str]]
    edges: tuple[Edge, ...]
    sources: Mapping[tuple[str, str], str]

    def why(self, earlier: str, later: str) -> tuple[Edge, ...]:
        """Return the reasons why `earlier` comes right before `later`."""
        return tuple([each for each in self.edges if (each.earlier, each.later) == (earlier, later)])


def predecessors_of(problem: Problem, steps: Sequence[PlanStep]) -> dict[str, frozenset[str]]:
    """Return the direct predecessors of each step, by id; see `order_of`."""
    return dict(order_of(problem, steps).before)


def order_of(problem: Problem, steps: Sequence[PlanStep]) -> Order:
    """Order `steps`, whose ids differ, from the initial state of `problem`.

    If the given order is a valid plan, all linearisations are valid plans with the same effects and the same data flow;
    otherwise they do what the given order does. Steps that are named and not among `steps` count as done. Raises
    `InputError` where a step is no instance of an action, or states an invalid condition.
    """
    with pause_collector():
        return _order_of(problem, steps)


def _order_of(problem: Problem, steps: Sequence[PlanStep]) -> Order:
    spelled = spell_out(problem, steps)
    found, causal = _causal_pairs(spelled)
    provided: list[dict[Atom, None]] = [{} for _ in steps]
    for place, access in zip(spelled.owners, found, strict=False):
        provided[place].update(dict.fromkeys(access.changes.provided))
    ground = [spelled.steps[part] for part in spelled.main]
    flow = find_flows(spelled.problem, steps, ground, provided)
    places = {each.id: place for place, each in enumerate(steps)}
    seen = [(one, other, "look", str(fact)) for one, other, fact in find_looks(problem.domain, ground, steps)]
    stated = [*_data_pairs(flow), *_creation_pairs(steps), *_declared_pairs(steps, places)]
    pairs = dict.fromkeys([*causal, *seen, *stated, *_find_repeated(problem, steps)])
    before: list[set[str]] = [set() for _ in steps]
    for one, other, _, _ in pairs:
        before[other].add(steps[one].id)
    return Order(
        {each.id: frozenset(before[place]) for place, each in enumerate(steps)},
        tuple([Edge(steps[one].id, steps[other].id, reason, about) for one, other, reason, about in pairs]),
        dict(_source_pairs(flow, steps)),
    )


Pair = tuple[int, int, str, str]
"""The positions of two steps, the reason why the first comes before the second, and what it is about."""


def _causal_pairs(spelled: SpelledOutPlan) -> tuple[list[Access], list[Pair]]:
    """Return the accesses of the parts of steps, and the pairs of steps that the accesses order."""
    problem, owners = spelled.problem, spelled.owners
    pairs: list[Ordering]
    if numeric_fluents(problem.domain):  # observers cannot tell effects on one fluent apart
        found = find_possible_accesses(problem, spelled.steps)
        pairs = list(find_item_orderings(found[:-1]))
    else:
        try:
            found = find_accesses(problem, Plan(spelled.steps, problem))
            pairs = [*find_orderings(found, find_links(found, problem.ran)), *_find_undone(found[:-1])]
        except PlanError:
            found = find_possible_accesses(problem, spelled.steps)
            pairs = [replace(each, reason="given") for each in find_item_orderings(found[:-1])]
    places = (
        (owners[each.earlier - 1], owners[each.later - 1], each.reason, str(each.about))
        for each in pairs
        if each.later <= len(owners)
    )
    return found, [each for each in places if each[0] != each[1]]


def _find_undone(found: Sequence[Access]) -> Iterator[Ordering]:
    """Yield the order of steps of which one makes a fact true and the other makes it false."""
    latest: dict[Atom, tuple[bool, list[int]]] = {}
    for number, access in enumerate(found, start=1):
        changes = access.changes
        ended = dict.fromkeys([*(each for each in changes.retracted if not has_open_argument(each)), *changes.removed])
        for fact, holds in {**dict.fromkeys(ended, False), **dict.fromkeys(changes.provided, True)}.items():
            before, steps = latest.get(fact, (holds, []))
            if before is holds:
                steps.append(number)
                latest[fact] = holds, steps
            else:
                yield from (Ordering(each, number, "undone", fact) for each in steps)
                latest[fact] = holds, [number]


def _data_pairs(flow: Mapping[Atom, Flow]) -> Iterator[Pair]:
    return ((one, other, "data", str(fact)) for fact, each in flow.items() for one, other in each.orderings())


def _creation_pairs(steps: Sequence[PlanStep]) -> Iterator[Pair]:
    """Yield the creator of an object before each user of the object."""
    creators = {name: place for place, each in enumerate(steps) for name in each.creates.values()}
    if creators:
        for place, each in enumerate(steps):
            used = (name for name in each.arguments.values() if creators.get(name, place) != place)
            yield from ((creators[name], place, "object", name) for name in used)


def _declared_pairs(steps: Sequence[PlanStep], places: Mapping[str, int]) -> Iterator[Pair]:
    """Yield the order that `depends_on` and references state."""
    for place, each in enumerate(steps):
        yield from ((places[name], place, "declared", "") for name in each.depends_on if name in places)
        yield from ((places[name], place, "data", name) for name in references(each.parameters) if name in places)


def _find_repeated(problem: Problem, steps: Sequence[PlanStep]) -> Iterator[Pair]:
    """Yield the order of irreversible steps that the plan takes more than once."""
    careful = {name for name, each in problem.domain.actions.items() if "irreversible" in each.tags}
    alike: dict[tuple[str, tuple[str, ...]], list[int]] = {}
    for place, each in enumerate(steps) if careful else ():
        step = each.step(problem.domain)
        if step.action in careful:  # objects that it creates are others each time
            alike.setdefault((step.action, step.arguments[: len(step.arguments) - len(each.creates)]), []).append(place)
    return ((one, other, "twice", action) for (action, _), same in alike.items() for one, other in pairwise(same))


def _source_pairs(flow: Mapping[Atom, Flow], steps: Sequence[PlanStep]) -> Iterator[tuple[tuple[str, str], str]]:
    for each in flow.values():
        for provider, consumers in each.consumers.items():
            if provider != BEFORE:
                yield from (((steps[place].id, name), steps[provider].id) for place, name in consumers)
