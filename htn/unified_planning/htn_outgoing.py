"""Converts hierarchical problems to unified-planning, and their plans back.

Tasks and methods go through the conversions of the classical part as actions without effects, so that they, too, get
new names, and conditions in the place of types.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from unified_planning.environment import get_environment
from unified_planning.exceptions import UPTypeError
from unified_planning.model.htn import HierarchicalProblem, Subtask, Task, TaskNetwork
from unified_planning.model.htn import Method as ForeignMethod
from unified_planning.plans import HierarchicalPlan

from htn.model import Decomposition, HtnDomain, HtnProblem, Method, Network, seal_problem
from htn.unified_planning.foreign_decompositions import instances_of, tree_from, with_costs
from planner.compilations.cost_tables import with_tables
from planner.compilations.passes import compile_away
from planner.errors import PlanError
from planner.language.pddl.legal_names import Names, Renaming, make_legal
from planner.language.pddl.number_bounds import require_bounds
from planner.language.pddl.sections import choose_free_name
from planner.lightweight import dataclass, replace
from planner.limits import Limits
from planner.model import TRUE, Action, Atom, Equals, Formula, Problem, Term, TypeHierarchy, Variable
from planner.model.constructs import CONSTRAINED, Construct
from planner.model.formulas import conjuncts, with_conjuncts
from planner.plan import Plan, Step
from planner.unified_planning.formula_writer import Scope
from planner.unified_planning.jobs import without_python_values
from planner.unified_planning.problem_writer import ProblemWriter, prepare

if TYPE_CHECKING:
    from unified_planning.environment import Environment
    from unified_planning.model import FNode
    from unified_planning.model.htn import Method as ForeignMethod
    from unified_planning.model.htn.task_network import AbstractTaskNetwork
    from unified_planning.plans import ActionInstance
    from unified_planning.plans import Plan as ForeignPlan


@dataclass(frozen=True, slots=True)
class Carried:
    """`problem` has the actions, and one more for each task, each of `methods`, and the network.

    Tasks keep their names; `methods` has, for each of the others, the name of the action that it is.
    """

    problem: Problem
    methods: Mapping[str, Method]
    network: str


def carry_hierarchy(problem: HtnProblem, classical: Problem) -> Carried:
    """Return the hierarchy of `problem` on board of `classical`, which is its classical part in plainer words.

    Arguments of the tasks of methods become parameters of just the types that the tasks have, each its own; where they
    were others in the method, constraints say what they are.
    """
    types = TypeHierarchy(classical.domain.types)
    tasks = problem.domain.tasks
    taken = {*classical.domain.actions, *tasks}
    methods = {
        choose_free_name(method.name, taken): _with_plain_task(method, tasks[method.task.predicate].parameters, types)
        for method in problem.domain.methods.values()
    }
    network = choose_free_name("network", taken)
    actions = [
        *classical.domain.actions.values(),
        *(Action(task.name, task.parameters) for task in tasks.values()),
        *(Action(name, method.parameters, method.precondition) for name, method in methods.items()),
        Action(network, problem.parameters),
    ]
    domain = replace(classical.domain, actions={action.name: action for action in actions})
    return Carried(replace(classical, domain=domain), methods, network)


def _with_plain_task(method: Method, wanted: tuple[Variable, ...], types: TypeHierarchy) -> Method:
    """Return `method` with the arguments of its task as parameters of the types `wanted`; new ones come last."""
    declared = {each.name: each.types for each in method.parameters}
    taken = {name[1:] for name in declared}
    arguments: list[Term] = []
    fresh: list[Variable] = []
    same: list[Formula] = []
    for argument, parameter in zip(method.task.args, wanted, strict=True):
        fits = all(types.is_a([name], parameter.types) for name in declared.get(argument, ()))
        if argument in declared and argument not in arguments and fits:
            arguments.append(argument)
            continue
        fresh.append(Variable(f"?{choose_free_name(parameter.name[1:], taken)}", parameter.types))
        same.append(Equals(fresh[-1].name, argument))
        arguments.append(fresh[-1].name)
    constraints = with_conjuncts(method.network.constraints, *same)
    return replace(
        method,
        task=Atom(method.task.predicate, tuple(arguments)),
        parameters=(*method.parameters, *fresh),
        network=replace(method.network, constraints=constraints) if fresh else method.network,
    )


class HtnWriting:
    """Writes into `target`: first what is classical, of which `actions` are the real ones, then task by task.

    The others of the actions in `source` were made by `htn.unified_planning.htn_outgoing`; `names` says what all are
    called now.
    """

    def __init__(self, source: Problem, names: Names, target: HierarchicalProblem, actions: Collection[str]) -> None:
        self._source = source
        self._names = names
        self._rename = Renaming(names)
        self._target = target
        self._environment = target.environment
        target._initial_task_network = TaskNetwork(target.environment)  # noqa: SLF001 - it is made in the global one
        self._writing = ProblemWriter(source, target, [names.actions[name] for name in actions])
        self._writing.result()

    def add_task(self, name: str) -> None:
        """Add the task that was called `name`."""
        action = self._source.domain.actions[self._names.actions[name]]
        self._target.add_task(Task(action.name, self._writing.parameters(action.parameters), self._environment))

    def add_method(self, name: str, method: Method) -> None:
        """Add `method`, which is carried as the action `name`; not where it can never be used."""
        action = self._source.domain.actions[self._names.actions[name]]
        found = ForeignMethod(action.name, self._writing.parameters(action.parameters), self._environment)
        task = self._target.get_task(self._names.actions[method.task.predicate])
        arguments = [found.parameter(self._rename.term(each)[1:]) for each in method.task.args]
        found.set_task(task, *arguments) if arguments else found.set_task(task)
        self._fill_method(found, action.requires, method.network)
        if not any(part.is_false() for part in (*found.preconditions, *found.constraints)):
            self._target.add_method(found)

    def set_network(self, name: str, network: Network) -> bool:
        """Write the initial network, which is carried as the action `name`; return whether a task is above it.

        That is where types have become conditions, which a network cannot have.
        """
        action = self._source.domain.actions[self._names.actions[name]]
        initial = self._target.task_network
        if action.requires == TRUE:
            variables = self._writing.parameters(action.parameters)
            for each in variables:
                initial.add_variable(each.name, each.type)
            self._add_subtasks(initial, network, self._writing.scope(variables))
            return False
        names = {*self._names.actions.values(), *self._names.objects.values(), *self._names.predicates.values()}
        names |= {*self._names.types.values(), *self._names.functions.values()}
        top = self._target.add_task(Task(choose_free_name(f"{action.name}-task", names), [], self._environment))
        above = ForeignMethod(action.name, self._writing.parameters(action.parameters), self._environment)
        above.set_task(top)
        self._fill_method(above, action.requires, network)
        self._target.add_method(above)
        initial.add_subtask(Subtask(top, ident="t1", _env=self._environment))
        return True

    def _fill_method(self, method: ForeignMethod, condition: Formula, network: Network) -> None:
        scope = self._writing.scope(method.parameters)
        for part in conjuncts(condition):
            method.add_precondition(self._writing.writer.formula(part, scope))
        self._add_subtasks(method, network, scope)

    def _add_subtasks(self, target: AbstractTaskNetwork, network: Network, scope: Scope) -> None:
        labels = _legal_labels(network)
        subtasks = []
        for each, label in zip(network.subtasks, labels, strict=True):
            arguments = [self._writing.writer.term(self._rename.term(term), scope) for term in each.task.args]
            head = self._find_head(self._names.actions[each.task.predicate])
            subtasks.append(target.add_subtask(Subtask(head, *arguments, ident=label, _env=self._environment)))
        for before, after in network.ordering:
            target.set_strictly_before(subtasks[before], subtasks[after])
        for part in conjuncts(self._rename.formula(network.constraints)):
            target.add_constraint(self._writing.writer.formula(part, scope))

    def _find_head(self, name: str) -> Any:
        return self._target.get_task(name) if self._target.has_task(name) else self._target.action(name)


def _legal_labels(network: Network) -> list[str]:
    """Return legal labels for the subtasks, all different: their own where they are such."""
    taken: set[str] = set()
    return [
        choose_free_name(make_legal(each.label or f"t{place}"), taken)
        for place, each in enumerate(network.subtasks, start=1)
    ]


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
        tree = self._read_decomposition(plan, instances) if isinstance(plan, HierarchicalPlan) else None
        return Plan(steps, self.source, tree)

    def _read_decomposition(self, plan: HierarchicalPlan, instances: Sequence[ActionInstance]) -> Decomposition:
        network, decomposition = self.problem.task_network, plan.decomposition
        if not self.is_rooted:
            return tree_from(network, decomposition, instances, self)
        done = decomposition.subtasks[network.subtasks[0].identifier]
        tree = tree_from(done.method, done.decomposition, instances, self)
        return replace(tree, binding=self.names(done.parameters))

    def step(self, instance: ActionInstance) -> Step:
        """Return a step of a plan for `problem` as one of ours, without its cost."""
        return Step(_look_up(self.actions, instance.action.name), self.names(instance.actual_parameters))

    def names(self, arguments: Sequence[FNode]) -> tuple[str, ...]:
        """Return what the objects that are `arguments` are called in ours."""
        return tuple([_look_up(self.objects, argument.object().name) for argument in arguments])

    def our_method(self, method: ForeignMethod) -> Method:
        """Return a method of `problem` as one of ours."""
        return self.source.domain.methods[_look_up(self.methods, method.name)]


def to_unified_planning(
    problem: HtnProblem, environment: Environment | None = None, limits: Limits | None = None
) -> HtnOutgoing:
    """Return `problem` as one of unified-planning, in the given or the global environment, with the way back for plans.

    Raises as `planner.unified_planning.conversion.to_unified_planning` does.
    """
    limits = limits or Limits()
    classical = with_tables(compile_away(problem.classical, Construct.CHANGES), limits)
    freight = carry_hierarchy(problem, classical)
    source, names = prepare(freight.problem, limits)
    try:
        target, is_rooted = _write(problem, freight, source, names, environment)
    except UPTypeError:
        bounded = require_bounds(source, "in unified-planning")
        target, is_rooted = _write(problem, freight, bounded, names, environment)
    return HtnOutgoing(
        target,
        problem,
        {names.actions[name]: name for name in problem.domain.classical.actions},
        {names.actions[name]: method.name for name, method in freight.methods.items()},
        {word: name for name, word in names.objects.items()},
        is_rooted,
    )


def _write(
    problem: HtnProblem, freight: Carried, source: Problem, names: Names, environment: Environment | None
) -> tuple[HierarchicalProblem, bool]:
    """Return the problem that `source` says with its freight, and whether a task is above its initial network."""
    target = HierarchicalProblem(source.name, get_environment(environment))
    writing = HtnWriting(source, names, target, problem.domain.classical.actions)
    for task in problem.domain.tasks:
        writing.add_task(task)
    for name, method in freight.methods.items():
        writing.add_method(name, method)
    return target, writing.set_network(freight.network, problem.network)


def _look_up(names: Mapping[str, str], word: str) -> str:
    if word not in names:
        raise PlanError(f"the plan has {word!r}, which the problem does not have")
    return names[word]


def prepare_for_process(problem: HtnProblem, limits: Limits) -> HtnProblem:
    """Return `problem` in plain ADL, with tables for costs that Python computes.

    Raises `LimitReached` where `limits` does not suffice for these.
    """
    classical = without_python_values(
        with_tables(compile_away(problem.classical, Construct.CHANGES, *CONSTRAINED), limits)
    )
    domain = HtnDomain(classical.domain, dict(problem.domain.tasks), dict(problem.domain.methods))
    return seal_problem(replace(problem, domain=domain, classical=classical))
