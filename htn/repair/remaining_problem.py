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


class Standing:
    """The tasks of `tree` when the steps `done` are.

    Tasks are places in the nodes of the tree; `top`, one more than all of them, stands for the initial network. `order`
    has them all, each before those below it. `begun` are the tasks with a step that is done, `open` those of which
    something is left: a step, or a task that needs none, with nothing done after it: its method's precondition is still
    to hold. `first` is the first step that is left of each task that has one.
    """

    def __init__(self, problem: HtnProblem, tree: Decomposition, done: Collection[int]) -> None:
        self.top = len(tree.nodes)
        self.above: dict[int, int] = {}
        self.nodes = tree.nodes
        self._problem = problem
        self._roots = tree.roots
        self._done = frozenset(done)
        self.order = self._ordered()
        self.leaves = {node.step: place for place, node in enumerate(tree.nodes) if node.step is not None}
        self.begun: set[int] = set()
        self.open: set[int] = set()
        self.first: dict[int, int] = {}
        self._mark_begun()
        self._mark_open(self._passed())

    def step(self, place: int) -> int | None:
        """Return the step that a task is; None for compound ones."""
        return None if place == self.top else self.nodes[place].step

    def children(self, place: int) -> tuple[int, ...]:
        """Return the subtasks of a task, or the initial tasks."""
        return self._roots if place == self.top else self.nodes[place].children

    def network(self, place: int) -> Network:
        """Return the network that the children of a compound task, or the initial tasks, stand in."""
        if place == self.top:
            return self._problem.network
        return self._problem.domain.methods[self.nodes[place].method].network

    def line(self, place: int) -> Iterator[int]:
        """Yield a task and those that it is a subtask of, without the top."""
        while place != self.top:
            yield place
            place = self.above[place]

    def depth(self, place: int) -> int:
        """Return how many tasks a task is below."""
        return sum(1 for _ in self.line(place)) - 1

    def _ordered(self) -> list[int]:
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

    def _passed(self) -> set[int]:
        """Return the tasks that something comes after which has begun."""
        passed: set[int] = set()
        for place in self.order:
            children = self.children(place)
            if place in passed:
                passed.update(children)
            elif not self.begun.isdisjoint(children):
                passed.update(self._before_begun(place))
        return passed

    def _before_begun(self, place: int) -> Iterator[int]:
        """Yield the children of a task after which others have begun."""
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
"""What the names of tasks for preconditions begin with; the place of the task in the decomposition follows."""
Ends = tuple[Sequence[int], Sequence[int]]
"""The items of a task that nothing else of it comes before, and those that nothing else of it comes after."""


@dataclass(frozen=True, slots=True)
class Rest:
    """A problem, and for each of its initial tasks the place in the decomposition that it stands for."""

    problem: HtnProblem
    places: tuple[int, ...]


def rest_of(source: HtnProblem, standing: Standing, anew: Collection[int], now: Problem) -> Rest:
    """Return what is left when the tasks `anew` are done anew from the initial state of `now`, the others as they are.

    Where all initial tasks are done anew, the objects for the parameters of the problem are chosen anew, too.
    """
    roots = standing.children(standing.top)
    if not standing.begun and {*roots} <= {*anew}:
        domain = HtnDomain(now.domain, source.domain.tasks, source.domain.methods)
        return Rest(HtnProblem(domain, now, source.network, source.parameters), roots)
    draft = _Draft(standing, anew, source.domain.methods.__getitem__)
    methods = {each.name: each for each in draft.methods}
    tasks = {name: Task(name) for name in methods}
    domain = HtnDomain(now.domain, {**source.domain.tasks, **tasks}, {**source.domain.methods, **methods})
    return Rest(HtnProblem(domain, now, draft.network()), tuple([draft.places[item] for item in draft.line]))


class _Draft:
    """The tasks of a network that is being made: items, each for a `place` in the decomposition."""

    def __init__(self, standing: Standing, anew: Collection[int], method: Callable[[str], Method]) -> None:
        self.tasks: list[Atom] = []
        self.places: list[int] = []
        self.methods: list[Method] = []
        self._standing = standing
        self._anew = anew
        self._method = method
        self._ordering: list[Order] = []
        self._ends: dict[int, Ends] = {}
        for place in reversed(self._shown()):
            self._ends[place] = self._added(place)
        steps = sorted(
            (step, item) for item, each in enumerate(self.places) if (step := standing.step(each)) is not None
        )
        self._ordering += pairwise([item for _, item in steps])
        self.line = self._lined_up()

    def network(self) -> Network:
        """Return the network, written in the order of the plan as far as that is allowed."""
        number = {item: place for place, item in enumerate(self.line)}
        ordering = dict.fromkeys((number[one], number[other]) for one, other in self._ordering)
        return Network(tuple([Subtask(self.tasks[item]) for item in self.line]), tuple(ordering))

    def _lined_up(self) -> list[int]:
        first, late = self._standing.first, len(self._standing.leaves)
        line = sorted(range(len(self.tasks)), key=lambda item: (first.get(self.places[item], late), -item))
        number = {item: place for place, item in enumerate(line)}
        found = linearise(len(line), [(number[one], number[other]) for one, other in self._ordering])
        return [line[place] for place in found]

    def _shown(self) -> list[int]:
        """Return the tasks of which something is left, each before those below it; below what is done anew is none."""
        standing = self._standing
        found, stack = list[int](), [standing.top]
        while stack:
            place = stack.pop()
            found.append(place)
            if place not in self._anew:
                stack += [child for child in standing.children(place) if child in standing.open]
        return found

    def _added(self, place: int) -> Ends:
        """Add the items of a task, those below which were added before."""
        standing = self._standing
        if place in self._anew or standing.step(place) is not None:
            item = self._add(standing.nodes[place].task, place)
            return (item,), (item,)
        first, last = self._inside(place)
        if place == standing.top or place in standing.begun:
            return first, last
        method = _check(place, standing, self._method(standing.nodes[place].method))
        self.methods.append(method)
        item = self._add(method.task, place)
        self._ordering += [(item, each) for each in first]
        return (item,), last or (item,)

    def _add(self, task: Atom, place: int) -> int:
        self.tasks.append(task)
        self.places.append(place)
        return len(self.tasks) - 1

    def _inside(self, place: int) -> Ends:
        """Order the items of the children of a task, and return the outermost; what has no items is passed through."""
        children, ordering = self._standing.children(place), self._standing.network(place).ordering
        ends = [self._ends.get(child, ((), ())) for child in children]
        line = linearise(len(children), ordering)
        before = _nearest(line, ordering, [last for _, last in ends])
        after = _nearest(line[::-1], [pair[::-1] for pair in ordering], [first for first, _ in ends])
        for near, (first, _) in zip(before, ends, strict=True):
            self._ordering += product(near, first)
        outer = [item for near, (first, _) in zip(before, ends, strict=True) if not near for item in first]
        return outer, [item for near, (_, last) in zip(after, ends, strict=True) if not near for item in last]


def _nearest(line: Sequence[int], ordering: Sequence[Order], ends: Sequence[Sequence[int]]) -> list[Sequence[int]]:
    """Return for each child the items that come next to it on one side; `line` begins at that side."""
    nearest: list[Sequence[int]] = [()] * len(line)
    towards: list[list[int]] = [[] for _ in line]
    for one, other in ordering:
        towards[other].append(one)
    for child in line:
        nearest[child] = tuple(dict.fromkeys(item for each in towards[child] for item in ends[each] or nearest[each]))
    return nearest


def _check(place: int, standing: Standing, method: Method) -> Method:
    """Return a method without subtasks for a task of its own: it can be used where that of the task at `place` can."""
    node = standing.nodes[place]
    subtasks = [each.task for each in method.network.subtasks]
    binding: dict[Term, Term] = dict(zip([each.name for each in method.parameters], node.binding, strict=False))
    pairs = zip(
        (method.task, *subtasks), (node.task, *(standing.nodes[each].task for each in node.children)), strict=True
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
