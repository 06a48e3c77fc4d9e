"""Networks of unified-planning: subtasks, what orders them, and what else is asked of their arguments.

There, one list of constraints has both kinds: comparisons of points in time, which order the subtasks, and conditions
on the parameters, which may be any that read no fluent.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from graphlib import CycleError
from typing import TYPE_CHECKING, Any

from unified_planning.model import TimepointKind
from unified_planning.model.walkers import AnyChecker

from htn.model import Network, Subtask
from htn.orders import Order, linear
from planner.engines.incoming.formulas import FormulaReader
from planner.errors import InputError, UnsupportedError
from planner.model import Atom, Equals, Formula, Not, Term, is_variable
from planner.model.formulas import conjunction, conjuncts, free_variables

if TYPE_CHECKING:
    from unified_planning.model import FNode
    from unified_planning.model.htn import Subtask as ForeignSubtask
    from unified_planning.model.htn.task_network import AbstractTaskNetwork


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
        parts = [part for constraint in source.constraints for part in _flat(constraint)]
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
            linear(len(places), found)
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


def _flat(constraint: FNode) -> Iterator[FNode]:
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
