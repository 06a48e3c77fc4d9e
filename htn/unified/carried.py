"""A hierarchy carried through conversions of what is classical: tasks and methods as actions without effects.

What is done to actions on the way is then done to them, too: they get new names, and conditions in the place of types.
"""

from __future__ import annotations

from collections.abc import Mapping

from htn.model import HtnProblem, Method
from planner.model import Action, Atom, Equals, Formula, Problem, Term, TypeHierarchy, Variable
from planner.model.formulas import conjunction, conjuncts
from planner.pddl.parts import free_name
from planner.records import dataclass, replace


@dataclass(frozen=True, slots=True)
class Carried:
    """`problem` has the actions, and one more for each task, each of `methods`, and the network.

    Tasks keep their names; `methods` has, for each of the others, the name of the action that it is.
    """

    problem: Problem
    methods: Mapping[str, Method]
    network: str


def carried(problem: HtnProblem, classical: Problem) -> Carried:
    """Return the hierarchy of `problem` on board of `classical`, which is its classical part in plainer words.

    Arguments of the tasks of methods become parameters of just the types that the tasks have, each its own; where they
    were others in the method, constraints say what they are.
    """
    types = TypeHierarchy(classical.domain.types)
    tasks = problem.domain.tasks
    taken = {*classical.domain.actions, *tasks}
    methods = {
        free_name(method.name, taken): _with_plain_task(method, tasks[method.task.predicate].parameters, types)
        for method in problem.domain.methods.values()
    }
    network = free_name("network", taken)
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
        fresh.append(Variable(f"?{free_name(parameter.name[1:], taken)}", parameter.types))
        same.append(Equals(fresh[-1].name, argument))
        arguments.append(fresh[-1].name)
    constraints = conjunction([*conjuncts(method.network.constraints), *same])
    return replace(
        method,
        task=Atom(method.task.predicate, tuple(arguments)),
        parameters=(*method.parameters, *fresh),
        network=replace(method.network, constraints=constraints) if fresh else method.network,
    )
