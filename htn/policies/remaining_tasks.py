"""What is left to be done of a task network, and the ground methods that decompose it.

Progression (Höller et al., 2020) does or decomposes a task before which nothing is left to be done.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import product

from htn.model import HtnProblem, Method, Order, transitive_successors, unify
from planner.lightweight import Final, dataclass
from planner.model import TRUE, And, Atom, Formula, Not, TypeHierarchy
from planner.model.domain import written_predicates
from planner.model.formulas import Equals, conjuncts, substitute
from planner.plan import Step

Remaining = tuple[tuple[Atom, frozenset[int]], ...]
"""The tasks that are left, each with the places of all tasks that come before it."""

ALL: Final = "@tasks"
"""The name of the step that chooses objects for the parameters of the initial network."""


@dataclass(frozen=True, slots=True)
class GroundMethod:
    """A way to do `task`: `step` has the name of the method and the objects for its parameters."""

    step: Step
    task: Atom
    precondition: Formula
    subtasks: tuple[Atom, ...]
    ordering: Sequence[Order]


def find_ready(remaining: Remaining) -> list[int]:
    """Return the places of the tasks before which nothing is left."""
    return [place for place, (_, before) in enumerate(remaining) if not before]


def replace_task(remaining: Remaining, place: int, subtasks: Sequence[Atom], ordering: Sequence[Order]) -> Remaining:
    """Return the tasks that are left with `subtasks` instead of the task at `place`, before which nothing is left."""
    others = [number for number in range(len(remaining)) if number != place]
    new = {number: position for position, number in enumerate(others)}
    size = len(others)
    tasks = [remaining[number][0] for number in others] + [*subtasks]
    before = [{new[each] for each in remaining[number][1] if each != place} for number in others]
    for number in others:
        if place in remaining[number][1]:
            before[new[number]].update(range(size, size + len(subtasks)))
    inside: list[set[int]] = [set() for _ in subtasks]
    for first, after in enumerate(transitive_successors(len(subtasks), ordering)):
        for second in range(len(subtasks)):
            if after >> second & 1:
                inside[second].add(size + first)
    return _arrange(tasks, [*before, *inside])


def _arrange(tasks: Sequence[Atom], before: Sequence[set[int]]) -> Remaining:
    """Return the tasks in an order that agrees with `before` and depends on little else."""
    followers = [sum(place in each for each in before) for place in range(len(tasks))]
    position: dict[int, int] = {}
    open_ = set(range(len(tasks)))
    while open_:
        ready = [place for place in open_ if before[place] <= position.keys()]
        chosen = min(ready, key=lambda place: (-followers[place], str(tasks[place]), sorted(before[place]), place))
        position[chosen] = len(position)
        open_.remove(chosen)
    return tuple([(tasks[place], frozenset([position[each] for each in before[place]])) for place in position])


def name_tasks(remaining: Remaining) -> tuple[str, ...]:
    """Name the tasks that are left, each with those before it, numbered from 1, unless these are all that precede."""
    return tuple([_name(place, *each) for place, each in enumerate(remaining)])


def _name(place: int, task: Atom, before: frozenset[int]) -> str:
    if len(before) == place:
        return str(task)
    numbers = ", ".join(str(each + 1) for each in sorted(before))
    return f"{task} after {numbers}" if before else f"{task} at any time"


class Methods:
    """The ground methods of `problem` by task, and the tasks to begin with."""

    def __init__(self, problem: HtnProblem) -> None:
        self.problem = problem
        domain = problem.domain
        self._types = TypeHierarchy(domain.classical.types)
        self._objects = problem.classical.all_objects
        self._facts = frozenset(problem.classical.initial)
        written = written_predicates(domain.classical)
        written |= {pattern.predicate for pattern in problem.classical.unknown}
        self._static = domain.classical.predicates.keys() - written
        self._known: dict[Atom, list[GroundMethod]] = {}
        network = problem.network
        if problem.parameters:
            self.first: Remaining = ((Atom(ALL), frozenset()),)
            binding = Method(ALL, Atom(ALL), problem.parameters, TRUE, network)
            self._known[Atom(ALL)] = [*self._instances(binding, Atom(ALL))]
        else:
            start: Remaining = ((Atom(ALL), frozenset()),)
            self.first = replace_task(start, 0, [each.task for each in network.subtasks], network.ordering)

    def is_compound(self, task: Atom) -> bool:
        """Return whether methods do `task`."""
        return task.predicate in self.problem.domain.tasks or task.predicate == ALL

    def of(self, task: Atom) -> list[GroundMethod]:
        """Return the ground methods for the compound `task`."""
        if task not in self._known:
            found = [self._instances(each, task) for each in self.problem.domain.methods_for(task.predicate)]
            self._known[task] = [ground for each in found for ground in each]
        return self._known[task]

    def reachable(self) -> Iterator[GroundMethod]:
        """Yield the ground methods of all tasks to which the first ones lead."""
        waiting = [task for task, _ in self.first]
        seen = set(waiting)
        while waiting:
            task = waiting.pop()
            for method in self.of(task) if self.is_compound(task) else ():
                yield method
                fresh = [each for each in dict.fromkeys(method.subtasks) if each not in seen]
                seen.update(fresh)
                waiting += fresh

    def _instances(self, method: Method, task: Atom) -> Iterator[GroundMethod]:
        known = unify(method.task, task, {})
        if known is None:
            return
        tests = [each for each in conjuncts(method.precondition) if isinstance(each, Atom)]
        tests = [each for each in tests if each.predicate in self._static]
        names = [each.name for each in method.parameters]
        domains = [self._values(each.types, known.get(each.name)) for each in method.parameters]
        for values in product(*domains):
            binding = dict(zip(names, values, strict=True))
            if not _is_true(substitute(method.network.constraints, binding)):
                continue
            if any(substitute(each, binding) not in self._facts for each in tests):
                continue
            subtasks = tuple([each.task.substitute(binding) for each in method.network.subtasks])
            yield GroundMethod(
                Step(method.name, values),
                task,
                substitute(method.precondition, binding),
                subtasks,
                method.network.ordering,
            )

    def _values(self, types: Iterable[str], known: str | None) -> list[str]:
        fitting = [each.name for each in self._objects if self._types.is_a(each.types, types)]
        return fitting if known is None else [each for each in fitting if each == known]


def _is_true(formula: Formula) -> bool:
    """Return whether a ground conjunction of equalities and their negations is true."""
    match formula:
        case And(parts):
            return all(map(_is_true, parts))
        case Not(part):
            return not _is_true(part)
        case Equals(left, right):
            return left == right
        case _:
            return False
