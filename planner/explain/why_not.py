"""Contrastive explanations: a plan that does what a question asks for, and what it costs more, or what forbids it.

A question is compiled into the problem, which is solved (Krarup, Krivic, Magazzeni, Long, Cashmore and Smith, 2021).
Where that has no plan, a smallest set of goals, constraints and foils says what cannot be met together (after Eifler,
Cashmore, Hoffmann, Magazzeni and Steinmetz, 2020), chains of needs say why, and the smallest change of facts what would
help. An answer never contradicts `solve`: it uses the same searches, and says that something is impossible, or costs so
much at least, only with their proofs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from planner.compilations.foils import ClassicalFoil, Foil, OtherFoil, StepFoil, apply_foils
from planner.errors import InputError, kind_of
from planner.explain.contrast_stages import ContrastStages
from planner.explain.contrastive_answer import Outcome, WhyNot
from planner.explain.contrastive_questions import Question, needs_plan
from planner.lightweight import TYPE_CHECKING, Any, Final, dataclass
from planner.limits import Limits
from planner.model.formulas import Number
from planner.options import SolveOptions
from planner.plan import Plan, Result, Status, StoppedBy
from planner.problem_kinds import AnyProblem, is_other_problem, service_of
from planner.questions.notation import AnySteps

if TYPE_CHECKING:
    import threading

REFERENCE_SHARE: Final = 0.4
"""The part of the time for the plan of the problem as it is, where none is given."""
COST_SHARE: Final = 0.9
"""The part of the time for the search where the question is why not cheaper."""
SHARE_SECONDS: Final = 2.0
"""Most seconds for the landmarks that every plan pays."""
CONFLICT_SHARE: Final = 0.6
"""The part of the time that is left for the search for conflicts, where there is proved to be no plan."""


def why_not(
    problem: AnyProblem,
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
    problem: AnyProblem, question: str | Foil | Sequence[Foil], limits: Limits, plan: AnySteps | None = None
) -> WhyNot:
    """Answer as `why_not` does, within `limits`."""
    if is_other_problem(problem):
        found: WhyNot = service_of(problem).why_not(problem, question, limits, plan)
        return found
    return ask_by(ContrastStages(), problem, question, limits, plan)


def ask_by(
    stages: ContrastStages,
    problem: Any,
    question: str | Foil | Sequence[Foil],
    limits: Limits,
    plan: AnySteps | None = None,
) -> WhyNot:
    """Answer as `ask` does, by the `stages` for this kind of problem."""
    problem = stages.resolve(problem)
    asked = _read(stages, problem, question)
    about_cost = asked is not None and not asked.foils
    reference = _find_reference(stages, problem, plan, limits.share(COST_SHARE if about_cost else REFERENCE_SHARE))
    steps = None if reference.plan is None else reference.plan.steps
    if asked is None or (steps is not None and isinstance(question, str)):
        assert isinstance(question, str)
        if steps is None and needs_plan(question):
            return _no_reference(stages, problem, Question(question), reference, limits)
        asked = stages.read_question(problem, question, steps)
    return _Contrast(stages, problem, asked, reference, limits, given=plan is not None).answer()


def _read(stages: ContrastStages, problem: Any, question: str | Foil | Sequence[Foil]) -> Question | None:
    """Return the question, so that mistakes in it are found before anything is solved; None if it needs a plan."""
    if isinstance(question, str):
        return None if needs_plan(question) else stages.read_question(problem, question, None)
    foils = tuple(question) if isinstance(question, Iterable) else (question,)
    wrong = next((each for each in foils if not isinstance(each, ClassicalFoil | OtherFoil)), None)
    if wrong is not None or not foils:
        raise InputError(f"a question is a text or foils, not {kind_of(wrong)}", hint="such as 'cheaper'")
    return Question(" and ".join(map(str, foils)), foils)


def _find_reference(stages: ContrastStages, problem: Any, plan: AnySteps | None, limits: Limits) -> Result:
    """Return the given plan, validated, as a result without a bound; or else what `solve` finds."""
    if plan is None:
        return stages.solve(problem, limits)
    return Result(Status.SOLVED, StoppedBy.FIRST_PLAN, stages.complete_plan(problem, plan, limits))


def _no_reference(
    stages: ContrastStages, problem: Any, question: Question, reference: Result, limits: Limits
) -> WhyNot:
    """Return the answer where the problem has no plan, whatever is asked for, or none was found."""
    if reference.status is not Status.UNSOLVABLE:
        return WhyNot(question, Outcome.OPEN, stopped_by=reference.stopped_by)
    diagnosis = stages.explain_no_plan(problem, limits.share(1))
    reason = "The problem has no plan at all."
    return WhyNot(question, Outcome.IMPOSSIBLE, diagnosis=diagnosis, reasons=(reason,))


@dataclass(slots=True)
class _Contrast:
    """One question about `problem`; `reference` has the plan that it is about, which users may have `given`."""

    stages: ContrastStages
    problem: Any
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
            return _no_reference(self.stages, self.problem, question, reference, self.limits)
        if not question.foils:
            return self._explain_cost()
        reasons, known = self._explain_reference()
        if known is not None and self._is_least(known):
            return self._conclude(known, reference.lower_bound, reasons, None)
        source, compiled = self._source, apply_foils(self.problem, question.foils)
        found = self.stages.solve(compiled, self.limits)
        if found.status is Status.UNSOLVABLE and known is None:
            return self._explain_impossible(source, compiled, reasons)
        mapped = None if found.plan is None else self.stages.lift(found.plan, source)
        plans = [each for each in (known, mapped) if each is not None]
        plan = min(plans, key=lambda each: each.charge, default=None)
        bounds = [found.lower_bound, reference.lower_bound if question.restricts else None]
        bound = max([each for each in bounds if each is not None], default=None)
        return self._conclude(plan, bound, reasons, found.stopped_by)

    @property
    def _source(self) -> Any:
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
            methods_changed=() if plan is None or reference is None else self.stages.compare(plan, reference),
            stopped_by=None if plan is not None and plan.charge == bound else stopped_by,
        )

    def _explain_cost(self) -> WhyNot:
        """Say why no plan costs less than the reference, or which one does."""
        reference, best = self.reference.plan, self.reference
        assert reference is not None
        if self.given:
            best = self.stages.solve(self.problem, self.limits.share(COST_SHARE))
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
            shares=self.stages.find_shares(self.problem, self.limits.part(SHARE_SECONDS)),
            reasons=tuple(self.stages.explain_end(reference)) if proved and reference.times else (),
            stopped_by=None if proved else best.stopped_by,
        )

    def _explain_impossible(self, source: Any, compiled: Any, reasons: Sequence[str]) -> WhyNot:
        """Say which demands clash, which needs are never met, and which change would help."""
        within = self.limits.share(CONFLICT_SHARE)
        return WhyNot(
            self.question,
            Outcome.IMPOSSIBLE,
            self.reference.plan,
            self.reference.lower_bound,
            conflicts=self.stages.find_conflicts(self.problem, self.question.foils, within),
            diagnosis=self.stages.diagnose(self.problem, source, compiled, self.limits.share(1)),
            reasons=tuple(reasons),
        )

    def _explain_reference(self) -> tuple[list[str], Plan | None]:
        """Return what the reference says of the question, and a plan that needs no search, if there is one."""
        plan, foils = self.reference.plan, self.question.foils
        if plan is None or not all(isinstance(each, StepFoil | OtherFoil) for each in foils):
            return [], None
        if self._does_so(plan):
            return [], plan
        if self.stages.is_in_time(self.problem):
            return [], None
        if self.question.order is not None:
            reasons, other = self.stages.explain_order(self.problem, plan, *self.question.order)
            if other is not None and not self._does_so(other):
                return [], None
            return reasons, other
        return list(self.stages.explain_parts(self.problem, plan, foils)), None

    def _does_so(self, plan: Plan) -> bool:
        """Return whether `plan` is as the question asks."""
        return all(each.holds_for(plan) for each in self.question.foils if isinstance(each, StepFoil | OtherFoil))
