"""Define the events of a run, as one typed union, and convert them to data and back.

The journal keeps events, and the state of a run is made of them. Steps are named by their ids; what a handler returned
is kept as data.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any, Final, Literal

from executor.plans.created_objects import name_of
from executor.plans.execution_models import ExecutionModel
from planner.lightweight import dataclass, field
from planner.model import Atom


class Provenance(Enum):
    """Where a fact comes from."""

    GIVEN = "the problem states it"
    OBSERVED = "an observer looked"
    REPORTED = "a handler's result said so"
    ASSUMED = "a declared effect that nobody looked at"
    STALE = "it ended when something that it rests on changed"
    UNKNOWN = "nobody can say"


ANSWER: Final = "answer"
"""The source of what a person says about a step in doubt."""
TRUSTED: Final = "trusted"
"""The source of effects that nobody has to look at."""


@dataclass(frozen=True, slots=True)
class Note:
    """What is known about a fact: whether it `holds` (None: unknown), from where, and the version of its item.

    It is `conclusive` where an observer said so that is declared conclusive.
    """

    fact: Atom
    holds: bool | None
    provenance: Provenance
    source: str = ""
    version: Any = None
    conclusive: bool = False


class StepStatus(Enum):
    """What is known about one step; compare with `is`."""

    PENDING = "not begun"
    WAITING = "waits for a time, an event or a person"
    RUNNING = "its handler was called and has not answered"
    SUCCEEDED = "every declared effect was observed"
    UNVERIFIED = "no declared effect was seen to be missing, and some were not looked at"
    PARTIAL = "some declared effects were seen, others are missing"
    FAILED = "it did not do what it declares"
    SKIPPED = "not needed any more"
    IN_DOUBT = "nobody can say whether it happened"
    COMPENSATED = "it was done, and undone again"

    __hash__ = object.__hash__  # members are single, and the hash of their name is worked out again each time

    @property
    def is_done(self) -> bool:
        """Whether what depends on the step may go on."""
        return self in _DONE

    @property
    def is_over(self) -> bool:
        """Whether nothing more comes of the step by itself."""
        return self not in _OPEN


class RunStatus(Enum):
    """What is known about a run; compare with `is`."""

    PROPOSED = "not begun"
    ACTIVE = "being carried out"
    WAITING = "waits for something from outside"
    SUCCEEDED = "the goal was observed"
    UNVERIFIED = "no part of the goal was seen to be missing, and some could not be looked at"
    LOWERED = "the hard goal was observed; soft goals were dropped"
    IMPOSSIBLE = "what was observed proves that no plan reaches the goal"
    FAILED = "the goal was not reached"
    COMPENSATED = "the goal was not reached, and what was done is undone"
    IN_DOUBT = "nobody can say whether a step happened, and somebody has to"
    CANCELLED = "called off"

    @property
    def is_over(self) -> bool:
        """Whether the run has ended for good: `resume` does not take it up again."""
        return self in _ENDED


TROUBLE: Final = (StepStatus.FAILED, StepStatus.PARTIAL, StepStatus.IN_DOUBT)
"""The statuses of steps that something may have to be done about."""
_DONE = frozenset({StepStatus.SUCCEEDED, StepStatus.UNVERIFIED, StepStatus.SKIPPED})
_OPEN = frozenset({StepStatus.PENDING, StepStatus.WAITING, StepStatus.RUNNING, StepStatus.IN_DOUBT})
_ENDED = frozenset(
    {
        RunStatus.SUCCEEDED,
        RunStatus.UNVERIFIED,
        RunStatus.LOWERED,
        RunStatus.IMPOSSIBLE,
        RunStatus.FAILED,
        RunStatus.COMPENSATED,
        RunStatus.CANCELLED,
    }
)


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
    `outcome` is which of several declared ones came about, where that is known. `denied` says that the handler itself
    reported the failure, instead of raising.
    """

    step: str
    status: StepStatus
    reason: str = ""
    result: Mapping[str, Any] | None = None
    facts: tuple[Note, ...] = ()
    repeatable: bool = True
    awaited: tuple[Note, ...] = ()
    outcome: str = ""
    denied: bool = False


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


_FIELDS: Final[Mapping[type[Any], tuple[str, ...]]] = {kind: kind.__match_args__ for kind in KINDS.values()}
_ENUMS: Final[Mapping[type[Any], Mapping[str, type[Enum]]]] = {
    StepEnded: {"status": StepStatus},
    RunEnded: {"status": RunStatus},
    RungTaken: {"rung": Rung},
}

_NOTED: Final = ("facts", "awaited", "strangers")


def event_to_data(event: Event) -> dict[str, Any]:
    """Return the fields of `event` as JSON-ready data, but for values that handlers and authors gave."""
    found: dict[str, Any] = {name: getattr(event, name) for name in _FIELDS[type(event)]}
    for name in _ENUMS.get(type(event), ()):
        found[name] = found[name].name
    if isinstance(event, StepReturned | StepEnded) and event.result and event.result.get("created"):
        created = {name: name_of(each) for name, each in event.result["created"].items()}
        found["result"] = {**event.result, "created": created}
    for name in _NOTED:
        if name in found:
            found[name] = [_from_note(each) if isinstance(each, Note) else _from_atom(each) for each in found[name]]
    return found


def event_from_data(kind: str, data: Mapping[str, Any]) -> Event:
    """Return the event that `event_to_data` made `data` of; raises `KeyError` or `ValueError` for anything else."""
    cls = KINDS[kind]
    found: dict[str, Any] = dict(data)
    for name, enum in _ENUMS.get(cls, {}).items():
        found[name] = enum[found[name]]
    for name in _NOTED:
        if name in found:
            read = _to_atom if cls is Disagreement and name == "facts" else _to_note
            found[name] = tuple([read(each) for each in found[name]])
    for name in ("steps", "choices", "known", "left", "creates"):
        if isinstance(found.get(name), list):
            found[name] = tuple(found[name])
    return cls(**found)  # type: ignore[no-any-return]  # one of the union


def _from_atom(atom: Atom) -> list[str]:
    return [atom.predicate, *atom.args]


def _to_atom(data: list[str]) -> Atom:
    return Atom(data[0], tuple(data[1:]))


def _from_note(note: Note) -> list[Any]:
    conclusive = [True] if note.conclusive else []
    return [_from_atom(note.fact), note.holds, note.provenance.name, note.source, note.version, *conclusive]


def _to_note(data: list[Any]) -> Note:
    return Note(_to_atom(data[0]), data[1], Provenance[data[2]], *data[3:])
