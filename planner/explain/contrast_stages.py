"""What an answer to a contrastive question needs of the kind of its problem; here of classical ones, also in time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress

from planner.compilations.foils import Foil, FoilKind, StepFoil, StepSet
from planner.errors import PlanError, UnsupportedError
from planner.explain.conflicts import Conflict, find_conflicts
from planner.explain.contrastive_questions import Question, read_question
from planner.explain.cost_proof import CostShare, find_cost_shares
from planner.explain.smallest_change import Change
from planner.explain.unsolvability import explain_compiled, explain_unsolvable
from planner.lightweight import Any, replace
from planner.limits import Limits
from planner.model import Problem
from planner.model.constructs import Construct, has
from planner.model.domain import may_find_out
from planner.model.problem import is_temporal
from planner.options import SolveOptions
from planner.plan import Plan, Result, Status, Step
from planner.problem_kinds import Reasons, resolve_problem
from planner.questions.notation import AnySteps, read_steps


class ContrastStages:
    """The stages of an answer that depend on the kind of the problem, those of classical problems."""

    def resolve(self, problem: Any) -> Any:
        """Return the problem with its names looked up; raises `InputError`."""
        return resolve_problem(problem)

    def is_in_time(self, problem: Any) -> bool:
        """Return whether plans of `problem` have times."""
        return is_temporal(problem)

    def read_question(self, problem: Any, text: str, steps: Sequence[Step] | None) -> Question:
        """Return the question; raises `InputError`."""
        return read_question(problem, text, steps)

    def complete_plan(self, problem: Any, given: AnySteps, limits: Limits) -> Plan:  # noqa: ARG002 - tasks need them
        """Return the given plan, with costs and times; raises `PlanError` where it is not valid."""
        from planner.compilations.object_creation import for_steps
        from planner.semantics.simulation import price_steps
        from planner.validation.timed_replay import in_turn
        from planner.validation.validate import check_steps

        if isinstance(given, Plan):
            plan = in_turn(problem, given.steps) if is_temporal(problem) and not given.times else given
        elif is_temporal(problem):
            plan = in_turn(problem, read_steps(problem, given))
        else:
            steps = read_steps(problem, given)
            check = check_steps(problem, steps)
            plan = Plan(price_steps(for_steps(problem, steps), steps) if check.valid else steps, problem)
        verdict = check_steps(problem, plan)
        if not verdict.valid:
            raise invalid_plan(verdict.reason)
        return plan

    def solve(self, problem: Any, limits: Limits) -> Result:
        """Return what `planner.solve` answers; raises `UnsupportedError`."""
        from planner.solve import answer

        return qualify(problem, answer(problem, SolveOptions().within(limits)))

    def lift(self, plan: Plan, source: Any) -> Plan:
        """Return a plan of a problem with foils as one of `source`."""
        return replace(plan, problem=source)

    def find_conflicts(self, problem: Any, foils: Sequence[Foil], limits: Limits) -> tuple[Conflict, ...]:
        """Return smallest sets of demands, `foils` among them, that no plan meets together."""
        return find_conflicts(problem, limits, foils=foils)

    def explain_no_plan(self, problem: Any, limits: Limits) -> Reasons | None:
        """Return why the problem as it is has no plan."""
        if is_temporal(problem):
            from planner.explain.timed_unsolvability import explain_no_plan_in_time

            return explain_no_plan_in_time(problem, limits)
        return explain_unsolvable(problem, limits, model_changes=True).as_unsolvable()

    def diagnose(self, problem: Any, source: Any, compiled: Any, limits: Limits) -> Reasons | None:
        """Return which needs are never met, and a change that would help but is not what the question takes away.

        `source` is the problem with the changes that the question makes, and `compiled` has all its foils.
        """
        with suppress(UnsupportedError):  # what search takes may be more than what it takes with assumptions
            if is_temporal(compiled):
                from planner.explain.timed_unsolvability import explain_no_plan_in_time

                timed = explain_no_plan_in_time(compiled, limits)
                return timed if timed.solvable is False and timed.blames_time else None
            if has(compiled, Construct.UNKNOWN, Construct.CREATION):
                return None
            found = explain_compiled(compiled, source, limits)
            return replace(found, change=None) if _is_undone_by(problem, source, found.change) else found
        return None

    def find_shares(self, problem: Any, limits: Limits) -> tuple[CostShare, ...]:
        """Return what every plan pays."""
        return find_cost_shares(problem, limits)

    def explain_end(self, plan: Plan) -> Iterator[str]:
        """Yield why a plan in time ends when it does."""
        from planner.explain.timed_explanation import explain_times

        yield f"The plan ends at {plan.makespan}:"
        yield from (f"  {link}" for link in explain_times(plan.problem, plan).chain)

    def explain_order(self, problem: Any, plan: Plan, first: int, second: int) -> tuple[list[str], Plan | None]:
        """Return why step `first` comes before `second`; if nothing orders them, also a plan the other way round."""
        from planner.explain.step_order import explain_order

        return explain_order(problem, plan, first, second)

    def explain_parts(self, problem: Any, plan: Plan, foils: Sequence[Foil]) -> Iterator[str]:
        """Yield what the parts of `plan` that the foils do without are there for."""
        from planner.explain.plan_explanation import explain_plan

        avoided = avoided_steps(foils)
        if not any(steps.covers(step) for steps in avoided for step in plan.steps):
            return
        explanation = explain_plan(problem, plan)
        for each, step in zip(explanation.steps, plan.steps, strict=True):
            if any(steps.covers(step) for steps in avoided):
                yield f"Step {each.number}, {each.step}, {explanation.describe_purpose(each)}."

    def compare(self, plan: Plan, reference: Plan) -> tuple[str, ...]:  # noqa: ARG002 - sequences have no methods
        """Return which tasks `plan` does by another method than `reference`."""
        return ()


def invalid_plan(reason: str) -> PlanError:
    """Return the error for a plan that a question is about, and that is not valid."""
    return PlanError(f"this plan is not valid: {reason}", hint="ask without a plan, or mend it first")


def avoided_steps(foils: Sequence[Foil]) -> list[StepSet]:
    """Return the steps that plans do without if they do what `foils` ask."""
    return [each.steps for each in foils if isinstance(each, StepFoil) and each.kind is FoilKind.AVOID]


def qualify(problem: Problem, found: Result) -> Result:
    """Return the answer for a problem whose actions may find objects or numbers; raises `UnsupportedError`."""
    if may_find_out(problem.domain):
        from planner.compilations.unlisted_objects import qualify_by_findings

        found = qualify_by_findings(problem, found)
    if found.status is Status.UNSUPPORTED:
        raise UnsupportedError(found.reason)
    return found


def _is_undone_by(problem: Problem, source: Problem, change: Change | None) -> bool:
    """Return whether `change` only gives back what the question takes away."""
    before, after = {*problem.initial}, {*source.initial}
    return change is not None and before != after and {*change.problem.initial} == before
