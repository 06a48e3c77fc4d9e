"""Write plain ADL domains, problems, conditions and effects as PDDL text, with the numbers of PDDL 2.1, level 2."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import groupby

from planner.errors import UnsupportedError
from planner.language.pddl.pddl_vocabulary import UNTYPED
from planner.language.pddl.plan_files import write_number
from planner.lightweight import Final, replace
from planner.model import And, Arithmetic, Atom, Comparison, Equals, Exists, Expression, Forall, Formula, Imply, Not, Or
from planner.model.actions import (
    DURATION,
    Action,
    CostTerm,
    DurationRange,
    Literal,
    NumericEffect,
    Outcome,
    When,
)
from planner.model.domain import (
    DomainModel,
    Predicate,
    conditions_of,
    has_durations,
    has_numbers,
    refuse_unfinished,
)
from planner.model.formulas import OPEN, TRUE, Object, Variable, conjuncts, functions_in, walk
from planner.model.problem import TOTAL_COST, Metric, NumericMetric, Problem, is_numeric
from planner.model.timing import TimedEffect
from planner.model.unknown_numbers import find_unread
from planner.semantics.snap_actions import ends_early

HINT: Final = "planner.language.pddl.export compiles it first"

_DIGITS: Final = 28
"""Most digits of numbers that readers accept."""

_CHANGES: Final = {"+=": "increase", "-=": "decrease", ":=": "assign", "*=": "scale-up", "/=": "scale-down"}
"""The words for the operators of numeric effects."""

Typed = tuple[str, tuple[str, ...]]
"""A name and its types."""


def write_atom(item: Atom) -> str:
    """Write `(predicate argument …)`."""
    return f"({' '.join((item.predicate, *item.args))})"


def write_expression(expression: Expression) -> str:
    """Write `expression` with its operators in front."""
    match expression:
        case Atom():
            return expression.predicate if expression == DURATION else write_atom(expression)
        case Arithmetic(operator, operands):
            return f"({' '.join([operator, *map(write_expression, operands)])})"
        case _:
            return write_number(expression)


def write_change(effect: NumericEffect) -> str:
    """Write a numeric effect."""
    return f"({_CHANGES[effect.operator]} {write_atom(effect.fluent)} {write_expression(effect.value)})"


def write_typed_list(entries: Iterable[Typed]) -> str:
    """Write a typed list, without types from the entry on after which there are none."""
    groups = [(types, [name for name, _ in group]) for types, group in groupby(entries, key=lambda entry: entry[1])]
    tail = groups.pop()[1] if groups and groups[-1][0] == UNTYPED else []
    return " ".join([*(f"{' '.join(names)} - {_write_type(types)}" for types, names in groups), *tail])


def _write_type(types: tuple[str, ...]) -> str:
    return types[0] if len(types) == 1 else f"(either {' '.join(types)})"


def write_variables(found: Sequence[Variable]) -> str:
    """Write `(?x - type …)`."""
    return f"({write_typed_list((variable.name, variable.types) for variable in found)})"


def write_condition(formula: Formula) -> str:
    """Write `formula` on one line."""
    match formula:
        case Atom():
            return write_atom(formula)
        case Equals(left, right):
            words = ["=", left, right]
        case Comparison(left, relation, right):
            words = [relation, write_expression(left), write_expression(right)]
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
    """Write `formula`; each part of an outermost conjunction has its own line."""
    if isinstance(formula, And) and len(formula.parts) > 1:
        return write_conjunction(map(write_condition, formula.parts), indent)
    return write_condition(formula)


def write_conjunction(parts: Iterable[str], indent: str) -> str:
    """Write the conjunction of `parts`, one on each line."""
    lines = "".join(f"\n{indent}  {part}" for part in parts)
    return f"(and{lines})"


def write_effects(action: Action, predicates: Mapping[str, Predicate], *, costs: bool) -> list[str]:
    """Write the effects of `action`, and where `costs`, increases of the total cost.

    Raises `UnsupportedError` for costs that Python computes: PDDL has no word for them.
    """
    always, outcomes = split_common(action.outcomes) if action.outcomes else (action.provides, ())
    numbers = () if action.outcomes else action.numbers
    found = [*map(write_condition, always), *map(write_change, numbers)]
    found += [_write_chance(outcomes, predicates)] if outcomes else []
    found.extend(map(_write_when, action.when))
    if costs:
        terms = [_write_cost(term, action) for term in action.cost]
        if len(terms) > 1 and (action.numbers or any(isinstance(term, Arithmetic) for term in action.cost)):
            terms = [f"(+ {' '.join(terms)})"]
        found.extend(f"(increase (total-cost) {term})" for term in terms)
    return found


def split_common(outcomes: Sequence[Outcome]) -> tuple[tuple[Literal, ...], tuple[Outcome, ...]]:
    """Split `outcomes` into the literals that all of them provide, and the rest of each."""
    common = tuple([each for each in outcomes[0].provides if all(each in other.provides for other in outcomes)])
    rest = [
        replace(outcome, provides=tuple([each for each in outcome.provides if each not in common]))
        for outcome in outcomes
    ]
    return common, tuple(rest)


def _write_chance(outcomes: Sequence[Outcome], predicates: Mapping[str, Predicate]) -> str:
    """Write `outcomes` as a probabilistic effect; with the remaining probability, nothing changes."""
    shown = [
        f"{_write_probability(each.probability)} {_write_outcome(each, predicates)}"
        for place, each in enumerate(outcomes)
        if place == 0 or each.provides or each.modifies or each.numbers
    ]
    return f"(probabilistic {' '.join(shown)})"


def _write_outcome(outcome: Outcome, predicates: Mapping[str, Predicate]) -> str:
    parts = [
        *map(write_condition, outcome.provides),
        *(_write_retraction(each, predicates) for each in outcome.modifies),
        *map(write_change, outcome.numbers),
    ]
    return _join_words(parts)


def _join_words(parts: Sequence[str]) -> str:
    """Write the conjunction of `parts` on one line; one part stands alone."""
    return parts[0] if len(parts) == 1 else f"({' '.join(['and', *parts])})"


def _write_retraction(pattern: Atom, predicates: Mapping[str, Predicate]) -> str:
    """Write the effect that deletes all facts of `pattern`."""
    parameters = predicates[pattern.predicate].parameters
    names = [f"?any{place}" if arg == OPEN else arg for place, arg in enumerate(pattern.args)]
    bound = [
        Variable(name, parameter.types)
        for name, parameter, arg in zip(names, parameters, pattern.args, strict=True)
        if arg == OPEN
    ]
    return f"(forall {write_variables(bound)} (not {write_atom(Atom(pattern.predicate, tuple(names)))}))"


def _write_probability(share: Decimal) -> str:
    """Write a probability in full, or as a fraction where it has too many digits for readers."""
    written = write_number(share.normalize())
    if len(written) <= _DIGITS:
        return written
    above, below = share.as_integer_ratio()
    return f"{above}/{below}"


def _write_when(effect: When) -> str:
    parts = [*map(write_condition, effect.provides), *map(write_change, effect.numbers)]
    text = _join_words(parts)
    if effect.requires != TRUE:
        text = f"(when {write_condition(effect.requires)} {text})"
    return f"(forall {write_variables(effect.variables)} {text})" if effect.variables else text


def _write_cost(term: CostTerm, action: Action) -> str:
    if isinstance(term, int | Decimal | Atom | Arithmetic):
        return write_expression(term)
    message = f"a cost of '{action.name}' that Python computes, in PDDL"
    raise UnsupportedError(message, "export the problem with `export`, or state the cost where there are numbers")


_NUMBERS: Final = ":numeric-fluents"
_FEATURES: Final[dict[type[Formula], str]] = {
    Equals: ":equality",
    Comparison: _NUMBERS,
    Or: ":disjunctive-preconditions",
    Imply: ":disjunctive-preconditions",
    Forall: ":universal-preconditions",
    Exists: ":existential-preconditions",
}


def requirements_of(formula: Formula) -> Iterator[str]:
    """Yield the requirements of `formula`, perhaps with repeats."""
    for part in walk(formula):
        if type(part) in _FEATURES:
            yield _FEATURES[type(part)]
        elif isinstance(part, Not) and isinstance(part.part, Atom):
            yield ":negative-preconditions"
        elif isinstance(part, Not) and not isinstance(part.part, Equals | Comparison):
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
    _NUMBERS,
    ":durative-actions",
    ":duration-inequalities",
    ":timed-initial-literals",
    ":probabilistic-effects",
)
_DOCUMENTS: Final = "YAML and JSON documents say it (--to yaml)"
_WORD: Final = re.compile(r"[^\s();?:][^\s();?]*")


def write_domain(domain: DomainModel, *, costs: bool, numbers: bool = False, timed: bool = False) -> str:
    """Write the plain ADL `domain` as PDDL; where `costs`, with its functions and the actions' costs.

    Functions are also written where `numbers` or the domain itself has numbers. Actions with a duration are written as
    durative ones. Set `timed` where problems have timed initial literals.

    The requirements are minimal. Raises `UnsupportedError` for what PDDL lacks:
    `modifies`, `after`, `stale_with`, `creates`, costs that Python computes, names that are no PDDL words.
    """
    needed = find_requirements(domain, costs=costs, numbers=numbers, timed=timed)
    lines = [f"(define (domain {domain.name})", f"  (:requirements {' '.join(needed)})"]
    declarations = write_declarations(domain, costs=costs, numbers=numbers)
    return "\n".join([*lines, *declarations, *write_actions(domain, costs=costs), ")\n"])


def write_declarations(domain: DomainModel, *, costs: bool, numbers: bool = False) -> list[str]:
    """Write the declarations of `domain` before its actions, from types to axioms, as lines.

    Raises what `write_domain` raises for the domain.
    """
    _check_plain(domain)
    lines = []
    if domain.types:
        listed = ((name, (parent,)) for name, parents in domain.types.items() for parent in parents or UNTYPED)
        lines.append(f"  (:types {write_typed_list(listed)})")
    if domain.constants:
        lines.append(f"  (:constants {_write_objects(domain.constants)})")
    heads = [_write_head(each.name, each.parameters) for each in domain.predicates.values()]
    lines.extend(_write_section("predicates", heads) if heads or not has_numbers(domain) else [])
    if costs or ((numbers or has_numbers(domain)) and domain.functions):
        functions = [f"{_write_head(each.name, each.parameters)} - number" for each in domain.functions.values()]
        lines.extend(_write_section("functions", [*(["(total-cost) - number"] if costs else []), *functions]))
    for axiom in domain.axioms:
        rule = f"{_write_head(axiom.predicate, axiom.parameters)}\n    {write_block(axiom.condition, '    ')}"
        lines.append(f"  (:derived {rule})")
    return lines


def write_actions(domain: DomainModel, *, costs: bool) -> list[str]:
    """Write each action of `domain`."""
    return [_write_action(action, domain.predicates, costs=costs) for action in domain.actions.values()]


def write_problem(problem: Problem, *, costs: bool = True) -> str:
    """Write the plain ADL `problem` as PDDL; where `costs`, with the values of functions and the metric.

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
    """Write the first lines of `problem`, up to its objects; raises what `write_problem` raises."""
    refuse_unsayable(problem)
    _check_words([problem.name, *(item.name for item in problem.objects)])
    lines = [f"(define (problem {problem.name})", f"  (:domain {problem.domain.name})"]
    if problem.objects:
        lines.append(f"  (:objects {_write_objects(problem.objects)})")
    return lines


def write_initial(problem: Problem, *, costs: bool) -> list[str]:
    """Write the initial state of `problem` as lines."""
    facts = [*map(write_atom, problem.initial), *map(_write_timed, problem.timed)]
    if costs or is_numeric(problem):
        total = ["(= (total-cost) 0)"] if costs and counts_costs(problem) else []
        facts = [
            *total,
            *facts,
            *(f"(= {write_atom(term)} {write_number(value)})" for term, value in problem.values.items()),
        ]
    return _write_section("init", facts)


def _write_timed(effect: TimedEffect) -> str:
    """Write a timed initial literal, which is one change."""
    changes = [*map(write_condition, effect.provides)]
    changes += [f"(= {write_atom(each.fluent)} {write_expression(each.value)})" for each in effect.numbers]
    if len(changes) != 1 or any(each.operator != ":=" for each in effect.numbers):
        raise UnsupportedError(f"the changes {effect}, as one timed initial literal of PDDL", HINT)
    return f"(at {write_number(effect.time)} {changes[0]})"


def counts_costs(problem: Problem) -> bool:
    """Return whether the metric of `problem` counts the costs of actions."""
    metric = problem.metric
    if isinstance(metric, NumericMetric):
        return TOTAL_COST in functions_in(metric.expression)
    return metric is Metric.COST


def write_metric(problem: Problem, *, costs: bool) -> list[str]:
    """Write the metric of `problem`, if it has one, as a line."""
    metric = problem.metric
    if isinstance(metric, NumericMetric):
        return [f"  (:metric {'maximize' if metric.maximize else 'minimize'} {write_expression(metric.expression)})"]
    return ["  (:metric minimize (total-cost))"] if costs and problem.metric is Metric.COST else []


def _write_section(name: str, items: list[str]) -> list[str]:
    return [f"  (:{name}", *(f"    {item}" for item in items), "  )"]


def _write_head(name: str, parameters: tuple[Variable, ...]) -> str:
    listed = write_typed_list((parameter.name, parameter.types) for parameter in parameters)
    return f"({name} {listed})" if listed else f"({name})"


def _write_objects(objects: Iterable[Object]) -> str:
    return write_typed_list((item.name, item.types) for item in objects)


def _write_action(action: Action, predicates: Mapping[str, Predicate], *, costs: bool) -> str:
    if action.duration is not None:
        return _write_durative_action(action, costs=costs)
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


def _write_durative_action(action: Action, *, costs: bool) -> str:
    """Write a durative action, each part of a condition and each effect with its moment."""
    bounds = [
        f"({relation} {DURATION.predicate} {write_expression(length)})" for relation, length in _bounds_of(action)
    ]
    conditions, effects = [], []
    for word, condition, changes in _moments_of(action):
        moment = "over all" if word == "all" else f"at {word}"
        conditions += [f"({moment} {write_condition(part)})" for part in conjuncts(condition)]
        effects += [text for when in changes for text in _write_timed_effect(when, moment)]
    if costs:
        effects += [f"(at end (increase (total-cost) {_write_cost(term, action)}))" for term in action.cost]
    return "\n".join(
        [
            f"  (:durative-action {action.name}",
            f"    :parameters {write_variables(action.parameters)}",
            f"    :duration {_join_words(bounds)}",
            f"    :condition {write_conjunction(conditions, '    ')}",
            f"    :effect {write_conjunction(effects, '    ')}",
            "  )",
        ]
    )


def _moments_of(action: Action) -> tuple[tuple[str, Formula, tuple[When, ...]], ...]:
    """Return what a plain durative `action` requires and changes at its start, throughout and at its end."""
    early = tuple([each for each in action.provides if ends_early(each, action)])
    late = tuple([each for each in action.provides if each not in early])
    start = replace(action.at_start, provides=(*action.at_start.provides, *early))
    end = replace(action.at_end, provides=(*late, *action.at_end.provides))
    return (
        ("start", action.requires, start.effects),
        ("all", action.throughout, ()),
        ("end", action.at_end.requires, end.effects),
    )


def _bounds_of(action: Action) -> list[tuple[str, Expression]]:
    """Return the relations that the duration of `action` has to expressions."""
    match action.duration:
        case DurationRange(low, high):
            return [(">=", low)] if high is None else [(">=", low), ("<=", high)]
        case None:
            return []
        case fixed:
            return [("=", fixed)]


def _write_timed_effect(effect: When, moment: str) -> Iterator[str]:
    """Yield the texts of an effect at `moment`: one for each change, but where they share a condition."""
    parts = [*map(write_condition, effect.provides), *map(write_change, effect.numbers)]
    if effect.requires == TRUE and not effect.variables:
        yield from (f"({moment} {part})" for part in parts)
        return
    text = f"({moment} {_join_words(parts)})"
    if effect.requires != TRUE:
        text = f"(when ({moment} {write_condition(effect.requires)}) {text})"
    yield f"(forall {write_variables(effect.variables)} {text})" if effect.variables else text


def find_requirements(
    domain: DomainModel,
    others: Iterable[Formula] = (),
    *,
    costs: bool,
    numbers: bool = False,
    timed: bool = False,
) -> list[str]:
    """Return the fewest requirements of `domain`, which has `others` among its conditions, and perhaps `numbers`."""
    schemas = domain.actions.values()
    conditions = [*others, *(condition for action in schemas for condition in conditions_of(action))]
    conditions += [axiom.condition for axiom in domain.axioms]
    found = {":strips", *(feature for formula in conditions for feature in requirements_of(formula))}
    if domain.types:
        found.add(":typing")
    if any(when.requires != TRUE or when.variables for action in schemas for when in action.effects):
        found.add(":conditional-effects")
    if has_durations(domain):
        found.add(":durative-actions")
    if any(isinstance(action.duration, DurationRange) for action in schemas):
        found.add(":duration-inequalities")
    if timed:
        found.add(":timed-initial-literals")
    if domain.axioms:
        found.add(":derived-predicates")
    if costs:
        found.add(":action-costs")
    if numbers or has_numbers(domain):
        found.add(_NUMBERS)
    if any(action.outcomes for action in schemas):
        found.add(":probabilistic-effects")
    return [requirement for requirement in _ORDER if requirement in found]


def _check_plain(domain: DomainModel) -> None:
    """Raise an error for a part of `domain` that PDDL text would lose."""
    refuse_unfinished(domain, "in PDDL")
    for predicate in domain.predicates.values():
        if predicate.stale_with:
            raise UnsupportedError(f"'stale_with' of '{predicate.name}', in PDDL", HINT)
    for action in domain.actions.values():
        for name in ("modifies", "after", "creates", "holds"):
            if getattr(action, name):
                raise UnsupportedError(f"'{name}' of '{action.name}', in PDDL", HINT)
        modified = [each for outcome in action.outcomes for each in outcome.modifies]
        if action.risk or action.cases or any(OPEN not in each.args for each in modified):
            raise UnsupportedError(f"uncertain outcomes of '{action.name}', in PDDL", HINT)
        if any(effect.modifies for effect in action.effects):
            raise UnsupportedError(f"'modifies' of a conditional effect of '{action.name}', in PDDL", HINT)
    tables = (domain.types, domain.predicates, domain.functions, domain.actions)
    named = [name for table in tables for name in table]
    _check_words((domain.name, *named, *(each.name for each in domain.constants)))


def refuse_unsayable(problem: Problem) -> None:
    """Raise `UnsupportedError` for a part of `problem` that PDDL text would lose."""
    reasons = [
        (problem.goal.soft, "soft goals, in PDDL without preferences", "state only the hard goal"),
        (problem.unknown, "facts declared unknown, in PDDL", "state which facts hold"),
        (find_unread(problem), "numbers declared unknown, in PDDL", "leave them out of 'unknown'"),
        (problem.constraints, "constraints, in PDDL without them", _DOCUMENTS),
        (problem.budgets, f"a budget of {next(iter(problem.budgets), '')}, in PDDL", _DOCUMENTS),
        (problem.deadline is not None, "a deadline, in PDDL without time", _DOCUMENTS),
        (problem.due, "deadlines of goals, in PDDL without constraints", HINT),
        (problem.capacity, "capacities, in PDDL", HINT),
    ]
    for there, construct, hint in reasons:
        if there:
            raise UnsupportedError(construct, hint)


def _check_words(names: Iterable[str]) -> None:
    for name in names:
        if not _WORD.fullmatch(name):
            message = f"the name '{name}', in PDDL"
            raise UnsupportedError(message, "planner.language.pddl.export writes it under another name")
