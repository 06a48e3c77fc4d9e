"""Functions called without blocking the event loop: plain ones in threads of their own, which may outlive a timeout.

Whatever these functions raise is an `Exception`, see `executor.world.containment`.
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import threading
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Any

from executor.world.containment import Escaped, attempt, containment, said


async def awaited(answer: Awaitable[Any]) -> Any:
    """Return what others' `answer` gives."""
    with containment():
        return await answer


async def called(function: Callable[..., Any], arguments: Mapping[str, Any]) -> Any:
    """Return what `function` returns: an asynchronous one is awaited, a plain one runs in a thread."""
    with containment():
        if is_asynchronous(function):
            return await function(**arguments)
        returned = await asyncio.shield(in_thread(function, arguments)[0])
        return await returned if is_awaitable(returned) else returned


def is_asynchronous(function: Callable[..., Any]) -> bool:
    """Return whether `function`, or the `__call__` of an object, is declared with `async def`."""
    call = getattr(function, "__call__", None)  # noqa: B004 - not whether it can be called
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(call)


def is_awaitable(value: Any) -> bool:
    """Return whether `value`, which somebody returned, can be awaited."""
    return attempt(lambda: inspect.isawaitable(value), otherwise=False)


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

    def settle(result: Any, error: Exception | None) -> None:
        if future.cancelled():
            return
        if isinstance(error, StopIteration):  # no future takes it
            error = RuntimeError(said(error))
        if error is None:
            future.set_result(result)
        else:
            future.set_exception(error)

    def work() -> None:
        error: Exception | None = None
        result = None
        try:
            result = context.run(lambda: function(**arguments))
        except Exception as raised:  # noqa: BLE001 - raised again where the future is awaited
            error = raised
        except BaseException as raised:  # noqa: BLE001 - the same; Ctrl-C never comes to a thread
            error = Escaped(raised)
        try:
            loop.call_soon_threadsafe(settle, result, error)
        except RuntimeError:
            return  # the loop is closed by now: nobody listens

    thread = threading.Thread(target=work, daemon=True, name=f"forethought {getattr(function, '__name__', '')}")
    thread.start()
    return future, thread
