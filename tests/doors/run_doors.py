"""Doors of the executor: runs in each execution model, of plans by hand, by workers, and within other runs."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any, ClassVar

from doors.door import Door, Question, Told
from executor import ActionPlan, ActionResult, Executor, RunOutcome, RunStatus, World
from executor.plans.execution_models import OFFERED
from executor.workers.worker import Worker
from planner import Domain
from planner.errors import ForethoughtError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from doors.scenes import Site


class ExecutorDoor(Door):
    """`Executor.run` of a problem, in one execution model."""

    model: ClassVar[Any] = None
    is_named: ClassVar[bool] = False
    is_listed: ClassVar[bool] = False
    """Whether the plan is written by hand."""

    def __init__(self, site: Site) -> None:
        super().__init__(site)
        self.executor = Executor(site.world, site.journal, model=self.model)
        self.current: Any = None
        self.last: Told | None = None

    async def ask(self) -> Told:
        names = {"run": "till"} if self.is_named else {}
        self.current = self.executor.start(self._what(), **names)
        return self._tell(await self.current)

    def _what(self) -> Any:
        if not self.is_listed:
            return self.problem
        names = (*(["check"] if self.site.scene.reports else []), "pay", "prepare", "seal")
        steps = [{"id": name, "action": name} for name in names]
        goal = {"goal": self.goal} if self.has_goal else {}
        return ActionPlan.model_validate({"initial": self.site.start, "steps": steps, **goal})

    def _tell(self, outcome: RunOutcome) -> Told:
        self.last = Told.of(outcome)
        return self.last

    async def answer(self, question: Question, answer: Any) -> Told:
        return self._tell(await self.executor.resume(question.run, answers={question.name: answer}))

    async def resume(self) -> Told | None:
        if self.has_journal:
            return await resume_all(self.executor)
        if self.current is None or self.current.state.status.is_over:
            return None
        return self._tell(await self.executor.resume(self.current.id))

    def call_off(self, task: asyncio.Task[Any]) -> None:  # noqa: ARG002 - the run itself is called off
        self.current.cancel()


async def resume_all(executor: Executor, among: Collection[str] | None = None) -> Told | None:
    """Resume all runs that are not over, one after the other; return what the last of them tells."""
    told = None
    for run, info in executor.runs().items():
        if not info.status.is_over and (among is None or run in among):
            told = Told.of(await executor.resume(run))
    return told


class WorkerDoor(ExecutorDoor):
    """Runs that are recorded, and carried out by a worker."""

    async def ask(self) -> Told:
        run = await self.executor.enqueue(self.problem)
        await self._work()
        return self._tell_run(run)

    async def _work(self) -> None:
        self.worker = Worker(self.executor)
        await self.worker.work(once=True)

    def _tell_run(self, run: str) -> Told:
        told = Told.of(RunOutcome.of(run, self.executor.state_of(run)))
        return told if told.status != "ACTIVE" else Told("OPEN", "it is left to the next worker")

    async def answer(self, question: Question, answer: Any) -> Told:
        await self.executor.hand_over(question.run, answers={question.name: answer})
        await self._work()
        return self._tell_run(question.run)

    async def resume(self) -> Told | None:
        left = [run for run, info in self.executor.runs().items() if not info.status.is_over and self._is_mine(run)]
        await self._work()
        return self._tell_run(left[-1]) if left else None

    def _is_mine(self, run: str) -> bool:
        """Return whether a worker carries out a run: that of an agent waits for its next call."""
        return self.executor.state_of(run).model != OFFERED

    def call_off(self, task: asyncio.Task[Any]) -> None:
        task.cancel()


class NestedDoor(ExecutorDoor):
    """A run within a handler of another run."""

    def __init__(self, site: Site) -> None:
        super().__init__(site)
        outer = Domain("errand")
        outer.action("deal", provides=["dealt"], tags=["idempotent"])
        world = World(outer)
        world.handler("deal")(self._deal)
        world.observer("dealt", conclusive=True)(lambda: site.bank.holds("sealed"))
        self.outer, self.errand = Executor(world, site.journal), outer.problem(goal=["dealt"])

    async def _deal(self) -> ActionResult:
        outcome = await self.executor.run(self.problem)
        return ActionResult(success=outcome.succeeded, error=outcome.reason)

    async def ask(self) -> Told:
        self.current = self.outer.start(self.errand)
        return self._tell_all(await self.current)

    def _tell_all(self, outcome: RunOutcome) -> Told:
        """Return what the outer run tells, with the questions of the inner ones."""
        told, runs = Told.of(outcome), self.executor.runs()
        self.inner = [run for run in runs if run != outcome.run]
        asked = [] if outcome.succeeded else [self._questions(run) for run in self.inner]
        return Told(told.status, told.reason, (*told.questions, *(each for some in asked for each in some)))

    def _questions(self, run: str) -> Iterable[Question]:
        with contextlib.suppress(Exception):
            state = self.executor.state_of(run)
            return () if state.status.is_over else Told.of(RunOutcome.of(run, state)).questions
        return ()

    async def answer(self, question: Question, answer: Any) -> Told:
        owner = self.executor if question.run in self.inner else self.outer
        outcome = await owner.resume(question.run, answers={question.name: answer})
        if outcome.status is RunStatus.FAILED:  # refused: whoever began the outer run, which is over, is told
            return Told.of(outcome)
        return await self.ask()

    async def resume(self) -> Told | None:
        inner = {run for run in self.outer.runs() if self._is_inner(run)}
        told = await resume_all(self.outer, self.outer.runs().keys() - inner)
        await resume_all(self.executor, inner)
        return told

    def _is_inner(self, run: str) -> bool:
        with contextlib.suppress(ForethoughtError):
            return self.executor.state_of(run) is not None
        return False
