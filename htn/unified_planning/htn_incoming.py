"""Converts hierarchical problems of unified-planning to ours; `planner.unified_planning` converts the classical part.

There, one list of constraints has both kinds: comparisons of points in time, which order the subtasks, and conditions
on the parameters, which may be any that read no fluent.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from graphlib import CycleError
from typing import TYPE_CHECKING, Any, Final

from unified_planning.model import TimepointKind
from unified_planning.model.walkers import AnyChecker
from unified_planning.plans import HierarchicalPlan, SequentialPlan
from unified_planning.plans.hierarchical_plan import Decomposition as ForeignDecomposition
from unified_planning.plans.hierarchical_plan import MethodInstance

from htn import problem_kind
from htn.model import (
    Decomposition,
    HtnDomain,
    HtnProblem,
    Method,
    Network,
    Node,
    Order,
    Subtask,
    Task,
    linearise,
    seal_problem,
    sequence,
)
from htn.unified_planning.foreign_decompositions import instances_of, tree_from, with_costs
from htn.verification.plan_verification import complete_bindings
from planner.errors import InputError, PlanError, UnsupportedError
from planner.lightweight import replace
from planner.model import TRUE, Atom, Equals, Formula, Not, Term, Variable, is_variable
from planner.model.formulas import conjunction, conjuncts, free_variables
from planner.plan import Plan, Step
from planner.unified_planning.formula_reader import FormulaReader, Names, model_name
from planner.unified_planning.problem_reader import Incoming, Reading
from planner.validation.verdict import Verdict

if TYPE_CHECKING:
    from unified_planning.model import FNode
    from unified_planning.model.htn import HierarchicalProblem
    from unified_planning.model.htn import Method as ForeignMethod
    from unified_planning.model.htn import Subtask as ForeignSubtask
    from unified_planning.model.htn import Task as ForeignTask
    from unified_planning.model.htn.task_network import AbstractTaskNetwork
    from unified_planning.plans import ActionInstance
    from unified_planning.plans import Plan as ForeignPlan


class NetworkReader:
    """Reads networks; `heads` are the names of the actions and tasks that subtasks may be."""

    def __init__(self, reader: FormulaReader, heads: Collection[Any]) -> None:
        self._reader = reader
        self._heads = heads
        self._times = AnyChecker(lambda expression: expression.is_timing_exp())

    def network(self, source: AbstractTaskNetwork, where: str, scope: Collection[Term]) -> tuple[Network, Formula]:
        """Return `source`, and what it asks of its parameters beyond equalities and inequalities.

        `where` is what to call it in messages, and `scope` are its parameters. Raises `UnsupportedError` for
        constraints on time that are no order of two subtasks, and for arguments that are no objects; `InputError` for
        subtasks and parameters that the problem does not have, and for orders that go round in a circle.
        """
        parts = [part for constraint in source.constraints for part in _flatten_conjunction(constraint)]
        ordering = self._ordering(source, [part for part in parts if self._times.any(part)], where)
        static = [self._reader.formula(part) for part in parts if not self._times.any(part)]
        found = [part for formula in static for part in conjuncts(formula)]
        network = Network(
            tuple([self._subtask(each, where) for each in source.subtasks]),
            ordering,
            conjunction([part for part in found if _is_simple(part)]),
        )
        rest = conjunction([part for part in found if not _is_simple(part)])
        for each in network.subtasks:
            check_scope(filter(is_variable, each.task.args), scope, f"the subtask {each.label} of {where}")
        check_scope(free_variables(conjunction(found)), scope, f"the constraints of {where}")
        return network, rest

    def _subtask(self, source: ForeignSubtask, where: str) -> Subtask:
        if source.task not in self._heads:
            raise InputError(
                f"{where} has the subtask {source}, but the problem has no such task or action",
                hint=f"add_task or add_action makes {source.task.name} known to it",
            )
        heads = self._reader.vocabulary.actions
        arguments = [value.term for value in self._arguments(source, where)]
        return Subtask(Atom(heads.of(source.task, source.task.name), tuple(arguments)), source.identifier)

    def _arguments(self, source: ForeignSubtask, where: str) -> Iterator[Any]:
        for argument in source.parameters:
            value = self._reader.value(argument)
            if value.reads:
                hint = "use a parameter, and a precondition that says what it is"
                raise UnsupportedError(f"the argument {argument} of {source} in {where}, which reads a fluent", hint)
            yield value

    def _ordering(self, source: AbstractTaskNetwork, constraints: Iterable[FNode], where: str) -> tuple[Order, ...]:
        places = {subtask.identifier: place for place, subtask in enumerate(source.subtasks)}
        found: dict[Order, None] = {}
        for constraint in constraints:
            names = _precedence(constraint)
            if names is None:
                hint = "subtasks are ordered by set_ordered and set_strictly_before(subtask, subtask)"
                raise UnsupportedError(f"the constraint {constraint} of {where}, which is on time", hint)
            for name in names:
                if name not in places:
                    known = ", ".join(places) or "none"
                    raise InputError(
                        f"{where} orders a subtask {name!r} that it does not have", hint=f"it has: {known}"
                    )
            found[places[names[0]], places[names[1]]] = None
        try:
            linearise(len(places), found)
        except CycleError as error:
            around = " < ".join(source.subtasks[place].identifier for place in error.args[1])
            raise InputError(
                f"the order of {where} goes round in a circle: {around}", hint="remove one of them"
            ) from None
        return tuple(found)


def check_scope(used: Iterable[Term], scope: Collection[Term], where: str) -> None:
    """Raise `InputError` where one of the variables in `used` is not in `scope`."""
    for term in used:
        if term not in scope:
            hint = "a parameter is the same where name and type are"
            raise InputError(f"{where} has the parameter {term[1:]}, which is none there", hint=hint)


def _flatten_conjunction(constraint: FNode) -> Iterator[FNode]:
    stack = [constraint]
    while stack:
        current = stack.pop()
        if current.is_and():
            stack.extend(reversed(current.args))
        else:
            yield current


def _precedence(constraint: FNode) -> tuple[str, str] | None:
    """Return which subtask ends before which begins, where `constraint` says just that."""
    if not constraint.is_lt() or not all(part.is_timing_exp() for part in constraint.args):
        return None
    before, after = [part.timing() for part in constraint.args]
    points = before.timepoint, after.timepoint
    if before.delay or after.delay or any(point.container is None for point in points):
        return None
    if (points[0].kind, points[1].kind) != (TimepointKind.END, TimepointKind.START):
        return None
    return points[0].container, points[1].container


def _is_simple(formula: Formula) -> bool:
    """Return whether `formula` is what constraints of networks are made of."""
    return isinstance(formula.part if isinstance(formula, Not) else formula, Equals)


FEATURES: Final = frozenset(
    {
        "HIERARCHICAL",
        "INITIAL_TASK_NETWORK_VARIABLES",
        "METHOD_PRECONDITIONS",
        "TASK_NETWORK_CONSTRAINTS",
        "TASK_ORDER_PARTIAL",
        "TASK_ORDER_TOTAL",
    }
)
"""What hierarchical problems may have besides the features of classical ones."""

_LOOKED_INTO: Final = frozenset({"CONTINUOUS_TIME", "TASK_ORDER_TEMPORAL"})
"""What unified-planning says of orders that it does not take apart; each constraint and action is looked at here."""

NETWORK: Final = "network"
"""The name of the task above an initial network with constraints that have no other place."""


@dataclass(frozen=True, slots=True)
class HtnIncoming:
    """A hierarchical problem made from `source`, with the way back for plans.

    `top` is the task above the initial network, where one was needed; the names of `methods` are theirs, then ours.
    """

    problem: HtnProblem
    source: HierarchicalProblem
    classical: Incoming
    methods: Names[str]
    top: Method | None = None

    def plan(self, plan: Plan) -> HierarchicalPlan:
        """Return a plan of ours as a plan for `source`; raise `PlanError` for an invalid one without bindings."""
        if plan.tree is None:
            raise PlanError("the plan has no decomposition", hint="solve(…) gives plans that have one")
        tree: Decomposition = complete_bindings(self.problem, plan).tree
        if self.top is not None:
            tree = replace(tree, roots=tree.nodes[tree.roots[0]].children)
        instances = [self.classical.instance(step) for step in plan.steps]
        converted: dict[int, ActionInstance | MethodInstance] = {}
        for place in reversed(_nodes_from_above(tree)):
            node = tree.nodes[place]
            if node.step is not None:
                converted[place] = instances[node.step]
                continue
            method = self.source.method(self.methods.key(node.method))
            if len(node.binding) != len(method.parameters):
                message = f"{node.task}: nothing says what the parameters of {node.method} are, and none would do"
                raise PlanError(message)
            below = _name_subtasks(method, node.children, converted)
            converted[place] = MethodInstance(method, self.classical.arguments(node.binding), below)
        top = _name_subtasks(self.source.task_network, tree.roots, converted)
        return HierarchicalPlan(SequentialPlan(instances, self.source.environment), top)

    def read(self, plan: ForeignPlan) -> Plan:
        """Return a plan for `source` as one of ours, with exact costs; a mere sequence has no decomposition.

        Raises `PlanError` where its parts do not belong together, or are none of the problem.
        """
        instances = instances_of(plan)
        steps = with_costs(self.problem, map(self.step, instances))
        if not isinstance(plan, HierarchicalPlan):
            return Plan(steps, self.problem)
        tree = tree_from(self.source.task_network, plan.decomposition, instances, self)
        if self.top is not None:
            above = Node(self.top.task, None, self.top.name, children=tree.roots)
            tree = Decomposition((*tree.nodes, above), (len(tree.nodes),))
        return Plan(steps, self.problem, tree)

    def verdict(self, plan: ForeignPlan) -> Verdict:
        """Return whether a plan for `source` works; where it has no decomposition, one is searched for."""
        try:
            return problem_kind.validate(self.problem, self.read(plan))
        except PlanError as error:
            return Verdict(valid=False, cost=0, reason=str(error))

    def step(self, instance: ActionInstance) -> Step:
        """Return a step of a plan for `source` as one of ours."""
        if instance.action not in self.source.actions:
            raise PlanError(f"the action {instance.action.name} is none of the problem")
        return self.classical.step(instance)

    def names(self, arguments: Sequence[FNode]) -> tuple[str, ...]:
        """Return what the objects that are `arguments` are called in ours."""
        return self.classical.names(arguments)

    def our_method(self, method: ForeignMethod) -> Method:
        """Return a method of `source` as one of ours."""
        found = self.problem.domain.methods.get(self.methods.of(method.name, method.name))
        if found is None:
            raise PlanError(f"the method {method.name} is none of the problem")
        return found


def from_unified_planning(source: HierarchicalProblem) -> HtnIncoming:
    """Return `source` as a hierarchical problem, with plans mapped both ways.

    Raises `UnsupportedError` as `planner.unified_planning.conversion.from_unified_planning` does, and for orders in
    time that are none of subtasks; `InputError` where parts of `source` contradict each other.
    """
    return _Reading(source).result()


def _nodes_from_above(tree: Decomposition) -> list[int]:
    found = list(tree.roots)
    for place in found:
        found.extend(tree.nodes[place].children)
    return found


def _name_subtasks(network: AbstractTaskNetwork, places: Sequence[int], converted: dict[int, Any]) -> Any:
    pairs = zip(network.subtasks, places, strict=True)
    return ForeignDecomposition({subtask.identifier: converted[place] for subtask, place in pairs})


class _Reading:
    """Converts one problem."""

    def __init__(self, source: HierarchicalProblem) -> None:
        self._source = source
        reading = Reading(source, set(source.kind.features) - FEATURES - _LOOKED_INTO)
        self._reader = reading.reader
        self._classical = reading.result()
        self._methods: Names[str] = Names(model_name)
        self._networks = NetworkReader(self._reader, {*source.actions, *source.tasks})

    def result(self) -> HtnIncoming:
        tasks = {task.name: task for task in map(self._task, self._source.tasks)}
        methods = {method.name: method for method in map(self._method, self._source.methods)}
        variables = tuple([self._reader.parameter(each) for each in self._source.task_network.variables])
        names = {each.name for each in variables}
        network, rest = self._networks.network(self._source.task_network, "the initial task network", names)
        top = None
        if rest != TRUE:
            task = Task(self._classical.vocabulary.actions.of(NETWORK, NETWORK))
            top = Method(self._methods.of("", NETWORK), Atom(task.name), variables, rest, network)
            tasks[task.name], methods[top.name] = task, top
            network, variables = sequence(top.task), ()
        domain = HtnDomain(self._classical.problem.domain, tasks, methods)
        problem = seal_problem(HtnProblem(domain, self._classical.problem, network, variables))
        return HtnIncoming(problem, self._source, self._classical, self._methods, top)

    def _task(self, task: ForeignTask) -> Task:
        parameters = tuple([self._reader.parameter(each) for each in task.parameters])
        return Task(self._classical.vocabulary.actions.of(task, task.name), parameters)

    def _method(self, method: ForeignMethod) -> Method:
        where = f"the method {method.name}"
        parameters = tuple([self._reader.parameter(each) for each in method.parameters])
        scope = {each.name for each in parameters}
        network, rest = self._networks.network(method, where, scope)
        condition = self._condition(method, rest)
        check_scope(free_variables(condition), scope, f"the precondition of {where}")
        name = self._methods.of(method.name, method.name)
        return Method(name, self._achieved(method, parameters), parameters, condition, network)

    def _achieved(self, method: ForeignMethod, parameters: tuple[Variable, ...]) -> Atom:
        """Return the task of `method`: its arguments are the method's parameters of these names, whatever their types.

        `set_task` without arguments gives the task's own parameters, which may be of other types.
        """
        achieved, names = method.achieved_task, [each.name for each in method.parameters]
        places = [names.index(each.name) for each in achieved.parameters]
        task = self._source.get_task(achieved.task.name)
        head = self._classical.vocabulary.actions.of(task, task.name)
        return Atom(head, tuple([parameters[place].name for place in places]))

    def _condition(self, method: ForeignMethod, rest: Formula) -> Formula:
        parts = [part for each in method.preconditions for part in conjuncts(self._reader.formula(each))]
        return conjunction(dict.fromkeys((*parts, *conjuncts(rest))))
