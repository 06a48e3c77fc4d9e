"""What is left of a decomposition as a problem: some tasks anew, all else exactly as it is.

The initial network of that problem has the tasks to be done anew, the steps that are kept, in their order, and for each
kept method that has not begun a task that is done when the method's precondition holds. So the plans of the problem are
the ways in which the plan can go on. (Höller, Bercher, Behnke and Biundo, 2020, "HTN Plan Repair via Model
Transformation", compile repair into a problem, too; there, what was done is part of the new decomposition.)
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from itertools import pairwise, product

from htn.model import HtnDomain, HtnProblem, Method, Network, Subtask, Task
from htn.orders import Order, linear
from htn.repair.standing import Standing
from planner.annotations import Final
from planner.model import Atom, Problem, Term, is_variable
from planner.model.formulas import substitute
from planner.records import dataclass

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
        found = linear(len(line), [(number[one], number[other]) for one, other in self._ordering])
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
        line = linear(len(children), ordering)
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
