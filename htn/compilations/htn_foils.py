"""Foils about decompositions: methods that a plan is asked to use, or to do without, compiled into the hierarchy.

    avoid    methods that a pattern covers are left out, or require that their objects are others
    use      a task *with* the method is one below which the method is used once at least: a method for it is one that
             is asked for, or another one with exactly one of its subtasks marked in turn

Both change tasks and methods alone, as the intersection of a grammar with a regular property of its trees does. So
actions, states and steps stay as they are, in problems with numbers, constraints or time, too. `restore_names` takes
the marks out of the decomposition again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from htn.model import Decomposition, HtnDomain, HtnProblem, Method, Network, Node, Subtask, Task
from planner.compilations.foils import FoilKind, OtherFoil
from planner.compilations.lifted_regression import conjoin
from planner.lightweight import Any, Final, dataclass, replace
from planner.model import FALSE, TRUE, Atom, Equals, Formula, Variable, is_variable
from planner.model.domain import creates_objects
from planner.model.formulas import OPEN, negate
from planner.plan import Plan

MARK: Final = " with "
"""What follows the names of marked tasks and methods; no declared name has a space."""
TOP: Final = "the tasks"
"""Name of the task whose methods are the initial network with one of its tasks marked."""
OPTIONAL: Final = "perhaps "
"""Prefix of the names of tasks that may be left undone."""


def declared_name(name: str) -> str:
    """Return the name of a task or method without marks."""
    return name.partition(MARK)[0]


@dataclass(frozen=True, slots=True)
class NodePattern:
    """Compound tasks that are done: those that `task` covers, if it is given, by a method that `method` covers."""

    task: Atom | None = None
    method: Atom | None = None

    def covers(self, node: Node) -> bool:
        """Return whether `node` is one of these."""
        return node.step is None and all(
            pattern is None or _matches(pattern, name, arguments)
            for pattern, name, arguments in (
                (self.task, node.task.predicate, node.task.args),
                (self.method, node.method, node.binding),
            )
        )

    def covered(self, method: Method) -> Formula:
        """Return the equalities of its parameters under which `method` is used for one of these."""
        parts: list[Formula] = []
        terms = tuple([each.name for each in method.parameters])
        for pattern, name, own in (
            (self.task, method.task.predicate, method.task.args),
            (self.method, method.name, terms),
        ):
            if pattern is not None and pattern.predicate != declared_name(name):
                return FALSE
            parts += [] if pattern is None else _equate(own, pattern.args)
        return conjoin(parts)


def _matches(pattern: Atom, name: str, arguments: Sequence[str]) -> bool:
    pairs = zip(pattern.args, arguments, strict=False)
    return pattern.predicate == name and all(mine in (OPEN, other) for mine, other in pairs)


def _equate(terms: Sequence[str], values: Sequence[str]) -> Iterator[Formula]:
    """Yield for each value that is not open that the term equals it."""
    for term, value in zip(terms, values, strict=False):
        if value != OPEN:
            yield Equals(term, value) if is_variable(term) else TRUE if term == value else FALSE


@dataclass(frozen=True, slots=True)
class MethodFoil(OtherFoil):
    """A demand to use a method, or do a task, or to do without (`kind`); `text` names what one of `patterns` covers."""

    kind: FoilKind
    text: str
    patterns: tuple[NodePattern, ...]

    def __str__(self) -> str:
        return f"{'with' if self.kind is FoilKind.USE else 'without'} {self.text}"

    def covers(self, node: Node) -> bool:
        """Return whether `node` is done as one of the patterns says."""
        return any(each.covers(node) for each in self.patterns)

    def holds_for(self, plan: Plan) -> bool:
        """Return whether the decomposition of `plan` is as the foil asks; False without one."""
        if plan.tree is None:
            return False
        return any(self.covers(node) for node in plan.tree.nodes) is (self.kind is FoilKind.USE)

    def apply(self, problem: HtnProblem) -> HtnProblem:
        """Return the problem whose plans are those of `problem` with a decomposition as the foil asks."""
        return _Marking(problem, self).apply() if self.kind is FoilKind.USE else _without(problem, self)


def _without(problem: HtnProblem, foil: MethodFoil) -> HtnProblem:
    """Return the problem without the methods that are covered, or with conditions that they are not."""
    methods = {}
    for name, method in problem.domain.methods.items():
        allowed = conjoin([negate(each.covered(method)) for each in foil.patterns])
        if allowed == TRUE:
            methods[name] = method
        elif allowed not in _IMPOSSIBLE:
            methods[name] = replace(method, precondition=conjoin([method.precondition, allowed]))
    return replace(problem, domain=replace(problem.domain, methods=methods))


_IMPOSSIBLE: Final = (FALSE, negate(TRUE))


class _Marking:
    """The marked tasks and methods of one foil."""

    def __init__(self, problem: HtnProblem, foil: MethodFoil) -> None:
        self._problem = problem
        self._domain: HtnDomain = problem.domain
        self._foil = foil
        self._reaching = self._find_reaching()
        self._mark = f"{MARK}{foil.text}"
        while any(name.endswith(self._mark) for name in self._domain.tasks):
            self._mark += "'"

    def apply(self) -> HtnProblem:
        """Return the problem in which one of the initial tasks is marked."""
        top = Atom(f"{TOP}{self._mark}")
        tasks = {**self._domain.tasks, top.predicate: Task(top.predicate)}
        for name in self._reaching:
            tasks[self._marked(name)] = replace(self._domain.tasks[name], name=self._marked(name))
        first = Method(TOP, top, self._problem.parameters, network=self._problem.network)
        methods = [*self._domain.methods.values(), *self._descend(first)]
        for method in self._domain.methods.values():
            if method.task.predicate in self._reaching:
                marked = replace(method, task=replace(method.task, predicate=self._marked(method.task.predicate)))
                methods += [*self._use(marked), *self._descend(marked)]
        domain = replace(self._domain, tasks=tasks, methods={each.name: each for each in methods})
        return replace(self._problem, domain=domain, network=Network((Subtask(top),)), parameters=())

    def _marked(self, name: str) -> str:
        return f"{name}{self._mark}"

    def _find_reaching(self) -> set[str]:
        """Return the tasks below which a method that is asked for may be used."""
        methods = list(self._domain.methods.values())
        found = {
            method.task.predicate
            for method in methods
            if any(each.covered(method) != FALSE for each in self._foil.patterns)
        }
        size = -1
        while size != len(found):
            size = len(found)
            found |= {
                method.task.predicate
                for method in methods
                if any(each.task.predicate in found for each in method.network.subtasks)
            }
        return found

    def _use(self, method: Method) -> Iterator[Method]:
        """Yield `method` for each way in which it is one that is asked for."""
        for number, pattern in enumerate(self._foil.patterns):
            covered = pattern.covered(method)
            if covered != FALSE:
                network = replace(method.network, constraints=conjoin([method.network.constraints, covered]))
                yield replace(method, name=f"{self._marked(method.name)} {number}", network=network)

    def _descend(self, method: Method) -> Iterator[Method]:
        """Yield `method` with each one of its subtasks marked that may lead to one that is asked for."""
        network = method.network
        for place, each in enumerate(network.subtasks):
            if each.task.predicate in self._reaching:
                marked = replace(each, task=replace(each.task, predicate=self._marked(each.task.predicate)))
                subtasks = (*network.subtasks[:place], marked, *network.subtasks[place + 1 :])
                name = f"{self._marked(method.name)} below {place}"
                yield replace(method, name=name, network=replace(network, subtasks=subtasks))


def restore_names(tree: Decomposition) -> Decomposition:
    """Return the decomposition of the declared tasks: without marks, and without tasks that foils have added."""
    roots, binding = tree.roots, tree.binding
    while len(roots) == 1 and tree.nodes[roots[0]].task.predicate.startswith(f"{TOP}{MARK}"):
        top = tree.nodes[roots[0]]
        roots, binding = top.children, top.binding
    named = [
        replace(
            node,
            task=Atom(declared_name(node.task.predicate), node.task.args),
            method=declared_name(node.method),
        )
        for node in tree.nodes
    ]
    kept = [place for place, node in enumerate(named) if node.task.predicate != TOP]
    return Decomposition(tuple(named), roots, binding).keep(kept)


def may_skip_tasks(problem: HtnProblem) -> bool:
    """Return whether `make_optional` takes the problem: no task of it stands for objects that steps create."""
    return not creates_objects(problem.classical.domain)


def make_optional(problem: HtnProblem, places: Iterable[int]) -> HtnProblem:
    """Return the problem whose plans may leave the initial tasks at these places undone."""
    domain, subtasks = problem.domain, list(problem.network.subtasks)
    tasks, methods = dict[str, Task](), dict[str, Method]()
    declared: Callable[[str], Any] = lambda name: domain.tasks.get(name) or domain.classical.actions[name]  # noqa: E731 - a lookup in two tables
    for place in places:
        done = subtasks[place].task
        parameters: tuple[Variable, ...] = declared(done.predicate).parameters
        name = f"{OPTIONAL}{place}"
        head, body = [Atom(each, tuple([one.name for one in parameters])) for each in (name, done.predicate)]
        tasks[name] = Task(name, parameters)
        for way, network in (("done", Network((Subtask(body),))), ("left out", Network())):
            methods[f"{name} {way}"] = Method(f"{name} {way}", head, parameters, network=network)
        subtasks[place] = Subtask(Atom(name, done.args))
    domain = replace(domain, tasks={**domain.tasks, **tasks}, methods={**domain.methods, **methods})
    return replace(problem, domain=domain, network=replace(problem.network, subtasks=tuple(subtasks)))
