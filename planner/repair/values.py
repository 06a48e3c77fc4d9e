"""What items were at some time before, as conditions that hold again once they are restored."""

from __future__ import annotations

from collections.abc import Iterator

from planner.errors import InputError, did_you_mean
from planner.model import OPEN, And, Atom, DomainModel, Equals, Forall, Formula, Imply, Not, Or, Term, Variable
from planner.model.formulas import conjunction
from planner.records import dataclass
from planner.repair.covering import Covered
from planner.validate.state import State


@dataclass(frozen=True, slots=True)
class Values:
    """The facts of `state`, that of the time; what an item of `exempt` covers does not count."""

    domain: DomainModel
    state: State
    exempt: Covered

    def held(self, fact: Atom) -> bool:
        """Return whether `fact` held."""
        return fact in self.state

    def wish(self, item: Atom) -> Formula:
        """Return that what `item` covers is as it was: what held does, and nothing else.

        Raises `InputError` for an item that the domain does not have.
        """
        predicate = self.domain.predicates.get(item.predicate)
        if predicate is None or len(predicate.parameters) != len(item.args):
            hint = did_you_mean(item.predicate, self.domain.predicates)
            raise InputError(f"{item} is no item of domain '{self.domain.name}'", hint=hint)
        held = [fact for fact in sorted(self.state.matching(item), key=str) if not self._is_exempt(fact)]
        if OPEN not in item.args:
            exempt = self._is_exempt(item)
            return And() if exempt else item if held else Not(item)
        variables = {
            place: Variable(f"?any{place}", parameter.types)
            for place, parameter in enumerate(predicate.parameters)
            if item.args[place] == OPEN
        }
        names = {place: variable.name for place, variable in variables.items()}
        atom = Atom(item.predicate, tuple([names.get(place, arg) for place, arg in enumerate(item.args)]))
        allowed = tuple([_same(names, pattern) for pattern in (*held, *self._exempt_within(item))])
        nothing_else = Forall(tuple(variables.values()), Imply(atom, Or(allowed)) if allowed else Not(atom))
        return conjunction([*held, nothing_else])

    def _is_exempt(self, fact: Atom) -> bool:
        return fact in self.exempt

    def _exempt_within(self, item: Atom) -> Iterator[Atom]:
        """Yield the exempt patterns that may cover facts that `item` covers."""
        for pattern in self.exempt.items:
            if pattern.predicate == item.predicate and all(
                OPEN in (mine, theirs) or mine == theirs for mine, theirs in zip(item.args, pattern.args, strict=True)
            ):
                yield pattern


def _same(names: dict[int, Term], pattern: Atom) -> Formula:
    """Return that the variables of these `names`, by place, are what `pattern` has there."""
    return And(tuple([Equals(name, arg) for place, name in names.items() if (arg := pattern.args[place]) != OPEN]))
