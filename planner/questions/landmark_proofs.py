"""All fact landmarks of a problem, each with a proof, and whether they are causal.

A fact is a landmark if it holds at some time in every plan: exactly if the task without the actions that add it has no
plan (Hoffmann, Porteous and Sebastia, 2004). It is causal if every plan needs it as a precondition or as part of the
goal (Keyder, Richter and Helmert, 2010): exactly if it is a goal, or the task without the actions that need it has no
plan. One plan settles all facts that it never makes true; each further plan that a test finds settles more.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

from planner.lightweight import TYPE_CHECKING, Any, Final, dataclass, field
from planner.limits import STOPS, LimitReached, Limits, check_limits, stop_reason
from planner.model import Atom, Problem
from planner.plan import Plan, Status, Step, StoppedBy, exact
from planner.questions.notation import AnyState, spell, start_whole_in
from planner.questions.whole_tasks import (
    GREEDY,
    Searched,
    WholeTask,
    find_forward_mutexes,
    forbid_fact,
    reach_relaxed,
    search_plan,
    states_along,
)
from planner.search import Space
from planner.task.ground_task import Task, bits, facts_of

if TYPE_CHECKING:
    import threading

GLANCE: Final = 0.1
"""Seconds of the greedy search for a plan that avoids a fact, before the search for a proof that there is none."""


class LandmarkBasis(Enum):
    """The proof that a fact is a landmark."""

    INITIAL = "it holds in the initial state"
    GOAL = "it is part of the goal"
    RELAXED = "without it, not even actions that delete nothing reach the goal"
    MUTEX = "without it, mutexes exclude the goal (h²)"
    SEARCHED = "without it, a search of all states finds no plan"


@dataclass(frozen=True, slots=True)
class FactLandmark:
    """A landmark, why it is one, and whether it is `is_causal`; None where that is unknown."""

    fact: Atom
    basis: LandmarkBasis
    is_initial: bool
    is_goal: bool
    is_causal: bool | None
    problem: Problem = field(repr=False, compare=False)

    @property
    def is_trivial(self) -> bool:
        """Whether it holds in the initial state, or is part of the goal."""
        return self.is_initial or self.is_goal

    def __str__(self) -> str:
        causal = {True: "causal", False: "not causal", None: "unknown whether causal"}[self.is_causal]
        return f"{spell(self.problem, self.fact)}: {causal} ({self.basis.value})"

    def to_dict(self) -> dict[str, Any]:
        """Return the landmark as JSON-ready data."""
        return {
            "fact": spell(self.problem, self.fact),
            "basis": self.basis.name.lower(),
            "initial": self.is_initial,
            "goal": self.is_goal,
            "causal": self.is_causal,
        }


@dataclass(frozen=True, slots=True)
class FactLandmarks:
    """The `landmarks` of a problem; no other fact is one, except maybe those in `unknown`.

    `status` tells whether the problem is SOLVED (by `plan`), UNSOLVABLE (then each fact is a landmark of its no plans,
    and none is listed) or UNKNOWN. `stopped_by` says what left facts unknown.
    """

    status: Status
    stopped_by: StoppedBy
    problem: Problem = field(repr=False, compare=False)
    landmarks: tuple[FactLandmark, ...] = ()
    unknown: tuple[Atom, ...] = ()
    plan: Plan | None = None

    @property
    def nontrivial(self) -> tuple[FactLandmark, ...]:
        """The landmarks that hold neither in the initial state nor, as parts of it, in the goal."""
        return tuple([each for each in self.landmarks if not each.is_trivial])

    def judge(self, fact: Atom) -> bool | None:
        """Return whether `fact` is a landmark; None if that is unknown."""
        if fact in self.problem.initial:
            return True
        if self.status is not Status.SOLVED or fact in self.unknown or fact.predicate in self.problem.domain.derived:
            return None
        return any(each.fact == fact for each in self.landmarks)

    def to_dict(self) -> dict[str, Any]:
        """Return the landmarks as JSON-ready data."""
        return {
            "status": self.status.name,
            "landmarks": [each.to_dict() for each in self.landmarks],
            "unknown": [spell(self.problem, fact) for fact in self.unknown],
            "complete": self.status is Status.SOLVED and not self.unknown,
            "stopped_by": self.stopped_by.name.lower(),
        }


def fact_landmarks(
    problem: Problem,
    state: AnyState | None = None,
    *,
    time_limit: float | None = 10.0,
    memory_limit: float | None = None,
    cancel: threading.Event | None = None,
) -> FactLandmarks:
    """Return the facts that hold at some time in every plan from `state`, by default from the initial one.

    Left out are derived facts, negations, and facts that hold in all reachable states. Constraints on the way, budgets
    and deadlines do not count. Raises `InputError` for facts that the problem cannot have and for invalid limits,
    `UnsupportedError` for unknown facts, created objects and several outcomes.
    """
    check_limits(time_limit, memory_limit)
    start = start_whole_in(problem, state, "fact_landmarks")
    limits = Limits(time_limit, memory_limit, cancel)
    try:
        whole = WholeTask(start, limits, with_goal=True)
        first = search_plan(whole.space, limits)
    except STOPS as stop:
        return FactLandmarks(Status.UNKNOWN, stop_reason(stop), start)
    if first.plan is None:
        status = Status.UNSOLVABLE if first.proved else Status.UNKNOWN
        return FactLandmarks(status, StoppedBy.EXHAUSTED if first.proved else StoppedBy.INCOMPLETE, start)
    return _Proofs(whole, limits, first.plan).answer()


class _Proofs:
    """The landmarks of a solvable task that are proved so far, and the plans that show of others that they are none."""

    def __init__(self, whole: WholeTask, limits: Limits, plan: list[int]) -> None:
        self._whole, self._limits = whole, limits
        task = whole.task
        self._made = self._used = -1 & ((1 << len(task.facts)) - 1)
        self._take(plan)
        self._plan = plan
        self._initial, self._goal = bits(task.initial), bits(task.goal)
        known = whole.problem.domain.predicates  # compilations add facts of their own, as for what has run
        own = [number for fact, number in whole.number_of.items() if fact.predicate in known]
        self._base = bits([number for number in own if number not in task.derived])

    def _take(self, plan: Iterable[int]) -> None:
        """Keep the facts that `plan` also makes true, and those that its steps also need."""
        made = used = 0
        space, actions = self._whole.space, self._whole.task.actions
        states = states_along(space, plan)
        for state in states:
            made |= state
        for number, state in zip(plan, states, strict=False):
            used |= bits(actions[number].precondition) | space.effects(number, space.closed(state))[2]
        self._made &= made
        self._used &= used

    def answer(self) -> FactLandmarks:
        """Test all candidates, and return the landmarks."""
        bases: dict[int, LandmarkBasis] = {}
        causal: dict[int, bool] = {}
        stopped_by = StoppedBy.EXHAUSTED
        try:
            self._prove_all(bases)
            self._prove_causal(bases, causal)
        except STOPS as stop:
            stopped_by = stop_reason(stop)
        unknown = [number for number in facts_of(self._made & self._base) if number not in bases]
        if unknown and stopped_by is StoppedBy.EXHAUSTED:
            stopped_by = StoppedBy.INCOMPLETE
        return FactLandmarks(
            Status.SOLVED,
            stopped_by,
            self._whole.problem,
            tuple([self._describe(number, basis, causal) for number, basis in bases.items()]),
            tuple([self._atom(number) for number in unknown]),
            self._make_plan(),
        )

    def _atom(self, number: int) -> Atom:
        atom = self._whole.task.facts[number]
        assert isinstance(atom, Atom)
        return atom

    def _describe(self, number: int, basis: LandmarkBasis, causal: dict[int, bool]) -> FactLandmark:
        is_initial, is_goal = bool(self._initial >> number & 1), bool(self._goal >> number & 1)
        return FactLandmark(self._atom(number), basis, is_initial, is_goal, causal.get(number), self._whole.problem)

    def _make_plan(self) -> Plan:
        actions = self._whole.task.actions
        steps = [actions[number].step for number in self._plan]
        return Plan(tuple([Step(step.action, step.arguments, exact(step.cost)) for step in steps]), self._whole.problem)

    def _prove_all(self, bases: dict[int, LandmarkBasis]) -> None:
        """Find the basis of each landmark; further plans remove candidates meanwhile."""
        for number in facts_of(self._made & self._base):
            if self._initial >> number & 1:
                bases[number] = LandmarkBasis.INITIAL
            elif self._goal >> number & 1:
                bases[number] = LandmarkBasis.GOAL
        left = [number for number in facts_of(self._made & self._base) if number not in bases]
        tests = {number: forbid_fact(self._whole.task, number, needing=False) for number in left}
        for number in left:
            self._limits.check()
            if not _reaches_goal(tests[number]):
                bases[number] = LandmarkBasis.RELAXED
        for number in left:
            if number not in bases and self._made >> number & 1:
                basis = self._prove(tests[number])
                if basis is not None and self._made >> number & 1:
                    bases[number] = basis

    def _prove_causal(self, bases: dict[int, LandmarkBasis], causal: dict[int, bool]) -> None:
        """Find out whether the landmarks are causal, the non-trivial ones first."""
        reads = {fact for layer in self._whole.task.axioms for rule in layer.rules for fact in rule.body}
        for number in sorted(bases, key=lambda each: self._initial >> each & 1):
            if self._goal >> number & 1:
                causal[number] = True
            elif number not in reads:
                if self._used >> number & 1 and self._prove_needed(number):
                    causal[number] = True
                if not self._used >> number & 1:
                    causal[number] = False

    def _prove_needed(self, number: int) -> bool:
        test = forbid_fact(self._whole.task, number, needing=True)
        return not _reaches_goal(test) or self._prove(test) is not None

    def _prove(self, test: Task) -> LandmarkBasis | None:
        """Return the proof that `test` has no plan; None if there is one, which is taken, or nothing is proved."""
        mutexes = find_forward_mutexes(test, self._limits)
        kept = [action for number, action in enumerate(test.actions) if number not in mutexes.actions]
        if mutexes.facts & bits(test.goal) or not _reaches_goal(test, kept):
            return LandmarkBasis.MUTEX
        space = Space(test)
        found: Searched | None = None
        try:
            found = search_plan(space, self._limits.part(GLANCE), GREEDY)
        except LimitReached:
            self._limits.check()
        if found is None or not found.proved:
            found = search_plan(space, self._limits)
        if found.plan is None:
            return LandmarkBasis.SEARCHED if found.proved else None
        self._take([self._number_in_whole(test, number) for number in found.plan])
        return None

    def _number_in_whole(self, test: Task, number: int) -> int:
        """Return the number in the whole task of an action of `test`, which has the same step and precondition."""
        action = test.actions[number]
        same = self._whole.numbers_of[action.step.action, action.step.arguments]
        return next(each for each in same if self._whole.task.actions[each].precondition == action.precondition)


def _reaches_goal(task: Task, actions: Iterable[Any] | None = None) -> bool:
    """Return whether the delete relaxation of `task`, maybe with some of its actions only, reaches the goal."""
    return not bits(task.goal) & ~reach_relaxed(task, task.initial, actions)
