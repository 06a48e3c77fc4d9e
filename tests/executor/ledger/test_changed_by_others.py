"""What another run has changed or created since a step was begun is no evidence that the step was done.

A notary publishes and stamps documents, and opens files for people in two ways; every deed is counted.
"""

import asyncio

import pytest

from executor import ActionPlan, ActionResult, ExecutionPolicy, Executor, Journal, RunStatus, Seen, StepStatus, World
from executor.events.answers import HAPPENED, NOTHING
from executor.testing import Crash, run_virtual
from executor.testing.virtual_time import die, now
from planner import Domain

KINDS = {"document": ("publish", "stamp"), "file": ("open", "open_urgent")}


class Notary:
    """Deeds on documents, which change them in place, and on files, which they create; `publish` or `open` may fail.

    It fails before it has done anything, `after` a while, so that another run can act meanwhile. Observers see changes
    `lag` seconds late.
    """

    def __init__(self, kind, fault="", *, after=0.0, lag=0.0):
        self.kind, self.fault, self.after, self.lag = kind, fault, after, lag
        self.deeds, self.versions, self.files = [], {"d1": [-99.0], "d2": [-99.0]}, {}
        self.domain = Domain("notary", types=["document", "file", "person"])
        self.domain.predicate("drafted", "document")
        for action in KINDS["document"]:
            self.domain.action(
                action, {"d": "document"}, requires=["drafted(d)"], modifies=["drafted(d)"], tags=["irreversible"]
            )
        for action in KINDS["file"]:
            provides = ["opened(f)", "owner(f, who)"]
            self.domain.action(
                action, {"who": "person"}, provides=provides, creates={"f": "file"}, tags=["irreversible"]
            )
        self.world, settles = World(self.domain), {"conclusive": True, "settle_within": lag}
        for action in KINDS["document"]:
            self.world.handler(action, policy=ExecutionPolicy(retries=0))(self.make_deed(action))
        for action in KINDS["file"]:
            self.world.handler(action, policy=ExecutionPolicy(retries=0))(self.make_opening(action))
        self.world.observer("drafted(d)", **settles)(lambda d: Seen(True, len(self.see(self.versions[str(d)]))))
        self.world.observer("opened(_)", **settles)(lambda: self.see(self.files))
        self.world.observer("owner(_, _)", **settles)(
            lambda: [(each, self.files[each][1]) for each in self.see(self.files)]
        )

    def see(self, made):
        at = made.get if isinstance(made, dict) else (lambda each: (each, ""))
        return [each for each in made if at(each)[0] + self.lag <= now()]

    async def begin(self, action):
        fault = self.fault if action in {"publish", "open"} else ""
        if not fault:
            self.deeds.append(action)
            return
        self.fault = ""
        await asyncio.sleep(self.after)
        await (die("killed") if fault == "dies" else asyncio.sleep(0))
        raise ConnectionError("reset")

    def make_deed(self, action):
        async def do(d):
            await self.begin(action)
            self.versions[str(d)].append(now())

        return do

    def make_opening(self, action):
        async def do(who):
            await self.begin(action)
            name = f"F-{len(self.files)}"
            self.files[name] = now(), str(who)
            return ActionResult(created={"f": name})

        return do

    def plan(self, *, other=False, about=""):
        """Return the plan of a run: the deed that may fail, or the `other` one."""
        action = KINDS[self.kind][other]
        if self.kind == "document":
            step = {"id": "s1", "action": action, "arguments": {"d": about or "d1"}}
            objects, initial = {"d1": "document", "d2": "document"}, ["drafted(d1)", "drafted(d2)"]
            return ActionPlan.model_validate({"objects": objects, "initial": initial, "steps": [step]})
        step = {"id": "s1", "action": action, "arguments": {"who": about or "ann"}, "creates": {"f": "new"}}
        return ActionPlan.model_validate({"objects": {"ann": "person", "bob": "person"}, "steps": [step]})

    def live(self, place, do, start=0.0):
        """Let a process live; return what it tells, or None if it is killed."""

        async def main():
            with Journal(place) as journal:
                return await do(Executor(self.world, journal))

        try:
            return run_virtual(main(), start=start)
        except Crash as crash:
            crash.bury()
            return None


@pytest.mark.parametrize("answer", [HAPPENED, NOTHING])
@pytest.mark.parametrize("fault", ["raises", "dies"])
@pytest.mark.parametrize("kind", KINDS)
def test_what_another_run_does_while_it_is_lost_is_asked_about(kind, fault, answer, tmp_path):
    notary, place = Notary(kind, fault, after=5.0), tmp_path / "runs.db"
    other = notary.plan(other=True)

    async def both(executor):
        first = asyncio.ensure_future(executor.run(notary.plan(), run="r1"))
        await asyncio.sleep(1)
        assert (await executor.run(other, run="r2")).steps[0].status is StepStatus.SUCCEEDED
        return await first

    told = notary.live(place, both) or notary.live(place, lambda executor: executor.resume("r1"), 100.0)
    assert (told.status, notary.deeds) == (RunStatus.IN_DOUBT, [KINDS[kind][1]])
    [question] = told.questions
    meant = {"created": {"f": "F-0"}} if (kind, answer) == ("file", HAPPENED) else answer
    told = notary.live(place, lambda executor: executor.resume("r1", answers={question.question: meant}), 200.0)
    assert notary.deeds.count(KINDS[kind][0]) == (answer == NOTHING)


@pytest.mark.parametrize("who", ["r1", "r3"])
@pytest.mark.parametrize("kind", KINDS)
def test_what_another_run_does_afterwards_is_asked_about(kind, who, tmp_path):
    notary, place = Notary(kind, "dies"), tmp_path / "runs.db"
    assert notary.live(place, lambda executor: executor.run(notary.plan(), run="r1")) is None
    notary.live(place, lambda executor: executor.run(notary.plan(other=True), run="r2"), 10.0)
    again = (lambda executor: executor.resume(who)) if who == "r1" else lambda executor: executor.run(notary.plan())
    told = notary.live(place, again, 20.0)
    assert told.status is (RunStatus.IN_DOUBT if who == "r1" else RunStatus.WAITING)
    assert (len(told.questions), notary.deeds) == (1, [KINDS[kind][1]])


@pytest.mark.parametrize("kind", KINDS)
def test_a_change_that_observers_see_late_is_asked_about(kind, tmp_path):
    """The other run has ended before, and its change is seen only when this step was begun."""
    notary, place = Notary(kind, "dies", after=60.0, lag=30.0), tmp_path / "runs.db"

    async def begin(executor):
        first = asyncio.ensure_future(executor.run(notary.plan(other=True), run="r2"))
        await asyncio.sleep(0.1)
        first.cancel()  # its deed is done: it waits until observers see it
        await asyncio.gather(first, return_exceptions=True)
        return await executor.run(notary.plan(), run="r1")

    assert notary.live(place, begin) is None
    told = notary.live(place, lambda executor: executor.resume("r1"), 100.0)
    assert (told.status, notary.deeds) == (RunStatus.IN_DOUBT, [KINDS[kind][1]])


@pytest.mark.parametrize("kind", KINDS)
def test_what_another_run_does_to_something_else_leaves_nothing_to_ask(kind, tmp_path):
    notary, place = Notary(kind, "dies"), tmp_path / "runs.db"
    assert notary.live(place, lambda executor: executor.run(notary.plan(), run="r1")) is None
    beside = notary.plan(other=True, about={"document": "d2", "file": "bob"}[kind])
    notary.live(place, lambda executor: executor.run(beside, run="r2"), 10.0)
    told = notary.live(place, lambda executor: executor.resume("r1"), 20.0)
    if kind == "document":
        assert (told.status, notary.deeds) == (RunStatus.SUCCEEDED, ["stamp", "publish"])
    else:
        assert (told.status, notary.deeds) == (RunStatus.IN_DOUBT, ["open_urgent"]), "a part of the patterns matches"
