"""That a payment is missing counts from when its attempt was over, and not from when it was taken or begun.

The observer is late by `LAG`, says that it has seen everything within `SETTLES`, and is right. Between the beginning of
an attempt and its act more time than that passes: it waits for a lock, or the handler is slow.
"""

from __future__ import annotations

import asyncio
from functools import partial

import pytest
from payments import DOORS, LAG, LONG, SETTLES, opened_till

from executor import ExecutionPolicy, Executor

SLOW = SETTLES + 2.0
GOOD = {"SUCCEEDED", "SKIPPED", "REFUSED", "OVER"}
WITH_LOCK = ExecutionPolicy(lock=(), timeout=LONG)


@pytest.fixture(params=["journal", "no journal"])
def place(request, tmp_path):
    return tmp_path / "runs.db" if request.param == "journal" else None


def is_seen_in_time(till):
    """Return whether nobody could have looked too early: the story is over after the observer had its time."""
    return till.time > till.paid[-1][2] + LAG


@pytest.mark.parametrize("second", DOORS)
@pytest.mark.parametrize("first", ["run", "agent", "calls"])
def test_killed_right_after_a_late_act(tmp_path, first, second):
    with opened_till(tmp_path / "runs.db", sight="is late", acts=["dies"], before=SLOW) as till:
        assert till.live(lambda journal: till.ask(first, till.open_world(), journal)) == "killed"
        told = till.live(lambda journal: till.ask(second, till.open_world(), journal))
        assert (len(till.paid), told in GOOD, is_seen_in_time(till)) == (1, True, True)


def test_killed_right_after_a_late_act_and_resumed(tmp_path):
    with opened_till(tmp_path / "runs.db", sight="is late", acts=["dies"], before=SLOW) as till:
        till.live(lambda journal: till.ask("run", till.open_world(), journal, run="r"))
        outcome = till.live(lambda journal: Executor(till.open_world(), journal).resume("r"))
        assert (len(till.paid), outcome.status.name, is_seen_in_time(till)) == (1, "SUCCEEDED", True)


@pytest.mark.parametrize("second", DOORS)
@pytest.mark.parametrize("first", ["run", "agent", "room"])
def test_cancelled_right_after_a_late_act(place, first, second):
    with opened_till(place, sight="is late", acts=["hangs"], before=SLOW) as till:
        world = till.open_world()

        async def main(journal):
            await till.ask_and_leave(first, world, journal)
            return await till.ask(second, world, journal)

        told = till.live(main)
        assert (len(till.paid), told in GOOD, is_seen_in_time(till)) == (1, True, True)


@pytest.mark.parametrize("second", DOORS)
def test_timed_out_right_after_a_late_act(place, second):
    policy = ExecutionPolicy(timeout=SLOW + 1.0)
    with opened_till(place, sight="is late", acts=["hangs"], before=SLOW, policy=policy) as till:
        world = till.open_world()

        async def main(journal):
            first = asyncio.ensure_future(till.ask("run", world, journal))
            await asyncio.sleep(SLOW + 1.5)
            told = await till.ask(second, world, journal)
            await first
            return told

        assert till.live(main) in GOOD
        assert len(till.paid) == 1


async def wait_for_the_lock(till, world, journal, *, leaves):
    """Pay o2, which has the lock for `SLOW` seconds, and o1 after it; cancel that if somebody `leaves`."""
    executor = Executor(world, journal)
    other = asyncio.ensure_future(executor.run(till.problem("cash", ("paid(o2)",))))
    await asyncio.sleep(0.5)
    begin = till.ask_and_leave if leaves else till.ask
    try:
        return await begin("run", world, journal)
    finally:
        await other


@pytest.mark.parametrize("second", DOORS)
def test_killed_after_a_wait_for_a_lock(tmp_path, second):
    """The flight is taken before the lock is waited for."""
    options = {"sight": "is late", "acts": ["", "dies"], "before": SLOW / 2, "policy": WITH_LOCK}
    with opened_till(tmp_path / "runs.db", **options) as till:
        first = partial(wait_for_the_lock, till, till.open_world(), leaves=False)
        assert till.live(first) == "killed"
        told = till.live(lambda journal: till.ask(second, till.open_world(), journal))
        assert [order for order, _, _ in till.paid] == ["o2", "o1"]
        assert (told in GOOD, is_seen_in_time(till)) == (True, True)


@pytest.mark.parametrize("second", DOORS)
def test_cancelled_after_a_wait_for_a_lock(place, second):
    options = {"sight": "is late", "acts": ["", "hangs"], "before": SLOW / 2, "policy": WITH_LOCK}
    with opened_till(place, **options) as till:
        world = till.open_world()

        async def main(journal):
            await wait_for_the_lock(till, world, journal, leaves=True)
            return await till.ask(second, world, journal)

        assert till.live(main) in GOOD
        assert [order for order, _, _ in till.paid] == ["o2", "o1"]


def test_what_did_not_happen_is_done_after_the_observer_had_its_time(tmp_path):
    with opened_till(tmp_path / "runs.db", sight="is late", acts=["dies first"]) as till:
        assert till.live(lambda journal: till.ask("run", till.open_world(), journal)) == "killed"
        begun = till.time
        assert till.live(lambda journal: till.ask("run", till.open_world(), journal)) == "SUCCEEDED"
        [(_, _, at)] = till.paid
        assert at >= begun - 1.0 + SETTLES
