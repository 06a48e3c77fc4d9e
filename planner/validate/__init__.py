"""The independent plan checker: it interprets the *declared* problem, step by step.

It shares no code with normalisation, grounding or search, so that a mistake there cannot hide here. A state is a set
of facts in indexed tables (`state`), conditions are evaluated by joins (`conditions`, `solver`), derived predicates by
stratified fixed points (`strata`, `world`), and effects as declared (`effects`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from planner.annotations import Any
from planner.errors import InputError, PlanError
from planner.model import Atom, Formula, Number, Problem
from planner.model.formulas import conjuncts
from planner.plan import Plan, Step, exact_sum
from planner.validate.effects import Changes
from planner.validate.reasons import Chronicle
from planner.validate.simulation import Objection, Simulation
from planner.validate.verdict import Verdict

__all__ = ["Changes", "Objection", "Simulation", "Verdict", "simulate", "validate"]


def validate(problem: Problem, steps: Plan | Sequence[Step], *, claimed_cost: Number | None = None) -> Verdict:
    """Check that `steps` lead from the initial state of `problem` to its goal.

    A `Plan` claims its own cost, other steps only `claimed_cost`; a claim that is wrong makes the plan invalid. Never
    raises for a bad plan; raises `InputError` where the problem itself means nothing, `UnsupportedError` where it
    leaves facts unknown.
    """
    _check_arguments(problem, steps)
    if isinstance(steps, Plan):
        claimed_cost = steps.cost if claimed_cost is None else claimed_cost
        steps = steps.steps
    simulation = Simulation(problem)
    chronicle = Chronicle(problem.domain.derived)
    costs: list[Number] = []
    for number, step in enumerate(steps, start=1):
        objection = simulation.objection(step)
        if objection is None:
            try:
                costs.append(simulation.cost(step))
            except InputError as error:
                objection = Objection(str(error))
        if objection is not None:
            return _rejected(number, step, objection, chronicle, exact_sum(costs))
        chronicle.record(number, step, simulation.apply(step))
    return _judged(simulation, chronicle, exact_sum(costs), claimed_cost)


def _check_arguments(problem: Any, steps: Any) -> None:
    if not isinstance(problem, Problem):
        raise InputError(f"a {type(problem).__name__} is no problem", hint="load(…) and domain.problem(…) give one")
    if isinstance(steps, Plan):
        return
    if not isinstance(steps, Sequence) or not all(isinstance(step, Step) for step in steps):
        raise InputError("the steps are neither a plan nor a list of steps", hint="a step is Step('move', ('r1', 'a'))")


def simulate(problem: Problem, steps: Plan | Sequence[Step]) -> Iterator[frozenset[Atom]]:
    """Yield the initial state, then the state after each step, derived facts left out.

    Raises `PlanError` at the first step that cannot be applied.
    """
    _check_arguments(problem, steps)
    simulation = Simulation(problem)
    chronicle = Chronicle(problem.domain.derived)
    yield simulation.facts
    for number, step in enumerate(steps.steps if isinstance(steps, Plan) else steps, start=1):
        objection = simulation.objection(step)
        if objection is not None:
            raise PlanError(_rejected(number, step, objection, chronicle, 0).reason)
        chronicle.record(number, step, simulation.apply(step))
        yield simulation.facts


def _rejected(number: int, step: Step, objection: Objection, chronicle: Chronicle, cost: Number) -> Verdict:
    if objection.misfit:
        return Verdict(valid=False, cost=cost, reason=f"step {number} {step}: {objection.misfit}", failing_step=number)
    condition = objection.condition
    reason = f"step {number} {step}: requires {condition}, {chronicle.account(condition)}"
    return Verdict(valid=False, cost=cost, reason=reason, failing_step=number, condition=condition)


def _judged(simulation: Simulation, chronicle: Chronicle, cost: Number, claimed: Number | None) -> Verdict:
    """Return the verdict on a plan whose steps could all be applied."""
    unmet = tuple(_unmet_goals(simulation))
    if unmet:
        parts = "; ".join(f"{condition}, {chronicle.account(condition)}" for condition in unmet)
        return Verdict(valid=False, cost=cost, reason=f"at the end, the goal requires {parts}", unmet=unmet)
    if claimed is not None and claimed != cost:
        return Verdict(valid=False, cost=cost, reason=f"the plan claims cost {claimed}, but its steps cost {cost}")
    return Verdict(valid=True, cost=cost)


def _unmet_goals(simulation: Simulation) -> Iterator[Formula]:
    for part in conjuncts(simulation.problem.goal.hard):
        if not simulation.holds(part):
            yield simulation.inspector.smallest_failure(part, {})
