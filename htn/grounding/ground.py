"""From a hierarchical problem to its ground form: reachable from above, feasible from below."""

from __future__ import annotations

from collections.abc import Sequence

from htn.grounding.program import DEMANDED, METHOD, RAN, plain, program
from htn.grounding.shrink import shrunk
from htn.model import HtnProblem, Method
from htn.orders import Order
from htn.rooted import ROOT
from planner.budget import Budget
from planner.collector import collector_paused
from planner.grounding import ground_all
from planner.model import Atom, Formula, Not
from planner.records import dataclass, replace
from planner.task import GroundAction, Task


@dataclass(frozen=True, slots=True)
class GroundMethod:
    """A method for certain objects: `binding` are those of its parameters, `precondition` are facts.

    `subtasks` are numbers of tasks. Where `method` is None, its only subtask is one of several ground actions for the
    same step.
    """

    method: Method | None
    binding: tuple[str, ...]
    precondition: tuple[int, ...]
    subtasks: tuple[int, ...]

    @property
    def ordering(self) -> Sequence[Order]:
        """The order of the subtasks, as pairs of their places."""
        return () if self.method is None else self.method.network.ordering


@dataclass(frozen=True, slots=True)
class GroundHtn:
    """A ground hierarchical problem.

    Tasks are numbered: first the actions of `task`, then the `compounds`; `methods_of` has for each compound the
    numbers of its methods. `is_ordered` says that all subtasks are totally ordered. `root` is the number of the one
    task to be done, None where it cannot be done: that is proved then.
    """

    task: Task
    compounds: tuple[Atom, ...]
    methods: tuple[GroundMethod, ...]
    methods_of: tuple[tuple[int, ...], ...]
    root: int | None
    is_ordered: bool = True
    unreachable_goal: Formula | None = None


def ground(problem: HtnProblem, budget: Budget) -> GroundHtn:
    """Return the ground form of `problem`; raises `LimitReached` when the budget is used up."""
    with collector_paused():
        source = plain(problem)
        task = ground_all(program(source), budget)
        if task.unreachable_goal is not None:
            return GroundHtn(task, (), (), (), None, unreachable_goal=task.unreachable_goal)
        instances = _Instances(task, source)
        budget.check()
        instances.keep_feasible()
        budget.check()
        instances.keep_demanded()
        budget.check()
        return instances.numbered()


class _Instances:
    """The actions and methods that were reached, by the tasks that they do."""

    def __init__(self, task: Task, source: HtnProblem) -> None:
        self._task = task
        self._actions: dict[Atom, list[GroundAction]] = {}
        self._methods: dict[Atom, list[tuple[Method, GroundAction, list[Atom]]]] = {}
        self._demands = {number for number, fact in enumerate(task.facts) if _is_demand(fact)}
        self._is_ordered = source.is_ordered
        known = source.domain.methods
        for action in task.actions:
            name, arguments = action.step.action, action.step.arguments
            if not name.startswith(METHOD):
                self._actions.setdefault(Atom(name, arguments), []).append(action)
                continue
            method = known[name.removeprefix(METHOD)]
            binding = dict(zip([each.name for each in method.parameters], arguments, strict=True))
            subtasks = [subtask.task.substitute(binding) for subtask in method.network.subtasks]
            self._methods.setdefault(method.task.substitute(binding), []).append((method, action, subtasks))

    def keep_feasible(self) -> None:
        """Drop methods with subtasks that nothing does, until there are none."""
        feasible = set(self._actions)
        waiting: dict[Atom, list[list[int | Atom]]] = {}
        queue: list[Atom] = []
        for task, methods in self._methods.items():
            for _, _, subtasks in methods:
                missing = {each for each in subtasks if each not in feasible}
                entry: list[int | Atom] = [len(missing), task]
                for each in missing:
                    waiting.setdefault(each, []).append(entry)
                if not missing:
                    queue.append(task)
        while queue:
            task = queue.pop()
            if task in feasible:
                continue
            feasible.add(task)
            for entry in waiting.pop(task, ()):
                entry[0] -= 1  # type: ignore[operator]
                if not entry[0]:
                    queue.append(entry[1])  # type: ignore[arg-type]
        self._methods = {
            task: [each for each in methods if feasible.issuperset(each[2])]
            for task, methods in self._methods.items()
            if task in feasible
        }

    def keep_demanded(self) -> None:
        """Drop what the root does not lead to any more."""
        wanted: dict[Atom, None] = {}
        queue = [Atom(ROOT)]
        while queue:
            task = queue.pop()
            if task not in wanted:
                wanted[task] = None
                queue += [each for _, _, subtasks in self._methods.get(task, ()) for each in subtasks]
        self._methods = {task: methods for task, methods in self._methods.items() if task in wanted}
        self._actions = {task: actions for task, actions in self._actions.items() if task in wanted}

    def numbered(self) -> GroundHtn:
        """Return what is left, in numbers."""
        actions = [action for found in self._actions.values() for action in found]
        several = {task: found for task, found in self._actions.items() if len(found) > 1}
        compounds = [*self._methods, *several]
        number = {task: place for place, task in enumerate(map(_done_by, actions)) if task not in several}
        number |= {task: len(actions) + place for place, task in enumerate(compounds)}
        instances = [each for found in self._methods.values() for each in found]
        asked = [[fact for fact in action.precondition if self._matters(fact)] for _, action, _ in instances]
        kept = [replace(action, precondition=tuple(filter(self._matters, action.precondition))) for action in actions]
        task, facts = shrunk(self._task, kept, asked)
        methods = [
            GroundMethod(
                method,
                action.step.arguments,
                tuple(sorted([facts[fact] for fact in condition])),
                tuple([number[each] for each in subtasks]),
            )
            for (method, action, subtasks), condition in zip(instances, asked, strict=True)
        ]
        places = iter(range(len(instances) + len(actions)))
        methods_of = [tuple([next(places) for _ in found]) for found in self._methods.values()]
        for alternative in several:
            first = len(methods)
            methods += [
                GroundMethod(None, (), (), (place,))
                for place, action in enumerate(actions)
                if _done_by(action) == alternative
            ]
            methods_of.append(tuple(range(first, len(methods))))
        return GroundHtn(
            task, tuple(compounds), tuple(methods), tuple(methods_of), number.get(Atom(ROOT)), self._is_ordered
        )

    def _matters(self, fact: int) -> bool:
        """Return whether a fact is one of the world, and no demand."""
        return fact not in self._demands


def _done_by(action: GroundAction) -> Atom:
    return Atom(action.step.action, action.step.arguments)


def _is_demand(fact: Atom | Not) -> bool:
    return isinstance(fact, Atom) and (fact.predicate.startswith(DEMANDED) or fact == RAN)
