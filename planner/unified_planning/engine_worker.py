"""The process in which a foreign engine runs: it reads a job, calls the engine, and writes the answer to a file.

An engine may be a library without a time limit that prints text or crashes. In a process of its own it can be stopped,
and neither its text nor its crash reaches the caller. Start it by
`python -m planner.unified_planning.engine_worker DIRECTORY`.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
import warnings
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from planner.errors import InputError, UnsupportedError
from planner.limits import LimitReached, Limits, lift_address_limit
from planner.model import Problem
from planner.model.problem import is_numeric
from planner.problem_kinds import classical_of
from planner.unified_planning.jobs import Answer, EngineOutcome, Job
from planner.unified_planning.pyperplan_engine import PYPERPLAN, ask_pyperplan

if TYPE_CHECKING:
    from planner.unified_planning.engine_forms import Form

LAST_WORDS: Final = 2_000
"""Characters of an engine's output that are kept to explain its failure."""


def main(directory: Path) -> None:
    """Do the job in `directory`, and write the answer there; the caller watches resident memory."""
    lift_address_limit()
    job: Job = pickle.loads((directory / "job").read_bytes())  # noqa: S301 - written by the process that started this
    warnings.simplefilter("ignore")
    answer = _answer(job, directory)
    partial = directory / "answer.partial"
    partial.write_bytes(pickle.dumps(answer))
    partial.rename(directory / "answer")


def _answer(job: Job, directory: Path) -> Answer:
    try:
        return _work(job, directory, Limits(job.time_limit))
    except UnsupportedError as error:
        return Answer(EngineOutcome.UNSUPPORTED, reason=str(error), engines=_find_engines_that_take(job))
    except InputError as error:
        return Answer(EngineOutcome.MISTAKE, reason=str(error))
    except LimitReached:
        return Answer(EngineOutcome.OUT_OF_TIME)
    except MemoryError:
        return Answer(EngineOutcome.OUT_OF_MEMORY)
    except Exception as error:  # noqa: BLE001 - whatever an engine raises is its crash, not ours
        return Answer(EngineOutcome.CRASHED, reason=f"{type(error).__name__}: {error}")


def _work(job: Job, directory: Path, limits: Limits) -> Answer:
    from planner.unified_planning.engine_forms import TAKE_AXIOMS, GoalUnreachableError, choose_form, solve_text

    os.chdir(directory)  # engines leave files where they run
    if job.engine in PYPERPLAN:
        return ask_pyperplan(job.problem, job.engine, limits)
    factory = _factory(job)
    if job.engine not in factory.engines:
        return _answer_unknown(job.engine, factory)
    engine = factory.engine(job.engine)()
    engine.skip_checks = True
    signal.signal(signal.SIGTERM, lambda *_: _stop(engine))
    if isinstance(job.problem, Problem) and job.problem.domain.axioms and job.engine in TAKE_AXIOMS:
        answer = solve_text(job.problem, engine, limits)
    else:
        try:
            form = choose_form(job.problem, job.engine, engine, limits)
        except GoalUnreachableError as error:
            return Answer(EngineOutcome.UNREACHABLE, reason=str(error.part))
        answer = _run_engine(form, engine, limits)
    return replace(answer, proves=_is_optimal(engine), reason=answer.reason[-LAST_WORDS:])


def _run_engine(form: Form, engine: Any, limits: Limits) -> Answer:
    result = engine.solve(form.problem, timeout=limits.remaining)
    found = None if result.plan is None else form.read(result.plan)
    texts = [message.message.strip() for message in result.log_messages or ()]
    return Answer(
        EngineOutcome.FINISHED,
        status=result.status.name,
        steps=None if found is None else found.steps,
        tree=None if found is None else found.tree,
        times=() if found is None else found.times,
        sees_costs=form.sees_costs,
        reason=next((text for text in reversed(texts) if text), ""),
    )


def _factory(job: Job) -> Any:
    """Return unified-planning's factory, with the engine that the caller has registered and without credits."""
    from unified_planning.environment import get_environment

    environment = get_environment()
    environment.credits_stream = None
    if job.registered is not None and job.engine not in environment.factory.engines:
        environment.factory.add_engine(job.engine, *job.registered)
    return environment.factory


def _installed_planners(factory: Any) -> tuple[str, ...]:
    """Return the installed engines that find plans, except ours and those that wrap another engine."""
    names = [name for name in factory.engines if factory.engine(name).is_oneshot_planner() and "[" not in name]
    return tuple(sorted(name for name in names if not name.startswith("forethought")))


def _answer_unknown(name: str, factory: Any) -> Answer:
    from unified_planning.engines.factory import DEFAULT_ENGINES

    module, _ = DEFAULT_ENGINES.get(name, ("", ""))
    package = module.split(".")[0].replace("_", "-")
    return Answer(EngineOutcome.UNKNOWN_ENGINE, engines=_installed_planners(factory), package=package if module else "")


def _find_engines_that_take(job: Job) -> tuple[str, ...]:
    """Return the installed engines that take the problem of `job` as it is declared."""
    from planner.unified_planning.conversion import to_unified_planning
    from planner.unified_planning.engine_forms import METRIC, TAKE_AXIOMS, features_taken

    factory = _factory(job)
    if isinstance(job.problem, Problem) and job.problem.domain.axioms:
        return tuple(name for name in _installed_planners(factory) if name in TAKE_AXIOMS)
    try:
        features = set(to_unified_planning(job.problem).problem.kind.features) - METRIC
    except UnsupportedError:
        return ()
    return tuple(
        name
        for name in _installed_planners(factory)
        if features <= features_taken(name, factory.engine(name), numeric=is_numeric(classical_of(job.problem)))
    )


def _is_optimal(engine: Any) -> bool:
    from unified_planning.engines import OptimalityGuarantee

    return bool(engine.satisfies(OptimalityGuarantee.SOLVED_OPTIMALLY))


def _stop(engine: Any) -> None:
    """Kill the engine's own process, which may lead a process group, and exit."""
    process = getattr(engine, "_process", None)
    if process is not None:
        os.killpg(process.pid, signal.SIGKILL)
    os._exit(1)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
