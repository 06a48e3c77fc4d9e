"""An index of one domain for relevance: which conditions and partly instantiated actions have to do with each other.

Objects that a goal names are carried back through the parameters of schemas; all other arguments stay open. What the
index finds is kept from one goal to the next.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from functools import cached_property

from planner.compilations.lifted_relevance import Shape, Want, Writers, shape_of
from planner.lightweight import Any, Final
from planner.model import OPEN, Action, Atom, DomainModel, Term, Variable
from planner.model.actions import negated_atoms, positive_atoms
from planner.model.domain import Axiom, cache_per_domain
from planner.model.formulas import is_variable, literals_in

RAN: Final = "after "
"""Prefix of the predicate that stands for "this action has run"; no declared name has a space."""
MOST_KEPT: Final = 300_000
"""Most conditions and instances that an index keeps from one goal to the next."""
Binding = tuple[Term, ...]
"""The arguments of an instance: objects, and `_` for parameters that are still open."""


class RelevanceIndex:
    """What conditions (*wants*) and partly instantiated actions (*instances*) of one domain have to do with each other.

    Both are numbered. The instances of axioms stand for their heads, or for the negations of their heads.
    """

    def __init__(self, domain: DomainModel) -> None:
        self.domain = domain
        self.actions = list(domain.actions.values())
        self._writers = Writers(domain)
        self._looking: dict[str, list[int]] = {}
        """The actions that look at facts of a predicate."""
        for number, action in enumerate(self.actions):
            for pattern in action.senses:
                self._looking.setdefault(pattern.predicate, []).append(number)
        self._numbers = {name: number for number, name in enumerate(domain.actions)}
        self.forget()

    def forget(self) -> None:
        """Drop all wants and instances: their numbers start from 0 again."""
        self.wants: list[Want] = []
        self.instances: list[tuple[int | Axiom, Binding, bool]] = []
        """The number of an action, or an axiom; arguments; whether it gives facts, or negations of axioms' heads."""
        self.costs: list[float] = []
        self._want_numbers: dict[Want, int] = {}
        self._instance_numbers: dict[tuple[Any, Binding, bool], int] = {}
        self._givers: dict[int, tuple[int, ...]] = {}
        self._needs: dict[int, tuple[int, ...]] = {}
        self._sides: dict[int, tuple[int, ...]] = {}

    @property
    def is_full(self) -> bool:
        """Whether the index keeps more than it should from one goal to the next."""
        return len(self.wants) + len(self.instances) > MOST_KEPT

    @cached_property
    def provided(self) -> frozenset[str]:
        """The predicates that an action or an axiom makes true."""
        effects = [effect for action in self.actions for effect in action.effects]
        written = frozenset(atom.predicate for effect in effects for atom in positive_atoms(effect.provides))
        return written | self.domain.derived

    @cached_property
    def _axioms(self) -> dict[str, list[Axiom]]:
        found: dict[str, list[Axiom]] = {}
        for axiom in self.domain.axioms:
            found.setdefault(axiom.predicate, []).append(axiom)
        return found

    def number_of(self, want: Want) -> int:
        """Return the number of `want`."""
        found = self._want_numbers.get(want)
        if found is None:
            found = self._want_numbers[want] = len(self.wants)
            self.wants.append(want)
        return found

    def _instance(self, giver: int | Axiom, binding: Binding, cost: float, *, positive: bool = True) -> int:
        key = (giver if isinstance(giver, int) else id(giver), binding, positive)
        found = self._instance_numbers.get(key)
        if found is None:
            found = self._instance_numbers[key] = len(self.instances)
            self.instances.append((giver, binding, positive))
            self.costs.append(cost)
        return found

    def givers(self, want: int) -> tuple[int, ...]:
        """Return the instances that may meet a want."""
        found = self._givers.get(want)
        if found is None:
            found = self._givers[want] = tuple(dict.fromkeys(self._find_givers(*self.wants[want])))
        return found

    def _find_givers(self, predicate: str, shape: Shape, positive: bool) -> Iterator[int]:
        if predicate.startswith(RAN):
            number = self._numbers[predicate.removeprefix(RAN)]
            yield self._instance_of_action(number, {})
            return
        for axiom in self._axioms.get(predicate, ()):
            names = tuple([each.name for each in axiom.parameters])
            yield self._instance(axiom, _fill(names, dict(zip(names, shape, strict=True))), 0.0, positive=positive)
        for number in self._looking.get(predicate, ()):
            patterns = [each.args for each in self.actions[number].senses if each.predicate == predicate]
            yield from self._bind(number, patterns, shape)
        for number in self._writers.of(predicate, shape, positive=positive):
            action = self.actions[number]
            goes_stale = not positive and self.domain.predicates[predicate].stale_with
            if not action.parameters or goes_stale:
                yield self._instance_of_action(number, {})
            else:
                yield from self._bind(number, _written(action, predicate, positive=positive), shape)

    def _bind(self, number: int, patterns: Sequence[Shape], shape: Shape) -> Iterator[int]:
        """Yield the instances of an action for which one of `patterns` may have the `shape`."""
        names = {each.name for each in self.actions[number].parameters}
        for args in patterns:
            binding: dict[Term, Term] = {}
            for mine, wanted in zip(args, shape, strict=True):
                known = binding.setdefault(mine, wanted) if mine in names and wanted != OPEN else mine
                if OPEN not in (known, wanted) and known != wanted and not is_variable(known):
                    break
            else:
                yield self._instance_of_action(number, binding)

    def _instance_of_action(self, number: int, binding: Mapping[Term, Term]) -> int:
        action = self.actions[number]
        arguments = _fill([each.name for each in action.parameters], binding) if action.parameters else ()
        return self._instance(number, arguments, _fixed_cost(action))

    def needs(self, instance: int) -> tuple[int, ...]:
        """Return what must hold before an action, or for an axiom."""
        found = self._needs.get(instance)
        if found is None:
            found = self._needs[instance] = tuple(dict.fromkeys(map(self.number_of, self._list_needs(instance))))
        return found

    def _list_needs(self, instance: int) -> Iterator[Want]:
        giver, arguments, positive = self.instances[instance]
        if isinstance(giver, int):
            action = self.actions[giver]
            for pattern in action.after:
                yield RAN + pattern.predicate, (), True
            yield from _shape_literals(literals_in(action.requires), action.parameters, arguments)
        else:
            yield from _shape_literals(literals_in(giver.condition, positive=positive), giver.parameters, arguments)

    def sides(self, instance: int) -> tuple[int, ...]:
        """Return the conditions of conditional effects of an action, which may do good or harm."""
        giver, arguments, _ = self.instances[instance]
        effects = self.actions[giver].when if isinstance(giver, int) else ()
        if not effects:
            return ()
        found = self._sides.get(instance)
        if found is None:
            literals = [(atom, sign) for each in effects for atom, _ in literals_in(each.requires) for sign in _SIGNS]
            wants = _shape_literals(literals, self.actions[giver].parameters, arguments)  # type: ignore[index]  # an int
            found = self._sides[instance] = tuple(dict.fromkeys(map(self.number_of, wants)))
        return found


_SIGNS: Final = (True, False)


def _fill(names: Iterable[Term], binding: Mapping[Term, Term]) -> Binding:
    return tuple([binding.get(name, OPEN) for name in names])


def _written(action: Action, predicate: str, *, positive: bool) -> list[Shape]:
    """Return the arguments of the effects that make facts of `predicate` true, or false."""
    atoms: list[Atom] = []
    for effect in action.effects:
        given = positive_atoms(effect.provides) if positive else (*negated_atoms(effect.provides), *effect.modifies)
        atoms += [atom for atom in given if atom.predicate == predicate]
    return [atom.args for atom in atoms]


def _shape_literals(
    literals: Iterable[tuple[Atom, bool]], parameters: Iterable[Variable], arguments: Binding
) -> Iterator[Want]:
    """Yield the wants of `literals` with `arguments` for parameters; all other variables are open."""
    binding = {each.name: term for each, term in zip(parameters, arguments, strict=True) if term != OPEN}
    for atom, sign in literals:
        yield atom.predicate, shape_of(atom.substitute(binding) if binding else atom), sign


def _fixed_cost(action: Action) -> float:
    """Return the cost of a step; terms that depend on its objects count 1."""
    return sum([float(term) if isinstance(term, int | Decimal) else 1.0 for term in action.cost])


@cache_per_domain
def _keep_index(domain: DomainModel) -> RelevanceIndex:
    return RelevanceIndex(domain)


def index_of(domain: DomainModel) -> RelevanceIndex:
    """Return the index of `domain`, which is emptied when it has grown too large."""
    found = _keep_index(domain)
    if found.is_full:
        found.forget()
    return found
