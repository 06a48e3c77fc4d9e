"""What may ever become true and what may ever become false, when deletes do no harm.

The relaxed world is the one of the delete relaxation, read for both signs: a fact may hold if it holds initially or
something that may happen adds it, and may fail if it fails initially or something that may happen deletes it. What is
impossible here is impossible in every reachable state.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator
from itertools import product
from typing import Final

from planner.budget import Budget
from planner.grounding.instantiate import RawAction, each_instance, instantiate_axioms
from planner.grounding.joins import Relation
from planner.grounding.literals import FactTable, RawRule
from planner.grounding.literals import Literal as Number
from planner.grounding.reachability import Database, Reachability
from planner.grounding.residual import Residuals
from planner.grounding.rules import axiom_rules, schema_rules
from planner.model import And, Atom, Equals, Exists, Forall, Formula, Literal, Not, Or, Term, Variable
from planner.model.formulas import substitute
from planner.normalise import NormalProblem

Literals = tuple[Literal, ...]
"""A set of literals, in the order in which conditions name them."""


class Relaxed:
    """The relaxed world of a problem in normal form; raises `LimitReached` while it is explored."""

    def __init__(self, normal: NormalProblem, budget: Budget) -> None:
        self.normal = normal
        self.budget = budget
        self.database = Database(normal.problem, normal.fluent | normal.derived)
        schemas, axioms = schema_rules(normal), axiom_rules(normal)
        reachability = Reachability(self.database, budget)
        reachability.run([rule for rules in schemas for rule in rules.reachable] + [axiom.rule for axiom in axioms])
        for effect in [effect for rules in schemas for effect in rules.effects if effect.deletes]:
            reachability.find(effect.rule)
        self._table = FactTable.of(self.database, self.database.growing)
        residuals = Residuals(self._table, self.database, budget)
        self.actions = each_instance(schemas, normal.problem, self._table, residuals, budget)
        rules = [*instantiate_axioms(axioms, self._table, residuals, budget), *residuals.rules]
        self._initial = self._table.holding(self.database.initial)
        derived = {rule.head for rule in rules}
        given = [*self._initial, *(~fact for fact in range(len(self._table.atoms)) if fact not in self._initial)]
        self._possible = _closure([*given, *(~fact for fact in derived)], _operators(self.actions, rules), budget)
        self._relations: dict[str, Relation] = {}

    def relation(self, predicate: str) -> Relation:
        """Return the facts of `predicate` that may hold."""
        if predicate not in self.database.growing:
            return self.database.relation(predicate)
        if predicate not in self._relations:
            numbers = self._table.numbers.get(predicate, {})
            self._relations[predicate] = Relation(row for row, number in numbers.items() if number in self._possible)
        return self._relations[predicate]

    def may(self, literal: Literal) -> bool:
        """Return whether the ground `literal` may hold in some reachable state."""
        if isinstance(literal, Atom):
            return literal.args in self.relation(literal.predicate).rows
        assert isinstance(literal.part, Atom)  # noqa: S101 - a literal is an atom or its negation
        if literal.part.predicate not in self.database.growing:
            return literal.part.args not in self.database.relation(literal.part.predicate).rows
        number = self._table.number(literal.part)
        return number is None or ~number in self._possible

    def bindings(self, variables: tuple[Variable, ...]) -> Iterator[dict[Term, Term]]:
        """Yield all choices of objects for `variables`."""
        names = [variable.name for variable in variables]
        for values in product(*(self.database.members(variable.types) for variable in variables)):
            yield dict(zip(names, values, strict=True))

    def lacks(self, formula: Formula) -> list[Literals]:  # noqa: PLR0911 - a case per construct
        """Return sets of literals that can never hold and each of which would let `formula` hold; smallest first.

        `formula` is ground and in negation normal form. There is no set at all where nothing would do, the empty one
        where nothing is lacking, and only some of the alternatives where they are many.
        """
        self.budget.check()
        match formula:
            case Atom():
                return [()] if self.may(formula) else [(formula,)]
            case Not(Atom()):
                return [()] if self.may(formula) else [(formula,)]
            case Equals(left, right):
                return [()] if left == right else []
            case Not(Equals(left, right)):
                return [()] if left != right else []
            case And(parts):
                return self._all(parts)
            case Or(parts):
                return self._some(parts)
            case Forall(variables, part):
                return self._all(substitute(part, binding) for binding in self.bindings(variables))
            case Exists(variables, part):
                return self._some(substitute(part, binding) for binding in self.bindings(variables))
        raise AssertionError(formula)

    def _all(self, parts: Iterable[Formula]) -> list[Literals]:
        found: list[Literals] = [()]
        for part in parts:
            more = self.lacks(part)
            if more != [()]:
                found = fewest(one + other for one in found for other in more)
            if not found:
                break
        return found

    def _some(self, parts: Iterable[Formula]) -> list[Literals]:
        found: list[Literals] = []
        for part in parts:
            found = fewest([*found, *self.lacks(part)])
            if found[:1] == [()]:
                return [()]
        return found


ALTERNATIVES: Final = 20
"""How many ways of making a condition possible are looked at."""


def fewest(sets: Iterable[Literals]) -> list[Literals]:
    """Return the smallest of `sets`, each literal once and each set once."""
    return sorted(dict.fromkeys(tuple(dict.fromkeys(literals)) for literals in sets), key=len)[:ALTERNATIVES]


Operator = tuple[list[Number], list[Number]]
"""What must be possible, and what then becomes possible."""


def _operators(actions: Iterable[RawAction], rules: Iterable[RawRule]) -> Iterator[Operator]:
    for action in actions:
        yield action.condition, [*action.adds, *(~fact for fact in action.deletes)]
        for effect in action.effects:
            yield [*action.condition, *effect.condition], [*effect.adds, *(~fact for fact in effect.deletes)]
    for rule in rules:
        yield list(rule.body), [rule.head]


ROUNDS: Final = 4096
"""So often the closure goes round between two looks at the limits: some milliseconds."""


def _closure(given: Iterable[Number], operators: Iterable[Operator], budget: Budget) -> set[Number]:
    """Return all literals that become possible; each operator counts the conditions that it still waits for.

    Raises `LimitReached`.
    """
    possible: set[Number] = set()
    queue = deque(given)
    waiting: dict[Number, list[int]] = defaultdict(list)
    missing: list[int] = []
    results: list[list[Number]] = []
    for number, (condition, result) in enumerate(operators):
        if not number % ROUNDS:
            budget.check()
        needed = set(condition)
        missing.append(len(needed))
        results.append(result)
        for literal in needed:
            waiting[literal].append(number)
        if not needed:
            queue.extend(result)
    while queue:
        literal = queue.popleft()
        if literal in possible:
            continue
        possible.add(literal)
        if not len(possible) % ROUNDS:
            budget.check()
        for number in waiting.pop(literal, ()):
            missing[number] -= 1
            if not missing[number]:
                queue.extend(results[number])
    return possible
