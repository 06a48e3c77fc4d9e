"""Lint with objects: actions that can never apply and goals that nothing brings about, by relaxed reachability."""

from __future__ import annotations

from collections.abc import Iterator

from planner.budget import Budget
from planner.check.actions import contradiction
from planner.check.findings import Finding, Level
from planner.check.usage import plain_atoms
from planner.grounding.reachability import Database, Reachability
from planner.grounding.rules import axiom_rules, schema_rules
from planner.model import Action, Atom, Problem, TypeHierarchy, is_variable
from planner.normalise import NormalProblem, normalise


def check_reach(problem: Problem, budget: Budget) -> Iterator[Finding]:
    """Yield the actions that can never apply in `problem`, and the goal facts that no action can bring about.

    Deletes are ignored, so that all that is reported is certain, and more may be true. Raises `LimitReached`.
    """
    normal = normalise(problem)
    applied, database = _explore(normal, budget)
    hierarchy = TypeHierarchy(problem.domain.types)
    members = hierarchy.objects_by_type(problem.all_objects)
    for action in problem.domain.actions.values():
        if action.name not in applied and contradiction(action.requires) is None:
            yield from _never_applies(action, members, database)
    yield from _goal(problem, normal, database)


def _explore(normal: NormalProblem, budget: Budget) -> tuple[set[str], Database]:
    """Return the names of the actions with reachable instances, and the reachable facts."""
    schemas, axioms = schema_rules(normal), axiom_rules(normal)
    database = Database(normal.problem, normal.fluent | normal.derived)
    rules = [rule for schema in schemas for rule in schema.reachable]
    Reachability(database, budget).run([*rules, *(axiom.rule for axiom in axioms)])
    return {schema.schema.action.name for schema in schemas if schema.rule.found.rows}, database


def _never_applies(action: Action, members: dict[str, list[str]], database: Database) -> Iterator[Finding]:
    """Yield why `action` never applies, unless the cause is a predicate without any fact: that is a finding itself."""
    place = f"action {action.name}"
    empty = [parameter for parameter in action.parameters if not any(members.get(name) for name in parameter.types)]
    missing = [atom for atom in plain_atoms(action.requires) if not _occurs(atom, database)]
    if empty:
        message = f"it can never apply: there is no object for {empty[0]}"
        yield Finding(Level.NOTE, "empty-type", place, message)
    elif not any(_is_empty(atom.predicate, database) for atom in missing):
        reason = f"no fact matches {missing[0]}" if missing else "no objects satisfy all of what it requires"
        message = f"it can never apply: {reason}, neither initially nor after any action"
        yield Finding(Level.NOTE, "never-applies", place, message)


def _is_empty(predicate: str, database: Database) -> bool:
    return predicate not in database.growing and not database.relation(predicate).rows


def _goal(problem: Problem, normal: NormalProblem, database: Database) -> Iterator[Finding]:
    clash = contradiction(problem.goal.hard)
    if clash is not None:
        yield Finding(Level.ERROR, "contradicting-goal", "goal", f"it contradicts itself ({clash})")
        return
    for atom in normal.goal.atoms:
        if not _occurs(atom, database):
            message = f"nothing can bring about {normal.written.get(atom, atom)}"
            yield Finding(Level.ERROR, "unreachable-goal", "goal", message)


def _occurs(pattern: Atom, database: Database) -> bool:
    rows = database.relation(pattern.predicate).rows
    if pattern.is_ground:
        return pattern.args in rows
    template = [None if is_variable(arg) else arg for arg in pattern.args]
    return any(all(wanted in (None, arg) for wanted, arg in zip(template, row, strict=True)) for row in rows)
