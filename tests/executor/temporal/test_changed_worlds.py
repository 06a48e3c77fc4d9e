"""A run on Temporal whose world no longer fits waits with the reason, undoes nothing, and goes on where it fits."""

import asyncio
from itertools import count

import pytest

from executor import RunError, RunStatus, StepStatus, Wait, World
from executor.events.events import FactsSeen, RunEnded
from executor.plan_check.remaining_means import LACKING
from planner import Domain
from planner.model import Atom

pytest.importorskip("temporalio", reason="the extra `temporal` is not installed")
pytestmark = pytest.mark.timeout(120)
numbers = count()
NAMES = {"book": "book", "pause": "pause", "pay": "pay"}
MISFITS = {
    "an action that it has taken is gone": {"book": "reserve"},
    "an action that waits is gone": {"pause": "rest"},
    "an action that it will take is gone": {"pay": "settle"},
    "an action takes another object": {"takes": {"guest": "guest"}},
}
"""Changes of the domain, each of which the run does not fit."""
RENAMED = {
    "an action that it has taken": {"book": "reserve"},
    "an action that waits": {"pause": "rest"},
    "an action that it will take": {"pay": "settle"},
    "all": {"book": "reserve", "pause": "rest", "pay": "settle"},
}
"""Renames that the domain declares: the run goes on."""


class Trip:
    """A trip that is booked, waits for a word, and is paid; worlds share the book of what was done."""

    def __init__(self):
        self.book, self.is_asked, self.queue = [], False, f"trip {next(numbers)}"

    def world(self, *, lacks=(), takes=None, also=(), was=None, **renamed):
        """Return a world of `renamed` actions that `lacks` handlers; booking `takes` objects, paying needs `also`."""
        names = NAMES | renamed
        domain = self.domain = Domain("trip", types=["guest"], was=was)
        domain.action(names["book"], takes or {}, provides=["room"], tags=["irreversible"])
        domain.action(names["pause"], requires=["room"], provides=["confirmed"])
        domain.action(names["pay"], requires=["room", "confirmed", *also], provides=["paid"], tags=["irreversible"])
        domain.action("stamp", provides=["stamped"])
        world = World(domain, name=self.queue)
        for role, name in [*names.items(), ("stamp", "stamp")]:
            if role not in lacks:
                world.handler(name)(self.pause if role == "pause" else self.make_handler(role))
        looks = {"room": "book", "paid": "pay", "stamped": "stamp"}
        for fact, role in looks.items():
            world.observer(fact, conclusive=True, settle_within=0)(lambda role=role: role in self.book)
        world.observer("confirmed", conclusive=True)(lambda: self.is_asked)
        return world

    def make_handler(self, role):
        def act(**_):
            self.book.append(role)

        return act

    def pause(self):
        self.is_asked = True
        return Wait(event="go")

    async def begin(self, serve):
        """Begin the run, until it waits for the word."""
        world = self.world()
        async with serve(world, queue=self.queue) as executor:
            outcome = await executor.run(self.domain.problem(goal=["paid"]), run=self.queue)
        assert (outcome.status, self.book) == (RunStatus.WAITING, ["book"])


async def ends_of(run):
    """Return how the run ended each time, by its events."""
    return [each async for each in run.events() if isinstance(each, RunEnded)]


@pytest.mark.parametrize("change", MISFITS.values(), ids=MISFITS)
def test_a_domain_that_no_longer_fits_leaves_the_run_waiting_with_the_reason(change, on_temporal):
    trip = Trip()

    async def main():
        await trip.begin(on_temporal)
        async with on_temporal(trip.world(**change), queue=trip.queue) as executor:
            run = executor.follow(trip.queue)
            assert await run.announce("go") == 1
            for _ in range(2):
                with pytest.raises(RunError, match="a domain 'trip' of the version that its plan was made with"):
                    await executor.resume(trip.queue)
            with pytest.raises(RunError, match="lacks what the rest of the plan needs"):
                await run.complete("s2", True)
            assert await run.announce("whatever") == 0
            ends = await ends_of(run)
            assert [each.status for each in ends] == [RunStatus.WAITING] * 2, "waiting again adds nothing"
            assert ends[-1].reason.startswith(LACKING)
            await asyncio.sleep(1)  # the list of runs is a second late
            assert (await executor.runs())[trip.queue].status is RunStatus.WAITING
        assert trip.book == ["book"]
        async with on_temporal(trip.world(), queue=trip.queue) as executor:
            return await executor.resume(trip.queue)

    assert asyncio.run(main()).succeeded
    assert trip.book == ["book", "pay"]


@pytest.mark.parametrize("renamed", RENAMED.values(), ids=RENAMED)
def test_a_run_goes_on_under_the_new_names_of_its_actions(renamed, on_temporal):
    trip = Trip()

    async def main():
        await trip.begin(on_temporal)
        world = trip.world(was={"actions": renamed}, **renamed)
        async with on_temporal(world, queue=trip.queue) as executor:
            return await executor.resume(trip.queue, results={"s2": True})

    assert asyncio.run(main()).succeeded
    assert trip.book == ["book", "pay"]


def test_a_condition_that_came_new_is_planned_for(on_temporal):
    trip = Trip()

    async def main():
        await trip.begin(on_temporal)
        async with on_temporal(trip.world(also=["stamped"]), queue=trip.queue) as executor:
            return await executor.resume(trip.queue, results={"s2": True})

    assert asyncio.run(main()).succeeded
    assert trip.book == ["book", "stamp", "pay"]


def test_a_missing_handler_leaves_the_run_waiting_until_a_worker_has_it(on_temporal):
    trip = Trip()

    async def main():
        await trip.begin(on_temporal)
        async with on_temporal(trip.world(lacks=["pay"]), queue=trip.queue) as executor:
            waiting = await executor.resume(trip.queue, results={"s2": True})
            assert waiting.status is RunStatus.WAITING
            assert waiting.reason.startswith(f"{LACKING}: nobody carries out pay: @world.handler(")
            assert not waiting.recovery
        assert trip.book == ["book"]
        async with on_temporal(trip.world(), queue=trip.queue) as executor:
            done = await executor.resume(trip.queue)
        assert done.succeeded
        async with on_temporal(trip.world(), queue=trip.queue) as executor:  # a worker that replays all of it
            return await executor.follow(trip.queue)

    assert asyncio.run(main()).succeeded
    assert trip.book == ["book", "pay"]


def test_what_was_told_where_a_domain_does_not_fit_is_known_where_it_does(on_temporal):
    trip, notes = Trip(), []

    async def main():
        await trip.begin(on_temporal)
        async with on_temporal(trip.world(lacks=["pay"]), queue=trip.queue) as executor:
            await executor.resume(trip.queue, results={"s2": True})
        async with on_temporal(trip.world(book="reserve"), queue=trip.queue) as executor:
            run = executor.follow(trip.queue)
            await run.report({Atom("stamped"): True})
            with pytest.raises(RunError, match="lacks what the rest of the plan needs"):
                await run
        async with on_temporal(trip.world(), queue=trip.queue) as executor:
            await executor.resume(trip.queue)
            notes.extend([each async for each in executor.follow(trip.queue).events()])

    asyncio.run(main())
    told = [note for each in notes if isinstance(each, FactsSeen) for note in each.facts]
    assert [(note.source, note.holds) for note in told if note.fact == Atom("stamped")] == [("meanwhile", True)]


def test_a_run_that_waits_for_a_domain_can_be_called_off(on_temporal):
    trip = Trip()

    async def main():
        await trip.begin(on_temporal)
        async with on_temporal(trip.world(book="reserve"), queue=trip.queue) as executor:
            run = executor.follow(trip.queue)
            await run.announce("go")
            with pytest.raises(RunError, match="lacks what the rest of the plan needs"):
                await run
            await run.cancel()
            with pytest.raises(RunError, match="called off"):
                await run
        async with on_temporal(trip.world(), queue=trip.queue) as executor:
            return await executor.follow(trip.queue)

    ended = asyncio.run(main())
    assert ended.status is RunStatus.CANCELLED
    assert {each.status for each in ended.steps if each.step.action == "book"} == {StepStatus.SUCCEEDED}
    assert trip.book == ["book"]
