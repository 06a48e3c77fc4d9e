"""A problem compiled to Python functions for depth-first search, and plans from the decompositions that it chose.

The functions apply actions and enumerate the applicable methods of a task. HyperTensioN (Magnaguagno, Meneguzzi and de
Silva, 2020) compiles hierarchical problems in the same way to the language that it is written in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from htn.compilations.method_preprocessing import PART, ROOT, Needs, changed_predicates, preprocess
from htn.grounding.ground_htn import GroundHtn, GroundMethod
from htn.lifted.fact_tables import Goals, Row, Tables
from htn.lifted.generated_code import Signatures, Source, Unfit, write_action, write_changes, write_ways
from htn.model import Decomposition, HtnDomain, HtnProblem, Method, Node, linearise
from planner.graphs import strong_components
from planner.grounding.action_tables import make_cost_function
from planner.grounding.joins import projector
from planner.lightweight import dataclass, replace
from planner.model import Atom, Variable
from planner.plan import Plan, Step
from planner.semantics.undefined_values import ValueTests


def recursive_tasks(domain: HtnDomain) -> set[str]:
    """Return the tasks of `domain` that some chain of methods leads back to."""
    leads: dict[str, set[str]] = {name: set() for name in domain.tasks}
    for method in domain.methods.values():
        leads[method.task.predicate] |= {each.task.predicate for each in method.network.subtasks} & leads.keys()
    groups = strong_components(leads)
    return {name for group in groups for name in group if len(group) > 1 or name in leads[name]}


Cell = tuple[int, Any, Any, int, int]
"""A list of tasks: number and arguments of the first, the cell of the others, a hash of all, and the parts of the goal,
as bits, that any of them may make true.
"""
Way = tuple[Cell, int, Row]
"""A way to do a task: the cell of the tasks left then, the number of the method, the objects of its parameters."""

STOP = 0
"""The number of what comes last in every list."""
DONE = 1
"""The number of what comes after a task that may be nested in itself."""
FIRST = 2
"""The number of the first task."""


@dataclass(frozen=True, slots=True)
class Machine:
    """Tasks are numbered: the `actions` first, from `FIRST`, then the compound ones; `methods` are numbered, too.

    `act[number](arguments, note)` changes the state, or returns False; `note` is given a function and an argument that
    undo each change. `ways[number - len(actions)](arguments, rest)` yields the ways to do a compound task, and `rest`
    after it. `recursive` are the tasks that may lead to themselves. `inverse` has for each function that changes the
    state the one that undoes it. `state` has a hash of the state, and the parts of the goal that hold, of which there
    are `goals`: both as bits.
    """

    number: Mapping[str, int]
    methods: tuple[Method, ...]
    act: list[Callable[[Row, Callable[[tuple[Callable[[Any], None], Any]], None]], bool]]
    ways: list[Callable[[Row, Cell], Iterator[Way]]]
    recursive: frozenset[int]
    inverse: Mapping[Callable[[Any], None], Callable[[Any], None]]
    state: list[int]
    goals: int
    is_goal: Callable[[], bool]


def compile_problem(
    problem: HtnProblem, *, backwards: bool = False, check: Callable[[], None] = lambda: None
) -> Machine:
    """Compile `problem` to functions; raises `Unfit` where a construct is not covered.

    Subtasks without an order are done as they are written. Methods are tried in the order in which they are declared,
    or `backwards`. `check` raises when a limit is reached meanwhile.
    """
    plain = preprocess(problem)
    classical, domain = plain.classical, plain.domain
    if classical.domain.axioms:
        raise Unfit("derived predicates")
    changing = {
        predicate for action in classical.domain.actions.values() for predicate, _ in changed_predicates(action)
    }
    numbers = {name: place for place, name in enumerate((*classical.domain.actions, *domain.tasks), FIRST)}
    goals = Goals(domain, classical.all_objects, classical.goal.hard)
    source = Source(Tables(classical, changing), goals)
    _write_functions(source, plain, numbers, check, backwards=backwards)
    source.write(0, "def is_goal():")
    source.write(1, f"return {source.test(classical.goal.hard, {})}")
    names = source.run()
    return Machine(
        numbers,
        tuple(domain.methods.values()),
        [names[f"act{numbers[name]}"] for name in classical.domain.actions],
        [names[f"ways{numbers[name]}"] for name in domain.tasks],
        frozenset(numbers[name] for name in recursive_tasks(domain)),
        {
            names[f"{one}{source.number(predicate)}"]: names[f"{other}{source.number(predicate)}"]
            for one, other in (("put", "cut"), ("cut", "put"))
            for predicate in changing
        },
        names["S"],
        goals.all,
        names["is_goal"],
    )


def _write_functions(
    source: Source, problem: HtnProblem, numbers: Mapping[str, int], check: Callable[[], None], *, backwards: bool
) -> None:
    """Write the functions of all tasks, actions and predicates."""
    domain, tests = problem.domain, ValueTests(problem.classical)
    actions = domain.classical.actions
    linearised = replace(domain, methods={name: _linearise_method(method) for name, method in domain.methods.items()})
    check()
    needs = Needs(linearised, source.tables.objects, alone=True)
    places = {name: place for place, name in enumerate(domain.methods)}
    signatures = Signatures({**actions, **domain.tasks}, numbers, places)
    methods_of: dict[str, list[Method]] = {name: [] for name in domain.tasks}
    for method in linearised.methods.values():
        methods_of[method.task.predicate].append(method)
    for name, task in domain.tasks.items():
        check()
        methods = methods_of[name]
        write_ways(source, task, methods[::-1] if backwards else methods, needs, signatures)
    for name, action in actions.items():
        write_action(source, numbers[name], action, tests.find(action))
    for predicate in sorted(source.tables.changing):
        write_changes(source, domain.classical.predicates[predicate])


def _linearise_method(method: Method) -> Method:
    """Return `method` with its subtasks in a linearisation of their ordering."""
    network = method.network
    line = linearise(len(network.subtasks), network.ordering)
    ordering = tuple([(place, place + 1) for place in range(len(line) - 1)])
    return replace(
        method, network=replace(network, subtasks=tuple([network.subtasks[each] for each in line]), ordering=ordering)
    )


@dataclass(frozen=True, slots=True)
class _MethodShape:
    """What a decomposition needs of a method: how its subtasks and declared parameters follow from its binding.

    Each of `subtasks` has a name and a function from the binding to its arguments; `backwards` are their places, the
    last to be done first. `known` has pairs: the place of a parameter in the declared method, and here. A `part` is no
    method of its own: its binding belongs to the method above it.
    """

    name: str
    parameters: int
    subtasks: list[tuple[str, Callable[[Row], Row]]]
    backwards: list[int]
    known: list[tuple[int, int]]
    part: bool

    @classmethod
    def of(cls, method: Method, declared: Sequence[Variable]) -> _MethodShape:
        """Return the shape of `method`, made of one with the parameters `declared`."""
        names = [each.name for each in method.parameters]
        tasks = [each.task for each in method.network.subtasks]
        return cls(
            method.name,
            len(declared),
            [(task.predicate, projector(task.args, names)) for task in tasks],
            linearise(len(tasks), method.network.ordering)[::-1],
            [(place, names.index(each.name)) for place, each in enumerate(declared) if each.name in names],
            method.name.startswith(PART),
        )


def plan_by(ways: Sequence[Way], machine: Machine, problem: HtnProblem) -> Plan:
    """Return the plan in which tasks, in the order in which they begin, are done by `ways`."""
    builder = _DecompositionBuilder(problem, machine)
    builder.decompose(ways)
    return builder.plan()


def moves_by(ways: Sequence[Way], machine: Machine, ground: GroundHtn) -> list[int] | None:
    """Return the moves of the same plan where all is ground (see `htn.search.htn_incumbent`).

    None if there are several ground actions for a step.
    """
    assert ground.root is not None
    actions, moves, left, following = len(ground.task.actions), list[int](), [ground.root], iter(ways)
    backwards: dict[str, list[int]] = {}
    known: dict[int, dict[tuple[str, Row] | None, int]] = {}
    while left:
        task = left.pop()
        if task < actions:
            moves.append(0)
            continue
        if task not in known:
            known[task] = {_key(ground.methods[number]): number for number in ground.methods_of[task - actions]}
        if None in known[task]:
            return None
        _, which, binding = next(following)
        name = machine.methods[which].name
        number = known[task][name, binding]
        method = ground.methods[number]
        if name not in backwards:
            backwards[name] = linearise(len(method.subtasks), method.ordering)[::-1]
        left += [method.subtasks[place] for place in backwards[name]]
        moves.append(number + 1)
    return moves


def _key(method: GroundMethod) -> tuple[str, Row] | None:
    return (method.method.name, method.binding) if method.method else None


class _DecompositionBuilder:
    """A decomposition that grows from the root, which is node 0."""

    def __init__(self, problem: HtnProblem, machine: Machine) -> None:
        self._problem = problem
        declared = {name: method.parameters for name, method in problem.domain.methods.items()}
        declared[ROOT] = problem.parameters
        declared |= {name: declared[whole] for name, whole in _methods_of_parts(machine.methods)}
        self._shapes = [_MethodShape.of(method, declared[method.name]) for method in machine.methods]
        actions = problem.domain.classical.actions
        self._costs = {name: make_cost_function(action, problem.classical) for name, action in actions.items()}
        self._atoms: dict[tuple[str, Row], Atom] = {}
        self._tasks: list[Atom] = [Atom(ROOT)]
        self._methods: list[_MethodShape | None] = [None]
        self._bindings: list[list[str]] = [[]]
        self._children: list[range] = [range(0)]
        self._step: list[int] = [-1]
        self._done: list[Atom] = []

    def decompose(self, ways: Sequence[Way]) -> None:
        """Decompose each compound task, when it begins, by the next of `ways`."""
        costs, following = self._costs, iter(ways)
        left = [(0, 0)]
        while left:
            node, above = left.pop()
            task = self._tasks[node]
            if task.predicate in costs:
                self._step[node] = len(self._done)
                self._done.append(task)
                continue
            _, method, binding = next(following)
            shape = self._shapes[method]
            if shape.part:
                self._bind_parameters(above, shape, binding)
                name, choose = shape.subtasks[0]
                self._tasks[node] = self._atom(name, choose(binding))
                left.append((node, above))
                continue
            self._methods[node], self._bindings[node] = shape, [""] * shape.parameters
            self._bind_parameters(node, shape, binding)
            first = self._add([self._atom(name, choose(binding)) for name, choose in shape.subtasks])
            self._children[node] = range(first, first + len(shape.subtasks))
            left += [(first + place, node) for place in shape.backwards]

    def _bind_parameters(self, node: int, shape: _MethodShape, binding: Row) -> None:
        mine = self._bindings[node]
        for place, here in shape.known:
            mine[place] = binding[here]

    def _atom(self, name: str, args: Row) -> Atom:
        atom = self._atoms.get((name, args))
        if atom is None:
            atom = self._atoms[name, args] = Atom(name, args)
        return atom

    def _add(self, tasks: list[Atom]) -> int:
        first, more = len(self._tasks), len(tasks)
        self._tasks += tasks
        self._methods += [None] * more
        self._bindings += [[]] * more
        self._children += [range(0)] * more
        self._step += [-1] * more
        return first

    def plan(self) -> Plan:
        """Return the plan, without the root."""
        costs, steps = self._costs, dict[Atom, Step]()
        for atom in self._done:
            if atom not in steps:
                steps[atom] = Step(atom.predicate, atom.args, costs[atom.predicate](atom.args))
        nodes = [
            Node(task, step)
            if shape is None
            else Node(task, None, shape.name, tuple(binding), tuple([child - 1 for child in children]))
            for task, step, shape, binding, children in zip(
                self._tasks, self._step, self._methods, self._bindings, self._children, strict=True
            )
        ]
        roots = tuple([child - 1 for child in self._children[0]])
        tree = Decomposition(tuple(nodes[1:]), roots, tuple(self._bindings[0]))
        return Plan(tuple([steps[atom] for atom in self._done]), self._problem, tree=tree)


def _methods_of_parts(methods: Sequence[Method]) -> list[tuple[str, str]]:
    """Return the methods of parts among `methods`, each with the name of the method that it was split from."""
    parts = [method.name for method in methods if method.name.startswith(PART)]
    return [(name, name.removeprefix(PART).rpartition(" ")[0]) for name in parts]
