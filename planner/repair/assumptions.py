"""Patches where facts are unknown: steps that suppose them are among the new ones, at their price."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from planner.compilations.contingent.assumption_based_planning import (
    CARELESS,
    IN_NO_CASE,
    Supposing,
    add_suppositions,
    price_of_surprise,
)
from planner.compilations.contingent.knowledge import prepare_translation
from planner.lightweight import Any, Final, replace
from planner.limits import Limits
from planner.model import Number, Problem
from planner.model.unknown_facts import find_hidden_variables, fix_unknown_facts
from planner.options import SolveOptions
from planner.plan import Plan, Status, Step, StoppedBy, Supposition, exact_sum
from planner.repair.patching import Patch
from planner.semantics.simulation import Simulation
from planner.solve import answer
from planner.validation.validate import check_steps
from planner.validation.verdict import Verdict

ASSUMING_SHARE: Final = 0.15
"""How much of the time either of the searches takes that find out what it costs to be wrong."""

Search = Callable[..., Patch]


def patch_supposing(
    problem: Problem, remaining: Sequence[Step], search: Search, limits: Limits, **options: Any
) -> Patch:
    """Return the patch for `problem`, of which facts are unknown; `search` finds patches where none are.

    Where unknown facts matter, nothing is proved of it but that no steps lead to the goal, however they turn out.
    """
    others: dict[str, Any] = {"memory_limit": limits.memory_limit, "cancel": limits.cancel}
    used = {step.action for step in (*remaining, *options["fixed"])}.intersection(problem.domain.actions)
    asked = prepare_translation(problem, used)
    if asked is None:
        return search(fix_unknown_facts(problem, ()), remaining, **options, **others, time_limit=limits.remaining)
    assuming = SolveOptions().within(limits, ASSUMING_SHARE)
    lucky = answer(asked.optimistic(), assuming)
    if lucky.status is Status.UNSOLVABLE:
        return Patch(Status.UNSOLVABLE, StoppedBy.EXHAUSTED, reason=IN_NO_CASE)
    safe = answer(asked.knowing(), assuming)
    made = add_suppositions(asked, asked.knowing(), price_of_surprise(lucky.cost, safe.cost))
    found = search(made.problem, remaining, **options, **others, time_limit=limits.remaining)
    if found.steps is not None and _begins_with(made, found.steps, options["not_first"]):
        options["forbidden"] = [*options["forbidden"], *options["not_first"]]
        found = search(made.problem, remaining, **options, **others, time_limit=limits.remaining)
    if found.steps is None:
        reason = CARELESS if found.status is Status.UNSOLVABLE and asked.words.guessed else found.reason
        return replace(found, status=Status.UNKNOWN, lower_bound=None, reason=reason)
    return _restored(found, made, _after(problem, options["fixed"]), options["weight"])


def _begins_with(made: Supposing, steps: Sequence[Step], unwanted: Collection[Step]) -> bool:
    """Return whether the first real one of `steps` is one of those `unwanted`."""
    real, _ = made.without(steps)
    return bool(real) and any((each.action, each.arguments) == (real[0].action, real[0].arguments) for each in unwanted)


def _after(problem: Problem, fixed: Sequence[Step]) -> Problem:
    """Return `problem` as it stands after the steps `fixed`."""
    if not fixed:
        return problem
    simulation = Simulation(fix_unknown_facts(problem, ()))
    changes = [simulation.apply(step) for step in fixed]
    written = [pattern for each in changes for pattern in (*each.provided, *each.retracted)]
    facts = [fact for variable in find_hidden_variables(problem) for fact in variable.facts]
    unknown = tuple([fact for fact in facts if not any(pattern.matches(fact) for pattern in written)])
    ran = tuple(simulation.history)
    return replace(problem, initial=tuple(simulation.facts), ran=ran, unknown=unknown, likely={})


def _restored(found: Patch, made: Supposing, problem: Problem, weight: Number) -> Patch:
    """Return what was `found` without the steps that suppose, and with what they do; `problem` is the one it is for."""
    assert found.steps is not None
    steps, supposed = made.without(found.steps)
    expected = tuple([Supposition(fact, holds) for fact, holds in supposed.items()])
    verdict = check_steps(problem, Plan(steps, problem, suppositions=expected))
    if not verdict.valid:
        raise RuntimeError(f"internal error: a patch was found that does not work: {verdict.reason}")
    return replace(
        found,
        status=Status.SOLVED,
        steps=steps,
        new=len(steps) - found.kept,
        cost=verdict.cost,
        objective=exact_sum([verdict.cost, weight * found.dropped]),
        lower_bound=None,
        reason=_said(verdict),
        suppositions=verdict.suppositions,
    )


def _said(verdict: Verdict) -> str:
    return f"it supposes {'; '.join(map(str, verdict.suppositions))}" if verdict.suppositions else ""
