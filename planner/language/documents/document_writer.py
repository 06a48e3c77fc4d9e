"""Write domains and problems as YAML and JSON documents; reading them gives equal domains and problems.

Decimals are exact, short lists take one line, and texts have quotes only where needed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from decimal import Decimal
from typing import Any, Final

from planner.errors import UnsupportedError
from planner.language.declare.action_parameters import data_type_name
from planner.language.declare.atom_syntax import is_atom_name
from planner.language.declare.declared_names import name_parameters
from planner.language.declare.known_numbers import forget_known
from planner.language.documents.document_conditions import Notation, write_constraint, write_default
from planner.language.documents.schema import load_hierarchies
from planner.model.actions import (
    Action,
    CostFunction,
    CostTerm,
    DataParameter,
    Duration,
    DurationRange,
    Moment,
    Outcome,
    When,
)
from planner.model.calendar import write_moment
from planner.model.domain import ROOT_TYPE, Axiom, DomainModel, Function, Predicate, refuse_unfinished
from planner.model.formulas import TRUE, Arithmetic, Atom, Expression, Object, Variable
from planner.model.object_names import written_name
from planner.model.problem import Goal, Metric, NumericMetric, Problem
from planner.model.timing import GoalDeadline, TimedEffect
from planner.model.unknown_numbers import find_unread
from planner.problem_kinds import AnyDomain, AnyProblem

WIDTH: Final = 110
LONGEST: Final = 18
"""Most characters of a value that is written as a number."""
_PLAIN: Final = re.compile(r"[A-Za-z][\w.-]*\Z", re.ASCII)
_OTHERWISE: Final = frozenset({"true", "false", "null"}) | frozenset({"yes", "no", "on", "off", "y", "n"})
"""Words that mean something else to readers of YAML 1.2 or 1.1."""
_UNPRINTABLE: Final = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ud800-\udfff\ufffe\uffff]")


def to_yaml(documents: Iterable[dict[str, Any]]) -> str:
    """Write `documents` as YAML 1.2."""
    return "---\n".join("".join(f"{line}\n" for line in _write_mapping(document, "")) for document in documents)


def _write_mapping(value: dict[str, Any], indent: str) -> Iterable[str]:
    for key, each in value.items():
        yield from _write_entry(f"{indent}{_write_scalar(key)}:", each, indent)


def _write_entry(head: str, value: Any, indent: str) -> Iterable[str]:
    """Yield the lines of `head`, which ends in a colon or is a dash, and of its value."""
    flow = _write_flow(value)
    if not isinstance(value, dict | list) or not value or (len(head) + len(flow) < WIDTH and _is_short(value)):
        yield f"{head} {flow}"
        return
    yield head
    if isinstance(value, dict):
        yield from _write_mapping(value, indent + "  ")
    else:
        for each in value:
            first, *others = _write_entry(f"{indent}  -", each, indent + "  ")
            yield first if not others else f"{first} {others.pop(0).lstrip()}"
            yield from others


def _is_short(value: Any) -> bool:
    """Return whether `value` reads well on one line: it holds no mapping of mappings or lists."""
    if isinstance(value, dict):
        return all(not isinstance(each, dict | list) for each in value.values())
    return all(not isinstance(each, dict) for each in value)


def _write_flow(value: Any) -> str:
    match value:
        case dict():
            return "{" + ", ".join(f"{_write_scalar(key)}: {_write_flow(each)}" for key, each in value.items()) + "}"
        case list():
            return "[" + ", ".join(map(_write_flow, value)) + "]"
    return _write_scalar(value)


def _write_scalar(value: Any) -> str:
    if isinstance(value, str):
        return value if _PLAIN.match(value) and value.lower() not in _OTHERWISE else _quote(value)
    return _write_number(value)


def _quote(text: str) -> str:
    return _UNPRINTABLE.sub(lambda match: f"\\u{ord(match[0]):04x}", json.dumps(text, ensure_ascii=False))


def _write_number(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case Decimal():
            return format(value, "f")
    return repr(value)


def to_json(value: Any, indent: str = "") -> str:
    """Write `value` as JSON."""
    inside = indent + "  "
    match value:
        case dict() if value:
            lines = [f"{inside}{json.dumps(key)}: {to_json(each, inside)}" for key, each in value.items()]
        case list() if any(isinstance(each, dict | list) for each in value) or len(repr(value)) > WIDTH:
            lines = [f"{inside}{to_json(each, inside)}" for each in value]
        case list():
            return "[" + ", ".join(map(to_json, value)) + "]"
        case str() | dict():
            return json.dumps(value)
        case _:
            return _write_number(value)
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    return opening + "\n" + ",\n".join(lines) + f"\n{indent}{closing}"


def write_yaml(item: AnyDomain | AnyProblem, *, domain: bool = True) -> str:
    """Write `item` as YAML 1.2: a problem after its domain, or without it where `domain` is false.

    Handlers are left out. Raises `UnsupportedError` for costs that Python computes, and types of data without a name.
    """
    return to_yaml(documents_of(item, domain=domain))


def write_json(item: AnyDomain | AnyProblem, *, domain: bool = True) -> str:
    """Write `item` as JSON: one object, or the list of domain and problem; see `write_yaml`."""
    documents = documents_of(item, domain=domain)
    return to_json(documents if len(documents) > 1 else documents[0]) + "\n"


def documents_of(item: AnyDomain | AnyProblem, *, domain: bool) -> list[dict[str, Any]]:
    """Convert `item` to plain data: mappings, lists, texts and numbers."""
    if isinstance(item, DomainModel):
        return [write_domain_document(item)]
    if not isinstance(item, Problem):
        return load_hierarchies(f"'{item.name}', which is no classical problem,").documents_of(item, domain=domain)
    return [*([write_domain_document(item.domain)] if domain else []), write_problem_document(item)]


def write_domain_document(domain: DomainModel) -> dict[str, Any]:
    """Convert `domain` to a document."""
    refuse_unfinished(domain, "in a document", with_objects=True)
    constants = frozenset(each.name for each in domain.constants)
    refuse_words((*domain.predicates, *domain.functions, *domain.actions))
    return without_defaults(
        {
            "domain": domain.name,
            "description": domain.description,
            "types": {name: _write_types(parents) for name, parents in domain.types.items()},
            "constants": _write_objects(domain.constants),
            "predicates": {name: _write_predicate(each, constants) for name, each in domain.predicates.items()},
            "functions": {name: _write_function(each) for name, each in domain.functions.items()},
            "actions": {name: _write_action(each, constants) for name, each in domain.actions.items()},
            "derived": [_write_rule(each, constants) for each in domain.axioms],
            "was": domain.renames.to_dict(),
        }
    )


def refuse_words(names: Iterable[str]) -> None:
    """Raise `UnsupportedError` for the first of `names` that conditions in a document would not read as a name."""
    for name in names:
        if not is_atom_name(name):
            raise UnsupportedError(f"the name {name!r} in a document", "it is a word of conditions: rename it")


def write_problem_document(problem: Problem) -> dict[str, Any]:
    """Convert `problem` to a document, which names its domain."""
    write = Notation((), ())
    return without_defaults(
        {
            "problem": problem.name,
            "domain": problem.domain.name,
            "objects": _write_objects(problem.objects),
            "initial": list(map(str, forget_known(problem.initial, problem.domain))),
            "goal": _write_goal(problem.goal, write),
            "values": {str(term): _write_value(value) for term, value in problem.values.items()},
            "unknown": list(map(str, (*problem.unknown, *find_unread(problem)))),
            "likely": {str(fact): chance for fact, chance in problem.likely.items()},
            "constraints": [write_constraint(each, write) for each in problem.constraints],
            "budgets": dict(problem.budgets),
            "deadline": problem.deadline,
            "timed": _write_timed(problem.timed, write),
            "due": _write_due(problem.due, write),
            "capacity": dict(problem.capacity),
            "starts_at": None if problem.starts_at is None else write_moment(problem.starts_at),
            "ran": list(map(str, problem.ran)),
            "metric": _write_metric(problem.metric),
        }
    )


def _write_value(value: int | Decimal) -> int | Decimal | str:
    """Return a value as a number, or as a text where readers of YAML and JSON may not take so many digits."""
    text = str(value) if isinstance(value, int) else f"{value:f}"
    return text if len(text) > LONGEST else value


def _write_metric(metric: Metric | NumericMetric) -> str | None:
    if isinstance(metric, NumericMetric):
        return str(metric)
    return "length" if metric is Metric.LENGTH else None


def _write_timed(timed: tuple[TimedEffect, ...], write: Notation) -> Any:
    """Write what happens when: by time where times are different and in order, else as a list."""
    times = [each.time for each in timed]
    changes = [[*write.each(each.provides), *map(write.effect, each.numbers)] for each in timed]
    if times == sorted(set(times)):
        return {str(_write_value(time)): what for time, what in zip(times, changes, strict=True)}
    return [{"time": time, "changes": what} for time, what in zip(times, changes, strict=True)]


def _write_due(due: tuple[GoalDeadline, ...], write: Notation) -> Any:
    conditions = [write.single(each.condition) for each in due]
    if len(set(conditions)) < len(conditions):
        pairs = zip(conditions, due, strict=True)
        return [without_defaults({"condition": text, "by": x.by, "weight": x.weight}, ("by",)) for text, x in pairs]
    return {
        text: each.by if each.weight is None else {"by": each.by, "weight": each.weight}
        for text, each in zip(conditions, due, strict=True)
    }


def _write_goal(goal: Goal, write: Notation) -> Any:
    if not goal.soft:
        return write.formula(goal.hard)
    conditions = [write.single(each.condition) for each in goal.soft]
    soft: Any = dict(zip(conditions, (each.utility for each in goal.soft), strict=True))
    if len(soft) < len(conditions):
        pairs = zip(conditions, goal.soft, strict=True)
        soft = [{"condition": text, "utility": each.utility} for text, each in pairs]
    return without_defaults({"hard": write.formula(goal.hard), "soft": soft})


def _write_functional(predicate: Predicate) -> bool | str | None:
    """Write which argument is the value of an item: `true` for the last one, else its name; None for no item."""
    if predicate.functional is None:
        return None
    is_last = predicate.functional == len(predicate.parameters) - 1
    return True if is_last else predicate.parameters[predicate.functional].name.removeprefix("?")


def _write_predicate(predicate: Predicate, constants: frozenset[str]) -> dict[str, Any]:
    write = Notation([each.name for each in predicate.parameters], constants)
    return without_defaults(
        {
            "parameters": _write_signature(predicate.parameters),
            "stale_with": write.each(predicate.stale_with),
            "tags": sorted(predicate.tags),
            "description": predicate.description,
            "functional": _write_functional(predicate),
        }
    )


def _write_function(function: Function) -> dict[str, Any]:
    return {
        "parameters": _write_signature(function.parameters),
        **without_defaults(
            {
                "low": function.low,
                "high": function.high,
                "tolerance": function.tolerance or None,
                "description": function.description,
            }
        ),
    }


def _write_action(action: Action, constants: frozenset[str]) -> dict[str, Any]:
    before = Notation([each.name for each in action.parameters], constants)
    after = before.inside(action.creates)
    parameters = write_variables_document(action.parameters)
    parameters.update({each.name: _write_data(each, action, before) for each in action.data})
    cost = _write_amount(action.cost, action, before)
    return without_defaults(
        {
            "description": action.description,
            "parameters": parameters,
            "requires": before.formula(action.requires),
            "provides": after.each(action.provides),
            "modifies": [*before.each(action.modifies), *map(before.effect, action.numbers)],
            "when": [_write_when(each, before, action) for each in action.when],
            "cost": None if cost == 1 else cost,
            "uses": {name: _write_amount(terms, action, before) for name, terms in action.uses.items()},
            "after": before.each(action.after),
            "creates": {name.removeprefix("?"): type_ for name, type_ in action.creates.items()},
            "duration": _write_duration(action.duration, before),
            "throughout": before.formula(action.throughout),
            "at_start": _write_moment(action.at_start, before, action),
            "at_end": _write_moment(action.at_end, before, action),
            "holds": {name: _write_amount(terms, action, before) for name, terms in action.holds.items()},
            "risk": action.risk or None,
            "outcomes": [_write_outcome(each, after) for each in action.outcomes],
            "cases": [
                without_defaults({"arguments": list(x.arguments), "risk": x.risk or None, "outcomes": list(x.outcomes)})
                for x in action.cases
            ],
            "senses": before.each((*action.senses, *action.measures)),
            "lists": before.each(action.lists),
            "tags": sorted(action.tags),
            "similes": list(action.similes),
            "examples": list(action.examples),
        },
        keep=("cost", "duration"),
    )


def _write_duration(duration: Duration | None, write: Notation) -> Any:
    match duration:
        case DurationRange(low, high):
            return without_defaults(
                {
                    "at_least": _write_length(low, write),
                    "at_most": None if high is None else _write_length(high, write),
                },
                keep=("at_least", "at_most"),
            )
        case Atom() | Arithmetic():
            return _write_length(duration, write)
    return duration


def _write_length(expression: Expression, write: Notation) -> Any:
    if isinstance(expression, Atom) and not expression.args:
        return f"{expression.predicate}()"
    return write.expression(expression) if isinstance(expression, Atom | Arithmetic) else expression


def _write_moment(moment: Moment, before: Notation, action: Action) -> dict[str, Any]:
    return without_defaults(
        {
            "requires": before.formula(moment.requires),
            "provides": before.inside(action.creates).each(moment.provides),
            "modifies": [*before.each(moment.modifies), *map(before.effect, moment.numbers)],
            "when": [_write_when(each, before, action) for each in moment.when],
        }
    )


def _write_when(when: When, before: Notation, action: Action) -> dict[str, Any]:
    inner = before.inside(each.name for each in when.variables)
    return without_defaults(
        {
            "variables": write_variables_document(when.variables),
            "requires": inner.formula(when.requires),
            "provides": inner.inside(action.creates).each(when.provides),
            "modifies": [*inner.each(when.modifies), *map(inner.effect, when.numbers)],
        }
    )


def _write_outcome(outcome: Outcome, after: Notation) -> dict[str, Any]:
    return without_defaults(
        {
            "probability": outcome.probability,
            "name": outcome.name,
            "provides": after.each(outcome.provides),
            "modifies": [*after.each(outcome.modifies), *map(after.effect, outcome.numbers)],
        }
    )


def _write_amount(terms: tuple[CostTerm, ...], action: Action, write: Notation) -> Any:
    found = [_write_term(term, action, write) for term in terms]
    return found[0] if len(found) == 1 else found


def _write_term(term: CostTerm, action: Action, write: Notation) -> Any:
    if isinstance(term, CostFunction):
        hint = "give the costs as values of a function, such as cost(a, b)"
        raise UnsupportedError(f"a cost of {action.name!r} that Python computes, in a document", hint)
    if isinstance(term, Arithmetic):
        return write.expression(term)
    if not isinstance(term, Atom):
        return term
    return write.single(term) if term.args else f"{term.predicate}()"


def _write_data(parameter: DataParameter, action: Action, write: Notation) -> dict[str, Any]:
    owner = f"data parameter {parameter.name!r} of {action.name!r}"
    name = data_type_name(parameter.annotation)
    if name is None:
        raise UnsupportedError(f"the type {parameter.annotation!r} of {owner} in a document", "use a type with a name")
    found: dict[str, Any] = {"type": name}
    if parameter.has_default:
        found["default"] = write_default(parameter.default, parameter.annotation, owner)
    if parameter.source is not None:
        source = parameter.source
        told = {"fact": write.single(source.fact), "path": source.path, "approved": source.approved or None}
        found["from"] = without_defaults(told)
    if parameter.fixed:
        found["fixed"] = True
    return found | without_defaults({"description": parameter.description})


def _write_rule(axiom: Axiom, constants: frozenset[str]) -> dict[str, Any]:
    write = Notation([each.name for each in axiom.parameters], constants)
    head = Atom(axiom.predicate, tuple([each.name.removeprefix("?") for each in axiom.parameters]))
    return {
        "head": str(head),
        **without_defaults({"parameters": write_variables_document(axiom.parameters)}),
        "condition": write.formula(axiom.condition) if axiom.condition != TRUE else [],
    }


def _write_signature(parameters: tuple[Variable, ...]) -> Any:
    """Write types alone where the parameters have their default names, else names and types."""
    if parameters == name_parameters([each.types for each in parameters]):
        return [_write_types(each.types) for each in parameters]
    return write_variables_document(parameters)


def write_variables_document(variables: tuple[Variable, ...]) -> dict[str, Any]:
    """Write names and types."""
    return {each.name.removeprefix("?"): _write_types(each.types) for each in variables}


def _write_objects(objects: tuple[Object, ...]) -> dict[str, Any]:
    return {written_name(each.name): _write_types(each.types) for each in objects}


def _write_types(types: tuple[str, ...]) -> Any:
    return types[0] if len(types) == 1 else list(types) if types else [ROOT_TYPE]


def without_defaults(document: dict[str, Any], keep: tuple[str, ...] = ()) -> dict[str, Any]:
    """Drop empty values from `document`; those of the keys in `keep` only where they are None."""
    return {
        key: value
        for key, value in document.items()
        if value is not None and (key in keep or isinstance(value, int) or value)
    }
