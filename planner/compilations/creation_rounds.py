"""Search where actions create objects: rounds with more and more placeholders, until more give no better plan.

The answer of a round holds for plans that create no more objects than the round has placeholders. The costs of creating
steps bound the cost of all other plans from below. The parts of the goal tell how many creating steps every plan needs,
and relaxed reachability with enough placeholders can prove that there is no plan with any number of created objects.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal

from planner.compilations.lifted_relevance import remove_irrelevant_actions
from planner.compilations.object_creation import (
    add_placeholders,
    compile_object_creation,
    created_types,
    expand_in_order,
    map_plan_back,
)
from planner.lightweight import Any, Final, dataclass, replace
from planner.limits import LimitReached, Limits
from planner.model.actions import Action, positive_atoms
from planner.model.domain import TypeHierarchy, creates_objects
from planner.model.formulas import Atom, Exists, Forall, Formula, Number, Variable, conjuncts, is_variable, walk
from planner.model.problem import Goal, Metric, Problem
from planner.options import ANY_PLAN, Solve, SolveOptions
from planner.plan import EXACT, Plan, Progress, Result, Statistics, Status, StoppedBy, exact, unsupported_result
from planner.search.search_run import TIERS
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
        scopes.append((variables, [action.requires, *(when.requires for when in action.when)]))
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
    """A type of created objects: one step creates at most `each` of it, and costs at least `least`."""

    kind: str
    each: int
    least: Number

    def bound_beyond(self, count: int) -> Number:
        """Return a lower bound on the cost of plans that create more than `count` objects of this type."""
        return exact(EXACT.multiply(Decimal(self.least), count // self.each + 1))

    def count_sufficient(self, cost: Number) -> int | None:
        """Return the maximum number of objects in plans cheaper than `cost`; None if there is no bound."""
        if self.least == 0:
            return None
        steps, rest = divmod(cost, self.least)
        return max(int(steps) if rest else int(steps) - 1, 0) * self.each


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


def bound_beyond(known: Iterable[Creation], counts: Mapping[str, int]) -> Number | None:
    """Return a lower bound on the cost of plans that create more of some type than `counts`; None if there are none."""
    return min((each.bound_beyond(counts[each.kind]) for each in known), default=None)


def count_needed_creations(problem: Problem) -> int:
    """Return a lower bound on the creating steps of one kind in every plan.

    A part of the goal may ask for an object with a fact that only a creating step provides, about its new object and
    other arguments: `some ?t: closed(?t) and about(?t, o1)`. Parts with different arguments need different facts, and
    one step provides a limited number of them.
    """
    asked: dict[str, set[tuple[str, ...]]] = {}
    for fact in _find_asked_facts(problem):
        asked.setdefault(fact.predicate, set()).add(fact.args)
    return max((_count_needed_steps(problem, predicate, rows) for predicate, rows in asked.items()), default=0)


def _find_asked_facts(problem: Problem) -> Iterator[Atom]:
    """Yield the facts that the goal asks for about some object, with `?` in its place."""
    for part in conjuncts(problem.goal.hard):
        if isinstance(part, Exists):
            names = {each.name for each in part.variables}
            for atom in conjuncts(part.part):
                if isinstance(atom, Atom) and len(names.intersection(atom.args)) == 1 and len(atom.args) > 1:
                    yield Atom(atom.predicate, tuple(["?" if each in names else each for each in atom.args]))


def _count_needed_steps(problem: Problem, predicate: str, rows: set[tuple[str, ...]]) -> int:
    """Return the number of creating steps that the facts of `rows` need; 0 if other steps may provide them."""
    places = {row.index("?") for row in rows}
    stated = {fact.predicate for fact in (*problem.initial, *problem.unknown)}
    if len(places) > 1 or predicate in stated or predicate in problem.domain.derived:
        return 0
    (place,) = places
    most = 0
    for action in problem.domain.actions.values():
        facts = [fact for fact in _provided_atoms(action) if fact.predicate == predicate]
        own = {each.name for each in action.parameters}
        if any(fact.args[place] not in action.creates for fact in facts):
            return 0
        terms = {each for fact in facts for each in fact.args if is_variable(each)}
        if not terms <= own | action.creates.keys():
            return 0
        most = max(most, len(set(facts)))
    return -(-len(rows) // most) if most else 0


def _provided_atoms(action: Action) -> Iterable[Atom]:
    parts = [each.provides for each in action.effects] + [each.provides for each in action.outcomes]
    return (fact for provides in parts for fact in positive_atoms(provides))


MOST_STEPS: Final = 64
"""Maximum number of creating steps of one type in the plans that the rounds search."""
SECONDS: Final = 5.0
"""Without a time limit: seconds per creating step for a round without a plan; the last round is unlimited."""


def solve_with_creation(problem: Problem, options: SolveOptions, solve: Solve) -> Result:
    """Solve `problem`, whose actions create objects; `solve` is called for problems with placeholders.

    Plans name created objects by placeholders. UNSOLVABLE and OPTIMAL hold for any number of created objects. Deadlines
    are UNSUPPORTED, since the order in which search takes placeholders would delay steps needlessly.
    """
    if problem.deadline is not None:
        return unsupported_result("deadlines where actions create objects")
    return CreationRounds(problem, options, solve).solve_within_limits()


class CreationRounds:
    """The rounds so far, with the best plan and a lower bound; problems of another kind have a subclass."""

    def __init__(self, problem: Any, options: SolveOptions, solve: Solve) -> None:
        self._problem = problem
        self._options = options
        self._solve = solve
        self._limits = options.limits()
        self._creations: list[Creation] = []
        self._counts: dict[str, int] = {}
        self._beyond: Number | None = None
        self._bound: Number | None = None
        self._plan: Plan | None = None
        self._spent = Statistics()
        self._is_beyond_budgets: bool | None = None
        """Whether a round without a plan has one without budgets; None if that is unknown."""

    def solve_within_limits(self) -> Result:
        """Search, and return the answer, or the best one when a limit ends the search."""
        try:
            return self.run_rounds()
        except LimitReached as limit:
            return self.current_result(limit.stopped_by, self._blame_budgets() if self._is_beyond_budgets else "")
        except MemoryError:
            return self.current_result(StoppedBy.MEMORY)
        except KeyboardInterrupt:
            return self.current_result(StoppedBy.CANCELLED)

    def find_creations(self) -> list[Creation]:
        """Return the creations that are relevant to the goal."""
        return find_creations(self._problem)

    def count_fewest_steps(self) -> int:
        """Return a lower bound on the creating steps of one kind in every plan."""
        return count_needed_creations(self._problem)

    def add_placeholders(self, counts: Mapping[str, int]) -> Any:
        """Return the problem with these numbers of placeholders."""
        return compile_object_creation(self._problem, counts).problem

    def check_plan(self, plan: Plan) -> Verdict:
        """Check `plan` with the independent plan checker."""
        return check_steps(self._problem, plan)

    def is_proved(self, steps: int) -> bool:
        """Return whether unsolvability with the present placeholders is proved for any number of them."""
        if not self._creations or (steps == 1 and is_relaxed_unreachable(self._problem, self._limits)):
            return True
        return all(self._is_spared(each, steps) for each in self._creations)

    def run_rounds(self) -> Result:
        """Search in rounds, and return the answer. Raises `LimitReached` between two rounds."""
        self._creations = self.find_creations()
        steps: int | None = min(max(1, self.count_fewest_steps()), MOST_STEPS)
        while steps is not None:
            found = self._run_round(steps)
            if found.status is Status.UNSUPPORTED:
                return found
            if found.status is Status.UNSOLVABLE and self._plan is None and self.is_proved(steps):
                return replace(found, lower_bound=None, statistics=self._spent)
            if self._is_final(found):
                return self.current_result(found.stopped_by, found.reason)
            if found.status is Status.UNSOLVABLE and self._plan is None and self._is_beyond_budgets is None:
                self._is_beyond_budgets = self._has_plan_without_budgets(steps)
            self._limits.check()
            steps = self._next_steps(steps)
        if self._is_beyond_budgets:
            return self.current_result(StoppedBy.INCOMPLETE, self._blame_budgets())
        kinds = " or ".join(f"'{each.kind}'" for each in self._creations)
        reason = f"plans with more than {MOST_STEPS} steps that create {kinds} were not searched for"
        return self.current_result(StoppedBy.INCOMPLETE, reason)

    def _has_plan_without_budgets(self, steps: int) -> bool | None:
        """Return whether the present round has a plan without budgets; None if unknown, or without budgets."""
        if not isinstance(self._problem, Problem) or not self._problem.budgets:
            return None
        free = replace(self.add_placeholders(self._counts), budgets={})
        turn = _Turn(self._limits.cancel, self._time_share(steps))
        return self._search(free, ANY_PLAN, turn).has_plan or None

    def _blame_budgets(self) -> str:
        """Return the reason that budgets exclude all known plans, or "" if there is a plan."""
        if self._plan is not None:
            return ""
        names = " and ".join(self._problem.budgets)
        return f"no plan is known that keeps the budget of {names}; without it there is one"

    def _is_final(self, found: Result) -> bool:
        """Return whether further rounds cannot improve the answer, or are not wanted."""
        if self._is_optimal or not self._creations or found.stopped_by in (StoppedBy.MEMORY, StoppedBy.CANCELLED):
            return True
        return found.plan is not None and found.stopped_by in (StoppedBy.FIRST_PLAN, StoppedBy.INCOMPLETE)

    def _next_steps(self, steps: int) -> int | None:
        """Return the creating steps of each kind that the next round allows; None if it would allow no more."""
        wanted = [self._count_sufficient(each) for each in self._creations]
        if self._plan is None or None in wanted:
            return 2 * steps if steps < MOST_STEPS else None
        most = max((number or 0) // each.each for number, each in zip(wanted, self._creations, strict=True))
        return min(most, MOST_STEPS) if most > steps and steps < MOST_STEPS else None

    def _count_sufficient(self, creation: Creation) -> int | None:
        """Return the placeholders that suffice for plans better than the best one; None if there is no bound."""
        return None if self._plan is None else creation.count_sufficient(self._plan.charge)

    def _run_round(self, steps: int) -> Result:
        """Search with placeholders for `steps` creating steps of each kind, and update plan and bound."""
        for each in self._creations:
            enough, most = self._count_sufficient(each), steps * each.each
            number = most if enough is None else min(most, enough)
            self._counts[each.kind] = max(self._counts.get(each.kind, 0), number)
        self._beyond = bound_beyond(self._creations, self._counts)
        turn = _Turn(self._limits.cancel, self._time_share(steps), goes_on=self._suffices)

        def report(progress: Progress) -> None:
            self._update(progress.plan, progress.lower_bound)
            turn.goes_on = self._suffices
            if self._options.on_progress is not None:
                self._options.on_progress(replace(progress, plan=self._plan, lower_bound=self._bound))

        found = self._search(self.add_placeholders(self._counts), replace(self._options, on_progress=report), turn)
        best = found.plan if found.status is Status.OPTIMAL else None
        self._update(found.plan, found.lower_bound if best is None else best.charge)
        if found.status is Status.UNSOLVABLE:
            self._update(None, self._beyond)
        late = turn.is_over and found.stopped_by is StoppedBy.CANCELLED
        return replace(found, stopped_by=StoppedBy.TIME) if late else found

    def _search(self, expanded: Any, options: SolveOptions, turn: _Turn) -> Result:
        found = self._solve(expanded, options.within(self._limits, cancel=turn))
        self._spent = _add_statistics(self._spent, found.statistics)
        return found

    def _time_share(self, steps: int) -> float | None:
        """Return the seconds that a round may take before there is a plan; None if it is the last."""
        rounds = (MOST_STEPS // steps).bit_length()
        if rounds == 1 or not self._creations:
            return None
        return SECONDS * steps if self._limits.remaining is None else self._limits.remaining / rounds

    def _update(self, plan: Plan | None, bound: Number | None) -> None:
        """Update the best plan, and the lower bound by a `bound` on plans within the placeholders of the round."""
        if plan is not None and (self._plan is None or plan.charge < self._plan.charge):
            self._plan = map_plan_back(plan, self._problem)
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

    def _is_spared(self, creation: Creation, steps: int) -> bool:
        """Return whether no reachable state has used so many placeholders that another creating step lacks one."""
        expanded = compile_object_creation(self._problem, self._counts).problem
        own = [each.name for each in expanded.objects[len(self._problem.objects) :] if each.types == (creation.kind,)]
        born = Atom(expand_in_order(self._problem.domain).existing, (own[-creation.each],))
        turn = _Turn(self._limits.cancel, self._time_share(steps))
        found = self._search(replace(expanded, goal=Goal(born), constraints=()), ANY_PLAN, turn)
        return found.status is Status.UNSOLVABLE

    def current_result(self, stopped_by: StoppedBy, reason: str = "") -> Result:
        """Return the answer from the best plan and the bound; `stopped_by` says why the search ended."""
        if self._plan is not None:
            verdict = self.check_plan(self._plan)
            if not verdict.valid:
                raise RuntimeError(f"internal error: search found a plan that is not valid: {verdict.reason}")
        if self._is_optimal:
            return Result(Status.OPTIMAL, StoppedBy.EXHAUSTED, self._plan, self._bound, self._spent)
        status = Status.UNKNOWN if self._plan is None else Status.SOLVED
        return Result(status, stopped_by, self._plan, self._bound, self._spent, reason)


class _Turn(threading.Event):
    """Cancels a round after its `seconds`, unless it `goes_on`, or when `outer` is set."""

    def __init__(self, outer: threading.Event | None, seconds: float | None, *, goes_on: bool = False) -> None:
        super().__init__()
        self._outer = outer
        self._end = None if seconds is None else time.monotonic() + seconds
        self.goes_on = goes_on

    @property
    def is_over(self) -> bool:
        """Whether the clock ended the round."""
        return not self.goes_on and self._end is not None and time.monotonic() > self._end

    def is_set(self) -> bool:
        """Return whether the search is to end."""
        return self.is_over or (self._outer is not None and self._outer.is_set())


def _add_statistics(before: Statistics, latest: Statistics) -> Statistics:
    """Return the statistics of the latest round with the counts and times of all rounds."""
    names = ("expanded", "evaluated", "generated", "ground_seconds", "search_seconds", "search_cpu_seconds")
    tiers = {tier for each in (before, latest) for tier in each.tier.split(", ") if tier}
    sums = {name: getattr(before, name) + getattr(latest, name) for name in names}
    return replace(latest, **sums, tier=", ".join([tier for tier in TIERS if tier in tiers]))
