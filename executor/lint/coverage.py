"""Which effects of an action somebody can see, as far as declarations tell."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from executor.looking.beliefs import is_in_place
from executor.world.observers import Observer
from executor.world.world import World
from planner.model import OPEN, Action, Atom, DomainModel, Outcome, When, is_variable
from planner.model.actions import added, deleted
from planner.model.formulas import atoms_in

OPAQUE: Final = frozenset({"", "Any", "object", "typing.Any"})
"""Annotations that promise nothing."""


@dataclass(frozen=True, slots=True)
class Effects:
    """What an action declares to change: facts that it gives and that it ends, and items that it changes in place."""

    given: tuple[Atom, ...]
    ended: tuple[Atom, ...]
    items: tuple[Atom, ...]

    @classmethod
    def of(cls, action: Action) -> Effects:
        """Return the effects of `action`, under whatever conditions and in whatever outcome, each once."""
        parts: list[When | Outcome] = [*action.effects, *action.outcomes]
        modified = [item for part in parts for item in part.modifies]
        given = dict.fromkeys(fact for part in parts for fact in added(part.provides))
        ended = dict.fromkeys(fact for part in parts for fact in deleted(part.provides))
        ended |= dict.fromkeys(item for item in modified if not is_in_place(item))
        items = dict.fromkeys(item for item in modified if is_in_place(item))
        return cls(tuple(given), tuple(ended), tuple(items))

    @property
    def all(self) -> dict[Atom, str]:
        """All of them, each as authors write it."""
        texts = {item: f"{written(item)} (changed in place)" for item in self.items}
        texts |= {fact: f"not {written(fact)}" for fact in self.ended}
        return texts | {fact: written(fact) for fact in self.given}


def written(fact: Atom) -> str:
    """Return `fact` with parameters by their bare names."""
    return str(Atom(fact.predicate, tuple([arg.removeprefix("?") for arg in fact.args])))


@dataclass(frozen=True, slots=True)
class Coverage:
    """Who sees what in `world`."""

    world: World

    def observers(self, fact: Atom) -> Iterator[Observer]:
        """Yield the observers that see `fact` whatever objects its variables stand for."""
        return (each for each in self.world.observers if _covers(each, fact) is True)

    def partial(self, fact: Atom) -> Iterator[Observer]:
        """Yield those that see it for some objects only."""
        return (each for each in self.world.observers if _covers(each, fact) is None)

    def is_conclusive(self, fact: Atom) -> bool:
        """Return whether somebody can say that `fact` did not come about."""
        return any(each.conclusive for each in self.observers(fact))

    def is_trusted(self, fact: Atom, action: Action | None = None) -> bool:
        """Return whether `fact`, an effect of `action`, is believed without a look."""
        predicate = self.world.model.predicates.get(fact.predicate)
        tagged = predicate is not None and "trusted" in predicate.tags
        return tagged or (action is not None and "trusted" in action.tags)


def _covers(observer: Observer, fact: Atom) -> bool | None:
    """Return whether `observer` sees `fact`; None where it does so for some objects only."""
    if observer.pattern.predicate != fact.predicate:
        return False
    found = set(observer.parameters.values()) | set(observer.open)
    others = [pair for at, pair in enumerate(zip(observer.pattern.args, fact.args, strict=True)) if at not in found]
    if any(mine != arg and not is_variable(arg) and arg != OPEN for mine, arg in others):
        return False
    return None if any(mine != arg for mine, arg in others) else True


def returned(function: Callable[..., Any]) -> str:
    """Return what `function` is annotated to return, nothing where it is not."""
    try:
        annotation = inspect.signature(function).return_annotation
    except (TypeError, ValueError):
        return ""
    if annotation is inspect.Signature.empty:
        return ""
    return annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "") or str(annotation)


def may_give_version(observer: Observer) -> bool:
    """Return whether what the observer is annotated to return may have a version."""
    annotation = returned(observer.function)
    return annotation in OPAQUE or "Seen" in annotation


def bases(facts: Iterable[Atom], domain: DomainModel) -> list[Atom]:
    """Return what `facts` are made of: derived ones are traced to the predicates that they are derived from."""
    found: dict[Atom, None] = {}
    stack = list(facts)
    traced = set[str]()
    while stack:
        fact = stack.pop()
        if fact.predicate not in domain.derived:
            found[fact] = None
        elif fact.predicate not in traced:
            traced.add(fact.predicate)
            stack += [
                atom
                for axiom in domain.axioms
                if axiom.predicate == fact.predicate
                for atom in atoms_in(axiom.condition)
            ]
    return sorted(found, key=str)
