"""What is kept of one attempt is not about another; and nothing of what was kept is lost with the process."""

import asyncio
import itertools
import threading
import time
from typing import Annotated, Any

import pytest

from executor import (
    CANNOT_SAY,
    ActionPlan,
    ActionResult,
    ExecutionPolicy,
    Executor,
    Memory,
    Metrics,
    RunStatus,
    Wait,
    World,
)
from executor.errors import DamagedError, JournalError, RunError
from executor.events.events import HandlerRaised, StepStatus
from executor.loop.books import read_events
from executor.testing import run_virtual
from planner import Domain, From
from planner.errors import InputError


class Dead(BaseException):
    """The process is gone."""


def dies(executor, at):
    """Have the process of `executor` die at its write with this number, from 0, and at all after it."""
    write, left = executor.journal.append, itertools.count(at, -1)

    def append(run, kind, *others, **options):
        if next(left) <= 0:
            raise Dead
        write(run, kind, *others, **options)

    executor.journal.append = append


def paying(path, told, *, seen=CANNOT_SAY, **policy):
    """Return an executor of a world in which paying answers with what is `told` in turn, and what was paid."""
    domain, paid = Domain("shop"), []
    domain.action("pay", {}, provides=["paid"])
    world, answers = World(domain), iter(told)

    @world.handler("pay", policy=ExecutionPolicy(backoff=0, jitter=0, **policy))
    async def pay():
        answer = next(answers)
        if answer is not False:
            paid.append(answer)
        if isinstance(answer, float):
            await asyncio.sleep(answer)
        return answer if answer is False else None

    world.observer("paid")(lambda: seen)
    return Executor(world, journal=path), domain.problem(goal=["paid"]), paid, world


def kinds(executor):
    return [each.kind for each in executor.journal.read("r")]


@pytest.mark.parametrize("at", range(1, 9))
@pytest.mark.parametrize("told", [[False, True, True], [False, False, True, True], [9.0, True], [True, True]])
def test_nothing_is_paid_twice_wherever_the_process_dies(tmp_path, told, at):
    """Nobody can look: so what was at work is in doubt, whatever an attempt before it has said."""
    executor, problem, paid, world = paying(tmp_path / "r.db", told, retries=3, timeout=1.0)
    dies(executor, at)
    try:
        run_virtual(executor.run(problem, run="r"))
    except Dead:
        executor.journal.close()
        outcome = run_virtual(Executor(world, journal=tmp_path / "r.db").resume("r"))
        assert outcome.status in {RunStatus.IN_DOUBT, RunStatus.UNVERIFIED}
    assert len(paid) <= 1


def test_a_handler_that_took_too_long_is_in_doubt_also_after_a_restart(tmp_path):
    executor, problem, paid, world = paying(tmp_path / "r.db", [9.0, True], timeout=1.0)
    world.policies["pay"] = ExecutionPolicy(timeout=1.0, on_error="patch")
    write = executor.journal.append

    def append(run, kind, *others, **options):
        if kind == "StepEnded":
            raise Dead
        write(run, kind, *others, **options)

    executor.journal.append = append
    with pytest.raises(Dead):
        run_virtual(executor.run(problem, run="r"))
    assert kinds(executor)[-1] == "StepReturned"
    executor.journal.close()
    outcome = run_virtual(Executor(world, journal=tmp_path / "r.db").resume("r"))
    assert (outcome.status, outcome.steps[0].status) == (RunStatus.IN_DOUBT, StepStatus.IN_DOUBT)
    assert len(paid) == 1


def errands(path):
    """Return an executor, its problem, and its world: values go by working memory, and items by a result."""
    domain, truth = Domain("errands"), set()
    domain.action("sign_in", {}, provides=["known"])
    domain.action("look_up", {}, requires=["known"], provides=["listed"], tags=["read_only"])
    taken = {"token": str, "who": str, "items": Annotated[list[int], From("listed", "data.items")]}
    domain.action("order", taken, requires=["listed"], provides=["ordered"])
    world = World(domain)

    @world.handler("sign_in")
    async def sign_in():
        truth.add("known")
        return ActionResult(values={"token": "t"})

    @world.handler("look_up")
    async def look_up():
        truth.add("listed")
        return {"items": [1]}

    @world.handler("order")
    async def order(token, who, items):
        truth.add("ordered")
        assert (token, who, items) == ("t", "ada", [1])

    for fact in ("known", "listed", "ordered"):
        world.observer(fact, conclusive=True)(lambda fact=fact: fact in truth)
    return Executor(world, journal=path), domain.problem(goal=["ordered"]), world


@pytest.mark.parametrize("at", [1, *range(3, 12)])
def test_memory_and_what_was_read_outlive_the_process(tmp_path, at):
    """But for the second write: the answer of a step that may not be done again is lost with that."""
    executor, problem, world = errands(tmp_path / "r.db")
    dies(executor, at)
    try:
        outcome = run_virtual(executor.run(problem, run="r", memory={"who": "ada"}))
    except Dead:
        executor.journal.close()
        outcome = run_virtual(Executor(world, journal=tmp_path / "r.db").resume("r"))
    assert outcome.status is RunStatus.SUCCEEDED, (at, outcome.reason)


def test_memory_of_the_same_entries_is_left_after_a_restart(tmp_path):
    domain, entries = Domain("notes"), {"aim": 5, "x": 0, "y": 0}
    domain.action("note", {}, provides=["noted"], tags=["trusted"])
    world = World(domain)

    @world.handler("note")
    def note(context):
        for key, relevance in entries.items():  # what stands in the code of a handler would be kept
            context.memory.set(key, 1, relevance=relevance)
            context.memory.get(key)

    executor = Executor(world, journal=tmp_path / "r.db", capacity=2)
    memory = run_virtual(executor.run(domain.problem(goal=["noted"]), run="r")).state.memory
    again = Executor(world, journal=tmp_path / "r.db", capacity=2).state_of("r").memory
    assert memory.to_dict() == again.to_dict() == {"aim": 1, "y": 1}
    assert [*memory.dropped] == [*again.dropped] == ["x"]


@pytest.mark.parametrize("key", [("user", 1), 5, None])
def test_memory_has_values_by_name(key):
    with pytest.raises(InputError, match="a key of working memory must be a text, got"):
        Memory().set(key, 1)
    with pytest.raises(InputError, match="keys in values of a result must be texts, got"):
        ActionResult(values={key: 1})


def test_threads_share_a_memory(tmp_path):
    domain = Domain("many", types=["x"])
    domain.action("a", {"o": "x"}, provides=["p(o)"], tags=["trusted"])
    world, told = World(domain), []

    @world.handler("a")
    def a(o, context):
        for number in range(30):
            context.memory.set(f"{o}-{number}", number)
            context.memory.by_relevance()
        context.progress("half", 0.5)

    listener = lambda _: told.append(threading.get_ident())  # noqa: E731 - told in which thread
    executor = Executor(world, journal=tmp_path / "r.db", model="dag", listeners=(listener,))
    objects = {f"o{number}": "x" for number in range(8)}
    outcome = asyncio.run(
        executor.run(domain.problem(objects=objects, goal=[f"p({each})" for each in objects]), run="r")
    )
    assert outcome.status is RunStatus.SUCCEEDED
    assert len(outcome.state.memory) == 8 * 30
    assert executor.state_of("r").memory.to_dict() == outcome.state.memory.to_dict()
    assert set(told) == {threading.get_ident()}, "listeners are told in the thread of the event loop"


def test_what_cannot_be_kept_of_memory_ends_the_run(tmp_path):
    domain = Domain("x")
    domain.action("a", {}, provides=["fa"], tags=["trusted"])
    world = World(domain)
    world.handler("a")(lambda context: context.memory.set("k", 1))
    executor, full = Executor(world, journal=tmp_path / "r.db"), [True]
    write = executor.journal.append

    def append(run, kind, *others, **options):
        if kind == "MemorySet" and full.pop():
            raise OSError("disk full")
        write(run, kind, *others, **options)

    executor.journal.append = append
    with pytest.raises(OSError, match="disk full"):
        asyncio.run(executor.run(domain.problem(goal=["fa"])))


def test_handlers_change_nothing_but_what_is_theirs(tmp_path):
    domain, kept = Domain("x"), {"k": [1]}
    domain.action("make", {}, provides=["a"], tags=["trusted"])
    domain.action("use", {"v": Any}, requires=["a"], provides=["b"], tags=["trusted"])
    world = World(domain)
    world.handler("make")(lambda: {"n": kept})

    @world.handler("use")
    async def use(v, context):
        v["k"].append(2)
        context.results["s1"]["data"]["n"]["k"].append(3)
        given = [4]
        context.memory.set("m", given)
        given.append(5)
        context.memory.get("m").append(6)

    steps = [{"id": "s1", "action": "make"}, {"id": "s2", "action": "use", "parameters": {"v": "{{s1.data.n}}"}}]
    executor = Executor(world, journal=tmp_path / "r.db")
    state = asyncio.run(executor.run(ActionPlan.model_validate({"steps": steps}), run="r")).state
    kept["k"].append(7)
    for found in (state, executor.state_of("r")):
        assert found.steps["s1"].result["data"] == {"n": {"k": [1]}}
        assert found.memory.get("m") == [4]


def test_numbers_are_keys_too():
    domain, got = Domain("x"), []
    domain.action("make", {})
    domain.action("use", {"v": str})
    world = World(domain)
    world.handler("make")(lambda: {1: "one"})
    world.handler("use")(lambda v: got.extend([v]))
    steps = [{"id": "s1", "action": "make"}, {"id": "s2", "action": "use", "parameters": {"v": "{{s1.data.1}}"}}]
    run_virtual(Executor(world).run(ActionPlan.model_validate({"steps": steps})))
    assert got == ["one"]


def test_all_attempts_are_counted():
    domain, calls = Domain("x"), itertools.count(1)
    domain.action("a", {}, provides=["fa"], tags=["idempotent", "trusted"])
    world = World(domain)
    metrics = Metrics(tokens=1000, cost=2.0)
    world.handler("a")(lambda: ActionResult(success=next(calls) == 3, metrics=metrics))
    found = run_virtual(Executor(world).run(domain.problem(goal=["fa"]))).metrics
    assert (found["tokens"], found["cost"]) == (3000, 6.0)


def two_ways(path):
    """Return an executor of which one step waits for Ada, and another one is in doubt."""
    domain = Domain("two")
    domain.action("approve", {}, provides=["ok"], tags=["trusted"])
    domain.action("pay", {}, provides=["paid"])
    world = World(domain)
    world.handler("approve")(lambda: Wait("Ada approves"))
    world.handler("pay", policy=ExecutionPolicy(timeout=0.1))(lambda: time.sleep(0.4))
    return Executor(world, journal=path, model="dag"), domain.problem(goal=["ok", "paid"])


def test_a_result_from_outside_is_not_lost_where_the_run_stops_for_something_else(tmp_path):
    executor, problem = two_ways(tmp_path / "r.db")
    assert asyncio.run(executor.run(problem, run="r")).status is RunStatus.IN_DOUBT
    steps = {each.step.action: each.id for each in executor.state_of("r").steps.values()}
    given = asyncio.run(executor.resume("r", results={steps["approve"]: True}))
    assert given.status is RunStatus.IN_DOUBT
    outcome = asyncio.run(executor.resume("r", answers={f"doubt:{steps['pay']}": "it happened"}))
    assert outcome.status is RunStatus.UNVERIFIED
    assert outcome.state.steps[steps["approve"]].status is StepStatus.SUCCEEDED


@pytest.mark.parametrize("wrong", [{"results": {"zz": 1}}, {"answers": {"zz": "yes"}}])
def test_what_is_refused_leaves_the_run_as_it_was(tmp_path, wrong):
    executor, problem = two_ways(tmp_path / "r.db")
    asyncio.run(executor.run(problem, run="r"))
    before = executor.runs()["r"]
    with pytest.raises(RunError):
        asyncio.run(executor.resume("r", **wrong))
    assert executor.runs()["r"] == before


def test_a_journal_that_is_deleted_while_a_run_is_at_work_is_told(tmp_path):
    executor, problem, _, world = paying(tmp_path / "r.db", [])
    world.handler("pay")(lambda: [each.unlink() for each in tmp_path.iterdir()] and None)
    with pytest.raises(DamagedError, match="deleted"):
        asyncio.run(executor.run(problem, run="r"))


def test_what_is_too_large_to_be_kept_is_told(tmp_path):
    executor, _, _, _ = paying(tmp_path / "r.db", [])

    class Connection:
        def execute(self, *_):
            raise OverflowError("string longer than INT_MAX bytes")

        def close(self):
            pass

    executor.journal.create("r")
    with executor.journal.drive("r"):
        executor.journal._store.connection = Connection()
        with pytest.raises(JournalError, match="larger than SQLite keeps"):
            executor.journal.append("r", "RunStarted", "{}")


@pytest.mark.parametrize("beside", [None, "\ud800"])
def test_a_run_with_a_huge_number_can_be_read(tmp_path, beside):
    domain = Domain("x")
    domain.action("a", {}, provides=["fa"], tags=["trusted"])
    world, huge = World(domain), 10**5000 + 7
    world.handler("a")(lambda: {"number": huge, "beside": beside})
    executor = Executor(world, journal=tmp_path / "r.db")
    assert asyncio.run(executor.run(domain.problem(goal=["fa"]), run="r")).status is RunStatus.SUCCEEDED
    kept = executor.state_of("r").steps["s1"].result["data"]
    assert kept == {"number": huge, "beside": beside}


@pytest.mark.parametrize("is_async", [True, False])
@pytest.mark.parametrize("is_hooked", [True, False])
def test_the_traceback_of_a_handler_is_logged_and_kept(tmp_path, caplog, is_async, is_hooked):
    domain = Domain("kitchen")
    domain.action("boil", {}, provides=["hot"])
    world = World(domain)

    def look_up(name):
        return {}[name]

    async def slowly():
        return look_up("kettle")

    world.handler("boil")(slowly if is_async else (lambda: look_up("kettle")))
    if is_hooked:

        @world.around
        async def passes(_, proceed):
            return await proceed()

    executor = Executor(world, journal=tmp_path / "runs.db")
    outcome = run_virtual(executor.run(domain.problem(goal=["hot"]), run="r"))
    assert outcome.status is RunStatus.FAILED
    kept = [event for event, _ in read_events(executor.journal, "r") if isinstance(event, HandlerRaised)]
    assert kept
    for text in (kept[0].traceback, caplog.text):
        assert "in look_up" in text
        assert "KeyError: 'kettle'" in text
    assert is_hooked or "in _perform_call" not in kept[0].traceback
    assert "the handler of boil() has raised" in caplog.text


def test_the_traceback_of_an_observer_is_logged(caplog):
    domain = Domain("kitchen")
    domain.action("boil", {}, provides=["hot"])
    world = World(domain)
    world.handler("boil")(lambda: None)
    world.observer("hot")(lambda: {}["sensor"])
    assert run_virtual(Executor(world).run(domain.problem(goal=["hot"]))).status is RunStatus.UNVERIFIED
    assert "KeyError: 'sensor'" in caplog.text
    assert "Traceback" in caplog.text
