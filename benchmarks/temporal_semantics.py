"""The semantics of PDDL in time (Fox and Long, 2003: level 3; timed initial literals), slow and obvious.

It shares no code with the planner, and covers what `benchmarks.random_temporal` writes: conjunctions of literals and
comparisons, unconditional effects, durations that are numbers or ranges, on which changes of numbers at the end of a
step may depend. Time is counted in ticks: two happenings of
which one writes what the other reads or writes lie at least one tick apart, all others may come at once. What must hold
throughout a step holds after each moment from its start on, before its end.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from itertools import combinations, product
from typing import Final

from benchmarks.numeric_semantics import (
    COMPARISONS,
    UPDATES,
    Bindings,
    Term,
    evaluate,
    ground,
    parameters_of,
)
from benchmarks.pddltext import Expression, find_option, find_sections, names_in, read_expression

DURATION: Final = "?duration"

Values = tuple[Fraction, ...]
"""The values of the fluents, in the order of `TemporalSemantics.fluents`."""


@dataclass(frozen=True, slots=True)
class Happening:
    """What one moment needs and changes: sets of facts, comparisons, and changes `(operator, fluent, value)`."""

    holds: frozenset[Term]
    fails: frozenset[Term]
    comparisons: tuple[Expression, ...]
    adds: frozenset[Term]
    deletes: frozenset[Term]
    changes: tuple[tuple[str, Term, Expression], ...]
    bindings: tuple[tuple[str, str], ...]

    def excludes(self, other: Happening) -> bool:
        """Return whether the two must not come at once (no moving targets)."""
        return (
            self._disturbs(other)
            or other._disturbs(self)
            or bool(self.adds & other.deletes or other.adds & self.deletes)
            or not self._commutes(other)
        )

    def _disturbs(self, other: Happening) -> bool:
        written = {fluent for _, fluent, _ in self.changes}
        return bool((self.adds | self.deletes) & (other.holds | other.fails) or written & other.read_fluents)

    @property
    def read_fluents(self) -> set[Term]:
        """The fluents in its comparisons and in the values of its changes."""
        bindings = dict(self.bindings)
        sides = [side for part in self.comparisons for side in part[1:]] + [value for _, _, value in self.changes]
        return {term for side in sides for term in _fluents_in(side, bindings)}

    def _commutes(self, other: Happening) -> bool:
        both = {fluent for _, fluent, _ in self.changes} & {fluent for _, fluent, _ in other.changes}
        changes = [*self.changes, *other.changes]
        return all(kind in ("increase", "decrease") for kind, fluent, _ in changes if fluent in both)


def _fluents_in(side: Expression, bindings: Bindings) -> Iterator[Term]:
    if isinstance(side, str):
        return
    if side[0] in ("+", "-", "*", "/"):
        for part in side[1:]:
            yield from _fluents_in(part, bindings)
    else:
        yield ground(side, bindings)


@dataclass(frozen=True, slots=True)
class Lasting:
    """A ground action: its start, what holds throughout, its end, and the least and the greatest number of ticks.

    An action without a duration is a start alone; without a greatest number of ticks, `high` is None. If it `charges`,
    changes at its end depend on its duration.
    """

    name: Term
    start: Happening
    through: Happening | None = None
    end: Happening | None = None
    low: int = 0
    high: int | None = 0
    charges: bool = False


@dataclass(frozen=True, slots=True)
class State:
    """Facts, and values of fluents."""

    facts: frozenset[Term]
    values: Values


@dataclass(frozen=True, slots=True)
class TimedStep:
    """A step of a plan, in ticks."""

    start: int
    name: Term
    duration: int


class TemporalSemantics:
    """What a domain and a problem in PDDL mean where one unit of time has so many `ticks`."""

    def __init__(self, domain: str, problem: str, ticks: int) -> None:
        self.ticks = ticks
        stated = read_expression(domain, "domain")
        given = read_expression(problem, "problem")
        lists = [*find_sections(stated, ":constants"), *find_sections(given, ":objects")]
        objects = [name for part in lists for name in names_in(part[1:])]
        (initial,) = find_sections(given, ":init")
        facts = {ground(part, {}) for part in initial[1:] if part[0] not in ("=", "at")}
        numbers = {ground(part[1], {}): Fraction(str(part[2])) for part in initial[1:] if part[0] == "="}
        self.fluents = tuple(numbers)
        self.initial = State(frozenset(facts), tuple(numbers.values()))
        self.actions = [
            self._read_action(action, dict(zip(parameters_of(action), arguments, strict=True)))
            for head in (":durative-action", ":action")
            for action in find_sections(stated, head)
            for arguments in product(objects, repeat=len(parameters_of(action)))
        ]
        self.events = sorted(
            [(self._count(str(part[1])), self._happening([], part[2:], {})) for part in initial[1:] if part[0] == "at"],
            key=lambda each: each[0],
        )
        self.goal = self._happening(_parts(next(find_sections(given, ":goal"))[1]), [], {})

    def _count(self, seconds: str) -> int:
        ticks = Fraction(seconds) * self.ticks
        assert ticks.denominator == 1
        return int(ticks)

    def _read_action(self, action: list[Expression], bindings: Bindings) -> Lasting:
        name = (str(action[1]), *bindings.values())
        if action[0] == ":action":
            start = self._happening(
                _parts(find_option(action, ":precondition")), _parts(find_option(action, ":effect")), bindings
            )
            return Lasting(name, start)
        conditions, effects = _parts(find_option(action, ":condition")), _parts(find_option(action, ":effect"))
        start, throughout, end = [
            self._happening(
                [part[2] for part in conditions if part[:2] == moment],
                [part[2] for part in effects if part[:2] == moment],
                bindings,
            )
            for moment in (["at", "start"], ["over", "all"], ["at", "end"])
        ]
        bounds: dict[str, int | None] = {"<=": None}
        for part in _parts(find_option(action, ":duration")):
            for relation in ("<=", ">=") if part[0] == "=" else (str(part[0]),):
                bounds[relation] = self._count(str(part[2]))
        charges = any(_mentions_duration(value) for _, _, value in end.changes)
        return Lasting(name, start, throughout, end, bounds[">="] or 0, bounds["<="], charges)

    def end_of(self, action: Lasting, duration: int) -> Happening:
        """Return the end of a step of `action` that lasts so many ticks."""
        assert action.end is not None
        if not action.charges:
            return action.end
        seconds = f"{Decimal(duration) / self.ticks:f}"
        changes = [(kind, fluent, _put_duration(value, seconds)) for kind, fluent, value in action.end.changes]
        return replace(action.end, changes=tuple(changes))

    def _happening(
        self, conditions: Sequence[Expression], effects: Sequence[Expression], bindings: Bindings
    ) -> Happening:
        def facts(parts: Sequence[Expression], *, positive: bool) -> frozenset[Term]:
            chosen = [part for part in parts if (part[0] != "not") is positive]
            return frozenset(ground(part if positive else part[1], bindings) for part in chosen)

        comparisons = [part for part in conditions if part[0] in COMPARISONS]
        changes = [part for part in effects if part[0] in UPDATES]
        literals = [part for part in conditions if part not in comparisons]
        written = [part for part in effects if part not in changes]
        return Happening(
            facts(literals, positive=True),
            facts(literals, positive=False),
            tuple(comparisons),
            facts(written, positive=True),
            facts(written, positive=False) - facts(written, positive=True),
            tuple((str(part[0]), ground(part[1], bindings), part[2]) for part in changes),
            tuple(bindings.items()),
        )

    def allows(self, happening: Happening, state: State) -> bool:
        """Return whether what `happening` needs holds in `state`."""
        if not happening.holds <= state.facts or happening.fails & state.facts:
            return False
        if not happening.comparisons:
            return True
        values, bindings = dict(zip(self.fluents, state.values, strict=True)), dict(happening.bindings)
        return all(
            COMPARISONS[str(relation)](evaluate(left, values, bindings), evaluate(right, values, bindings))
            for relation, left, right in map(tuple, happening.comparisons)
        )

    def apply(self, together: Sequence[Happening], state: State) -> State:
        """Return the state after happenings that come at once, none of which excludes another."""
        facts, changes = state.facts, [(each, change) for each in together for change in each.changes]
        for each in together:
            facts = (facts - each.deletes) | each.adds
        if not changes:
            return State(facts, state.values)
        before = dict(zip(self.fluents, state.values, strict=True))
        after = dict(before)
        for each, (kind, fluent, value) in changes:
            after[fluent] = UPDATES[kind](after[fluent], evaluate(value, before, dict(each.bindings)))
        return State(facts, tuple(after.values()))

    def replay(self, plan: Sequence[TimedStep]) -> str:
        """Return what is wrong with `plan`; "" where nothing is."""
        known = {action.name: action for action in self.actions}
        moments: dict[int, list[Happening]] = {time: [] for time, _ in self.events}
        for time, event in self.events:
            moments[time].append(event)
        for step in plan:
            action = known[step.name]
            too_long = action.high is not None and step.duration > action.high
            if step.duration < action.low or too_long or step.start < 0:
                return f"{step.name} has a wrong time"
            moments.setdefault(step.start, []).append(action.start)
            if action.end is not None:
                moments.setdefault(step.start + step.duration, []).append(self.end_of(action, step.duration))
        state = self.initial
        for time in sorted(moments):
            together = moments[time]
            if not all(self.allows(each, state) for each in together):
                return f"something cannot happen at {time}"
            if any(one.excludes(other) for one, other in combinations(together, 2)):
                return f"happenings exclude each other at {time}"
            state = self.apply(together, state)
            for step in plan:
                through, lasts = known[step.name].through, step.start <= time < step.start + step.duration
                if lasts and through is not None and not self.allows(through, state):
                    return f"{step.name} does not last after {time}"
        return "" if self.allows(self.goal, state) else "the goal does not hold"


def _mentions_duration(value: Expression) -> bool:
    return value == DURATION if isinstance(value, str) else any(map(_mentions_duration, value))


def _put_duration(value: Expression, seconds: str) -> Expression:
    """Return `value` with a number of `seconds` in place of the duration."""
    if isinstance(value, str):
        return seconds if value == DURATION else value
    return [_put_duration(each, seconds) for each in value]


def _parts(condition: Expression) -> list[Expression]:
    """Return the conjuncts of `condition`."""
    if not condition:
        return []
    if condition[0] == "and":
        return [each for part in condition[1:] for each in _parts(part)]
    return [condition]
