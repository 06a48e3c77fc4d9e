"""The ground form of a hierarchical problem, for planners of unified-planning that take little more than STRIPS tasks.

Every ground action, task and method becomes one without parameters. An action with different effects in different
states becomes a task with a method for each of these; a method becomes several where its condition may hold in several
ways.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from htn.grounding.ground_htn import GroundHtn, ground, refuse_numbers
from htn.model import HtnDomain, HtnProblem, Method, Network, Subtask, Task, sequence
from htn.search.htn_incumbent import DecompositionTree, plan_of
from htn.unified_planning.htn_outgoing import HtnOutgoing, to_unified_planning
from planner.errors import UnsupportedError
from planner.limits import Limits
from planner.model import Atom
from planner.model.formulas import conjunction
from planner.plan import Plan
from planner.unified_planning.engine_forms import GoalUnreachableError
from planner.unified_planning.propositional_form import ACTION_LIMIT, Case, Cases, condition_of, to_propositional

if TYPE_CHECKING:
    from unified_planning.environment import Environment
    from unified_planning.model.htn import HierarchicalProblem
    from unified_planning.plans import Plan as ForeignPlan


FINISH: Final = Atom("finish")
"""The task that comes last where derived facts say whether the goal is reached."""


@dataclass(frozen=True, slots=True)
class GroundOutgoing:
    """`flat` is `ground`, the ground form of `source`; `actions` and `methods` have the numbers there, by name."""

    flat: HtnOutgoing
    source: HtnProblem
    ground: GroundHtn
    actions: Mapping[str, int]
    methods: Mapping[str, int]

    @property
    def problem(self) -> HierarchicalProblem:
        """The problem of unified-planning."""
        return self.flat.problem

    def plan(self, plan: ForeignPlan) -> Plan:
        """Return a plan for `problem` as one for `source`; a mere sequence has no decomposition.

        Raises `PlanError` where its parts do not belong together.
        """
        flat = self.flat.plan(plan)
        if flat.tree is None or self.ground.root is None:
            actions = self.ground.task.actions
            numbers = [self.actions[step.action] for step in flat.steps if step.action in self.actions]
            return Plan(tuple([actions[number].step for number in numbers]), self.source)
        tree, leaves = DecompositionTree(self.ground), dict[int, int]()
        stack = [(flat.tree.roots[0], tree.add(self.ground.root))]
        while stack:
            place, node = stack.pop()
            done = flat.tree.nodes[place]
            if done.step is not None:
                leaves[done.step] = node
            elif done.method in self.methods:
                stack.extend(zip(done.children, tree.decompose(node, self.methods[done.method]), strict=True))
            else:
                stack.append((done.children[0], node))
        for step in sorted(leaves):
            tree.add_step(leaves[step])
        return plan_of(tree, self.source, self.ground)


def to_ground_unified_planning(
    problem: HtnProblem, environment: Environment | None = None, limits: Limits | None = None
) -> GroundOutgoing:
    """Return the ground form of `problem` as one of unified-planning, with the way back for plans.

    Raises `UnsupportedError` for numbers, for derived facts that depend on themselves, and where there would be too
    many actions or methods; `GoalUnreachableError` where grounding proves that there is no plan, and `LimitReached`.
    """
    refuse_numbers(problem, "in the ground form for unified-planning")
    limits = limits or Limits()
    found = ground(problem, limits)
    if found.unreachable_goal is not None:
        raise GoalUnreachableError(found.unreachable_goal)
    if found.root is None:
        raise GoalUnreachableError(conjunction([each.task for each in problem.network.subtasks]))
    flat = _Flat(found)
    outgoing = to_unified_planning(flat.problem(found.root), environment, limits)
    return GroundOutgoing(outgoing, problem, found, flat.plain.numbers, flat.methods)


class _Flat:
    """The ground tasks and methods over the actions of `plain`; `methods` has their numbers by name.

    Where a condition holds in several cases, there is a method for each.
    """

    def __init__(self, found: GroundHtn) -> None:
        self._found = found
        self._size = len(found.task.actions)
        ways = Cases(found.task)
        conditions = [(number, method.precondition) for number, method in enumerate(found.methods)]
        cases = [(number, case) for number, facts in conditions for case in ways.all_hold([Case()], facts)]
        if len(cases) > ACTION_LIMIT:
            raise UnsupportedError(f"more than {ACTION_LIMIT:,} ground methods")
        self.plain = to_propositional(found.task, conditional=False, asked=[case for _, case in cases])
        self.methods = {f"method-{place}": number for place, (number, _) in enumerate(cases)}
        self._conditions = [condition_of(case) for _, case in cases]
        self._actions: defaultdict[int, list[str]] = defaultdict(list)
        for name, number in self.plain.numbers.items():
            self._actions[number].append(name)

    def problem(self, root: int) -> HtnProblem:
        """Return the problem to do `root`, and then what says that the goal is reached, where that takes an action."""
        classical = self.plain.problem
        final = [name for name in classical.domain.actions if name not in self.plain.numbers]
        split = [number for number in range(self._size) if len(self._actions[number]) != 1]
        heads = [
            *map(self._name, split),
            *(self._name(self._size + place) for place in range(len(self._found.compounds))),
        ]
        methods = [_choice_method(self._name(number), name) for number in split for name in self._actions[number]]
        methods += [*self._methods(), *(_choice_method(FINISH, name) for name in final)]
        tasks = {each.predicate: Task(each.predicate) for each in (*heads, FINISH)}
        domain = HtnDomain(classical.domain, tasks, {each.name: each for each in methods})
        return HtnProblem(domain, classical, sequence(self._name(root), *([FINISH] if final else [])))

    def _name(self, task: int) -> Atom:
        """Return what a task is called here: an action that is not split is an action."""
        actions = self._actions[task] if task < self._size else []
        return Atom(actions[0] if len(actions) == 1 else f"task-{task}")

    def _methods(self) -> Iterator[Method]:
        task_of = {each: place for place, numbers in enumerate(self._found.methods_of) for each in numbers}
        for (name, number), condition in zip(self.methods.items(), self._conditions, strict=True):
            method = self._found.methods[number]
            subtasks = tuple([Subtask(self._name(each)) for each in method.subtasks])
            network = Network(subtasks, tuple(method.ordering))
            yield Method(name, self._name(self._size + task_of[number]), (), condition, network)


def _choice_method(task: Atom, action: str) -> Method:
    return Method(f"choose-{action}", task, network=sequence(Atom(action)))
