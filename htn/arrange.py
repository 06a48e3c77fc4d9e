"""Which subtask of a method each child is, where a plan lists them in another order than the method does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from htn.model import HtnProblem, Network
from htn.plan import Decomposition, Node
from planner.annotations import Final
from planner.model import Atom, is_variable
from planner.records import dataclass, replace

MOST_TRIES: Final = 20_000
"""After so many placings of children a task keeps them as they are written."""

Spans = list[tuple[int, int]]
"""The first and the last step below each node; (steps, -1) where there is none."""


def arranged(problem: HtnProblem, tree: Decomposition) -> Decomposition:
    """Return `tree` with the children of each node in the order of its method's subtasks, where they fit these at all.

    They fit where names, arguments and the order of steps agree, whatever the method's precondition says. They stay as
    they are written where that fits; otherwise, what is first among equals has the first steps. Children in a total
    order always stay as they are.
    """
    spans = _spans(tree)
    nodes = list(tree.nodes)
    for place, node in enumerate(nodes):
        method = problem.domain.methods.get(node.method)
        if node.step is None and method is not None:
            known = _unified(method.task, node.task, {})
            if known is not None:
                children = _Arrangement(method.network, nodes, spans, node.children, known).found()
                nodes[place] = replace(node, children=children)
    roots = _Arrangement(problem.network, nodes, spans, tree.roots, {}).found()
    return Decomposition(tuple(nodes), roots, tree.binding)


def _spans(tree: Decomposition) -> Spans:
    """Return the span of each node; a node that is below itself has any."""
    spans = [(len(tree.nodes), -1) if node.step is None else (node.step, node.step) for node in tree.nodes]
    above = {child: place for place, node in enumerate(tree.nodes) for child in node.children}
    waits_for = [len(node.children) for node in tree.nodes]
    ready = [place for place, number in enumerate(waits_for) if not number]
    while ready:
        place = ready.pop()
        parent = above.get(place)
        if parent is not None:
            spans[parent] = min(spans[parent][0], spans[place][0]), max(spans[parent][1], spans[place][1])
            waits_for[parent] -= 1
            if not waits_for[parent]:
                ready.append(parent)
    return spans


@dataclass(frozen=True, slots=True, eq=False)
class _Choice:
    """What was known before a child was placed, and the children that could be placed there instead."""

    binding: dict[str, str]
    others: Iterator[int]


class _Arrangement:
    """The children of one node, and the subtasks of its method."""

    def __init__(
        self, network: Network, nodes: Sequence[Node], spans: Spans, children: tuple[int, ...], known: dict[str, str]
    ) -> None:
        self._subtasks = [subtask.task for subtask in network.subtasks]
        self._ordering = network.ordering
        self._is_sequence = network.is_sequence
        self._nodes = nodes
        self._spans = spans
        self._children = children
        self._known = known

    def found(self) -> tuple[int, ...]:
        """Return the children as the subtasks want them; as they are where nothing fits."""
        if len(self._children) != len(self._subtasks) or self._is_sequence or self._fits_as_written():
            return self._children
        return self._searched() or self._children

    def _fits_as_written(self) -> bool:
        binding: dict[str, str] | None = self._known
        for pattern, child in zip(self._subtasks, self._children, strict=True):
            binding = None if binding is None else _unified(pattern, self._nodes[child].task, binding)
        return binding is not None and self._is_ordered(dict(enumerate(self._children)))

    def _fits(self, pattern: Atom, child: int) -> bool:
        return _unified(pattern, self._nodes[child].task, self._known) is not None

    def _is_ordered(self, placed: dict[int, int]) -> bool:
        """Return whether the steps below the children that are placed have the order of the network."""
        return all(
            self._spans[placed[first]][1] < self._spans[placed[second]][0]
            for first, second in self._ordering
            if first in placed and second in placed
        )

    def _searched(self) -> tuple[int, ...] | None:
        """Place children by backtracking, those of the most exacting subtasks first."""
        children = sorted(self._children, key=lambda child: self._spans[child])
        fitting = [[child for child in children if self._fits(each, child)] for each in self._subtasks]
        line = sorted(range(len(fitting)), key=lambda place: len(fitting[place]))
        placed: dict[int, int] = {}
        used: set[int] = set()
        choices = [_Choice(self._known, iter(fitting[line[0]]))] if line else []
        for _ in range(MOST_TRIES):
            if not choices:
                return None
            place = line[len(choices) - 1]
            used.discard(placed.pop(place, -1))
            child = next((each for each in choices[-1].others if each not in used), None)
            if child is None:
                choices.pop()
                continue
            binding = _unified(self._subtasks[place], self._nodes[child].task, choices[-1].binding)
            placed[place] = child
            if binding is None or not self._is_ordered(placed):
                del placed[place]
                continue
            used.add(child)
            if len(placed) == len(line):
                return tuple([placed[each] for each in range(len(line))])
            choices.append(_Choice(binding, iter(fitting[line[len(choices)]])))
        return None


def _unified(pattern: Atom, task: Atom, known: dict[str, str]) -> dict[str, str] | None:
    """Return `known` with what else makes `pattern` to `task`; None where they differ."""
    if pattern.predicate != task.predicate or len(pattern.args) != len(task.args):
        return None
    binding = known.copy()
    for term, value in zip(pattern.args, task.args, strict=True):
        if (binding.setdefault(term, value) if is_variable(term) else term) != value:
            return None
    return binding
