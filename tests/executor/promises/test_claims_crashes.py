"""A process may die at every write to the journal: the run is taken up, and the world ends as if it had not."""

import asyncio
import itertools

import pytest

from executor import Executor, RunStatus, Wait, World
from executor.testing import run_virtual
from planner import Domain


class Dead(BaseException):
    """The process is gone."""


def world_of(domain, truth, calls, does):
    """Return a world whose handlers are noted in `calls` and add to `truth`, unless `does` has something else."""
    world = World(domain)

    def doing(name, action):
        gives = [str(each) for each in action.provides]

        async def handler():
            if name in does and not await does[name]():
                return False
            calls.append(name)
            for fact in gives:
                (truth.discard if fact.startswith("not ") else truth.add)(fact.removeprefix("not "))
            return None

        return handler

    for name, action in domain.model.actions.items():
        world.handler(name)(doing(name, action))
    for fact in domain.model.predicates:
        world.observer(fact, conclusive=True, settle_within=0)(lambda fact=fact: fact in truth)
    return world


async def fails():
    return False


def patched():
    """Return a domain, its goal, and what fails: another way is found."""
    domain = Domain("patched")
    for number in "12":
        domain.action(f"begin{number}", {}, provides=[f"begun{number}"])
        domain.action(f"end{number}", {}, requires=[f"begun{number}"], provides=[f"ended{number}"])
        domain.action(f"finish{number}", {}, requires=[f"begun{number}"], provides=[f"ended{number}"], cost=5)
    return domain, ["ended1", "ended2"], {"end1": fails}


def lowered():
    """Return a domain in which one soft goal has to be given up."""
    domain = Domain("lowered")
    for name in "abc":
        domain.action(f"get_{name}", {}, provides=[name])
    return domain, {"hard": ["a"], "soft": {"b": 2, "c": 5}}, {"get_b": fails}


def undone():
    """Return a domain in which what was done has to be undone."""
    domain = Domain("undone")
    domain.action("book", {}, provides=["booked"])
    domain.action("cancel", {}, requires=["booked"], provides=["not booked"])
    domain.action("pay", {}, requires=["booked"], provides=["paid"])
    domain.action("pay_back", {}, requires=["paid"], provides=["not paid"])
    domain.action("leave", {}, requires=["paid"], provides=["gone"])
    return domain, ["gone"], {"leave": fails}


def approved():
    """Return a domain in which somebody allows what comes after another step."""
    domain = Domain("approved")
    domain.action("draft", {}, provides=["drafted"])
    domain.action("send", {}, requires=["drafted"], provides=["sent"], tags=["needs_approval", "irreversible"])
    return domain, ["sent"], {}


def carried_out(case, model, path=None, at=None, *, after=False):
    """Return the status, the world, and the calls of a run; at the write `at` its process dies, and another goes on."""
    domain, goal, does = case()
    truth, calls = set(), []
    world = world_of(domain, truth, calls, does)
    executor = Executor(world, journal=path, model=model, approve=lambda _: True)
    if at is not None:
        kill(executor.journal, at, after=after)
    try:
        outcome = run_virtual(executor.run(domain.problem(goal=goal), run="r"))
    except Dead:
        executor.journal.close()
        again = Executor(world, journal=path, approve=lambda _: True)
        return run_virtual(again.resume("r")).status, truth, sorted(calls), True
    return outcome.status, truth, sorted(calls), False


def kill(journal, at, *, after):
    """Let the process die before or `after` the write number `at`; what is dead writes nothing."""
    append, left = journal.append, itertools.count(at, -1)

    def dying(*args, **options):
        number = next(left)
        if number > 0 or (number == 0 and after):
            append(*args, **options)
        if number <= 0:
            raise Dead

    journal.append = dying


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize(
    ("case", "model", "ending"),
    [
        (patched, "dag", RunStatus.SUCCEEDED),
        (patched, "reactive", RunStatus.SUCCEEDED),
        (lowered, "parallel", RunStatus.LOWERED),
        (undone, "sequential", RunStatus.COMPENSATED),
        (approved, "sequential", RunStatus.SUCCEEDED),
    ],
)
def test_a_run_goes_on_as_if_nothing_had_happened(case, model, ending, after, tmp_path):
    status, truth, calls, _ = carried_out(case, model)
    assert status is ending
    for at in itertools.count(1):
        found = carried_out(case, model, tmp_path / f"{at}.db", at, after=after)
        assert found[:3] == (status, truth, calls), f"write {at}"
        if not found[3]:
            break
    assert at > 3 * len(calls), "each step is begun, answers, and ends"


def test_what_waits_goes_on_waiting(tmp_path):
    calls = []

    async def waits():
        domain = Domain("waits")
        domain.action("ask", {}, provides=["asked"], tags=["trusted"])
        world = World(domain)
        world.handler("ask")(lambda: calls.append("ask") or Wait("an answer", event="answered"))
        run = Executor(world, journal=tmp_path / "runs.db").start(domain.problem(goal=["asked"]))
        assert (await run).status is RunStatus.WAITING
        executor = Executor(world, journal=tmp_path / "runs.db", stay=True)
        task = asyncio.create_task(executor.resume(run.id))
        await asyncio.sleep(1)
        assert executor.announce("answered") == 1
        return await task

    assert run_virtual(waits()).status is RunStatus.SUCCEEDED
    assert calls == ["ask"]
