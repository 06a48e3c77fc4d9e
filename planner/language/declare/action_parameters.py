"""Read the parameters of actions: planning parameters, which search binds, and data parameters with Python types.

They come from a mapping or from the signature of a Python function. A function can carry out a declared action if it
takes the parameters of the action.
"""

from __future__ import annotations

import datetime as dt
import inspect
import re
import sys
import types
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from functools import lru_cache
from typing import Annotated, Any, Final, Union, get_args, get_origin

from planner.errors import did_you_mean
from planner.language.declare.atom_syntax import abbreviate, explain_bad_name
from planner.language.declare.declared_names import Types
from planner.language.declare.fields import Place, check_mapping, name_types
from planner.language.declare.marks import Entity, Fixed, Source
from planner.lightweight import dataclass, replace
from planner.model import REQUIRED, ROOT_TYPE, Action, DataParameter, Variable
from planner.model.object_names import is_name

NAMED: Final[Mapping[str, Any]] = {
    "str": str,
    "int": int,
    "float": float,
    "bool": bool,
    "decimal": Decimal,
    "date": dt.date,
    "datetime": dt.datetime,
    "time": dt.time,
    "list": list,
    "dict": dict,
    "any": Any,
}
_NAMES: Final = {value: name for name, value in NAMED.items()}
_LONGEST: Final = 200
"""Most characters in the text of a type: more than anybody writes, and few enough to recurse over."""


def parse_data_type(text: str) -> Any | None:
    """Parse the Python type `text`: a name, `list[type]`, `dict[str, type]` or `type | None`; None for other texts."""
    text = text.strip()
    if len(text) > _LONGEST:
        return None
    if text in NAMED:
        return NAMED[text]
    front, bar, last = text.rpartition("|")
    if bar and last.strip() == "None":
        inner = parse_data_type(front)
        return None if inner is None or inner is Any else inner | None
    if text.startswith("list[") and text.endswith("]"):
        inner = parse_data_type(text[5:-1])
        return None if inner is None else list[inner]  # type: ignore[valid-type]  # a type made at run time
    if text.startswith("dict[str,") and text.endswith("]"):
        inner = parse_data_type(text[9:-1])
        return None if inner is None else dict[str, inner]  # type: ignore[valid-type]  # as above
    return None


def data_type_name(annotation: Any) -> str | None:
    """Return the text from which `parse_data_type` makes `annotation`; None where there is none."""
    origin, members = get_origin(annotation), get_args(annotation)
    if origin is None:
        return _NAMES.get(annotation) if annotation.__hash__ else None
    if origin is list:
        inner = data_type_name(members[0])
        return inner and f"list[{inner}]"
    if origin is dict and members[0] is str:
        inner = data_type_name(members[1])
        return inner and f"dict[str, {inner}]"
    if origin in (types.UnionType, Union) and len(members) == 2 and members[1] is type(None):
        inner = data_type_name(members[0])
        return inner and f"{inner} | None"
    return None


_CONTEXT: Final = re.compile(r"(^|\.)Context(\[.*\])?$")


@dataclass(frozen=True, slots=True)
class Parameters:
    """Planning parameters and data parameters in the order of declaration; `sources` of data are not resolved yet."""

    planning: tuple[Variable, ...] = ()
    data: tuple[DataParameter, ...] = ()
    sources: Mapping[str, Source] | None = None


NONE: Final = Parameters()


def read_parameters(value: Mapping[str, Any] | Iterable[Any], types_: Types, place: Place) -> Parameters:
    """Read parameters from a mapping (name → planning type, data type, or `DataParameter`).

    `value` may also be a sequence of `Variable` and `DataParameter`.
    """
    if not value and isinstance(value, list | tuple | dict):
        return NONE
    if isinstance(value, list | tuple):
        value = {_name_of(item, place): item for item in value}
    reader = _Reader(types_)
    for name, annotation in check_mapping(value, "parameters", place).items():
        reader.add(name.removeprefix("?"), annotation, inspect.Parameter.empty, place.within(name))
    return reader.result()


def read_signature(function: Callable[..., Any], types_: Types, place: Place, names: Mapping[str, Any]) -> Parameters:
    """Read the parameters of `function` from its annotations; `names` are visible where it is defined."""
    reader = _Reader(types_)
    for parameter in inspect_signature(function, place).parameters.values():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise place.error(f"an action's function has no *{parameter.name}: its parameters must be known")
        if not is_context(parameter):
            annotation = _evaluate_annotation(parameter, function, types_, place, names)
            reader.add(parameter.name, annotation, parameter.default, place)
    return reader.result()


def inspect_signature(function: Callable[..., Any], place: Place) -> inspect.Signature:
    """Return the signature of `function`; raises an error where it has none."""
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):
        raise place.error(f"{abbreviate(function)} is no function whose parameters are known") from None


def is_context(parameter: inspect.Parameter) -> bool:
    """Return whether `parameter` is the injected context: by its annotation, or named so without a planning type."""
    annotation = parameter.annotation
    if isinstance(annotation, str):
        return _CONTEXT.search(annotation.strip()) is not None
    if annotation is parameter.empty:
        return parameter.name == "context"
    return getattr(get_origin(annotation) or annotation, "__name__", "") == "Context"


class _Reader:
    def __init__(self, types_: Types) -> None:
        self._types = types_
        self._planning: dict[str, Variable] = {}
        self._data: dict[str, DataParameter] = {}
        self._sources: dict[str, Source] = {}

    def add(self, name: str, annotation: Any, default: Any, place: Place) -> None:
        if not is_name(name):
            raise place.error(*explain_bad_name(name, "a parameter"))
        if name in self._planning or name in self._data:
            raise place.error(f"two parameters are named {name!r}")
        if type(annotation) is str and annotation in self._types:
            self._planning[name] = _make_variable(name, annotation)
        elif isinstance(annotation, Variable):
            types_ = self._types.resolve(annotation.types, place)
            self._planning[name] = Variable(f"?{name}", types_)
        elif isinstance(annotation, DataParameter):
            self._add_data(name, replace(annotation, name=name), place)
        elif (found := planning_types(annotation, self._types, place)) is not None:
            if default is not inspect.Parameter.empty:
                raise place.error(f"parameter {name!r} has a default, but search binds it")
            self._planning[name] = Variable(f"?{name}", found)
        else:
            self._add_data(name, make_data_parameter(name, annotation, default, place), place)

    def _add_data(self, name: str, parameter: DataParameter, place: Place) -> None:
        source: Any = parameter.source
        if isinstance(source, Source):
            self._sources[name] = source
        elif source is not None:
            self._sources[name] = Source(source.fact, source.path, source.approved)
        if isinstance(parameter.annotation, str):
            found = parse_data_type(parameter.annotation)
            if found is None:
                raise self._types.unknown(parameter.annotation, place)
            parameter = replace(parameter, annotation=found)
        self._data[name] = replace(parameter, source=None)

    def result(self) -> Parameters:
        return Parameters(tuple(self._planning.values()), tuple(self._data.values()), self._sources)


@lru_cache(maxsize=16384)
def _make_variable(name: str, type_: str) -> Variable:
    """Make a variable; domains with many actions have few different ones."""
    return Variable(f"?{name}", (type_,))


def planning_types(annotation: Any, types_: Types, place: Place) -> tuple[str, ...] | None:
    """Return the planning types that `annotation` names, or None where it is the type of data."""
    if isinstance(annotation, str):
        if all(name.strip() in types_ for name in annotation.split("|")):
            return types_.resolve(annotation, place)
        if parse_data_type(annotation) is not None:
            return None
        raise types_.unknown(annotation, place)
    if annotation is object:
        return (ROOT_TYPE,)
    if isinstance(annotation, list | tuple) or (isinstance(annotation, type) and issubclass(annotation, Entity)):
        return types_.resolve(annotation, place)
    if get_origin(annotation) in (Union, types.UnionType):
        members = get_args(annotation)
        entities = [isinstance(member, type) and issubclass(member, Entity) for member in members]
        if all(entities):
            return types_.resolve(members, place)
        if any(entities):
            names = " | ".join(getattr(member, "__name__", str(member)) for member in members)
            raise place.error(f"{names} mixes planning types with others", "search binds all of it or nothing")
    return None


def _name_of(item: Any, place: Place) -> str:
    if isinstance(item, Variable | DataParameter):
        return item.name
    raise place.error(f"{abbreviate(item)} is no parameter", "give a mapping: {'name': type}")


def make_data_parameter(name: str, annotation: Any, default: Any, place: Place) -> DataParameter:
    """Make a data parameter; its source, if any, is still a `Source`."""
    marks: list[Any] = []
    if get_origin(annotation) is Annotated:
        annotation, *marks = get_args(annotation)
    if isinstance(default, Fixed):
        raise place.error(f"FIXED is no default for {name!r}", "write Annotated[type, FIXED]")
    if default is inspect.Parameter.empty:
        default = REQUIRED
    elif isinstance(default, Source) or _is_field(default):
        marks.append(default)
        default = REQUIRED
    rest = [mark for mark in marks if not isinstance(mark, Source | Fixed)]
    for field in filter(_is_field, rest):
        default = _read_field_default(field, default, name, place)
    return DataParameter(
        name,
        _annotate(annotation, rest),
        default,
        next((mark for mark in marks if isinstance(mark, Source)), None),  # type: ignore[arg-type]  # resolved later
        any(isinstance(mark, Fixed) for mark in marks),
        next((field.description for field in filter(_is_field, rest) if field.description), ""),
    )


def _annotate(annotation: Any, marks: list[Any]) -> Any:
    """Add foreign marks to `annotation`: limits that handlers check with pydantic."""
    if isinstance(annotation, str):
        annotation = parse_data_type(annotation) or annotation
    for mark in marks:
        annotation = Annotated[annotation, mark]
    return annotation


def _is_field(value: Any) -> bool:
    fields = sys.modules.get("pydantic.fields")
    return fields is not None and isinstance(value, fields.FieldInfo)


def _read_field_default(field: Any, default: Any, name: str, place: Place) -> Any:
    if field.default_factory is not None:
        raise place.error(f"data parameter {name!r} has a default_factory", "give a default, or none")
    return default if field.is_required() else field.default


def _evaluate_annotation(
    parameter: inspect.Parameter, function: Callable[..., Any], types_: Types, place: Place, names: Mapping[str, Any]
) -> Any:
    """Evaluate the annotation of `parameter`, unless it is a value already."""
    text = parameter.annotation
    if text is parameter.empty:
        message = f"parameter {parameter.name!r} has no annotation"
        raise place.error(message, "annotate it with a planning type (search binds it) or any other (it is data)")
    if not isinstance(text, str) or all(name.strip() in types_ for name in text.split("|")):
        return text
    visible: dict[str, Any] = getattr(function, "__globals__", {})
    try:
        return eval(text, visible, names)  # noqa: S307 - the author's own annotation, as Python itself would
    except NameError as error:
        unknown = error.name or text
        near = did_you_mean(unknown, types_.parents) or did_you_mean(unknown, [*names, *visible])
        message = f"parameter {parameter.name!r} is annotated with the unknown name {unknown!r}"
        raise place.error(message, near) from None
    except Exception as error:  # noqa: BLE001 - whatever an annotation raises is a mistake in it
        raise place.error(f"the annotation {text!r} of {parameter.name!r} cannot be read: {error}") from None


def check_handler(action: Action, handler: Callable[..., Any], types: Types, place: Place) -> None:
    """Raise an error unless `handler` takes exactly the parameters of `action`, and perhaps a context."""
    planning = {variable.name.removeprefix("?"): variable for variable in action.parameters}
    wanted = [*planning, *[parameter.name for parameter in action.data]]
    taken = list(inspect_signature(handler, place).parameters.values())
    anything = any(parameter.kind is parameter.VAR_KEYWORD for parameter in taken)
    named = {each.name: each for each in taken if each.kind not in (each.VAR_KEYWORD, each.VAR_POSITIONAL)}
    what = f"the function bound to {action.signature}"
    for parameter in named.values():
        _check_parameter(parameter, wanted, what, "handlers", place)
        variable = planning.get(parameter.name)
        annotation = parameter.annotation
        if variable and isinstance(annotation, type) and issubclass(annotation, Entity):
            given = (annotation.type_name,)
            if annotation is not Entity and not types.overlap(given, variable.types):
                message = f"{what} takes {parameter.name!r} as {given[0]!r}, but it is {name_types(variable.types)}"
                raise place.error(message)
    for each in wanted:
        if each not in named and not anything:
            raise place.error(f"{what} does not take the parameter {each!r}", did_you_mean(each, named))


def check_takes_some(action: Action, function: Callable[..., Any], place: Place) -> None:
    """Raise an error unless `function` takes only parameters of `action`, perhaps not all, and perhaps a context."""
    wanted = [variable.name.removeprefix("?") for variable in action.parameters]
    wanted += [parameter.name for parameter in action.data]
    what = f"the check of {action.signature}"
    for parameter in inspect_signature(function, place).parameters.values():
        if parameter.kind not in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL):
            _check_parameter(parameter, wanted, what, "checks", place)


def _check_parameter(parameter: inspect.Parameter, wanted: list[str], what: str, kind: str, place: Place) -> None:
    if parameter.kind is parameter.POSITIONAL_ONLY:
        raise place.error(f"{what} takes {parameter.name!r} by position only; {kind} are called by name")
    if parameter.name not in wanted and not is_context(parameter) and parameter.default is parameter.empty:
        near = did_you_mean(parameter.name, wanted) or f"the parameters are {', '.join(wanted) or 'none'}"
        raise place.error(f"{what} takes {parameter.name!r}, which the action does not have", near)
