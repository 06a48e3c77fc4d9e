"""`Executor`: plans are carried out in a world, runs are kept in a journal, and taken up again from it."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, get_args
from uuid import uuid4

from executor.errors import RunError
from executor.follow.listeners import Audience, Follower, Listener
from executor.journal import Journal
from executor.looking.observe import Lookout
from executor.looking.survey import Survey
from executor.plans.action_plan import ActionPlan, ExecutionModel, Goals, steps_of
from executor.record import stored
from executor.record.encoding import from_data, to_data
from executor.record.events import (
    Answered,
    Event,
    GoalDropped,
    MemorySet,
    RunEnded,
    RunResumed,
    RunStarted,
)
from executor.record.state import RunState
from executor.record.status import RunStatus, StepStatus
from executor.record.steps import StepRecord
from executor.record.stored import RunInfo
from executor.recovery.asking import Asking, Callback, meant
from executor.recovery.hierarchy import check_tasks
from executor.recovery.ladder import Ladder
from executor.recovery.policy import Recovery
from executor.run import Loop
from executor.steps.perform import Performer, checked
from executor.steps.stepping import Stepper
from executor.world.data import dumped
from executor.world.results import Wait
from executor.world.world import World
from planner.errors import InputError, PlanError, did_you_mean
from planner.kinds import AnyProblem, is_other_problem
from planner.model import Goal, Problem, SoftGoal
from planner.model.formulas import conjunction, conjuncts
from planner.plan import Plan, Result
from planner.records import replace

KEPT: Final = frozenset({"StepProgress"})
"""Events that the journal does not keep."""
BEGUN: Final = {"RunStarted": "ACTIVE", "RunResumed": "ACTIVE"}
"""The status of a run after events that do not state it."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run ended: `steps` are all that ever were in its plan, `open` the questions that nobody has answered."""

    run: str
    status: RunStatus
    reason: str
    steps: tuple[StepRecord, ...] = field(repr=False)
    metrics: Mapping[str, Any]
    state: RunState = field(repr=False)

    @property
    def succeeded(self) -> bool:
        """Whether the goal was observed."""
        return self.status is RunStatus.SUCCEEDED


class Run:
    """A run that is being driven: awaited, it gives its `Outcome`."""

    def __init__(self, executor: Executor, state: RunState, run: str) -> None:
        self.id = run
        self.state = state
        self._executor = executor
        self.audience = Audience(executor.listeners)
        self.first: RunStarted | None = None
        """The event to begin with, for a run that is new."""
        self.dropped: list[SoftGoal] = []
        """The soft goals that its plan gives up."""
        self.values: Mapping[str, Any] = {}
        """What its working memory begins with."""
        self._task: asyncio.Task[Outcome] | None = None
        asking = Asking(state, self.emit, executor.ask, executor.permit, executor.approve)
        lookout = Lookout(executor.world, state.objects)
        rng = random.Random(f"{executor.seed} {run}")  # noqa: S311 - jitter needs no secrets
        self._stepper = stepper = Stepper(
            executor.world, state, self.emit, lookout, executor.performer, asking, asyncio.Event(), [], rng
        )
        state.memory.listen(lambda key, value: self.emit(MemorySet(key, value)))
        lacking = frozenset(executor.world.without_handler())
        ladder = Ladder(state, self.emit, asking, executor.recovery, lacking, Survey(state, lookout, self.emit))
        self._loop = Loop(state, self.emit, stepper, ladder, executor.concurrency, executor.stay)

    def emit(self, event: Event) -> None:
        """Note that something happened: in the journal, in the state, and to those who listen."""
        kind = type(event).__name__
        journal = self._executor.journal
        if journal is not None and kind not in KEPT:
            status = event.status.name if isinstance(event, RunEnded) else BEGUN.get(kind)
            journal.append(self.id, kind, dumped(to_data(event)), status=status)
        self.state.apply(event)
        self.audience.tell(event)

    async def drive(self) -> Outcome:
        """Drive the run until it ends, or waits."""
        try:
            ended = await self._loop.drive()
        except asyncio.CancelledError:
            self._stepper.abort()
            raise
        self.emit(ended)
        return self.outcome

    @property
    def outcome(self) -> Outcome:
        """What has become of the run so far."""
        state = self.state
        return Outcome(self.id, state.status, state.reason, tuple(state.steps.values()), state.metrics, state)

    def cancel(self) -> None:
        """Call the run off: nothing more is begun, handlers are told, and what is at work may end."""
        self._stepper.abort()
        self._loop.wake()

    def complete(self, step: str, result: Any = None) -> None:
        """Give a waiting step its result; raises `RunError` for one that does not wait, `InputError` for no result."""
        record = self.state.steps.get(step)
        if record is None or record.status is not StepStatus.WAITING or "question" in (record.wait or {}):
            waiting = [each.id for each in self.state.with_status(StepStatus.WAITING)]
            raise RunError(f"the step {step!r} waits for no result; those that wait: {', '.join(waiting) or 'none'}")
        if isinstance(result, Wait):
            raise InputError("a step that waits is completed by a result, not by another Wait")
        found, choices = checked(result), (record.wait or {}).get("choices")
        if choices and found.success and found.text not in choices:
            raise InputError(f"the step {step!r} waits for one of {', '.join(choices)}, not {found.text!r}")
        self._loop.complete(step, found)

    def answer(self, question: str, answer: Any) -> None:
        """Answer an open question; raises `RunError` where it is none, and `InputError` for what is no answer."""
        asked = self.state.questions.get(question)
        if asked is None:
            known = ", ".join(self.state.questions) or "none"
            raise RunError(f"nobody has asked {question!r}; the open questions: {known}")
        if meant(asked, answer) is None:
            raise InputError(f"{answer!r} is no answer to {question!r}", hint=f"say one of: {', '.join(asked.choices)}")
        self.emit(Answered(question, answer))
        self._loop.wake()

    def listen(self, listener: Callable[[Event], None]) -> None:
        """Have every event told to `listener`."""
        self.audience.add(listener)

    def start(self) -> None:
        """Begin to drive the run as a task."""
        self._task = asyncio.create_task(self._executor.driven(self))

    def __await__(self) -> Any:
        assert self._task is not None, "a run is made by Executor.start"  # noqa: S101 - a mistake of ours
        return self._task.__await__()

    async def events(self) -> AsyncIterator[Event]:
        """Yield what happens from now on, until the run ends."""
        queue: asyncio.Queue[Event | None] = asyncio.Queue()
        self.listen(queue.put_nowait)
        assert self._task is not None, "a run is made by Executor.start"  # noqa: S101 - as above
        self._task.add_done_callback(lambda _: queue.put_nowait(None))
        while (event := await queue.get()) is not None:
            yield event


@dataclass(slots=True, eq=False)
class Executor:
    """Carries out plans in `world`.

    `journal` is a file, or a `Journal`; without one nothing survives the process. `model` overrides the execution model
    of plans, `concurrency` limits how many steps are at work at once. `permit`, `approve` and `ask` are callbacks (see
    `executor.recovery.asking`). `stay`: a run that waits for an answer from outside goes on waiting in this process;
    otherwise it ends as WAITING, and `resume` takes it up again.
    """

    world: World
    journal: Any = None
    model: ExecutionModel | None = None
    concurrency: int | None = None
    recovery: Recovery = field(default_factory=Recovery)
    permit: Callback = None
    approve: Callback = None
    ask: Callback | Literal["later"] = None
    stay: bool = False
    durability: Literal["process", "power"] = "process"
    listeners: tuple[Listener | Follower, ...] = ()
    seed: int = 0
    performer: Performer = field(init=False, default_factory=Performer)
    _runs: dict[str, Run] = field(init=False, default_factory=dict)
    _names: set[str] = field(init=False, default_factory=set)
    """The ids that runs were given, where no journal knows them."""

    def __post_init__(self) -> None:
        if self.concurrency is not None and self.concurrency < 1:
            raise InputError(f"at least one step is at work at a time, not {self.concurrency}")
        if self.model is not None and self.model not in get_args(ExecutionModel):
            hint = did_you_mean(self.model, get_args(ExecutionModel))
            raise InputError(f"there is no execution model {self.model!r}", hint=hint)
        self.performer = Performer(self.world.model.name)
        if isinstance(self.journal, str | Path):
            self.journal = Journal(self.journal, self.durability)

    async def run(self, what: AnyProblem | Plan | Result | ActionPlan, **options: Any) -> Outcome:
        """Carry out a plan, or a problem's best plan, and return how it ended; see `start`."""
        outcome: Outcome = await self.start(what, **options)
        return outcome

    def start(
        self,
        what: AnyProblem | Plan | Result | ActionPlan,
        *,
        run: str | None = None,
        memory: Mapping[str, Any] | None = None,
        **planning: Any,
    ) -> Run:
        """Begin to carry out a plan, or a problem's best plan (found with the options `planning` of `solve`).

        Raises `NoPlan` where there is none, `PlanError` for a plan that does not fit the domain, and `JournalError` or
        `RunError` where there is a `run` of this id already.
        """
        plan, problem, dropped = self._planned(what, planning, memory or ())
        if self.model is not None:
            plan = plan.model_copy(update={"model": self.model})
        name = run or uuid4().hex[:12]
        state = RunState(self.world.model, plan, problem, self.world.hierarchy)
        begun = Run(self, state, name)
        if self.journal is not None:
            self.journal.create(name)
        elif run is not None:
            self._name(run)
        begun.first = RunStarted(name, plan.model_dump(mode="json"), plan.model)
        begun.values = memory or {}
        begun.dropped = dropped
        begun.start()
        return begun

    def _name(self, run: str) -> None:
        """Note that there is a `run` of this id; raises `RunError` where there was one."""
        if run in self._names:
            raise RunError(f"there is already a run {run!r}", hint="take another name")
        self._names.add(run)

    def _planned(
        self, what: Any, planning: Mapping[str, Any], memory: Collection[str] = ()
    ) -> tuple[ActionPlan, Problem, list[SoftGoal]]:
        """Return the plan to carry out, its problem, and the soft goals that it gives up."""
        if isinstance(what, Problem) or is_other_problem(what):
            return self._solved(what, planning)
        if isinstance(what, Result):
            what = what.expect_plan()
        if isinstance(what, ActionPlan):
            self._check(what, memory)
            problem = what.problem(self.world.model)
            check_tasks(what, problem, self.world.hierarchy)
            return what, problem, []
        problem = what.problem.classical if is_other_problem(what.problem) else what.problem
        return ActionPlan.of(what), problem, []

    def _check(self, plan: ActionPlan, memory: Collection[str]) -> None:
        """Raise `PlanError` with everything that is wrong with `plan`, if anything is."""
        from executor.checks import check_plan, errors_in  # noqa: PLC0415 - plans that were found need no check

        errors = errors_in(check_plan(plan, self.world, memory=memory))
        if errors:
            raise PlanError("this plan cannot be run:\n" + "\n".join(map(str, errors)))

    def _solved(self, problem: Any, planning: Mapping[str, Any]) -> tuple[ActionPlan, Problem, list[SoftGoal]]:
        """Return a plan for `problem`: for as much of the soft goals as can be had, the least useful given up first."""
        from planner.solve import solve  # noqa: PLC0415 - plans that are given need no search

        if not (isinstance(problem, Problem) and problem.goal.soft):
            return self._planned(solve(problem, **planning), {})
        wishes, dropped = sorted(problem.goal.soft, key=lambda each: each.utility), list[SoftGoal]()
        while True:
            hard = conjunction([*conjuncts(problem.goal.hard), *(each.condition for each in wishes)])
            found = solve(replace(problem, goal=Goal(hard)), **planning)
            if found.has_plan or not wishes:
                steps = tuple(steps_of(found.expect_plan().steps, self.world.model))
                return ActionPlan.of(Plan((), problem), steps=steps), problem, dropped
            dropped.append(wishes.pop(0))

    def announce(self, event: str, result: Any = None) -> int:
        """Give `result` to all steps at work here that wait for `event`; return to how many."""
        found = [
            (run, record.id)
            for run in self._runs.values()
            for record in run.state.with_status(StepStatus.WAITING)
            if (record.wait or {}).get("event") == event
        ]
        for run, step in found:
            run.complete(step, result)
        return len(found)

    async def driven(self, run: Run) -> Outcome:
        """Drive `run`, which nobody else may drive meanwhile."""
        with self._driving(run.id), self._at_work(run):
            if run.first is not None:
                run.emit(run.first)
                for wish in run.dropped:
                    run.emit(GoalDropped(str(wish.condition), float(wish.utility)))
                run.state.memory.merge(run.values)
            return await run.drive()

    @contextmanager
    def _at_work(self, run: Run) -> Iterator[None]:
        self._runs[run.id] = run
        try:
            with run.audience.at(run.state, run.id):
                yield
        finally:
            self._runs.pop(run.id, None)

    def _driving(self, run: str) -> AbstractContextManager[Any]:
        return nullcontext() if self.journal is None else self.journal.drive(run)

    async def resume(
        self,
        run: str,
        *,
        answers: Mapping[str, Any] | None = None,
        entities: Mapping[str, object] | None = None,
        results: Mapping[str, Any] | None = None,
    ) -> Outcome:
        """Take up a run from the journal: what was done is not done again.

        `answers` are for open questions, `results` for waiting steps. Raises `JournalError` for a run that is not in
        the journal, or that another process drives, and `RunError` for questions that nobody has asked and for steps
        that do not wait.
        """
        self._kept()
        with self._driving(run):
            state = self.state_of(run, entities)
            taken = Run(self, state, run)
            if state.status.is_over:
                return taken.outcome
            with self._at_work(taken):
                taken.emit(RunResumed(run))
                for question, answer in (answers or {}).items():
                    taken.answer(question, answer)
                for step, result in (results or {}).items():
                    taken.complete(step, result)
                return await taken.drive()

    def state_of(self, run: str, entities: Mapping[str, object] | None = None) -> RunState:
        """Return the state of a run: of one at work here as it changes, of another as the journal has it by now."""
        if run in self._runs:
            return self._runs[run].state
        events = (from_data(each.kind, json.loads(each.data)) for each in self._kept().read(run))
        first = next(events, None)
        if not isinstance(first, RunStarted):
            raise RunError(f"the journal has no beginning of run {run!r}")
        plan = ActionPlan.model_validate(first.plan)
        problem = plan.problem(self.world.model, entities)
        state = RunState(self.world.model, plan, problem, self.world.hierarchy)
        state.apply(first)
        for event in events:
            state.apply(event)
        return state

    def runs(self) -> dict[str, RunInfo]:
        """Return all runs in the journal by id, the oldest first."""
        return stored.runs(self._kept())

    def save_plan(self, plan: ActionPlan) -> None:
        """Keep `plan` in the journal under its id, in place of what was kept under it before."""
        stored.save_plan(self._kept(), plan)

    def plans(self) -> dict[str, ActionPlan]:
        """Return the plans in the journal by id, those that were saved and those that ran, each as it stands now."""
        return stored.plans(self._kept())

    def save_goal(self, name: str, goal: Goals) -> None:
        """Keep `goal` in the journal under `name`, in place of what was kept under it before."""
        stored.save_goal(self._kept(), name, goal)

    def goals(self) -> dict[str, Goals]:
        """Return the goals in the journal by name."""
        return stored.goals(self._kept())

    def _kept(self) -> Journal:
        """Return the journal; raises `RunError` where there is none."""
        if self.journal is None:
            raise RunError("this is kept in a journal", hint="give the executor one: Executor(world, 'runs.db')")
        journal: Journal = self.journal
        return journal

    def complete(self, run: str, step: str, result: Any = None) -> None:
        """Give a waiting step its result; the run must be driven by this executor, else see `resume`."""
        if run not in self._runs:
            raise RunError(f"the run {run!r} is not at work here", hint="resume(run, results={step: result})")
        self._runs[run].complete(step, result)
