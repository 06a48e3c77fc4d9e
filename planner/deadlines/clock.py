"""How long actions take and what they keep waiting, as integers."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal

from planner.grounding.costs import common_resolution
from planner.model import Number, Problem
from planner.model.actions import has_open
from planner.normalise.constraints import is_monitor
from planner.plan import exact
from planner.records import dataclass
from planner.task import State, Task, bits

Times = Mapping[int, int]
"""From facts to times; those that are missing are 0."""


@dataclass(frozen=True, slots=True)
class Clock:
    """The `durations` of the actions, by number, and the `deadline`; `resolution` units make a second.

    `reads` are the preconditions of actions, and `writes` what they change in place: facts, or numbers from the number
    of facts on. Facts of `monitors`, as bits, are of constraints: who may be at work with whom, these say otherwise.
    """

    durations: list[int]
    reads: list[tuple[int, ...]]
    writes: list[tuple[int, ...]]
    monitors: State
    deadline: int
    resolution: int

    def seconds(self, units: int) -> Number:
        """Return so many units in seconds."""
        return exact(Decimal(units) / self.resolution)


def clock_of(problem: Problem, task: Task, deadline: Number) -> Clock:
    """Return the times of the actions of `task`, which is that of `problem`."""
    declared = {name: action.duration or 0 for name, action in problem.domain.actions.items()}
    resolution = common_resolution({declared[action.step.action] for action in task.actions})
    durations = [int(declared[action.step.action] * resolution) for action in task.actions]
    watched = bits([number for number, fact in enumerate(task.facts) if is_monitor(fact)])
    reads = [tuple([fact for fact in action.precondition if not watched >> fact & 1]) for action in task.actions]
    return Clock(durations, reads, _writes(problem, task), watched, int(deadline * resolution), resolution)


def _writes(problem: Problem, task: Task) -> list[tuple[int, ...]]:
    numbers = {fact: number for number, fact in enumerate(task.facts)}
    found: list[tuple[int, ...]] = []
    for ground in task.actions:
        action = problem.domain.actions[ground.step.action]
        names = [parameter.name for parameter in action.step_parameters]
        binding = dict(zip(names, ground.step.arguments, strict=True)) if action.modifies else {}
        items = [item.substitute(binding) for item in action.modifies if not has_open(item)]
        found.append(tuple([numbers.setdefault(item, len(numbers)) for item in items]))
    return found
