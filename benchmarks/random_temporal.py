"""Random tiny tasks in time as PDDL text: required overlaps, changes at known times, capacities, numbers, ranges.

A seed, or anything else with the interface of `random.Random`, determines a task. Nothing of the planner is needed:
goals come from states that `benchmarks.temporal_semantics` reaches. Times are drawn as whole numbers of units. A *fine*
task has units of one separation, so that each separation may decide; in a *coarse* one a unit is a second.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from benchmarks.numeric_semantics import Term
from benchmarks.pddltext import Expression, write_expression
from benchmarks.random_numeric import Symbol, declare, write_number
from benchmarks.temporal_semantics import Happening, Lasting, State, TemporalSemantics, TimedStep

VARIABLE: Final = "?x"
MORE: Final = 4
"""Units by which a step of a drawn plan lasts longer at most, where nothing bounds it."""
SEPARATION: Final = Fraction(1, 1000)
REQUIREMENTS: Final = (
    ":typing",
    ":negative-preconditions",
    ":durative-actions",
    ":numeric-fluents",
    ":duration-inequalities",
    ":timed-initial-literals",
)


@dataclass(frozen=True, slots=True)
class TemporalFeatures:
    """What random tasks may contain; `actions` is the largest number of actions.

    A part `ranges` of the durations are ranges of up to `widest` units, or without a greatest one if they may be
    `unbounded`. With `charges`, numbers grow by how long a step lasts. In a `coarse` task times are seconds, and no
    action overlaps itself.
    """

    actions: int = 4
    longest: int = 6
    objects: int = 2
    events: bool = True
    numbers: bool = True
    negated: bool = True
    ranges: float = 0.15
    widest: int = 3
    unbounded: bool = False
    charges: bool = False
    instants: bool = True
    coarse: bool = False


FINE: Final = TemporalFeatures()
COARSE: Final = TemporalFeatures(longest=3, coarse=True)
RANGED: Final = TemporalFeatures(actions=3, longest=4, ranges=0.6, widest=5, unbounded=True, charges=True)


@dataclass(frozen=True, slots=True)
class TemporalTask:
    """A task whose times are numbers of units; `write` says how long a unit is."""

    domain: Expression
    problem: Expression
    unit: Fraction

    def write(self, unit: Fraction | None = None) -> tuple[str, str]:
        """Return the domain and the problem in PDDL, with this or the task's own `unit` of time in seconds."""
        length = self.unit if unit is None else unit
        return write_expression(_scale(self.domain, length)), write_expression(_scale(self.problem, length))


def _scale(part: Expression, unit: Fraction) -> Expression:
    """Return `part` with each word `@n` replaced by n units of time, and each word `/n` by n for each unit."""
    if isinstance(part, str):
        if part.startswith("/") and part != "/":
            return write_number(int(part[1:]) / unit)
        return write_number(int(part[1:]) * unit) if part.startswith("@") else part
    return [_scale(each, unit) for each in part]


def random_temporal_task(seed: int | random.Random, features: TemporalFeatures = FINE) -> TemporalTask:
    """Return a random task; the same seed and features give the same task."""
    return _TaskDrawer(random.Random(seed) if isinstance(seed, int) else seed, features).draw_task()


class _TaskDrawer:
    def __init__(self, rng: random.Random, features: TemporalFeatures) -> None:
        self.rng, self.features = rng, features
        self.objects = [f"o{number}" for number in range(rng.randint(1, features.objects))]
        self.predicates = [Symbol(f"p{number}", rng.choice([0, 0, 0, 1])) for number in range(rng.randint(3, 5))]
        self.names = self.objects
        self.locks: list[Expression] = []
        self.fluents: list[Expression] = []
        self.init: list[Expression] = []

    def draw_task(self) -> TemporalTask:
        """Return the task, its actions drawn one after the other and its goal at last."""
        if self.features.numbers and self._chance(0.5):
            self.fluents.append(["n0"])
            self.init.append(["=", ["n0"], str(self.rng.randint(0, 2))])
        instances = self._instances()
        self.init += [fact for fact in instances if self._chance(0.45)]
        if self.features.events and self._chance(0.4):
            for time in self.rng.sample(range(1, 2 * self.features.longest), self.rng.randint(1, 2)):
                fact = self.rng.choice(instances)
                self.init.append(["at", f"@{time}", ["not", fact] if self._chance(0.4) else fact])
        initial, locks = list(self.init), list(self.locks)
        for _ in range(4):
            self.init, self.locks = list(initial), list(locks)
            actions = [self._action(f"a{number}") for number in range(self.rng.randint(2, self.features.actions))]
            news = self._find_news(actions)
            if news:
                break
        unit = Fraction(1) if self.features.coarse else SEPARATION
        return TemporalTask(*self._write(actions, self._goal(news)), unit)

    def _instances(self) -> list[Expression]:
        return [
            [symbol.name, *arguments]
            for symbol in self.predicates
            for arguments in ([[name] for name in self.objects] if symbol.arity else [[]])
        ]

    def _write(self, actions: Sequence[Expression], goal: Expression) -> tuple[Expression, Expression]:
        functions: list[Expression] = [[":functions", *self.fluents]] if self.fluents else []
        domain: Expression = [
            "define",
            ["domain", "random-temporal"],
            [":requirements", *REQUIREMENTS],
            [":types", "thing"],
            [":constants", *self.objects, "-", "thing"],
            [":predicates", *map(declare, self.predicates), *self.locks],
            *functions,
            *actions,
        ]
        problem: Expression = [
            "define",
            ["problem", "random"],
            [":domain", "random-temporal"],
            [":init", *self.init],
            [":goal", goal],
            [":metric", "minimize", ["total-time"]],
        ]
        return domain, problem

    def _chance(self, probability: float) -> bool:
        return self.rng.random() < probability

    def _fact(self) -> Expression:
        symbol = self.rng.choice(self.predicates)
        return [symbol.name, self.rng.choice(self.names)] if symbol.arity else [symbol.name]

    def _literal(self, negated: float) -> Expression:
        fact = self._fact()
        return ["not", fact] if self.features.negated and self._chance(negated) else fact

    def _action(self, name: str) -> Expression:
        variables = [VARIABLE] if self._chance(0.3) else []
        self.names = variables or self.objects
        parameters: Expression = [*variables, *(["-", "thing"] if variables else [])]
        if self.features.instants and name != "a0" and self._chance(0.12):
            conditions = [self._literal(0.2) for _ in range(self.rng.randint(1, 2))]
            effects = [self._literal(0.3) for _ in range(self.rng.randint(1, 2))]
            self.names = self.objects
            body: list[Expression] = [":precondition", ["and", *conditions], ":effect", ["and", *_agree(effects)]]
            return [":action", name, ":parameters", parameters, *body]
        rng = self.rng
        conditions = [["at", "start", self._literal(0.2)] for _ in range(rng.choice([0, 1, 1, 2]))]
        conditions += [["over", "all", self._literal(0.15)] for _ in range(rng.choice([0, 0, 1]))]
        conditions += [["at", "end", self._literal(0.2)] for _ in range(rng.choice([0, 0, 0, 1]))]
        early = [self._literal(0.5) for _ in range(rng.choice([0, 0, 1, 1, 2]))]
        late = [self._literal(0.25) for _ in range(rng.choice([1, 1, 2]))]
        if self._chance(0.25):  # true while it lasts, and no longer
            fact = self._fact()
            early.append(fact)
            late.append(["not", fact])
        self._exclude_itself(name, conditions, early, late)
        if self.fluents and self._chance(0.6):
            self._draw_number(conditions, early, late)
        timed: list[Expression] = [["at", "start", part] for part in _agree(early)]
        timed += [["at", "end", part] for part in _agree(late)]
        self.names = self.objects
        body = [":condition", ["and", *conditions], ":effect", ["and", *timed]]
        return [":durative-action", name, ":parameters", parameters, ":duration", self._duration(), *body]

    def _exclude_itself(
        self,
        name: str,
        conditions: list[Expression],
        early: list[Expression],
        late: list[Expression],
    ) -> None:
        """Let an action need a lock, which it has while it lasts: often its own, so that it never overlaps itself."""
        if not self.features.coarse and self._chance(0.4):
            return
        lock: Expression = ["l0"] if self._chance(0.4) else [f"l-{name}"]
        if lock not in self.locks:
            self.locks.append(lock)
            self.init.append(lock)
        conditions.append(["at", "start", lock])
        early.append(["not", lock])
        late.append(lock)

    def _draw_number(self, conditions: list[Expression], early: list[Expression], late: list[Expression]) -> None:
        if self.features.charges and self._chance(0.5):
            late.append(["increase", self.fluents[0], ["*", "?duration", f"/{self.rng.randint(1, 2)}"]])
            return
        fluent, kind = self.fluents[0], self.rng.choice(["hold", "hold", "count", "spend", "assign", "throughout"])
        amount = str(self.rng.randint(1, 2))
        if kind == "hold":
            conditions.append(["at", "start", [">=", fluent, amount]])
            early.append(["decrease", fluent, amount])
            late.append(["increase", fluent, amount])
        elif kind == "count":
            conditions.append(["at", self.rng.choice(["start", "end"]), ["<=", fluent, "2"]])
            late.append(["increase", fluent, amount])
        elif kind == "spend":
            conditions.append(["at", "start", [">=", fluent, amount]])
            self.rng.choice([early, late]).append(["decrease", fluent, amount])
        elif kind == "assign":
            self.rng.choice([early, late]).append(["assign", fluent, amount])
        else:
            conditions.append(["over", "all", [self.rng.choice([">=", "<="]), fluent, "1"]])

    def _duration(self) -> Expression:
        low = self.rng.randint(1, self.features.longest)
        if self.features.ranges and self._chance(self.features.ranges):
            if self.features.unbounded and self._chance(0.25):
                return [">=", "?duration", f"@{low}"]
            high = low + self.rng.randint(1, self.features.widest)
            return ["and", [">=", "?duration", f"@{low}"], ["<=", "?duration", f"@{high}"]]
        return ["=", "?duration", f"@{low}"]

    def _find_news(self, actions: Sequence[Expression]) -> list[Term]:
        """Return facts that hold after one of some random plans, a long one, and not at the beginning."""
        semantics = TemporalSemantics(*self._write_units(actions), 1)
        plans = [draw_plan(semantics, self.rng, 6 * self.features.longest) for _ in range(12)]
        for plan in sorted(plans, key=len, reverse=True):
            news = sorted(follow(semantics, plan).facts - semantics.initial.facts)
            if news:
                return news
        return []

    def _goal(self, news: Sequence[Term]) -> Expression:
        """Return some of the facts `news`, or any literals."""
        chosen: list[Expression] = [[*fact] for fact in self.rng.sample(news, min(len(news), self.rng.randint(1, 3)))]
        if not chosen or self._chance(0.15):
            chosen.append(self._literal(0.3))
        return ["and", *chosen]

    def _write_units(self, actions: Sequence[Expression]) -> tuple[str, str]:
        domain, problem = self._write(actions, ["and"])
        return TemporalTask(domain, problem, Fraction(1)).write()


def _agree(effects: Sequence[Expression]) -> list[Expression]:
    """Return `effects` without repetitions and without literals that contradict an earlier one."""
    found: dict[str, Expression] = {}
    for effect in effects:
        found.setdefault(write_expression(effect[1] if effect[0] == "not" else effect), effect)
    return list(found.values())


def follow(semantics: TemporalSemantics, plan: Sequence[TimedStep]) -> State:
    """Return the state after `plan`, by its happenings in the order of their times."""
    known = {action.name: action for action in semantics.actions}
    moments: list[tuple[int, Happening]] = list(semantics.events)
    for step in plan:
        action = known[step.name]
        moments.append((step.start, action.start))
        if action.end is not None:
            moments.append((step.start + step.duration, semantics.end_of(action, step.duration)))
    state = semantics.initial
    for _, happening in sorted(moments, key=lambda each: each[0]):
        state = semantics.apply([happening], state)
    return state


def draw_plan(semantics: TemporalSemantics, rng: random.Random, ticks: int) -> list[TimedStep]:
    """Return a random plan that keeps all rules but the goal, drawn tick by tick; it may be empty."""
    plan: list[TimedStep] = []
    state, running = semantics.initial, list[tuple[int, Lasting, int]]()
    events = list(semantics.events)
    for tick in range(ticks):
        together = [event for time, event in events if time == tick]
        together += [semantics.end_of(action, lasts) for end, action, lasts in running if end == tick]
        if not all(semantics.allows(each, state) for each in together) or _clash(together):
            return []
        begun: list[TimedStep] = []
        lasting = [each for each in running if each[0] > tick]
        for action in rng.sample(semantics.actions, len(semantics.actions)):
            if len(begun) == 2 or tick >= ticks // 2 or rng.random() < 0.5:
                continue
            if not semantics.allows(action.start, state) or _clash([*together, action.start]):
                continue
            duration = rng.randint(action.low, action.low + MORE if action.high is None else action.high)
            after = semantics.apply([*together, action.start], state)
            if action.through is None or semantics.allows(action.through, after):
                together.append(action.start)
                begun.append(TimedStep(tick, action.name, duration))
                lasting.append((tick + duration, action, duration))
        state = semantics.apply(together, state)
        if not all(action.through is None or semantics.allows(action.through, state) for _, action, _ in lasting):
            return []
        running = [each for each in lasting if each[1].end is not None]
        plan += begun
    return [] if running else plan


def _clash(together: Sequence[Happening]) -> bool:
    return any(one.excludes(other) for place, one in enumerate(together) for other in together[:place])
