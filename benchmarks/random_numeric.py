"""Random tiny tasks with numbers as PDDL text, small enough to enumerate and wild enough for the corners of level 2.

A seed, or anything else with the interface of `random.Random`, determines a task. Nothing of the planner is needed:
goals come from states that `benchmarks.numeric_semantics` reaches. Most effects are guarded by bounds, so that most
tasks have finitely many states; no task assigns or scales a fluent beside another effect on it.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from typing import Final

from benchmarks.numeric_semantics import NumericSemantics, State, Term
from benchmarks.pddltext import Expression, write_expression

OPERATORS: Final = ("<", "<=", "<=", ">=", ">=", ">", "=")
VARIABLE: Final = "?x"
COST: Final = "total-cost"


@dataclass(frozen=True, slots=True)
class NumericFeatures:
    """What random tasks may contain; `fluents`, `actions` and `objects` are the largest numbers of each.

    `linear`: conditions and effects read several fluents; `nonlinear`: they multiply them or divide by them.
    `state_costs`: costs of steps read fluents; `general_metrics`: metrics read others than the cost.
    """

    fluents: int = 3
    actions: int = 4
    objects: int = 2
    decimals: bool = True
    negated: bool = True
    disjunctive: bool = True
    conditional: bool = True
    assignments: bool = True
    scaling: bool = True
    linear: bool = True
    nonlinear: bool = False
    undefined: bool = True
    costs: bool = True
    state_costs: bool = True
    general_metrics: bool = True
    maximise: bool = True


ALL: Final = NumericFeatures()
SIMPLE: Final = NumericFeatures(assignments=False, scaling=False, linear=False, undefined=False, state_costs=False)
"""What simple numeric planning covers: conditions may still be disjunctive, effects conditional."""


@dataclass(frozen=True, slots=True)
class NumericTask:
    """A domain and a problem in PDDL."""

    domain: str
    problem: str


@dataclass(frozen=True, slots=True)
class Symbol:
    """A predicate, a fluent or a static function with no parameter or one, and the range that guards keep it in."""

    name: str
    arity: int
    low: int = 0
    high: int = 4


def random_numeric_task(seed: int | random.Random, features: NumericFeatures = ALL) -> NumericTask:
    """Return a random task; the same seed and features give the same task."""
    return _TaskDrawer(random.Random(seed) if isinstance(seed, int) else seed, features).draw_task()


def write_number(value: Fraction | int, digits: int = 0) -> str:
    """Return a number with a finite decimal as PDDL writes it, with at least so many digits after the point."""
    value = Fraction(value)
    while (scaled := value * 10**digits).denominator != 1:
        digits += 1
    whole, fraction = divmod(abs(scaled.numerator), 10**digits)
    sign = "-" if value < 0 else ""
    return f"{sign}{whole}" + (f".{fraction:0{digits}d}" if digits else "")


class _TaskDrawer:
    def __init__(self, rng: random.Random, features: NumericFeatures) -> None:
        self.rng = rng
        self.features = features
        self.objects = [f"o{number}" for number in range(rng.randint(1, features.objects))]
        self.constants = self.objects[: rng.choice([0, 1])]
        self.predicates = [Symbol(f"p{number}", rng.choice([0, 0, 1])) for number in range(rng.randint(1, 2))]
        lows, highs = [0, 0, 0, -2], [2, 3, 4, 6]
        self.fluents = [
            Symbol(f"f{number}", rng.choice([0, 0, 1]), rng.choice(lows), rng.choice(highs))
            for number in range(rng.randint(1, features.fluents))
        ]
        self.static = [Symbol("k0", rng.choice([0, 1]), 0, 2)] if rng.random() < 0.4 else []
        self.requirement = rng.choice([":numeric-fluents", ":fluents"])
        self.names = self.objects
        self.init = self._initial()

    def draw_task(self) -> NumericTask:
        """Return the task, its actions drawn one after the other and its goal at last."""
        actions: list[Expression] = []
        for number in range(self.rng.randint(2, self.features.actions)):
            actions.append(self._useful_action(f"a{number}", actions))
        metric = self._metric()
        return self._write(actions, self._goal(actions), metric)

    def _write(self, actions: list[Expression], goal: Expression, metric: list[Expression]) -> NumericTask:
        cost: list[Expression] = [[COST]] if self.features.costs else []
        stated: list[Expression] = [[":metric", *metric]] if metric else []
        others = self.objects[len(self.constants) :]
        constants: list[Expression] = [[":constants", *self.constants, "-", "thing"]] if self.constants else []
        objects: list[Expression] = [[":objects", *others, "-", "thing"]] if others else []
        domain: Expression = [
            "define",
            ["domain", "random-numeric"],
            [":requirements", ":adl", self.requirement],
            [":types", "thing"],
            *constants,
            [":predicates", *map(declare, self.predicates)],
            [":functions", *map(declare, [*self.fluents, *self.static]), *cost],
            *actions,
        ]
        problem: Expression = [
            "define",
            ["problem", "random"],
            [":domain", "random-numeric"],
            *objects,
            [":init", *self.init],
            [":goal", goal],
            *stated,
        ]
        return NumericTask(write_expression(domain) + "\n", write_expression(problem) + "\n")

    def _initial(self) -> list[Expression]:
        facts = [term for term in self._instances(self.predicates) if self._chance(0.4)]
        values: list[Expression] = []
        for symbol in [*self.fluents, *self.static]:
            for term in self._instances([symbol]):
                absent = self.features.undefined and symbol in self.fluents and self._chance(0.12)
                if not absent:
                    values.append(["=", term, self._constant(symbol.low, symbol.high, signed=True)])
        cost: list[Expression] = [["=", [COST], "0"]] if self.features.costs else []
        return [*facts, *values, *cost]

    def _instances(self, symbols: Sequence[Symbol]) -> list[Expression]:
        """Return all ground terms of these symbols."""
        places: dict[int, list[list[str]]] = {0: [[]], 1: [[name] for name in self.objects]}
        return [[symbol.name, *arguments] for symbol in symbols for arguments in places[symbol.arity]]

    def _chance(self, probability: float) -> bool:
        return self.rng.random() < probability

    def _constant(self, low: int, high: int, *, signed: bool = False) -> str:
        """Return a number of this range, a positive one unless it may be `signed`."""
        number = Fraction(self.rng.randint(low if signed else max(low, 1), max(high, 1)))
        if self.features.decimals and self._chance(0.25):
            number = number / self.rng.choice([2, 4, 5])
        return write_number(number, self.rng.choice([0, 0, 0, 1, 2]) if self.features.decimals else 0)

    def _term(self, symbols: Sequence[Symbol]) -> Expression:
        """Return a term of one of `symbols`, with one of the names that may stand here."""
        symbol = self.rng.choice(symbols)
        return [symbol.name, self.rng.choice(self.names)] if symbol.arity else [symbol.name]

    def _expression(self, depth: int = 1) -> Expression:
        """Return a numeric expression that reads fluents, one or several of them."""
        term = self._term([*self.fluents, *self.static])
        if depth == 0 or self._chance(0.4):
            return term
        other = self._expression(0) if self.features.linear else self._constant(0, 3)
        forms: list[Expression] = [
            ["+", term, self._constant(0, 2)],
            ["*", self._constant(1, 3), term],
            ["-", term, self._constant(0, 2)],
        ]
        if self.features.linear:
            forms += [["+", term, other], ["-", term, other], ["-", term], ["+", ["*", "2", term], other]]
            forms.append(["/", term, self.rng.choice(["2", "4"])])
        if self.features.nonlinear:
            forms += [["*", term, other], ["/", term, other]]
        return self.rng.choice(forms)

    def _comparison(self) -> Expression:
        sides = [self._expression(), self._constant(-1, 4, signed=True)]
        if self.features.linear and self._chance(0.3):
            sides[1] = self._expression()
        if self._chance(0.2):
            sides.reverse()
        return [self.rng.choice(OPERATORS), *sides]

    def _condition(self, depth: int = 1) -> Expression:
        if depth and self.features.disjunctive and self._chance(0.2):
            return ["or", self._condition(0), self._condition(0)]
        leaf = self._comparison() if self._chance(0.65) else self._term(self.predicates)
        return ["not", leaf] if self.features.negated and self._chance(0.25) else leaf

    def _action(self, name: str) -> Expression:
        variables = [VARIABLE] if not self.constants or self._chance(0.5) else []
        self.names = [*variables * 3, *self.constants]
        conditions = [self._condition() for _ in range(self.rng.choice([0, 0, 1, 2]))]
        effects: list[Expression] = []
        for symbol in self.rng.sample(self.fluents, self.rng.randint(1, min(2, len(self.fluents)))):
            changes, guards = self._changes(symbol)
            effects += [self._perhaps_when(change) for change in changes]
            conditions += [guard for guard in guards if self._chance(0.9)]
        if self._chance(0.5):
            literal = self._term(self.predicates)
            effects.append(self._perhaps_when(["not", literal] if self._chance(0.4) else literal))
        if self.features.costs and self._chance(0.8):
            effects.append(["increase", [COST], self._cost()])
        self.names = self.objects
        parameters: Expression = [*variables, *(["-", "thing"] if variables else [])]
        inside = [":parameters", parameters, ":precondition", ["and", *conditions], ":effect", ["and", *effects]]
        return [":action", name, *inside]

    def _changes(self, symbol: Symbol) -> tuple[list[Expression], list[Expression]]:
        """Return the effects of an action on one fluent, and the conditions that keep it in its range."""
        fluent = self._term([symbol])
        low, high = write_number(symbol.low), write_number(symbol.high)
        kinds = ["increase", "decrease"] * 2
        kinds += ["assign"] * self.features.assignments + ["scale-up", "scale-down"] * self.features.scaling
        kind = self.rng.choice(kinds)
        if kind.startswith("scale"):
            sign = self.rng.choice(["*", "/"][:1] if kind == "scale-up" else ["/"])
            bounds: list[Expression] = [["<=", [sign, fluent, "2"], high], [">=", [sign, fluent, "2"], low]]
            return [[kind, fluent, "2"]], [*bounds, [">=", fluent, "1"]] if kind == "scale-down" else bounds
        value = self._value()
        if kind == "assign":
            return [["assign", fluent, value]], [] if isinstance(value, str) else [
                ["<=", value, high],
                [">=", value, low],
            ]
        effects: list[Expression] = [[kind, fluent, value]]
        after: Expression = ["+" if kind == "increase" else "-", fluent, value]
        guards: list[Expression] = [["<=", after, high], [">=", after, low]]
        if isinstance(value, str):
            guards = guards[:1] if kind == "increase" else guards[1:]
        if self._chance(0.15):
            effects.append([self.rng.choice(["increase", "decrease"]), fluent, self._constant(1, 1)])
        return effects, guards

    def _value(self) -> Expression:
        """Return what is added or assigned: a constant, a static function, or a linear expression of fluents."""
        if self.static and self._chance(0.2):
            return self._term(self.static)
        return self._expression() if self.features.linear and self._chance(0.3) else self._constant(1, 2)

    def _perhaps_when(self, effect: Expression) -> Expression:
        return ["when", self._condition(0), effect] if self.features.conditional and self._chance(0.2) else effect

    def _cost(self) -> Expression:
        if self.features.state_costs and self._chance(0.25):
            return self._term([symbol for symbol in self.fluents if symbol.low >= 0] or self.static or self.fluents)
        return self._constant(0, 3, signed=True)

    def _useful_action(self, name: str, earlier: list[Expression]) -> Expression:
        """Return an action that leads to new states, if three draws find one."""
        known = self._count([*earlier])
        for _ in range(3):
            action = self._action(name)
            if self._count([*earlier, action], known + 1) > known:
                break
        return action

    def _count(self, actions: list[Expression], limit: int = 8) -> int:
        return len(self._reach(actions, limit))

    def _reach(self, actions: list[Expression], limit: int) -> list[State]:
        """Return the first states that the actions reach, breadth first, at most `limit`; costs do not count."""
        task = self._write(actions, ["and"], [])
        semantics = NumericSemantics(task.domain, task.problem)
        found = {semantics.find_initial().without(frozenset({COST})): None}
        queue = [semantics.find_initial()]
        for state in queue:
            for _, after in semantics.successors(state):
                key = after.without(frozenset({COST}))
                if key not in found:
                    found[key] = None
                    queue.append(after)
            if len(queue) >= limit:
                break
        return list(islice(found, limit))

    def _goal(self, actions: list[Expression]) -> Expression:
        """Return what holds in a state some steps away and not at the beginning, or any conditions."""
        states = self._reach(actions, self.rng.randint(2, 40))
        first, far = states[0], states[-1]
        news = [self._describe(term, dict(first.values).get(term), value) for term, value in sorted(far.values)]
        parts: list[Expression] = [part for part in news if part is not None]
        parts += [[*fact] for fact in sorted(far.facts - first.facts)]
        chosen = self.rng.sample(parts, min(len(parts), self.rng.randint(1, 2)))
        if not chosen or self._chance(0.25):
            chosen.append(self._condition())
        return ["and", *chosen]

    def _describe(self, term: Term, before: Fraction | None, after: Fraction) -> Expression | None:
        """Return a comparison that `after` meets and `before` does not; None where they are the same."""
        if before == after or not has_finite_decimal(after):
            return None
        number = write_number(after)
        if before is None or self._chance(0.3):
            return ["=", [*term], number]
        return [">=" if after > before else "<=", [*term], number]

    def _metric(self) -> list[Expression]:
        """Return a direction and an expression that is defined in every state, or nothing."""
        defined = [part[1] for part in self.init if part[0] == "=" and part[1][0] in {one.name for one in self.fluents}]
        if self._chance(0.2):
            return []
        if not self.features.general_metrics or not defined or self._chance(0.4):
            return ["minimize", [COST]] if self.features.costs else []
        fluent = self.rng.choice(defined)
        if self.features.maximise and self._chance(0.4):
            return ["maximize", ["-", fluent, [COST]] if self.features.costs and self._chance(0.5) else fluent]
        weighted: Expression = ["*", self._constant(1, 3), fluent]
        return ["minimize", ["+", [COST], weighted] if self.features.costs else weighted]


def declare(symbol: Symbol) -> Expression:
    """Return the declaration of a predicate or a function."""
    return [symbol.name, *([VARIABLE, "-", "thing"] if symbol.arity else [])]


def has_finite_decimal(value: Fraction) -> bool:
    """Return whether `value` can be written with finitely many digits."""
    rest = value.denominator
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    return rest == 1
