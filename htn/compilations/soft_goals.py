"""Wishes of hierarchical problems, which a plan may forgo: soft goals and soft constraints.

After all other tasks comes one for each wish, in a row. It has two methods: one finds the wish to hold, the other
forgoes it at the cost of its utility (Keyder and Geffner, 2009, do so in classical planning). A plan that costs least
has the most net benefit then.

Constraints on what a decomposition does become conditions and effects of actions, as in classical plans.
"""

from __future__ import annotations

from collections.abc import Collection

from htn.model import HtnDomain, HtnProblem, Method, Network, Subtask, Task
from htn.plan import Decomposition, Node
from htn.verification.validate import validate
from planner.compilations import Compilation, same_steps
from planner.compilations.soft_goals import WishSolver, budget_spending, forgo_name, grant_name
from planner.compilations.trajectory_constraints import compile_constraints as compile_classical_constraints
from planner.lightweight import Final, replace
from planner.model import COST, Action, Atom, Goal, Metric
from planner.options import Solve, SolveOptions
from planner.plan import Plan, Result
from planner.validation.verdict import Verdict


def compile_constraints(problem: HtnProblem) -> Compilation:
    """Compile hard constraints to actions that keep them, and soft ones to soft goals; plans keep their steps."""
    if not problem.classical.constraints:
        return same_steps(problem, problem)
    classical = compile_classical_constraints(problem.classical).problem
    compiled = replace(problem, classical=classical, domain=replace(problem.domain, classical=classical.domain))
    return same_steps(compiled, problem)


_WISH: Final = "@wish-"


def compile_wishes(problem: HtnProblem) -> Compilation:
    """Compile to a problem without soft goals and without constraints.

    Special actions, one for each wish, whose names begin with `@`, follow the steps of a plan; mapping back leaves them
    out. What they cost is what the wishes are worth that the plan forgoes, if it costs the least.
    """
    plain = compile_constraints(problem).problem
    wishes = plain.classical.goal.soft
    classical = budget_spending(plain.classical) if COST in plain.classical.budgets else plain.classical
    special, tasks, methods = dict[str, Action](), dict[str, Task](), dict[str, Method]()
    for place, wish in enumerate(wishes):
        finding = Action(grant_name(place), requires=wish.condition, cost=(0,))
        name = f"{_WISH}{place}"
        tasks[name] = Task(name)
        for action in (finding, Action(forgo_name(place), cost=(wish.utility,))):
            special[action.name] = action
            methods[action.name] = Method(action.name, Atom(name), network=Network((Subtask(Atom(action.name)),)))
    actions = {each.name: _own(each, classical.metric) for each in classical.domain.actions.values()} | special
    classical = replace(
        classical,
        domain=replace(classical.domain, actions=actions),
        goal=Goal(classical.goal.hard),
        metric=Metric.COST,
    )
    domain = HtnDomain(
        classical.domain, {**plain.domain.tasks, **tasks}, {**plain.domain.methods, **methods}, plain.domain.inferred
    )
    compiled = replace(plain, domain=domain, classical=classical, network=_followed(plain.network, tasks))
    return Compilation(compiled, lambda plan: bare(plan, problem))


def _own(action: Action, metric: Metric) -> Action:
    return replace(action, cost=(1,)) if metric is Metric.LENGTH else action


def _followed(network: Network, names: Collection[str]) -> Network:
    """Return `network` with these tasks in a row after all others."""
    size = len(network.subtasks)
    first = [(place, size) for place in range(size) if names]
    row = [(place, place + 1) for place in range(size, size + len(names) - 1)]
    wishes = tuple([Subtask(Atom(name)) for name in names])
    return replace(network, subtasks=(*network.subtasks, *wishes), ordering=(*network.ordering, *first, *row))


def solve_with_wishes(problem: HtnProblem, options: SolveOptions, solve: Solve) -> Result:
    """Return the answer to `problem`, in which something is wished for; `solve` answers for problems without wishes."""
    return _HtnWishing(problem, compile_wishes(problem), options).answer(solve)


def bare(plan: Plan, problem: HtnProblem) -> Plan:
    """Return `plan` as one of `problem`: without the tasks, and the steps, that settle wishes."""
    own, tree = problem.classical.domain.actions, plan.tree
    plain = replace(plan, steps=tuple([step for step in plan.steps if step.action in own]), problem=problem)
    if tree is None:
        return plain
    kept = [place for place, node in enumerate(tree.nodes) if not node.task.predicate.startswith("@")]
    number = {place: new for new, place in enumerate(kept)}
    nodes = tuple([_renumbered(tree.nodes[place], number) for place in kept])
    return replace(plain, tree=Decomposition(nodes, _numbers(tree.roots, number), tree.binding))


class _HtnWishing(WishSolver):
    """Plans with a decomposition."""

    def verdict(self, plan: Plan) -> Verdict:
        """Return what the independent checker says about `plan`."""
        return validate(self.problem, plan)


def _renumbered(node: Node, number: dict[int, int]) -> Node:
    return replace(node, children=_numbers(node.children, number)) if node.children else node


def _numbers(places: tuple[int, ...], number: dict[int, int]) -> tuple[int, ...]:
    return tuple([number[place] for place in places if place in number])
