"""Which step a data parameter is filled from: the one that provides, last before it, the fact that it comes with."""

from __future__ import annotations

import sys
from bisect import bisect_right
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

from executor.plans.action_plan import PlanStep
from planner.model import Action, Atom, Problem
from planner.plan import Step
from planner.validate.simulation import bound

BEFORE: Final = -1
"""The place of what provided a fact before the plan."""
AFTER: Final = sys.maxsize
"""A place after all steps."""


@dataclass(slots=True, eq=False)
class Flow:
    """A fact that parameters come with: the places of the steps that provide it, and who takes a result from whom."""

    fact: Atom
    providers: list[int] = field(default_factory=list)
    consumers: dict[int, list[tuple[int, str]]] = field(default_factory=lambda: {BEFORE: []})

    def orderings(self) -> Iterator[tuple[int, int]]:
        """Yield what comes before what, so that each consumer finds its provider to be the last.

        Other providers come before the provider, or after its consumers.
        """
        for provider, following in pairwise([*sorted(self.consumers), AFTER]):
            taking = [place for place, _ in self.consumers[provider]]
            yield from ((provider, each) for each in taking if provider != BEFORE)
            for other in self.providers[
                bisect_right(self.providers, provider) : bisect_right(self.providers, following)
            ]:
                yield from ((each, other) for each in taking if each < other)
                if other < following < AFTER:
                    yield other, following


def flows(
    problem: Problem, steps: Sequence[PlanStep], ground: Sequence[Step], provided: Sequence[Collection[Atom]]
) -> Mapping[Atom, Flow]:
    """Return the facts that data parameters of `steps` come with; `provided` says what each step provides."""
    actions = problem.domain.actions
    pairs = zip(steps, ground, strict=True)
    wanted = [dict(wanted_facts(actions[step.action], each, step)) for each, step in pairs]
    found = {fact: Flow(fact) for facts in wanted for fact in facts.values()}
    last: dict[Atom, int] = {}
    for place, facts in enumerate(wanted):
        for parameter, fact in facts.items():
            found[fact].consumers.setdefault(last.get(fact, BEFORE), []).append((place, parameter))
        for fact in provided[place]:
            if fact in found:
                found[fact].providers.append(place)
                last[fact] = place
    return found


def wanted_facts(action: Action, each: PlanStep, step: Step) -> Iterator[tuple[str, Atom]]:
    """Yield the data parameters that the plan leaves to the results of others, with the facts that they come with."""
    for parameter in action.data:
        if parameter.source is not None and parameter.name not in each.parameters:
            yield parameter.name, parameter.source.fact.substitute(bound(action, step))
