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

from planner.compilations import Compiled
from planner.compilations.creation_relaxation import Relaxation, bound_costs, bound_uses, count_copies
from planner.compilations.driver import Driver
from planner.compilations.lifted_relevance import remove_irrelevant_actions
from planner.compilations.object_creation import add_placeholders, compile_object_creation, created_types, map_plan_back
from planner.compilations.placeholder_pools import PooledProblem, Pools, number_placeholders
from planner.compilations.pool_selection import relax_creation
from planner.grounding.allowances import with_allowances
from planner.lightweight import Any, Final, dataclass, replace
from planner.limits import STOPS, LimitReached, Limits, Stop, read_clock, stop_reason
from planner.model.actions import Action
from planner.model.domain import TypeHierarchy, creates_objects
from planner.model.formulas import Atom, Exists, Forall, Formula, Number, Or, Variable, walk
from planner.model.problem import Goal, Metric, Problem
from planner.options import ANY_PLAN, Solve, SolveOptions
from planner.plan import (
    EXACT,
    Plan,
    Result,
    Statistics,
    Status,
    StoppedBy,
    exact,
    exact_sum,
    unsupported_result,
)
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
    """The rounds so far; each kind of problems has a subclass."""

    most = 64
    """Steps that create objects of one pool, at most, in the plans that rounds search, unless more are needed."""

    def __init__(self, problem: Any, options: SolveOptions, solve: Solve) -> None:
        self.problem = problem
        self.options = options
        self.driver = Driver(problem, options, solve, self.check_plan)
        self.limits = self.driver.limits
        self.creations: list[Creation] = []
        self.lacking: set[str] = set()
        """The types of which plans may lack placeholders in the present round."""
        self.steps: dict[str, int] = {}
        """For each type, the creating steps of one pool that the present round allows."""
        self._spent = Statistics()
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
        return check_steps(self.problem, plan)

    def map_plan(self, plan: Plan) -> Plan:
        """Return `plan`, of a problem with placeholders, as a plan of the problem."""
        return number_placeholders(map_plan_back(plan, self.problem), self.problem)

    def is_proved(self, steps: int) -> bool:
        """Return whether unsolvability with the present placeholders is proved for any number of them."""
        raise NotImplementedError

    @property
    def creates_nothing(self) -> bool:
        """Whether no action that creates objects is relevant to the goal."""
        return not self.creations

    def find_objection(self) -> str:
        """Return why there is no plan with any number of created objects, if that is known without search; else ""."""
        return ""

    def without_budgets(self, _problem: Any) -> Any | None:
        """Return a problem with placeholders without its budgets; None if it has none."""
        return None

    def solve_within_limits(self) -> Result:
        """Search, and return the answer, or the best one when a limit ends the search."""
        try:
            return self._run_rounds()
        except STOPS as stop:
            return self._current_result(stop_reason(stop))

    def _run_rounds(self) -> Result:
        """Search in rounds, and return the answer. Raises `LimitReached` between two rounds."""
        self.creations, fewest = self.prepare()
        objection = self.find_objection()
        if objection:
            return Result(Status.UNSOLVABLE, StoppedBy.EXHAUSTED, None, None, self._spent, objection)
        most = max(fewest, self.most)
        steps: int | None = fewest
        while steps is not None:
            found = self.run_round(steps, most)
            if found.status is Status.UNSUPPORTED:
                return found
            missing = found.status is Status.UNSOLVABLE and self.driver.plan is None
            if missing and self.is_proved(steps):
                self.driver.bound = None
                return self.driver.end(replace(found, statistics=self._spent))
            if self.is_final(found):
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
        options = ANY_PLAN.within(self._make_turn(steps, most))
        return self._count(self.driver.search(free, options)).has_plan or None

    def is_final(self, found: Result) -> bool:
        """Return whether further rounds cannot improve the answer, or are not wanted."""
        if self.driver.is_optimal or not self.creations or found.stopped_by in (StoppedBy.MEMORY, StoppedBy.CANCELLED):
            return True
        ended = found.stopped_by in (StoppedBy.FIRST_PLAN, StoppedBy.INCOMPLETE) or self.options.mode == "first"
        return found.plan is not None and ended

    def _next_steps(self, steps: int, most: int) -> int | None:
        """Return the creating steps of each pool that the next round allows; None if it would allow no more."""
        wanted = [self.count_sufficient(each) for each in self.creations]
        if self.driver.plan is None or None in wanted:
            return 2 * steps if steps < most else None
        enough = max(number or 0 for number in wanted)
        return min(enough, most) if enough > steps and steps < most else None

    def count_sufficient(self, creation: Creation) -> int | None:
        """Return the creating steps of a pool in plans better than the best one; None if there is no bound."""
        return None if self.driver.plan is None else creation.count_sufficient(self.driver.plan.charge)

    def run_round(self, steps: int, most: int) -> Result:
        """Search with placeholders for `steps` creating steps of each pool, and keep plan and bound."""
        for each in self.creations:
            enough = self.count_sufficient(each)
            number = steps if enough is None else min(steps, enough)
            self.steps[each.kind] = max(self.steps.get(each.kind, 0), number)
        self.lacking = {each.kind for each in self.creations}
        compiled = Compiled(self.add_placeholders(self.steps), self.map_plan, bound=self.bound_all)
        within = self.limit_round(steps, most)
        found = self._count(self.driver.ask(compiled, within, prepared=self.prepared))
        if found.plan is not None and found.status is Status.OPTIMAL:
            self.driver.raise_bound(self.bound_all(found.plan.charge))
        elif found.status is Status.UNSOLVABLE:
            self.driver.raise_bound(self.beyond)
        late = found.stopped_by is StoppedBy.CANCELLED and self._is_over(within)
        return replace(found, stopped_by=StoppedBy.TIME) if late else found

    def limit_round(self, steps: int, most: int) -> Limits:
        """Return the limits of a round; it goes on while no plan beyond it is better than the best one."""
        return self._make_turn(steps, most, lambda: self._suffices)

    def _make_turn(self, steps: int, most: int, goes_on: Callable[[], bool] = lambda: False) -> Limits:
        """Return limits that end after the time of a round, unless it `goes_on`."""
        within, seconds, began = self.limits.part(None), self.time_share(steps, most), read_clock()
        if seconds is not None:
            within.cancel = Stop(within.cancel, lambda: read_clock() > began + seconds and not goes_on())
        return within

    def _is_over(self, turn: Limits) -> bool:
        """Return whether the time of `turn` is over, and all the work is not cancelled."""
        own, outer = turn.cancel, self.limits.cancel
        return own is not outer and own is not None and own.is_set() and not (outer is not None and outer.is_set())

    def _count(self, found: Result) -> Result:
        """Add the statistics of `found`, which is returned, to those of the rounds so far."""
        self._spent = _add_statistics(self._spent, found.statistics)
        return found

    def search_any(self, expanded: Any, steps: Mapping[str, int]) -> Result:
        """Search for any plan of a problem with placeholders for so many creating steps, within the time of a round."""
        within = self._make_turn(max(steps.values(), default=1), self.most)
        return self._count(self.driver.search(expanded, ANY_PLAN.within(within)))

    def time_share(self, steps: int, most: int) -> float | None:
        """Return the seconds that a round may take before there is a plan; None if it is the last."""
        rounds = (most // steps).bit_length()
        if rounds <= 1 or not self.creations:
            return None
        return SECONDS * steps if self.limits.remaining is None else self.limits.remaining / rounds

    def bound_all(self, bound: Number) -> Number | None:
        """Return the lower bound for any number of objects that follows from a `bound` on the plans of the round."""
        return bound if self.beyond is None else min(bound, self.beyond)

    @property
    def beyond(self) -> Number | None:
        """Lower bound on the charge of plans that lack placeholders in the present round; None if there are none."""
        bounds = [each.bound_beyond(self.steps[each.kind]) for each in self.creations if each.kind in self.lacking]
        return min(bounds, default=None)

    @property
    def _suffices(self) -> bool:
        """Whether no plan beyond the present round is better than the best plan."""
        plan = self.driver.plan
        return plan is not None and (self.beyond is None or self.beyond >= plan.charge)

    def _current_result(self, stopped_by: StoppedBy, reason: str = "") -> Result:
        """Return the answer from the best plan and the bound; `stopped_by` says why the search ended."""
        status = Status.UNKNOWN if self.driver.plan is None else Status.SOLVED
        if self.driver.is_optimal:
            status, stopped_by, reason = Status.OPTIMAL, StoppedBy.EXHAUSTED, ""
        else:
            stopped_by, reason = self.describe_end(stopped_by, reason)
        return self.driver.end(Result(status, stopped_by, statistics=self._spent, reason=reason))

    def describe_end(self, stopped_by: StoppedBy, reason: str) -> tuple[StoppedBy, str]:
        """Return why the search ended without a proof, and what is to be said of it."""
        tried = self._describe_tried(stopped_by) if self.driver.plan is None else ()
        return stopped_by, "; ".join(filter(None, [reason, *tried]))

    def _describe_tried(self, stopped_by: StoppedBy) -> Iterator[str]:
        """Yield what kept the rounds from a plan: budgets, time, or the number of placeholders."""
        if self._is_beyond_budgets:
            names = " and ".join(self.problem.budgets)
            yield f"no plan is known that keeps the budget of {names}; without it there is one"
        elif self.steps and self.creations:
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

    def without_budgets(self, problem: Problem) -> Problem | None:
        """Return a problem with placeholders without its budgets; None if it has none."""
        return replace(problem, budgets={}) if problem.budgets else None

    def find_objection(self) -> str:
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


def _add_statistics(before: Statistics, latest: Statistics) -> Statistics:
    """Return the statistics of the latest round with the counts and times of all rounds."""
    names = ("expanded", "evaluated", "generated", "ground_seconds", "search_seconds", "search_cpu_seconds")
    tiers = {tier for each in (before, latest) for tier in each.tier.split(", ") if tier}
    sums = {name: getattr(before, name) + getattr(latest, name) for name in names}
    return replace(latest, **sums, tier=", ".join([tier for tier in TIERS if tier in tiers]))
