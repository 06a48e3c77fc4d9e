"""Derived facts in layers, so that a negated one is only asked for when its layer is complete."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from planner.errors import InputError
from planner.grounding.literals import Literal, RawRule
from planner.model import Atom, Not
from planner.task import AxiomLayer, Rule


def layers(
    rules: Sequence[RawRule], negation: dict[int, int], literals: dict[Literal, int], atoms: Sequence[Atom | Not]
) -> tuple[AxiomLayer, ...]:
    """Return the rules by layer, over the task's fact numbers, which `literals` gives for raw literals.

    Raises `InputError` where a derived fact depends on its own negation (the axioms are not stratified).
    """
    derived = {rule.head for rule in rules}
    level = _levels(rules, derived, atoms)
    by_level: dict[int, list[Rule]] = defaultdict(list)
    for rule in rules:
        body = sorted(literals[literal] for literal in rule.body)
        by_level[level[rule.head]].append(Rule(tuple(body), literals[rule.head]))
    negated: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for fact in negation:
        if fact in derived:
            negated[level[fact]].append((literals[~fact], literals[fact]))
    return tuple([AxiomLayer(tuple(by_level[key]), tuple(negated[key])) for key in sorted(by_level)])


def _levels(rules: Iterable[RawRule], derived: set[int], atoms: Sequence[Atom | Not]) -> dict[int, int]:
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
                        f"derived fact {atoms[head]} depends on its own negation",
                        hint="axioms must be stratified: a derived fact may not rest on its own absence",
                    )
                queue.append(head)
    return level
