"""The smallest change of the initial state that makes a problem solvable, with the plan that proves it.

Candidates are facts that could hold, or fail, from the start, and that the goal has to do with. Values that a changed
problem lacks, such as the length of a corridor that is assumed, are filled in.
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
    assume_prefix,
    assumptions,
    changed,
    fewest,
    split,
    with_assumptions,
)
from planner.explain.near_misses import Providers, Relaxed, atom_of, near_misses
from planner.explain.unreachable_goals import Shortfall
from planner.limits import LimitReached, Limits
from planner.model.actions import Action, CostTerm, Literal
from planner.model.domain import TypeHierarchy
from planner.model.formulas import Atom, Exists, Forall, Formula, Not, Variable, children, is_variable, substitute
from planner.model.problem import Problem
from planner.options import SolveOptions
from planner.plan import Plan, Progress, Result, Status, Step, StoppedBy
from planner.semantics.simulation import Simulation
from planner.validation.validate import check_steps

NEARBY: Final = 150
"""How many literals the search from the goal backwards collects."""
COMPLETE: Final = 1000
"""Up to how many literals all that can matter are candidates."""


class Candidates:
    """The literals of one problem that may be assumed: those of predicates and objects of `source`, not derived."""

    def __init__(self, relaxed: Relaxed, providers: Providers, source: Problem) -> None:
        self._relaxed = relaxed
        self._providers = providers
        self._problem = relaxed.normal.problem
        self._initial = frozenset(self._problem.initial)
        self._declared = frozenset(source.domain.predicates) - relaxed.normal.derived
        self._objects = frozenset([each.name for each in source.all_objects])
        self._goal = to_negation_normal_form(self._problem.goal.hard, itertools.count())
        self._wanted = list(literals_in(self._goal))

    def is_assumable(self, literal: Literal) -> bool:
        """Return whether it would be a change if the ground `literal` held from the start, and one that can be made."""
        atom = atom_of(literal)
        is_known = atom.predicate in self._declared and self._objects.issuperset(atom.args)
        return is_known and (atom in self._initial) is isinstance(literal, Not)

    def is_goal(self, literal: Literal) -> bool:
        """Return whether the goal asks for `literal`, or for all or some like it."""
        return any(
            isinstance(goal, Not) is isinstance(literal, Not) and _covers(atom_of(goal), atom_of(literal))
            for goal in self._wanted
        )

    def nearby(self) -> list[Literal]:
        """Return the assumable literals that a search from the goal backwards meets first, the goal's own included."""
        queue = deque(self._goal_literals())
        seen = set(queue)
        found: list[Literal] = []
        while queue and len(seen) < NEARBY:
            literal = queue.popleft()
            if self.is_assumable(literal):
                found.append(literal)
            for provider in self._providers.of(literal):
                for miss in near_misses(provider, literal, self._relaxed):
                    new = [each for each in dict.fromkeys((*miss.lacks, *miss.needs)) if each not in seen]
                    seen.update(new)
                    queue.extend(new)
        return [*found, *filter(self.is_assumable, queue)]

    def _goal_literals(self) -> Iterator[Literal]:
        """Yield the ground literals that the goal is made of, up to a limit."""
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

    def complete(self) -> list[Literal] | None:
        """Return every assumable literal that can matter at all, the goal's own included; None where they are many."""
        kinds = self._relevant_kinds()
        if sum(map(self._size, kinds)) > COMPLETE:
            return None
        return [literal for kind in kinds for literal in self._instances(kind) if self.is_assumable(literal)]

    def _size(self, kind: Kind) -> int:
        name, negative = kind
        if name not in self._declared or negative:
            return len(self._of(name)) if negative else 0
        return math.prod(len(self._members(variable)) for variable in self._parameters(name))

    def _instances(self, kind: Kind) -> Iterator[Literal]:
        name, negative = kind
        if name not in self._declared:
            return
        if negative:
            yield from (Not(fact) for fact in self._of(name))
        else:
            choices = product(*map(self._members, self._parameters(name)))
            yield from (Atom(name, arguments) for arguments in choices)

    def _of(self, name: str) -> list[Atom]:
        return [fact for fact in self._problem.initial if fact.predicate == name]

    def _parameters(self, name: str) -> tuple[Variable, ...]:
        return self._problem.domain.predicates[name].parameters

    def _members(self, variable: Variable) -> dict[str, None]:
        return self._relaxed.database.members(variable.types)

    def _relevant_kinds(self) -> list[Kind]:
        """Return the predicates that may matter, each with whether it matters that they are false."""
        found = dict.fromkeys(map(_kind, self._wanted))
        queue = list(found)
        while queue:
            new = [kind for kind in self._kinds_behind(*queue.pop()) if kind not in found]
            found.update(dict.fromkeys(new))
            queue.extend(new)
        return list(found)

    def _kinds_behind(self, name: str, negative: bool) -> Iterator[Kind]:
        """Yield the kinds that help to make `name` true (false if `negative`), or to keep it so."""
        for provider in self._providers.named(name, negative=negative):
            yield from map(_kind, _literals(provider.condition))
        for provider in self._providers.named(name, negative=not negative):
            if provider.action is None:
                yield from map(_opposite, _literals(provider.condition))
            yield from map(_opposite, _literals(provider.trigger))


Kind = tuple[str, bool]
"""A predicate, and whether its negation is meant."""


def _kind(literal: Literal) -> Kind:
    return atom_of(literal).predicate, isinstance(literal, Not)


def _opposite(literal: Literal) -> Kind:
    return atom_of(literal).predicate, not isinstance(literal, Not)


def literals_in(formula: Formula) -> Iterator[Literal]:
    """Yield the literals of a formula in negation normal form."""
    match formula:
        case Atom():
            yield formula
        case Not(Atom()):
            yield formula
        case _:
            for part in children(formula):
                yield from literals_in(part)


def _literals(condition: Conjunction) -> Iterator[Literal]:
    yield from condition.atoms
    yield from map(Not, condition.negated)
    for formula in condition.residual:
        yield from literals_in(formula)


def _covers(pattern: Atom, fact: Atom) -> bool:
    """Return whether `fact` is an instance of `pattern`, whatever its variables stand for."""
    return pattern.predicate == fact.predicate and all(
        is_variable(mine) or mine == other for mine, other in zip(pattern.args, fact.args, strict=True)
    )


VALUES: Final = 10_000
"""How many missing values of one function are filled in."""


def priced(problem: Problem) -> Problem:
    """Return `problem` with 0 for the values that its costs, and uses, may ask for and that it does not have."""
    missing = {atom: 0 for atom in _possible(problem) if atom not in problem.values}
    return replace(problem, values={**problem.values, **missing}) if missing else problem


def _possible(problem: Problem) -> Iterator[Atom]:
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


def cost_values(problem: Problem, steps: Iterable[Step]) -> Iterator[Atom]:
    """Yield the static values that the costs and uses of `steps` ask for, each once."""
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
    """A set of assumptions under which `plan` solves the problem; `problem` is the problem so changed.

    No set of fewer than `at_least` assumptions does. Where `uses_goal` is False, parts of the goal were no candidates;
    where it is True, nothing else helps. `unpriced` are static values that the plan's cost asks for and that the source
    does not have, since they belong to what is assumed: they count as 0.
    """

    assumptions: tuple[Assumption, ...]
    at_least: int
    uses_goal: bool
    plan: Plan
    unpriced: tuple[Atom, ...]
    problem: Problem = field(repr=False, compare=False)

    @property
    def proved_smallest(self) -> bool:
        """Whether it is proved that no smaller set does."""
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


def change_of(
    problem: Problem, assumed: Iterable[Assumption], steps: Iterable[Step], *, uses_goal: bool
) -> Change | None:
    """Return the change of `problem` by which `steps` become a plan, without the assumptions that they do not need.

    `at_least` is left at 0: how small it is depends on what was searched. None where that would be late,
    or what is assumed would break a constraint.
    """
    kept, left = list(assumed), list(steps)
    if (problem.constraints or problem.deadline is not None) and not _works(changed(problem, kept), left):
        return None
    for assumption in sorted(kept, key=lambda each: -each.price):
        fewer = [each for each in kept if each is not assumption]
        rest = _applicable(changed(problem, fewer), left)
        if rest is not None:
            kept, left = fewer, rest
    new = priced(changed(problem, kept))
    unpriced = tuple([value for value in cost_values(new, left) if value not in problem.values])
    return Change(tuple(kept), 0, uses_goal, _plan(new, left), unpriced, new)


def _applicable(problem: Problem, steps: Iterable[Step]) -> list[Step] | None:
    """Return those of `steps` that can be applied one after the other; None if that is no plan."""
    simulation = Simulation(problem)
    left = []
    for step in steps:
        if simulation.objection(step) is None:
            simulation.apply(step)
            left.append(step)
    return left if _works(problem, left) else None


def _works(problem: Problem, steps: Sequence[Step]) -> bool:
    return check_steps(priced(problem), steps).valid


def _plan(problem: Problem, steps: Iterable[Step]) -> Plan:
    """Return the plan with its true costs, checked against the changed problem as it was declared."""
    simulation = Simulation(problem)
    plan = Plan(tuple([Step(step.action, step.arguments, simulation.cost(step)) for step in steps]), problem)
    verdict = check_steps(problem, plan)
    assert verdict.valid, verdict.reason
    return plan


SHARE: Final = 0.3
"""The part of the time that is left which one search may use, when others may follow."""


GRACE: Final = 0.5
"""Seconds that are left to a search for a better answer of the same size."""


@dataclass(slots=True)
class Finding:
    """What the search for a change has found so far.

    `at_least` assumptions are needed: 0 while the problem itself may be solvable. `plan` solves it as it is.
    `stopped_by` is the limit that kept some search from its end.
    """

    at_least: int = 0
    change: Change | None = None
    plan: Plan | None = None
    stopped_by: StoppedBy | None = None

    @property
    def leaves_the_goal_alone(self) -> bool:
        """Whether parts of the goal need not be assumed: other facts help, or were not tried to the end."""
        return self.stopped_by is not None if self.change is None else not self.change.uses_goal

    @property
    def is_final(self) -> bool:
        """Whether nothing is left to find."""
        return self.plan is not None or (self.change is not None and self.change.proved_smallest)

    def offer(self, change: Change | None) -> None:
        """Keep `change`, if any, where there is none that assumes as little."""
        if change is None:
            return
        if self.change is None or _size(change) < _size(self.change):
            self.change = change

    def raise_bound(self, at_least: int) -> None:
        """Note that `at_least` assumptions are needed."""
        self.at_least = max(self.at_least, at_least)
        if self.change is not None:
            self.change = replace(self.change, at_least=self.at_least)


def _size(change: Change) -> tuple[int, int]:
    return len(change.assumptions), sum(each.price for each in change.assumptions)


@dataclass(frozen=True, slots=True)
class Pool:
    """Candidates for one search; `complete` if no other literal could matter."""

    literals: list[Literal]
    uses_goal: bool
    complete: bool = False


def smallest_change(
    problem: Problem, source: Problem, shortfall: Shortfall, limits: Limits, *, reachable: bool
) -> Finding:
    """Return the smallest change found within the limits; `reachable` if the goal is so in the relaxed world.

    Only facts of what `source` declares are assumed: `problem` itself, or what it was compiled from.
    What explanations name is tried at once. Then pools of candidates are searched, small ones first; the proof that
    nothing smaller will do needs an answer of one assumption, or the complete pool. Raises `UnsupportedError` for what
    search does not take.
    """
    search = _Search(problem, source, shortfall, limits)
    finding = Finding(at_least=0 if reachable else 1)
    try:
        search.try_what_is_named(finding)
        pools = search.pools()
        while not finding.is_final and (pool := next(pools, None)) is not None:
            if pool.uses_goal and finding.leaves_the_goal_alone:
                break
            search.look(pool, finding)
    except LimitReached as limit:
        finding.stopped_by = limit.stopped_by
    if finding.is_final:
        finding.stopped_by = None
    return finding


class _Search:
    def __init__(self, problem: Problem, source: Problem, shortfall: Shortfall, limits: Limits) -> None:
        self._problem = problem
        self._shortfall = shortfall
        self._limits = limits
        self._plain = shortfall.relaxed.normal.problem
        self._items = Items(shortfall.relaxed.normal)
        self._candidates = Candidates(shortfall.relaxed, shortfall.providers, source)

    def try_what_is_named(self, finding: Finding) -> None:
        """Assume all that the explanations lead to, and see whether the problem then has a plan."""
        literals = [literal for literal in self._shortfall.needs if literal in self._shortfall.named]
        made = self._assumptions(
            [each for each in literals if self._candidates.is_assumable(each) and not self._candidates.is_goal(each)]
        )
        if made:
            result = self._solve(priced(changed(self._problem, made)), SHARE, mode="first")
            if result.plan is not None:
                finding.offer(change_of(self._problem, made, result.plan.steps, uses_goal=False))
                finding.raise_bound(finding.at_least)

    def pools(self) -> Iterator[Pool]:
        """Yield pools of candidates, small ones first; those with parts of the goal only after all others."""
        candidates = self._candidates
        sources = ((self._lacking, False), (cache(candidates.nearby), False), (cache(candidates.complete), True))
        for uses_goal in (False, True):
            for source, complete in sources:
                literals = source()
                if literals is not None and (literals or complete):
                    chosen = [literal for literal in literals if uses_goal or not candidates.is_goal(literal)]
                    yield Pool(chosen, uses_goal, complete)

    def _lacking(self) -> list[Literal]:
        return [literal for literal in self._shortfall.needs if self._candidates.is_assumable(literal)]

    def look(self, pool: Pool, finding: Finding) -> None:
        """Search with the candidates of `pool`, and write what is learnt into `finding`."""
        made = self._assumptions(pool.literals)
        prefix = assume_prefix(self._plain)
        enough = _Enough(self._limits.cancel, lambda plan: len(split(plan.steps, prefix, made)[0]))
        result = self._solve(
            with_assumptions(self._plain, made), 1 if pool.complete else SHARE, cancel=enough, on_progress=enough.see
        )
        if pool.uses_goal:
            finding.at_least = min(finding.at_least, 1)
        if result.plan is not None:
            chosen, steps = split(result.plan.steps, prefix, made)
            change = change_of(self._problem, chosen, steps, uses_goal=pool.uses_goal)
            if change is None or change.assumptions:
                finding.offer(change)
            else:
                finding.plan = replace(change.plan, problem=self._problem)
            if change is None:
                finding.stopped_by = StoppedBy.INCOMPLETE
        bound = self._bound(result, pool)
        finding.raise_bound(min(bound, 1) if self._problem.constraints else bound)
        if result.status in _OPEN and not enough.is_known:
            finding.stopped_by = result.stopped_by
        self._limits.check()

    def _assumptions(self, literals: list[Literal]) -> list[Assumption]:
        """Return the candidates; of what nothing can provide, that which an explanation names is the cheapest."""
        roots = [literal for literal in literals if not self._shortfall.providers.of(literal)]
        prices = dict.fromkeys(roots, PRICE + UNNAMED) | dict.fromkeys(self._shortfall.named, PRICE)
        return assumptions(literals, prices, self._items, self._problem.initial)

    def _solve(self, problem: Problem, share: float, **options: Any) -> Result:
        from planner.solve import answer

        result = answer(problem, SolveOptions().within(self._limits, share, **options))
        if result.status is Status.UNSUPPORTED:
            raise UnsupportedError(result.reason)
        return result

    @staticmethod
    def _bound(result: Result, pool: Pool) -> int:
        """Return how many assumptions are needed at least, whatever they are."""
        if result.status is Status.UNSOLVABLE:
            return 1
        needed = fewest(result.lower_bound or 0)
        return needed if pool.complete else min(needed, 1)


_OPEN: Final = (Status.SOLVED, Status.UNKNOWN)


class _Enough(threading.Event):
    """Ends a search soon after its plan is known to make the fewest assumptions, or when `outer` says so.

    `count` tells how many assumptions a plan makes. The `GRACE` is for finding as few that are nearer to the root.
    """

    def __init__(self, outer: threading.Event | None, count: Callable[[Plan], int]) -> None:
        super().__init__()
        self._outer = outer
        self._count = count
        self._known_at: float | None = None

    def see(self, progress: Progress) -> None:
        """Look at the progress of the search."""
        if progress.plan is not None and self._count(progress.plan) <= fewest(progress.lower_bound or 0):
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
