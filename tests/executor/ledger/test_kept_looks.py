"""A look that may be as old as `max_age=` says lets no second payment begin: what others did is looked at anew."""

from __future__ import annotations

import asyncio
from itertools import product

import pytest
from payments import DOORS, SETTLES, opened_till

from executor import Executor, PlannedCalls

FILED, SENT = ("filed(o1)",), ("sent(o1)",)
"""What the two askers want; what is filed is also prepared, which takes its time after the first look."""


@pytest.fixture(params=["journal", "no journal"])
def place(request, tmp_path):
    return tmp_path / "runs.db" if request.param == "journal" else None


async def call_what_is_next(till, world, journal):
    """Call what is offered for the goal of the first asker, step by step."""
    calls = PlannedCalls(world, till.problem(goal=FILED), journal=journal)
    for _ in range(6):
        steps = await calls.next_steps()
        if not steps:
            break
        await calls.call(steps[0].action, dict(zip(("o", "m"), steps[0].arguments, strict=False)))
    return calls.is_reached


@pytest.mark.parametrize("act", ["", "raises"])
@pytest.mark.parametrize("first", DOORS)
def test_what_another_run_pays_meanwhile_is_not_paid_again(place, first, act):
    """The first run looks, and prepares; the second pays meanwhile, and may not know whether it has."""
    with opened_till(place, sight="kept", acts=[act]) as till:
        world = till.open_world()

        async def main(journal):
            if first == "calls":
                begin = call_what_is_next(till, world, journal)
            else:
                begin = till.ask(first, world, journal, goal=FILED)
            begun = asyncio.ensure_future(begin)
            await asyncio.sleep(5)
            await Executor(world, journal).run(till.problem(goal=SENT))
            return await begun

        told = till.live(main)
        assert [order for order, _, _ in till.paid] == ["o1"]
        assert told in {True, "SUCCEEDED", "OVER"}


@pytest.mark.parametrize(("first", "second"), list(product(("run", "agent", "calls"), repeat=2)))
def test_runs_at_once_pay_once(place, first, second):
    with opened_till(place, sight="kept", before=SETTLES) as till:
        world = till.open_world()

        async def main(journal):
            both = [
                till.ask(first, world, journal),
                till.ask(second, world, journal, goal=("paid(o1)", "prepared(o1)")),
            ]
            return await asyncio.gather(*both)

        till.live(main)
        assert len(till.paid) == 1


@pytest.mark.parametrize("second", DOORS)
@pytest.mark.parametrize("act", ["dies", "hangs", "raises"])
def test_a_doubt_is_settled_by_a_look_of_its_own(tmp_path, second, act):
    with opened_till(tmp_path / "runs.db", sight="kept", acts=[act]) as till:
        begin = till.ask_and_leave if act == "hangs" else till.ask
        till.live(lambda journal: begin("run", till.open_world(), journal))
        till.live(lambda journal: till.ask(second, till.open_world(), journal))
        assert len(till.paid) == 1
