"""The lifted normal form for grounding: action schemas and axioms whose conditions are conjunctions of literals.

Problem → compile_adl → NormalProblem(schemas, axioms, goal)

Normalization replaces implications, moves negations to the atoms, renames variables apart, moves existential variables
out, and multiplies small disjunctions out (Gazen and Knoblock, 1997). Universal quantifiers and large disjunctions stay
as *residual* formulas: grounding expands them for each ground action, where most of their parts are known to be true or
false. A schema refers to its source action; the parameters of that action are its first variables.

`narrow_deletes` replaces universal deletes. `modifies at(robot, _)` in an action that requires `at(robot, origin)`
deletes as many facts as there are rooms. If at most one `at(robot, …)` holds at a time, deleting the required fact
suffices. Schemas prove that by induction (Edelkamp and Helmert, 1999; Helmert, 2009): the initial state has at most one
fact of each item, and every effect that adds a fact of an item deletes the one that holds.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from planner.compilations.passes import compile_away
from planner.lightweight import Final, TypeVar, dataclass, replace
from planner.model import formulas
from planner.model.actions import Action, Literal, When, negated_atoms, positive_atoms
from planner.model.constructs import Construct
from planner.model.domain import ROOT_TYPE
from planner.model.formulas import (
    TRUE,
    And,
    Atom,
    Equals,
    Exists,
    Forall,
    Formula,
    Not,
    Or,
    Term,
    Variable,
    join_parts,
)
from planner.model.problem import Problem

SPLIT_LIMIT: Final = 12
"""Maximum number of conjunctions from multiplying out the condition of one action."""


@dataclass(frozen=True, slots=True)
class Conjunction:
    """The conjunction of `atoms`, the negations of `negated`, (in)equalities and `residual`, for some `variables`."""

    variables: tuple[Variable, ...] = ()
    atoms: tuple[Atom, ...] = ()
    negated: tuple[Atom, ...] = ()
    equal: tuple[Equals, ...] = ()
    unequal: tuple[Equals, ...] = ()
    residual: tuple[Formula, ...] = ()


def split_disjuncts(
    formula: Formula, limit: int = SPLIT_LIMIT, fresh: Iterator[int] | None = None
) -> list[Conjunction]:
    """Return conjunctions whose disjunction is `formula`; none if `formula` is false.

    `fresh` numbers the renamed variables; formulas that share this iterator share no such variable.
    """
    normal = to_negation_normal_form(formula, itertools.count() if fresh is None else fresh)
    return [_make_conjunction(pieces) for pieces in _split(normal, limit)]


def to_negation_normal_form(formula: Formula, fresh: Iterator[int]) -> Formula:
    """Return `formula` with negations at the atoms, and quantified variables renamed apart."""
    return _rename_quantified(formulas.push_negations(formula), fresh)


def _rename_quantified(formula: Formula, fresh: Iterator[int]) -> Formula:
    match formula:
        case And(parts) | Or(parts):
            return join_parts(type(formula), [_rename_quantified(part, fresh) for part in parts])
        case Forall(variables, part) | Exists(variables, part):
            renamed = {variable.name: f"{variable.name}@{next(fresh)}" for variable in variables}
            body = _rename_quantified(formulas.substitute(part, renamed), fresh)
            new = tuple([Variable(renamed[variable.name], variable.types) for variable in variables])
            return _push_quantifier_in(type(formula), new, body)
        case _:
            return formula


def _push_quantifier_in(kind: type[Forall | Exists], variables: tuple[Variable, ...], body: Formula) -> Formula:
    """Push a quantifier in where it distributes: a universal one over `and`, an existential one over `or`.

    A quantified part that does not use the `variables` moves out; inside, it would be instantiated for each object.
    """
    through, across = (And, Or) if kind is Forall else (Or, And)
    if isinstance(body, through):
        return through(tuple([_push_quantifier_in(kind, variables, part) for part in body.parts]))
    names = {variable.name for variable in variables}
    parts = list(body.parts) if isinstance(body, across) else [body]
    outside = [part for part in parts if _is_quantified(part) and not formulas.free_variables(part) & names]
    if outside:
        inside = join_parts(across, [part for part in parts if part not in outside])
        return join_parts(across, [*outside, _push_quantifier_in(kind, variables, inside)])
    if isinstance(body, kind):
        return kind((*variables, *body.variables), body.part)
    return kind(variables, body)


def _is_quantified(formula: Formula) -> bool:
    return any(isinstance(part, Forall | Exists) for part in formulas.walk(formula))


def _split(formula: Formula, limit: int) -> list[list[Formula]]:
    match formula:
        case Or(parts):
            branches = _split_disjunction(parts, limit)
            return branches if len(branches) <= limit else [[formula]]
        case And(parts):
            return _multiply_out([_split(part, limit) for part in parts], limit)
        case Exists(variables, part):
            return [[Exists(variables, TRUE), *pieces] for pieces in _split(part, limit)]
        case _:
            return [[formula]]


def _split_disjunction(parts: tuple[Formula, ...], limit: int) -> list[list[Formula]]:
    """Return the alternatives of a disjunction; inequalities make one alternative, and the others exclude it.

    Almost all objects satisfy an inequality, so the other alternatives require its negation. With only one other part,
    the disjunction stays whole, since each ground action makes it either true or that part.
    """
    unequal = [part for part in parts if isinstance(part, Not) and isinstance(part.part, Equals)]
    others = [part for part in parts if part not in unequal]
    if unequal and len(others) <= 1:
        return [[Or(parts)]]
    branches = [pieces for part in others for pieces in _split(part, limit)]
    if not unequal:
        return branches
    equal = [part.part for part in unequal]
    return [[join_parts(Or, [*unequal])], *[[*equal, *pieces] for pieces in branches]]


def _multiply_out(factors: list[list[list[Formula]]], limit: int) -> list[list[Formula]]:
    """Multiply disjunctions out, smallest first; keep whole those that would exceed `limit`."""
    product: list[list[Formula]] = [[]]
    for branches in sorted(factors, key=len):
        if len(product) * len(branches) > max(limit, 1) and len(branches) > 1:
            product = [[*pieces, _make_disjunction(branches)] for pieces in product]
        else:
            product = [[*pieces, *branch] for pieces in product for branch in branches]
    return product


def _make_disjunction(branches: list[list[Formula]]) -> Formula:
    """Return the disjunction of `branches`, as a formula."""
    return Or(tuple([_make_formula(pieces) for pieces in branches]))


def _make_formula(pieces: list[Formula]) -> Formula:
    variables = tuple([v for piece in pieces if isinstance(piece, Exists) for v in piece.variables])
    rest = [piece for piece in pieces if not isinstance(piece, Exists)]
    body = rest[0] if len(rest) == 1 else And(tuple(rest))
    return Exists(variables, body) if variables else body


def _make_conjunction(pieces: list[Formula]) -> Conjunction:
    bound = [piece.variables for piece in pieces if isinstance(piece, Exists) and piece.part == TRUE]
    rest = [piece for piece in pieces if not isinstance(piece, Exists) or piece.part != TRUE]
    denied = [piece.part for piece in rest if isinstance(piece, Not)]
    return Conjunction(
        variables=tuple(itertools.chain.from_iterable(bound)),
        atoms=_unique(piece for piece in rest if isinstance(piece, Atom)),
        negated=_unique(part for part in denied if isinstance(part, Atom)),
        equal=_unique(piece for piece in rest if isinstance(piece, Equals)),
        unequal=_unique(part for part in denied if isinstance(part, Equals)),
        residual=_unique(piece for piece in rest if not isinstance(piece, Atom | Not | Equals)),
    )


Part = TypeVar("Part")


def _unique(parts: Iterable[Part]) -> tuple[Part, ...]:
    return tuple(dict.fromkeys(parts))


RULE_LIMIT: Final = 1000
"""Maximum number of rules from one axiom, or one part of the goal: rules are cheaper than copies of actions."""

GOAL: Final = "@goal"
"""Prefix of the derived predicates that replace parts of the goal with alternatives."""


@dataclass(frozen=True, slots=True)
class SchemaEffect:
    """An effect for all `variables` if `condition` holds (its existential variables are universal here)."""

    variables: tuple[Variable, ...]
    condition: Conjunction
    adds: tuple[Atom, ...]
    deletes: tuple[Atom, ...]


@dataclass(frozen=True, slots=True)
class Schema:
    """One conjunctive case of an action."""

    action: Action
    condition: Conjunction
    adds: tuple[Atom, ...]
    deletes: tuple[Atom, ...]
    effects: tuple[SchemaEffect, ...]

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The parameters, then the existential variables of the condition."""
        return (*self.action.parameters, *self.condition.variables)


@dataclass(frozen=True, slots=True)
class NormalAxiom:
    """The rule that derives `head` if `condition` holds."""

    head: Atom
    variables: tuple[Variable, ...]
    condition: Conjunction


@dataclass(frozen=True, slots=True)
class NormalProblem:
    """A problem in normal form; `problem` is its plain ADL source.

    `written` maps the formulas in `goal` that replace a part of the declared goal to that part.
    """

    problem: Problem
    schemas: tuple[Schema, ...]
    axioms: tuple[NormalAxiom, ...]
    goal: Conjunction
    fluent: frozenset[str]
    derived: frozenset[str]
    written: Mapping[Formula, Formula]


def normalise(problem: Problem) -> NormalProblem:
    """Compile `problem` to normal form."""
    plain = compile_away(problem, Construct.CHANGES)
    actions = plain.domain.actions.values()
    goal, goal_axioms, written = _make_goal(plain.goal.hard)
    return NormalProblem(
        problem=plain,
        schemas=tuple([schema for action in actions for schema in _make_schemas(action)]),
        axioms=(*_make_axioms(plain), *goal_axioms),
        goal=goal,
        fluent=frozenset(_written_predicates(actions)),
        derived=plain.domain.derived | {axiom.head.predicate for axiom in goal_axioms},
        written=written,
    )


def _written_predicates(actions: Iterable[Action]) -> Iterator[str]:
    for action in actions:
        for effect in action.effects:
            yield from (atom.predicate for atom in (*positive_atoms(effect.provides), *negated_atoms(effect.provides)))


def _make_schemas(action: Action) -> Iterator[Schema]:
    fresh = itertools.count()
    effects = tuple([part for when in action.when for part in _make_effects(_rename_apart(when, action, fresh), fresh)])
    for condition in split_disjuncts(action.requires, fresh=fresh):
        yield Schema(action, condition, positive_atoms(action.provides), negated_atoms(action.provides), effects)


def _rename_apart(when: When, action: Action, fresh: Iterator[int]) -> When:
    """Rename the variables of `when` that shadow parameters of `action`."""
    parameters = {parameter.name for parameter in action.parameters}
    renamed = {v.name: f"{v.name}@{next(fresh)}" for v in when.variables if v.name in parameters}
    if not renamed:
        return when
    return When(
        formulas.substitute(when.requires, renamed),
        tuple([_rename_literal(literal, renamed) for literal in when.provides]),
        (),
        tuple([Variable(renamed.get(v.name, v.name), v.types) for v in when.variables]),
    )


def _rename_literal(literal: Literal, names: Mapping[Term, Term]) -> Literal:
    atom = literal.part if isinstance(literal, Not) else literal
    assert isinstance(atom, Atom)
    return Not(atom.substitute(names)) if isinstance(literal, Not) else atom.substitute(names)


def _make_effects(when: When, fresh: Iterator[int]) -> Iterator[SchemaEffect]:
    for condition in split_disjuncts(when.requires, fresh=fresh):
        variables = (*when.variables, *condition.variables)
        yield SchemaEffect(variables, condition, positive_atoms(when.provides), negated_atoms(when.provides))


def _make_axioms(problem: Problem) -> Iterator[NormalAxiom]:
    for axiom in problem.domain.axioms:
        for condition in split_disjuncts(axiom.condition, RULE_LIMIT):
            yield NormalAxiom(axiom.head, (*axiom.parameters, *condition.variables), condition)


def _make_goal(goal: Formula) -> tuple[Conjunction, list[NormalAxiom], dict[Formula, Formula]]:
    """Return the goal as a conjunction, axioms for its parts with alternatives, and what each new formula replaces."""
    atoms: list[Atom] = []
    negated: list[Atom] = []
    residual: list[Formula] = []
    axioms: list[NormalAxiom] = []
    written: dict[Formula, Formula] = {}
    for number, part in enumerate(formulas.conjuncts(goal)):
        cases = split_disjuncts(part, RULE_LIMIT)
        if len(cases) == 1 and not cases[0].variables:
            atoms += cases[0].atoms
            negated += cases[0].negated
            residual += [*cases[0].residual, *cases[0].equal, *[Not(equality) for equality in cases[0].unequal]]
            written |= dict.fromkeys(cases[0].residual, part)
        else:
            head = Atom(f"{GOAL}{number}")
            axioms += [NormalAxiom(head, case.variables, case) for case in cases]
            atoms.append(head)
            written[head] = part
    return Conjunction((), tuple(atoms), tuple(negated), (), (), tuple(residual)), axioms, written


ALWAYS = Conjunction()


@dataclass(frozen=True, slots=True)
class _ItemKind:
    """A kind of items: facts of `predicate` that agree at the positions `key` are the values of one item."""

    predicate: str
    key: tuple[int, ...]

    def of(self, atom: Atom) -> tuple[Term, ...]:
        """Return the item of which `atom`, of this predicate, is a value."""
        return tuple([atom.args[place] for place in self.key])


def narrow_deletes(normal: NormalProblem) -> NormalProblem:
    """Replace universal deletes by deletes of single required facts if at most one fact provably holds."""
    blankets = {
        number: found for number, s in enumerate(normal.schemas) if (found := _find_blankets(s, normal.problem))
    }
    if not blankets:
        return normal
    adders: dict[str, set[int]] = defaultdict(set)
    for number, schema in enumerate(normal.schemas):
        for predicate in {atom.predicate for atom, _ in _added_atoms(schema)}:
            adders[predicate].add(number)
    proved = {
        items: not _has_two_values_initially(items, normal.problem)
        and all(_keeps_one_value(items, normal.schemas[n], blankets.get(n, {})) for n in adders[items.predicate])
        for items in dict.fromkeys([items for found in blankets.values() for items in found.values()])
    }
    schemas = list(normal.schemas)
    for number, found in blankets.items():
        schemas[number] = _narrow_schema(
            schemas[number], {place: items for place, items in found.items() if proved[items]}
        )
    return replace(normal, schemas=tuple(schemas))


def _find_blankets(schema: Schema, problem: Problem) -> dict[int, _ItemKind]:
    """Return, by place, the effects of `schema` that delete all values of one item, with the kind of item."""
    found = {}
    for place, effect in enumerate(schema.effects):
        if effect.variables and effect.condition == ALWAYS and not effect.adds and len(effect.deletes) == 1:
            items = _item_kind_of(effect, problem)
            if items is not None:
                found[place] = items
    return found


def _item_kind_of(effect: SchemaEffect, problem: Problem) -> _ItemKind | None:
    (atom,) = effect.deletes
    types = {variable.name: set(variable.types) for variable in effect.variables}
    parameters = problem.domain.predicates[atom.predicate].parameters
    open_places = [place for place, arg in enumerate(atom.args) if arg in types]
    if len({atom.args[place] for place in open_places}) < max(len(open_places), len(types)):
        return None
    for place in open_places:
        kinds = types[atom.args[place]]
        if ROOT_TYPE not in kinds and not kinds.issuperset(parameters[place].types):
            return None
    return _ItemKind(atom.predicate, tuple([place for place in range(len(atom.args)) if place not in open_places]))


def _has_two_values_initially(items: _ItemKind, problem: Problem) -> bool:
    held = {fact for fact in problem.initial if fact.predicate == items.predicate}
    return len({items.of(fact) for fact in held}) < len(held)


def _added_atoms(schema: Schema) -> Iterator[tuple[Atom, SchemaEffect | None]]:
    yield from ((atom, None) for atom in schema.adds)
    yield from ((atom, effect) for effect in schema.effects for atom in effect.adds)


def _keeps_one_value(items: _ItemKind, schema: Schema, blankets: dict[int, _ItemKind]) -> bool:
    """Return whether an instance of `schema` leaves every item with at most one value, if each had at most one."""
    adds = [(atom, effect) for atom, effect in _added_atoms(schema) if atom.predicate == items.predicate]
    if any(effect is not None and effect.variables for _, effect in adds):
        return False
    given = dict.fromkeys(atom for atom, _ in adds)
    cleared = {items.of(schema.effects[place].deletes[0]) for place, kind in blankets.items() if kind == items}
    cleared.update(items.of(atom) for atom in _required_deletes(schema) if atom.predicate == items.predicate)
    held = set(schema.condition.atoms)
    return all(items.of(atom) in cleared or atom in held for atom in given) and all(
        _always_differ(items.of(one), items.of(other), schema) for one in given for other in given if one is not other
    )


def _required_deletes(schema: Schema) -> Iterator[Atom]:
    return (atom for atom in schema.deletes if atom in schema.condition.atoms)


def _always_differ(one: tuple[Term, ...], other: tuple[Term, ...], schema: Schema) -> bool:
    """Return whether the two items always differ."""
    apart = {frozenset((test.left, test.right)) for test in schema.condition.unequal}
    return any(
        frozenset((mine, theirs)) in apart
        or (mine != theirs and not formulas.is_variable(mine) and not formulas.is_variable(theirs))
        for mine, theirs in zip(one, other, strict=True)
    )


def _narrow_schema(schema: Schema, blankets: dict[int, _ItemKind]) -> Schema:
    """Replace the effects at `blankets` by deletes of the required facts that they cover, if there are any."""
    deletes = dict.fromkeys(schema.deletes)
    replaced = set()
    for place, items in blankets.items():
        pattern = schema.effects[place].deletes[0]
        for atom in schema.condition.atoms:
            if atom.predicate == items.predicate and items.of(atom) == items.of(pattern):
                deletes[atom] = None
                replaced.add(place)
    effects = tuple([effect for place, effect in enumerate(schema.effects) if place not in replaced])
    return replace(schema, deletes=tuple(deletes), effects=effects)
