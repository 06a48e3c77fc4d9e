"""Events of an agent: one typed union of its own events and those of its runs."""

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
    """The readings of a request: `words` for each; `thought` is the model's reason.

    `unmodelled` are parts of the request that no fact expresses.
    """

    words: tuple[str, ...]
    thought: str = ""
    unmodelled: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Planned:
    """There is a plan: its steps as texts, and their cost; `unverified` are steps whose success nothing can confirm."""

    steps: tuple[str, ...]
    cost: str
    unverified: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Questioned:
    """A person has to answer before anything is done."""

    question: str
    standing: Standing


@dataclass(frozen=True, slots=True)
class Decided:
    """The answer to a confirmation: yes, no, or None where nobody answered."""

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
    """The end of the request."""

    achieved: Achieved


@dataclass(frozen=True, slots=True)
class Joined:
    """An active run in a room got the goal of the request: `also`, in addition to its own, or instead of it."""

    run: str
    also: bool


@dataclass(frozen=True, slots=True)
class Preempted:
    """A run stops at the end of a step for a more urgent request in its room, and goes on afterwards."""

    run: str


@dataclass(frozen=True, slots=True)
class Conflict:
    """No plan fulfils a request and another one, in `words`; one of them gives way."""

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
"""Does something, and reports events."""
Interrupt = Callable[[str], bool]
"""Interrupts a run, and returns whether it is active."""


def ignore_event(_: AgentEvent) -> None:
    """Ignore an event."""


def events_of(proposal: Proposal) -> Iterator[AgentEvent]:
    """Yield the events that describe `proposal`."""
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
    """Yield the events of `work`; raise what it raises.

    When the generator is closed, interrupt the runs and wait for their end; without any run, cancel the work.
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
