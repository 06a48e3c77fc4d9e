"""What may hold, and what must, in every order in which the steps of a plan could run."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from planner.model import Atom
from planner.validate.conditions import Binding, Condition, Lookup, Never, Some
from planner.validate.solver import Solver
from planner.validate.state import State, Table
from planner.validate.strata import Axioms
from planner.validate.world import World


class PossibleSolver(Solver):
    """Answers "may it hold in any of these states?": `table` gives what holds in some, `certain` what holds in all."""

    def __init__(self, table: Callable[[str], Table], certain: Callable[[str], Table]) -> None:
        super().__init__(table)
        self._certain = certain
        self.opposite = self

    def decide(self, condition: Condition, binding: Binding) -> bool:
        """Return whether `condition`, whose free variables are all bound, may hold."""
        match condition:
            case Lookup(predicate, args, False):
                return tuple([binding.get(arg, arg) for arg in args]) not in self._certain(predicate).rows
            case Never(domains, part, free):
                return not self.opposite.holds(Some(domains, part, free), binding)
            case _:
                return super().decide(condition, binding)


def possible_world(possible: Iterable[Atom], certain: Iterable[Atom], axioms: Axioms) -> World:
    """Return a world that answers for every state between the facts `certain` and the facts `possible`."""
    upper, lower = World(State(possible), axioms), World(State(certain), axioms)
    upper.solver = may = PossibleSolver(upper.table, lower.table)
    lower.solver = must = PossibleSolver(lower.table, upper.table)
    may.opposite, must.opposite = must, may
    return upper
