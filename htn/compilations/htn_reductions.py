"""Compilations of hierarchical problems to ones that search takes: constraints, soft goals and object creation.

*Soft goals*: after all other tasks comes one task for each wish. It has two methods: one finds the wish to hold, the
other forgoes it at the cost of its utility (Keyder and Geffner, 2009, for classical planning). A cheapest plan then has
the greatest net benefit. Trajectory constraints become conditions and effects of actions, as in classical planning.

*Object creation*: planning uses placeholders (`planner.compilations.object_creation`). A subtask whose action creates
objects has these as its last arguments, as steps of plans have: parameters of the method, which later subtasks may
name.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from htn.model import Decomposition, HtnDomain, HtnProblem, Method, Network, Subtask, Task
from htn.verification.plan_verification import validate
from planner.compilations import Compiled, object_creation
from planner.compilations.budgets import budget_spending
from planner.compilations.creation_rounds import Creation, CreationRounds, creations_of, rule_sizes
from planner.compilations.driver import Driver
from planner.compilations.passes import compile_away as compile_from_classical
from planner.compilations.soft_goals import add_to_metric, forgo_name, grant_name, say_of_wishes
from planner.lightweight import Final, replace
from planner.model import Action, Atom, Goal, Metric, NumericMetric, Problem, TypeHierarchy
from planner.model.constructs import CONSTRAINED, Construct
from planner.model.domain import creates_objects
from planner.options import Solve, SolveOptions
from planner.plan import Plan, Result, Step
from planner.problem_kinds import with_classical
from planner.validation.verdict import Verdict


def compile_away(problem: HtnProblem, *removed: Construct) -> HtnProblem:
    """Return `problem` without the constructs `removed`; see `planner.compilations.passes.compile_away`."""
    compiled: HtnProblem = with_classical(problem, compile_from_classical(problem.classical, *removed))
    return compiled


_WISH: Final = "@wish-"
"""Prefix of the tasks that settle wishes."""


def compile_wishes(problem: HtnProblem) -> Compiled:
    """Compile to a problem without soft goals and without constraints.

    Actions whose names begin with `@`, one for each wish, follow the steps of a plan; mapping back removes them. In a
    cheapest plan they cost the utilities of the wishes that the plan forgoes, or add them to a metric of numbers.
    """
    plain = compile_away(problem, *CONSTRAINED)
    wishes = plain.classical.goal.soft
    classical = budget_spending(plain.classical)
    special, tasks, methods = dict[str, Action](), dict[str, Task](), dict[str, Method]()
    for place, wish in enumerate(wishes):
        finding = Action(grant_name(place), requires=wish.condition, cost=(0,))
        name = f"{_WISH}{place}"
        tasks[name] = Task(name)
        for action in (finding, Action(forgo_name(place), cost=(wish.utility,))):
            special[action.name] = action
            methods[action.name] = Method(action.name, Atom(name), network=Network((Subtask(Atom(action.name)),)))
    actions = {each.name: _unit_cost(each, classical.metric) for each in classical.domain.actions.values()} | special
    metric = classical.metric
    classical = replace(classical, domain=replace(classical.domain, actions=actions), goal=Goal(classical.goal.hard))
    if isinstance(metric, NumericMetric):
        classical = add_to_metric(classical, special.values(), metric)
    else:
        classical = replace(classical, metric=Metric.COST)
    domain = HtnDomain(
        classical.domain, {**plain.domain.tasks, **tasks}, {**plain.domain.methods, **methods}, plain.domain.inferred
    )
    compiled = replace(plain, domain=domain, classical=classical, network=_append_tasks(plain.network, tasks))
    return Compiled(
        compiled,
        lambda plan: remove_wishes(plan, problem),
        words=lambda reason: say_of_wishes(reason, problem.classical),
    )


def _unit_cost(action: Action, metric: Metric | NumericMetric) -> Action:
    return replace(action, cost=(1,)) if metric is Metric.LENGTH else action


def _append_tasks(network: Network, names: Collection[str]) -> Network:
    """Return `network` with the tasks `names` in a row after all others."""
    size = len(network.subtasks)
    first = [(place, size) for place in range(size) if names]
    row = [(place, place + 1) for place in range(size, size + len(names) - 1)]
    wishes = tuple([Subtask(Atom(name)) for name in names])
    return replace(network, subtasks=(*network.subtasks, *wishes), ordering=(*network.ordering, *first, *row))


def solve_with_wishes(problem: HtnProblem, options: SolveOptions, solve: Solve) -> Result | None:
    """Compile soft goals and soft constraints to tasks that grant or forgo them, and let `solve` answer.

    Returns None where there are no wishes.
    """
    if problem.classical.unknown or not problem.classical.wishes:
        return None
    compiled, driver = compile_wishes(problem), HtnDriver(problem, options, solve)
    return driver.finish(driver.ask(compiled), compiled)


def remove_wishes(plan: Plan, problem: HtnProblem) -> Plan:
    """Return `plan` as one of `problem`: without the tasks and steps that settle wishes."""
    own, tree = problem.classical.domain.actions, plan.tree
    plain = replace(plan, steps=tuple([step for step in plan.steps if step.action in own]), problem=problem)
    if tree is None:
        return plain
    return replace(plain, tree=tree.keep(find_own_nodes(tree, problem)))


def find_own_nodes(tree: Decomposition, problem: HtnProblem) -> list[int]:
    """Return the places in `tree` of the nodes whose tasks and actions `problem` has."""
    own = {**problem.classical.domain.actions, **problem.domain.tasks}
    return [place for place, node in enumerate(tree.nodes) if node.task.predicate in own]


class HtnDriver(Driver):
    """The driver of problems whose plans have a decomposition."""

    def check_plan(self, plan: Plan) -> Verdict:
        """Check `plan` and its decomposition with the plan checker."""
        if plan.times:
            from htn.compilations.htn_in_time import check_times

            return check_times(self.problem, plan)
        return validate(self.problem, plan)


def replace_classical(problem: HtnProblem, classical: Problem) -> HtnProblem:
    """Return `problem` with `classical` as its classical part, which has placeholders, perhaps in another state.

    Quantifiers in preconditions of methods then range over the objects that exist.
    """
    source = problem.classical
    if not creates_objects(source.domain) or creates_objects(classical.domain):
        return replace(problem, classical=classical)
    types = TypeHierarchy(source.domain.types)
    existing = object_creation.expand_in_order(source.domain).existing
    guards = object_creation.Guards(existing, object_creation.created_types(source.domain.actions.values()), types)
    methods = {
        name: replace(each, precondition=guards.condition(each.precondition))
        for name, each in problem.domain.methods.items()
    }
    facts = [Atom(existing, (each.name,)) for each in source.all_objects if types.is_a(each.types, guards.types)]
    classical = replace(classical, initial=tuple(dict.fromkeys((*classical.initial, *facts))))
    domain = replace(problem.domain, classical=classical.domain, methods=methods)
    return replace(problem, domain=domain, classical=classical)


def add_placeholders_of_steps(problem: HtnProblem, steps: Iterable[Step]) -> HtnProblem:
    """Return `problem` with the objects that `steps` create as placeholders; as it is if no action creates objects."""
    return replace_classical(problem, object_creation.for_steps(problem.classical, steps))


def add_reachable_placeholders(problem: HtnProblem) -> HtnProblem:
    """Return `problem` with enough placeholders for relaxed reachability; as it is if no action creates objects.

    See `planner.compilations.creation_rounds.add_enough_placeholders`; methods are rules, too.
    """
    if not creates_objects(problem.classical.domain):
        return problem
    types = TypeHierarchy(problem.classical.domain.types)
    scopes = [problem.parameters, *(each.parameters for each in problem.domain.methods.values())]
    counts = {
        kind: max(size, *(sum(types.is_a((kind,), each.types) for each in scope) for scope in scopes))
        for kind, size in rule_sizes(problem.classical).items()
    }
    return replace_classical(problem, object_creation.add_placeholders(problem.classical, counts))


def solve_with_creation(problem: HtnProblem, options: SolveOptions, solve: Solve) -> Result | None:
    """Plan with placeholders for the objects that actions create, and let `solve` answer for each number of these.

    OPTIMAL and UNSOLVABLE hold for any number of created objects. Returns None where no action creates objects.
    """
    if not creates_objects(problem.classical.domain):
        return None
    return _HtnRounds(problem, options, solve).solve_within_limits()


class _HtnRounds(CreationRounds):
    """Rounds with ever more placeholders for hierarchical problems, which methods may name in any place."""

    def prepare(self) -> tuple[list[Creation], int]:
        """Return what the actions create which the tasks may lead to; the first round allows one creating step."""
        actions = self.problem.classical.domain.actions
        return creations_of([actions[name] for name in _reachable_actions(self.problem)], self.problem.classical), 1

    def add_placeholders(self, steps: Mapping[str, int]) -> HtnProblem:
        """Return the problem with placeholders for so many creating steps of each type."""
        each = object_creation.created_types(self.problem.classical.domain.actions.values())
        counts = {kind: number * each[kind] for kind, number in steps.items()}
        return replace_classical(
            self.problem, object_creation.compile_object_creation(self.problem.classical, counts).problem
        )

    def map_plan(self, plan: Plan) -> Plan:
        """Return `plan`, of a problem with placeholders, as a plan of the problem."""
        return object_creation.map_plan_back(plan, self.problem)

    def check_plan(self, plan: Plan) -> Verdict:
        """Return what the independent checker says about `plan`."""
        if self.problem.classical.unknown:
            from htn.verification.supposed_plans import verify_on_suppositions

            return verify_on_suppositions(self.problem, plan)
        return validate(self.problem, plan)

    def is_proved(self, steps: int) -> bool:
        """Return whether the tasks lead to nothing that creates, or cannot be done even with deletes ignored.

        Where facts are unknown, that is not looked at.
        """
        from htn.explain.impossible_tasks import is_impossible

        if self.creates_nothing:
            return True
        is_first = steps == 1 and not self.problem.classical.unknown
        return is_first and is_impossible(add_reachable_placeholders(self.problem), self.limits)


def _reachable_actions(problem: HtnProblem) -> list[str]:
    """Return the names of the actions that some decomposition of the initial tasks may contain."""
    domain = problem.domain
    found = dict.fromkeys([each.task.predicate for each in problem.network.subtasks])
    open_names = list(found)
    while open_names:
        for method in domain.methods_for(open_names.pop()):
            fresh = [each.task.predicate for each in method.network.subtasks if each.task.predicate not in found]
            found.update(dict.fromkeys(fresh))
            open_names += dict.fromkeys(fresh)
    return [name for name in found if name in domain.classical.actions]
