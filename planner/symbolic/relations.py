"""Actions as relations between states, those that cost the same put together as far as the diagrams stay small.

A relation is about the variables that it changes, and no other: what it does not name stays as it is (Torralba,
Alcázar, Kissmann and Edelkamp, 2017).
"""

from __future__ import annotations

from oxidd.bcdd import BCDDSubstitution
from oxidd.util import BooleanOperator

from planner.annotations import Final
from planner.records import dataclass
from planner.symbolic.coding import NONE, Coding, Set
from planner.symbolic.order import written_by
from planner.task import GroundAction

MOST_NODES: Final = 100_000
"""Nodes up to which relations are put together."""


@dataclass(frozen=True, slots=True)
class Relation:
    """Steps of one `cost`: `pairs` of states before and after, in what the variables `changed` are.

    `before` and `after` are the bits of these and their twins, to be quantified.
    """

    cost: int
    pairs: Set
    changed: frozenset[int]
    before: Set
    after: Set
    to_before: BCDDSubstitution
    to_after: BCDDSubstitution

    def image(self, states: Set) -> Set:
        """Return the states after a step from one of `states`."""
        return states.apply_exists(BooleanOperator.AND, self.pairs, self.before).substitute(self.to_before)

    def preimage(self, states: Set) -> Set:
        """Return the states from which a step leads to one of `states`."""
        return states.substitute(self.to_after).apply_exists(BooleanOperator.AND, self.pairs, self.after)


Part = tuple[Set, frozenset[int]]
"""Pairs of states, and the variables in which they differ or may."""


def relations(coding: Coding, most: int = MOST_NODES) -> list[Relation]:
    """Return relations that are all actions together, those that cost least first."""
    by_cost: dict[int, list[Part]] = {}
    for action in coding.task.actions:
        changed = frozenset(coding.variable_of[fact] for fact in written_by(action))
        by_cost.setdefault(action.cost, []).append((_pairs(coding, action), changed))
    found = []
    for cost in sorted(by_cost):
        parts = sorted(by_cost[cost], key=lambda part: sorted(coding.rank[variable] for variable in part[1]))
        found += [_relation(coding, cost, *part) for part in _together(coding, parts, most)]
    return found


def _pairs(coding: Coding, action: GroundAction) -> Set:
    """Return the states before and after `action`."""
    everything, holds = coding.everything, coding.holds
    adds: dict[int, dict[int, Set]] = {}
    deletes: dict[int, Set] = {}
    effects = [((), action.adds, action.deletes), *((e.condition, e.adds, e.deletes) for e in action.conditional)]
    for condition, added, deleted in effects:
        where = coding.all_of([holds[fact] for fact in condition]) if condition else everything
        for fact in added:
            values = adds.setdefault(coding.variable_of[fact], {})
            values[fact] = values.get(fact, coding.nothing) | where
        for fact in deleted:
            variable = coding.variable_of[fact]
            deletes[variable] = deletes.get(variable, coding.nothing) | where & holds[fact]
    pairs = coding.all_of([holds[fact] for fact in action.precondition])
    for variable in sorted({*adds, *deletes}, key=coding.rank.__getitem__, reverse=True):
        pairs &= _change(coding, pairs, variable, adds.get(variable, {}), deletes.get(variable, coding.nothing))
    return pairs


def _change(coding: Coding, when: Set, variable: int, adds: dict[int, Set], deleted: Set) -> Set:
    """Return what one variable is before and after an action that is applied `when`: adding wins."""
    added = coding.any_of(adds.values())
    lost = deleted & ~added
    kept = ~(added | lost)
    change = coding.any_of([where & coding.having(variable, fact, 1) for fact, where in adds.items()])
    if (when & lost).satisfiable():
        change |= lost & coding.having(variable, NONE, 1)
    return change | kept & coding.same(variable) if (when & kept).satisfiable() else change


def _together(coding: Coding, parts: list[Part], most: int) -> list[Part]:
    """Unite neighbours again and again, until all that is left would be larger than `most` nodes."""
    done: list[Part] = []
    while len(parts) > 1:
        united: list[Part] = []
        for index in range(0, len(parts) - 1, 2):
            both = _united(coding, parts[index], parts[index + 1])
            if both[0].node_count() <= most:
                united.append(both)
            else:
                done += parts[index : index + 2]
        parts = united + parts[len(parts) & ~1 :]
    return done + parts


def _united(coding: Coding, one: Part, other: Part) -> Part:
    (pairs, changed), (more, also) = one, other
    for variable in also - changed:
        pairs &= coding.same(variable)
    for variable in changed - also:
        more &= coding.same(variable)
    return pairs | more, changed | also


def _relation(coding: Coding, cost: int, pairs: Set, changed: frozenset[int]) -> Relation:
    var = coding.manager.var
    places = sorted([place for variable in changed for place in coding.places[variable]], reverse=True)
    return Relation(
        cost,
        pairs,
        changed,
        coding.all_of(map(var, places)),
        coding.all_of(var(place + 1) for place in places),
        pairs.make_substitution([(place + 1, var(place)) for place in places]),
        pairs.make_substitution([(place, var(place + 1)) for place in places]),
    )
