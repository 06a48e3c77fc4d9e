"""Plain ADL domains and problems as PDDL text."""

from __future__ import annotations

import re
from collections.abc import Iterable

from planner.annotations import Final
from planner.errors import UnsupportedError
from planner.model import Action, DomainModel, Metric, Object, Problem, Variable
from planner.pddl.expressions import HINT, atom, block, conjoined, effects, features, number, typed, variables
from planner.pddl.typed import UNTYPED

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
)
_WORD: Final = re.compile(r"[^\s();?:][^\s();?]*")


def write_domain(domain: DomainModel, *, costs: bool) -> str:
    """Return `domain`, which is plain ADL, as PDDL; where `costs`, with its functions and the actions' costs.

    Requirements are the fewest that say what is used. Raises `UnsupportedError` for what PDDL cannot say as it stands:
    `modifies`, `after`, `stale_with`, `creates`, costs that Python computes, names that are no PDDL words.
    """
    _check_plain(domain)
    lines = [f"(define (domain {domain.name})", f"  (:requirements {' '.join(_requirements(domain, costs=costs))})"]
    if domain.types:
        lines.append(f"  (:types {typed((name, parents or UNTYPED) for name, parents in domain.types.items())})")
    if domain.constants:
        lines.append(f"  (:constants {_objects(domain.constants)})")
    lines.extend(_section("predicates", [_head(each.name, each.parameters) for each in domain.predicates.values()]))
    if costs:
        functions = [f"{_head(each.name, each.parameters)} - number" for each in domain.functions.values()]
        lines.extend(_section("functions", ["(total-cost) - number", *functions]))
    for axiom in domain.axioms:
        rule = f"{_head(axiom.predicate, axiom.parameters)}\n    {block(axiom.condition, '    ')}"
        lines.append(f"  (:derived {rule})")
    lines.extend(_action(action, costs=costs) for action in domain.actions.values())
    return "\n".join([*lines, ")\n"])


def write_problem(problem: Problem, *, costs: bool = True) -> str:
    """Return `problem`, which is plain ADL, as PDDL; where `costs`, with the values of functions and the metric.

    Raises `UnsupportedError` for soft goals, facts declared unknown, and names that are no PDDL words.
    """
    _check_plain_problem(problem)
    lines = [f"(define (problem {problem.name})", f"  (:domain {problem.domain.name})"]
    if problem.objects:
        lines.append(f"  (:objects {_objects(problem.objects)})")
    facts = list(map(atom, problem.initial))
    if costs:
        total = ["(= (total-cost) 0)"] if problem.metric is Metric.COST else []
        facts = [*total, *facts, *(f"(= {atom(term)} {number(value)})" for term, value in problem.values.items())]
    lines.extend(_section("init", facts))
    lines.append(f"  (:goal {block(problem.goal.hard, '    ')})")
    if costs and problem.metric is Metric.COST:
        lines.append("  (:metric minimize (total-cost))")
    return "\n".join([*lines, ")\n"])


def _section(name: str, items: list[str]) -> list[str]:
    return [f"  (:{name}", *(f"    {item}" for item in items), "  )"]


def _head(name: str, parameters: tuple[Variable, ...]) -> str:
    listed = typed((parameter.name, parameter.types) for parameter in parameters)
    return f"({name} {listed})" if listed else f"({name})"


def _objects(objects: Iterable[Object]) -> str:
    return typed((item.name, item.types) for item in objects)


def _action(action: Action, *, costs: bool) -> str:
    found = effects(action, costs=costs)
    alone = len(found) == 1 and not (costs and action.cost)  # Fast Downward fails for a cost outside of `and`
    return "\n".join(
        [
            f"  (:action {action.name}",
            f"    :parameters {variables(action.parameters)}",
            f"    :precondition {block(action.requires, '    ')}",
            f"    :effect {found[0] if alone else conjoined(found, '    ')}",
            "  )",
        ]
    )


def _requirements(domain: DomainModel, *, costs: bool) -> list[str]:
    """Return the requirements of `domain`, the fewest that do."""
    actions = domain.actions.values()
    conditions = [action.requires for action in actions]
    conditions += [effect.requires for action in actions for effect in action.when]
    conditions += [axiom.condition for axiom in domain.axioms]
    found = {":strips", *(feature for formula in conditions for feature in features(formula))}
    if domain.types:
        found.add(":typing")
    if any(action.when for action in actions):
        found.add(":conditional-effects")
    if domain.axioms:
        found.add(":derived-predicates")
    if costs:
        found.add(":action-costs")
    return [requirement for requirement in _ORDER if requirement in found]


def _check_plain(domain: DomainModel) -> None:
    """Raise where `domain` says what PDDL text would lose."""
    for predicate in domain.predicates.values():
        if predicate.stale_with:
            raise UnsupportedError(f"'stale_with' of '{predicate.name}', in PDDL", HINT)
    for action in domain.actions.values():
        for name in ("modifies", "after", "creates"):
            if getattr(action, name):
                raise UnsupportedError(f"'{name}' of '{action.name}', in PDDL", HINT)
        if any(effect.modifies for effect in action.when):
            raise UnsupportedError(f"'modifies' of a conditional effect of '{action.name}', in PDDL", HINT)
    tables = (domain.types, domain.predicates, domain.functions, domain.actions)
    _check_words(
        (domain.name, *(name for table in tables for name in table), *(each.name for each in domain.constants))
    )


def _check_plain_problem(problem: Problem) -> None:
    if problem.goal.soft:
        raise UnsupportedError("soft goals, in PDDL without preferences", "state only the hard goal")
    if problem.unknown:
        raise UnsupportedError("facts declared unknown, in PDDL", "state which facts hold")
    _check_words([problem.name, *(item.name for item in problem.objects)])


def _check_words(names: Iterable[str]) -> None:
    for name in names:
        if not _WORD.fullmatch(name):
            raise UnsupportedError(f"the name '{name}', in PDDL", "planner.pddl.export writes it under another name")
