"""Call foreign code, and use its values, so that any error in it is raised as an `Exception`.

Foreign code means handlers, observers, callbacks, validators and listeners. It may raise anything, also `SystemExit`,
and so may methods of the values that they return: `__bool__`, `__eq__`, `__str__`, `__len__`. Only Ctrl-C, the alarm of
a time limit and the caller's own cancellation pass. Plain functions run in threads, which may outlive a time limit.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextvars
import inspect
import logging
import threading
import traceback
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final, TypeVar

from planner.errors import kind_of, printable
from planner.limits import Alarm

LONGEST: Final = 10_000
"""Longest message of an exception that is kept, in characters."""
QUOTED: Final = 200
"""Longest value that a message quotes, in characters."""
_OWN: Final = ("executor.", "asyncio.")
"""Beginnings of the names of modules by which foreign code is called."""
Returned = TypeVar("Returned")


class Escaped(Exception):
    """Wraps a `BaseException` that foreign code raised, such as `SystemExit` or an unrequested cancellation."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(describe_error(error))
        self.error = error


def wrap_escaped_error(error: BaseException) -> BaseException:
    """Return the exception to raise in place of `error`, which foreign code raised in this task."""
    kind = type(error)
    if issubclass(kind, Exception | KeyboardInterrupt | Alarm):
        return error
    if issubclass(kind, asyncio.CancelledError):
        task = _find_current_task()
        if task is not None and task.cancelling():
            return error
    return Escaped(error)


def _find_current_task() -> asyncio.Task[Any] | None:
    """Return the task that runs in this thread, or None."""
    try:
        return asyncio.current_task()
    except RuntimeError:
        return None


@contextmanager
def contain_errors() -> Iterator[None]:
    """Raise whatever foreign code in the body raises as an `Exception`."""
    try:
        yield
    except Exception:
        raise
    except BaseException as error:  # noqa: BLE001 - raised again, or contained
        raise wrap_escaped_error(error) from None


def call_or_else(function: Callable[[], Returned], otherwise: Returned) -> Returned:
    """Call `function`, which uses foreign code, and return its result, or `otherwise` if it raises."""
    try:
        with contain_errors():
            return function()
    except Exception:  # noqa: BLE001 - objects may do anything when they are asked what they are
        return otherwise


def describe_error(error: BaseException) -> str:
    """Return the type and message of `error`; the type alone if its message cannot be printed."""
    if type(error) is Escaped:
        return as_plain_text(error.args[0])
    name = type(error).__name__
    return call_or_else(lambda: as_plain_text(f"{name}: {as_plain_text(str(error))}".removesuffix(": ")), name)[
        :LONGEST
    ]


def quote_value(value: object) -> str:
    """Return the `repr` of `value` for a message, shortened; the kind of value if `repr` raises."""
    text = call_or_else(lambda: as_plain_text(repr(value)), f"<{kind_of(value)}>")
    return text if len(text) <= QUOTED else f"{text[: QUOTED - 1]}…"


def as_plain_text(text: str) -> str:
    """Return a plain `str` with the characters of `text`, which may be of a subclass with methods of its own."""
    return str.__str__(text)


def describe_traceback(error: BaseException) -> str:
    """Return the end of the traceback of `error` from the first line of foreign code on.

    Return its description if it has no traceback that can be printed.
    """
    raised = error.error if type(error) is Escaped else error
    frame = raised.__traceback__
    while frame is not None and frame.tb_frame.f_globals.get("__name__", "").startswith(_OWN):
        frame = frame.tb_next
    frames = (raised.__traceback__ if frame is None else frame,)
    trace = call_or_else(lambda: "".join(traceback.format_exception(type(raised), raised, *frames)), otherwise="")
    return as_plain_text(trace).rstrip()[-LONGEST:] or describe_error(error)


def log_failure(log: logging.Logger, message: str, *arguments: object, error: BaseException) -> None:
    """Log `message` as an error, with the traceback of `error` where it can be printed, else with its type."""
    log.error("%s\n%s", printable(message % arguments), printable(describe_traceback(error)))


def as_plain_number(value: Any) -> Any:
    """Return `value` as a plain int or float, if it is of a subclass of these."""
    if isinstance(value, bool) or type(value) in (int, float):
        return value
    return int.__int__(value) if isinstance(value, int) else float.__float__(value)


async def await_contained(answer: Awaitable[Any]) -> Any:
    """Await `answer`, which foreign code returned, with `contain_errors`."""
    with contain_errors():
        return await answer


async def call_contained(function: Callable[..., Any], arguments: Mapping[str, Any]) -> Any:
    """Call `function` with `contain_errors`: await an asynchronous one, run a plain one in a thread."""
    with contain_errors():
        if is_asynchronous(function):
            return await function(**arguments)
        returned = await asyncio.shield(start_in_thread(function, arguments)[0])
        answer = find_awaitable(returned)
        return returned if answer is None else await answer


def is_asynchronous(function: Callable[..., Any]) -> bool:
    """Return whether `function`, or the `__call__` of an object, is declared with `async def`."""
    call = getattr(function, "__call__", None)  # noqa: B004 - not whether it can be called
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(call)


def find_awaitable(value: Any) -> Awaitable[Any] | None:
    """Return `value`, which foreign code returned, if it can be awaited; a future of a thread or process as well."""
    if issubclass(type(value), concurrent.futures.Future):
        return asyncio.wrap_future(value)
    return value if call_or_else(lambda: inspect.isawaitable(value), otherwise=False) else None


class OutOfTime(Exception):
    """A time limit passed before an answer came."""


async def wait_or_cancel(task: asyncio.Future[Any], seconds: float | None) -> bool:
    """Wait for `task` for at most `seconds`; return whether it has ended. Cancel it when the caller is cancelled."""
    try:
        done, _ = await asyncio.wait([task], timeout=seconds)
    except asyncio.CancelledError:
        task.cancel()
        raise
    return bool(done)


async def await_within(answer: Coroutine[Any, Any, Any], seconds: float) -> Any:
    """Await `answer` for at most `seconds`; raises `OutOfTime` after that, and cancels `answer`, which may resist."""
    task = asyncio.ensure_future(answer)
    if await wait_or_cancel(task, seconds):
        return task.result()
    task.add_done_callback(lambda late: late.cancelled() or late.exception())  # heard, though nobody waits
    task.cancel()
    raise OutOfTime


def start_in_thread(
    function: Callable[..., Any], arguments: Mapping[str, Any]
) -> tuple[asyncio.Future[Any], threading.Thread]:
    """Start `function` in a thread; return the future of its result, and the thread.

    The thread is a daemon: if it hangs, the process can still exit.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Any] = loop.create_future()
    future.add_done_callback(lambda done: done.cancelled() or done.exception())  # heard, even if nobody waits
    context = contextvars.copy_context()

    def settle(result: Any, error: Exception | None) -> None:
        if future.cancelled():
            return
        if isinstance(error, StopIteration):  # no future takes it
            error = RuntimeError(describe_error(error))
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
