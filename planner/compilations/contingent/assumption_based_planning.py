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
from functools import partial

from planner.compilations import Claim, Compiled
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
from planner.compilations.driver import Driver, as_plan_of
from planner.compilations.lifted_relevance import remove_irrelevant_actions
from planner.compilations.passes import compile_away
from planner.compilations.sequential_steps import compile_sequential
from planner.errors import UnsupportedError
from planner.lightweight import Any, Final, dataclass, replace
from planner.model.constructs import Construct
from planner.model.formulas import Formula, Number
from planner.model.problem import Metric, Problem, find_constraint_on_unknown, is_temporal
from planner.options import Solve, SolveOptions
from planner.plan import Plan, Result, Status, StoppedBy, Supposition, exact_sum, unsupported_result
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
_PLANS: Final = Claim(bounds=False, unsolvable=False)
"""Plans of the second and the third search are plans; nothing else holds in all cases."""


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


class _Searches(Driver):
    """The driver of the three searches, of which each keeps its latest plan: suppositions have a price there."""

    def __init__(self, frame: Frame, options: SolveOptions, solve: Solve) -> None:
        super().__init__(frame.problem, options, solve, frame.check)
        self._frame = frame
        self._asked = frame.asked
        self._made: Supposing | None = None
        """What the third search supposes."""
        self._least: Number | None = None
        """What the best plan in time costs with its suppositions."""

    def run(self) -> Result:
        """Run the searches, and return the answer."""
        is_exact = self._frame.is_exact
        lift = partial(as_plan_of, self.problem)
        optimistic = Compiled(self._frame.optimistic(), lift, Claim(plans=False, bounds=is_exact))
        lucky = self.ask(optimistic, self.limits.share(SHARE))
        if is_exact and lucky.status is Status.OPTIMAL:
            self.raise_bound(_charge(lucky))
        if lucky.status is Status.UNSUPPORTED:
            return lucky
        if lucky.status is Status.UNSOLVABLE and is_exact:
            return replace(lucky, reason=IN_NO_CASE)
        if self.is_optimal or lucky.stopped_by in (StoppedBy.CANCELLED, StoppedBy.MEMORY):
            return self._answer(lucky)
        fallback, self.plan = self.plan, None
        safe = self.ask(Compiled(self._frame.knowing(), lift, _PLANS), self.limits.share(SHARE))
        if self.is_optimal or safe.stopped_by in (StoppedBy.CANCELLED, StoppedBy.MEMORY):
            return self._answer(safe)
        found = self._suppose(self._frame.supposing(price_of_surprise(_charge(lucky), _charge(safe))))
        self.plan = self.plan or fallback
        return self._answer(found)

    def _suppose(self, made: Supposing) -> Result:
        """Run the third search."""
        self._made, limits = made, self.limits

        def lift(plan: Plan) -> Plan:
            supposed = tuple([Supposition(fact, holds) for fact, holds in made.find_supposed(plan.steps).items()])
            return replace(as_plan_of(self.problem, self._frame.restore(plan, made)), suppositions=supposed)

        if self._asked.lasts:
            self._try_sequence(made, Compiled(made.problem, lift, replace(_PLANS, plans=False)))
            limits = limits.part(SECONDS_IN_TIME if self._least is None else SECONDS_BESIDE_SEQUENCE)
        return self.ask(Compiled(self._frame.suppose(made), lift, _PLANS), limits)

    def _try_sequence(self, made: Supposing, compiled: Compiled) -> None:
        """Keep the plan of the third search whose steps are taken in turn, where the metric allows one to find it."""
        sequential = self._frame.in_turn(made)
        if sequential is None:
            return
        limits = self.limits.part(SECONDS_IN_TIME if self.limits.remaining is None else None)
        found = self.search(sequential, self.options.within(limits, SHARE, on_progress=None))
        if found.plan is not None:
            self.keep(compiled, in_turn(made.problem, found.plan.steps), None)

    def value(self, plan: Plan, verdict: Verdict) -> Plan:
        """Return `plan` with what it is worth, and what it supposes."""
        return super().value(replace(plan, suppositions=verdict.suppositions), verdict)

    def is_better(self, plan: Plan, compiled: Plan) -> bool:
        """Return whether the third search in time has no plan that costs less with its suppositions."""
        if self._made is None or not self._asked.lasts:
            return True
        priced = exact_sum([plan.charge, *self._made.list_prices(compiled.steps)])
        if self._least is not None and priced >= self._least:
            return False
        self._least = priced
        return True

    @property
    def is_optimal(self) -> bool:
        """Whether no plan is charged less than the best one, which supposes nothing."""
        return self.plan is not None and not self.plan.suppositions and super().is_optimal

    def _answer(self, found: Result) -> Result:
        """Return the answer; the last search ended with `found`."""
        status = Status.UNKNOWN if self.plan is None else Status.OPTIMAL if self.is_optimal else Status.SOLVED
        said = [found.reason]
        if found.status is Status.UNSOLVABLE and self.plan is None:
            said = [self._why_not()]
            status = Status.UNSOLVABLE if said == [IN_NO_CASE] else status
        if self.plan is not None and self.plan.suppositions:
            said.append(f"it supposes {'; '.join(map(str, self.plan.suppositions))}")
        return self.end(replace(found, status=status, reason="; ".join(filter(None, said))))

    def _why_not(self) -> str:
        """Explain why the third search proved that there is no plan.

        Some of its plans suppose all that holds in one case, unless steps are careful. In time, suppositions take
        turns; and a constraint on all steps is one on those that suppose.
        """
        if self._asked.words.guessed:
            return CARELESS
        is_whole = not self._asked.lasts and not any(each.steps for each in self._asked.problem.constraints)
        return IN_NO_CASE if is_whole else NOT_ALL
