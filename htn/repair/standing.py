"""How far each task of a decomposition is, when some steps of its plan are done."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from htn.model import HtnProblem, Network
from htn.orders import linear
from htn.plan import Decomposition


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
        for number in reversed(linear(len(children), ordering)):
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
