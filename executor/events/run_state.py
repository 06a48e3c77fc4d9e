"""Build the state of a run from its events.

Only `RunState.apply` changes the state, so that replaying the journal gives the same state.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from executor.dispatching.timetable import Timetable
from executor.events import events
from executor.events.answers import RETRY, interpret_answer, is_wait
from executor.events.failures import Failures, Irreversible, Key, Spent, find_repetitions
from executor.events.fluent_values import FluentValue, item_of
from executor.events.memory_values import expand_event, list_set, share_versions
from executor.events.steps import Results, StepRecord, Steps
from executor.events.tasks import TASKS, Hierarchy
from executor.observe.beliefs import Beliefs, is_in_place
from executor.observe.constraint_evidence import ConstraintEvidence
from executor.plans.action_plan import ActionPlan, PlanStep, replace_aim
from executor.plans.created_objects import (
    Bindings,
    add_spare_placeholders,
    find_internal_predicates,
    find_similar_steps,
)
from executor.plans.execution_models import RunModel
from executor.plans.goals_served import Served, find_goals_served, find_goals_served_in_time, serves_others
from executor.plans.stated_steps import ConditionReader
from executor.plans.suppositions import parse_suppositions, sensed_by
from executor.tools.containment import quote_value
from executor.tools.context import Memory
from executor.tools.value_changes import Versions, is_change
from planner.lightweight import replace
from planner.model import Atom, Constraint, DomainModel, Formula, Goal, Object, Problem, SoftGoal
from planner.model.actions import positive_atoms
from planner.model.formulas import conjuncts, with_conjuncts
from planner.model.problem import seal_like, with_limits_of
from planner.plan import Step
from planner.semantics.constraint_monitors import ConstraintMonitors
from planner.semantics.simulation import bind_parameters

if TYPE_CHECKING:
    from htn.model import HtnDomain
    from planner.policies.markov_decision_process import Kept

_RAN: Final = frozenset({events.StepStatus.SUCCEEDED, events.StepStatus.UNVERIFIED, events.StepStatus.PARTIAL})
_NO_NEWS: Final = (
    events.StepStarted,
    events.StepProgress,
    events.ChildBegun,
    events.HandlerRaised,
    events.StepReturned,
    events.ModelAsked,
    events.RungTaken,
)
"""Kinds of events after which the same is left to do as before."""


class RunState:
    """State of a run after its events: steps, beliefs, memory, failures, and open questions."""

    world: str = ""
    """The label of the world in which the run began; empty in runs of early versions."""
    deps: str = ""
    """The type of what was given for the run alone; empty for nothing."""
    given: frozenset[str] = frozenset()
    """Initial entries of memory that no step has set since."""
    request: Mapping[str, Any] = {}
    """The values of working memory that the request gave."""
    strangers: Mapping[Atom, events.Note] = {}
    """Notes on facts about objects that the problem lacks."""
    found: Mapping[str, float | None] = {}
    """The objects that turned up during the run, with the times in seconds since 1970."""
    named: frozenset[str] = frozenset()
    """The objects, by their names in plans, that only handlers have named, and nobody has observed."""
    rungs_at_find = 0
    """Number of rungs that were taken before objects turned up last."""
    missing: Mapping[str, Any] | None = None
    """Diagnosis why no plan reaches the goal, if that is proved."""
    at: float | None = None
    """Time of the latest event, in seconds since 1970."""
    version = 0
    """Number of events that may have changed what is left to do."""
    surprises = 0
    """Number of unexpected facts, and of steps without their declared effects."""
    changes = 0
    """Number of changes of the plan."""
    settled = 0
    """Number of steps in doubt that were settled, and of begun steps that were put back."""
    _served: tuple[tuple[int, int], Served] | None = None
    """The parts of the goal that steps serve, with the counts of plan changes and of objects that turned up."""
    is_undoing = False
    """Whether the present plan undoes what was done."""
    wants_plan = False
    """Whether the goal has changed since the plan was made."""
    policy: Mapping[str, Any] | None = None
    """The policy that the run follows, as data, if any."""
    foreseen: frozenset[Atom] = frozenset()
    """The facts that held by what was believed when the policy was made."""
    outlived: Mapping[str, Any] | None = None
    """The policy for an earlier goal, if the goal has changed."""
    kept: Kept | None = None
    """State of the constraint monitors of the policy, if the run follows one and has constraints."""
    journal: Path | str | None = None
    """Place of the journal, if there is one."""
    started = 0.0
    """When the run began, in seconds since 1970."""
    occasion = ""
    """Occasion of the request, such as a month: what was done on another occasion may be done again."""
    redirected: list[events.GoalChanged]
    dropped: list[str]
    """Dropped soft goals."""
    children: list[events.ChildBegun]
    """The runs that handlers have begun."""
    lost: frozenset[str] = frozenset()
    """Actions of its steps that this version of the domain declares lost."""
    _overruled: set[Atom]
    """The facts that a look has seen to be otherwise than was stated."""
    again: tuple[str, ...] = ()
    """Irreversible steps that the request wants done once more, though they were done before."""
    waited: frozenset[str] = frozenset()
    """Questions for what steps have waited for, and wait no more."""

    def __init__(
        self, domain: DomainModel, plan: ActionPlan, problem: Problem, methods: HtnDomain | None = None
    ) -> None:
        self.domain = domain
        self.plan = plan
        self.source, self._initial = problem, frozenset(problem.initial)
        """The problem as it was stated, and the facts that held by that."""
        self.problem = add_spare_placeholders(problem, [each.step(domain) for each in plan.steps])
        """The problem with placeholders for created objects."""
        self.hierarchy = Hierarchy.of(plan, problem, methods, self.problem)
        """The tasks of a hierarchical run."""
        self.objects = Bindings(problem, self.problem)
        self.named = frozenset(map(self.objects.plan_name, plan.basis.named))
        self.reader = ConditionReader(self.problem)
        """Reads the conditions and effects that steps state beyond their actions."""
        self.beliefs = Beliefs(self.problem, find_internal_predicates(domain, self.problem))
        self.watches = ConstraintMonitors(self.beliefs.simulation) if problem.constraints else None
        """Monitors of the trajectory constraints, if there are any."""
        self.evidence = ConstraintEvidence(problem.constraints, self.beliefs) if problem.constraints else None
        """Whether these constraints were seen to be kept."""
        self._follow(plan.policy, self.problem)
        self.timetable = Timetable.of(plan, self.problem)
        """What the run knows about times, if its plan is one in time."""
        self.run, self.status, self.reason = "", events.RunStatus.PROPOSED, ""
        self.model: RunModel = plan.model
        self.metrics: Mapping[str, Any] = {}
        self.memory, self.steps, self.spent = Memory(), Steps(plan.basis.proposed), Spent(plan.basis)
        self.mended: set[str] = set()
        """Steps that failed before the latest change of the plan."""
        self.given_up: tuple[str, ...] = ()
        """Causes of failure when the run began to undo what was done."""
        self.left: tuple[str, ...] = ()
        """What will not be undone, with reasons."""
        self.patched: Counter[tuple[frozenset[Atom], tuple[Key, ...]]] = Counter()
        """How often the same rest of a plan was adopted while the same facts were believed."""
        self.rungs: list[events.RungTaken] = []
        self.redirected, self.children, self.dropped, self._overruled = [], [], [], set()
        self.providers: dict[Atom, str] = {}
        """Latest provider of each fact."""
        self.tried = Failures()
        self.irreversible = Irreversible()
        self.failed_skills: defaultdict[str, Counter[str]] = defaultdict(Counter)
        """Failures by action and skill."""
        self.questions: dict[str, events.Asked] = {}
        """Questions without an answer, by name."""
        self.answered: dict[str, events.Asked] = {}
        """Answered questions, by name."""
        self.answers: dict[str, Any] = {}
        self.answered_here: set[str] = set()
        """Questions that a function of the host answered, and no person."""
        self.disagreements: list[events.Disagreement] = []
        self._suppose(plan.steps, plan.supposes or ())
        self.steps.change(plan.steps, domain)

    def apply(self, event: events.Event, at: float | None = None) -> None:  # noqa: PLR0915 - a case for each kind of event
        """Apply an event that happened `at` a time in seconds since 1970; None if the time is unknown."""
        self.at = at
        self.version += not isinstance(event, _NO_NEWS)
        if isinstance(event, events.StepReturned | events.StepEnded) and not list_set(event):
            event = expand_event(event, self.memory)
        match event:
            case events.RunStarted(run, _, model, memory):
                self.run, self.model, self.status = run, model, events.RunStatus.ACTIVE
                self.started = at or 0.0
                self.occasion, self.again, self.world = event.occasion, event.again, event.world
                self.deps = event.deps
                self._remember(memory)
                self.given, self.request = frozenset(memory), memory
                if self.timetable is not None:
                    self.timetable.begin(at)
            case events.RunResumed():
                self.status, self.reason = events.RunStatus.ACTIVE, ""
            case events.StepStarted(id_, attempt, skill, key, parameters, sources, facts):
                record = self.steps[id_]
                record.key = key
                self.tried.note_begun()
                self.spent.note_attempt(id_)
                self._note_failed_attempt(record)
                self.steps.move(record, events.StepStatus.RUNNING)
                record.begin(attempt, skill, share_versions(parameters, self.memory), sources)
                record.started, record.ended, record.begun_at = record.started or at, None, at
                self._begin_irreversible(record)
                self._close_waits(id_)
                if self.timetable is not None:
                    record.begun, record.prior = facts, tuple(map(self._note_prior, facts))
                    self.beliefs.adopt(facts)
            case events.ParametersChanged(id_, values, by):
                record = self.steps[id_]
                record.parameters = {**record.parameters, **values}
                record.sources = {**record.sources, **dict.fromkeys(values, by)}
            case events.ModelAsked(id_, metrics):
                self.spent.note_model_call(id_, metrics)
            case events.ParametersFilled(id_, values, thought, marked, metrics):
                record = self.steps[id_]
                record.filled, record.thought = {**record.filled, **values}, thought
                record.marked = record.marked or marked
                self.spent.add(metrics)
            case events.StepReturned(id_, result, doubt, raised):
                self.spent.note_result(id_, result)
                record = self.steps[id_]
                if record.status is events.StepStatus.WAITING:
                    self.steps.move(record, events.StepStatus.RUNNING)
                record.result, record.doubt, record.raised = result, doubt, raised
                self._close_waits(id_)
                self._bind(record)
                self._note_named(record, filter(self.objects.created.__contains__, record.plan.created.values()))
            case events.StepWaiting(id_, wait, since):
                record = self.steps[id_]
                self.steps.move(record, events.StepStatus.WAITING)
                record.wait, record.since = wait, since
            case events.StepEnded():
                self._end_step(event)
            case events.FactsSeen(facts):
                self.surprises += any(note.holds is not self.beliefs.holds(note.fact) for note in facts)
                self._overruled.update([each.fact for each in facts if each.holds is not (each.fact in self._initial)])
                self.beliefs.adopt(facts)
                self._note_observed(facts)
                self.irreversible.see(facts)
                if self.tried.is_fresh:
                    self.tried.note_seen(self.beliefs.situation_for)
                self._watch()
            case events.TimePassed(number, facts):
                assert self.timetable is not None, "only plans in time have changes at known times"
                self.timetable.passed.add(number)
                self.beliefs.adopt(facts)
                self.irreversible.see(facts)
            case events.ObjectsFound(objects, source, entities):
                self._join(objects, entities)
                for record in [each for each in self.steps.values() if str(each.step) == source][:1]:
                    self._note_named(record, objects)
            case events.Disagreement(_, _, strangers):
                self.disagreements.append(event)
                self.strangers = {**self.strangers, **{note.fact: note for note in strangers}}
            case events.PlanChanged():
                self._change_plan(event)
            case events.RungTaken():
                self.rungs.append(event)
            case events.GoalDropped(condition):
                self.dropped.append(condition)
                self.hierarchy = None if condition == TASKS else self.hierarchy
            case events.GoalChanged(aim):
                self.redirected.append(event)
                self._adopt_aim(aim)
            case events.Asked(question):
                self.questions[question] = event
                self.answers.pop(question, None)
            case events.Answered(question, answer, function):
                self._answer(question, answer)
                (self.answered_here.add if function else self.answered_here.discard)(question)
            case events.ProvedImpossible(missing):
                self.missing = missing
            case events.MemorySet(key, value, relevance, step):
                self.memory.restore(key, value, relevance, at=at, step=step)
                self.given -= {key}
            case events.MemoryDropped(keys):
                for key in keys:
                    self.memory.drop(key, at)
            case events.RunEnded(status, reason):
                self.status, self.reason, self.metrics = status, reason, event.metrics
                if status.is_over:
                    self.steps.skip_obstructed()
                    self.questions.clear()
            case events.ChildBegun():
                self.children.append(event)
            case events.StepProgress() | events.HandlerRaised():
                pass
        if self.timetable is not None:
            self.timetable.note_reached(self.beliefs, at)

    def held_at_first(self, fact: Atom, holds: bool) -> bool:
        """Return whether a fact was stated to have this value, and no look has seen it otherwise."""
        return (fact in self._initial) is holds and fact not in self._overruled

    def _note_prior(self, note: events.Note) -> events.Note:
        """Return a note on the fact, or on the number, of `note` as it is now."""
        fact = note.fact
        return self.beliefs.note(self.beliefs.value(fact.fluent) if isinstance(fact, FluentValue) else fact)

    @property
    def has_goal(self) -> bool:
        """Whether the goal has any condition."""
        wishes = (each.condition for each in self.soft)
        return any(True for part in (self.problem.goal.hard, *wishes) for _ in conjuncts(part))

    @property
    def has_aim(self) -> bool:
        """Whether the run has a goal, tasks, or trajectory constraints beyond its steps."""
        return self.hierarchy is not None or self.watches is not None or self.has_goal

    @property
    def soft(self) -> list[SoftGoal]:
        """The soft goals that were not dropped."""
        return [each for each in self.problem.goal.soft if str(each.condition) not in self.dropped]

    @property
    def goal(self) -> Formula:
        """Conjunction of the hard goal and the soft goals that were not dropped."""
        return with_conjuncts(self.problem.goal.hard, *(each.condition for each in self.soft))

    @property
    def constraints(self) -> tuple[Constraint, ...]:
        """The trajectory constraints, progressed through the states so far."""
        return () if self.watches is None else self.watches.progress(self.beliefs.simulation)

    @property
    def unmet(self) -> tuple[Constraint, ...]:
        """The constraints that the run violates if it ends now."""
        return () if self.watches is None else tuple(self.watches.unmet)

    @property
    def results(self) -> Results:
        """The results of steps."""
        return Results(self.steps)

    def _suppose(self, steps: Iterable[PlanStep], goal: tuple[str, ...]) -> None:
        """Set the suppositions of the `goal`, and whether any of `steps` has some."""
        self.supposes = goal
        self.is_supposing = any(each.supposes for each in steps)

    def _change_plan(self, event: events.PlanChanged) -> None:
        self.changes += 1
        self.wants_plan = False
        troubled = self.steps.list_troubled()
        if event.undoes and not self.is_undoing:
            self.given_up = tuple(self.describe_causes([each for each in troubled if each.id not in self.mended]))
        self.mended.update([each.id for each in troubled if each.status is not events.StepStatus.IN_DOUBT])
        self.is_undoing, self.left = event.undoes, event.left
        if event.policy is not None:
            now = self.beliefs.problem
            stated = replace(self.problem, initial=now.initial, values=now.values, constraints=self.constraints)
            self._follow(event.policy, stated)
        if event.decomposition is not None and self.hierarchy is not None:
            self.hierarchy = self.hierarchy.with_decomposition(event.decomposition)
        steps = [PlanStep.model_validate(each) for each in event.steps]
        self._suppose(steps, event.supposes)
        if self.timetable is not None:
            self.timetable.adopt(steps)
        self.steps.change(steps, self.domain, event.reason)
        self.tried.pardon([each.step for each in self.pending()] if event.follows else ())
        if event.new and not event.undoes:
            self.patched[self._key_of_situation(each.step for each in self.pending())] += 1

    def _adopt_aim(self, aim: Mapping[str, Any]) -> None:
        """Replace goal, constraints, budgets and deadline; the objects stay those of the problem."""
        self.plan, self.source = replace_aim(self.plan, aim, self.source)
        wanted = self.source
        aimed = replace(self.problem, goal=wanted.goal, constraints=wanted.constraints, due=wanted.due)
        self.problem = with_limits_of(aimed, wanted)
        self.steps.proposed |= self.plan.basis.proposed
        self.spent.add({"tokens": self.plan.basis.tokens, "cost": self.plan.basis.cost})
        self.dropped.clear()
        if self.timetable is not None:
            self.timetable.change_aim(self.problem, self.beliefs, self.at)
        self.wants_plan, self.hierarchy, self.kept, self.outlived = True, None, None, self.policy
        watches = self.watches or ConstraintMonitors(self.beliefs.simulation)
        self.watches = watches.switch_to(wanted.constraints, self.beliefs.simulation) if wanted.constraints else None
        kept = ConstraintEvidence(wanted.constraints, self.beliefs, self.evidence)
        self.evidence = kept if wanted.constraints else None

    def _end_step(self, event: events.StepEnded) -> None:
        record = self.steps[event.step]
        if event.repeatable:  # journals of earlier versions call an obstacle a failure, as they do a refusal
            event = event.as_obstacle(record.attempts)
        is_put_back = event.status is events.StepStatus.PENDING and not event.obstacle
        if not event.status.is_done:
            self._note_failed_attempt(record)
        self.settled += record.status is events.StepStatus.IN_DOUBT or is_put_back
        self.steps.move(record, event.status, obstructed=event.obstacle)
        record.reason, record.wait, record.by_word = event.reason, None, event.by_word
        self._close_waits(record.id)
        record.ended = None if event.status is events.StepStatus.PENDING else self.at
        record.begun_at = None if event.status is events.StepStatus.PENDING else record.begun_at
        record.awaited, record.facts = event.awaited, event.facts or record.facts
        self.spent.note_end(event.step, event.result)
        if event.result is not None:
            record.result = event.result
        before = self.beliefs.simulation.facts if self.kept is not None else frozenset()
        counts = event.status in _RAN or event.reason.startswith(events.ALREADY_SO)
        if record.begun and not event.status.is_done:
            self.beliefs.adopt(self._take_back(record, event))
        if event.status in (events.StepStatus.FAILED, events.StepStatus.PENDING):
            record.begun = record.prior = ()
        self.beliefs.adopt(event.facts)
        self._note_observed(event.facts)
        self.irreversible.end(event.step, event.status, repeatable=event.repeatable, denied=event.denied)
        self.irreversible.see(event.facts, event.step if event.status in _RAN else "")
        if event.status is events.StepStatus.FAILED and record.attempts and record.plan.supposes:
            self.beliefs.adopt(self.beliefs.refute(parse_suppositions(record.plan.supposes)))
        if event.status.is_done and event.result is not None:
            values = event.result.get("values") or {}
            self._remember(values, event.step)
            if any(is_change(each) for each in values.values()):
                record.result = {**event.result, "values": Versions({key: self.memory.version(key) for key in values})}
        if counts:
            self.beliefs.record_action(record.step)
            self.kept = self.kept.after(before, record.step) if self.kept is not None else None
        self._watch(record if counts else None)
        self._bind(record)
        self.surprises += not event.status.is_done or any(map(_is_news, event.facts))
        items = self._find_items_in_place(record.step)
        self.providers.update({note.fact: event.step for note in event.facts if note.holds and note.fact not in items})
        changed = {note.fact for note in event.facts if note.holds is not None} - items
        if event.status is not events.StepStatus.PENDING:
            self.steps.end(event.step, changed if event.status in _RAN else ())
        is_failed = event.obstacle or event.status in (events.StepStatus.FAILED, events.StepStatus.PARTIAL)
        if is_failed or (event.status is events.StepStatus.UNVERIFIED and self._has_told_too_little(record)):
            alike = find_similar_steps(self.source, self.problem, record.step)
            facts, begun = self.beliefs.situation_for(record.step), record.attempts > 0
            self.tried.note_failure(alike, facts, repeatable=event.repeatable, begun=begun)

    def _has_told_too_little(self, record: StepRecord) -> bool:
        """Return whether a number is still unknown that a step which is over should have told."""
        patterns = sensed_by(self.domain, record.step) if self.domain.actions[record.step.action].measures else ()
        return any(pattern.matches(self.beliefs.value(each)) for pattern in patterns for each in self.beliefs.unread)

    def _take_back(self, record: StepRecord, event: events.StepEnded) -> list[events.Note]:
        """Return notes on what the start of a step changed that has not come about, and that nobody has looked at."""
        left = self.list_prior(record, event.facts)
        if event.status in (events.StepStatus.FAILED, events.StepStatus.PENDING):
            return left
        return [events.Note(note.fact, None, events.Provenance.UNKNOWN, event.reason) for note in left]

    def list_prior(self, record: StepRecord, told: Iterable[events.Note]) -> list[events.Note]:
        """Return notes on what the start of a step changed, as it was before, but for what was `told` or seen since."""
        known = {item_of(note.fact) for note in told}
        known |= {item_of(note.fact) for note in record.begun if self._is_observed(note.fact)}
        return [note for note in record.prior if item_of(note.fact) not in known]

    def _is_observed(self, fact: Atom) -> bool:
        """Return whether an observer was the last to tell of a fact, or of the number whose value it is."""
        return self.beliefs.note(fact).provenance is events.Provenance.OBSERVED

    def _join(self, objects: Mapping[str, tuple[str, ...]], entities: Mapping[str, Any]) -> None:
        """Add objects that turned up, or narrow the types of earlier ones."""
        self.surprises += 1
        self.rungs_at_find = len(self.rungs)
        self.found = {**dict.fromkeys(objects, self.at), **self.found}
        self.objects.join(objects, entities)
        self._change_objects({name: Object(name, types) for name, types in objects.items()}, gone="")

    def _change_objects(self, more: Mapping[str, Object], gone: str) -> None:
        """Add `more` objects, which replace those with the same names, and remove the one called `gone`."""

        def change(problem: Problem) -> Problem:
            kept = [each for each in problem.objects if each.name not in more and each.name != gone]
            return seal_like(replace(problem, objects=(*kept, *more.values())), problem)

        self.source, self.problem = change(self.source), change(self.problem)
        objects = {**self.plan.objects, **{name: each.types for name, each in more.items()}}
        objects.pop(gone, None)
        self.plan = self.plan.model_copy(update={"objects": objects})
        self.beliefs.change_objects(self.problem, frozenset(self.found))
        self.reader = ConditionReader(self.problem)
        if self.watches is not None:
            self.watches.change_objects(self.beliefs.simulation)
        if self.hierarchy is not None:
            self.hierarchy = self.hierarchy.with_problem(self.problem)

    def _follow(self, policy: Mapping[str, Any] | None, problem: Problem) -> None:
        """Follow `policy`, which was made for `problem`, or none."""
        self.policy, self.foreseen = policy, frozenset(problem.initial)
        if policy is not None and problem.constraints:
            from planner.policies.markov_decision_process import Kept

            self.kept = Kept.of(problem)

    def _watch(self, record: StepRecord | None = None) -> None:
        """Update the constraint monitors after a step, if one was done, perhaps only in part."""
        if self.watches is None or self.evidence is None:
            return
        if record is not None:
            in_part = record.status is events.StepStatus.PARTIAL
            self.watches.look(self.beliefs.simulation, record.step, in_part=in_part)
        self.watches.look(self.beliefs.simulation)
        self.evidence.look(self.beliefs, record)

    def _note_failed_attempt(self, record: StepRecord) -> None:
        """Count the attempt that is under way, if any, as a failure of its skill."""
        called = record.status is events.StepStatus.RUNNING or (record.takes_result and not record.goes_on)
        if called and record.skill:
            record.failed = (*record.failed, record.skill)
            self.failed_skills[record.step.action][record.skill] += 1

    def _remember(self, values: Mapping[str, Any], step: str = "") -> None:
        for key, value in values.items():
            self.memory.restore(key, value, at=self.at, step=step)
        self.given -= values.keys()

    def _find_items_in_place(self, step: Step) -> set[Atom]:
        """Return the items that `step` changes in place without providing them."""
        action = self.problem.domain.actions[step.action]
        items = [item for item in action.modifies if is_in_place(item)]
        if not items:
            return set()
        binding = bind_parameters(action, step)
        return {item.substitute(binding) for item in items} - {
            fact.substitute(binding) for fact in positive_atoms(action.provides)
        }

    def _close_waits(self, step: str) -> None:
        """Close the questions for what a step has waited for."""
        if self.questions:
            closed = [name for name, each in self.questions.items() if each.step == step and is_wait(each)]
            for name in closed:
                del self.questions[name]
            self.waited = self.waited.union(closed)

    def explain_closed(self, question: str) -> str:
        """Return why a question is open no more; an empty text if it was never asked, or is open."""
        if question in self.questions:
            return ""
        if question in self.answered:
            return f"it was answered: {quote_value(self.answers.get(question))}"
        return "its step waits no more" if question in self.waited else ""

    def _answer(self, question: str, answer: Any) -> None:
        asked = self.questions.pop(question, None)
        self.answers[question] = answer
        if asked is not None:
            self.answered[question] = asked
        if asked is not None and RETRY in asked.choices and interpret_answer(asked, answer) == RETRY:
            self.tried.clear()  # somebody says that it is worth another try

    def _bind(self, record: StepRecord) -> None:
        """Bind the placeholders of a step to the objects that it created."""
        created = (record.result or {}).get("created") or {}
        names = [each.removeprefix("?") for each in self.domain.actions[record.step.action].creates] if created else []
        for name in names:
            if name in created:
                placeholder, value = record.plan.created[name], created[name]
                turned_up = self.objects.plan_name(self.objects.term_of_created(placeholder, value))
                if turned_up in self.found:
                    self._merge_found(turned_up, placeholder, value)
                else:
                    self.objects.bind(placeholder, value)

    def _merge_found(self, name: str, placeholder: str, value: Any) -> None:
        """Move what is believed of an object that turned up to its `placeholder`: a step has created it meanwhile."""
        self.found = {each: at for each, at in self.found.items() if each != name}
        known = [note for note in self.beliefs.notes() if name in note.fact.args]
        self.objects.leave(name)
        self.objects.bind(placeholder, value)
        self._change_objects({}, gone=name)
        self.beliefs.adopt([replace(note, fact=note.fact.substitute({name: placeholder})) for note in known])

    def _note_named(self, record: StepRecord, names: Iterable[str]) -> None:
        """Note that the handler of a step has named objects, unless its action is tagged `trusted_names`."""
        if "trusted_names" not in self.domain.actions[record.step.action].tags:
            self.named = self.named.union(names)

    def _note_observed(self, notes: Iterable[events.Note]) -> None:
        """Note that observers have seen facts that name objects."""
        if self.named:
            observed = [note for note in notes if note.holds and note.provenance is events.Provenance.OBSERVED]
            self.named = self.named.difference(*[note.fact.args for note in observed])

    def is_irreversible(self, record: StepRecord) -> bool:
        """Return whether the action of a step is tagged `irreversible`."""
        return "irreversible" in self.domain.actions[record.step.action].tags

    def purpose_of(self, record: StepRecord) -> events.Purpose:
        """Return the purpose of a pending step."""
        if self.is_undoing:
            return "undo"
        return "patch" if record.because and self.policy is None else "plan"

    def _begin_irreversible(self, record: StepRecord) -> None:
        if not self.is_irreversible(record):
            return
        simulation, effects = self.beliefs.simulation, dict[Atom, bool]()
        if simulation.find_objection(record.step) is None:
            changes = simulation.changes(record.step)
            effects = dict.fromkeys(changes.removed, False) | dict.fromkeys(changes.provided, True)
            record.versions = {item: self.beliefs.note(item).version for item in changes.modified if is_in_place(item)}
        beliefs = self.beliefs
        effects = {
            fact: holds
            for fact, holds in effects.items()
            if not (beliefs.is_internal(fact) or beliefs.is_listing(fact))
        }
        self.irreversible.begin(record.id, find_similar_steps(self.source, self.problem, record.step), effects)

    def find_bar(self, record: StepRecord) -> str:
        """Return the reason why an irreversible step might repeat what has happened; an empty text if it may begin.

        Steps of the initial plan and of a policy may repeat what was certainly done.
        """
        is_new = self.purpose_of(record) != "plan"
        reason = self.irreversible.find_bar(record.step, record.id, is_new=is_new)
        if reason or not is_new:
            return reason
        other = self._find_repetitions().get(Step(record.step.action, record.step.arguments), record.id)
        return "" if other == record.id else f"{record.step} is irreversible, and step {other} may have done the same"

    def list_barred(self) -> set[Step]:
        """Return the ground actions that are barred for new steps: irreversible ones that may have happened.

        Others are barred that provide a fact which a failed irreversible action may have provided.
        """
        return self.irreversible.list_barred() | self._find_repetitions().keys()

    def _find_repetitions(self) -> dict[Step, str]:
        facts = self.irreversible.find_doubtful_facts()
        return find_repetitions(self.problem.domain, self.beliefs.simulation.rules.universe, facts)

    @property
    def open_questions(self) -> dict[str, events.Asked]:
        """The open questions that still matter: those about ended steps do not."""
        return {name: asked for name, asked in self.questions.items() if self._matters(asked)}

    @property
    def undecided_questions(self) -> list[events.Asked]:
        """The open questions on which it depends what the run does next: not those for what begun steps wait for."""
        return [each for each in self.open_questions.values() if not is_wait(each)]

    def is_asking_beside(self, record: StepRecord) -> bool:
        """Return whether a question is open about another step for the same goal, or about none."""
        return bool(self.questions) and any(
            each.step != record.id and not self.serves_other_goals(record.id, each.step)
            for each in self.undecided_questions
        )

    def serves_other_goals(self, one: str, other: str) -> bool:
        """Return whether two steps that are not over are known to serve different parts of the goal."""
        return serves_others(self._find_goals_served(), one, other)

    def _find_goals_served(self) -> Served:
        """Return the parts of the goal that each step serves which was not over when the plan was made."""
        key = self.changes, len(self.found)
        if self._served is None or self._served[0] != key:
            served: Served = {}
            if not (self.is_undoing or self.hierarchy or self.policy):
                left = self.with_status(*events.UNFINISHED)
                problem = replace(self.beliefs.problem, goal=Goal(self.goal), constraints=self.problem.constraints)
                find = find_goals_served if self.timetable is None else find_goals_served_in_time
                served = find(problem, [record.plan for record in left])
            self._served = key, served
        return self._served[1]

    def _matters(self, asked: events.Asked) -> bool:
        record = self.steps.get(asked.step)
        if record is None or not record.status.is_over:
            return True
        return record.status in events.TROUBLE and record.id not in self.mended

    def describe_causes(self, failed: Iterable[StepRecord]) -> list[str]:
        """Describe the failures of the steps `failed`.

        The cause of a step that was not begun because it had failed before is the earlier failure.
        """
        records = [next(self._find_attempts_at(each), each) if not each.attempts else each for each in failed]
        return list(dict.fromkeys(_attribute(str(each.step), each.reason) for each in records))

    def _find_attempts_at(self, record: StepRecord) -> Iterator[StepRecord]:
        """Yield the begun steps in trouble with the same ground action as `record`, in the order of their ends."""
        found = (self.steps[id_] for id_ in self.finished)
        return (each for each in found if each.step == record.step and each.attempts and each.status in events.TROUBLE)

    def describe_lacking(self) -> str:
        """Describe which parts of the goal do not hold, and which observer saw that."""
        parts = [part for part in conjuncts(self.goal) if not self.beliefs.is_true(part)]
        if not parts:
            return "the goal does not hold"
        facts = self.beliefs.facts_of(parts[0], {})
        saw = next(
            (note.source for note in map(self.beliefs.note, facts) if note.provenance is events.Provenance.OBSERVED), ""
        )
        listed = ", ".join(map(str, parts))
        return f"the goal does not hold: {listed} is missing{f', as {saw} saw' if saw else ''}"

    def key_of(self, record: StepRecord) -> str:
        """Return the idempotency key of a step: the same in all attempts, and after a restart.

        That of an irreversible step comes from the ledger: it is the same in every run that asks for the same.
        """
        return record.key or f"{self.run}/{record.id}"

    def count_times_taken(self, steps: Iterable[Step]) -> int:
        """Return how often `steps` became the rest of the plan while the present beliefs were held."""
        return self.patched[self._key_of_situation(steps)]

    def _key_of_situation(self, steps: Iterable[Step]) -> tuple[frozenset[Atom], tuple[Key, ...]]:
        return self.beliefs.situation, tuple([(each.action, each.arguments) for each in steps])

    def has_failed_here(self, step: Step) -> bool:
        """Return whether `step` has failed while the present facts were believed."""
        if (step.action, step.arguments) not in self.tried:
            return False
        return self.tried.is_barred(step, self.beliefs.situation_for(step))

    def pending(self) -> list[StepRecord]:
        """Return the pending steps in the order of the plan."""
        return self.with_status(events.StepStatus.PENDING)

    def list_awaited(self) -> list[str]:
        """Return the identities of the irreversible steps for whose end, in other runs, steps wait."""
        waits = [each.wait or {} for each in self.with_status(events.StepStatus.WAITING)]
        return [str(each["flight"]) for each in waits if "flight" in each]

    def with_status(self, *wanted: events.StepStatus) -> list[StepRecord]:
        """Return the steps of the present plan with one of the statuses `wanted`, in the order of the plan."""
        return self.steps.with_status(*wanted)

    @property
    def order(self) -> list[str]:
        """Ids of the steps of the present plan."""
        return self.steps.order

    @property
    def finished(self) -> list[str]:
        """Ids of the steps that are over, in the order of their ends."""
        return self.steps.finished


def _is_news(note: events.Note) -> bool:
    """Return whether a step that was done reports an undeclared fact, or leaves an effect unknown."""
    return note.holds is None or (note.provenance is events.Provenance.REPORTED and note.source != events.TRUSTED)


def _attribute(step: str, reason: str) -> str:
    """Prefix `reason` with its step, unless it begins with that."""
    return reason if reason.startswith(step) else f"{step}: {reason}"
