"""Projections: abstract states are the values of the variables of a pattern (Culberson and Schaeffer, 1998).

    transitions   the effects of each action on each finite-domain variable
    patterns      sets of variables: interesting ones, smallest first (Pommerening et al., 2013)
    projection    abstract states, without those that mutexes exclude or that are on no path to a goal
    distances     costs to the goal, and the costs that each action needs for them (saturation)

A pattern is interesting if its variables are connected and each leads to a goal variable: changing the next variable on
the way needs a value of it. Every plan is a plan of each abstraction, so distances are admissible. Distances may be
added if abstractions share the cost of each action (Katz and Domshlak, 2010). An abstraction leaves the cost that its
distances do not need to other abstractions (Seipp, Keller and Helmert, 2020); the needed cost may be negative.
Conditions on derived facts count as met or unmet, whichever is cheaper. Projections keep states that symmetries replace
by others.

This is the readable twin of `projections_kernel`.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from heapq import heappop, heappush
from itertools import cycle, pairwise, product, repeat
from typing import NamedTuple

from planner.jit.common_kernel import NOTHING
from planner.lightweight import Final, dataclass
from planner.limits import check_regularly
from planner.task.ground_task import ConditionalEffect, GroundAction, Task
from planner.task.packed_task_compiled import Packing

MOST_DISTANCE: Final = (1 << 31) - 1
"""Cap of distances."""
DEAD: Final = -1
"""The number of a state on no plan."""


@dataclass(frozen=True, slots=True)
class Edge:
    """A transition, by any of the actions of `group`."""

    source: int
    target: int
    group: int


@dataclass(frozen=True, slots=True)
class AbstractSpace:
    """An abstract state space: its states that may be on a plan, numbered from 0.

    `ranks` are their numbers by index, or `DEAD`. `groups` are sets of actions with the same transitions; `loops` tells
    for each group whether it may have a self-loop.
    """

    ranks: list[int]
    goals: list[bool]
    edges: list[Edge]
    groups: list[tuple[int, ...]]
    loops: list[bool]

    def compute_distances(self, costs: Sequence[int]) -> list[int]:
        """Return the goal distance of each state."""
        prices = [min([costs[action] for action in group]) for group in self.groups]
        ways: list[list[Edge]] = [[] for _ in self.goals]
        for edge in self.edges:
            ways[edge.target].append(edge)
        distances = [0 if is_goal else MOST_DISTANCE for is_goal in self.goals]
        heap = [(0, state) for state, is_goal in enumerate(self.goals) if is_goal]
        while heap:
            near, state = heappop(heap)
            for edge in ways[state] if distances[state] == near else ():
                far = near + prices[edge.group]
                if far < distances[edge.source]:
                    distances[edge.source] = far
                    heappush(heap, (far, edge.source))
        return distances

    def compute_needs(self, distances: Sequence[int]) -> dict[int, int]:
        """Return the saturated costs: what `distances` need of the cost of each action; nothing of missing actions."""
        takes: list[int | None] = [0 if loop else None for loop in self.loops]
        for edge in self.edges:
            gain = distances[edge.source] - distances[edge.target]
            before = takes[edge.group]
            takes[edge.group] = gain if before is None else max(before, gain)
        needs: dict[int, int] = {}
        for group, most in zip(self.groups, takes, strict=True):
            if most is not None:
                for action in group:
                    needs[action] = max(most, needs.get(action, most))
        return needs


Condition = tuple[int, int]
"""A variable and its value."""


class Option(NamedTuple):
    """A change of a variable from `origin` (None: any value) to `target` (None: unchanged) under `conditions`."""

    origin: int | None
    target: int | None
    conditions: tuple[Condition, ...] = ()


@dataclass(frozen=True, slots=True)
class Moves:
    """The effects of the actions of a task on its variables.

    Variable v has `sizes[v]` values; fact f is value `places[f][1]` of variable `places[f][0]` (None for a derived
    fact). `touches[a]` has the options of action a for each variable that it changes or needs; `affecting[v]` lists the
    actions that may change v. `initial` has a value for each variable, `goal` for some.
    """

    sizes: list[int]
    places: list[Condition | None]
    touches: list[dict[int, list[Option]]]
    affecting: list[list[int]]
    initial: list[int]
    goal: dict[int, int]

    def count_states(self, pattern: Iterable[int]) -> int:
        """Return the number of combinations of values of the variables of `pattern`."""
        states = 1
        for variable in pattern:
            states *= self.sizes[variable]
        return states


def find_moves(task: Task, packing: Packing, check: Callable[[], None]) -> Moves:
    """Return the moves of `task`, with the values of packed states."""
    coding, variables = packing.coding, len(task.variables)
    sizes = [end - first for first, end in pairwise([*coding.first, len(coding.fact)])][:variables]
    places: list[Condition | None] = [None] * len(task.facts)
    for variable in range(variables):
        for value in range(sizes[variable]):
            fact = coding.fact[coding.first[variable] + value]
            if fact != NOTHING:
                places[fact] = (variable, value)
    touches = []
    affecting: list[list[int]] = [[] for _ in sizes]
    for number, action in enumerate(check_regularly(task.actions, check)):
        touched = _find_touches(action, sizes, places)
        touches.append(touched)
        for variable, options in touched.items():
            if any(option.target not in (None, option.origin) for option in options):
                affecting[variable].append(number)
    initial = [0] * variables
    for variable, value in _values_of(task.initial, places).items():
        initial[variable] = value
    return Moves(sizes, places, touches, affecting, initial, _values_of(task.goal, places))


def _values_of(facts: Iterable[int], places: list[Condition | None]) -> dict[int, int]:
    """Return the values that `facts` give to variables; the last fact of a variable counts."""
    return dict([place for fact in facts if (place := places[fact]) is not None])


def _find_touches(action: GroundAction, sizes: list[int], places: list[Condition | None]) -> dict[int, list[Option]]:
    """Return the options of `action` by variable, in ascending order."""
    needed = _values_of(action.precondition, places)
    added = _values_of(action.adds, places)
    touched = {variable: [Option(value, added.pop(variable, None))] for variable, value in needed.items()}
    touched |= {variable: [Option(None, value)] for variable, value in added.items()}
    added = _values_of(action.adds, places)
    special = {place[0] for fact in action.deletes if (place := places[fact]) is not None and place[0] not in added}
    unconditional = ConditionalEffect((), action.adds, action.deletes)
    effects: dict[int, list[ConditionalEffect]] = {}
    for effect in (unconditional, *action.conditional):
        changed = _values_of((*effect.adds, *effect.deletes), places).keys()
        for variable in changed:
            effects.setdefault(variable, []).append(effect)
        if effect is not unconditional:
            special |= changed
    for variable in special:
        options = _find_options(effects[variable], variable, sizes[variable], needed, places)
        if options != [Option(None, None)]:
            touched[variable] = options
        else:
            touched.pop(variable, None)
    return dict(sorted(touched.items()))


def _find_options(
    effects: list[ConditionalEffect],
    variable: int,
    size: int,
    needed: dict[int, int],
    places: list[Condition | None],
) -> list[Option]:
    """Return the options of `variable` under `effects`, value by value; an option for all values comes once."""
    if variable in needed:
        value = needed[variable]
        return [Option(value, *outcome) for outcome in _find_outcomes(effects, variable, value, needed, places)]
    by_value = [_find_outcomes(effects, variable, value, needed, places) for value in range(size)]
    always = [outcome for outcome in by_value[0] if all(outcome in outcomes for outcomes in by_value[1:])]
    kept = all((value, ()) in outcomes for value, outcomes in enumerate(by_value))
    options = [Option(None, *outcome) for outcome in always]
    if kept:
        options.append(Option(None, None))
    for value, outcomes in enumerate(by_value):
        rest = [outcome for outcome in outcomes if outcome not in always and not (kept and outcome == (value, ()))]
        options += [Option(value, *outcome) for outcome in rest]
    return options


def _find_outcomes(
    effects: list[ConditionalEffect],
    variable: int,
    value: int,
    needed: dict[int, int],
    places: list[Condition | None],
) -> list[tuple[int, tuple[Condition, ...]]]:
    """Return the values of `variable` after `action` from `value`, each with its other conditions.

    An effect may or may not fire if its condition depends on something else; adding wins over deleting.
    """
    known = {**needed, variable: value}
    added, deleted = [], []
    for effect in effects:
        conditions = _simplify_condition(effect.condition, known, places)
        if conditions is not None:
            rest, is_sure = conditions
            added += [
                (place[1], rest, is_sure) for fact in effect.adds if (place := places[fact]) and place[0] == variable
            ]
            if any(places[fact] == (variable, value) for fact in effect.deletes):
                deleted.append((0, rest, is_sure))
    outcomes = [(target, rest) for target, rest, _ in added]
    if not any(is_sure for _, _, is_sure in added):
        outcomes += [(target, rest) for target, rest, _ in deleted]
        if not any(is_sure for _, _, is_sure in deleted):
            outcomes.append((value, ()))
    return list(dict.fromkeys(outcomes))


def _simplify_condition(
    condition: tuple[int, ...], known: dict[int, int], places: list[Condition | None]
) -> tuple[tuple[Condition, ...], bool] | None:
    """Return the part of `condition` that is not `known`, and whether it surely holds; None if it surely does not."""
    rest: dict[int, int] = {}
    is_sure = True
    for fact in condition:
        place = places[fact]
        if place is None:
            is_sure = False
            continue
        variable, value = place
        if known.get(variable, rest.get(variable, value)) != value:
            return None
        if variable not in known:
            rest[variable] = value
    return tuple(sorted(rest.items())), is_sure and not rest


Values = tuple[int, ...]
Exclusion = Callable[[int, int, int, int], bool]
"""Tells whether a value of a variable and a value of another variable are mutex."""
Rule = tuple[tuple[int | None, ...], tuple[int | None, ...]]
"""By position in the pattern: the values before (None: any) and after (None: unchanged)."""


def make_exclusion(task: Task, moves: Moves) -> Exclusion:
    """Return a function that tells which values are mutex in `task`."""
    pairs = {
        (moves.places[one], moves.places[other])
        for group in task.mutexes
        for one in group
        for other in group
        if one != other
    }
    return lambda variable, value, other, its_value: ((variable, value), (other, its_value)) in pairs


def compute_factors(moves: Moves, pattern: tuple[int, ...]) -> list[int]:
    """Return a factor for each variable of `pattern`, so that the weighted sum of values is a unique index."""
    found, factor = [], 1
    for variable in pattern:
        found.append(factor)
        factor *= moves.sizes[variable]
    return found


def project(moves: Moves, pattern: tuple[int, ...], excluded: Exclusion, *, anywhere: bool = False) -> AbstractSpace:
    """Compute the projection to `pattern`; with `anywhere`, keep unreachable states."""
    rules: dict[Rule, list[int]] = {}
    for action in sorted({action for variable in pattern for action in moves.affecting[variable]}):
        for rule in dict.fromkeys(_find_rules(moves, pattern, action)):
            rules.setdefault(rule, []).append(action)
    states = _list_states(moves, pattern, (None,) * len(pattern))
    possible = {state for state in states if not _is_impossible(state, pattern, excluded)}
    edges = [
        (source, target, rule)
        for rule in rules
        for source in _list_states(moves, pattern, rule[0])
        if source in possible and (target := _apply_rule(source, rule)) in possible
    ]
    goals = {state for state in possible if all(moves.goal.get(v, x) == x for v, x in zip(pattern, state, strict=True))}
    first = possible if anywhere else [tuple(moves.initial[v] for v in pattern)]
    reached = _reach_states(first, [(a, b) for a, b, _ in edges])
    alive = _reach_states(goals & reached, [(b, a) for a, b, _ in edges if a in reached])
    rank = {state: number for number, state in enumerate([state for state in states if state in alive])}
    lively = [(rank[a], rank[b], rule) for a, b, rule in edges if a in alive and b in alive]
    kept, looping = {rule for _, _, rule in lively}, {rule for a, b, rule in lively if a == b}
    used = [rule for rule in rules if rule in kept]
    number_of = {rule: number for number, rule in enumerate(used)}
    return AbstractSpace(
        [rank.get(state, DEAD) for state in states],
        [state in goals for state in rank],
        [Edge(a, b, number_of[rule]) for a, b, rule in lively if a != b],
        [tuple(rules[rule]) for rule in used],
        [rule in looping for rule in used],
    )


def _find_rules(moves: Moves, pattern: tuple[int, ...], action: int) -> Iterator[Rule]:
    """Yield the rules of `action`: one for each choice of an option for each variable."""
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


def _list_states(moves: Moves, pattern: Pattern, needed: tuple[int | None, ...]) -> list[Values]:
    """Return the states with the `needed` values (None: any), by index."""
    ranges = [
        range(moves.sizes[variable]) if value is None else (value,)
        for variable, value in zip(pattern, needed, strict=True)
    ]
    return [tuple(reversed(each)) for each in product(*reversed(ranges))]


def _apply_rule(state: Values, rule: Rule) -> Values:
    """Return the state after `rule`, which applies in `state`."""
    return tuple([value if after is None else after for after, value in zip(rule[1], state, strict=True)])


def _reach_states(first: Iterable[Values], edges: list[tuple[Values, Values]]) -> set[Values]:
    """Return the states reachable from `first`."""
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


Pattern = tuple[int, ...]
Links = tuple[list[set[int]], list[set[int]]]
"""For each variable: the variables that its changes need, and the variables that change together with it."""


def generate_interesting(moves: Moves, most: int, *, least: int = 1, links: Links | None = None) -> Iterator[Pattern]:
    """Yield the interesting patterns of `least` to `most` variables, by size."""
    needed_by, changed_with = links or links_of(moves)
    level: dict[Pattern, None] = dict.fromkeys([(variable,) for variable in sorted(moves.goal)])
    for size in range(1, most + 1):
        if size >= least:
            yield from level
        if size < most:
            level = dict.fromkeys(
                [
                    tuple(sorted((*pattern, more)))
                    for pattern in level
                    for more in _find_extensions(moves, pattern, needed_by, changed_with)
                ]
            )


def generate_random(moves: Moves, sizes: Sequence[int], links: Links | None = None, seed: int = 0) -> Iterator[Pattern]:
    """Yield patterns grown at random from goal variables (Rovner, Sievers and Helmert, 2019), without end.

    In turn, each of the `sizes` limits the number of states.
    """
    needed_by, changed_with = links or links_of(moves)
    draw = random.Random(seed)
    for goal, most in zip(cycle(sorted(moves.goal)), _cycle_sizes(sizes, len(moves.goal)), strict=False):
        pattern: Pattern = (goal,)
        while True:
            room = most // moves.count_states(pattern)
            near = [
                each for each in _find_extensions(moves, pattern, needed_by, changed_with) if moves.sizes[each] <= room
            ]
            if not near:
                break
            pattern = (*pattern, draw.choice(near))
        yield tuple(sorted(pattern))


def _cycle_sizes(sizes: Sequence[int], many: int) -> Iterator[int]:
    """Yield each of the sizes for `many` patterns, in an endless cycle."""
    for size in cycle(sizes):
        yield from repeat(size, many)


def _find_extensions(
    moves: Moves, pattern: Pattern, needed_by: list[set[int]], changed_with: list[set[int]]
) -> Iterator[int]:
    """Yield the variables that extend `pattern` to a larger interesting pattern."""
    near = set[int]().union(*(needed_by[variable] for variable in pattern))
    for variable in pattern:
        near.update([other for other in changed_with[variable] if other in moves.goal])
        near.update([other for other in moves.goal if variable in needed_by[other]])
    yield from sorted(near.difference(pattern))


def links_of(moves: Moves) -> Links:
    """Return the links between variables."""
    needed_by: list[set[int]] = [set() for _ in moves.sizes]
    changed_with: list[set[int]] = [set() for _ in moves.sizes]
    changes: list[list[int]] = [[] for _ in moves.touches]
    for variable, actions in enumerate(moves.affecting):
        for action in actions:
            changes[action].append(variable)
    for touched, changed in zip(moves.touches, changes, strict=True):
        needed = {variable for variable, options in touched.items() if options[0].origin is not None}
        needed.update([other for options in touched.values() for option in options for other, _ in option.conditions])
        for variable in changed:
            needed_by[variable] |= needed
            changed_with[variable].update(changed)
    return needed_by, changed_with
