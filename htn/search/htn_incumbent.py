"""Maps the moves of a search to plans; the incumbent: the best plan and bound so far, with its decomposition."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil

from htn.compilations.method_preprocessing import PART, ROOT
from htn.grounding.ground_htn import GroundHtn
from htn.model import Decomposition, HtnProblem, Node, linearise
from htn.verification.plan_verification import validate
from planner.limits import Limits
from planner.model import COST, Atom, Variable
from planner.model.problem import NumericMetric
from planner.options import SolveOptions
from planner.plan import Plan
from planner.portfolio.incumbent import Incumbent
from planner.resources import spent
from planner.semantics.spending import find_exceeded
from planner.validation.verdict import Verdict


class DecompositionTree:
    """The decomposition of a ground problem under construction: numbered tasks, with the method or step of each."""

    def __init__(self, ground: GroundHtn) -> None:
        self._ground = ground
        self.tasks: list[int] = []
        self.method: list[int | None] = []
        self.children: list[list[int]] = []
        self.step: list[int | None] = []
        self.steps: list[int] = []

    def add(self, task: int) -> int:
        """Add a task; return its number."""
        self.tasks.append(task)
        self.method.append(None)
        self.children.append([])
        self.step.append(None)
        return len(self.tasks) - 1

    def add_step(self, node: int) -> None:
        """Make the primitive task `node` the next step."""
        self.step[node] = len(self.steps)
        self.steps.append(self.tasks[node])

    def decompose(self, node: int, method: int) -> list[int]:
        """Decompose `node` by `method`; return its new subtasks, in the order in which the method lists them."""
        self.method[node] = method
        self.children[node] = [self.add(task) for task in self._ground.methods[method].subtasks]
        return self.children[node]


def tree_of(ground: GroundHtn, moves: Sequence[int]) -> DecompositionTree:
    """Build the decomposition that `moves` describe.

    The open tasks are a list. Move `place * (methods + 1)` applies the action at a place of the list. A move that is
    `method + 1` greater decomposes the task there: a linearisation of its subtasks replaces it.
    """
    tree, kinds = DecompositionTree(ground), len(ground.methods) + 1
    backwards: dict[str | None, list[int]] = {}
    assert ground.root is not None
    left = [tree.add(ground.root)]  # from right to left, since most moves are at place 0
    for move in moves:
        place, method = divmod(move, kinds)
        end = len(left) - place
        node = left[end - 1]
        if not method:
            tree.add_step(node)
            del left[end - 1]
            continue
        children = tree.decompose(node, method - 1)
        source = ground.methods[method - 1]
        name = source.method.name if source.method else None
        if name not in backwards:
            backwards[name] = linearise(len(children), source.ordering)[::-1]
        left[end - 1 : end] = [children[each] for each in backwards[name]]
    return tree


def plan_of(tree: DecompositionTree, problem: HtnProblem, ground: GroundHtn) -> Plan:
    """Return the plan of `tree`, without the tasks that preprocessing and grounding added to those of `problem`."""
    steps = tuple([ground.task.actions[action].step for action in tree.steps])
    if isinstance(problem.classical.metric, NumericMetric):
        from planner.semantics.simulation import price_steps

        steps = price_steps(problem.classical, steps)
    return Plan(steps, problem, tree=_build_decomposition(tree, problem, ground))


def _build_decomposition(tree: DecompositionTree, problem: HtnProblem, ground: GroundHtn) -> Decomposition:
    actions = len(ground.task.actions)
    hidden = {node for node, method in enumerate(tree.method) if method is not None and _is_auxiliary(ground, method)}
    kept = [node for node in range(len(tree.tasks)) if node not in hidden]
    number = {node: place for place, node in enumerate(kept)}

    def visible(children: Sequence[int]) -> list[int]:
        """Replace the hidden tasks among `children` by their visible descendants."""
        while not hidden.isdisjoint(children):
            children = [each for child in children for each in (tree.children[child] if child in hidden else (child,))]
        return [*children]

    def binding(node: int, wanted: Sequence[Variable]) -> tuple[str, ...]:
        """Return the objects for the parameters `wanted`; methods of hidden parts below `node` chose some of them."""
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
        children = tuple([number[child] for child in visible(tree.children[node])])
        nodes.append(Node(ground.compounds[task - actions], None, source.name, binding(node, parameters), children))
    return Decomposition(tuple(nodes), tuple([number[each] for each in visible([0])]), binding(0, problem.parameters))


def _is_auxiliary(ground: GroundHtn, method: int) -> bool:
    source = ground.methods[method].method
    return source is None or source.name == ROOT or source.name.startswith(PART)


Translation = Callable[[GroundHtn], "list[int] | None"]
"""Returns the moves of a plan in the ground form of its problem, or None if there are none."""


class HtnIncumbent(Incumbent):
    """The best plan and the bounds so far of the search for one hierarchical problem."""

    def __init__(self, problem: HtnProblem, options: SolveOptions, limits: Limits | None = None) -> None:
        super().__init__(problem.classical, options, limits)
        self._source = problem
        self._ground: GroundHtn | None = None
        self._offered: Plan | None = None
        self._moves: list[int] = []
        self._translate: Translation | None = None

    def take_hierarchy(self, ground: GroundHtn) -> None:
        """Store the ground form of the problem after grounding."""
        self._ground = ground
        self.take_task(ground.task)
        if self._offered is not None and self.run.plan is self._moves:
            self.run.limit = int(self._offered.cost * ground.task.resolution)

    def offer(self, plan: Plan, translate: Translation) -> None:
        """Offer a plan found without grounding; it counts if it keeps the budgets. `translate` returns its moves.

        Before grounding ends, costs are rounded up to the problem's units.
        """
        if not keeps_budgets(plan):
            return
        resolution = self._ground.task.resolution if self._ground else 1
        cost = ceil(plan.cost * resolution)
        if cost < self.run.limit:
            self._offered, self._moves, self._translate = plan, [], translate
            self.run.report_plan(self._moves, cost)

    def moves(self) -> Sequence[int] | None:
        """Return the moves of the best plan (see `tree_of`), None if there are none for it."""
        if self._offered is not None and self.run.plan is self._moves:
            return self._translate(self._ground) if self._translate and self._ground else None
        return self.run.plan

    def plan_of(self, actions: list[int]) -> Plan:
        """Return the plan, with its decomposition, that the moves `actions` of a search describe."""
        if self._offered is not None and actions is self._moves:
            return self._offered
        assert self._ground is not None
        return plan_of(tree_of(self._ground, actions), self._source, self._ground)

    def check(self, plan: Plan) -> Verdict:
        """Validate `plan` by the independent plan checker."""
        return validate(self._source, plan)


def keeps_budgets(plan: Plan) -> bool:
    """Return whether `plan`, of a hierarchical problem, keeps the budgets."""
    amounts = {name: used for name, (used, _) in spent(plan).items()}
    return not any(True for _ in find_exceeded(plan.problem.classical, {**amounts, COST: plan.cost}))
