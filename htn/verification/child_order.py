"""Which subtask of a method each child is, where a plan lists them in another order than the method does.

Which subtask of one network each of its children may be.

Names, arguments and types have to agree, and both the steps and the list of children have to keep the ordering.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice, product

from htn.model import HtnProblem, Method, Network
from htn.plan import Decomposition, Node
from htn.verification.decomposition_tree import INITIAL
from planner.lightweight import Final, dataclass, replace
from planner.model import Atom, is_variable
from planner.model.formulas import TRUE, substitute
from planner.plan import Plan
from planner.semantics.condition_solver import EMPTY, Binding, Compiler, Solver, Universe

MOST_TRIES: Final = 20_000
"""After so many placings of children no further ways to place them are looked for."""

Places = tuple[int, ...]
"""For each subtask the number of its child, from 0."""


@dataclass(frozen=True, slots=True, eq=False)
class Child:
    """A task that a plan has below another one, and its first and its last step; (steps, -1) where it has none."""

    task: Atom
    span: tuple[int, int]


@dataclass(frozen=True, slots=True, eq=False)
class _Choice:
    """What was known before a child was placed, and the children that could be placed there instead."""

    binding: Binding
    others: Iterator[int]


class Placing:
    """Children and the subtasks of `network`; `known` is what shows of the method's binding in its task.

    `fits` says of a binding whether it may be one at all.
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
        self._twins = self._groups()
        self._numbers = {place: number for group in self._twins for number, place in enumerate(group)}

    def found(self) -> Iterator[Places]:
        """Yield the ways to place the children: as they are written, if they may be; what is first has first steps.

        Subtasks that nothing tells apart are placed in one way only.
        """
        if len(self._children) != len(self._subtasks):
            return
        written = tuple(range(len(self._children)))
        told = None
        if self._may_be(written):
            told = self._normal(written)
            yield written
        fitting = self._fitting()
        if told is not None and all(len(children) == 1 for children in fitting):
            return
        for places in self._searched(fitting):
            if places != told:
                yield places

    def _may_be(self, places: Places) -> bool:
        binding: Binding | None = self._known
        for pattern, child in zip(self._subtasks, places, strict=True):
            binding = None if binding is None else unified(pattern, self._children[child].task, binding)
        placed = dict(enumerate(places))
        return binding is not None and all(self._is_ordered(place, placed) for place in placed) and self._fits(binding)

    def _groups(self) -> list[list[int]]:
        """Return for each subtask those that are as it is: the same task, before and after the same ones."""
        groups: dict[object, list[int]] = {}
        for place, task in enumerate(self._subtasks):
            groups.setdefault((task, *map(frozenset, (self._before[place], self._after[place]))), []).append(place)
        group_of = {place: group for group in groups.values() for place in group}
        return [group_of[place] for place in range(len(self._subtasks))]

    def _normal(self, places: Places) -> Places:
        """Return `places` with the children of like subtasks in the order of their steps."""
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

    def _fitting(self) -> list[list[int]]:
        """Return the children that each subtask may be, those with the first steps first."""
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
                    if unified(pattern, self._children[child].task, self._known) is not None
                ]
            number, spare = self._numbers[place], len(fitting) - len(self._twins[place])
            found.append(fitting[number : number + spare + 1] if spare >= 0 else [])
        return found

    def _searched(self, fitting: list[list[int]]) -> Iterator[Places]:
        """Yield places found by backtracking, the most exacting subtasks first."""
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
            binding = unified(self._subtasks[place], self._children[child].task, choices[-1].binding)
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
        """Return whether of like subtasks the first has the first steps, as far as its neighbours tell."""
        group, number, rank = self._twins[place], self._numbers[place], self._rank(placed[place])
        before, after = group[max(number - 1, 0) : number], group[number + 1 : number + 2]
        return all(self._rank(placed[each]) < rank for each in before if each in placed) and all(
            rank < self._rank(placed[each]) for each in after if each in placed
        )


def unified(pattern: Atom, task: Atom, known: Binding) -> Binding | None:
    """Return `known` with what else makes `pattern` to `task`; None where they differ."""
    if pattern.predicate != task.predicate or len(pattern.args) != len(task.args):
        return None
    binding = known.copy()
    for term, value in zip(pattern.args, task.args, strict=True):
        if (binding.setdefault(term, value) if is_variable(term) else term) != value:
            return None
    return binding


MOST_WAYS: Final = 120
"""So many ways to place the children of one task are tried: all for five of them."""
MOST_NODES: Final = 100_000
"""So many tasks are checked in all, to find out which of several ways is the right one: two seconds."""

Spans = list[tuple[int, int]]


def arranged(problem: HtnProblem, plan: Plan) -> Plan:
    """Return `plan` with the children of each node in the order of its method's subtasks, where they fit these at all.

    The plan lists children in a linearisation of the ordering. They fit where names, arguments, types, constraints and
    the order of steps agree. If they do so in several ways, ways are looked for with which the plan is valid. If there
    are none (or too many to try), children stay as they are written where that fits, and otherwise, what is first among
    equals has the first steps. Children that fit in no way are taken to be in the order in which `write_plan` lists
    subtasks, and so are those in a total order.
    """
    arrangement = _Arrangement(problem, plan)
    arrangement.place_all()
    return arrangement.chosen() if arrangement.ways else arrangement.plan()


@dataclass(frozen=True, slots=True, eq=False)
class _Ways:
    """The ways to place the children of one task, of which the first is there."""

    first_step: int
    ways: list[tuple[int, ...]]


@dataclass(frozen=True, slots=True, eq=False)
class _Listing:
    """How `write_plan` lists the subtasks of one network: `order`, or as written where that is empty.

    `is_only` where the subtasks have no other linearisation.
    """

    order: Places
    is_only: bool

    def placed(self, children: tuple[int, ...]) -> tuple[int, ...]:
        """Return `children`, which are listed, in the order of their subtasks."""
        if not self.order or len(self.order) != len(children):
            return children
        return tuple([child for _, child in sorted(zip(self.order, children, strict=True))])


def _listing(network: Network) -> _Listing:
    order = network.linearisation
    as_written = order == tuple(range(len(order)))
    return _Listing(() if as_written else order, network.is_sequence)


class _Arrangement:
    """The tree of a plan, with children placed; `ways` has the nodes for which there are several. The top is -1."""

    def __init__(self, problem: HtnProblem, plan: Plan) -> None:
        self.ways: dict[int, _Ways] = {}
        self._problem = problem
        self._plan = plan
        tree: Decomposition = plan.tree
        self._tree = tree
        self._nodes = list(tree.nodes)
        self._roots = tree.roots
        self._spans: Spans = []
        self._listings: dict[str, _Listing] = {}
        self._universe: Universe | None = None

    def plan(self) -> Plan:
        """Return the plan as it is arranged now."""
        return replace(self._plan, tree=Decomposition(tuple(self._nodes), self._roots, self._tree.binding))

    def place_all(self) -> None:
        """Place the children of each node, and note where there are several ways to do so."""
        for place, node in enumerate(self._nodes):
            method = self._problem.domain.methods.get(node.method) if node.step is None else None
            if method is not None:
                self._place(place, method, node.task, node.children)
        top = Method(INITIAL, Atom(INITIAL), self._problem.parameters, network=self._problem.network)
        self._place(-1, top, top.task, self._roots)

    def chosen(self) -> Plan:
        """Return the plan arranged so that it is valid; as it is where no such way is found."""
        from htn.verification.validate import validate

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
        """Yield what to try: nothing; node by node, as long as that leads further; then all ways together."""
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
            self._listings[method.name] = _listing(method.network)
        listing = self._listings[method.name]
        known = None if listing.is_only else unified(method.task, task, {})
        ways = [] if known is None else self._ways(method, children, known)
        placed = ways[0] if ways else listing.placed(children)
        if placed != children:
            self._take([(place, placed)])
        if len(ways) > 1:
            first = min(self._spans[child][0] for child in children)
            self.ways[place] = _Ways(first, ways)

    def _ways(self, method: Method, children: tuple[int, ...], known: Binding) -> list[tuple[int, ...]]:
        """Return the ways to place `children`, at most `MOST_WAYS` of them."""
        self._spans = self._spans or _spans(self._nodes)
        tasks = [Child(self._nodes[child].task, self._spans[child]) for child in children]
        found = Placing(method.network, tasks, known, lambda binding: self._fits(method, binding)).found()
        return [_placed(children, way) for way in islice(found, MOST_WAYS)]

    def _fits(self, method: Method, binding: Binding) -> bool:
        """Return whether objects have the types of the parameters, and keep the constraints where all are known."""
        self._universe = self._universe or Universe(self._problem.classical)
        known = [each for each in method.parameters if each.name in binding]
        if not all(binding[each.name] in self._universe.of_types(each.types) for each in known):
            return False
        constraints = method.network.constraints
        if constraints == TRUE or len(known) < len(method.parameters):
            return True
        condition = Compiler(self._universe).compile(substitute(constraints, binding))
        return Solver(lambda _: EMPTY).holds(condition, {})


def _placed(children: tuple[int, ...], way: Places) -> tuple[int, ...]:
    return tuple([children[number] for number in way])


def _spans(nodes: list[Node]) -> Spans:
    """Return the span of each node; a node that is below itself has any."""
    spans = [(len(nodes), -1) if node.step is None else (node.step, node.step) for node in nodes]
    above = {child: place for place, node in enumerate(nodes) for child in node.children}
    waits_for = [len(node.children) for node in nodes]
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
