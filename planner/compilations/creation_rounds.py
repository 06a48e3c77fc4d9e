"""Search where actions create objects: in rounds with ever more placeholders, until more cannot give a better plan.

The answer of a round holds for plans that create no more objects than it has placeholders. What a plan costs at least
that creates more follows from the costs of the creating steps, and how many of these every plan needs from the parts of
the goal.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal

from planner.compilations.lifted_relevance import relevant_part
from planner.compilations.object_creation import (
    compile_object_creation,
    created_types,
    declared_plan,
    in_order,
    with_placeholders_in_any_order,
)
from planner.lightweight import Any, Final, dataclass, replace
from planner.limits import LimitReached, Limits
from planner.model.actions import Action, positive_atoms
from planner.model.domain import TypeHierarchy, creates_objects
from planner.model.formulas import Atom, Exists, Forall, Formula, Number, Variable, conjuncts, is_variable, walk
from planner.model.problem import Goal, Metric, Problem
from planner.options import ANY_PLAN, Solve, SolveOptions
from planner.plan import Plan, Progress, Result, Statistics, Status, StoppedBy, exact, refusal
from planner.portfolio.incumbent import EXACT
from planner.validation.validate import validate
from planner.validation.verdict import Verdict

LARGEST_RULE: Final = 4
"""More placeholders than that would make too many instances of the rule that needs them."""


def with_enough(problem: Problem) -> Problem | None:
    """Return `problem` with placeholders enough for relaxed reachability; None where they would be too many.

    Placeholders that may be created in any order can be exchanged for each other, and so can relaxed derivations. A
    step of one speaks of no more of them than the largest rule has variables: what is out of reach with so many is out
    of reach with more.
    """
    if not creates_objects(problem.domain):
        return problem
    sizes = rule_sizes(problem)
    free = replace(problem, constraints=()) if problem.constraints else problem
    return None if max(sizes.values()) > LARGEST_RULE else with_placeholders_in_any_order(free, sizes)


def out_of_reach(problem: Problem, limits: Limits) -> bool:
    """Return whether the goal is out of reach, with deletes ignored, however many objects are created.

    False where that is not known. Raises `LimitReached`.
    """
    from planner.grounding.ground import ground

    enough = with_enough(problem)
    return enough is not None and ground(enough, limits).unreachable_goal is not None


def rule_sizes(problem: Problem) -> dict[str, int]:
    """Return, for each type that is created, how many variables of one rule may stand for such objects; at least 1."""
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
    """One type of objects that can help: a step creates at most `each` of it, and costs `least` or more."""

    kind: str
    each: int
    least: Number

    def beyond(self, count: int) -> Number:
        """Return what a plan costs at least that creates more than `count` objects of this type."""
        return exact(EXACT.multiply(Decimal(self.least), count // self.each + 1))

    def enough(self, cost: Number) -> int | None:
        """Return how many objects a plan that costs less than `cost` can create at most; None if that has no bound."""
        if self.least == 0:
            return None
        steps, rest = divmod(cost, self.least)
        return max(int(steps) if rest else int(steps) - 1, 0) * self.each


def creations(problem: Problem) -> list[Creation]:
    """Return what can be created that may help to reach the goal of `problem`."""
    expanded = compile_object_creation(problem, 1).problem
    return creations_by([problem.domain.actions[name] for name in relevant_part(expanded).domain.actions], problem)


def creations_by(actions: Sequence[Action], problem: Problem) -> list[Creation]:
    """Return what `actions` of `problem` can create."""
    return [
        Creation(kind, each, min(least_cost(action, problem) for action in actions if kind in action.creates.values()))
        for kind, each in created_types(actions).items()
    ]


def least_cost(action: Action, problem: Problem) -> Number:
    """Return a number that no instance of `action` costs less than."""
    if problem.metric is Metric.LENGTH:
        return 1
    total: Number = 0
    for term in action.cost:
        if isinstance(term, Atom):
            total += min((value for key, value in problem.values.items() if key.predicate == term.predicate), default=0)
        else:
            total += term if isinstance(term, Number) else 0
    return total


def beyond(known: Iterable[Creation], counts: Mapping[str, int]) -> Number | None:
    """Return what a plan costs at least that creates more of some type than `counts` says; None if nothing can."""
    return min((each.beyond(counts[each.kind]) for each in known), default=None)


def fewest_creations(problem: Problem) -> int:
    """Return a number of creating steps of one kind that every plan has at least; 0 where none is known to be needed.

    A part of the goal may ask for some object with a fact that only a creating step provides, about its new object and
    other arguments: `some ?t: closed(?t) and about(?t, o1)`. Parts with other arguments need steps of their own, but
    for as many as one step provides such facts.
    """
    asked: dict[str, set[tuple[str, ...]]] = {}
    for fact in _asked(problem):
        asked.setdefault(fact.predicate, set()).add(fact.args)
    return max((_needed(problem, predicate, rows) for predicate, rows in asked.items()), default=0)


def _asked(problem: Problem) -> Iterator[Atom]:
    """Yield the facts with one open argument that the goal asks for about some object."""
    for part in conjuncts(problem.goal.hard):
        if isinstance(part, Exists):
            names = {each.name for each in part.variables}
            for atom in conjuncts(part.part):
                if isinstance(atom, Atom) and len(names.intersection(atom.args)) == 1 and len(atom.args) > 1:
                    yield Atom(atom.predicate, tuple(["?" if each in names else each for each in atom.args]))


def _needed(problem: Problem, predicate: str, rows: set[tuple[str, ...]]) -> int:
    """Return how many steps provide the facts of `rows` at least; 0 where others than creating steps may."""
    places = {row.index("?") for row in rows}
    stated = {fact.predicate for fact in (*problem.initial, *problem.unknown)}
    if len(places) > 1 or predicate in stated or predicate in problem.domain.derived:
        return 0
    (place,) = places
    most = 0
    for action in problem.domain.actions.values():
        facts = [fact for fact in _provided(action) if fact.predicate == predicate]
        own = {each.name for each in action.parameters}
        if any(fact.args[place] not in action.creates for fact in facts):
            return 0
        terms = {each for fact in facts for each in fact.args if is_variable(each)}
        if not terms <= own | action.creates.keys():
            return 0
        most = max(most, len(set(facts)))
    return -(-len(rows) // most) if most else 0


def _provided(action: Action) -> Iterable[Atom]:
    parts = [each.provides for each in action.effects] + [each.provides for each in action.outcomes]
    return (fact for provides in parts for fact in positive_atoms(provides))


MOST_STEPS: Final = 64
"""Plans with more steps that create objects of one type are not searched for."""
SECONDS: Final = 5.0
"""Where time has no limit, a round without a plan lasts so long for each such step; the last one has no limit."""


def solve_with_creation(problem: Problem, options: SolveOptions, solve: Solve) -> Result:
    """Return the answer to `problem`, in which actions create objects; `solve` answers for problems without such.

    Plans name what they create by placeholders. UNSOLVABLE and OPTIMAL hold for any number of created objects. The
    order in which search takes placeholders would keep steps waiting that need not: deadlines are UNSUPPORTED.
    """
    if problem.deadline is not None:
        return refusal("deadlines where actions create objects")
    return Rounds(problem, options, solve).within_limits()


class Rounds:
    """What is known after the rounds so far: the best plan, and what any plan costs at least.

    Problems of another kind have another class, which says how they differ.
    """

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
        """Whether there is a plan, with as many placeholders as in a round without one, if budgets are left out."""

    def within_limits(self) -> Result:
        """Return the answer, or what is known when a limit ends the work."""
        try:
            return self.result()
        except LimitReached as limit:
            return self.answer(limit.stopped_by, self._blamed() if self._is_beyond_budgets else "")
        except MemoryError:
            return self.answer(StoppedBy.MEMORY)
        except KeyboardInterrupt:
            return self.answer(StoppedBy.CANCELLED)

    def creations(self) -> list[Creation]:
        """Return what can be created that may help."""
        return creations(self._problem)

    def fewest(self) -> int:
        """Return how many creating steps of one kind every plan has at least."""
        return fewest_creations(self._problem)

    def compiled(self, counts: Mapping[str, int]) -> Any:
        """Return the problem with so many placeholders of each type."""
        return compile_object_creation(self._problem, counts).problem

    def verdict(self, plan: Plan) -> Verdict:
        """Return what the independent checker says about `plan`."""
        return validate(self._problem, plan)

    def is_proved(self, steps: int) -> bool:
        """Return whether there is no plan with more placeholders, either, where there is none with these."""
        if not self._creations or (steps == 1 and out_of_reach(self._problem, self._limits)):
            return True
        return all(self._is_spared(each, steps) for each in self._creations)

    def result(self) -> Result:
        """Search round after round; raises `LimitReached` between two."""
        self._creations = self.creations()
        steps: int | None = min(max(1, self.fewest()), MOST_STEPS)
        while steps is not None:
            found = self._round(steps)
            if found.status is Status.UNSUPPORTED:
                return found
            if found.status is Status.UNSOLVABLE and self._plan is None and self.is_proved(steps):
                return replace(found, lower_bound=None, statistics=self._spent)
            if self._is_final(found):
                return self.answer(found.stopped_by, found.reason)
            if found.status is Status.UNSOLVABLE and self._plan is None and self._is_beyond_budgets is None:
                self._is_beyond_budgets = self._has_plan_without_budgets(steps)
            self._limits.check()
            steps = self._more(steps)
        if self._is_beyond_budgets:
            return self.answer(StoppedBy.INCOMPLETE, self._blamed())
        kinds = " or ".join(f"'{each.kind}'" for each in self._creations)
        reason = f"plans with more than {MOST_STEPS} steps that create {kinds} were not searched for"
        return self.answer(StoppedBy.INCOMPLETE, reason)

    def _has_plan_without_budgets(self, steps: int) -> bool | None:
        """Return whether a round without a plan would have one if budgets were left out; None where there are none."""
        if not isinstance(self._problem, Problem) or not self._problem.budgets:
            return None
        free = replace(self.compiled(self._counts), budgets={})
        turn = _Turn(self._limits.cancel, self._share(steps))
        return self._search(free, ANY_PLAN, turn).has_plan or None

    def _blamed(self) -> str:
        """Return that budgets are in the way, where that is known and there is no plan."""
        if self._plan is not None:
            return ""
        names = " and ".join(self._problem.budgets)
        return f"no plan is known that keeps the budget of {names}; without it there is one"

    def _is_final(self, found: Result) -> bool:
        """Return whether more placeholders would tell no more, or are not wanted."""
        if self._is_optimal or not self._creations or found.stopped_by in (StoppedBy.MEMORY, StoppedBy.CANCELLED):
            return True
        return found.plan is not None and found.stopped_by in (StoppedBy.FIRST_PLAN, StoppedBy.INCOMPLETE)

    def _more(self, steps: int) -> int | None:
        """Return how many creating steps of each kind the next round allows; None if that would be no more."""
        wanted = [self._enough(each) for each in self._creations]
        if self._plan is None or None in wanted:
            return 2 * steps if steps < MOST_STEPS else None
        most = max((number or 0) // each.each for number, each in zip(wanted, self._creations, strict=True))
        return min(most, MOST_STEPS) if most > steps and steps < MOST_STEPS else None

    def _enough(self, creation: Creation) -> int | None:
        """Return how many placeholders are enough for better plans than the best one; None if that is not known."""
        return None if self._plan is None else creation.enough(self._plan.charge)

    def _round(self, steps: int) -> Result:
        """Search with placeholders for so many creating steps of each kind, and note what that shows."""
        for each in self._creations:
            enough, most = self._enough(each), steps * each.each
            number = most if enough is None else min(most, enough)
            self._counts[each.kind] = max(self._counts.get(each.kind, 0), number)
        self._beyond = beyond(self._creations, self._counts)
        turn = _Turn(self._limits.cancel, self._share(steps), goes_on=self._suffices)

        def report(progress: Progress) -> None:
            self._note(progress.plan, progress.lower_bound)
            turn.goes_on = self._suffices
            if self._options.on_progress is not None:
                self._options.on_progress(replace(progress, plan=self._plan, lower_bound=self._bound))

        found = self._search(self.compiled(self._counts), replace(self._options, on_progress=report), turn)
        best = found.plan if found.status is Status.OPTIMAL else None
        self._note(found.plan, found.lower_bound if best is None else best.charge)
        if found.status is Status.UNSOLVABLE:
            self._note(None, self._beyond)
        late = turn.is_over and found.stopped_by is StoppedBy.CANCELLED
        return replace(found, stopped_by=StoppedBy.TIME) if late else found

    def _search(self, expanded: Any, options: SolveOptions, turn: _Turn) -> Result:
        found = self._solve(expanded, options.within(self._limits, cancel=turn))
        self._spent = _sum(self._spent, found.statistics)
        return found

    def _share(self, steps: int) -> float | None:
        """Return how many seconds a round may take before there is a plan; None if there is nothing else to do."""
        rounds = (MOST_STEPS // steps).bit_length()
        if rounds == 1 or not self._creations:
            return None
        return SECONDS * steps if self._limits.remaining is None else self._limits.remaining / rounds

    def _note(self, plan: Plan | None, bound: Number | None) -> None:
        """Take in what a round has found: a plan, and what plans within its placeholders cost at least."""
        if plan is not None and (self._plan is None or plan.charge < self._plan.charge):
            self._plan = declared_plan(plan, self._problem)
        if bound is not None:
            bound = bound if self._beyond is None else min(bound, self._beyond)
            self._bound = bound if self._bound is None else max(self._bound, bound)

    @property
    def _suffices(self) -> bool:
        """Whether no plan that creates more than the present round allows is better than the one that is known."""
        return self._plan is not None and (self._beyond is None or self._beyond >= self._plan.charge)

    @property
    def _is_optimal(self) -> bool:
        return self._plan is not None and self._bound is not None and self._bound >= self._plan.charge

    def _is_spared(self, creation: Creation, steps: int) -> bool:
        """Return whether always so many placeholders of one type are left that one creating step more finds enough."""
        expanded = compile_object_creation(self._problem, self._counts).problem
        own = [each.name for each in expanded.objects[len(self._problem.objects) :] if each.types == (creation.kind,)]
        born = Atom(in_order(self._problem.domain).existing, (own[-creation.each],))
        turn = _Turn(self._limits.cancel, self._share(steps))
        found = self._search(replace(expanded, goal=Goal(born), constraints=()), ANY_PLAN, turn)
        return found.status is Status.UNSOLVABLE

    def answer(self, stopped_by: StoppedBy, reason: str = "") -> Result:
        """Return what is known now."""
        if self._plan is not None:
            verdict = self.verdict(self._plan)
            if not verdict.valid:
                raise RuntimeError(f"internal error: search found a plan that is not valid: {verdict.reason}")
        if self._is_optimal:
            return Result(Status.OPTIMAL, StoppedBy.EXHAUSTED, self._plan, self._bound, self._spent)
        status = Status.UNKNOWN if self._plan is None else Status.SOLVED
        return Result(status, stopped_by, self._plan, self._bound, self._spent, reason)


class _Turn(threading.Event):
    """Ends a round after its `seconds`, unless it `goes_on`, or when `outer` says so."""

    def __init__(self, outer: threading.Event | None, seconds: float | None, *, goes_on: bool = False) -> None:
        super().__init__()
        self._outer = outer
        self._end = None if seconds is None else time.monotonic() + seconds
        self.goes_on = goes_on

    @property
    def is_over(self) -> bool:
        """Whether it was the clock that ended the round."""
        return not self.goes_on and self._end is not None and time.monotonic() > self._end

    def is_set(self) -> bool:
        """Return whether the search is to end."""
        return self.is_over or (self._outer is not None and self._outer.is_set())


def _sum(before: Statistics, latest: Statistics) -> Statistics:
    """Return the sizes of the latest task, and what all rounds took."""
    names = ("expanded", "evaluated", "generated", "ground_seconds", "search_seconds", "search_cpu_seconds")
    return replace(latest, **{name: getattr(before, name) + getattr(latest, name) for name in names})
