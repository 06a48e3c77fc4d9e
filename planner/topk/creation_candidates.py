"""The plans by cost where actions create objects: rounds with more and more placeholders, as in `creation_rounds`.

A round lists the plans that create no more objects of a pool than it has placeholders. All other plans cost at least a
bound, so a round ends when its plans cost more than that, and the next one begins. Plans that differ only in the names
of placeholders are one plan. The last round is one that lists all its plans, of which none is new: more placeholders
may give more plans, but hardly ones that are not wasteful.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from heapq import heapify, heappop, heappush

from planner.compilations.creation_rounds import ClassicalRounds
from planner.compilations.object_creation import for_steps
from planner.lightweight import Any
from planner.limits import Limits
from planner.model import Number, Problem
from planner.options import SolveOptions
from planner.partial_order.causal_links import order_sequence
from planner.plan import Plan, Step, StoppedBy
from planner.topk.candidates import CandidateOptions, Candidates, ClassicalCandidates


class CreationCandidates(Candidates):
    """Iterates over the plans of a problem whose actions create objects."""

    def __init__(self, problem: Any, limits: Limits, options: CandidateOptions) -> None:
        super().__init__(problem, limits, options)
        self._round: ClassicalCandidates | None = None
        self._beyond: Number | None = None
        self._least: Number = 0
        """Lower bound on the cost of the plans that no earlier round has listed."""

    @property
    def complete(self) -> bool:
        """Whether it is proved that there are no other plans."""
        return self._is_impossible

    @property
    def lower_bound(self) -> Number | None:
        """Lower bound on the cost of all further plans; None if there are none."""
        if self.complete:
            return None
        if self._round is None:
            return self._least
        bounds = [each for each in (self._round.lower_bound, self._beyond) if each is not None]
        return max(self._least, min(bounds, default=0))

    def _find_plans(self) -> Iterator[Plan]:
        from planner.solve import answer

        rounds = ClassicalRounds(self.problem, SolveOptions(), answer)
        rounds.limits = self._limits
        creations, copies = rounds.prepare()
        seen: set[Hashable] = set()
        most = max(copies, rounds.most)
        while copies <= most:
            self._beyond = min([each.bound_beyond(copies) for each in creations], default=None)
            steps = {each.kind: copies for each in creations}
            pooled = rounds.fill_pools(steps)
            self._round = ClassicalCandidates(pooled.problem, self._limits, self._options)
            is_listed, before = True, len(seen)
            for found in self._round._find_plans():  # noqa: SLF001 - of the same class; this iterator keeps the limits
                if self._beyond is not None and found.charge > self._beyond:
                    is_listed = False
                    break
                self._task, self._most = self._round._task, self._round._most  # noqa: SLF001 - see above
                is_chained = has_several_of_pool(found, self.problem, pooled.pool_of)
                plan = rounds.map_plan(found)
                key = identify_plan(plan, self.problem, ordered=self._options.orders)
                if key in seen or (is_chained and not self._options.wasteful and self._is_wasteful(plan)):
                    continue
                seen.add(key)
                verdict = rounds.check_plan(plan)
                if not verdict.valid:
                    raise RuntimeError(f"internal error: search found a plan that is not valid: {verdict.reason}")
                yield plan
            if is_listed and self._ends(rounds, copies, steps, has_plans=bool(seen)):
                return
            if is_listed and seen and len(seen) == before:
                break
            self._least = self.lower_bound or 0
            copies *= 2
        self.stopped_by = StoppedBy.INCOMPLETE

    def _ends(self, rounds: ClassicalRounds, copies: int, steps: Mapping[str, int], *, has_plans: bool) -> bool:
        """Return whether no more plans are wanted, or there are none, after a round without more plans."""
        assert self._round is not None
        most = self.most
        if most is not None and self._beyond is not None and self._beyond > most:
            return True
        if self._round.complete and (
            self._beyond is None
            or rounds.has_unused_placeholders(steps)
            or (not has_plans and rounds.is_unreachable(copies))
        ):
            self._is_impossible = True
        return self._is_impossible or self._beyond is None

    def _is_wasteful(self, plan: Plan) -> bool:
        """Return whether `plan` remains a plan without some of its steps, when placeholders are in no order.

        In a round, an object of a pool needs the one before it.
        """
        from planner.grounding.ground import ground
        from planner.search import Space
        from planner.topk.partial_order_reduction import Variants
        from planner.topk.plan_enumeration import is_wasteful

        if self.problem.wishes:
            return False
        task = ground(for_steps(self.problem, plan.steps), self._limits, whole=True)
        numbers = {action.step: number for number, action in reversed([*enumerate(task.actions)])}
        if not all(step in numbers for step in plan.steps):
            return False
        space, actions = Space(task), [numbers[step] for step in plan.steps]
        return is_wasteful(space, Variants(task, self._limits.check), actions, space.cost_of(actions)) is True


def has_several_of_pool(plan: Plan, problem: Problem, pool_of: Mapping[str, str]) -> bool:
    """Return whether `plan`, of a problem with placeholders, creates several objects of a pool."""
    pools = [pool_of[name] for name in _find_created(plan.steps, problem)]
    return len(set(pools)) < len(pools)


def identify_plan(plan: Plan, problem: Problem, *, ordered: bool) -> Hashable:
    """Return what plans have in common that differ only in names of placeholders and, unless `ordered`, in order.

    Only the order of steps differs that the partial order leaves open.
    """
    created = _find_created(plan.steps, problem)
    if not created:
        return plan.steps if ordered else _sort_steps(plan, problem, {})
    if ordered:
        numbers = {name: f"?{place}" for place, name in enumerate(created)}
        return tuple([(step.action, tuple([numbers.get(arg, arg) for arg in step.arguments])) for step in plan.steps])
    return _sort_steps(plan, problem, _describe_uses(plan.steps, created))


def _find_created(steps: Sequence[Step], problem: Problem) -> list[str]:
    actions = problem.domain.actions
    created = [(actions[step.action], step) for step in steps if step.action in actions]
    return [name for action, step in created for name in action.created_arguments(step.arguments)]


def _describe_uses(steps: Sequence[Step], created: Sequence[str]) -> dict[str, int]:
    """Return for each created object a number that is the same for objects of the same use, by colour refinement."""
    colours = dict.fromkeys(created, 0)
    while True:
        uses = {name: Counter[tuple[str, tuple[object, ...]]]() for name in created}
        for step in steps:
            for name in colours.keys() & set(step.arguments):
                row = tuple([-1 if arg == name else colours.get(arg, arg) for arg in step.arguments])
                uses[name][step.action, row] += 1
        descriptions = {name: (colours[name], tuple(sorted(map(repr, uses[name].items())))) for name in created}
        places = {each: place for place, each in enumerate(sorted(set(descriptions.values())))}
        if len(places) == len(set(colours.values())):
            return colours
        colours = {name: places[descriptions[name]] for name in created}


def _sort_steps(plan: Plan, problem: Problem, colours: Mapping[str, int]) -> Hashable:
    """Return the steps in an order that depends on their partial order and their uses only, with objects numbered."""
    graph = order_sequence(problem, plan)
    missing = {place: graph.in_degree(place) for place in graph}
    numbers: dict[str, str] = {}

    def describe(place: int) -> tuple[str, tuple[str, ...], int]:
        step = plan.steps[place - 1]
        named = tuple([numbers.get(arg, f"?{colours[arg]}") if arg in colours else arg for arg in step.arguments])
        return step.action, named, place

    ready = [describe(place) for place, count in missing.items() if not count]
    found = []
    while ready:
        ready = [describe(place) for _, _, place in ready]  # objects may have got their numbers since
        heapify(ready)
        place = heappop(ready)[-1]
        step = plan.steps[place - 1]
        for arg in step.arguments:
            if arg in colours:
                numbers.setdefault(arg, f"#{len(numbers)}")
        found.append((step.action, tuple([numbers.get(arg, arg) for arg in step.arguments])))
        for later in graph.successors(place):
            missing[later] -= 1
            if not missing[later]:
                heappush(ready, describe(later))
    return tuple(found)
