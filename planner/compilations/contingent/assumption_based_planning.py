"""Assumption-based planning for unknown facts (Davis-Mendelow, Baier and McIlraith, 2013), in three searches.

The first search assumes that every possible condition holds; its optimum is a lower bound. The second plans on known
facts only. The difference of their costs is the price of a wrong supposition. The third search has actions that suppose
unknown facts. A supposition costs the probability that it is wrong times that price, plus the cost of the failing step
if no step has sensed the fact before. So the search weighs whether sensing pays.

The problems of these searches may have numbers, times, tasks and limits, like the declared one: `Frame` says how each
kind holds its facts and actions.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from planner.compilations.adl import keep_items_busy
from planner.compilations.contingent.knowledge import (
    Translation,
    find_what_matters,
    make_translation,
    senses,
    translate_all,
)
from planner.compilations.contingent.readings import Reading, reading_of_known, reading_of_possible
from planner.compilations.contingent.supposition_actions import Supposing, add_suppositions, price_of_surprise
from planner.compilations.driver import value_plan
from planner.compilations.lifted_relevance import remove_irrelevant_actions
from planner.compilations.passes import compile_away
from planner.compilations.sequential_steps import compile_sequential
from planner.errors import UnsupportedError
from planner.lightweight import Any, Final, dataclass, replace
from planner.limits import Limits
from planner.model.constructs import Construct
from planner.model.formulas import Atom, Formula, Number
from planner.model.problem import Metric, Problem, find_constraint_on_unknown, is_temporal
from planner.options import Solve, SolveOptions
from planner.plan import Plan, Progress, Result, Status, StoppedBy, Supposition, exact_sum, unsupported_result
from planner.portfolio.search_history import Recorder
from planner.validation.timed_replay import in_turn
from planner.validation.validate import check_steps
from planner.validation.verdict import Verdict

SHARE: Final = 0.35
"""Share of the remaining time for the first search, and for the second."""
SECONDS_IN_TIME: Final = 5.0
"""Time limit of the third search in time, in seconds: it hardly ever ends, since suppositions take turns there."""
SECONDS_BESIDE_SEQUENCE: Final = 2.0
"""The same where a sequence of steps, found without time, is known to work."""
IN_NO_CASE: Final = "no plan reaches the goal, however the unknown facts turn out"
CARELESS: Final = "no plan is known in which no irreversible step rests on what could be looked at before"


NOT_ALL: Final = "not all plans on suppositions were searched"


@dataclass(frozen=True, slots=True)
class Frame:
    """How the `problem` of one kind is solved through translations of its classical part, `asked`.

    `wrap` returns the problem of that kind with a translation as its classical part, whose conditions have this
    reading. `suppose` does so with one that supposes facts, and `restore` maps its plans back, without the suppositions
    and with them as facts. `check` is the checker of plans. `in_turn` returns a problem without time whose plans are
    sequences of steps of one in time, or None. What the first search proves is a proof if `is_exact`.
    """

    problem: Any
    asked: Translation
    wrap: Callable[[Problem, Reading], Any]
    suppose: Callable[[Supposing], Any]
    restore: Callable[[Plan, Supposing], Plan]
    check: Callable[[Plan], Verdict]
    in_turn: Callable[[Supposing], Any]
    is_early: bool
    is_exact: bool
    also: tuple[Formula, ...] = ()
    """Conditions outside the classical part."""

    def optimistic(self) -> Any:
        """Return the problem of the first search."""
        return self.wrap(self.asked.optimistic(), reading_of_possible(self.asked.words.possible))

    def knowing(self) -> Any:
        """Return the problem of the second search."""
        return self.wrap(self.asked.knowing(), reading_of_known(self.asked.words.possible))

    def supposing(self, surprise: Number | None) -> Supposing:
        """Return the classical part of the problem of the third search."""
        return add_suppositions(self.asked, self.asked.knowing(), surprise, early=self.is_early, also=self.also)


def prepare_translation(problem: Problem, used: Collection[str] = ()) -> Translation | None:
    """Prepare the translation of the relevant part of `problem`; return None if no unknown fact matters.

    The actions `used` stay. Raises `UnsupportedError` where a problem in time has facts that grow stale with unknown
    ones.
    """
    if is_temporal(problem):
        return translate_all(problem)
    relevant, matter = find_what_matters(problem, used, remove_irrelevant_actions, senses)
    if not matter:
        return None
    plain = compile_away(relevant, Construct.CHANGES)
    return make_translation(problem, plain if problem.deadline is None else keep_items_busy(plain, relevant), matter)


def is_exact(asked: Translation) -> bool:
    """Return whether every plan in some case is one of the optimistic translation, at its cost.

    In time, effects that may happen keep others apart that touch the same, though they may not happen.
    """
    return not (asked.has_open_effects if asked.lasts else asked.has_open_numbers)


def _frame_of(problem: Problem, asked: Translation) -> Frame:
    def restore(plan: Plan, made: Supposing) -> Plan:
        if not plan.times:
            return Plan(made.without(plan.steps)[0], problem)
        from planner.compilations.contingent.retiming import drop_suppositions

        return drop_suppositions(plan, problem, asked, made)

    return Frame(
        problem,
        asked,
        lambda translated, _: translated,
        lambda made: made.problem,
        restore,
        lambda plan: check_steps(problem, plan),
        sequence_supposing,
        is_early=find_constraint_on_unknown(problem) is not None,
        is_exact=is_exact(asked),
    )


def sequence_supposing(made: Supposing) -> Problem | None:
    """Return the problem without time whose plans are sequences of steps of `made`; None where there is none.

    Steps cost their durations, or what they cost where that alone counts; suppositions cost their prices.
    """
    try:
        found = compile_sequential(made.problem, by_costs=isinstance(made.problem.metric, Metric))
    except UnsupportedError:
        return None
    priced = {name: made.problem.domain.actions[name] for name in made.meaning}
    if any(each.numbers for each in priced.values()):
        return None
    actions = {
        name: replace(each, cost=priced[name].cost) if name in priced else each
        for name, each in found.domain.actions.items()
    }
    return replace(found, domain=replace(found.domain, actions=actions), capacity={})


def solve_with_unknown(problem: Problem, options: SolveOptions, solve: Solve) -> Result:
    """Solve `problem`, which has unknown facts; `solve` is called for the translations.

    A plan with suppositions is never proved optimal. The problem is unsolvable if even the optimistic translation, in
    which every possible condition holds, has no plan.
    """
    try:
        asked = prepare_translation(problem)
    except UnsupportedError as error:
        return unsupported_result(error.construct, error.hint)
    if asked is None:
        found = solve(replace(problem, unknown=(), likely={}), options)
        return found if found.plan is None else replace(found, plan=replace(found.plan, problem=problem))
    return solve_frame(_frame_of(problem, asked), options, solve)


def solve_frame(frame: Frame, options: SolveOptions, solve: Solve) -> Result:
    """Solve the problem of `frame` as `solve_with_unknown` does."""
    return _Searches(frame, options, solve).run()


def _charge(found: Result) -> Number | None:
    return None if found.plan is None else found.plan.charge


def _suppose(supposed: dict[Atom, bool]) -> tuple[Supposition, ...]:
    return tuple([Supposition(fact, holds) for fact, holds in supposed.items()])


class _Searches:
    """The three searches, with the best plan and lower bound so far."""

    def __init__(self, frame: Frame, options: SolveOptions, solve: Solve) -> None:
        self._frame = frame
        self._problem = frame.problem
        self._asked = frame.asked
        self._options = options
        self._solve = solve
        self._limits = options.limits()
        self._recorder = Recorder()
        self._plan: Plan | None = None
        self._bound: Number | None = None

    def run(self) -> Result:
        """Run the searches, and return the answer."""
        lucky = self._search(self._frame.optimistic(), SHARE, self._keep_optimistic)
        if self._frame.is_exact:
            self._bound = lucky.plan.charge if lucky.plan and lucky.status is Status.OPTIMAL else lucky.lower_bound
        if lucky.status is Status.UNSUPPORTED:
            return lucky
        if lucky.status is Status.UNSOLVABLE and self._frame.is_exact:
            return replace(lucky, reason=IN_NO_CASE)
        if self._is_optimal or lucky.stopped_by in (StoppedBy.CANCELLED, StoppedBy.MEMORY):
            return self._answer(lucky)
        return self._plan_with_suppositions(_charge(lucky))

    def _plan_with_suppositions(self, lucky: Number | None) -> Result:
        """Run the second and the third search; `lucky` is the cost of the optimistic plan."""
        fallback, self._plan = self._plan, None
        safe = self._search(self._frame.knowing(), SHARE, self._keep)
        if self._is_optimal or safe.stopped_by in (StoppedBy.CANCELLED, StoppedBy.MEMORY):
            return self._answer(safe)
        made = self._frame.supposing(price_of_surprise(lucky, _charge(safe)))
        least: list[Number] = []

        def note(plan: Plan, *, must: bool = True) -> None:
            supposed = made.find_supposed(plan.steps)
            restored = replace(self._frame.restore(plan, made), suppositions=_suppose(supposed))
            priced = exact_sum([restored.charge, *made.list_prices(plan.steps)])
            is_better = not self._asked.lasts or not least or priced < least[-1]
            if is_better and self._check_and_keep(restored, must=must):
                least.append(priced)

        limits = self._limits
        if self._asked.lasts:
            self._try_sequence(made, lambda plan: note(plan, must=False))
            limits = limits.part(SECONDS_BESIDE_SEQUENCE if least else SECONDS_IN_TIME)
        found = self._search(self._frame.suppose(made), 1, note, limits)
        self._plan = self._plan or fallback
        return self._answer(found)

    def _try_sequence(self, made: Supposing, note: Callable[[Plan], None]) -> None:
        """Note the plan of the third search whose steps are taken in turn, where the metric allows one to find it."""
        sequential = self._frame.in_turn(made)
        if sequential is None:
            return
        limits = self._limits.part(SECONDS_IN_TIME if self._limits.remaining is None else None)
        found = self._solve(sequential, self._options.within(limits, SHARE, on_progress=None))
        if found.plan is not None:
            note(in_turn(made.problem, found.plan.steps))

    def _search(
        self, problem: Any, share: float, note: Callable[[Plan], object], limits: Limits | None = None
    ) -> Result:
        def report(progress: Progress) -> None:
            if progress.plan is not None:
                note(progress.plan)
            self._recorder.note_progress(self._limits.elapsed, self._plan, self._bound, progress.statistics)
            if self._options.on_progress is not None:
                self._options.on_progress(replace(progress, plan=self._plan, lower_bound=self._bound))

        began = self._limits.elapsed
        found = self._solve(problem, self._options.within(limits or self._limits, share, on_progress=report))
        self._recorder.take_turns(found.history, began)
        if found.plan is not None:
            note(found.plan)
        return found

    def _keep_optimistic(self, plan: Plan) -> None:
        """Keep the optimistic `plan` if it works on suppositions that do not contradict each other."""
        self._check_and_keep(plan, must=False)

    def _keep(self, plan: Plan) -> None:
        """Keep `plan` of the second or third search, with the suppositions that its steps need."""
        self._check_and_keep(plan, must=True)

    def _check_and_keep(self, plan: Plan, *, must: bool) -> bool:
        """Keep `plan` if it is valid, as it `must` be; return whether it is."""
        plan = replace(plan, problem=self._problem, utility=None, forgone=())
        if self._plan is not None and (self._plan.steps, self._plan.times) == (plan.steps, plan.times):
            return True
        verdict = self._frame.check(plan)
        if verdict.valid:
            self._plan = value_plan(replace(plan, suppositions=verdict.suppositions), verdict)
        elif must:
            raise RuntimeError(f"internal error: search found a plan that is not valid: {verdict.reason}")
        return verdict.valid

    @property
    def _is_optimal(self) -> bool:
        plan = self._plan
        return plan is not None and not plan.suppositions and self._bound is not None and plan.charge <= self._bound

    def _answer(self, found: Result) -> Result:
        """Return the answer; the last search ended with `found`."""
        status = Status.UNKNOWN if self._plan is None else Status.OPTIMAL if self._is_optimal else Status.SOLVED
        said = [found.reason]
        if found.status is Status.UNSOLVABLE and self._plan is None:
            said = [self._why_not()]
            status = Status.UNSOLVABLE if said == [IN_NO_CASE] else status
        if self._plan is not None and self._plan.suppositions:
            said.append(f"it supposes {'; '.join(map(str, self._plan.suppositions))}")
        reason = "; ".join(filter(None, said))
        answer = replace(found, status=status, plan=self._plan, lower_bound=self._bound, reason=reason)
        return self._recorder.finish(self._limits.elapsed, answer)

    def _why_not(self) -> str:
        """Explain why the third search proved that there is no plan.

        Some of its plans suppose all that holds in one case, unless steps are careful. In time, suppositions take
        turns; and a constraint on all steps is one on those that suppose.
        """
        if self._asked.words.guessed:
            return CARELESS
        is_whole = not self._asked.lasts and not any(each.steps for each in self._asked.problem.constraints)
        return IN_NO_CASE if is_whole else NOT_ALL
