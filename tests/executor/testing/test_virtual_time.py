"""Virtual time: what waits takes no time, what works takes its time, and a process that dies stops at once."""

from __future__ import annotations

import asyncio
import contextlib
import math
import threading
import time
from inspect import signature
from pathlib import Path

import pytest

from executor.testing import Crash, Stuck, run_virtual, virtual_time


def test_sleeping_takes_no_time() -> None:
    async def main() -> float:
        await asyncio.gather(asyncio.sleep(86_400), asyncio.sleep(1e7))
        return virtual_time.now()

    began = time.monotonic()
    assert run_virtual(main(), start=5) == pytest.approx(1e7 + 5)
    assert time.monotonic() - began < 5


def test_timers_go_off_in_their_order() -> None:
    heard = []

    async def say(seconds: float) -> None:
        await asyncio.sleep(seconds)
        heard.append((seconds, round(virtual_time.now(), 3)))

    async def main() -> None:
        await asyncio.gather(*map(say, [3, 0.5, 2, 0.1 + 0.2, 0.3]))

    run_virtual(main())
    assert [each for each, _ in heard] == sorted(each for each, _ in heard)
    assert all(each == pytest.approx(when) for each, when in heard)


def test_a_timeout_strikes_what_sleeps_too_long() -> None:
    async def main() -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(10):
                await asyncio.sleep(11)
        async with asyncio.timeout(10):
            await asyncio.sleep(9)

    run_virtual(main())


@pytest.mark.parametrize("start", ["executor", "thread"])
def test_time_does_not_jump_while_a_thread_is_at_work(start: str) -> None:
    """Otherwise the timeout would strike at once, since nothing but the thread has anything to do."""

    def work() -> str:
        time.sleep(0.1)
        return "done"

    async def main() -> tuple[str, float]:
        async with asyncio.timeout(30):
            if start == "executor":
                return await asyncio.to_thread(work), virtual_time.now()
            loop = asyncio.get_running_loop()
            future: asyncio.Future[str] = loop.create_future()
            threading.Thread(target=lambda: loop.call_soon_threadsafe(future.set_result, work())).start()
            return await future, virtual_time.now()

    answer, when = run_virtual(main())
    assert answer == "done"
    assert when < 10


def test_plain_functions_sleep_in_virtual_time_too() -> None:
    async def main() -> list[float]:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(60):
                await asyncio.to_thread(virtual_time.sleep, math.inf)
        await asyncio.gather(*[asyncio.to_thread(virtual_time.sleep, 1000) for _ in range(20)])
        return [virtual_time.now()]

    began, threads = time.monotonic(), {*threading.enumerate()}
    assert run_virtual(main()) == [pytest.approx(1060, abs=1)]
    assert time.monotonic() - began < 5
    time.sleep(0.05)
    assert {*threading.enumerate()} <= threads, "a function that hangs ends with its loop"


def test_what_dies_stops_at_once_and_everything_with_it() -> None:
    heard = []

    async def other() -> None:
        try:
            await asyncio.sleep(1)
            heard.append("woken")
        finally:
            heard.append("told")

    async def dying() -> None:
        await asyncio.sleep(1)
        try:
            await virtual_time.die("out of memory")
        finally:
            heard.append("told")

    async def main() -> None:
        await asyncio.gather(dying(), other())

    with pytest.raises(Crash, match="out of memory") as crash:
        run_virtual(main())
    assert heard == []
    crash.value.bury()
    assert heard.count("told") == 2


def test_a_thread_can_die_too() -> None:
    async def main() -> None:
        await asyncio.to_thread(virtual_time.die_in_thread, "segmentation fault")

    with pytest.raises(Crash, match="segmentation fault") as crash:
        run_virtual(main())
    crash.value.bury()


def test_without_virtual_time_death_is_an_exception() -> None:
    with pytest.raises(Crash, match="why not"):
        asyncio.run(virtual_time.die("why not"))


def test_waiting_for_nothing_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(virtual_time, "PATIENCE_SECONDS", 0.05)
    with pytest.raises(Stuck, match="no timer"):
        run_virtual(asyncio.Event().wait())


@pytest.mark.filterwarnings("ignore:.*was destroyed but it is pending")
def test_the_loop_is_closed_though_a_task_refuses_to_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(virtual_time, "PATIENCE_SECONDS", 0.05)
    loops = []

    async def refuse() -> None:
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
        await asyncio.Event().wait()

    async def main() -> None:
        loops.append((asyncio.get_running_loop(), asyncio.create_task(refuse())))
        await asyncio.sleep(1)

    with pytest.raises(Stuck):
        run_virtual(main())
    assert [loop.is_closed() for loop, _ in loops] == [True]


def test_what_goes_on_at_the_end_is_cancelled() -> None:
    heard = []

    async def endless() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            heard.append("cancelled")
            raise

    async def main() -> None:
        task = asyncio.create_task(endless())
        await asyncio.sleep(1)
        assert not task.done()

    run_virtual(main())
    assert heard == ["cancelled"]


def test_later_calls_come_in_virtual_time_from_wherever() -> None:
    heard: list[float] = []

    async def main() -> None:
        virtual_time.call_after(50, lambda: heard.append(virtual_time.now()))
        await asyncio.to_thread(virtual_time.call_after, 40, lambda: heard.append(virtual_time.now()))
        await asyncio.sleep(100)

    run_virtual(main())
    assert heard == [pytest.approx(40, abs=1), pytest.approx(50, abs=1)]


def test_what_blocks_for_long_meets_its_timeout() -> None:
    async def main() -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.2):
                await asyncio.to_thread(time.sleep, 1.6)

    run_virtual(main())


def test_the_clock_stands_still_for_short_work() -> None:
    async def main() -> float:
        await asyncio.to_thread(time.sleep, 0.2)
        return virtual_time.now()

    assert run_virtual(main()) == 0


def test_what_threads_leave_at_one_moment_comes_in_the_order_in_which_they_began() -> None:
    order: list[str] = []

    def work(name: str) -> None:
        if name == "first":
            time.sleep(0.2)  # the other one ends before it

    async def call(name: str) -> None:
        await asyncio.to_thread(work, name)
        order.append(name)

    async def main() -> None:
        await asyncio.gather(call("first"), call("second"))

    run_virtual(main())
    assert order == ["first", "second"]


def test_what_goes_on_and_on_is_stopped_after_its_time_limit():
    ended = []

    async def spin():
        try:
            while True:  # noqa: ASYNC110 - it waits for nothing
                await asyncio.sleep(1)
        finally:
            ended.append("cancelled")

    with pytest.raises(Stuck, match=r"within 0\.2 s of real time, at \d+ s of virtual time: time_limit=… lets"):
        run_virtual(spin(), time_limit=0.2)
    assert ended == ["cancelled"]


def test_the_time_limit_that_holds_by_default_is_the_one_on_the_page() -> None:
    page = (Path(__file__).parents[3] / "docs/how-to/simulating.md").read_text(encoding="utf-8")
    default = signature(run_virtual).parameters["time_limit"].default
    assert f"`time_limit=` ({default:.0f}) seconds of real time" in page
