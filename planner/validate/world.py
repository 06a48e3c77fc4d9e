"""The facts that hold in a state, derived ones included: each stratum is computed when it is first asked for.

Inside a stratum, a new fact is joined with the rest of the axioms that mention it (semi-naive evaluation); an axiom
that mentions the stratum inside `forall` is evaluated again instead.
"""

from __future__ import annotations

from collections.abc import Iterable

from planner.model import Atom
from planner.validate.solver import Solver, unified
from planner.validate.state import Row, State, Table
from planner.validate.strata import Axioms, Rule, Stratum, Trigger

Found = list[tuple[str, Row]]


class World:
    """A state together with what its axioms derive."""

    def __init__(self, state: State, axioms: Axioms) -> None:
        self.state = state
        self.axioms = axioms
        self.solver = Solver(self.table)
        self._derived: dict[str, Table] = {}

    def table(self, predicate: str) -> Table:
        """Return the rows of `predicate`, base or derived; not to be changed."""
        if predicate not in self.axioms:
            return self.state.table(predicate)
        if predicate not in self._derived:
            for stratum in self.axioms.needed(predicate):
                if not stratum.predicates <= self._derived.keys():
                    self._derive(stratum)
        return self._derived[predicate]

    def update(self, removed: Iterable[Atom], added: Iterable[Atom]) -> None:
        """Change the state; what is derived from other predicates stays as it was computed."""
        removed, added = list(removed), list(added)
        self.state.update(removed, added)
        if self._derived:
            touched = {fact.predicate for fact in (*removed, *added)}
            stale = [name for name in self._derived if not touched.isdisjoint(self.axioms.reads(name))]
            for name in stale:
                del self._derived[name]

    def copy(self) -> World:
        """Return a world of its own with the same facts."""
        return World(self.state.copy(), self.axioms)

    def enter(self, predicate: str, row: Row) -> None:
        """Take in a derived fact, after those that it is derived from."""
        self._derived[predicate].add(row)

    def _derive(self, stratum: Stratum) -> None:
        for predicate in stratum.predicates:
            self._derived[predicate] = Table()
        rules = stratum.rules
        while found := [fact for rule in rules for fact in self._applied(rule)]:
            self._close(stratum, found)
            rules = stratum.hidden

    def _close(self, stratum: Stratum, found: Found) -> None:
        """Add the facts of `found`, and what they trigger."""
        while found:
            predicate, row = found.pop()
            if row not in self._derived[predicate].rows:
                self.enter(predicate, row)
                for trigger in stratum.triggers.get(predicate, ()):
                    found.extend(self._triggered(trigger, row))

    def _applied(self, rule: Rule) -> Found:
        """Return the new facts that `rule` gives."""
        known = self._derived[rule.predicate].rows
        solutions = self.solver.solutions([rule.condition], rule.domains, {})
        rows = {tuple([solution[name] for name in rule.domains]): None for solution in solutions}
        return [(rule.predicate, row) for row in rows if row not in known]

    def _triggered(self, trigger: Trigger, row: Row) -> Found:
        binding = unified(trigger.lookup.args, row, trigger.domains, {})
        if binding is None:
            return []
        known = self._derived[trigger.rule.predicate].rows
        head = trigger.rule.domains
        solutions = self.solver.solutions(trigger.rest, head, binding, trigger.domains)
        rows = [tuple([solution[name] for name in head]) for solution in solutions]
        return [(trigger.rule.predicate, row) for row in rows if row not in known]
