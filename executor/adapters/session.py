"""The run of a toolset: it is begun or taken up by name, and driven for each call; between calls nobody drives it."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from typing import Any
from uuid import uuid4

from executor import Executor
from executor.errors import DrivenError, FencedError, MovingError, NoRunError, RunError, RunExists
from executor.events.events import UNFINISHED, RunStatus
from executor.events.run_state import RunState
from executor.joining import WORDS
from executor.loop.locks_and_rates import find_pause
from executor.plans.action_plan import ActionPlan, goals_of, statement_of
from executor.plans.prepare import PreparedPlan
from executor.recovery.recovery_policy import MORE
from executor.run import Run
from executor.tools.json_data import dump_json
from planner.errors import InputError, NoPlan
from planner.model import Problem
from planner.plan import StoppedBy


class Idle:
    """A driver that leaves its run waiting."""

    def choose(self, *_: Any) -> None:
        """Choose nothing."""


@dataclass(slots=True, eq=False)
class Session:
    """The run called `name` towards the goal of `problem`; `request` are options of `Executor.start`.

    Without a name, it is the unfinished run of the journal for the same request, or else a new one.
    """

    executor: Executor
    problem: Problem
    name: str | None
    request: Mapping[str, Any]
    time_limit: float
    run: Run | None = field(init=False, default=None)
    """The run as this object has driven it last."""

    async def refresh(self) -> Run:
        """Return the run in its present state; it is begun, or taken up, if need be."""
        return self.run if self.run is not None and self._is_up_to_date(self.run) else await self.drive()

    async def drive(self, **options: Any) -> Run:
        """Drive the run, with `options` of `Executor.take_up`, until it waits or is over; wait for other drivers."""
        waited = 0.0
        while True:
            try:
                if self.run is None and not options:
                    return await self._open()
                assert self.run is not None, "it was opened before"
                return await self._take_up(**options)
            except (FencedError, MovingError):
                raise
            except (DrivenError, RunExists):  # somebody else drives it, or has just begun it
                pause = find_pause(waited)
                waited += pause
                await asyncio.sleep(pause)

    def _is_up_to_date(self, run: Run) -> bool:
        if run.state.status.is_over:
            return True
        if run.state.status is RunStatus.ACTIVE:  # its driver was cancelled
            return False
        if any(map(self.executor.book.is_free, run.state.list_awaited())):  # another run is done with what it needs
            return False
        if self.executor.is_answered(run.id):
            return False
        if self.executor.journal is None:
            return True
        try:
            with self.executor.journal.drive(run.id) as events:
                return bool(events == run.count)
        except DrivenError:
            return False

    async def _open(self) -> Run:
        """Begin the run, or take it up; raises `InputError` for a run with another goal."""
        if self.name is None:
            self.name = self._find_name()
        state = self._find_state(self.name)
        if state is None:
            return await self._begin(self.name)
        if state.plan.goal != goals_of(self.problem.goal):
            found, hint = f"the run {self.name!r} has another goal: {state.goal}", "give it that goal, or another name"
            raise InputError(found, hint=hint)
        begun = {"occasion": state.occasion, "again": tuple(state.again)}
        for what in [each for each, value in begun.items() if value != self.request[each]]:
            word = WORDS.get(what, what)
            found = f"the run {self.name!r} was begun for another {word}: {begun[what]!r}, not {self.request[what]!r}"
            raise InputError(found, hint="give it another name")
        return await self._take_up()

    async def _begin(self, name: str) -> Run:
        request: dict[str, Any] = {"run": name, "driver": Idle(), "join": False, **self.request}
        start = self.executor.start
        for seconds in (self.time_limit, MORE * self.time_limit):
            try:
                return await self._await_end(start(self.problem, time_limit=seconds, **request))
            except NoPlan as error:
                if error.result.stopped_by is not StoppedBy.TIME:
                    break
        # The run begins all the same: what its driver calls may lead to a plan.
        plan = ActionPlan(**statement_of(self.problem), supposes=())
        return await self._await_end(start(PreparedPlan(plan, self.problem), **request))

    async def _take_up(self, **options: Any) -> Run:
        assert self.name is not None, "a run has a name"
        entities = self.problem.entities
        return await self._await_end(self.executor.take_up(self.name, entities=entities, before=self.run, **options))

    async def _await_end(self, run: Run) -> Run:
        try:
            await run
        finally:
            with suppress(RunError):  # a run whose search was cancelled has no state
                assert run.state
                self.run = run
        return run

    def _find_state(self, name: str) -> RunState | None:
        with suppress(NoRunError, RunError):
            return self.executor.state_of(name, self.problem.entities)
        return None

    def _goes_on(self, name: str) -> bool:
        """Return whether a run that waits has something to do: a new request begins another in place of a stuck one."""
        state = self._find_state(name)
        return state is None or state.status is not RunStatus.WAITING or bool(state.with_status(*UNFINISHED))

    def _find_name(self) -> str:
        """Return the name of the unfinished run of the journal for the same request, or a new name."""
        journal = self.executor.journal
        if journal is None:
            return uuid4().hex[:12]
        model, label = self.executor.world.model.name, self.executor.world.label
        world = {} if label == model else {"world": label}
        asked = dump_json({**statement_of(self.problem), **self.request, **world})
        prefix = f"{model}-{hashlib.sha256(asked.encode()).hexdigest()[:12]}"
        runs = {each.run: each.status for each in journal.runs() if each.run.startswith(prefix)}
        left = [name for name, status in runs.items() if not (status and RunStatus[status].is_over)]
        return (
            left[-1]
            if left and self._goes_on(left[-1])
            else next(name for n in count(1) if (name := f"{prefix}-{n}") not in runs)
        )
