"""A small progression search for dead ends: where decomposition fails although each task by itself may be done.

It shows dead ends that it met, and proves nothing unless it ends by itself within `MOST_NODES` nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from heapq import heappop, heappush, nsmallest
from itertools import chain, count, islice

from htn.compilations.method_preprocessing import ROOT, Needs, preprocess
from htn.explain.impossible_tasks import RelaxedHierarchy, describe_instance, describe_method, describe_task
from htn.explain.report import Attempt, DeadEnd, Failure, Lack
from htn.model import HtnDomain, HtnProblem, Method, Network, transitive_successors, unify
from planner.lightweight import Any, Final, Protocol, dataclass, field, replace
from planner.limits import LimitReached, Limits
from planner.model import And, Atom, Formula
from planner.model.formulas import substitute
from planner.plan import Step, StoppedBy
from planner.semantics.condition_solver import Condition, Universe
from planner.semantics.simulation import ChangeHistory, Simulation

MOST_BINDINGS: Final = 12
"""Most bindings of a method that are tried where the delete relaxation does not say which may work."""
MOST_NODES: Final = 3000
"""Most nodes that are expanded."""
MOST_GROWTH: Final = 40
"""Tasks by which a network may outgrow the initial one; recursive tasks may grow it without end."""
SHOWN: Final = 3
"""Most dead ends in an explanation."""
SHOWN_BINDINGS: Final = 6
"""Most bindings of a method in an explanation."""

Choice = tuple[Method, dict[str, str]]
"""A method and its binding."""


class Choices(Protocol):
    """The ways to decompose tasks."""

    domain: HtnDomain

    @property
    def are_all(self) -> bool:
        """Whether there are no other ways."""

    def of(self, task: Atom, world: Simulation) -> Iterator[Choice]:
        """Yield the methods, with bindings, that may decompose the ground `task` in the state of `world`."""


class PossibleChoices:
    """The ways to decompose a task in any state, according to the delete relaxation."""

    are_all = True

    def __init__(self, relaxed: RelaxedHierarchy) -> None:
        self.domain = relaxed.domain
        self._relaxed = relaxed

    def of(self, task: Atom, _world: Simulation) -> Iterator[Choice]:
        """Yield the methods, with bindings, that may decompose the ground `task` in any state."""
        for method in self.domain.methods_for(task.predicate):
            for binding in self._relaxed.bindings(method, task):
                subtasks = [each.task.substitute(binding) for each in method.network.subtasks]
                if all(map(self._relaxed.may_be_done, subtasks)):
                    yield method, binding


class FirstChoices:
    """Some ways to decompose a task in one state; those whose pulled-up preconditions hold there come first."""

    are_all = False

    def __init__(self, problem: HtnProblem) -> None:
        self.domain = preprocess(problem, splitting=False).domain
        self._needs = Needs(self.domain, problem.classical.all_objects, alone=problem.is_ordered)
        self._conditions: dict[str, tuple[Condition, Condition]] = {}

    def of(self, task: Atom, world: Simulation) -> Iterator[Choice]:
        """Yield methods, with bindings, that may decompose the ground `task` in the state of `world`."""
        for method in self.domain.methods_for(task.predicate):
            bound = unify(method.task, task, {})
            if bound is None or not self._is_typed(method, task, bound, world.rules.universe):
                continue
            free = tuple([each for each in method.parameters if each.name not in bound])
            domains = world.rules.universe.domains(free)
            solve, conditions = world.world.solver.solutions, self._conditions_of(method, world)
            solutions = [solve([condition], domains, bound) for condition in conditions]
            found: set[tuple[str, ...]] = set()
            for binding in islice(chain(*solutions), MOST_BINDINGS):
                row = tuple([binding[each.name] for each in method.parameters])
                if row not in found:
                    found.add(row)
                    yield method, binding

    def _is_typed(self, method: Method, task: Atom, bound: dict[str, str], universe: Universe) -> bool:
        """Return whether the arguments of `task` have the types of its parameters, and of those of `method`."""
        declared = self.domain.tasks[task.predicate].parameters
        pairs = [*zip(declared, task.args, strict=True)]
        pairs += [(each, bound[each.name]) for each in method.parameters if each.name in bound]
        return all(value in universe.of_types(each.types) for each, value in pairs)

    def _conditions_of(self, method: Method, world: Simulation) -> tuple[Condition, Condition]:
        """Return the precondition of `method` with the pulled-up preconditions of its subtasks, and without these."""
        if method.name not in self._conditions:
            own = (method.precondition, method.network.constraints)
            pulled, compile_ = (*own, *self._needs.of_method(method)), world.rules.compiler.compile
            self._conditions[method.name] = compile_(And(pulled)), compile_(And(own))
        return self._conditions[method.name]


@dataclass(frozen=True, slots=True)
class _OpenTask:
    """A task that remains to be done; `before` are the numbers of the tasks that come before it."""

    task: Atom
    above: _OpenTask | None
    before: frozenset[int]

    @property
    def path(self) -> tuple[str, ...]:
        """The tasks above this one, nearest first."""
        found, upper = [], self.above
        while upper is not None and upper.task.predicate != ROOT:
            found.append(describe_task(upper.task))
            upper = upper.above
        return tuple(found)


@dataclass(frozen=True, slots=True, eq=False)
class _Node:
    """A state that `steps` lead to, and the remaining tasks by number; `state` tells it from other states."""

    world: Simulation
    state: Any
    steps: tuple[Step, ...]
    remaining: dict[int, _OpenTask]

    @property
    def key(self) -> Any:
        """The state and the remaining network, by which nodes are told apart."""
        place = {number: place for place, number in enumerate(self.remaining)}
        rest = [(each.task, frozenset(place[number] for number in each.before)) for each in self.remaining.values()]
        return self.state, tuple(rest)

    @property
    def ready(self) -> Iterator[tuple[int, _OpenTask]]:
        """The tasks that no other comes before."""
        return ((number, each) for number, each in self.remaining.items() if not each.before)


@dataclass(slots=True)
class SearchOutcome:
    """The `dead_ends` that a search met, the furthest first; it is `exhausted` where there are no others."""

    dead_ends: tuple[DeadEnd, ...] = ()
    exhausted: bool = False
    solvable: bool = False
    stopped_by: StoppedBy | None = None


def search_dead_ends(problem: HtnProblem, choices: Choices, limits: Limits) -> SearchOutcome:
    """Search for a decomposition of `problem`, and return the dead ends that were met; limits end the search early."""
    search = _Search(problem, choices)
    found = SearchOutcome()
    try:
        found.exhausted = search.run(limits.check)
    except LimitReached as limit:
        found.stopped_by = limit.stopped_by
    found.solvable = search.solvable
    found.exhausted = found.exhausted and not search.solvable and choices.are_all
    found.dead_ends = tuple([search.describe(each) for each in search.furthest()])
    return found


@dataclass(slots=True)
class _Search:
    problem: HtnProblem
    choices: Choices
    solvable: bool = False
    _ends: list[_Node] = field(default_factory=list)
    _numbers: Iterator[int] = field(default_factory=count)

    def run(self, check: Callable[[], None]) -> bool:
        """Search until there is a plan; return whether all nodes were expanded."""
        start = {next(self._numbers): _OpenTask(Atom(ROOT), None, frozenset())}
        world = Simulation(self.problem.classical)
        first = _Node(world, _state_key(world), (), start)
        queue, ticket = [(0, 0, first)], count(1)
        seen, complete = {first.key}, True
        most = MOST_GROWTH + len(self.problem.network.subtasks)
        while queue and not self.solvable:
            check()
            if len(seen) > MOST_NODES:
                return False
            node = heappop(queue)[-1]
            has_successor = False
            for each in self._successors(node):
                has_successor = True
                if len(each.remaining) > most:
                    complete = False
                elif each.key not in seen:
                    seen.add(each.key)
                    heappush(queue, (len(each.remaining) - len(each.steps), -next(ticket), each))
            self.solvable = not node.remaining and self._reaches_goal(node)
            if not has_successor:
                self._ends.append(node)
        return complete

    def furthest(self) -> list[_Node]:
        """Return the dead ends with the most steps and the deepest tasks."""
        if self.solvable:
            return []
        return nsmallest(SHOWN, self._ends, key=lambda each: (-len(each.steps), len(each.remaining), -_depth(each)))

    def describe(self, end: _Node) -> DeadEnd:
        """Return the dead end as data of an explanation."""
        steps = tuple(map(str, end.steps))
        account = self._replay(end).account
        if not end.remaining:
            goal = end.world.inspector.smallest_failure(self.problem.classical.goal.hard, {})
            return DeadEnd(steps, None, str(Lack(str(goal), account(goal))))
        _, task = next(end.ready)
        attempts = list(self._attempts(end, task.task, account))
        return DeadEnd(steps, Failure(describe_task(task.task), tuple(attempts), task.path))

    def _reaches_goal(self, node: _Node) -> bool:
        return node.world.holds(self.problem.classical.goal.hard)

    def _successors(self, node: _Node) -> Iterator[_Node]:
        for number, each in node.ready:
            if each.task.predicate in self.problem.domain.classical.actions:
                step = Step(each.task.predicate, each.task.args)
                if node.world.find_objection(step) is None:
                    world = node.world.copy()
                    world.apply(step)
                    rest = self._decompose(node.remaining, number, Network(), {})
                    yield _Node(world, _state_key(world), (*node.steps, step), rest)
                continue
            for method, binding in self.choices.of(each.task, node.world):
                if node.world.holds(substitute(method.precondition, binding)):
                    rest = self._decompose(node.remaining, number, method.network, binding)
                    yield replace(node, remaining=rest)

    def _decompose(
        self, remaining: dict[int, _OpenTask], number: int, network: Network, binding: dict[str, str]
    ) -> dict[int, _OpenTask]:
        """Return `remaining` with the subtasks of `network` in place of the task `number`."""
        upper, size = remaining[number], len(network.subtasks)
        new, after = [next(self._numbers) for _ in range(size)], transitive_successors(size, network.ordering)
        found = {}
        for place, each in enumerate(new):
            before = frozenset([new[other] for other in range(size) if after[other] >> place & 1])
            found[each] = _OpenTask(network.subtasks[place].task.substitute(binding), upper, before)
        for each, item in remaining.items():
            if each != number:
                waits = item.before - {number} | ({*new} if number in item.before else set())
                found[each] = _OpenTask(item.task, item.above, frozenset(waits))
        return found

    def _attempts(self, end: _Node, task: Atom, account: Callable[[Formula], str]) -> Iterator[Attempt]:
        """Yield the failing attempts to do `task` in the state of `end`."""
        if task.predicate in self.problem.domain.classical.actions:
            objection = end.world.find_objection(Step(task.predicate, task.args))
            assert objection is not None
            condition = objection.condition
            lacks = () if objection.misfit else (Lack(str(condition), account(condition)),)
            yield Attempt("the action", lacks, remark=objection.misfit)
            return
        bindings: dict[str, int] = {}
        for method, binding in self.choices.of(task, end.world):
            bindings[method.name] = bindings.get(method.name, 0) + 1
            if bindings[method.name] <= SHOWN_BINDINGS:
                condition = end.world.inspector.smallest_failure(method.precondition, binding)
                yield Attempt(describe_instance(method, binding), (Lack(str(condition), account(condition)),))
        ever = ", even if nothing ever ended" if self.choices.are_all else ""
        for method in self.choices.domain.methods_for(task.predicate):
            if method.name not in bindings:
                yield Attempt(describe_method(method), remark=f"no choice of objects can work here{ever}")

    def _replay(self, end: _Node) -> ChangeHistory:
        """Return the record of changes by the steps so far."""
        world = Simulation(self.problem.classical)
        chronicle = ChangeHistory(self.problem.classical.domain.derived, world.world.state.values)
        for number, step in enumerate(end.steps, start=1):
            chronicle.record(number, step, world.apply(step))
        return chronicle


def _state_key(world: Simulation) -> Any:
    return world.facts, frozenset(world.values.items()), frozenset(world.history)


def _depth(end: _Node) -> int:
    return max((len(each.path) for _, each in end.ready), default=0)
