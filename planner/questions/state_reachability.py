"""Reachability: which facts hold, and which steps can be taken, in some state that is reachable, each with its proof.

One pass settles all at once: the delete relaxation and mutexes say what is unreachable, a breadth-first search that
keeps only states with a new fact (Lipovetzky and Geffner, 2012) shows what is reachable. What is left is settled by
exact search: all states one by one if there are few, else sets of states as decision diagrams, else a search for a
plan to each fact or precondition.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from enum import Enum
from itertools import product
from typing import Generic, TypeVar

from planner.errors import InputError
from planner.lightweight import TYPE_CHECKING, Any, Final, dataclass, field
from planner.limits import STOPS, LimitReached, Limits, check_limits, stop_reason
from planner.model import Atom, Predicate, Problem, Variable
from planner.plan import Step, StoppedBy
from planner.portfolio.portfolio import Start
from planner.questions.notation import (
    AnyFact,
    AnyState,
    AnyStep,
    find_changing_predicates,
    read_fact,
    read_step,
    spell,
    start_whole_in,
)
from planner.questions.whole_tasks import (
    ANYTIME,
    GREEDY,
    Key,
    Versions,
    WholeTask,
    aim_at,
    find_forward_mutexes,
    search_plan,
    states_along,
)
from planner.search import symbolic
from planner.semantics.condition_solver import Universe
from planner.task.ground_task import State, bits, facts_of

if TYPE_CHECKING:
    import threading

Item = TypeVar("Item", Atom, Step)
Asked = TypeVar("Asked", Atom, Key)

MOST_LISTED: Final = 500_000
"""Most facts or steps that are listed where none are named: all combinations of objects of the right types."""
FEW_STATES: Final = 2_000
"""States that are visited one by one, lest a small state space be searched in a clever way."""
MOST_STATES: Final = 5_000
"""States with new pairs of facts that are visited then, before searches for single facts and sets of states."""
LOOK: Final = 200
"""States between two looks whether anything is left to find."""
NEAR_STATES: Final = 600
"""States that are visited around one that a search for a fact has found."""
GLANCE: Final = 0.05
"""Seconds of the first search for each fact or precondition: nearly all that are reachable take less."""
SYMBOLIC_SHARE: Final = 0.5
"""Share of the remaining time for sets of states."""


class Basis(Enum):
    """The proof of an answer about reachability."""

    INITIAL = "it holds in the initial state"
    VISITED = "a state was reached that has it"
    RELAXED = "not even actions that delete nothing lead to it"
    MUTEX = "mutexes exclude it from all reachable states (mutex groups and h²)"
    EXHAUSTED = "no reachable state has it: all were visited"


@dataclass(frozen=True, slots=True)
class Reach(Generic[Item]):
    """Whether a fact or a step is `reachable`, and the `basis` of this proof; both None if that is unknown."""

    item: Item
    reachable: bool | None
    basis: Basis | None
    problem: Problem = field(repr=False, compare=False)

    def __str__(self) -> str:
        verdict = {True: "reachable", False: "unreachable", None: "unknown"}[self.reachable]
        return f"{spell(self.problem, self.item)}: {verdict}" + (f" ({self.basis.value})" if self.basis else "")

    def to_dict(self) -> dict[str, Any]:
        """Return the answer as JSON-ready data."""
        basis = self.basis.name.lower() if self.basis else None
        return {"item": spell(self.problem, self.item), "reachable": self.reachable, "basis": basis}


@dataclass(frozen=True, slots=True)
class Reachability(Generic[Item]):
    """The `answers` about facts or steps. `stopped_by` says what left some of them unknown."""

    answers: tuple[Reach[Item], ...]
    stopped_by: StoppedBy

    @property
    def reachable(self) -> tuple[Item, ...]:
        """What is proved to be reachable."""
        return tuple([each.item for each in self.answers if each.reachable])

    @property
    def unreachable(self) -> tuple[Item, ...]:
        """What is proved to be unreachable."""
        return tuple([each.item for each in self.answers if each.reachable is False])

    @property
    def unknown(self) -> tuple[Item, ...]:
        """What is not decided."""
        return tuple([each.item for each in self.answers if each.reachable is None])

    def to_dict(self) -> dict[str, Any]:
        """Return all answers as JSON-ready data."""
        return {
            "answers": [each.to_dict() for each in self.answers],
            "complete": not self.unknown,
            "stopped_by": self.stopped_by.name.lower(),
        }


def reachable_facts(
    problem: Problem,
    state: AnyState | None = None,
    *,
    facts: Iterable[AnyFact] | None = None,
    static: bool = False,
    time_limit: float | None = 10.0,
    memory_limit: float | None = None,
    cancel: threading.Event | None = None,
) -> Reachability[Atom]:
    """Return which `facts` hold in some state that steps reach from `state`, by default the initial one.

    Without `facts`, these are all facts with objects of the right types whose predicates actions change or axioms
    derive; with `static`, also those that nothing changes. Constraints on the way, budgets and deadlines do not count.
    A limit leaves answers unknown. Raises `InputError` for facts that the problem cannot have, for invalid limits, and
    for more than 500 000 facts, `UnsupportedError` for unknown facts, created objects and several outcomes.
    """
    check_limits(time_limit, memory_limit)
    start = start_whole_in(problem, state, "reachable_facts")
    if facts is None:
        changing = set(start.domain.predicates if static else find_changing_predicates(start))
        asked = list(_list_facts(start, [each for name, each in start.domain.predicates.items() if name in changing]))
    else:
        asked = [read_fact(start, fact) for fact in _each(facts)]
    exploration = Exploration(start, Limits(time_limit, memory_limit, cancel))
    stopped_by = exploration.settle(asked, exploration.judge_fact, exploration.targets_of_fact)
    return Reachability(tuple([Reach(each, *exploration.judge_fact(each), start) for each in asked]), stopped_by)


def reachable_steps(
    problem: Problem,
    state: AnyState | None = None,
    *,
    steps: Iterable[AnyStep] | None = None,
    time_limit: float | None = 10.0,
    memory_limit: float | None = None,
    cancel: threading.Event | None = None,
) -> Reachability[Step]:
    """Return which `steps` can be taken in some state that steps reach from `state`, by default the initial one.

    Without `steps`, these are all actions with objects of the right types. All else is as for `reachable_facts`.
    """
    check_limits(time_limit, memory_limit)
    start = start_whole_in(problem, state, "reachable_steps")
    asked = list(_list_steps(start)) if steps is None else [read_step(start, step) for step in _each(steps)]
    exploration = Exploration(start, Limits(time_limit, memory_limit, cancel))
    versions = Versions(start)
    stopped_by = exploration.settle(versions.keys(asked), exploration.judge_step, exploration.targets_of_step)
    judged = [(each, _join([exploration.judge_step(key) for key in versions.keys([each])])) for each in asked]
    return Reachability(tuple([Reach(each, *answer, start) for each, answer in judged]), stopped_by)


def _has_any(items: Iterable[State]) -> bool:
    return any(True for _ in items)


Answer = tuple[bool | None, Basis | None]


def _join(answers: list[Answer]) -> Answer:
    """Return the answer for a step of which these are the answers for the versions of its action."""
    for verdict in (True, None):
        for answer in answers:
            if answer[0] is verdict:
                return answer
    return answers[0]


def _each(given: Iterable[Any]) -> Iterable[Any]:
    if isinstance(given, str | Atom | Step):
        raise InputError(f"expected several, got {given}", hint="give a list")
    return given


def _list_facts(problem: Problem, predicates: Iterable[Predicate]) -> Iterator[Atom]:
    for each in predicates:
        for row in _list_rows(problem, each.parameters, f"facts of '{each.name}'"):
            yield Atom(each.name, row)


def _list_steps(problem: Problem) -> Iterator[Step]:
    for action in problem.domain.actions.values():
        if action.name not in problem.domain.versions:
            for row in _list_rows(problem, action.parameters, f"steps of '{action.name}'"):
                yield Step(action.name, row)


def _list_rows(problem: Problem, parameters: tuple[Variable, ...], what: str) -> Iterable[tuple[str, ...]]:
    universe, number = Universe(problem), 1
    columns = [list(universe.of_types(parameter.types)) for parameter in parameters]
    for column in columns:
        number *= len(column)
    if number > MOST_LISTED:
        raise InputError(f"there are {number} {what}, more than can be listed", hint="name those that matter")
    return product(*columns)


Novelty = Callable[[State, State], bool]
"""Whether a state, of whose facts these are new to its parent, is to be expanded."""
FindOpen = Callable[[], Iterable[State]]
"""Returns sets of facts that it is not known whether they are reached together, as bits."""


def _take_all(_state: State, _added: State) -> bool:
    return True


def make_pair_novelty(facts: int) -> Novelty:
    """Return a function that tells whether a state has a pair of facts that no state before it had."""
    pairs = [0] * facts

    def is_novel(state: State, added: State) -> bool:
        found = False
        for fact in facts_of(added):
            if state & ~pairs[fact]:
                found = True
                pairs[fact] |= state
        return found

    return is_novel


class Exploration:
    """What is known of the states that are reachable in `problem`: facts and actions that were seen, or are excluded.

    Nothing is raised at a limit.
    """

    def __init__(self, problem: Problem, limits: Limits) -> None:
        self._problem, self._limits = problem, limits
        self._whole: WholeTask | None = None
        self._seen: State = 0
        self._seen_actions: set[int] = set()
        self._excluded: State = 0
        self._excluded_actions: frozenset[int] = frozenset()
        self._refuted: set[State] = set()
        self._is_complete = False

    def settle(
        self, items: Iterable[Asked], judge: Callable[[Asked], Answer], find_targets: Callable[[Asked], Iterable[State]]
    ) -> StoppedBy:
        """Work until `judge` decides about all `items`, or until a limit; return what stopped the work.

        `find_targets` returns the sets of facts, as bits, that show of an item that it is reachable.
        """
        left = list(items)

        def find_open() -> Iterator[State]:
            left[:] = [item for item in left if judge(item)[0] is None]
            for item in left[:]:
                if judge(item)[0] is None:
                    yield from find_targets(item)

        try:
            self._whole = WholeTask(self._problem, self._limits, with_goal=False)
            for _ in self._work(find_open):
                if self._is_complete or not _has_any(find_open()):
                    break
        except STOPS as stop:
            return stop_reason(stop)
        return StoppedBy.INCOMPLETE if _has_any(find_open()) else StoppedBy.EXHAUSTED

    def _work(self, find_open: FindOpen) -> Generator[None, None, None]:
        """Do one kind of work after the other, from the cheapest on."""
        assert self._whole is not None
        self._search_novel_states()
        yield
        mutexes = find_forward_mutexes(self._whole.flagged, self._limits)
        self._excluded, self._excluded_actions = mutexes.facts, mutexes.actions
        yield
        initial = self._whole.space.initial
        self._is_complete = self._visit_states(initial, FEW_STATES, _take_all, find_open)
        yield
        novelty = make_pair_novelty(len(self._whole.task.facts))
        self._is_complete = self._visit_states(initial, MOST_STATES, novelty, find_open)
        yield
        for target in find_open():
            last = self._search_for(target, self._limits.part(GLANCE), GREEDY)
            if last is not None:
                self._visit_states(last, NEAR_STATES, _take_all, find_open)
        yield
        if symbolic.is_installed():
            self._spread_sets()
            yield
        for target in find_open():
            self._search_for(target, self._limits, ANYTIME)
        yield

    def _visit(self, state: State) -> list[int]:
        """Note what holds and what can be done in `state`; return the applicable actions."""
        assert self._whole is not None
        full = self._whole.space.closed(state)
        actions = self._whole.space.applicable(full)
        self._seen |= full
        self._seen_actions.update(actions)
        return actions

    def _search_novel_states(self) -> None:
        """Search breadth-first, and keep only states that have a fact that no earlier state had."""
        assert self._whole is not None
        space = self._whole.space
        waiting = deque([space.initial])
        known = space.closed(space.initial)
        while waiting:
            self._limits.check()
            state = waiting.popleft()
            for action in self._visit(state):
                child = space.apply(action, state)
                full = space.closed(child)
                if full & ~known:
                    known |= full
                    waiting.append(child)

    def _visit_states(self, start: State, most: int, is_novel: Novelty, find_open: FindOpen) -> bool:
        """Visit at most so many states breadth-first from `start`, and only novel ones behind novel ones.

        Return whether these were all states. Stop early if `find_open` has nothing left to find.
        """
        assert self._whole is not None
        space, added = self._whole.space, [*map(bits, self._whole.added)]
        known, waiting = {start}, deque([start])
        is_complete = True
        for number in range(most):
            if not waiting:
                return is_complete
            if not number % LOOK and not _has_any(find_open()):
                return False
            self._limits.check()
            state = waiting.popleft()
            for action in self._visit(state):
                child = space.apply(action, state)
                if child not in known:
                    known.add(child)
                    if is_novel(child, added[action] & child & ~state):
                        waiting.append(child)
                    else:
                        is_complete = False
        return is_complete and not waiting

    def _spread_sets(self) -> None:
        """Compute the set of all reachable states as a decision diagram, in part of the time."""
        from planner.questions.symbolic_reachability import spread_sets

        assert self._whole is not None
        limits = self._limits.share(SYMBOLIC_SHARE) if self._limits.remaining is not None else self._limits
        found = spread_sets(self._whole.task, limits)
        if found is not None:
            self._seen |= found.facts
            self._seen_actions |= found.actions
            self._is_complete = True

    def _search_for(self, target: State, limits: Limits, start: Start) -> State | None:
        """Search for a state with all facts of `target`, and return it; exclude them if there is provably none.

        Raises `LimitReached` only at the limits of the exploration.
        """
        assert self._whole is not None
        try:
            found = search_plan(aim_at(self._whole.space, facts_of(target)), limits, start)
        except LimitReached:
            self._limits.check()
            return None
        if found.plan is not None:
            states = states_along(self._whole.space, found.plan)
            for state in states:
                self._visit(state)
            return states[-1]
        if found.proved:
            self._refuted.add(target)
        return None

    def targets_of_fact(self, fact: Atom) -> Iterable[State]:
        """Return the set of the fact alone."""
        assert self._whole is not None
        return (1 << self._whole.number_of[fact],)

    def targets_of_step(self, key: Key) -> Iterable[State]:
        """Return the preconditions of the actions of a step, unless mutexes exclude them."""
        assert self._whole is not None
        actions = self._whole.task.actions
        numbers = [number for number in self._whole.numbers_of[key] if number not in self._excluded_actions]
        return [bits(actions[number].precondition) for number in numbers]

    def judge_fact(self, fact: Atom) -> Answer:
        """Return whether `fact` is reachable, and why."""
        if self._whole is None:
            return (True, Basis.INITIAL) if fact in self._problem.initial else (None, None)
        number = self._whole.number_of.get(fact)
        if fact in self._whole.initial:
            return True, Basis.INITIAL
        if number is None:
            return False, Basis.RELAXED
        if self._seen >> number & 1:
            return True, Basis.VISITED
        if self._excluded >> number & 1:
            return False, Basis.MUTEX
        if self._is_complete or 1 << number in self._refuted:
            return False, Basis.EXHAUSTED
        return None, None

    def judge_step(self, key: Key) -> Answer:
        """Return whether a step is reachable, and why."""
        if self._whole is None:
            return None, None
        numbers = self._whole.numbers_of.get(key)
        if numbers is None:
            return False, Basis.RELAXED
        if not self._seen_actions.isdisjoint(numbers):
            return True, Basis.VISITED
        if self._excluded_actions.issuperset(numbers):
            return False, Basis.MUTEX
        left = [number for number in numbers if number not in self._excluded_actions]
        conditions = [bits(self._whole.task.actions[number].precondition) for number in left]
        if self._is_complete or all(condition in self._refuted for condition in conditions):
            return False, Basis.EXHAUSTED
        return None, None
