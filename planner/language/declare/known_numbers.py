"""Known numbers: the facts that say which values of functions are known.

An action that `measures` a pattern of a function, such as `amount(r)`, provides the fact `known_amount(r)`: from then
on the value is known. All that reads a value needs that fact: conditions, right sides of numeric effects, durations and
goals. The value that a problem states for an unknown number is a supposition: plans measure the number before a step
reads it, and are made anew where it turns out otherwise.

As with local closed worlds, the facts are ordinary ones, written into actions and goals when these are declared. So
search, decomposition, validation and the monitor treat them as they treat all others.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from planner.errors import InputError
from planner.language.declare.fields import add_fact
from planner.lightweight import Any, Final, replace
from planner.model.actions import Action, Literal, Moment, NumericEffect, Outcome, When, functions_of_duration
from planner.model.domain import DomainModel, Predicate, lists_patterns, measured_functions
from planner.model.formulas import (
    OPEN,
    RELATIONS,
    And,
    Arithmetic,
    Atom,
    Comparison,
    Exists,
    Forall,
    Formula,
    Imply,
    Not,
    Or,
    Variable,
    comparisons_in,
    conjunction,
    conjuncts,
    free_variables,
    functions_in,
    walk,
)
from planner.model.problem import Problem
from planner.model.unknown_numbers import PREFIX, known_fact, known_predicates, list_terms

_TURNED: Final = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


def state_known(problem: Problem, unknown: Collection[Atom]) -> Problem:
    """Return `problem` with the facts that all values are known but those that a pattern in `unknown` covers."""
    if not measured_functions(problem.domain):
        return problem
    terms = [term for term in list_terms(problem.domain, problem) if not any(each.matches(term) for each in unknown)]
    return replace(problem, initial=tuple(dict.fromkeys([*problem.initial, *map(known_fact, terms)])))


def forget_known(facts: Iterable[Atom], domain: DomainModel) -> tuple[Atom, ...]:
    """Return `facts` without those that say which values are known."""
    names = known_predicates(domain)
    return tuple([fact for fact in facts if fact.predicate not in names])


def add_known_facts(domain: DomainModel) -> DomainModel:
    """Write the facts on known numbers into `domain`; where they stand already, nothing changes.

    Raises `InputError` if a predicate has the name of such a fact and other parameters, and for an axiom that reads a
    number which may be unknown.
    """
    measured = measured_functions(domain)
    if not measured:
        return domain
    predicates = dict(domain.predicates)
    for name in sorted(measured):
        parameters, told = domain.functions[name].parameters, f"the value of {name} is known"
        made = Predicate(PREFIX + name, parameters, tags=frozenset({"trusted"}), description=told)
        add_fact(predicates, made, f"whether {name!r} is known")
    for axiom in domain.axioms:
        term = next(_measured_in(comparisons_in(axiom.condition), domain), None)
        if term is not None:
            found = f"derived predicate {axiom.predicate!r} reads {term.predicate!r}, which actions measure"
            raise InputError(found, hint="write the comparison where the derived fact is needed")
    actions = {name: _complete_action(action, domain) for name, action in domain.actions.items()}
    return replace(domain, predicates=predicates, actions=actions)


def require_knowledge(formula: Formula, domain: DomainModel) -> Formula:
    """Strengthen `formula` by what must be known for it: numbers, and the items of listed patterns."""
    if lists_patterns(domain):
        from planner.language.declare.local_closed_world import require_listings

        formula = require_listings(formula, domain)
    return require_known(formula, domain)


def require_known(formula: Formula, domain: DomainModel) -> Formula:
    """Strengthen `formula`: a comparison of numbers holds only if they are known.

    One that holds for each value within the bounds of the function holds for an unknown one, too.
    """
    if not any(True for _ in _measured_in(comparisons_in(formula), domain)):
        return formula
    return _strengthen(formula, domain, positive=True)


def _measured_in(comparisons: Iterable[Comparison], domain: DomainModel) -> Iterator[Atom]:
    measured = measured_functions(domain)
    return (term for each in comparisons for term in each.functions if term.predicate in measured)


def _strengthen(formula: Formula, domain: DomainModel, *, positive: bool) -> Formula:
    """Return `formula`, or else its negation, with what it needs; negations of comparisons become comparisons."""
    match formula:
        case Comparison():
            return _strengthen_comparison(formula if positive else _negate(formula), domain)
        case Not(part):
            return _strengthen(part, domain, positive=not positive)
        case Imply(premise, conclusion):
            return _strengthen(Or((Not(premise), conclusion)), domain, positive=positive)
        case And(parts) | Or(parts):
            kind = And if isinstance(formula, And) is positive else Or
            return _join(kind, [_strengthen(part, domain, positive=positive) for part in parts])
        case Forall(variables, part) | Exists(variables, part):
            quantifier = Forall if isinstance(formula, Forall) is positive else Exists
            return quantifier(variables, _strengthen(part, domain, positive=positive))
        case _:
            return formula if positive else Not(formula)


def _negate(comparison: Comparison) -> Comparison | Or:
    left, right = comparison.left, comparison.right
    if comparison.relation == "=":
        return Or((Comparison(left, "<", right), Comparison(left, ">", right)))
    return Comparison(left, RELATIONS[comparison.relation], right)


def _strengthen_comparison(formula: Comparison | Or, domain: DomainModel) -> Formula:
    if isinstance(formula, Or):
        return _join(Or, [_strengthen(part, domain, positive=True) for part in formula.parts])
    needs = [known_fact(term) for term in dict.fromkeys(_measured_in([formula], domain))]
    if needs and _is_implied(formula, domain):
        return _join(Or, [*map(Not, needs), formula])
    return _join(And, [*needs, formula])


def _is_implied(comparison: Comparison, domain: DomainModel) -> bool:
    """Return whether `comparison` of one function with a number holds for each value within the function's bounds."""
    left, relation, right = comparison.left, comparison.relation, comparison.right
    if isinstance(right, Atom):
        left, relation, right = right, _TURNED.get(relation, ""), left
    if not isinstance(left, Atom) or isinstance(right, Atom | Arithmetic):
        return False
    function = domain.functions[left.predicate]
    low, high = function.low, function.high
    match relation:
        case ">=":
            return low is not None and low >= right
        case ">":
            return low is not None and low > right
        case "<=":
            return high is not None and high <= right
        case "<":
            return high is not None and high < right
    return False


def _join(kind: type[And | Or], parts: Iterable[Formula]) -> Formula:
    flat = [piece for part in parts for piece in (part.parts if isinstance(part, kind) else (part,))]
    found = tuple(dict.fromkeys(flat))
    return found[0] if len(found) == 1 else kind(found)


def _complete_action(action: Action, domain: DomainModel) -> Action:
    """Return `action` with the facts on numbers that it needs and gives."""
    needs = list(dict.fromkeys(_find_needs(action, domain)))
    given = [known_fact(pattern) for pattern in action.measures if OPEN not in pattern.args]
    opened = [_give_all(pattern, domain) for pattern in action.measures if OPEN in pattern.args]
    requires = require_known(action.requires, domain)
    changed: dict[str, Any] = {}
    if needs:
        requires = conjunction(dict.fromkeys([*conjuncts(requires), *needs]))
    if action.has_moments:
        changed["throughout"] = require_known(action.throughout, domain)
        changed |= {name: _complete_moment(getattr(action, name), domain) for name in ("at_start", "at_end")}
    return replace(
        action,
        requires=requires,
        provides=_add(action.provides, [*given, *_find_assigned(action.numbers, domain)]),
        when=tuple(dict.fromkeys([*[_complete_when(each, domain) for each in action.when], *opened])),
        outcomes=tuple([_complete_outcome(each, domain, given) for each in action.outcomes]),
        **changed,
    )


def _complete_moment(moment: Moment, domain: DomainModel) -> Moment:
    return replace(
        moment,
        requires=require_known(moment.requires, domain),
        provides=_add(moment.provides, _find_assigned(moment.numbers, domain)),
        when=tuple([_complete_when(each, domain) for each in moment.when]),
    )


def _complete_when(when: When, domain: DomainModel) -> When:
    return replace(when, provides=_add(when.provides, _find_assigned(when.numbers, domain)))


def _complete_outcome(outcome: Outcome, domain: DomainModel, given: Sequence[Atom]) -> Outcome:
    return replace(outcome, provides=_add(outcome.provides, [*given, *_find_assigned(outcome.numbers, domain)]))


def _add(literals: tuple[Literal, ...], facts: Iterable[Atom]) -> tuple[Literal, ...]:
    return tuple(dict.fromkeys([*literals, *facts]))


def _find_assigned(numbers: Iterable[NumericEffect], domain: DomainModel) -> list[Atom]:
    """Return the facts that the values are known which `numbers` assign."""
    measured = measured_functions(domain)
    return [known_fact(x.fluent) for x in numbers if x.operator == ":=" and x.fluent.predicate in measured]


def _give_all(pattern: Atom, domain: DomainModel) -> When:
    """Return the effect that all values are known which the open `pattern` covers."""
    parameters = domain.functions[pattern.predicate].parameters
    opened = {at: f"?any{at + 1}" for at, arg in enumerate(pattern.args) if arg == OPEN}
    fact = known_fact(Atom(pattern.predicate, tuple([opened.get(at, arg) for at, arg in enumerate(pattern.args)])))
    return When(provides=(fact,), variables=tuple([Variable(opened[at], parameters[at].types) for at in opened]))


def _find_needs(action: Action, domain: DomainModel) -> Iterator[Formula]:
    """Yield what must hold before a step for its effects and its duration to read known numbers alone.

    A conditional effect needs its numbers to have a value, too: else it would count as one whose condition fails.
    """
    measured = measured_functions(domain)
    effects = [*action.effects, *[When(numbers=each.numbers) for each in action.outcomes]]
    for effect in effects:
        conditions = [t for each in comparisons_in(effect.requires) for t in each.functions if t.predicate in measured]
        changes = [term for each in effect.numbers for term in _read_by(each) if term.predicate in measured]
        needs = [part for term in conditions for part in (known_fact(term), _is_defined(term, domain))]
        bound = [each.variables for each in walk(effect.requires) if isinstance(each, Forall | Exists)]
        for need in (*needs, *map(known_fact, changes)):
            yield _close(need, [each for variables in (effect.variables, *bound) for each in variables])
    for term in functions_of_duration(action.duration):
        if term.predicate in measured:
            yield known_fact(term)


def _read_by(effect: NumericEffect) -> list[Atom]:
    """Return the function terms that `effect` reads, its own value among them unless it assigns one."""
    return [*functions_in(effect.value), *([] if effect.operator == ":=" else [effect.fluent])]


def _is_defined(term: Atom, domain: DomainModel) -> Formula:
    """Return a condition that holds where the function `term` has any value within its bounds."""
    function = domain.functions[term.predicate]
    if function.low is not None:
        return Comparison(term, ">=", function.low)
    if function.high is not None:
        return Comparison(term, "<=", function.high)
    return Or((Comparison(term, ">=", 0), Comparison(term, "<", 0)))


def _close(need: Formula, variables: Sequence[Variable]) -> Formula:
    """Return `need` for all objects of those of `variables` that it has; one name may have several types."""
    types: dict[str, dict[str, None]] = {}
    for each in variables:
        types.setdefault(each.name, {}).update(dict.fromkeys(each.types))
    names = free_variables(need)
    inside = tuple([Variable(name, tuple(kinds)) for name, kinds in types.items() if name in names])
    return Forall(inside, need) if inside else need
