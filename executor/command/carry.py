"""A plan carried out for the command line: in a simulated world, or by the handlers that a domain brings."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

from executor.engine import Executor, Outcome
from executor.follow.show import Show
from executor.plans.action_plan import ExecutionModel
from executor.testing import Fault, FaultKind, SimulatedWorld, run_virtual
from executor.world.policy import Policy
from executor.world.world import World
from planner.budget import LimitReached
from planner.cli.input import named
from planner.cli.output import tell
from planner.errors import InputError, Location
from planner.kinds import AnyProblem, is_other_problem
from planner.load import load_from, open_source
from planner.loading.python import PythonSource
from planner.loading.source import Source
from planner.model import Problem

PLANNING_SECONDS: Final = 10.0
"""The longest search for a plan."""
TIMEOUT: Final = 60.0
"""Seconds, of simulated time, after which a simulated handler has taken too long."""
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
"""What goes wrong with handlers at random."""
BLIND: Final = (FaultKind.OBSERVER_FAILS, FaultKind.OBSERVER_CANNOT_SAY)
"""What goes wrong with observers at random; none of them lies."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the command line asks for."""

    domain: str
    problem: str | None = None
    model: ExecutionModel | None = None
    is_real: bool = False
    faults: float = 0.0
    seed: int = 0
    journal: Path | None = None
    resume: str | None = None
    answers: Mapping[str, str] = field(default_factory=dict)
    approves: bool = False
    quiet: bool = False


@dataclass(frozen=True, slots=True)
class Ended:
    """How a run ended; `holds` says whether the goal holds in the simulated world, None in the real one."""

    outcome: Outcome
    holds: bool | None = None


def carry_out(wanted: Wanted, seconds: float | None) -> Ended:
    """Carry out what is wanted, the plan found in `seconds` at most; None: no limit.

    Raises `InputError` for mistakes in what was given, and `NoPlan` where there is no plan.
    """
    _check(wanted)
    source = open_source(wanted.domain)
    with named(wanted.domain, wanted.problem):
        problem = load_from(source, wanted.problem)
        run = wanted.resume or uuid4().hex[:12]
        simulated = None if wanted.is_real else _simulated(wanted, problem, run)
        world = _real(wanted, source, problem) if simulated is None else simulated.world
    executor = Executor(
        world,
        journal=wanted.journal,
        model=wanted.model,
        approve=None if wanted.is_real and not wanted.approves else lambda _: True,
        ask="later" if wanted.journal else None,
        listeners=() if wanted.quiet else (Show(transient=True),),
        seed=wanted.seed,
    )
    search = PLANNING_SECONDS if seconds is None else min(seconds, PLANNING_SECONDS)
    main = _drive(executor, wanted, problem, run, memory=_memory(simulated), time_limit=search)
    try:
        outcome = asyncio.run(main) if simulated is None else run_virtual(main)
    except (KeyboardInterrupt, LimitReached):
        if wanted.journal is not None and not wanted.quiet:
            tell(f"the run can be taken up: {_again(wanted, run)}")
        raise
    finally:
        if executor.journal is not None:
            executor.journal.close()
    return Ended(outcome, None if simulated is None else simulated.holds(simulated.problem.goal.hard))


async def _drive(
    executor: Executor, wanted: Wanted, problem: AnyProblem, run: str, *, memory: dict[str, Any], time_limit: float
) -> Outcome:
    if wanted.resume is None:
        return await executor.run(problem, run=run, memory=memory, time_limit=time_limit)
    return await executor.resume(run, answers=wanted.answers, entities=_classical(problem).entities)


def _check(wanted: Wanted) -> None:
    """Raise `InputError` where options do not go together."""
    if wanted.is_real and wanted.faults:
        raise InputError("--faults belongs to the simulated world, and --real calls handlers")
    if wanted.resume is None:
        if wanted.answers:
            raise InputError("--answer belongs to --resume RUN", hint="a run that begins has no open questions")
        return
    if wanted.journal is None:
        raise InputError("--resume takes up a run from a journal", hint="name its file with --journal FILE")
    if not wanted.journal.exists():
        raise InputError("there is no such journal", Location(str(wanted.journal)))
    is_simulated = _ledger(wanted.journal, wanted.resume).exists()
    if is_simulated is wanted.is_real:
        hint = "leave --real out" if is_simulated else "say --real, or name a run of this journal"
        where = "a simulated world" if is_simulated else "no simulated world"
        raise InputError(f"the run {wanted.resume!r} has {where}", Location(str(wanted.journal)), hint)


def _ledger(journal: Path, run: str) -> Path:
    """Return the file beside the journal in which the simulated world of a run is kept."""
    return journal.with_name(f"{journal.name}.{run}.world")


def _simulated(wanted: Wanted, problem: AnyProblem, run: str) -> SimulatedWorld:
    """Return a world in which faults strike with the wanted probability."""
    kinds = {each: wanted.faults / len(KINDS) for each in KINDS} | {each: wanted.faults / len(BLIND) for each in BLIND}
    faults = [Fault(kind, times=None, rate=rate) for kind, rate in kinds.items() if rate]
    ledger = None if wanted.journal is None else _ledger(wanted.journal, run)
    if ledger is not None:
        ledger.touch()
    simulated = SimulatedWorld(problem, seed=wanted.seed, faults=faults, ledger=ledger)
    for action in simulated.problem.domain.actions:
        simulated.world.policy(action, Policy(timeout=TIMEOUT))
    return simulated


def _memory(simulated: SimulatedWorld | None) -> dict[str, Any]:
    """Return plausible values for what nothing else gives, in a simulated world; people give them in the real one."""
    if simulated is None:
        return {}
    actions = simulated.problem.domain.actions
    return {name: value for action in actions for name, value in simulated.parameters(action).items()}


def _real(wanted: Wanted, source: Source, problem: AnyProblem) -> World:
    """Return the world that a Python file declares, or one of the handlers that are bound to its domain."""
    worlds = source.values(World) if isinstance(source, PythonSource) else []
    if len(worlds) > 1:
        raise InputError(f"the file declares {len(worlds)} worlds", Location(wanted.domain), "leave one of them")
    world = worlds[0] if worlds else World(problem.domain)
    missing = world.without_handler()
    if len(missing) == len(world.model.actions):
        hint = "bind functions to its actions, as @world.handler('move') does; without --real the world is simulated"
        raise InputError(f"no action of {world.model.name!r} has a handler", Location(wanted.domain), hint)
    return world


def _classical(problem: AnyProblem) -> Problem:
    return problem.classical if is_other_problem(problem) else problem  # type: ignore[return-value]  # one of two kinds


def _again(wanted: Wanted, run: str) -> str:
    words = ["forethought run", wanted.domain, *([wanted.problem] if wanted.problem else [])]
    return " ".join([*words, *(["--real"] if wanted.is_real else []), f"--journal {wanted.journal} --resume {run}"])
