"""Plans whose tasks are all in a total order, in one pass over the tree: it accepts, or leaves the plan to others.

Where every network is a sequence, the order of the tree is that of the steps, and each method begins in the one state
between the step before it and the next one. What is not accepted here is looked at by the checker for all plans, which
also says what is wrong; the tests hold the two against each other.

Methods made ready for the checker: patterns that a binding fills, and what is to be looked up in a state.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from htn.model import HtnProblem, Method, Task, linear
from htn.plan import Decomposition, Node
from htn.verification.decomposition_tree import INITIAL
from planner.lightweight import Final, dataclass
from planner.model import And, Atom
from planner.plan import Plan
from planner.semantics.condition_solver import Binding, Condition, Domains, Row
from planner.semantics.simulation import Simulation
from planner.semantics.step_effects import Test, make_filler, split_condition, tests_pass
from planner.validation.validate import Replay
from planner.validation.verdict import Verdict

MOST_KEPT: Final = 50_000
"""So many bindings of a method are kept ready."""

Values = tuple[str | None, ...]
"""What the parameters of a method stand for; None is open."""


@dataclass(frozen=True, slots=True, eq=False)
class Instance:
    """A method with its binding: what its task and its subtasks are, and what must hold when it begins.

    `tests` and `rest` are what has no open parameters, `pending` what has; `domains` are those of open parameters, and
    `objects` what all stand for where none is open.
    """

    task: Row
    subtasks: list[tuple[str, Row]]
    tests: tuple[Test, ...]
    rest: tuple[Condition, ...]
    pending: tuple[Condition, ...]
    binding: Binding
    domains: Domains
    objects: Row | None


class Scheme:
    """A method made ready; `task` is what it is for, None where it stands for the initial network."""

    def __init__(self, method: Method, task: Task | None, simulation: Simulation) -> None:
        rules = simulation.rules
        self._names = [parameter.name for parameter in method.parameters]
        places = {name: place for place, name in enumerate(self._names)}
        atoms = [method.task, *(subtask.task for subtask in method.network.subtasks)]
        self.task = method.task.predicate
        self.is_sequence = method.network.is_sequence
        self.backwards = linear(len(method.network.subtasks), method.network.ordering)[::-1]
        """The places of the subtasks, the last to be done first."""
        self._fill_task = make_filler(method.task.args, places)
        self._subtasks = [(atom.predicate, make_filler(atom.args, places)) for atom in atoms[1:]]
        self._types = [rules.universe.of_types(parameter.types) for parameter in method.parameters]
        self._task_types = [rules.universe.of_types(each.types) for each in task.parameters] if task else []
        condition = rules.compiler.compile(And((method.precondition, method.network.constraints)))
        lookups, self._rest = split_condition(condition, rules.axioms.__contains__)
        self._lookups = [(each, make_filler(each.args, places)) for each in lookups]
        self._sources = [_source(name, atoms) for name in self._names]
        self._instances: dict[Values, Instance | None] = {}

    def values(self, binding: Row, task: Atom, subtasks: Sequence[Atom]) -> Values | None:
        """Return what the parameters stand for: `binding`, or if that is empty, what shows in the tasks.

        None where there are too many or too few.
        """
        if len(binding) == len(self._names):
            return binding
        if binding:
            return None
        rows = [task.args, *(each.args for each in subtasks)]
        try:
            return tuple([None if found is None else rows[found[0]][found[1]] for found in self._sources])
        except IndexError:
            return None

    def instance(self, values: Values) -> Instance | None:
        """Return the method with these `values` for its parameters; None where they are not of its types."""
        if values not in self._instances:
            if len(self._instances) >= MOST_KEPT:
                self._instances.clear()
            self._instances[values] = self._made(values)
        return self._instances[values]

    def solution(self, instance: Instance, simulation: Simulation) -> Row | None:
        """Return objects for all parameters with which the method can begin now; None where there are none."""
        solver = simulation.world.solver
        if instance.rest and not all(solver.holds(part, instance.binding) for part in instance.rest):
            return None
        if instance.objects is not None:
            return instance.objects
        found = next(solver.solutions(instance.pending, instance.domains, instance.binding), None)
        return None if found is None else tuple([found[name] for name in self._names])

    def _made(self, values: Values) -> Instance | None:
        if not all(value is None or value in types for value, types in zip(values, self._types, strict=True)):
            return None
        pairs = list(zip(self._names, values, strict=True))
        binding = {name: value for name, value in pairs if value is not None}
        row: Row = tuple(map(str, values))  # what is open occurs in no task
        task = self._fill_task(row)
        if len(task) != len(self._task_types) or not all(map(dict.__contains__, self._task_types, task)):
            return None
        open_types = {name: types for (name, value), types in zip(pairs, self._types, strict=True) if value is None}
        known = [(each, fill) for each, fill in self._lookups if each.free <= binding.keys()]
        rest = [part for part in self._rest if part.free <= binding.keys()]
        lookups = (each for each, _ in self._lookups)
        return Instance(
            task,
            [(predicate, fill(row)) for predicate, fill in self._subtasks],
            tuple([(each.predicate, fill(row), each.positive) for each, fill in known]),
            tuple(rest),
            tuple([part for part in chain(lookups, self._rest) if not part.free <= binding.keys()]),
            binding,
            open_types,
            None if open_types else row,
        )


def _source(name: str, atoms: list[Atom]) -> tuple[int, int] | None:
    """Return where the parameter `name` occurs first: in which of `atoms`, and at which of its arguments."""
    return next(
        ((number, atom.args.index(name)) for number, atom in enumerate(atoms) if name in atom.args),
        None,
    )


def is_line(problem: HtnProblem, tree: Decomposition) -> bool:
    """Return whether the network of `problem` and those of all methods in `tree` are totally ordered."""
    used = {node.method for node in tree.nodes if node.step is None}
    methods = [problem.domain.methods.get(name) for name in used]
    return problem.network.is_sequence and all(each is not None and each.network.is_sequence for each in methods)


class Line:
    """The pass over one plan; `found` has the objects for all parameters of methods, by node."""

    def __init__(self, problem: HtnProblem, plan: Plan) -> None:
        self.found: dict[int, tuple[str, ...]] = {}
        self._problem = problem
        self._plan = plan
        self._tree: Decomposition = plan.tree
        self._replay = Replay(problem.classical)
        self._schemes: dict[str, Scheme | None] = {}

    def verdict(self) -> Verdict | None:
        """Return the verdict on the plan if it is valid; None where that does not show here."""
        nodes, steps = self._tree.nodes, self._plan.steps
        todo = self._roots()
        if todo is None:
            return None
        unseen = bytearray(b"1" * len(nodes))
        number = 0
        while todo:
            place = todo.pop()
            node = nodes[place]
            if not unseen[place]:
                return None
            unseen[place] = 0
            if node.step is not None:
                if node.step != number or number == len(steps) or not self._is_done(node):
                    return None
                number += 1
                continue
            below = self._begun(place, node, self._scheme(node.method))
            if below is None:
                return None
            todo += below
        if number < len(steps) or any(unseen):
            return None
        verdict = self._replay.end(self._plan.cost)
        return verdict if verdict.valid else None

    def _roots(self) -> list[int] | None:
        """Return the initial tasks, the last to be done first."""
        problem, tree = self._problem, self._tree
        method = Method(INITIAL, Atom(INITIAL), problem.parameters, network=problem.network)
        top = Node(method.task, None, INITIAL, tree.binding, tree.roots)
        return self._begun(len(tree.nodes), top, Scheme(method, None, self._replay.simulation))

    def _is_done(self, node: Node) -> bool:
        """Return whether the step of `node` is the task, and can be done now; then it is."""
        assert node.step is not None
        step, task = self._plan.steps[node.step], node.task
        if step.action != task.predicate or step.arguments != task.args:
            return False
        if node.method or node.children or node.binding or self._replay.objection(step) is not None:
            return False
        self._replay.apply(step)
        return True

    def _begun(self, place: int, node: Node, scheme: Scheme | None) -> list[int] | None:
        """Return the children of `node`, the last to be done first, if its method fits and can begin now."""
        instance = None if scheme is None else self._instance(node, scheme)
        if scheme is None or instance is None:
            return None
        simulation = self._replay.simulation
        binding = None
        if tests_pass(instance.tests, simulation.world.state):
            binding = scheme.solution(instance, simulation)
        if binding is None:
            return None
        self.found[place] = binding
        return [node.children[each] for each in scheme.backwards]

    def _instance(self, node: Node, scheme: Scheme) -> Instance | None:
        """Return `scheme` with the binding of `node`, if its task and its children are as that says."""
        children, nodes = node.children, self._tree.nodes
        if len(children) != len(scheme.backwards):
            return None
        if children and not 0 <= min(children) <= max(children) < len(nodes):
            return None
        tasks = [nodes[child].task for child in children]
        values = scheme.values(node.binding, node.task, tasks)
        instance = None if values is None else scheme.instance(values)
        if instance is None or node.task.predicate != scheme.task or node.task.args != instance.task:
            return None
        for task, (predicate, row) in zip(tasks, instance.subtasks, strict=True):
            if task.predicate != predicate or task.args != row:
                return None
        return instance

    def _scheme(self, name: str) -> Scheme | None:
        """Return the method of this name, if there is one whose subtasks are in a total order."""
        if name not in self._schemes:
            domain = self._problem.domain
            method = domain.methods.get(name)
            task = None if method is None else domain.tasks.get(method.task.predicate)
            self._schemes[name] = None
            if method is not None and task is not None and method.network.is_sequence:
                self._schemes[name] = Scheme(method, task, self._replay.simulation)
        return self._schemes[name]
