"""What a handler can ask its context for: its plan, a language model; and when its step began and ended."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest
from pydantic import Field

from executor import (
    ActionResult,
    Agent,
    Allowance,
    Context,
    ExecutionPolicy,
    Executor,
    Journal,
    ModelClient,
    RunStatus,
    StepStatus,
    Wait,
    World,
)
from executor.errors import RunError
from executor.language_model.protocol import Answer, Origin, Purpose
from executor.testing import ScriptedModel, run_virtual
from planner import Domain, InputError


def letters(handler: Any, **fields: Any) -> tuple[Domain, World]:
    """Return a domain in which a letter is written and then sent, and a world whose `handler` writes."""
    domain = Domain("letters")
    domain.action("write", provides=["written"], tags=["trusted"], **fields)
    domain.action("send", requires=["written"], provides=["sent"], tags=["trusted"])
    world = World(domain)
    world.handler("write")(handler)
    world.handler("send")(lambda: None)
    return domain, world


def problem(domain: Domain) -> Any:
    return domain.problem(goal=["sent"])


@pytest.mark.parametrize("plain", [False, True], ids=["async", "thread"])
def test_a_handler_sees_its_plan_and_where_it_stands(plain: bool) -> None:
    seen = []

    async def write(context: Context) -> None:
        seen.append(context.outline)

    def plainly(context: Context) -> None:
        seen.append(context.outline)

    domain, world = letters(plainly if plain else write)
    assert run_virtual(Executor(world).run(problem(domain))).status is RunStatus.SUCCEEDED
    (outline,) = seen
    assert outline.goal == ("sent",)
    assert (outline.number, outline.purpose, outline.model) == (1, "plan", "sequential")
    assert [(each.action, each.status) for each in outline.steps] == [
        ("write", StepStatus.RUNNING),
        ("send", StepStatus.PENDING),
    ]
    assert [each.action for each in outline.left] == ["send"]
    assert outline.done == ()


def test_a_handler_sees_the_plan_as_it_is_after_a_patch() -> None:
    domain, seen = Domain("lamps"), []
    domain.action("plug", provides=["plugged"], tags=["trusted"])
    domain.action("light", requires=["plugged"], provides=["lit"])
    world, facts = World(domain), {"plugged"}
    world.handler("plug")(lambda: facts.add("plugged"))

    def light(context: Context) -> bool:
        seen.append([(each.action, each.status.name) for each in context.outline.steps])
        if len(seen) == 1:
            facts.discard("plugged")
            return False
        facts.add("lit")
        return True

    world.handler("light", policy=ExecutionPolicy(retries=0))(light)
    for fact in ("plugged", "lit"):
        world.observer(fact, conclusive=True)(lambda fact=fact: fact in facts)
    outcome = run_virtual(Executor(world).run(domain.problem(initial=["plugged"], goal=["lit"])))
    assert outcome.status is RunStatus.SUCCEEDED
    assert seen == [
        [("light", "RUNNING")],
        [("light", "FAILED"), ("plug", "SUCCEEDED"), ("light", "RUNNING")],
    ]


def test_steps_say_when_they_began_and_ended(tmp_path: Path) -> None:
    async def write() -> None:
        await asyncio.sleep(0.01)

    domain, world = letters(write)
    before = time.time()
    executor = Executor(world, journal=Journal(tmp_path / "j.db"))
    outcome = asyncio.run(executor.run(problem(domain), run="r"))
    times = [(each.started, each.ended) for each in outcome.steps]
    flat = [each for pair in times for each in pair]
    assert all(each is not None for each in flat)
    assert flat == sorted(flat)
    assert before <= flat[0] <= flat[-1] <= time.time()
    kept = Executor(world, journal=Journal(tmp_path / "j.db")).state_of("r")
    assert [(each.started, each.ended) for each in kept.steps.values()] == times


def test_a_step_that_did_not_begin_or_is_not_over_says_so() -> None:
    domain, world = letters(lambda: Wait("sign it", choices=("yes",)))
    write, send = run_virtual(Executor(world).run(problem(domain))).steps
    assert (write.started is not None, write.ended, send.started, send.ended) == (True, None, None, None)


class Mood(Answer):
    """How a letter sounds."""

    warmth: int = Field(ge=0, le=10)


@pytest.mark.parametrize("plain", [False, True], ids=["async", "thread"])
def test_a_handler_asks_the_language_model_and_the_run_pays(plain: bool) -> None:
    async def write(context: Context) -> dict[str, int]:
        mood = await context.model.ask("How warm is this letter?", Mood, data={"letter": "Dear Ann"})
        return {"warmth": mood.warmth}

    def plainly(context: Context) -> dict[str, int]:
        return {"warmth": context.model.ask_in_thread("How warm?", Mood, data={"letter": "Dear Ann"}).warmth}

    model = ScriptedModel({Purpose.HANDLER: [{"warmth": 99}, {"warmth": 7}]})
    domain, world = letters(plainly if plain else write)
    executor = Executor(world, client=ModelClient(model))
    outcome = asyncio.run(executor.run(problem(domain)))
    assert outcome.steps[0].result["data"] == {"warmth": 7}
    assert outcome.state.spent.asked["calls"] == len(model.requests) == 2
    assert outcome.metrics["tokens"] == outcome.state.spent.asked["tokens"] > 0
    assert [part.origin for part in model.requests[0].parts] == [Origin.TOOL]


def test_without_a_client_there_is_no_model() -> None:
    seen = []
    domain, world = letters(lambda context: seen.append(context.model))
    run_virtual(Executor(world).run(problem(domain)))
    assert seen == [None]


@pytest.mark.parametrize("limit", [{"calls": 2}, {"tokens": 40}], ids=["calls", "tokens"])
def test_a_handler_cannot_spend_more_than_the_allowance_of_its_run(limit: dict[str, int]) -> None:
    said = list[str]()

    async def write(context: Context) -> None:
        for _ in range(5):
            said.append((await context.model.ask("Say a word.")).text)

    model = ScriptedModel([{"text": "word"}] * 20)
    domain, world = letters(write)
    world.policy("write", ExecutionPolicy(retries=0))
    executor = Executor(world, client=ModelClient(model, Allowance(**limit)))
    outcome = run_virtual(executor.run(problem(domain)))
    assert outcome.status is not RunStatus.SUCCEEDED
    assert "language model" in outcome.reason.splitlines()[0]
    assert len(model.requests) <= 2
    again = run_virtual(executor.run(problem(domain)))
    assert len(model.requests) == 2 * len(said) // 2, "each run has an allowance of its own"
    assert again.status is outcome.status


def test_a_run_taken_up_again_has_spent_what_it_spent_before(tmp_path: Path) -> None:
    async def write(context: Context) -> Any:
        word = (await context.model.ask("Say a word.")).text
        return Wait(word, choices=("yes",))

    async def send(context: Context) -> None:
        await context.model.ask("Say a word.")

    model = ScriptedModel([{"text": "word"}] * 20)
    domain, world = letters(write)
    world.handler("send", policy=ExecutionPolicy(retries=0))(send)

    def executor() -> Executor:
        journal = Journal(tmp_path / "j.db")
        return Executor(world, journal=journal, client=ModelClient(model, Allowance(calls=1)))

    first = asyncio.run(executor().run(problem(domain), run="r"))
    assert first.status is RunStatus.WAITING
    step = first.steps[0].id
    last = asyncio.run(executor().resume("r", results={step: ActionResult(text="yes")}))
    assert last.status is not RunStatus.SUCCEEDED
    assert "calls that language models may take are spent: 1 of 1" in last.reason
    assert len(model.requests) == 1


def test_a_handler_of_an_agents_run_shares_the_allowance_of_the_agent() -> None:
    async def write(context: Context) -> None:
        await context.model.ask("Say a word.")

    model = ScriptedModel({Purpose.HANDLER: [{"text": "word"}] * 9})
    domain, world = letters(write)
    agent = Agent(world, problem(domain), model=model, waived=True, allowance=Allowance(calls=1))
    achieved = asyncio.run(agent.achieve(["sent"]))
    assert achieved.outcome.status is RunStatus.SUCCEEDED
    assert achieved.outcome.state.spent.asked["calls"] == 1


def test_what_asks_in_an_event_loop_is_told_to_await() -> None:
    async def write(context: Context) -> None:
        context.model.ask_in_thread("Say a word.")

    domain, world = letters(write)
    outcome = run_virtual(Executor(world, client=ModelClient(ScriptedModel([]))).run(problem(domain)))
    assert "would stop the event loop" in outcome.reason


def test_a_client_is_one() -> None:
    _, world = letters(lambda: None)
    with pytest.raises(InputError, match="client must be a ModelClient"):
        Executor(world, client=ScriptedModel([]))  # type: ignore[arg-type]


def test_declared_tokens_are_not_added_to_those_that_were_counted() -> None:
    """An attempt that has asked is not estimated besides: 100 declared tokens, and far fewer asked."""

    async def write(context: Context) -> None:
        await context.model.ask("Say a word.")

    domain, world = letters(write, uses={"tokens": 100})
    executor = Executor(world, client=ModelClient(ScriptedModel([{"text": "word"}] * 9)))
    outcome = run_virtual(executor.run(problem(domain)))
    assert outcome.state.spent.silent[outcome.steps[0].id] == 0


@pytest.mark.parametrize("plain", [False, True])
def test_the_context_is_known_by_its_annotation_under_any_name(plain: bool) -> None:
    told: list[str] = []

    def write(ctx: Context) -> None:
        told.append(ctx.action)

    async def slowly(ctx: Context) -> None:
        told.append(ctx.action)

    domain, world = letters(write if plain else slowly)
    world.check("write")(lambda context: told.append(f"check {context.action}"))

    @world.check("send")
    def may_send(it: Context) -> bool:
        told.append(f"check {it.action}")
        return True

    assert Executor(world).run_sync(domain.problem(goal=["sent"])).succeeded
    assert told == ["check write", "write", "check send"]


@pytest.mark.parametrize("plain", [False, True])
@pytest.mark.parametrize("how", ["cancel", "timeout"])
def test_a_caller_that_is_cancelled_aborts_the_handler(plain: bool, how: str) -> None:
    contexts: list[Context] = []

    def write(context: Context) -> None:
        contexts.append(context)
        while not context.aborted.is_set():
            time.sleep(0.01)

    async def slowly(context: Context) -> None:
        contexts.append(context)
        await asyncio.sleep(100)

    domain, world = letters(write if plain else slowly)

    async def main() -> None:
        running = asyncio.create_task(Executor(world).run(domain.problem(goal=["sent"])))
        if how == "timeout":
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.5):
                    await running
            return
        await asyncio.sleep(0.5)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    asyncio.run(asyncio.wait_for(main(), 20))
    assert contexts[0].aborted.is_set()


def test_run_sync_is_refused_where_an_event_loop_runs() -> None:
    domain, world = letters(lambda: None)

    async def main() -> None:
        Executor(world).run_sync(domain.problem(goal=["sent"]))

    with pytest.raises(RunError, match=r"an event loop runs here already; await executor.run"):
        asyncio.run(main())
