"""Ground actions and rules over literals, as reachability found them: complete, but not yet simplified."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sized

from planner.annotations import Final
from planner.budget import Budget
from planner.grounding.costs import cost_picker
from planner.grounding.joins import Row, batches, projector
from planner.grounding.literals import Columns, FactTable, Literal, Picker, RawRule
from planner.grounding.residual import Residuals
from planner.grounding.rules import AxiomRule, EffectRule, SchemaRules
from planner.grounding.tables import ActionTable, are_few
from planner.model import Action, Formula, Not, Number, Problem
from planner.normalise import Conjunction
from planner.records import dataclass, field


@dataclass(slots=True, eq=False)
class RawEffect:
    """A conditional effect over literals."""

    condition: list[Literal]
    adds: list[int]
    deletes: list[int]


@dataclass(slots=True, eq=False)
class RawAction:
    """A ground action over literals; `adds` and `deletes` may overlap (adding wins)."""

    action: Action
    arguments: Row
    cost: Number
    condition: list[Literal]
    adds: list[int]
    deletes: list[int]
    effects: list[RawEffect] = field(default_factory=list)
    number: int = 0
    """Its place among all instances of all schemas."""


def parts_of(actions: Iterable[RawAction]) -> Iterator[RawAction | RawEffect]:
    """Yield each action and its conditional effects."""
    for action in actions:
        yield action
        if action.effects:
            yield from action.effects


BATCH: Final = 4096
"""How many instances are made before the budget is looked at."""


def instantiate_actions(
    schemas: list[SchemaRules], problem: Problem, table: FactTable, residuals: Residuals, budget: Budget
) -> tuple[list[RawAction], list[ActionTable]]:
    """Return the ground actions of all schemas: one by one, and by the column where that serves."""
    actions: list[RawAction] = []
    tables: list[ActionTable] = []
    number = 0
    for rules in schemas:
        rows = rules.rule.rows
        if _fits_tables(rules, rows):
            budget.check()
            tables += _tables(rules, rows, problem, table, number)
            number += len(rows)
            continue
        for action in _instances(rules, problem, table, residuals, budget):
            action.number += number
            actions.append(action)
        number += len(rows)
    return actions, tables


def _fits_tables(rules: SchemaRules, rows: Sized) -> bool:
    """Whether the instances are many, and differ in nothing but their literals."""
    schema, rule = rules.schema, rules.rule
    plain = not rules.effects and not schema.condition.residual
    return plain and len(schema.action.parameters) == len(rule.names) and not are_few(rows)


def _tables(
    rules: SchemaRules, rows: list[Row], problem: Problem, table: FactTable, first: int
) -> Iterator[ActionTable]:
    """Yield the instances of a schema, one for each of the `rows`, numbered from `first`."""
    schema, names = rules.schema, rules.rule.names
    columns = Columns(names, table, rows)
    negated = [[None if n is None else ~n for n in column] for column in columns.of(schema.condition.negated)]
    condition = [*columns.of(schema.condition.atoms), *negated]
    adds, deletes = columns.of(schema.adds), columns.of(schema.deletes)
    costs = list(map(cost_picker(schema.action, problem), rows))
    whole = ActionTable(schema.action, range(first, first + len(rows)), rows, costs, condition, adds, deletes)
    holes = {place: [fact is None for fact in column] for place, column in enumerate(whole.columns) if None in column}
    return whole.cut(holes)


def _instances(
    rules: SchemaRules, problem: Problem, table: FactTable, residuals: Residuals, budget: Budget
) -> Iterator[RawAction]:
    """Yield the instances of a schema, with the places of their rows as numbers: some rows have none."""
    schema, names = rules.schema, rules.rule.names
    action, arity = schema.action, len(schema.action.parameters)
    condition = Picker(schema.condition.atoms, schema.condition.negated, names, table)
    adds, deletes = Picker(schema.adds, (), names, table), Picker(schema.deletes, (), names, table)
    cost = cost_picker(action, problem)
    effects = [_effects_by_row(effect, table, residuals, budget) for effect in rules.effects]
    witnessed: set[tuple[Row, tuple[Literal, ...]]] = set()
    number = -1
    for rows in batches(rules.rule.rows, BATCH):
        budget.check()
        for row, literals, added, deleted in zip(rows, condition(rows), adds(rows), deletes(rows), strict=True):
            number += 1
            if schema.condition.residual and not _expand(schema.condition, names, row, residuals, literals):
                continue
            arguments = row
            if arity < len(names):
                arguments = row[:arity]
                case = (arguments, tuple(literals))
                if case in witnessed:
                    continue
                witnessed.add(case)
            conditional = [effect for by_row in effects for effect in by_row.get(row, ())] if effects else []
            yield RawAction(action, arguments, cost(arguments), literals, added, deleted, conditional, number)


def each_instance(
    schemas: list[SchemaRules], problem: Problem, table: FactTable, residuals: Residuals, budget: Budget
) -> list[RawAction]:
    """Return the ground actions of all schemas one by one, in order."""
    actions, tables = instantiate_actions(schemas, problem, table, residuals, budget)
    return sorted([*actions, *one_by_one(tables)], key=lambda action: action.number)


def one_by_one(tables: Iterable[ActionTable]) -> Iterator[RawAction]:
    """Yield the actions of `tables`."""
    for table in tables:
        conditions, adds, deletes = (map(list, table.rows(x)) for x in (table.condition, table.adds, table.deletes))
        for number, arguments, cost, held, added, deleted in zip(
            table.numbers, table.arguments, table.costs, conditions, adds, deletes, strict=True
        ):
            yield RawAction(table.action, arguments, cost, held, added, deleted, [], number)


def _effects_by_row(
    effect: EffectRule, table: FactTable, residuals: Residuals, budget: Budget
) -> Mapping[Row, list[RawEffect]]:
    """Return the ground effects by the row of the action instance that they belong to."""
    rule, names = effect.rule, effect.rule.names
    guarded = _without(rule.condition, effect)
    condition = Picker(guarded.atoms, guarded.negated, names, table)
    adds, deletes = Picker(effect.adds, (), names, table), Picker(effect.deletes, (), names, table)
    given = projector(rule.given_terms, names)
    found: dict[Row, list[RawEffect]] = defaultdict(list)
    for rows in batches(rule.found.rows, BATCH):
        budget.check()
        for row, literals, added, deleted in zip(rows, condition(rows), adds(rows), deletes(rows), strict=True):
            if not rule.condition.residual or _expand(rule.condition, names, row, residuals, literals):
                found[given(row)].append(RawEffect(literals, added, deleted))
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


def instantiate_axioms(
    axioms: list[AxiomRule], table: FactTable, residuals: Residuals, budget: Budget
) -> Iterator[RawRule]:
    """Yield the ground rules of all axioms."""
    for axiom in axioms:
        names, condition = axiom.rule.names, axiom.rule.condition
        body, head = (
            Picker(condition.atoms, condition.negated, names, table),
            Picker([axiom.axiom.head], (), names, table),
        )
        for rows in batches(axiom.rule.found.rows, BATCH):
            budget.check()
            for row, literals, (number,) in zip(rows, body(rows), head(rows), strict=True):
                if not condition.residual or _expand(condition, names, row, residuals, literals):
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
