"""Assignment of children to subtasks, for plans that list children in another order than the method does.

Names, arguments and types have to agree, and both the steps and the list of children have to keep the ordering.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice, product

from htn.model import Decomposition, HtnProblem, Method, Network, Node, fold_up, unify
from htn.verification.decomposition_tree import INITIAL
from planner.lightweight import Final, dataclass, replace
from planner.model import Atom
from planner.model.formulas import TRUE, substitute
from planner.plan import Plan
from planner.semantics.condition_solver import EMPTY, Binding, Compiler, Solver, Universe
from planner.semantics.numeric_state import Values

MOST_TRIES: Final = 20_000
"""Assignments of a child after which the search for further ways ends."""

Places = tuple[int, ...]
"""For each subtask the number of its child, from 0: a way to assign the children."""


@dataclass(frozen=True, slots=True, eq=False)
class Child:
    """A child of a task in a plan, with its first and last step; (number of steps, -1) where it has none."""

    task: Atom
    span: tuple[int, int]


@dataclass(frozen=True, slots=True, eq=False)
class _Choice:
    """A choice point: the binding before a child was assigned, and the other children for the subtask."""

    binding: Binding
    others: Iterator[int]


class Assignments:
    """The ways to assign `children` to the subtasks of `network`.

    `known` is the part of the method's binding that its task gives, and `fits` tells whether a binding is allowed.
    """

    def __init__(
        self, network: Network, children: Sequence[Child], known: Binding, fits: Callable[[Binding], bool]
    ) -> None:
        self._subtasks = [subtask.task for subtask in network.subtasks]
        self._children = children
        self._known = known
        self._fits = fits
        self._before: list[set[int]] = [set() for _ in self._subtasks]
        self._after: list[set[int]] = [set() for _ in self._subtasks]
        for first, second in network.ordering:
            self._before[second].add(first)
            self._after[first].add(second)
        self._twins = self._group_twins()
        self._numbers = {place: number for group in self._twins for number, place in enumerate(group)}

    def find(self) -> Iterator[Places]:
        """Yield the ways: first as the children are written, if that fits, then those with the first steps first.

        Children of twins, subtasks that nothing tells apart, are assigned in one way only.
        """
        if len(self._children) != len(self._subtasks):
            return
        written = tuple(range(len(self._children)))
        yielded = None
        if self._is_allowed(written):
            yielded = self._sort_twins(written)
            yield written
        fitting = self._fitting_children()
        if yielded is not None and all(len(children) == 1 for children in fitting):
            return
        for places in self._search(fitting):
            if places != yielded:
                yield places

    def _is_allowed(self, places: Places) -> bool:
        binding: Binding | None = self._known
        for pattern, child in zip(self._subtasks, places, strict=True):
            binding = None if binding is None else unify(pattern, self._children[child].task, binding)
        placed = dict(enumerate(places))
        return binding is not None and all(self._is_ordered(place, placed) for place in placed) and self._fits(binding)

    def _group_twins(self) -> list[list[int]]:
        """Return for each subtask its twins: subtasks with the same task, before and after the same ones."""
        groups: dict[object, list[int]] = {}
        for place, task in enumerate(self._subtasks):
            groups.setdefault((task, *map(frozenset, (self._before[place], self._after[place]))), []).append(place)
        group_of = {place: group for group in groups.values() for place in group}
        return [group_of[place] for place in range(len(self._subtasks))]

    def _sort_twins(self, places: Places) -> Places:
        """Return `places` with the children of twins in the order of their steps."""
        found = list(places)
        for group in {group[0]: group for group in self._twins}.values():
            for place, child in zip(group, sorted([places[each] for each in group], key=self._rank), strict=True):
                found[place] = child
        return tuple(found)

    def _rank(self, child: int) -> tuple[tuple[int, int], int]:
        return self._children[child].span, child

    def _is_ordered(self, place: int, placed: dict[int, int]) -> bool:
        """Return whether the child at `place` comes in the order of the network, among those that are placed.

        Two orders count: that of the steps, and that in which the plan lists the children.
        """
        number = placed[place]
        before = [placed[each] for each in self._before[place] if each in placed]
        after = [placed[each] for each in self._after[place] if each in placed]
        if any(each > number for each in before) or any(each < number for each in after):
            return False
        first, last = self._children[number].span
        children = self._children
        return all(children[each].span[1] < first for each in before) and all(
            last < children[each].span[0] for each in after
        )

    def _fitting_children(self) -> list[list[int]]:
        """Return the children that fit each subtask, those with the first steps first."""
        by_name: dict[str, list[int]] = {}
        by_task: dict[Atom, list[int]] = {}
        for child in sorted(range(len(self._children)), key=self._rank):
            task = self._children[child].task
            by_name.setdefault(task.predicate, []).append(child)
            by_task.setdefault(task, []).append(child)
        found = []
        for place, task in enumerate(self._subtasks):
            pattern = task.substitute(self._known)
            if pattern.is_ground:
                fitting = by_task.get(pattern, [])
            else:
                fitting = [
                    child
                    for child in by_name.get(pattern.predicate, ())
                    if unify(pattern, self._children[child].task, self._known) is not None
                ]
            number, spare = self._numbers[place], len(fitting) - len(self._twins[place])
            found.append(fitting[number : number + spare + 1] if spare >= 0 else [])
        return found

    def _search(self, fitting: list[list[int]]) -> Iterator[Places]:
        """Yield the ways found by backtracking, the most constrained subtasks first."""
        line = sorted(range(len(fitting)), key=lambda place: len(fitting[place]))
        placed: dict[int, int] = {}
        used: set[int] = set()
        choices = [_Choice(self._known, iter(fitting[line[0]]))] if line else []
        for _ in range(MOST_TRIES):
            if not choices:
                return
            place = line[len(choices) - 1]
            used.discard(placed.pop(place, -1))
            child = next((each for each in choices[-1].others if each not in used), None)
            if child is None:
                choices.pop()
                continue
            binding = unify(self._subtasks[place], self._children[child].task, choices[-1].binding)
            placed[place] = child
            if binding is None or not self._is_ordered(place, placed) or not self._is_in_turn(place, placed):
                del placed[place]
                continue
            used.add(child)
            if len(placed) < len(line):
                choices.append(_Choice(binding, iter(fitting[line[len(choices)]])))
            elif self._fits(binding):
                yield tuple([placed[each] for each in range(len(line))])

    def _is_in_turn(self, place: int, placed: dict[int, int]) -> bool:
        """Return whether the twins next to `place` keep the order of their steps."""
        group, number, rank = self._twins[place], self._numbers[place], self._rank(placed[place])
        before, after = group[max(number - 1, 0) : number], group[number + 1 : number + 2]
        return all(self._rank(placed[each]) < rank for each in before if each in placed) and all(
            rank < self._rank(placed[each]) for each in after if each in placed
        )


MOST_WAYS: Final = 120
"""Most ways to assign the children of one task that are tried: all of them for five children."""
MOST_NODES: Final = 100_000
"""Most nodes that are validated to choose among several ways: two seconds."""

Spans = list[tuple[int, int]]


def arrange_children(problem: HtnProblem, plan: Plan) -> Plan:
    """Return `plan` with the children of each node in the order of its method's subtasks, where they fit these.

    The plan lists children in a linearisation of the ordering. They fit where names, arguments, types, constraints and
    the order of steps agree. Of several ways to assign them, one is chosen with which the plan is valid. Where none is
    found, children stay as they are written if that fits, and otherwise twins have the order of their steps. Children
    that fit in no way, and those in a total order, count as listed in the order of `write_plan`.
    """
    arrangement = _Arrangement(problem, plan)
    arrangement.place_all()
    return arrangement.choose_valid() if arrangement.ways else arrangement.plan()


@dataclass(frozen=True, slots=True, eq=False)
class _Ways:
    """The ways to assign the children of one task; the first of them is in the plan."""

    first_step: int
    ways: list[tuple[int, ...]]


class _Arrangement:
    """The tree of a plan with its children assigned; `ways` has the nodes with several ways (initial network: -1)."""

    def __init__(self, problem: HtnProblem, plan: Plan) -> None:
        self.ways: dict[int, _Ways] = {}
        self._problem = problem
        self._plan = plan
        tree: Decomposition = plan.tree
        self._tree = tree
        self._nodes = list(tree.nodes)
        self._roots = tree.roots
        self._spans: Spans = []
        self._listings: dict[str, tuple[Places, bool]] = {}
        """The linearisation in which `write_plan` lists the subtasks of each method, and whether it is the only one."""
        self._universe: Universe | None = None

    def plan(self) -> Plan:
        """Return the plan with the present arrangement."""
        return replace(self._plan, tree=Decomposition(tuple(self._nodes), self._roots, self._tree.binding))

    def place_all(self) -> None:
        """Assign the children of each node, and note the nodes with several ways."""
        for place, node in enumerate(self._nodes):
            method = self._problem.domain.methods.get(node.method) if node.step is None else None
            if method is not None:
                self._place(place, method, node.task, node.children)
        top = Method(INITIAL, Atom(INITIAL), self._problem.parameters, network=self._problem.network)
        self._place(-1, top, top.task, self._roots)

    def choose_valid(self) -> Plan:
        """Return the plan arranged so that it is valid; with the first ways where no such arrangement is found."""
        from htn.verification.plan_verification import validate

        best, most = -1, max(MOST_NODES // (len(self._nodes) + 1), 1)
        for count, change in enumerate(self._changes()):
            before = {place: self._children(place) for place in change}
            self._take(change.items())
            verdict = validate(self._problem, self.plan())
            if verdict.valid:
                return self.plan()
            if verdict.unmet or verdict.reason.startswith(f"step {verdict.failing_step} "):
                break
            reached = -1 if verdict.condition is None else verdict.failing_step or len(self._plan.steps) + 1
            if reached > best:
                best = reached
            else:
                self._take(before.items())
            if count + 1 >= most:
                break
        self._take((place, each.ways[0]) for place, each in self.ways.items())
        return self.plan()

    def _changes(self) -> Iterator[dict[int, tuple[int, ...]]]:
        """Yield changes to try: none; one node at a time, as long as that leads further; then all ways together."""
        yield {}
        line = sorted(self.ways, key=lambda place: self.ways[place].first_step)
        for _ in line:
            before = [self._children(place) for place in line]
            for place in line:
                yield from ({place: way} for way in self.ways[place].ways)
            if before == [self._children(place) for place in line]:
                break
        for each in product(*(self.ways[place].ways for place in line)):
            yield dict(zip(line, each, strict=True))

    def _children(self, place: int) -> tuple[int, ...]:
        return self._roots if place < 0 else self._nodes[place].children

    def _take(self, changes: Iterable[tuple[int, tuple[int, ...]]]) -> None:
        for place, children in changes:
            if place < 0:
                self._roots = children
            else:
                self._nodes[place] = replace(self._nodes[place], children=children)

    def _place(self, place: int, method: Method, task: Atom, children: tuple[int, ...]) -> None:
        if method.name not in self._listings:
            self._listings[method.name] = method.network.linearisation, method.network.is_sequence
        order, is_only = self._listings[method.name]
        known = None if is_only else unify(method.task, task, {})
        ways = [] if known is None else self._ways(method, children, known)
        placed = children
        if ways:
            placed = ways[0]
        elif len(order) == len(children):
            placed = tuple([child for _, child in sorted(zip(order, children, strict=True))])
        if placed != children:
            self._take([(place, placed)])
        if len(ways) > 1:
            first = min(self._spans[child][0] for child in children)
            self.ways[place] = _Ways(first, ways)

    def _ways(self, method: Method, children: tuple[int, ...], known: Binding) -> list[tuple[int, ...]]:
        """Return the ways to assign `children`, at most `MOST_WAYS` of them."""
        self._spans = self._spans or _spans(self._nodes)
        tasks = [Child(self._nodes[child].task, self._spans[child]) for child in children]
        found = Assignments(method.network, tasks, known, lambda binding: self._fits(method, binding)).find()
        return [tuple([children[number] for number in way]) for way in islice(found, MOST_WAYS)]

    def _fits(self, method: Method, binding: Binding) -> bool:
        """Return whether the values in `binding` have the right types and keep the constraints where all are known."""
        self._universe = self._universe or Universe(self._problem.classical)
        known = [each for each in method.parameters if each.name in binding]
        if not all(binding[each.name] in self._universe.of_types(each.types) for each in known):
            return False
        constraints = method.network.constraints
        if constraints == TRUE or len(known) < len(method.parameters):
            return True
        condition = Compiler(self._universe).compile(substitute(constraints, binding))
        return Solver(lambda _: EMPTY, Values.of(self._problem.classical)).holds(condition, {})


def _spans(nodes: list[Node]) -> Spans:
    """Return the first and last step of each node; of a node that is below itself, any."""
    own = [(len(nodes), -1) if node.step is None else (node.step, node.step) for node in nodes]
    return fold_up(nodes, own, lambda one, other: (min(one[0], other[0]), max(one[1], other[1])))
