"""Errands: recorded sentences, some of which come much more often than others, and domains without references."""

from __future__ import annotations

from random import Random

from benchmarks.sentences.meant import problem_of
from benchmarks.sentences.recorded import Sentence, recorded
from executor.testing import SimulatedWorld
from executor.testing.samples import wanted_of
from planner import Problem
from planner.records import replace


def errands(runs: int, seed: int, domain: str = "") -> list[Sentence]:
    """Return so many sentences that lead to a plan, of all domains or one: the k-th comes 1/k as often as the first."""
    rng = Random(f"errands {seed}")  # noqa: S311 - an experiment
    known = [each for each in recorded() if each.right_ends == "done" and not each.open and len(each.meanings) == 1]
    known = [each for each in known if domain in ("", each.where.partition("/")[0])]
    rng.shuffle(known)
    return rng.choices(known, [1 / place for place in range(1, len(known) + 1)], k=runs)


def without_references(problem: Problem) -> Problem:
    """Return `problem` in a domain whose data parameters come from no step's result: somebody has to fill them."""
    actions = {
        name: replace(action, data=tuple([replace(each, source=None, fixed=False) for each in action.data]))
        for name, action in problem.domain.actions.items()
    }
    return replace(problem, domain=replace(problem.domain, actions=actions))


def world_for(sentence: Sentence, *, references: bool) -> SimulatedWorld:
    """Return a new world for an errand; steps return the same, whether others refer to it or not."""
    problem = problem_of(sentence.where)
    if references:
        return SimulatedWorld(problem)
    simulated = SimulatedWorld(without_references(problem))
    simulated.wanted = wanted_of(problem.domain)
    return simulated
