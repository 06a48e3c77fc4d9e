"""Random declared problems in time, and their meaning by an interpreter that shares no code with the package.

All times are ticks of 0.001 s. A problem has the facts p(x), q(x), r and s(x), where s goes stale, and the numbers n
and m. Its steps are judged in time, happening by happening, and as a sequence without durations.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product

from planner import Domain, Problem, When

OBJECTS = ("o", "u")
TICK = Fraction(1, 1000)

Fact = tuple[str, ...]
"""A predicate and its arguments; "_" stands for any object."""
Truth = tuple[Fact, bool]
Change = tuple[str, str, int | str]
"""A number, an operator, and a constant or another number."""
Test = tuple[str, str, int]


@dataclass(frozen=True)
class Effect:
    """What comes and ends under a condition."""

    needs: tuple[Truth, ...] = ()
    adds: tuple[Fact, ...] = ()
    ends: tuple[Fact, ...] = ()
    changes: tuple[Change, ...] = ()


@dataclass(frozen=True)
class Job:
    """An action that its parameters are still to be filled in; with them, a step."""

    name: str
    parameters: tuple[str, ...]
    ticks: int
    needs: tuple[Truth, ...] = ()
    tests: tuple[Test, ...] = ()
    lasting: tuple[Truth, ...] = ()
    adds: tuple[Fact, ...] = ()
    ends: tuple[Fact, ...] = ()
    items: tuple[Fact, ...] = ()
    changes: tuple[Change, ...] = ()
    when: tuple[Effect, ...] = ()

    def fill(self, objects: Sequence[str]) -> Job:
        """Return the step with these `objects`."""
        known = dict(zip(self.parameters, objects, strict=True))

        def fact(each: Fact) -> Fact:
            return each[0], *[known.get(arg, arg) for arg in each[1:]]

        def facts(each: Sequence[Fact]) -> tuple[Fact, ...]:
            return tuple(map(fact, each))

        def truths(each: Sequence[Truth]) -> tuple[Truth, ...]:
            return tuple([(fact(one), holds) for one, holds in each])

        when = [Effect(truths(x.needs), facts(x.adds), facts(x.ends), x.changes) for x in self.when]
        return Job(self.name, tuple(objects), self.ticks, truths(self.needs), self.tests, truths(self.lasting),
                   facts(self.adds), facts(self.ends), facts(self.items), self.changes, tuple(when))  # fmt: skip


@dataclass(frozen=True)
class World:
    """A problem of jobs; `stale` says what s(x) goes stale with: "", "p" for p(x), or "r"."""

    jobs: tuple[Job, ...]
    facts: frozenset[Fact]
    numbers: Mapping[str, int]
    goal: tuple[Truth, ...]
    stale: str = ""
    bounds: Mapping[str, tuple[int | None, int | None]] = field(default_factory=dict)

    @property
    def steps(self) -> list[Job]:
        """All ground steps."""
        return [job.fill(objects) for job in self.jobs for objects in product(OBJECTS, repeat=len(job.parameters))]

    def outdate(self, written: Sequence[Fact]) -> list[Fact]:
        """Return the patterns of facts that go stale when `written` is written."""
        if self.stale == "r":
            return [("s", "_") for name, *_ in written if name == "r"]
        return [("s", *args) for name, *args in written if name == self.stale]

    def declare(self) -> Problem:
        """Return the problem as the package knows it."""
        domain = Domain("jobs", types=["thing"], constants=dict.fromkeys(OBJECTS, "thing"))
        domain.predicate("p", x="thing")
        domain.predicate("q", x="thing")
        domain.predicate("r")
        stale = {"": [], "p": ["p(x)"], "r": ["r"]}[self.stale]
        domain.predicate("s", x="thing", stale_with=stale)
        for name, (low, high) in self.bounds.items():
            domain.function(name, low=low, high=high)
        for job in self.jobs:
            domain.action(
                job.name,
                dict.fromkeys(job.parameters, "thing"),
                requires=[
                    *map(_write_truth, job.needs),
                    *[f"{name} {sign} {value}" for name, sign, value in job.tests],
                ],
                provides=[*map(_write, job.adds), *[f"not {_write(each)}" for each in job.ends]],
                modifies=[*map(_write, job.items), *_write_changes(job.changes)],
                when=[
                    When(
                        [_write_truth(each) for each in effect.needs],
                        [*map(_write, effect.adds), *[f"not {_write(each)}" for each in effect.ends]],
                        _write_changes(effect.changes),
                    )
                    for effect in job.when
                ],
                **({"throughout": [_write_truth(each) for each in job.lasting]} if job.lasting else {}),
                **({"duration": f"{job.ticks / 1000:.3f}"} if job.ticks else {}),
            )
        return domain.problem(
            initial=[*map(_write, sorted(self.facts)), *[f"{name} = {value}" for name, value in self.numbers.items()]],
            goal=[_write_truth(each) for each in self.goal],
            objective="makespan",
        )


def _write(fact: Fact) -> str:
    name, *args = fact
    return f"{name}({', '.join(args)})" if args else name


def _write_truth(truth: Truth) -> str:
    return _write(truth[0]) if truth[1] else f"not {_write(truth[0])}"


def _write_changes(changes: Sequence[Change]) -> list[str]:
    return [f"{name} {operator} {value}" for name, operator, value in changes]


def covers(pattern: Fact, fact: Fact) -> bool:
    """Return whether `pattern` and `fact` may be the same; "_" in either of them stands for any object."""
    return pattern[0] == fact[0] and all("_" in (x, y) or x == y for x, y in zip(pattern[1:], fact[1:], strict=True))


@dataclass
class State:
    """What holds, and the values of numbers."""

    facts: set[Fact]
    numbers: dict[str, int]

    def allows(self, needs: Sequence[Truth], tests: Sequence[Test] = ()) -> bool:
        """Return whether conditions hold."""
        return all((fact in self.facts) is holds for fact, holds in needs) and all(
            self.numbers[name] >= value if sign == ">=" else self.numbers[name] <= value for name, sign, value in tests
        )

    def write(self, world: World, adds: Sequence[Fact], ends: Sequence[Fact], items: Sequence[Fact] = ()) -> None:
        """End and bring facts, with all that goes stale."""
        ended = [*ends, *[each for each in items if "_" in each], *world.outdate([*adds, *ends, *items])]
        self.facts = {each for each in self.facts if not any(covers(x, each) for x in ended)} | set(adds)

    def change(self, world: World, changes: Sequence[tuple[str, str, int]]) -> bool:
        """Change numbers; return whether they stay in their bounds, and no two changes exclude each other."""
        for name in {each[0] for each in changes}:
            mine = [each for each in changes if each[0] == name]
            if len(set(mine)) > 1 and any(operator == ":=" for _, operator, _ in mine):
                return False
            value = self.numbers[name]
            for _, operator, amount in mine:
                value = amount if operator == ":=" else value + amount if operator == "+=" else value - amount
            low, high = world.bounds.get(name, (None, None))
            if (low is not None and value < low) or (high is not None and value > high):
                return False
            self.numbers[name] = value
        return True


def _amounts(changes: Sequence[Change], state: State) -> list[tuple[str, str, int]]:
    return [(x, operator, state.numbers[y] if isinstance(y, str) else y) for x, operator, y in changes]


def follow(world: World, steps: Sequence[Job]) -> bool:
    """Return whether `steps` are a plan of the declarations without durations."""
    state = State(set(world.facts), dict(world.numbers))
    for step in steps:
        if not state.allows(step.needs, step.tests):
            return False
        effects = [Effect((), step.adds, step.ends, step.changes), *[x for x in step.when if state.allows(x.needs)]]
        changes = [each for effect in effects for each in _amounts(effect.changes, state)]
        if not state.change(world, changes):
            return False
        adds, ends = [[x for effect in effects for x in part(effect)] for part in (_adds_of, _ends_of)]
        state.write(world, adds, ends, step.items)
    return state.allows(world.goal)


def _adds_of(effect: Effect) -> tuple[Fact, ...]:
    return effect.adds


def _ends_of(effect: Effect) -> tuple[Fact, ...]:
    return effect.ends


@dataclass(frozen=True)
class Placed:
    """A step and when it starts."""

    step: Job
    start: int

    @property
    def end(self) -> int:
        """When it ends."""
        return self.start + self.step.ticks


@dataclass
class Running:
    """A step that runs, with its effects whose conditions held at its start, and the changes of numbers to come."""

    placed: Placed
    effects: list[Effect]
    changes: list[tuple[str, str, int]]
    kinds: list[tuple[str, str]]

    @property
    def comes(self) -> list[Fact]:
        """The facts that it will bring, but for those of items in its use."""
        found = [fact for effect in self.effects for fact in effect.adds]
        return [each for each in found if not any(covers(item, each) for item in self.placed.step.items)]

    def ends(self, world: World) -> list[Fact]:
        """Return the patterns of what goes stale at its end."""
        return world.outdate([*self.brings, *[each for each in self.placed.step.items if "_" not in each]])

    @property
    def brings(self) -> list[Fact]:
        """The facts that it will bring."""
        return [fact for effect in self.effects for fact in effect.adds]

    def makes_false(self, fact: Fact, world: World) -> bool:
        """Return whether `fact` goes stale at its end."""
        return fact not in self.brings and any(covers(each, fact) for each in self.ends(world))


def judge(world: World, plan: Sequence[Placed]) -> int | None:
    """Return the tick of the first fault of a plan in time, -1 if it misses the goal, None if it is valid.

    No two happenings come at once: what the rule of no moving targets says of these is not judged.
    """
    state = State(set(world.facts), dict(world.numbers))
    moments = sorted({tick for each in plan for tick in (each.start, each.end)})
    running: list[Running] = []
    for tick in moments:
        for ending in [each for each in running if each.placed.end == tick]:
            running.remove(ending)
            if not _end(world, state, ending, running):
                return tick
        for placed in plan:
            if placed.start == tick:
                started = _start(world, state, placed, running)
                if started is None:
                    return tick
                if placed.step.ticks:
                    running.append(started)
                elif not _end(world, state, started, running):
                    return tick
        for each in running:
            if not state.allows(each.placed.step.lasting) or any(
                _forbids(other, world, truth, lasting=True)
                for truth in each.placed.step.lasting
                for other in running
                if other is not each
            ):
                return tick
    return None if state.allows(world.goal) else -1


def _forbids(other: Running, world: World, truth: Truth, *, lasting: bool = False) -> bool:
    """Return whether the step `other`, which runs, lets nobody rely on `truth`."""
    fact, holds = truth
    if any(covers(item, fact) for item in other.placed.step.items):
        return True
    if not holds:
        return fact in other.comes
    return not lasting and other.makes_false(fact, world)


def _start(world: World, state: State, placed: Placed, running: Sequence[Running]) -> Running | None:
    step = placed.step
    if not state.allows(step.needs, step.tests):
        return None
    for effect in step.when:
        needed = [(fact, fact in state.facts) for fact, _ in effect.needs]
        if any(_forbids(other, world, truth) for truth in needed for other in running):
            return None
    if any(_forbids(other, world, truth) for truth in step.needs for other in running):
        return None
    positive = [truth for truth in step.lasting if truth[1]]
    if any(other.makes_false(fact, world) for fact, _ in positive for other in running):
        return None
    mine = Effect((), step.adds, step.ends, step.changes)
    effects = [mine, *[each for each in step.when if state.allows(each.needs)]]
    read = [name for name, _, _ in step.tests]
    read += [value for effect in effects for _, _, value in effect.changes if isinstance(value, str)]
    for other in running:
        if any(name in read for name, _, _ in other.changes):
            return None
        if any(_clash(world, one, two) for one in _kinds_of(effects, world) for two in other.kinds):
            return None
        if any(other.makes_false(fact, world) for effect in effects for fact in effect.adds):
            return None
        same = [x for x in step.items for y in other.placed.step.items if x == y]
        if same:
            return None
    ended = [fact for effect in effects for fact in effect.ends]
    opened = [item for item in step.items if "_" in item]
    if not _may_write(world, running, [*ended, *opened], [], []):
        return None
    state.write(world, [], [*ended, *opened])
    return Running(placed, effects, _amounts_of(effects, state), _kinds_of(effects, world))


def _amounts_of(effects: Sequence[Effect], state: State) -> list[tuple[str, str, int]]:
    return [each for effect in effects for each in _amounts(effect.changes, state)]


def _kinds_of(effects: Sequence[Effect], world: World) -> list[tuple[str, str]]:
    """Return the numbers that change, and whether each grows, shrinks, does either, or is assigned."""
    found: list[tuple[str, str]] = []
    for name, operator, amount in [each for effect in effects for each in effect.changes]:
        is_known = not isinstance(amount, str) or world.bounds[amount][0] == 0
        found.append((name, operator if operator == ":=" or is_known else "either"))
    return found


def _clash(world: World, one: tuple[str, str], two: tuple[str, str]) -> bool:
    """Return whether two steps must not change numbers so at the same time."""
    if one[0] != two[0]:
        return False
    if ":=" in (one[1], two[1]):
        return True
    is_bounded = any(bound is not None for bound in world.bounds.get(one[0], (None, None)))
    return is_bounded and (one[1] != two[1] or one[1] == "either")


def _may_write(
    world: World, running: Sequence[Running], ended: Sequence[Fact], adds: Sequence[Fact], items: Sequence[Fact]
) -> bool:
    """Return whether steps that run let another one end and bring these facts now."""
    for other in running:
        written = [*ended, *adds, *items]
        if any(covers(item, fact) for item in other.placed.step.items for fact in written):
            return False
        false = [*ended, *world.outdate(written)]
        if any(covers(pattern, fact) and fact not in adds for pattern in false for fact in other.comes):
            return False
    return True


def _end(world: World, state: State, ending: Running, running: Sequence[Running]) -> bool:
    items = [item for item in ending.placed.step.items if "_" not in item]
    if not _may_write(world, running, [], ending.brings, items):
        return False
    if not state.change(world, ending.changes):
        return False
    state.write(world, ending.brings, [], items)
    return True


def enumerate_plans(world: World, most: int, horizon: int) -> Iterator[tuple[Placed, ...]]:
    """Yield the valid plans of at most so many steps that end by `horizon`, no two happenings of which come at once."""
    steps = world.steps
    stack: list[tuple[Placed, ...]] = [()]
    while stack:
        plan = stack.pop()
        fault = judge(world, plan)
        if plan and fault is not None and -1 < fault <= plan[-1].start:
            continue
        if fault is None:
            yield plan
        if len(plan) == most:
            continue
        taken = {tick for each in plan for tick in (each.start, each.end)}
        for start in range(plan[-1].start + 1 if plan else 0, horizon):
            for step in steps:
                end = start + step.ticks
                if end <= horizon and start not in taken and (end not in taken or not step.ticks):
                    again = [each for each in plan if each.step == step and each.end >= start]
                    if not again:
                        stack.append((*plan, Placed(step, start)))


FACTS: tuple[tuple[str, ...], ...] = (("p", "x"), ("q", "x"), ("r",), ("s", "x"))


def draw_world(rng: random.Random, *, numbers: bool = True, when: bool = True) -> World:
    """Return a random problem of two to four jobs."""
    jobs = tuple([_draw_job(rng, f"job{place}", numbers, when) for place in range(rng.randint(2, 4))])
    facts = frozenset(each for each in _ground_facts() if rng.random() < 0.3)
    goal = {fact: rng.random() < 0.75 for fact in rng.sample(_ground_facts(), rng.randint(1, 3))}
    low, high = rng.choice([(None, None), (0, None), (None, 3), (0, 3)])
    bounds = {"n": (low, high), "m": (rng.choice([None, 0]), None)} if numbers else {}
    values = {"n": rng.randint(0, 3), "m": rng.randint(0, 2)} if numbers else {}
    return World(jobs, facts, values, tuple(goal.items()), rng.choice(["", "p", "r"]), bounds)


def _ground_facts() -> list[Fact]:
    return [("r",), *[(name, each) for name in "pqs" for each in OBJECTS]]


def _draw_fact(rng: random.Random, parameters: Sequence[str]) -> Fact:
    name, *args = rng.choice(FACTS)
    return (name, *[rng.choice([*parameters, *parameters, rng.choice(OBJECTS)]) for _ in args])


def _draw_facts(rng: random.Random, parameters: Sequence[str], most: int) -> list[Fact]:
    return list(dict.fromkeys(_draw_fact(rng, parameters) for _ in range(rng.randint(0, most))))


def _draw_changes(rng: random.Random) -> tuple[Change, ...]:
    kinds = [("n", "+=", 1), ("n", "-=", 1), ("n", "+=", 2), ("n", ":=", 2), ("n", "+=", "m"), ("m", "+=", "n")]
    kinds += [("m", "+=", 1), ("m", "-=", 1), ("n", "-=", "m")]
    return (rng.choice(kinds),) if rng.random() < 0.6 else ()


def _draw_job(rng: random.Random, name: str, numbers: bool, when: bool) -> Job:
    parameters = ("x", "y")[: rng.choice([0, 1, 1, 2])]
    needs = [(fact, rng.random() < 0.5) for fact in _draw_facts(rng, parameters, 2)]
    adds = _draw_facts(rng, parameters, 2)
    ends = [each for each in _draw_facts(rng, parameters, 1) if not any(_alike(each, x) for x in adds)]
    items = [rng.choice([("q", "_"), ("r",)])] if rng.random() < 0.25 else []
    lasting = [(fact, rng.random() < 0.5) for fact in _draw_facts(rng, parameters, 1)] if rng.random() < 0.25 else []
    tests = (rng.choice([("n", ">=", 1), ("n", "<=", 1), ("m", ">=", 1)]),) if numbers and rng.random() < 0.3 else ()
    changes = _draw_changes(rng) if numbers else ()
    effects = []
    if when and rng.random() < 0.4:
        given = [_draw_fact(rng, parameters)]
        comes = rng.random() < 0.7
        if not any(_alike(x, y) for x in given for y in [*adds, *ends]):
            condition = ((_draw_fact(rng, parameters), rng.random() < 0.5),)
            more = (("m", "+=", 1),) if numbers and rng.random() < 0.3 else ()
            effects.append(Effect(condition, tuple(given) if comes else (), () if comes else tuple(given), more))
    ticks = rng.choice([0, 1, 2, 3, 4]) if not lasting else rng.randint(1, 4)
    return Job(name, parameters, ticks, tuple(needs), tests, tuple(lasting), tuple(adds), tuple(ends), tuple(items),
               changes, tuple(effects))  # fmt: skip


def _alike(one: Fact, two: Fact) -> bool:
    """Return whether two facts of an action may be the same fact of some step."""
    return one[0] == two[0]
