"""Random declared problems with numbers, and their slow and obvious twin: breadth-first search over `Simulation`.

Most fluents have bounds, so that most problems have finitely many states. Effects may exclude each other, fluents may
lack a value, and derived facts may depend on numbers.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from decimal import Decimal

from planner.model import (
    FALSE,
    OPEN,
    TOTAL_COST,
    TRUE,
    Action,
    And,
    Arithmetic,
    Atom,
    Axiom,
    Comparison,
    DomainModel,
    Equals,
    Exists,
    Forall,
    Function,
    Goal,
    Imply,
    Metric,
    Not,
    Number,
    NumericEffect,
    NumericMetric,
    Object,
    Or,
    Predicate,
    Problem,
    Variable,
    When,
)
from planner.model.formulas import conjunction
from planner.plan import Step
from planner.semantics.simulation import Simulation

X, Y = Variable("?x", ("thing",)), Variable("?y", ("thing",))
RELATIONS = ("<", "<=", "=", ">=", ">")


class TooManyStates(Exception):
    """The problem has more reachable states than the caller wanted to look at."""


class Unbounded(Exception):
    """For each plan there is a better one."""


@dataclass(frozen=True)
class Explored:
    """The number of reachable states, and a shortest plan or None where there is none."""

    states: int
    plan: tuple[Step, ...] | None


def explore(problem: Problem, max_states: int = 400) -> Explored:
    """Return a shortest plan of `problem` by breadth-first search over all its states. Raises `TooManyStates`."""
    start = Simulation(problem)
    queue: list[tuple[Simulation, tuple[Step, ...]]] = [(start, ())]
    seen = {key_of(start)}
    for simulation, steps in queue:
        if simulation.holds(problem.goal.hard):
            return Explored(len(seen), steps)
        for step in list(simulation.applicable()):
            after = simulation.copy()
            after.apply(step)
            if (key := key_of(after)) not in seen:
                seen.add(key)
                queue.append((after, (*steps, step)))
        if len(seen) > max_states:
            raise TooManyStates
    return Explored(len(seen), None)


def find_least_cost(problem: Problem, max_states: int = 400) -> Number | None:
    """Return the least charge of a plan, by Bellman and Ford; None where there is no plan.

    The charge is the sum of the costs and of the utilities of soft goals that do not hold at the end.

    Raises `TooManyStates`, and `Unbounded` where a circle of steps lowers the costs of plans for ever.
    """
    start = Simulation(problem)
    queue, seen = [start], {key_of(start): start}
    edges: list[tuple[tuple, Number, tuple]] = []
    for simulation in queue:
        for step in list(simulation.applicable()):
            after = simulation.copy()
            after.apply(step)
            edges.append((key_of(simulation), step.cost, key_of(after)))
            if seen.setdefault(key_of(after), after) is after:
                queue.append(after)
        if len(seen) > max_states:
            raise TooManyStates
    least: dict[tuple, Number] = {key_of(start): 0}
    goals = {key for key, simulation in seen.items() if simulation.holds(problem.goal.hard)}
    ahead = _find_states_before(goals, edges)
    useful = [edge for edge in edges if edge[2] in ahead]
    for _ in range(len(seen) + 1):
        before = dict(least)
        for origin, cost, target in useful:
            if origin in least and (target not in least or least[origin] + cost < least[target]):
                least[target] = least[origin] + cost
        if before == least:
            return min([least[key] + _count_forgone(seen[key]) for key in goals if key in least], default=None)
    raise Unbounded


def _count_forgone(simulation: Simulation) -> Number:
    wishes = simulation.problem.goal.soft
    return sum([wish.utility for wish in wishes if not simulation.holds(wish.condition)])


def _find_states_before(goals: set[tuple], edges: list[tuple[tuple, Number, tuple]]) -> set[tuple]:
    """Return the states from which the edges lead to one of `goals`."""
    found, size = set(goals), -1
    while size != len(found):
        size = len(found)
        found |= {origin for origin, _, target in edges if target in found}
    return found


def key_of(simulation: Simulation) -> tuple[frozenset, frozenset]:
    """Return the state of `simulation`."""
    return simulation.facts, frozenset(simulation.values.items())


def random_numeric_problem(seed: int) -> Problem:
    """Return a random problem with numbers, all of whose expressions are linear."""
    return _Drawer(random.Random(seed)).problem()


class _Drawer:
    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.objects = tuple([Object(f"o{number}", ("thing",)) for number in range(rng.randint(1, 3))])
        same = rng.random() < 0.2
        self.fluents = [("f", 0), ("g", 1), ("h", 0)][: rng.randint(1, 3)]
        self.predicates = [("f" if same else "p", 0), ("g" if same else "q", 1)]
        self.derived = [("d", 0), ("e", 1)] if rng.random() < 0.5 else []
        self.statics = [("k", 1)] if rng.random() < 0.5 else []

    def chance(self, probability: float) -> bool:
        return self.rng.random() < probability

    def problem(self) -> Problem:
        functions = {name: self.function(name, arity) for name, arity in self.fluents}
        functions |= {name: Function(name, (X,) * arity) for name, arity in self.statics}
        predicates = {name: Predicate(name, (X,) * arity) for name, arity in [*self.predicates, *self.derived]}
        actions = {f"a{number}": self.action(f"a{number}") for number in range(self.rng.randint(2, 4))}
        domain = DomainModel(
            "numbers",
            {"thing": ()},
            predicates=predicates,
            functions=functions,
            actions=actions,
            axioms=tuple(self.axioms()),
        )
        initial = tuple([atom for atom in self.instances(self.predicates) if self.chance(0.4)])
        problem = Problem("random", domain, self.objects, initial, values=self.values(functions))
        goal, metric = self.goal(problem), self.metric(problem)
        return Problem("random", domain, self.objects, initial, Goal(goal), problem.values, metric)

    def function(self, name: str, arity: int) -> Function:
        low = self.rng.choice([0, 0, -2, Decimal("-0.5"), None])
        high = self.rng.choice([3, 4, 5, Decimal("3.5"), None])
        return Function(name, (X,) * arity, low, high)

    def values(self, functions: dict[str, Function]) -> dict[Atom, int | Decimal]:
        found = {}
        for term in self.instances([*self.fluents, *self.statics]):
            function = functions[term.predicate]
            value = self.rng.choice([0, 0, 1, 2, 3, Decimal("0.5"), Decimal("1.25")])
            if not self.chance(0.12) and (function.high is None or value <= function.high):
                found[term] = value
        return found

    def instances(self, symbols: list[tuple[str, int]]) -> list[Atom]:
        return [
            Atom(name, (each.name,) * arity)
            for name, arity in symbols
            for each in (self.objects if arity else self.objects[:1])
        ]

    def term(self, symbols: list[tuple[str, int]], scope: list[str]) -> Atom:
        """Return an atom of one of `symbols` with terms of `scope`, or with objects."""
        name, arity = self.rng.choice(symbols)
        names = scope * 3 + [each.name for each in self.objects]
        return Atom(name, tuple([self.rng.choice(names) for _ in range(arity)]))

    def number(self) -> int | Decimal:
        return self.rng.choice([0, 1, 1, 2, 2, 3, -1, Decimal("0.5"), Decimal("1.5")])

    def expression(self, scope: list[str], depth: int = 1):
        if depth == 0 or self.chance(0.5):
            return (
                self.term([*self.fluents, *self.fluents, *self.statics], scope) if self.chance(0.7) else self.number()
            )
        one, other = self.expression(scope, depth - 1), self.expression(scope, depth - 1)
        factor = self.term(self.statics, scope) if self.statics and self.chance(0.3) else self.number()
        forms = [("+", (one, other)), ("-", (one, other)), ("-", (one,)), ("*", (factor, other)), ("*", (one, factor))]
        forms += [("/", (one, self.rng.choice([2, 3, 4]))), ("/", (one, factor)), ("+", (one, other, one))]
        return Arithmetic(*self.rng.choice(forms))

    def formula(self, scope: list[str], depth: int = 2, *, derived: bool = True):
        """Return a condition over the variables of `scope`."""
        if depth == 0 or self.chance(0.4):
            if self.chance(0.6):
                leaf = Comparison(self.expression(scope), self.rng.choice(RELATIONS), self.expression(scope))
            else:
                leaf = self.term([*self.predicates, *(self.derived if derived else [])], scope)
            return Not(leaf) if self.chance(0.3) else leaf
        one, other = (self.formula(scope, depth - 1, derived=derived) for _ in range(2))
        bound = self.rng.choice([X, Y])
        inner = self.formula([*scope, bound.name], depth - 1, derived=derived)
        kinds = [And((one, other)), Or((one, other)), Or((one, one)), Imply(one, other), Not(one)]
        kinds += [Forall((bound,), inner), Exists((bound,), inner)]
        if scope:
            kinds.append(Or((Equals(scope[0], self.objects[0].name), one)))
        return self.rng.choice(kinds)

    def axioms(self):
        for name, arity in self.derived:
            variables = (X,) * arity
            yield Axiom(name, variables, self.formula([each.name for each in variables], derived=False))

    def action(self, name: str) -> Action:
        parameters = (X,) if self.chance(0.6) else ()
        scope = [each.name for each in parameters]
        return Action(
            name,
            parameters,
            conjunction([self.formula(scope) for _ in range(self.rng.choice([0, 1, 1, 2]))]),
            self.literals(scope),
            (Atom("q" if ("q", 1) in self.predicates else "g", (OPEN,)),) if self.chance(0.15) else (),
            tuple([self.when(scope) for _ in range(self.rng.choice([0, 0, 1, 1, 2]))]),
            numbers=self.effects(scope, self.rng.choice([0, 1, 1, 2])),
            cost=(self.rng.choice([1, 1, 2, Decimal("0.5")]),),
        )

    def literals(self, scope: list[str]):
        found = [self.term(self.predicates, scope) for _ in range(self.rng.choice([0, 0, 1]))]
        return tuple([Not(each) if self.chance(0.4) else each for each in found])

    def when(self, scope: list[str]) -> When:
        variables = (Y,) if self.chance(0.5) else ()
        inner = list(dict.fromkeys([*scope, *[each.name for each in variables]]))
        requires = TRUE if self.chance(0.15) else self.formula(inner)
        return When(requires, self.literals(inner), (), variables, self.effects(inner, self.rng.choice([0, 1, 1, 2])))

    def effects(self, scope: list[str], many: int) -> tuple[NumericEffect, ...]:
        operators = ["+=", "+=", "-=", "-=", ":="]
        found = []
        for _ in range(many):
            fluent = self.term(self.fluents, scope)
            if self.chance(0.12):
                found.append(NumericEffect(fluent, self.rng.choice(["*=", "/="]), self.rng.choice([0, 1, 2, 3, -1])))
            else:
                value = self.number() if self.chance(0.6) else self.expression(scope)
                found.append(NumericEffect(fluent, self.rng.choice(operators), value))
        return tuple(found)

    def goal(self, problem: Problem):
        """Return what holds some random steps away, or any condition."""
        first = walk = Simulation(problem)
        for _ in range(self.rng.randint(2, 9)):
            steps = list(walk.applicable())
            if steps:
                walk = walk.copy()
                walk.apply(self.rng.choice(steps))
        parts = [Comparison(fluent, self.rng.choice(RELATIONS), value) for fluent, value in self.news(first, walk)]
        parts += sorted(walk.facts - first.facts, key=str)
        chosen = self.rng.sample(parts, min(len(parts), self.rng.randint(1, 2)))
        if not chosen or self.chance(0.3):
            chosen.append(self.formula([]))
        if first.holds(conjunction(chosen)) and self.chance(0.9):
            return self.goal(problem) if self.chance(0.9) else FALSE
        return conjunction(chosen)

    def news(self, first: Simulation, last: Simulation):
        for fluent, value in last.values.items():
            if value != first.values.get(fluent):
                yield fluent, value if isinstance(value, int) else Arithmetic("/", (value.numerator, value.denominator))

    def metric(self, problem: Problem):
        if self.chance(0.5):
            return self.rng.choice([Metric.COST, Metric.LENGTH])
        fluents = [term for term in problem.values if term.predicate in dict(self.fluents)]
        terms = [TOTAL_COST, *fluents]
        return NumericMetric(
            Arithmetic("+", (self.rng.choice(terms), Arithmetic("*", (2, self.rng.choice(terms))))),
            self.chance(0.4),
        )
