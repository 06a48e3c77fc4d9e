"""Calls of tools: arguments are checked, errors are our messages, work is done in threads, and progress is told."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from functools import partial
from typing import Annotated, Any, Final, TypeVar

import anyio
import mcp_types as types
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError, UnexpectedToolError
from mcp.server.mcpserver.tools import Tool
from pydantic import BaseModel, Field, ValidationError

from executor.mcp_server.call_limits import CallLimits
from executor.mcp_server.run_tools import Tell
from executor.mcp_server.tool_data import Given
from planner.cli.output import judge
from planner.errors import ForethoughtError, printable
from planner.limits import LimitReached, Limits

MOST_BEHIND: Final = 20
"""Most notifications of progress that may wait for the client; of more, only the last is sent."""

_MISTAKES: Final = {
    "extra_forbidden": "is no argument",
    "missing": "is missing",
    "string_type": "must be a string",
    "dict_type": "must be an object",
    "model_type": "must be an object",
    "list_type": "must be an array",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
}
"""What is wrong with an argument, by pydantic's name of the mistake."""

About = Annotated[Given | None, Field(description="What the call is about; by default the served problem as it is.")]
Seconds = Annotated[float | None, Field(description="Time limit of the search; the server's own is the most.", gt=0)]
Reply = TypeVar("Reply", bound=BaseModel)


class StrictTool(Tool):  # type: ignore[misc]  # the SDK's types are not followed
    """A tool that refuses arguments which it does not have, and whose errors are our messages alone."""

    @classmethod
    def of(cls, function: Callable[..., Any], hints: types.ToolAnnotations) -> StrictTool:
        """Make a tool of `function`, whose docstring describes it."""
        tool: StrictTool = cls.from_function(function, annotations=hints)
        model = tool.fn_metadata.arg_model
        model.model_config["extra"] = "forbid"
        model.model_rebuild(force=True)
        tool.parameters["additionalProperties"] = False
        return tool

    async def run(self, arguments: dict[str, Any], context: Context, convert_result: bool = False) -> Any:
        """Call the function; raises `ToolError`."""
        try:
            return await super().run(arguments, context, convert_result)
        except ToolError as error:
            if isinstance(error, UnexpectedToolError):
                raise
            if not isinstance(error.__cause__, ValidationError):
                raise ToolError(str(error).removeprefix(f"Error executing tool {self.name}: ")) from None
            mistakes = list(map(_describe_mistake, error.__cause__.errors()))
            known = ", ".join(self.fn_metadata.arg_model.model_fields)
            raise ToolError(f"{'; '.join(mistakes[:5])} (`{self.name}` takes: {known})") from None


def _describe_mistake(mistake: Any) -> str:
    """Describe an argument that does not fit the schema of a tool, in the words of JSON."""
    name = ".".join(map(str, mistake["loc"]))
    return f"`{name}` {_MISTAKES[mistake['type']]}" if mistake["type"] in _MISTAKES else f"`{name}`: {mistake['msg']}"


class Desk:
    """Lets calls do their work in threads, within the limits of the server."""

    def __init__(self, limits: CallLimits) -> None:
        self.limits = limits

    @asynccontextmanager
    async def call(self, *arguments: Any) -> AsyncIterator[None]:
        """Admit a call with these arguments, and raise our errors in the body as errors of tools."""
        with _told_errors():
            self.limits.check(arguments)
            async with self.limits.turn():
                yield

    async def answer(
        self, work: Callable[..., Reply], about: Given | None, *given: Any, seconds: float | None = None
    ) -> Reply:
        """Return what `work(about, limits, …)` returns, in a thread."""
        async with self.call(None if about is None else about.model_dump(), *given):
            limits = self.limits.limit_search(seconds)
            reply: Reply = await call_in_thread(partial(work, about or Given(), limits, *given), limits)
            return reply


async def call_in_thread(call: Callable[[], Any], limits: Limits) -> Any:
    """Call `call` in a thread; a cancellation ends its search, and waits for the end of the thread."""
    job = asyncio.ensure_future(anyio.to_thread.run_sync(call))
    try:
        return await asyncio.shield(job)
    except asyncio.CancelledError:
        if limits.cancel is not None:
            limits.cancel.set()
        with anyio.CancelScope(shield=True):
            await asyncio.wait([job])
        if not job.cancelled():
            job.exception()  # asyncio reports exceptions that nobody has asked for
        raise


@contextmanager
def _told_errors() -> Iterator[None]:
    """Raise our errors, and limits that were reached, as errors of tools, which carry their messages."""
    try:
        yield
    except RecursionError:
        raise ToolError("the call nests too deeply") from None
    except ForethoughtError as error:
        raise ToolError(printable(str(error))) from None
    except (LimitReached, MemoryError) as stop:
        raise ToolError(judge(stop)[1]) from None


@asynccontextmanager
async def progress_to(context: Context) -> AsyncIterator[Tell]:
    """Notify the client of progress while the body lasts; the value is a function for any thread."""
    loop = asyncio.get_running_loop()
    news: asyncio.Queue[tuple[float, float | None, str] | None] = asyncio.Queue()

    def tell(done: float, total: float | None, text: str) -> None:
        with suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(news.put_nowait, (done, total, text))

    async def notify() -> None:
        last = 0.0
        while (latest := await news.get()) is not None:
            done, total, text = latest
            if news.qsize() < MOST_BEHIND:
                last = max(done, last + 0.001)  # by the protocol, each number is above the one before
                await context.report_progress(last, total, text)

    notifying = asyncio.ensure_future(notify())
    try:
        yield tell
        loop.call_soon(news.put_nowait, None)  # after what threads have told by now
        await notifying
    finally:
        notifying.cancel()
