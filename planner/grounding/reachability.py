"""Relaxed reachability: which facts, and which instances of actions and axioms, can occur at all.

Schemas, conditional effects and axioms are read as rules (Helmert, 2009, "Concise finite-domain representations"):
deletes and negative conditions on fluents are ignored, static conditions are not. Rules are applied semi-naively, a
batch of new facts at a time; rules without variables count their unmet conditions instead of joining.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, partial
from itertools import chain, islice, repeat

from planner.compilations.normal_form import Conjunction, NormalAxiom, NormalProblem, Schema, SchemaEffect
from planner.grounding.joins import Filters, Join, Relation, Row, Source, batches, compile_join, make_join, projector
from planner.lightweight import Final, dataclass, field, replace
from planner.limits import Limits
from planner.model import ROOT_TYPE, Atom, Problem, Term, TypeHierarchy, Variable, is_variable


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
"""So many rules resemble each other: joins are compiled at once, as they share what is compiled."""
BATCH: Final = 10_000
"""How many rows are found before limits are looked at."""

Emission = tuple[str, Sequence[Term]]
"""A predicate and the terms of the fact that a rule makes."""


@dataclass(slots=True)
class Rule:
    """When `condition` holds for `variables`, `row`s are found and the `emits` become facts.

    `given` is the relation that the rule starts from, over `given_terms`: for conditional effects, the instances of
    their action. Of what was found, only some rows may be `kept`.
    """

    variables: tuple[Variable, ...]
    condition: Conjunction
    emits: tuple[Emission, ...] = ()
    given: str | None = None
    given_terms: tuple[Term, ...] = ()
    found: Relation = field(default_factory=Relation)
    kept: list[Row] | None = None

    @property
    def names(self) -> tuple[Term, ...]:
        """The terms of the rows in `found`."""
        return (*self.given_terms, *[variable.name for variable in self.variables])

    @property
    def rows(self) -> list[Row]:
        """The rows that were found, or those of them that are kept."""
        return list(self.found.rows) if self.kept is None else self.kept

    @property
    def unknowns(self) -> set[Term]:
        """All of its variables."""
        return {term for term in self.names if is_variable(term)}


@dataclass(slots=True)
class _Counter:
    """A rule without variables; it fires when `missing` facts have come about."""

    rule: Rule
    missing: int


class Reachability:
    """Applies rules to the initial facts until nothing new is found.

    Afterwards `rule.found` holds the instances of each rule, and `database.relation(p)` the reachable facts of p.
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
        """Find all instances of `rules`; raises `LimitReached` when a limit is reached."""
        for name in sorted(self.database.growing):
            self._pending[name].append(self.database.initial.get(name, {}))
        if len(rules) > RULES_TO_SHARE:
            self._make_join = compile_join
        for rule in rules:
            self.limits.check()
            self._emitters[id(rule)] = [(name, projector(terms, rule.names)) for name, terms in rule.emits]
            self._prepare(rule)
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
        """Join `rule` from the rows of `start` whenever there are new ones; the join is compiled when there are any."""
        self._triggers[start.predicate].append((rule, cache(partial(self._join, rule, start, done))))

    def _prepare_counter(self, rule: Rule, growing: list[Atom]) -> None:
        join = self._make_join(
            (),
            self.database.sources(set(rule.condition.atoms) - set(growing)),
            self.database.filters(rule.condition),
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
        """Compile the join of `rule` that starts from new rows of `start`."""
        database = self.database
        sources = [
            replace(source, whole=True) if source.growing and rule.unknowns <= {*source.atom.args} else source
            for source in database.sources(atom for atom in rule.condition.atoms if atom not in done)
        ]
        if rule.given is not None and start.predicate != rule.given:
            sources.append(Source(Atom(rule.given, rule.given_terms), database.relation(rule.given), growing=True))
        bound = {term for source in sources for term in source.atom.args} | set(start.args)
        sources += database.type_sources(rule.variables, bound)
        return self._make_join(start.args, sources, database.filters(rule.condition), rule.names, self._tick)

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


def ticks(limits: Limits) -> Iterator[bool]:
    """Yield True for ever, looking at the limits now and then."""
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
