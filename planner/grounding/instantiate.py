"""Ground actions and rules over literals, as reachability found them: complete, but not yet simplified."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from planner.budget import Budget
from planner.grounding.costs import cost_picker
from planner.grounding.joins import Row, projector
from planner.grounding.literals import ConditionPicker, FactTable, Literal, RawRule, pickers
from planner.grounding.residual import Residuals
from planner.grounding.rules import AxiomRule, EffectRule, SchemaRules
from planner.model import Action, Formula, Not, Number, Problem
from planner.normalise import Conjunction


@dataclass(slots=True)
class RawEffect:
    """A conditional effect over literals."""

    condition: list[Literal]
    adds: list[int]
    deletes: list[int]


@dataclass(slots=True)
class RawAction:
    """A ground action over literals; `adds` and `deletes` may overlap (adding wins)."""

    action: Action
    arguments: Row
    cost: Number
    condition: list[Literal]
    adds: list[int]
    deletes: list[int]
    effects: list[RawEffect] = field(default_factory=list)


def instantiate_actions(
    schemas: list[SchemaRules], problem: Problem, table: FactTable, residuals: Residuals, budget: Budget
) -> Iterator[RawAction]:
    """Yield the ground actions of all schemas."""
    for rules in schemas:
        budget.check()
        yield from _instances(rules, problem, table, residuals)


def _instances(rules: SchemaRules, problem: Problem, table: FactTable, residuals: Residuals) -> Iterator[RawAction]:
    schema, names = rules.schema, rules.rule.names
    action, arity = schema.action, len(schema.action.parameters)
    condition = ConditionPicker(schema.condition, names, table)
    adds, deletes = pickers(schema.adds, names, table), pickers(schema.deletes, names, table)
    cost = cost_picker(action, problem)
    effects = [_effects_by_row(effect, table, residuals) for effect in rules.effects]
    witnessed: set[tuple[Row, tuple[Literal, ...]]] = set()
    for row in rules.rule.found.rows:
        literals = condition(row)
        if schema.condition.residual and not _expand(schema.condition, names, row, residuals, literals):
            continue
        arguments = row[:arity]
        if arity < len(names):
            case = (arguments, tuple(literals))
            if case in witnessed:
                continue
            witnessed.add(case)
        yield RawAction(
            action,
            arguments,
            cost(arguments),
            literals,
            [number for pick in adds if (number := pick(row)) is not None],
            [number for pick in deletes if (number := pick(row)) is not None],
            [effect for by_row in effects for effect in by_row.get(row, ())],
        )


def _effects_by_row(effect: EffectRule, table: FactTable, residuals: Residuals) -> Mapping[Row, list[RawEffect]]:
    """Return the ground effects by the row of the action instance that they belong to."""
    rule, names = effect.rule, effect.rule.names
    condition = ConditionPicker(_without(rule.condition, effect), names, table)
    adds, deletes = pickers(effect.adds, names, table), pickers(effect.deletes, names, table)
    given = projector(rule.given_terms, names)
    found: dict[Row, list[RawEffect]] = defaultdict(list)
    for row in rule.found.rows:
        literals = condition(row)
        if rule.condition.residual and not _expand(rule.condition, names, row, residuals, literals):
            continue
        found[given(row)].append(
            RawEffect(
                literals,
                [number for pick in adds if (number := pick(row)) is not None],
                [number for pick in deletes if (number := pick(row)) is not None],
            )
        )
    return found


def _without(condition: Conjunction, effect: EffectRule) -> Conjunction:
    """Drop the guard of a delete, which limited the search for instances: deleting what does not hold is harmless."""
    if not effect.deletes:
        return condition
    kept = tuple([atom for atom in condition.atoms if atom not in effect.deletes])
    return Conjunction(condition.variables, kept, condition.negated, condition.equal, condition.unequal)


def _expand(
    condition: Conjunction, names: tuple[str, ...], row: Row, residuals: Residuals, literals: list[Literal]
) -> bool:
    """Add the literals of the residual formulas; return whether the condition can hold."""
    binding = dict(zip(names, row, strict=True))
    for formula in condition.residual:
        more = residuals.expand(formula, binding)
        if more is None:
            return False
        literals.extend(more)
    return True


def instantiate_axioms(axioms: list[AxiomRule], table: FactTable, residuals: Residuals) -> Iterator[RawRule]:
    """Yield the ground rules of all axioms."""
    for axiom in axioms:
        names, condition = axiom.rule.names, axiom.rule.condition
        pick = ConditionPicker(condition, names, table)
        (head,) = pickers([axiom.axiom.head], names, table)
        for row in axiom.rule.found.rows:
            literals = pick(row)
            number = head(row)
            if number is not None and _expand(condition, names, row, residuals, literals):
                yield RawRule(tuple(literals), number)


def instantiate_goal(goal: Conjunction, residuals: Residuals) -> list[Literal] | Formula:
    """Return the literals of the goal, or the first part of it that cannot come about."""
    literals: list[Literal] = []
    parts: list[Formula] = [*goal.atoms, *map(Not, goal.negated), *goal.residual]
    for part in parts:
        more = residuals.expand(part, {})
        if more is None:
            return part
        literals.extend(more)
    return literals
