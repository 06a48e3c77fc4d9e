"""Begin, resume and look at runs for clients: in simulated worlds, each run in one of its own, or by bound handlers.

A run never waits for a client: where it needs an answer it ends as WAITING, and its questions are data; `go_on` resumes
it with answers. One that waits for a step of another run goes on by itself when that is over. With a journal, runs
outlive the server, and `forethought run --resume` takes them up as well.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Final
from uuid import uuid4

from executor import Event, Executor, Run, RunError, RunOutcome, World
from executor.cli.execute import (
    RunOptions,
    RunReport,
    Simulated,
    check_options,
    check_run_name,
    find_world,
    ledger_path,
    make_simulation,
    sample_memory,
)
from executor.cli.outcome import to_dict
from executor.errors import RunExists
from executor.events.events import DONE
from executor.events.run_state import RunState
from executor.journal import open_journal
from executor.loop.locks_and_rates import find_pause
from executor.loop.step import LOOK
from executor.mcp_server import tool_data
from executor.report.progress import event_line
from executor.testing import SimulatedWorld, run_virtual
from planner.errors import ForethoughtError, InputError
from planner.language.loading.load import Source
from planner.limits import Limits
from planner.plan import Plan
from planner.problem_kinds import AnyProblem
from planner.solve import solve

Tell = Callable[[float, float | None, str], None]
"""Told, from any thread, how much is done, of how much, and what happened."""
MOST_RUNS: Final = 1_000
"""Most runs that are remembered without a journal; of more, the oldest that nobody drives are forgotten."""
PATIENCE_SECONDS: Final = 10.0
"""Seconds that steps at work have to end when the server stops."""


@dataclass(slots=True, eq=False)
class KnownRun:
    """A run that this server has begun or resumed, with its executor and, in a simulated world, that world."""

    name: str
    executor: Executor
    simulated: SimulatedWorld | None
    run: Run | None = None
    outcome: RunOutcome | None = None
    is_driven: bool = True
    is_stopped: bool = False
    """Whether somebody has asked it to stop."""

    def interrupt(self) -> None:
        """Begin no more steps: the run ends as WAITING when those at work are over."""
        self.is_stopped = True
        if self.run is not None:
            with suppress(RunError):
                self.run.interrupt()

    @property
    def state(self) -> RunState | None:
        """The state of the run; None before it has a plan."""
        if self.outcome is not None and not self.is_driven:
            return self.outcome.state
        with suppress(RunError):
            return None if self.run is None else self.run.state
        return None

    @property
    def holds(self) -> bool | None:
        """Whether the goal holds in the simulated world; None in the real one."""
        simulated = self.simulated
        return None if simulated is None else simulated.holds(simulated.problem.goal.hard)


class RunTools:
    """The runs of the domain of `source`; `options` are those of `forethought run`, with the domain and the journal.

    `entities` are the Python values of objects, for runs that are resumed. With `options.approves`, steps that need an
    approval are done without a question. Raises `InputError` for options that do not go together, and for a real world
    without handlers.
    """

    def __init__(self, source: Source, options: RunOptions, entities: Mapping[str, object] | None = None) -> None:
        check_options(options)
        self._options = options
        self._entities = entities
        self._source = source
        self._journal = None if options.journal is None else open_journal(options.journal)
        self._known: dict[str, KnownRun] = {}
        """The runs at work; without a journal, others too."""
        self._tasks: set[asyncio.Future[Any]] = set()
        self._following: set[asyncio.Task[None]] = set()
        """Tasks that wait for the steps of other runs that runs need."""
        self._virtual = ThreadPoolExecutor(1, "virtual-time")
        """Carries out simulated runs one by one: the clock of virtual time looks at all threads."""
        self._executor = None
        if options.is_real:
            self._executor = self._make_executor(find_world(options, source, source.domain()))

    async def interrupt_all(self) -> None:
        """Interrupt all runs, and wait a while for steps at work."""
        for task in self._following:
            task.cancel()
        for each in list(self._known.values()):
            if each.is_driven:
                each.interrupt()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=PATIENCE_SECONDS)

    def _make_executor(self, world: World) -> Executor:
        approve = (lambda _: True) if self._options.approves else None
        return Executor(world, self._journal, approve=approve, ask="later", seed=self._options.seed)

    def find_plan(self, problem: AnyProblem, limits: Limits) -> Plan:
        """Search for a plan, for a simulated run; raises `NoPlan`."""
        return solve(
            problem, time_limit=limits.remaining, memory_limit=limits.memory_limit, cancel=limits.cancel
        ).expect_plan()

    async def begin(
        self,
        problem: AnyProblem,
        plan: Plan | None,
        limits: Limits,
        tell: Tell,
        name: str | None = None,
        **options: Any,
    ) -> tool_data.RunAnswer:
        """Begin a run of `plan`, or of the solution of `problem`, and return how it ends.

        `options` are others of `Executor.start`. In the real world, a request joins runs as that says. Where the last
        caller is cancelled, the run begins no more steps. Raises `NoPlan`, and `InputError` for mistakes.
        """
        what: Any = problem if plan is None else plan
        if plan is None:
            options |= {"time_limit": limits.remaining, "memory_limit": limits.memory_limit}
        if self._executor is None:
            found = self._add(name, problem)
            options["memory"] = {**sample_memory(found.simulated), **(options.get("memory") or {})}
            options["run"] = found.name
            return await self._drive(found, lambda: found.executor.start(what, **options), tell)
        if name is not None:
            check_run_name(name)
        run = self._executor.start(what, run=name, **options)
        found = self._known.setdefault(run.id, KnownRun(run.id, self._executor, None))
        found.is_driven, found.is_stopped = True, False
        return await self._drive(found, lambda: run, tell)

    async def go_on(
        self, name: str, answers: Mapping[str, Any], results: Mapping[str, Any], tell: Tell
    ) -> tool_data.RunAnswer:
        """Resume a run with `answers` to its questions and `results` of its waiting steps; return how it ends.

        A run at work, here or in another process, is told the answers. Raises `InputError` for a run that is unknown or
        at work, and the errors of `Executor.resume`.
        """
        found = self._find(name)
        if answers and not results and self._is_driven(found):
            for question, answer in answers.items():
                found.executor.answer(name, question, answer)
            return self._describe(found)
        if found.is_driven:
            raise InputError(f"the run {name!r} is at work", hint="`state` says how it stands")
        if found.state is not None and found.state.status.is_over and not (answers or results):
            return self._describe(found)
        self._known[name] = found
        found.is_driven, found.is_stopped, found.run = True, False, None
        options: dict[str, Any] = {"answers": answers, "results": results, "entities": self._entities}
        return await self._drive(found, partial(found.executor.take_up, name, **options), tell)

    def _is_driven(self, found: KnownRun) -> bool:
        """Return whether a run is at work, here or in another process."""
        return found.is_driven or (self._journal is not None and self._journal.is_driven(found.name))

    def state(self, name: str) -> tool_data.RunAnswer:
        """Return how a run stands; raises `InputError` for an unknown run."""
        return self._describe(self._find(name))

    def _find(self, name: str) -> KnownRun:
        """Return a run at work here, or as the journal has it: other processes may have driven it meanwhile."""
        known = self._known.get(name)
        return known if known is not None and (known.is_driven or self._journal is None) else self._load(name)

    def list_runs(self) -> list[dict[str, Any]]:
        """Return names and statuses of the runs in the journal, or else of those remembered here, the oldest first."""
        if self._journal is not None:
            return [{"run": each.run, "status": each.status} for each in self._journal.runs()]
        return [{"run": each.name, "status": self._describe(each).status} for each in self._known.values()]

    def _add(self, name: str | None, problem: AnyProblem) -> KnownRun:
        """Remember a new run of `problem`; raises `InputError` if the name is taken."""
        name = name or uuid4().hex[:12]
        taken = name in self._known or (
            self._journal is not None and any(name == each.run for each in self._journal.runs())
        )
        if taken:
            raise RunExists(name, hint="take another name, or `resume` it")
        check_run_name(name)
        idle = [each.name for each in self._known.values() if not each.is_driven]
        self._forget(idle[: max(len(self._known) - MOST_RUNS, 0)])
        found = self._known[name] = self._make(name, problem)
        return found

    def _forget(self, names: Iterable[str]) -> None:
        for name in names:
            self._known.pop(name, None)

    def _make(self, name: str, problem: AnyProblem) -> KnownRun:
        if self._executor is not None:
            return KnownRun(name, self._executor, None)
        simulated = make_simulation(self._options, Simulated(problem), name)
        return KnownRun(name, self._make_executor(simulated.world), simulated)

    def _load(self, name: str) -> KnownRun:
        """Make what is known of a run from the journal; raises `InputError` for an unknown run."""
        if self._journal is None or not any(name == each.run for each in self._journal.runs()):
            hint = "`state` without a run lists them" if self._known or self._journal else "nothing was begun here"
            raise InputError(f"there is no run {name!r:.80}", hint=hint)
        is_simulated = ledger_path(self._options.journal, name).exists()  # type: ignore[arg-type]  # there is a journal
        if is_simulated is self._options.is_real:
            where = "a simulated world, and this server carries out real runs"
            other = "no simulated world, and this server has only these"
            raise InputError(f"the run {name!r} has {where if is_simulated else other}")
        reader = self._executor or self._make_executor(World(self._source.domain()))
        state = reader.state_of(name, self._entities)
        found = self._make(name, state.source)
        found.is_driven = False
        found.outcome = RunOutcome.of(name, state)
        return found

    async def _drive(self, found: KnownRun, start: Callable[[], Run], tell: Tell) -> tool_data.RunAnswer:
        """Drive a run to its end, or until it waits; where the last caller is cancelled, interrupt it."""
        begun: list[Run] = []

        async def main() -> RunOutcome:
            try:
                found.run = run = start()
                begun.append(run)
                run.listen(_Teller(run, tell))
                if found.is_stopped:
                    run.interrupt()
                found.outcome = await run
                return found.outcome
            finally:
                found.is_driven = False
                if self._journal is not None:
                    self._forget([found.name])

        job = self._begin_job(found, main())
        self._tasks.add(job)
        job.add_done_callback(self._tasks.discard)
        try:
            await asyncio.shield(job)
        except asyncio.CancelledError:
            if all(each.withdraw() for each in begun):
                found.interrupt()
            raise
        except BaseException:
            if found.state is None:
                self._forget([found.name])
            raise
        self._follow_others(found)
        return self._describe(found)

    def _follow_others(self, found: KnownRun) -> None:
        """Go on with a run that waits for steps of other runs when one of these is over."""
        awaited = [] if found.state is None else found.state.list_awaited()
        if self._executor is not None and awaited:
            task = asyncio.create_task(self._go_on_after(found.name, awaited))
            self._following.add(task)
            task.add_done_callback(self._following.discard)

    async def _go_on_after(self, name: str, awaited: Sequence[str]) -> None:
        """Go on with a run when other runs are done with one of the steps `awaited`, unless somebody does so before."""
        assert self._executor is not None, "simulated worlds have one run each"
        clock = asyncio.get_running_loop().time
        since = clock()
        with suppress(ForethoughtError):
            while not any(map(self._executor.book.is_free, awaited)):  # noqa: ASYNC110 - other runs tell nobody
                await asyncio.sleep(find_pause(clock() - since, LOOK))
            await self.go_on(name, {}, {}, lambda *_: None)

    def _begin_job(self, found: KnownRun, main: Coroutine[Any, Any, RunOutcome]) -> asyncio.Future[RunOutcome]:
        if found.simulated is None:
            return asyncio.ensure_future(main)
        return asyncio.get_running_loop().run_in_executor(self._virtual, run_virtual, main)

    def _describe(self, found: KnownRun) -> tool_data.RunAnswer:
        state = found.state
        if state is None:
            return tool_data.RunAnswer(
                run=found.name, status="ACTIVE", reason="a plan is searched", simulated=found.simulated is not None
            )
        outcome = RunOutcome.of(found.name, state)
        data = to_dict(RunReport(outcome))
        data["waits"] = [{"step": step, **wait} for step, wait in data["waits"].items()]
        holds = None if found.is_driven else found.holds
        return tool_data.RunAnswer(**data, simulated=found.simulated is not None, goal_holds=holds)


@dataclass(slots=True, eq=False)
class _Teller:
    """Listens to a run, and tells how many of its steps are over."""

    run: Run
    tell: Tell

    def __call__(self, event: Event) -> None:
        state = self.run.state
        line = event_line(event, state)
        if line is not None:
            self.tell(float(len(state.with_status(*DONE))), float(len(state.order)), line)
