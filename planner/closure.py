"""Derived facts: what the axioms make of a state.

Rules are applied layer by layer, each layer to its fixed point (stratified semantics: Thiébaux, Hoffmann and Nebel,
2005). What comes out depends only on the facts that rules read, so it is remembered by these.
"""

from __future__ import annotations

from planner.annotations import Final
from planner.task import AxiomLayer, State, Task, bits

REMEMBERED: Final = 100_000
"""Projections that are kept before the memory is emptied."""


class Closure:
    """Adds to a state of base facts the derived facts, negated ones included, that hold in it."""

    def __init__(self, task: Task) -> None:
        self._layers = [(_by_dependency(layer), _negations(layer)) for layer in task.axioms]
        self._read = bits({f for layer in task.axioms for rule in layer.rules for f in rule.body} - task.derived)
        self._remembered: dict[State, State] = {}

    def __call__(self, state: State) -> State:
        """Return `state` with the derived facts that hold."""
        key = state & self._read
        derived = self._remembered.get(key)
        if derived is None:
            if len(self._remembered) >= REMEMBERED:
                self._remembered.clear()
            derived = self._remembered[key] = self._derive(key) & ~key
        return state | derived

    def _derive(self, full: State) -> State:
        for rules, negations in self._layers:
            waiting, before = rules, -1
            while waiting and full != before:
                before = full
                blocked = []
                for body, head in waiting:
                    if body & ~full:
                        blocked.append((body, head))
                    else:
                        full |= head
                waiting = blocked
            for negated, derived in negations:
                if not full & derived:
                    full |= negated
        return full


def _negations(layer: AxiomLayer) -> list[tuple[State, State]]:
    return [(1 << fact, 1 << derived) for fact, derived in layer.negated]


def _by_dependency(layer: AxiomLayer) -> list[tuple[State, State]]:
    """Return `(body, head)` as bits, heads before the bodies that read them as far as cycles let: fewer passes."""
    rank: dict[int, int] = {}
    heads = {rule.head for rule in layer.rules}
    waiting, before = list(layer.rules), -1
    while len(waiting) != before:
        before, blocked = len(waiting), []
        for rule in waiting:
            if all(fact in rank or fact not in heads for fact in rule.body):
                rank.setdefault(rule.head, len(rank))
            else:
                blocked.append(rule)
        waiting = blocked
    for rule in waiting:  # they read each other
        rank.setdefault(rule.head, len(rank))
    ordered = sorted(layer.rules, key=lambda rule: rank[rule.head])
    return [(bits(rule.body), 1 << rule.head) for rule in ordered]


def sources(task: Task) -> dict[int, State]:
    """Return for each derived fact the base facts that it may depend on, as bits."""
    reads: dict[int, set[int]] = {fact: set() for fact in task.derived}
    for layer in task.axioms:
        for rule in layer.rules:
            reads[rule.head].update(rule.body)
        for negated, derived in layer.negated:
            reads[negated].add(derived)
    found: dict[int, State] = {}
    for fact in reads:
        seen, waiting = {fact}, [fact]
        while waiting:
            more = reads.get(waiting.pop(), set()) - seen
            seen |= more
            waiting += more
        found[fact] = bits(seen - task.derived)
    return found
