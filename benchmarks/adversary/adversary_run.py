"""One run with an adversarial model, as its seed draws it, carried out in virtual time with its usage counted."""

from __future__ import annotations

import asyncio
import contextlib
import time
import traceback
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final

from benchmarks.adversary.adversary_models import AdversarialModel, CunningModel, draw_wild_plan, make_hostile
from benchmarks.sentences.sentence_replay import problem_of, read_sentences
from executor.agent.agent import Agent
from executor.agent.goal_reading.confirmed_readings import Readings
from executor.agent.proposals import Achieved, Proposal, Standing
from executor.errors import RunError
from executor.language_model.protocol import Allowance, LanguageModel, Purpose, Reply, Request, Usage
from executor.run import RunOutcome
from executor.testing import Fault, FaultKind, SimulatedWorld, run_virtual
from planner import Problem
from planner.errors import InputError
from planner.lightweight import replace
from planner.reuse.plan_cache import PlanCache

WAYS: Final = ("sentence", "goal", "plan", "change", "interrupted", "candidates", "room", "again")
"""What is asked of the agent: a sentence; a goal, whose steps the model fills; the repair of a plan that the model has
drawn up; another sentence in mid-run; a run that is interrupted and taken up again; candidates for a sentence; a
conversation; the same sentence twice, with plans and readings kept."""
UNLIMITED: Final = 0.8
"""How likely the model may take as much as it likes."""
LYING: Final = 0.2
"""How likely handlers lie, too: they say that it is done, and have done nothing."""


HOSTILE: Final = 0.2
"""How likely handlers return anything besides."""


@dataclass(frozen=True, slots=True)
class Setting:
    """One run: what is asked in which `way`, by whom it is allowed, and what the model may take.

    `confirms` is what a person says to every goal, None where nobody is there; `approves` to every step.
    """

    seed: int
    where: str
    way: str
    sentence: str
    is_cunning: bool
    allowance: Allowance
    confirms: bool | None
    approves: bool | None
    waived: bool
    open_types: tuple[str, ...]
    has_memory: bool
    faults: tuple[Fault, ...]
    is_hostile: bool

    @property
    def known(self) -> list[Any]:
        """The meanings that are recorded for the sentence, right and wrong."""
        (found,) = [each for each in read_sentences() if each.say == self.sentence]
        rounds = [found.right, *[said for wrong in found.wrong for said in wrong.said]]
        return [meaning for each in rounds if isinstance(each, list) for meaning in each]

    @property
    def problem(self) -> Problem:
        """The problem, as things stand."""
        return problem_of(self.where)

    def __str__(self) -> str:
        model = "cunning" if self.is_cunning else "random"
        return f"seed {self.seed}: {self.where}, {self.way}, {model}, {self.allowance}, {self.sentence!r}"


def draw_setting(seed: int, campaign: int = 0) -> Setting:
    """Return the run that `seed` draws; seeds go through all ways in turn."""
    dice = Random(f"adversary {campaign} {seed}")
    drawn = dice.choice(read_sentences())
    types = list(problem_of(drawn.where).domain.types)
    return Setting(
        seed,
        drawn.where,
        WAYS[seed % len(WAYS)],
        drawn.say,
        is_cunning=dice.random() < 0.8,
        allowance=_draw_allowance(dice),
        confirms=dice.choice([True, True, True, False, None]),
        approves=dice.choice([True, True, True, False, None]),
        waived=dice.random() < 0.3,
        open_types=tuple(dice.sample(types, dice.randint(0, len(types)))),
        has_memory=dice.random() < 0.5,
        faults=(Fault(FaultKind.LIES, rate=0.3, times=None),) if dice.random() < LYING else (),
        is_hostile=dice.random() < HOSTILE,
    )


def _draw_allowance(dice: Random) -> Allowance:
    if dice.random() < UNLIMITED:
        return Allowance()
    return Allowance(
        dice.choice([None, None, 0, 1, 3, 10]),
        dice.choice([None, None, 0, 300, 5000]),
        dice.choice([None, 0.0, 0.02, 0.1]),
    )


PRICE: Final = 0.01
"""What each call costs."""
SECONDS: Final = 1.0
"""Real seconds for each search."""
ENDLESS: Final = 1e9
"""Virtual seconds: more than any of these runs may take."""


class Counting:
    """A model, and what it took, by requests to the agent: each has an allowance of its own.

    `spent` is what each has taken, `before` what it had taken when it last asked. Whatever is asked while `change` is
    at work belongs to that, but for the parameters of steps: these belong to the run.
    """

    def __init__(self, model: LanguageModel) -> None:
        self._model = model
        self._request = 0
        self.changing = False
        self.spent: dict[int, Usage] = {}
        self.before: dict[int, Usage] = {}

    def begin(self) -> None:
        """Count for another request from now on."""
        self._request += 1

    async def answer(self, request: Request) -> Reply:
        """Return the answer of the model, and charge for it."""
        belongs = self._request + (self.changing and request.purpose is not Purpose.FILL)
        self.before[belongs] = before = self.spent.get(belongs, Usage())
        self.spent[belongs] = before + Usage(1)
        reply = await self._model.answer(request)
        priced = replace(reply, usage=replace(reply.usage, money=PRICE))
        self.spent[belongs] = before + priced.usage
        return priced


@dataclass(slots=True)
class Carried:
    """What came of a run: proposals and outcomes in turn, the world that it left, or what was raised."""

    simulated: SimulatedWorld
    model: Counting
    achieved: list[Achieved] = field(default_factory=list)
    outcomes: list[RunOutcome] = field(default_factory=list)
    held: list[bool] = field(default_factory=list)
    """Whether the goal of each run held in the true world when it ended."""
    error: str = ""
    refused: str = ""
    seconds: float = 0.0

    def note(self, achieved: Achieved) -> None:
        """Keep what came of a request."""
        self.achieved.append(achieved)
        if achieved.outcome is not None:
            self.ended(achieved.outcome)

    def ended(self, outcome: RunOutcome) -> None:
        """Keep how a run has ended, and whether that is so."""
        self.outcomes.append(outcome)
        self.held.append(self.simulated.holds(outcome.state.problem.goal.hard))


def carry_out(setting: Setting) -> Carried:
    """Carry out a run."""
    problem = setting.problem
    model: LanguageModel = AdversarialModel(setting.seed)
    if setting.is_cunning:
        model = CunningModel(problem, setting.seed, setting.known, wild=(setting.seed % 5) / 10)
    carried = Carried(SimulatedWorld(problem, seed=setting.seed, faults=setting.faults), Counting(model))
    if setting.is_hostile:
        make_hostile(carried.simulated, problem, setting.seed)
    agent = Agent(
        carried.simulated.world,
        problem,
        model=carried.model,
        confirm=None if setting.confirms is None else lambda _: setting.confirms,
        approve=None if setting.approves is None else lambda _: setting.approves,
        waived=setting.waived,
        open_types=setting.open_types,
        allowance=setting.allowance,
        time_limit=SECONDS,
        seed=setting.seed,
        cache=PlanCache() if setting.way == "again" else None,
        readings=Readings() if setting.way == "again" else None,
    )
    started = time.perf_counter()
    try:
        run_virtual(_bounded(agent, setting, carried))
    except Exception:  # noqa: BLE001 - whatever the agent raises is what this looks for
        carried.error = traceback.format_exc()
    carried.seconds = time.perf_counter() - started
    return carried


async def _bounded(agent: Agent, setting: Setting, carried: Carried) -> None:
    async with asyncio.timeout(ENDLESS):
        await _WAYS[setting.way](agent, setting, carried)


def _memory(setting: Setting, carried: Carried) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for action in setting.problem.domain.actions if setting.has_memory else ():
        found |= carried.simulated.parameters(action)
    return found


async def _sentence(agent: Agent, setting: Setting, carried: Carried) -> None:
    achieved = await agent.achieve(setting.sentence, memory=_memory(setting, carried))
    carried.note(achieved)
    if achieved.proposal.standing is Standing.AMBIGUOUS and setting.confirms:
        chosen = await agent.choose(achieved.proposal, 0)
        await _allowed(agent, chosen, setting, carried)


async def _allowed(agent: Agent, proposal: Proposal, setting: Setting, carried: Carried) -> None:
    """Have `proposal` carried out where there is a plan, and a person says yes, or nobody has to."""
    if proposal.plan is not None and (proposal.is_ready or (proposal.is_for_somebody and setting.confirms)):
        carried.note(await agent.carry_out(proposal, memory=_memory(setting, carried)))
    else:
        carried.note(Achieved(proposal))


async def _goal(agent: Agent, setting: Setting, carried: Carried) -> None:
    carried.note(await agent.achieve(setting.problem, memory=_memory(setting, carried)))


async def _plan(agent: Agent, setting: Setting, carried: Carried) -> None:
    rng = Random(f"plan {setting.seed}")
    try:
        proposal = await agent.repair(draw_wild_plan(setting.problem, rng), setting.problem)
    except InputError as error:
        carried.refused = str(error)
        return
    await _allowed(agent, proposal, setting, carried)


async def _change(agent: Agent, setting: Setting, carried: Carried) -> None:
    """Begin with the problem's own goal, and ask for something else while it is at work."""
    proposal = await agent.plan(setting.problem)
    if proposal.plan is None:
        return
    run = agent.start(proposal, memory=_memory(setting, carried))
    await asyncio.sleep(setting.seed % 3)
    carried.model.changing = True
    try:
        changed = await agent.change(run.id, setting.sentence)
        carried.achieved.append(Achieved(changed))
    except RunError as error:
        carried.refused = str(error)
    carried.ended(await run)


async def _interrupted(agent: Agent, setting: Setting, carried: Carried) -> None:
    """Interrupt a run, and take it up again."""
    proposal = await agent.plan(setting.sentence)
    if not (proposal.plan is not None and (proposal.is_ready or (proposal.is_for_somebody and setting.confirms))):
        carried.note(Achieved(proposal))
        return
    run = agent.start(proposal, memory=_memory(setting, carried))
    await asyncio.sleep(setting.seed % 3)
    with contextlib.suppress(RunError):  # it has ended
        run.interrupt()
    carried.note(Achieved(proposal, await run))
    if carried.outcomes[-1].status.name == "WAITING":
        try:
            carried.note(Achieved(proposal, await agent.resume(run.id)))
        except RunError as error:
            carried.refused = str(error)


async def _candidates(agent: Agent, setting: Setting, carried: Carried) -> None:
    found = await agent.candidates(setting.sentence, k=2, time_limit=SECONDS)
    await _allowed(agent, found[-1], setting, carried)


async def _room(agent: Agent, setting: Setting, carried: Carried) -> None:
    """Say something, answer what may be asked, and say something else."""
    room, memory = agent.room("kitchen"), _memory(setting, carried)
    for text in (
        setting.sentence,
        {True: "yes", False: "no", None: "well"}[setting.confirms],
        "And now the other one.",
    ):
        carried.model.begin()
        carried.note(await room.achieve(text, memory=memory))


async def _again(agent: Agent, setting: Setting, carried: Carried) -> None:
    for _ in range(2):
        carried.model.begin()
        carried.note(await agent.achieve(setting.sentence, memory=_memory(setting, carried)))


_WAYS: Final[dict[str, Any]] = {
    "sentence": _sentence,
    "goal": _goal,
    "plan": _plan,
    "change": _change,
    "interrupted": _interrupted,
    "candidates": _candidates,
    "room": _room,
    "again": _again,
}
