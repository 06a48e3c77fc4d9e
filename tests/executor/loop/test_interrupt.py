"""Runs are interrupted at the end of a step and taken up again; what they are for changes on the way."""

from __future__ import annotations

import asyncio

import pytest

from domains.travel import board
from executor import Executor, RunStatus, StepStatus, Wait, World
from executor.events.events import GoalChanged, PlanChanged, StepEnded, StepStarted, StepWaiting
from executor.testing import SimulatedWorld, run_virtual
from planner import Domain, Outcome, at_most, decide, done, solve

MODELS = ("sequential", "parallel", "dag", "reactive")
ROOMS = {"hall": "room", "lab": "room", "attic": "room", "shed": "room"}


def house(**more):
    """Return a problem of going about and switching lights on, a world for it, and what was done."""
    domain, acts = Domain("house", types=["room"]), []
    domain.action(
        "go", {"a": "room", "b": "room"}, requires=["at(a)", "door(a, b)"], provides=["at(b)"], modifies=["at(_)"]
    )
    domain.action("light", {"room": "room"}, requires=["at(room)"], provides=["lit(room)"])
    domain.action("ring", {}, provides=["rung"])
    world = World(domain)

    @world.handler("go")
    async def go(a, b):
        await asyncio.sleep(0)
        acts.append(f"go {a} {b}")

    @world.handler("light")
    async def light(room):
        await asyncio.sleep(0)
        acts.append(f"light {room}")

    world.handler("ring")(lambda: acts.append("ring"))
    world.observer("at(_)")(lambda: [act.split()[2] for act in ["go x hall", *acts] if act.startswith("go")][-1])
    world.observer("lit(_)")(lambda: [act.split()[1] for act in acts if act.startswith("light")])
    world.observer("rung")(lambda: "ring" in acts)
    doors = [("hall", "lab"), ("lab", "attic"), ("hall", "shed"), ("attic", "shed")]
    initial = ["at(hall)", *[f"door({a}, {b})" for pair in doors for a, b in (pair, pair[::-1])]]

    def problem(*goal, **rest):
        return domain.problem(objects=ROOMS, initial=initial, goal=list(goal), **{**more, **rest})

    return problem, world, acts


def ways_to_the_shed(*before):
    """Return the shortest ways to light the shed from the lab, after the acts `before`."""
    return [[*before, f"go lab {by}", f"go {by} shed", "light shed"] for by in ("hall", "attic")]


async def after(run, number, act):
    """Do `act` when so many steps of `run` are over, and return how the run ends."""
    ended = 0
    async for event in run.events():
        ended += isinstance(event, StepEnded)
        if isinstance(event, StepEnded) and ended == number:
            act()
    return await run


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("kept", [False, True])
def test_an_interrupted_run_is_taken_up_where_it_was(model, kept, tmp_path):
    problem, world, acts = house()

    async def story():
        executor = Executor(world, model=model, journal=tmp_path / "runs.db" if kept else None)
        run = executor.start(problem("lit(lab)", "lit(attic)", "rung"))
        stopped = await after(run, 2, run.interrupt)
        first = list(acts)
        if kept:
            executor.journal.close()
            executor = Executor(world, model=model, journal=tmp_path / "runs.db")
        return stopped, first, await executor.resume(run.id)

    stopped, first, ended = asyncio.run(story())
    assert (stopped.status, stopped.reason) == (RunStatus.WAITING, "interrupted")
    assert all(each.status in {StepStatus.SUCCEEDED, StepStatus.PENDING} for each in stopped.steps)
    assert 2 <= len(first) < 5
    assert ended.status is RunStatus.SUCCEEDED
    assert sorted(acts) == ["go hall lab", "go lab attic", "light attic", "light lab", "ring"]


def test_a_run_that_waits_is_interrupted_at_once():
    problem, world, _ = house()
    world.handler("ring")(lambda: Wait(event="bell"))

    async def story():
        executor = Executor(world, stay=True)
        run = executor.start(problem("rung"))
        async for event in run.events():
            if isinstance(event, StepWaiting):
                run.interrupt()
        stopped = await run
        again = executor.take_up(run.id, results={"s1": True})
        return stopped, await again

    stopped, ended = asyncio.run(asyncio.wait_for(story(), 20))
    assert stopped.reason == "interrupted"
    assert ended.status is RunStatus.FAILED  # somebody says that it rang, and it was looked at


@pytest.mark.parametrize("model", MODELS)
def test_another_goal_on_the_way_is_reached_from_there(model):
    problem, world, acts = house()

    async def story():
        run = Executor(world, model=model).start(solve(problem("lit(lab)", "lit(attic)")))
        heard = []
        run.listen(heard.append)
        return await after(run, 1, lambda: run.change_goal(problem("lit(lab)", "lit(shed)"), "rather the shed")), heard

    outcome, heard = asyncio.run(story())
    assert outcome.status is RunStatus.SUCCEEDED
    assert acts in ways_to_the_shed("go hall lab", "light lab")
    kinds = [type(event) for event in heard]
    assert kinds.index(GoalChanged) < kinds.index(PlanChanged)
    assert outcome.state.plan.goal.hard == ("lit(lab)", "lit(shed)")


@pytest.mark.parametrize("model", MODELS)
def test_what_is_no_longer_wanted_is_not_done(model):
    problem, world, acts = house()

    async def story():
        run = Executor(world, model=model).start(solve(problem("lit(lab)", "lit(attic)")))
        return await after(run, 1, lambda: run.change_goal(problem("lit(lab)")))

    outcome = asyncio.run(story())
    assert outcome.status is RunStatus.SUCCEEDED
    assert acts == ["go hall lab", "light lab"]


def test_constraints_that_stay_know_what_was_done():
    problem, world, acts = house(constraints=[at_most(1, done("ring"))])

    async def story():
        run = Executor(world).start(solve(problem("rung", "lit(lab)")))
        return await after(run, 3, lambda: run.change_goal(problem("lit(lab)", "lit(shed)", "rung")))

    outcome = asyncio.run(story())
    assert outcome.status is RunStatus.SUCCEEDED
    assert acts.count("ring") == 1
    assert [each.times for each in outcome.state.constraints] == [0]


def test_a_goal_that_nothing_reaches_proves_the_run_impossible():
    problem, world, _ = house()

    async def story():
        run = Executor(world).start(solve(problem("lit(lab)")))
        return await after(run, 1, lambda: run.change_goal(problem("door(hall, attic)")))

    outcome = asyncio.run(story())
    assert outcome.status is RunStatus.IMPOSSIBLE


def test_a_changed_goal_survives_the_process(tmp_path):
    problem, world, acts = house()

    def change_and_stop(run):
        run.change_goal(problem("lit(shed)"))
        run.interrupt()

    async def story():
        executor = Executor(world, journal=tmp_path / "runs.db")
        run = executor.start(solve(problem("lit(lab)", "lit(attic)")))
        await after(run, 1, lambda: change_and_stop(run))
        executor.journal.close()
        return await Executor(world, journal=tmp_path / "runs.db").resume(run.id)

    outcome = asyncio.run(story())
    assert outcome.status is RunStatus.SUCCEEDED
    assert acts in ways_to_the_shed("go hall lab")


def test_objects_that_a_run_does_not_have_join_it_with_a_goal():
    problem, world, _ = house()

    async def story():
        run = Executor(world).start(solve(problem("lit(lab)")))
        other = Domain.of(world.model).problem(objects={**ROOMS, "loft": "room"}, goal=["lit(loft)"])
        run.change_goal(other)
        return await run

    outcome = asyncio.run(story())
    assert list(outcome.state.found) == ["loft"]
    assert not outcome.succeeded, "no door leads there"


def redirected(problem, what, other, **options):
    """Return how a run ends that goes on to the goal of `other` after its first step, the world, and what was heard."""
    simulated = SimulatedWorld(problem, **options)

    async def story():
        run = Executor(simulated.world, listeners=(heard.append,)).start(what)
        return await after(run, 1, lambda: run.change_goal(other))

    heard = []
    return run_virtual(story()), simulated, heard


def test_tasks_are_over_where_something_else_is_wanted():
    problem = board()
    facts = Domain.of(problem.classical.domain)
    other = facts.problem(objects=problem.classical.objects, goal=["at(ada, nice)"])
    outcome, simulated, _ = redirected(problem, solve(problem, time_limit=None), other)
    assert outcome.status is RunStatus.SUCCEEDED
    assert simulated.holds("at(ada, nice)")
    assert [each.step.action for each in outcome.steps if each.attempts] == ["book_flight", "fly"]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("goal", ["wrapped", "there", "not here"])
def test_a_run_that_follows_a_policy_decides_on_another_one_for_another_goal(goal, seed):
    domain = Domain("desk")
    lost = [Outcome("0.6", ["there", "not here"]), Outcome("0.4", ["lost", "not here"])]
    domain.action("send", requires=["here"], provides=["there", "not here"], outcomes=lost)
    domain.action("search", requires=["lost"], provides=["here", "not lost"])
    torn = [Outcome("0.5", ["wrapped"]), Outcome("0.5", ["torn"])]
    domain.action("wrap", requires=["there"], provides=["wrapped"], outcomes=torn)
    domain.action("sing", requires=["there"], provides=["sung"])
    problem = domain.problem(initial=["here"], goal=["sung"])
    other = domain.problem(initial=["here"], goal=[goal])
    outcome, simulated, heard = redirected(problem, decide(problem), other, seed=seed, chances=True)
    assert outcome.status is RunStatus.SUCCEEDED
    assert simulated.holds(goal)
    later = heard[next(place for place, each in enumerate(heard) if isinstance(each, GoalChanged)) :]
    started = [outcome.state.steps[each.step].step.action for each in later if isinstance(each, StepStarted)]
    assert "sing" not in started
    assert goal == "wrapped" or "wrap" not in started


@pytest.mark.parametrize("data", [{}, {"amount": int}], ids=["plain", "with data"])
def test_a_run_that_waits_for_another_run_and_has_its_approval_is_interrupted_at_once(tmp_path, data):
    domain = Domain("bank")
    domain.action("pay", data, provides=["paid"], tags=["irreversible", "needs_approval"])
    world = World(domain)

    async def main():
        inside = asyncio.Event()

        @world.handler("pay")
        async def pay(**_):
            inside.set()
            await asyncio.sleep(100)

        world.observer("paid", conclusive=True, settle_within=0)(lambda: False)
        first, second = (Executor(world, journal=tmp_path / "runs.db") for _ in range(2))
        memory = {"amount": 5} if data else {}
        for name, executor in (("a", first), ("b", second)):
            waiting = await executor.run(domain.problem(goal=["paid"]), run=name, memory=memory)
            assert waiting.status is RunStatus.WAITING
        paying = asyncio.create_task(first.resume("a", answers={"approve:s1": "yes"}))
        await inside.wait()
        run = second.take_up("b", answers={"approve:s1": "yes"})
        await asyncio.sleep(1)
        run.interrupt()
        outcome = await asyncio.wait_for(run, 10)
        paying.cancel()
        return outcome

    assert run_virtual(main()).status is RunStatus.WAITING
