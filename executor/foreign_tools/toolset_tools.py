"""Take the tools of a pydantic-ai toolset, such as a `FunctionToolset`, or those of an agent."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Unpack

from executor.foreign_tools.foreign_tools import ForeignTools
from executor.foreign_tools.mcp_tools import read_meta, read_text
from executor.foreign_tools.tool import ForeignTool, Hints, ToolAnswer, ToolFailed, ToolServerError, quote_foreign
from executor.foreign_tools.tool_options import ToolOptions
from executor.tools.containment import contain_errors, describe_error
from executor.tools.results import InDoubt
from planner.errors import InputError, UnsupportedError, kind_of


def toolset_tools(toolset: Any, *, deps: Any = None, **options: Unpack[ToolOptions]) -> ForeignTools:
    """Return the tools of a pydantic-ai `toolset`, or of an agent, to be used with `async with`; they run with `deps`.

    The `options` are those of `ForeignTools`. Raises `UnsupportedError` where pydantic-ai is not installed, and
    `InputError` for what is no toolset.
    """
    return ForeignTools(ToolsetSource(toolset, deps), **options)


class ToolsetSource:
    """The tools of one toolset, called as in a run of an agent without a model."""

    def __init__(self, toolset: Any, deps: Any = None) -> None:
        try:
            from pydantic_ai import Agent
            from pydantic_ai.toolsets import AbstractToolset, CombinedToolset
        except ImportError as error:
            raise UnsupportedError("toolsets of pydantic-ai", "pip install 'forethought[llm]'") from error
        if isinstance(toolset, Agent):
            toolset = CombinedToolset(list(toolset.toolsets))
        if not isinstance(toolset, AbstractToolset):
            raise InputError(f"{kind_of(toolset)} is no toolset of pydantic-ai", hint="such as FunctionToolset([...])")
        self._toolset: Any = toolset
        self._deps = deps
        self._tools: dict[str, Any] = {}
        self._is_open = False
        self.name = toolset.id or type(toolset).__name__
        self.is_changed = False

    def _make_context(self) -> Any:
        from pydantic_ai import RunContext
        from pydantic_ai.models.test import TestModel
        from pydantic_ai.usage import RunUsage

        return RunContext(deps=self._deps, model=TestModel(), usage=RunUsage())

    async def open(self) -> None:
        """Enter the toolset."""
        try:
            with contain_errors():
                self._toolset = await self._toolset.for_run(self._make_context())
                await self._toolset.__aenter__()
        except Exception as error:
            raise ToolServerError(f"{self.name} cannot be entered: {describe_error(error)}") from error
        self._is_open = True

    async def close(self) -> None:
        """Leave the toolset."""
        if self._is_open:
            self._is_open = False
            await self._toolset.__aexit__(None, None, None)

    async def list_tools(self) -> Sequence[ForeignTool]:
        """Return the tools of the toolset."""
        try:
            with contain_errors():
                self._tools = dict(await self._toolset.get_tools(self._make_context()))
        except Exception as error:
            raise ToolServerError(f"{self.name} does not list its tools: {describe_error(error)}") from error
        return [_read_tool(each.tool_def) for each in self._tools.values()]

    async def call(self, name: str, arguments: dict[str, Any]) -> ToolAnswer:
        """Call a tool; see `ToolSource`."""
        from pydantic_ai import exceptions

        tool = self._tools.get(name)
        if tool is None or not self._is_open:
            raise ToolServerError(f"{self.name} has no tool {name} now; use it inside 'async with'")
        context = self._make_context()
        try:
            with contain_errors():
                given = tool.args_validator.validate_python(arguments)
                returned = await self._toolset.call_tool(name, given, context, tool)
        except (exceptions.CallDeferred, exceptions.ApprovalRequired) as error:
            raise ToolFailed(f"{name} waits for an approval of its own: {describe_error(error)}") from error
        except TimeoutError as error:
            raise InDoubt(f"{name} did not end within its time limit") from error
        except Exception as error:
            raise ToolFailed(quote_foreign(describe_error(error))) from error
        return _read_returned(returned)

    def function_of(self, name: str) -> Callable[..., Any] | None:  # noqa: ARG002 - tools have validators and a context
        """Return None."""
        return None


def _read_tool(definition: Any) -> ForeignTool:
    """Convert the definition of a tool."""
    metadata: Mapping[str, Any] = definition.metadata or {}
    hints = Hints.of(metadata.get("annotations") or metadata)
    deferred = definition.kind not in ("function", "unapproved")
    return ForeignTool(
        definition.name,
        definition.description or "",
        definition.parameters_json_schema,
        getattr(definition, "return_schema", None),
        hints,
        read_meta(metadata.get("meta") or metadata),
        barred="it is carried out elsewhere" if deferred else "",
        needs_approval=definition.kind == "unapproved",
    )


def _read_returned(returned: Any) -> ToolAnswer:
    """Convert what a tool returned to JSON."""
    from pydantic_core import to_jsonable_python

    value = getattr(returned, "return_value", returned) if type(returned).__name__ == "ToolReturn" else returned
    data = read_text(value) if isinstance(value, str) else to_jsonable_python(value, by_alias=True, fallback=repr)
    return ToolAnswer(data, value if isinstance(value, str) else "")
