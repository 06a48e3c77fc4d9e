"""Tell the parameters of a tool apart: objects, which search binds, and data, which the executor fills.

The rules, the first that fits: what the author says; a parameter that the contract uses in an atom is an object;
numbers with a fraction, choices, structures, texts of a format, and what may be left out are data; `order_id` and
`order` are objects where the domain has a type of that name; `order_id` is an object of a new type; all else is data.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from inspect import Parameter
from typing import Any, Final

from executor.foreign_tools.contracts import DATA, Contract
from executor.foreign_tools.json_schemas import SchemaReader
from executor.foreign_tools.tool import ForeignTool, ToolFailed
from planner.errors import InputError
from planner.language.declare.action_parameters import make_data_parameter
from planner.language.declare.declared_names import fold_name
from planner.language.declare.fields import CodePlace
from planner.language.declare.marks import Entity, Source
from planner.lightweight import dataclass
from planner.model import REQUIRED, ROOT_TYPE, DataParameter
from planner.model.object_names import is_name

_IDENTIFIER: Final = re.compile(r"(?P<stem>.+?)(?:[_-]id|(?<=[a-z0-9])I[dD])$")
_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
OMITTED: Final = None
"""Value of a parameter that a call leaves out."""


def split_words(name: str) -> list[str]:
    """Return the words of a name in lower case: those of `getOrder_status` are get, order and status."""
    return [each.lower() for each in _WORD.findall(name)] or ["thing"]


@dataclass(frozen=True, slots=True)
class Role:
    """The role of a parameter: an object of the planning type `type`, or data where that is empty; `rule` says why.

    `key` is its name in the schema of the tool, empty for a parameter that only the contract has. `kind` is the
    type in words, `is_whole` means that the tool wants a whole number.
    """

    name: str
    key: str
    type: str | type[Entity]
    rule: str
    kind: str = ""
    is_whole: bool = False
    data: DataParameter | None = None

    @property
    def type_name(self) -> str:
        """The name of its planning type; empty for data."""
        return self.type if isinstance(self.type, str) else self.type.type_name


def decide_roles(
    tool: ForeignTool, contract: Contract, stated: Mapping[str, Any], types: Iterable[str], *, words: bool = False
) -> tuple[Role, ...]:
    """Decide the role of each parameter of `tool`.

    `stated` maps parameters, or `tool.parameter`, to planning types or "data"; the contract says the same for its tool.
    `types` are those of the domain. With `words`, parameters keep the descriptions of the source. Raises `InputError`
    for a role that does not fit.
    """
    known = {fold_name(each): each for each in types if each != ROOT_TYPE}
    reader = SchemaReader(tool.input_schema)
    names = _make_names(tool.properties)
    arguments, written = contract.arguments, contract.document.parameters
    found = []
    for key, schema in tool.properties.items():
        name = names[key]
        kind, _ = reader.resolve(schema)
        kind = kind if isinstance(kind, Mapping) else {}
        is_used = name in arguments or key in arguments
        said = _find_statement(tool, name, key, stated, written)
        type_, rule = said or _apply_rules(tool, key, kind, known, is_used=is_used)
        described = reader.describe(schema)
        if type_ == DATA:
            data = _make_data(tool, key, name, written.get(name, written.get(key)), words=words)
            found.append(Role(name, key, "", rule, described, data=data))
        else:
            found.append(Role(name, key, type_, rule, described, kind.get("type") == "integer"))
    for name, value in written.items():
        if name not in names and name not in names.values():
            type_ = " | ".join(value) if isinstance(value, list) else DATA
            if type_ == DATA and contract.changes:
                continue
            if type_ == DATA:
                raise InputError(
                    f"{contract.where}: the tool {tool.name} has no parameter {name!r}",
                    hint=f"its parameters are {', '.join(names.values()) or 'none'}; one that only the contract has is "
                    "a planning object",
                )
            found.append(Role(name, "", type_, "the contract has it, and the tool does not"))
    taken = {*names, *names.values(), *written}
    return (*found, *(_recall_object(each, known) for each in _list_former(contract) if each not in taken))


def _list_former(contract: Contract) -> list[str]:
    """Return the names in the atoms of a contract that its tool had as parameters before it changed.

    An action keeps them, so that plans can name the tool, and say why it must not be called.
    """
    seen = contract.document.seen
    return sorted(contract.arguments & set(seen.parameters)) if seen is not None and contract.changes else []


def _recall_object(name: str, types: Mapping[str, str]) -> Role:
    type_, _ = _apply_rules(ForeignTool(""), name, {}, types, is_used=True)
    return Role(name, "", type_, "its contract uses it in an atom, and the tool had it")


def _make_names(properties: Iterable[str]) -> dict[str, str]:
    """Return the names of parameters by the keys of the schema: other signs than those of names become `_`."""
    found: dict[str, str] = {}
    for key in properties:
        name = key if is_name(key) and key != "context" else re.sub(r"[^\w.-]", "_", key) or "_"
        name = f"{name}_" if name in ("context", "_", "-") else name
        while name in found.values():
            name += "_"
        found[key] = name
    return found


def _find_statement(
    tool: ForeignTool, name: str, key: str, stated: Mapping[str, Any], written: Mapping[str, Any]
) -> tuple[Any, str] | None:
    """Return what the author, or the source, says of a parameter, and who that is."""
    for each in (f"{tool.name}.{key}", f"{tool.name}.{name}", key, name):
        if each in stated:
            return _check_type(stated[each], each), "you say so"
    if key in tool.types:
        kind = tool.types[key]
        is_entity = isinstance(kind, type) and issubclass(kind, Entity)
        return (kind if is_entity else DATA), "its annotation"
    for each in (key, name):
        if each in written:
            value = written[each]
            return (" | ".join(value) if isinstance(value, list) else DATA), "its contract says so"
    return None


def _check_type(value: Any, name: str) -> Any:
    if isinstance(value, str) or (isinstance(value, type) and issubclass(value, Entity)):
        return value
    raise InputError(f"the role of {name!r} is a planning type, its name, or 'data', not {value!r}")


def _apply_rules(
    tool: ForeignTool, key: str, schema: Mapping[str, Any], types: Mapping[str, str], *, is_used: bool
) -> tuple[str, str]:
    """Return the planning type of a parameter, or "data", and the rule that says so."""
    match = _IDENTIFIER.match(key)
    stem = match["stem"] if match else ""
    noun = split_words(tool.name)[-1] if key.lower() == "id" else ""
    names = [each for each in (stem, key, noun) if each]
    known = next((types[fold_name(each)] for each in names if fold_name(each) in types), "")
    new = "_".join(split_words(stem or noun or key)) or ROOT_TYPE
    if is_used:
        return known or new, "its contract uses it in an atom"
    if schema.get("type") not in ("string", "integer"):
        return DATA, f"{schema.get('type', 'anything')} is no name of an object"
    if "enum" in schema or "const" in schema:
        return DATA, "a choice"
    if "format" in schema:
        return DATA, f"a text of the format {schema['format']}"
    if key not in tool.required:
        return DATA, "it may be left out, and search binds all objects"
    if known:
        return known, f"named like the type {known}"
    if stem or noun:
        return new, "named like an identifier"
    return DATA, "no rule makes it an object"


def _make_data(tool: ForeignTool, key: str, name: str, written: Any, *, words: bool) -> DataParameter:
    """Make the data parameter of a property, with its type, its default, and the source that its contract declares."""
    schema = tool.properties[key]
    part = schema if isinstance(schema, Mapping) else {}
    if key in tool.types and not hasattr(written, "source"):
        place = CodePlace(f"{tool.name}({key})")
        return make_data_parameter(name, tool.types[key], part.get("default", Parameter.empty), place)
    reader = SchemaReader(tool.input_schema, words=words)
    annotation = tool.types.get(key) or reader.type_of(schema, f"{tool.name}_{name}")
    default = part.get("default", REQUIRED if key in tool.required else OMITTED)
    if default is OMITTED and annotation is not Any:
        annotation = (type(None) if annotation is None else annotation) | None
    source: Any = None
    is_fixed = False
    if written is not None and not isinstance(written, list):
        is_fixed = written.fixed
        if "default" in written.model_fields_set:
            default = float(written.default) if isinstance(written.default, Decimal) else written.default
        if written.source is not None:
            source = Source(written.source.fact, written.source.path, written.source.approved)
    said = part.get("description") if words else None
    description = written.description if written is not None and not isinstance(written, list) else ""
    description = description or (said if isinstance(said, str) else "")
    return DataParameter(name, annotation, default, source, is_fixed, description)


def make_json_arguments(roles: Iterable[Role], values: Mapping[str, Any]) -> dict[str, Any]:
    """Convert the arguments of a step to the JSON arguments of its tool; raises `ToolFailed` where that cannot be."""
    found: dict[str, Any] = {}
    for role in roles:
        if not role.key or role.name not in values:
            continue
        value = values[role.name]
        if role.data is None:
            found[role.key] = _name_for_tool(role, value)
        elif value is not OMITTED or role.data.default is not OMITTED:
            found[role.key] = _adapter_of(role.data)(value)
    return found


def _name_for_tool(role: Role, value: Any) -> str | int:
    name = str(getattr(value, "name", value))
    if not role.is_whole:
        return name
    try:
        return int(name)
    except ValueError:
        raise ToolFailed(f"the tool wants a whole number for {role.name!r}, and the object is {name!r}") from None


def _adapter_of(parameter: DataParameter) -> Callable[[Any], Any]:
    """Return a function that writes values of `parameter` as JSON, without fields that were not given."""
    from pydantic import TypeAdapter

    adapter: TypeAdapter[Any] = TypeAdapter(parameter.annotation)
    return lambda value: adapter.dump_python(value, mode="json", by_alias=True, exclude_unset=True, warnings=False)


def format_table(rows: Iterable[tuple[str, ...]]) -> str:
    """Write rows of texts as a table, with columns as wide as their longest text up to 40 characters."""
    lines = [
        tuple(each if len(each) <= 40 or at == len(row) - 1 else f"{each[:39]}…" for at, each in enumerate(row))
        for row in rows
    ]
    widths = [max((len(row[at]) for row in lines), default=0) for at in range(len(lines[0]) if lines else 0)]
    return "\n".join(
        "  ".join(each.ljust(width) for each, width in zip(row, widths, strict=True)).rstrip() for row in lines
    )
