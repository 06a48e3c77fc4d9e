"""What happens in a run: one typed union. The journal keeps events, and the state of a run is made of them.

Steps are named by their ids. What a handler returned is kept as data.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any, Final, Literal

from executor.plans.kinds import ExecutionModel
from executor.record.facts import Note
from executor.record.status import RunStatus, StepStatus
from planner.model import Atom
from planner.records import dataclass, field

Purpose = Literal["plan", "patch", "undo"]
"""What a step is for: the plan that the run began with, a later one that goes on to the goal, or an undo."""


class Rung(Enum):
    """The rungs of the recovery ladder, cheapest first."""

    RETRY = "the same step again"
    SKILL = "another handler for the same action"
    CANDIDATE = "the end of another candidate, which fits"
    PATCH = "the cheapest way back into the plan"
    REPLAN = "another plan, perhaps with less of the soft goals"
    ASK = "a question to somebody who may know"
    COMPENSATE = "a plan that undoes what was done"


@dataclass(frozen=True, slots=True)
class RunStarted:
    """A run began, with this `plan` (an `ActionPlan` as data) and `memory`; the first event of every run."""

    run: str
    plan: Mapping[str, Any]
    model: ExecutionModel
    memory: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RunResumed:
    """A run was taken up again, from the journal."""

    run: str


@dataclass(frozen=True, slots=True)
class StepStarted:
    """A handler is about to be called, with these data `parameters`; `sources` say where each came from."""

    step: str
    attempt: int
    skill: str
    key: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    sources: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ParametersFilled:
    """Somebody has filled parameters of a step that were open: these `values`, and why, in their words.

    `marked`: they have seen what tools returned. `metrics` are what asking took.
    """

    step: str
    values: Mapping[str, Any]
    thought: str = ""
    marked: bool = False
    metrics: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ParametersChanged:
    """A hook has changed data parameters of an attempt that has begun: the handler gets these `values`."""

    step: str
    values: Mapping[str, Any]
    by: str = ""


@dataclass(frozen=True, slots=True)
class ModelAsked:
    """The handler of a step has asked a language model; `metrics` are what that took: calls, tokens and cost."""

    step: str
    metrics: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class StepProgress:
    """A handler says how far it is; `fraction` is between 0 and 1, if it knows."""

    step: str
    text: str
    fraction: float | None = None


@dataclass(frozen=True, slots=True)
class StepReturned:
    """A handler has answered, or somebody outside has for a step that waits; nobody has looked yet whether it is so.

    `doubt` says why that is no answer, if so: the handler took too long. `raised` is what it raised, as text.
    """

    step: str
    result: Mapping[str, Any]
    doubt: str = ""
    raised: str = ""


@dataclass(frozen=True, slots=True)
class StepWaiting:
    """A step waits; `since` is the time of the day in seconds since 1970."""

    step: str
    wait: Mapping[str, Any]
    since: float


@dataclass(frozen=True, slots=True)
class FactsSeen:
    """Facts became known outside the end of a step."""

    facts: tuple[Note, ...]
    cause: str = ""


@dataclass(frozen=True, slots=True)
class Disagreement:
    """Observers contradict each other, one failed, or who looked or acted tells of objects that the problem lacks.

    `strangers` are the facts about such objects, with whether they hold.
    """

    facts: tuple[Atom, ...]
    reason: str
    strangers: tuple[Note, ...] = ()


@dataclass(frozen=True, slots=True)
class StepEnded:
    """A step is over, or in doubt; `facts` is what became of its declared effects.

    The `values` of the `result` of one that is done are in working memory from now on. A failed step is `repeatable`
    where doing it once more cannot do it twice. One that is in doubt has `awaited` effects: what holds if it happened.
    `outcome` is which of several declared ones came about, where that is known.
    """

    step: str
    status: StepStatus
    reason: str = ""
    result: Mapping[str, Any] | None = None
    facts: tuple[Note, ...] = ()
    repeatable: bool = True
    awaited: tuple[Note, ...] = ()
    outcome: str = ""


@dataclass(frozen=True, slots=True)
class RungTaken:
    """Something was done about a failure, or tried and nothing `found`; `cost` is that of the new steps."""

    rung: Rung
    step: str
    reason: str
    cost: float = 0.0
    seconds: float = 0.0
    found: bool = True


@dataclass(frozen=True, slots=True)
class PlanChanged:
    """Other steps are left to do: `steps` as data, in their order; those that are not among them are skipped.

    With `undoes`, the run is given up, and they undo what was done, but for what is `left`. `decomposition` is that of
    the tasks of a hierarchical run, where it has changed; `policy` the one that is followed, as data, where that has.
    `supposes` are literals on which the goal rests itself. A step that `follows` a policy may be tried although it has
    failed in this state: the policy knows of its risk.
    """

    steps: tuple[Mapping[str, Any], ...]
    kept: int
    new: int
    dropped: int
    reason: str
    undoes: bool = False
    left: tuple[str, ...] = ()
    decomposition: Mapping[str, Any] | None = None
    supposes: tuple[str, ...] = ()
    policy: Mapping[str, Any] | None = None
    follows: bool = False


@dataclass(frozen=True, slots=True)
class GoalDropped:
    """A soft goal was given up."""

    condition: str
    utility: float


@dataclass(frozen=True, slots=True)
class GoalChanged:
    """Something else is wanted from now on; `aim` has the fields of an `ActionPlan` that say what, as data."""

    aim: Mapping[str, Any]
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Asked:
    """Somebody has to say something; `known` is what is known, `choices` the answers that mean something.

    A question for an approval says for what `purpose` the step is to be done. Whoever answers that a step in doubt
    happened says also what it `creates`.
    """

    question: str
    step: str
    text: str
    choices: tuple[str, ...] = ()
    known: tuple[str, ...] = ()
    purpose: Purpose | None = None
    creates: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Answered:
    """A question was answered."""

    question: str
    answer: Any


@dataclass(frozen=True, slots=True)
class ProvedImpossible:
    """What was observed proves that no plan reaches the goal; `missing` says why, as a diagnosis in data."""

    missing: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class MemorySet:
    """The handler of `step` changed working memory; `value` None takes the key out."""

    key: str
    value: Any
    relevance: float = 0.0
    step: str = ""


@dataclass(frozen=True, slots=True)
class RunEnded:
    """A run is over for now: `WAITING` and `IN_DOUBT` can be taken up again."""

    status: RunStatus
    reason: str = ""
    metrics: Mapping[str, Any] = field(default_factory=dict)


Event = (
    RunStarted
    | RunResumed
    | ParametersFilled
    | StepStarted
    | ParametersChanged
    | ModelAsked
    | StepProgress
    | StepReturned
    | StepWaiting
    | FactsSeen
    | Disagreement
    | StepEnded
    | RungTaken
    | PlanChanged
    | GoalDropped
    | GoalChanged
    | Asked
    | Answered
    | ProvedImpossible
    | MemorySet
    | RunEnded
)
KINDS: Final[Mapping[str, type[Any]]] = {each.__name__: each for each in Event.__args__}
"""The kinds of events by name."""
