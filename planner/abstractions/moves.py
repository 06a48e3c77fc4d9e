"""What actions do to the finite-domain variables of a task, one variable at a time.

Nothing is said of derived facts: conditions on them count as met, or not, whichever is cheaper for the goal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import NamedTuple

from planner.budget import checked
from planner.compiled.packing import Packing
from planner.kernels.data import NOTHING
from planner.records import dataclass
from planner.task import ConditionalEffect, GroundAction, Task

Condition = tuple[int, int]
"""A variable and its value."""


class Option(NamedTuple):
    """A variable may go from the value `origin` (None: any) to `target` (None: as it was) where `conditions` hold."""

    origin: int | None
    target: int | None
    conditions: tuple[Condition, ...] = ()


@dataclass(frozen=True, slots=True)
class Moves:
    """The actions of a task by what they do to its variables.

    Variable v has `sizes[v]` values; fact f is value `places[f][1]` of variable `places[f][0]` (None for a derived
    fact). `touches[a]` has the options of action a by variable, for those that it changes or needs; `affecting[v]` are
    the actions that may change v. `initial` has a value for each variable, `goal` for some.
    """

    sizes: list[int]
    places: list[Condition | None]
    touches: list[dict[int, list[Option]]]
    affecting: list[list[int]]
    initial: list[int]
    goal: dict[int, int]

    def product(self, pattern: Iterable[int]) -> int:
        """Return how many values the variables of `pattern` have together."""
        states = 1
        for variable in pattern:
            states *= self.sizes[variable]
        return states


def moves(task: Task, packing: Packing, check: Callable[[], None]) -> Moves:
    """Return the moves of `task`, with the values that they have in packed states."""
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
    for number, action in enumerate(checked(task.actions, check)):
        touched = _touches(action, sizes, places)
        touches.append(touched)
        for variable, options in touched.items():
            if any(option.target not in (None, option.origin) for option in options):
                affecting[variable].append(number)
    initial = [0] * variables
    for variable, value in _values(task.initial, places).items():
        initial[variable] = value
    return Moves(sizes, places, touches, affecting, initial, _values(task.goal, places))


def _values(facts: Iterable[int], places: list[Condition | None]) -> dict[int, int]:
    """Return what `facts` say of variables: the last one counts, if several do."""
    return dict([place for fact in facts if (place := places[fact]) is not None])


def _touches(action: GroundAction, sizes: list[int], places: list[Condition | None]) -> dict[int, list[Option]]:
    """Return the options of `action` by variable, ascending."""
    needed = _values(action.precondition, places)
    added = _values(action.adds, places)
    touched = {variable: [Option(value, added.pop(variable, None))] for variable, value in needed.items()}
    touched |= {variable: [Option(None, value)] for variable, value in added.items()}
    added = _values(action.adds, places)
    special = {place[0] for fact in action.deletes if (place := places[fact]) is not None and place[0] not in added}
    unconditional = ConditionalEffect((), action.adds, action.deletes)
    effects: dict[int, list[ConditionalEffect]] = {}
    for effect in (unconditional, *action.conditional):
        changed = _values((*effect.adds, *effect.deletes), places).keys()
        for variable in changed:
            effects.setdefault(variable, []).append(effect)
        if effect is not unconditional:
            special |= changed
    for variable in special:
        options = _options(effects[variable], variable, sizes[variable], needed, places)
        if options != [Option(None, None)]:
            touched[variable] = options
        else:
            touched.pop(variable, None)
    return dict(sorted(touched.items()))


def _options(
    effects: list[ConditionalEffect],
    variable: int,
    size: int,
    needed: dict[int, int],
    places: list[Condition | None],
) -> list[Option]:
    """Return what may become of `variable` by its `effects`, value by value; what may become of all is said once."""
    if variable in needed:
        value = needed[variable]
        return [Option(value, *outcome) for outcome in _outcomes(effects, variable, value, needed, places)]
    by_value = [_outcomes(effects, variable, value, needed, places) for value in range(size)]
    always = [outcome for outcome in by_value[0] if all(outcome in outcomes for outcomes in by_value[1:])]
    kept = all((value, ()) in outcomes for value, outcomes in enumerate(by_value))
    options = [Option(None, *outcome) for outcome in always]
    if kept:
        options.append(Option(None, None))
    for value, outcomes in enumerate(by_value):
        rest = [outcome for outcome in outcomes if outcome not in always and not (kept and outcome == (value, ()))]
        options += [Option(value, *outcome) for outcome in rest]
    return options


def _outcomes(
    effects: list[ConditionalEffect],
    variable: int,
    value: int,
    needed: dict[int, int],
    places: list[Condition | None],
) -> list[tuple[int, tuple[Condition, ...]]]:
    """Return what `variable` may be after `action` where it was `value`, and what else must hold for that.

    An effect whose condition depends on something else may happen or not; adding wins over deleting.
    """
    known = {**needed, variable: value}
    added, deleted = [], []
    for effect in effects:
        conditions = _left(effect.condition, known, places)
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


def _left(
    condition: tuple[int, ...], known: dict[int, int], places: list[Condition | None]
) -> tuple[tuple[Condition, ...], bool] | None:
    """Return what of `condition` is not `known`, and whether it holds for sure; None if it does not hold for sure."""
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
