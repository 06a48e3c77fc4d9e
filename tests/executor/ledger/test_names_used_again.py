"""The name of a run tells nothing of its steps: a new run that takes the name of an earlier one pays nothing twice."""

from __future__ import annotations

import asyncio
from itertools import product

import pytest
from payments import LONG, SETTLES, opened_till

from executor import Executor
from executor.events.stored_runs import Retention

NAMED = ("run", "calls")
"""Doors at which a caller names the run."""
AFTERWARDS = (("run", "r"), ("calls", "r"), ("run", "other"), ("agent", None), ("room", None), ("maintain", None))
BLIND = ("states no delay", "vague", "absent")
ENDS = ("raises", "waits", "hangs")


@pytest.mark.parametrize("sight", BLIND)
@pytest.mark.parametrize("act", ENDS)
@pytest.mark.parametrize("first", NAMED)
@pytest.mark.parametrize("second", NAMED)
def test_without_a_journal_a_name_used_again_settles_no_doubt(first, second, act, sight):
    """Each request makes its executor or its session anew, under one name; the World object keeps the ledger."""
    with opened_till(None, sight=sight, acts=[act]) as till:
        world = till.open_world()

        async def main(_):
            begin = till.ask_and_leave if act == "hangs" else till.ask
            await begin(first, world, None, run="trip-7")
            return [await till.ask(second, world, None, run="trip-7") for _ in range(2)]

        told = till.live(main)
        assert len(till.paid) == 1
        assert not {*told} & {"SUCCEEDED", "UNVERIFIED"}


@pytest.mark.parametrize(
    "doors", [("run", "run"), ("calls", "calls"), ("run", "calls"), ("calls", "run")], ids="+".join
)
def test_two_at_once_who_give_one_name_pay_once_without_a_journal(doors):
    with opened_till(None, before=5.0) as till:
        world = till.open_world()

        async def main(_):
            return await asyncio.gather(*[till.ask(door, world, None, run="r") for door in doors])

        till.live(main)
        assert len(till.paid) == 1


def delete(till, journal):
    Executor(till.open_world(), journal).delete("r")


def let_expire(till, journal):
    executor = Executor(till.open_world(), journal, retention=Retention(unfinished=1))
    assert executor.delete_expired() == ["r"]


@pytest.mark.parametrize("forget", [delete, let_expire])
@pytest.mark.parametrize("sight", BLIND)
@pytest.mark.parametrize("doors", list(product(NAMED, AFTERWARDS)), ids=str)
def test_a_doubt_outlives_its_run_whoever_takes_the_name(tmp_path, doors, sight, forget):
    first, (second, name) = doors
    with opened_till(tmp_path / "runs.db", sight=sight, acts=["dies"]) as till:
        assert till.live(lambda journal: till.ask(first, till.open_world(), journal, run="r")) == "killed"

        async def go_on(journal):
            await asyncio.sleep(LONG)
            forget(till, journal)
            return await till.ask(second, till.open_world(), journal, run=name)

        assert till.live(go_on) == "WAITING"
        assert len(till.paid) == 1


@pytest.mark.parametrize("sight", ["settles", "is late"])
@pytest.mark.parametrize("second", NAMED)
def test_a_look_settles_the_doubt_of_a_deleted_run(tmp_path, second, sight):
    with opened_till(tmp_path / "runs.db", sight=sight, acts=["dies"]) as till:
        assert till.live(lambda journal: till.ask("run", till.open_world(), journal, run="r")) == "killed"

        async def go_on(journal):
            delete(till, journal)
            return await till.ask(second, till.open_world(), journal, run="r")

        assert till.live(go_on) in {"SUCCEEDED", "SKIPPED", "REFUSED"}
        assert len(till.paid) == 1
        assert till.time < 3 * SETTLES


@pytest.mark.parametrize("second", NAMED)
def test_what_a_deleted_run_has_done_is_not_done_again_under_its_name(tmp_path, second):
    with opened_till(tmp_path / "runs.db") as till:
        assert till.live(lambda journal: till.ask("run", till.open_world(), journal, run="r")) == "UNVERIFIED"

        async def go_on(journal):
            delete(till, journal)
            return await till.ask(second, till.open_world(), journal, run="r")

        assert till.live(go_on) == "WAITING"
        assert len(till.paid) == 1
