"""Random constraints in time, for the enumeration of all schedules and for the planner."""

from __future__ import annotations

import random
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from benchmarks.temporal_constraints import Condition, MonitoredSemantics, Watch
from planner.model.actions import Constraint, ConstraintKind, Done, Happening
from planner.model.formulas import And, Atom, Formula, Not, Or

KINDS = {
    "always": ConstraintKind.ALWAYS,
    "sometime": ConstraintKind.SOMETIME,
    "most": ConstraintKind.AT_MOST,
    "before": ConstraintKind.BEFORE,
    "after": ConstraintKind.NEVER_AFTER,
}


def draw_condition(rng: random.Random, facts: Sequence[Any], steps: Sequence[Any], depth: int = 0) -> Condition:
    """Return a condition on one to four facts, or a pattern of `steps`."""
    chance = rng.random()
    if depth == 0 and steps and chance < 0.3:
        name, *arguments = rng.choice(steps)
        return ("step", name, *[each if rng.random() < 0.6 else "_" for each in arguments])
    if depth < 2 and chance < 0.5:
        parts = [draw_condition(rng, facts, steps, depth + 1) for _ in range(2)]
        return (rng.choice(["and", "or"]), *parts)
    fact: Condition = ("fact", rng.choice(facts))
    return ("not", fact) if rng.random() < 0.3 else fact


def draw_watches(rng: random.Random, semantics: MonitoredSemantics) -> list[Watch]:
    """Return one or two random constraints on what the actions and the known changes do."""
    moments = [each for action in semantics.actions for each in (action.start, action.end) if each is not None]
    moments += [event for _, event in semantics.events]
    facts = sorted(semantics.initial.facts.union(*[each.adds | each.deletes for each in moments]))
    steps = [action.name for action in semantics.actions]
    found = []
    for _ in range(rng.choice([1, 1, 2])):
        kind = rng.choice(["always", "sometime", "sometime", "most", "most", "before", "after"])
        what = draw_condition(rng, facts, [] if kind == "always" else steps)
        other = draw_condition(rng, facts, steps) if kind in ("before", "after") else None
        found.append(Watch(kind, what, other, rng.choice([0, 0, 1, 1, 2]) if kind == "most" else 1))
    return found


def read_happening(condition: Condition) -> Happening:
    return Done(Atom(condition[1], condition[2:])) if condition[0] == "step" else read_condition(condition)


def read_condition(condition: Condition) -> Formula:
    head, *parts = condition
    if head == "fact":
        return Atom(parts[0][0], tuple(parts[0][1:]))
    if head == "not":
        return Not(read_condition(parts[0]))
    return (And if head == "and" else Or)(tuple(map(read_condition, parts)))


def read_watch(watch: Watch, utility: Decimal | None = None) -> Constraint:
    other = None if watch.other is None else read_happening(watch.other)
    return Constraint(KINDS[watch.kind], read_happening(watch.what), other, watch.times, utility)
