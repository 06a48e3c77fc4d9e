"""Instantiation: ground actions and rules over integer literals, from the rows that reachability has found.

The literal of fact f is f, and that of its negation is ~f (so -1 - f). Facts are numbered by predicate and row, in the
order in which they were found.

Residual formulas (universal quantifiers and large disjunctions) are expanded for each ground action. Most of their
parts are constant, so the expansion is a conjunction of literals and of a few small disjunctions. Each disjunction
becomes a derived fact with a rule for each of its parts; all conditions with this disjunction share it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized

from planner.compilations.normal_form import Conjunction
from planner.grounding.action_tables import ActionTable, are_few, make_cost_function
from planner.grounding.joins import Filters, Join, Row, batches, make_join, projector
from planner.grounding.reachability import AxiomRule, Database, EffectRule, SchemaRules, ticks
from planner.lightweight import Final, cast, dataclass, field
from planner.limits import Limits, look, under_limits
from planner.model import And, Atom, Equals, Exists, Forall, Formula, Not, Or
from planner.model.actions import Action
from planner.model.formulas import Number, Term, Variable, free_variables, is_variable
from planner.model.problem import Problem

Literal = int


@dataclass(frozen=True, slots=True)
class RawRule:
    """A ground axiom over literals."""

    body: tuple[Literal, ...]
    head: int


@dataclass(slots=True)
class FactTable:
    """The numbers of all reachable facts that actions or axioms write."""

    database: Database
    atoms: list[Atom] = field(default_factory=list)
    numbers: dict[str, dict[Row, int]] = field(default_factory=dict)
    open: frozenset[str] = frozenset()
    """Predicates all of whose facts may become true, although the database does not have them."""

    @classmethod
    def of(cls, database: Database, predicates: Iterable[str]) -> FactTable:
        """Give all reachable facts of `predicates` numbers."""
        table = cls(database)
        for predicate in sorted(predicates):
            rows = database.relation(predicate).rows
            table.numbers[predicate] = {row: len(table.atoms) + place for place, row in enumerate(rows)}
            table.atoms.extend([Atom(predicate, row) for row in rows])
        return table

    def numbers_of(self, initial: Mapping[str, Iterable[Row]]) -> set[int]:
        """Return the numbers of the facts that hold initially."""
        return {
            rows[row] for predicate, rows in self.numbers.items() for row in initial.get(predicate, ()) if row in rows
        }

    def number(self, atom: Atom) -> int | None:
        """Return the number of a ground atom, or None if it is not reachable."""
        return self.numbers[atom.predicate].get(atom.args)

    def add(self, atom: Atom) -> int:
        """Return the number of `atom`; a new atom gets the next one."""
        rows = self.numbers.setdefault(atom.predicate, {})
        if atom.args not in rows:
            rows[atom.args] = len(self.atoms)
            self.atoms.append(atom)
        return rows[atom.args]

    def is_numbered(self, atom: Atom) -> bool:
        """Return whether the predicate is fluent, so that its atoms are facts of the task."""
        return atom.predicate in self.numbers


Column = Callable[[Sequence[Row]], list[int | None]]
"""A function from rows to the number of an atom for each row; None where the atom is not reachable."""


def _column(atom: Atom, variables: Sequence[Term], table: FactTable) -> Column:
    number_of, project = table.numbers[atom.predicate].get, projector(atom.args, variables)
    return lambda rows: list(map(number_of, map(project, rows)))


class Columns:
    """Grounds atoms over all `rows` at once, and each atom only once."""

    __slots__ = ("_found", "_rows", "_table", "_variables")

    def __init__(self, variables: Sequence[Term], table: FactTable, rows: Sequence[Row]) -> None:
        self._variables = variables
        self._table = table
        self._rows = rows
        self._found: dict[Atom, Sequence[Literal]] = {}

    def of(self, atoms: Iterable[Atom]) -> list[Sequence[Literal]]:
        """Return a column for each of `atoms` that is a fact of the task, with None where it is not reachable."""
        for atom in atoms:
            look()
            if atom not in self._found and self._table.is_numbered(atom):
                column = _column(atom, self._variables, self._table)(self._rows)
                self._found[atom] = cast("Sequence[Literal]", column)
        return [self._found[atom] for atom in atoms if atom in self._found]


class Picker:
    """Grounds the literals of atoms and of negated atoms, all rows at once."""

    __slots__ = ("_negative", "_positive")

    def __init__(
        self, atoms: Iterable[Atom], negated: Iterable[Atom], variables: Sequence[Term], table: FactTable
    ) -> None:
        self._positive = [_column(atom, variables, table) for atom in atoms if table.is_numbered(atom)]
        self._negative = [_column(atom, variables, table) for atom in negated if table.is_numbered(atom)]

    def __call__(self, rows: Sequence[Row]) -> Iterator[list[Literal]]:
        """Yield the literals of each row; unreachable atoms are false, and their negations need no literal."""
        found = [column(rows) for column in self._positive]
        found += [[None if n is None else ~n for n in column(rows)] for column in self._negative]
        if not found:
            return iter([[] for _ in rows])
        if any(None in numbers for numbers in found):
            return ([number for number in numbers if number is not None] for numbers in zip(*found, strict=True))
        return map(list, zip(*cast("list[list[Literal]]", found), strict=True))


Conjuncts = frozenset[Literal] | None
"""A conjunction of literals; None where it is false. The empty set is true."""

ANY: Final = "@any"


class Residuals:
    """Expands formulas; `rules` collects the rules of the derived facts for disjunctions.

    A quantified formula is expanded only once for all bindings that agree on its free variables.
    """

    def __init__(self, table: FactTable, database: Database, limits: Limits) -> None:
        self._table = table
        self._database = database
        self._any: dict[frozenset[frozenset[Literal]], Literal] = {}
        self._tick = ticks(limits).__next__
        self._memo: dict[tuple[int, Row], Conjuncts] = {}
        self._free: dict[int, tuple[Term, ...]] = {}
        self.rules: list[RawRule] = []
        self._joins: dict[tuple[int, int, tuple[Term, ...]], tuple[Join, list[Term]]] = {}
        self._kept: list[Formula] = []

    def expand(self, formula: Formula, binding: Mapping[Term, Term]) -> Conjuncts:
        """Return the conjunction of literals of `formula` under `binding`, or None where it cannot hold.

        Raises `LimitReached` at a limit.
        """
        key = id(formula)
        if key not in self._free:
            self._kept.append(formula)
            self._free[key] = tuple(sorted(free_variables(formula)))
        values = tuple([binding[name] for name in self._free[key]])
        memo = (key, values)
        if memo not in self._memo:
            self._tick()
            self._memo[memo] = self._expand(formula, dict(zip(self._free[key], values, strict=True)))
        return self._memo[memo]

    def _expand(self, formula: Formula, binding: dict[Term, Term]) -> Conjuncts:
        match formula:
            case Atom():
                return self._expand_atom(formula.substitute(binding))
            case Not(Atom() as atom):
                return self._expand_negation(atom.substitute(binding))
            case Equals(left, right):
                return _truth(binding.get(left, left) == binding.get(right, right))
            case Not(Equals(left, right)):
                return _truth(binding.get(left, left) != binding.get(right, right))
            case And(parts):
                return self._conjoin(self._part(part, binding) for part in parts)
            case Or(parts):
                return self._disjoin(self._part(part, binding) for part in parts)
            case Forall(variables, part):
                return self._conjoin(self._part(part, full) for full in self._violators(variables, part, binding))
            case Exists(variables, part):
                return self._disjoin(self._part(part, full) for full in self._witnesses(variables, part, binding))
        raise AssertionError(formula)

    def _part(self, formula: Formula, binding: dict[Term, Term]) -> Conjuncts:
        kept = isinstance(formula, Forall | Exists)
        return self.expand(formula, binding) if kept else self._expand(formula, binding)

    def _expand_atom(self, atom: Atom) -> Conjuncts:
        if not self._table.is_numbered(atom):
            return _truth(atom.args in self._database.relation(atom.predicate).rows)
        number = self._table.number(atom)
        return None if number is None else frozenset((number,))

    def _expand_negation(self, atom: Atom) -> Conjuncts:
        if not self._table.is_numbered(atom):
            return _truth(atom.args not in self._database.relation(atom.predicate).rows)
        number = self._table.number(atom)
        return frozenset() if number is None else frozenset((~number,))

    @staticmethod
    def _conjoin(parts: Iterator[Conjuncts]) -> Conjuncts:
        found: set[Literal] = set()
        for part in parts:
            if part is None:
                return None
            found |= part
        return None if any(~literal in found for literal in found) else frozenset(found)

    def _disjoin(self, parts: Iterator[Conjuncts]) -> Conjuncts:
        cases: set[frozenset[Literal]] = set()
        for part in parts:
            if part is not None:
                if not part:
                    return frozenset()
                cases.add(part)
        if any(frozenset((~next(iter(case)),)) in cases for case in cases if len(case) == 1):
            return frozenset()
        if len(cases) <= 1:
            return next(iter(cases), None)
        common = frozenset.intersection(*cases)
        if common in cases:
            return common
        return common | {self._derive_disjunction(frozenset(case - common for case in cases))}

    def _derive_disjunction(self, cases: frozenset[frozenset[Literal]]) -> Literal:
        if cases not in self._any:
            number = self._table.add(Atom(f"{ANY}{len(self._any)}"))
            self._any[cases] = number
            ordered = sorted(tuple(sorted(case)) for case in cases)
            self.rules.extend([RawRule(case, number) for case in ordered])
        return self._any[cases]

    def _violators(
        self, variables: tuple[Variable, ...], part: Formula, binding: dict[Term, Term]
    ) -> Iterator[dict[Term, Term]]:
        """Yield the bindings for which `part` may be false: all atoms that it negates are reachable."""
        parts = part.parts if isinstance(part, Or) else (part,)
        guards = [item.part for item in parts if isinstance(item, Not) and isinstance(item.part, Atom)]
        return self._bindings(variables, guards, binding)

    def _witnesses(
        self, variables: tuple[Variable, ...], part: Formula, binding: dict[Term, Term]
    ) -> Iterator[dict[Term, Term]]:
        """Yield the bindings for which `part` may be true: all its atoms are reachable."""
        parts = part.parts if isinstance(part, And) else (part,)
        return self._bindings(variables, [item for item in parts if isinstance(item, Atom)], binding)

    def _bindings(
        self, variables: tuple[Variable, ...], guards: Sequence[Atom], binding: dict[Term, Term]
    ) -> Iterator[dict[Term, Term]]:
        key = (id(variables), id(guards[0]) if guards else 0, tuple(binding))
        if key not in self._joins:
            self._joins[key] = self._join(variables, guards, binding)
        join, terms = self._joins[key]
        return (dict(zip(terms, row, strict=True)) for row in join([tuple(binding.values())]))

    def _join(
        self, variables: tuple[Variable, ...], guards: Sequence[Atom], binding: dict[Term, Term]
    ) -> tuple[Join, list[Term]]:
        inner = {variable.name for variable in variables}
        usable = [
            atom
            for atom in guards
            if atom.predicate not in self._table.open
            and all(arg in inner or arg in binding or not is_variable(arg) for arg in atom.args)
        ]
        terms = [*binding, *[variable.name for variable in variables]]
        sources = self._database.sources(usable)
        bound = {term for source in sources for term in source.atom.args}
        sources += self._database.type_sources(variables, bound)
        return make_join(list(binding), sources, Filters(), terms, self._tick), terms


def _truth(value: bool) -> Conjuncts:
    return frozenset() if value else None


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
    """The place of the action among all instances of all schemas."""


def parts_of(actions: Iterable[RawAction]) -> Iterator[RawAction | RawEffect]:
    """Yield each action and its conditional effects."""
    for action in under_limits(actions):
        yield action
        if action.effects:
            yield from action.effects


BATCH: Final = 512
"""Instances between two checks of the limits."""


def instantiate_actions(
    schemas: list[SchemaRules], problem: Problem, table: FactTable, residuals: Residuals, limits: Limits
) -> tuple[list[RawAction], list[ActionTable]]:
    """Ground all schemas: to tables where the instances suit them, else to single actions."""
    actions: list[RawAction] = []
    tables: list[ActionTable] = []
    number = 0
    for rules in schemas:
        rows = rules.rule.rows
        if _fits_tables(rules, rows):
            limits.check()
            tables += _ground_tables(rules, rows, problem, table, number)
            number += len(rows)
            continue
        for action in _ground_actions(rules, problem, table, residuals, limits):
            action.number += number
            actions.append(action)
        number += len(rows)
    return actions, tables


def _fits_tables(rules: SchemaRules, rows: Sized) -> bool:
    """Return whether the instances are many, and have the same literals but for their arguments."""
    schema, rule = rules.schema, rules.rule
    plain = not rules.effects and not schema.condition.residual
    return plain and len(schema.action.parameters) == len(rule.names) and not are_few(rows)


def _ground_tables(
    rules: SchemaRules, rows: list[Row], problem: Problem, table: FactTable, first: int
) -> Iterator[ActionTable]:
    """Yield the instances of a schema, one for each of the `rows`, numbered from `first`."""
    schema, names = rules.schema, rules.rule.names
    columns = Columns(names, table, rows)
    negated = [[None if n is None else ~n for n in column] for column in columns.of(schema.condition.negated)]
    condition = [*columns.of(schema.condition.atoms), *negated]
    adds, deletes = columns.of(schema.adds), columns.of(schema.deletes)
    costs = list(map(make_cost_function(schema.action, problem), under_limits(rows)))
    whole = ActionTable(schema.action, range(first, first + len(rows)), rows, costs, condition, adds, deletes)
    holes = {place: [fact is None for fact in column] for place, column in enumerate(whole.columns) if None in column}
    return whole.cut(holes)


def _ground_actions(
    rules: SchemaRules, problem: Problem, table: FactTable, residuals: Residuals, limits: Limits
) -> Iterator[RawAction]:
    """Yield the instances of a schema, numbered by their rows; rows without an instance leave gaps."""
    schema, names = rules.schema, rules.rule.names
    action, arity = schema.action, len(schema.action.parameters)
    condition = Picker(schema.condition.atoms, schema.condition.negated, names, table)
    adds, deletes = Picker(schema.adds, (), names, table), Picker(schema.deletes, (), names, table)
    cost = make_cost_function(action, problem)
    effects = [_effects_by_row(effect, table, residuals, limits) for effect in rules.effects]
    witnessed: set[tuple[Row, tuple[Literal, ...]]] = set()
    number = -1
    for rows in batches(rules.rule.rows, BATCH):
        limits.check()
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


def instantiate_one_by_one(
    schemas: list[SchemaRules], problem: Problem, table: FactTable, residuals: Residuals, limits: Limits
) -> list[RawAction]:
    """Ground all schemas to single actions, in the order of their numbers."""
    actions, tables = instantiate_actions(schemas, problem, table, residuals, limits)
    return sorted([*actions, *as_actions(tables)], key=lambda action: action.number)


def as_actions(tables: Iterable[ActionTable]) -> Iterator[RawAction]:
    """Convert `tables` to single actions."""
    for table in tables:
        conditions, adds, deletes = (map(list, table.rows(x)) for x in (table.condition, table.adds, table.deletes))
        for number, arguments, cost, held, added, deleted in zip(
            table.numbers, table.arguments, table.costs, conditions, adds, deletes, strict=True
        ):
            yield RawAction(table.action, arguments, cost, held, added, deleted, [], number)


def _effects_by_row(
    effect: EffectRule, table: FactTable, residuals: Residuals, limits: Limits
) -> Mapping[Row, list[RawEffect]]:
    """Ground a conditional effect; return its instances by the row of their action."""
    rule, names = effect.rule, effect.rule.names
    guarded = _remove_guard(rule.condition, effect)
    condition = Picker(guarded.atoms, guarded.negated, names, table)
    adds, deletes = Picker(effect.adds, (), names, table), Picker(effect.deletes, (), names, table)
    given = projector(rule.given_terms, names)
    found: dict[Row, list[RawEffect]] = defaultdict(list)
    for rows in batches(rule.found.rows, BATCH):
        limits.check()
        for row, literals, added, deleted in zip(rows, condition(rows), adds(rows), deletes(rows), strict=True):
            if not rule.condition.residual or _expand(rule.condition, names, row, residuals, literals):
                found[given(row)].append(RawEffect(literals, added, deleted))
    return found


def _remove_guard(condition: Conjunction, effect: EffectRule) -> Conjunction:
    """Remove the deleted fact from the condition of a delete, which only limited the search for instances."""
    if not effect.deletes:
        return condition
    kept = tuple([atom for atom in condition.atoms if atom not in effect.deletes])
    return Conjunction(condition.variables, kept, condition.negated, condition.equal, condition.unequal)


def _expand(
    condition: Conjunction, names: tuple[str, ...], row: Row, residuals: Residuals, literals: list[Literal]
) -> bool:
    """Append the literals of the residual formulas to `literals`; return whether the condition can hold."""
    binding = dict(zip(names, row, strict=True))
    for formula in condition.residual:
        more = residuals.expand(formula, binding)
        if more is None:
            return False
        literals.extend(more)
    return True


def instantiate_axioms(
    axioms: list[AxiomRule], table: FactTable, residuals: Residuals, limits: Limits
) -> Iterator[RawRule]:
    """Ground all axioms."""
    for axiom in axioms:
        names, condition = axiom.rule.names, axiom.rule.condition
        body = Picker(condition.atoms, condition.negated, names, table)
        head = Picker([axiom.axiom.head], (), names, table)
        for rows in batches(axiom.rule.found.rows, BATCH):
            limits.check()
            for row, literals, (number,) in zip(rows, body(rows), head(rows), strict=True):
                if not condition.residual or _expand(condition, names, row, residuals, literals):
                    yield RawRule(tuple(literals), number)


def instantiate_goal(goal: Conjunction, residuals: Residuals) -> list[Literal] | Formula:
    """Return the literals of the goal, or the first part of it that is not reachable."""
    literals: list[Literal] = []
    parts: list[Formula] = [*goal.atoms, *map(Not, goal.negated), *goal.residual]
    for part in parts:
        more = residuals.expand(part, {})
        if more is None:
            return part
        literals.extend(more)
    return literals
