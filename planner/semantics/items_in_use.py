"""Facts that say which items are in use: those that running steps modify."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from planner.lightweight import Final, dataclass
from planner.model.actions import Action
from planner.model.domain import DomainModel, Predicate
from planner.model.formulas import OPEN, Atom, Exists, Formula, Variable
from planner.model.problem import Problem

BUSY: Final = r"busy ([^\s(]+)((?: \d+)+| _)?(?:\(([^()]*)\))?"
"""A fact that says that an item is in use: its predicate, the bound places where some are open, and the arguments."""


def name_item(found: re.Match[str], problem: Problem) -> str:
    """Return the item that a fact `found` by `BUSY` says to be in use."""
    arguments = [each for each in (found[3] or "").split(", ") if each]
    places = [int(place) for place in (found[2] or "").split() if place != OPEN] or range(len(arguments))
    known = dict(zip(places, arguments, strict=False))
    declared = problem.domain.predicates.get(found[1])
    size = len(declared.parameters) if declared is not None else max([-1, *places]) + 1
    arguments = [known.get(place, OPEN) for place in range(size)]
    return f"{found[1]}({', '.join(arguments)})" if arguments else found[1]


@dataclass(frozen=True, slots=True)
class ItemsInUse:
    """The facts that say which items are in use: for each predicate, the places that a pattern binds."""

    places: Mapping[str, tuple[tuple[int, ...], ...]]
    predicates: Mapping[str, Predicate]

    @classmethod
    def of(cls, actions: Iterable[Action], domain: DomainModel) -> ItemsInUse:
        """Return the facts about the items that steps of `actions`, which last, modify."""
        places: dict[str, dict[tuple[int, ...], None]] = {}
        predicates: dict[str, Predicate] = {}
        for action in actions:
            for item in action.modifies:
                bound = _bound_places(item)
                places.setdefault(item.predicate, {})[bound] = None
                name = _in_use(item.predicate, bound, len(item.args))
                declared = domain.predicates.get(item.predicate)
                variables = tuple([declared.parameters[place] for place in bound]) if declared is not None else ()
                predicates[name] = Predicate(name, variables)
        return cls({name: tuple(found) for name, found in places.items()}, predicates)

    def facts_about(self, item: Atom) -> Iterator[Formula]:
        """Yield what holds if `item` is in use; an open argument of `item` stands for any object."""
        for bound in self.places.get(item.predicate, ()):
            name = _in_use(item.predicate, bound, len(item.args))
            fact = Atom(name, tuple([item.args[place] for place in bound]))
            if OPEN not in fact.args:
                yield fact
                continue
            types = [each.types for each in self.predicates[name].parameters]
            pairs = zip(fact.args, types, strict=True)
            variables = [Variable(f"?any{place}", kind) for place, (arg, kind) in enumerate(pairs) if arg == OPEN]
            args = tuple([f"?any{place}" if arg == OPEN else arg for place, arg in enumerate(fact.args)])
            yield Exists(tuple(variables), Atom(name, args))

    def facts_of(self, action: Action) -> Iterator[Atom]:
        """Yield the facts that say that the items which `action` modifies are in use."""
        for item in action.modifies:
            bound = _bound_places(item)
            yield Atom(_in_use(item.predicate, bound, len(item.args)), tuple([item.args[place] for place in bound]))


def _bound_places(item: Atom) -> tuple[int, ...]:
    return tuple([place for place, arg in enumerate(item.args) if arg != OPEN])


def _in_use(predicate: str, bound: tuple[int, ...], size: int) -> str:
    """Return the predicate that says that an item of `size` arguments is in use whose pattern binds these places."""
    if len(bound) == size:
        return f"busy {predicate}"
    return f"busy {predicate} {' '.join(map(str, bound)) or OPEN}"
