"""From a hierarchical problem to its ground form: reachable from above, feasible from below."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from htn.grounding.program import DEMANDED, METHOD, RAN, plain, program
from htn.grounding.shrink import shrunk
from htn.model import HtnProblem, Method
from htn.orders import Order
from htn.rooted import ROOT
from planner.budget import Budget
from planner.collector import collector_paused
from planner.grounding import ground_all
from planner.grounding.joins import Row, projector
from planner.model import Atom, Formula, Not
from planner.records import dataclass
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


@dataclass(frozen=True, slots=True)
class _Shape:
    """How the instances of a method name its task and its subtasks: each by its name and a choice of the objects."""

    method: Method
    task: tuple[str, Callable[[Row], Row]]
    subtasks: tuple[tuple[str, Callable[[Row], Row]], ...]

    @classmethod
    def of(cls, method: Method) -> _Shape:
        names = tuple([each.name for each in method.parameters])

        def choice(task: Atom) -> tuple[str, Callable[[Row], Row]]:
            return task.predicate, projector(task.args, names)

        return cls(method, choice(method.task), tuple([choice(each.task) for each in method.network.subtasks]))


class _Instances:
    """The actions and methods that were reached; tasks are numbered as they turn up."""

    def __init__(self, task: Task, source: HtnProblem) -> None:
        self._task, self._is_ordered = task, source.is_ordered
        self._demands = {number for number, fact in enumerate(task.facts) if _is_demand(fact)}
        self._number: dict[tuple[str, Row], int] = {}
        self._actions: list[tuple[int, GroundAction]] = []
        self._methods: list[tuple[int, Method, GroundAction, list[int]]] = []
        shapes = {METHOD + name: _Shape.of(method) for name, method in source.domain.methods.items()}
        number = self._number
        for action in task.actions:
            name, row = action.step.action, action.step.arguments
            shape = shapes.get(name)
            if shape is None:
                self._actions.append((number.setdefault((name, row), len(number)), action))
                continue
            done, choose = shape.task
            mine = number.setdefault((done, choose(row)), len(number))
            subtasks = [number.setdefault((each, pick(row)), len(number)) for each, pick in shape.subtasks]
            self._methods.append((mine, shape.method, action, subtasks))

    def keep_feasible(self) -> None:
        """Drop methods with subtasks that nothing does, until there are none."""
        feasible = bytearray(len(self._number))
        users: list[list[int]] = [[] for _ in feasible]
        missing = [len({*subtasks}) for _, _, _, subtasks in self._methods]
        for place, (_, _, _, subtasks) in enumerate(self._methods):
            for each in {*subtasks}:
                users[each].append(place)
        queue = [task for task, _ in self._actions]
        queue += [self._methods[place][0] for place, count in enumerate(missing) if not count]
        while queue:
            task = queue.pop()
            if feasible[task]:
                continue
            feasible[task] = True
            for place in users[task]:
                missing[place] -= 1
                if not missing[place]:
                    queue.append(self._methods[place][0])
        self._methods = [each for each, count in zip(self._methods, missing, strict=True) if not count]

    def keep_demanded(self) -> None:
        """Drop what the root does not lead to any more."""
        wanted = bytearray(len(self._number))
        leads: list[list[list[int]]] = [[] for _ in wanted]
        for task, _, _, subtasks in self._methods:
            leads[task].append(subtasks)
        root = self._number.get((ROOT, ()))
        queue = [] if root is None else [root]
        while queue:
            task = queue.pop()
            if not wanted[task]:
                wanted[task] = True
                for subtasks in leads[task]:
                    queue += subtasks
        self._methods = [each for each in self._methods if wanted[each[0]]]
        self._actions = [each for each in self._actions if wanted[each[0]]]

    def numbered(self) -> GroundHtn:
        """Return what is left, in numbers."""
        actions = [action for _, action in self._actions]
        done_by: dict[int, list[int]] = {}
        for place, (task, _) in enumerate(self._actions):
            done_by.setdefault(task, []).append(place)
        several = [task for task, places in done_by.items() if len(places) > 1]
        compounds = {task: place for place, task in enumerate(dict.fromkeys(each[0] for each in self._methods))}
        compounds |= {task: place for place, task in enumerate(several, len(compounds))}
        number = {task: places[0] for task, places in done_by.items()}
        number |= {task: len(actions) + place for task, place in compounds.items()}
        world, facts = shrunk(self._task, actions, self._asked(), self._demands)
        methods = [
            GroundMethod(
                method, action.step.arguments, self._facts(action, facts), tuple([number[each] for each in subtasks])
            )
            for _, method, action, subtasks in self._methods
        ]
        methods_of: list[list[int]] = [[] for _ in compounds]
        for place, (mine, _, _, _) in enumerate(self._methods):
            methods_of[compounds[mine]].append(place)
        for alternative in several:
            for action in done_by[alternative]:
                methods_of[compounds[alternative]].append(len(methods))
                methods.append(GroundMethod(None, (), (), (action,)))
        names = {task: Atom(*key) for key, task in self._number.items()}
        root = number.get(self._number.get((ROOT, ()), -1))
        return GroundHtn(
            world,
            tuple([names[task] for task in compounds]),
            tuple(methods),
            tuple(map(tuple, methods_of)),
            root,
            self._is_ordered,
        )

    def _asked(self) -> Iterator[Iterable[int]]:
        """Yield what methods require."""
        for _, _, action, _ in self._methods:
            yield action.precondition

    def _facts(self, action: GroundAction, facts: dict[int, int]) -> tuple[int, ...]:
        """Return the condition of a method: facts of the world, not demands."""
        return tuple(sorted([facts[fact] for fact in action.precondition if fact not in self._demands]))


def _is_demand(fact: Atom | Not) -> bool:
    return isinstance(fact, Atom) and (fact.predicate.startswith(DEMANDED) or fact == RAN)
