"""Carry out one run of a fault campaign in virtual time, and resume it where its process died."""

from __future__ import annotations

import asyncio
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final, Never

from benchmarks.faults.fault_setting import Setting, as_policy, classical_part
from benchmarks.faults.reachable_goal import GivenUp
from executor.events.answers import GIVE_UP, HAPPENED, NOTHING
from executor.events.events import Asked, Event, Rung, RungTaken
from executor.events.run_state import RunState
from executor.executor import Executor
from executor.journal import Place
from executor.plans.action_plan import ActionPlan, texts_of
from executor.plans.execution_models import ExecutionModel
from executor.recovery.ask_people import Request
from executor.run import RunOutcome
from executor.testing import Crash, FaultKind, SimulatedWorld, run_virtual
from executor.testing.virtual_time import now
from planner.errors import PlanError
from planner.model import Atom
from planner.model.domain import creates_objects


class Unprintable:
    """A value that cannot be printed, compared or judged true or false."""

    def _refuse(self, *_: object) -> Never:
        raise ValueError("this value cannot be used")

    __repr__ = __str__ = __bool__ = __len__ = __eq__ = __hash__ = _refuse


class UnprintableError(Exception):
    """An error that cannot be printed."""

    __str__ = __repr__ = Unprintable._refuse  # noqa: SLF001 - the same refusal


async def approve(simulated: SimulatedWorld, request: Request) -> Any:
    """Approve the step of `request`, unless a fault strikes."""
    step = Atom(request.action, tuple(request.arguments.values()))
    struck = simulated.strike(step, source="approval")
    if struck is None:
        return True
    match struck[1].kind:
        case FaultKind.APPROVAL_LATE:
            await asyncio.sleep(struck[1].delay)
            return True
        case FaultKind.APPROVAL_RAISES:
            raise UnprintableError
        case FaultKind.APPROVAL_UNPRINTABLE:
            return Unprintable()
        case _:
            return False


RUN: Final = "r"
MOST_CRASHES: Final = 5
ENDLESS_SECONDS: Final = 1e6
"""Virtual seconds: eleven days are more than any of these plans may take."""
PERSON_SECONDS: Final = 60.0
"""How long a person takes who looks what happened: longer than anything is late."""


@dataclass(frozen=True, slots=True)
class Restored:
    """The objects of a run, with their types, when a process took it up after so many `events`."""

    events: int
    objects: Mapping[str, tuple[str, ...]]


@dataclass(slots=True)
class Carried:
    """What came of a run: its `outcome`, or what was raised; and the world that it left."""

    simulated: SimulatedWorld
    outcome: RunOutcome | None = None
    error: str = ""
    refusal: str = ""
    """Why the executor has refused the plan before its first step."""
    crashes: int = 0
    seconds: float = 0.0
    listeners: tuple[Callable[[Event], None], ...] = ()
    events: list[tuple[float, Event]] = field(default_factory=list)
    """What happened in the run, with the virtual time."""
    restored: list[Restored] = field(default_factory=list)
    """What each process that drove the run knew at its start."""
    undoing: GivenUp | None = None
    """What there was when the run gave up the goal and began to undo what it had done."""

    @property
    def strikes(self) -> Counter[FaultKind]:
        """How often each kind of fault struck."""
        found: Counter[FaultKind] = Counter()
        for (number, _), times in self.simulated.truth.struck.items():
            found[self.simulated.faults.faults[number].kind] += times
        return found

    @contextmanager
    def follow(self, state: RunState, _run: str) -> Iterator[Callable[[Event], None]]:
        """Follow a run, to see when it gives up, and what it knows when it is taken up."""
        self.restored.append(Restored(len(self.events), {each.name: each.types for each in state.problem.objects}))
        yield lambda event: self._note(event, state)

    def _note(self, event: Event, state: RunState) -> None:
        self.events.append((now(), event))
        if isinstance(event, RungTaken) and event.rung is Rung.COMPENSATE and self.undoing is None:
            self.undoing = GivenUp.of(self.simulated, state)


def make_simulated_world(setting: Setting) -> SimulatedWorld:
    """Make the world of a run, with its policies."""
    simulated = SimulatedWorld(
        setting.plan.problem if setting.open_world is None else setting.open_world.truth,
        seed=setting.seed,
        faults=setting.faults,
        observe=setting.observe,
        seconds=setting.pace,
        stretch=lambda _step, dice: dice.uniform(
            1.0, 2.0
        ),  # no two steps end at one moment, whatever the journal takes
        plain=setting.plain,
        skills=setting.skills,
        careless=setting.careless,
    )
    for action in simulated.problem.domain.actions:
        simulated.world.policy(action, setting.policy)
    return simulated


def carry_out(
    setting: Setting,
    folder: Path,
    listener: Callable[[Event], None] | None = None,
    *,
    place: Place | None = None,
) -> Carried:
    """Carry out a run, its journal at `place` or else in `folder`; `listener` is told what happens."""
    simulated = make_simulated_world(setting)
    carried = Carried(simulated, listeners=() if listener is None else (listener,))
    started = time.perf_counter()
    with ExitStack() as graves:
        try:
            _drive(setting, carried, folder / f"{setting.seed}.db" if place is None else place, graves)
        except PlanError as error:
            carried.refusal = str(error)
        except Exception:  # noqa: BLE001 - whatever the executor raises is what the campaign looks for
            carried.error = traceback.format_exc()
    carried.seconds = time.perf_counter() - started
    return carried


def _drive(setting: Setting, carried: Carried, journal: Place, graves: ExitStack) -> None:
    start = 0.0
    while carried.crashes <= MOST_CRASHES:
        executor = _make_executor(setting, carried, journal)
        try:
            carried.outcome = run_virtual(_drive_once(executor, setting, carried), start=start)
        except Crash as crash:
            graves.callback(crash.bury)
            carried.crashes += 1
            start = crash.loop.now if crash.loop is not None else start
        else:
            return
        finally:
            if executor.journal is not None:
                executor.journal.close()
    raise AssertionError(f"the process died {carried.crashes} times")


async def answer(setting: Setting, simulated: SimulatedWorld, run: str, question: Asked) -> Any:
    """Answer `question` as somebody does who gives up, but waits and looks whether a step has happened."""
    if not question.question.startswith("doubt:"):
        return GIVE_UP
    await asyncio.sleep(PERSON_SECONDS * setting.pace)
    return HAPPENED if simulated.applied.get(f"{run}/{question.step}") else NOTHING


def _make_executor(setting: Setting, carried: Carried, journal: Place) -> Executor:
    return Executor(
        carried.simulated.world,
        journal=journal if setting.has_journal else None,
        approve=partial(approve, carried.simulated),
        ask=partial(answer, setting, carried.simulated, RUN) if setting.is_asked else None,
        model=None if setting.open_world is None else setting.model,
        listeners=(carried, *carried.listeners),
        seed=setting.seed,
    )


def make_action_plan(setting: Setting) -> ActionPlan:
    """Return the plan that is carried out, as a policy where that is its model and can be."""
    policy = as_policy(setting.plan) if setting.model == "policy" else None
    if policy is not None:
        return ActionPlan.of(policy)
    model: ExecutionModel = "sequential" if setting.model == "policy" else setting.model
    plan = ActionPlan.of(setting.plan, model=model)
    if not setting.is_candidate or creates_objects(classical_part(setting.plan).domain):
        return plan
    return plan.model_copy(update={"alternatives": texts_of([setting.plan.steps])})


async def _drive_once(executor: Executor, setting: Setting, carried: Carried) -> RunOutcome:
    """Drive the run until it ends, or its process dies."""
    async with asyncio.timeout(ENDLESS_SECONDS):
        if carried.crashes:
            return await executor.resume(RUN)
        plan = make_action_plan(setting) if setting.open_world is None else setting.plan.problem
        return await executor.run(plan, run=RUN, memory=make_memory(carried.simulated))


def make_memory(simulated: SimulatedWorld) -> dict[str, Any]:
    """Return values for all data parameters of the actions of a world."""
    actions = simulated.problem.domain.actions
    return {name: value for action in actions for name, value in simulated.parameters(action).items()}
