"""The life of one step: may it begin, then its handler is called, as often as its policy says."""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from executor.looking.judge import Expected
from executor.looking.observe import Lookout
from executor.record.events import Event, Rung, RungTaken, StepEnded, StepProgress, StepStarted, StepWaiting
from executor.record.state import RunState
from executor.record.status import StepStatus
from executor.record.steps import StepRecord
from executor.steps.aftermath import Aftermath
from executor.steps.conditions import Conditions
from executor.steps.parameters import Missing, filled
from executor.steps.perform import Attempt, Performer, passes
from executor.steps.retries import chosen, pause
from executor.world.context import Context
from executor.world.data import data_of
from executor.world.policy import Policy
from executor.world.world import Skill, World
from planner.model import Action

Filled = tuple[dict[str, Any], dict[str, str]]
"""Values of data parameters, and where each came from."""


class _Unchosen(Exception):  # noqa: N818 - it names what happened
    """The policy of a step does not say which of its handlers is called."""


class Asker(Protocol):
    """Whoever can be asked: see `executor.recovery.asking`."""

    async def approval(self, record: StepRecord, action: Action, values: Mapping[str, Any]) -> str | None:
        """Return why the step is not allowed with `values`; nothing where it is, None where nobody has said yet."""


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
    conditions: Conditions = field(init=False)
    aftermath: Aftermath = field(init=False)
    _contexts: dict[str, Context] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self.conditions = Conditions(self.state, self.emit, self.lookout)
        self.aftermath = Aftermath(self.state, self.emit, self.lookout, self.performer, self.aborted)

    def abort(self) -> None:
        """Tell all handlers at work that the run is called off."""
        self.aborted.set()
        for context in self._contexts.values():
            context.aborted.set()

    def policy_of(self, record: StepRecord) -> Policy:
        """Return how the step is tried."""
        policy = self.world.policy_of(record.step.action)
        return policy if record.plan.policy is None else record.plan.policy.over(policy)

    async def carry_out(self, record: StepRecord, among: Sequence[Skill] = ()) -> None:
        """Do the step of `record`, as often as its policy allows: it has ended then, or waits.

        Where some of its handlers are given, the first to be called is `among` them.
        """
        action = self.world.model.actions[record.step.action]
        reason = await self._not_now(record, action)
        if reason:
            self._failed(record, reason)
            return
        try:
            values, sources = filled(self.state, record, action)
        except Missing as error:
            self._failed(record, str(error))
            return
        refused = await self.asker.approval(record, action, values)
        if refused is None:
            return
        if refused:
            self._failed(record, refused, repeatable=False)
            return
        policy, skills = self.policy_of(record), among or self.world.skills[action.name]
        try:
            skill = self._chosen(record, skills, policy)
            while not reason:
                wanted = await self.conditions.expected(record)
                skills = await self._attempt(record, skill, policy, wanted, (values, sources))
                if not skills:
                    return
                skill = await self._again(record, skills, policy)
                reason = await self.conditions.unmet(record, action)
        except _Unchosen as error:
            reason = str(error)
        self._failed(record, reason)

    def _failed(self, record: StepRecord, reason: str, *, repeatable: bool = True) -> None:
        self.emit(StepEnded(record.id, StepStatus.FAILED, reason, repeatable=repeatable))

    async def _not_now(self, record: StepRecord, action: Action) -> str:
        """Return why the step cannot be done; nothing where it can."""
        reason = await self.conditions.unmet(record, action)
        if not reason and self.state.has_failed_here(record.step):
            reason = "it has failed before in this very state"
        if not reason and not self.world.skills.get(action.name):
            reason = f"{action.name} has no handler"
        return reason

    async def _attempt(
        self, record: StepRecord, skill: Skill, policy: Policy, wanted: Expected, filled_in: Filled
    ) -> Sequence[Skill]:
        """Call the handler once, and look; return which may be called next, where it failed in a way that allows it."""
        action, (values, sources) = skill.action, filled_in
        arguments = self._objects(record, action) | values
        key, attempt = f"{self.state.run}/{record.id}", record.attempts + 1
        if action.name in self.world.checks:
            reason = await passes(
                self.world.checks[action.name], arguments, self._context(record, key, attempt), policy.timeout
            )
            if reason:
                self._contexts.pop(record.id, None)
                self._failed(record, reason)
                return ()
        self.emit(StepStarted(record.id, attempt, skill.name, key, values, sources))
        got = await self._answer(record, skill, arguments, policy, key)
        if got.wait is not None:
            self.emit(StepWaiting(record.id, data_of(got.wait), time.time()))
            return ()
        return await self.aftermath.ended(record, got, wanted, policy, self.world.skills[action.name])

    async def _answer(
        self, record: StepRecord, skill: Skill, arguments: dict[str, Any], policy: Policy, key: str
    ) -> Attempt:
        try:
            return await self.performer.attempt(
                skill, record.step, arguments, policy, lambda: self._context(record, key, record.attempts)
            )
        finally:
            self._contexts.pop(record.id, None)

    async def _again(self, record: StepRecord, skills: Sequence[Skill], policy: Policy) -> Skill:
        """Return which of `skills` is called next, after a pause if it is the same again."""
        skill = self._chosen(record, skills, policy)
        rung = Rung.RETRY if skill.name == record.skill else Rung.SKILL
        seconds = pause(policy, record.attempts, self.rng) if rung is Rung.RETRY else 0.0
        self.emit(RungTaken(rung, record.id, f"attempt {record.attempts} failed", seconds=seconds))
        if seconds:
            await asyncio.sleep(seconds)
        return skill

    def _chosen(self, record: StepRecord, skills: Sequence[Skill], policy: Policy) -> Skill:
        """Return which of `skills` is called; raises `_Unchosen`."""
        if len(skills) == 1:
            return skills[0]
        here, ever = record.failed, self.state.failed_skills[record.step.action]
        if record.status is StepStatus.RUNNING:
            here, ever = (*here, record.skill), ever + Counter([record.skill])
        try:
            return chosen(skills, policy, here, ever)
        except Exception as error:
            raise _Unchosen(f"no handler was chosen: {type(error).__name__}: {error}") from error

    def _objects(self, record: StepRecord, action: Action) -> dict[str, Any]:
        """Return the planning arguments, as the objects that were given."""
        entities = self.state.objects
        names = [each.name.removeprefix("?") for each in action.parameters]
        return {name: entities.get(each, each) for name, each in zip(names, record.step.arguments, strict=False)}

    def _context(self, record: StepRecord, key: str, attempt: int) -> Context:
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
