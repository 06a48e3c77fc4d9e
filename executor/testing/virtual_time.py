"""Virtual time: an event loop whose clock jumps to the next timer when nothing else is to be done.

Sleeps, timeouts and pauses between retries then take no real time. While a thread works (a plain function that a
coroutine awaits, or has given up awaiting) the clock stands still, so that results do not depend on the speed of the
machine. After a second of such work the clock runs in real time, because the thread may never end.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import selectors
import threading
import time
from collections import deque
from collections.abc import Callable, Coroutine
from concurrent.futures import Executor, Future
from contextvars import Context
from itertools import count
from typing import Any, Final, NoReturn, TypeVar, TypeVarTuple
from weakref import WeakKeyDictionary

Result = TypeVar("Result")
Given = TypeVarTuple("Given")
TIME_LIMIT: Final = 120.0
"""Real seconds after which a simulation that goes on and on is stopped."""
PATIENCE_SECONDS: Final = 2.0
"""Real seconds to wait for an external event when no timer and no thread is left."""
SLICE_SECONDS: Final = 0.005
"""Real seconds between two checks of threads that may end without a notification."""
STILL_SECONDS: Final = 1.0
"""Real seconds of uninterrupted work in threads after which the clock runs in real time."""
RESOLUTION: Final = 1e-6
"""Timers within so many seconds are due together: sums of floats are not exact."""


class Crash(BaseException):
    """The simulated process died; `loop` is its virtual loop, if there was one: `bury` it when no longer needed."""

    def __init__(self, reason: str, loop: VirtualLoop | None = None) -> None:
        super().__init__(reason)
        self.loop = loop

    def bury(self) -> None:
        """End everything that the dead process had begun."""
        if self.loop is not None:
            self.loop.retire()


class Stuck(RuntimeError):
    """A coroutine waits for an event that cannot come."""


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop in virtual time, which begins at `start` seconds; `time_limit` counts seconds of real time."""

    def __init__(self, start: float = 0.0, time_limit: float | None = None) -> None:
        self.now = start
        self.time_limit = time_limit
        self.deadline = math.inf if time_limit is None else time.monotonic() + time_limit
        self.died: str | None = None
        self._others = set(threading.enumerate())
        self._asleep: set[threading.Thread] = set()
        self._sleepers: set[threading.Event] = set()
        self._unheard: list[asyncio.Handle] = []
        self._left: list[tuple[threading.Thread, asyncio.Handle]] = []
        """What threads have left to be done, and which."""
        self._numbers: WeakKeyDictionary[threading.Thread, int] = WeakKeyDictionary()
        self._number = count()
        self._guard = threading.Lock()
        self._ready: deque[asyncio.Handle]  # made by the base class, which has no word for stopping this very moment
        super().__init__(_Selector(self))
        self._clock_resolution = RESOLUTION

    def time(self) -> float:
        """Return the virtual time in seconds."""
        return self.now

    def run_in_executor(
        self, executor: Executor | None, func: Callable[[*Given], Result], *args: *Given
    ) -> asyncio.Future[Result]:
        """Call `func` in a thread of its own, unless there is an executor."""
        if executor is not None:
            return super().run_in_executor(executor, func, *args)
        future: Future[Result] = Future()

        def work() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                future.set_result(func(*args))
            except BaseException as error:  # noqa: BLE001 - raised again where the future is awaited
                future.set_exception(error)

        awaited = asyncio.wrap_future(future, loop=self)
        threading.Thread(target=work, daemon=True).start()
        return awaited

    def is_waiting_for_threads(self) -> bool:
        """Return whether a thread that was started after the loop is working, and has left nothing to be done.

        Subclasses of `Thread` do not count: they belong to libraries, and draw or wait for their own timers.
        """
        working = [each for each in threading.enumerate() if self._is_ours(each) and each not in self._asleep]
        with self._guard:
            return not {thread for thread, _ in self._left}.issuperset(working)

    def _is_ours(self, thread: threading.Thread) -> bool:
        return type(thread) is threading.Thread and thread not in self._others

    def call_soon_threadsafe(
        self, callback: Callable[[*Given], object], *args: *Given, context: Context | None = None
    ) -> asyncio.Handle:
        """Call `callback` in the loop: what several threads leave at one moment comes in the order of their beginning.

        It comes when no thread works any more, so that its order does not depend on the speed of the machine.
        """
        thread = threading.current_thread()
        if not self._is_ours(thread):
            return super().call_soon_threadsafe(callback, *args, context=context)
        if self.is_closed():
            raise RuntimeError("Event loop is closed")
        handle = asyncio.Handle(callback, args, self, context)
        with self._guard:
            for each in threading.enumerate():  # in the order of their beginning
                if each not in self._numbers:
                    self._numbers[each] = next(self._number)
            self._left.append((thread, handle))
        super().call_soon_threadsafe(_ignore)  # it wakes the loop
        return handle

    def take_left(self) -> bool:
        """Begin what threads have left to be done; return whether there is anything."""
        with self._guard:
            left, self._left = sorted(self._left, key=lambda each: self._numbers[each[0]]), []
        self._ready.extend([handle for _, handle in left])
        return bool(left)

    def die(self, reason: str) -> None:
        """Stop at once, like a killed process: `run_virtual` raises `Crash`.

        Handles that are ready in this turn of the loop do not run; they are put aside until the loop is retired.
        """
        self.died = reason
        self.stop()
        self._unheard += self._ready
        self._ready.clear()
        self._ready.extend([asyncio.Handle(_ignore, (), self) for _ in self._unheard])

    def sleep_in_thread(self, seconds: float) -> None:
        """Let the calling thread sleep in virtual time; raises `Crash` where the loop ends before."""
        woken, thread = threading.Event(), threading.current_thread()
        self._sleepers.add(woken)
        try:
            self.call_soon_threadsafe(self._put_to_sleep, thread, woken, seconds)
        except RuntimeError:
            raise Crash("the event loop is gone") from None
        woken.wait()
        self._sleepers.discard(woken)
        if self.is_closed():
            raise Crash("the event loop is gone")

    def _put_to_sleep(self, thread: threading.Thread, woken: threading.Event, seconds: float) -> None:
        self._asleep.add(thread)
        if seconds < math.inf:
            self.call_later(seconds, self._wake, thread, woken)

    def _wake(self, thread: threading.Thread, woken: threading.Event) -> None:
        self._asleep.discard(thread)
        woken.set()

    def retire(self) -> None:
        """Cancel all tasks and close the loop; threads that sleep in virtual time end."""
        if self.is_closed():
            return
        self.died = None
        self._ready.extend(self._unheard)
        tasks = asyncio.all_tasks(self)
        for task in tasks:
            task.cancel()
        try:
            if tasks:
                self.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
            self.run_until_complete(self.shutdown_asyncgens())
        finally:  # also where a task waits on, though it was cancelled
            self.close()
            for woken in list(self._sleepers):
                woken.set()


def _ignore() -> None:
    """Replace a handle of a dead process."""


class _Selector(selectors.DefaultSelector):
    """A selector that sets the clock forward instead of waiting."""

    def __init__(self, loop: VirtualLoop) -> None:
        super().__init__()
        self._loop = loop
        self._waits_since = math.inf

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if time.monotonic() > self._loop.deadline:
            self._loop.deadline = math.inf  # what is left is being cancelled then
            passed = f"{self._loop.time_limit:g} s of real time, at {self._loop.now:g} s of virtual time"
            raise Stuck(f"it has not ended within {passed}: time_limit=… lets it take longer")
        if timeout == 0:
            return super().select(0)
        is_waiting = self._loop.is_waiting_for_threads()  # before looking: what a thread leaves, it leaves at its end
        found: list[tuple[selectors.SelectorKey, int]] = super().select(0)
        started = time.monotonic()
        self._waits_since = min(self._waits_since, started) if is_waiting else math.inf
        if found:
            return found
        is_long = started - self._waits_since > STILL_SECONDS
        if (is_long or not is_waiting) and self._loop.take_left():
            return found
        if is_waiting:  # look again soon; after a second of work in threads, the clock runs in real time
            found = super().select(SLICE_SECONDS if timeout is None else min(timeout, SLICE_SECONDS))
            if is_long:
                self._loop.now += time.monotonic() - started
        elif timeout is not None:  # jump to the next timer
            self._loop.now += timeout
        else:  # no timer and no thread: only an external event could come
            found = super().select(PATIENCE_SECONDS)
            if not found:
                raise Stuck("nothing is left that this could wait for: no timer, no thread at work")
        return found


_current: list[VirtualLoop] = []


def run_virtual(
    main: Coroutine[Any, Any, Result], *, start: float = 0.0, time_limit: float | None = TIME_LIMIT
) -> Result:
    """Run `main` in virtual time, which begins at `start` seconds, and return its result.

    Raises what `main` raises, `Stuck` where it waits for an event that cannot come or has not ended after `time_limit`
    seconds of real time, and `Crash` where a simulated process died; the tasks of that process then stay suspended.
    """
    loop = VirtualLoop(start, time_limit)
    _current.append(loop)
    try:
        return _until_dead(loop, main)
    finally:
        _current.remove(loop)
        if loop.died is None:
            loop.retire()


def _until_dead(loop: VirtualLoop, main: Coroutine[Any, Any, Result]) -> Result:
    task = loop.create_task(main)

    def stop(_: asyncio.Task[Result]) -> None:
        loop.stop()

    task.add_done_callback(stop)
    loop.run_forever()
    task.remove_done_callback(stop)
    if loop.died is not None:
        raise Crash(loop.died, loop)
    return task.result()


def current() -> VirtualLoop | None:
    """Return the running virtual loop, also from a thread; None where there is none."""
    return _current[-1] if _current else None


def now() -> float:
    """Return the time in seconds: virtual time if a virtual loop runs."""
    loop = current()
    return time.monotonic() if loop is None else loop.now


class VirtualClock:
    """The clock of runs in virtual time: the virtual seconds since `epoch`, in seconds since 1970."""

    def __init__(self, epoch: float = 0.0) -> None:
        self.epoch = epoch

    def time(self) -> float:
        """Return the present time in seconds since 1970."""
        return self.epoch + now()


def sleep(seconds: float) -> None:
    """Let a plain function sleep, in virtual time if a virtual loop runs."""
    loop = current()
    if loop is None:
        threading.Event().wait(None if seconds == math.inf else seconds)
    else:
        loop.sleep_in_thread(seconds)


def call_after(seconds: float, function: Callable[[], Any]) -> None:
    """Call `function` after so many seconds, even if the caller has ended."""
    with contextlib.suppress(RuntimeError):
        asyncio.get_running_loop().call_later(seconds, function)
        return
    loop = current()
    if loop is not None:
        loop.call_soon_threadsafe(loop.call_later, seconds, function)
        return
    timer = threading.Timer(seconds, function)
    timer.daemon = True
    timer.start()


async def die(reason: str) -> NoReturn:
    """Stop the virtual loop like a killed process; without one, raise `Crash`."""
    loop = current()
    if loop is None:
        raise Crash(reason)
    loop.die(reason)
    await asyncio.Event().wait()
    raise AssertionError


def die_in_thread(reason: str) -> NoReturn:
    """Do what `die` does, from a plain function."""
    loop = current()
    if loop is None:
        raise Crash(reason)
    loop.call_soon_threadsafe(loop.die, reason)
    loop.sleep_in_thread(math.inf)
    raise AssertionError
