"""Events of an agent at work: one typed union of its own events and those of its runs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator
from typing import Any

from executor.agent.plan_search import Missing
from executor.agent.proposals import Achieved, Proposal, Standing
from executor.events.events import Event
from planner.lightweight import dataclass


@dataclass(frozen=True, slots=True)
class Heard:
    """A request came, as a sentence or as a goal."""

    request: str


@dataclass(frozen=True, slots=True)
class Understood:
    """What a request was taken to mean: `words` for each reading; `thought` is what the model said to that.

    `unmodelled` are parts of it that no fact expresses.
    """

    words: tuple[str, ...]
    thought: str = ""
    unmodelled: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Planned:
    """There is a plan: its steps as texts, and their cost; `unverified` are those that nothing confirms."""

    steps: tuple[str, ...]
    cost: str
    unverified: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Questioned:
    """Somebody has to say something before anything is done."""

    question: str
    standing: Standing


@dataclass(frozen=True, slots=True)
class Decided:
    """Somebody was asked whether this is meant, and has said yes, or no; None where nobody has said anything."""

    answer: bool | None


@dataclass(frozen=True, slots=True)
class Stopped:
    """Nothing is done, for this reason."""

    standing: Standing
    reason: str
    missing: tuple[Missing, ...] = ()


@dataclass(frozen=True, slots=True)
class Began:
    """The plan is being carried out, in this run."""

    run: str


@dataclass(frozen=True, slots=True)
class Finished:
    """This is what became of the request."""

    achieved: Achieved


@dataclass(frozen=True, slots=True)
class Joined:
    """A run at work in a room goes on to what is asked for now: `also` to what it is for, or instead of that."""

    run: str
    also: bool


@dataclass(frozen=True, slots=True)
class Preempted:
    """A run stops at the end of a step, as something more urgent was asked for in its room: it goes on after that."""

    run: str


@dataclass(frozen=True, slots=True)
class Conflict:
    """What was asked for cannot be had together with another request, in `words`, of which one gives way."""

    words: str
    gives_way: str


AgentEvent = (
    Heard
    | Understood
    | Planned
    | Questioned
    | Decided
    | Stopped
    | Began
    | Joined
    | Preempted
    | Conflict
    | Finished
    | Event
)


Tell = Callable[[AgentEvent], None]
Work = Callable[[Tell], Coroutine[Any, Any, Any]]
"""Does something, and tells of it."""
Interrupt = Callable[[str], bool]
"""Interrupts a run, and returns whether it is at work."""


def ignore_event(_: AgentEvent) -> None:
    """Listen to nothing."""


def events_of(proposal: Proposal) -> Iterator[AgentEvent]:
    """Yield what there is to be told of `proposal`."""
    if proposal.readings or proposal.words:
        words = tuple([each.words for each in proposal.readings]) or (proposal.words,)
        unmodelled = tuple([part for each in proposal.readings for part in each.unmodelled])
        yield Understood(words, proposal.thought, unmodelled)
    if proposal.plan is not None:
        steps, found = tuple(map(str, proposal.plan.steps)), proposal.improvised
        unverified = [step for each in (found.unverified.values() if found else ()) for step in each]
        yield Planned(steps, str(proposal.plan.cost), tuple(unverified))
    if proposal.question:
        yield Questioned(proposal.question, proposal.standing)
    elif not proposal.is_ready:
        yield Stopped(proposal.standing, proposal.reason, proposal.missing)


async def stream_events(work: Work, interrupt: Interrupt) -> AsyncGenerator[AgentEvent]:
    """Yield what `work` tells; raise what it raises.

    Where somebody stops listening, its runs are interrupted, and their end is waited for; without any, it is broken
    off.
    """
    queue: asyncio.Queue[AgentEvent | None] = asyncio.Queue()
    runs: list[str] = []

    def tell(event: AgentEvent) -> None:
        if isinstance(event, Began):
            runs.append(event.run)
        queue.put_nowait(event)

    task = asyncio.ensure_future(work(tell))
    task.add_done_callback(lambda _: queue.put_nowait(None))
    try:
        while (event := await queue.get()) is not None:
            yield event
        await task
    finally:
        if not task.done():
            if not [run for run in runs if interrupt(run)]:
                task.cancel()
            await asyncio.wait([task])
