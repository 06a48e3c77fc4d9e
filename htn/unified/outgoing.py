"""A hierarchical problem of ours as one of unified-planning, and plans back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from unified_planning.environment import get_environment
from unified_planning.model.htn import HierarchicalProblem
from unified_planning.plans import HierarchicalPlan

from htn.model import HtnProblem, Method
from htn.plan import Decomposition
from htn.unified.carried import carried
from htn.unified.plans import instances_of, tree_from, with_costs
from htn.unified.writing import HtnWriting
from planner.budget import Budget
from planner.engines.outgoing.problem import prepared
from planner.errors import PlanError
from planner.normalise import to_adl
from planner.pddl.costs import with_tables
from planner.plan import Plan, Step
from planner.records import replace

if TYPE_CHECKING:
    from unified_planning.environment import Environment
    from unified_planning.model import FNode
    from unified_planning.model.htn import Method as ForeignMethod
    from unified_planning.plans import ActionInstance
    from unified_planning.plans import Plan as ForeignPlan


@dataclass(frozen=True, slots=True)
class HtnOutgoing:
    """A hierarchical problem made from `source`, with the way back for plans: what parts of it are called in `source`.

    With `is_rooted`, one task stands above the initial network.
    """

    problem: HierarchicalProblem
    source: HtnProblem
    actions: Mapping[str, str]
    methods: Mapping[str, str]
    objects: Mapping[str, str]
    is_rooted: bool

    def plan(self, plan: ForeignPlan) -> Plan:
        """Return a plan for `problem` as one for `source`, with exact costs; a mere sequence has no decomposition.

        Raises `PlanError` where its parts do not belong together.
        """
        instances = instances_of(plan)
        steps = with_costs(self.source, map(self.step, instances))
        tree = self._tree(plan, instances) if isinstance(plan, HierarchicalPlan) else None
        return Plan(steps, self.source, tree)

    def _tree(self, plan: HierarchicalPlan, instances: Sequence[ActionInstance]) -> Decomposition:
        network, decomposition = self.problem.task_network, plan.decomposition
        if not self.is_rooted:
            return tree_from(network, decomposition, instances, self)
        done = decomposition.subtasks[network.subtasks[0].identifier]
        tree = tree_from(done.method, done.decomposition, instances, self)
        return replace(tree, binding=self.names(done.parameters))

    def step(self, instance: ActionInstance) -> Step:
        """Return a step of a plan for `problem` as one of ours, without its cost."""
        return Step(_known(self.actions, instance.action.name), self.names(instance.actual_parameters))

    def names(self, arguments: Sequence[FNode]) -> tuple[str, ...]:
        """Return what the objects that are `arguments` are called in ours."""
        return tuple([_known(self.objects, argument.object().name) for argument in arguments])

    def our_method(self, method: ForeignMethod) -> Method:
        """Return a method of `problem` as one of ours."""
        return self.source.domain.methods[_known(self.methods, method.name)]


def to_unified_planning(
    problem: HtnProblem, environment: Environment | None = None, budget: Budget | None = None
) -> HtnOutgoing:
    """Return `problem` as one of unified-planning, in the given or the global environment, with the way back for plans.

    Raises as `planner.engines.outgoing.problem.to_unified_planning` does.
    """
    budget = budget or Budget()
    classical = with_tables(to_adl(problem.classical), budget)
    freight = carried(problem, classical)
    source, names = prepared(freight.problem, budget)
    target = HierarchicalProblem(source.name, get_environment(environment))
    writing = HtnWriting(source, names, target, problem.domain.classical.actions)
    for task in problem.domain.tasks:
        writing.add_task(task)
    for name, method in freight.methods.items():
        writing.add_method(name, method)
    is_rooted = writing.set_network(freight.network, problem.network)
    return HtnOutgoing(
        target,
        problem,
        {names.actions[name]: name for name in problem.domain.classical.actions},
        {names.actions[name]: method.name for name, method in freight.methods.items()},
        {word: name for name, word in names.objects.items()},
        is_rooted,
    )


def _known(names: Mapping[str, str], word: str) -> str:
    if word not in names:
        raise PlanError(f"the plan has {word!r}, which the problem does not have")
    return names[word]
