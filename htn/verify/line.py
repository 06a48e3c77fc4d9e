"""Plans whose tasks are all in a total order, in one pass over the tree: it accepts, or leaves the plan to others.

Where every network is a sequence, the order of the tree is that of the steps, and each method begins in the one state
between the step before it and the next one. What is not accepted here is looked at by the checker for all plans, which
also says what is wrong; the tests hold the two against each other.
"""

from __future__ import annotations

from htn.model import HtnProblem, Method
from htn.plan import Decomposition, Node
from htn.verify.frames import INITIAL
from htn.verify.schemes import Instance, Scheme
from planner.model import Atom
from planner.plan import Plan
from planner.validate import Replay, Verdict
from planner.validate.ready import passed


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
        assert node.step is not None  # noqa: S101 - it was asked before
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
        if passed(instance.tests, simulation.world.state):
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
