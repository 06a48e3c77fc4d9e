"""Relaxed reachability: finds the facts, and the instances of actions and axioms, that the delete relaxation reaches.

Schemas, conditional effects and axioms become rules (Helmert, 2009, "Concise finite-domain representations"), without
deletes and negative conditions on fluents. Rules are evaluated semi-naively, a batch of new facts at a time, by joins;
rules without variables count their unmet conditions instead.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, partial
from itertools import chain, islice, repeat

from planner.compilations.normal_form import Conjunction, NormalAxiom, NormalProblem, Schema, SchemaEffect
from planner.grounding.joins import Filters, Join, Relation, Row, Source, batches, compile_join, make_join, projector
from planner.lightweight import Any, Final, dataclass, field, replace
from planner.limits import Limits
from planner.model import ROOT_TYPE, Atom, Problem, Term, TypeHierarchy, Variable, is_variable
from planner.semantics.undefined_values import ValueTest, ValueTests


class Database:
    """The relations of a problem: initial facts by predicate, and the objects of each type as unary relations."""

    def __init__(self, problem: Problem, growing: frozenset[str]) -> None:
        self.growing = growing
        hierarchy = TypeHierarchy(problem.domain.types)
        self.objects = [item.name for item in problem.all_objects]
        self._members = hierarchy.objects_by_type(problem.all_objects)
        self._relations: dict[str, Relation] = defaultdict(Relation)
        self._types: dict[frozenset[str], Relation] = {}
        rows: dict[str, list[Row]] = defaultdict(list)
        for fact in problem.initial:
            rows[fact.predicate].append(fact.args)
        self.initial: dict[str, dict[Row, None]] = {name: dict.fromkeys(found) for name, found in rows.items()}
        for name, found in self.initial.items():
            if name not in growing:
                self._relations[name] = Relation(found)

    def relation(self, predicate: str) -> Relation:
        """Return the relation of `predicate`; a fluent one is empty until reachability fills it."""
        return self._relations[predicate]

    def members(self, types: Iterable[str]) -> dict[str, None]:
        """Return the names of the objects of any of `types`, in the problem's order."""
        wanted = list(types)
        if ROOT_TYPE in wanted:
            return dict.fromkeys(self.objects)
        return {name: None for kind in wanted for name in self._members.get(kind, ())}

    def type_relation(self, types: Iterable[str]) -> Relation:
        """Return the unary relation of the objects of any of `types`."""
        key = frozenset(types)
        if key not in self._types:
            self._types[key] = Relation([(name,) for name in self.members(sorted(key))])
        return self._types[key]

    def sources(self, atoms: Iterable[Atom]) -> list[Source]:
        """Return the atoms as sources of joins."""
        return [Source(atom, self._relations[atom.predicate], atom.predicate in self.growing) for atom in atoms]

    def type_sources(self, variables: Iterable[Variable], bound: set[Term]) -> list[Source]:
        """Return the type conditions of `variables`, without those that say nothing about a bound variable."""
        return [
            Source(Atom("@type", (variable.name,)), self.type_relation(variable.types))
            for variable in variables
            if variable.name not in bound or ROOT_TYPE not in variable.types
        ]

    def filters(self, condition: Conjunction) -> Filters:
        """Return the conditions that cut joins: (in)equalities, and negated atoms that never change."""
        static = [atom for atom in condition.negated if atom.predicate not in self.growing]
        return Filters(condition.equal, condition.unequal, tuple(self.sources(static)))


TICKS_PER_CHECK: Final = 4096
RULES_TO_SHARE: Final = 40
"""From this number of rules on, joins are compiled at once: many of them share the compiled code."""
BATCH: Final = 10_000
"""Rows between two checks of the limits."""

Emission = tuple[str, Sequence[Term]]
"""A predicate and the terms of the fact that a rule makes."""


@dataclass(slots=True)
class Rule:
    """A rule: each binding of `variables` for which `condition` holds is a row of `found`, and emits facts.

    `given` is a relation over `given_terms` that the rule starts from: for conditional effects, the instances of their
    action. `kept`, if set, is the subset of the found rows that is used later. `undefined` are relations of the rows
    for which an amount of the action has no value.
    """

    variables: tuple[Variable, ...]
    condition: Conjunction
    emits: tuple[Emission, ...] = ()
    given: str | None = None
    given_terms: tuple[Term, ...] = ()
    found: Relation = field(default_factory=Relation)
    kept: list[Row] | None = None
    undefined: tuple[Source, ...] = ()

    @property
    def names(self) -> tuple[Term, ...]:
        """The terms of the rows in `found`."""
        return (*self.given_terms, *[variable.name for variable in self.variables])

    @property
    def rows(self) -> list[Row]:
        """The kept rows, or all found ones."""
        return list(self.found.rows) if self.kept is None else self.kept

    @property
    def unknowns(self) -> set[Term]:
        """The variables of the rule."""
        return {term for term in self.names if is_variable(term)}


@dataclass(slots=True)
class _Counter:
    """A rule without variables, and the number of its conditions that are not reached yet."""

    rule: Rule
    missing: int


class Reachability:
    """Applies rules to the initial facts up to the fixed point.

    Then `rule.found` has the instances of each rule, and `database.relation(p)` the reachable facts of predicate p.
    """

    def __init__(self, database: Database, limits: Limits) -> None:
        self.database = database
        self.limits = limits
        self._triggers: dict[str, list[tuple[Rule, Callable[[], Join]]]] = defaultdict(list)
        self._waiting: dict[str, dict[Row, list[_Counter]]] = defaultdict(lambda: defaultdict(list))
        self._pending: dict[str, list[Iterable[Row]]] = defaultdict(list)
        self._emitters: dict[int, list[tuple[str, Callable[[Row], Row]]]] = {}
        self._make_join = make_join
        self._tick = ticks(limits).__next__

    def run(self, rules: Sequence[Rule]) -> None:
        """Find all instances of `rules`; raise `LimitReached` at a limit."""
        for name in sorted(self.database.growing):
            self._pending[name].append(self.database.initial.get(name, {}))
        if len(rules) > RULES_TO_SHARE:
            self._make_join = compile_join
        for rule in rules:
            self.limits.check()
            self._emitters[id(rule)] = [(name, projector(terms, rule.names)) for name, terms in rule.emits]
            self._prepare(rule)
        # Semi-naive evaluation: join only new facts of one predicate with all facts that are known.
        while self._pending:
            name = next(iter(self._pending))
            new = self.database.relation(name).add(chain.from_iterable(self._pending.pop(name)))
            if new:
                self._spread(name, new)

    def find(self, rule: Rule) -> None:
        """Find the instances of one more rule among the facts that `run` has reached."""
        assert rule.given is not None
        join = self._join(rule, Atom(rule.given, rule.given_terms), ())
        for batch in batches(join(list(self.database.relation(rule.given).rows))):
            self.limits.check()
            rule.found.add(batch)

    def find_undefined(self, rule: Rule, most: int) -> list[Row]:
        """Return up to `most` rows that only an amount without a value keeps `rule` from, after `run`."""
        if not rule.undefined:
            return []
        rows = self._join(replace(rule, undefined=()), Atom(""), ())([()])
        return list(islice((row for row in rows if row not in rule.found.rows), most))

    def _prepare(self, rule: Rule) -> None:
        atoms = rule.condition.atoms
        growing = [atom for atom in atoms if atom.predicate in self.database.growing]
        if rule.given is None and not rule.variables and all(atom.is_ground for atom in atoms):
            self._prepare_counter(rule, growing)
        elif rule.given is not None:
            self._await(rule, Atom(rule.given, rule.given_terms), ())
            for atom in growing:
                self._await(rule, atom, (atom,))
        elif growing:
            for atom in growing:
                self._await(rule, atom, (atom,))
        else:
            self._fire(rule, self._join(rule, Atom(""), ())([()]))

    def _await(self, rule: Rule, start: Atom, done: tuple[Atom, ...]) -> None:
        """Trigger `rule` by new rows of `start`; make its join when the first ones arrive."""
        self._triggers[start.predicate].append((rule, cache(partial(self._join, rule, start, done))))

    def _prepare_counter(self, rule: Rule, growing: list[Atom]) -> None:
        join = self._make_join(
            (),
            self.database.sources(set(rule.condition.atoms) - set(growing)),
            self._filters(rule),
            (),
            self._tick,
        )
        if not any(True for _ in join([()])):
            return
        counter = _Counter(rule, len(growing))
        if not growing:
            self._fire(rule, [()])
        for atom in growing:
            self._waiting[atom.predicate][atom.args].append(counter)

    def _join(self, rule: Rule, start: Atom, done: tuple[Atom, ...]) -> Join:
        """Make the join of `rule` that starts from new rows of `start`."""
        database = self.database
        sources = [
            replace(source, whole=True) if source.growing and rule.unknowns <= {*source.atom.args} else source
            for source in database.sources(atom for atom in rule.condition.atoms if atom not in done)
        ]
        if rule.given is not None and start.predicate != rule.given:
            sources.append(Source(Atom(rule.given, rule.given_terms), database.relation(rule.given), growing=True))
        bound = {term for source in sources for term in source.atom.args} | set(start.args)
        sources += database.type_sources(rule.variables, bound)
        return self._make_join(start.args, sources, self._filters(rule), rule.names, self._tick)

    def _filters(self, rule: Rule) -> Filters:
        found = self.database.filters(rule.condition)
        return replace(found, absent=(*found.absent, *rule.undefined)) if rule.undefined else found

    def _spread(self, name: str, new: list[Row]) -> None:
        self.limits.check()
        for rule, join in self._triggers.get(name, ()):
            self._fire(rule, join()(new))
        waiting = self._waiting.get(name)
        if waiting:
            for row in new:
                for counter in waiting.pop(row, ()):
                    counter.missing -= 1
                    if not counter.missing:
                        self._fire(counter.rule, [()])

    def _fire(self, rule: Rule, rows: Iterable[Row]) -> None:
        iterator = iter(rows)
        while batch := list(islice(iterator, BATCH)):
            self.limits.check()
            new = rule.found.add(batch)
            for name, project in self._emitters[id(rule)]:
                self._pending[name].append(map(project, new))


class _Rows:
    """The rows that pass a test, which are not listed."""

    def __init__(self, test: Callable[[Row], bool]) -> None:
        self._test = test

    def __contains__(self, row: Row) -> bool:
        return self._test(row)


class UndefinedRows(Relation):
    """The relation of the rows for which an amount is `undefined`: joins ask whether a row is in it."""

    __slots__ = ("_undefined",)

    def __init__(self, undefined: Callable[[Row], bool]) -> None:
        super().__init__()
        self.rows = _Rows(undefined)  # type: ignore[assignment]
        self._undefined = undefined

    def index(self, key: tuple[int, ...], rest: tuple[int, ...]) -> Any:
        """Return the single objects for which the amount is undefined."""
        assert (key, rest) == ((0,), ())
        return _Rows(lambda name: self._undefined((name,)))  # type: ignore[arg-type]


def ticks(limits: Limits) -> Iterator[bool]:
    """Yield True for ever, and check the limits now and then."""
    while True:
        yield from repeat(True, TICKS_PER_CHECK)
        limits.check()


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
        """The rules that add facts; deletes are no part of relaxed reachability."""
        return [self.rule, *[effect.rule for effect in self.effects if not effect.deletes]]


@dataclass(frozen=True, slots=True)
class AxiomRule:
    """An axiom with the rule for its instances."""

    axiom: NormalAxiom
    rule: Rule


def schema_rules(normal: NormalProblem) -> list[SchemaRules]:
    """Make the rules of all schemas."""
    found = [_make_schema_rules(number, schema) for number, schema in enumerate(normal.schemas)]
    if any(True for schema in normal.schemas for _ in schema.action.name_amounts()):
        tests = ValueTests(normal.problem)
        for rules in found:
            rules.rule.undefined = tuple(map(_refuse_undefined, tests.find(rules.schema.action)))
    return found


def _refuse_undefined(test: ValueTest) -> Source:
    return Source(Atom("@undefined", test.terms), UndefinedRows(test.undefined))


def axiom_rules(normal: NormalProblem) -> list[AxiomRule]:
    """Make the rules of all axioms, which emit their heads."""
    return [
        AxiomRule(axiom, Rule(axiom.variables, axiom.condition, ((axiom.head.predicate, axiom.head.args),)))
        for axiom in normal.axioms
    ]


def _make_schema_rules(number: int, schema: Schema) -> SchemaRules:
    emits: list[Emission] = [(atom.predicate, atom.args) for atom in schema.adds]
    given, terms = f"@do:{number}", tuple([variable.name for variable in schema.variables])
    if schema.effects:
        emits.append((given, terms))
    effects = [
        EffectRule(_make_effect_rule(part, given, terms), part.adds, part.deletes)
        for effect in schema.effects
        for part in _split_effect(effect)
    ]
    return SchemaRules(schema, Rule(schema.variables, schema.condition, tuple(emits)), tuple(effects))


def _make_effect_rule(effect: SchemaEffect, given: str, terms: tuple[str, ...]) -> Rule:
    emits = tuple([(atom.predicate, atom.args) for atom in effect.adds])
    return Rule(effect.variables, effect.condition, emits, given, terms)


def _split_effect(effect: SchemaEffect) -> Iterator[SchemaEffect]:
    """Split an effect into its adds and its single deletes; the deleted fact is a condition of a delete."""
    if effect.adds:
        yield replace(effect, deletes=())
    for atom in effect.deletes:
        used = set(atom.args)
        variables, condition = effect.variables, effect.condition
        if condition == Conjunction():
            variables = tuple([variable for variable in variables if variable.name in used])
        guarded = replace(condition, atoms=tuple(dict.fromkeys((*condition.atoms, atom))))
        yield SchemaEffect(variables, guarded, (), (atom,))
