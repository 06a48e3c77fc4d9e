"""The smallest change of the initial state that makes a problem solvable, with a plan that proves it.

Relevant facts that could hold, or fail, and values and bounds of fluents are candidates. Static values that a changed
problem lacks, such as the length of an assumed corridor, are taken to be 0.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import islice, product
from typing import Any, Final

from planner.errors import UnsupportedError
from planner.explain.amounts import bound_candidates, find_candidates, sharpen
from planner.explain.candidate_facts import Candidates
from planner.explain.comparison_facts import ComparisonFacts
from planner.explain.excuses import (
    PRICE,
    UNNAMED,
    AnyAssumption,
    Assumption,
    Items,
    NumberAssumption,
    add_assumptions,
    apply_assumptions,
    assume_prefix,
    bound_assumptions,
    make_assumptions,
    split_plan,
)
from planner.explain.unreachable_goals import Shortfall
from planner.limits import LimitReached, Limits, Stop
from planner.model import Atom
from planner.model.actions import Action, CostTerm, Literal
from planner.model.constructs import CONSTRAINED, Construct, has
from planner.model.domain import TypeHierarchy, numeric_fluents
from planner.model.problem import Problem
from planner.options import SolveOptions
from planner.plan import Plan, Progress, Result, Status, Step, StoppedBy
from planner.semantics.simulation import Simulation, price_steps
from planner.validation.validate import check_steps

VALUES: Final = 10_000
"""Most missing values of one function that are added."""


def add_missing_values(problem: Problem) -> Problem:
    """Add the value 0 for all instances of functions in costs and uses that have none."""
    missing = {atom: 0 for atom in _possible_values(problem) if atom not in problem.values}
    return replace(problem, values={**problem.values, **missing}) if missing else problem


def _possible_values(problem: Problem) -> Iterator[Atom]:
    members = TypeHierarchy(problem.domain.types).objects_by_type(problem.all_objects)
    for name in dict.fromkeys(
        term.predicate
        for action in problem.domain.actions.values()
        for term in _terms(action)
        if isinstance(term, Atom)
    ):
        parameters = problem.domain.functions[name].parameters
        choices = [
            dict.fromkeys(each for kind in parameter.types for each in members[kind]) for parameter in parameters
        ]
        yield from (Atom(name, arguments) for arguments in islice(product(*choices), VALUES))


def _terms(action: Action) -> list[CostTerm]:
    return [*action.cost, *[term for used in action.uses.values() for term in used]]


def values_read(problem: Problem, steps: Iterable[Step]) -> Iterator[Atom]:
    """Yield the static functions that the costs and uses of `steps` read, each instance once."""
    seen: set[Atom] = set()
    for step in steps:
        action = problem.domain.actions[step.action]
        binding = {parameter.name: value for parameter, value in zip(action.parameters, step.arguments, strict=True)}
        for term in _terms(action):
            if isinstance(term, Atom) and (value := term.substitute(binding)) not in seen:
                seen.add(value)
                yield value


@dataclass(frozen=True, slots=True)
class Change:
    """A set of assumptions under which `plan` solves the problem; `problem` is the changed problem.

    No set of fewer than `at_least` assumptions suffices. `uses_goal` says that parts of the goal were candidates, since
    nothing else helps. `unpriced` are static values that the plan's cost needs and the source lacks; they count as 0.
    """

    assumptions: tuple[AnyAssumption, ...]
    at_least: int
    uses_goal: bool
    plan: Plan
    unpriced: tuple[Atom, ...]
    problem: Problem = field(repr=False, compare=False)

    @property
    def proved_smallest(self) -> bool:
        """Whether no smaller set is proved to suffice."""
        return len(self.assumptions) <= self.at_least

    def to_dict(self) -> dict[str, Any]:
        """Return the change as JSON-ready data."""
        return {
            "assumptions": [assumption.to_dict() for assumption in self.assumptions],
            "at_least": self.at_least,
            "proved_smallest": self.proved_smallest,
            "uses_goal": self.uses_goal,
            "plan": self.plan.to_dict(),
            "unpriced": list(map(str, self.unpriced)),
        }


def make_change(
    problem: Problem, assumed: Iterable[AnyAssumption], steps: Iterable[Step], *, uses_goal: bool
) -> Change | None:
    """Return the change of `problem` under which `steps` are a plan, without needless assumptions.

    Its `at_least` is 0. Return None where the plan would miss the deadline or break a constraint.
    """
    kept, left = list(assumed), list(steps)
    if has(problem, *CONSTRAINED, Construct.DEADLINE) and not _works(apply_assumptions(problem, kept), left):
        return None
    for assumption in sorted(kept, key=lambda each: -each.price):
        fewer = [each for each in kept if each is not assumption]
        rest = _keep_applicable(apply_assumptions(problem, fewer), left)
        if rest is not None:
            kept, left = fewer, rest
    new = add_missing_values(apply_assumptions(problem, kept))
    unpriced = tuple([value for value in values_read(new, left) if value not in problem.values])
    return Change(tuple(kept), 0, uses_goal, _make_plan(new, left), unpriced, new)


def _keep_applicable(problem: Problem, steps: Iterable[Step]) -> list[Step] | None:
    """Return those of `steps` that are applicable in sequence; None if they are no plan."""
    simulation = Simulation(problem)
    left = []
    for step in steps:
        if simulation.find_objection(step) is None:
            simulation.apply(step)
            left.append(step)
    return left if _works(problem, left) else None


def _works(problem: Problem, steps: Sequence[Step]) -> bool:
    return check_steps(add_missing_values(problem), steps).valid


def _make_plan(problem: Problem, steps: Iterable[Step]) -> Plan:
    """Return `steps` as a plan with exact costs, checked on the changed `problem`."""
    plan = Plan(price_steps(problem, steps), problem)
    verdict = check_steps(problem, plan)
    assert verdict.valid, verdict.reason
    return plan


SHARE: Final = 0.3
"""Share of the remaining time for one search that others may follow."""


FEW: Final = 10
"""Most values that are tried one by one beside a change of facts."""


GRACE: Final = 0.5
"""Time to look for a better answer of the smallest size, in seconds."""


@dataclass(slots=True)
class Finding:
    """The result of the search for a change so far.

    `at_least` assumptions are needed: 0 while the problem itself may be solvable. `plan` solves the unchanged problem.
    `stopped_by` is the limit that ended a search. Where `change` is one of facts, `also` is one of a single number.
    """

    at_least: int = 0
    change: Change | None = None
    plan: Plan | None = None
    stopped_by: StoppedBy | None = None
    also: Change | None = None

    @property
    def leaves_the_goal_alone(self) -> bool:
        """Whether no parts of the goal need be assumed: other facts suffice, or their search was ended."""
        return self.stopped_by is not None if self.change is None else not self.change.uses_goal

    @property
    def is_final(self) -> bool:
        """Whether the finding cannot be improved."""
        return self.plan is not None or (self.change is not None and self.change.proved_smallest)

    def keep_if_smaller(self, change: Change | None) -> None:
        """Keep `change` if it is smaller than the one so far."""
        if change is None:
            return
        if self.change is None or _size(change) < _size(self.change):
            self.change = change

    def raise_bound(self, at_least: int) -> None:
        """Raise the lower bound on the number of assumptions to `at_least`."""
        self.at_least = max(self.at_least, at_least)
        if self.change is not None:
            self.change = replace(self.change, at_least=self.at_least)


def _has_numbers(change: Change) -> bool:
    return any(isinstance(each, NumberAssumption) for each in change.assumptions)


def _size(change: Change) -> tuple[int, int]:
    return len(change.assumptions), sum(each.price for each in change.assumptions)


@dataclass(frozen=True, slots=True)
class Pool:
    """Candidates for one search; `complete` says that no other literal is relevant."""

    literals: list[Literal]
    uses_goal: bool
    complete: bool = False


def find_smallest_change(
    problem: Problem,
    source: Problem,
    shortfall: Shortfall,
    limits: Limits,
    *,
    reachable: bool,
    numbers: ComparisonFacts | None = None,
) -> Finding:
    """Return the smallest change found within `limits`; `reachable` says that the goal is relaxed reachable.

    Only facts that `source` declares are assumed; `problem` is `source` or compiled from it. With `numbers`, which
    `shortfall` is about, other values and bounds of fluents are assumed, too. The ends of explanations
    are tried first, together. Then pools of candidates are searched, small ones first. The proof that no smaller change
    suffices needs a change of one assumption, or the complete pool. Raises `UnsupportedError` for constructs that
    search does not support.
    """
    search = _ChangeSearch(problem, source, shortfall, limits, numbers)
    finding = Finding(at_least=0 if reachable else 1)
    try:
        if numbers is not None:
            search.try_unchanged(finding)
        search.try_ends_of_explanations(finding)
        pools = search.pools()
        while not finding.is_final and (pool := next(pools, None)) is not None:
            if pool.uses_goal and finding.leaves_the_goal_alone:
                break
            search.search_pool(pool, finding)
        if numbers is not None:
            search.sharpen(finding)
    except LimitReached as limit:
        finding.stopped_by = limit.stopped_by
    if finding.is_final:
        finding.stopped_by = None
    return finding


class _ChangeSearch:
    def __init__(
        self,
        problem: Problem,
        source: Problem,
        shortfall: Shortfall,
        limits: Limits,
        numbers: ComparisonFacts | None,
    ) -> None:
        self._problem = problem
        self._shortfall = shortfall
        self._limits = limits
        self._numbers = numbers
        self._plain = shortfall.relaxed.normal.problem if numbers is None else problem
        self._items = Items(shortfall.relaxed.normal)
        self._candidates = Candidates(shortfall.relaxed, shortfall.providers, source)

    def try_unchanged(self, finding: Finding) -> None:
        """Search for a plan of the problem as it is, as the lower bounds on numbers of assumptions are weak."""
        result = self._solve(self._problem, SHARE, mode="first")
        if result.plan is not None:
            finding.plan = replace(result.plan, problem=self._problem)
        elif result.status is Status.UNSOLVABLE:
            finding.raise_bound(1)

    def sharpen(self, finding: Finding) -> None:
        """Look for a change of a single number if there is none yet, and find the least amounts."""
        if finding.plan is not None:
            return
        if finding.change is None or len(finding.change.assumptions) > 1:
            self._keep(finding, self._find_bound())
        if finding.change is not None and not _has_numbers(finding.change):
            finding.also = self._sharpen(self._find_number())
        finding.change = self._sharpen(finding.change)

    @staticmethod
    def _keep(finding: Finding, change: Change | None) -> None:
        finding.keep_if_smaller(change)
        finding.raise_bound(finding.at_least)

    def _sharpen(self, change: Change | None) -> Change | None:
        """Return `change` with the least amounts that are found."""
        if change is None or not _has_numbers(change):
            return change
        made, steps = sharpen(self._problem, change.assumptions, change.plan.steps, self._limits)
        new = make_change(self._problem, made, steps, uses_goal=change.uses_goal)
        return change if new is None else replace(new, at_least=change.at_least)

    def _find_bound(self) -> Change | None:
        """Return the first change of one bound of a function that gives a plan."""
        changing = sorted(numeric_fluents(self._problem.domain))
        return next(filter(None, map(self._try_number, bound_candidates(self._problem, changing))), None)

    def _find_number(self) -> Change | None:
        """Return the first change of one value, or one bound, that gives a plan, though facts give one as well."""
        assert self._numbers is not None
        values = find_candidates(self._numbers, uses_goal=False)
        return next(filter(None, map(self._try_number, values[:FEW])), None) or self._find_bound()

    def _try_number(self, assumption: NumberAssumption) -> Change | None:
        result = self._solve(apply_assumptions(self._problem, [assumption]), SHARE, mode="first")
        if result.plan is None:
            return None
        return make_change(self._problem, [assumption], result.plan.steps, uses_goal=False)

    def try_ends_of_explanations(self, finding: Finding) -> None:
        """Assume all ends of explanations together, and search for a plan."""
        literals = [literal for literal in self._shortfall.needs if literal in self._shortfall.named]
        made = self._make_assumptions(
            [each for each in literals if self._candidates.is_assumable(each) and not self._candidates.is_goal(each)]
        )
        if made:
            result = self._solve(add_missing_values(apply_assumptions(self._problem, made)), SHARE, mode="first")
            if result.plan is not None:
                finding.keep_if_smaller(make_change(self._problem, made, result.plan.steps, uses_goal=False))
                finding.raise_bound(finding.at_least)

    def pools(self) -> Iterator[Pool]:
        """Yield pools of candidates, small ones first; those with parts of the goal only after all others."""
        candidates = self._candidates
        sources = (
            (self._assumable_needs, False),
            (cache(candidates.nearby), False),
            (cache(candidates.all_relevant), True),
        )
        for uses_goal in (False, True):
            for source, complete in sources:
                literals = source()
                if literals is not None and (literals or complete or self._numbers is not None):
                    chosen = [literal for literal in literals if uses_goal or not candidates.is_goal(literal)]
                    yield Pool(chosen, uses_goal, complete and self._numbers is None)

    def _assumable_needs(self) -> list[Literal]:
        return [literal for literal in self._shortfall.needs if self._candidates.is_assumable(literal)]

    def search_pool(self, pool: Pool, finding: Finding) -> None:
        """Search with the candidates of `pool`, and update `finding`."""
        made: list[AnyAssumption] = [*self._make_assumptions(pool.literals)]
        made += [] if self._numbers is None else find_candidates(self._numbers, uses_goal=pool.uses_goal)
        prefix = assume_prefix(self._plain)
        enough = FewestFound(lambda plan: len(split_plan(plan.steps, prefix, made)[0]), finding.at_least)
        result = self._solve(
            add_missing_values(add_assumptions(self._plain, made)),
            1 if pool.complete else SHARE,
            cancel=Stop(self._limits.cancel, enough.is_over),
            on_progress=enough.watch,
        )
        if pool.uses_goal:
            finding.at_least = min(finding.at_least, 1)
        if result.plan is not None:
            chosen, steps = split_plan(result.plan.steps, prefix, made)
            change = make_change(self._problem, chosen, steps, uses_goal=pool.uses_goal)
            if change is None or change.assumptions:
                finding.keep_if_smaller(change)
            else:
                finding.plan = replace(change.plan, problem=self._problem)
            if change is None:
                finding.stopped_by = StoppedBy.INCOMPLETE
        bound = self._lower_bound(result, pool)
        finding.raise_bound(min(bound, 1) if has(self._problem, *CONSTRAINED) else bound)
        if result.status in _OPEN and not enough.is_known:
            finding.stopped_by = result.stopped_by
        self._limits.check()

    def _make_assumptions(self, literals: list[Literal]) -> list[Assumption]:
        """Return `literals` as assumptions; those that end explanations are the cheapest."""
        roots = [literal for literal in literals if not self._shortfall.providers.of(literal)]
        prices = dict.fromkeys(roots, PRICE + UNNAMED) | dict.fromkeys(self._shortfall.named, PRICE)
        return make_assumptions(literals, prices, self._items, self._problem.initial)

    def _solve(self, problem: Problem, share: float, **options: Any) -> Result:
        from planner.solve import answer

        result = answer(problem, SolveOptions().within(self._limits, share, **options))
        if result.status is Status.UNSUPPORTED:
            raise UnsupportedError(result.reason)
        return result

    @staticmethod
    def _lower_bound(result: Result, pool: Pool) -> int:
        """Return the lower bound on the number of any assumptions that `result` proves."""
        if result.status is Status.UNSOLVABLE:
            return 1
        needed = bound_assumptions(result.lower_bound or 0)
        return needed if pool.complete else min(needed, 1)


_OPEN: Final = (Status.SOLVED, Status.UNKNOWN)


class FewestFound:
    """Ends a search `GRACE` seconds after its plan is known to make the fewest assumptions.

    `count` returns the number of assumptions in a plan; `at_least` so many are needed. In the remaining time, search
    may find cheaper ones.
    """

    def __init__(self, count: Callable[[Plan], int], at_least: int) -> None:
        self._at_least = at_least
        self._count = count
        self._known_at: float | None = None

    def watch(self, progress: Progress) -> None:
        """Check whether the plan of `progress` makes the fewest assumptions."""
        bound = max(self._at_least, bound_assumptions(progress.lower_bound or 0))
        if progress.plan is not None and self._count(progress.plan) <= bound:
            self._known_at = self._known_at or time.monotonic()

    @property
    def is_known(self) -> bool:
        """Whether the fewest assumptions of this search are known."""
        return self._known_at is not None

    def is_over(self) -> bool:
        """Return whether the search is to end."""
        return self._known_at is not None and time.monotonic() > self._known_at + GRACE
