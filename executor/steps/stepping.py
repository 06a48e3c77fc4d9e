"""The life of one step: what it requires is checked, its handler called, its effects looked at."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from executor.looking.judge import Expected, Judgement, expected, judged, literal_of
from executor.looking.observe import Looked, Lookout, believe
from executor.plans.creation import name_of
from executor.record.events import (
    Event,
    Note,
    Provenance,
    Rung,
    RungTaken,
    StepEnded,
    StepProgress,
    StepReturned,
    StepStarted,
    StepWaiting,
)
from executor.record.state import RunState, StepRecord
from executor.record.status import StepStatus
from executor.steps.parameters import Missing, filled
from executor.steps.perform import Attempt, Performer, passes
from executor.world.context import Context
from executor.world.data import data_of
from executor.world.policy import TWICE, Policy
from executor.world.world import Skill, World
from planner.declare.places import CodePlace
from planner.declare.syntax import is_name
from planner.model import Action, Atom
from planner.model.formulas import conjuncts
from planner.records import replace


class Asker(Protocol):
    """Whoever can be asked: see `executor.recovery.asking`."""

    async def approval(self, record: StepRecord, action: Action) -> str | None:
        """Return why the step is not allowed; nothing where it is, None where nobody has said yet."""


@dataclass(slots=True, eq=False)
class Stepper:
    """Carries out the steps of one run; all that happens goes to `emit`."""

    world: World
    state: RunState
    emit: Callable[[Event], None]
    lookout: Lookout
    performer: Performer
    asker: Asker
    aborted: asyncio.Event
    """Set when the run is called off."""
    replanning: list[str]
    """Why handlers asked for another plan."""
    rng: random.Random
    _contexts: dict[str, Context] = field(init=False, default_factory=dict)

    def abort(self) -> None:
        """Tell all handlers at work that the run is called off."""
        self.aborted.set()
        for context in self._contexts.values():
            context.aborted.set()

    async def carry_out(self, record: StepRecord) -> None:
        """Do the step of `record`, as often as its policy allows: it has ended then, or waits."""
        action = self.world.model.actions[record.step.action]
        reason = await self._not_now(record, action)
        if reason:
            self.emit(StepEnded(record.id, StepStatus.FAILED, reason))
            return
        refused = await self.asker.approval(record, action)
        if refused is None:
            return
        if refused:
            self.emit(StepEnded(record.id, StepStatus.FAILED, refused, repeatable=False))
            return
        policy = self.policy_of(record)
        wanted = await self._expected(record)
        tried: set[str] = set()
        while True:
            skill = self._skill(action.name, tried)
            if not await self._attempt(record, action, skill, policy, wanted):
                return
            await self._again(record, skill, policy, tried)
            reason = await self._unmet(record, action)
            if reason:
                self.emit(StepEnded(record.id, StepStatus.FAILED, reason))
                return
            wanted = await self._expected(record)

    def policy_of(self, record: StepRecord) -> Policy:
        """Return how the step is tried."""
        policy = self.world.policy_of(record.step.action)
        return policy if record.plan.policy is None else record.plan.policy.over(policy)

    async def _not_now(self, record: StepRecord, action: Action) -> str:
        """Return why the step cannot be done; nothing where it can."""
        reason = await self._unmet(record, action)
        if not reason and self.state.has_failed_here(record.step):
            reason = "it has failed before in this very state"
        if not reason and not self.world.skills.get(action.name):
            reason = f"{action.name} has no handler"
        return reason

    async def _unmet(self, record: StepRecord, action: Action) -> str:
        """Return which condition of the step does not hold, as far as is known; looks where it must be seen to hold."""
        if self.state.model == "reactive":
            await self.look([fact for fact in self.state.beliefs.needs(record.step) if self.lookout.can_see(fact)])
        careful = not action.tags.isdisjoint({"irreversible", "needs_observed"})
        unseen = self.state.beliefs.doubtful(record.step, careful=careful)
        if unseen:
            await self.look(unseen)
            unseen = self.state.beliefs.doubtful(record.step, careful=careful)
        reason = self._objection(record)
        if reason or not unseen:
            return reason
        return f"it rests on {unseen[0]}, which is {self.state.beliefs.note(unseen[0]).provenance.name.lower()}"

    def _objection(self, record: StepRecord) -> str:
        found = self.state.beliefs.simulation.objection(record.step)
        if found is None:
            return self._stated_objection(record) if record.plan.requires else ""
        return found.misfit or f"it requires {found.condition}, which does not hold"

    def _stated_objection(self, record: StepRecord) -> str:
        """Return what the step itself requires, beyond its action, and does not hold."""
        stated = self.state.reader.condition(record.plan.requires, CodePlace(f"step {record.id!r}"))
        lacking = [str(part) for part in conjuncts(stated) if not self.state.beliefs.is_true(part)]
        return f"the step requires {lacking[0]}, which does not hold" if lacking else ""

    def wanted(self, record: StepRecord) -> Expected:
        """Return what the step should change, as far as its action and its plan say."""
        found = expected(self.state.beliefs, record.step)
        if not record.plan.expects:
            return found
        effects, _ = self.state.reader.expected(record.plan.expects, CodePlace(f"step {record.id!r}"))
        facts = {**found.facts, **dict(literal_of(each) for each in effects)}
        changed = [fact for fact, holds in facts.items() if self.state.beliefs.holds(fact) is not holds]
        return replace(found, facts=facts, changed=found.changed.union(changed))

    async def _expected(self, record: StepRecord) -> Expected:
        """Return what the step should change; items that are changed in place are looked at before."""
        wanted = self.wanted(record)
        blank = [item for item, version in wanted.items.items() if version is None and self.lookout.can_see(item)]
        if blank:
            await self.look(blank)
            wanted = self.wanted(record)
        return wanted

    async def look(self, facts: list[Atom]) -> Looked:
        """Look at `facts`, and believe what is seen."""
        looked = await self.lookout.look(facts, self.state.beliefs)
        believe(looked, self.state.beliefs, self.emit, "observed")
        return looked

    def _skill(self, action: str, tried: set[str]) -> Skill:
        """Return the handler to call: one that was not tried for this step, and has failed least in this run."""
        skills = self.world.skills[action]
        if len(skills) == 1:
            return skills[0]
        failed = [self.state.steps[id_].skill for id_ in self.state.finished if self._failed(id_, action)]
        return min(skills, key=lambda skill: (skill.name in tried, failed.count(skill.name)))

    def _failed(self, id_: str, action: str) -> bool:
        record = self.state.steps[id_]
        return record.step.action == action and not record.status.is_done

    async def _attempt(
        self, record: StepRecord, action: Action, skill: Skill, policy: Policy, wanted: Expected
    ) -> bool:
        """Call the handler once, and look; return whether it failed in a way that allows another attempt."""
        try:
            values, sources = filled(self.state, record, action)
        except Missing as error:
            self.emit(StepEnded(record.id, StepStatus.FAILED, str(error)))
            return False
        arguments = self._objects(record, action) | values
        if action.name in self.world.checks:
            reason = await passes(self.world.checks[action.name], arguments)
            if reason:
                self.emit(StepEnded(record.id, StepStatus.FAILED, reason))
                return False
        key, attempt = f"{self.state.run}/{record.id}", record.attempts + 1
        self.emit(StepStarted(record.id, attempt, skill.name, key, values, sources))
        try:
            got = await self.performer.attempt(
                skill, record.step, arguments, policy, lambda: self._context(record, attempt, key)
            )
        finally:
            self._contexts.pop(record.id, None)
        if got.wait is not None:
            self.emit(StepWaiting(record.id, data_of(got.wait), time.time()))
            return False
        return await self.ended(record, got, wanted, policy, attempt)

    async def ended(
        self, record: StepRecord, got: Attempt, wanted: Expected, policy: Policy, attempt: int | None = None
    ) -> bool:
        """Look at what an attempt has done and say so; return whether another attempt is to be made instead."""
        action = self.world.model.actions[record.step.action]
        got = _with_all_created(action, got)
        result = data_of(got.result, got.seconds)
        looked = Looked()
        if action.creates:
            self.emit(StepReturned(record.id, result))
        visible = [fact for fact in wanted.all if self.lookout.can_see(fact)]
        self.lookout.acted(visible)
        if visible:
            if not action.creates:
                self.emit(StepReturned(record.id, result))
            looked = await self._confirmed(visible, wanted)
            judged_apart = wanted.facts.keys() | wanted.items.keys()
            believe(looked, self.state.beliefs, self.emit, "observed", leaving=judged_apart)
        found = judged(action, got.result, wanted, looked, self.state.beliefs, doubt=got.in_doubt)
        found = self._settled(record, action, found)
        harmless = not action.tags.isdisjoint({"idempotent", "read_only"})
        retries = self._retries(action, policy, got)
        over = self.performer.still_working(record.step) or self.aborted.is_set()
        if attempt is not None and not over and found.status in {StepStatus.FAILED, StepStatus.IN_DOUBT}:
            if got.crashed and (harmless or found.absent):
                return True
            vouched = policy.retries is not None and got.raised is None and not got.in_doubt
            if attempt <= retries and (harmless or found.absent or vouched) and _matches(policy, got):
                return True
        repeatable = found.status is not StepStatus.IN_DOUBT and (harmless or found.known)
        awaited = _awaited(wanted) if found.status is StepStatus.IN_DOUBT else ()
        self.emit(StepEnded(record.id, found.status, found.reason, result, found.notes, repeatable, awaited))
        if got.result.values and found.status.is_done:
            self.state.memory.merge(got.result.values)
        return False

    async def _confirmed(self, visible: list[Atom], wanted: Expected) -> Looked:
        facts = {fact: wanted.facts[fact] for fact in visible if fact in wanted.facts}
        items = {fact: wanted.items[fact] for fact in visible if fact in wanted.items}
        return await self.lookout.confirm(facts, items, self.state.beliefs, asyncio.get_running_loop().time())

    def _settled(self, record: StepRecord, action: Action, found: Judgement) -> Judgement:
        """Return what is to be said in the end about a step that may still be at work, or may be done twice."""
        if found.status.is_done:
            return found
        if self.performer.still_working(record.step):
            reason = f"{found.reason}, and its handler is still at work"
            return Judgement(StepStatus.IN_DOUBT, reason, found.notes)
        if found.status is StepStatus.IN_DOUBT and not action.tags.isdisjoint({"idempotent", "read_only"}):
            return replace(found, status=StepStatus.FAILED)
        return found

    def _retries(self, action: Action, policy: Policy, got: Attempt) -> int:
        """Return how often a step is tried again; once, if it is not harmless and did not say itself that it failed."""
        if policy.retries is not None:
            return policy.retries
        if not action.tags.isdisjoint({"idempotent", "read_only"}):
            return TWICE
        return int(got.result.success or got.raised is not None or bool(got.in_doubt))

    async def _again(self, record: StepRecord, skill: Skill, policy: Policy, tried: set[str]) -> None:
        """Wait before the next attempt, and say that it is made."""
        from tenacity import RetryCallState, wait_exponential  # noqa: PLC0415 - most steps succeed at once

        tried.add(skill.name)
        other = self._skill(skill.action.name, tried).name != skill.name
        waits = wait_exponential(multiplier=policy.backoff, max=policy.longest)
        call = RetryCallState(None, None, (), {})  # type: ignore[arg-type]  # the arithmetic asks for the attempt only
        call.attempt_number = record.attempts
        pause = 0.0 if other else float(waits(call)) + self.rng.uniform(0, policy.jitter)
        rung = Rung.SKILL if other else Rung.RETRY
        self.emit(RungTaken(rung, record.id, f"attempt {record.attempts} failed", seconds=pause))
        if pause:
            await asyncio.sleep(pause)

    def _objects(self, record: StepRecord, action: Action) -> dict[str, Any]:
        """Return the planning arguments, as the objects that were given."""
        entities = self.state.objects
        names = [each.name.removeprefix("?") for each in action.parameters]
        return {name: entities.get(each, each) for name, each in zip(names, record.step.arguments, strict=False)}

    def _context(self, record: StepRecord, attempt: int, key: str) -> Context:
        def progress(text: str, fraction: float | None = None) -> None:
            self.emit(StepProgress(record.id, text, fraction))

        context = self._contexts[record.id] = Context(
            plan=self.state.plan.id,
            run=self.state.run,
            step=record.id,
            action=record.step.action,
            attempt=attempt,
            key=key,
            memory=self.state.memory,
            results=self.state.results,
            undoes=tuple([self.state.steps[id_].result or {} for id_ in record.plan.undoes]),
            aborted=asyncio.Event(),
            _on_progress=progress,
            _on_replanning=self.replanning.append,
        )
        return context


def _with_all_created(action: Action, got: Attempt) -> Attempt:
    """Return `got`, which has failed where it lacks an object that `action` creates."""
    names = [name.removeprefix("?") for name in action.creates]
    lacking = [name for name in names if got.result.success and not is_name(name_of(got.result.created.get(name, "")))]
    if not lacking or got.wait is not None:
        return got
    error = f"its result has no {lacking[0]!r} with a name among the objects that it created"
    return replace(got, result=replace(got.result, success=False, error=error))


def _awaited(wanted: Expected) -> tuple[Note, ...]:
    """Return what holds if a step happened of which nobody knows."""
    facts = {**wanted.facts, **dict.fromkeys(wanted.stale, False)}
    return tuple([Note(fact, holds, Provenance.ASSUMED) for fact, holds in facts.items()])


def _matches(policy: Policy, got: Attempt) -> bool:
    """Return whether the policy says that a failure like this is tried again."""
    if policy.retry_on is None:
        return True
    if isinstance(policy.retry_on, tuple):
        failure = got.raised or (TimeoutError() if got.in_doubt else None)
        return failure is None or isinstance(failure, policy.retry_on)
    return policy.retry_on(got.raised or got.result)
