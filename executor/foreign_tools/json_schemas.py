"""Read JSON Schemas of tools: Python types that pydantic checks, and signatures in words.

What a schema says beyond this (`not`, `if`, patterns that no regular expression engine takes in linear time) is left to
the tool, which gets the value and checks it itself. Schemas are not trusted: depth and number of parts are bounded.
"""

from __future__ import annotations

import json
import keyword
import re
from collections.abc import Iterator, Mapping
from functools import reduce
from operator import or_
from typing import Annotated, Any, Final, Literal

DEEPEST: Final = 12
"""Most levels of a schema that become types; deeper values are not checked here."""
MOST_PARTS: Final = 200
"""Most properties, choices or alternatives of one level that become types."""
MOST_VISITS: Final = 5_000
"""Most parts of one schema that are read, as often as references lead to them."""
_WORDS: Final = frozenset({"title", "description", "examples", "$comment", "$schema", "$id", "deprecated"})
_MAPS: Final = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_LISTS: Final = ("anyOf", "oneOf", "allOf", "prefixItems")
_ONES: Final = ("items", "additionalProperties", "not", "contains", "propertyNames", "if", "then", "else")
_SCALARS: Final = (str, int, bool, type(None))


def strip_annotations(schema: Any, depth: int = 3 * DEEPEST) -> Any:
    """Return `schema` without what is for people only; parts that are nested too deeply are replaced by their text."""
    if depth == 0:
        return repr(schema)[:1000]
    if not isinstance(schema, Mapping):
        return schema
    found: dict[str, Any] = {}
    for key, value in schema.items():
        if key in _MAPS and isinstance(value, Mapping):
            found[key] = {name: strip_annotations(each, depth - 1) for name, each in value.items()}
        elif key in _LISTS and isinstance(value, list):
            found[key] = [strip_annotations(each, depth - 1) for each in value]
        elif key in _ONES:
            found[key] = strip_annotations(value, depth - 1)
        elif key == "required" and isinstance(value, list):
            found[key] = sorted(map(str, value))
        elif key not in _WORDS:
            found[key] = value
    return found


class SchemaReader:
    """Reads the parts of one schema document, whose references are resolved within it.

    With `words`, models keep the descriptions of their fields, which language models may take for instructions. Models
    that are not `is_open` have further fields only where their schema says so.
    """

    def __init__(self, root: Any, *, words: bool = False, is_open: bool = True) -> None:
        self._root = root
        self._words, self._is_open = words, is_open
        self._left = MOST_VISITS

    def resolve(self, schema: Any, seen: tuple[str, ...] = ()) -> tuple[Any, tuple[str, ...]]:
        """Follow the references of `schema`; return the part, and the references `seen`. A circle leads to True."""
        while isinstance(schema, Mapping) and isinstance(schema.get("$ref"), str):
            reference = schema["$ref"]
            if reference in seen or not reference.startswith("#"):
                return True, seen
            seen = (*seen, reference)
            part = self._root
            for key in filter(None, reference[1:].split("/")):
                name = key.replace("~1", "/").replace("~0", "~")
                part = part.get(name, True) if isinstance(part, Mapping) else True
            schema = part
        self._left -= 1
        return (schema if self._left > 0 else True), seen

    def type_of(self, schema: Any, name: str = "Value", seen: tuple[str, ...] = (), depth: int = DEEPEST) -> Any:
        """Return the Python type of the values that `schema` allows, for pydantic; `Any` where it is beyond this."""
        schema, seen = self.resolve(schema, seen)
        if not isinstance(schema, Mapping) or depth == 0:
            return Any
        if "const" in schema or isinstance(schema.get("enum"), list):
            choices = [schema["const"]] if "const" in schema else schema["enum"][:MOST_PARTS]
            fits = choices and all(type(each) in _SCALARS for each in choices)
            return Literal[tuple(choices)] if fits else Any
        alternatives = next((schema[key] for key in ("anyOf", "oneOf") if isinstance(schema.get(key), list)), None)
        if isinstance(schema.get("type"), list):
            alternatives = [{**schema, "type": each} for each in schema["type"]]
        if alternatives is not None:
            members = [self.type_of(each, name, seen, depth - 1) for each in alternatives[:MOST_PARTS]]
            return Any if Any in members or not members else reduce(or_, [_as_member(each) for each in members])
        if isinstance(schema.get("allOf"), list):
            parts = [self.resolve(each, seen)[0] for each in schema["allOf"]]
            others = {key: value for key, value in schema.items() if key != "allOf"}
            return self.type_of(_merge([*parts, others]), name, seen, depth - 1)
        return self._simple_type_of(schema, name, seen, depth)

    def _simple_type_of(self, schema: Mapping[str, Any], name: str, seen: tuple[str, ...], depth: int) -> Any:
        from pydantic import Field

        match schema.get("type", "object" if "properties" in schema else None):
            case "string":
                limits = _find_limits(schema, {"minLength": "min_length", "maxLength": "max_length"})
                pattern = schema.get("pattern")
                limits |= {"pattern": pattern} if isinstance(pattern, str) and _is_linear(pattern) else {}
                return Annotated[str, Field(**limits)] if limits else str
            case "integer" | "number" as kind:
                bounds = {"minimum": "ge", "maximum": "le", "exclusiveMinimum": "gt", "exclusiveMaximum": "lt"}
                limits = _find_limits(schema, bounds)
                number: type = int if kind == "integer" else float
                return Annotated[number, Field(**limits)] if limits else number
            case "boolean":
                return bool
            case "null":
                return None
            case "array":
                inner = Any if "prefixItems" in schema else self.type_of(schema.get("items"), name, seen, depth - 1)
                limits = _find_limits(schema, {"minItems": "min_length", "maxItems": "max_length"})
                return Annotated[list[inner], Field(**limits)] if limits else list[inner]  # type: ignore[valid-type]
            case "object":
                return self._object_type_of(schema, name, seen, depth)
        return Any

    def _object_type_of(self, schema: Mapping[str, Any], name: str, seen: tuple[str, ...], depth: int) -> Any:
        """Return a model with the properties of `schema`, or a dict where it has none."""
        from pydantic import ConfigDict, Field, create_model

        properties = schema.get("properties")
        more = schema.get("additionalProperties", self._is_open)
        if not isinstance(properties, Mapping) or not properties or len(properties) > MOST_PARTS:
            inner = self.type_of(more, name, seen, depth - 1) if isinstance(more, Mapping) else Any
            return dict[str, inner]  # type: ignore[valid-type]  # made at run time
        required = schema.get("required")
        required = required if isinstance(required, list) else []
        fields: dict[str, Any] = {}
        for number, (key, part) in enumerate(properties.items()):
            attribute = key if _is_attribute(key) else f"field_{number}"
            kind = self.type_of(part, f"{name}_{attribute}", seen, depth - 1)
            default = ... if key in required else _default_of(part)
            kind = kind if key in required or kind is Any else _as_member(kind) | None
            words = part.get("description") if self._words and isinstance(part, Mapping) else None
            fields[attribute] = (kind, Field(default, alias=key, description=words if isinstance(words, str) else None))
        extra: Literal["forbid", "allow"] = "forbid" if more is False else "allow"
        config = ConfigDict(extra=extra, populate_by_name=True, protected_namespaces=())
        return create_model(re.sub(r"\W", "_", name)[:80] or "Value", __config__=config, **fields)

    def describe(self, schema: Any, seen: tuple[str, ...] = (), depth: int = DEEPEST) -> str:
        """Return the type that `schema` describes in a few words, such as `list of string` or `one of a, b`."""
        schema, seen = self.resolve(schema, seen)
        if not isinstance(schema, Mapping) or depth == 0:
            return "anything"
        if "const" in schema or isinstance(schema.get("enum"), list):
            choices = [schema["const"]] if "const" in schema else schema["enum"]
            return f"one of {', '.join(map(str, choices[:MOST_PARTS]))}"
        for key, word in (("anyOf", " or "), ("oneOf", " or "), ("allOf", " and ")):
            if isinstance(schema.get(key), list):
                return word.join(dict.fromkeys(self.describe(each, seen, depth - 1) for each in schema[key]))
        kind = schema.get("type", "object" if "properties" in schema else "anything")
        if isinstance(kind, list):
            return " or ".join(map(str, kind))
        rules = {key: schema[key] for key in sorted(schema.keys() & _RULES)}
        limits = f" ({', '.join(f'{key} {json.dumps(value, default=str)}' for key, value in rules.items())})"
        inside = f" of {self.describe(schema.get('items'), seen, depth - 1)}" if kind == "array" else ""
        return f"{'list' if kind == 'array' else kind}{inside}{limits if rules else ''}"

    def signature(self, schema: Any) -> dict[str, str]:
        """Return the type of each parameter of an object in words, and those of nested ones by their path."""
        return dict(self._iterate_signature(schema, "", (), DEEPEST))

    def _iterate_signature(
        self, schema: Any, prefix: str, seen: tuple[str, ...], depth: int
    ) -> Iterator[tuple[str, str]]:
        schema, seen = self.resolve(schema, seen)
        properties = schema.get("properties") if isinstance(schema, Mapping) else None
        if not isinstance(properties, Mapping) or depth == 0:
            return
        required = schema.get("required")
        for key, part in list(properties.items())[:MOST_PARTS]:
            is_required = isinstance(required, list) and key in required
            yield f"{prefix}{key}", self.describe(part, seen) + ("" if is_required else ", optional")
            inner, further = self.resolve(part, seen)
            item = inner.get("items") if isinstance(inner, Mapping) and inner.get("type") == "array" else None
            mark = ".*." if item is not None else "."
            yield from self._iterate_signature(item or inner, f"{prefix}{key}{mark}", further, depth - 1)


_RULES: Final = frozenset({
    "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength", "pattern",
    "format", "minItems", "maxItems", "uniqueItems", "default",
})  # fmt: skip


def _as_member(kind: Any) -> Any:
    """Return a type as a member of a union."""
    return type(None) if kind is None else kind


def _default_of(schema: Any) -> Any:
    return schema.get("default") if isinstance(schema, Mapping) else None


def _merge(parts: list[Any]) -> dict[str, Any]:
    """Merge schemas that hold all at once: their properties side by side, the last of other keys."""
    found: dict[str, Any] = {}
    for part in parts:
        if isinstance(part, Mapping):
            properties = {**(found.get("properties") or {}), **(part.get("properties") or {})}
            required = [*(found.get("required") or []), *(part.get("required") or [])]
            found |= part
            found |= {"properties": properties, "required": required} if properties else {}
    return found


def _find_limits(schema: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """Return those limits of `schema` that are numbers, by their names in pydantic."""
    found = {name: schema.get(key) for key, name in names.items()}
    return {name: value for name, value in found.items() if type(value) in (int, float)}


def _is_linear(pattern: str) -> bool:
    """Return whether pydantic's regular expressions, which take linear time, know `pattern`."""
    from pydantic import Field, TypeAdapter
    from pydantic_core import SchemaError

    try:
        TypeAdapter(Annotated[str, Field(pattern=pattern)])
    except (SchemaError, ValueError):
        return False
    return True


def _is_attribute(name: str) -> bool:
    """Return whether a field of a model may have this name."""
    from pydantic import BaseModel

    usual = name.isidentifier() and not keyword.iskeyword(name) and not name.startswith("_")
    return usual and not hasattr(BaseModel, name) and not name.startswith("field_")
