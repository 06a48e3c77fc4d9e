"""Observers are asked no more often than their rate says, by whoever looks; a look that waits holds up nobody else."""

import asyncio
from itertools import pairwise

import pytest

from executor import Agent, Executor, Rate, RunStatus, StepStatus, World
from executor.journal import open_journal
from executor.testing import run_virtual
from executor.testing.virtual_time import now
from planner import Domain
from planner.errors import DeclarationError, InputError

WAIT = 30.0


def make_domain():
    domain = Domain("rated", types=["door"])
    domain.predicate("open", door="door")
    domain.action("knock", {}, provides=["knocked"], tags=["trusted"])
    domain.action(
        "ring", {"door": "door"}, requires=["open(door)"], provides=["rung(door)"], tags=["needs_observed", "trusted"]
    )
    domain.action("pay", {}, provides=["paid"], tags=["irreversible"])
    return domain


def make_world(rate, **options):
    """Return a world in which the looks at doors have this rate, with the times of all looks, and what was done."""
    domain, looked, done = make_domain(), [], []
    world = World(domain)
    for name in ("knock", "ring", "pay"):
        world.handler(name)(note_as(done, name))

    @world.observer("open(door)", rate=rate, **options)
    async def look(door):
        looked.append((door, now()))
        return True

    return world, looked, done


def note_as(done, name):
    async def note(**_):
        done.append((name, now()))

    return note


def make_problem(world, *doors, more=()):
    objects = dict.fromkeys(doors, "door")
    initial = [f"open({each})" for each in doors]
    return world.domain.problem(objects=objects, initial=initial, goal=[*[f"rung({each})" for each in doors], *more])


def test_all_runs_of_an_executor_keep_to_the_rate():
    world, looked, _ = make_world((1, WAIT))

    async def run():
        executor = Executor(world)
        problems = [make_problem(world, "d1"), make_problem(world, "d1", "d2")]
        return await asyncio.gather(*map(executor.run, problems))

    assert all(each.succeeded for each in run_virtual(run()))
    times = [at for _, at in looked]
    assert len(times) > 3
    assert min(later - earlier for earlier, later in pairwise(times)) >= WAIT - 0.001


def test_a_rate_may_count_looks_apart():
    world, looked, _ = make_world(Rate(1, WAIT, by=("door",)))
    outcome = run_virtual(Executor(world).run(make_problem(world, "d1", "d2")))
    assert outcome.succeeded
    assert {at for _, at in looked[:2]} == {0.0}
    for door in ("d1", "d2"):
        times = [at for each, at in looked if each == door]
        assert min(later - earlier for earlier, later in pairwise(times)) >= WAIT - 0.001


def test_an_observer_that_is_not_waited_for_cannot_say():
    world, looked, done = make_world(Rate(1, WAIT, wait=False))
    told = []
    executor = Executor(world, listeners=[lambda event: told.append(str(event))])
    outcome = run_virtual(executor.run(make_problem(world, "d1", "d2")))
    assert not outcome.succeeded
    assert "was not asked: its rate does not let it begin: at most 1 in 30 s" in "".join(told)
    assert len(looked) == 1
    assert done == []


def test_what_counts_for_a_time_uses_up_no_rate():
    world, looked, _ = make_world((1, WAIT), max_age=1000)
    assert run_virtual(Executor(world).run(make_problem(world, "d1"))).succeeded
    assert [at for _, at in looked] == [0.0]


def test_a_look_that_waits_holds_up_no_other_step():
    world, _, done = make_world((1, WAIT))
    problem = make_problem(world, "d1", more=["knocked"])
    assert run_virtual(Executor(world, model="parallel").run(problem)).succeeded
    times = dict(done)
    assert times["knock"] < 1.0
    assert times["ring"] >= WAIT


def test_a_look_that_waits_holds_no_flight():
    world, _, _ = make_world(None)
    seen, times = [], []

    @world.observer("paid", rate=(1, WAIT), conclusive=True, settle_within=0)
    async def is_paid():
        times.append(now())
        seen.append([each.since for each in world.ledger.flights()])
        return len(times) > 2

    async def run():
        executor = Executor(world)
        paying = executor.start(world.domain.problem(goal=["paid"]))
        await asyncio.sleep(WAIT / 2)
        waiting = world.ledger.flights()
        return await paying, waiting

    outcome, waiting = run_virtual(run())
    assert outcome.succeeded
    assert waiting == []
    assert [len(each) for each in seen][:3] == [0, 1, 1], "the first look is before any step, the second one in flight"


def test_a_run_that_is_called_off_does_not_wait_for_its_look():
    world, looked, _ = make_world((1, 10_000.0))

    async def run():
        run = Executor(world).start(make_problem(world, "d1"))
        await asyncio.sleep(WAIT)
        run.cancel()
        outcome = await run
        return outcome, now()

    outcome, ended = run_virtual(run())
    assert outcome.status is RunStatus.CANCELLED
    assert ended < 2 * WAIT
    assert len(looked) == 1


def test_late_effects_are_looked_at_as_often_as_the_rate_says():
    """An observer that is late is asked in time by its rate, and not at once as often as that lets it."""
    world, _, done = make_world(None)
    times = []

    @world.observer("knocked", rate=(2, WAIT), conclusive=True, settle_within=20)
    async def is_knocked():
        times.append(now())
        return bool(done) and now() >= done[0][1] + 18

    outcome = run_virtual(Executor(world, look="never").run(world.domain.problem(goal=["knocked"])))
    assert outcome.steps[0].status is StepStatus.SUCCEEDED
    assert len(done) == 1
    assert max(times) < 2 * WAIT


def test_processes_of_a_journal_share_the_rate(place):
    """In real time: each executor has a world, and a journal, of its own.

    A look may come late on a busy machine, and the next one in time: so the time of each counts from the beginning.
    """
    seconds, all_looks, begun = 0.2, [], []

    def make_executor(journal):
        world, looked, _ = make_world((1, seconds))
        all_looks.append(looked)
        return world, Executor(world, journal)

    async def run():
        with open_journal(place) as one, open_journal(place) as other:
            (first, by_one), (second, by_other) = map(make_executor, (one, other))
            wishes = make_problem(first, "d1"), make_problem(second, "d1", more=["knocked"])
            begun.append(now())
            return await asyncio.gather(by_one.run(wishes[0]), by_other.run(wishes[1]))

    assert all(each.succeeded for each in asyncio.run(run()))
    times = sorted(at for looked in all_looks for _, at in looked)
    assert len(times) >= 4
    assert all(at - begun[0] >= number * seconds * 0.8 for number, at in enumerate(times))


def test_standing_goals_look_by_the_rate():
    world, looked, _ = make_world((1, WAIT))
    problem = world.domain.problem(objects={"d1": "door"})

    async def run():
        agent = Agent(world, problem)
        agent.when("open(d1)", achieve="knocked", name="answer")
        async with agent.attend(poll=1.0):
            await asyncio.sleep(3.5 * WAIT)

    run_virtual(run())
    times = [at for _, at in looked]
    assert len(times) >= 3
    assert min(later - earlier for earlier, later in pairwise(times)) >= WAIT - 0.001


@pytest.mark.parametrize("rate", ["often", (1,), (0, 5), 3])
def test_a_rate_is_of_the_form_of_handlers(rate):
    with pytest.raises(InputError, match=r"rate|Rate"):
        make_world(rate)


def test_a_rate_by_something_else_is_refused():
    with pytest.raises(DeclarationError, match="the observer has no parameter 'room' to rate by"):
        make_world(Rate(1, WAIT, by=("room",)))
