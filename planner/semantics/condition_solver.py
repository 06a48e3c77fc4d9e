"""States as indexed tables, and the evaluation of conditions in them by backtracking joins.

A state has a table of argument tuples for each predicate. `Compiler` moves negations to the leaves of a formula and
renames the variables of quantifiers apart:

    Condition = Lookup | Same | Compare | All | Either | Some | Never

`Never(x, c)` says that no x satisfies c: it stands for `not exists` and, with c negated, for `forall`.

`Solver` lets facts propose values for variables, and tests the rest of the condition. At each step it chooses what
proposes next: the lookup with the fewest rows, or the variable with the fewest objects. So a quantifier with a guard,
`(forall (?x) (imply (at ?x ?y) …))`, enumerates the facts of its guard and not all objects.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import count, product
from math import inf

from planner.lightweight import Final, dataclass
from planner.model import And, Atom, Comparison, Equals, Exists, Forall, Formula, Imply, Not, Or
from planner.model.domain import TypeHierarchy
from planner.model.formulas import OPEN, Variable, free_variables, is_variable
from planner.model.problem import Problem
from planner.semantics.numeric_state import Values

Row = tuple[str, ...]
Positions = tuple[int, ...]


class Table:
    """The rows of one predicate in the order of insertion; `add` and `discard` update each index once it is built."""

    __slots__ = ("_indexes", "rows")

    def __init__(self, rows: Iterable[Row] = ()) -> None:
        self.rows: dict[Row, None] = dict.fromkeys(rows)
        self._indexes: dict[Positions, dict[Row, dict[Row, None]]] = {}

    def add(self, row: Row) -> None:
        """Add `row` to the table."""
        self.rows[row] = None
        for positions, index in self._indexes.items():
            index.setdefault(tuple([row[i] for i in positions]), {})[row] = None

    def discard(self, row: Row) -> None:
        """Remove `row` from the table if it is there."""
        if row not in self.rows:
            return
        del self.rows[row]
        for positions, index in self._indexes.items():
            del index[tuple([row[i] for i in positions])][row]

    def matching(self, positions: Positions, key: Row) -> Collection[Row]:
        """Return the rows that have the values `key` at `positions`; valid until the table changes."""
        if not positions:
            return self.rows
        index = self._indexes.get(positions)
        if index is None:
            index = self._indexes[positions] = {}
            for row in self.rows:
                index.setdefault(tuple([row[i] for i in positions]), {})[row] = None
        return index.get(key, ())


EMPTY: Final = Table()


class State:
    """The facts that hold, without derived ones, and the values of functions."""

    __slots__ = ("tables", "values")

    def __init__(self, facts: Iterable[Atom] = (), values: Values | None = None) -> None:
        self.values = Values({}, {}) if values is None else values
        rows: dict[str, list[Row]] = {}
        for fact in facts:
            rows.setdefault(fact.predicate, []).append(fact.args)
        self.tables = {predicate: Table(found) for predicate, found in rows.items()}

    def table(self, predicate: str) -> Table:
        """Return the rows of `predicate`; not to be changed."""
        return self.tables.get(predicate, EMPTY)

    def __contains__(self, fact: Atom) -> bool:
        return fact.args in self.table(fact.predicate).rows

    def __iter__(self) -> Iterator[Atom]:
        return (Atom(predicate, row) for predicate, table in self.tables.items() for row in table.rows)

    def matching(self, pattern: Atom) -> list[Atom]:
        """Return the facts that `pattern` covers; open arguments match everything."""
        if OPEN not in pattern.args:
            return [pattern] if pattern in self else []
        positions = tuple([i for i, arg in enumerate(pattern.args) if arg != OPEN])
        key = tuple([pattern.args[i] for i in positions])
        return [Atom(pattern.predicate, row) for row in self.table(pattern.predicate).matching(positions, key)]

    def update(self, removed: Iterable[Atom], added: Iterable[Atom]) -> None:
        """Retract the facts of `removed`, then add those of `added`."""
        for fact in removed:
            if fact.predicate in self.tables:
                self.tables[fact.predicate].discard(fact.args)
        for fact in added:
            if fact.predicate not in self.tables:
                self.tables[fact.predicate] = Table()
            self.tables[fact.predicate].add(fact.args)

    def copy(self) -> State:
        """Return an independent state with the same facts."""
        twin = State(values=self.values.copy())
        twin.tables = {predicate: Table(table.rows) for predicate, table in self.tables.items()}
        return twin


Objects = dict[str, None]
"""An ordered set of object names."""

Domains = dict[str, Objects]
"""The objects that each variable ranges over."""

Binding = dict[str, str]
"""The value of each variable."""


@dataclass(frozen=True, slots=True, eq=False)
class Lookup:
    """The fact `predicate(args…)` is as `positive` says."""

    predicate: str
    args: tuple[str, ...]
    positive: bool
    free: frozenset[str]


@dataclass(frozen=True, slots=True, eq=False)
class Same:
    """Whether both terms name one object is as `positive` says."""

    left: str
    right: str
    positive: bool
    free: frozenset[str]


@dataclass(frozen=True, slots=True, eq=False)
class Compare:
    """Whether the comparison of numbers holds is as `positive` says."""

    comparison: Comparison
    positive: bool
    free: frozenset[str]


@dataclass(frozen=True, slots=True, eq=False)
class All:
    """All parts hold."""

    parts: tuple[Condition, ...]
    free: frozenset[str]


@dataclass(frozen=True, slots=True, eq=False)
class Either:
    """At least one part holds."""

    parts: tuple[Condition, ...]
    free: frozenset[str]


@dataclass(frozen=True, slots=True, eq=False)
class Some:
    """The part holds for some objects out of `domains`."""

    domains: Domains
    part: Condition
    free: frozenset[str]


@dataclass(frozen=True, slots=True, eq=False)
class Never:
    """The part holds for no objects out of `domains`."""

    domains: Domains
    part: Condition
    free: frozenset[str]


Condition = Lookup | Same | Compare | All | Either | Some | Never


class Universe:
    """The objects of a problem by type."""

    def __init__(self, problem: Problem) -> None:
        self._types = TypeHierarchy(problem.domain.types)
        self._objects = {item.name: item for item in problem.all_objects}
        by_type = self._types.objects_by_type(problem.all_objects)
        self._by_type = {name: dict.fromkeys(names) for name, names in by_type.items()}

    def __contains__(self, name: str) -> bool:
        return name in self._objects

    def __iter__(self) -> Iterator[str]:
        return iter(self._objects)

    def types_of(self, name: str) -> tuple[str, ...]:
        """Return the declared types of the object `name`."""
        return self._objects[name].types

    def of_types(self, types: tuple[str, ...]) -> Objects:
        """Return the objects that belong to any of `types`; not to be changed."""
        if len(types) == 1:
            return self._by_type.get(types[0], {})
        return {name: None for wanted in types for name in self._by_type.get(wanted, ())}

    def domains(self, variables: tuple[Variable, ...]) -> Domains:
        """Return the objects that each variable ranges over."""
        return {variable.name: self.of_types(variable.types) for variable in variables}


class Compiler:
    """Turns formulas into conditions over one universe."""

    def __init__(self, universe: Universe) -> None:
        self._universe = universe
        self._numbers = count(1)

    def compile(self, formula: Formula, names: dict[str, str] | None = None, *, positive: bool = True) -> Condition:
        """Return `formula` (negated unless `positive`) as a condition; `names` renames its variables."""
        names = names or {}
        match formula:
            case Atom(predicate, args):
                args = tuple([names.get(arg, arg) for arg in args])
                return Lookup(predicate, args, positive, frozenset(filter(is_variable, args)))
            case Equals(left, right):
                left, right = names.get(left, left), names.get(right, right)
                return Same(left, right, positive, frozenset(filter(is_variable, (left, right))))
            case Comparison():
                renamed = formula.substitute(names)
                return Compare(renamed, positive, frozenset(free_variables(renamed)))
            case Not(part):
                return self.compile(part, names, positive=not positive)
            case Forall(variables, part):
                return self._compile_quantifier(variables, part, names, found=False, positive=positive)
            case Exists(variables, part):
                return self._compile_quantifier(variables, part, names, found=True, positive=positive)
            case _:
                return self._compile_connective(formula, names, positive=positive)

    def _compile_connective(self, formula: And | Or | Imply, names: dict[str, str], *, positive: bool) -> Condition:
        parts: tuple[Condition, ...]
        match formula:
            case Imply(premise, conclusion):
                parts = (
                    self.compile(premise, names, positive=not positive),
                    self.compile(conclusion, names, positive=positive),
                )
            case And(inner) | Or(inner):
                parts = tuple([self.compile(part, names, positive=positive) for part in inner])
        if len(parts) == 1:
            return parts[0]
        free = frozenset[str]().union(*(part.free for part in parts))
        return All(parts, free) if isinstance(formula, And) == positive else Either(parts, free)

    def _compile_quantifier(
        self, variables: tuple[Variable, ...], part: Formula, names: dict[str, str], *, found: bool, positive: bool
    ) -> Condition:
        fresh = {variable.name: f"{variable.name}#{next(self._numbers)}" for variable in variables}
        domains = {fresh[variable.name]: self._universe.of_types(variable.types) for variable in variables}
        inner = self.compile(part, {**names, **fresh}, positive=found)
        free = inner.free - domains.keys()
        return Some(domains, inner, free) if found == positive else Never(domains, inner, free)


class Solver:
    """Evaluates conditions in one state: the function `table` gives its tables by predicate, `values` its numbers."""

    def __init__(self, table: Callable[[str], Table], values: Values) -> None:
        self._table = table
        self._values = values
        self._known: dict[tuple[Condition, Row], bool] = {}
        """Truth of quantified conditions by the values of their free variables, kept for one evaluation."""

    def holds(self, condition: Condition, binding: Binding) -> bool:
        """Return whether `condition`, whose free variables are all bound, holds."""
        self._known = {}
        return self.decide(condition, binding)

    def decide(self, condition: Condition, binding: Binding) -> bool:
        """Return the same as a part of a longer evaluation in the same state."""
        match condition:
            case Lookup(predicate, args, positive):
                row = tuple([binding.get(arg, arg) for arg in args])
                return (row in self._table(predicate).rows) is positive
            case Same(left, right, positive):
                return (binding.get(left, left) == binding.get(right, right)) is positive
            case Compare(comparison, positive):
                return self._values.compare(comparison, binding) is positive
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
        """Yield extensions of `binding` to all variables of `domains` under which all `goals` hold; some may repeat.

        `others` are the domains of further free variables, for which any value will do. The tables must not change
        meanwhile.
        """
        self._known = {}
        for solution in self._solve(list(goals), domains | others if others else domains, binding):
            missing = [name for name in domains if name not in solution]
            for values in product(*(domains[name] for name in missing)):
                yield {**solution, **dict(zip(missing, values, strict=True))}

    def _solve(self, goals: list[Condition], domains: Domains, binding: Binding) -> Iterator[Binding]:
        """Decide the goals whose variables are bound, take conjunctions apart, and branch on the other goals."""
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
        """Branch over the proposals of the most selective goal, or over the objects of the smallest domain."""
        if len(pending) == 1 and isinstance(pending[0], Lookup) and pending[0].positive:
            yield from self._propose(pending[0], domains, binding)
            return
        sizes = [self._count_proposals(goal, binding) for goal in pending]
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
        for extended in self._propose(goal, domains, binding):
            yield from self._solve(list(rest), domains, extended)

    def _count_proposals(self, goal: Condition, binding: Binding) -> float:
        """Return the number of bindings that `goal` would propose; infinity where it can only test."""
        match goal:
            case Lookup() | Same() | Compare() if goal.free <= binding.keys():
                return inf if self.decide(goal, binding) else 0
            case Lookup(_, _, True):
                return len(self._table(goal.predicate).matching(*bound_positions(goal.args, binding)))
            case Same(left, right, True):
                return 1 if left in binding or right in binding or not goal.free >= {left, right} else inf
            case All(parts):
                return min((self._count_proposals(part, binding) for part in parts), default=inf)
            case Either(parts):
                return sum(self._count_proposals(part, binding) for part in parts)
            case Some(_, part):
                return self._count_proposals(part, binding)
            case _:
                return inf

    def _propose(self, goal: Condition, domains: Domains, binding: Binding) -> Iterator[Binding]:
        match goal:
            case Lookup(predicate, args):
                rows = self._table(predicate).matching(*bound_positions(args, binding))
                matches = (unify(args, row, domains, binding) for row in rows)
                yield from (extended for extended in matches if extended is not None)
            case Same(left, right):
                left, right = binding.get(left, left), binding.get(right, right)
                name, value = (left, right) if left in domains else (right, left)
                if value in domains[name]:
                    yield {**binding, name: value}


def bound_positions(args: tuple[str, ...], binding: Binding) -> tuple[tuple[int, ...], Row]:
    """Return the positions in `args` whose values are bound, and these values."""
    known = [(i, binding.get(arg, arg)) for i, arg in enumerate(args) if arg in binding or not arg.startswith("?")]
    return tuple([i for i, _ in known]), tuple([value for _, value in known])


def unify(args: tuple[str, ...], row: Row, domains: Domains, binding: Binding) -> Binding | None:
    """Extend `binding` so that `args` become `row`; return None where names or types do not allow it."""
    extended = binding.copy()
    for arg, value in zip(args, row, strict=True):
        if not arg.startswith("?"):
            if arg != value:
                return None
        elif extended.setdefault(arg, value) != value or (arg not in binding and value not in domains[arg]):
            return None
    return extended
