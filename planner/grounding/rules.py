"""The rules of a normal problem: one for each schema, conditional effect and axiom."""

from __future__ import annotations

from collections.abc import Iterator

from planner.grounding.reachability import Emission, Rule
from planner.model import Atom
from planner.normalise import Conjunction, NormalAxiom, NormalProblem, Schema, SchemaEffect
from planner.records import dataclass, replace


@dataclass(frozen=True, slots=True)
class EffectRule:
    """A conditional or universal effect of a schema: either `adds`, or one pattern that it deletes."""

    rule: Rule
    adds: tuple[Atom, ...]
    deletes: tuple[Atom, ...]


@dataclass(frozen=True, slots=True)
class SchemaRules:
    """A schema with the rule for its instances and those for its effects."""

    schema: Schema
    rule: Rule
    effects: tuple[EffectRule, ...]

    @property
    def reachable(self) -> list[Rule]:
        """The rules that add facts; what only deletes takes no part in reachability."""
        return [self.rule, *[effect.rule for effect in self.effects if not effect.deletes]]


@dataclass(frozen=True, slots=True)
class AxiomRule:
    """An axiom with the rule for its instances."""

    axiom: NormalAxiom
    rule: Rule


def schema_rules(normal: NormalProblem) -> list[SchemaRules]:
    """Return the rules of all schemas."""
    return [_of_schema(number, schema) for number, schema in enumerate(normal.schemas)]


def axiom_rules(normal: NormalProblem) -> list[AxiomRule]:
    """Return the rules of all axioms; their heads are what they emit."""
    return [
        AxiomRule(axiom, Rule(axiom.variables, axiom.condition, ((axiom.head.predicate, axiom.head.args),)))
        for axiom in normal.axioms
    ]


def _of_schema(number: int, schema: Schema) -> SchemaRules:
    emits: list[Emission] = [(atom.predicate, atom.args) for atom in schema.adds]
    given, terms = f"@do:{number}", tuple([variable.name for variable in schema.variables])
    if schema.effects:
        emits.append((given, terms))
    effects = [
        EffectRule(_effect_rule(part, given, terms), part.adds, part.deletes)
        for effect in schema.effects
        for part in _parts(effect)
    ]
    return SchemaRules(schema, Rule(schema.variables, schema.condition, tuple(emits)), tuple(effects))


def _effect_rule(effect: SchemaEffect, given: str, terms: tuple[str, ...]) -> Rule:
    emits = tuple([(atom.predicate, atom.args) for atom in effect.adds])
    return Rule(effect.variables, effect.condition, emits, given, terms)


def _parts(effect: SchemaEffect) -> Iterator[SchemaEffect]:
    """Split an effect into its adds and its single deletes; what is deleted limits where a delete is looked for."""
    if effect.adds:
        yield replace(effect, deletes=())
    for atom in effect.deletes:
        used = set(atom.args)
        variables, condition = effect.variables, effect.condition
        if condition == Conjunction():
            variables = tuple([variable for variable in variables if variable.name in used])
        guarded = replace(condition, atoms=tuple(dict.fromkeys((*condition.atoms, atom))))
        yield SchemaEffect(variables, guarded, (), (atom,))
