"""Take tools of LangChain and LangGraph: instances of `langchain_core.tools.BaseTool`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Unpack

from executor.foreign_tools.foreign_tools import ForeignTools
from executor.foreign_tools.mcp_tools import read_meta, read_text
from executor.foreign_tools.tool import ForeignTool, Hints, ToolAnswer, ToolFailed, ToolServerError, quote_foreign
from executor.foreign_tools.tool_options import ToolOptions
from executor.tools.containment import contain_errors, describe_error
from executor.tools.results import InDoubt
from planner.errors import InputError, UnsupportedError, kind_of


def langchain_tools(tools: Any, **options: Unpack[ToolOptions]) -> ForeignTools:
    """Return LangChain `tools` (a list, or a `ToolNode` of LangGraph) with contracts.

    The `options` are those of `ForeignTools`. Raises `UnsupportedError` where langchain-core is not installed, and
    `InputError` for what is no tool.
    """
    source = LangchainSource(tools)
    found = ForeignTools(source, **options)
    found.take(source.read_tools())
    return found


class LangchainSource:
    """A list of LangChain tools."""

    def __init__(self, tools: Any) -> None:
        try:
            from langchain_core.tools import BaseTool
        except ImportError as error:
            raise UnsupportedError("tools of LangChain", "pip install 'forethought[langgraph]'") from error
        given = getattr(tools, "tools_by_name", tools)
        given = given.values() if isinstance(given, Mapping) else given
        given = [given] if isinstance(given, BaseTool) else given
        if not isinstance(given, Iterable):
            raise InputError(f"{kind_of(tools)} is no list of tools", hint="langchain_tools([search, send])")
        self._tools: list[Any] = list(given)
        for each in self._tools:
            if not isinstance(each, BaseTool):
                hint = "decorate functions with @tool, or take them by function_tools"
                raise InputError(f"{kind_of(each)} is no tool of LangChain", hint=hint)
        self.name = "LangChain"
        self.is_changed = False

    async def open(self) -> None:
        """Do nothing: the tools are here."""

    async def close(self) -> None:
        """Do nothing."""

    def read_tools(self) -> list[ForeignTool]:
        """Return the tools as they are now."""
        return [_read_tool(each) for each in self._tools]

    async def list_tools(self) -> Sequence[ForeignTool]:
        """Return the tools as they are now."""
        return self.read_tools()

    async def call(self, name: str, arguments: dict[str, Any]) -> ToolAnswer:
        """Call a tool; see `ToolSource`."""
        tool = next((each for each in self._tools if each.name == name), None)
        if tool is None:
            raise ToolServerError(f"there is no tool {name} any more")
        call = {"name": name, "args": arguments, "id": name, "type": "tool_call"}
        try:
            with contain_errors():
                message = await tool.ainvoke(call)
        except TimeoutError as error:
            raise InDoubt(f"{name} did not end within its time limit") from error
        except Exception as error:
            raise ToolFailed(quote_foreign(describe_error(error))) from error
        return _read_message(name, message)

    def function_of(self, name: str) -> Callable[..., Any] | None:  # noqa: ARG002 - tools have schemas and callbacks
        """Return None."""
        return None


def _read_tool(tool: Any) -> ForeignTool:
    """Convert a tool."""
    schema = tool.tool_call_schema
    metadata: Mapping[str, Any] = tool.metadata or {}
    hints = metadata.get("annotations") if isinstance(metadata.get("annotations"), Mapping) else metadata
    marks = {each: True for each in tool.tags or () if each in ("read_only", "destructive", "idempotent")}
    return ForeignTool(
        tool.name,
        tool.description or "",
        schema if isinstance(schema, Mapping) else schema.model_json_schema(),
        None,
        Hints.of({**(hints or {}), **marks}),
        read_meta(metadata.get("_meta") or metadata),
    )


def _read_message(name: str, message: Any) -> ToolAnswer:
    """Convert the message of a tool: its artifact, else its content."""
    status = getattr(message, "status", None)
    if status is None:
        raise InDoubt(f"{name} returned {kind_of(message)}, and no message of a tool")
    content = message.content
    text = content if isinstance(content, str) else ""
    if status == "error":
        raise ToolFailed(quote_foreign(text or content))
    artifact = getattr(message, "artifact", None)
    return ToolAnswer(read_text(text) if artifact is None and text else content if artifact is None else artifact, text)
