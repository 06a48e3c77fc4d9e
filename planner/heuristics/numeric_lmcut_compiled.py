"""The relaxation for lower bounds of numeric tasks, as arrays for the kernels."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import ceil, gcd

from planner.heuristics.numeric_lmcut_kernel import BoundRoom, NumericBounds
from planner.jit.arrays import empty_index, flatten, index, words, zeros
from planner.jit.common_kernel import NOTHING
from planner.lightweight import Final, dataclass, field
from planner.limits import under_limits
from planner.task.numeric_ranges import (
    Form,
    Ranges,
    add,
    bound_change,
    find_ranges,
    form_of,
    forms_by_fact,
    known_forms,
)
from planner.task.numeric_task import NumericEffects, NumericTask
from planner.task.numeric_task_compiled import NumericSpace, find_opposites

MOST_COST: Final = 1 << 30
"""No action may cost more, so that products of costs and gains fit into a word."""
UNIT_BITS: Final = 20
"""Binary digits after the point of LM-cut's prices, where costs leave room for them."""
LARGEST: Final = 1 << 58
"""Greater gains and lower levels count as this."""
ENOUGH: Final = 0
"""The level of a condition that holds."""


@dataclass(frozen=True, slots=True)
class Edge:
    """What an operator does for a fact: it adds `gain` to its condition, or if that is 0 brings it to `level`."""

    target: int
    gain: int = 0
    level: int = ENOUGH


@dataclass(slots=True)
class _Operators:
    """The operators: parallel lists."""

    preconditions: list[list[int]] = field(default_factory=list)
    edges: list[list[Edge]] = field(default_factory=list)
    actions: list[int] = field(default_factory=list)

    def add(self, needed: Sequence[int], edges: Sequence[Edge], action: int, always: int) -> None:
        """Add an operator, which needs the fact `always` if it needs none."""
        self.preconditions.append([*dict.fromkeys(needed)] or [always])
        self.edges.append([*edges])
        self.actions.append(action)


def bound_numeric(space: NumericSpace, costs: Sequence[int]) -> tuple[NumericBounds, BoundRoom]:
    """Return the relaxation of a task whose actions cost at least so much, and working memory for it."""
    source = space.source
    facts = len(source.task.facts)
    goal, always = facts, facts + 1
    operators = _list_operators(source, goal, always)
    _drop_vain_edges(operators)
    edges = [edge for own in operators.edges for edge in own]
    origin = [operator for operator, own in enumerate(operators.edges) for _ in own]
    needed: list[list[int]] = [[] for _ in range(facts + 2)]
    incoming: list[list[int]] = [[] for _ in range(facts + 2)]
    by_action: list[list[int]] = [[] for _ in costs]
    condition = [NOTHING] * (facts + 2)
    for number, each in enumerate(source.conditions):
        condition[each.fact] = number
    for operator, preconditions in enumerate(under_limits(operators.preconditions)):
        for fact in preconditions:
            needed[fact].append(operator)
        if operators.actions[operator] != NOTHING:
            by_action[operators.actions[operator]].append(operator)
    for number, edge in enumerate(edges):
        incoming[edge.target].append(number)
    opposite = find_opposites(source.task)
    free = [opposite[each.fact] for each in source.conditions if each.fact in opposite]
    bits = min(UNIT_BITS, 31 - max(costs, default=0).bit_length())
    bounds = NumericBounds(
        *flatten(operators.preconditions),
        index([0, *_ends(operators.edges)]),
        index(edge.target for edge in edges),
        words(edge.gain for edge in edges),
        words(edge.level for edge in edges),
        index(origin),
        *flatten(incoming),
        *flatten(needed),
        index(operators.actions),
        *flatten(by_action),
        index(condition),
        words(_grain(incoming[each.fact], edges) for each in source.conditions),
        index([*free, always]),
        words(costs),
        words([1 << max(bits, 0)]),
    )
    return bounds, _make_room(bounds)


def _drop_vain_edges(operators: _Operators) -> None:
    """Drop the edges to conditions that all edges bring to levels below 0: the conditions never come to hold."""
    able = {edge.target for own in operators.edges for edge in own if edge.gain or edge.level >= ENOUGH}
    operators.edges = [[edge for edge in own if edge.target in able] for own in under_limits(operators.edges)]


def _ends(lists: Sequence[Sequence[object]]) -> list[int]:
    ends, end = [], 0
    for each in lists:
        end += len(each)
        ends.append(end)
    return ends


def _grain(incoming: list[int], edges: list[Edge]) -> int:
    return gcd(*[edges[number].gain for number in incoming if edges[number].gain])


def _list_operators(source: NumericTask, goal: int, always: int) -> _Operators:
    task, operators = source.task, _Operators()
    ranges = find_ranges(source)
    helps = _Helps(source, ranges)
    for number, action in enumerate(under_limits(task.actions)):
        adds = [Edge(fact) for fact in action.adds]
        operators.add(action.precondition, [*adds, *helps.of(number)], number, always)
        for part in action.conditional:
            if part.adds:
                needed = (*action.precondition, *part.condition)
                operators.add(needed, [Edge(fact) for fact in part.adds], number, always)
    for layer in task.axioms:
        for rule in layer.rules:
            operators.add(rule.body, [Edge(rule.head)], NOTHING, always)
        for fact, _ in layer.negated:
            operators.add((), [Edge(fact)], NOTHING, always)
    operators.add(task.goal, [Edge(goal)], NOTHING, always)
    return operators


class _Helps:
    """What actions do for conditions at most."""

    def __init__(self, source: NumericTask, ranges: Ranges) -> None:
        self._source, self._ranges = source, ranges
        self._by_fact = forms_by_fact(source)
        self._forms = [form_of(each.terms, each.constant) for each in source.conditions]
        self._readers: list[list[int]] = [[] for _ in source.variables]
        for number, condition in enumerate(source.conditions):
            for variable, _ in condition.terms:
                self._readers[variable].append(number)

    def of(self, action: int) -> list[Edge]:
        """Return the edges of an action to conditions."""
        changes = self._source.changes[action]
        variables = {effect.variable for each in changes for effect in each.effects}
        found = dict.fromkeys([number for variable in sorted(variables) for number in self._readers[variable]])
        known = known_forms(self._by_fact, self._source.task.actions[action].precondition) if found else []
        edges = [self._edge(number, changes, known) for number in found]
        return [edge for edge in edges if edge is not None]

    def _edge(self, number: int, changes: tuple[NumericEffects, ...], known: list[Form]) -> Edge | None:
        """Return the edge to condition `number`; None where the action never helps it."""
        fact, form = self._source.conditions[number].fact, self._forms[number]
        gain = bound_change(self._ranges, changes, known, form[0])
        if gain is not None and gain <= 0:
            return None
        touching = [effect for each in changes for effect in each.effects if effect.variable in form[0]]
        steady = gain is not None and all(effect.additive for effect in touching)
        level = None if steady else self._level(form, changes, known)
        if level is not None and level >= 0 and gain is not None:
            level = None
        if level is None:
            return Edge(fact) if gain is None else Edge(fact, min(ceil(gain), LARGEST))
        return Edge(fact, 0, max(min(int(level // 1), ENOUGH), -LARGEST))

    def _level(self, form: Form, changes: tuple[NumericEffects, ...], known: list[Form]) -> Fraction | int | None:
        """Return what the sum of a condition is at most after an action; None without a bound."""
        after = form
        for each in changes:
            for effect in each.effects:
                weight = form[0].get(effect.variable, 0)
                if not weight:
                    continue
                if () not in each.conditions:
                    return None
                change = form_of(effect.terms, effect.constant)
                if not effect.additive:
                    change = add(change, ({effect.variable: 1}, 0), -1)
                after = add(after, change, weight)
        return self._ranges.greatest(after, known)


def _make_room(bounds: NumericBounds) -> BoundRoom:
    facts, operators, actions = len(bounds.condition), len(bounds.action), len(bounds.cost)
    conditions = len(bounds.grain)
    queue = len(bounds.target) + facts + len(bounds.free) + 1
    return BoundRoom(
        value=zeros(facts),
        zone=index([0]) * facts,
        missing=index([0]) * operators,
        supporter=empty_index(operators),
        price=zeros(actions),
        lack=zeros(actions),
        part=zeros(actions),
        short=zeros(conditions),
        shift=zeros(conditions),
        rate=zeros(conditions),
        per=zeros(conditions),
        since=zeros(conditions),
        gained=zeros(conditions),
        key=zeros(queue),
        heap=empty_index(queue),
        list=index([0]) * (facts + 1),
        cut=index([0]) * (actions + 1),
    )
