"""Proposals as events: what whoever listens to an agent is told of them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator
from typing import Any

from executor.agent.events import AgentEvent, Began, Planned, Questioned, Stopped, Understood
from executor.agent.proposals import Proposal

Tell = Callable[[AgentEvent], None]
Work = Callable[[Tell], Coroutine[Any, Any, Any]]
"""Does something, and tells of it."""
Interrupt = Callable[[str], bool]
"""Interrupts a run, and returns whether it is at work."""


def nobody(_: AgentEvent) -> None:
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


async def streamed(work: Work, interrupt: Interrupt) -> AsyncGenerator[AgentEvent]:
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
