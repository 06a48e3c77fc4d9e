"""A lock is kept until the handler that has it has really come back."""

import asyncio
import threading

import pytest

from executor import ActionPlan, Executor, StepStatus, World
from planner import Domain


class Hotel:
    """Two guests book one room; ann's booking goes on after it was given up, until it is `released`."""

    def __init__(self, *, is_async):
        self.inside = self.most = 0
        self.released, self.guard = threading.Event(), threading.Lock()
        self.domain = Domain("hotel", types=["guest", "room"])
        parameters = {"guest": "guest", "room": "room"}
        self.domain.action("book", parameters, provides=["booked(guest, room)"], tags=["trusted"])
        self.world = World(self.domain)
        self.world.handler("book")(self.slowly if is_async else self.plainly)

    def came(self, change):
        with self.guard:
            self.inside += change
            self.most = max(self.most, self.inside)

    def plainly(self, guest, room):  # noqa: ARG002 - handlers take what the action has
        self.came(1)
        if guest == "ann":
            self.released.wait(5)
        self.came(-1)

    async def slowly(self, guest, room):  # noqa: ARG002 - as above
        self.came(1)
        while guest == "ann" and not self.released.is_set():
            try:
                await asyncio.sleep(0.01)
            except asyncio.CancelledError:
                continue
        self.came(-1)

    def booking(self, patience):
        policy = {"lock": ["room"], "on_error": "continue"}
        steps = [
            {
                "id": guest,
                "action": "book",
                "arguments": {"guest": guest, "room": "r1"},
                "policy": policy | {"timeout": timeout},
            }
            for guest, timeout in (("ann", 0.05), ("bob", patience))
        ]
        objects = {"ann": "guest", "bob": "guest", "r1": "room"}
        return ActionPlan.model_validate({"model": "dag", "objects": objects, "steps": steps})


@pytest.mark.parametrize("is_async", [True, False])
@pytest.mark.parametrize(("patience", "status"), [(5, StepStatus.SUCCEEDED), (0.1, StepStatus.FAILED)])
def test_a_handler_that_was_given_up_keeps_its_lock(monkeypatch, is_async, patience, status):
    monkeypatch.setattr("executor.loop.attempt.GRACE", 0.05)
    hotel = Hotel(is_async=is_async)

    async def main():
        run = Executor(hotel.world).start(hotel.booking(patience))
        loop = asyncio.get_running_loop()
        if status is StepStatus.SUCCEEDED:
            loop.call_later(0.3, hotel.released.set)
        outcome = await run
        hotel.released.set()
        return outcome

    outcome = asyncio.run(main())
    assert hotel.most == 1
    steps = {each.id: each for each in outcome.steps}
    assert steps["ann"].status is StepStatus.IN_DOUBT
    assert steps["bob"].status is status
    assert status is StepStatus.SUCCEEDED or "its lock is kept" in steps["bob"].reason
