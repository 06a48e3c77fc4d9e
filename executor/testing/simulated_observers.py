"""Simulated observers: the predicates that they observe, and their answers, with faults."""

from __future__ import annotations

import asyncio
import inspect
import random
from collections.abc import Callable, Collection, Coroutine, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from executor.events.fluent_values import is_numeric_fluent, value_of
from executor.plans.created_objects import term_of_value
from executor.testing.faults import Fault, FaultKind
from executor.testing.true_state import instances
from executor.testing.virtual_time import now
from executor.tools.observers import CANNOT_SAY, Seen
from planner.language.declare.local_closed_world import listings_of
from planner.model import OPEN, Atom, DomainModel
from planner.model.domain import numeric_fluents
from planner.model.object_names import object_name
from planner.model.unknown_numbers import known_predicates

if TYPE_CHECKING:
    from executor.testing.simulated_world import SimulatedWorld


@dataclass(frozen=True, slots=True)
class Observe:
    """Selects the observed predicates and numeric fluents: all, or those named, and of these a random `share`.

    Observers show the state of `lag` seconds ago. With `twice`, each predicate has two observers. For the other fields
    see `World.observer`.
    """

    predicates: Collection[str] | None = None
    share: float = 1.0
    conclusive: bool = True
    settle_within: float = 0.0
    lag: float = 0.0
    timeout: float | None = 10.0
    twice: bool = False

    def chosen(self, domain: DomainModel, seed: int) -> list[str]:
        """Return the observed predicates and fluents; derived facts, and what is known, are never observed."""
        listed = known_predicates(domain).union(each.fact for each in listings_of(domain))
        names = [
            name
            for name in domain.predicates
            if name not in domain.derived
            and name not in listed
            and (self.predicates is None or name in self.predicates)
        ]
        names += [name for name in sorted(numeric_fluents(domain)) if name in (self.predicates or (name,))]
        return [name for name in names if random.Random(f"observe {seed} {name}").random() < self.share]


@dataclass(frozen=True, slots=True)
class Sighting:
    """An answer of the observer `by` at a time: exactly `seen` hold of the facts that the pattern `about` covers.

    It shows what `acts` have changed, so many of the acts of the world.
    """

    at: float
    by: str
    about: Atom
    seen: frozenset[Atom]
    acts: int = 0

    def says(self, fact: Atom) -> bool | None:
        """Return whether `fact` holds by this answer; None where the answer does not cover it."""
        return fact in self.seen if self.about.matches(fact) else None


STRANGER: Final = "stranger"
"""An object that no problem has."""
ALL: Final = Observe()
NOBODY: Final = Observe(share=0.0)


def observation_patterns(domain: DomainModel) -> Mapping[str, Atom]:
    """Return the pattern of each predicate's observer, open in the arguments that `modifies` or `lists` leaves open.

    A predicate whose items are changed in place has an observer of single facts, because each has a version.
    """
    found = {
        name: Atom(name, _parameter_names(len(predicate.parameters))) for name, predicate in domain.predicates.items()
    }
    in_place = in_place_predicates(domain)
    for pattern in (*_modified_patterns(domain), *_listed_patterns(domain)):
        if OPEN in pattern.args and pattern.predicate not in in_place:
            names = _parameter_names(len(pattern.args))
            args = [OPEN if arg == OPEN else name for arg, name in zip(pattern.args, names, strict=True)]
            found[pattern.predicate] = Atom(pattern.predicate, tuple(args))
    return found


def fluent_patterns(domain: DomainModel) -> dict[str, Atom]:
    """Return the pattern of the observer of each numeric fluent, which names all arguments."""
    return {
        name: Atom(name, _parameter_names(len(domain.functions[name].parameters))) for name in numeric_fluents(domain)
    }


def in_place_predicates(domain: DomainModel) -> set[str]:
    """Return the predicates with items that some action changes in place."""
    return {pattern.predicate for pattern in _modified_patterns(domain) if OPEN not in pattern.args}


def _modified_patterns(domain: DomainModel) -> Iterator[Atom]:
    return (pattern for action in domain.actions.values() for effect in action.effects for pattern in effect.modifies)


def _listed_patterns(domain: DomainModel) -> Iterator[Atom]:
    return (pattern for action in domain.actions.values() for pattern in action.lists)


def _parameter_names(count: int) -> tuple[str, ...]:
    return tuple([f"a{number}" for number in range(1, count + 1)])


def look_at(
    simulated: SimulatedWorld, pattern: Atom, lag: float, skill: str = ""
) -> Callable[..., Coroutine[Any, Any, Any]]:
    """Make an observer of the facts of `pattern`; faults know it by the name `skill`."""
    versioned = pattern.predicate in simulated.in_place
    is_number = is_numeric_fluent(pattern.predicate, simulated.problem.domain)

    async def look(**arguments: Any) -> Any:
        args = [OPEN if arg == OPEN else term_of_value(arguments[arg]) for arg in pattern.args]
        fact = simulated.truth.place(Atom(pattern.predicate, tuple(args)))
        struck = simulated.strike(fact, skill, source="observer")
        when = now() - lag
        if is_number:
            return await _tell_number(simulated, fact, when, struck, skill)
        seen = simulated.truth.at(when).world.state.matching(fact)
        if struck is not None:
            return await _answer_with_fault(simulated, fact, seen, struck, skill)
        answer = _note_sighting(simulated, fact, seen, skill)
        return Seen(answer, simulated.truth.version(fact, when)) if versioned else answer

    names = [arg for arg in pattern.args if arg != OPEN]
    parameters = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY) for name in names]
    look.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # what `signature` reads
    look.__name__ = f"look_at_{pattern.predicate}"
    return look


async def _tell_number(
    simulated: SimulatedWorld, fluent: Atom, when: float, struck: tuple[int, Fault] | None, skill: str
) -> Any:
    """Return the value of `fluent` at a time, as observers with a fault do if one has struck."""
    kind = None if struck is None else struck[1].kind
    if kind is FaultKind.OBSERVER_FAILS:
        raise SimulatedError(f"the observer of {fluent} is broken")
    if kind is FaultKind.OBSERVER_CANNOT_SAY:
        return CANNOT_SAY
    if struck is not None and kind is FaultKind.OBSERVER_LATE:
        await asyncio.sleep(struck[1].delay)
        when = now()
    value = simulated.truth.at(when).values.get(fluent)
    told = value_of((fluent.predicate, fluent.args), value)
    if struck is not None and kind in (FaultKind.OBSERVER_WRONG, FaultKind.OBSERVER_DISAGREES):
        dice = simulated.faults.dice_of(struck[0], fluent, "wrong", fluent)
        told = value_of(told.key, (value or 0) + dice.choice([-20, -3, -1, 1, 3, 20]))
        (simulated.lies if kind is FaultKind.OBSERVER_WRONG else simulated.disputed).append(told)
    acts = sum(act.at <= when for act in simulated.acts)
    simulated.sightings.append(Sighting(now(), skill, told.any, frozenset([told]), acts))
    return told.value


def _note_sighting(
    simulated: SimulatedWorld, fact: Atom, seen: Iterable[Atom], skill: str
) -> bool | list[tuple[str, ...]] | list[str]:
    """Record that the observer `skill` says that exactly `seen` hold; return its answer."""
    facts = list(seen)
    simulated.sightings.append(Sighting(now(), skill, fact, frozenset(facts)))
    return _format_answer(fact, facts)


def _format_answer(fact: Atom, seen: list[Atom]) -> bool | list[tuple[str, ...]] | list[str]:
    """Return the answer of an observer of `fact` that sees the facts `seen`."""
    places = [place for place, arg in enumerate(fact.args) if arg == OPEN]
    if not places:
        return bool(seen)
    rows = [tuple([object_name(each.args[place]) for place in places]) for each in seen]
    return [row[0] for row in rows] if len(places) == 1 else rows


async def _answer_with_fault(
    simulated: SimulatedWorld, fact: Atom, seen: list[Atom], struck: tuple[int, Fault], skill: str
) -> Any:
    """Return the answer of an observer with a fault."""
    number, fault = struck
    if fault.kind is FaultKind.OBSERVER_FAILS:
        raise SimulatedError(f"the observer of {fact} is broken")
    if fault.kind is FaultKind.OBSERVER_CANNOT_SAY:
        return CANNOT_SAY
    if fault.kind is FaultKind.OBSERVER_LATE:
        await asyncio.sleep(fault.delay)
        return _format_answer(fact, simulated.truth.at(now()).world.state.matching(fact))
    if fault.kind is FaultKind.OBSERVER_STRANGER:
        more = [Atom(fact.predicate, tuple([STRANGER if arg == OPEN else arg for arg in fact.args]))]
        more = more if OPEN in fact.args else []
        simulated.strangers += more
        return _note_sighting(simulated, fact, [*seen, *more], skill)
    others = [each for each in instances(simulated.problem, fact) if each not in seen]
    dice = simulated.faults.dice_of(number, fact, "wrong", fact)
    wrong = [] if seen and (OPEN not in fact.args or not others or dice.random() < 1 / 2) else [dice.choice(others)]
    (simulated.lies if fault.kind is FaultKind.OBSERVER_WRONG else simulated.disputed).append(fact)
    return _note_sighting(simulated, fact, wrong, skill)


class SimulatedError(Exception):
    """The error of a faulty handler or observer."""
