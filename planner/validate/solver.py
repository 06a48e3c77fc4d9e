"""Evaluation of conditions by backtracking joins: facts propose values, the rest of the condition tests them.

Which goal proposes next is decided anew at each step: the one with the fewest rows, or the variable with the fewest
objects. So a quantifier with a guard, `(forall (?x) (imply (at ?x ?y) …))`, looks at the facts of its guard and not
at all objects.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from math import inf

from planner.validate.conditions import All, Binding, Condition, Domains, Either, Lookup, Never, Same, Some
from planner.validate.state import Row, Table


class Solver:
    """Answers questions about one state, which `table` gives predicate by predicate."""

    def __init__(self, table: Callable[[str], Table]) -> None:
        self._table = table
        self._known: dict[tuple[Condition, Row], bool] = {}
        """Answers about quantifiers, by what their free variables stand for: they hold for one question."""

    def holds(self, condition: Condition, binding: Binding) -> bool:
        """Return whether `condition`, whose free variables are all bound, holds."""
        self._known = {}
        return self.decide(condition, binding)

    def decide(self, condition: Condition, binding: Binding) -> bool:
        """Return the same, as a part of another question about the same state."""
        match condition:
            case Lookup(predicate, args, positive):
                row = tuple([binding.get(arg, arg) for arg in args])
                return (row in self._table(predicate).rows) is positive
            case Same(left, right, positive):
                return (binding.get(left, left) == binding.get(right, right)) is positive
            case All(parts):
                return all(self.decide(part, binding) for part in parts)
            case Either(parts):
                return any(self.decide(part, binding) for part in parts)
            case Some(domains, part, free) | Never(domains, part, free):
                key = condition, tuple([binding[name] for name in free])
                if key not in self._known:
                    wide = Some(domains, part, free)
                    self._known[key] = next(self._solve([wide], {}, binding), None) is not None
                return self._known[key] is isinstance(condition, Some)

    def solutions(
        self, goals: Sequence[Condition], domains: Domains, binding: Binding, others: Domains | None = None
    ) -> Iterator[Binding]:
        """Yield extensions of `binding` to all variables of `domains` under which all `goals` hold; one may come twice.

        `others` are the domains of free variables that only have to have some value. The tables must not change in
        the meantime.
        """
        self._known = {}
        for solution in self._solve(list(goals), domains | others if others else domains, binding):
            missing = [name for name in domains if name not in solution]
            for values in product(*(domains[name] for name in missing)):
                yield {**solution, **dict(zip(missing, values, strict=True))}

    def _solve(self, goals: list[Condition], domains: Domains, binding: Binding) -> Iterator[Binding]:
        pending: list[Condition] = []
        while goals:
            goal = goals.pop()
            if isinstance(goal, All):
                goals.extend(reversed(goal.parts))
            elif isinstance(goal, Some):
                if not all(goal.domains.values()):
                    return
                domains = {**domains, **goal.domains}
                goals.append(goal.part)
            elif goal.free <= binding.keys():
                if not self.decide(goal, binding):
                    return
            else:
                pending.append(goal)
        if pending:
            yield from self._branch(pending, domains, binding)
        else:
            yield binding

    def _branch(self, pending: list[Condition], domains: Domains, binding: Binding) -> Iterator[Binding]:
        if len(pending) == 1 and isinstance(pending[0], Lookup) and pending[0].positive:
            yield from self._proposals(pending[0], domains, binding)
            return
        sizes = [self._size(goal, binding) for goal in pending]
        best = min(range(len(pending)), key=sizes.__getitem__)
        variable = min(
            (name for goal in pending for name in goal.free if name not in binding),
            key=lambda name: (len(domains[name]), name),
        )
        if sizes[best] > len(domains[variable]):
            for value in domains[variable]:
                yield from self._solve(list(pending), domains, {**binding, variable: value})
            return
        goal, rest = pending[best], [*pending[:best], *pending[best + 1 :]]
        if isinstance(goal, Either):
            for part in goal.parts:
                yield from self._solve([*rest, part], domains, binding)
            return
        for extended in self._proposals(goal, domains, binding):
            yield from self._solve(list(rest), domains, extended)

    def _size(self, goal: Condition, binding: Binding) -> float:  # noqa: PLR0911 - a case per construct
        """Return how many bindings `goal` would propose: infinitely many where it can only test."""
        match goal:
            case Lookup() | Same() if goal.free <= binding.keys():
                return inf if self.decide(goal, binding) else 0
            case Lookup(_, _, True):
                return len(self._table(goal.predicate).matching(*bound_part(goal.args, binding)))
            case Same(left, right, True):
                return 1 if left in binding or right in binding or not goal.free >= {left, right} else inf
            case All(parts):
                return min((self._size(part, binding) for part in parts), default=inf)
            case Either(parts):
                return sum(self._size(part, binding) for part in parts)
            case Some(_, part):
                return self._size(part, binding)
            case _:
                return inf

    def _proposals(self, goal: Condition, domains: Domains, binding: Binding) -> Iterator[Binding]:
        match goal:
            case Lookup(predicate, args):
                rows = self._table(predicate).matching(*bound_part(args, binding))
                matches = (unified(args, row, domains, binding) for row in rows)
                yield from (extended for extended in matches if extended is not None)
            case Same(left, right):
                left, right = binding.get(left, left), binding.get(right, right)
                name, value = (left, right) if left in domains else (right, left)
                if value in domains[name]:
                    yield {**binding, name: value}


def bound_part(args: tuple[str, ...], binding: Binding) -> tuple[tuple[int, ...], Row]:
    """Return the positions in `args` whose values are known, and the values."""
    known = [(i, binding.get(arg, arg)) for i, arg in enumerate(args) if arg in binding or not arg.startswith("?")]
    return tuple([i for i, _ in known]), tuple([value for _, value in known])


def unified(args: tuple[str, ...], row: Row, domains: Domains, binding: Binding) -> Binding | None:
    """Return `binding` extended so that `args` become `row`, or None where names or types do not allow it."""
    extended = binding.copy()
    for arg, value in zip(args, row, strict=True):
        if not arg.startswith("?"):
            if arg != value:
                return None
        elif extended.setdefault(arg, value) != value or (arg not in binding and value not in domains[arg]):
            return None
    return extended
