"""The independent plan checker: it interprets the *declared* problem, step by step.

It shares no code with normalisation, grounding or search, so that a mistake there cannot hide here. A state is a set
of facts in indexed tables (`state`), conditions are evaluated by joins (`conditions`, `solver`), derived predicates by
stratified fixed points (`strata`, `world`), effects as declared (`effects`), and constraints as things happen
(`constraints`). Only where actions create objects does it begin with what search begins with, too: `planner.creation`
states such a problem as one with placeholders, which here may be taken in any order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from planner.annotations import Any
from planner.errors import InputError, PlanError, UnsupportedError, kind_of
from planner.model import Atom, Constraint, Number, Problem
from planner.model.domain import creates_objects
from planner.model.hidden import decided
from planner.model.unclear import constraint_on_unknown
from planner.plan import Plan, Step, Supposition
from planner.records import replace
from planner.validate.deadline import lateness
from planner.validate.effects import Changes
from planner.validate.replay import Replay
from planner.validate.simulation import Objection, Simulation
from planner.validate.uses import resources
from planner.validate.verdict import Verdict

__all__ = [
    "Changes",
    "Objection",
    "Replay",
    "Simulation",
    "Verdict",
    "as_supposed",
    "checker",
    "resources",
    "simulate",
    "validate",
]


def validate(problem: Problem, steps: Plan | Sequence[Step], *, claimed_cost: Number | None = None) -> Verdict:
    """Check that `steps` lead from the initial state of `problem` to its goal, within all limits and constraints.

    A `Plan` claims its own cost, other steps only `claimed_cost`; a claim that is wrong makes the plan invalid. Never
    raises for a bad plan; raises `InputError` where the problem itself means nothing, and `UnsupportedError` for
    constraints on facts that it leaves unknown. Where it leaves facts unknown, a
    plan is valid on suppositions about them, which the verdict lists; those of a `Plan` come first.
    """
    _check_arguments(problem, steps)
    expected = {each.fact: each.holds for each in steps.suppositions} if isinstance(steps, Plan) else {}
    if isinstance(steps, Plan):
        claimed_cost = steps.cost if claimed_cost is None else claimed_cost
        steps = steps.steps
    expanded = _for_steps(problem, steps)
    verdict = _judged(expanded, steps, claimed_cost, expected)
    if expanded is problem or not verdict.forgone:
        return verdict
    pairs = zip(problem.wishes, expanded.wishes, strict=True)
    return replace(verdict, forgone=tuple([wish for wish, guarded in pairs if guarded in verdict.forgone]))


def _judged(
    problem: Problem, steps: Sequence[Step], claimed_cost: Number | None, expected: dict[Atom, bool]
) -> Verdict:
    if not problem.unknown:
        return _replayed(problem, steps, claimed_cost)
    unclear = constraint_on_unknown(problem)
    if unclear is not None:
        raise UnsupportedError(f"the constraint '{unclear}' on facts declared unknown", "state which facts hold")
    from planner.validate.resting import verdict_supposing  # noqa: PLC0415 - few problems need it

    return verdict_supposing(problem, steps, expected, lambda known: _replayed(known, steps, claimed_cost))


def as_supposed(problem: Problem, plan: Plan) -> tuple[Problem, tuple[Supposition, ...]]:
    """Return `problem` with nothing unknown: unknown facts are as `plan` supposes; and what it supposes.

    A plan that says nothing about that is asked what it has to suppose. Raises `PlanError` for one that is not valid.
    """
    if not problem.unknown:
        return problem, ()
    suppositions = plan.suppositions
    if not suppositions:
        verdict = validate(problem, plan.steps)
        if not verdict.valid:
            raise PlanError(f"this plan is not valid: {verdict.reason}")
        suppositions = verdict.suppositions
    return decided(problem, [each.fact for each in suppositions if each.holds]), suppositions


def checker(problem: Problem) -> Callable[[Plan], Verdict]:
    """Return `validate` for many plans of one `problem`, in which nothing is unknown and nothing is created."""
    start = Simulation(problem)
    return lambda plan: _replayed(problem, plan.steps, plan.cost, start)


def _replayed(
    problem: Problem, steps: Sequence[Step], claimed_cost: Number | None, start: Simulation | None = None
) -> Verdict:
    replay = Replay(problem, start)
    if replay.broken is not None:
        return replay.broken
    for step in steps:
        verdict = replay.objection(step)
        if verdict is None:
            replay.apply(step)
            verdict = replay.broken
        if verdict is not None:
            return verdict
    verdict = replay.end(claimed_cost)
    late = lateness(problem, steps) if verdict.valid else ""
    return replace(verdict, valid=False, reason=late) if late else verdict


def _check_arguments(problem: Any, steps: Any) -> None:
    if not isinstance(problem, Problem):
        raise InputError(f"{kind_of(problem)} is no problem", hint="load(…) and domain.problem(…) give one")
    if any(not isinstance(each, Constraint) for each in problem.constraints):
        raise InputError(
            "the problem has constraints as authors write them", hint="a plan's own `problem` has them read"
        )
    if isinstance(steps, Plan):
        return
    if not isinstance(steps, Sequence) or not all(isinstance(step, Step) for step in steps):
        raise InputError("the steps are neither a plan nor a list of steps", hint="a step is Step('move', ('r1', 'a'))")


def _for_steps(problem: Problem, steps: Sequence[Step]) -> Problem:
    """Return `problem` with placeholders for what `steps` create, if its actions create anything."""
    if not creates_objects(problem.domain):
        return problem
    from planner.creation import for_steps  # noqa: PLC0415 - few domains need it

    return for_steps(problem, steps)


def simulate(problem: Problem, steps: Plan | Sequence[Step]) -> Iterator[frozenset[Atom]]:
    """Yield the initial state, then the state after each step, derived facts left out.

    Raises `PlanError` at the first step that cannot be applied.
    """
    _check_arguments(problem, steps)
    steps = steps.steps if isinstance(steps, Plan) else steps
    replay = Replay(_for_steps(problem, steps))
    yield replay.simulation.facts
    for step in steps:
        verdict = replay.objection(step)
        if verdict is not None:
            raise PlanError(verdict.reason)
        replay.apply(step)
        yield replay.simulation.facts
