"""Handlers that stream: their items are progress, and the last one, or what is returned, is the result."""

import asyncio
from collections.abc import AsyncIterator, Generator, Iterator
from typing import Annotated

import pytest

from executor import ActionResult, Context, ExecutionPolicy, Executor, NothingDone, RunStatus, StepStatus, World
from executor.events.events import StepProgress
from executor.foreign_tools.function_tools import function_tools
from executor.lint.check import check_world
from executor.testing import run_virtual
from planner import Domain, From


async def asynchronous(topic: str) -> AsyncIterator[str]:
    for each in ("one", "two", f"three {topic}"):
        await asyncio.sleep(1)
        yield each


def plain(topic: str) -> Iterator[str]:
    yield from ("one", "two", f"three {topic}")


def returns(topic: str) -> Generator[str, None, dict[str, str]]:
    yield "one"
    return {"text": topic}


async def with_context(topic: str, context: Context) -> AsyncIterator[ActionResult]:
    context.memory.set("seen", topic)
    yield ActionResult(text="half")
    yield ActionResult(text="whole", data={"text": topic})


class Writer:
    async def __call__(self, topic: str) -> AsyncIterator[str]:
        yield "one"
        yield topic


async def nothing(topic: str) -> AsyncIterator[str]:
    for each in topic[:0]:
        yield each


HANDLERS = {
    "asynchronous": (asynchronous, ["one", "two", "three rain"], "three rain"),
    "plain": (plain, ["one", "two", "three rain"], "three rain"),
    "returns": (returns, ["one"], {"text": "rain"}),
    "with context": (with_context, ["half", "whole"], {"text": "rain"}),
    "object": (Writer(), ["one", "rain"], "rain"),
    "nothing": (nothing, [], None),
}


def write(handler, **policy):
    domain = Domain("letters")
    domain.action("write", {"topic": str}, provides=["written"], tags=["trusted"])
    world = World(domain)
    world.handler("write", policy=ExecutionPolicy(**policy))(handler)
    return world, domain.problem(goal=["written"])


@pytest.mark.parametrize("timeout", [None, 60])
@pytest.mark.parametrize("hooked", [False, True])
@pytest.mark.parametrize("name", HANDLERS)
def test_items_are_progress_and_the_last_is_the_result(name, hooked, timeout):
    handler, told, data = HANDLERS[name]
    world, problem = write(handler, timeout=timeout)
    heard = []
    if hooked:

        @world.around
        async def through(call, proceed):
            assert call.action.name == "write"
            return await proceed()

    run = Executor(world, listeners=[heard.append]).run(problem, memory={"topic": "rain"})
    outcome = run_virtual(run)
    assert outcome.status is RunStatus.SUCCEEDED, outcome.reason
    assert [each.text for each in heard if isinstance(each, StepProgress)] == told
    assert outcome.steps[0].result["data"] == data


def test_a_stream_that_takes_too_long_is_closed_and_in_doubt():
    closed = []

    async def slow(topic: str) -> AsyncIterator[str]:
        try:
            while True:
                await asyncio.sleep(1)
                yield topic
        finally:
            closed.append(True)

    world, problem = write(slow, timeout=3.5, retries=0)
    outcome = run_virtual(Executor(world, ask="later").run(problem, memory={"topic": "rain"}))
    assert outcome.steps[0].status is StepStatus.IN_DOUBT
    assert closed == [True]


@pytest.mark.parametrize("kind", ["asynchronous", "plain"])
def test_what_a_stream_raises_is_what_the_handler_raises(kind):
    async def fails(topic: str) -> AsyncIterator[str]:
        yield topic
        raise NothingDone("the paper is out")

    def fails_plainly(topic: str) -> Iterator[str]:
        yield topic
        raise NothingDone("the paper is out")

    world, problem = write(fails if kind == "asynchronous" else fails_plainly, retries=0)
    outcome = run_virtual(Executor(world).run(problem, memory={"topic": "rain"}))
    assert outcome.status is RunStatus.FAILED
    assert "the paper is out" in outcome.reason


def test_the_annotation_tells_what_the_result_has():
    def draft() -> Generator[str, None, bool]:
        yield "one"
        return True

    async def letter() -> AsyncIterator[ActionResult]:
        yield ActionResult(data={"text": "Dear"})

    domain = Domain("letters")
    domain.action("write", provides=["written"], tags=["trusted"])
    text = {"text": Annotated[str, From("written", "data.text")]}
    domain.action("send", text, requires=["written"], provides=["sent"], tags=["trusted"])
    for handler, fits in ((letter, True), (draft, False)):
        world, sent = World(domain), []
        world.handler("write")(handler)
        world.handler("send")(lambda text, sent=sent: sent.append(text))
        assert ("no-field" in {each.rule for each in check_world(world)}) is not fits
        if fits:
            assert run_virtual(Executor(world).run(domain.problem(goal=["sent"]))).succeeded
            assert sent == ["Dear"]


def test_a_streaming_function_is_a_tool():
    def summarise(text: str) -> Iterator[str]:
        """Summarise a text."""
        yield text[:1]
        yield text[:2]

    tools = function_tools(summarise)
    answer = asyncio.run(tools.source.call("summarise", {"text": "abc"}))
    assert answer.data == "ab"
