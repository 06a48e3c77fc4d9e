"""One step: its handler, its parameters, its policy, its context."""

import asyncio
import contextlib
import operator
import threading
from typing import Annotated

import pytest
from pydantic import BaseModel, Field

from executor import (
    CANNOT_SAY,
    ActionPlan,
    ActionResult,
    Context,
    ExecutionPolicy,
    Executor,
    Metrics,
    RunStatus,
    Seen,
    StepStatus,
    Wait,
    World,
)
from executor.testing import run_virtual
from planner import Domain, Entity, InputError, PlanError


class Lamp(Entity):
    watts = 40


def one(parameters=None, **fields):
    """Return a domain with one action, and a world for it."""
    domain = Domain("one")
    domain.action("do", parameters or {}, **({"provides": ["done"]} | fields))
    return domain, World(domain)


def ran(domain, world, *, goal="done", objects=(), memory=None, **options):
    executor = Executor(world, **options)
    return run_virtual(executor.run(domain.problem(objects=objects, goal=[goal]), memory=memory))


class Report(BaseModel):
    title: str
    pages: int = 1


@pytest.mark.parametrize(
    ("answer", "status", "data"),
    [
        (None, StepStatus.UNVERIFIED, None),
        (True, StepStatus.UNVERIFIED, None),
        (False, StepStatus.FAILED, None),
        ({"pages": 2}, StepStatus.UNVERIFIED, {"pages": 2}),
        (Report(title="a"), StepStatus.UNVERIFIED, Report(title="a")),
        ("fine", StepStatus.UNVERIFIED, "fine"),
        ({"success": False, "error": "no"}, StepStatus.FAILED, None),
        ({"success": True, "data": 3}, StepStatus.UNVERIFIED, 3),
        (ActionResult(data=[1]), StepStatus.UNVERIFIED, [1]),
        (ActionResult.failed("no"), StepStatus.FAILED, None),
    ],
    ids=str,
)
def test_what_handlers_may_return(answer, status, data):
    domain, world = one()
    world.handler("do")(lambda: answer)
    step = ran(domain, world).steps[0]
    assert (step.status, step.result["data"]) == (status, data)


def test_entities_arrive_as_the_objects_that_were_given():
    domain, world = one({"lamp": Lamp}, provides=["on(lamp)"])
    got, kitchen = [], Lamp("kitchen")

    async def do(lamp):
        got.append(lamp)

    world.handler("do")(do)
    ran(domain, world, goal="on(kitchen)", objects=[kitchen])
    assert got[0] is kitchen


Size = Annotated[int, Field(ge=1, le=9)]


@pytest.mark.parametrize(
    ("values", "memory", "got"),
    [
        ({"size": 3}, {"size": 4}, 3),
        ({"size": "3"}, {}, 3),
        ({}, {"size": 4}, 4),
        ({}, {}, 7),
    ],
)
def test_where_values_come_from(values, memory, got):
    domain = Domain("one")
    found = []

    @domain.action(provides=["done"])
    async def do(size: Size = 7):
        found.append(size)

    plan = ActionPlan.model_validate({"steps": [{"id": "s1", "action": "do", "parameters": values}], "goal": ["done"]})
    run_virtual(Executor(World(domain)).run(plan, memory=memory))
    assert found == [got]


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"size": 10}, "the parameter 'size' cannot be 10: Input should be less than or equal to 9"),
        ({"size": "big"}, "the parameter 'size' cannot be 'big'"),
    ],
)
def test_values_that_do_not_fit_are_said_and_nothing_is_done(values, reason):
    domain, world = one({"size": Size})
    called = []

    async def do(size):
        called.append(size)

    world.handler("do")(do)
    assert reason in ran(domain, world, memory=values).reason
    assert called == []


def test_values_of_a_result_go_into_working_memory():
    domain, world = one()
    world.handler("do")(lambda: ActionResult(values={"colour": "red"}))
    assert ran(domain, world).state.memory.to_dict() == {"colour": "red"}


def test_what_it_took_is_added_up():
    domain, world = one()
    world.handler("do")(lambda: ActionResult(metrics=Metrics(tokens=5, cost=0.25)))
    metrics = ran(domain, world).metrics
    assert (metrics["tokens"], metrics["cost"]) == (5, 0.25)


def test_the_context_of_a_step():
    domain, world = one()
    seen = []

    async def do(context: Context):
        seen.append(context)
        context.progress("half", 0.5)
        context.memory.set("a", 1)

    world.handler("do")(do)
    told = []
    outcome = ran(domain, world, listeners=(told.append,))
    [context] = seen
    assert (context.run, context.step, context.action, context.attempt) == (outcome.run, "s1", "do", 1)
    assert context.key == f"{outcome.run}/s1"
    assert [each.text for each in told if type(each).__name__ == "StepProgress"] == ["half"]
    assert outcome.state.memory.get("a") == 1


def test_the_key_is_the_same_in_every_attempt():
    domain, world = one(tags=["idempotent"])
    keys = []

    async def do(context: Context):
        keys.append(context.key)
        return len(keys) > 2

    world.handler("do")(do)
    ran(domain, world)
    assert len(keys) == 3
    assert len(set(keys)) == 1


def test_a_plain_function_that_timed_out_is_never_started_a_second_time_beside_itself():
    domain, world = one(tags=["idempotent"])
    at_work, most, gate = [], [], threading.Event()

    @world.handler("do", policy=ExecutionPolicy(timeout=0.05, retries=3, backoff=0, jitter=0))
    def do():
        at_work.append(1)
        most.append(len(at_work))
        gate.wait(5)
        at_work.pop()

    outcome = asyncio.run(Executor(world).run(domain.problem(goal=["done"])))
    gate.set()
    assert outcome.status is RunStatus.IN_DOUBT
    assert max(most) == 1


def test_a_handler_is_told_that_its_time_is_up():
    domain, world = one()
    told = threading.Event()

    @world.handler("do", policy=ExecutionPolicy(timeout=0.05))
    def do(context: Context):
        for _ in range(500):
            if context.aborted.is_set():
                told.set()
                return
            threading.Event().wait(0.01)

    asyncio.run(Executor(world).run(domain.problem(goal=["done"])))
    assert told.wait(5)


def test_a_run_that_is_called_off_begins_nothing_more():
    domain = Domain("two")
    domain.action("first", {}, provides=["half"])
    domain.action("second", {}, requires=["half"], provides=["done"])
    world, done = World(domain), []
    executor = Executor(world)
    runs = []

    @world.handler("first")
    async def first(context: Context):
        done.append("first")
        runs[0].cancel()
        assert context.aborted.is_set()

    world.handler("second")(lambda: done.append("second"))

    async def main():
        runs.append(executor.start(domain.problem(goal=["done"])))
        return await runs[0]

    assert run_virtual(main()).status is RunStatus.CANCELLED
    assert done == ["first"]


def parts(policy, count=3):
    """Return a run of steps that do not need each other, and how many were at work at once, and when they began."""
    domain = Domain("parts", types=["part"])
    domain.action("make", {"part": "part"}, provides=["made(part)"], tags=["trusted", "read_only"])
    world, at_work, most, begun = World(domain), [], [], []

    @world.handler("make", policy=policy)
    async def make(part):
        begun.append(asyncio.get_running_loop().time())
        at_work.append(part)
        most.append(len(at_work))
        await asyncio.sleep(1)
        at_work.remove(part)

    names = [f"p{number}" for number in range(count)]
    problem = domain.problem(objects=dict.fromkeys(names, "part"), goal=[f"made({name})" for name in names])
    return world, problem, most, begun


@pytest.mark.parametrize(("lock", "at_once"), [(False, 3), (True, 3), ((), 1)])
def test_locks(lock, at_once):
    world, problem, most, _ = parts(ExecutionPolicy(lock=lock))
    assert run_virtual(Executor(world, model="dag").run(problem)).status is RunStatus.SUCCEEDED
    assert max(most) == at_once


def test_no_more_steps_are_at_work_than_allowed():
    world, problem, most, _ = parts(ExecutionPolicy(), 6)
    run_virtual(Executor(world, model="dag", concurrency=2).run(problem))
    assert max(most) == 2


@pytest.mark.parametrize(("rate", "times"), [((1, 10), [0, 10, 20, 30, 40]), ((2, 10), [0, 0, 10, 10, 20])])
def test_rates(rate, times):
    world, problem, _, begun = parts(ExecutionPolicy(rate=rate), 5)
    run_virtual(Executor(world, model="dag").run(problem))
    assert [round(each - begun[0]) for each in begun] == times


def test_a_rate_holds_in_one_event_loop_after_the_other():
    world, problem, _, begun = parts(ExecutionPolicy(rate=(1, 0.05)), 1)
    executor = Executor(world)
    for _ in range(3):
        asyncio.run(executor.run(problem))
    assert [each for each in map(operator.sub, begun[1:], begun) if each < 0.049] == []


@pytest.mark.parametrize(
    "policy", [ExecutionPolicy(lock=True), ExecutionPolicy(lock=()), ExecutionPolicy(lock=(), rate=(9, 0.01))]
)
def test_an_executor_serves_one_event_loop_after_the_other(policy):
    """Two runs want the same locks in each loop, so that somebody has to wait for them in each."""
    world, problem, _, _ = parts(policy)
    executor = Executor(world, model="dag")

    async def both():
        return await asyncio.gather(executor.run(problem), executor.run(problem))

    for _ in range(2):
        outcomes = run_virtual(both())
        assert [(each.status, [step.attempts for step in each.steps]) for each in outcomes] == [
            (RunStatus.SUCCEEDED, [1, 1, 1])
        ] * 2


def test_a_lock_keeps_out_runs_in_other_threads():
    domain, world = one()
    inside, most = [], []

    @world.handler("do", policy=ExecutionPolicy(lock=True))
    async def do():
        inside.append(1)
        most.append(len(inside))
        await asyncio.sleep(0.05)
        inside.pop()

    executor, problem = Executor(world), domain.problem(goal=["done"])
    threads = [threading.Thread(target=lambda: asyncio.run(executor.run(problem, join=False))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1, 1, 1]


def test_answers_of_what_only_reads_are_served_again():
    domain, world = one(tags=["read_only", "trusted"])
    calls = []
    world.handler("do", policy=ExecutionPolicy(cache_for=60))(lambda: calls.append(1))
    executor = Executor(world)

    async def main():
        for pause in (0, 30, 40):
            await asyncio.sleep(pause)
            assert (await executor.run(domain.problem(goal=["done"]))).status is RunStatus.SUCCEEDED

    run_virtual(main())
    assert len(calls) == 2


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        (lambda texts: Seen(value=True, version=len(texts)), StepStatus.SUCCEEDED),
        (lambda _: True, StepStatus.UNVERIFIED),
        (lambda _: CANNOT_SAY, StepStatus.UNVERIFIED),
        (lambda _: Seen(value=True, version=0), StepStatus.PARTIAL),
    ],
)
def test_an_item_changed_in_place_is_verified_by_its_version_only(answer, status):
    texts = []
    domain = Domain("edit")
    domain.action("do", {}, requires=["document"], provides=["edited"], modifies=["document"])
    world = World(domain)
    world.handler("do")(lambda: texts.append("more"))
    world.observer("document")(lambda: answer(texts))
    world.observer("edited")(lambda: bool(texts))
    outcome = run_virtual(Executor(world).run(domain.problem(initial=["document"], goal=["edited"])))
    assert outcome.steps[0].status is status


def test_observers_that_disagree_make_the_fact_unknown_and_the_run_says_so():
    domain, world = one()
    world.handler("do")(lambda: None)
    world.observer("done")(lambda: True)
    world.observer("done")(lambda: False)
    outcome = ran(domain, world)
    assert outcome.status is not RunStatus.SUCCEEDED
    assert "did not" in outcome.state.disagreements[0].reason


def test_a_careful_step_does_not_rest_on_what_nobody_has_seen():
    domain = Domain("post")
    domain.action("write", {}, provides=["written"])
    domain.action("send", {}, requires=["written"], provides=["sent"], tags=["irreversible"])
    sent = []
    for observed in (False, True):
        world = World(domain)
        world.handler("write")(lambda: None)
        world.handler("send")(lambda: sent.append(1))
        if observed:
            world.observer("written")(lambda: True)
        with contextlib.nullcontext() if observed else pytest.raises(PlanError, match="it rests on written"):
            run_virtual(Executor(world).run(domain.problem(goal=["sent"])))
        assert bool(sent) is observed


def test_soft_goals_are_dropped_by_utility():
    domain = Domain("soft")
    for name in ("a", "b", "c"):
        domain.action(f"get_{name}", {}, provides=[name], tags=["trusted"])
    domain.predicate("d")
    world = World(domain)
    for name in ("a", "b", "c"):
        world.handler(f"get_{name}")(lambda name=name: name != "b")
    goal = {"hard": ["a"], "soft": {"b": 2, "c": 5, "d": 1}}
    outcome = run_virtual(Executor(world).run(domain.problem(goal=goal)))
    assert outcome.status is RunStatus.LOWERED
    assert outcome.state.dropped == ["d", "b"]
    assert outcome.state.beliefs.is_true(outcome.state.goal)


def test_an_event_goes_to_all_that_wait_for_it():
    domain, world = one()
    world.handler("do")(lambda: Wait(event="opened"))
    executor = Executor(world, stay=True)

    async def main():
        runs = [executor.start(domain.problem(goal=["done"]), join=False) for _ in range(3)]
        await asyncio.sleep(1)
        assert executor.announce("opened") == 3
        return [(await run).steps[0].status for run in runs]

    assert run_virtual(main()) == [StepStatus.UNVERIFIED] * 3


def test_a_plan_with_mistakes_is_not_begun_and_all_of_them_are_said():
    _, world = one({"size": Size})
    world.handler("do")(lambda size: size)
    steps = [{"id": "a", "action": "doo"}, {"id": "b", "action": "do", "parameters": {"size": "{{c.data}}"}}]
    with pytest.raises(PlanError) as raised:
        run_virtual(Executor(world).run(ActionPlan.model_validate({"steps": steps, "goal": ["done"]})))
    assert "'doo'" in str(raised.value)
    assert "'c'" in str(raised.value)


@pytest.mark.parametrize(
    ("stated", "status", "reason"),
    [
        ({"requires": ["ready"]}, StepStatus.FAILED, "the step requires ready, which does not hold"),
        ({"expects": ["signed"]}, StepStatus.PARTIAL, "its effect signed did not come about"),
        ({"expects": ["not ready"]}, StepStatus.SUCCEEDED, ""),
    ],
)
def test_a_step_may_state_more_than_its_action(stated, status, reason):
    domain, world = one()
    for name in ("ready", "signed"):
        domain.predicate(name)
    world = World(domain)
    done = []
    world.handler("do")(lambda: done.append(1))
    for name in ("ready", "signed"):
        world.observer(name, conclusive=True)(lambda: False)
    world.observer("done", conclusive=True)(lambda: bool(done))
    plan = ActionPlan.model_validate({"steps": [{"id": "s1", "action": "do", **stated}]})
    executor = Executor(world)
    if status is StepStatus.FAILED:
        with pytest.raises(PlanError, match="ready"):
            run_virtual(executor.run(plan))
        return
    step = run_virtual(executor.run(plan)).steps[0]
    assert (step.status, step.reason) == (status, reason)


@pytest.mark.parametrize("taken", ["all", "some", "none"])
def test_a_check_gets_what_it_takes_of_what_the_handler_gets(taken):
    domain, world = one({"size": Size, "name": str})
    seen, done = [], []
    checks = {
        "all": lambda size, name: seen.append((size, name)),
        "some": lambda size: seen.append(size),  # noqa: PLW0108 - its parameters are what is tested
        "none": lambda: seen.append(()),
    }
    world.check("do")(checks[taken])

    async def do(size, name):
        done.append((size, name))

    world.handler("do")(do)
    ran(domain, world, memory={"size": 3, "name": "a"})
    assert seen == [{"all": (3, "a"), "some": 3, "none": ()}[taken]]
    assert done == [(3, "a")]


def test_a_payment_whose_run_was_given_up_is_not_made_beside_itself(tmp_path):
    domain, world = one({})
    at_work, gate = [], threading.Event()

    @world.handler("do")
    def do():
        at_work.append(1)
        gate.wait(5)

    world.observer("done", conclusive=True, settle_within=0.01)(lambda: False)
    executor = Executor(world, journal=tmp_path / "runs.db")

    async def main():
        run = executor.start(domain.problem(goal=["done"]))
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(run, 0.2)
        return await executor.resume(run.id)

    outcome = asyncio.run(main())
    gate.set()
    assert outcome.status is RunStatus.IN_DOUBT
    assert len(at_work) == 1


@pytest.mark.parametrize(
    "raised", [StopIteration("x"), SystemExit(3), asyncio.CancelledError(), GeneratorExit()], ids=repr
)
@pytest.mark.parametrize("plain", [True, False])
def test_whatever_a_handler_raises_is_a_failure_of_its_step(raised, plain):
    domain, world = one()

    def do():
        raise raised

    async def do_async():
        if isinstance(raised, StopIteration):
            raise RuntimeError("coroutines turn it into this")  # noqa: TRY004 - as Python does
        raise raised

    world.handler("do")(do if plain else do_async)
    outcome = asyncio.run(Executor(world).run(domain.problem(goal=["done"])))
    assert outcome.steps[0].status is StepStatus.FAILED


def test_a_plain_function_that_returns_something_to_await_is_awaited():
    domain, world = one(tags=["trusted"])
    done = []

    async def inner():
        done.append(1)

    world.handler("do")(lambda: inner())  # noqa: PLW0108 - a decorator that is a plain function does this
    assert asyncio.run(Executor(world).run(domain.problem(goal=["done"]))).status is RunStatus.SUCCEEDED
    assert done == [1]


@pytest.mark.parametrize(
    "odd",
    [b"\xff\xd8", "\ud800", {1: {2: object()}}, float("nan"), {"a": {1, 2}}],
    ids=["bytes", "half a character", "an object", "nan", "a set"],
)
def test_data_that_json_cannot_hold_does_not_lose_the_run(odd, tmp_path):
    circle = [odd]
    circle.append(circle)
    domain, world = one(tags=["trusted"])
    world.handler("do")(lambda: {"odd": odd, "circle": circle})
    executor = Executor(world, journal=tmp_path / "runs.db")
    outcome = asyncio.run(executor.run(domain.problem(goal=["done"])))
    assert outcome.status is RunStatus.SUCCEEDED
    assert executor.state_of(outcome.run).status is RunStatus.SUCCEEDED


@pytest.mark.parametrize("most", [0, -1])
def test_limits_that_are_none(most):
    with pytest.raises(InputError):
        Executor(one()[1], concurrency=most)
    with pytest.raises(InputError, match="did you mean 'dag'"):
        Executor(one()[1], model="dags")


def test_callbacks_that_raise_allow_nothing():
    domain, world = one(tags=["needs_approval"])
    done = []
    world.handler("do")(lambda: done.append(1))

    def broken(_):
        raise ConnectionError("nobody is there")

    for options in ({"approve": broken}, {"permit": broken}):
        outcome = ran(domain, world, **options)
        assert outcome.status is RunStatus.FAILED
        assert "ConnectionError: nobody is there" in outcome.reason
    assert done == []


@pytest.mark.parametrize(
    "fields",
    [{"rate": (1,)}, {"rate": (0, 1)}, {"retry_on": ("ValueError",)}, {"retries": -1}, {"timeout": "soon"}],
    ids=str,
)
def test_policies_that_mean_nothing(fields):
    with pytest.raises(InputError):
        ExecutionPolicy(**fields)


@pytest.mark.parametrize("model", ["sequential", "parallel", "dag", "reactive"])
@pytest.mark.parametrize("open_", [True, False, None])
def test_facts_declared_unknown_are_looked_at_before_anything_rests_on_them(model, open_):
    domain, gone = Domain("doors", types=["door"]), []
    domain.action("go", {"door": "door"}, requires=["open(door)"], provides=["through(door)"])
    world = World(domain)
    world.handler("go")(lambda door: gone.append(door) or True)
    world.observer("through(door)", conclusive=True)(lambda door: door in gone)
    if open_ is not None:
        world.observer("open(door)", conclusive=True)(lambda door: bool(door) and open_)
    plan = ActionPlan.model_validate(
        {
            "model": model,
            "objects": {"d1": "door", "d2": "door"},
            "initial": ["open(d2)"],
            "unknown": ["open(_)"],
            "goal": ["through(d1)", "through(d2)"],
            "steps": [{"id": each, "action": "go", "arguments": {"door": each}} for each in ("d2", "d1")],
        }
    )
    outcome = run_virtual(Executor(world).run(plan))
    if open_:
        assert outcome.status is RunStatus.SUCCEEDED
        assert sorted(gone) == ["d1", "d2"]
    else:
        assert outcome.status is (RunStatus.FAILED if open_ is None else RunStatus.IMPOSSIBLE)
        assert "d1" not in gone


def test_a_check_may_take_the_context_of_its_step():
    domain, seen = Domain("kettle"), []
    domain.action("boil", {}, provides=["hot"], tags=["trusted"])
    world = World(domain)
    world.handler("boil")(lambda: None)

    @world.check("boil")
    def has_water(context):
        seen.append((context.step, context.attempt, context.memory.get("water")))
        return context.memory.get("water") > 0

    run = Executor(world).run
    assert run_virtual(run(domain.problem(goal=["hot"]), memory={"water": 1})).succeeded
    assert seen == [("s1", 1, 1)]
    assert run_virtual(run(domain.problem(goal=["hot"]), memory={"water": 0})).status is RunStatus.FAILED


def test_a_check_that_never_answers_is_not_passed():
    domain, done = Domain("kettle"), []
    domain.action("boil", {}, provides=["hot"], tags=["trusted"])
    world = World(domain)
    world.handler("boil", policy=ExecutionPolicy(timeout=2.0))(lambda: done.append(1))

    @world.check("boil")
    async def waits():
        await asyncio.sleep(10_000)

    outcome = run_virtual(Executor(world).run(domain.problem(goal=["hot"])))
    assert outcome.steps[0].status is StepStatus.SKIPPED
    assert outcome.steps[0].reason == "the check did not answer within 2 s"
    assert not done


def test_the_working_memory_of_a_run_has_the_room_that_its_executor_says(tmp_path):
    domain = Domain("notes")
    domain.action("note", {}, provides=["noted"], tags=["trusted"])
    domain.action("wait", {}, requires=["noted"], provides=["over"], tags=["trusted"])
    world = World(domain)
    world.handler("note")(lambda: ActionResult(values={"a": 1, "b": 2, "c": 3}))
    world.handler("wait")(lambda: Wait("for the end"))
    executor = Executor(world, journal=tmp_path / "runs.db", capacity=2)
    outcome = run_virtual(executor.run(domain.problem(goal=["over"]), run="r", memory={"z": 0}))
    assert outcome.state.memory.to_dict() == {"b": 2, "c": 3}
    assert executor.state_of("r").memory.to_dict() == {"b": 2, "c": 3}
    with pytest.raises(InputError, match="capacity"):
        Executor(world, capacity=0)
