"""From the ways of a depth-first search to a plan with its decomposition."""

from __future__ import annotations

from collections.abc import Sequence

from htn.grounding.ground import GroundMethod
from htn.lifted.machine import Machine, Way
from htn.lifted.tables import Row
from htn.model import HtnProblem
from htn.orders import linear
from htn.rooted import ROOT
from htn.search.trees import Instances, plan_of, tree_of
from planner.grounding.costs import cost_picker
from planner.grounding.joins import projector
from planner.model import Atom
from planner.plan import Plan, Step


def plan_by(ways: Sequence[Way], machine: Machine, problem: HtnProblem) -> Plan:
    """Return the plan in which tasks, in the order in which they begin, are done by `ways`."""
    names = _Names(machine, problem)
    chosen: list[GroundMethod] = []
    moves: list[int] = []
    left = [names.task(ROOT, ())]
    while left:
        task = left.pop()
        if task >= 0:
            moves.append(-1)
            continue
        _, method, binding = ways[len(chosen)]
        subtasks = names.subtasks(method, binding)
        moves.append(len(chosen))
        chosen.append(GroundMethod(machine.methods[method], binding, (), subtasks))
        left += [subtasks[place] for place in names.backwards[method]]
    instances = names.instances(chosen)
    return plan_of(tree_of(instances, [move + 1 for move in moves]), problem, instances)


class _Names:
    """Numbers for tasks as they turn up: actions from 0 up, compound tasks from -1 down."""

    def __init__(self, machine: Machine, problem: HtnProblem) -> None:
        self._actions = problem.domain.classical.actions
        self._costs = {name: cost_picker(action, problem.classical) for name, action in self._actions.items()}
        self._number: dict[tuple[str, Row], int] = {}
        self._steps: list[Step] = []
        self._compounds: list[Atom] = []
        self._subtasks = []
        self.backwards: list[list[int]] = []
        """For each method the places of its subtasks, the last first."""
        for method in machine.methods:
            names = [each.name for each in method.parameters]
            tasks = [each.task for each in method.network.subtasks]
            self._subtasks.append([(task.predicate, projector(task.args, names)) for task in tasks])
            self.backwards.append(linear(len(tasks), method.network.ordering)[::-1])

    def task(self, name: str, args: Row) -> int:
        """Return the number of a task."""
        found = self._number.get((name, args))
        if found is not None:
            return found
        if name in self._actions:
            number = len(self._steps)
            self._steps.append(Step(name, args, self._costs[name](args)))
        else:
            self._compounds.append(Atom(name, args))
            number = -len(self._compounds)
        self._number[name, args] = number
        return number

    def subtasks(self, method: int, binding: Row) -> tuple[int, ...]:
        """Return the numbers of the subtasks of a method."""
        return tuple([self.task(name, choose(binding)) for name, choose in self._subtasks[method]])

    def instances(self, methods: Sequence[GroundMethod]) -> Instances:
        """Return all that turned up, with numbers as there."""
        actions = len(self._steps)
        methods = [
            GroundMethod(
                each.method,
                each.binding,
                (),
                tuple([task if task >= 0 else actions - 1 - task for task in each.subtasks]),
            )
            for each in methods
        ]
        return Instances(self._steps, self._compounds, methods, actions)
