"""What handlers say had better come next: among plans that are equally good, one that begins with it is taken."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence

from executor.record.state import RunState
from planner.declare import resolve_action
from planner.declare.syntax import NotationError, parse_atom
from planner.errors import InputError
from planner.model import Problem
from planner.plan import Step, exact_sum
from planner.records import replace
from planner.repair import Patch
from planner.validate import Simulation


def hints(state: RunState, about: str) -> Iterator[Step]:
    """Yield the ground actions that the result of the step `about` names; what names none is left out."""
    record = state.steps.get(about)
    for text in (record.result or {}).get("next_actions", ()) if record else ():
        try:
            named = parse_atom(str(text).strip().removesuffix("()"))
            yield Step(resolve_action(state.domain, named.predicate).name, named.args)
        except (NotationError, InputError):
            continue


def preferred(
    found: Patch,
    wanted: Collection[Step],
    problem: Problem,
    fixed: Sequence[Step],
    search: Callable[[Sequence[Step]], Patch],
) -> Patch:
    """Return a patch as good as `found` that begins with one of the steps `wanted`; `found` where there is none.

    `search` returns the patch that follows certain steps, those of `fixed` among them.
    """
    simulation = Simulation(problem)
    for step in fixed:
        simulation.apply(step)
    for step in wanted:
        if found.steps and _key(found.steps[0]) == _key(step):
            return found
        if found.objective is None or simulation.objection(step) is not None:
            continue
        step = replace(step, cost=simulation.cost(step))  # noqa: PLW2901 - the same step
        rest = search([*fixed, step])
        if rest.steps is None or rest.objective is None or exact_sum([rest.objective, step.cost]) > found.objective:
            continue
        cost, objective = (exact_sum([each or 0, step.cost]) for each in (rest.cost, rest.objective))
        steps = (step, *rest.steps)
        return replace(rest, status=found.status, steps=steps, new=rest.new + 1, cost=cost, objective=objective)
    return found


def _key(step: Step) -> tuple[str, tuple[str, ...]]:
    return step.action, step.arguments
