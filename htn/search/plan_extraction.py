"""From the moves of a search to a plan with its decomposition."""

from __future__ import annotations

from collections.abc import Sequence

from htn.compilations.method_splitting import PART, ROOT
from htn.grounding.ground import GroundHtn
from htn.model import HtnProblem, linear
from htn.plan import Decomposition, Node
from planner.model import Atom, Variable
from planner.plan import Plan


class Tree:
    """A decomposition that grows from the root: `begin` tasks, in any order that their order allows."""

    def __init__(self, ground: GroundHtn) -> None:
        self._ground = ground
        self.tasks: list[int] = []
        self.method: list[int | None] = []
        self.children: list[list[int]] = []
        self.step: list[int | None] = []
        self.steps: list[int] = []

    def add(self, task: int) -> int:
        """Add a task that is to be done; return its number."""
        self.tasks.append(task)
        self.method.append(None)
        self.children.append([])
        self.step.append(None)
        return len(self.tasks) - 1

    def do(self, node: int) -> None:
        """Let the action `node` be the next step."""
        self.step[node] = len(self.steps)
        self.steps.append(self.tasks[node])

    def decompose(self, node: int, method: int) -> list[int]:
        """Let `node` be done by `method`; return its new subtasks, as the method writes them."""
        self.method[node] = method
        self.children[node] = [self.add(task) for task in self._ground.methods[method].subtasks]
        return self.children[node]


def tree_of(ground: GroundHtn, moves: Sequence[int]) -> Tree:
    """Return the decomposition that `moves` describe.

    What is left to do is listed, in the end in the order of the plan: a method's subtasks take the place of their task,
    in an order that agrees with theirs. A move is `place * (methods + 1)` for doing the action at a place of the list,
    and `method + 1` more for decomposing what is there.
    """
    tree, kinds = Tree(ground), len(ground.methods) + 1
    backwards: dict[str | None, list[int]] = {}
    assert ground.root is not None
    left = [tree.add(ground.root)]  # from right to left, as most moves are at place 0
    for move in moves:
        place, method = divmod(move, kinds)
        end = len(left) - place
        node = left[end - 1]
        if not method:
            tree.do(node)
            del left[end - 1]
            continue
        children = tree.decompose(node, method - 1)
        source = ground.methods[method - 1]
        name = source.method.name if source.method else None
        if name not in backwards:
            backwards[name] = linear(len(children), source.ordering)[::-1]
        left[end - 1 : end] = [children[each] for each in backwards[name]]
    return tree


def plan_of(tree: Tree, problem: HtnProblem, ground: GroundHtn) -> Plan:
    """Return the plan: what was put above the initial network, and what stands for several actions, is left out."""
    steps = tuple([ground.task.actions[action].step for action in tree.steps])
    return Plan(steps, problem, tree=_decomposition(tree, problem, ground))


def _decomposition(tree: Tree, problem: HtnProblem, ground: GroundHtn) -> Decomposition:
    actions = len(ground.task.actions)
    hidden = {node for node, method in enumerate(tree.method) if method is not None and _is_hidden(ground, method)}
    kept = [node for node in range(len(tree.tasks)) if node not in hidden]
    number = {node: place for place, node in enumerate(kept)}

    def shown(children: Sequence[int]) -> list[int]:
        while not hidden.isdisjoint(children):
            children = [each for child in children for each in (tree.children[child] if child in hidden else (child,))]
        return [*children]

    def binding(node: int, wanted: Sequence[Variable]) -> tuple[str, ...]:
        found, queue = dict[str, str](), [node]
        while queue:
            each = queue.pop()
            source = ground.methods[tree.method[each] or 0]
            if source.method is not None:
                found |= zip([one.name for one in source.method.parameters], source.binding, strict=True)
            queue += hidden.intersection(tree.children[each])
        return tuple([found[one.name] for one in wanted])

    nodes = []
    for node in kept:
        task, method = tree.tasks[node], tree.method[node]
        if method is None:
            done = ground.task.actions[task].step
            nodes.append(Node(Atom(done.action, done.arguments), tree.step[node]))
            continue
        source = ground.methods[method].method
        assert source is not None
        parameters = problem.domain.methods[source.name].parameters
        children = tuple([number[child] for child in shown(tree.children[node])])
        nodes.append(Node(ground.compounds[task - actions], None, source.name, binding(node, parameters), children))
    return Decomposition(tuple(nodes), tuple([number[each] for each in shown([0])]), binding(0, problem.parameters))


def _is_hidden(ground: GroundHtn, method: int) -> bool:
    source = ground.methods[method].method
    return source is None or source.name == ROOT or source.name.startswith(PART)
