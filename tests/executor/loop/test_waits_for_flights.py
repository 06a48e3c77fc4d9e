"""A run waits for a step that another run has begun, also while that waits from outside, and then goes on by itself."""

import asyncio
import gc

import pytest

from executor import Agent, Executor, RunError, RunStatus, StepStatus, Wait, World
from executor.adapters.planned_calls import PlannedCalls
from executor.events.open_questions import post_answer
from executor.journal import Journal
from executor.testing import VirtualClock, run_virtual
from executor.workers.worker import Worker
from planner import Domain

WAITS = {
    "event": Wait(event="cleared"),
    "choice": Wait("is it cleared?", choices=("yes", "no")),
    "result": Wait("tell when it is cleared"),
    "timer": Wait(seconds=100),
}


class Till:
    """An order that is paid, and the payment waits until it is cleared; who looks sees it then."""

    def __init__(self, wait="event"):
        self.domain = Domain("till", types=["order"])
        self.domain.action("pay", {"o": "order"}, provides=["paid(o)"], tags=["irreversible"])
        self.bank, self.cleared = [], []
        self.world = World(self.domain)

        @self.world.handler("pay")
        def pay(o: str) -> Wait:
            self.bank.append(o)
            return WAITS[wait]

        self.world.observer("paid(o)", conclusive=True, settle_within=0)(lambda o: o in self.cleared)

    def problem(self, order="o7"):
        return self.domain.problem(objects={"o7": "order", "o8": "order"}, goal=[f"paid({order})"])

    def clear(self, result="yes"):
        """Let the payment be cleared, and return the result that tells so."""
        self.cleared.append("o7")
        return {"s1": result}


def executors(till, place, count=2, **options):
    """Return so many executors of one journal, or one without a journal as often."""
    if place is None:
        return [Executor(till.world, clock=VirtualClock(), **options)] * count
    return [Executor(till.world, Journal(place), clock=VirtualClock(), **options) for _ in range(count)]


@pytest.fixture(params=["journal", "memory"])
def kept(request, tmp_path):
    """The place of a journal, or None."""
    return tmp_path / "runs.db" if request.param == "journal" else None


@pytest.mark.parametrize("wait", ["event", "choice", "result"])
def test_a_run_that_stays_goes_on_when_the_step_of_another_run_is_done(wait, kept):
    till = Till(wait)
    one, other = executors(till, kept)

    async def main():
        first = await one.run(till.problem(), run="first")
        other.stay = True
        second = other.start(till.problem(), run="second")
        await asyncio.sleep(1000)
        assert (first.status, second.state.steps["s1"].status) == (RunStatus.WAITING, StepStatus.WAITING)
        await one.resume("first", results=till.clear())
        return await asyncio.wait_for(second, 60)

    second = run_virtual(main())
    assert (second.status, second.steps[0].status) == (RunStatus.SUCCEEDED, StepStatus.SKIPPED)
    assert till.bank == ["o7"]


def test_a_run_waits_for_the_timer_of_another_run(kept):
    till = Till("timer")
    one, other = executors(till, kept)

    async def main():
        first, second = one.start(till.problem(), run="first"), other.start(till.problem(), run="second")
        await asyncio.sleep(50)
        till.clear()
        return await asyncio.wait_for(asyncio.gather(first, second), 200)

    outcomes = run_virtual(main())
    assert [each.status for each in outcomes] == [RunStatus.SUCCEEDED] * 2
    assert till.bank == ["o7"]


@pytest.mark.parametrize("settles", ["result", "cancelled", "deleted"])
def test_a_worker_takes_up_a_run_when_the_step_of_another_run_is_over(settles, tmp_path):
    till, place = Till(), tmp_path / "runs.db"
    told = []

    async def main():
        executor = Executor(till.world, place)
        for run in ("first", "second"):
            assert (await executor.run(till.problem(), run=run)).status is RunStatus.WAITING
        worker = Worker(Executor(till.world, place), tell=told.append, poll=0.05)
        await worker.work(once=True)
        assert not told
        working = asyncio.create_task(worker.work())
        await asyncio.sleep(0.3)
        assert not told, "nobody has anything to do"
        if settles == "result":
            await executor.resume("first", results=till.clear())
        elif settles == "cancelled":
            taken = executor.take_up("first")
            taken.cancel()
            await taken
        else:
            executor.delete("first")
        while not any(each.startswith("second: ") and "taken up" not in each for each in told):  # noqa: ASYNC110 - it tells nobody
            await asyncio.sleep(0.02)
        worker.stop()
        await working
        return executor.state_of("second")

    state = asyncio.run(asyncio.wait_for(main(), 20))
    if settles == "result":
        assert state.status is RunStatus.SUCCEEDED
        assert till.bank == ["o7"]
    else:  # the observer sees at once that it did not happen
        assert state.status is RunStatus.WAITING
        assert till.bank == ["o7", "o7"]
        assert state.steps["s1"].wait["event"] == "cleared"


@pytest.mark.parametrize("how", ["deleted", "cancelled", "its executor is gone"])
def test_without_a_journal_a_flight_that_nobody_goes_on_with_is_in_doubt(how):
    till = Till()
    till.world.observers.clear()
    till.world._looks.clear()

    async def main():
        executor = Executor(till.world, clock=VirtualClock())
        await executor.run(till.problem(), run="first")
        second = Executor(till.world, clock=VirtualClock(), stay=True).start(till.problem(), run="second")
        await asyncio.sleep(10)
        assert second.state.steps["s1"].wait["run"] == "first"
        if how == "deleted":
            executor.delete("first")
        elif how == "cancelled":
            taken = executor.take_up("first")
            taken.cancel()
            await taken
        else:
            taken = executor = None
            gc.collect()
        await asyncio.sleep(100)
        (question,) = second.state.open_questions.values()
        second.answer(question.question, "it happened")
        return question, await second

    question, outcome = run_virtual(main())
    assert "begun by run 'first', happened" in question.text
    assert outcome.status is RunStatus.UNVERIFIED
    assert till.bank == ["o7"]


def test_a_second_run_of_an_executor_leaves_the_flight_of_the_first_alone():
    till = Till()

    async def main():
        executor = Executor(till.world, clock=VirtualClock())
        for run in ("first", "second", "third"):
            outcome = await executor.run(till.problem(), run=run)
            assert outcome.status is RunStatus.WAITING
        ended = await executor.resume("first", results=till.clear())
        return ended.status, [(await executor.resume(run)).status for run in ("second", "third")]

    assert run_virtual(main()) == (RunStatus.SUCCEEDED, [RunStatus.SUCCEEDED] * 2)
    assert till.bank == ["o7"]


def test_a_toolset_goes_on_when_the_step_of_another_run_is_done(kept):
    till = Till()

    async def main():
        executor = Executor(till.world, kept)
        await executor.run(till.problem(), run="first")
        calls = PlannedCalls(till.world, till.problem(), journal=executor.journal, look="never")
        waits = await calls.call("pay", {"o": "o7"})
        again = await calls.call("pay", {"o": "o7"})
        await executor.resume("first", results=till.clear())
        return waits, again, await calls.call("pay", {"o": "o7"}), calls.is_reached

    waits, again, done, is_reached = asyncio.run(main())
    for each in (waits, again):
        assert (each.status, each.question) == ("WAITING", None)
        assert "run 'first' has begun pay(o7)" in each.reason
    assert (done.goal, is_reached) == ("reached", True)
    assert till.bank == ["o7"]


def test_a_standing_goal_goes_on_when_the_step_of_another_run_is_done(tmp_path):
    till = Till()

    async def main():
        executor = Executor(till.world, tmp_path / "runs.db")
        await executor.run(till.problem(), run="first")
        agent = Agent(till.world, till.domain.problem(objects={"o7": "order"}), journal=executor.journal)
        agent.maintain("paid(o7)", name="keep")
        async with agent.attend(poll=0.05) as attending:
            while not attending.waiting:  # noqa: ASYNC110 - it tells nobody
                await asyncio.sleep(0.02)
            (run,) = attending.waiting
            await executor.resume("first", results=till.clear())
            while not agent.runs.state_of(run).status.is_over:  # noqa: ASYNC110 - it tells nobody
                await asyncio.sleep(0.02)
            return agent.runs.state_of(run).status

    assert asyncio.run(asyncio.wait_for(main(), 20)) is RunStatus.SUCCEEDED
    assert till.bank == ["o7"]


def test_a_run_takes_no_result_of_a_step_that_another_run_has_begun(kept):
    till = Till("result")

    async def main():
        executor = Executor(till.world, kept)
        await executor.run(till.problem(), run="first")
        second = await executor.run(till.problem(), run="second")
        assert "run 'first' has begun pay(o7)" in second.reason
        with pytest.raises(RunError, match=r"'s1' has not begun, and takes no result: run 'first' has begun pay\(o7\)"):
            await executor.resume("second", results={"s1": "cleared"})
        if kept is not None:
            with pytest.raises(RunError, match="run 'first' has begun pay") as refused:
                post_answer(executor.journal, "second", "s1", "yes")
            assert "answer it there" in refused.value.hint
        await executor.resume("first", results=till.clear())
        return await executor.resume("second")

    assert asyncio.run(main()).status is RunStatus.SUCCEEDED
    assert till.bank == ["o7"]


def test_a_deleted_run_leaves_doubt_though_another_run_has_its_name(tmp_path):
    till = Till()
    till.world.observers.clear()
    till.world._looks.clear()

    async def main():
        executor = Executor(till.world, tmp_path / "runs.db")
        await executor.run(till.problem(), run="first")
        executor.delete("first")
        await executor.run(till.problem("o8"), run="first")
        return await executor.run(till.problem(), run="second")

    (question,) = asyncio.run(main()).questions
    assert "its run was deleted" in question.text
    assert till.bank == ["o7", "o8"]
