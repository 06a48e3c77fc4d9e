"""Checks that need the whole domain: what is written, what goes stale with what, which definitions rest on which."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter

from planner.declare.places import Place
from planner.declare.scope import Use
from planner.declare.types import Types
from planner.declare.words import either, plain
from planner.errors import did_you_mean
from planner.model import (
    OPEN,
    Action,
    Atom,
    Axiom,
    Not,
    Outcome,
    Predicate,
    When,
)
from planner.model.formulas import literals_in


def check_derived(
    derived: Mapping[str, Place],
    actions: Iterable[Action],
    predicates: Mapping[str, Predicate],
    places: tuple[Mapping[str, Place], Mapping[str, Place]],
) -> None:
    """Raise an error where a derived predicate is written or sensed by an action, goes stale, or makes others stale."""
    if not derived:
        return
    action_places, predicate_places = places
    for action in actions:
        for atom in written(action):
            if atom.predicate in derived:
                raise action_places[action.name].error(
                    f"action {action.name!r} writes {plain(atom)}, but {atom.predicate!r} is derived, "
                    f"at {derived[atom.predicate].location}",
                    "write what it is derived from",
                )
        for atom in action.senses:
            if atom.predicate in derived:
                raise action_places[action.name].error(
                    f"action {action.name!r} senses {plain(atom)}, but {atom.predicate!r} is derived, "
                    f"at {derived[atom.predicate].location}",
                    "say what it is derived from: that is what may be unknown",
                )
    for predicate in predicates.values():
        for name in (predicate.name, *[pattern.predicate for pattern in predicate.stale_with]):
            if predicate.stale_with and name in derived:
                raise predicate_places[predicate.name].error(
                    f"{predicate.name!r} is stale with {plain(predicate.stale_with[0])}, but {name!r} is derived, "
                    f"at {derived[name].location}",
                    "what is derived is neither written nor stale",
                )


def written(action: Action) -> Iterator[Atom]:
    """Yield every atom and pattern that `action` may write."""
    effects: list[When | Outcome] = [*action.effects, *action.outcomes]
    for effect in effects:
        yield from effect.modifies
        for literal in effect.provides:
            part = literal.part if isinstance(literal, Not) else literal
            if isinstance(part, Atom):
                yield part


def check_stale_cycles(predicates: Mapping[str, Predicate], places: Mapping[str, Place]) -> None:
    """Raise an error where a predicate goes stale with itself, directly or through others."""
    edges = {
        name: [pattern.predicate for pattern in predicate.stale_with]
        for name, predicate in predicates.items()
        if predicate.stale_with
    }
    try:
        TopologicalSorter(edges).prepare()
    except CycleError as error:
        names = error.args[1][:0:-1]
        first = min(range(len(names)), key=lambda at: list(edges).index(names[at]))
        cycle = [*names[first:], *names[: first + 1]]
        raise places[cycle[0]].error(f"stale_with runs in a circle: {' → '.join(cycle)}") from None


def check_stratified(axioms: Sequence[Axiom], places: Mapping[str, Place]) -> None:
    """Raise an error where a derived predicate rests on its own negation."""
    derived = {axiom.predicate for axiom in axioms}
    edges: dict[str, list[str]] = {}
    negative: set[tuple[str, str]] = set()
    for axiom in axioms:
        for atom, positive in literals_in(axiom.condition):
            if atom.predicate in derived:
                edges.setdefault(axiom.predicate, []).append(atom.predicate)
                if not positive:
                    negative.add((axiom.predicate, atom.predicate))
    if not negative:
        return
    import networkx as nx  # noqa: PLC0415 - slow to import, and few domains define by negation

    for inside in nx.strongly_connected_components(nx.DiGraph(edges)):
        for head, body in sorted(negative):
            if head in inside and body in inside:
                raise places[head].error(
                    f"derived predicate {head!r} rests on its own negation, through {body!r}",
                    "a definition may use 'not' only on what is defined without it",
                )


def check_after(uses: Iterable[Use], actions: Mapping[str, Action], types: Types) -> None:
    """Raise an error where a pattern of `after` fits no declared action."""
    for use in uses:
        action = actions.get(use.atom.predicate)
        if action is None:
            near = did_you_mean(use.atom.predicate, actions)
            raise use.place.error(f"after names the unknown action {use.atom.predicate!r}", near)
        if not use.atom.args:
            continue
        said = f"after says {plain(use.atom)}"
        if len(use.atom.args) != len(action.parameters):
            raise use.place.error(f"{said}, but the action is {action.signature}", "'_' leaves one open")
        for given, parameter in zip(use.types, action.parameters, strict=True):
            if given is not None and not types.overlap(given, parameter.types):
                name = parameter.name.removeprefix("?")
                wanted = either(parameter.types)
                raise use.place.error(f"{said}, but parameter {name!r} of {action.signature} is {wanted}")


def opened(pattern: Atom, actions: Mapping[str, Action]) -> Atom:
    """Return a pattern of `after`: an action's name alone leaves all its arguments open."""
    return pattern if pattern.args else Atom(pattern.predicate, (OPEN,) * len(actions[pattern.predicate].parameters))
