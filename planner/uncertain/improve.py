"""Policy iteration on the classes of a quotient, component by component (Howard 1960; Dai and Goldsmith 2007)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence

from planner.annotations import Final
from planner.components import components
from planner.uncertain.linear import solved
from planner.uncertain.quotient import Exit

BETTER: Final = 1e-11
"""An exit must be better by this part of a value to be taken instead: less is rounding."""
ENDLESS: Final = float("inf")

Exits = Sequence[Sequence[Exit]]
"""What can be done in each class."""


def best_exits(exits: Exits, check: Callable[[], None]) -> tuple[list[float], dict[int, Exit]]:
    """Return for each class the least expected price until an end, and the exits to take for it.

    Classes from which no policy ends for sure are `ENDLESS` and have no exit. `check` is called between rounds, and
    raises to give up.
    """
    values = [ENDLESS] * len(exits)
    chosen: dict[int, Exit] = {}
    leads = {number: [after for each in here for _, after in each.branches] for number, here in enumerate(exits)}
    for component in components(leads):
        check()
        if len(component) == 1:
            (number,) = component
            best = min(exits[number], key=lambda each: worth(each, values), default=None)
            if best is not None and (value := worth(best, values)) < ENDLESS:
                values[number], chosen[number] = value, best
        else:
            policy = _proper(component, exits, values)
            _improve(policy, exits, values, check)
            chosen |= policy
    return values, chosen


def worth(exit_: Exit, values: Sequence[float]) -> float:
    """Return the expected price of `exit_` and all that comes after it."""
    total = exit_.price
    for share, after in exit_.branches:
        total += share * values[after]
    return total


def _proper(component: Iterable[int], exits: Exits, values: Sequence[float]) -> dict[int, Exit]:
    """Return a policy that leaves the component, or ends, for sure, for the classes that have one."""
    inside = set(component)
    while True:
        usable = {
            number: [e for e in exits[number] if all(n in inside or values[n] < ENDLESS for _, n in e.branches)]
            for number in inside
        }
        policy = _closer(usable)
        if len(policy) == len(inside):
            return policy
        inside = set(policy)


def _closer(usable: dict[int, list[Exit]]) -> dict[int, Exit]:
    """Return exits that may each come closer to the outside, for the classes from which it can be reached."""
    before: dict[int, list[tuple[int, Exit]]] = defaultdict(list)
    found: dict[int, Exit] = {}
    for number, here in usable.items():
        for each in here:
            if not each.branches or any(after not in usable for _, after in each.branches):
                found.setdefault(number, each)
            for _, after in each.branches:
                before[after].append((number, each))
    queue = [*found]
    for number in queue:
        for earlier, each in before[number]:
            if earlier not in found:
                found[earlier] = each
                queue.append(earlier)
    return found


def _improve(policy: dict[int, Exit], exits: Exits, values: list[float], check: Callable[[], None]) -> None:
    """Make `policy`, a proper one, the best one, and note its values, both in place."""
    changed = True
    while changed:
        check()
        changed = False
        _evaluate(policy, values)
        for number, now in policy.items():
            best = min(exits[number], key=lambda each: worth(each, values))
            known = values[number]
            if best is not now and worth(best, values) < known - BETTER * abs(known):
                policy[number], changed = best, True


def _evaluate(policy: dict[int, Exit], values: list[float]) -> None:
    """Note what `policy` costs in each of its classes; most of them are in no circle once one knows what to do."""
    leads = {number: [after for _, after in exit_.branches if after in policy] for number, exit_ in policy.items()}
    for circle in components(leads):
        inside = set(circle)
        rows = {}
        for number in circle:
            exit_ = policy[number]
            outside = [(share, after) for share, after in exit_.branches if after not in inside]
            fixed = exit_.price + sum([share * values[after] for share, after in outside])
            leaving = sum([share for share, _ in outside]) if exit_.branches else 1.0
            rows[number] = fixed, leaving, {after: share for share, after in exit_.branches if after in inside}
        for number, value in solved(rows).items():
            values[number] = value
