"""Search where actions create objects: rounds with more and more placeholders, until more give no better plan.

The first round has one placeholder for each pool of objects that a relaxed plan creates (`pool_selection`), each
further round twice as many. The answer of a round holds for plans that create no more objects of a pool than it has
placeholders. Lower bounds for any number of objects (`creation_relaxation`), and the costs of creating steps, bound the
cost of all other plans. The relaxation can prove that there is no plan with any number of created objects.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal

from planner.compilations.creation_relaxation import Relaxation, bound_costs, bound_uses, count_copies
from planner.compilations.lifted_relevance import remove_irrelevant_actions
from planner.compilations.object_creation import add_placeholders, compile_object_creation, created_types, map_plan_back
from planner.compilations.placeholder_pools import PooledProblem, Pools, number_placeholders
from planner.compilations.pool_selection import relax_creation
from planner.grounding.allowances import with_allowances
from planner.lightweight import Any, Final, dataclass, replace
from planner.limits import LimitReached, Limits, Stop, read_clock
from planner.model.actions import Action
from planner.model.domain import TypeHierarchy, creates_objects
from planner.model.formulas import Atom, Exists, Forall, Formula, Number, Or, Variable, walk
from planner.model.problem import Goal, Metric, Problem
from planner.options import ANY_PLAN, Solve, SolveOptions
from planner.plan import (
    EXACT,
    Plan,
    Progress,
    Result,
    Statistics,
    Status,
    StoppedBy,
    exact,
    exact_sum,
    unsupported_result,
)
from planner.portfolio.search_history import Recorder
from planner.search.search_run import TIERS
from planner.task.ground_task import Task
from planner.validation.validate import check_steps
from planner.validation.verdict import Verdict

LARGEST_RULE: Final = 4
"""Maximum number of placeholders of a type in the relaxed reachability test; more cause too many rule instances."""


def add_enough_placeholders(problem: Problem) -> Problem | None:
    """Return `problem` with enough placeholders for relaxed reachability; None if there would be too many.

    Placeholders that are created in any order are interchangeable, and so are relaxed derivations with them. A step of
    a derivation names at most as many as the largest rule has variables. So a fact that is relaxed unreachable with
    that many placeholders is unreachable with more.
    """
    if not creates_objects(problem.domain):
        return problem
    sizes = rule_sizes(problem)
    free = replace(problem, constraints=()) if problem.constraints else problem
    return None if max(sizes.values()) > LARGEST_RULE else add_placeholders(free, sizes)


def is_relaxed_unreachable(problem: Problem, limits: Limits) -> bool:
    """Return whether the goal is relaxed unreachable for any number of created objects. Raises `LimitReached`."""
    from planner.grounding.ground import ground

    enough = add_enough_placeholders(problem)
    return enough is not None and ground(enough, limits).unreachable_goal is not None


def rule_sizes(problem: Problem) -> dict[str, int]:
    """Return, for each created type, the maximum number of variables of a rule for created objects; at least 1."""
    domain = problem.domain
    types = TypeHierarchy(domain.types)
    scopes = [(axiom.parameters, [axiom.condition]) for axiom in domain.axioms]
    scopes += [((), [problem.goal.hard, *(wish.condition for wish in problem.goal.soft)])]
    for action in domain.actions.values():
        created = [Variable(name, (kind,)) for name, kind in action.creates.items()]
        variables = (*action.parameters, *created, *(each for when in action.when for each in when.variables))
        moments = (action.at_start, action.at_end)
        whens = (*action.when, *(when for moment in moments for when in moment.when))
        variables = (*variables, *(each for moment in moments for when in moment.when for each in when.variables))
        conditions = [action.requires, action.throughout, *(moment.requires for moment in moments)]
        scopes.append((variables, [*conditions, *(when.requires for when in whens)]))
    return {
        kind: max(1, *(sum(types.is_a((kind,), each.types) for each in _variables(*scope)) for scope in scopes))
        for kind in created_types(domain.actions.values())
    }


def _variables(variables: Iterable[Variable], conditions: Iterable[Formula]) -> list[Variable]:
    """Return `variables` and those that quantifiers in `conditions` bind."""
    inside = [part for condition in conditions for part in walk(condition) if isinstance(part, Exists | Forall)]
    return [*variables, *(variable for part in inside for variable in part.variables)]


@dataclass(frozen=True, slots=True)
class Creation:
    """A type of created objects: a step creates at most `each` of a pool, and costs at least `least`.

    All steps that create no objects of that pool cost at least `rest`.
    """

    kind: str
    each: int
    least: Number
    rest: Number = 0

    def bound_beyond(self, steps: int) -> Number:
        """Return a lower bound on the cost of plans in which more than `steps` steps create objects of one pool."""
        return exact_sum([self.rest, exact(EXACT.multiply(Decimal(self.least), steps + 1))])

    def count_sufficient(self, cost: Number) -> int | None:
        """Return the creating steps of one pool in plans cheaper than `cost`, at most; None if there is no bound."""
        left = exact(Decimal(cost) - Decimal(self.rest))
        if left <= 0:
            return 0
        if self.least == 0:
            return None
        steps, rest = divmod(left, self.least)
        return max(int(steps) if rest else int(steps) - 1, 0)


def find_creations(problem: Problem) -> list[Creation]:
    """Return the creations of the actions of `problem` that are relevant to the goal."""
    expanded = compile_object_creation(problem, 1).problem
    return creations_of(
        [problem.domain.actions[name] for name in remove_irrelevant_actions(expanded).domain.actions], problem
    )


def creations_of(actions: Sequence[Action], problem: Problem) -> list[Creation]:
    """Return the creations of `actions` of `problem`."""
    return [
        Creation(kind, each, min(least_cost(action, problem) for action in actions if kind in action.creates.values()))
        for kind, each in created_types(actions).items()
    ]


def least_cost(action: Action, problem: Problem) -> Number:
    """Return a lower bound on the costs of the instances of `action`."""
    if problem.metric is Metric.LENGTH:
        return 1
    total: Number = 0
    for term in action.cost:
        if isinstance(term, Atom):
            total += min((value for key, value in problem.values.items() if key.predicate == term.predicate), default=0)
        else:
            total += term if isinstance(term, Number) else 0
    return total


MOST_STEPS: Final = 64
"""Maximum number of steps that create objects of one pool, in the plans that rounds search, unless more are needed."""
SECONDS: Final = 5.0
"""Without a time limit: seconds per placeholder for a round without a plan; the last round is unlimited."""
PREPARING: Final = 0.25
"""Share of the remaining time for the relaxation, and for bounds."""


def solve_with_creation(problem: Problem, options: SolveOptions, solve: Solve) -> Result:
    """Solve `problem`, whose actions create objects; `solve` is called for problems with placeholders.

    Plans name created objects by placeholders. UNSOLVABLE and OPTIMAL hold for any number of created objects. Deadlines
    beside unknown facts are UNSUPPORTED: the order in which search takes placeholders would delay steps needlessly.
    """
    if problem.deadline is not None:
        what = "deadlines where actions create objects and facts are unknown"
        return unsupported_result(what, "leave the deadline out, or state which facts hold")
    return ClassicalRounds(problem, options, solve).solve_within_limits()


class CreationRounds:
    """The rounds so far, with the best plan and a lower bound; each kind of problems has a subclass."""

    def __init__(self, problem: Any, options: SolveOptions, solve: Solve) -> None:
        self.problem = problem
        self.options = options
        self.limits = options.limits()
        self._solve = solve
        self._creations: list[Creation] = []
        self.steps: dict[str, int] = {}
        """For each type, the creating steps of one pool that the present round allows."""
        self._beyond: Number | None = None
        self._bound: Number | None = None
        self._plan: Plan | None = None
        self._spent = Statistics()
        self._recorder = Recorder()
        self._is_beyond_budgets: bool | None = None
        """Whether a round without a plan has one without budgets; None if that is unknown."""
        self.prepared: tuple[Any, Callable[[Limits], Task]] | None = None
        """The problem of the first round, and a function that grounds it once; None if nobody did part of that work."""
        self._is_cut = False
        """Whether time has ended a round that might have found a plan."""

    def prepare(self) -> tuple[list[Creation], int]:
        """Return the creations that are relevant to the goal, and the creating steps that the first round allows."""
        raise NotImplementedError

    def add_placeholders(self, steps: Mapping[str, int]) -> Any:
        """Return the problem with placeholders for so many creating steps of each type, and pool."""
        raise NotImplementedError

    def check_plan(self, plan: Plan) -> Verdict:
        """Check `plan` with the independent plan checker."""
        raise NotImplementedError

    def map_plan(self, plan: Plan) -> Plan:
        """Return `plan`, of a problem with placeholders, as a plan of the problem."""
        return map_plan_back(plan, self.problem)

    def is_proved(self, steps: int) -> bool:
        """Return whether unsolvability with the present placeholders is proved for any number of them."""
        raise NotImplementedError

    @property
    def creates_nothing(self) -> bool:
        """Whether no action that creates objects is relevant to the goal."""
        return not self._creations

    def find_exceeded_budget(self) -> str:
        """Return why no plan keeps some budget, if that is known without search; else ""."""
        return ""

    def without_budgets(self, _problem: Any) -> Any | None:
        """Return a problem with placeholders without its budgets; None if it has none."""
        return None

    def solve_within_limits(self) -> Result:
        """Search, and return the answer, or the best one when a limit ends the search."""
        try:
            return self._run_rounds()
        except LimitReached as limit:
            return self._current_result(limit.stopped_by)
        except MemoryError:
            return self._current_result(StoppedBy.MEMORY)
        except KeyboardInterrupt:
            return self._current_result(StoppedBy.CANCELLED)

    def _run_rounds(self) -> Result:
        """Search in rounds, and return the answer. Raises `LimitReached` between two rounds."""
        self._creations, fewest = self.prepare()
        exceeded = self.find_exceeded_budget()
        if exceeded:
            return Result(Status.UNSOLVABLE, StoppedBy.EXHAUSTED, None, None, self._spent, exceeded)
        most = max(fewest, MOST_STEPS)
        steps: int | None = fewest
        while steps is not None:
            found = self._run_round(steps, most)
            if found.status is Status.UNSUPPORTED:
                return found
            missing = found.status is Status.UNSOLVABLE and self._plan is None
            if missing and self.is_proved(steps):
                return self._recorder.finish(
                    self.limits.elapsed, replace(found, lower_bound=None, statistics=self._spent)
                )
            if self._is_final(found):
                first = found.plan is not None and self.options.mode == "first"
                return self._current_result(StoppedBy.FIRST_PLAN if first else found.stopped_by, found.reason)
            if missing and self._is_beyond_budgets is None:
                self._is_beyond_budgets = self._has_plan_without_budgets(steps, most)
            self._is_cut = self._is_cut or not missing
            self.limits.check()
            steps = self._next_steps(steps, most)
        return self._current_result(StoppedBy.INCOMPLETE)

    def _has_plan_without_budgets(self, steps: int, most: int) -> bool | None:
        """Return whether the present round has a plan without budgets; None if unknown, or without budgets."""
        free = self.without_budgets(self.add_placeholders(self.steps))
        if free is None:
            return None
        return self._search(free, ANY_PLAN, _Turn(self._time_share(steps, most))).has_plan or None

    def _is_final(self, found: Result) -> bool:
        """Return whether further rounds cannot improve the answer, or are not wanted."""
        if self._is_optimal or not self._creations or found.stopped_by in (StoppedBy.MEMORY, StoppedBy.CANCELLED):
            return True
        ended = found.stopped_by in (StoppedBy.FIRST_PLAN, StoppedBy.INCOMPLETE) or self.options.mode == "first"
        return found.plan is not None and ended

    def _next_steps(self, steps: int, most: int) -> int | None:
        """Return the creating steps of each pool that the next round allows; None if it would allow no more."""
        wanted = [self._count_sufficient(each) for each in self._creations]
        if self._plan is None or None in wanted:
            return 2 * steps if steps < most else None
        enough = max(number or 0 for number in wanted)
        return min(enough, most) if enough > steps and steps < most else None

    def _count_sufficient(self, creation: Creation) -> int | None:
        """Return the creating steps of a pool in plans better than the best one; None if there is no bound."""
        return None if self._plan is None else creation.count_sufficient(self._plan.charge)

    def _run_round(self, steps: int, most: int) -> Result:
        """Search with placeholders for `steps` creating steps of each pool, and update plan and bound."""
        for each in self._creations:
            enough = self._count_sufficient(each)
            number = steps if enough is None else min(steps, enough)
            self.steps[each.kind] = max(self.steps.get(each.kind, 0), number)
        self._beyond = min((each.bound_beyond(self.steps[each.kind]) for each in self._creations), default=None)
        turn = _Turn(self._time_share(steps, most), goes_on=self._suffices)

        def report(progress: Progress) -> None:
            self._update(progress.plan, progress.lower_bound)
            turn.goes_on = self._suffices
            self._recorder.note_progress(self.limits.elapsed, self._plan, self._bound, progress.statistics)
            if self.options.on_progress is not None:
                self.options.on_progress(replace(progress, plan=self._plan, lower_bound=self._bound))

        options = replace(self.options, on_progress=report, prepared=self.prepared)
        found = self._search(self.add_placeholders(self.steps), options, turn)
        best = found.plan if found.status is Status.OPTIMAL else None
        self._update(found.plan, found.lower_bound if best is None else best.charge)
        if found.status is Status.UNSOLVABLE:
            self._update(None, self._beyond)
        late = turn.is_over() and found.stopped_by is StoppedBy.CANCELLED
        return replace(found, stopped_by=StoppedBy.TIME) if late else found

    def _search(self, expanded: Any, options: SolveOptions, turn: _Turn) -> Result:
        began = self.limits.elapsed
        found = self._solve(expanded, options.within(self.limits, cancel=Stop(self.limits.cancel, turn.is_over)))
        self._recorder.take_turns(found.history, began)
        self._spent = _add_statistics(self._spent, found.statistics)
        return found

    def search_any(self, expanded: Any, steps: Mapping[str, int]) -> Result:
        """Search for any plan of a problem with placeholders for so many creating steps, within the time of a round."""
        most = max(steps.values(), default=1)
        return self._search(expanded, ANY_PLAN, _Turn(self._time_share(most, MOST_STEPS)))

    def _time_share(self, steps: int, most: int) -> float | None:
        """Return the seconds that a round may take before there is a plan; None if it is the last."""
        rounds = (most // steps).bit_length()
        if rounds <= 1 or not self._creations:
            return None
        return SECONDS * steps if self.limits.remaining is None else self.limits.remaining / rounds

    def _update(self, plan: Plan | None, bound: Number | None) -> None:
        """Update the best plan, and the lower bound by a `bound` on plans within the placeholders of the round."""
        if plan is not None and (self._plan is None or plan.charge < self._plan.charge):
            self._plan = self.map_plan(plan)
        if bound is not None:
            bound = bound if self._beyond is None else min(bound, self._beyond)
            self._bound = bound if self._bound is None else max(self._bound, bound)

    @property
    def _suffices(self) -> bool:
        """Whether no plan beyond the present round is better than the best plan."""
        return self._plan is not None and (self._beyond is None or self._beyond >= self._plan.charge)

    @property
    def _is_optimal(self) -> bool:
        return self._plan is not None and self._bound is not None and self._bound >= self._plan.charge

    def _current_result(self, stopped_by: StoppedBy, reason: str = "") -> Result:
        """Return the answer from the best plan and the bound; `stopped_by` says why the search ended."""
        if self._plan is not None:
            verdict = self.check_plan(self._plan)
            if not verdict.valid:
                raise RuntimeError(f"internal error: search found a plan that is not valid: {verdict.reason}")
        status = Status.UNKNOWN if self._plan is None else Status.SOLVED
        if self._is_optimal:
            status, stopped_by, reason = Status.OPTIMAL, StoppedBy.EXHAUSTED, ""
        if self._plan is None:
            reason = "; ".join(filter(None, [reason, *self._describe_tried(stopped_by)]))
        found = Result(status, stopped_by, self._plan, self._bound, self._spent, reason)
        return self._recorder.finish(self.limits.elapsed, found)

    def _describe_tried(self, stopped_by: StoppedBy) -> Iterator[str]:
        """Yield what kept the rounds from a plan: budgets, time, or the number of placeholders."""
        if self._is_beyond_budgets:
            names = " and ".join(self.problem.budgets)
            yield f"no plan is known that keeps the budget of {names}; without it there is one"
        elif self.steps and self._creations:
            tried = " and ".join([f"{number} '{kind}'" for kind, number in self.steps.items()])
            if stopped_by is not StoppedBy.INCOMPLETE or self._is_cut:
                yield f"time ended a search in which up to {tried} could be created alike"
            else:
                yield f"plans that create more than {tried} alike were not searched for"


class ClassicalRounds(CreationRounds):
    """Rounds for classical problems, whose placeholders are in pools."""

    def __init__(self, problem: Problem, options: SolveOptions, solve: Solve) -> None:
        super().__init__(problem, options, solve)
        self._pools = Pools()
        self._relaxation: Relaxation | None = None

    def prepare(self) -> tuple[list[Creation], int]:
        """Return the creations that are relevant to the goal, and the creating steps that the first round allows."""
        creations = find_creations(self.problem)
        if not creations:
            return creations, 1
        first = 1
        with contextlib.suppress(LimitReached):
            limits = self.limits.share(PREPARING)
            self._relaxation = relax_creation(self.problem, limits)
            if self._relaxation is None or self._relaxation.task.unreachable_goal is not None:
                return creations, 1
            self._pools = self._relaxation.pools
            first = count_copies(self._relaxation, limits)
            if first == 1 and self._relaxation.ground_pooled is not None:
                pooled = replace(self._relaxation.pooled.problem, budgets=self.problem.budgets)
                ground = self._relaxation.ground_pooled
                self.prepared = pooled, lambda more: with_allowances(ground(more), pooled)
            if self.options.mode != "first" and not self.problem.unknown:
                bounds = bound_costs(self._relaxation, limits)
                creations = [replace(each, rest=bounds.without_kind(each.kind)) for each in creations]
        self.limits.check()
        return creations, first

    def add_placeholders(self, steps: Mapping[str, int]) -> Problem:
        """Return the problem with so many placeholders for each pool."""
        return self.fill_pools(steps).problem

    def fill_pools(self, steps: Mapping[str, int]) -> PooledProblem:
        """Return the problem with so many placeholders for each pool, and its pools."""
        if self._relaxation is not None and self.prepared is not None and set(steps.values()) == {1}:
            return replace(self._relaxation.pooled, problem=self.prepared[0])
        found = self._pools.compile(self.problem, steps)
        if found is None:
            self._pools = Pools()
            found = self._pools.compile(self.problem, steps)
        assert found is not None
        return found

    def check_plan(self, plan: Plan) -> Verdict:
        """Check `plan` with the independent plan checker."""
        return check_steps(self.problem, plan)

    def map_plan(self, plan: Plan) -> Plan:
        """Return `plan`, of a problem with placeholders, as a plan of the problem."""
        return number_placeholders(super().map_plan(plan), self.problem)

    def without_budgets(self, problem: Problem) -> Problem | None:
        """Return a problem with placeholders without its budgets; None if it has none."""
        return replace(problem, budgets={}) if problem.budgets else None

    def find_exceeded_budget(self) -> str:
        """Return why no plan keeps some budget, if the relaxation shows that; else ""."""
        relaxation = self._relaxation
        if relaxation is None or not self.problem.budgets or self.problem.unknown or relaxation.is_unreachable:
            return ""
        with contextlib.suppress(LimitReached):
            for allowance, needed in bound_uses(relaxation, self.limits.share(PREPARING)):
                if needed > allowance.most:
                    return f"every plan {allowance.describe_use(needed)} or more, and the budget is {allowance.budget}"
        return ""

    def is_proved(self, steps: int) -> bool:
        """Return whether unsolvability with the present placeholders is proved for any number of them."""
        return self.creates_nothing or self.is_unreachable(steps) or self.has_unused_placeholders(self.steps)

    def is_unreachable(self, steps: int) -> bool:
        """Return whether the relaxation proves in the first round that the goal is unreachable."""
        if self._relaxation is not None and self._relaxation.is_unreachable:
            return True
        return steps == 1 and is_relaxed_unreachable(self.problem, self.limits)

    def has_unused_placeholders(self, steps: Mapping[str, int]) -> bool:
        """Return whether no reachable state has used all placeholders of a pool, so that none lacks one."""
        pooled = self.fill_pools(steps)
        used = Or(tuple([Atom(pooled.existing, (name,)) for name in pooled.last]))
        if len(pooled.last) < pooled.pools:
            return False
        found = self.search_any(replace(pooled.problem, goal=Goal(used), constraints=(), budgets={}), steps)
        return found.status is Status.UNSOLVABLE


class _Turn:
    """Ends a round after its `seconds`, unless it `goes_on`."""

    def __init__(self, seconds: float | None, *, goes_on: bool = False) -> None:
        self._end = None if seconds is None else read_clock() + seconds
        self.goes_on = goes_on

    def is_over(self) -> bool:
        """Return whether the clock ended the round."""
        return not self.goes_on and self._end is not None and read_clock() > self._end


def _add_statistics(before: Statistics, latest: Statistics) -> Statistics:
    """Return the statistics of the latest round with the counts and times of all rounds."""
    names = ("expanded", "evaluated", "generated", "ground_seconds", "search_seconds", "search_cpu_seconds")
    tiers = {tier for each in (before, latest) for tier in each.tier.split(", ") if tier}
    sums = {name: getattr(before, name) + getattr(latest, name) for name in names}
    return replace(latest, **sums, tier=", ".join([tier for tier in TIERS if tier in tiers]))
