"""Instances of actions and axioms that fail by as little as possible.

A conjunctive query over the facts that may hold, in which some atoms may be skipped: what is skipped is what the
instance lacks. The number of skipped atoms grows until there are instances, so those that lack least come first.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from planner.explain.providers import Provider
from planner.explain.relaxed import Literals, Relaxed, fewest
from planner.grounding.joins import Relation, Row, getter
from planner.model import Atom, Equals, Literal, Not, Term, Variable, is_variable
from planner.model.formulas import substitute

INSTANCES: Final = 12
"""How many instances of a provider are looked at for each number of conditions that they lack."""
WORK: Final = 20_000
"""How many partial instances are looked at before the search for more is given up."""

Binding = dict[Term, Term]


@dataclass(frozen=True, slots=True)
class NearMiss:
    """An instance of a provider, and the literals that it `lacks`: none of them may ever hold.

    `needs` are all literals that it requires, apart from those inside disjunctions and quantifiers.
    """

    provider: Provider
    label: str
    lacks: Literals
    needs: Literals


def near_misses(provider: Provider, target: Literal, relaxed: Relaxed) -> list[NearMiss]:
    """Return instances of `provider` that would make `target` true and lack least, or one condition more than least.

    Instances that lack `target` itself come last, and only where there are no others.
    """
    search = _Search(provider, relaxed)
    found: dict[NearMiss, None] = {}
    circular: dict[NearMiss, None] = {}
    least = len(provider.condition.atoms)
    for skips in range(len(provider.condition.atoms) + 1):
        if skips > least + 1:
            break
        for binding in provider.unify(target):
            for count, miss in enumerate(search.instances(binding, skips)):
                if target in miss.lacks:
                    circular[miss] = None
                else:
                    found[miss] = None
                    least = min(least, len(miss.lacks))
                if count >= INSTANCES:
                    break
    nearest = sorted(found or circular, key=lambda miss: len(miss.lacks))
    return [miss for miss in nearest if not found or len(miss.lacks) <= least + 1][:INSTANCES]


@dataclass(slots=True)
class _Search:
    provider: Provider
    relaxed: Relaxed
    work: int = WORK

    def instances(self, start: Binding, skips: int) -> Iterator[NearMiss]:
        """Yield the instances that extend `start` and skip exactly `skips` atoms, none of which may hold."""
        atoms = frozenset(self.provider.condition.atoms)
        stack: list[tuple[Binding, frozenset[Atom], frozenset[Atom]]] = [(start, atoms, frozenset())]
        while stack and self.work > 0:
            self.work -= 1
            binding, atoms, skipped = stack.pop()
            if not self._fits(binding):
                continue
            if len(atoms) + len(skipped) == skips:
                yield from self._finished(binding, atoms | skipped)
                continue
            atom = min(atoms, key=lambda atom: self._price(atom, binding))
            rest = atoms - {atom}
            if len(skipped) < skips:
                stack.append((binding, rest, skipped | {atom}))
            for row in matching(self.relaxed.relation(atom.predicate), atom, binding):
                extended = _extended(atom, row, binding)
                if extended is not None:
                    stack.append((extended, rest, skipped))

    def _price(self, atom: Atom, binding: Binding) -> tuple[int, int, str]:
        open_args = sum(is_variable(arg) and arg not in binding for arg in atom.args)
        return open_args, len(self.relaxed.relation(atom.predicate).rows), str(atom)

    def _fits(self, binding: Binding) -> bool:
        """Return whether what is bound so far has the right types and satisfies the (in)equalities."""
        self.relaxed.budget.check()
        condition = self.provider.condition
        return (
            all(
                (binding[variable.name],) in self.relaxed.database.type_relation(variable.types).rows
                for variable in self.provider.variables
                if variable.name in binding
            )
            and all(_compared(test, binding) is not False for test in condition.equal)
            and all(_compared(test, binding) is not True for test in condition.unequal)
        )

    def _finished(self, binding: Binding, skipped: frozenset[Atom]) -> Iterator[NearMiss]:
        free: tuple[Variable, ...] = tuple([v for v in self.provider.variables if v.name not in binding])
        for values in self.relaxed.bindings(free):
            self.work -= 1
            if self.work <= 0:
                return
            full = binding | values
            missing = [atom.substitute(full) for atom in self.provider.condition.atoms if atom in skipped]
            if self._fits(full) and not any(map(self.relaxed.may, missing)):
                yield from self._lacking(full, missing)

    def _lacking(self, binding: Binding, missing: list[Atom]) -> Iterator[NearMiss]:
        """Yield the instance with what it lacks: for disjunctions there are alternatives."""
        condition = self.provider.condition
        negated = [Not(atom.substitute(binding)) for atom in condition.negated]
        alternatives: list[Literals] = [(*missing, *[literal for literal in negated if not self.relaxed.may(literal)])]
        for formula in condition.residual:
            more = self.relaxed.lacks(substitute(formula, binding))
            alternatives = fewest(one + other for one in alternatives for other in more)
        label = self.provider.label(binding)
        needs: Literals = (*[atom.substitute(binding) for atom in condition.atoms], *negated)
        yield from (NearMiss(self.provider, label, lacks, needs) for lacks in alternatives)


def _compared(test: Equals, binding: Binding) -> bool | None:
    left, right = binding.get(test.left, test.left), binding.get(test.right, test.right)
    return None if is_variable(left) or is_variable(right) else left == right


def matching(relation: Relation, atom: Atom, binding: Binding) -> Iterator[Row]:
    """Yield the rows of `relation` that agree with what is bound in `atom`."""
    args = tuple([binding.get(arg, arg) for arg in atom.args])
    key = tuple([place for place, arg in enumerate(args) if not is_variable(arg)])
    if len(key) == len(args):
        if args in relation.rows:
            yield args
        return
    found = relation.index(key, tuple(range(len(args)))).get(getter(key)(args), ())
    yield from ((row,) if len(args) == 1 else row for row in found)


def _extended(atom: Atom, row: Row, binding: Binding) -> Binding | None:
    extended = dict(binding)
    for arg, value in zip(atom.args, row, strict=True):
        if is_variable(arg) and extended.setdefault(arg, value) != value:
            return None
    return extended
