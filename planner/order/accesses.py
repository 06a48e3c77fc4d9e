"""What each step of a valid plan reads and writes, as it ran."""

from __future__ import annotations

from dataclasses import dataclass

from planner.errors import PlanError
from planner.model import Action, Atom, Problem
from planner.order.bounds import possible_world
from planner.order.support import Literals, RankedWorld, Support
from planner.plan import Plan, Step
from planner.validate import Changes, Simulation, validate
from planner.validate.simulation import bound
from planner.validate.state import State

GOAL = Step("goal")


@dataclass(frozen=True, slots=True, eq=False)
class Access:
    """What one step reads and writes.

    `reads` are literals that suffice for the step to be applicable and to do what it did; `ran` the patterns of
    actions that must have run before it.
    """

    step: Step
    reads: Literals
    changes: Changes
    ran: tuple[Atom, ...]


def accesses(problem: Problem, plan: Plan) -> list[Access]:
    """Return what each step of `plan` accesses, and last what the goal reads.

    Raises `PlanError` for an invalid plan.
    """
    verdict = validate(problem, plan.steps)
    if not verdict.valid:
        raise PlanError(f"only a valid plan has an order: {verdict.reason}")
    first = Simulation(problem)
    all_changes = [first.apply(step) for step in plan.steps]
    second = Simulation(problem)
    second.world = world = RankedWorld(State(problem.initial), second.rules.axioms)
    provided = {fact for changes in all_changes for fact in changes.provided}
    removed = {fact for changes in all_changes for fact in changes.removed}
    initial = dict.fromkeys(problem.initial)
    possible = possible_world(initial | dict.fromkeys(provided), initial.keys() - removed, second.rules.axioms)
    support = Support(world, possible)
    found = []
    for step, changes in zip(plan.steps, all_changes, strict=True):
        action = problem.domain.actions[step.action]
        found.append(Access(step, _reads(second, support, step), changes, _history(action, step)))
        second.apply(step)
    reads = support.base(second.rules.compiler.compile(problem.goal.hard), {}, holds=True)
    return [*found, Access(GOAL, reads, Changes((), (), (), (), ()), ())]


def _reads(simulation: Simulation, support: Support, step: Step) -> Literals:
    """Return literals that suffice for `step` to be applicable, and for each of its effects to come or stay away."""
    schema = simulation.rules.schema(step.action)
    binding = bound(schema.action, step)
    reads = support.base(schema.requires, binding, holds=True)
    for effect in schema.effects:
        for instance in support.instances(effect.condition, effect.domains, binding):
            comes = simulation.world.solver.holds(effect.condition, instance)
            reads |= support.base(effect.condition, instance, holds=comes)
    return reads


def _history(action: Action, step: Step) -> tuple[Atom, ...]:
    binding = bound(action, step)
    return tuple([pattern.substitute(binding) for pattern in action.after])
