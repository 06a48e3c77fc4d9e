"""Take the tools of an MCP server, by the official SDK: a command, a URL, or a server in this process.

The server is offered nothing: no sampling, no questions to people, no roots.
"""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import IO, Any, Final, Unpack

from executor.foreign_tools.contracts import ContractDocument
from executor.foreign_tools.foreign_tools import ForeignTools
from executor.foreign_tools.tool import ForeignTool, Hints, ToolAnswer, ToolFailed, ToolServerError, quote_foreign
from executor.foreign_tools.tool_options import ToolOptions
from executor.tools.containment import describe_error
from executor.tools.results import InDoubt
from planner.errors import InputError, UnsupportedError

CONNECT_SECONDS: Final = 30.0
READ_SECONDS: Final = 300.0
"""Seconds between two parts of an HTTP answer, which a server may keep open, as in the client of the SDK."""
MOST_PAGES: Final = 100
"""Most pages of a list of tools."""
_CONTRACT: Final = frozenset(ContractDocument.model_fields) - {"confirmed", "action", "proposed_by", "why", "seen"}
_EFFECTS: Final = frozenset({"requires", "provides", "modifies", "creates", "lists", "when", "outcomes"})
_CLOSED: Final = -32000
"""Error code of the SDK for a connection that is closed."""
_NOT_CALLED: Final = frozenset({-32600, -32601, -32602})
"""Error codes of JSON-RPC for a call that was refused before anything was done."""


def mcp_tools(
    server: Any,
    *,
    env: Mapping[str, str] | None = None,
    cwd: str | Path | None = None,
    headers: Mapping[str, str] | None = None,
    **options: Unpack[ToolOptions],
) -> ForeignTools:
    """Return the tools of an MCP server, to be used with `async with`.

    `server` is a command, as a text or as a list of words, which is started with `env` in `cwd`; or a URL, which gets
    `headers`; or a server of the SDK in this process; or a transport of the SDK. The `options` are those of
    `ForeignTools`. Raises `UnsupportedError` where the SDK is not installed.
    """
    return ForeignTools(McpSource(server, env, cwd, headers), **options)


class McpSource:
    """The tools of one MCP server."""

    def __init__(
        self,
        server: Any,
        env: Mapping[str, str] | None = None,
        cwd: str | Path | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        try:
            import mcp
        except ImportError as error:
            raise UnsupportedError("tools of MCP servers", "pip install 'forethought[mcp]'") from error
        self._sdk = mcp
        self._server, self._env, self._cwd, self._headers = server, env, cwd, headers
        self.name = _name_server(server)
        self.is_changed = False
        self._client: Any = None
        self._stack = AsyncExitStack()
        self._connection: asyncio.Task[None] | None = None
        """Keeps the connection: what the SDK opens in a task is closed in that task, whoever asks for it."""
        self._ending = asyncio.Event()
        self._connecting = asyncio.Lock()
        self._errors: IO[bytes] | None = None
        self._dead = ""
        """Why no call can succeed on this connection any more."""

    async def open(self) -> None:
        """Start or reach the server."""
        if self._client is not None:
            raise InputError(f"the tools of {self.name} are in use already", hint="call mcp_tools again")
        await self._connect()

    async def _connect(self) -> None:
        """Start the task that keeps a connection, and wait until it is there; raises `ToolServerError`."""
        self._dead, self._errors, self._ending = "", None, asyncio.Event()
        self._stack = AsyncExitStack()
        is_there = asyncio.get_running_loop().create_future()
        self._connection = asyncio.create_task(self._keep_connection(is_there))
        try:
            self._client = await is_there
        except asyncio.CancelledError:
            await self._disconnect()
            raise
        info = self._client.server_info
        self.name = quote_foreign(info.name)[:80] if info is not None and info.name else self.name

    async def _keep_connection(self, is_there: asyncio.Future[Any]) -> None:
        """Connect, tell `is_there` the client or the error, and disconnect when the connection is to end."""
        listener: asyncio.Task[None] | None = None
        try:
            made = self._sdk.Client(await self._find_transport(), message_handler=self._take_message)
            client = await self._stack.enter_async_context(made)
            with suppress(Exception):  # servers of 2026 tell of changes in a stream; others otherwise, or not at all
                stream = await self._stack.enter_async_context(client.listen(tools_list_changed=True))
                listener = asyncio.create_task(self._listen(stream))
            if not is_there.done():
                is_there.set_result(client)
            await self._ending.wait()
        except Exception as error:  # noqa: BLE001 - told to whoever waits for the connection
            if not is_there.done():
                is_there.set_exception(ToolServerError(f"{self.name} cannot be reached: {self._explain(error)}"))
        finally:
            if listener is not None:
                listener.cancel()
                await asyncio.gather(listener, return_exceptions=True)
            try:
                await self._stack.aclose()
            except Exception as error:  # noqa: BLE001 - a server that died may fail to be closed
                self._dead = self._dead or describe_error(error)

    async def _disconnect(self) -> None:
        self._ending.set()
        if self._connection is not None:
            await asyncio.gather(self._connection, return_exceptions=True)
        self._client, self._connection = None, None

    async def _find_transport(self) -> Any:
        """Return what the client of the SDK takes for the server."""
        server = self._server
        if isinstance(server, str) and server.lower().startswith(("http://", "https://")):
            if not self._headers:
                return server
            from httpx2 import AsyncClient, Timeout
            from mcp.client.streamable_http import streamable_http_client

            patience = Timeout(CONNECT_SECONDS, read=READ_SECONDS)
            client = AsyncClient(headers=dict(self._headers), timeout=patience)
            await self._stack.enter_async_context(client)
            return streamable_http_client(server, http_client=client)
        if not isinstance(server, str | list | tuple | self._sdk.StdioServerParameters):
            return server
        from mcp.client.stdio import stdio_client

        if not isinstance(server, self._sdk.StdioServerParameters):
            words = shlex.split(server) if isinstance(server, str) else [str(each) for each in server]
            env = None if self._env is None else dict(self._env)
            server = self._sdk.StdioServerParameters(command=words[0], args=words[1:], env=env, cwd=self._cwd)
        self._errors = self._stack.enter_context(tempfile.TemporaryFile())  # noqa: SIM115 - the stack closes it
        return stdio_client(server, errlog=self._errors)

    async def _listen(self, stream: Any) -> None:
        with suppress(Exception):  # a stream that ends is replaced by the list before each irreversible call
            async for _ in stream:
                self.is_changed = True

    async def _take_message(self, message: Any) -> None:
        """Note that the tools have changed, or that the connection has failed."""
        if type(message).__name__ == "ToolListChangedNotification":
            self.is_changed = True

    async def close(self) -> None:
        """Disconnect, and stop a server that was started."""
        await self._disconnect()

    async def _connected(self) -> Any:
        """Return the client of the connection, which is made anew if it is gone; raises `ToolServerError`."""
        async with self._connecting:
            if self._client is None:
                raise ToolServerError(f"{self.name} is gone: it is not connected: use 'async with'")
            if self._dead:
                why, before = self._dead, self._client
                await self._disconnect()
                try:
                    await self._connect()
                except ToolServerError as error:
                    self._client, self._dead = before, why
                    raise ToolServerError(f"{self.name} is gone: {why}; now {error}") from error
            return self._client

    async def list_tools(self) -> Sequence[ForeignTool]:
        """Return the tools of all pages."""
        client, cursor = await self._connected(), None
        found = list[ForeignTool]()
        try:
            for _ in range(MOST_PAGES):
                page = await client.list_tools(cursor=cursor, cache_mode="bypass")
                found += [_read_tool(each) for each in page.tools]
                cursor = page.next_cursor
                if not cursor:
                    return found
        except Exception as error:
            self._note_death(error)
            raise ToolServerError(f"{self.name} does not list its tools: {self._explain(error)}") from error
        raise ToolServerError(f"{self.name} has more than {MOST_PAGES} pages of tools")

    async def call(self, name: str, arguments: dict[str, Any]) -> ToolAnswer:
        """Call a tool; see `ToolSource`."""
        client = await self._connected()
        try:
            result = await client.call_tool(name, arguments)
        except self._sdk.MCPError as error:
            why = quote_foreign(error)
            if error.code in _NOT_CALLED:
                raise ToolFailed(f"{self.name} refuses the call of {name}: {why}") from error
            self._note_death(error)
            raise InDoubt(f"{self.name} did not answer the call of {name}: {self._explain(error)}") from error
        except Exception as error:
            self._note_death(error)
            raise InDoubt(f"the answer of {self.name} to {name} is none: {self._explain(error)}") from error
        return _read_result(result)

    def _note_death(self, error: Exception) -> None:
        """Note that the connection is gone, if `error` says so."""
        is_closed = getattr(error, "code", None) == _CLOSED or type(error).__name__ in _CLOSING
        if is_closed:
            self._dead = self._explain(error)
            self.is_changed = True  # whoever comes up in its place may have other tools

    def _explain(self, error: BaseException) -> str:
        """Return an error in words, with the end of what the server wrote to its standard error."""
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        why = quote_foreign(describe_error(error))
        if self._errors is None or self._errors.closed or not hasattr(os, "pread"):
            return why
        size = os.fstat(self._errors.fileno()).st_size
        text = os.pread(self._errors.fileno(), 600, max(size - 600, 0)).decode(errors="replace")
        return f"{why}; it wrote: {quote_foreign(text)}" if text.strip() else why

    def function_of(self, name: str) -> Callable[..., Any] | None:  # noqa: ARG002 - no tool of a server is a function here
        """Return None."""
        return None


_CLOSING: Final = frozenset({"ClosedResourceError", "BrokenResourceError", "EndOfStream", "ConnectError"})


def _name_server(server: Any) -> str:
    """Return a name for messages until the server has told its own."""
    if isinstance(server, str) and server.lower().startswith(("http://", "https://")):
        return f"the MCP server at {server.split('?')[0].split('@')[-1]}"
    if isinstance(server, str | list | tuple):
        try:
            words = shlex.split(server) if isinstance(server, str) else [str(each) for each in server]
        except ValueError as error:
            raise InputError(f"{server!r} is no command: {error}", hint="such as 'npx -y some-server'") from None
        if not words:
            raise InputError("the MCP server is an empty text", hint="give a command or a URL")
        return f"the MCP server {shlex.join(words)!r}"
    if hasattr(server, "command") or hasattr(server, "__aenter__") or "mcp" in type(server).__module__:
        return f"the MCP server {getattr(server, 'name', '') or type(server).__name__}"
    raise InputError(f"{server!r} is no MCP server", hint="give a command, a URL, or a server of the SDK")


def _read_tool(tool: Any) -> ForeignTool:
    """Convert a tool of the SDK."""
    hints = Hints.of(None if tool.annotations is None else tool.annotations.model_dump())
    return ForeignTool(
        tool.name, tool.description or "", tool.input_schema, tool.output_schema, hints, read_meta(tool.meta)
    )


def read_meta(meta: Any) -> Mapping[str, Any]:
    """Return the contract in the `_meta` of a tool, whose keys may have a prefix such as `example.org/`; else {}."""
    if not isinstance(meta, Mapping):
        return {}
    found = {str(key).rpartition("/")[2]: value for key, value in meta.items()}
    contract = {key: value for key, value in found.items() if key in _CONTRACT}
    return contract if contract.keys() & _EFFECTS else {}


def _read_result(result: Any) -> ToolAnswer:
    """Convert a result of the SDK: structured content, else text that is JSON, else text."""
    blocks = [each.model_dump(mode="json", by_alias=True, exclude_none=True) for each in result.content]
    text = "\n".join(each["text"] for each in blocks if each.get("type") == "text")
    if result.is_error:
        raise ToolFailed(quote_foreign(text) or "the tool reports an error without words")
    others = [each for each in blocks if each.get("type") != "text"]
    data = result.structured_content if result.structured_content is not None else read_text(text)
    return ToolAnswer({"data": data, "content": others} if others else data, text)


def read_text(text: str) -> Any:
    """Return the value of a text that is a JSON object or list, and any other text as it is."""
    if text.lstrip()[:1] in ("{", "["):
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            return text
    return text
