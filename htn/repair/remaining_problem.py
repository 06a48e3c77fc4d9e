"""The remaining problem of a partly executed decomposition: some tasks are decomposed anew, all others stay.

Its initial network has the tasks to be decomposed anew, the steps that are kept, in their order, and for each kept
method that has not begun a task that checks the method's precondition. Its plans are the ways in which the plan can go
on. (Höller, Bercher, Behnke and Biundo, 2020, "HTN Plan Repair via Model Transformation", compile repair to a problem,
too; theirs has the executed steps in the new decomposition.)
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import pairwise, product

from htn.model import Decomposition, HtnDomain, HtnProblem, Method, Network, Order, Subtask, Task, linearise
from planner.lightweight import Final, dataclass
from planner.model import Atom, Problem, Term, is_variable
from planner.model.formulas import substitute
from planner.plan import StepTime


class TaskProgress:
    """The progress of the tasks of `tree` when the steps `done` are executed.

    Tasks are places in the nodes of the tree; `top`, the place after all of them, stands for the initial network.
    `order` has all tasks, each before those below it. A task is `begun` if one of its steps is done. It is `open` if
    one of its steps is not done, or if it has no steps and nothing after it has begun, so that its method's
    precondition is still to hold. `first` is the first step of a task that is not done.
    """

    def __init__(self, problem: HtnProblem, tree: Decomposition, done: Collection[int]) -> None:
        self.top = len(tree.nodes)
        self.above: dict[int, int] = {}
        self.nodes = tree.nodes
        self._problem = problem
        self._roots = tree.roots
        self._done = frozenset(done)
        self.order = self._order_tasks()
        self.leaves = {node.step: place for place, node in enumerate(tree.nodes) if node.step is not None}
        self.begun: set[int] = set()
        self.open: set[int] = set()
        self.first: dict[int, int] = {}
        self._mark_begun()
        self._mark_open(self._find_passed())

    def step(self, place: int) -> int | None:
        """Return the step of a primitive task; None for a compound task."""
        return None if place == self.top else self.nodes[place].step

    def children(self, place: int) -> tuple[int, ...]:
        """Return the subtasks of a task, or the initial tasks."""
        return self._roots if place == self.top else self.nodes[place].children

    def network(self, place: int) -> Network:
        """Return the network of the children of a compound task, or the initial network."""
        if place == self.top:
            return self._problem.network
        return self._problem.domain.methods[self.nodes[place].method].network

    def line(self, place: int) -> Iterator[int]:
        """Yield a task and the tasks above it, without the top."""
        while place != self.top:
            yield place
            place = self.above[place]

    def depth(self, place: int) -> int:
        """Return the number of tasks above a task."""
        return sum(1 for _ in self.line(place)) - 1

    def _order_tasks(self) -> list[int]:
        found, stack = list[int](), [self.top]
        while stack:
            place = stack.pop()
            found.append(place)
            for child in self.children(place):
                self.above[child] = place
                stack.append(child)
        return found

    def _mark_begun(self) -> None:
        for place in reversed(self.order):
            if self.step(place) in self._done or not self.begun.isdisjoint(self.children(place)):
                self.begun.add(place)

    def _find_passed(self) -> set[int]:
        """Return the tasks after which another task has begun."""
        passed: set[int] = set()
        for place in self.order:
            children = self.children(place)
            if place in passed:
                passed.update(children)
            elif not self.begun.isdisjoint(children):
                passed.update(self._tasks_before_begun(place))
        return passed

    def _tasks_before_begun(self, place: int) -> Iterator[int]:
        """Yield the children of a task after which other children have begun."""
        children = self.children(place)
        ordering = self.network(place).ordering
        following: list[list[int]] = [[] for _ in children]
        for one, other in ordering:
            following[one].append(other)
        late = [child in self.begun for child in children]
        for number in reversed(linearise(len(children), ordering)):
            if any(late[each] for each in following[number]):
                late[number] = True
                yield children[number]

    def _mark_open(self, passed: Collection[int]) -> None:
        for place in reversed(self.order):
            step, children = self.step(place), self.children(place)
            if step is not None:
                is_open = step not in self._done
                firsts = [step] if is_open else []
            else:
                is_open = not self.open.isdisjoint(children) or not (children or place in passed or place == self.top)
                firsts = [self.first[child] for child in children if child in self.first]
            if is_open:
                self.open.add(place)
            if firsts:
                self.first[place] = min(firsts)


CHECK: Final = "@check "
"""Prefix of the tasks that check preconditions; the place of the task in the decomposition follows."""
Ends = tuple[Sequence[int], Sequence[int]]
"""The first items of a task, which no other item of it comes before, and its last items."""


@dataclass(frozen=True, slots=True)
class RemainingProblem:
    """A problem, and for each of its initial tasks the place of that task in the decomposition."""

    problem: HtnProblem
    places: tuple[int, ...]


def build_remaining_problem(
    source: HtnProblem, progress: TaskProgress, anew: Collection[int], now: Problem, times: Sequence[StepTime] = ()
) -> RemainingProblem:
    """Return the problem to decompose the tasks `anew` again from the initial state of `now`, and keep all others.

    Steps that are kept stay in their order; where they have `times`, those that overlap stay in none.
    Where all initial tasks are decomposed anew, the objects for the parameters of the problem are chosen anew, too.
    """
    roots = progress.children(progress.top)
    if not progress.begun and {*roots} <= {*anew}:
        domain = HtnDomain(now.domain, source.domain.tasks, source.domain.methods)
        return RemainingProblem(HtnProblem(domain, now, source.network, source.parameters), roots)
    draft = _NetworkDraft(progress, anew, source.domain.methods.__getitem__, times)
    methods = {each.name: each for each in draft.methods}
    tasks = {name: Task(name) for name in methods}
    domain = HtnDomain(now.domain, {**source.domain.tasks, **tasks}, {**source.domain.methods, **methods})
    return RemainingProblem(
        HtnProblem(domain, now, draft.network()), tuple([draft.places[item] for item in draft.line])
    )


class _NetworkDraft:
    """The remaining network while it is built: items, each for a task at one of `places` in the decomposition."""

    def __init__(
        self,
        progress: TaskProgress,
        anew: Collection[int],
        method: Callable[[str], Method],
        times: Sequence[StepTime],
    ) -> None:
        self.tasks: list[Atom] = []
        self.places: list[int] = []
        self.methods: list[Method] = []
        self._progress = progress
        self._anew = anew
        self._method = method
        self._ordering: list[Order] = []
        self._ends: dict[int, Ends] = {}
        for place in reversed(self._remaining_tasks()):
            self._ends[place] = self._add_items(place)
        steps = sorted(
            (step, item) for item, each in enumerate(self.places) if (step := progress.step(each)) is not None
        )
        self._ordering += _keep_order(steps, times) if times else pairwise([item for _, item in steps])
        self.line = self._linearise_items()

    def network(self) -> Network:
        """Return the network, written in the order of the plan as far as its ordering allows."""
        number = {item: place for place, item in enumerate(self.line)}
        ordering = dict.fromkeys((number[one], number[other]) for one, other in self._ordering)
        return Network(tuple([Subtask(self.tasks[item]) for item in self.line]), tuple(ordering))

    def _linearise_items(self) -> list[int]:
        first, late = self._progress.first, len(self._progress.leaves)
        line = sorted(range(len(self.tasks)), key=lambda item: (first.get(self.places[item], late), -item))
        number = {item: place for place, item in enumerate(line)}
        found = linearise(len(line), [(number[one], number[other]) for one, other in self._ordering])
        return [line[place] for place in found]

    def _remaining_tasks(self) -> list[int]:
        """Return the open tasks, each before those below it, without those below tasks that are decomposed anew."""
        progress = self._progress
        found, stack = list[int](), [progress.top]
        while stack:
            place = stack.pop()
            found.append(place)
            if place not in self._anew:
                stack += [child for child in progress.children(place) if child in progress.open]
        return found

    def _add_items(self, place: int) -> Ends:
        """Add the items of a task, after the items of the tasks below it; return its first and last items."""
        progress = self._progress
        if place in self._anew or progress.step(place) is not None:
            item = self._add(progress.nodes[place].task, place)
            return (item,), (item,)
        first, last = self._order_children(place)
        if place == progress.top or place in progress.begun:
            return first, last
        method = _check_method(place, progress, self._method(progress.nodes[place].method))
        self.methods.append(method)
        item = self._add(method.task, place)
        self._ordering += [(item, each) for each in first]
        return (item,), last or (item,)

    def _add(self, task: Atom, place: int) -> int:
        self.tasks.append(task)
        self.places.append(place)
        return len(self.tasks) - 1

    def _order_children(self, place: int) -> Ends:
        """Order the items of the children of a task, across children without items; return its first and last items."""
        children, ordering = self._progress.children(place), self._progress.network(place).ordering
        ends = [self._ends.get(child, ((), ())) for child in children]
        line = linearise(len(children), ordering)
        before = _nearest_items(line, ordering, [last for _, last in ends])
        after = _nearest_items(line[::-1], [pair[::-1] for pair in ordering], [first for first, _ in ends])
        for near, (first, _) in zip(before, ends, strict=True):
            self._ordering += product(near, first)
        outer = [item for near, (first, _) in zip(before, ends, strict=True) if not near for item in first]
        return outer, [item for near, (_, last) in zip(after, ends, strict=True) if not near for item in last]


def _keep_order(steps: Sequence[tuple[int, int]], times: Sequence[StepTime]) -> Iterator[Order]:
    """Yield the items of which one ends before the other starts, as far as no third item comes between them.

    `steps` are steps of the plan with their items, by their starts.
    """
    for place, (step, item) in enumerate(steps):
        done = [(one, other) for one, other in steps[:place] if times[one].end <= times[step].start]
        latest = max([times[one].start for one, _ in done], default=0)
        yield from [(other, item) for one, other in done if times[one].end > latest or times[one].start == latest]


def _nearest_items(
    line: Sequence[int], ordering: Sequence[Order], ends: Sequence[Sequence[int]]
) -> list[Sequence[int]]:
    """Return for each child the nearest items on one side; `line` begins at that side."""
    nearest: list[Sequence[int]] = [()] * len(line)
    towards: list[list[int]] = [[] for _ in line]
    for one, other in ordering:
        towards[other].append(one)
    for child in line:
        nearest[child] = tuple(dict.fromkeys(item for each in towards[child] for item in ends[each] or nearest[each]))
    return nearest


def _check_method(place: int, progress: TaskProgress, method: Method) -> Method:
    """Return a method without subtasks that is applicable where the method of the task at `place` is."""
    node = progress.nodes[place]
    subtasks = [each.task for each in method.network.subtasks]
    binding: dict[Term, Term] = dict(zip([each.name for each in method.parameters], node.binding, strict=False))
    pairs = zip(
        (method.task, *subtasks), (node.task, *(progress.nodes[each].task for each in node.children)), strict=True
    )
    for pattern, task in pairs:
        binding |= {term: name for term, name in zip(pattern.args, task.args, strict=True) if is_variable(term)}
    name = f"{CHECK}{place}"
    return Method(
        name,
        Atom(name),
        tuple([each for each in method.parameters if each.name not in binding]),
        substitute(method.precondition, binding),
        Network((), (), substitute(method.network.constraints, binding)),
    )
