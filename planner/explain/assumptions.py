"""Planning with assumptions at a price: a problem in which facts may be assumed before the first step.

Each candidate becomes an action that costs `PRICE` and can only be used before the first step of the source problem;
each of those costs 1, so little that a plan of at most `STEPS` steps that costs the least makes the fewest assumptions.
(Göbelbecker, Keller, Eyerich, Brenner and Nebel 2010, "Coming up with good excuses", compile such changes of the
initial state in this way.)
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from planner.explain.items import Items
from planner.explain.providers import atom_of
from planner.model import Action, Atom, Literal, Metric, Not, Number, Predicate, Problem
from planner.plan import Step

PRICE: Final = 10**9
"""What an assumption costs."""
STEPS: Final = 10**8
"""More steps than any plan has that is of use."""
UNNAMED: Final = 10**5
"""What one costs more that nothing can provide, but that is not what the explanation of the goal leads to."""
DEEPER: Final = 2 * UNNAMED
"""What one costs more that something could provide: so that of equally many, those at the root are chosen."""
BESIDE: Final = 3 * UNNAMED
"""What one costs more that holds beside what it could replace."""
DEAREST: Final = PRICE + DEEPER + BESIDE


@dataclass(frozen=True, slots=True)
class Assumption:
    """A fact that would hold from the start, or fail (`Not`).

    `instead_of` are the initial facts that would then not hold, since they are values of the same item; `rivals` are
    these and all other candidates of which that is true.
    """

    literal: Literal
    instead_of: tuple[Atom, ...] = ()
    rivals: tuple[Atom, ...] = ()
    price: int = PRICE

    def __str__(self) -> str:
        instead = f" instead of {', '.join(map(str, self.instead_of))}" if self.instead_of else ""
        return f"{self.literal}{instead}"

    def to_dict(self) -> dict[str, Any]:
        """Return the assumption as JSON-ready data."""
        return {
            "fact": str(atom_of(self.literal)),
            "holds": isinstance(self.literal, Atom),
            "instead_of": list(map(str, self.instead_of)),
        }


def assumptions(
    literals: Iterable[Literal], prices: Mapping[Literal, int], items: Items, initial: tuple[Atom, ...]
) -> list[Assumption]:
    """Return `literals` as assumptions, each with what it would replace in the initial state.

    Their `prices` are what they cost in the first place; those that have none cost `PRICE + DEEPER`.

    A fact that may replace others of another predicate, or stand beside them, gives two assumptions.
    """
    wanted, holding = list(dict.fromkeys(literals)), set(initial)
    positive = [literal for literal in wanted if isinstance(literal, Atom)]
    every, same = items.rivals(positive, initial), items.rivals(positive, initial, one_predicate=True)
    found = []
    for literal in wanted:
        price = prices.get(literal, PRICE + DEEPER)
        variants = [every[literal], same[literal]] if isinstance(literal, Atom) else [[], []]
        for rivals, extra in zip(variants, (0, BESIDE), strict=True):
            if not extra or rivals != variants[0]:
                instead = tuple([fact for fact in rivals if fact in holding])
                found.append(Assumption(literal, instead, tuple(rivals), price + extra))
    return found


def with_assumptions(plain: Problem, candidates: Sequence[Assumption]) -> Problem:
    """Return the plain ADL problem `plain` with an action for each of `candidates`, named `assume-<number>`."""
    domain = plain.domain
    phase = Atom(_fresh("assuming", domain.predicates))
    prefix = assume_prefix(plain)
    real = {
        name: replace(action, provides=(*action.provides, Not(phase)), cost=(1,))
        for name, action in domain.actions.items()
    }
    extra = {
        f"{prefix}{number}": Action(
            f"{prefix}{number}",
            requires=phase,
            provides=(candidate.literal, *[Not(fact) for fact in candidate.rivals]),
            cost=(candidate.price,),
        )
        for number, candidate in enumerate(candidates)
    }
    return replace(
        plain,
        domain=replace(
            domain, actions=real | extra, predicates={**domain.predicates, phase.predicate: Predicate(phase.predicate)}
        ),
        initial=(*plain.initial, phase),
        metric=Metric.COST,
    )


def assume_prefix(problem: Problem) -> str:
    """Return how the names of the assuming actions begin: as no action of `problem` does."""
    prefix = "assume-"
    while any(name.startswith(prefix) for name in problem.domain.actions):
        prefix = f"@{prefix}"
    return prefix


def split(steps: Iterable[Step], prefix: str, candidates: Sequence[Assumption]) -> tuple[list[Assumption], list[Step]]:
    """Return the assumptions that a plan begins with, and the steps that remain."""
    made: list[Assumption] = []
    rest: list[Step] = []
    for step in steps:
        if step.action.startswith(prefix):
            made.append(candidates[int(step.action.removeprefix(prefix))])
        else:
            rest.append(step)
    return made, rest


def changed(problem: Problem, made: Iterable[Assumption]) -> Problem:
    """Return `problem` with its initial state changed as assumed."""
    facts = dict.fromkeys(problem.initial)
    for assumption in made:
        for fact in assumption.rivals:
            facts.pop(fact, None)
        if isinstance(assumption.literal, Atom):
            facts[assumption.literal] = None
        else:
            facts.pop(atom_of(assumption.literal), None)
    return replace(problem, initial=tuple(facts))


def fewest(cost: Number) -> int:
    """Return how many assumptions a plan of at most `STEPS` steps makes at least, if it costs `cost` or more."""
    return max(0, math.ceil((cost - STEPS) / DEAREST))


def _fresh(name: str, taken: Iterable[str]) -> str:
    while name in set(taken):
        name += "_"
    return name
