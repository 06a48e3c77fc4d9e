"""Plain ADL domains and problems as PDDL text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from planner.annotations import Final
from planner.errors import UnsupportedError
from planner.model import OPEN, Action, DomainModel, Formula, Metric, Object, Predicate, Problem, Variable
from planner.model.domain import refuse_unfinished
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
    ":probabilistic-effects",
)
_DOCUMENTS: Final = "YAML and JSON documents say it (--to yaml)"
_WORD: Final = re.compile(r"[^\s();?:][^\s();?]*")


def write_domain(domain: DomainModel, *, costs: bool) -> str:
    """Return `domain`, which is plain ADL, as PDDL; where `costs`, with its functions and the actions' costs.

    Requirements are the fewest that say what is used. Raises `UnsupportedError` for what PDDL cannot say as it stands:
    `modifies`, `after`, `stale_with`, `creates`, costs that Python computes, names that are no PDDL words.
    """
    lines = [f"(define (domain {domain.name})", f"  (:requirements {' '.join(requirements(domain, costs=costs))})"]
    return "\n".join([*lines, *declared(domain, costs=costs), *actions(domain, costs=costs), ")\n"])


def declared(domain: DomainModel, *, costs: bool) -> list[str]:
    """Return the lines for what `domain` declares before its actions: types, constants and so on to the axioms.

    Raises what `write_domain` raises for the domain.
    """
    _check_plain(domain)
    lines = []
    if domain.types:
        listed = ((name, (parent,)) for name, parents in domain.types.items() for parent in parents or UNTYPED)
        lines.append(f"  (:types {typed(listed)})")
    if domain.constants:
        lines.append(f"  (:constants {_objects(domain.constants)})")
    lines.extend(_section("predicates", [_head(each.name, each.parameters) for each in domain.predicates.values()]))
    if costs:
        functions = [f"{_head(each.name, each.parameters)} - number" for each in domain.functions.values()]
        lines.extend(_section("functions", ["(total-cost) - number", *functions]))
    for axiom in domain.axioms:
        rule = f"{_head(axiom.predicate, axiom.parameters)}\n    {block(axiom.condition, '    ')}"
        lines.append(f"  (:derived {rule})")
    return lines


def actions(domain: DomainModel, *, costs: bool) -> list[str]:
    """Return the text of each action of `domain`."""
    return [_action(action, domain.predicates, costs=costs) for action in domain.actions.values()]


def write_problem(problem: Problem, *, costs: bool = True) -> str:
    """Return `problem`, which is plain ADL, as PDDL; where `costs`, with the values of functions and the metric.

    Raises `UnsupportedError` for soft goals, facts declared unknown, and names that are no PDDL words.
    """
    goal = f"  (:goal {block(problem.goal.hard, '    ')})"
    return "\n".join([*opening(problem), *initial(problem, costs=costs), goal, *metric(problem, costs=costs), ")\n"])


def opening(problem: Problem) -> list[str]:
    """Return the first lines for `problem`, to its objects; raises what `write_problem` raises for it."""
    _check_plain_problem(problem)
    lines = [f"(define (problem {problem.name})", f"  (:domain {problem.domain.name})"]
    if problem.objects:
        lines.append(f"  (:objects {_objects(problem.objects)})")
    return lines


def initial(problem: Problem, *, costs: bool) -> list[str]:
    """Return the lines for the initial state of `problem`."""
    facts = list(map(atom, problem.initial))
    if costs:
        total = ["(= (total-cost) 0)"] if problem.metric is Metric.COST else []
        facts = [*total, *facts, *(f"(= {atom(term)} {number(value)})" for term, value in problem.values.items())]
    return _section("init", facts)


def metric(problem: Problem, *, costs: bool) -> list[str]:
    """Return the line for the metric of `problem`, where there is one."""
    return ["  (:metric minimize (total-cost))"] if costs and problem.metric is Metric.COST else []


def _section(name: str, items: list[str]) -> list[str]:
    return [f"  (:{name}", *(f"    {item}" for item in items), "  )"]


def _head(name: str, parameters: tuple[Variable, ...]) -> str:
    listed = typed((parameter.name, parameter.types) for parameter in parameters)
    return f"({name} {listed})" if listed else f"({name})"


def _objects(objects: Iterable[Object]) -> str:
    return typed((item.name, item.types) for item in objects)


def _action(action: Action, predicates: Mapping[str, Predicate], *, costs: bool) -> str:
    found = effects(action, predicates, costs=costs)
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


def requirements(domain: DomainModel, others: Iterable[Formula] = (), *, costs: bool) -> list[str]:
    """Return the requirements of `domain`, with `others` among its conditions, the fewest that do."""
    schemas = domain.actions.values()
    conditions = [*others, *(action.requires for action in schemas)]
    conditions += [effect.requires for action in schemas for effect in action.when]
    conditions += [axiom.condition for axiom in domain.axioms]
    found = {":strips", *(feature for formula in conditions for feature in features(formula))}
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
            raise UnsupportedError(f"the name '{name}', in PDDL", "planner.pddl.export writes it under another name")
