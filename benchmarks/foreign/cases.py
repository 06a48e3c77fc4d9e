"""Plans with mistakes: optimal plans of shipped domains, random problems and competition tasks, spoilt."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, Final

from benchmarks.foreign.forms import FORMS
from benchmarks.foreign.mistakes import MISTAKES
from benchmarks.patching.cases import generator
from planner import Plan, Problem, Status, load, solve
from planner.model.domain import creates_objects
from planner.records import replace

Drawn = tuple[str, Problem]
"""A problem, and where it is from."""
COMPETITIONS: Final = "competitions"
SIZES: Final = {"assistant": 8, "courier": 4, "elevator": 6, "runbook": 3, "secretary": 5, "stacking": 8, "random": 8}
"""The domains, and the size of problems of which an optimal plan is soon proved."""
TRIES: Final = 30
"""So many problems are tried in vain before a source is left out."""
MOST_FACTS: Final = 2000
"""Larger tasks are left out, too: to read and ground them may take longer than to plan."""
PLANNING: Final = 2.0
"""Seconds for the proof of an optimal plan, at most: tasks that take longer are left out."""


@dataclass(frozen=True, slots=True)
class Spoilt:
    """A plan with a kind of `mistake`, as somebody has `written` it; `right` is what it was made of."""

    source: str
    mistake: str
    problem: Problem
    right: Plan
    written: Any


def spoilt_plans(sources: Sequence[Iterator[Drawn]], wanted: int, seed: int, time_limit: float) -> Iterator[Spoilt]:
    """Yield so many plans with mistakes: kinds and sources take turns; each is of another problem."""
    kinds, number = list(MISTAKES), 0
    left = [_planned(source, seed, time_limit) for source in sources]
    while number < wanted and left:
        place = (number // len(kinds)) % len(left)
        found = next(left[place], None)
        if found is None:
            del left[place]
            continue
        kind = kinds[number % len(kinds)]
        yield spoilt(*found, kind, Random(f"{seed} {number}"))  # noqa: S311 - an experiment
        number += 1


def spoilt(source: str, problem: Problem, right: Plan, kind: str, rng: Random) -> Spoilt:
    """Return the plan `right` with a `kind` of mistake."""
    lines = MISTAKES[kind]([(step.action, step.arguments) for step in right.steps], problem, rng)
    return Spoilt(source, kind, problem, right, rng.choice(FORMS)(lines, problem))


def shipped(domain: str, seed: int) -> Iterator[Drawn]:
    """Yield random problems of a shipped domain, or of random domains."""
    make = generator(domain)
    for number in range(seed, seed + 1000):
        yield domain, make(number, max(2, SIZES[domain] - number % 3))


def competition(paths: Sequence[tuple[Path, Path]]) -> Iterator[Drawn]:
    """Yield the tasks of domain and problem files that our search takes; none of them twice."""
    for domain, problem in paths:
        found = load(domain, problem)
        if isinstance(found, Problem):
            yield COMPETITIONS, found


def _planned(source: Iterator[Drawn], seed: int, time_limit: float) -> Iterator[tuple[str, Problem, Plan]]:
    """Yield problems with an optimal plan, where one is proved in time.

    It is found with everything in another order, so that planning from scratch does not simply come upon it.
    """
    failed = 0
    for name, problem in source:
        if failed == TRIES:
            return
        if creates_objects(problem.domain) or len(problem.initial) > MOST_FACTS:
            continue
        result = solve(_shuffled(problem, seed), mode="optimal", time_limit=min(time_limit, PLANNING))
        if result.status is Status.OPTIMAL and result.plan is not None and result.plan.steps:
            failed = 0
            yield name, problem, replace(result.plan, problem=problem)
        else:
            failed += 1


def _shuffled(problem: Problem, seed: int) -> Problem:
    rng = Random(f"order {seed}")  # noqa: S311 - an experiment

    def shuffle(items: Sequence[Any]) -> tuple[Any, ...]:
        return tuple(rng.sample(items, len(items)))

    actions = dict(shuffle(list(problem.domain.actions.items())))
    domain = replace(problem.domain, actions=actions)
    return replace(problem, domain=domain, objects=shuffle(problem.objects), initial=shuffle(problem.initial))
