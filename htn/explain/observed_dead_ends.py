"""Where decomposition comes to an end although each task by itself could be done: what was met, not what is proved.

A small progression search over states and what remains to be done. Unless it ends by itself within `SITUATIONS`, it
says nothing about the situations that it did not look at.

Which methods may do a task: as the relaxed world says, or where that is too large, as one state says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from heapq import heappop, heappush, nsmallest
from itertools import chain, count, islice

from htn.compilations.method_splitting import ROOT, rooted
from htn.compilations.pulled_up_preconditions import Needs
from htn.explain.impossible_tasks import Reach, label_of, shown, title, unified
from htn.explain.report import Attempt, DeadEnd, Failure, Lack
from htn.model import HtnDomain, HtnProblem, Method, Network, closure
from planner.compilations.adl import compile_adl
from planner.lightweight import Any, Final, Protocol, dataclass, field, replace
from planner.limits import LimitReached, Limits
from planner.model import And, Atom, Formula
from planner.model.formulas import substitute
from planner.plan import Step, StoppedBy
from planner.semantics.condition_solver import Condition, Universe
from planner.semantics.simulation import ChangeHistory, Simulation

LOOKED_AT: Final = 12
"""So many choices of objects are looked at for each method, where the relaxed world does not say which may do."""

Choice = tuple[Method, dict[str, str]]
"""A method, and what its parameters stand for."""


class Choices(Protocol):
    """The methods for tasks."""

    domain: HtnDomain

    @property
    def are_all(self) -> bool:
        """Whether nothing else can ever do a task."""

    def of(self, task: Atom, world: Simulation) -> Iterator[Choice]:
        """Yield what may do the ground `task`, which begins in `world`."""


class PossibleChoices:
    """What may do a task in any state, as the relaxed world says."""

    are_all = True

    def __init__(self, reach: Reach) -> None:
        self.domain = reach.domain
        self._reach = reach

    def of(self, task: Atom, _world: Simulation) -> Iterator[Choice]:
        """Yield what may do the ground `task` in any state."""
        for method in self.domain.methods_for(task.predicate):
            for binding in self._reach.choices(method, task):
                subtasks = [each.task.substitute(binding) for each in method.network.subtasks]
                if all(map(self._reach.may_be_done, subtasks)):
                    yield method, binding


class FirstChoices:
    """Some of what may do a task in one state; first, what its subtasks need and do not bring about holds there."""

    are_all = False

    def __init__(self, problem: HtnProblem) -> None:
        classical = compile_adl(problem.classical).problem
        self.domain: HtnDomain = replace(rooted(problem), classical=classical.domain)
        self._needs = Needs(self.domain, problem.classical.all_objects, alone=problem.is_ordered)
        self._conditions: dict[str, tuple[Condition, Condition]] = {}

    def of(self, task: Atom, world: Simulation) -> Iterator[Choice]:
        """Yield what may do the ground `task` in the state of `world`; where that is nothing, what fits its types."""
        for method in self.domain.methods_for(task.predicate):
            bound = unified(method.task, task)
            if bound is None or not self._is_typed(method, task, bound, world.rules.universe):
                continue
            free = tuple([each for each in method.parameters if each.name not in bound])
            domains = world.rules.universe.domains(free)
            solutions = [
                world.world.solver.solutions([condition], domains, bound) for condition in self._asked(method, world)
            ]
            found: dict[tuple[str, ...], None] = {}
            for binding in islice(chain(*solutions), LOOKED_AT):
                row = tuple([binding[each.name] for each in method.parameters])
                if row not in found:
                    found[row] = None
                    yield method, binding

    def _is_typed(self, method: Method, task: Atom, bound: dict[str, str], universe: Universe) -> bool:
        """Return whether the arguments of `task` have the types of its parameters, and of those of `method`."""
        declared = self.domain.tasks[task.predicate].parameters
        pairs = [*zip(declared, task.args, strict=True)]
        pairs += [(each, bound[each.name]) for each in method.parameters if each.name in bound]
        return all(value in universe.of_types(each.types) for each, value in pairs)

    def _asked(self, method: Method, world: Simulation) -> tuple[Condition, Condition]:
        """Return what must hold as `method` begins: with what its subtasks need, and then without."""
        if method.name not in self._conditions:
            own = (method.precondition, method.network.constraints)
            compiled = world.rules.compiler.compile
            self._conditions[method.name] = (
                compiled(And((*own, *self._needs.of_method(method)))),
                compiled(And(own)),
            )
        return self._conditions[method.name]


SITUATIONS: Final = 3000
"""So many situations are looked at."""
GROWTH: Final = 40
"""What remains to be done may be so many tasks more than at the beginning; tasks may recur without end."""
SHOWN: Final = 3
"""So many dead ends are told."""
CHOICES: Final = 6
"""So many choices of objects are told for each method."""


@dataclass(frozen=True, slots=True)
class _Open:
    """A task that remains to be done; `before` are the numbers of those that come before it."""

    task: Atom
    above: _Open | None
    before: frozenset[int]

    @property
    def path(self) -> tuple[str, ...]:
        """The tasks that this one is there for, nearest first."""
        found, upper = [], self.above
        while upper is not None and upper.task.predicate != ROOT:
            found.append(shown(upper.task))
            upper = upper.above
        return tuple(found)


@dataclass(frozen=True, slots=True, eq=False)
class _Situation:
    """A state that `steps` lead to, and what remains to be done, by number; `state` tells it from other states."""

    world: Simulation
    state: Any
    steps: tuple[Step, ...]
    remaining: dict[int, _Open]

    @property
    def key(self) -> Any:
        """What tells it from all others."""
        place = {number: place for place, number in enumerate(self.remaining)}
        rest = [(each.task, frozenset(place[number] for number in each.before)) for each in self.remaining.values()]
        return self.state, tuple(rest)

    @property
    def ready(self) -> Iterator[tuple[int, _Open]]:
        """The tasks that nothing comes before."""
        return ((number, each) for number, each in self.remaining.items() if not each.before)


@dataclass(slots=True)
class Observed:
    """What a search met: `dead_ends`, the furthest first; `exhausted` where there is nothing else."""

    dead_ends: tuple[DeadEnd, ...] = ()
    exhausted: bool = False
    solvable: bool = False
    stopped_by: StoppedBy | None = None


def observed(problem: HtnProblem, choices: Choices, limits: Limits) -> Observed:
    """Return what a small search for a decomposition of `problem` meets; limits end it early."""
    search = _Search(problem, choices)
    found = Observed()
    try:
        found.exhausted = search.run(limits.check)
    except LimitReached as limit:
        found.stopped_by = limit.stopped_by
    found.solvable = search.solvable
    found.exhausted = found.exhausted and not search.solvable and choices.are_all
    found.dead_ends = tuple([search.told(each) for each in search.furthest()])
    return found


@dataclass(slots=True)
class _Search:
    problem: HtnProblem
    choices: Choices
    solvable: bool = False
    _ends: list[_Situation] = field(default_factory=list)
    _numbers: Iterator[int] = field(default_factory=count)

    def run(self, check: Callable[[], None]) -> bool:
        """Look for dead ends until there is a plan; return whether everything was looked at."""
        start = {next(self._numbers): _Open(Atom(ROOT), None, frozenset())}
        world = Simulation(self.problem.classical)
        first = _Situation(world, _state(world), (), start)
        queue, ticket = [(0, 0, first)], count(1)
        seen, whole = {first.key}, True
        most = GROWTH + len(self.problem.network.subtasks)
        while queue and not self.solvable:
            check()
            if len(seen) > SITUATIONS:
                return False
            situation = heappop(queue)[-1]
            goes_on = False
            for each in self._successors(situation):
                goes_on = True
                if len(each.remaining) > most:
                    whole = False
                elif each.key not in seen:
                    seen.add(each.key)
                    heappush(queue, (len(each.remaining) - len(each.steps), -next(ticket), each))
            self.solvable = not situation.remaining and self._reaches_goal(situation)
            if not goes_on:
                self._ends.append(situation)
        return whole

    def furthest(self) -> list[_Situation]:
        """Return the dead ends with most steps done and the deepest tasks."""
        if self.solvable:
            return []
        return nsmallest(SHOWN, self._ends, key=lambda each: (-len(each.steps), len(each.remaining), -_depth(each)))

    def told(self, end: _Situation) -> DeadEnd:
        """Return the dead end in words."""
        steps = tuple(map(str, end.steps))
        account = self._chronicle(end).account
        if not end.remaining:
            goal = end.world.inspector.smallest_failure(self.problem.classical.goal.hard, {})
            return DeadEnd(steps, None, str(Lack(str(goal), account(goal))))
        _, task = next(end.ready)
        attempts = list(self._attempts(end, task.task, account))
        return DeadEnd(steps, Failure(shown(task.task), tuple(attempts), task.path))

    def _reaches_goal(self, situation: _Situation) -> bool:
        return situation.world.holds(self.problem.classical.goal.hard)

    def _successors(self, situation: _Situation) -> Iterator[_Situation]:
        for number, each in situation.ready:
            if each.task.predicate in self.problem.domain.classical.actions:
                step = Step(each.task.predicate, each.task.args)
                if situation.world.objection(step) is None:
                    world = situation.world.copy()
                    world.apply(step)
                    rest = self._replaced(situation.remaining, number, Network(), {})
                    yield _Situation(world, _state(world), (*situation.steps, step), rest)
                continue
            for method, binding in self.choices.of(each.task, situation.world):
                if situation.world.holds(substitute(method.precondition, binding)):
                    rest = self._replaced(situation.remaining, number, method.network, binding)
                    yield replace(situation, remaining=rest)

    def _replaced(
        self, remaining: dict[int, _Open], number: int, network: Network, binding: dict[str, str]
    ) -> dict[int, _Open]:
        """Return `remaining` with the subtasks of `network` in place of the task `number`."""
        upper = remaining[number]
        new = [next(self._numbers) for _ in network.subtasks]
        before: list[set[int]] = [set() for _ in new]
        for place, after in enumerate(closure(len(new), network.ordering)):
            for other in range(len(new)):
                if after >> other & 1:
                    before[other].add(new[place])
        found = {}
        for each, place in zip(new, range(len(new)), strict=True):
            task = network.subtasks[place].task.substitute(binding)
            found[each] = _Open(task, upper, frozenset(before[place]))
        for each, item in remaining.items():
            if each != number:
                waits = item.before - {number} | ({*new} if number in item.before else set())
                found[each] = _Open(item.task, item.above, frozenset(waits))
        return found

    def _attempts(self, end: _Situation, task: Atom, account: Callable[[Formula], str]) -> Iterator[Attempt]:
        """Yield what keeps `task` from being done in the state of `end`."""
        if task.predicate in self.problem.domain.classical.actions:
            objection = end.world.objection(Step(task.predicate, task.args))
            assert objection is not None
            condition = objection.condition
            lacks = () if objection.misfit else (Lack(str(condition), account(condition)),)
            yield Attempt("the action", lacks, remark=objection.misfit)
            return
        told: dict[str, int] = {}
        for method, binding in self.choices.of(task, end.world):
            told[method.name] = told.get(method.name, 0) + 1
            if told[method.name] <= CHOICES:
                condition = end.world.inspector.smallest_failure(method.precondition, binding)
                yield Attempt(label_of(method, binding), (Lack(str(condition), account(condition)),))
        ever = ", even if nothing ever ended" if self.choices.are_all else ""
        for method in self.choices.domain.methods_for(task.predicate):
            if method.name not in told:
                yield Attempt(title(method), remark=f"no choice of objects can work here{ever}")

    def _chronicle(self, end: _Situation) -> ChangeHistory:
        """Return what the steps so far have changed."""
        world = Simulation(self.problem.classical)
        chronicle = ChangeHistory(self.problem.classical.domain.derived)
        for number, step in enumerate(end.steps, start=1):
            chronicle.record(number, step, world.apply(step))
        return chronicle


def _state(world: Simulation) -> Any:
    return world.facts, frozenset(world.history)


def _depth(end: _Situation) -> int:
    return max((len(each.path) for _, each in end.ready), default=0)
