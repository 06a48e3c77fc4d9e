"""Runs in the hands of whoever began them: their plans are searched for, they are spoken to, and what is no run."""

import asyncio
import gc
import sys
import threading
import warnings
from inspect import signature

import pytest

import executor.plans.prepare
from executor import (
    ActionPlan,
    Executor,
    Journal,
    RunError,
    RunExists,
    RunStatus,
    Wait,
    World,
)
from executor.run import Run
from executor.testing import run_virtual
from planner import Domain, NoPlan, solve
from planner.errors import InputError
from planner.plan import Result, Status, StoppedBy


def one(handler=lambda: None, **tags):
    """Return the world of a domain with one action, and the problem to do it."""
    domain = Domain("one")
    domain.action("do", {}, provides=["done"], **tags)
    world = World(domain)
    world.handler("do")(handler)
    return world, domain.problem(goal=["done"])


@pytest.fixture
def slow_search(monkeypatch):
    """Make searches go on until they are called off, or somebody lets them; return the event that lets them."""
    let = threading.Event()

    def search(problem, *, cancel, **options):
        while not (let.is_set() or cancel.is_set()):
            let.wait(0.005)
        if cancel.is_set():
            return Result(Status.UNKNOWN, StoppedBy.CANCELLED)
        return solve(problem, **options)

    monkeypatch.setattr(sys.modules["planner.solve"], "solve", search)
    monkeypatch.setattr(executor.plans.prepare, "_check_options", lambda *_: None)
    return let


def test_others_go_on_while_a_plan_is_searched(slow_search):
    """The search ends when the loop has gone round; it would never end if it held the loop up."""
    world, problem = one()

    async def main():
        run = Executor(world).start(problem)
        with pytest.raises(RunError, match="has no plan yet"):
            run.state  # noqa: B018 - it raises
        await asyncio.sleep(0.01)
        slow_search.set()
        return await asyncio.wait_for(run, 10)

    assert asyncio.run(main()).status is RunStatus.UNVERIFIED


def test_a_run_is_called_off_while_its_plan_is_searched(slow_search, tmp_path):
    world, problem = one()
    executor = Executor(world, tmp_path / "runs.db")

    async def main():
        run = executor.start(problem, run="r")
        await asyncio.sleep(0.01)
        run.cancel()
        return await asyncio.wait_for(run, 10)

    outcome = asyncio.run(main())
    assert (outcome.status, outcome.steps) == (RunStatus.CANCELLED, ())
    assert executor.runs()["r"].status is RunStatus.CANCELLED
    assert not slow_search.is_set()


@pytest.mark.usefixtures("slow_search")
def test_a_search_ends_with_the_task_that_waits_for_it():
    world, problem = one()

    async def main():
        await asyncio.wait_for(Executor(world).run(problem), 0.02)

    with pytest.raises(TimeoutError):
        asyncio.run(main())  # which waits for the thread of the search


@pytest.mark.parametrize(
    "begin", [lambda executor, problem: executor.start(problem), lambda executor, _: executor.take_up("r")]
)
def test_a_run_cancelled_before_its_first_turn_leaves_no_coroutine_unawaited(begin):
    world, problem = one()

    async def begun():
        await begin(Executor(world), problem)

    async def main():
        task = asyncio.create_task(begun())
        await asyncio.sleep(0)
        task.cancel()  # the task of the run has not had a turn yet
        with pytest.raises(asyncio.CancelledError):
            await task

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        asyncio.run(main())
        gc.collect()
    assert [each for each in caught if "Executor" in str(each.message)] == []  # others leave garbage of their own


def test_the_id_of_a_run_without_a_plan_is_free(tmp_path):
    world, problem = one()
    hopeless = Domain("one")
    hopeless.action("do", {}, requires=["never"], provides=["done"])
    for journal in (None, tmp_path / "runs.db"):
        executor = Executor(world, journal)
        with pytest.raises(NoPlan):
            asyncio.run(executor.run(hopeless.problem(goal=["done"]), run="r"))
        assert asyncio.run(executor.run(problem, run="r")).status is RunStatus.UNVERIFIED
        with pytest.raises(RunExists, match="there is already a run 'r'"):
            asyncio.run(executor.run(problem, run="r", join=False))


def test_a_run_that_was_never_begun_keeps_no_id(tmp_path):
    world, problem = one()
    executor = Executor(world, tmp_path / "runs.db")
    with pytest.raises(RunError, match="a run needs a running event loop"):
        executor.start(problem, run="r")
    with Journal(tmp_path / "runs.db") as journal:
        journal.create("r")  # and then the process died
    assert asyncio.run(executor.run(problem, run="r")).status is RunStatus.UNVERIFIED


def test_another_process_may_have_run_it_meanwhile(tmp_path):
    world, problem = one()
    first, second = Executor(world, tmp_path / "runs.db"), Executor(world, tmp_path / "runs.db")

    async def main():
        runs = first.start(problem, run="r"), second.start(problem, run="r")
        return await asyncio.gather(*runs, return_exceptions=True)

    outcomes = run_virtual(main())
    assert [(each.run, each.status) for each in outcomes] == [("r", RunStatus.UNVERIFIED)] * 2
    assert outcomes[0].state.steps["s1"].attempts == 1


@pytest.mark.parametrize(
    "say",
    [
        lambda executor, _: executor.complete("r", "s1", True),
        lambda _, run: run.complete("s1", True),
        lambda executor, _: executor.announce("bell"),
        lambda _, run: run.cancel(),
    ],
    ids=["executor.complete", "run.complete", "announce", "cancel"],
)
def test_another_thread_may_speak_to_a_run(say):
    """The loop sleeps without a timer: only what wakes it from outside can end the run."""
    world, problem = one(lambda: Wait(event="bell"))
    executor = Executor(world, stay=True)

    async def main():
        run = executor.start(problem, run="r")
        async for event in run.events():
            if type(event).__name__ == "StepWaiting":
                break
        speaker = threading.Timer(0.05, say, (executor, run))
        speaker.start()
        return await asyncio.wait_for(run, 10)

    assert asyncio.run(main()).status in (RunStatus.UNVERIFIED, RunStatus.CANCELLED)


def test_a_mistake_in_another_thread_is_told_there():
    world, problem = one(lambda: Wait(event="bell"))
    executor, told = Executor(world, stay=True), []

    async def main():
        run = executor.start(problem, run="r")
        await asyncio.sleep(0.05)

        def speak():
            for result in (Wait("again"), {"success": "perhaps"}):
                with pytest.raises(InputError) as error:
                    run.complete("s1", result)
                told.append(str(error.value))
            with pytest.raises(RunError, match="'s2' waits for no result"):
                run.complete("s2")
            run.complete("s1")

        await asyncio.to_thread(speak)
        return run, await run

    run, outcome = asyncio.run(main())
    assert outcome.status is RunStatus.UNVERIFIED
    assert len(told) == 2
    run.cancel()
    with pytest.raises(RunError, match="nobody drives the run 'r' any more"):
        run.complete("s1")


@pytest.mark.parametrize("pauses", range(4))
@pytest.mark.parametrize("stay", [True, False])
def test_an_event_that_comes_while_the_plan_is_searched_is_kept(stay, pauses):
    domain = Domain("bells")
    domain.action("ring", {}, provides=["rung"], tags=["trusted"])
    world = World(domain)
    world.handler("ring")(lambda: Wait(event="bell"))
    executor = Executor(world, stay=stay)

    async def main():
        run = executor.start(domain.problem(goal=["rung"]), run="r")
        for _ in range(pauses):
            await asyncio.sleep(0)
        with pytest.raises(RunError, match="no plan yet"):
            run.state.steps  # noqa: B018 - it is being searched
        assert executor.announce("bell", 7) == 0
        return await run

    outcome = run_virtual(main())
    assert outcome.status is RunStatus.SUCCEEDED
    assert outcome.steps[0].result["data"] == 7


@pytest.mark.parametrize("stay", [True, False])
def test_an_event_that_comes_early_is_kept_for_who_waits_first(stay):
    domain = Domain("two")
    domain.action("ring", {}, provides=["rung"])
    domain.action("knock", {}, requires=["rung"], provides=["done"])
    world = World(domain)

    async def waits():
        await asyncio.sleep(1)
        return Wait(event="bell")

    world.handler("ring")(waits)
    world.handler("knock")(waits)
    executor = Executor(world, stay=stay)

    async def main():
        run = executor.start(domain.problem(goal=["done"]), run="r")
        await asyncio.sleep(0.5)
        assert executor.announce("bell", {"from": "Ada"}) == 0
        assert executor.announce("gong") == 0
        await asyncio.sleep(1)
        assert run.state.steps["s1"].result["data"] == {"from": "Ada"}
        await asyncio.sleep(1)
        if stay:
            assert executor.announce("bell") == 1  # what came early was for one step only
        return await run

    assert run_virtual(main()).status is (RunStatus.UNVERIFIED if stay else RunStatus.WAITING)


@pytest.mark.parametrize(
    ("what", "options", "message"),
    [
        ("courier", {}, "a str is nothing to carry out; load(…)"),
        (None, {}, "None is nothing to carry out"),
        ({"steps": []}, {}, "a dict is nothing to carry out"),
        ("problem", {"timelimit": 3}, "there is no option 'timelimit'; did you mean 'time_limit'?"),
        ("problem", {"cancel": threading.Event()}, "run.cancel()"),
        ("plan", {"time_limit": 3}, "there is a plan already, so that time_limit would say nothing"),
        ("problem", {"run": 5}, "the id of a run must be a text, got 5"),
        ("problem", {"run": ""}, "the id of a run must be a text, got ''"),
        ("problem", {"memory": [1]}, "memory must be a mapping from names, got [1]"),
        ("problem", {"memory": {1: 2}}, "memory must be a mapping from names"),
    ],
)
def test_what_is_no_run_is_refused_at_once(what, options, message):
    world, problem = one()
    what = (
        {"problem": problem, "plan": ActionPlan.of(solve(problem))}.get(what, what) if isinstance(what, str) else what
    )

    async def main():
        Executor(world).start(what, **options)

    with pytest.raises(InputError) as error:
        asyncio.run(main())
    assert message in str(error.value)


@pytest.mark.parametrize("name", ["answers", "results", "entities"])
def test_what_is_taken_up_with_nonsense_is_refused(tmp_path, name):
    world, problem = one(lambda: Wait("x"))
    executor = Executor(world, tmp_path / "runs.db")
    asyncio.run(executor.run(problem, run="r"))
    with pytest.raises(InputError, match=f"{name} must be a mapping from names, got \\[1\\]"):
        asyncio.run(executor.resume("r", **{name: [1]}))


@pytest.mark.parametrize(
    "given",
    [
        {"results": {"s1": True, "s9": True}},
        {"results": {"s1": "maybe"}},
        {"answers": {"doubt:s1": "yes"}, "results": {"s1": "ready"}},
    ],
    ids=str,
)
def test_a_run_that_is_not_taken_up_stays_as_it_was(tmp_path, given):
    """All that is said is looked at before anything is taken in."""
    world, problem = one(lambda: Wait("x", choices=("ready", "late")))
    executor = Executor(world, tmp_path / "runs.db")
    asyncio.run(executor.run(problem, run="r"))
    before = executor.runs()["r"]
    with pytest.raises(InputError):
        asyncio.run(executor.resume("r", **given))
    assert executor.runs()["r"] == before
    assert asyncio.run(executor.resume("r", results={"s1": "ready"})).status is RunStatus.UNVERIFIED


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"world": "x"}, "world must be a World, got 'x'; Executor(World(domain))"),
        ({"journal": 5}, "journal must be a file, the address of a database, or a journal, got 5"),
        ({"journal": ""}, "journal must be a file"),
        ({"durability": "bogus"}, "there is no durability 'bogus'; there are process, power"),
        ({"concurrency": "3"}, "concurrency must be a positive number of steps"),
        ({"concurrency": 0}, "or None, got 0"),
        ({"concurrency": True}, "concurrency must be"),
        ({"model": "paralel"}, "there is no execution model 'paralel'; did you mean 'parallel'?"),
        ({"recovery": "none"}, "recovery must be a Recovery, got 'none'"),
        ({"ask": "latter"}, "ask must be a function of the question, None, or 'later', got 'latter'"),
        ({"approve": True}, "approve must be a function of the request, or None, got True; lambda _: True"),
        ({"permit": "yes"}, "permit must be a function"),
        ({"listeners": (5,)}, "listeners must be a tuple of plain functions and followers"),
        ({"listeners": print}, "listeners must be a tuple"),
    ],
    ids=str,
)
def test_what_an_executor_cannot_work_with_is_refused(parts, message):
    world, _ = one()
    with pytest.raises(InputError) as error:
        Executor(**{"world": world, **parts})
    assert message in str(error.value)


def test_whatever_is_awaited_of_a_run_is_typed_as_its_outcome():
    """Type checkers read these annotations: a run that is awaited is no `Any`."""
    assert signature(Run.__await__).return_annotation == "Generator[Any, None, RunOutcome]"
    for function in (Executor.run, Executor.resume, Executor.run_sync):
        assert signature(function).return_annotation == "RunOutcome"
    assert signature(Executor.start).return_annotation == "Run"
