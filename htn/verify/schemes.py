"""Methods made ready for the checker: patterns that a binding fills, and what is to be looked up in a state."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from htn.model import Method, Task
from htn.orders import linear
from planner.annotations import Final
from planner.model import And, Atom
from planner.records import dataclass
from planner.validate.conditions import Binding, Condition, Domains
from planner.validate.ready import Test, filler, split
from planner.validate.simulation import Simulation
from planner.validate.state import Row

MOST_KEPT: Final = 50_000
"""So many bindings of a method are kept ready."""

Values = tuple[str | None, ...]
"""What the parameters of a method stand for; None is open."""


@dataclass(frozen=True, slots=True, eq=False)
class Instance:
    """A method with its binding: what its task and its subtasks are, and what must hold when it begins.

    `tests` and `rest` are what has no open parameters, `pending` what has; `domains` are those of open parameters, and
    `objects` what all stand for where none is open.
    """

    task: Row
    subtasks: list[tuple[str, Row]]
    tests: tuple[Test, ...]
    rest: tuple[Condition, ...]
    pending: tuple[Condition, ...]
    binding: Binding
    domains: Domains
    objects: Row | None


class Scheme:
    """A method made ready; `task` is what it is for, None where it stands for the initial network."""

    def __init__(self, method: Method, task: Task | None, simulation: Simulation) -> None:
        rules = simulation.rules
        self._names = [parameter.name for parameter in method.parameters]
        places = {name: place for place, name in enumerate(self._names)}
        atoms = [method.task, *(subtask.task for subtask in method.network.subtasks)]
        self.task = method.task.predicate
        self.is_sequence = method.network.is_sequence
        self.backwards = linear(len(method.network.subtasks), method.network.ordering)[::-1]
        """The places of the subtasks, the last to be done first."""
        self._fill_task = filler(method.task.args, places)
        self._subtasks = [(atom.predicate, filler(atom.args, places)) for atom in atoms[1:]]
        self._types = [rules.universe.of_types(parameter.types) for parameter in method.parameters]
        self._task_types = [rules.universe.of_types(each.types) for each in task.parameters] if task else []
        condition = rules.compiler.compile(And((method.precondition, method.network.constraints)))
        lookups, self._rest = split(condition, rules.axioms.__contains__)
        self._lookups = [(each, filler(each.args, places)) for each in lookups]
        self._sources = [_source(name, atoms) for name in self._names]
        self._instances: dict[Values, Instance | None] = {}

    def values(self, binding: Row, task: Atom, subtasks: Sequence[Atom]) -> Values | None:
        """Return what the parameters stand for: `binding`, or if that is empty, what shows in the tasks.

        None where there are too many or too few.
        """
        if len(binding) == len(self._names):
            return binding
        if binding:
            return None
        rows = [task.args, *(each.args for each in subtasks)]
        try:
            return tuple([None if found is None else rows[found[0]][found[1]] for found in self._sources])
        except IndexError:
            return None

    def instance(self, values: Values) -> Instance | None:
        """Return the method with these `values` for its parameters; None where they are not of its types."""
        if values not in self._instances:
            if len(self._instances) >= MOST_KEPT:
                self._instances.clear()
            self._instances[values] = self._made(values)
        return self._instances[values]

    def solution(self, instance: Instance, simulation: Simulation) -> Row | None:
        """Return objects for all parameters with which the method can begin now; None where there are none."""
        solver = simulation.world.solver
        if instance.rest and not all(solver.holds(part, instance.binding) for part in instance.rest):
            return None
        if instance.objects is not None:
            return instance.objects
        found = next(solver.solutions(instance.pending, instance.domains, instance.binding), None)
        return None if found is None else tuple([found[name] for name in self._names])

    def _made(self, values: Values) -> Instance | None:
        if not all(value is None or value in types for value, types in zip(values, self._types, strict=True)):
            return None
        pairs = list(zip(self._names, values, strict=True))
        binding = {name: value for name, value in pairs if value is not None}
        row: Row = tuple(map(str, values))  # what is open occurs in no task
        task = self._fill_task(row)
        if len(task) != len(self._task_types) or not all(map(dict.__contains__, self._task_types, task)):
            return None
        open_types = {name: types for (name, value), types in zip(pairs, self._types, strict=True) if value is None}
        known = [(each, fill) for each, fill in self._lookups if each.free <= binding.keys()]
        rest = [part for part in self._rest if part.free <= binding.keys()]
        lookups = (each for each, _ in self._lookups)
        return Instance(
            task,
            [(predicate, fill(row)) for predicate, fill in self._subtasks],
            tuple([(each.predicate, fill(row), each.positive) for each, fill in known]),
            tuple(rest),
            tuple([part for part in chain(lookups, self._rest) if not part.free <= binding.keys()]),
            binding,
            open_types,
            None if open_types else row,
        )


def _source(name: str, atoms: list[Atom]) -> tuple[int, int] | None:
    """Return where the parameter `name` occurs first: in which of `atoms`, and at which of its arguments."""
    return next(
        ((number, atom.args.index(name)) for number, atom in enumerate(atoms) if name in atom.args),
        None,
    )
