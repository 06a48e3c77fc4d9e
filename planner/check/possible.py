"""What may come to hold, and be done, at all: relaxed reachability with every outcome, whatever is unknown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from planner.annotations import Final
from planner.budget import Budget
from planner.grounding.reachability import Database, Reachability
from planner.grounding.rules import axiom_rules, schema_rules
from planner.model import OPEN, Action, Atom, Problem, Variable, is_variable
from planner.model.domain import uncertain_actions
from planner.normalise import NormalProblem, normalise
from planner.records import replace
from planner.uncertain.determinise import Way, determinise

_SUPPOSE: Final = "@suppose-"


@dataclass(frozen=True, slots=True)
class Possible:
    """The names of the actions that may apply, and the facts that may hold, with deletes ignored."""

    normal: NormalProblem
    actions: frozenset[str]
    facts: Database

    def holds(self, pattern: Atom) -> bool:
        """Return whether some fact that `pattern` covers may hold: variables stand for everything."""
        rows = self.facts.relation(pattern.predicate).rows
        if pattern.is_ground:
            return pattern.args in rows
        template = [None if is_variable(arg) else arg for arg in pattern.args]
        return any(all(wanted in (None, arg) for wanted, arg in zip(template, row, strict=True)) for row in rows)

    def has_any(self, predicate: str) -> bool:
        """Return whether there are facts of `predicate`, or actions may give some."""
        return predicate in self.facts.growing or bool(self.facts.relation(predicate).rows)


def possible(problem: Problem, budget: Budget) -> Possible:
    """Return what may happen in `problem`; raises `LimitReached`.

    Actions may come out in every way, and facts that are unknown may hold, or not.
    """
    source = _supposing(problem) if problem.unknown else problem
    ways: Mapping[str, Way] = {}
    if uncertain_actions(problem.domain):
        found = determinise(source)
        source, ways = found.problem, found.ways
    normal = normalise(source)
    schemas, axioms = schema_rules(normal), axiom_rules(normal)
    database = Database(normal.problem, normal.fluent | normal.derived)
    rules = [rule for schema in schemas for rule in schema.reachable]
    Reachability(database, budget).run([*rules, *(axiom.rule for axiom in axioms)])
    applied = [schema.schema.action.name for schema in schemas if schema.rule.found.rows]
    return Possible(normal, frozenset([ways[name].action if name in ways else name for name in applied]), database)


def _supposing(problem: Problem) -> Problem:
    """Return `problem` with actions that make facts hold which are unknown."""
    suppositions = {}
    for number, pattern in enumerate(problem.unknown):
        kinds = problem.domain.predicates[pattern.predicate].parameters
        args = [f"?x{place}" if arg == OPEN else arg for place, arg in enumerate(pattern.args)]
        variables = [Variable(arg, kind.types) for arg, kind in zip(args, kinds, strict=True) if is_variable(arg)]
        name = f"{_SUPPOSE}{number}"
        suppositions[name] = Action(name, tuple(variables), provides=(Atom(pattern.predicate, tuple(args)),))
    domain = replace(problem.domain, actions={**problem.domain.actions, **suppositions})
    return replace(problem, domain=domain, unknown=())
