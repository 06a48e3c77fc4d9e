"""Record the steps of a run, and which of them are in the present plan."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from executor.events.events import TROUBLE, Note, StepStatus
from executor.plans.action_plan import PlanStep
from executor.tools.isolated_values import copy_value
from planner.model import Action, Atom, DomainModel
from planner.plan import Step


@dataclass(slots=True)
class StepRecord:
    """Record of one step.

    `result` is that of the latest attempt, as data; `doubt` is the reason why there is none, and `raised` the exception
    of the handler as text, if so.
    """

    plan: PlanStep
    step: Step
    status: StepStatus = StepStatus.PENDING
    is_obstructed: bool = False
    """Whether it cannot begin, for its `reason`: it is pending until the plan is changed or the run is over."""
    attempts: int = 0
    skill: str = ""
    failed: tuple[str, ...] = ()
    """The skills of failed attempts, in order."""
    reason: str = ""
    result: Mapping[str, Any] | None = None
    by_word: bool = False
    """Whether only somebody's word says that it was done before."""
    doubt: str = ""
    raised: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    filled: Mapping[str, Any] = field(default_factory=dict)
    """Values of open parameters that were filled; they are the same in all attempts."""
    marked: bool = False
    """Whether whoever filled parameters had seen text that tools returned."""
    thought: str = ""
    wait: Mapping[str, Any] | None = None
    awaited: tuple[Note, ...] = ()
    facts: tuple[Note, ...] = ()
    """Notes on its effects."""
    since: float = 0.0
    started: float | None = None
    """Time of its first attempt, in seconds since 1970."""
    ended: float | None = None
    """Time of its end, or of coming into doubt, in seconds since 1970."""
    begun_at: float | None = None
    """Time of its latest attempt, in seconds since 1970; None for a step that has not begun, or was put back."""
    versions: Mapping[Atom, Any] = field(default_factory=dict)
    """Versions of the items that an irreversible step changes in place, at the start of its latest attempt."""
    begun: tuple[Note, ...] = ()
    """Notes on what the start of its latest attempt changed, in a plan in time."""
    prior: tuple[Note, ...] = ()
    """Notes on the same as it was before."""
    sources: Mapping[str, str] = field(default_factory=dict)
    """Sources of the values in `parameters`."""
    because: str = ""
    """Why it was added to the plan; empty for steps of the initial plan."""
    key: str = ""
    """Its idempotency key, if that does not follow from its run and its id."""
    is_proposed: bool = False
    """Whether a model proposed it for a wish that no fact expresses, so that no fact can confirm it."""

    @property
    def id(self) -> str:
        """The id of the step in its plan."""
        return self.plan.id

    @property
    def is_pending(self) -> bool:
        """Whether the step may begin when its turn comes."""
        return self.status is StepStatus.PENDING and not self.is_obstructed

    @property
    def is_done(self) -> bool:
        """Whether the dependents of the step may begin."""
        return self.status.is_done and not self.is_obstructed

    @property
    def takes_result(self) -> bool:
        """Whether the handler has returned and the step waits for its result, which no answer or other run gives."""
        return self.wait is not None and self.wait.keys().isdisjoint({"question", "flight"})

    @property
    def goes_on(self) -> bool:
        """Whether the handler is called again with the answer for which the step waits."""
        return self.wait is not None and bool(self.wait.get("goes_on"))

    def needs_approval(self, action: Action) -> bool:
        """Return whether the step, an instance of `action`, needs an approval."""
        return self.is_proposed or "needs_approval" in action.tags or (self.marked and "irreversible" in action.tags)

    def begin(self, attempt: int, skill: str, parameters: Mapping[str, Any], sources: Mapping[str, str]) -> None:
        """Begin another attempt, and drop the results of the one before."""
        self.attempts, self.skill, self.parameters, self.sources = attempt, skill, parameters, sources
        self.result, self.doubt, self.raised, self.wait = None, "", "", None


class Steps(dict[str, StepRecord]):
    """All steps that ever were in the plan of a run, by id."""

    def __init__(self, proposed: frozenset[str] = frozenset()) -> None:
        super().__init__()
        self.proposed = proposed
        """Ground steps that a model proposed for a wish that no fact expresses."""
        self.order: list[str] = []
        """Ids of the steps of the present plan."""
        self.finished: list[str] = []
        """Ids of the steps that are over, in the order of their ends."""
        self._changed_by: defaultdict[Atom, list[int]] = defaultdict(list)
        """Places in `finished` of the steps that changed each fact."""
        self._by_status: dict[StepStatus, dict[str, None]] = {each: {} for each in StepStatus}
        """Ids of the steps that are not obstructed, by status."""
        self._obstructed: dict[str, None] = {}
        self._places: dict[str, int] = {}

    def change(self, steps: Sequence[PlanStep], domain: DomainModel, because: str = "") -> None:
        """Make `steps` the plan; skip all other pending steps."""
        self.skip_obstructed()
        kept = {each.id for each in steps}
        for id_ in self.order:
            record = self[id_]
            if id_ not in kept and record.status is StepStatus.PENDING:
                self.move(record, StepStatus.SKIPPED)
                record.reason = "the plan goes on without it"
        for each in steps:
            if each.id not in self:
                step = each.step(domain)
                is_proposed = bool(self.proposed) and str(Atom(step.action, step.arguments)) in self.proposed
                self[each.id] = StepRecord(each, step, because=because, is_proposed=is_proposed)
                self._by_status[StepStatus.PENDING][each.id] = None
            elif self[each.id].status is StepStatus.PENDING and _is_relinked(self[each.id].plan, each):
                self[each.id].plan = each
        done = [id_ for id_ in self.order if id_ not in kept and self[id_].status is not StepStatus.SKIPPED]
        self.order = [*done, *(each.id for each in steps)]
        self._places = {id_: place for place, id_ in enumerate(self.order)}

    def move(self, record: StepRecord, status: StepStatus, *, obstructed: bool = False) -> None:
        """Change the status of a step, and whether it is `obstructed`."""
        del (self._obstructed if record.is_obstructed else self._by_status[record.status])[record.id]
        record.status, record.is_obstructed = status, obstructed
        (self._obstructed if obstructed else self._by_status[status])[record.id] = None

    def skip_obstructed(self) -> None:
        """Skip the steps that cannot begin."""
        for id_ in self._obstructed:
            self[id_].status = StepStatus.SKIPPED

    def end(self, id_: str, changed: Iterable[Atom]) -> None:
        """Record that a step is over, and that it `changed` these facts."""
        for fact in changed:
            self._changed_by[fact].append(len(self.finished))
        self.finished.append(id_)

    def find_last_change(self, fact: Atom, until: int) -> int | None:
        """Return the place in `finished`, before `until`, of the step that changed `fact` last."""
        return max((each for each in self._changed_by.get(fact, ()) if each < until), default=None)

    def with_status(self, *wanted: StepStatus) -> list[StepRecord]:
        """Return the steps of the present plan, in its order, with one of the statuses `wanted`; none is obstructed."""
        found = [id_ for status in wanted for id_ in self._by_status[status] if id_ in self._places]
        return [self[id_] for id_ in sorted(found, key=self._places.__getitem__)] if found else []

    def list_troubled(self) -> list[StepRecord]:
        """Return the steps that may need recovery, in the order of the plan: in `TROUBLE`, or ever obstructed."""
        return self.sort([*map(self.__getitem__, self._obstructed), *self.with_status(*TROUBLE)])

    def sort(self, records: Iterable[StepRecord]) -> list[StepRecord]:
        """Return `records` in the order of the plan; steps of earlier plans come first."""
        return sorted(records, key=lambda each: self._places.get(each.id, -1))


def _is_relinked(old: PlanStep, new: PlanStep) -> bool:
    """Return whether `new` has other `needs` or `supposes` than `old`; other fields of a kept step never change."""
    return (old.needs, old.supposes) != (new.needs, new.supposes)


class Results(Mapping[str, Any]):
    """Copies of results by id of the step, or by name of the action (its latest result)."""

    def __init__(self, steps: Steps) -> None:
        self._steps = steps

    def __getitem__(self, key: str) -> Any:
        for id_ in (key, *reversed(self._steps.finished)):
            record = self._steps.get(id_)
            if record is not None and record.result is not None and key in {record.id, record.step.action}:
                return copy_value(record.result)
        raise KeyError(key)

    def __iter__(self) -> Iterator[str]:
        return (record.id for record in self._steps.values() if record.result is not None)

    def __len__(self) -> int:
        return sum(1 for _ in self)
