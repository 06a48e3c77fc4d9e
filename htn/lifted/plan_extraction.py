"""From the ways of a depth-first search to a plan with its decomposition."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from htn.compilations.method_splitting import PART, ROOT
from htn.grounding.ground import GroundHtn, GroundMethod
from htn.lifted.compiled_problem import Machine, Way
from htn.lifted.fact_tables import Row
from htn.model import HtnProblem, Method, linear
from htn.plan import Decomposition, Node
from planner.grounding.action_tables import cost_picker
from planner.grounding.joins import projector
from planner.lightweight import dataclass
from planner.model import Atom, Variable
from planner.plan import Plan, Step


@dataclass(frozen=True, slots=True)
class _Shape:
    """What a method makes of its binding.

    `subtasks` have a name and a choice of objects each, `backwards` are their places, the last to be done first.
    `known` has pairs: the place of a parameter in the method as it is declared, and here. A `part` is no method of its
    own: what it knows is about the method above it.
    """

    name: str
    parameters: int
    subtasks: list[tuple[str, Callable[[Row], Row]]]
    backwards: list[int]
    known: list[tuple[int, int]]
    part: bool

    @classmethod
    def of(cls, method: Method, declared: Sequence[Variable]) -> _Shape:
        """Return the shape of `method`, made of one with the parameters `declared`."""
        names = [each.name for each in method.parameters]
        tasks = [each.task for each in method.network.subtasks]
        return cls(
            method.name,
            len(declared),
            [(task.predicate, projector(task.args, names)) for task in tasks],
            linear(len(tasks), method.network.ordering)[::-1],
            [(place, names.index(each.name)) for place, each in enumerate(declared) if each.name in names],
            method.name.startswith(PART),
        )


def plan_by(ways: Sequence[Way], machine: Machine, problem: HtnProblem) -> Plan:
    """Return the plan in which tasks, in the order in which they begin, are done by `ways`."""
    forest = _Forest(problem, machine)
    forest.grow(ways)
    return forest.plan()


def moves_by(ways: Sequence[Way], machine: Machine, ground: GroundHtn) -> list[int] | None:
    """Return the moves of the same plan where all is ground (see `htn.search.plan_extraction`).

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
            backwards[name] = linear(len(method.subtasks), method.ordering)[::-1]
        left += [method.subtasks[place] for place in backwards[name]]
        moves.append(number + 1)
    return moves


def _key(method: GroundMethod) -> tuple[str, Row] | None:
    return (method.method.name, method.binding) if method.method else None


class _Forest:
    """A decomposition that grows; the root is node 0."""

    def __init__(self, problem: HtnProblem, machine: Machine) -> None:
        self._problem = problem
        declared = {name: method.parameters for name, method in problem.domain.methods.items()}
        declared[ROOT] = problem.parameters
        declared |= {name: declared[whole] for name, whole in _wholes(machine.methods)}
        self._shapes = [_Shape.of(method, declared[method.name]) for method in machine.methods]
        actions = problem.domain.classical.actions
        self._costs = {name: cost_picker(action, problem.classical) for name, action in actions.items()}
        self._atoms: dict[tuple[str, Row], Atom] = {}
        self._tasks: list[Atom] = [Atom(ROOT)]
        self._methods: list[_Shape | None] = [None]
        self._bindings: list[list[str]] = [[]]
        self._children: list[range] = [range(0)]
        self._step: list[int] = [-1]
        self._done: list[Atom] = []

    def grow(self, ways: Sequence[Way]) -> None:
        """Do each task, when it begins, by the next of `ways`, which has one for each compound task."""
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
                self._bind(above, shape, binding)
                name, choose = shape.subtasks[0]
                self._tasks[node] = self._atom(name, choose(binding))
                left.append((node, above))
                continue
            self._methods[node], self._bindings[node] = shape, [""] * shape.parameters
            self._bind(node, shape, binding)
            first = self._add([self._atom(name, choose(binding)) for name, choose in shape.subtasks])
            self._children[node] = range(first, first + len(shape.subtasks))
            left += [(first + place, node) for place in shape.backwards]

    def _bind(self, node: int, shape: _Shape, binding: Row) -> None:
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


def _wholes(methods: Sequence[Method]) -> list[tuple[str, str]]:
    """Return the parts among `methods`, each with the name of the method that it belongs to."""
    parts = [method.name for method in methods if method.name.startswith(PART)]
    return [(name, name.removeprefix(PART).rpartition(" ")[0]) for name in parts]
