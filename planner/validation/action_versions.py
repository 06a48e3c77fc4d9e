"""Actions of a file that the model has in several versions, which differ in when they can be done.

Preferences of preconditions and conditions of chances make such versions; plans call all of them by the name of the
file's action.
"""

from __future__ import annotations

from collections.abc import Sequence

from planner.lightweight import TYPE_CHECKING, replace
from planner.model import Problem
from planner.model.formulas import conjuncts, substitute
from planner.plan import Step

if TYPE_CHECKING:
    from planner.validation.validate import Replay


def choose_versions(steps: Sequence[Step], problem: Problem) -> tuple[Step, ...]:
    """Return `steps`, each by the version of its action that can be done there, and with the cost of that.

    Where no version can be done, the step is the one that lacks least, and those after it are read as if it was left
    out.
    """
    if not problem.domain.versions:
        return tuple(steps)
    from planner.validation.validate import Replay

    others: dict[str, list[str]] = {}
    for version, name in problem.domain.versions.items():
        others.setdefault(name, []).append(version)
    replay = Replay(problem)
    found: list[Step] = []
    for step in steps:
        versions = [replace(step, action=name) for name in (step.action, *others.get(step.action, ()))]
        objections = [replay.objection(each) for each in versions]
        if None in objections:
            chosen = versions[objections.index(None)]
            replay.apply(chosen)
            found.append(replace(chosen, cost=replay.simulation.cost(chosen)))
        elif all(each is not None and each.condition is not None for each in objections):
            found.append(min(versions, key=lambda each: _count_unmet(each, replay)))
        else:
            found.append(step)
    return tuple(found)


def _count_unmet(step: Step, replay: Replay) -> int:
    """Return how many of the conditions of `step`, which is well-formed, do not hold."""
    action = replay.simulation.problem.domain.actions[step.action]
    binding = dict(zip([each.name for each in action.parameters], step.arguments, strict=True))
    return sum(not replay.simulation.holds(substitute(part, binding)) for part in conjuncts(action.requires))
