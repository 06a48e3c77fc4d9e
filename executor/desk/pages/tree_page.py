"""The decomposition of a hierarchical plan: tasks, their methods, and which other methods there were.

Another method *works* if its precondition held in the state before the first step of the task, for some objects in the
place of its other parameters. Whether its subtasks would have led to a plan is not looked at.
"""

from __future__ import annotations

from typing import Final

from executor.desk.pages import document as doc
from htn.model import Decomposition, HtnProblem, Method, Node, unify
from htn.verification.chart_parsing import find_decomposition
from planner.compilations.object_creation import for_steps
from planner.errors import ForethoughtError
from planner.limits import Limits
from planner.model.formulas import TRUE, Exists, Formula, substitute, unmarked
from planner.model.problem import is_temporal
from planner.plan import Plan
from planner.semantics.simulation import Simulation

MOST_JUDGED: Final = 2_000
"""Most other methods whose preconditions are judged: some 0.2 ms each."""


def decomposition(plan: Plan, limits: Limits) -> doc.Tree | None:
    """Return the decomposition of `plan`, which is searched for where the plan has none; None if there is none."""
    problem: HtnProblem = plan.problem
    tree: Decomposition | None = plan.tree or find_decomposition(problem, plan.steps, limits)
    if tree is None:
        return None
    judged = _judge_alternatives(plan, tree)
    nodes = []
    for place, node in enumerate(tree.nodes):
        if node.step is not None:
            nodes.append(doc.TreeNode(str(node.task), node.step + 1))
            continue
        binding = _bind(problem, node)
        nodes.append(
            doc.TreeNode(
                str(node.task),
                0,
                node.method,
                node.children,
                tuple(binding),
                judged.get(place) or tuple([doc.Alternative(each.name) for each in _other_methods(problem, node)]),
            )
        )
    return doc.Tree(tree.roots, tuple(nodes))


def _bind(problem: HtnProblem, node: Node) -> list[tuple[str, str]]:
    """Return the parameters of the node's method that are not the task's own, each with its object."""
    method = problem.domain.methods.get(node.method)
    if method is None or len(method.parameters) != len(node.binding):
        return []
    own = {*method.task.args}
    pairs = zip(method.parameters, node.binding, strict=True)
    return [(each.name.removeprefix("?"), value) for each, value in pairs if each.name not in own]


def _other_methods(problem: HtnProblem, node: Node) -> list[Method]:
    return [each for each in problem.domain.methods_for(node.task.predicate) if each.name != node.method]


def first_steps(tree: Decomposition) -> list[int | None]:
    """Return for each node the place of the first step below it, None where there is none."""
    first: list[int | None] = [node.step for node in tree.nodes]
    above = {child: place for place, node in enumerate(tree.nodes) for child in node.children}
    for place, node in enumerate(tree.nodes):
        if node.step is None:
            continue
        up = above.get(place)
        while up is not None and ((known := first[up]) is None or known > node.step):
            first[up] = node.step
            up = above.get(up)
    return first


def _judge_alternatives(plan: Plan, tree: Decomposition) -> dict[int, tuple[doc.Alternative, ...]]:
    """Judge the other methods of each task in the state before its first step, while the steps are replayed once."""
    problem: HtnProblem = plan.problem
    classical = for_steps(problem.classical, plan.steps)
    if is_temporal(classical) or classical.unknown:
        return {}
    first = first_steps(tree)
    asked = sorted(
        [(step, place) for place, step in enumerate(first) if step is not None and tree.nodes[place].step is None]
    )
    judged: dict[int, tuple[doc.Alternative, ...]] = {}
    simulation, done, count = Simulation(classical), 0, 0
    for step, place in asked:
        others = _other_methods(problem, tree.nodes[place])
        count += len(others)
        if count > MOST_JUDGED:
            break
        for each in plan.steps[done:step]:
            simulation.apply(each)
        done = max(done, step)
        judged[place] = tuple([_judge(each, tree.nodes[place], simulation) for each in others])
    return judged


def _judge(method: Method, node: Node, simulation: Simulation) -> doc.Alternative:
    binding = unify(method.task, node.task, {})
    if binding is None:
        return doc.Alternative(method.name, works=False, lacks="it is for other arguments")
    condition: Formula = substitute(method.precondition, binding)
    open_parameters = tuple([each for each in method.parameters if each.name not in binding])
    wanted = Exists(open_parameters, condition) if open_parameters and condition != TRUE else condition
    try:
        if simulation.holds(wanted):
            return doc.Alternative(method.name, works=True)
        failing = simulation.inspector.smallest_failure(wanted, {})
    except ForethoughtError:
        return doc.Alternative(method.name)
    return doc.Alternative(method.name, works=False, lacks=unmarked(failing))
