"""Converts decompositions of plans of unified-planning to ours.

unified-planning nests decompositions in each other; they are converted one node at a time, as they may be thousands of
levels deep. It does not say what the variables of the initial network stand for.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Protocol

from unified_planning.plans import ActionInstance, HierarchicalPlan, SequentialPlan, TimeTriggeredPlan
from unified_planning.plans.hierarchical_plan import Decomposition as ForeignDecomposition
from unified_planning.plans.hierarchical_plan import MethodInstance

from htn.model import Decomposition, Node
from planner.errors import PlanError, kind_of
from planner.lightweight import replace
from planner.model import Atom, NumericMetric
from planner.plan import Step
from planner.semantics.simulation import Simulation, price_steps

if TYPE_CHECKING:
    from unified_planning.model import FNode
    from unified_planning.model.htn import Method as ForeignMethod
    from unified_planning.model.htn.task_network import AbstractTaskNetwork
    from unified_planning.plans import Plan as ForeignPlan

    from htn.model import HtnProblem, Method

_FLAT = "its convert_to makes a sequence of some plans"


class Back(Protocol):
    """How parts of a plan of unified-planning are called in ours."""

    def step(self, instance: ActionInstance) -> Step:
        """Return a step; raise `PlanError` where there is no such action."""

    def names(self, arguments: Sequence[FNode]) -> tuple[str, ...]:
        """Return objects; raise `PlanError` where there is no such object."""

    def our_method(self, method: ForeignMethod) -> Method:
        """Return a method, which may have fewer parameters; raise `PlanError` where there is none."""


def instances_of(plan: ForeignPlan) -> list[ActionInstance]:
    """Return the steps of a plan in their order; raise `PlanError` where they are in none."""
    flat = plan.action_plan if isinstance(plan, HierarchicalPlan) else plan
    match flat:
        case SequentialPlan():
            return list(flat.actions)
        case TimeTriggeredPlan():
            return [instance for _, instance, _ in sorted(flat.timed_actions, key=lambda timed: timed[0])]
    raise PlanError(f"{kind_of(flat)} is no sequence of steps", hint=_FLAT)


def with_costs(problem: HtnProblem, steps: Iterable[Step]) -> tuple[Step, ...]:
    """Return `steps` with what each costs in `problem`; as they are if the plan is invalid and the state counts."""
    given = tuple(steps)
    if isinstance(problem.classical.metric, NumericMetric):
        try:
            return price_steps(problem.classical, given)
        except PlanError:
            return given
    costs = Simulation(problem.classical)
    return tuple([replace(step, cost=costs.cost(step)) for step in given])


def tree_from(
    network: AbstractTaskNetwork, decomposition: ForeignDecomposition, steps: Sequence[ActionInstance], back: Back
) -> Decomposition:
    """Return the `decomposition` of `network` into `steps`; what the variables of `network` are is left open.

    Raises `PlanError` where a subtask was not done.
    """
    reader = _Reader(steps, back)
    roots = reader.below(network, decomposition, "the initial task network")
    for place, instance in reader.compound:
        children = reader.below(instance.method, instance.decomposition, f"the method {instance.method.name}")
        reader.nodes[place] = replace(reader.nodes[place], children=children)
    return Decomposition(tuple(reader.nodes), roots)


class _Reader:
    """What was found so far; `compound` grows while it is gone through: nodes, whose children are read then."""

    def __init__(self, steps: Sequence[ActionInstance], back: Back) -> None:
        self._back = back
        self._numbers = {id(each): number for number, each in enumerate(steps)}
        self._equal: defaultdict[Step, list[int]] = defaultdict(list)
        for number in reversed(range(len(steps))):
            self._equal[back.step(steps[number])].append(number)
        self.nodes: list[Node] = []
        self.compound: list[tuple[int, MethodInstance]] = []

    def below(self, network: AbstractTaskNetwork, decomposition: ForeignDecomposition, where: str) -> tuple[int, ...]:
        """Return the places of new nodes for the subtasks of `network`."""
        found = []
        for subtask in network.subtasks:
            done = decomposition.subtasks.get(subtask.identifier)
            if done is None:
                raise PlanError(f"the subtask {subtask} of {where} was not done")
            found.append(len(self.nodes))
            self.nodes.append(self._compound(done) if isinstance(done, MethodInstance) else self._leaf(done))
        return tuple(found)

    def _compound(self, done: MethodInstance) -> Node:
        method = self._back.our_method(done.method)
        names = self._back.names(done.parameters)[: len(method.parameters)]
        task = method.task.substitute(dict(zip([each.name for each in method.parameters], names, strict=True)))
        self.compound.append((len(self.nodes), done))
        return Node(task, None, method.name, names)

    def _leaf(self, done: ActionInstance) -> Node:
        """Return an action as a step: the very one, or else the first that is equal to it and not taken."""
        step, number = self._back.step(done), self._numbers.get(id(done))
        if number is None:
            equal = self._equal[step]
            if not equal:
                raise PlanError(f"{step} came of a task, but is no step of the plan")
            number = equal.pop()
        return Node(Atom(step.action, step.arguments), number)
