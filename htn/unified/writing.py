"""Tasks, methods and networks written into a problem of unified-planning."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from unified_planning.model.htn import HierarchicalProblem, Subtask, Task, TaskNetwork
from unified_planning.model.htn import Method as ForeignMethod

from htn.model import Method, Network
from planner.engines.outgoing.formulas import Scope
from planner.engines.outgoing.problem import Writing
from planner.model import TRUE, Formula, Problem
from planner.model.formulas import conjuncts
from planner.pddl.names import Names, legal
from planner.pddl.parts import free_name
from planner.pddl.renamed import Renaming

if TYPE_CHECKING:
    from unified_planning.model.htn.task_network import AbstractTaskNetwork


class HtnWriting:
    """Writes into `target`: first what is classical, of which `actions` are the real ones, then task by task.

    The others of the actions in `source` were made by `htn.unified.carried`; `names` says what all are called now.
    """

    def __init__(self, source: Problem, names: Names, target: HierarchicalProblem, actions: Collection[str]) -> None:
        self._source = source
        self._names = names
        self._rename = Renaming(names)
        self._target = target
        self._environment = target.environment
        target._initial_task_network = TaskNetwork(target.environment)  # noqa: SLF001 - it is made in the global one
        self._writing = Writing(source, target, [names.actions[name] for name in actions])
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
        self._fill(found, action.requires, method.network)
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
        top = self._target.add_task(Task(free_name(f"{action.name}-task", names), [], self._environment))
        above = ForeignMethod(action.name, self._writing.parameters(action.parameters), self._environment)
        above.set_task(top)
        self._fill(above, action.requires, network)
        self._target.add_method(above)
        initial.add_subtask(Subtask(top, ident="t1", _env=self._environment))
        return True

    def _fill(self, method: ForeignMethod, condition: Formula, network: Network) -> None:
        scope = self._writing.scope(method.parameters)
        for part in conjuncts(condition):
            method.add_precondition(self._writing.writer.formula(part, scope))
        self._add_subtasks(method, network, scope)

    def _add_subtasks(self, target: AbstractTaskNetwork, network: Network, scope: Scope) -> None:
        labels = _labels(network)
        subtasks = []
        for each, label in zip(network.subtasks, labels, strict=True):
            arguments = [self._writing.writer.term(self._rename.term(term), scope) for term in each.task.args]
            head = self._head(self._names.actions[each.task.predicate])
            subtasks.append(target.add_subtask(Subtask(head, *arguments, ident=label, _env=self._environment)))
        for before, after in network.ordering:
            target.set_strictly_before(subtasks[before], subtasks[after])
        for part in conjuncts(self._rename.formula(network.constraints)):
            target.add_constraint(self._writing.writer.formula(part, scope))

    def _head(self, name: str) -> Any:
        return self._target.get_task(name) if self._target.has_task(name) else self._target.action(name)


def _labels(network: Network) -> list[str]:
    """Return legal labels for the subtasks, all different: their own where they are such."""
    taken: set[str] = set()
    return [free_name(legal(each.label or f"t{place}"), taken) for place, each in enumerate(network.subtasks, start=1)]
