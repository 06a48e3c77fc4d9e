"""Searches of many runs take turns in threads, and leave the event loop, asyncio's pool and memory to the host."""

import asyncio
import subprocess
import sys
import threading
from contextlib import contextmanager

import pytest

import executor.background_searches
import executor.executor
from executor import Executor, World
from executor.background_searches import MOST, search_in_turn, search_until_cancelled
from executor.events.run_state import RunState
from executor.testing import run_virtual
from planner import Domain

MANY = 100


class Watched:
    """Counts how many searches are at work at once; those that are `held` go on until `let` is set."""

    def __init__(self) -> None:
        self.let = threading.Event()
        self.most = self.now = 0
        self._guard = threading.Lock()

    @contextmanager
    def _at_work(self):
        with self._guard:
            self.now += 1
            self.most = max(self.most, self.now)
        yield
        with self._guard:
            self.now -= 1

    def short(self) -> str:
        with self._at_work():
            return "found"

    def held(self) -> str:
        with self._at_work():
            assert self.let.wait(10)
            return "found"


@pytest.fixture
def searches():
    watched = Watched()
    yield watched
    watched.let.set()


def one(handler=lambda: None):
    domain = Domain("one")
    domain.action("do", {}, provides=["done"], tags=["trusted"])
    world = World(domain)
    world.handler("do")(handler)
    return world, domain.problem(goal=["done"])


def test_short_searches_run_one_after_another(searches):
    async def main():
        return await asyncio.gather(*[search_in_turn(searches.short) for _ in range(MANY)])

    assert run_virtual(main()) == ["found"] * MANY
    assert searches.most == 1


def test_the_loop_takes_in_one_plan_before_the_next_search_begins():
    order = []

    async def main():
        async def one_of(number):
            await search_in_turn(lambda: order.append(f"search {number}"))
            order.append(f"taken in {number}")

        await asyncio.gather(*[one_of(number) for number in range(5)])

    run_virtual(main())
    assert order == [f"{what} {number}" for number in range(5) for what in ("search", "taken in")]


def test_a_search_that_lasts_gets_company_and_all_leave_room_for_the_host(searches, monkeypatch):
    monkeypatch.setattr(executor.background_searches, "ALONE", 0.0)

    async def main():
        found = asyncio.gather(*[search_in_turn(searches.held) for _ in range(MANY)])
        while searches.now < MOST:  # noqa: ASYNC110 - threads count
            await asyncio.sleep(0.001)
        of_the_host = await asyncio.to_thread(lambda: "answered")
        searches.let.set()
        return of_the_host, await found

    of_the_host, found = asyncio.run(main())
    assert of_the_host == "answered"
    assert found == ["found"] * MANY
    assert searches.most == MOST


def test_who_is_cancelled_in_the_line_leaves_it(searches):
    async def main():
        first = asyncio.create_task(search_in_turn(searches.held))
        second = asyncio.create_task(search_in_turn(searches.short))
        third = asyncio.create_task(search_in_turn(searches.short))
        await asyncio.sleep(0)
        second.cancel()
        searches.let.set()
        assert await first == await third == "found"
        with pytest.raises(asyncio.CancelledError):
            await second

    run_virtual(main())


def test_who_is_cancelled_at_its_turn_leaves_the_turn_to_the_next(searches):
    async def main():
        first = asyncio.create_task(search_in_turn(searches.short))
        await asyncio.sleep(0)
        first.cancel()
        return await search_in_turn(searches.short)

    assert run_virtual(main()) == "found"


def test_a_search_that_raises_ends_its_turn(searches):
    async def main():
        with pytest.raises(ValueError, match="no plan"):
            await search_in_turn(lambda: (_ for _ in ()).throw(ValueError("no plan")))
        return await search_in_turn(searches.short)

    assert run_virtual(main()) == "found"


def test_a_search_is_told_when_its_caller_is_cancelled():
    begun, told = threading.Event(), threading.Event()

    def search(cancelled):
        begun.set()
        if cancelled.wait(10):
            told.set()

    async def main():
        task = asyncio.create_task(search_until_cancelled(search))
        await asyncio.to_thread(begun.wait, 10)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert told.wait(10)


def test_the_state_of_a_run_is_made_outside_the_event_loop(monkeypatch):
    world, problem = one()
    threads, make = set(), RunState.__init__

    def noted(self, *args, **kwargs):
        threads.add(threading.current_thread())
        make(self, *args, **kwargs)

    monkeypatch.setattr(RunState, "__init__", noted)
    assert run_virtual(Executor(world).run(problem)).succeeded
    assert threads
    assert threading.current_thread() not in threads


def test_many_runs_that_are_planned_at_once_are_planned_one_after_another(monkeypatch, searches):
    world, problem = one()
    search = executor.executor.search_plan

    def watched(*args, **kwargs):
        searches.short()
        with searches._at_work():
            return search(*args, **kwargs)

    monkeypatch.setattr(executor.executor, "search_plan", watched)

    async def main():
        made = Executor(world)
        return await asyncio.gather(*[made.run(problem) for _ in range(MANY)])

    assert all(each.succeeded for each in run_virtual(main()))
    assert searches.most == 1


def test_others_run_between_the_steps_of_a_plan_whose_handlers_never_wait():
    domain = Domain("line")
    domain.action("first", {}, provides=["a"], tags=["trusted"])
    domain.action("second", {}, requires=["a"], provides=["b"], tags=["trusted"])
    world, order = World(domain), []

    @world.handler("first")
    async def first():
        asyncio.get_running_loop().call_soon(order.append, "another")
        order.append("first")

    @world.handler("second")
    async def second():
        order.append("second")

    assert run_virtual(Executor(world).run(domain.problem(goal=["b"]))).succeeded
    assert order == ["first", "another", "second"]


RUNS = """
import asyncio, gc
from executor import Executor, World
from planner import Domain

domain = Domain("lamps")
domain.action("fetch", provides=["there"])
domain.action("light", requires=["there"], provides=["lit"])
world, seen = World(domain), set()
for action, fact in (("fetch", "there"), ("light", "lit")):
    world.handler(action)(lambda fact=fact: seen.add(fact))
    world.observer(fact, conclusive=True)(lambda fact=fact: fact in seen)

async def go(times):
    for _ in range(times):
        seen.clear()
        await executor.run(domain.problem(goal=["lit"]))
    return len(gc.get_objects())

executor = Executor(world)
print(asyncio.run(go(50)), asyncio.run(go(200)))
"""


def test_runs_whose_plans_are_searched_leave_nothing_behind():
    done = subprocess.run([sys.executable, "-c", RUNS], capture_output=True, text=True, check=True)
    first, last = map(int, done.stdout.split())
    assert last < 1.3 * first, "the collector waits for a quarter of all objects"
