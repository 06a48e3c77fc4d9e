"""Projections: abstract states are the values of the variables of a pattern (Culberson and Schaeffer, 1998).

States are left out if two of their values exclude each other (Haslum, Bonet and Geffner, 2005), if they are not
reached from the initial one, or if no goal state is reached from them. Where symmetries let a state stand for others,
what is not reached is kept. The twin of `planner.kernels.projections`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import product

from planner.abstractions.moves import Moves, Option
from planner.abstractions.space import DEAD, AbstractSpace, Edge
from planner.task import Task

Values = tuple[int, ...]
Exclusion = Callable[[int, int, int, int], bool]
"""Whether a variable's value and another's exclude each other."""
Rule = tuple[tuple[int | None, ...], tuple[int | None, ...]]
"""By position in the pattern: the values before (None: any) and after (None: the same)."""


def exclusion(task: Task, moves: Moves) -> Exclusion:
    """Return which values exclude each other by the mutexes of `task`."""
    pairs = {
        (moves.places[one], moves.places[other])
        for group in task.mutexes
        for one in group
        for other in group
        if one != other
    }
    return lambda variable, value, other, its_value: ((variable, value), (other, its_value)) in pairs


def factors(moves: Moves, pattern: tuple[int, ...]) -> list[int]:
    """Return by what to multiply the values of the variables of `pattern`, so that each sum is another one."""
    found, factor = [], 1
    for variable in pattern:
        found.append(factor)
        factor *= moves.sizes[variable]
    return found


def project(moves: Moves, pattern: tuple[int, ...], excluded: Exclusion, *, anywhere: bool = False) -> AbstractSpace:
    """Return the projection to `pattern`; with `anywhere`, of states that are not reached, too."""
    rules: dict[Rule, list[int]] = {}
    for action in sorted({action for variable in pattern for action in moves.affecting[variable]}):
        for rule in dict.fromkeys(_rules(moves, pattern, action)):
            rules.setdefault(rule, []).append(action)
    states = [tuple(reversed(each)) for each in product(*[range(moves.sizes[each]) for each in reversed(pattern)])]
    possible = {state for state in states if not _is_impossible(state, pattern, excluded)}
    edges = [
        (source, target, rule)
        for rule in rules
        for source in states
        if source in possible and (target := _after(source, rule)) in possible
    ]
    goals = {state for state in possible if all(moves.goal.get(v, x) == x for v, x in zip(pattern, state, strict=True))}
    first = possible if anywhere else [tuple(moves.initial[v] for v in pattern)]
    reached = _closure(first, [(a, b) for a, b, _ in edges])
    alive = _closure(goals & reached, [(b, a) for a, b, _ in edges if a in reached])
    rank = {state: number for number, state in enumerate([state for state in states if state in alive])}
    lively = [(rank[a], rank[b], rule) for a, b, rule in edges if a in alive and b in alive]
    used = [rule for rule in rules if any(rule is other for _, _, other in lively)]
    number_of = {rule: number for number, rule in enumerate(used)}
    return AbstractSpace(
        [rank.get(state, DEAD) for state in states],
        [state in goals for state in rank],
        [Edge(a, b, number_of[rule]) for a, b, rule in lively if a != b],
        [tuple(rules[rule]) for rule in used],
        [any(a == b and rule is other for a, b, other in lively) for rule in used],
    )


def _rules(moves: Moves, pattern: tuple[int, ...], action: int) -> Iterator[Rule]:
    """Yield what `action` may do: one rule for each way to choose an option for each variable."""
    touches = moves.touches[action]
    for chosen in product(*[touches.get(variable, [Option(None, None)]) for variable in pattern]):
        before = [option.origin for option in chosen]
        after = [option.target for option in chosen]
        agree = True
        for variable, value in [condition for option in chosen for condition in option.conditions]:
            if variable in pattern:
                place = pattern.index(variable)
                agree = agree and before[place] in (None, value)
                before[place] = value
        if agree:
            yield tuple(before), tuple([b if b != a else None for a, b in zip(before, after, strict=True)])


def _is_impossible(state: Values, pattern: tuple[int, ...], excluded: Exclusion) -> bool:
    return any(
        excluded(pattern[one], state[one], pattern[two], state[two])
        for two in range(len(pattern))
        for one in range(two)
    )


def _after(state: Values, rule: Rule) -> Values | None:
    """Return the state after `rule`, or None where it does not apply."""
    if any(needed not in (None, value) for needed, value in zip(rule[0], state, strict=True)):
        return None
    return tuple([value if after is None else after for after, value in zip(rule[1], state, strict=True)])


def _closure(first: Iterable[Values], edges: list[tuple[Values, Values]]) -> set[Values]:
    """Return what is reached from `first`."""
    below: dict[Values, list[Values]] = {}
    for source, target in edges:
        below.setdefault(source, []).append(target)
    found = set(first)
    waiting = list(found)
    while waiting:
        for state in below.get(waiting.pop(), ()):
            if state not in found:
                found.add(state)
                waiting.append(state)
    return found
