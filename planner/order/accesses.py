"""What each step of a valid plan reads and writes, as it ran."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from planner.errors import PlanError
from planner.model import Action, Atom, Constraint, Problem, SoftGoal
from planner.order.bounds import possible_world
from planner.order.promises import with_promises, with_wishes_hard
from planner.order.support import Literals, RankedWorld, Support
from planner.plan import Plan, Step
from planner.records import dataclass, replace
from planner.validate import Changes, Replay, Simulation, Verdict, as_supposed, validate
from planner.validate.ready import Ready, Test, split
from planner.validate.simulation import bound
from planner.validate.state import State

GOAL: Final = Step("goal")
NO_CHANGES: Final = Changes((), (), (), (), ())


@dataclass(frozen=True, slots=True, eq=False)
class Access:
    """What one step reads and writes.

    `reads` are literals that suffice for the step to be applicable and to do what it did; `ran` the patterns of
    actions that must have run before it. `looks` are unknown facts on which later steps rest and at which it looks.
    """

    step: Step
    reads: Literals
    changes: Changes
    ran: tuple[Atom, ...]
    looks: tuple[Atom, ...] = ()


def accesses(problem: Problem, plan: Plan) -> list[Access]:
    """Return what each step of `plan` accesses, and last what the goal reads, with the wishes that the plan grants.

    Constraints are items that steps write which bear on them. Raises `PlanError` for an invalid plan.
    """
    problem, suppositions = as_supposed(problem, plan)
    if problem.goal.soft or problem.constraints:
        problem = with_wishes_hard(problem, _forgone(problem, plan))
    reads, changes = _replayed(problem, plan.steps)
    if None in reads:
        reads = list(_traced(problem, plan.steps, reads, changes))
    if problem.constraints:
        changes = with_promises(problem, plan.steps, changes)
    actions = problem.domain.actions
    histories = [_history(actions[step.action], step) for step in plan.steps]
    looks: list[tuple[Atom, ...]] = [()] * (len(plan.steps) + 1)
    for each in suppositions:
        if each.seen is not None:
            looks[each.seen - 1] += (each.fact,)
    every = zip((*plan.steps, GOAL), reads, (*changes, NO_CHANGES), (*histories, ()), looks, strict=True)
    return [Access(step, known or Literals(), change, history, seen) for step, known, change, history, seen in every]


def _forgone(problem: Problem, plan: Plan) -> tuple[SoftGoal | Constraint, ...]:
    verdict = validate(replace(problem, deadline=None), plan.steps)  # when a plan ends is asked of its order
    _check(verdict)
    return verdict.forgone


def _replayed(problem: Problem, steps: Sequence[Step]) -> tuple[list[Literals | None], list[Changes]]:
    """Return what steps and the goal read, None where it is not plain to see, and what the steps change."""
    replay = Replay(problem)
    simulation = replay.simulation
    reads: list[Literals | None] = []
    changes = []
    for step in steps:
        _check(replay.objection(step))
        ready = simulation.rules.ready(step)
        is_plain = isinstance(ready, Ready) and ready.fixed is not None and not ready.rest
        reads.append(_literals(ready.tests) if isinstance(ready, Ready) and is_plain else None)
        changes.append(replay.apply(step))
    _check(replay.end(None))
    rules = simulation.rules
    lookups, rest = split(rules.compiler.compile(problem.goal.hard), rules.axioms.__contains__)
    goal = _literals([(each.predicate, each.args, each.positive) for each in lookups])
    return [*reads, None if rest else goal], changes


def _literals(tests: Sequence[Test]) -> Literals:
    """Return `tests` as literals, the last first, as `Support` gives them."""
    return {(Atom(predicate, row), positive): None for predicate, row, positive in reversed(tests)}


def _check(verdict: Verdict | None) -> None:
    if verdict is not None and not verdict.valid:
        raise PlanError(f"only a valid plan has an order: {verdict.reason}")


def _traced(
    problem: Problem, steps: Sequence[Step], known: Sequence[Literals | None], all_changes: Sequence[Changes]
) -> Iterator[Literals]:
    """Yield what steps and the goal read: what is `known`, else what suffices for what they did."""
    simulation = Simulation(problem)
    simulation.world = world = RankedWorld(State(problem.initial), simulation.rules.axioms)
    provided = {fact for changes in all_changes for fact in changes.provided}
    removed = {fact for changes in all_changes for fact in changes.removed}
    initial = dict.fromkeys(problem.initial)
    possible = possible_world(initial | dict.fromkeys(provided), initial.keys() - removed, simulation.rules.axioms)
    support = Support(world, possible)
    for step, reads in zip(steps, known, strict=False):
        yield _reads(simulation, support, step) if reads is None else reads
        simulation.apply(step)
    goal = known[-1]
    yield support.base(simulation.rules.compiler.compile(problem.goal.hard), {}, holds=True) if goal is None else goal


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
