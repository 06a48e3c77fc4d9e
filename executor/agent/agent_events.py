"""Events of an agent: one typed union of its own events and those of its runs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator, Mapping
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


@dataclass(frozen=True, slots=True)
class GoalInstance:
    """A standing goal, by name, for the `objects` that its variables stand for."""

    goal: str
    objects: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.goal} [{', '.join(self.objects)}]" if self.objects else self.goal


@dataclass(frozen=True, slots=True)
class GoalStated:
    """A standing goal was stated for the first time; `kept` has its declaration if the journal keeps it."""

    goal: str
    kept: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class GoalEnded:
    """A standing goal is pursued no more."""

    goal: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Fired:
    """A standing goal is due by its schedule, at a time in seconds since 1970.

    `missed` is how many earlier times passed while nobody attended. A `skipped` time is let pass.
    """

    goal: str
    due: float
    missed: int = 0
    skipped: bool = False


@dataclass(frozen=True, slots=True)
class FiringEnded:
    """Since its schedule fired, all goals of a standing goal were reached."""

    goal: str


@dataclass(frozen=True, slots=True)
class Compared:
    """The cost of one plan for several goals (`together`) against that of a plan for each (`apart`)."""

    goals: tuple[GoalInstance, ...]
    together: str
    apart: str
    is_merged: bool
    reason: str


@dataclass(frozen=True, slots=True)
class Pursued:
    """Standing goals are about to be pursued in this run."""

    run: str
    goals: tuple[GoalInstance, ...]
    words: str
    priority: int = 0


@dataclass(frozen=True, slots=True)
class PursuitEnded:
    """A pursuit ended: which of its goals hold, and why the others do not; no `run` where there was no plan."""

    run: str
    goals: tuple[GoalInstance, ...]
    reached: tuple[GoalInstance, ...] = ()
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Undone:
    """A goal that was reached is found unmet again; `by` says who has undone it: other standing goals, or the world."""

    goal: GoalInstance
    by: str


@dataclass(frozen=True, slots=True)
class Paused:
    """A goal is not pursued `until` a time, or until a person or a change of the observed state resumes it.

    `rests` are the facts whose change resumes it (None: all), and `state` is a checksum of them. With `against`, it
    waits until that other goal is in force no more.
    """

    goal: GoalInstance
    reason: str
    until: float | None = None
    against: GoalInstance | None = None
    rests: tuple[str, ...] | None = ()
    state: int = 0


@dataclass(frozen=True, slots=True)
class PauseEnded:
    """A paused goal may be pursued again; `by_person`: whatever happened to it before does not count."""

    goal: GoalInstance
    reason: str
    by_person: bool = False


StandingEvent = (
    GoalStated | GoalEnded | Fired | FiringEnded | Compared | Pursued | PursuitEnded | Undone | Paused | PauseEnded
)
"""What happens to standing goals; the journal keeps these events."""
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
    | StandingEvent
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
