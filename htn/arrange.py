"""Which subtask of a method each child is, where a plan lists them in another order than the method does."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice, product

from htn.model import HtnProblem, Method, Network
from htn.orders import linear
from htn.placing import Child, Places, Placing, unified
from htn.plan import Decomposition, Node
from planner.annotations import Final
from planner.model import Atom
from planner.model.formulas import TRUE, substitute
from planner.plan import Plan
from planner.records import dataclass, replace
from planner.validate.conditions import Binding, Compiler, Universe
from planner.validate.solver import Solver
from planner.validate.state import EMPTY

MOST_WAYS: Final = 120
"""So many ways to place the children of one task are tried: all for five of them."""
MOST_NODES: Final = 100_000
"""So many tasks are checked in all, to find out which of several ways is the right one: two seconds."""

Spans = list[tuple[int, int]]


def arranged(problem: HtnProblem, plan: Plan) -> Plan:
    """Return `plan` with the children of each node in the order of its method's subtasks, where they fit these at all.

    They fit where names, arguments, types, constraints and the order of steps agree. If they do so in several ways,
    ways are looked for with which the plan is valid. If there are none (or too many to try), children stay as they are
    written where that fits, and otherwise, what is first among equals has the first steps. Children of a method whose
    subtasks are written in their total order always stay as they are.
    """
    arrangement = _Arrangement(problem, plan)
    arrangement.place_all()
    return arrangement.chosen() if arrangement.ways else arrangement.plan()


@dataclass(frozen=True, slots=True, eq=False)
class _Ways:
    """The ways to place the children of one task, of which the first is there."""

    first_step: int
    ways: list[tuple[int, ...]]


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
        self._spans: Spans | None = None
        self._sequences: dict[str, bool] = {}
        self._universe: Universe | None = None

    def plan(self) -> Plan:
        """Return the plan as it is arranged now."""
        return replace(self._plan, tree=Decomposition(tuple(self._nodes), self._roots, self._tree.binding))

    def place_all(self) -> None:
        """Place the children of each node, and note where there are several ways to do so."""
        for place, node in enumerate(self._nodes):
            if node.step is None and not self._stays(node.method):
                method = self._problem.domain.methods[node.method]
                known = unified(method.task, node.task, {})
                if known is not None:
                    self._place(place, method, node.children, known)
        network = self._problem.network
        if not _is_written_in_order(network):
            top = Method("", Atom(""), self._problem.parameters, network=network)
            self._place(-1, top, self._roots, {})

    def chosen(self) -> Plan:
        """Return the plan arranged so that it is valid; as it is where no such way is found."""
        from htn.verify import validate  # noqa: PLC0415 - most plans are arranged without it

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

    def _stays(self, name: str) -> bool:
        """Return whether the method of this name takes children as they are written."""
        if name not in self._sequences:
            method = self._problem.domain.methods.get(name)
            self._sequences[name] = method is None or _is_written_in_order(method.network)
        return self._sequences[name]

    def _place(self, place: int, method: Method, children: tuple[int, ...], known: Binding) -> None:
        self._spans = self._spans or _spans(self._nodes)
        spans = self._spans
        tasks = [Child(self._nodes[child].task, spans[child]) for child in children]
        found = Placing(method.network, tasks, known, lambda binding: self._fits(method, binding)).found()
        ways = [_placed(children, way) for way in islice(found, MOST_WAYS)]
        if ways:
            self._take([(place, ways[0])])
        if len(ways) > 1:
            self.ways[place] = _Ways(min(spans[child][0] for child in children), ways)

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


def _is_written_in_order(network: Network) -> bool:
    """Return whether the subtasks are totally ordered, and written in that order."""
    return network.is_sequence and linear(len(network.subtasks), network.ordering) == [*range(len(network.subtasks))]


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
