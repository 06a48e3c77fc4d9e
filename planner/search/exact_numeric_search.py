"""Search of problems with numbers, state by state, with exact values of any size, in plain Python.

It takes what 64-bit integers do not hold, such as values that are halved again and again, and costs that depend on the
state. States are those of the simulation. A cheaper way to a state that was left before opens it again, so that costs
may be negative; then only the end of the search proves that a plan is the best.
"""

from __future__ import annotations

from heapq import heappop, heappush
from itertools import count

from planner.lightweight import Final
from planner.limits import Limits
from planner.model.arithmetic import Exact, exact_value
from planner.model.constructs import Construct, has
from planner.model.domain import numeric_effects, numeric_fluents
from planner.model.formulas import Arithmetic, Atom, Expression, comparisons_in, functions_in
from planner.model.problem import NumericMetric, Problem
from planner.plan import Plan, Result, Statistics, Status, Step, StoppedBy
from planner.semantics.simulation import Simulation

MOST_STATES: Final = 5_000
"""Most states: a second or two. Measured on random small tasks, of which hardly any has more that are all reached."""

MOST_BITS: Final = 4_000
"""Most bits of a numerator or denominator: values that are squared again and again double theirs at each step."""


class ExactSearch:
    """Uniform-cost search of `problem`; `plan` is the best that it has found so far."""

    def __init__(self, problem: Problem, limits: Limits, most_states: int) -> None:
        self._problem, self._limits, self._most_states = problem, limits, most_states
        self._may_fall = isinstance(problem.metric, NumericMetric)
        self._ignored = find_mere_sums(problem)
        self._costs: dict[object, Exact] = {}
        self._parents: dict[object, tuple[object, Step] | None] = {}
        self.plan: Plan | None = None
        self.expanded = 0

    def run(self, *, first: bool) -> bool:
        """Search, until the `first` plan if that is enough; return whether nothing better than the best plan is left.

        Raises `LimitReached`, and `PlanError` where the metric has no value, or one that is no finite decimal.
        """
        start, ages = Simulation(self._problem), count()
        key: object = self._key_of(start)
        self._costs[key], self._parents[key] = 0, None
        queue: list[tuple[Exact, int, object, Simulation]] = [(0, next(ages), key, start)]
        least: Exact | None = None
        while queue:
            self._limits.check()
            cost, _, key, state = heappop(queue)
            if cost > self._costs[key]:
                continue
            if (least is None or cost < least) and state.holds(self._problem.goal.hard):
                least, self.plan = cost, self._trace(key)
                if first or not self._may_fall:
                    return not self._may_fall
            self.expanded += 1
            for step in list(state.applicable()):
                after = state.copy()
                after.apply(step)
                new, total = self._key_of(after), cost + exact_value(step.cost)
                if new not in self._costs or total < self._costs[new]:
                    if new in self._costs and self._is_above(new, key):
                        return False  # a circle of steps lowers the cost for ever
                    self._costs[new], self._parents[new] = total, (key, step)
                    heappush(queue, (total, next(ages), new, after))
                if any(map(is_great, after.values.values())):
                    return False
            if len(self._costs) > self._most_states or self.expanded > 2 * self._most_states:
                return False
        return True

    def _trace(self, key: object) -> Plan:
        """Return the plan that leads to the state with this key."""
        steps, parent = [], self._parents[key]
        while parent is not None:
            above, step = parent
            steps.append(step)
            parent = self._parents[above]
        return Plan(tuple(reversed(steps)), self._problem)

    def _is_above(self, one: object, other: object) -> bool:
        """Return whether the cheapest way to the state `other` goes through `one`, or ends there."""
        while one != other:
            parent = self._parents[other]
            if parent is None:
                return False
            other = parent[0]
        return True

    def _key_of(self, state: Simulation) -> object:
        """Return the facts and values of `state`: equal for states from which the same plans cost the same."""
        values = [(term, value) for term, value in state.values.items() if term.predicate not in self._ignored]
        return frozenset(state.facts), frozenset(values)


def is_great(value: Exact) -> bool:
    """Return whether `value` has more bits than are worth computing with."""
    return max(value.numerator.bit_length(), value.denominator.bit_length()) > MOST_BITS


def find_mere_sums(problem: Problem) -> frozenset[str]:
    """Return the fluents that steps only add to, and that nothing but a linear metric reads."""
    if isinstance(problem.metric, NumericMetric) and not _is_plainly_linear(problem.metric.expression):
        return frozenset()
    domain = problem.domain
    conditions = [problem.goal.hard, *[axiom.condition for axiom in domain.axioms]]
    read = {name for name, each in domain.functions.items() if (each.low, each.high) != (None, None)}
    for action in domain.actions.values():
        conditions += [action.requires, *[when.requires for when in action.when]]
        for effect in numeric_effects(action):
            read |= {term.predicate for term in functions_in(effect.value)}
            read |= set() if effect.is_additive else {effect.fluent.predicate}
    read |= {term.predicate for each in conditions for part in comparisons_in(each) for term in part.functions}
    return numeric_fluents(domain) - read


def _is_plainly_linear(expression: Expression) -> bool:
    """Return whether `expression` multiplies and divides by numbers only."""
    if not isinstance(expression, Arithmetic):
        return True
    others = [each for each in expression.operands if isinstance(each, Atom | Arithmetic)]
    if expression.operator == "*" and len(others) > 1:
        return False
    if expression.operator == "/" and expression.operands[1] in others:
        return False
    return all(map(_is_plainly_linear, others))


def _is_plain(problem: Problem) -> bool:
    """Return whether a state and the hard goal say all that counts in `problem`."""
    others = [each for each in Construct if each is not Construct.UNKNOWN_NUMBERS]
    return not has(problem, *others) and not any(each.after for each in problem.domain.actions.values())


def search_exactly(problem: Problem, limits: Limits, reason: str, *, first: bool) -> Result | None:
    """Return the result of exact search of `problem`; None where it finds no plan and no proof.

    `reason` says why other searches are not enough. Raises as `ExactSearch.run` does.
    """
    if not _is_plain(problem):
        return None
    search = ExactSearch(problem, limits, MOST_STATES)
    proved = search.run(first=first)
    plan = search.plan
    statistics = Statistics("exact", "blind", expanded=search.expanded, search_seconds=limits.elapsed)
    if plan is None:
        return Result(Status.UNSOLVABLE, StoppedBy.EXHAUSTED, statistics=statistics) if proved else None
    if proved:
        return Result(Status.OPTIMAL, StoppedBy.EXHAUSTED, plan, plan.cost, statistics)
    stopped_by = StoppedBy.FIRST_PLAN if first else StoppedBy.INCOMPLETE
    return Result(Status.SOLVED, stopped_by, plan, None, statistics, reason)
