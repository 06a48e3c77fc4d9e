"""Foreign engines: `solve_with` solves a problem with an installed engine of unified-planning, and checks its answer.

The engine runs in a process of its own, which is stopped when it exceeds the limits of time and memory.

- A plan counts if the plan checker accepts it for the source problem; its cost is computed anew.
- "Optimal" counts if the engine guarantees it and got the costs, or if all actions cost the same, but not where there
  are numbers besides. A plan that costs nothing is optimal in any case.
- "Unsolvable" counts if the engine's search is known to be complete.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

from planner.compilations.cost_tables import with_tables
from planner.compilations.passes import compile_away
from planner.errors import EngineError, InputError, PlanError, UnsupportedError, did_you_mean
from planner.language.pddl.timed_form import asks_for_time
from planner.limits import GIB, LimitReached, Limits
from planner.model import Metric, Problem
from planner.model.constructs import CONSTRAINED, Construct
from planner.model.problem import NumericMetric, is_numeric, is_temporal
from planner.options import SolveOptions
from planner.plan import Plan, Progress, Result, Statistics, Status, Step, StepTime, StoppedBy, exact_sum
from planner.portfolio.search_history import Recorder
from planner.problem_kinds import AnyProblem, OtherProblem, classical_of, service_of
from planner.scheduling.happening_schedule import schedule_happenings
from planner.scheduling.rescheduling import order_moments
from planner.semantics.simulation import price_steps
from planner.semantics.snap_actions import make_snap_problem
from planner.subprocesses import module_command, module_environment
from planner.unified_planning.jobs import Answer, EngineOutcome, Job, without_python_values
from planner.unified_planning.problem_writer import refuse
from planner.validation.timed_replay import price_plan
from planner.validation.validate import validate

COMPLETE: Final = frozenset({"fast-downward", "fast-downward-opt", "symk", "symk-opt"})
"""Engines whose claim that there is no plan counts: their search is complete."""

_STOPS: Final = {"TIMEOUT": StoppedBy.TIME, "MEMOUT": StoppedBy.MEMORY}


def check_answer(problem: AnyProblem, engine: str, answer: Answer, statistics: Statistics) -> Result:
    """Return the result for `problem` that follows from the `answer` of an engine that finished.

    Raises `EngineError` for an invalid plan, and where the engine failed.
    """
    if answer.steps is not None:
        return _check_claims(problem, engine, answer, statistics)
    match answer.status:
        case "UNSOLVABLE_PROVEN" if engine in COMPLETE:
            return Result(Status.UNSOLVABLE, StoppedBy.EXHAUSTED, statistics=statistics)
        case "UNSOLVABLE_PROVEN":
            reason = f"{engine} says that there is no plan; it is not known to search everything"
            return Result(Status.UNKNOWN, StoppedBy.INCOMPLETE, statistics=statistics, reason=reason)
        case "UNSOLVABLE_INCOMPLETELY":
            reason = f"{engine} found no plan, and does not search everything"
            return Result(Status.UNKNOWN, StoppedBy.INCOMPLETE, statistics=statistics, reason=reason)
        case "TIMEOUT" | "MEMOUT" as limit:
            return Result(Status.UNKNOWN, _STOPS[limit], statistics=statistics)
        case "UNSUPPORTED_PROBLEM":
            reason = f"{engine} refuses the problem: {answer.reason}"
            return Result(Status.UNSUPPORTED, StoppedBy.INCOMPLETE, statistics=statistics, reason=reason)
        case status:
            raise EngineError(f"{engine} failed ({status.lower().replace('_', ' ')}): {answer.reason}")


def check_plan(
    problem: AnyProblem, engine: str, steps: tuple[Step, ...], tree: Any = None, times: tuple[StepTime, ...] = ()
) -> Plan:
    """Return `steps`, with the decomposition `tree` or with `times`, as a plan for `problem` with exact costs.

    Raises `EngineError` for an invalid plan.
    """
    if isinstance(problem, Problem) and is_temporal(problem):
        return _check_timed_plan(problem, engine, Plan(steps, problem, times=times))
    verdict = validate(classical_of(problem), steps)
    if not verdict.valid:
        raise EngineError(f"{engine} gave an invalid plan: {verdict.reason}")
    plan = Plan(price_steps(classical_of(problem), steps), problem, tree)
    if not isinstance(problem, Problem):
        verdict = service_of(problem).validate(problem, plan)
        if not verdict.valid:
            raise EngineError(f"{engine} gave an invalid plan: {verdict.reason}")
    return plan


def _check_timed_plan(problem: Problem, engine: str, plan: Plan) -> Plan:
    """Return `plan`; if happenings are closer than they may be, in their order, but apart."""
    verdict = validate(problem, plan)
    if verdict.valid:
        return price_plan(plan)
    snap = make_snap_problem(problem)
    with contextlib.suppress(PlanError):
        spaced = schedule_happenings(problem, snap, plan.steps, order_moments(problem, snap, plan))
        if spaced is not None and validate(problem, spaced).valid:
            return spaced
    raise EngineError(f"{engine} gave an invalid plan: {verdict.reason}")


def _check_claims(problem: AnyProblem, engine: str, answer: Answer, statistics: Statistics) -> Result:
    plan = check_plan(problem, engine, answer.steps or (), answer.tree, answer.times)
    if isinstance(problem, Problem) and is_temporal(problem):
        stopped_by = _STOPS.get(answer.status, StoppedBy.FIRST_PLAN)
        reason = "" if answer.sees_costs else f"{engine} ignores the metric"
        return Result(Status.SOLVED, stopped_by, plan, None, statistics, reason)
    numeric = is_numeric(classical_of(problem))
    costs_count = answer.sees_costs or has_uniform_costs(classical_of(problem))
    is_free = plan.cost == 0 and not isinstance(classical_of(problem).metric, NumericMetric)
    claims = answer.proves and answer.status == "SOLVED_OPTIMALLY"
    if is_free or (costs_count and claims and not numeric):
        return Result(Status.OPTIMAL, StoppedBy.EXHAUSTED, plan, plan.cost, statistics)
    reason = "" if costs_count else f"{engine} ignores {'the metric' if numeric else 'costs'}"
    if not reason and claims:
        reason = f"{engine} says that the plan is optimal; no engine is known to prove that with numbers"
    stopped_by = _STOPS.get(answer.status, StoppedBy.FIRST_PLAN)
    return Result(Status.SOLVED, stopped_by, plan, None, statistics, reason)


def has_uniform_costs(problem: Problem) -> bool:
    """Return whether all actions cost the same number, so that the shortest plan is the cheapest."""
    if problem.metric is not Metric.COST:
        return problem.metric is Metric.LENGTH
    terms = [action.cost for action in problem.domain.actions.values()]
    numbers = [[term for term in cost if isinstance(term, int | Decimal)] for cost in terms]
    return list(map(len, numbers)) == list(map(len, terms)) and len(set(map(exact_sum, numbers))) <= 1


POLL_SECONDS: Final = 0.05
"""Seconds between two checks of the other process."""
GRACE_SECONDS: Final = 0.2
"""Seconds beyond its time limit that an engine has to answer, and seconds to stop after a signal."""


def run_job(job: Job, limits: Limits) -> Answer:
    """Run `job` in a process of its own, and return the answer.

    Raises `LimitReached` when `limits` is reached, after stopping the process and all that it started. The memory limit
    counts the resident memory of all these processes.
    """
    job = replace(job, time_limit=limits.remaining)
    with tempfile.TemporaryDirectory(prefix="forethought-", ignore_cleanup_errors=True) as name:
        directory = Path(name)
        (directory / "job").write_bytes(pickle.dumps(job))
        with (directory / "output").open("wb") as output:
            process = _start(directory, output.fileno())
            try:
                _watch(process, limits)
            finally:
                _stop(process)
        return _read(directory, process.returncode)


def _start(directory: Path, output: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        module_command("planner.unified_planning.engine_worker", str(directory)),
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=output,
        env=module_environment(TMPDIR=str(directory)),
        start_new_session=True,
    )


def _watch(process: subprocess.Popen[bytes], limits: Limits) -> None:
    """Wait for `process` to end. Raises `LimitReached` when a limit is reached."""
    while True:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(POLL_SECONDS)
            return
        if limits.cancel is not None and limits.cancel.is_set():
            raise LimitReached(StoppedBy.CANCELLED)
        if limits.time_limit is not None and limits.elapsed > limits.time_limit + GRACE_SECONDS:
            raise LimitReached(StoppedBy.TIME)
        if limits.memory_limit is not None and _resident_bytes_of(process.pid) > limits.memory_limit * GIB:
            raise LimitReached(StoppedBy.MEMORY)


def _stop(process: subprocess.Popen[bytes]) -> None:
    """Stop `process`, if it still runs, and all processes that it has started."""
    if process.poll() is not None:
        return
    tree = list(_process_tree(process.pid))
    process.terminate()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(GRACE_SECONDS)
    for pid in tree:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    process.wait()


def _process_tree(root: int) -> Iterator[int]:
    """Yield `root` and its descendants, as far as the system tells."""
    stack = [root]
    while stack:
        current = stack.pop()
        yield current
        for children in Path(f"/proc/{current}/task").glob("*/children"):
            with contextlib.suppress(OSError):
                stack.extend(map(int, children.read_text(encoding="ascii").split()))


def _resident_bytes_of(root: int) -> int:
    """Return the resident memory of `root` and its descendants, in bytes; 0 where the system does not tell."""
    page, total = os.sysconf("SC_PAGE_SIZE"), 0
    for pid in _process_tree(root):
        with contextlib.suppress(OSError):
            total += int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1]) * page
    return total


def _read(directory: Path, code: int) -> Answer:
    """Read the answer in `directory`; if there is none, the process crashed."""
    with contextlib.suppress(FileNotFoundError):
        answer: Answer = pickle.loads((directory / "answer").read_bytes())  # noqa: S301 - written by our own process
        return answer
    said = (directory / "output").read_text(encoding="utf-8", errors="replace").strip()
    return Answer(EngineOutcome.CRASHED, reason=f"exit code {code}" + (f": {said.splitlines()[-1]}" if said else ""))


def solve_with(problem: AnyProblem, options: SolveOptions) -> Result:
    """Solve `problem` with the unified-planning engine that `options` name, in a process of its own.

    The memory limit is on resident memory, where the system tells it. The plan is checked and its cost computed anew. A
    problem that the engine does not take is UNSUPPORTED. Raises `InputError` where no such engine is installed, and
    `EngineError` where it crashes or gives an invalid plan.
    """
    engine = options.engine or ""
    if engine.startswith("forethought"):
        raise InputError(f"'{engine}' is this planner itself", hint="leave the engine out")
    limits = options.limits()
    try:
        answer = _ask_engine(problem, engine, limits)
    except LimitReached as limit:
        return Result(Status.UNKNOWN, limit.stopped_by, statistics=_statistics(engine, limits))
    except KeyboardInterrupt:
        return Result(Status.UNKNOWN, StoppedBy.CANCELLED, statistics=_statistics(engine, limits))
    result = _interpret(problem, engine, answer, _statistics(engine, limits))
    result = _add_history(result, engine, limits.elapsed)
    if options.on_progress is not None and result.has_plan:
        options.on_progress(Progress(result.plan, result.lower_bound, limits.elapsed, result.statistics))
    return result


def _add_history(result: Result, engine: str, elapsed: float) -> Result:
    """Return `result` with its history: one engine was at work, and said at its end what it had found."""
    recorder = Recorder()
    recorder.note_turn((engine, ""), 0.0, elapsed)
    return recorder.finish(elapsed, result)


def _ask_engine(problem: AnyProblem, engine: str, limits: Limits) -> Answer:
    """Send `problem` to the engine, with tables for the costs that Python computes, and return the answer."""
    try:
        plain = _compile_for_process(problem, limits)
    except UnsupportedError as error:
        return Answer(EngineOutcome.UNSUPPORTED, reason=str(error))
    return run_job(Job(plain, engine, registered=_find_registration(engine)), limits)


def _compile_for_process(problem: AnyProblem, limits: Limits) -> AnyProblem:
    """Compile `problem` to one that another process can receive."""
    if not isinstance(problem, Problem):
        refuse(problem.classical)
        other: OtherProblem = service_of(problem).for_another_process(problem, limits)
        return other
    refuse(problem, takes_time=True)
    if asks_for_time(problem):
        return without_python_values(with_tables(compile_away(problem, Construct.BUDGETS), limits))
    plain = compile_away(problem, Construct.CHANGES, *CONSTRAINED, Construct.BUDGETS)
    return without_python_values(with_tables(plain, limits))


def _interpret(problem: AnyProblem, engine: str, answer: Answer, statistics: Statistics) -> Result:
    match answer.outcome:
        case EngineOutcome.FINISHED:
            return check_answer(problem, engine, answer, statistics)
        case EngineOutcome.UNREACHABLE:
            reason = f"proved while grounding: nothing reaches {answer.reason}"
            return Result(Status.UNSOLVABLE, StoppedBy.EXHAUSTED, statistics=statistics, reason=reason)
        case EngineOutcome.UNSUPPORTED:
            hint = f"; engines that take it: {', '.join(answer.engines)}" if answer.engines else ""
            reason = f"{answer.reason.removeprefix('unsupported: ')}{hint}"
            return Result(Status.UNSUPPORTED, StoppedBy.INCOMPLETE, statistics=statistics, reason=reason)
        case EngineOutcome.OUT_OF_TIME:
            return Result(Status.UNKNOWN, StoppedBy.TIME, statistics=statistics)
        case EngineOutcome.OUT_OF_MEMORY:
            return Result(Status.UNKNOWN, StoppedBy.MEMORY, statistics=statistics)
        case EngineOutcome.MISTAKE:
            raise InputError(answer.reason)
        case EngineOutcome.UNKNOWN_ENGINE:
            raise unknown_engine_error(engine, answer.engines, answer.package)
        case EngineOutcome.CRASHED:
            raise EngineError(f"{engine} crashed: {answer.reason}")


def unknown_engine_error(engine: str, installed: Iterable[str], package: str) -> InputError:
    """Return the error for an engine that is not installed: how to install it, or which engines there are."""
    if package:
        return InputError(f"the engine '{engine}' is not installed", hint=f"pip install {package}")
    known = f"installed are: {', '.join(installed) or 'none'}"
    nearest = did_you_mean(engine, installed)
    return InputError(f"there is no engine '{engine}'", hint=f"{nearest} {known}" if nearest else known)


def _find_registration(engine: str) -> tuple[str, str] | None:
    """Return module and class of `engine` where this process has registered it with unified-planning itself."""
    if "unified_planning" not in sys.modules:
        return None
    from unified_planning.environment import get_environment

    factory = get_environment().factory
    if engine not in factory.engines:
        return None
    found = factory.engine(engine)
    return found.__module__, found.__qualname__


def _statistics(engine: str, limits: Limits) -> Statistics:
    return Statistics(search=engine, search_seconds=limits.elapsed)
