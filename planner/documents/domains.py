"""From a validated domain document to declarations, each at its place in the file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from planner.declare.datatypes import data_type
from planner.declare.declarations import Declarations
from planner.declare.marks import Outcome, Source, When
from planner.declare.numbers import resolution_of
from planner.declare.parameters import from_mapping
from planner.declare.places import Place
from planner.declare.syntax import NotationError, parse_atom
from planner.documents.values import to_default
from planner.model import REQUIRED, Case, DataParameter

if TYPE_CHECKING:
    from planner.documents.schema import ActionDocument, DataDocument, DomainDocument, WhenDocument


def declarations_of(document: DomainDocument, place: Place) -> Declarations:
    """Return the declarations of `document`; raises `DocumentError` at the first mistake."""
    resolution = resolution_of(document.resolution, place.within("resolution"))
    found = Declarations(document.domain, place.within("domain"), document.description, resolution)
    types = document.types if isinstance(document.types, dict) else {name: ["object"] for name in document.types}
    found.types.declare({name: tuple(parents) for name, parents in types.items()}, place.within("types"))
    for name, type_ in document.constants.items():
        found.constant(name, type_, place.within("constants", name))
    for name, predicate in document.predicates.items():
        here = place.within("predicates", name)
        found.predicate(
            name,
            found.variables(predicate.parameters, here.within("parameters")),
            here,
            stale_with=predicate.stale_with,
            tags_=predicate.tags,
            description=predicate.description,
        )
    for name, function in document.functions.items():
        here = place.within("functions", name)
        found.function(name, found.variables(function.parameters, here.within("parameters")), here)
    for name, action in document.actions.items():
        _declare_action(found, name, action, place.within("actions", name))
    for number, rule in enumerate(document.derived):
        _declare_rule(found, rule, place.within("derived", number))
    return found


def _declare_rule(found: Declarations, rule: Any, place: Place) -> None:
    try:
        head = parse_atom(rule.head)
    except NotationError as mistake:
        raise place.within("head").error(mistake.problem, mistake.hint) from None
    found.derive(head, rule.parameters, rule.condition, place)


def _declare_action(found: Declarations, name: str, action: ActionDocument, place: Place) -> None:
    here = place.within("parameters")
    written = {
        key: (value if len(value) > 1 else value[0] if value else "")
        if isinstance(value, list)
        else _data_parameter(key, value, here.within(key))
        for key, value in action.parameters.items()
    }
    parameters = from_mapping(written, found.types, here)
    whens = action.when if isinstance(action.when, list) else [action.when]
    fields: Any = {
        **{field: getattr(action, field) for field in _PLAIN},
        "when": [_when(when) for when in whens],
        "outcomes": [Outcome(each.probability, each.provides, each.modifies, each.name) for each in action.outcomes],
        "cases": [Case(tuple(each.arguments), each.risk, tuple(each.outcomes)) for each in action.cases],
    }
    found.action(name, parameters, fields, place)


_PLAIN = (
    "requires", "provides", "modifies", "cost", "uses", "resolution", "after", "creates", "duration", "risk",
    "senses", "tags", "description", "similes", "examples",
)  # fmt: skip
"""Fields that declarations take as documents have them."""


def _when(when: WhenDocument) -> When:
    return When(when.requires, when.provides, when.modifies, when.variables)


def _data_parameter(name: str, data: DataDocument, place: Place) -> DataParameter:
    annotation = data_type(data.type)
    if annotation is None:
        hint = "write a planning type, or one such as str, list[int], date | None"
        raise place.within("type").error(f"{data.type!r} is no type of data", hint)
    default = to_default(data.default, annotation, place) if "default" in data.model_fields_set else REQUIRED
    source: Any = Source(data.source.fact, data.source.path, data.source.approved) if data.source else None
    return DataParameter(name, annotation, default, source, data.fixed, data.description)
