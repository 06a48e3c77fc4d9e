"""Lint single actions, without objects or other actions.

`modifies at(robot, _)` means "the robot has one place, and it changes". Lint proves this by mutex groups, or reports
it. Mutex groups have one open argument at most, so the lack of a proof for more open arguments is a note only. Lint
also reports arguments whose types cannot stand where they stand, such as two arguments in the wrong order.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterable, Iterator, Mapping

from planner.compilations.normal_form import Conjunction, split_disjuncts
from planner.grounding.ground import find_single_valued
from planner.language.declare.declared_names import Types
from planner.limits import Limits
from planner.lint.findings import Finding, Level, Mend, conjoined_atoms, provided_atoms
from planner.model import And, Atom, Equals, Exists, Forall, Formula, Not
from planner.model.actions import (
    CHECK,
    Action,
    CostFunction,
    When,
    has_open_argument,
    negated_atoms,
    positive_atoms,
)
from planner.model.domain import ROOT_TYPE, DomainModel, amounts_of, numeric_effects
from planner.model.formulas import (
    OPEN,
    TRUE,
    Variable,
    children,
    conjuncts,
    free_variables,
    functions_in,
    is_variable,
    terms_of,
    unmarked,
)
from planner.model.problem import Problem


def check_action(action: Action, domain: DomainModel) -> Iterator[Finding]:
    """Yield the findings about `action` alone."""
    yield from _check_parameters(action, domain)
    yield from _check_creations(action)
    yield from _check_conditions(action)
    yield from _check_effects(action)
    yield from _check_known_effects(action, domain)
    yield from _check_repeated(action)
    yield from _check_outcomes(action)
    yield from _check_listings(action, domain)


def _check_listings(action: Action, domain: DomainModel) -> Iterator[Finding]:
    """Yield the listings whose objects have no type of their own: conditions on a type would not find them."""
    for pattern in action.lists:
        parameters = domain.predicates[pattern.predicate].parameters
        opened = [each for each, arg in zip(parameters, pattern.args, strict=True) if arg == OPEN]
        if domain.types and any(each.types == (ROOT_TYPE,) for each in opened):
            message = f"nothing says of which type the objects are that it lists: {pattern}"
            hint = f"declare the predicate {pattern.predicate} with the types of its arguments"
            yield Finding(Level.WARNING, "untyped-listing", f"action {action.name}", message, hint)


def _check_parameters(action: Action, domain: DomainModel) -> Iterator[Finding]:
    if any(isinstance(term, CostFunction) for term in amounts_of(action)):
        return
    used = _terms_in(action)
    for parameter in action.parameters:
        if parameter.name not in used:
            message = f"the parameter '{parameter.name.removeprefix('?')}' is used in no condition, effect or cost"
            name, place = parameter.name.removeprefix("?"), f"action {action.name}"
            tie = _find_tie(parameter, action, domain)
            hint = "it only multiplies the ground actions: leave it out"
            hint += f", or require what ties it to the others, such as {tie}" if tie else ""
            mend = None if tie else Mend("remove", "parameters", name)
            yield Finding(Level.WARNING, "unused-parameter", place, message, hint, "parameters", name, mend=mend)


def _find_tie(parameter: Variable, action: Action, domain: DomainModel) -> str:
    """Return a fact that may have been forgotten: one of `parameter` and of others that the action has."""
    types = Types.of(domain.types)
    if any(each.name != parameter.name and types.overlap(each.types, parameter.types) for each in action.parameters):
        return ""  # another one of its type is tied to the rest
    for predicate in domain.predicates.values():
        own = [n for n, each in enumerate(predicate.parameters) if each.types == parameter.types != (ROOT_TYPE,)]
        if not own or len(predicate.parameters) < 2:
            continue
        args = []
        for place, wanted in enumerate(predicate.parameters):
            fits = [x for x in action.parameters if x.name != parameter.name and types.overlap(x.types, wanted.types)]
            args.append(parameter.name if place == own[0] else fits[0].name if fits else "")
        if all(args):
            return unmarked(Atom(predicate.name, tuple(args)))
    return ""


def _check_creations(action: Action) -> Iterator[Finding]:
    used = _terms_in(action)
    for name in action.creates:
        if name not in used:
            message = f"it creates '{name.removeprefix('?')}', of which no effect says anything"
            hint = "provide a fact of it: no condition and no goal can find it otherwise"
            place = f"action {action.name}"
            yield Finding(Level.WARNING, "unused-creation", place, message, hint, "creates", name.removeprefix("?"))


def _terms_in(action: Action) -> set[str]:
    """Return every term in the conditions, effects, costs, `after` and data of the action."""
    effects = [*action.effects, *(When(provides=outcome.provides) for outcome in action.outcomes)]
    atoms = [
        *(atom for effect in effects for atom in (*positive_atoms(effect.provides), *negated_atoms(effect.provides))),
        *(atom for effect in effects for atom in effect.modifies),
        *(atom for outcome in action.outcomes for atom in outcome.modifies),
        *(atom for term in amounts_of(action) if not isinstance(term, CostFunction) for atom in functions_in(term)),
        *(atom for effect in numeric_effects(action) for atom in (effect.fluent, *functions_in(effect.value))),
        *action.after,
        *action.senses,
        *action.lists,
        *(parameter.source.fact for parameter in action.data if parameter.source is not None),
    ]
    conditions = [action.requires, *(effect.requires for effect in effects)]
    return terms_of(atoms) | {name for condition in conditions for name in free_variables(condition)}


def _check_conditions(action: Action) -> Iterator[Finding]:
    place = f"action {action.name}"
    clash = find_contradiction(action.requires)
    if clash is not None:
        message = f"it can never apply: what it requires contradicts itself ({clash})"
        yield Finding(Level.ERROR, "contradicting-requires", place, message, field="requires")
        return
    for effect in action.when:
        clash = find_contradiction(And((action.requires, effect.requires)))
        if clash is not None:
            message = f"an effect under the condition '{effect.requires}' never happens ({clash})"
            yield Finding(Level.WARNING, "contradicting-when", place, message, field="when")


def find_contradiction(condition: Formula) -> str | None:
    """Find why no state satisfies `condition`, as far as equalities and literals tell; None when one may."""
    clashes = [_find_clash(conjunction) for conjunction in split_disjuncts(condition)]
    return None if None in clashes else clashes[0] if clashes else "it is false"


def _find_clash(conjunction: Conjunction) -> str | None:
    same = _union_equal(conjunction.equal)
    binding = {term: _find(same, term) for term in same}
    for equality in conjunction.equal:
        left, right = _find(same, equality.left), _find(same, equality.right)
        if left != right:
            return f"{left} and {right} are different objects"
    for unequal in conjunction.unequal:
        if _find(same, unequal.left) == _find(same, unequal.right):
            return f"{Not(unequal)} cannot hold"
    held = {atom.substitute(binding) for atom in conjunction.atoms}
    for atom in conjunction.negated:
        if atom.substitute(binding) in held:
            return f"both {atom} and not {atom}"
    return None


def _union_equal(equalities: tuple[Equals, ...]) -> dict[str, str]:
    """Union the equated terms: map each to its parent, with objects as representatives."""
    parents: dict[str, str] = {}
    for equality in equalities:
        left, right = _find(parents, equality.left), _find(parents, equality.right)
        if left != right and is_variable(left):
            parents[left] = right
        elif left != right and is_variable(right):
            parents[right] = left
    return parents


def _find(parents: dict[str, str], term: str) -> str:
    while term in parents:
        term = parents[term]
    return term


def _check_effects(action: Action) -> Iterator[Finding]:
    place = f"action {action.name}"
    if not (action.effects or action.outcomes or action.senses or CHECK in action.tags):
        yield Finding(Level.WARNING, "no-effect", place, "it provides and modifies nothing")
    for effect in action.effects:
        for atom in sorted(set(positive_atoms(effect.provides)) & set(negated_atoms(effect.provides)), key=str):
            message = f"it provides both {atom} and not {atom}: adding wins, so the latter does nothing"
            yield Finding(Level.WARNING, "provides-and-ends", place, message, field="provides", part=atom)


def _check_known_effects(action: Action, domain: DomainModel) -> Iterator[Finding]:
    """Yield effects that the action requires already, unless it also writes them otherwise; one alone does nothing."""
    same = _same_terms(action)
    required = {atom.substitute(same) for atom in conjoined_atoms(action.requires)}
    negated = [each.part for each in conjuncts(action.requires) if isinstance(each, Not)]
    excluded = {each.substitute(same) for each in negated if isinstance(each, Atom)}
    always = [effect for effect in action.effects if effect.requires == TRUE and not effect.variables]
    ended = [atom.substitute(same) for effect in always for atom in negated_atoms(effect.provides)]
    items = {pattern.predicate for effect in always for pattern in effect.modifies}
    given = {atom.substitute(same): atom for effect in always for atom in positive_atoms(effect.provides)}
    place = f"action {action.name}"
    for known, atom in given.items():
        predicate = domain.predicates.get(atom.predicate)
        ends = atom.predicate in items or known in ended or (predicate is not None and predicate.stale_with)
        if known in required and not ends:
            gone = next((x for x in ended if x.predicate == atom.predicate), None)
            message = f"it provides {unmarked(atom)}, which it also requires: that changes nothing"
            message += f"; it ends {unmarked(gone)}: are they the wrong way round?" if gone is not None else ""
            if _is_idle(action, required, excluded, same):
                message = f"it changes nothing: all that it provides, such as {unmarked(atom)}, is so before it"
                yield Finding(Level.WARNING, "known-effect", place, message, field="provides", part=atom)
                return
            yield Finding(Level.HINT, "known-effect", place, message, field="provides", part=atom)
    for atom in dict.fromkeys(ended):
        if atom in excluded and atom not in given:
            message = f"it provides not {unmarked(atom)}, which it also requires: that changes nothing"
            yield Finding(Level.HINT, "known-effect", place, message, "is one 'not' too many?", "provides", atom)


def _same_terms(action: Action) -> dict[str, str]:
    """Return for each term that the action requires to equal another one, the one that stands for both."""
    same = _union_equal(tuple([each for each in conjuncts(action.requires) if isinstance(each, Equals)]))
    return {term: _find(same, term) for term in same}


def _is_idle(action: Action, required: set[Atom], excluded: set[Atom], same: Mapping[str, str]) -> bool:
    """Return whether the action changes nothing: all that it gives is required, and all that it ends excluded."""
    if action.when or action.outcomes or action.creates or action.senses or action.lists or action.has_moments:
        return False
    given = {atom.substitute(same) for atom in positive_atoms(action.provides)}
    ended = [atom.substitute(same) for atom in (*negated_atoms(action.provides), *action.modifies)]
    others = [atom for atom in ended if atom not in given and atom not in excluded]
    return given <= required and not others and not any(True for _ in numeric_effects(action))


def _check_repeated(action: Action) -> Iterator[Finding]:
    """Yield what the action requires, or provides, twice."""
    for field, parts in (("requires", tuple(conjuncts(action.requires))), ("provides", action.provides)):
        twice = next((part for place, part in enumerate(parts) if part in parts[:place]), None)
        if isinstance(twice, Atom):
            message, hint = f"it {field} {unmarked(twice)} twice", "should one of them be about something else?"
            yield Finding(Level.HINT, "repeated-part", f"action {action.name}", message, hint, field, twice)


def _check_outcomes(action: Action) -> Iterator[Finding]:
    """Yield outcomes with equal effects, and the lack of one with the declared effects."""
    effects = [(frozenset(each.provides), frozenset(each.modifies)) for each in action.outcomes]
    place = f"action {action.name}"
    for at, effect in enumerate(effects):
        first = effects.index(effect)
        if first < at:
            message = f"its outcomes {first + 1} and {at + 1} have the same effects"
            hint = "one with the sum of both will do"
            yield Finding(Level.HINT, "equal-outcomes", place, message, hint, "outcomes")
    if effects and (frozenset(action.provides), frozenset(action.modifies)) not in effects:
        message = "none of its outcomes is what it provides and modifies, which plans may count on"
        yield Finding(Level.WARNING, "unintended-outcomes", place, message, "make that an outcome, or change it")


def check_single_values(problem: Problem, limits: Limits) -> Iterator[Finding]:
    """Yield the open patterns of `modifies` whose items may have several values; raises `LimitReached`."""
    places = _open_patterns(problem.domain)
    if not places:
        return
    for pattern, proved in find_single_valued(problem, places, limits).items():
        if not proved:
            yield Finding(
                Level.WARNING if pattern.args.count(OPEN) == 1 else Level.HINT,
                "several-values",
                f"action {places[pattern][0].name}",
                f"it modifies {places[pattern][1]}, but that such an item has one value at a time cannot be proved",
                _find_suspects(pattern, problem),
                "modifies",
                places[pattern][1],
            )


def _open_patterns(domain: DomainModel) -> dict[Atom, tuple[Action, Atom]]:
    """Return the open patterns of `modifies`, each with the first place that has it.

    An action that gives the item no new value may be meant to end all of them.
    """
    found: dict[Atom, tuple[Action, Atom]] = {}
    for action in domain.actions.values():
        given = {fact.predicate for fact in provided_atoms(action)}
        for patterns in [*[effect.modifies for effect in action.effects], *[x.modifies for x in action.outcomes]]:
            for pattern in filter(has_open_argument, patterns):
                if pattern.predicate in given:
                    found.setdefault(_item_of(pattern), (action, pattern))
    return found


def _item_of(pattern: Atom) -> Atom:
    """Return the pattern with its bound arguments named by their places: the same for the same kind of item."""
    return Atom(pattern.predicate, tuple([arg if arg == OPEN else f"?{n}" for n, arg in enumerate(pattern.args, 1)]))


def _find_suspects(pattern: Atom, problem: Problem) -> str:
    """Return what most likely gives an item a second value."""
    adders = [
        action.name
        for action in problem.domain.actions.values()
        for effect in action.effects
        if any(atom.predicate == pattern.predicate for atom in positive_atoms(effect.provides))
        and not any(atom.predicate == pattern.predicate for atom in (*effect.modifies, *negated_atoms(effect.provides)))
    ]
    names = ", ".join(dict.fromkeys(adders))
    return f"provided without ending the old value by {names}" if names else "look at the initial state"


Kinds = ChainMap[str, tuple[str, ...]]
"""The types of variables and objects, by their names."""


def check_arguments(domain: DomainModel) -> Iterator[Finding]:
    """Yield the atoms in actions and axioms with an argument whose type cannot stand there."""
    types = Types.of(domain.types)
    constants = {each.name: each.types for each in domain.constants}
    for action in domain.actions.values():
        own = ChainMap(_types_by_name(action.step_parameters), constants)
        atoms = [*_atoms_in(action.requires, own), *[(item, own) for item in action.modifies]]
        for effect in action.effects:
            inside = own.new_child(_types_by_name(effect.variables)) if effect.variables else own
            atoms += _atoms_in(effect.requires, inside)
            atoms += [(fact, inside) for fact in (*positive_atoms(effect.provides), *negated_atoms(effect.provides))]
        for outcome in action.outcomes:
            atoms += [(fact, own) for fact in (*positive_atoms(outcome.provides), *negated_atoms(outcome.provides))]
        yield from _check_atoms(atoms, f"action {domain.versions.get(action.name, action.name)}", domain, types)
    for axiom in domain.axioms:
        own = ChainMap(_types_by_name(axiom.parameters), constants)
        atoms = [(axiom.head, own), *_atoms_in(axiom.condition, own)]
        yield from _check_atoms(atoms, f"derived {axiom.predicate}", domain, types)


def _types_by_name(variables: Iterable[Variable]) -> dict[str, tuple[str, ...]]:
    return {each.name: each.types for each in variables}


def _atoms_in(formula: Formula, kinds: Kinds) -> Iterator[tuple[Atom, Kinds]]:
    """Yield the atoms of `formula`, each with the types of the names in scope."""
    stack = [(formula, kinds)]
    while stack:
        part, known = stack.pop()
        if isinstance(part, Atom):
            yield part, known
        if isinstance(part, Forall | Exists):
            known = known.new_child(_types_by_name(part.variables))
        stack += [(each, known) for each in children(part)]


def _check_atoms(
    atoms: Iterable[tuple[Atom, Kinds]], place: str, domain: DomainModel, types: Types
) -> Iterator[Finding]:
    """Yield the arguments whose types do not overlap with those of the parameters, each atom once."""
    told = set[str]()
    for atom, kinds in atoms:
        parameters = domain.predicates[atom.predicate].parameters if atom.predicate in domain.predicates else ()
        for number, (term, wanted) in enumerate(zip(atom.args, parameters, strict=False), start=1):
            if term in kinds and not types.overlap(kinds[term], wanted.types) and str(atom) not in told:
                told.add(str(atom))
                given, needed = " or ".join(kinds[term]), " or ".join(wanted.types)
                message = f"argument {number} of {atom} is of type '{given}', but '{atom.predicate}' takes '{needed}'"
                written = domain.misplaced.get((place, atom))
                where = place if written is None else f"{written}: {place}"
                yield Finding(Level.ERROR, "type", where, message, "look at the order of the arguments", part=atom)
