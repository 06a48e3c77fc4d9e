"""Functions called without blocking the event loop: plain ones in threads of their own, which may outlive a timeout."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import threading
from collections.abc import Callable, Coroutine, Mapping
from typing import Any


async def called(function: Callable[..., Any], arguments: Mapping[str, Any]) -> Any:
    """Return what `function` returns: an asynchronous one is awaited, a plain one runs in a thread."""
    if inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None)):  # noqa: B004 - not whether it can be called
        return await function(**arguments)
    returned = await asyncio.shield(in_thread(function, arguments)[0])
    return await returned if inspect.isawaitable(returned) else returned


class OutOfTime(Exception):  # noqa: N818 - it names what happened
    """There was no answer in time."""


async def within(answer: Coroutine[Any, Any, Any], seconds: float) -> Any:
    """Return what `answer` gives; raises `OutOfTime` after so many seconds, though it may go on if it is cancelled."""
    task = asyncio.ensure_future(answer)
    try:
        done, _ = await asyncio.wait([task], timeout=seconds)
    except asyncio.CancelledError:
        task.cancel()
        raise
    if done:
        return task.result()
    task.add_done_callback(lambda late: late.cancelled() or late.exception())  # heard, though nobody waits
    task.cancel()
    raise OutOfTime


def in_thread(
    function: Callable[..., Any], arguments: Mapping[str, Any]
) -> tuple[asyncio.Future[Any], threading.Thread]:
    """Start `function` in a thread, and return the future of what it returns, and the thread.

    The thread dies with the process: one that hangs keeps nobody from leaving.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Any] = loop.create_future()
    future.add_done_callback(lambda done: done.cancelled() or done.exception())  # heard, even if nobody waits
    context = contextvars.copy_context()

    def settle(result: Any, error: BaseException | None) -> None:
        if future.cancelled():
            return
        if isinstance(error, StopIteration):  # no future takes it
            error = RuntimeError(f"StopIteration: {error}")
        if error is None:
            future.set_result(result)
        else:
            future.set_exception(error)

    def work() -> None:
        try:
            result, error = context.run(lambda: function(**arguments)), None
        except BaseException as raised:  # noqa: BLE001 - raised again where the future is awaited
            result, error = None, raised
        try:
            loop.call_soon_threadsafe(settle, result, error)
        except RuntimeError:
            return  # the loop is closed by now: nobody listens

    thread = threading.Thread(target=work, daemon=True, name=f"forethought {getattr(function, '__name__', '')}")
    thread.start()
    return future, thread
