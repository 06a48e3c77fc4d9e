"""What happens while an agent works: one typed union, of its own events and those of its runs."""

from __future__ import annotations

from executor.agent.missing import Missing
from executor.agent.proposals import Achieved, Standing
from executor.record.events import Event
from planner.records import dataclass


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
