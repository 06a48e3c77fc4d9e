"""The check of a plan, all of it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from executor.checks.alternatives import check_alternatives
from executor.checks.conditions import check_conditions, check_stated
from executor.checks.findings import PLAN, PlanFinding
from executor.checks.limits import check_limits
from executor.checks.means import check_means, without_handler
from executor.checks.statement import Statement, statement
from executor.checks.structure import check_structure
from executor.checks.vocabulary import Vocabulary, unprovided
from executor.plans.action_plan import ActionPlan
from executor.plans.edges import order_of
from executor.world.world import World, actions_of
from planner.creation import for_steps
from planner.declare import Domain
from planner.documents.places import Document
from planner.errors import InputError
from planner.kinds import AnyDomain
from planner.model import Action, Problem
from planner.model.actions import added, deleted
from planner.validate.effects import staleness_of

NAMES: Final = frozenset({"action", "arguments", "creates"})
"""The fields of a step that say what is done; the others say how."""
MEANS: Final = frozenset({"no-handler", "missing-parameter", "no-field"})
"""The rules about what a world lacks for a plan."""


def check_plan(
    plan: ActionPlan,
    world: World | Domain | AnyDomain,
    *,
    memory: Collection[str] = (),
    model: bool = False,
    document: Document | None = None,
) -> list[PlanFinding]:
    """Return all that is wrong with `plan`, in its order; a plan without errors among them can be run.

    With a `World`, actions need handlers. `memory` names the data parameters that working memory has; with `model`, a
    language model fills those that are not fixed. `document` is what the plan was read from: findings have places then.
    """
    domain = world.model if isinstance(world, World) else actions_of(world)
    told = statement(plan, domain)
    vocabulary = Vocabulary(domain, {each.name: each.types for each in told.problem.objects}, memory, model=model)
    structure = list(check_structure(plan))
    words = list(vocabulary.check(plan))
    found = [*_over(plan), *told.findings, *structure, *words]
    if not any(each.rule == "same-id" for each in structure):
        bad = {each.step for each in words if each.is_error and each.path[2] in NAMES}
        found += _simulated(told, vocabulary, bad, in_order=not structure)
    if isinstance(world, World):
        known = [(number, each, vocabulary.action(each)) for number, each in enumerate(plan.steps)]
        named = [(number, each, action.name) for number, each, action in known if isinstance(action, Action)]
        found += without_handler(named, world)
        if not any(each.is_error and each.rule not in MEANS for each in found) and told.has_start:
            means = check_means(plan, told.problem, world, memory, fills=model)
            found = [*[each for each in found if each.rule not in MEANS], *means]
    return _sorted(found, document)


def errors_in(findings: Iterable[PlanFinding]) -> list[PlanFinding]:
    """Return those of `findings` with which a plan cannot be run."""
    return [each for each in findings if each.is_error]


def _over(plan: ActionPlan) -> Iterator[PlanFinding]:
    """Yield that nothing is left to do for a plan whose status says so."""
    if plan.status in ("completed", "abandoned"):
        hint = 'to carry it out again: plan.model_copy(update={"status": "proposed"})'
        yield PLAN.error("status", f"the plan is {plan.status}", "status", hint=hint)


def _simulated(told: Statement, vocabulary: Vocabulary, bad: set[str], *, in_order: bool) -> Iterator[PlanFinding]:
    """Yield what shows when the steps that are understood are carried out in thought."""
    plan, problem = told.plan, told.problem
    fit = [each for each in plan.steps if each.id not in bad]
    fits = [each.id for each in fit]
    problem = for_steps(problem, [each.step(problem.domain) for each in fit])
    findings, steps = check_stated(problem, plan.model_copy(update={"steps": tuple(fit)}))
    places = {each.id: number for number, each in enumerate(plan.steps)}
    yield from (replace(each, path=("steps", places[each.step], *each.path[2:])) for each in findings)
    yield from check_alternatives(plan, told.problem)
    if told.has_start:
        left_out = list(_left_out(plan, vocabulary, bad, problem))
        if plan.policy is not None:
            yield from _policy(plan, problem)
            return
        yield from check_conditions(problem, plan, steps, left_out)
        if in_order:
            sources = order_of(problem, steps).sources
            yield from unprovided(plan, problem.domain, dict(zip(fits, left_out, strict=False)), sources)
            yield from check_limits(problem, plan, steps)


def _policy(plan: ActionPlan, problem: Problem) -> Iterator[PlanFinding]:
    """Yield what is wrong with the policy that `plan` follows."""
    from planner.uncertain.policy import Policy  # noqa: PLC0415 - few plans follow one

    try:
        Policy.from_dict(plan.policy, problem)
    except InputError as error:
        yield PLAN.told("policy", error, "policy")
    if plan.steps or plan.model != "policy":
        message = "a plan that follows a policy has no steps of its own, and the execution model 'policy'"
        yield PLAN.error("policy", message, "steps" if plan.steps else "model")


def _left_out(plan: ActionPlan, vocabulary: Vocabulary, bad: set[str], problem: Problem) -> Iterator[set[str]]:
    """Yield, for each step that is understood and for the end, what steps before it that are not may change."""
    changed: set[str] = set()
    for each in plan.steps:
        if each.id in bad:
            action = vocabulary.action(each)
            changes = _changes(action, problem) if isinstance(action, Action) else set(problem.domain.predicates)
            changed = {*changed, *changes, f"ran {each.action}"}
        else:
            yield changed
    yield changed


def _changes(action: Action, problem: Problem) -> set[str]:
    """Return the predicates of facts that `action` may change."""
    written = [
        atom
        for effect in action.effects
        for atom in (*added(effect.provides), *deleted(effect.provides), *effect.modifies)
    ]
    stale = staleness_of(problem.domain).of(written)
    return {each.predicate for each in (*written, *stale)}


def _sorted(findings: Sequence[PlanFinding], document: Document | None) -> list[PlanFinding]:
    """Return `findings` in the order of the steps, what is about the whole plan first; with places in `document`."""

    def key(finding: PlanFinding) -> tuple[bool, int]:
        about_step = finding.path[:1] == ("steps",) and len(finding.path) > 1
        return about_step, int(finding.path[1]) if about_step else 0

    ordered = sorted(findings, key=key)
    if document is None:
        return ordered
    return [replace(each, location=document.location(each.path)) for each in ordered]
