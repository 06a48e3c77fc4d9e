"""Take plain typed functions as tools: their contracts stand beside them, in YAML or in Python."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, Unpack, get_type_hints

from executor.foreign_tools.foreign_tools import ForeignTools
from executor.foreign_tools.tool import ForeignTool, ToolAnswer, ToolServerError
from executor.foreign_tools.tool_options import ToolOptions
from executor.tools.containment import call_contained
from executor.tools.streaming import streamed
from planner.errors import InputError
from planner.language.declare.action_parameters import is_context
from planner.language.declare.fields import find_definition
from planner.language.declare.marks import Entity


def function_tools(*functions: Callable[..., Any], **options: Unpack[ToolOptions]) -> ForeignTools:
    """Return `functions` as tools: each keeps its own signature, and is bound as the handler of its action.

    A parameter that is annotated with an `Entity` is a planning object; for all others the rules decide. The `options`
    are those of `ForeignTools`. Raises `InputError` for a function whose parameters have no types.
    """
    source = FunctionSource(functions)
    found = ForeignTools(source, **options)
    found.take(source.read_tools())
    return found


class FunctionSource:
    """Functions by name."""

    def __init__(self, functions: Sequence[Callable[..., Any]]) -> None:
        self._functions: dict[str, Callable[..., Any]] = {}
        for each in functions:
            name = getattr(each, "__name__", "")
            if isinstance(each, type) or not callable(each) or not name:
                raise InputError(f"{each!r} is no function with a name", hint="function_tools(get_order, refund)")
            if name in self._functions:
                raise InputError(f"two functions are named {name!r}")
            self._functions[name] = each
        self.name = "functions"
        self.is_changed = False

    async def open(self) -> None:
        """Do nothing: the functions are here."""

    async def close(self) -> None:
        """Do nothing."""

    def read_tools(self) -> list[ForeignTool]:
        """Return the functions as tools."""
        return [_read_function(name, each) for name, each in self._functions.items()]

    async def list_tools(self) -> Sequence[ForeignTool]:
        """Return the functions as tools."""
        return self.read_tools()

    async def call(self, name: str, arguments: dict[str, Any]) -> ToolAnswer:
        """Call a function with JSON arguments, as an observer does."""
        function = self._functions.get(name)
        if function is None:
            raise ToolServerError(f"there is no function {name}")
        from pydantic import TypeAdapter

        returned = await call_contained(streamed(function), arguments)
        return ToolAnswer(TypeAdapter(Any).dump_python(returned, mode="json"))

    def function_of(self, name: str) -> Callable[..., Any] | None:
        """Return the function."""
        return self._functions[name]


def _read_function(name: str, function: Callable[..., Any]) -> ForeignTool:
    """Convert a function; raises `DeclarationError` at its definition for a parameter without a type."""
    from pydantic import PydanticSchemaGenerationError, PydanticUserError, TypeAdapter

    place = find_definition(function)
    try:
        hints = get_type_hints(function, include_extras=True)
    except Exception as error:  # noqa: BLE001 - annotations are others' code
        raise place.error(f"the annotations of {name} cannot be read: {error}") from None
    properties, required = dict[str, Any](), list[str]()
    for each in inspect.signature(function).parameters.values():
        if is_context(each):
            continue
        if each.kind in (each.VAR_KEYWORD, each.VAR_POSITIONAL) or each.name not in hints:
            raise place.error(f"{name} has the parameter {each.name!r} without a type", "annotate each parameter")
        kind = hints[each.name]
        try:
            is_entity = isinstance(kind, type) and issubclass(kind, Entity)
            schema = {"type": "string"} if is_entity else TypeAdapter(kind).json_schema()
        except (PydanticSchemaGenerationError, PydanticUserError):
            schema = {}
        if each.default is each.empty:
            required.append(each.name)
        else:
            schema = {**schema, "default": each.default}
        properties[each.name] = schema
    types = {key: hints[key] for key in properties if not _is_simple(hints[key])}
    schema = {"type": "object", "properties": properties, "required": required}
    return ForeignTool(name, inspect.cleandoc(function.__doc__ or ""), schema, None, types=types)


def _is_simple(kind: Any) -> bool:
    """Return whether the rules decide about a parameter of this type, rather than the annotation."""
    return kind in (str, int)
