"""The ground form of a hierarchical problem: reachable actions, tasks and methods as numbers."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Generic, SupportsIndex, TypeVar, overload

from htn.compilations.method_preprocessing import preprocess
from htn.grounding.instances import DEMANDED, METHOD, Columns, Instances, columns_of, demand_problem, select_kernels
from htn.model import HtnProblem, Method, Order, has_numbers
from planner.compilations.passes import compile_away
from planner.errors import UnsupportedError
from planner.garbage_collection import pause_collector
from planner.grounding.action_tables import common_resolution
from planner.grounding.allowances import with_allowances
from planner.grounding.ground import Groups, build_frame, find_mutex_groups, instantiate_reached, reach
from planner.grounding.instantiate import parts_of
from planner.grounding.joins import Row
from planner.grounding.simplify import RawTask
from planner.jit.arrays import Entries, empty_index, index, invert, list_of, select, wrap_items
from planner.jit.containers_kernel import Lists
from planner.lightweight import TYPE_CHECKING, dataclass, field, replace
from planner.limits import Limits
from planner.model import Atom, Formula
from planner.model.constructs import Construct
from planner.model.domain import numeric_fluents
from planner.plan import Step, exact
from planner.task.ground_task import ConditionalEffect, GroundAction, Task

if TYPE_CHECKING:
    from planner.task.numeric_task import NumericTask

Item = TypeVar("Item")


class LazySequence(Sequence[Item], Generic[Item]):
    """A sequence whose items are made at each access."""

    __slots__ = ("_length", "_make")

    def __init__(self, length: int, make: Callable[[int], Item]) -> None:
        self._length, self._make = length, make

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, place: SupportsIndex) -> Item: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Item]: ...
    def __getitem__(self, place: SupportsIndex | slice) -> Item | Sequence[Item]:
        if isinstance(place, slice):
            return [self._make(each) for each in range(self._length)[place]]
        return self._make(range(self._length)[place])

    def __iter__(self) -> Iterator[Item]:
        return map(self._make, range(self._length))


def relevant_groups(task: RawTask, groups: Groups) -> Groups:
    """Return those of `groups` whose variables have a fact in some condition, and so are relevant.

    Where one effect deletes a fact that another adds, whether the fact ends depends on that the other does not fire:
    the opposite of its condition counts as a condition.
    """
    wanted = {*task.goal, *chain.from_iterable(part.condition for part in parts_of(task.actions))}
    effects = [effect for action in task.actions for effect in action.effects]
    wanted.update([~literal for effect in effects for literal in effect.condition if literal < 0])
    for table in task.tables:
        wanted.update(*table.condition)
    wanted.update(*[rule.body for rule in task.rules])
    variables = [group for group in groups.variables if not wanted.isdisjoint(group)]
    kept = {fact for group in variables for fact in group}
    return Groups([group for group in groups.groups if not kept.isdisjoint(group)], variables)


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
class Arrays:
    """A ground hierarchy as arrays; facts, tasks and methods are numbers.

    By action: the facts `required` for it, those that it `adds` and `deletes`, its `costs`, and its `conditional`
    effects, if any. By method m: the facts required for it to be `possible`, its `subtasks` as they are written, its
    `task`, and its lifted method `sources[source[m]]`. By compound task: `methods_of` it.
    """

    required: Lists
    adds: Lists
    deletes: Lists
    possible: Lists
    subtasks: Lists
    methods_of: Lists
    task: array[int]
    source: array[int]
    sources: list[Method | None]
    conditional: dict[int, tuple[ConditionalEffect, ...]]
    costs: list[int]


@dataclass(frozen=True, slots=True)
class GroundHtn:
    """A ground hierarchical problem.

    Tasks are numbered: first the actions of `task`, then the `compounds`; `methods_of` has for each compound the
    numbers of its methods. `is_ordered` says that all subtasks are totally ordered. `root` is the number of the one
    task to be done, None where it cannot be done: that is proved then. Actions, compounds and methods are made of the
    `arrays` when they are asked for. `numeric` is the task with its numbers, if it has any.
    """

    task: Task
    compounds: Sequence[Atom] = ()
    methods: Sequence[GroundMethod] = ()
    methods_of: Sequence[array[int]] = ()
    root: int | None = None
    arrays: Arrays | None = field(default=None)
    is_ordered: bool = True
    unreachable_goal: Formula | None = None
    numeric: NumericTask | None = None


def refuse_numbers(problem: HtnProblem, what: str) -> None:
    """Raise `UnsupportedError` if `problem` has numbers, which `what` does not take."""
    if has_numbers(problem):
        fluents = sorted(numeric_fluents(problem.classical.domain))
        named = f", such as {fluents[0]!r}" if fluents else ""
        raise UnsupportedError(f"numbers{named}, {what}", "solve(problem) takes numbers")


def ground(problem: HtnProblem, limits: Limits) -> GroundHtn:
    """Return the ground form of `problem`, reachable from above and finishable from below.

    Raises `LimitReached`, and `UnsupportedError` for numeric terms that are not linear.
    """
    with pause_collector():
        abstract = None
        if has_numbers(problem):
            from htn.grounding.numeric_hierarchy import abstract_hierarchy

            abstract = abstract_hierarchy(problem)
        changing = abstract.abstraction.requirements if abstract else ()
        source = preprocess(abstract.plain if abstract else problem, changing=changing)
        reached = reach(compile_away(demand_problem(source, changing), Construct.CHANGES), limits, changing)
        limits.check()
        instances = Instances(reached, source, limits.check)
        limits.check()
        instances.drop_useless()
        limits.check()
        predicates = [name for name in reached.database.growing if not name.startswith(DEMANDED)]
        numeric = abstract.instantiate(reached, predicates, limits) if abstract else None
        found = numeric.found if numeric else instantiate_reached(reached, predicates, limits)
        if found.unreachable_goal is not None:
            goal = found.unreachable_goal
            return GroundHtn(Task((), (), (), (), (), unreachable_goal=goal), unreachable_goal=goal)
        groups = numeric.find_groups(limits) if numeric else find_mutex_groups(found.task, found.atoms, limits)
        instances.drop_useless_from(found.task)
        limits.check()
        groups = relevant_groups(found.task, groups)
        if numeric:
            groups = numeric.take_changes(groups)
        frame, numbers = build_frame(found.task, found.atoms, groups)
        limits.check()
        entries = select_kernels(found.task.size)
        actions, methods = columns_of(found.task, numbers, entries, limits.check)
        limits.check()
        hierarchy = _Numbering(actions, methods, instances, entries).build(frame, source)
        if numeric is None:
            return replace(hierarchy, task=with_allowances(hierarchy.task, problem.classical))
        return replace(hierarchy, numeric=numeric.make_task(hierarchy.task, numbers, actions.number))


class _Numbering:
    """Numbers the tasks of the remaining instances: first actions, then compound tasks."""

    def __init__(self, actions: Columns, methods: Columns, instances: Instances, entries: Entries) -> None:
        self._actions, self._methods, self._instances, self._entries = actions, methods, instances, entries
        tasks = list(map(instances.task.__getitem__, actions.number))
        self._done_by: dict[int, list[int]] = {}
        if len({*tasks}) < len(tasks):
            for place, task in enumerate(tasks):
                self._done_by.setdefault(task, []).append(place)
        self._several = [task for task, places in self._done_by.items() if len(places) > 1]
        self._tasks = list(map(instances.task.__getitem__, methods.number))
        self._compounds = list(dict.fromkeys(self._tasks)) + self._several
        self._number = empty_index(instances.size)
        for place, task in enumerate(tasks):
            self._number[task] = place
        for place, task in enumerate(self._compounds, len(actions)):
            self._number[task] = place

    def build(self, frame: Task, source: HtnProblem) -> GroundHtn:
        """Return the ground problem, whose facts are those of `frame`."""
        resolution = common_resolution({*self._actions.costs})
        arrays = self._arrays(source, resolution)
        actions = LazySequence(len(self._actions), self._action_maker(arrays))
        methods = self._methods

        def method_of(number: int) -> GroundMethod:
            row = methods.arguments[number] if number < len(methods) else ()
            facts = tuple(sorted(list_of(arrays.possible, number)))
            return GroundMethod(arrays.sources[arrays.source[number]], row, facts, (*list_of(arrays.subtasks, number),))

        names: list[tuple[str, Row]] = []

        def compound(place: int) -> Atom:
            if not names:
                names.extend(self._instances.names())
            return Atom(*names[self._compounds[place]])

        world = replace(frame, resolution=resolution, actions=actions)
        root = self._number[self._instances.root]
        return GroundHtn(
            world,
            LazySequence(len(self._compounds), compound),
            LazySequence(len(arrays.source), method_of),
            LazySequence(len(self._compounds), lambda place: list_of(arrays.methods_of, place)),
            root if root < len(actions) + len(self._compounds) else None,
            arrays,
            source.is_ordered,
        )

    def _arrays(self, source: HtnProblem, resolution: int) -> Arrays:
        """Return the arrays; the last methods are those that choose one of several ground actions for a step."""
        actions, methods, number = self._actions, self._methods, self._number
        subtasks = select(self._instances.subtasks, methods.number, number, self._entries)
        task = index([number[each] for each in self._tasks])
        sources: list[Method | None] = [source.domain.methods[each.name[len(METHOD) :]] for each in methods.source]
        for alternative in self._several:
            for action in self._done_by[alternative]:
                task.append(number[alternative])
                subtasks.item.append(action)
                subtasks.start.append(len(subtasks.item))
                methods.needs.start.append(len(methods.needs.item))
        kinds = methods.kind + index([len(sources)]) * (len(task) - len(methods))
        places = index([each - len(actions) for each in task])
        return Arrays(
            actions.needs,
            actions.adds,
            actions.deletes,
            methods.needs,
            subtasks,
            invert(wrap_items(places), len(self._compounds), self._entries),
            task,
            kinds,
            [*sources, None],
            actions.conditional,
            [*map({cost: int(cost * resolution) for cost in {*actions.costs}}.__getitem__, actions.costs)],
        )

    def _action_maker(self, arrays: Arrays) -> Callable[[int], GroundAction]:
        rows = self._actions

        def facts(lists: Lists, number: int) -> tuple[int, ...]:
            return tuple(sorted(list_of(lists, number)))

        def action_of(number: int) -> GroundAction:
            return GroundAction(
                Step(rows.source[rows.kind[number]].name, rows.arguments[number], exact(rows.costs[number])),
                facts(rows.needs, number),
                facts(rows.adds, number),
                facts(rows.deletes, number),
                rows.conditional.get(number, ()),
                arrays.costs[number],
            )

        return action_of
