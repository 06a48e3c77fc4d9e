"""Near misses: instances of actions and axioms whose conditions lack as few facts as possible.

A near miss is an answer to a conjunctive query over the facts that may hold, which skips the atoms that the instance
lacks. The search allows more and more skipped atoms until there are instances.

The relaxed world is the delete relaxation for both signs: a fact may hold if it holds initially or an applicable action
adds it, and may fail if it fails initially or an applicable action deletes it. What is impossible in the relaxed world
is impossible in every reachable state.
"""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Final

from planner.compilations.normal_form import GOAL, Conjunction, NormalProblem, Schema, SchemaEffect
from planner.grounding.instantiate import (
    FactTable,
    RawAction,
    RawRule,
    Residuals,
    instantiate_axioms,
    instantiate_one_by_one,
)
from planner.grounding.instantiate import Literal as Number
from planner.grounding.joins import Relation, Row, getter
from planner.grounding.reachability import Database, Reachability, axiom_rules, schema_rules
from planner.limits import Limits
from planner.model import formulas
from planner.model.actions import Action, Literal
from planner.model.domain import DomainModel
from planner.model.formulas import OPEN, And, Atom, Comparison, Equals, Exists, Forall, Formula, Not, Or, Term, Variable

Literals = tuple[Literal, ...]
"""A set of literals, in the order in which conditions name them."""


class Relaxed:
    """The relaxed world of a problem in normal form. Raises `LimitReached` while exploring it."""

    def __init__(self, normal: NormalProblem, limits: Limits) -> None:
        self.normal = normal
        self.limits = limits
        self.database = Database(normal.problem, normal.fluent | normal.derived)
        schemas, axioms = schema_rules(normal), axiom_rules(normal)
        reachability = Reachability(self.database, limits)
        reachability.run([rule for rules in schemas for rule in rules.reachable] + [axiom.rule for axiom in axioms])
        for effect in [effect for rules in schemas for effect in rules.effects if effect.deletes]:
            reachability.find(effect.rule)
        self._table = FactTable.of(self.database, self.database.growing)
        residuals = Residuals(self._table, self.database, limits)
        self.actions = instantiate_one_by_one(schemas, normal.problem, self._table, residuals, limits)
        rules = [*instantiate_axioms(axioms, self._table, residuals, limits), *residuals.rules]
        self._initial = self._table.numbers_of(self.database.initial)
        derived = {rule.head for rule in rules}
        given = [*self._initial, *(~fact for fact in range(len(self._table.atoms)) if fact not in self._initial)]
        self._possible = _close([*given, *(~fact for fact in derived)], _make_operators(self.actions, rules), limits)
        self._relations: dict[str, Relation] = {}

    def relation(self, predicate: str) -> Relation:
        """Return the facts of `predicate` that may hold."""
        if predicate not in self.database.growing:
            return self.database.relation(predicate)
        if predicate not in self._relations:
            numbers = self._table.numbers.get(predicate, {})
            self._relations[predicate] = Relation(row for row, number in numbers.items() if number in self._possible)
        return self._relations[predicate]

    def may(self, literal: Literal) -> bool:
        """Return whether the ground `literal` may hold in some reachable state."""
        if isinstance(literal, Atom):
            return literal.args in self.relation(literal.predicate).rows
        assert isinstance(literal.part, Atom)
        if literal.part.predicate not in self.database.growing:
            return literal.part.args not in self.database.relation(literal.part.predicate).rows
        number = self._table.number(literal.part)
        return number is None or ~number in self._possible

    def bindings(self, variables: tuple[Variable, ...]) -> Iterator[dict[Term, Term]]:
        """Yield all choices of objects for `variables`."""
        names = [variable.name for variable in variables]
        for values in product(*(self.database.members(variable.types) for variable in variables)):
            yield dict(zip(names, values, strict=True))

    def lacks(self, formula: Formula) -> list[Literals]:
        """Return sets of impossible literals, each of which would make `formula` possible; smallest first.

        `formula` is ground and in negation normal form. The result is empty if no literals would, has the empty set if
        nothing is lacking, and has only some of the alternatives if there are many.
        """
        self.limits.check()
        match formula:
            case Atom():
                return [()] if self.may(formula) else [(formula,)]
            case Not(Atom()):
                return [()] if self.may(formula) else [(formula,)]
            case Equals(left, right):
                return [()] if left == right else []
            case Not(Equals(left, right)):
                return [()] if left != right else []
            case And(parts):
                return self._all(parts)
            case Or(parts):
                return self._some(parts)
            case Forall(variables, part):
                return self._all(formulas.substitute(part, binding) for binding in self.bindings(variables))
            case Exists(variables, part):
                return self._some(formulas.substitute(part, binding) for binding in self.bindings(variables))
        raise AssertionError(formula)

    def _all(self, parts: Iterable[Formula]) -> list[Literals]:
        found: list[Literals] = [()]
        for part in parts:
            more = self.lacks(part)
            if more != [()]:
                found = keep_smallest(one + other for one in found for other in more)
            if not found:
                break
        return found

    def _some(self, parts: Iterable[Formula]) -> list[Literals]:
        found: list[Literals] = []
        for part in parts:
            found = keep_smallest([*found, *self.lacks(part)])
            if found[:1] == [()]:
                return [()]
        return found


ALTERNATIVES: Final = 20
"""Most sets of literals that are considered for one condition."""


def keep_smallest(sets: Iterable[Literals]) -> list[Literals]:
    """Return the smallest of `sets`, each literal once and each set once."""
    return sorted(dict.fromkeys(tuple(dict.fromkeys(literals)) for literals in sets), key=len)[:ALTERNATIVES]


Operator = tuple[list[Number], list[Number]]
"""Literals that must be possible, and literals that then become possible."""


def _make_operators(actions: Iterable[RawAction], rules: Iterable[RawRule]) -> Iterator[Operator]:
    for action in actions:
        yield action.condition, [*action.adds, *(~fact for fact in action.deletes)]
        for effect in action.effects:
            yield [*action.condition, *effect.condition], [*effect.adds, *(~fact for fact in effect.deletes)]
    for rule in rules:
        yield list(rule.body), [rule.head]


ROUNDS: Final = 4096
"""Iterations of the closure between two checks of the limits: some milliseconds."""


def _close(given: Iterable[Number], operators: Iterable[Operator], limits: Limits) -> set[Number]:
    """Return all literals that become possible; each operator counts its open conditions (Dowling and Gallier, 1984).

    Raises `LimitReached`.
    """
    possible: set[Number] = set()
    queue = deque(given)
    waiting: dict[Number, list[int]] = defaultdict(list)
    missing: list[int] = []
    results: list[list[Number]] = []
    for number, (condition, result) in enumerate(operators):
        if not number % ROUNDS:
            limits.check()
        needed = set(condition)
        missing.append(len(needed))
        results.append(result)
        for literal in needed:
            waiting[literal].append(number)
        if not needed:
            queue.extend(result)
    while queue:
        literal = queue.popleft()
        if literal in possible:
            continue
        possible.add(literal)
        if not len(possible) % ROUNDS:
            limits.check()
        for number in waiting.pop(literal, ()):
            missing[number] -= 1
            if not missing[number]:
                queue.extend(results[number])
    return possible


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
                binding = _unify(atom_of(head), atom_of(target))
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
    assert isinstance(atom, Atom)
    return atom


def _unify(head: Atom, target: Atom) -> dict[Term, Term] | None:
    if head.predicate != target.predicate:
        return None
    binding: dict[Term, Term] = {}
    for mine, other in zip(head.args, target.args, strict=True):
        expected = binding.setdefault(mine, other) if formulas.is_variable(mine) else mine
        if expected != other:
            return None
    return binding


class Providers:
    """The providers of a problem, found by what they provide."""

    def __init__(self, relaxed: Relaxed) -> None:
        self._database = relaxed.database
        self._by_head: dict[tuple[str, bool], list[Provider]] = defaultdict(list)
        for provider in _find_providers(relaxed.normal):
            for key in dict.fromkeys((atom_of(head).predicate, isinstance(head, Not)) for head in provider.heads):
                self._by_head[key].append(provider)

    def of(self, target: Literal) -> list[Provider]:
        """Return the providers with a head that unifies with `target`."""
        candidates = self._by_head.get((atom_of(target).predicate, isinstance(target, Not)), [])
        return [each for each in candidates if any(self._fits(each, binding) for binding in each.unify(target))]

    def _fits(self, provider: Provider, binding: Mapping[Term, Term]) -> bool:
        return all(
            (binding[variable.name],) in self._database.type_relation(variable.types).rows
            for variable in provider.variables
            if variable.name in binding
        )

    def named(self, predicate: str, *, negative: bool) -> list[Provider]:
        """Return the providers that make an atom of `predicate` true, or false if `negative`."""
        return self._by_head.get((predicate, negative), [])

    def changes(self, target: Literal) -> bool:
        """Return whether there is a provider for the predicate and sign of `target`."""
        return (atom_of(target).predicate, isinstance(target, Not)) in self._by_head


def _find_providers(normal: NormalProblem) -> Iterator[Provider]:
    for schema in normal.schemas:
        heads = _heads_of(schema)
        if heads:
            yield Provider(schema.action, schema.variables, schema.condition, heads)
        for effect in schema.effects:
            variables = (*schema.variables, *effect.variables)
            condition = _conjoin(schema.condition, effect.condition)
            yield Provider(schema.action, variables, condition, _heads_of(effect), effect.condition)
    for axiom in normal.axioms:
        if not axiom.head.predicate.startswith(GOAL):
            yield Provider(None, axiom.variables, axiom.condition, (axiom.head,))


def _heads_of(effect: Schema | SchemaEffect) -> tuple[Literal, ...]:
    return (*effect.adds, *map(Not, effect.deletes))


def _conjoin(one: Conjunction, other: Conjunction) -> Conjunction:
    return Conjunction(
        (*one.variables, *other.variables),
        tuple(dict.fromkeys((*one.atoms, *other.atoms))),
        tuple(dict.fromkeys((*one.negated, *other.negated))),
        (*one.equal, *other.equal),
        (*one.unequal, *other.unequal),
        (*one.residual, *other.residual),
    )


INSTANCES: Final = 12
"""Most instances of a provider for each number of skipped atoms."""
WORK: Final = 20_000
"""Most partial instances in the search for near misses of one provider."""

Binding = dict[Term, Term]


@dataclass(frozen=True, slots=True)
class NearMiss:
    """An instance of a provider, and the impossible literals that it `lacks`.

    `needs` are all literals that it requires, apart from those inside disjunctions and quantifiers.
    """

    provider: Provider
    label: str
    lacks: Literals
    needs: Literals


def find_near_misses(provider: Provider, target: Literal, relaxed: Relaxed) -> list[NearMiss]:
    """Return the instances of `provider` for `target` that lack the fewest literals, or one more than these.

    Instances that lack `target` itself are returned only if there are no others.
    """
    search = _NearMissSearch(provider, relaxed)
    found: dict[NearMiss, None] = {}
    circular: dict[NearMiss, None] = {}
    least = len(provider.condition.atoms)
    for skips in range(len(provider.condition.atoms) + 1):
        if skips > least + 1:
            break
        for binding in provider.unify(target):
            for count, miss in enumerate(search.instances(binding, skips)):
                if target in miss.lacks:
                    circular[miss] = None
                else:
                    found[miss] = None
                    least = min(least, len(miss.lacks))
                if count >= INSTANCES:
                    break
    nearest = sorted(found or circular, key=lambda miss: len(miss.lacks))
    return [miss for miss in nearest if not found or len(miss.lacks) <= least + 1][:INSTANCES]


@dataclass(slots=True)
class _NearMissSearch:
    provider: Provider
    relaxed: Relaxed
    work: int = WORK

    def instances(self, start: Binding, skips: int) -> Iterator[NearMiss]:
        """Yield the instances that extend `start` and skip exactly `skips` atoms, none of which may hold."""
        atoms = frozenset(self.provider.condition.atoms)
        stack: list[tuple[Binding, frozenset[Atom], frozenset[Atom]]] = [(start, atoms, frozenset())]
        while stack and self.work > 0:
            self.work -= 1
            binding, atoms, skipped = stack.pop()
            if not self._fits(binding):
                continue
            if len(atoms) + len(skipped) == skips:
                yield from self._complete(binding, atoms | skipped)
                continue
            atom = min(atoms, key=lambda atom: self._selection_key(atom, binding))
            rest = atoms - {atom}
            if len(skipped) < skips:
                stack.append((binding, rest, skipped | {atom}))
            for row in matching_rows(self.relaxed.relation(atom.predicate), atom, binding):
                extended = _extend(atom, row, binding)
                if extended is not None:
                    stack.append((extended, rest, skipped))

    def _selection_key(self, atom: Atom, binding: Binding) -> tuple[int, int, str]:
        open_args = sum(formulas.is_variable(arg) and arg not in binding for arg in atom.args)
        return open_args, len(self.relaxed.relation(atom.predicate).rows), str(atom)

    def _fits(self, binding: Binding) -> bool:
        """Return whether `binding` respects the types and (in)equalities."""
        self.relaxed.limits.check()
        condition = self.provider.condition
        return (
            all(
                (binding[variable.name],) in self.relaxed.database.type_relation(variable.types).rows
                for variable in self.provider.variables
                if variable.name in binding
            )
            and all(_compare(test, binding) is not False for test in condition.equal)
            and all(_compare(test, binding) is not True for test in condition.unequal)
        )

    def _complete(self, binding: Binding, skipped: frozenset[Atom]) -> Iterator[NearMiss]:
        free: tuple[Variable, ...] = tuple([v for v in self.provider.variables if v.name not in binding])
        for values in self.relaxed.bindings(free):
            self.work -= 1
            if self.work <= 0:
                return
            full = binding | values
            missing = [atom.substitute(full) for atom in self.provider.condition.atoms if atom in skipped]
            if self._fits(full) and not any(map(self.relaxed.may, missing)):
                yield from self._find_lacking(full, missing)

    def _find_lacking(self, binding: Binding, missing: list[Atom]) -> Iterator[NearMiss]:
        """Yield the instance with each alternative set of literals that it lacks."""
        condition = self.provider.condition
        negated = [Not(atom.substitute(binding)) for atom in condition.negated]
        alternatives: list[Literals] = [(*missing, *[literal for literal in negated if not self.relaxed.may(literal)])]
        for formula in condition.residual:
            more = self.relaxed.lacks(formulas.substitute(formula, binding))
            alternatives = keep_smallest(one + other for one in alternatives for other in more)
        label = self.provider.label(binding)
        needs: Literals = (*[atom.substitute(binding) for atom in condition.atoms], *negated)
        yield from (NearMiss(self.provider, label, lacks, needs) for lacks in alternatives)


def _compare(test: Equals, binding: Binding) -> bool | None:
    left, right = binding.get(test.left, test.left), binding.get(test.right, test.right)
    return None if formulas.is_variable(left) or formulas.is_variable(right) else left == right


def matching_rows(relation: Relation, atom: Atom, binding: Binding) -> Iterator[Row]:
    """Yield the rows of `relation` that agree with what is bound in `atom`."""
    args = tuple([binding.get(arg, arg) for arg in atom.args])
    key = tuple([place for place, arg in enumerate(args) if not formulas.is_variable(arg)])
    if len(key) == len(args):
        if args in relation.rows:
            yield args
        return
    found = relation.index(key, tuple(range(len(args)))).get(getter(key)(args), ())
    yield from ((row,) if len(args) == 1 else row for row in found)


def _extend(atom: Atom, row: Row, binding: Binding) -> Binding | None:
    extended = dict(binding)
    for arg, value in zip(atom.args, row, strict=True):
        if formulas.is_variable(arg) and extended.setdefault(arg, value) != value:
            return None
    return extended


class Words:
    """How explanations write facts; a problem compiled to another one has words of its own."""

    def __init__(self, domain: DomainModel) -> None:
        self._domain = domain

    def literal(self, literal: Literal) -> str:
        """Return `literal` as text."""
        return describe_literal(literal, self._domain)

    def formula(self, formula: Formula) -> str:
        """Return a part of the goal as text."""
        return str(formula)

    def effects(self, action: Action, label: str, literal: Literal) -> tuple[str, ...]:  # noqa: ARG002 - for others
        """Return the effects by which the step `label` of `action` only helps `literal`; none if it provides that."""
        return ()


def describe_literal(literal: Literal | Comparison, domain: DomainModel) -> str:
    """Return a literal or a comparison as text; facts `ran-…`, which stand for `after`, become sentences."""
    atom = literal.part if isinstance(literal, Not) else literal
    if not isinstance(atom, Atom):
        return str(literal)
    text = str(atom) if atom.predicate in domain.predicates else _describe_run(atom, domain) or str(atom)
    return f"not {text}" if isinstance(literal, Not) else text


def _describe_run(atom: Atom, domain: DomainModel) -> str | None:
    """Return a sentence for `atom` if it is a fact `ran-…` of an action, else None."""
    for action in domain.actions.values():
        match = re.fullmatch(rf"ran-{re.escape(action.name)}((?:-\d+)*)_*", atom.predicate)
        if match is not None:
            places = [int(place) for place in match[1].split("-")[1:]] or range(len(atom.args))
            bound = dict(zip(places, atom.args, strict=True))
            arguments = ", ".join(bound.get(place, OPEN) for place in range(len(action.parameters)))
            return f"{action.name}({arguments}) has run"
    return None
