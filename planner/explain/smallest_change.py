"""The smallest change of the initial state that makes a problem solvable, with a plan that proves it.

Candidates are relevant facts that could hold, or fail, initially. Static values that a changed problem lacks, such as
the length of an assumed corridor, are taken to be 0.
"""

from __future__ import annotations

import itertools
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import islice, product
from typing import Any, Final

from planner.compilations.normal_form import Conjunction, to_negation_normal_form
from planner.errors import UnsupportedError
from planner.explain.excuses import (
    PRICE,
    UNNAMED,
    Assumption,
    Items,
    add_assumptions,
    apply_assumptions,
    assume_prefix,
    bound_assumptions,
    make_assumptions,
    split_plan,
)
from planner.explain.near_misses import Providers, Relaxed, atom_of, find_near_misses
from planner.explain.unreachable_goals import Shortfall
from planner.limits import LimitReached, Limits
from planner.model import Atom, Exists, Forall, Formula, Not
from planner.model.actions import Action, CostTerm, Literal
from planner.model.domain import TypeHierarchy
from planner.model.formulas import Variable, children, is_variable, literals_in, substitute
from planner.model.problem import Problem
from planner.options import SolveOptions
from planner.plan import Plan, Progress, Result, Status, Step, StoppedBy
from planner.semantics.simulation import Simulation
from planner.validation.validate import check_steps

NEARBY: Final = 150
"""Literals that the backward search from the goal collects."""
COMPLETE: Final = 1000
"""Most literals up to which all relevant ones are candidates."""


class Candidates:
    """The literals of one problem that may be assumed: basic facts with predicates and objects of `source`."""

    def __init__(self, relaxed: Relaxed, providers: Providers, source: Problem) -> None:
        self._relaxed = relaxed
        self._providers = providers
        self._problem = relaxed.normal.problem
        self._initial = frozenset(self._problem.initial)
        self._declared = frozenset(source.domain.predicates) - relaxed.normal.derived
        self._objects = frozenset([each.name for each in source.all_objects])
        self._goal = to_negation_normal_form(self._problem.goal.hard, itertools.count())
        self._wanted = list(_signed_literals(self._goal))

    def is_assumable(self, literal: Literal) -> bool:
        """Return whether the ground `literal` fails initially and may be assumed."""
        atom = atom_of(literal)
        is_known = atom.predicate in self._declared and self._objects.issuperset(atom.args)
        return is_known and (atom in self._initial) is isinstance(literal, Not)

    def is_goal(self, literal: Literal) -> bool:
        """Return whether `literal` is an instance of a literal in the goal."""
        return any(
            isinstance(goal, Not) is isinstance(literal, Not) and _covers(atom_of(goal), atom_of(literal))
            for goal in self._wanted
        )

    def nearby(self) -> list[Literal]:
        """Return the assumable literals nearest to the goal, by backward search; those of the goal are included."""
        queue = deque(self._goal_literals())
        seen = set(queue)
        found: list[Literal] = []
        while queue and len(seen) < NEARBY:
            literal = queue.popleft()
            if self.is_assumable(literal):
                found.append(literal)
            for provider in self._providers.of(literal):
                for miss in find_near_misses(provider, literal, self._relaxed):
                    new = [each for each in dict.fromkeys((*miss.lacks, *miss.needs)) if each not in seen]
                    seen.update(new)
                    queue.extend(new)
        return [*found, *filter(self.is_assumable, queue)]

    def _goal_literals(self) -> Iterator[Literal]:
        """Yield the ground literals of the goal, up to a limit."""
        return islice(self._ground(self._goal), NEARBY)

    def _ground(self, formula: Formula) -> Iterator[Literal]:
        match formula:
            case Atom() | Not(Atom()):
                yield formula
            case Forall(variables, part) | Exists(variables, part):
                for binding in self._relaxed.bindings(variables):
                    yield from self._ground(substitute(part, binding))
            case _:
                for part in children(formula):
                    yield from self._ground(part)

    def all_relevant(self) -> list[Literal] | None:
        """Return all relevant assumable literals, those of the goal included; None if there are too many."""
        kinds = self._relevant_kinds()
        if sum(map(self._size, kinds)) > COMPLETE:
            return None
        return [literal for kind in kinds for literal in self._instances(kind) if self.is_assumable(literal)]

    def _size(self, kind: Kind) -> int:
        name, negative = kind
        if name not in self._declared or negative:
            return len(self._initial_facts_of(name)) if negative else 0
        return math.prod(len(self._members(variable)) for variable in self._parameters(name))

    def _instances(self, kind: Kind) -> Iterator[Literal]:
        name, negative = kind
        if name not in self._declared:
            return
        if negative:
            yield from (Not(fact) for fact in self._initial_facts_of(name))
        else:
            choices = product(*map(self._members, self._parameters(name)))
            yield from (Atom(name, arguments) for arguments in choices)

    def _initial_facts_of(self, name: str) -> list[Atom]:
        return [fact for fact in self._problem.initial if fact.predicate == name]

    def _parameters(self, name: str) -> tuple[Variable, ...]:
        return self._problem.domain.predicates[name].parameters

    def _members(self, variable: Variable) -> dict[str, None]:
        return self._relaxed.database.members(variable.types)

    def _relevant_kinds(self) -> list[Kind]:
        """Return the relevant kinds of literals."""
        found = dict.fromkeys(map(_kind, self._wanted))
        queue = list(found)
        while queue:
            new = [kind for kind in self._kinds_behind(*queue.pop()) if kind not in found]
            found.update(dict.fromkeys(new))
            queue.extend(new)
        return list(found)

    def _kinds_behind(self, name: str, negative: bool) -> Iterator[Kind]:
        """Yield the kinds of literals that help to make `name` true (false if `negative`), or to keep it so."""
        for provider in self._providers.named(name, negative=negative):
            yield from map(_kind, _literals_of(provider.condition))
        for provider in self._providers.named(name, negative=not negative):
            if provider.action is None:
                yield from map(_opposite, _literals_of(provider.condition))
            yield from map(_opposite, _literals_of(provider.trigger))


Kind = tuple[str, bool]
"""A kind of literals: a predicate, and whether it is negated."""


def _kind(literal: Literal) -> Kind:
    return atom_of(literal).predicate, isinstance(literal, Not)


def _opposite(literal: Literal) -> Kind:
    return atom_of(literal).predicate, not isinstance(literal, Not)


def _signed_literals(formula: Formula) -> Iterator[Literal]:
    """Yield the literals of a formula in negation normal form."""
    return (atom if positive else Not(atom) for atom, positive in literals_in(formula))


def _literals_of(condition: Conjunction) -> Iterator[Literal]:
    yield from condition.atoms
    yield from map(Not, condition.negated)
    for formula in condition.residual:
        yield from _signed_literals(formula)


def _covers(pattern: Atom, fact: Atom) -> bool:
    """Return whether `fact` agrees with the constants of `pattern`."""
    return pattern.predicate == fact.predicate and all(
        is_variable(mine) or mine == other for mine, other in zip(pattern.args, fact.args, strict=True)
    )


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

    assumptions: tuple[Assumption, ...]
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
    problem: Problem, assumed: Iterable[Assumption], steps: Iterable[Step], *, uses_goal: bool
) -> Change | None:
    """Return the change of `problem` under which `steps` are a plan, without needless assumptions.

    Its `at_least` is 0. Return None where the plan would miss the deadline or break a constraint.
    """
    kept, left = list(assumed), list(steps)
    if (problem.constraints or problem.deadline is not None) and not _works(apply_assumptions(problem, kept), left):
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
    simulation = Simulation(problem)
    plan = Plan(tuple([Step(step.action, step.arguments, simulation.cost(step)) for step in steps]), problem)
    verdict = check_steps(problem, plan)
    assert verdict.valid, verdict.reason
    return plan


SHARE: Final = 0.3
"""Share of the remaining time for one search that others may follow."""


GRACE: Final = 0.5
"""Time to look for a better answer of the smallest size, in seconds."""


@dataclass(slots=True)
class Finding:
    """The result of the search for a change so far.

    `at_least` assumptions are needed: 0 while the problem itself may be solvable. `plan` solves the unchanged problem.
    `stopped_by` is the limit that ended a search.
    """

    at_least: int = 0
    change: Change | None = None
    plan: Plan | None = None
    stopped_by: StoppedBy | None = None

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


def _size(change: Change) -> tuple[int, int]:
    return len(change.assumptions), sum(each.price for each in change.assumptions)


@dataclass(frozen=True, slots=True)
class Pool:
    """Candidates for one search; `complete` says that no other literal is relevant."""

    literals: list[Literal]
    uses_goal: bool
    complete: bool = False


def find_smallest_change(
    problem: Problem, source: Problem, shortfall: Shortfall, limits: Limits, *, reachable: bool
) -> Finding:
    """Return the smallest change found within `limits`; `reachable` says that the goal is relaxed reachable.

    Only facts that `source` declares are assumed; `problem` is `source` or compiled from it. The ends of explanations
    are tried first, together. Then pools of candidates are searched, small ones first. The proof that no smaller change
    suffices needs a change of one assumption, or the complete pool. Raises `UnsupportedError` for constructs that
    search does not support.
    """
    search = _ChangeSearch(problem, source, shortfall, limits)
    finding = Finding(at_least=0 if reachable else 1)
    try:
        search.try_ends_of_explanations(finding)
        pools = search.pools()
        while not finding.is_final and (pool := next(pools, None)) is not None:
            if pool.uses_goal and finding.leaves_the_goal_alone:
                break
            search.search_pool(pool, finding)
    except LimitReached as limit:
        finding.stopped_by = limit.stopped_by
    if finding.is_final:
        finding.stopped_by = None
    return finding


class _ChangeSearch:
    def __init__(self, problem: Problem, source: Problem, shortfall: Shortfall, limits: Limits) -> None:
        self._problem = problem
        self._shortfall = shortfall
        self._limits = limits
        self._plain = shortfall.relaxed.normal.problem
        self._items = Items(shortfall.relaxed.normal)
        self._candidates = Candidates(shortfall.relaxed, shortfall.providers, source)

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
                if literals is not None and (literals or complete):
                    chosen = [literal for literal in literals if uses_goal or not candidates.is_goal(literal)]
                    yield Pool(chosen, uses_goal, complete)

    def _assumable_needs(self) -> list[Literal]:
        return [literal for literal in self._shortfall.needs if self._candidates.is_assumable(literal)]

    def search_pool(self, pool: Pool, finding: Finding) -> None:
        """Search with the candidates of `pool`, and update `finding`."""
        made = self._make_assumptions(pool.literals)
        prefix = assume_prefix(self._plain)
        enough = _FewestFound(self._limits.cancel, lambda plan: len(split_plan(plan.steps, prefix, made)[0]))
        result = self._solve(
            add_assumptions(self._plain, made),
            1 if pool.complete else SHARE,
            cancel=enough,
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
        finding.raise_bound(min(bound, 1) if self._problem.constraints else bound)
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


class _FewestFound(threading.Event):
    """Cancels a search `GRACE` seconds after its plan is known to make the fewest assumptions, or when `outer` is set.

    `count` returns the number of assumptions in a plan. In the remaining time, search may find cheaper ones.
    """

    def __init__(self, outer: threading.Event | None, count: Callable[[Plan], int]) -> None:
        super().__init__()
        self._outer = outer
        self._count = count
        self._known_at: float | None = None

    def watch(self, progress: Progress) -> None:
        """Check whether the plan of `progress` makes the fewest assumptions."""
        if progress.plan is not None and self._count(progress.plan) <= bound_assumptions(progress.lower_bound or 0):
            self._known_at = self._known_at or time.monotonic()

    @property
    def is_known(self) -> bool:
        """Whether the fewest assumptions of this search are known."""
        return self._known_at is not None

    def is_set(self) -> bool:
        """Return whether the search is to end."""
        if self._known_at is not None and time.monotonic() > self._known_at + GRACE:
            return True
        return self._outer is not None and self._outer.is_set()
