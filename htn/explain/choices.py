"""Which methods may do a task: as the relaxed world says, or where that is too large, as one state says."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice

from htn.explain.reach import Reach, unified
from htn.model import HtnDomain, HtnProblem, Method
from htn.needs import Needs
from htn.rooted import rooted
from planner.annotations import Final, Protocol
from planner.model import And, Atom
from planner.normalise import to_adl
from planner.records import replace
from planner.validate import Simulation
from planner.validate.conditions import Condition, Universe

LOOKED_AT: Final = 12
"""So many choices of objects are looked at for each method, where the relaxed world does not say which may do."""

Choice = tuple[Method, dict[str, str]]
"""A method, and what its parameters stand for."""


class Choices(Protocol):
    """The methods for tasks."""

    domain: HtnDomain

    @property
    def are_all(self) -> bool:
        """Whether nothing else can ever do a task."""

    def of(self, task: Atom, world: Simulation) -> Iterator[Choice]:
        """Yield what may do the ground `task`, which begins in `world`."""


class PossibleChoices:
    """What may do a task in any state, as the relaxed world says."""

    are_all = True

    def __init__(self, reach: Reach) -> None:
        self.domain = reach.domain
        self._reach = reach

    def of(self, task: Atom, _world: Simulation) -> Iterator[Choice]:
        """Yield what may do the ground `task` in any state."""
        for method in self.domain.methods_for(task.predicate):
            for binding in self._reach.choices(method, task):
                subtasks = [each.task.substitute(binding) for each in method.network.subtasks]
                if all(map(self._reach.may_be_done, subtasks)):
                    yield method, binding


class FirstChoices:
    """Some of what may do a task in one state; first, what its subtasks need and do not bring about holds there."""

    are_all = False

    def __init__(self, problem: HtnProblem) -> None:
        classical = to_adl(problem.classical)
        self.domain: HtnDomain = replace(rooted(problem), classical=classical.domain)
        self._needs = Needs(self.domain, problem.classical.all_objects, alone=problem.is_ordered)
        self._conditions: dict[str, tuple[Condition, Condition]] = {}

    def of(self, task: Atom, world: Simulation) -> Iterator[Choice]:
        """Yield what may do the ground `task` in the state of `world`; where that is nothing, what fits its types."""
        for method in self.domain.methods_for(task.predicate):
            bound = unified(method.task, task)
            if bound is None or not self._is_typed(method, task, bound, world.rules.universe):
                continue
            free = tuple([each for each in method.parameters if each.name not in bound])
            domains = world.rules.universe.domains(free)
            solutions = [
                world.world.solver.solutions([condition], domains, bound) for condition in self._asked(method, world)
            ]
            found: dict[tuple[str, ...], None] = {}
            for binding in islice(chain(*solutions), LOOKED_AT):
                row = tuple([binding[each.name] for each in method.parameters])
                if row not in found:
                    found[row] = None
                    yield method, binding

    def _is_typed(self, method: Method, task: Atom, bound: dict[str, str], universe: Universe) -> bool:
        """Return whether the arguments of `task` have the types of its parameters, and of those of `method`."""
        declared = self.domain.tasks[task.predicate].parameters
        pairs = [*zip(declared, task.args, strict=True)]
        pairs += [(each, bound[each.name]) for each in method.parameters if each.name in bound]
        return all(value in universe.of_types(each.types) for each, value in pairs)

    def _asked(self, method: Method, world: Simulation) -> tuple[Condition, Condition]:
        """Return what must hold as `method` begins: with what its subtasks need, and then without."""
        if method.name not in self._conditions:
            own = (method.precondition, method.network.constraints)
            compiled = world.rules.compiler.compile
            self._conditions[method.name] = (
                compiled(And((*own, *self._needs.of_method(method)))),
                compiled(And(own)),
            )
        return self._conditions[method.name]
