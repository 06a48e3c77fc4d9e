"""The state of a run: what its events come to. Nothing else changes it, so that a journal read again gives it again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from executor.looking.beliefs import Beliefs
from executor.plans.action_plan import ActionPlan, PlanStep
from executor.plans.creation import Bindings, expanded, internal
from executor.plans.stated import Reader
from executor.record.answers import RETRY, meant
from executor.record.events import (
    Answered,
    Asked,
    Disagreement,
    Event,
    FactsSeen,
    GoalDropped,
    MemorySet,
    Note,
    PlanChanged,
    RunEnded,
    RungTaken,
    RunResumed,
    RunStarted,
    StepEnded,
    StepProgress,
    StepReturned,
    StepStarted,
    StepWaiting,
)
from executor.record.status import RunStatus, StepStatus
from executor.recovery.hierarchy import TASKS, Hierarchy
from executor.world.context import Memory
from planner.model import Atom, DomainModel, Formula, Problem, SoftGoal
from planner.model.actions import added
from planner.model.formulas import conjunction, conjuncts
from planner.plan import Step
from planner.validate.simulation import bound

if TYPE_CHECKING:
    from htn.model import HtnDomain


@dataclass(slots=True)
class StepRecord:
    """What became of one step; `result` is what its handler gave, as data."""

    plan: PlanStep
    step: Step
    status: StepStatus = StepStatus.PENDING
    attempts: int = 0
    skill: str = ""
    reason: str = ""
    result: Mapping[str, Any] | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    wait: Mapping[str, Any] | None = None
    awaited: tuple[Note, ...] = ()
    facts: tuple[Note, ...] = ()
    """What it did to what is believed."""
    since: float = 0.0

    @property
    def id(self) -> str:
        """The id of the step in its plan."""
        return self.plan.id


@dataclass(frozen=True, slots=True)
class Tried:
    """An action that failed with its arguments, so many `times`; `facts` held when it did.

    It is `spent` where nobody saw that it did nothing, and doing it once more might do it twice.
    """

    times: int
    facts: frozenset[Atom]
    spent: bool


class Results(Mapping[str, Any]):
    """What steps returned, by the id of the step, or by the name of an action: what it returned last."""

    def __init__(self, state: RunState) -> None:
        self._state = state

    def __getitem__(self, key: str) -> Any:
        steps, names = self._state.steps, (key, *reversed(self._state.finished))
        for id_ in names:
            record = steps.get(id_)
            if record is not None and record.result is not None and key in {record.id, record.step.action}:
                return record.result
        raise KeyError(key)

    def __iter__(self) -> Iterator[str]:
        return (record.id for record in self._state.steps.values() if record.result is not None)

    def __len__(self) -> int:
        return sum(1 for _ in self)


class RunState:
    """The steps of a run, its beliefs, its memory and its record, as `apply` has made them."""

    def __init__(
        self, domain: DomainModel, plan: ActionPlan, problem: Problem, methods: HtnDomain | None = None
    ) -> None:
        self.domain = domain
        self.plan = plan
        self.source = problem
        """The problem as it was stated."""
        self.problem = expanded(problem, [each.step(domain) for each in plan.steps])
        """The same with placeholders for what steps create."""
        self.hierarchy = Hierarchy.of(plan, problem, methods)
        """The tasks that the plan came of, if it did and is to do them."""
        self.objects = Bindings(problem, self.problem)
        self.reader = Reader(self.problem)
        """Reads what steps state beyond their actions."""
        self.beliefs = Beliefs(self.problem, internal(domain, self.problem))
        self.memory = Memory()
        self.run = ""
        self.model = plan.model
        self.status = RunStatus.PROPOSED
        self.reason = ""
        self.metrics: Mapping[str, Any] = {}
        self.steps: dict[str, StepRecord] = {}
        """All steps that ever were in the plan, by id."""
        self.order: list[str] = []
        """The steps of the plan as it is now."""
        self.finished: list[str] = []
        """The steps that are over, as they ended."""
        self.surprises = 0
        """How often something was seen that no step of the plan was to bring about, or that one was and did not."""
        self.mended: set[str] = set()
        """The steps that failed before the plan was changed last."""
        self.is_undoing = False
        """Whether the plan is one that undoes what was done."""
        self.left: tuple[str, ...] = ()
        """What will not be undone, and why."""
        self.changes = 0
        """How often the plan has changed."""
        self.rungs: list[RungTaken] = []
        self.dropped: list[str] = []
        """Soft goals that were given up."""
        self.providers: dict[Atom, str] = {}
        """The step that provided each fact last."""
        self.tried: dict[tuple[str, tuple[str, ...]], Tried] = {}
        """What failed, by action and arguments."""
        self._just_failed: set[tuple[str, tuple[str, ...]]] = set()
        """What has failed since a step was begun last: what is seen now was so when it failed."""
        self.questions: dict[str, Asked] = {}
        """Questions without an answer."""
        self.answers: dict[str, Any] = {}
        self.disagreements: list[Disagreement] = []
        self._by_status: dict[StepStatus, dict[str, None]] = {each: {} for each in StepStatus}
        self._places: dict[str, int] = {}
        self._set_steps(plan.steps)

    def apply(self, event: Event) -> None:  # noqa: C901, PLR0912 - a case for each kind of event
        """Take in what happened."""
        match event:
            case RunStarted(run, _, model):
                self.run, self.model, self.status = run, model, RunStatus.ACTIVE
            case RunResumed():
                self.status, self.reason = RunStatus.ACTIVE, ""
            case StepStarted(id_, attempt, skill, _, parameters):
                record = self.steps[id_]
                self._just_failed.clear()
                self._move(record, StepStatus.RUNNING)
                record.attempts, record.skill, record.parameters, record.wait = attempt, skill, parameters, None
            case StepReturned(id_, result):
                self.steps[id_].result = result
                self._bind(self.steps[id_])
            case StepWaiting(id_, wait, since):
                record = self.steps[id_]
                self._move(record, StepStatus.WAITING)
                record.wait, record.since = wait, since
            case StepEnded():
                self._end(event)
            case FactsSeen(facts):
                self.surprises += 1
                self.beliefs.take(facts)
                for key in self._just_failed:
                    self.tried[key] = replace(self.tried[key], facts=self.beliefs.simulation.facts)
            case Disagreement():
                self.disagreements.append(event)
            case PlanChanged(steps):
                self.changes += 1
                self.mended.update(self._by_status[StepStatus.FAILED], self._by_status[StepStatus.PARTIAL])
                self.is_undoing, self.left = event.undoes, event.left
                if event.decomposition is not None and self.hierarchy is not None:
                    self.hierarchy = self.hierarchy.changed(event.decomposition)
                self._set_steps([PlanStep.model_validate(each) for each in steps])
            case RungTaken():
                self.rungs.append(event)
            case GoalDropped(condition):
                self.dropped.append(condition)
                self.hierarchy = None if condition == TASKS else self.hierarchy
            case Asked(question):
                self.questions[question] = event
            case Answered(question, answer):
                self._answer(question, answer)
            case MemorySet(key, value):
                self.memory.restore(key, value)
            case RunEnded(status, reason):
                self.status, self.reason, self.metrics = status, reason, event.metrics
            case StepProgress():
                pass

    @property
    def has_goal(self) -> bool:
        """Whether there is anything that must hold at the end."""
        return any(True for _ in conjuncts(self.goal))

    @property
    def has_aim(self) -> bool:
        """Whether the run is for more than its steps: there is a goal, or tasks."""
        return self.hierarchy is not None or self.has_goal

    @property
    def soft(self) -> list[SoftGoal]:
        """The soft goals that were not given up."""
        return [each for each in self.problem.goal.soft if str(each.condition) not in self.dropped]

    @property
    def goal(self) -> Formula:
        """What is to hold at the end: the hard goal, and the soft ones that were not given up."""
        return conjunction([*conjuncts(self.problem.goal.hard), *(each.condition for each in self.soft)])

    @property
    def results(self) -> Results:
        """What steps returned."""
        return Results(self)

    def _set_steps(self, steps: Iterable[PlanStep]) -> None:
        """Make `steps` the plan; those of the old one that have not begun and are not among them are skipped."""
        steps = list(steps)
        kept = {each.id for each in steps}
        for id_ in self.order:
            record = self.steps[id_]
            if id_ not in kept and record.status is StepStatus.PENDING:
                self._move(record, StepStatus.SKIPPED)
                record.reason = "the plan goes on without it"
        for each in steps:
            if each.id not in self.steps:
                self.steps[each.id] = StepRecord(each, each.step(self.domain))
                self._by_status[StepStatus.PENDING][each.id] = None
        done = [id_ for id_ in self.order if id_ not in kept and self.steps[id_].status is not StepStatus.SKIPPED]
        self.order = [*done, *(each.id for each in steps)]
        self._places = {id_: place for place, id_ in enumerate(self.order)}

    def _move(self, record: StepRecord, status: StepStatus) -> None:
        del self._by_status[record.status][record.id]
        record.status = status
        self._by_status[status][record.id] = None

    def _end(self, event: StepEnded) -> None:
        record = self.steps[event.step]
        self._move(record, event.status)
        record.reason, record.wait = event.reason, None
        record.awaited, record.facts = event.awaited, event.facts or record.facts
        if event.result is not None:
            record.result = event.result
        self.beliefs.take(event.facts)
        if event.status in {StepStatus.SUCCEEDED, StepStatus.UNVERIFIED, StepStatus.PARTIAL}:
            self.beliefs.did(record.step)
        self._bind(record)
        self.surprises += event.status is not StepStatus.SUCCEEDED
        items = self._changed_in_place(record.step)
        self.providers.update({note.fact: event.step for note in event.facts if note.holds and note.fact not in items})
        if event.status is StepStatus.PENDING:
            self.changes += 1
            return
        self.finished.append(event.step)
        if event.status in {StepStatus.FAILED, StepStatus.PARTIAL}:
            key = record.step.action, record.step.arguments
            before = self.tried.get(key)
            facts = self.beliefs.simulation.facts
            spent = not event.repeatable or (before is not None and before.spent)
            self.tried[key] = Tried(before.times + 1 if before else 1, facts, spent)
            self._just_failed.add(key)

    def _changed_in_place(self, step: Step) -> set[Atom]:
        """Return the items that `step` changes and does not provide."""
        action = self.problem.domain.actions[step.action]
        if not action.modifies:
            return set()
        binding = bound(action, step)
        return {item.substitute(binding) for item in action.modifies} - {
            fact.substitute(binding) for fact in added(action.provides)
        }

    def _answer(self, question: str, answer: Any) -> None:
        asked = self.questions.pop(question, None)
        self.answers[question] = answer
        if asked is not None and RETRY in asked.choices and meant(asked, answer) == RETRY:
            self.tried.clear()  # somebody says that it is worth another try

    def _bind(self, record: StepRecord) -> None:
        """Take in the objects that a step has created."""
        for name, value in ((record.result or {}).get("created") or {}).items():
            placeholder = record.plan.created.get(name)
            if placeholder is not None:
                self.objects.bind(placeholder, value)

    def has_failed_here(self, step: Step) -> bool:
        """Return whether `step` was tried before when the same facts were believed, and failed."""
        tried = self.tried.get((step.action, step.arguments))
        return tried is not None and (tried.spent or tried.facts == self.beliefs.simulation.facts)

    def pending(self) -> list[StepRecord]:
        """Return the steps that have not begun, in the order of the plan."""
        return self.with_status(StepStatus.PENDING)

    def with_status(self, *wanted: StepStatus) -> list[StepRecord]:
        """Return the steps of the present plan with one of the statuses `wanted`."""
        found = [id_ for status in wanted for id_ in self._by_status[status] if id_ in self._places]
        return [self.steps[id_] for id_ in sorted(found, key=self._places.__getitem__)]
