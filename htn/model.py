"""The immutable hierarchical model: tasks, methods, task networks, domains, problems, and decompositions of plans.

A hierarchical domain *has* a classical `DomainModel` with types, predicates and actions, and a hierarchical problem
*has* a classical `Problem` with objects, initial state and goal. The terms are those of HDDL (Höller et al., 2020).
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from typing import Final, TypeAlias

from planner.lightweight import TYPE_CHECKING, Any, TypeVar, dataclass, field, replace
from planner.model import TRUE, Action, Atom, DomainModel, Formula, Problem, Variable, is_variable
from planner.model.domain import name_counts
from planner.model.formulas import comparisons_in
from planner.model.problem import is_numeric
from planner.model.problem import seal as seal_classical

if TYPE_CHECKING:
    from planner.errors import Location


KIND: Final = "hierarchical"
"""The entry point in `forethought.problem_kinds` that serves problems with tasks."""
Order: TypeAlias = tuple[int, int]
"""Two places in a network: the task at the first ends before the task at the second begins."""


def transitive_successors(size: int, ordering: Sequence[Order]) -> list[int]:
    """Return for each of `size` places, as bits, the places after it in the transitive closure of `ordering`."""
    following: list[list[int]] = [[] for _ in range(size)]
    for first, second in ordering:
        following[first].append(second)
    after = [0] * size
    for place in reversed(linearise(size, ordering)):
        for other in following[place]:
            after[place] |= after[other] | 1 << other
    return after


def linearise(size: int, ordering: Iterable[Order]) -> list[int]:
    """Return a linearisation of `ordering`, which lists the places as they are written where it leaves a choice.

    Raises `graphlib.CycleError` where there is none.
    """
    sorter: TopologicalSorter[int] = TopologicalSorter({place: [] for place in range(size)})
    for first, second in ordering:
        sorter.add(second, first)
    sorter.prepare()
    found: list[int] = []
    ready: list[int] = []
    while sorter.is_active():
        ready += sorter.get_ready()
        ready.sort(reverse=True)
        place = ready.pop()
        found.append(place)
        sorter.done(place)
    return found


def unify(pattern: Atom, task: Atom, known: Mapping[str, str]) -> dict[str, str] | None:
    """Return `known` with the values of variables that make `pattern` the ground `task`; None where there are none."""
    if pattern.predicate != task.predicate or len(pattern.args) != len(task.args):
        return None
    binding = {**known}
    for term, value in zip(pattern.args, task.args, strict=True):
        if (binding.setdefault(term, value) if is_variable(term) else term) != value:
            return None
    return binding


@dataclass(frozen=True, slots=True)
class Task:
    """A compound task: what methods decompose."""

    name: str
    parameters: tuple[Variable, ...] = ()
    description: str = ""


@dataclass(frozen=True, slots=True)
class Subtask:
    """One task of a network: an action or a compound task (`task.predicate`) with its arguments.

    `label` is what orderings in files call it; it is "" where nobody gave it a name.
    """

    task: Atom
    label: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Network:
    """Tasks to be done: all of `subtasks`, in the partial order that `ordering` generates.

    `ordering` has pairs of places in `subtasks` and no cycles. `constraints` are a conjunction of equalities of terms
    and their negations.
    """

    subtasks: tuple[Subtask, ...] = ()
    ordering: tuple[Order, ...] = ()
    constraints: Formula = TRUE

    @property
    def is_sequence(self) -> bool:
        """Whether the subtasks are totally ordered, in whatever order they are written."""
        line = self.linearisation
        return {*pairwise(line)} <= {*self.ordering} and len(line) == len(self.subtasks)

    @property
    def linearisation(self) -> tuple[int, ...]:
        """The places of the subtasks in an order that agrees with `ordering`, as written where it leaves the choice.

        Empty where the ordering has a cycle.
        """
        try:
            return tuple(linearise(len(self.subtasks), self.ordering))
        except CycleError:
            return ()


def sequence(*tasks: Atom, constraints: Formula = TRUE) -> Network:
    """Return the totally ordered network of `tasks`."""
    ordering = tuple([(place, place + 1) for place in range(len(tasks) - 1)])
    return Network(tuple(map(Subtask, tasks)), ordering, constraints)


@dataclass(frozen=True, slots=True)
class Method:
    """One way to do the compound task `task`, whose arguments are parameters of the method or constants.

    `precondition` holds in some state after everything that is ordered before the task and before the first step of
    the method; where subtasks are ordered, that is the state in which the first of them begins.
    """

    name: str
    task: Atom
    parameters: tuple[Variable, ...] = ()
    precondition: Formula = TRUE
    network: Network = field(default_factory=Network)
    description: str = ""


@dataclass(frozen=True, slots=True)
class Spelling:
    """The names that a file spells otherwise than the model, by their names in the model.

    `heads` are actions and tasks. The model has names in lower case, and another name for each of several methods that
    have one name in the file.
    """

    heads: Mapping[str, str] = field(default_factory=dict)
    methods: Mapping[str, str] = field(default_factory=dict)
    objects: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class HtnDomain:
    """A classical domain with compound tasks and methods; names map to what they declare, in the order of declaration.

    No task has the name of an action. `inferred` are the predicates that nobody declared and methods alone name, each
    with the place where one does so first. `spelling` is that of its file: plans are written with it.
    """

    classical: DomainModel
    tasks: Mapping[str, Task] = field(default_factory=dict)
    methods: Mapping[str, Method] = field(default_factory=dict)
    inferred: Mapping[str, Location] = field(default_factory=dict, compare=False, repr=False)
    spelling: Spelling = field(default_factory=Spelling, compare=False, repr=False)

    @property
    def kind(self) -> str:
        """The entry point in `forethought.problem_kinds` that serves such problems."""
        return KIND

    @property
    def name(self) -> str:
        """The name of the domain."""
        return self.classical.name

    @property
    def actions(self) -> Mapping[str, Action]:
        """The actions of the classical domain."""
        return self.classical.actions

    def __str__(self) -> str:
        return f"{self.classical}, {name_counts({'task': self.tasks, 'method': self.methods})}"

    def methods_for(self, task: str) -> list[Method]:
        """Return the methods for the compound task of this name, in the order of declaration."""
        return [method for method in self.methods.values() if method.task.predicate == task]


@dataclass(frozen=True, slots=True)
class HtnProblem:
    """Tasks to be done from an initial state, and a goal to hold when they are done.

    `classical` has the objects, the initial state and the goal (always true where the file has none). The arguments of
    `network` may be variables among `parameters`: any objects of their types will do. `spelling` is that of its file.
    `seal` has the other fields as they were when all names in them were looked up, see `seal_problem`.
    """

    domain: HtnDomain
    classical: Problem
    network: Network = field(default_factory=Network)
    parameters: tuple[Variable, ...] = ()
    spelling: Spelling = field(default_factory=Spelling, compare=False, repr=False)
    seal: tuple[object, ...] = field(default=(), compare=False, repr=False)

    @property
    def kind(self) -> str:
        """The entry point in `forethought.problem_kinds` that serves such problems."""
        return KIND

    @property
    def name(self) -> str:
        """The name of the problem."""
        return self.classical.name

    def __str__(self) -> str:
        tasks = ", ".join(str(each.task) for each in self.network.subtasks)
        return f"{self.classical}; tasks: {tasks or 'none'}"

    @property
    def is_sealed(self) -> bool:
        """Whether all names in the problem were looked up, and nothing was replaced since."""
        now = self.domain, self.classical, self.network, self.parameters
        return (
            len(self.seal) == len(now)
            and all(map(operator.is_, now, self.seal))
            and isinstance(self.classical, Problem)
            and not self.classical.unsealed
        )

    @property
    def is_ordered(self) -> bool:
        """Whether the tasks of every network are totally ordered."""
        networks = [self.network, *(method.network for method in self.domain.methods.values())]
        return all(network.is_sequence for network in networks)


def has_numbers(problem: HtnProblem) -> bool:
    """Return whether plans of `problem` depend on numbers other than the costs of their steps."""
    methods = problem.domain.methods.values()
    return is_numeric(problem.classical) or any(True for each in methods for _ in comparisons_in(each.precondition))


def seal_problem(problem: HtnProblem) -> HtnProblem:
    """Return `problem`, all of whose names were looked up, sealed: nobody looks them up again."""
    if problem.is_sealed:
        return problem
    classical = problem.classical
    if classical.unsealed:
        classical = seal_classical(classical)
    return replace(problem, classical=classical, seal=(problem.domain, classical, problem.network, problem.parameters))


@dataclass(frozen=True, slots=True)
class Node:
    """One task of a decomposition.

    A primitive task is `step`, its place in the plan from 0; a compound task was decomposed by `method` into its
    `children` (places in `Decomposition.nodes`), in the order of the method's subtasks. `binding` are the objects for
    the method's parameters, in their order.
    """

    task: Atom
    step: int | None = None
    method: str = ""
    binding: tuple[str, ...] = ()
    children: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Decomposition:
    """The decomposition of the initial network: a forest as a flat tuple, as it may be thousands of levels deep.

    `roots` are the tasks of the network in their order, as places in `nodes`; `binding` are the objects for the
    problem's parameters.
    """

    nodes: tuple[Node, ...]
    roots: tuple[int, ...]
    binding: tuple[str, ...] = ()

    def keep(self, kept: Sequence[int]) -> Decomposition:
        """Return the forest of the nodes at the places `kept`, in this order, without the others."""
        number = {place: new for new, place in enumerate(kept)}

        def renumber(places: tuple[int, ...]) -> tuple[int, ...]:
            return tuple([number[place] for place in places if place in number])

        nodes = [replace(self.nodes[place], children=renumber(self.nodes[place].children)) for place in kept]
        return Decomposition(tuple(nodes), renumber(self.roots), self.binding)

    def move_steps(self, places: Mapping[int, int]) -> Decomposition:
        """Return the forest of a plan that has its steps at the `places` to which these map the places so far."""
        nodes = [node if node.step is None else replace(node, step=places[node.step]) for node in self.nodes]
        return replace(self, nodes=tuple(nodes))

    def to_dict(self) -> dict[str, Any]:
        """Return the forest as JSON-ready data; numbers of nodes are places in `nodes`."""
        return {"roots": list(self.roots), "binding": list(self.binding), "nodes": [_node(each) for each in self.nodes]}


Folded = TypeVar("Folded")


def fold_up(nodes: Sequence[Node], values: Sequence[Folded], join: Callable[[Folded, Folded], Folded]) -> list[Folded]:
    """Return for each of `nodes` its value, joined with those of all nodes below it.

    A node that is below itself keeps its own value.
    """
    found = list(values)
    above = {child: place for place, node in enumerate(nodes) for child in node.children}
    waits_for = [len(node.children) for node in nodes]
    ready = [place for place, number in enumerate(waits_for) if not number]
    while ready:
        place = ready.pop()
        parent = above.get(place)
        if parent is not None:
            found[parent] = join(found[parent], found[place])
            waits_for[parent] -= 1
            if not waits_for[parent]:
                ready.append(parent)
    return found


def _node(node: Node) -> dict[str, Any]:
    task = {"task": node.task.predicate, "arguments": list(node.task.args)}
    if node.step is not None:
        return {**task, "step": node.step}
    return {**task, "method": node.method, "binding": list(node.binding), "children": list(node.children)}
