"""Redundant steps of a plan: those that can be left out alone or in consecutive pairs, and the most that can at once.

The greatest removal is a cheapest subsequence that still is a plan. To find one is NP-hard (Fink and Yang, 1992;
Nakhost and Müller, 2010). All subsequences are followed together, by the states that they lead to; most lead to the
same few. If there are too many, action elimination (Nakhost and Müller, 2010) leaves out what it can, in one pass.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from planner.errors import PlanError
from planner.lightweight import TYPE_CHECKING, Any, Final, dataclass, field, replace
from planner.limits import STOPS, Limits, check_limits
from planner.model import Number, Problem
from planner.model.constructs import CONSTRAINED, has
from planner.model.formulas import with_conjuncts
from planner.model.problem import Goal, refuse_numbers
from planner.plan import Plan, Step, exact_sum, json_number, name_as_written
from planner.questions.notation import AnyState, AnySteps, read_steps, spell, start_whole_in
from planner.questions.whole_tasks import Versions, WholeTask, key_of
from planner.semantics.simulation import Simulation
from planner.task.ground_task import State, Task, bits
from planner.validation.validate import check_steps

if TYPE_CHECKING:
    import threading

MOST_STATES: Final = 100_000
"""States of subsequences after each step, beyond which action elimination takes over."""


@dataclass(frozen=True, slots=True)
class Simplification:
    """What can be left out of a valid plan: each of `removals` alone, as places from 0: one step, or two in a row.

    `kept` are the places of the steps of the smallest plan found that is a part of the given one. `is_least` says that
    it is proved that no part costs less, and none of the same cost has fewer steps.
    """

    given: tuple[Step, ...]
    removals: tuple[tuple[int, ...], ...]
    kept: tuple[int, ...]
    is_least: bool
    problem: Problem = field(repr=False, compare=False)

    @property
    def plan(self) -> Plan:
        """The plan that is left after the greatest removal."""
        return Plan(tuple([self.given[place] for place in self.kept]), self.problem)

    @property
    def removed(self) -> tuple[int, ...]:
        """The places of the steps that the greatest removal leaves out."""
        kept = set(self.kept)
        return tuple([place for place in range(len(self.given)) if place not in kept])

    @property
    def saved(self) -> Number:
        """The cost of the steps that the greatest removal leaves out."""
        return exact_sum([self.given[place].cost for place in self.removed])

    def plan_without(self, removal: Collection[int]) -> Plan:
        """Return the plan without the steps at the places of `removal`."""
        steps = [step for place, step in enumerate(self.given) if place not in removal]
        return Plan(tuple(steps), self.problem)

    def to_dict(self) -> dict[str, Any]:
        """Return the answer as JSON-ready data; places count from 0."""
        return {
            "given": [spell(self.problem, step) for step in self.given],
            "removals": [list(removal) for removal in self.removals],
            "plan": [spell(self.problem, step) for step in self.plan.steps],
            "removed": list(self.removed),
            "saved": json_number(self.saved),
            "least": self.is_least,
        }


def simplify(
    problem: Problem,
    steps: AnySteps,
    state: AnyState | None = None,
    *,
    time_limit: float | None = 10.0,
    memory_limit: float | None = None,
    cancel: threading.Event | None = None,
) -> Simplification:
    """Return which of `steps`, a valid plan from `state` or the initial state, can be left out.

    The soft goals that the plan grants are still granted. A limit makes the greatest removal smaller, and takes its
    proof. Raises `PlanError` for a plan that is not valid, `InputError` for steps that the problem does not have and
    for invalid limits, `UnsupportedError` for numbers, unknown facts, created objects and several outcomes.
    """
    check_limits(time_limit, memory_limit)
    start = start_whole_in(problem, state, "simplify")
    refuse_numbers(start, "in this question")
    simulation = Simulation(start)
    given = read_steps(start, steps)
    verdict = check_steps(start, given)
    if not verdict.valid:
        raise PlanError(f"this is no plan that could be simplified: {verdict.reason}", hint="repair it first")
    given = tuple([replace(step, cost=simulation.cost(step)) for step in given])
    wishes = [each.condition for each in start.goal.soft if each not in verdict.forgone]
    granting = replace(start, goal=Goal(with_conjuncts(start.goal.hard, *wishes)))
    parts = _Subsequences(granting, given, Limits(time_limit, memory_limit, cancel))
    cheapest = parts.find_cheapest()
    kept = parts.eliminate() if cheapest is None else cheapest
    return Simplification(
        name_as_written(given, start), parts.find_removals(), tuple(kept), cheapest is not None, start
    )


class _Subsequences:
    """The subsequences of the valid plan `given`, on a ground task that has only its steps."""

    def __init__(self, problem: Problem, given: Sequence[Step], limits: Limits) -> None:
        self._problem, self._given, self._limits = problem, given, limits
        versions = Versions(problem)
        written = {key_of(step): versions.keys([step]) for step in name_as_written(given, problem)}
        steps = {key: Step(*key) for keys in written.values() for key in keys}
        whole = WholeTask(problem, Limits(), with_goal=True, only=tuple(steps.values()))
        self._space, task = whole.space, whole.task
        self._variants = [
            [number for key in written[key_of(step)] for number in whole.numbers_of.get(key, ())]
            for step in name_as_written(given, problem)
        ]
        self._read = self._find_read_later(task)
        self._unattainable = self._find_unattainable_goals(task, whole.added)

    def _find_read_later(self, task: Task) -> list[State]:
        """Return for each place the facts that matter there: those that the rest of the plan or the goal may read."""
        through_axioms = bits({fact for layer in task.axioms for rule in layer.rules for fact in rule.body})
        found = [bits(task.goal) | through_axioms]
        for variants in reversed(self._variants):
            read = found[-1]
            for number in variants:
                action = task.actions[number]
                read |= bits(action.precondition)
                for effect in action.conditional:
                    read |= bits(effect.condition)
            found.append(read)
        return found[::-1]

    def _find_unattainable_goals(self, task: Task, added: Sequence[Sequence[int]]) -> list[State]:
        """Return for each place the goals that no step from there on makes true; none if axioms could."""
        found = [0 if task.has_axioms else bits(task.goal)]
        for variants in reversed(self._variants):
            found.append(found[-1] & ~bits({fact for number in variants for fact in added[number]}))
        return found[::-1]

    def _apply(self, place: int, state: State) -> State | None:
        """Return the state after the step at `place`; None if it is not applicable."""
        space = self._space
        full = space.closed(state)
        for number in self._variants[place]:
            if not space.preconditions[number] & ~full:
                return space.apply(number, state)
        return None

    def _is_plan(self, places: Sequence[int]) -> bool:
        """Return whether the steps at `places` are a valid plan."""
        if self._has_more_demands():
            return check_steps(self._problem, [self._given[place] for place in places]).valid
        return self._reaches_goal(self._space.initial, places)

    def _reaches_goal(self, state: State, places: Iterable[int]) -> bool:
        after: State | None = state
        for place in places:
            after = self._apply(place, state)
            if after is None:
                return False
            state = after
        return self._space.is_goal(state)

    def _has_more_demands(self) -> bool:
        """Return whether more than the goal makes a plan valid, so that the validator must test each subsequence."""
        return has(self._problem, *CONSTRAINED) or self._problem.is_limited

    def find_removals(self) -> tuple[tuple[int, ...], ...]:
        """Return the single places and the consecutive pairs that can be left out alone, in their order."""
        every, state, found = range(len(self._given)), self._space.initial, list[tuple[int, ...]]()
        for place in every:
            for removal in ((place,), (place, place + 1)):
                rest = every[removal[-1] + 1 :]
                if removal[-1] in every and (
                    self._is_plan([*every[:place], *rest])
                    if self._has_more_demands()
                    else self._reaches_goal(state, rest)
                ):
                    found.append(removal)
            after = self._apply(place, state)
            assert after is not None
            state = after
        return tuple(found)

    def find_cheapest(self) -> list[int] | None:
        """Return the places of a cheapest subsequence that is a plan, of these one with fewest steps.

        Return None if there are too many states, at a limit, and where more than the goal makes a plan valid.
        """
        if self._has_more_demands():
            return None
        known = self.eliminate()
        most = (exact_sum([self._given[place].cost for place in known]), len(known))
        paths: dict[State, Path] = {self._space.initial: (0, 0, None)}
        for place, step in enumerate(self._given):
            try:
                self._limits.check()
            except STOPS:
                return None
            matters, after = self._read[place + 1], dict[State, Path]()
            for state, path in paths.items():
                _keep_cheaper(after, state & matters, path)
                following = self._apply(place, state)
                if following is not None:
                    longer = (path[0] + step.cost, path[1] + 1, (place, path))
                    if longer[:2] <= most:
                        _keep_cheaper(after, following & matters, longer)
            lacking = self._unattainable[place + 1]
            paths = {state: path for state, path in after.items() if not lacking & ~state}
            if len(paths) > MOST_STATES:
                return None
        best = min([path for state, path in paths.items() if self._space.is_goal(state)], key=lambda path: path[:2])
        return _places_of(best)

    def eliminate(self) -> list[int]:
        """Return the places that action elimination (Nakhost and Müller, 2010) keeps, in one pass.

        It leaves each step out in turn, with the later ones that are then inapplicable, if the rest is a plan.
        """
        kept = list(range(len(self._given)))
        at = 0
        while at < len(kept):
            rest = kept[:at] + self._drop_inapplicable(kept[:at], kept[at + 1 :])
            if self._is_plan(rest):
                kept = rest
            else:
                at += 1
        return kept

    def _drop_inapplicable(self, before: Iterable[int], places: Iterable[int]) -> list[int]:
        """Return those of `places` that are applicable one after the other, behind the steps at `before`."""
        state, found = self._space.initial, list[int]()
        for place in before:
            state = self._apply(place, state) or state
        for place in places:
            after = self._apply(place, state)
            if after is not None:
                found.append(place)
                state = after
        return found


Path = tuple[Number, int, Any]
"""The cost and the number of the steps that are kept, and (last place, path before it), or None."""


def _keep_cheaper(found: dict[State, Path], state: State, path: Path) -> None:
    known = found.get(state)
    if known is None or path[:2] < known[:2]:
        found[state] = path


def _places_of(path: Path) -> list[int]:
    places, link = list[int](), path[2]
    while link is not None:
        place, (_, _, link) = link
        places.append(place)
    return places[::-1]
