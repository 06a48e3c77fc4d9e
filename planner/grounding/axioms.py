"""Derived facts in layers, so that a negated one is only asked for when its layer is complete."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from planner.errors import InputError
from planner.grounding.literals import RawRule
from planner.model import Atom
from planner.task import AxiomLayer, Rule


def layers(
    rules: Sequence[RawRule], negation: dict[int, int], number: dict[int, int], atoms: Sequence[Atom]
) -> tuple[AxiomLayer, ...]:
    """Return the rules by layer, over the task's fact numbers; `negation` maps facts to those of their negations.

    Raises `InputError` where a derived fact depends on its own negation (the axioms are not stratified).
    """
    derived = {rule.head for rule in rules}
    level = _levels(rules, derived, atoms)
    by_level: dict[int, list[Rule]] = defaultdict(list)
    for rule in rules:
        body = sorted(number[literal] if literal >= 0 else negation[~literal] for literal in rule.body)
        by_level[level[rule.head]].append(Rule(tuple(body), number[rule.head]))
    negated: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for fact, opposite in negation.items():
        if fact in derived:
            negated[level[fact]].append((opposite, number[fact]))
    return tuple([AxiomLayer(tuple(by_level[key]), tuple(negated[key])) for key in sorted(by_level)])


def _levels(rules: Iterable[RawRule], derived: set[int], atoms: Sequence[Atom]) -> dict[int, int]:
    """Return the smallest level of each derived fact: at least that of what it uses, above that of what it negates."""
    level = dict.fromkeys(derived, 0)
    users: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for rule in rules:
        for literal in rule.body:
            fact, step = (literal, 0) if literal >= 0 else (~literal, 1)
            if fact in derived:
                users[fact].append((rule.head, step))
    queue = list(derived)
    while queue:
        fact = queue.pop()
        for head, step in users[fact]:
            if level[head] < level[fact] + step:
                level[head] = level[fact] + step
                if level[head] > len(derived):
                    raise InputError(
                        f"derived predicate '{atoms[head].predicate}' depends on its own negation",
                        hint="axioms must be stratified: no derived fact may be needed to be false for itself",
                    )
                queue.append(head)
    return level
