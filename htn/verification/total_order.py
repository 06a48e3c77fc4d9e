"""Verification of totally ordered decompositions in one pass over the tree: it accepts a plan or leaves it to others.

Where every network is a sequence, the tree gives the order of the steps, and each method begins in the one state
between the step before it and the next one. A plan that is not accepted goes to the checker for all plans, which also
says what is wrong; tests compare the two.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from htn.model import Decomposition, HtnProblem, Method, Node, Task, linearise
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
"""Most instances of a method that are cached."""

Values = tuple[str | None, ...]
"""The values of a method's parameters; None is open."""


@dataclass(frozen=True, slots=True, eq=False)
class Instance:
    """A method with its binding: the arguments of its task and subtasks, and the conditions in which it can begin.

    `tests` and `rest` are the conditions without open parameters, `pending` those with some; `domains` are those of the
    open parameters, and `objects` the values of all parameters where none is open.
    """

    task: Row
    subtasks: list[tuple[str, Row]]
    tests: tuple[Test, ...]
    rest: tuple[Condition, ...]
    pending: tuple[Condition, ...]
    binding: Binding
    domains: Domains
    objects: Row | None


class MethodScheme:
    """A method prepared for fast instantiation; `task` is None for the initial network."""

    def __init__(self, method: Method, task: Task | None, simulation: Simulation) -> None:
        rules = simulation.rules
        self._names = [parameter.name for parameter in method.parameters]
        places = {name: place for place, name in enumerate(self._names)}
        atoms = [method.task, *(subtask.task for subtask in method.network.subtasks)]
        self.task = method.task.predicate
        self.is_sequence = method.network.is_sequence
        self.backwards = linearise(len(method.network.subtasks), method.network.ordering)[::-1]
        """The places of the subtasks in reverse order."""
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
        """Return the values of the parameters: `binding`, or if that is empty, those that the tasks give.

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
        """Return the instance with these `values` for the parameters; None where they have wrong types."""
        if values not in self._instances:
            if len(self._instances) >= MOST_KEPT:
                self._instances.clear()
            self._instances[values] = self._instantiate(values)
        return self._instances[values]

    def solution(self, instance: Instance, simulation: Simulation) -> Row | None:
        """Return values for all parameters with which the method can begin in this state; None where there are none."""
        solver = simulation.world.solver
        if instance.rest and not all(solver.holds(part, instance.binding) for part in instance.rest):
            return None
        if instance.objects is not None:
            return instance.objects
        found = next(solver.solutions(instance.pending, instance.domains, instance.binding), None)
        return None if found is None else tuple([found[name] for name in self._names])

    def _instantiate(self, values: Values) -> Instance | None:
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
    """Return the first occurrence of the parameter `name`: the number of the atom, and of its argument."""
    return next(((number, atom.args.index(name)) for number, atom in enumerate(atoms) if name in atom.args), None)


def is_totally_ordered(problem: HtnProblem, tree: Decomposition) -> bool:
    """Return whether the network of `problem` and those of all methods in `tree` are totally ordered."""
    used = {node.method for node in tree.nodes if node.step is None}
    methods = [problem.domain.methods.get(name) for name in used]
    return problem.network.is_sequence and all(each is not None and each.network.is_sequence for each in methods)


class SinglePass:
    """The pass over one plan; `found` has the binding of each compound node."""

    def __init__(self, problem: HtnProblem, plan: Plan) -> None:
        self.found: dict[int, tuple[str, ...]] = {}
        self._problem = problem
        self._plan = plan
        self._tree: Decomposition = plan.tree
        self._replay = Replay(problem.classical)
        self._schemes: dict[str, MethodScheme | None] = {}

    def verdict(self) -> Verdict | None:
        """Return the verdict on the plan if it is valid; None where this pass does not show that."""
        nodes, steps = self._tree.nodes, self._plan.steps
        todo = self._begin_initial()
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
                if node.step != number or number == len(steps) or not self._apply(node):
                    return None
                number += 1
                continue
            below = self._begin(place, node, self._scheme(node.method))
            if below is None:
                return None
            todo += below
        if number < len(steps) or any(unseen):
            return None
        verdict = self._replay.judge_end(self._plan.cost)
        return verdict if verdict.valid else None

    def _begin_initial(self) -> list[int] | None:
        """Return the initial tasks in reverse order, if the initial network fits."""
        problem, tree = self._problem, self._tree
        method = Method(INITIAL, Atom(INITIAL), problem.parameters, network=problem.network)
        top = Node(method.task, None, INITIAL, tree.binding, tree.roots)
        return self._begin(len(tree.nodes), top, MethodScheme(method, None, self._replay.simulation))

    def _apply(self, node: Node) -> bool:
        """Apply the step of `node`, if it is the task and applicable; return whether it is."""
        assert node.step is not None
        step, task = self._plan.steps[node.step], node.task
        if step.action != task.predicate or step.arguments != task.args:
            return False
        if node.method or node.children or node.binding or self._replay.find_objection(step) is not None:
            return False
        self._replay.apply(step)
        return True

    def _begin(self, place: int, node: Node, scheme: MethodScheme | None) -> list[int] | None:
        """Return the children of `node` in reverse order, if its method fits and can begin in this state."""
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

    def _instance(self, node: Node, scheme: MethodScheme) -> Instance | None:
        """Return the instance of `scheme` for `node`, if its task and its children agree with it."""
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

    def _scheme(self, name: str) -> MethodScheme | None:
        """Return the scheme of the method of this name, if its subtasks are totally ordered."""
        if name not in self._schemes:
            domain = self._problem.domain
            method = domain.methods.get(name)
            task = None if method is None else domain.tasks.get(method.task.predicate)
            self._schemes[name] = None
            if method is not None and task is not None and method.network.is_sequence:
                self._schemes[name] = MethodScheme(method, task, self._replay.simulation)
        return self._schemes[name]
