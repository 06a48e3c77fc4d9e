"""Write plain ADL domains, problems, conditions and effects as PDDL text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import groupby

from planner.errors import UnsupportedError
from planner.language.pddl.pddl_vocabulary import UNTYPED
from planner.lightweight import Final, replace
from planner.model.actions import Action, CostTerm, Literal, Outcome, When
from planner.model.domain import DomainModel, Predicate, refuse_unfinished
from planner.model.formulas import (
    OPEN,
    TRUE,
    And,
    Atom,
    Equals,
    Exists,
    Forall,
    Formula,
    Imply,
    Not,
    Number,
    Object,
    Or,
    Variable,
    walk,
)
from planner.model.problem import Metric, Problem

HINT: Final = "planner.language.pddl.export compiles it first"

_DIGITS: Final = 28
"""Digits of numbers that are read."""

Typed = tuple[str, tuple[str, ...]]
"""A name and its types."""


def write_atom(item: Atom) -> str:
    """Return `(predicate argument …)`."""
    return f"({' '.join((item.predicate, *item.args))})"


def write_number(value: Number) -> str:
    """Return `value` in full, without an exponent."""
    return format(value, "f") if isinstance(value, Decimal) else str(value)


def write_typed_list(entries: Iterable[Typed]) -> str:
    """Return a typed list; types are left out where no entry from there on has one."""
    groups = [(types, [name for name, _ in group]) for types, group in groupby(entries, key=lambda entry: entry[1])]
    tail = groups.pop()[1] if groups and groups[-1][0] == UNTYPED else []
    return " ".join([*(f"{' '.join(names)} - {_type(types)}" for types, names in groups), *tail])


def _type(types: tuple[str, ...]) -> str:
    return types[0] if len(types) == 1 else f"(either {' '.join(types)})"


def write_variables(found: Sequence[Variable]) -> str:
    """Return `(?x - type …)`."""
    return f"({write_typed_list((variable.name, variable.types) for variable in found)})"


def write_condition(formula: Formula) -> str:
    """Return `formula` on one line."""
    match formula:
        case Atom():
            return write_atom(formula)
        case Equals(left, right):
            words = ["=", left, right]
        case Not(part):
            words = ["not", write_condition(part)]
        case And(parts) | Or(parts):
            words = ["and" if isinstance(formula, And) else "or", *map(write_condition, parts)]
        case Imply(premise, conclusion):
            words = ["imply", write_condition(premise), write_condition(conclusion)]
        case Forall(bound, part) | Exists(bound, part):
            words = [
                "forall" if isinstance(formula, Forall) else "exists",
                write_variables(bound),
                write_condition(part),
            ]
    return f"({' '.join(words)})"


def write_block(formula: Formula, indent: str) -> str:
    """Return `formula` with each part of an outermost conjunction on a line of its own."""
    if isinstance(formula, And) and len(formula.parts) > 1:
        return write_conjunction(map(write_condition, formula.parts), indent)
    return write_condition(formula)


def write_conjunction(parts: Iterable[str], indent: str) -> str:
    """Return the conjunction of `parts`, one a line."""
    lines = "".join(f"\n{indent}  {part}" for part in parts)
    return f"(and{lines})"


def write_effects(action: Action, predicates: Mapping[str, Predicate], *, costs: bool) -> list[str]:
    """Return the effects of `action`, and increases of the total cost where `costs`.

    Raises `UnsupportedError` for costs that Python computes: PDDL has no word for them.
    """
    always, outcomes = split_common(action.outcomes) if action.outcomes else (action.provides, ())
    found = [*map(write_condition, always), *([_chance(outcomes, predicates)] if outcomes else [])]
    found.extend(map(_when, action.when))
    if costs:
        found.extend(f"(increase (total-cost) {_cost(term, action)})" for term in action.cost)
    return found


def split_common(outcomes: Sequence[Outcome]) -> tuple[tuple[Literal, ...], tuple[Outcome, ...]]:
    """Return what all of `outcomes` provide, and each without that."""
    common = tuple([each for each in outcomes[0].provides if all(each in other.provides for other in outcomes)])
    rest = [
        replace(outcome, provides=tuple([each for each in outcome.provides if each not in common]))
        for outcome in outcomes
    ]
    return common, tuple(rest)


def _chance(outcomes: Sequence[Outcome], predicates: Mapping[str, Predicate]) -> str:
    """Return the effect of which one of `outcomes` comes: what is left of 1 is that nothing changes."""
    shown = [
        f"{_probability(each.probability)} {_outcome(each, predicates)}"
        for place, each in enumerate(outcomes)
        if place == 0 or each.provides or each.modifies
    ]
    return f"(probabilistic {' '.join(shown)})"


def _outcome(outcome: Outcome, predicates: Mapping[str, Predicate]) -> str:
    parts = [*map(write_condition, outcome.provides), *(_retraction(each, predicates) for each in outcome.modifies)]
    return parts[0] if len(parts) == 1 else f"({' '.join(['and', *parts])})"


def _retraction(pattern: Atom, predicates: Mapping[str, Predicate]) -> str:
    """Return the effect that deletes all facts of `pattern`."""
    parameters = predicates[pattern.predicate].parameters
    names = [f"?any{place}" if arg == OPEN else arg for place, arg in enumerate(pattern.args)]
    bound = [
        Variable(name, parameter.types)
        for name, parameter, arg in zip(names, parameters, pattern.args, strict=True)
        if arg == OPEN
    ]
    return f"(forall {write_variables(bound)} (not {write_atom(Atom(pattern.predicate, tuple(names)))}))"


def _probability(share: Decimal) -> str:
    """Return a probability in full: as a fraction where it has more digits than are read."""
    written = write_number(share.normalize())
    if len(written) <= _DIGITS:
        return written
    above, below = share.as_integer_ratio()
    return f"{above}/{below}"


def _when(effect: When) -> str:
    text = _literals(effect.provides)
    if effect.requires != TRUE:
        text = f"(when {write_condition(effect.requires)} {text})"
    return f"(forall {write_variables(effect.variables)} {text})" if effect.variables else text


def _literals(literals: tuple[Literal, ...]) -> str:
    return write_condition(literals[0]) if len(literals) == 1 else write_condition(And(literals))


def _cost(term: CostTerm, action: Action) -> str:
    if isinstance(term, Atom):
        return write_atom(term)
    if isinstance(term, int | Decimal):
        return write_number(term)
    message = f"a cost of '{action.name}' that Python computes, in PDDL"
    raise UnsupportedError(message, "export the problem with `export`")


_FEATURES: Final[dict[type[Formula], str]] = {
    Equals: ":equality",
    Or: ":disjunctive-preconditions",
    Imply: ":disjunctive-preconditions",
    Forall: ":universal-preconditions",
    Exists: ":existential-preconditions",
}


def requirements_of(formula: Formula) -> Iterator[str]:
    """Yield the requirements of `formula`, with repetitions."""
    for part in walk(formula):
        if type(part) in _FEATURES:
            yield _FEATURES[type(part)]
        elif isinstance(part, Not) and isinstance(part.part, Atom):
            yield ":negative-preconditions"
        elif isinstance(part, Not) and not isinstance(part.part, Equals):
            yield ":disjunctive-preconditions"


_ORDER: Final = (
    ":strips",
    ":typing",
    ":equality",
    ":negative-preconditions",
    ":disjunctive-preconditions",
    ":existential-preconditions",
    ":universal-preconditions",
    ":conditional-effects",
    ":derived-predicates",
    ":action-costs",
    ":probabilistic-effects",
)
_DOCUMENTS: Final = "YAML and JSON documents say it (--to yaml)"
_WORD: Final = re.compile(r"[^\s();?:][^\s();?]*")


def write_domain(domain: DomainModel, *, costs: bool) -> str:
    """Return `domain`, which is plain ADL, as PDDL; where `costs`, with its functions and the actions' costs.

    Requirements are the fewest that say what is used. Raises `UnsupportedError` for what PDDL cannot say as it stands:
    `modifies`, `after`, `stale_with`, `creates`, costs that Python computes, names that are no PDDL words.
    """
    lines = [f"(define (domain {domain.name})", f"  (:requirements {' '.join(find_requirements(domain, costs=costs))})"]
    return "\n".join([*lines, *write_declarations(domain, costs=costs), *write_actions(domain, costs=costs), ")\n"])


def write_declarations(domain: DomainModel, *, costs: bool) -> list[str]:
    """Return the lines for what `domain` declares before its actions: types, constants and so on to the axioms.

    Raises what `write_domain` raises for the domain.
    """
    _check_plain(domain)
    lines = []
    if domain.types:
        listed = ((name, (parent,)) for name, parents in domain.types.items() for parent in parents or UNTYPED)
        lines.append(f"  (:types {write_typed_list(listed)})")
    if domain.constants:
        lines.append(f"  (:constants {_objects(domain.constants)})")
    lines.extend(_section("predicates", [_head(each.name, each.parameters) for each in domain.predicates.values()]))
    if costs:
        functions = [f"{_head(each.name, each.parameters)} - number" for each in domain.functions.values()]
        lines.extend(_section("functions", ["(total-cost) - number", *functions]))
    for axiom in domain.axioms:
        rule = f"{_head(axiom.predicate, axiom.parameters)}\n    {write_block(axiom.condition, '    ')}"
        lines.append(f"  (:derived {rule})")
    return lines


def write_actions(domain: DomainModel, *, costs: bool) -> list[str]:
    """Return the text of each action of `domain`."""
    return [_action(action, domain.predicates, costs=costs) for action in domain.actions.values()]


def write_problem(problem: Problem, *, costs: bool = True) -> str:
    """Return `problem`, which is plain ADL, as PDDL; where `costs`, with the values of functions and the metric.

    Raises `UnsupportedError` for soft goals, facts declared unknown, and names that are no PDDL words.
    """
    goal = f"  (:goal {write_block(problem.goal.hard, '    ')})"
    return "\n".join(
        [
            *write_opening(problem),
            *write_initial(problem, costs=costs),
            goal,
            *write_metric(problem, costs=costs),
            ")\n",
        ]
    )


def write_opening(problem: Problem) -> list[str]:
    """Return the first lines for `problem`, to its objects; raises what `write_problem` raises for it."""
    _check_plain_problem(problem)
    lines = [f"(define (problem {problem.name})", f"  (:domain {problem.domain.name})"]
    if problem.objects:
        lines.append(f"  (:objects {_objects(problem.objects)})")
    return lines


def write_initial(problem: Problem, *, costs: bool) -> list[str]:
    """Return the lines for the initial state of `problem`."""
    facts = list(map(write_atom, problem.initial))
    if costs:
        total = ["(= (total-cost) 0)"] if problem.metric is Metric.COST else []
        facts = [
            *total,
            *facts,
            *(f"(= {write_atom(term)} {write_number(value)})" for term, value in problem.values.items()),
        ]
    return _section("init", facts)


def write_metric(problem: Problem, *, costs: bool) -> list[str]:
    """Return the line for the metric of `problem`, where there is one."""
    return ["  (:metric minimize (total-cost))"] if costs and problem.metric is Metric.COST else []


def _section(name: str, items: list[str]) -> list[str]:
    return [f"  (:{name}", *(f"    {item}" for item in items), "  )"]


def _head(name: str, parameters: tuple[Variable, ...]) -> str:
    listed = write_typed_list((parameter.name, parameter.types) for parameter in parameters)
    return f"({name} {listed})" if listed else f"({name})"


def _objects(objects: Iterable[Object]) -> str:
    return write_typed_list((item.name, item.types) for item in objects)


def _action(action: Action, predicates: Mapping[str, Predicate], *, costs: bool) -> str:
    found = write_effects(action, predicates, costs=costs)
    alone = len(found) == 1 and not (costs and action.cost)  # Fast Downward fails for a cost outside of `and`
    return "\n".join(
        [
            f"  (:action {action.name}",
            f"    :parameters {write_variables(action.parameters)}",
            f"    :precondition {write_block(action.requires, '    ')}",
            f"    :effect {found[0] if alone else write_conjunction(found, '    ')}",
            "  )",
        ]
    )


def find_requirements(domain: DomainModel, others: Iterable[Formula] = (), *, costs: bool) -> list[str]:
    """Return the requirements of `domain`, with `others` among its conditions, the fewest that do."""
    schemas = domain.actions.values()
    conditions = [*others, *(action.requires for action in schemas)]
    conditions += [effect.requires for action in schemas for effect in action.when]
    conditions += [axiom.condition for axiom in domain.axioms]
    found = {":strips", *(feature for formula in conditions for feature in requirements_of(formula))}
    if domain.types:
        found.add(":typing")
    if any(action.when for action in schemas):
        found.add(":conditional-effects")
    if domain.axioms:
        found.add(":derived-predicates")
    if costs:
        found.add(":action-costs")
    if any(action.outcomes for action in schemas):
        found.add(":probabilistic-effects")
    return [requirement for requirement in _ORDER if requirement in found]


def _check_plain(domain: DomainModel) -> None:
    """Raise where `domain` says what PDDL text would lose."""
    refuse_unfinished(domain, "in PDDL")
    for predicate in domain.predicates.values():
        if predicate.stale_with:
            raise UnsupportedError(f"'stale_with' of '{predicate.name}', in PDDL", HINT)
    for action in domain.actions.values():
        for name in ("modifies", "after", "creates"):
            if getattr(action, name):
                raise UnsupportedError(f"'{name}' of '{action.name}', in PDDL", HINT)
        if (
            action.risk
            or action.cases
            or any(OPEN not in each.args for way in action.outcomes for each in way.modifies)
        ):
            raise UnsupportedError(f"uncertain outcomes of '{action.name}', in PDDL", HINT)
        if any(effect.modifies for effect in action.when):
            raise UnsupportedError(f"'modifies' of a conditional effect of '{action.name}', in PDDL", HINT)
    tables = (domain.types, domain.predicates, domain.functions, domain.actions)
    _check_words(
        (domain.name, *(name for table in tables for name in table), *(each.name for each in domain.constants))
    )


def refuse_unsayable(problem: Problem) -> None:
    """Raise `UnsupportedError` where `problem` says something that its PDDL text would not."""
    reasons = [
        (problem.goal.soft, "soft goals, in PDDL without preferences", "state only the hard goal"),
        (problem.unknown, "facts declared unknown, in PDDL", "state which facts hold"),
        (problem.constraints, "constraints, in PDDL without them", _DOCUMENTS),
        (problem.budgets, f"a budget of {next(iter(problem.budgets), '')}, in PDDL", _DOCUMENTS),
        (problem.deadline is not None, "a deadline, in PDDL without time", _DOCUMENTS),
    ]
    for there, construct, hint in reasons:
        if there:
            raise UnsupportedError(construct, hint)


def _check_plain_problem(problem: Problem) -> None:
    refuse_unsayable(problem)
    _check_words([problem.name, *(item.name for item in problem.objects)])


def _check_words(names: Iterable[str]) -> None:
    for name in names:
        if not _WORD.fullmatch(name):
            message = f"the name '{name}', in PDDL"
            raise UnsupportedError(message, "planner.language.pddl.export writes it under another name")
