"""Estimate the cost, seconds and tokens of plans, and compare them with the limits in a plan."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from executor.plan_check.plan_findings import PLAN, PlanFinding
from executor.plans.action_plan import ActionPlan, PlanStep
from executor.plans.partial_order import predecessors_of
from planner.compilations.object_creation import for_steps
from planner.errors import InputError
from planner.model import Number, Problem
from planner.plan import exact_sum
from planner.semantics.durations import least_duration
from planner.semantics.simulation import bind_parameters
from planner.semantics.step_effects import cost_of, uses_of

TOKENS: Final = "tokens"
"""The resource that actions declare in `uses` if they ask language models."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """The estimated cost, seconds and tokens of steps; `untimed` are the steps without a known duration."""

    cost: Number
    duration: float
    tokens: Number
    untimed: tuple[str, ...] = ()


def estimate(problem: Problem, steps: Sequence[PlanStep], model: str = "sequential") -> Estimate:
    """Estimate what `steps` take from the initial state of `problem` in an execution model.

    An estimate of the step counts before the declarations of its action; tokens are declared as `uses={"tokens": …}`.
    In the models `dag` and `parallel` steps overlap: the duration is that of the longest chain, or of the rounds.
    Raises `InputError` where a step is no instance of an action, or has no cost.
    """
    ground = [each.step(problem.domain) for each in steps]
    problem = for_steps(problem, ground)
    actions = [problem.domain.actions[each.action] for each in ground]
    stated = [
        each.duration
        if each.duration is not None
        else None
        if action.duration is None
        else float(least_duration(problem, step))
        for each, action, step in zip(steps, actions, ground, strict=True)
    ]
    durations = {each.id: seconds or 0.0 for each, seconds in zip(steps, stated, strict=True)}
    costs = [
        cost_of(problem, action, bind_parameters(action, step)) if each.cost is None else each.cost
        for each, action, step in zip(steps, actions, ground, strict=True)
    ]
    tokens = [
        uses_of(problem, action, bind_parameters(action, step)).get(TOKENS, 0) if each.tokens is None else each.tokens
        for each, action, step in zip(steps, actions, ground, strict=True)
    ]
    timed = any(durations.values())
    return Estimate(
        exact_sum(costs),
        _makespan(problem, steps, durations, model) if timed else 0.0,
        exact_sum(tokens),
        tuple([each.id for each, seconds in zip(steps, stated, strict=True) if seconds is None]),
    )


def _makespan(problem: Problem, steps: Sequence[PlanStep], durations: Mapping[str, float], model: str) -> float:
    if model not in ("dag", "parallel"):
        return sum(durations.values())
    before = predecessors_of(problem, steps)
    if model == "dag":
        ends: dict[str, float] = {}
        for each in steps:
            ends[each.id] = durations[each.id] + max((ends.get(id_, 0.0) for id_ in before[each.id]), default=0.0)
        return max(ends.values(), default=0.0)
    rounds: dict[str, int] = {}
    longest: dict[int, float] = {}
    for each in steps:
        number = rounds[each.id] = 1 + max((rounds.get(id_, 0) for id_ in before[each.id]), default=0)
        longest[number] = max(longest.get(number, 0.0), durations[each.id])
    return sum(longest.values())


def check_limits(problem: Problem, plan: ActionPlan, steps: Sequence[PlanStep]) -> Iterator[PlanFinding]:
    """Yield the limits of `plan` that its resolved `steps` exceed."""
    try:
        found = estimate(problem, steps, plan.model)
    except InputError as error:
        yield PLAN.from_error("cost", error, "steps")
        return
    allowed, meta = plan.metadata.constraints, ("metadata", "constraints")
    duration = max(found.duration, plan.metadata.estimated_duration or 0.0)
    for name, value, most, does, unit in (
        ("cost", found.cost, allowed.cost, "cost", ""),
        ("duration", duration, allowed.duration, "take", " s"),
        ("tokens", found.tokens, allowed.tokens, "take", " tokens"),
    ):
        if most is not None and value > most:
            message = f"the plan is thought to {does} {value:g}{unit}, and no more than {most:g}{unit} is allowed"
            yield PLAN.error("limit", message, *meta, name)
    if allowed.duration is not None and found.untimed:
        names = ", ".join(found.untimed[:8]) + (", …" if len(found.untimed) > 8 else "")
        message = f"nothing says how long these steps take, and they count as no time: {names}"
        yield PLAN.warning("duration", message, *meta, "duration", hint="give actions or steps a duration")
