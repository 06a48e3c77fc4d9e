"""Soft goals, soft constraints and budgets of problems in time, compiled away.

A budget becomes a number with a bound. Of a few wishes, all choices are looked at: each is a problem with more hard
goals and constraints, which is proved by itself, or excluded where another plan is charged no more than its bound. Of
many soft goals, each becomes a part of the goal that an action without duration, `@forgo-0`, makes true as well, at the
wish's utility; it changes nothing else, so that it takes no time.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from planner.compilations import Claim, Compiled
from planner.compilations.budgets import compile_budgets
from planner.compilations.constraints_in_time import grant
from planner.compilations.driver import Driver, as_plan_of
from planner.compilations.soft_goals import FORGONE, forgo_name
from planner.errors import UnsupportedError
from planner.lightweight import Any, Final, dataclass, replace
from planner.model.actions import Action, Constraint, CostTerm, NumericEffect
from planner.model.domain import Function, Predicate
from planner.model.formulas import Arithmetic, Atom, Number, Or, functions_in, with_conjuncts
from planner.model.problem import TOTAL_COST, Goal, Metric, NumericMetric, Problem, SoftGoal
from planner.plan import Plan, Result, Status, StoppedBy, exact_sum, unsupported_result
from planner.problem_kinds import classical_of
from planner.semantics.undefined_values import keep_needed
from planner.validation.timed_replay import price_plan

_FORGONE_FACT = "@forgone-"


_PLANS: Final = Claim(bounds=False, unsolvable=False)
"""Where wishes are chosen: of all plans, the bounds of one choice say nothing by themselves."""
MOST_CHOSEN: Final = 5
"""Wishes of which all choices are looked at."""
FIRST_SECONDS: Final = 1.0
"""Seconds for each choice in the first round; each later round has three times as much."""


def solve_with_wishes_in_time(driver: Driver) -> Result:
    """Solve the problem of `driver`, which is in time and has wishes, by problems that have none.

    With more than `MOST_CHOSEN` wishes, these are soft goals, and there are neither constraints nor budgets.
    """
    problem: Problem = driver.problem
    if len(problem.wishes) <= MOST_CHOSEN:
        return WishChoices(driver).run()
    mapped = Compiled(compile_soft_goals(problem), lambda plan: _as_plan_of(problem, plan))
    return driver.finish(driver.ask(mapped), mapped)


def solve_with_budgets_in_time(driver: Driver, put: Callable[[Problem], Any] = lambda classical: classical) -> Result:
    """Solve the problem of `driver`, which is in time and has budgets, by one that has none.

    For a problem of another kind, `put` returns it with another classical problem in place of its own.
    """
    try:
        plain = compile_budgets(classical_of(driver.problem))
    except UnsupportedError as error:
        return unsupported_result(error.construct, error.hint)
    mapped = Compiled(put(plain), partial(as_plan_of, driver.problem))
    return driver.finish(driver.ask(mapped), mapped)


def _as_plan_of(problem: Problem, plan: Plan) -> Plan:
    """Return `plan` without steps that forgo wishes, with the costs of `problem`."""
    own = problem.domain.actions
    pairs = [pair for pair in zip(plan.steps, plan.times, strict=True) if pair[0].action in own]
    steps, times = tuple([step for step, _ in pairs]), tuple([time for _, time in pairs])
    return price_plan(Plan(steps, problem, times=times))


@dataclass(slots=True)
class _Choice:
    """A set of `wishes` to grant: what plans that grant no more are charged for the others, and at least in all."""

    wishes: tuple[SoftGoal | Constraint, ...]
    forgone: Number
    least: Number | None = None
    is_settled: bool = False
    has_ended: bool = False
    """Whether more time leads to nothing new."""


class WishChoices:
    """Looks at all choices of wishes, in rounds of more and more time.

    `driver` has a problem of any kind; `put` returns it with another classical problem in place of its own.
    """

    def __init__(self, driver: Driver, put: Callable[[Problem], Any] = lambda classical: classical) -> None:
        self._driver, self._put = driver, put
        self._plain = classical_of(driver.problem)
        self._latest = Result(Status.UNKNOWN, StoppedBy.INCOMPLETE)
        self._refused: Result | None = None
        wishes = self._plain.wishes
        chosen = [[wish for place, wish in enumerate(wishes) if bits >> place & 1] for bits in range(1 << len(wishes))]
        self._choices = [
            _Choice(tuple(each), exact_sum([wish.utility or 0 for wish in wishes if wish not in each]))
            for each in chosen
        ]
        self._choices.sort(key=lambda each: each.forgone)

    def run(self) -> Result:
        """Return the plan that is charged least, proved where every other choice is excluded."""
        seconds = FIRST_SECONDS
        while True:
            for choice in [each for each in self._open_choices if not each.has_ended]:
                stop = self._look_at(choice, seconds)
                if self._refused is not None:
                    return self._refused
                if stop is not None:
                    return self._result(stop)
                if self._driver.plan is not None and self._driver.options.mode == "first":
                    return self._result(StoppedBy.FIRST_PLAN)
            if all(each.has_ended for each in self._open_choices):
                return self._result(StoppedBy.INCOMPLETE if self._open_choices else StoppedBy.EXHAUSTED)
            seconds *= 3

    def _is_out(self, choice: _Choice) -> bool:
        """Return whether no plan of `choice` is charged less than the best one."""
        best = self._driver.plan
        return choice.is_settled or (best is not None and choice.least is not None and choice.least >= best.charge)

    def _look_at(self, choice: _Choice, seconds: float) -> StoppedBy | None:
        """Solve the problem in which the wishes of `choice` are hard goals; return what ended all of the work."""
        driver = self._driver
        chosen = Compiled(self._choose(choice), partial(as_plan_of, driver.problem), _PLANS)
        found = self._latest = driver.ask(chosen, driver.limits.part(seconds))
        choice.has_ended = found.stopped_by is not StoppedBy.TIME
        choice.is_settled = found.status in (Status.OPTIMAL, Status.UNSOLVABLE, Status.UNSUPPORTED)
        if found.lower_bound is not None:
            choice.least = exact_sum([choice.forgone, found.lower_bound])
            self._raise_others(choice, found.lower_bound)
        driver.raise_bound(self._least)
        if found.status is Status.UNSUPPORTED:
            self._refused = found
        if found.stopped_by in (StoppedBy.CANCELLED, StoppedBy.MEMORY):
            return found.stopped_by
        left = driver.limits.remaining
        return StoppedBy.TIME if left is not None and left <= 0 else None

    def _choose(self, choice: _Choice) -> Any:
        """Return the problem in which the wishes of `choice` are hard, and the others are left out."""
        return self._put(grant(self._plain, choice.wishes))

    def _raise_others(self, choice: _Choice, bound: Number) -> None:
        """Raise what choices of more wishes are charged at least: they cost no less."""
        for each in self._choices:
            if {*choice.wishes} <= {*each.wishes}:
                least = exact_sum([each.forgone, bound])
                each.least = least if each.least is None else max(each.least, least)

    @property
    def _open_choices(self) -> list[_Choice]:
        return [each for each in self._choices if not self._is_out(each)]

    @property
    def _least(self) -> Number | None:
        """What any plan is charged at least; None while nothing is known of some choice."""
        bounds = [each.least for each in self._open_choices]
        known = [each for each in bounds if each is not None]
        best = [] if self._driver.plan is None else [self._driver.plan.charge]
        return min([*known, *best], default=None) if len(known) == len(bounds) else None

    def _result(self, stopped_by: StoppedBy) -> Result:
        """Return the answer, after a stop or when no choice can be searched further."""
        driver, reason = self._driver, self._latest.reason
        if self._open_choices:
            status = Status.UNKNOWN if driver.plan is None else Status.SOLVED
            reason = reason if driver.plan is None or stopped_by is StoppedBy.INCOMPLETE else ""
        elif driver.plan is None:
            status, stopped_by = Status.UNSOLVABLE, StoppedBy.EXHAUSTED
        else:
            status, stopped_by, reason = Status.OPTIMAL, StoppedBy.EXHAUSTED, ""
            driver.raise_bound(driver.plan.charge)
        return driver.end(replace(self._latest, status=status, stopped_by=stopped_by, reason=reason))


def _price(action: Action, cost: tuple[CostTerm, ...], problem: Problem) -> Action:
    return replace(action, cost=cost, needs_values=keep_needed(action, problem))


def compile_soft_goals(problem: Problem) -> Problem:
    """Return `problem`, whose metric is to be least, with actions that forgo its soft goals at their utilities."""
    wishes = problem.goal.soft
    facts = [Atom(f"{_FORGONE_FACT}{place}") for place in range(len(wishes))]
    parts = [Or((wish.condition, fact)) for wish, fact in zip(wishes, facts, strict=True)]
    domain, metric = problem.domain, problem.metric
    counts_cost = isinstance(metric, NumericMetric) and TOTAL_COST in functions_in(metric.expression)
    actions = dict(domain.actions)
    if metric is Metric.LENGTH:
        actions = {name: _price(action, (1,), problem) for name, action in actions.items()}
    elif isinstance(metric, NumericMetric) and not counts_cost:
        actions = {name: _price(action, (), problem) for name, action in actions.items()}
    for place, (wish, fact) in enumerate(zip(wishes, facts, strict=True)):
        name, price = forgo_name(place), wish.utility
        charged = (NumericEffect(FORGONE, "+=", price),) if counts_cost else ()
        actions[name] = Action(name, provides=(fact,), cost=() if counts_cost else (price,), numbers=charged)
    functions, values = dict(domain.functions), dict(problem.values)
    if counts_cost:
        functions[FORGONE.predicate], values[FORGONE] = Function(FORGONE.predicate), 0
    found: Metric | NumericMetric = Metric.COST
    if isinstance(metric, NumericMetric):
        extra = FORGONE if counts_cost else TOTAL_COST
        found = NumericMetric(Arithmetic("+", (metric.expression, extra)))
    predicates = {**domain.predicates, **{fact.predicate: Predicate(fact.predicate) for fact in facts}}
    return replace(
        problem,
        domain=replace(domain, actions=actions, predicates=predicates, functions=functions),
        goal=Goal(with_conjuncts(problem.goal.hard, *parts)),
        values=values,
        metric=found,
    )
