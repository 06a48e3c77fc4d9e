"""Contrastive explanations: a plan that does what a question asks for, and what it costs more, or what forbids it.

A question is compiled into the problem, which is solved (Krarup, Krivic, Magazzeni, Long, Cashmore and Smith, 2021).
Where that has no plan, a smallest set of goals, constraints and foils says what cannot be met together (after Eifler,
Cashmore, Hoffmann, Magazzeni and Steinmetz, 2020), chains of needs say why, and the smallest change of facts what would
help. An answer never contradicts `solve`: it uses the same searches, and says that something is impossible, or costs so
much at least, only with their proofs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress

from planner.compilations.foils import Foil, FoilKind, StepFoil, apply_foils
from planner.errors import InputError, PlanError, UnsupportedError, kind_of
from planner.explain.conflicts import find_conflicts
from planner.explain.contrastive_answer import Outcome, WhyNot
from planner.explain.contrastive_questions import Question, needs_plan, read_question
from planner.explain.cost_proof import find_cost_shares
from planner.explain.smallest_change import Change
from planner.explain.unsolvability import Diagnosis, explain_compiled, explain_unsolvable
from planner.lightweight import TYPE_CHECKING, Final, dataclass, replace
from planner.limits import Limits
from planner.model import Problem
from planner.model.domain import creates_objects, lists_patterns
from planner.model.formulas import Number
from planner.model.problem import is_temporal
from planner.options import SolveOptions
from planner.plan import Plan, Result, Status, StoppedBy
from planner.problem_kinds import resolve_classical
from planner.questions.notation import AnySteps, read_steps

if TYPE_CHECKING:
    import threading

    from planner.explain.timed_unsolvability import TimedDiagnosis

REFERENCE_SHARE: Final = 0.4
"""The part of the time for the plan of the problem as it is, where none is given."""
COST_SHARE: Final = 0.9
"""The part of the time for the search where the question is why not cheaper."""
SHARE_SECONDS: Final = 2.0
"""Most seconds for the landmarks that every plan pays."""
CONFLICT_SHARE: Final = 0.6
"""The part of the time that is left for the search for conflicts, where there is proved to be no plan."""


def why_not(
    problem: Problem,
    question: str | Foil | Sequence[Foil],
    *,
    plan: AnySteps | None = None,
    time_limit: float | None = 10.0,
    memory_limit: float | None = None,
    cancel: threading.Event | None = None,
) -> WhyNot:
    """Answer a contrastive question about `problem`, such as "by truck1", "cheaper" or "if not door(a, b)".

    The docstring of `planner.explain.contrastive_questions` has the forms of questions. `plan` is the plan that the
    question is about; without one, `problem` is solved. `time_limit` is in seconds for all of it, `memory_limit` in
    GiB.

    Raises `InputError` for unknown names and bad questions, `PlanError` for an invalid plan, and `UnsupportedError` for
    what no search takes.
    """
    limits = SolveOptions(time_limit=time_limit, memory_limit=memory_limit, cancel=cancel).limits()
    return ask(problem, question, limits, plan)


def ask(
    problem: Problem, question: str | Foil | Sequence[Foil], limits: Limits, plan: AnySteps | None = None
) -> WhyNot:
    """Answer as `why_not` does, within `limits`."""
    hint = "ask about its part without tasks: problem.classical"
    problem = resolve_classical(problem, "why_not", hint)
    asked = _read(problem, question)
    about_cost = asked is not None and not asked.foils
    reference = _find_reference(problem, plan, limits.share(COST_SHARE if about_cost else REFERENCE_SHARE))
    steps = None if reference.plan is None else reference.plan.steps
    if asked is None or (steps is not None and isinstance(question, str)):
        assert isinstance(question, str)
        if steps is None and needs_plan(question):
            return _no_reference(problem, Question(question), reference, limits)
        asked = read_question(problem, question, steps)
    return _Contrast(problem, asked, reference, limits, given=plan is not None).answer()


def _read(problem: Problem, question: str | Foil | Sequence[Foil]) -> Question | None:
    """Return the question, so that mistakes in it are found before anything is solved; None if it needs a plan."""
    if isinstance(question, str):
        return None if needs_plan(question) else read_question(problem, question)
    foils = tuple(question) if isinstance(question, Iterable) else (question,)
    wrong = next((each for each in foils if not isinstance(each, Foil)), None)
    if wrong is not None or not foils:
        raise InputError(f"a question is a text or foils, not {kind_of(wrong)}", hint="such as 'by truck1'")
    return Question(" and ".join(map(str, foils)), foils)


def _find_reference(problem: Problem, plan: AnySteps | None, limits: Limits) -> Result:
    """Return the given plan, validated, as a result without a bound; or else what `solve` finds."""
    if plan is None:
        return _solve(problem, limits)
    from planner.compilations.object_creation import for_steps
    from planner.semantics.simulation import price_steps
    from planner.validation.timed_replay import in_turn
    from planner.validation.validate import check_steps

    if not isinstance(plan, Plan):
        steps = read_steps(problem, plan)
        if is_temporal(problem):
            plan = in_turn(problem, steps)
        else:
            check = check_steps(problem, steps)
            priced = price_steps(for_steps(problem, steps), steps) if check.valid else steps
            plan = Plan(priced, problem)
    elif is_temporal(problem) and not plan.times:
        plan = in_turn(problem, plan.steps)
    verdict = check_steps(problem, plan)
    if not verdict.valid:
        raise PlanError(f"this plan is not valid: {verdict.reason}", hint="ask without a plan, or mend it first")
    return Result(Status.SOLVED, StoppedBy.FIRST_PLAN, plan)


def _solve(problem: Problem, limits: Limits) -> Result:
    from planner.solve import answer

    found = answer(problem, SolveOptions().within(limits))
    if lists_patterns(problem.domain):
        from planner.compilations.unlisted_objects import qualify_by_listings

        found = qualify_by_listings(problem, found)
    if found.status is Status.UNSUPPORTED:
        raise UnsupportedError(found.reason)
    return found


def _no_reference(problem: Problem, question: Question, reference: Result, limits: Limits) -> WhyNot:
    """Return the answer where the problem has no plan, whatever is asked for, or none was found."""
    if reference.status is not Status.UNSOLVABLE:
        return WhyNot(question, Outcome.OPEN, stopped_by=reference.stopped_by)
    diagnosis: Diagnosis | TimedDiagnosis
    if is_temporal(problem):
        from planner.explain.timed_unsolvability import explain_no_plan_in_time

        diagnosis = explain_no_plan_in_time(problem, limits.share(1))
    else:
        diagnosis = explain_unsolvable(problem, limits.share(1), model_changes=True).as_unsolvable()
    reason = "The problem has no plan at all."
    return WhyNot(question, Outcome.IMPOSSIBLE, diagnosis=diagnosis, reasons=(reason,))


@dataclass(slots=True)
class _Contrast:
    """One question about `problem`; `reference` has the plan that it is about, which users may have `given`."""

    problem: Problem
    question: Question
    reference: Result
    limits: Limits
    given: bool

    def answer(self) -> WhyNot:
        question, reference = self.question, self.reference
        if (
            reference.plan is None
            and question.restricts
            and (reference.status is Status.UNSOLVABLE or not question.foils)
        ):
            return _no_reference(self.problem, question, reference, self.limits)
        if not question.foils:
            return self._explain_cost()
        reasons, known = self._explain_reference()
        if known is not None and self._is_least(known):
            return self._conclude(known, reference.lower_bound, reasons, None)
        compiled = apply_foils(self.problem, question.foils)
        found = _solve(compiled, self.limits)
        if found.status is Status.UNSOLVABLE and known is None:
            return self._explain_impossible(compiled, reasons)
        mapped = None if found.plan is None else replace(found.plan, problem=self._source)
        plans = [each for each in (known, mapped) if each is not None]
        plan = min(plans, key=lambda each: each.charge, default=None)
        bounds = [found.lower_bound, reference.lower_bound if question.restricts else None]
        bound = max([each for each in bounds if each is not None], default=None)
        return self._conclude(plan, bound, reasons, found.stopped_by)

    @property
    def _source(self) -> Problem:
        """The problem whose plans are asked for, but for the restrictions."""
        return apply_foils(self.problem, [each for each in self.question.foils if not each.restricts])

    def _is_least(self, plan: Plan) -> bool:
        return self.question.restricts and plan.charge == self.reference.lower_bound

    def _conclude(
        self, plan: Plan | None, bound: Number | None, reasons: Sequence[str], stopped_by: StoppedBy | None
    ) -> WhyNot:
        reference = self.reference.plan
        if plan is None:
            outcome = Outcome.OPEN
        elif reference is None:
            outcome = Outcome.POSSIBLE
        else:
            extra = plan.charge - reference.charge
            outcome = Outcome.CHEAPER if extra < 0 else Outcome.DEARER if extra else Outcome.SAME
        return WhyNot(
            self.question,
            outcome,
            reference,
            self.reference.lower_bound,
            plan,
            bound,
            reasons=tuple(reasons),
            stopped_by=None if plan is not None and plan.charge == bound else stopped_by,
        )

    def _explain_cost(self) -> WhyNot:
        """Say why no plan costs less than the reference, or which one does."""
        reference, best = self.reference.plan, self.reference
        assert reference is not None
        if self.given:
            best = _solve(self.problem, self.limits.share(COST_SHARE))
        cheaper = best.plan if best.plan is not None and best.plan.charge < reference.charge else None
        proved = best.lower_bound == reference.charge
        outcome = Outcome.IMPOSSIBLE if proved else Outcome.OPEN if cheaper is None else Outcome.CHEAPER
        return WhyNot(
            self.question,
            outcome,
            reference,
            best.lower_bound,
            cheaper,
            best.lower_bound,
            shares=find_cost_shares(self.problem, self.limits.part(SHARE_SECONDS)),
            reasons=tuple(self._explain_end()) if proved else (),
            stopped_by=None if proved else best.stopped_by,
        )

    def _explain_end(self) -> Iterator[str]:
        """Yield why a plan in time ends when it does."""
        plan = self.reference.plan
        if plan is not None and plan.times:
            from planner.explain.timed_explanation import explain_times

            yield f"The plan ends at {plan.makespan}:"
            yield from (f"  {link}" for link in explain_times(self.problem, plan).chain)

    def _explain_impossible(self, compiled: Problem, reasons: Sequence[str]) -> WhyNot:
        """Say which demands clash, which needs are never met, and which change would help."""
        conflicts = find_conflicts(self.problem, self.limits.share(CONFLICT_SHARE), foils=self.question.foils)
        diagnosis = None
        with suppress(UnsupportedError):  # what search takes may be more than what it takes with assumptions
            diagnosis = self._diagnose(compiled)
        return WhyNot(
            self.question,
            Outcome.IMPOSSIBLE,
            self.reference.plan,
            self.reference.lower_bound,
            conflicts=conflicts,
            diagnosis=diagnosis,
            reasons=tuple(reasons),
        )

    def _diagnose(self, compiled: Problem) -> Diagnosis | TimedDiagnosis | None:
        """Return which needs are never met, and a change that would help but is not what the question takes away."""
        if is_temporal(compiled):
            from planner.explain.timed_unsolvability import explain_no_plan_in_time

            timed = explain_no_plan_in_time(compiled, self.limits.share(1))
            return timed if timed.solvable is False and timed.blames_time else None
        if creates_objects(compiled.domain) or compiled.unknown:
            return None
        found = explain_compiled(compiled, self._source, self.limits.share(1))
        return replace(found, change=None) if self._is_undone_by(found.change) else found

    def _is_undone_by(self, change: Change | None) -> bool:
        """Return whether `change` only gives back what the question takes away."""
        before, after = {*self.problem.initial}, {*self._source.initial}
        return change is not None and before != after and {*change.problem.initial} == before

    def _explain_reference(self) -> tuple[list[str], Plan | None]:
        """Return what the reference says of the question, and a plan that needs no search, if there is one."""
        plan, foils = self.reference.plan, self.question.foils
        if plan is None or not all(isinstance(each, StepFoil) for each in foils):
            return [], None
        if self._does_so(plan):
            return [], plan
        if is_temporal(self.problem):
            return [], None
        if self.question.order is not None:
            from planner.explain.step_order import explain_order

            reasons, other = explain_order(self.problem, plan, *self.question.order)
            if other is not None and not self._does_so(other):
                return [], None
            return reasons, other
        return list(self._explain_steps(plan)), None

    def _does_so(self, plan: Plan) -> bool:
        """Return whether the steps of `plan` are as the question asks."""
        return all(each.holds_for(plan) for each in self.question.foils if isinstance(each, StepFoil))

    def _explain_steps(self, plan: Plan) -> Iterator[str]:
        """Yield what the steps that the question does without are there for."""
        from planner.explain.plan_explanation import explain_plan

        avoided = [
            each.steps for each in self.question.foils if isinstance(each, StepFoil) and each.kind is FoilKind.AVOID
        ]
        if not any(steps.covers(step) for steps in avoided for step in plan.steps):
            return
        explanation = explain_plan(self.problem, plan)
        for each, step in zip(explanation.steps, plan.steps, strict=True):
            if any(steps.covers(step) for steps in avoided):
                yield f"Step {each.number}, {each.step}, {explanation.describe_purpose(each)}."
