"""Arguments that were left out, where the state in which the step comes leaves one way only."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Final

from executor.agent.foreign.resolving import Said
from planner.creation import for_steps
from planner.model import OPEN, Problem, TypeHierarchy
from planner.plan import Step
from planner.records import replace
from planner.validate import Simulation

MOST: Final = 2_000
"""Steps that are tried for one that lacks arguments."""


def completed(problem: Problem, given: Sequence[Said]) -> list[Said]:
    """Return `given`, in which steps that lack arguments have those with which alone they can be done where they stand.

    Steps before them that cannot be done are taken to be left out.
    """
    if not any(said.ways for said in given):
        return list(given)
    simulation = Simulation(for_steps(problem, [said.step for said in given if not said.wrong]))
    found = []
    for said in given:
        meant = _completed(simulation, said) if said.ways else said
        found.append(meant)
        if not meant.wrong and simulation.objection(meant.step) is None:
            simulation.apply(meant.step)
    return found


def _completed(simulation: Simulation, said: Said) -> Said:
    possible = [step for step in _steps(simulation.problem, said) if simulation.objection(step) is None]
    if len(possible) == 1:
        return replace(said, step=possible[0], wrong="", is_completed=True)
    if not possible:
        return said
    return replace(said, wrong=f"{said.wrong}; it may be {' or '.join(map(str, possible[:3]))}")


def _steps(problem: Problem, said: Said) -> Iterator[Step]:
    """Yield the steps that `said` may mean, each once; none where there are too many."""
    hierarchy = TypeHierarchy(problem.domain.types)
    parameters = problem.domain.actions[said.step.action].parameters
    fitting = [
        [each.name for each in problem.all_objects if hierarchy.is_a(each.types, parameter.types)]
        for parameter in parameters
    ]
    found: dict[tuple[str, ...], None] = {}
    for way in said.ways:
        choices = [fitting[place] if name == OPEN else [name] for place, name in enumerate(way)]
        for arguments in product(*choices):
            found[arguments] = None
            if len(found) > MOST:
                return
    yield from (Step(said.step.action, arguments) for arguments in found)
