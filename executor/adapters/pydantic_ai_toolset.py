"""Offer planned calls to agents of pydantic-ai: as a toolset, or as a capability that brings it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

from pydantic_ai import ApprovalRequired, RunContext, ToolDenied
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.messages import ModelMessage, ToolCallPart, ToolReturnPart
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.toolsets import AbstractToolset, ToolsetTool
from pydantic_core import SchemaValidator, core_schema

from executor import World
from executor.adapters.offers import Offer
from executor.adapters.planned_calls import PlannedCalls
from planner.model import Problem

Deps = TypeVar("Deps")
_ANYTHING = SchemaValidator(core_schema.dict_schema())
"""Arguments are checked by the call itself, which answers in the words of the domain."""


class ForethoughtToolset(AbstractToolset[Any]):  # type: ignore[misc]  # the types of pydantic-ai are not followed
    """The tools of `world` that the goal of `problem` needs next, for `Agent(toolsets=[…])`.

    The options are those of `PlannedCalls`, which is the attribute `calls`; handlers have the `deps` of the agent as
    theirs. Before each request to the model, the offer and the instructions are those of the present state. A tool that
    needs an approval, without an `approve` callback, is deferred as pydantic-ai does it: the agent's output is then
    `DeferredToolRequests`, whose `metadata` has the `text` of the question and what is `known`, with all values.
    `ToolApproved(override_args=…)` approves it with other values; those that do not fit have it deferred again, with
    the `objection` in the `metadata`.
    """

    def __init__(
        self,
        world: World,
        problem: Problem,
        goal: Any = None,
        *,
        id: str | None = None,  # noqa: A002 - as pydantic-ai calls it
        **options: Any,
    ) -> None:
        self.calls = PlannedCalls(world, problem, goal, **options)
        self._id = id or f"forethought-{world.model.name}"

    @property
    def id(self) -> str:
        """The id of the toolset among those of an agent."""
        return self._id

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:
        """Return the tools that are offered now, and those that wait for an approval, after what was just refused."""
        self.calls.take_deps(ctx.deps)
        for name, arguments, refusal in _list_denied(ctx.messages):
            if await self.calls.ask_for_approval(name, arguments) is not None:
                await self.calls.call(name, arguments, approved=refusal)
        offers = [*await self.calls.offers(), *self.calls.list_asked()]
        return {each.name: self._make_tool(each, ctx) for each in offers}

    async def get_instructions(self, ctx: RunContext[Any]) -> str:  # noqa: ARG002 - what to do depends on the world alone
        """Return the goal, and what comes next."""
        return await self.calls.describe()

    async def call_tool(self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: Any) -> dict[str, Any]:  # noqa: ARG002 - the offer may have changed meanwhile
        """Call a tool, and return the report of the call; raises `ApprovalRequired`."""
        self.calls.take_deps(ctx.deps)
        arguments, approved = tool_args, None
        if ctx.tool_call_approved:
            arguments, approved = self._read_approval(name, tool_args, ctx)
        asked = await self.calls.ask_for_approval(name, arguments)
        objection = "" if approved is None else await self.calls.object_to_approval(name, arguments, approved)
        if asked is not None and (approved is None or objection):
            raise ApprovalRequired(dict(asked) | ({"objection": objection} if objection else {}))
        return (await self.calls.call(name, arguments, approved=approved)).to_dict()

    def _read_approval(self, name: str, given: dict[str, Any], ctx: RunContext[Any]) -> tuple[dict[str, Any], Any]:
        """Return the arguments of a call that somebody has approved, and the approval, with the values that it changes.

        Arguments that it leaves out stay; another object makes it another call.
        """
        parts = [each for message in ctx.messages for each in message.parts if isinstance(each, ToolCallPart)]
        asked = next((each.args_as_dict() for each in parts if each.tool_call_id == ctx.tool_call_id), given)
        objects = {each.name.removeprefix("?") for each in self.calls.world.model.actions[name].parameters}
        changed = {each: value for each, value in given.items() if each not in objects and asked.get(each) != value}
        arguments = asked | {each: value for each, value in given.items() if each in objects}
        return arguments, {"values": changed} if changed else True

    def _make_tool(self, offer: Offer, ctx: RunContext[Any]) -> ToolsetTool[Any]:
        definition = ToolDefinition(
            name=offer.name,
            description=offer.description,
            parameters_json_schema=dict(offer.parameters),
            sequential=True,
        )
        return ToolsetTool(toolset=self, tool_def=definition, max_retries=ctx.max_retries, args_validator=_ANYTHING)


def _list_denied(messages: Sequence[ModelMessage]) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Yield the calls that the latest message denies, and how: pydantic-ai tells the model alone of a refusal."""
    denied = {
        each.tool_call_id: "no" if each.content == ToolDenied().message else f"no: {each.content}"
        for each in (messages[-1].parts if messages else ())
        if isinstance(each, ToolReturnPart) and each.outcome == "denied"
    }
    for message in messages if denied else ():
        for each in message.parts:
            if isinstance(each, ToolCallPart) and each.tool_call_id in denied:
                yield each.tool_name, each.args_as_dict(), denied[each.tool_call_id]


class ForethoughtCapability(AbstractCapability[Any]):  # type: ignore[misc]  # as above
    """The same as a capability, for `Agent(capabilities=[…])`; the toolset is the attribute `toolset`."""

    def __init__(self, world: World, problem: Problem, goal: Any = None, **options: Any) -> None:
        super().__init__()
        self.toolset = ForethoughtToolset(world, problem, goal, **options)

    @property
    def calls(self) -> PlannedCalls:
        """The calls of the toolset."""
        return self.toolset.calls

    def get_toolset(self) -> ForethoughtToolset:
        """Return the toolset."""
        return self.toolset
