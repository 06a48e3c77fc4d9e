"""Define the events of a run, as one typed union, and convert them to data and back.

The journal keeps events, and `RunState` is built from them. Events refer to steps by id, and keep results as data.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any, Final, Literal

from executor.events.fluent_values import FluentValue
from executor.plans.created_objects import name_of
from executor.plans.execution_models import RunModel
from executor.tools.kept_values import Keeper, recall_value
from planner.lightweight import dataclass, field, replace
from planner.model import Atom


class Provenance(Enum):
    """Where the believed value of a fact comes from."""

    GIVEN = "the problem states it"
    OBSERVED = "an observer looked"
    REPORTED = "a handler's result said so"
    ASSUMED = "a declared effect that nobody looked at"
    STALE = "it ended when something that it rests on changed"
    UNKNOWN = "nobody can say"


ANSWER: Final = "answer"
"""Source of a person's answer about a step in doubt."""
ALREADY_SO: Final = "already so"
"""Begins the reason of a step that was not begun because its effect holds."""
TRUSTED: Final = "trusted"
"""Source of effects that need no observation."""
UNCONFIRMED: Final = "an unconfirmed contract"
"""Source of effects that only the unconfirmed contract of a tool declares: nothing makes up for an observation."""


@dataclass(frozen=True, slots=True)
class Note:
    """The believed value of a fact (`holds`; None: unknown), with provenance, source, and version of its item.

    It is `conclusive` if a conclusive observer decided it; that it does not hold, one that states how late it may be.
    """

    fact: Atom
    holds: bool | None
    provenance: Provenance
    source: str = ""
    version: Any = None
    conclusive: bool = False


class StepStatus(Enum):
    """Status of a step; compare with `is`."""

    PENDING = "not begun"
    WAITING = "waits for a time, an event or a person"
    RUNNING = "its handler was called and has not answered"
    SUCCEEDED = "every declared effect was observed"
    UNVERIFIED = "no declared effect was seen to be missing, and some were not looked at"
    PARTIAL = "some declared effects were seen, others are missing"
    FAILED = "it did not do what it declares"
    SKIPPED = "left out: it is not needed any more, or could not begin"
    IN_DOUBT = "nobody can say whether it happened"
    COMPENSATED = "it was done, and undone again"

    __hash__ = object.__hash__  # members are single, and the hash of their name is worked out again each time

    @property
    def is_done(self) -> bool:
        """Whether the dependents of the step may begin."""
        return self in DONE

    @property
    def is_over(self) -> bool:
        """Whether the step has ended."""
        return self not in UNFINISHED


class RunStatus(Enum):
    """Status of a run; compare with `is`."""

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
        """Whether the run has ended for good: it cannot be resumed."""
        return self in _ENDED


TROUBLE: Final = (StepStatus.FAILED, StepStatus.PARTIAL, StepStatus.IN_DOUBT)
"""Statuses of steps that may need recovery, as steps may that cannot begin."""
DONE: Final = frozenset({StepStatus.SUCCEEDED, StepStatus.UNVERIFIED, StepStatus.SKIPPED})
"""Statuses of steps whose dependents may begin."""
BEGUN: Final = frozenset({StepStatus.RUNNING, StepStatus.WAITING, StepStatus.IN_DOUBT})
"""Statuses of steps that were begun and have not ended."""
LEFT_OUT: Final = frozenset({StepStatus.SKIPPED, StepStatus.FAILED})
"""Statuses of steps that have failed, or that the plan goes on without."""
UNFINISHED: Final = BEGUN | {StepStatus.PENDING}
"""Statuses of steps that have not ended."""
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
"""Purpose of a step: the initial plan, a later plan for the goal, or undoing."""


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
    """A run began with this `plan` (an `ActionPlan` as data) and `memory`; the first event of every run.

    `domain` is the name of the domain, and `world` that of the world: "" in journals of before they were kept.
    `occasion` and `again` are those of the request: see `Executor.start`. `deps` is the type of what was given for
    the run alone, by name, "" for nothing.
    """

    run: str
    plan: Mapping[str, Any]
    model: RunModel
    memory: Mapping[str, Any] = field(default_factory=dict)
    domain: str = ""
    occasion: str = ""
    again: tuple[str, ...] = ()
    world: str = ""
    deps: str = ""


@dataclass(frozen=True, slots=True)
class RunResumed:
    """A run was resumed from the journal."""

    run: str


@dataclass(frozen=True, slots=True)
class StepStarted:
    """A handler is about to be called with these data `parameters`; `sources` has the source of each value.

    In a plan in time, `facts` are notes on what the start of the step changes.
    """

    step: str
    attempt: int
    skill: str
    key: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    sources: Mapping[str, str] = field(default_factory=dict)
    facts: tuple[Note, ...] = ()


@dataclass(frozen=True, slots=True)
class ParametersFilled:
    """Open parameters of a step were filled with these `values`; `thought` is the stated reason.

    `marked`: whoever filled them had seen text that tools returned. `metrics` are the cost of asking.
    """

    step: str
    values: Mapping[str, Any]
    thought: str = ""
    marked: bool = False
    metrics: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ParametersChanged:
    """A hook replaced data parameters of an attempt: the handler gets these `values`."""

    step: str
    values: Mapping[str, Any]
    by: str = ""


@dataclass(frozen=True, slots=True)
class ModelAsked:
    """The handler of a step has asked a language model; `metrics` are its calls, tokens and cost."""

    step: str
    metrics: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class StepProgress:
    """A handler reports progress; `fraction` is between 0 and 1, if known."""

    step: str
    text: str
    fraction: float | None = None


@dataclass(frozen=True, slots=True)
class ChildBegun:
    """The handler of a step begins or joins another `run`, kept in the journal at `place`; "" without a journal."""

    step: str
    run: str
    place: str = ""


@dataclass(frozen=True, slots=True)
class StepReturned:
    """A handler returned, or a waiting step got its result from outside; the effects were not observed yet.

    `doubt` is the reason why there is no result, such as a timeout. `raised` is the exception, as text.
    """

    step: str
    result: Mapping[str, Any]
    doubt: str = ""
    raised: str = ""


@dataclass(frozen=True, slots=True)
class HandlerRaised:
    """The handler of a step raised an exception; `traceback` is the end of its traceback."""

    step: str
    traceback: str


@dataclass(frozen=True, slots=True)
class StepWaiting:
    """A step waits `since` a time, in seconds since 1970."""

    step: str
    wait: Mapping[str, Any]
    since: float


@dataclass(frozen=True, slots=True)
class FactsSeen:
    """Facts became known other than by the end of a step."""

    facts: tuple[Note, ...]
    cause: str = ""


@dataclass(frozen=True, slots=True)
class TimePassed:
    """The change with this `number` among those at known times has come about; `facts` are notes on what it changes."""

    number: int
    facts: tuple[Note, ...] = ()


@dataclass(frozen=True, slots=True)
class ObjectsFound:
    """Objects turned up and join the run: their types by name, and who named them.

    `entities` are the Python values that a handler returned for some of them; the journal has their names only.
    """

    objects: Mapping[str, tuple[str, ...]]
    source: str
    entities: Mapping[str, Any] = field(default_factory=dict, compare=False)


@dataclass(frozen=True, slots=True)
class Disagreement:
    """Observers contradict each other, one failed, or an observer or handler told of objects that cannot be so.

    `strangers` are the notes on facts about such objects, whose types do not fit.
    """

    facts: tuple[Atom, ...]
    reason: str
    strangers: tuple[Note, ...] = ()


@dataclass(frozen=True, slots=True)
class StepEnded:
    """A step is over, in doubt, or pending again; `facts` are notes on its declared effects.

    The `values` in the `result` of a step that is done go into working memory. A failed step is `repeatable` if another
    attempt cannot do it twice. A step in doubt has `awaited` effects, which hold if it happened. `outcome` is the label
    of the outcome that came about, if it is known. `denied`: the handler reported the failure itself. `obstacle`: the
    step is pending, and cannot begin in the present plan for the `reason`. `by_word`: somebody says that it was done
    before, and nobody has seen it.
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
    obstacle: bool = False
    by_word: bool = False

    @property
    def is_seen(self) -> bool:
        """Whether an observer has seen an effect of the step, and none has seen one missing."""
        is_whole = self.status is not StepStatus.PARTIAL
        return is_whole and any(note.provenance is Provenance.OBSERVED for note in self.facts)

    def as_obstacle(self, attempts: int) -> StepEnded:
        """Return the failure of a step after so many `attempts` as an obstacle, if it was none."""
        if attempts or self.status is not StepStatus.FAILED:
            return self
        return replace(self, status=StepStatus.PENDING, obstacle=True)


@dataclass(frozen=True, slots=True)
class RungTaken:
    """A rung of recovery was taken, or tried without a result (`found`); `cost` is that of the new steps."""

    rung: Rung
    step: str
    reason: str
    cost: float = 0.0
    seconds: float = 0.0
    found: bool = True


@dataclass(frozen=True, slots=True)
class PlanChanged:
    """The rest of the plan was replaced by `steps` (as data, in their order); all other pending steps are skipped.

    With `undoes`, the run is given up, and the steps undo what was done, except for `left`. `decomposition` and
    `policy` are the new ones, as data, if they have changed. `supposes` are literals on which the goal itself rests. A
    step that `follows` a policy may be tried although it failed in this state: the policy expects its risk.
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
    """The goal was replaced; `aim` has the fields of an `ActionPlan` that state the new one, as data."""

    aim: Mapping[str, Any]
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question is open; `known` is what is known, `choices` are the possible answers.

    `purpose` is that of the step. An answer that a step in doubt happened has to name the objects that it `creates`.
    `values` are the values that an answer may give, as JSON schemas by name: parameters of an approval, which it may
    change, or missing ones. No answer counts that comes later than `until`, in seconds since 1970.
    `executor.events.answers.form_of` is the form of an answer.
    """

    question: str
    step: str
    text: str
    choices: tuple[str, ...] = ()
    known: tuple[str, ...] = ()
    purpose: Purpose | None = None
    creates: tuple[str, ...] = ()
    values: Mapping[str, Any] = field(default_factory=dict)
    until: float | None = None


@dataclass(frozen=True, slots=True)
class Answered:
    """A question was answered, by a person or by a `function` of the host."""

    question: str
    answer: Any
    function: bool = False


@dataclass(frozen=True, slots=True)
class ProvedImpossible:
    """The observed facts prove that no plan reaches the goal; `missing` is the diagnosis as data."""

    missing: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class MemorySet:
    """The handler of `step` changed working memory; `value` None removes the key."""

    key: str
    value: Any
    relevance: float = 0.0
    step: str = ""


@dataclass(frozen=True, slots=True)
class MemoryDropped:
    """Working memory was full, and dropped the entries `keys`."""

    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RunEnded:
    """A run has ended; a run that is `WAITING` or `IN_DOUBT` can be resumed."""

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
    | ChildBegun
    | HandlerRaised
    | StepReturned
    | StepWaiting
    | FactsSeen
    | TimePassed
    | ObjectsFound
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
    | MemoryDropped
    | RunEnded
)
KINDS: Final[Mapping[str, type[Any]]] = {each.__name__: each for each in Event.__args__}
"""Event classes by name."""


_FIELDS: Final[Mapping[type[Any], tuple[str, ...]]] = {kind: kind.__match_args__ for kind in KINDS.values()}
_ENUMS: Final[Mapping[type[Any], Mapping[str, type[Enum]]]] = {
    StepEnded: {"status": StepStatus},
    RunEnded: {"status": RunStatus},
    RungTaken: {"rung": Rung},
}

_NOTED: Final = ("facts", "awaited", "strangers")


_VALUES: Final = frozenset({"parameters", "values", "result", "wait", "value", "answer", "memory"})
"""Fields with values of handlers and people, which come back as the types that they were."""


def event_to_data(event: Event, lost: dict[str, str] | None = None) -> dict[str, Any]:
    """Convert `event` to JSON-ready data; values that the journal does not keep are told to `lost` by their place."""
    found: dict[str, Any] = {name: getattr(event, name) for name in _FIELDS[type(event)]}
    for name in _ENUMS.get(type(event), ()):
        found[name] = found[name].name
    if isinstance(event, StepReturned | StepEnded) and event.result and event.result.get("created"):
        created = {name: name_of(each) for name, each in event.result["created"].items()}
        found["result"] = {**event.result, "created": created}
    if isinstance(event, ObjectsFound):
        found = {"objects": {name: list(types) for name, types in event.objects.items()}, "source": event.source}
    for name in _NOTED:
        if name in found:
            found[name] = [_from_note(each) if isinstance(each, Note) else _from_atom(each) for each in found[name]]
    keeper = Keeper({} if lost is None else lost)
    return {name: keeper.keep(value, name) if name in _VALUES else value for name, value in found.items()}


def event_from_data(kind: str, data: Mapping[str, Any]) -> Event:
    """Convert data of `event_to_data` to the event; raises `KeyError` or `ValueError` for anything else."""
    cls = KINDS[kind]
    found: dict[str, Any] = {name: recall_value(each) if name in _VALUES else each for name, each in data.items()}
    for name, enum in _ENUMS.get(cls, {}).items():
        found[name] = enum[found[name]]
    for name in _NOTED:
        if name in found:
            read = _to_atom if cls is Disagreement and name == "facts" else _to_note
            found[name] = tuple([read(each) for each in found[name]])
    if cls is ObjectsFound:
        found["objects"] = {name: tuple(types) for name, types in found["objects"].items()}
    for name in ("steps", "choices", "known", "left", "creates", "again", "keys"):
        if isinstance(found.get(name), list):
            found[name] = tuple(found[name])
    return cls(**found)  # type: ignore[no-any-return]  # one of the union


_VALUE: Final = "="
"""Begins the data of a `FluentValue`; no predicate has this name."""


def _from_atom(atom: Atom) -> list[str]:
    data = [atom.predicate, *atom.args]
    return [_VALUE, *data] if isinstance(atom, FluentValue) else data


def _to_atom(data: list[str]) -> Atom:
    if data[0] == _VALUE:
        return FluentValue(data[1], tuple(data[2:]))
    return Atom(data[0], tuple(data[1:]))


def _from_note(note: Note) -> list[Any]:
    conclusive = [True] if note.conclusive else []
    return [_from_atom(note.fact), note.holds, note.provenance.name, note.source, note.version, *conclusive]


def _to_note(data: list[Any]) -> Note:
    return Note(_to_atom(data[0]), data[1], Provenance[data[2]], *data[3:])
