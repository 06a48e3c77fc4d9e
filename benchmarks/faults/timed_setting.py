"""Draw runs of a fault campaign in time: tasks with windows, capacities and deadlines, a plan, and what goes wrong.

An `Errand` is the problem in a few sets and numbers. The world and the judge of the campaign read nothing else, so that
they share no code with the planner and the executor; `declare` writes the same problem for these.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from enum import Enum
from typing import Any, Final

from benchmarks.faults.timed_schedules import Change, Errand, Schedule, Way, draw_schedule
from executor.plans.action_plan import ActionPlan
from planner.language.declare import Domain, Moment
from planner.model import Problem
from planner.plan import Plan, Step, StepTime


def declare(errand: Errand) -> Problem:
    """Return `errand` as a problem of the planner."""
    domain = Domain("errands")
    for way in errand.ways:
        fields: dict[str, Any] = {"at_start": Moment(provides=[f"not {fact}" for fact in sorted(way.drops)])}
        domain.action(
            way.name,
            {},
            requires=sorted(way.needs),
            provides=sorted(way.gives),
            throughout=sorted(way.through),
            duration=way.seconds,
            holds=dict(way.holds),
            cost=way.cost,
            **(fields if way.drops else {}),
        )
    timed: dict[str, list[str]] = {}
    for change in errand.changes:
        timed.setdefault(str(change.at), []).append(change.fact if change.holds else f"not {change.fact}")
    goal: Any = sorted(errand.goals)
    if errand.wishes:
        goal = {"hard": goal, "soft": dict(errand.wishes)}
    more: dict[str, Any] = {} if errand.deadline is None else {"deadline": errand.deadline}
    return domain.problem(
        "errands",
        initial=sorted(errand.initial),
        goal=goal,
        timed={float(at): facts for at, facts in timed.items()},
        due=dict(errand.due),
        capacity=dict(errand.capacity),
        objective=errand.objective,
        **more,
    )


class TimedFault(Enum):
    """What goes wrong in a run in time."""

    NOTHING = "nothing goes wrong"
    SLOWER = "a step takes longer than declared"
    NOISE = "every step takes a little longer or shorter than declared"
    FASTER = "a step takes less time than declared"
    FAILS = "a handler says that it failed, and has done nothing"
    RAISES = "a handler raises, and has done nothing"
    LIES = "a handler says that it is done, and has done nothing"
    FAILS_DONE = "a handler says that it failed, though it has acted"
    RAISES_DONE = "a handler raises, though it has acted"
    HANGS = "a handler does nothing, and never answers"
    HANGS_DONE = "a handler acts, and never answers"
    SHUT_EARLY = "a window closes early, and nobody says so"
    OPENED_LATE = "a window opens late, and nobody says so"
    UNDONE = "somebody else undoes what was done"
    GIVEN = "what is to be done comes about by itself"
    KILLED = "the process dies, and what it had begun stops"
    KILLED_ON = "the process dies, and what it had begun goes on to its end"


WINDOWS: Final = frozenset({TimedFault.SHUT_EARLY, TimedFault.OPENED_LATE})
OUTSIDE: Final = frozenset({TimedFault.UNDONE, TimedFault.GIVEN})
KILLS: Final = frozenset({TimedFault.KILLED, TimedFault.KILLED_ON})
SPEEDS: Final = frozenset({TimedFault.SLOWER, TimedFault.FASTER})


@dataclass(frozen=True, slots=True)
class Mishap:
    """A fault `at` a way, a fact or nothing; it strikes so many `times` (None: always).

    `factor` stretches a step; `moment` is when the process dies or something comes about from outside, `away` for how
    long the process is dead or the window is late, in seconds.
    """

    kind: TimedFault
    at: str = ""
    times: int | None = 1
    factor: float = 1.0
    moment: float = 0.0
    away: float = 0.0


@dataclass(frozen=True, slots=True)
class TimedSetting:
    """One run: the `errand` as it is planned, its plan, and what goes wrong."""

    seed: int
    errand: Errand
    plan: ActionPlan
    problem: Problem
    mishaps: tuple[Mishap, ...]
    retries: int | None
    has_journal: bool
    settle_within: float

    @property
    def kind(self) -> TimedFault:
        """The kind of the first mishap."""
        return self.mishaps[0].kind

    def __str__(self) -> str:
        mishaps = ", ".join(f"{each.kind.name} at {each.at or f'{each.moment:g} s'}" for each in self.mishaps)
        return f"seed {self.seed}: {len(self.plan.steps)} steps, {mishaps}"


def draw_timed_setting(seed: int, campaign: int = 0) -> TimedSetting:
    """Return the run that `seed` draws in a `campaign`; seeds go through all kinds of faults in turn."""
    dice = random.Random(f"{campaign} timed {seed}")
    kinds = list(TimedFault)
    kind = kinds[seed % len(kinds)]
    while True:
        errand = _draw_errand(dice, with_windows=kind in WINDOWS)
        made = draw_schedule(errand, dice)
        if made and (errand.changes or kind not in WINDOWS):
            break
    errand = _draw_deadlines(errand, made, dice)
    mishaps = [_draw_mishap(kind, errand, made, dice)]
    if dice.random() < 0.3:
        others = [each for each in kinds if each not in WINDOWS | KILLS]
        mishaps.append(_draw_mishap(dice.choice(others), errand, made, dice))
    longest = max(way.seconds for way in errand.ways)
    problem = declare(errand)
    steps = tuple([Step(name, (), errand.by_name[name].cost) for _, name in made])
    times = tuple([StepTime(Decimal(f"{at:.3f}"), errand.by_name[name].seconds) for at, name in made])
    return TimedSetting(
        seed,
        errand,
        ActionPlan.of(Plan(steps, problem, times=times)),
        problem,
        tuple(mishaps),
        dice.choice([None, None, 0, 2]),
        kind in KILLS or dice.random() < 0.2,
        settle_within=4.0 * longest if kind is TimedFault.KILLED_ON else dice.choice([0.0, 0.0, 0.5]),
    )


PLACES: Final = ("here", "there")


def _draw_errand(dice: random.Random, *, with_windows: bool) -> Errand:
    """Return a problem without deadlines: jobs of one to three tasks, each with one to three ways."""
    jobs = dice.choice([1, 2, 2, 3])
    windows = dice.choice([0, 1, 1, 2]) or int(with_windows)
    moves = dice.random() < 0.5
    ways: list[Way] = []
    goals: list[str] = []
    for job in range(1, jobs + 1):
        before: frozenset[str] = frozenset()
        for task in range(1, dice.choice([1, 2, 2, 3]) + 1):
            done = f"done_{job}_{task}"
            ways += _draw_ways(dice, done, before, windows, moves=moves)
            before = frozenset([done, *([dice.choice(goals)] if goals and dice.random() < 0.15 else [])])
        goals.append(done)
    if moves:
        for one, other in (PLACES, PLACES[::-1]):
            at, to = frozenset([one]), frozenset([other])
            ways.append(Way(f"go_{other}", dice.randint(1, 3), to, at, drops=at))
    wishes = {}
    if len(goals) > 1 and dice.random() < 0.25:
        wishes = {goals.pop(): dice.randint(1, 9)}
    used = {name for way in ways for name in way.holds}
    needed = {fact for way in ways for fact in way.through}
    return Errand(
        tuple(ways),
        frozenset(["here"] if moves else []),
        frozenset(goals),
        {name: dice.choice([1, 1, 2]) for name in sorted(used)},
        tuple([each for each in _draw_windows(dice, windows) if each.fact in needed]),
        wishes,
        objective=dice.choice(["makespan", "cost", "2 * makespan + cost"]),
    )


def _draw_ways(dice: random.Random, done: str, before: frozenset[str], windows: int, *, moves: bool) -> Iterator[Way]:
    """Yield the ways to do one task: a quicker one costs more."""
    seconds = dice.randint(3, 8)
    for number in range(1, dice.choice([1, 2, 2, 3]) + 1):
        through = [f"open_{dice.randint(1, windows)}"] if windows and dice.random() < 0.3 else []
        through += [dice.choice(PLACES)] if moves and dice.random() < 0.4 else []
        holds = {"worker": 1} if dice.random() < 0.5 else {}
        holds |= {"machine": 1} if dice.random() < 0.3 else {}
        yield Way(
            f"{done}_by_{number}", seconds, frozenset([done]), before, frozenset(through), holds=holds, cost=3 * number
        )
        seconds = max(seconds - dice.randint(1, 4), 1)


def _draw_windows(dice: random.Random, windows: int) -> Iterator[Change]:
    """Yield when each window opens and closes, once or twice."""
    for number in range(1, windows + 1):
        at = dice.choice([1, 4, 9])
        for _ in range(dice.choice([1, 2])):
            yield Change(at, f"open_{number}", holds=True)
            at += dice.randint(9, 25)
            yield Change(at, f"open_{number}", holds=False)
            at += dice.randint(2, 8)


def _draw_deadlines(errand: Errand, made: Schedule, dice: random.Random) -> Errand:
    """Return `errand` with deadlines that the schedule `made` meets, some of them by little."""
    reached = {fact: at + errand.by_name[name].seconds for at, name in made for fact in errand.by_name[name].gives}
    whole = max(at + errand.by_name[name].seconds for at, name in made)
    due = {
        fact: round(reached[fact] + dice.choice([0.5, 1.5, 3, 6, 12]), 3)
        for fact in sorted(errand.goals)
        if dice.random() < 0.6
    }
    deadline = round(whole + dice.choice([0.5, 1.5, 3, 6, 12]), 3) if not due or dice.random() < 0.4 else None
    return replace(errand, due=due, deadline=deadline)


def _draw_mishap(kind: TimedFault, errand: Errand, made: Schedule, dice: random.Random) -> Mishap:
    """Return a fault of `kind` somewhere in the schedule `made`."""
    start, name = dice.choice(made)
    way = errand.by_name[name]
    last = max(at + errand.by_name[each].seconds for at, each in made)
    if kind in SPEEDS:
        factor = dice.choice([1.2, 1.5, 2, 3]) if kind is TimedFault.SLOWER else dice.choice([0.3, 0.6, 0.9])
        return Mishap(kind, name, dice.choice([1, None]), factor)
    if kind in WINDOWS:
        wanted = [each for each in errand.changes if each.holds is (kind is TimedFault.OPENED_LATE)]
        change = dice.choice(wanted)
        return Mishap(kind, change.fact, moment=change.at, away=dice.choice([0.5, 2, 5]))
    if kind in KILLS:
        return Mishap(kind, moment=round(dice.uniform(0, last), 3), away=dice.choice([0, 0.2, 1, 4, 10]))
    if kind in OUTSIDE:
        fact = dice.choice(sorted(way.gives))
        return Mishap(kind, fact, moment=round(dice.uniform(start, last), 3))
    return Mishap(kind, "" if kind is TimedFault.NOISE else name, dice.choice([1, 1, 2, None]))
