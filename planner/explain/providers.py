"""Everything that can make a literal true: actions, their conditional effects, and axioms."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from planner.explain.relaxed import Relaxed
from planner.model import Action, Atom, Literal, Not, Term, Variable, is_variable
from planner.normalise import Conjunction, NormalProblem, Schema, SchemaEffect
from planner.normalise.schemas import GOAL

UNCONDITIONAL: Final = Conjunction()


@dataclass(frozen=True, slots=True, eq=False)
class Provider:
    """When `condition` holds for `variables`, all of `heads` become true; `action` is None for an axiom.

    The first variables are the parameters of the action or of the derived predicate. `trigger` is the part of the
    condition that belongs to a conditional effect alone.
    """

    action: Action | None
    variables: tuple[Variable, ...]
    condition: Conjunction
    heads: tuple[Literal, ...]
    trigger: Conjunction = UNCONDITIONAL

    def unify(self, target: Literal) -> Iterator[dict[Term, Term]]:
        """Yield the bindings under which a head is the ground `target`."""
        for head in self.heads:
            if isinstance(head, Not) is isinstance(target, Not):
                binding = _unified(atom_of(head), atom_of(target))
                if binding is not None:
                    yield binding

    def label(self, binding: Mapping[Term, Term]) -> str:
        """Return the instance for `binding` as people write it; what is left open is `_`."""
        if self.action is None:
            return str(atom_of(self.heads[0]).substitute(binding))
        arguments = ", ".join(binding.get(parameter.name, "_") for parameter in self.action.parameters)
        return f"{self.action.name}({arguments})"


def atom_of(literal: Literal) -> Atom:
    """Return the atom of a literal."""
    atom = literal.part if isinstance(literal, Not) else literal
    assert isinstance(atom, Atom)  # noqa: S101 - a literal is an atom or its negation
    return atom


def _unified(head: Atom, target: Atom) -> dict[Term, Term] | None:
    if head.predicate != target.predicate:
        return None
    binding: dict[Term, Term] = {}
    for mine, other in zip(head.args, target.args, strict=True):
        expected = binding.setdefault(mine, other) if is_variable(mine) else mine
        if expected != other:
            return None
    return binding


class Providers:
    """The providers of a problem, found by what they provide."""

    def __init__(self, relaxed: Relaxed) -> None:
        self._database = relaxed.database
        self._by_head: dict[tuple[str, bool], list[Provider]] = defaultdict(list)
        for provider in _providers(relaxed.normal):
            for key in dict.fromkeys((atom_of(head).predicate, isinstance(head, Not)) for head in provider.heads):
                self._by_head[key].append(provider)

    def of(self, target: Literal) -> list[Provider]:
        """Return those that have a head of the types of `target`, whatever the other objects."""
        candidates = self._by_head.get((atom_of(target).predicate, isinstance(target, Not)), [])
        return [each for each in candidates if any(self._fits(each, binding) for binding in each.unify(target))]

    def _fits(self, provider: Provider, binding: Mapping[Term, Term]) -> bool:
        return all(
            (binding[variable.name],) in self._database.type_relation(variable.types).rows
            for variable in provider.variables
            if variable.name in binding
        )

    def named(self, predicate: str, *, negative: bool) -> list[Provider]:
        """Return those that make some atom of `predicate` true, or false if `negative`."""
        return self._by_head.get((predicate, negative), [])

    def changes(self, target: Literal) -> bool:
        """Return whether anything makes a literal of this predicate and sign true."""
        return (atom_of(target).predicate, isinstance(target, Not)) in self._by_head


def _providers(normal: NormalProblem) -> Iterator[Provider]:
    for schema in normal.schemas:
        heads = _heads(schema)
        if heads:
            yield Provider(schema.action, schema.variables, schema.condition, heads)
        for effect in schema.effects:
            variables = (*schema.variables, *effect.variables)
            condition = _both(schema.condition, effect.condition)
            yield Provider(schema.action, variables, condition, _heads(effect), effect.condition)
    for axiom in normal.axioms:
        if not axiom.head.predicate.startswith(GOAL):
            yield Provider(None, axiom.variables, axiom.condition, (axiom.head,))


def _heads(effect: Schema | SchemaEffect) -> tuple[Literal, ...]:
    return (*effect.adds, *map(Not, effect.deletes))


def _both(one: Conjunction, other: Conjunction) -> Conjunction:
    return Conjunction(
        (*one.variables, *other.variables),
        tuple(dict.fromkeys((*one.atoms, *other.atoms))),
        tuple(dict.fromkeys((*one.negated, *other.negated))),
        (*one.equal, *other.equal),
        (*one.unequal, *other.unequal),
        (*one.residual, *other.residual),
    )
