"""Which subtask of a method each child is, where a plan lists them in another order than the method does."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice, product

from htn.model import HtnProblem, Method, Network
from htn.placing import Child, Places, Placing, unified
from htn.plan import Decomposition, Node
from htn.verify.frames import INITIAL
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
