"""Stratify the axioms of a problem, and derive facts in a state stratum by stratum.

A stratum is a set of predicates that depend on each other; it is computed when somebody first asks for one of them.
Inside a stratum, semi-naive evaluation joins each new fact with the rest of the axioms that mention it. An axiom that
mentions the stratum inside `forall` is evaluated again instead (Thiébaux, Hoffmann and Nebel, 2005).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from planner.errors import InputError
from planner.lightweight import dataclass, field
from planner.model import Atom, Problem
from planner.semantics.condition_solver import (
    All,
    Compare,
    Compiler,
    Condition,
    Domains,
    Either,
    Lookup,
    Never,
    Row,
    Solver,
    Some,
    State,
    Table,
    Universe,
    unify,
)
from planner.semantics.numeric_state import NumberChange

Uses = dict[str, bool]
"""The predicates that a condition reads; False where the absence of any fact of it counts."""


@dataclass(frozen=True, slots=True, eq=False)
class Rule:
    """A compiled axiom; `domains` are those of the head's arguments."""

    predicate: str
    domains: Domains
    condition: Condition


@dataclass(frozen=True, slots=True, eq=False)
class Trigger:
    """Where `rest` holds, a new fact that matches `lookup` makes the head of `rule` true."""

    rule: Rule
    lookup: Lookup
    domains: Domains
    rest: tuple[Condition, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Stratum:
    """Predicates that depend on each other; `reads` are the base predicates below them.

    `triggers` are by predicate; `hidden` are the rules that read the stratum where no trigger reaches.
    """

    predicates: frozenset[str]
    reads: frozenset[str]
    rules: list[Rule] = field(default_factory=list)
    triggers: dict[str, list[Trigger]] = field(default_factory=dict)
    hidden: list[Rule] = field(default_factory=list)

    def enter(self, rule: Rule) -> None:
        """Add `rule`, whose head is a predicate of this stratum."""
        self.rules.append(rule)
        uncovered = sum(lookup.predicate in self.predicates for lookup, _ in lookups_in(rule.condition))
        for lookup, domains, rest in positive_lookups_in(rule.condition):
            if lookup.predicate in self.predicates:
                uncovered -= 1
                if all(domains.values()):
                    trigger = Trigger(rule, lookup, rule.domains | domains, rest)
                    self.triggers.setdefault(lookup.predicate, []).append(trigger)
        if uncovered:
            self.hidden.append(rule)


class Axioms:
    """The axioms of a problem by stratum. Raises `InputError` where a predicate depends on its own negation."""

    def __init__(self, problem: Problem, universe: Universe) -> None:
        compiler = Compiler(universe)
        uses: dict[str, Uses] = {axiom.predicate: {} for axiom in problem.domain.axioms}
        rules: list[Rule] = []
        for axiom in problem.domain.axioms:
            rule = Rule(axiom.predicate, universe.domains(axiom.parameters), compiler.compile(axiom.condition))
            rules.append(rule)
            known = uses[axiom.predicate]
            for lookup, positive in lookups_in(rule.condition):
                known[lookup.predicate] = known.get(lookup.predicate, True) and positive
            known.update(dict.fromkeys(map(name_function, functions_read(rule.condition)), True))
        self._below = {predicate: collect_reachable(predicate, uses) for predicate in uses}
        self._strata: dict[str, Stratum] = {}
        for predicate in uses:
            self._build_stratum(predicate, uses)
        for rule in rules:
            self._strata[rule.predicate].enter(rule)

    def __contains__(self, predicate: str) -> bool:
        return predicate in self._strata

    def reads(self, predicate: str) -> frozenset[str]:
        """Return the base predicates that the derived `predicate` depends on."""
        return self._strata[predicate].reads

    def needed(self, predicate: str) -> list[Stratum]:
        """Return the strata that the derived `predicate` depends on, lowest first and its own last."""
        names = [name for name in self._below[predicate] | {predicate} if name in self]
        names.sort(key=lambda name: (len(self._below[name] | {name}), name))
        return list({id(self._strata[name]): self._strata[name] for name in names}.values())

    def _build_stratum(self, predicate: str, uses: Mapping[str, Uses]) -> None:
        if predicate in self._strata:
            return
        below = self._below[predicate]
        members = frozenset({name for name in below if predicate in self._below.get(name, ())} | {predicate})
        for member in members:
            for name, positive in uses[member].items():
                if name in members and not positive:
                    raise InputError(f"the derived predicate '{member}' depends on its own negation through '{name}'")
        stratum = Stratum(members, frozenset(below - uses.keys()))
        self._strata.update(dict.fromkeys(members, stratum))


def name_function(function: str) -> str:
    """Return a name for `function` that no predicate has."""
    return f"{function}()"


def function_named(name: str) -> str:
    """Return the function that `name_function` names so, or else the predicate of this name."""
    return name.removesuffix("()")


def functions_read(condition: Condition) -> Iterator[str]:
    """Yield the function of each term in the comparisons of `condition`."""
    stack: list[Condition] = [condition]
    while stack:
        match stack.pop():
            case Compare(comparison):
                yield from (term.predicate for term in comparison.functions)
            case All(parts) | Either(parts):
                stack.extend(parts)
            case Some(_, part) | Never(_, part):
                stack.append(part)


def collect_reachable(predicate: str, uses: Mapping[str, Uses]) -> frozenset[str]:
    """Return every predicate that `predicate` depends on, directly or not; itself only where it is recursive."""
    found: set[str] = set()
    stack = list(uses[predicate])
    while stack:
        name = stack.pop()
        if name not in found:
            found.add(name)
            stack.extend(uses.get(name, ()))
    return frozenset(found)


def lookups_in(condition: Condition) -> Iterator[tuple[Lookup, bool]]:
    """Yield every lookup inside `condition`, and whether the condition is monotone in its fact."""
    stack: list[tuple[Condition, bool]] = [(condition, True)]
    while stack:
        match stack.pop():
            case Lookup() as lookup, helps:
                yield lookup, lookup.positive is helps
            case All(parts) | Either(parts), helps:
                stack.extend((part, helps) for part in parts)
            case Some(_, part), helps:
                stack.append((part, helps))
            case Never(_, part), helps:
                stack.append((part, not helps))


def positive_lookups_in(condition: Condition) -> Iterator[tuple[Lookup, Domains, tuple[Condition, ...]]]:
    """Yield each positive lookup outside `Never`, with its quantified variables and its other conjuncts."""
    stack: list[tuple[Condition, Domains, tuple[Condition, ...]]] = [(condition, {}, ())]
    while stack:
        match stack.pop():
            case Lookup(positive=True) as lookup, domains, rest:
                yield lookup, domains, rest
            case All(parts), domains, rest:
                for i, part in enumerate(parts):
                    stack.append((part, domains, (*rest, *parts[:i], *parts[i + 1 :])))
            case Either(parts), domains, rest:
                stack.extend((part, domains, rest) for part in parts)
            case Some(inner, part), domains, rest:
                stack.append((part, domains | inner, rest))


Found = list[tuple[str, Row]]


class World:
    """A state together with the facts that axioms derive from it."""

    def __init__(self, state: State, axioms: Axioms) -> None:
        self.state = state
        self.axioms = axioms
        self.solver = Solver(self.table, state.values)
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

    def update(self, removed: Iterable[Atom], added: Iterable[Atom], numbers: Iterable[NumberChange] = ()) -> None:
        """Change the state, and forget derived facts that depend on a changed predicate or function."""
        removed, added, numbers = list(removed), list(added), list(numbers)
        self.state.update(removed, added)
        self.state.values.update(numbers)
        if self._derived:
            touched = {fact.predicate for fact in (*removed, *added)}
            touched.update(name_function(each.fluent.predicate) for each in numbers)
            stale = [name for name in self._derived if not touched.isdisjoint(self.axioms.reads(name))]
            for name in stale:
                del self._derived[name]

    def copy(self) -> World:
        """Return an independent world with the same facts."""
        return World(self.state.copy(), self.axioms)

    def enter(self, predicate: str, row: Row) -> None:
        """Add a derived fact, after those that it is derived from."""
        self._derived[predicate].add(row)

    def _derive(self, stratum: Stratum) -> None:
        for predicate in stratum.predicates:
            self._derived[predicate] = Table()
        rules = stratum.rules
        while found := [fact for rule in rules for fact in self._apply(rule)]:
            self._close(stratum, found)
            rules = stratum.hidden

    def _close(self, stratum: Stratum, found: Found) -> None:
        """Add the facts of `found`, and those that their triggers derive."""
        while found:
            predicate, row = found.pop()
            if row not in self._derived[predicate].rows:
                self.enter(predicate, row)
                for trigger in stratum.triggers.get(predicate, ()):
                    found.extend(self._fire(trigger, row))

    def _apply(self, rule: Rule) -> Found:
        """Return the facts that `rule` derives and that are not known yet."""
        known = self._derived[rule.predicate].rows
        solutions = self.solver.solutions([rule.condition], rule.domains, {})
        rows = {tuple([solution[name] for name in rule.domains]): None for solution in solutions}
        return [(rule.predicate, row) for row in rows if row not in known]

    def _fire(self, trigger: Trigger, row: Row) -> Found:
        binding = unify(trigger.lookup.args, row, trigger.domains, {})
        if binding is None:
            return []
        known = self._derived[trigger.rule.predicate].rows
        head = trigger.rule.domains
        solutions = self.solver.solutions(trigger.rest, head, binding, trigger.domains)
        rows = [tuple([solution[name] for name in head]) for solution in solutions]
        return [(trigger.rule.predicate, row) for row in rows if row not in known]
