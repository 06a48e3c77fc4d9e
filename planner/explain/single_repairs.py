"""Single changes of a model: each puts one literal, argument, sign, fact or demand of an author's text otherwise.

Models without a plan are often right but for one slip: arguments in the wrong order, the wrong parameter, `not`
forgotten or too many, `+=` for `-=`, an effect that is left out. `list_repairs` yields what undoes such slips, the
likeliest first; who asks for them plans for each changed problem. They are the mutations of program repair (Le Goues,
Nguyen, Forrest and Weimer, 2012) in terms of actions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from itertools import permutations, product
from math import prod

from planner.explain.single_edits import (
    FAIR,
    LIKELY,
    TURNED_EFFECTS,
    UNLIKELY,
    Edit,
    Scope,
    edit_action,
    edit_formula,
    like_numbers,
)
from planner.lightweight import Any, Final, dataclass, replace
from planner.model.actions import Action, Literal, NumericEffect, negated_atoms, positive_atoms
from planner.model.domain import DomainModel, numeric_effects
from planner.model.formulas import (
    Atom,
    Formula,
    Not,
    Number,
    Term,
    Variable,
    atoms_in,
    conjuncts,
    functions_in,
    is_variable,
    literals_in,
    unmarked,
)
from planner.model.problem import Problem, seal_like

MOST_OBJECTS: Final = 12
"""Most objects of a type that are tried for an argument of a fact."""
MOST_FACTS: Final = 60
"""Most facts that are tried otherwise: of the initial state, of the goal, of a predicate that lacks one."""
MOST_ACTIONS: Final = 60
"""Most actions, and most methods, of a domain in which they are tried otherwise."""


@dataclass(frozen=True, slots=True)
class Repair:
    """A change at `part` of the `field` of the declaration `place`; `words` say which: "there is a plan …".

    `make` returns the changed problem. The least `price` is the likeliest. `states` is the initial fact that it adds.
    """

    place: str
    field: str
    part: Atom | str
    words: str
    price: int
    make: Callable[[], Any]
    states: str = ""


def add_effects(
    action: Action, domain: DomainModel, wanted: Iterable[tuple[str, bool]]
) -> Iterator[tuple[Literal, int]]:
    """Yield effects that `action` may lack: literals of the predicates and signs `wanted` about its parameters.

    The end of what it requires is likelier.
    """
    given = {*action.provides, *[x for effect in action.effects for x in effect.provides]}
    required = {*conjuncts(action.requires), *conjuncts(action.at_start.requires), *conjuncts(action.throughout)}
    scope = Scope(domain, action.step_parameters)
    for name, truth in wanted:
        predicate = domain.predicates[name]
        for args in permutations(scope.terms, len(predicate.parameters)):
            atom = Atom(name, args)
            literal: Literal = atom if truth else Not(atom)
            if literal not in given and scope.fits(atom) and literal not in required:
                other: Formula = Not(atom) if truth else atom
                yield literal, FAIR if other in required and not truth else UNLIKELY


def _owed_effects(domain: DomainModel) -> set[tuple[str, str]]:
    """Return actions with the predicates that they owe: who ends what an action took something for gives it back."""
    taken = {
        action.name: {
            atom.predicate
            for effect in action.effects
            for atom in (*negated_atoms(effect.provides), *effect.modifies)
            if atom.predicate in {each.predicate for each in atoms_in(action.requires)}
        }
        for action in domain.actions.values()
    }
    return {
        (undoer, name)
        for doer, names in taken.items()
        for undoer, ended in taken.items()
        if undoer != doer and ended & _provided_names(domain.actions[doer])
        for name in names
    }


def _wanted_effects(problem: Problem) -> list[tuple[str, bool]]:
    """Return the predicates, with signs, that some condition or the goal reads."""
    domain = problem.domain
    formulas = [problem.goal.hard, *[axiom.condition for axiom in domain.axioms]]
    for action in domain.actions.values():
        formulas += [action.requires, action.throughout, action.at_start.requires, action.at_end.requires]
        formulas += [effect.requires for effect in action.effects]
    found = dict.fromkeys((atom.predicate, truth) for each in formulas for atom, truth in literals_in(each))
    return [(name, truth) for name, truth in found if name in domain.predicates and name not in domain.derived]


def _add_numbers(action: Action, domain: DomainModel) -> Iterator[tuple[NumericEffect, int]]:
    """Yield the inverses of changes that other actions make and `action` lacks, about its own parameters."""
    mine = {each.fluent.predicate for each in numeric_effects(action)}
    own = {each.name for each in action.step_parameters}
    scope = Scope(domain, action.step_parameters)
    for other in domain.actions.values():
        for effect in numeric_effects(other):
            if effect.fluent.predicate in mine or other is action or effect.operator not in TURNED_EFFECTS:
                continue
            for renamed in _rename(effect, other, scope) if not _names(effect) <= own else [effect]:
                yield replace(renamed, operator=TURNED_EFFECTS[effect.operator]), FAIR


def _names(effect: NumericEffect) -> set[Term]:
    return {arg for term in (effect.fluent, *functions_in(effect.value)) for arg in term.args if is_variable(arg)}


def _rename(effect: NumericEffect, other: Action, scope: Scope) -> Iterator[NumericEffect]:
    """Yield `effect` of the action `other` about the first parameters of the same types."""
    types = {each.name: each.types for each in other.step_parameters}
    binding: dict[Term, Term] = {}
    for name in sorted(_names(effect)):
        alike = [term for term in scope.terms if scope.types[term] == types.get(name) and term not in binding.values()]
        if not alike:
            return
        binding[name] = alike[0]
    yield effect.substitute(binding)


def list_repairs(problem: Problem) -> list[Repair]:
    """Return the single changes of `problem`, the likeliest first, otherwise in the order of the text."""
    found = [*_repair_bounds(problem), *_repair_demands(problem), *_repair_goal(problem), *_repair_initial(problem)]
    if len(problem.domain.actions) <= MOST_ACTIONS:
        found = [*_repair_actions(problem), *found]
    return sorted(found, key=lambda each: each.price)


def _change(problem: Problem, **changes: Any) -> Callable[[], Problem]:
    """Return a function that makes the problem with these fields."""
    return lambda: seal_like(replace(problem, **changes), problem)


def _put(problem: Problem, action: Action) -> Callable[[], Problem]:
    """Return a function that makes the problem with this action in place of the one of its name."""

    def make() -> Problem:
        domain = replace(problem.domain, actions={**problem.domain.actions, action.name: action})
        return seal_like(replace(problem, domain=domain), problem)

    return make


def _repair_actions(problem: Problem) -> Iterator[Repair]:
    domain, wanted, owed = problem.domain, _wanted_effects(problem), _owed_effects(problem.domain)
    for action in domain.actions.values():
        place, scope = f"action {action.name}", Scope(domain, action.step_parameters)
        for edit, field, changed in edit_action(action, scope):
            yield Repair(place, field, edit.part, edit.words, edit.price, _put(problem, changed))
        for literal, price in add_effects(action, domain, wanted):
            is_owed = isinstance(literal, Atom) and (action.name, literal.predicate) in owed
            changed = _add_effect(action, "provides", literal)
            words = f"if it provides {unmarked(literal)}, too"
            yield Repair(place, "provides", "", words, FAIR if is_owed else price, _put(problem, changed))
        for effect, price in _add_numbers(action, domain):
            changed, words = _add_effect(action, "numbers", effect), f"if it does {unmarked(effect)}, too"
            yield Repair(place, "modifies", "", words, price, _put(problem, changed))


def _add_effect(action: Action, field: str, effect: Literal | NumericEffect) -> Action:
    """Return `action` with one more effect, at its end where it has effects there."""
    if action.at_end.provides or (action.has_moments and not action.provides):
        ending: dict[str, Any] = {field: (*getattr(action.at_end, field), effect)}
        return replace(action, at_end=replace(action.at_end, **ending))
    more: dict[str, Any] = {field: (*getattr(action, field), effect)}
    return replace(action, **more)


def _repair_bounds(problem: Problem) -> Iterator[Repair]:
    """Yield the problem without a bound of a function."""
    for function in problem.domain.functions.values():
        for name in ("low", "high"):
            value = getattr(function, name)
            if value is not None:
                free: dict[str, Any] = {name: None}
                functions = {**problem.domain.functions, function.name: replace(function, **free)}
                make = _change(problem, domain=replace(problem.domain, functions=functions))
                words = f"without the bound {name} = {value}"
                yield Repair(f"function {function.name}", name, name, words, FAIR, make)


def _repair_demands(problem: Problem) -> Iterator[Repair]:
    """Yield the problem without one of its constraints or budgets."""
    for place, each in enumerate(problem.constraints):
        if each.utility is None:
            atoms = [*[atom for condition in each.conditions for atom in atoms_in(condition)], *each.steps]
            make = _change(problem, constraints=_without(problem.constraints, place))
            yield Repair(f"constraint '{each}'", "", next(iter(atoms), ""), "without it", LIKELY, make)
    for name, value in problem.budgets.items():
        make = _change(problem, budgets={x: amount for x, amount in problem.budgets.items() if x != name})
        yield Repair(f"resource {name}", "", name, f"if {name} may be more than {value}", LIKELY, make)


def _without(items: tuple[Any, ...], place: int) -> tuple[Any, ...]:
    return (*items[:place], *items[place + 1 :])


def _repair_goal(problem: Problem) -> Iterator[Repair]:
    parts = list(conjuncts(problem.goal.hard))
    if len(parts) > MOST_FACTS:
        return
    scope = Scope(problem.domain, _few(problem))
    for edit, formula in edit_formula(problem.goal.hard, scope):
        if not isinstance(edit.new, Not) and (edit.new is not None or len(parts) > 1):
            price = edit.price + 1 if edit.price == LIKELY else UNLIKELY + 1
            make = _change(problem, goal=replace(problem.goal, hard=formula))
            yield Repair("goal", "", edit.part, edit.words, price, make)


def _few(problem: Problem) -> list[Variable]:
    """Return the objects of `problem` as terms, those of types with few objects."""
    counts: dict[tuple[str, ...], int] = {}
    for each in problem.all_objects:
        counts[each.types] = counts.get(each.types, 0) + 1
    return [Variable(x.name, x.types) for x in problem.all_objects if counts[x.types] <= MOST_OBJECTS]


def _repair_initial(problem: Problem) -> Iterator[Repair]:
    """Yield the problem with one initial fact otherwise, less or more, or one value with the other sign."""
    yield from _add_facts(problem)
    if len(problem.initial) <= MOST_FACTS:
        scope, stated = Scope(problem.domain, _few(problem)), set(problem.initial)
        for place, fact in enumerate(problem.initial):
            rest = _without(problem.initial, place)
            for new, price in scope.others(fact, names=False):
                if new not in stated:
                    words, make = Edit(fact, new, price, fact).words, _change(problem, initial=(*rest, new))
                    yield Repair("initial", "", fact, words, price + 1, make)
            make = _change(problem, initial=rest)
            yield Repair("initial", "", fact, f"without '{unmarked(fact)}'", UNLIKELY, make)
    if len(problem.values) <= MOST_FACTS:
        for term, value in problem.values.items():
            for other in [-value, *(like_numbers(value) if isinstance(value, int) else ())] if value else []:
                make = _change(problem, values={**problem.values, term: other})
                is_odd = (other == -value and value < 0) or _is_far_off(problem, term, value)
                price = FAIR if is_odd else UNLIKELY
                yield Repair("values", "", term, f"with '{unmarked(term)} = {other}' for {value}", price, make)


def _is_far_off(problem: Problem, term: Atom, value: Number) -> bool:
    """Return whether `value` is a hundred times more or less than any other value of its function."""
    alike = [each for like, each in problem.values.items() if like.predicate == term.predicate and like != term]
    others = [abs(Fraction(each)) for each in alike]
    size = abs(Fraction(value))
    return bool(others) and (size >= 100 * max(others) or 100 * size <= min(others))


def _add_facts(problem: Problem) -> Iterator[Repair]:
    """Yield the problem with one more initial fact, of the predicates that have few, and not of the goal itself."""
    if len(problem.all_objects) > MOST_FACTS or len(problem.domain.actions) > MOST_ACTIONS:
        return
    stated, asked = set(problem.initial), set(atoms_in(problem.goal.hard))
    like = {fact.predicate: fact for fact in reversed(problem.initial)}
    given = {name for action in problem.domain.actions.values() for name in _provided_names(action)}
    scope = Scope(problem.domain, [Variable(each.name, each.types) for each in problem.all_objects])
    for name, truth in _wanted_effects(problem):
        kinds = problem.domain.predicates[name].parameters
        places = [[term for term in scope.terms if scope.is_a(term, each.types)] for each in kinds]
        if not truth or prod(map(len, places)) > MOST_FACTS:
            continue
        for fact in [Atom(name, args) for args in product(*places)]:
            if fact not in stated and fact not in asked:
                price = FAIR + 1 if name not in given else UNLIKELY + 1
                make = _change(problem, initial=(*problem.initial, fact))
                words = f"if {fact} is stated, too"
                yield Repair("initial", "", like.get(name, ""), words, price, make, states=str(fact))


def _provided_names(action: Action) -> set[str]:
    return {atom.predicate for effect in action.effects for atom in positive_atoms(effect.provides)}
