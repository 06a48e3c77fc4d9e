"""Carry out a problem or a plan for the command line, in a simulated world or by the handlers of a domain."""

from __future__ import annotations

import asyncio
import math
import shlex
import time
from collections import deque
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

from executor import ActionPlan, Event, ExecutionPolicy, Executor, Proposal, RunOutcome, RunStatus, Show, World
from executor.agent.confirmation import ApproveShown
from executor.agent.fill_parameters import usage_of
from executor.agent.run_goals import plan_to_run
from executor.arguments import check_id
from executor.cli.sentence import SentenceContext, SentenceOptions, propose_sentence
from executor.errors import NoRunError, RunError
from executor.events.run_state import RunState
from executor.events.tasks import Hierarchy
from executor.journal import Place, open_journal
from executor.learning.experience import OPTIMISTIC
from executor.loop.parameters import Fill
from executor.plan_check.check_plan import errors_in
from executor.plan_check.import_step import NOT_IMPORTED
from executor.plan_check.read_plan import is_action_plan, read_plan
from executor.plans.execution_models import ExecutionModel
from executor.plans.prepare import PreparedPlan
from executor.run import POSTED_SECONDS
from executor.testing import Fault, FaultKind, SimulatedWorld, VirtualClock, run_virtual
from executor.testing.simulated_observers import ALL, Observe
from executor.tools.clock import WALL, Clock
from executor.tools.world import domain_model_of
from planner.cli.interrupt import interruptible, limit_memory, limited_memory
from planner.cli.options import name_source, read_plan_file
from planner.cli.output import tell
from planner.errors import InputError, Location, PlanError
from planner.language.loading.load import Source, load_from, open_source
from planner.language.loading.python_files import PythonSource
from planner.limits import LimitReached
from planner.model import Problem
from planner.model.domain import has_numbers
from planner.problem_kinds import AnyDomain, AnyProblem, classical_of, is_other_domain, is_other_problem


@dataclass(frozen=True, slots=True)
class Simulated:
    """What is true in a simulated world, which may differ from the problem that is carried out, and who can look."""

    problem: AnyProblem
    observe: Observe = ALL


@dataclass(frozen=True, slots=True)
class RunTask:
    """A problem to carry out, or a `plan` for it; `entities` are the Python values of objects."""

    problem: AnyProblem
    plan: ActionPlan | PreparedPlan | None = None
    entities: Mapping[str, object] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    """The parts of another framework's plan that are not imported."""
    simulated: Simulated | None = None
    """The simulated world; None is that of the problem."""

    def executor_arguments(self, seconds: float | None) -> tuple[Any, dict[str, Any]]:
        """Return the problem or plan for an executor, and options; `seconds` limits the search, None is no limit."""
        if self.plan is None:
            return self.problem, {"time_limit": seconds}
        return self.plan, {"entities": self.entities} if isinstance(self.plan, ActionPlan) else {}


def read_task(source: Source, problem: str | None, plan: Path | None) -> RunTask:
    """Read the problem and the plan that the command names; raises `InputError` with all mistakes in a plan."""
    if plan is None:
        found = load_from(source, problem)
        return RunTask(found, None, classical_of(found).entities)
    if not is_action_plan(plan):
        found = load_from(source, problem)
        return RunTask(found, ActionPlan.of(read_plan_file(plan, found)[0]), classical_of(found).entities)
    domain = source.domain()
    named = load_from(source, problem) if problem is not None else next(iter(source.problems().values()), None)
    read, warnings = _read_action_plan(
        plan, domain, classical_of(named) if problem is not None and named is not None else None
    )
    entities = {} if named is None else classical_of(named).entities
    return RunTask(_problem_of(read, domain, entities), read, entities, tuple(warnings))


def _read_action_plan(path: Path, domain: AnyDomain, problem: Problem | None) -> tuple[ActionPlan, list[str]]:
    """Read an action plan; return it and the parts that are not imported. Raises `PlanError`."""
    plan, findings = read_plan(path, domain, problem=problem)
    errors = errors_in(findings)
    if plan is None or errors:
        raise PlanError("this plan cannot be run:\n" + "\n".join(map(str, errors)), Location(str(path)))
    return plan, [str(each) for each in findings if each.rule in NOT_IMPORTED]


def _problem_of(plan: ActionPlan, domain: AnyDomain, entities: Mapping[str, object]) -> AnyProblem:
    """Build the problem that `plan` states, with its tasks if the plan is hierarchical."""
    if not is_other_domain(domain):
        return plan.problem(domain, entities)  # type: ignore[arg-type]  # the kind that is left
    problem = plan.problem(domain_model_of(domain), entities)
    found = Hierarchy.of(plan, problem, domain)  # type: ignore[arg-type]  # the only other kind there is
    return problem if found is None else found.problem


Seconds = Callable[[], float | None]
"""Gives the seconds that are left; None is no limit."""
WITHOUT_METHODS: Final = (
    "a sentence asks for facts, no tasks: plans for it come of the actions alone, not of the methods"
)
LEAST_SECONDS: Final = 0.001
"""Seconds of a limit that has passed."""
LONGEST: Final = 86_400.0
"""Seconds for a simulated step whose duration depends on its arguments or the state."""
PATIENCE: Final = 60.0
"""Timeout of a simulated handler beyond the declared duration of its action, in seconds of simulated time."""
LONGEST_NAME: Final = 64
"""Most characters of the name of a simulated run: with a journal, it is a part of a file's name."""
KINDS: Final = (
    FaultKind.FAILS,
    FaultKind.RAISES,
    FaultKind.FAILS_DONE,
    FaultKind.RAISES_DONE,
    FaultKind.LIES,
    FaultKind.PARTLY,
    FaultKind.HANGS,
    FaultKind.HANGS_DONE,
    FaultKind.CHANGE_BEFORE,
    FaultKind.CHANGE_DURING,
)
"""Random faults of handlers."""
AMOUNTS: Final = (FaultKind.NUMBER_DRIFTS, FaultKind.NUMBER_HALVES, FaultKind.NUMBER_STAYS, FaultKind.NUMBER_JUMPS)
"""Random faults of handlers in domains with numbers."""
BLIND: Final = (FaultKind.OBSERVER_FAILS, FaultKind.OBSERVER_CANNOT_SAY)
"""Random faults of observers; none of them gives a wrong answer."""


@dataclass(frozen=True, slots=True)
class RunOptions:
    """The arguments and options of `forethought run`."""

    domain: str
    problem: str | None = None
    plan: Path | None = None
    model: ExecutionModel | None = None
    is_real: bool = False
    faults: float = 0.0
    chances: bool = False
    learns: bool = False
    quantile: float | None = None
    """The share of attempts that the durations to plan with did not exceed; None is their mean."""
    seed: int = 0
    journal: Place | None = None
    enqueues: bool = False
    run: str | None = None
    """The name of the run."""
    occasion: str = ""
    again: tuple[str, ...] = ()
    values: Mapping[str, Any] = field(default_factory=dict)
    """The values with which working memory begins."""
    resume: str | None = None
    answers: Mapping[str, Any] = field(default_factory=dict)
    results: Mapping[str, Any] = field(default_factory=dict)
    approves: bool = False
    stays: bool = False
    quiet: bool = False
    said: SentenceOptions | None = None
    memory: float | None = None
    """Memory limit in GiB, infinity for none; None is a share of the available memory, which does not bind handlers."""


@dataclass(frozen=True, slots=True)
class RunReport:
    """The outcome of a run, or its state when `error` ended the command.

    `holds` says whether the goal holds in the simulated world; it is None in the real one. `again` is the command that
    resumes the run, "" where that is impossible. `proposal` is the one for a sentence, if there was one.
    """

    outcome: RunOutcome
    holds: bool | None = None
    error: BaseException | None = None
    again: str = ""
    is_enqueued: bool = False
    """Whether the run was left to workers."""
    proposal: Proposal | None = None


def carry_out(wanted: RunOptions, planning: Seconds, running: float | None = None) -> RunReport:
    """Carry out a problem, a plan or a sentence.

    `planning` limits reading and planning, `running` limits the seconds after that. Raises `InputError` for invalid
    input, `NoPlan` where there is no plan, `NotCarriedOut` where a sentence leads to no run, and `KeyboardInterrupt`
    and `LimitReached` where these come before a run has begun.
    """
    check_options(wanted)
    is_for_handlers = wanted.memory is not None or not wanted.is_real
    memory = nullcontext(limit_memory(wanted.memory)) if is_for_handlers else limited_memory(None)
    with interruptible(planning()), memory:
        source = open_source(wanted.domain)
        with name_source(wanted.domain, wanted.problem):
            found = read_task(source, wanted.problem, wanted.plan)
    for warning in () if wanted.quiet else found.warnings:
        tell(warning)
    if wanted.said is None:
        return _run_and_stay(wanted, source, found, (planning, running))
    seconds = planning()
    with wanted.said.make_model() as model:
        if wanted.resume is not None:
            state = _load_state(wanted, wanted.resume, found)
            begun = RunTask(state.source, None, found.entities)
            filler = wanted.said.make_filler(model, usage_of(state))
            return _run_and_stay(wanted, source, begun, (planning, running), filler)
        problem = classical_of(found.problem)
        if is_other_problem(found.problem) and not wanted.quiet:
            tell(WITHOUT_METHODS)
        world = find_world(wanted, source, problem.domain) if wanted.is_real else World(problem.domain)
        proposal = propose_sentence(wanted, wanted.said, SentenceContext(world, problem, model, seconds))
        made = plan_to_run(proposal)
        what = RunTask(made.problem, made)
        filler = wanted.said.make_filler(model, proposal.usage)
        ended = _run_and_stay(wanted, source, what, (planning, running), filler)
        return replace(ended, proposal=proposal)


def _load_state(wanted: RunOptions, run: str, found: RunTask) -> RunState:
    """Return the state of the run of a sentence that is to be resumed."""
    executor = Executor(World(found.problem.domain), journal=wanted.journal)
    try:
        return executor.state_of(run, found.entities)
    finally:
        executor.journal.close()


def _run_and_stay(
    wanted: RunOptions, source: Source, found: RunTask, limits: tuple[Seconds, float | None], fill: Fill | None = None
) -> RunReport:
    """Carry out one task as `run_task` does; with `stays`, wait for answers and take the run up with them."""
    seconds, running = limits[0](), limits[1]
    until = math.inf if running is None else time.monotonic() + running
    ended = run_task(wanted, source, found, limits, fill)
    while wanted.stays and wanted.journal is not None and _asks(ended):
        if not wanted.quiet:
            command = shlex.join(["forethought", "view", str(wanted.journal), ended.outcome.run, "--serve"])
            tell(f"waits for an answer: {command}")
        if not _wait_for_answer(wanted.journal, ended.outcome, until):
            break
        wanted = replace(wanted, resume=ended.outcome.run, answers={}, results={})
        left = None if running is None else max(until - time.monotonic(), LEAST_SECONDS)
        ended = run_task(wanted, source, found, (lambda: seconds, left), fill)
    return ended


def _asks(ended: RunReport) -> bool:
    """Return whether the run would go on with an answer."""
    outcome = ended.outcome
    return ended.error is None and bool(outcome.questions) and not outcome.status.is_over


def _wait_for_answer(place: Place, outcome: RunOutcome, until: float) -> bool:
    """Wait until somebody has posted an answer to a run; False where Ctrl-C, or the time `until`, comes first."""
    with open_journal(place) as journal, suppress(KeyboardInterrupt), interruptible():
        while time.monotonic() < until:
            if any(not each.objection for each in journal.posted.read(outcome.run)):
                return True
            time.sleep(POSTED_SECONDS)
    return False


def run_task(
    wanted: RunOptions, source: Source, found: RunTask, limits: tuple[Seconds, float | None], fill: Fill | None = None
) -> RunReport:
    """Carry out one task; `limits` are those of planning and of running, in seconds. Raises as `carry_out` does."""
    planning, running = limits
    with interruptible(planning() if fill is None else None), name_source(wanted.domain, wanted.problem):
        run = wanted.resume or wanted.run or uuid4().hex[:12]
        true = found.simulated or Simulated(found.problem)
        simulated = None if wanted.is_real else make_simulation(wanted, true, run)
        world = find_world(wanted, source, found.problem.domain) if simulated is None else simulated.world
    watcher = Watcher()
    clock: Clock = WALL
    if simulated is not None:
        began, epoch = _find_times(wanted, found.problem)
        clock, simulated.truth.began = VirtualClock(epoch), began - epoch
    executor = _make_executor(wanted, world, watcher, fill, clock)
    main: Coroutine[Any, Any, RunOutcome]
    if wanted.resume is None:
        what, options = found.executor_arguments(planning())
        if isinstance(what, PreparedPlan) and what.plan.basis.unverified:
            options["approve"] = ApproveShown(world.model.actions, executor.approve, list(what.plan.steps))
        options |= {"enqueue": wanted.enqueues, "occasion": wanted.occasion, "again": wanted.again}
        samples = {} if fill is not None else sample_memory(simulated)
        main = executor.run(what, run=run, memory={**samples, **wanted.values}, **options)
    else:
        main = _resume(executor, wanted, run, found.entities)
    error: BaseException | None = None
    try:
        with interruptible(running):
            outcome = asyncio.run(main) if simulated is None else run_virtual(main)
    except (KeyboardInterrupt, LimitReached) as broken:
        if watcher.state is None:
            raise
        outcome, error = RunOutcome.of(run, watcher.state), broken
    finally:
        if executor.journal is not None:
            executor.journal.close()
    holds = None if simulated is None else simulated.holds(simulated.problem.goal.hard)
    again = "" if wanted.journal is None else _resume_command(wanted, run)
    return RunReport(outcome, holds, error, again, is_enqueued=wanted.enqueues and error is None)


async def _resume(executor: Executor, wanted: RunOptions, run: str, entities: Mapping[str, object]) -> RunOutcome:
    """Take a run up with what the command says; raises `RunError` where that answers a run that is over."""
    said = [*wanted.answers, *wanted.results]
    last = next(iter(deque(executor.journal.read(run), maxlen=1)), None) if said else None
    if last is not None and last.status and RunStatus[last.status].is_over:
        hint = "leave --answer and --complete out to see how it ended"
        raise RunError(f"the run {run!r} is over, {last.status}: it does not ask {', '.join(said)}", hint=hint)
    options: dict[str, Any] = {"answers": wanted.answers, "results": wanted.results, "entities": entities}
    outcome: RunOutcome = await executor.take_up(run, enqueue=wanted.enqueues, **options)
    return outcome


def _find_times(wanted: RunOptions, problem: AnyProblem) -> tuple[float, float]:
    """Return when the plans of a run begin and what the time is in its simulated world, in seconds since 1970.

    Virtual time may be ahead of the clock of the machine: it never goes back.
    """
    start = classical_of(problem).starts_at
    now = time.time() if start is None else start.timestamp()
    name, times = wanted.resume or wanted.run, list[float]()
    if name is None or wanted.journal is None:
        return now, now
    with open_journal(wanted.journal) as journal, suppress(NoRunError):
        times = [each.time for each in journal.read(name)]
    if not times:
        return now, now
    return times[0] if start is None else now, max(time.time() if start is None else now, times[-1])


@dataclass(slots=True)
class Watcher:
    """Keeps the state of the run that it follows."""

    state: RunState | None = None

    @contextmanager
    def follow(self, state: RunState, _: str) -> Iterator[Callable[[Event], None]]:
        """Keep `state`."""
        self.state = state
        yield lambda _: None


def _make_executor(
    wanted: RunOptions, world: World, watcher: Watcher, fill: Fill | None, clock: Clock = WALL
) -> Executor:
    return Executor(
        world,
        fill=fill,
        journal=wanted.journal,
        model=wanted.model,
        approve=None if wanted.is_real and not wanted.approves else lambda _: True,
        ask="later" if wanted.journal else None,
        stay=wanted.stays and wanted.is_real,
        listeners=(watcher,) if wanted.quiet else (watcher, Show(transient=True)),
        seed=wanted.seed,
        learned=wanted.learns if wanted.quantile is None else replace(OPTIMISTIC, quantile=wanted.quantile),
        clock=clock,
    )


def check_options(wanted: RunOptions) -> None:
    """Raise `InputError` for options that do not go together."""
    if wanted.is_real and (wanted.faults or wanted.chances):
        option = "--faults" if wanted.faults else "--chances"
        raise InputError(f"{option} belongs to the simulated world, and --real calls handlers")
    if wanted.said is not None and wanted.plan is not None:
        raise InputError("--say asks for a plan, and --plan gives one", hint="leave one of them out")
    if wanted.quantile is not None and not wanted.learns:
        raise InputError("--quantile is about what is learned", hint="say --learn, too")
    if wanted.learns and wanted.journal is None:
        raise InputError("--learn learns from a journal", hint="name its file with --journal FILE")
    if isinstance(wanted.journal, Path) and (wanted.journal.is_dir() or not wanted.journal.name):
        raise InputError(
            "--journal is a file, and this is a folder", Location(str(wanted.journal)), "name a file in it"
        )
    if wanted.enqueues and (wanted.journal is None or not wanted.is_real):
        found = "--enqueue leaves a run to `forethought worker`, which calls handlers"
        raise InputError(found, hint="add --real and --journal PLACE")
    if wanted.stays and wanted.journal is None:
        raise InputError("--stay waits for answers in a journal", hint="name it with --journal PLACE")
    if wanted.enqueues and wanted.stays:
        raise InputError("--enqueue leaves the run to workers, and --stay stays with it", hint="leave one of them out")
    if wanted.resume is not None:
        _check_resumed(wanted, wanted.resume)
        return
    if wanted.run is not None:
        _check_named(wanted, wanted.run)
    if wanted.answers:
        raise InputError("--answer belongs to --resume RUN", hint="a run that begins has no open questions")
    if wanted.results:
        raise InputError("--complete belongs to --resume RUN", hint="in a run that begins no step waits yet")


def _check_resumed(wanted: RunOptions, run: str) -> None:
    """Raise `InputError` where the run cannot be resumed."""
    begins = {
        "--run": wanted.run,
        "--occasion": wanted.occasion,
        "--again": wanted.again,
        "--memory": wanted.values,
    }
    for option in [name for name, value in begins.items() if value]:
        raise InputError(f"{option} belongs to a run that begins, and --resume takes one up", hint="leave one out")
    if wanted.journal is None:
        raise InputError("--resume takes up a run from a journal", hint="name its file with --journal FILE")
    check_id(run)
    if isinstance(wanted.journal, Path) and not wanted.journal.exists():
        raise InputError("there is no such journal", Location(str(wanted.journal)))
    _check_world(wanted, wanted.journal, run)


def _check_named(wanted: RunOptions, run: str) -> None:
    """Raise `InputError` for a name that a run cannot have, or that a run of another world has."""
    if wanted.journal is None:
        raise InputError("--run names a run in a journal", hint="name its file with --journal FILE")
    check_id(run)
    if not wanted.is_real:
        check_run_name(run)
    with open_journal(wanted.journal) as journal, suppress(NoRunError):
        if next(iter(journal.read(run)), None) is not None:
            _check_world(wanted, wanted.journal, run)


def _check_world(wanted: RunOptions, journal: Place, run: str) -> None:
    """Raise `InputError` for a run of a simulated world with `--real`, and for any other without."""
    is_simulated = ledger_path(journal, run).exists()
    if is_simulated is wanted.is_real:
        hint = "leave --real out" if is_simulated else "say --real, or name a run of this journal"
        where = "a simulated world" if is_simulated else "no simulated world"
        raise InputError(f"the run {run!r} has {where}", Location(str(journal)), hint)


def check_run_name(name: str) -> None:
    """Raise `InputError` for a name that cannot be a part of a file's name."""
    if not (name.replace("-", "").replace("_", "").isalnum() and len(name) <= LONGEST_NAME):
        raise InputError(f"{name!r:.80} is no name of a run", hint="letters, digits, - and _, at most 64 of them")


def ledger_path(journal: Place, run: str) -> Path:
    """Return the file that keeps the simulated world of a run: beside the journal, or else in the current folder.

    A run that a handler has begun is in the world of the outermost run.
    """
    run = run.partition("/")[0]
    if not isinstance(journal, Path):
        return Path(f"{journal.database}.{journal.schema}.{run}.world")
    return journal.with_name(f"{journal.name}.{run}.world")


def make_simulation(wanted: RunOptions, true: Simulated, run: str) -> SimulatedWorld:
    """Return a world in which faults strike with the wanted probability."""
    classical: Problem = classical_of(true.problem)
    handled = (*KINDS, *(AMOUNTS if has_numbers(classical.domain) else ()))
    kinds = {each: wanted.faults / len(handled) for each in handled}
    kinds |= {each: wanted.faults / len(BLIND) for each in BLIND}
    faults = [Fault(kind, times=None, rate=rate) for kind, rate in kinds.items() if rate]
    ledger = None if wanted.journal is None else ledger_path(wanted.journal, run)
    if ledger is not None:
        ledger.touch()
    simulated = SimulatedWorld(
        true.problem, seed=wanted.seed, faults=faults, observe=true.observe, ledger=ledger, chances=wanted.chances
    )
    for name, action in simulated.problem.domain.actions.items():
        known = not simulated.timed or isinstance(action.duration, int | Decimal | None)
        timeout = simulated.seconds_of(action) + PATIENCE if known else LONGEST
        simulated.world.policy(name, ExecutionPolicy(timeout=timeout))
    return simulated


def sample_memory(simulated: SimulatedWorld | None) -> dict[str, Any]:
    """Return sample values for data parameters without a source; in the real world, people give them."""
    if simulated is None:
        return {}
    actions = simulated.problem.domain.actions
    return {name: value for action in actions for name, value in simulated.parameters(action).items()}


def load_world(path: str, source: Source, domain: AnyDomain) -> World:
    """Return the world that a Python file declares, or one with the handlers bound to its `domain`, if any are."""
    worlds = source.values(World) if isinstance(source, PythonSource) else []
    if len(worlds) > 1:
        raise InputError(f"the file declares {len(worlds)} worlds", Location(path), "leave one of them")
    return worlds[0] if worlds else World(domain)


def find_world(wanted: RunOptions, source: Source, domain: AnyDomain) -> World:
    """Return the world that a Python file declares, or one with the handlers bound to its `domain`."""
    world = load_world(wanted.domain, source, domain)
    missing = world.without_handler()
    if len(missing) == len(world.model.actions):
        hint = "bind functions to its actions, as @world.handler('move') does; without --real the world is simulated"
        raise InputError(f"no action of {world.model.name!r} has a handler", Location(wanted.domain), hint)
    return world


def _resume_command(wanted: RunOptions, run: str) -> str:
    """Return the command that resumes the run."""
    words = ["forethought", "run", wanted.domain, *([wanted.problem] if wanted.problem else [])]
    words += ["--plan", str(wanted.plan)] if wanted.plan else []
    flags = {"--real": wanted.is_real, "--chances": wanted.chances, "--learn": wanted.learns}
    words += [flag for flag, is_given in flags.items() if is_given]
    words += wanted.said.words if wanted.said is not None else []
    return shlex.join([*words, "--journal", str(wanted.journal), "--resume", run])
