"""From a problem to its ground task: the stages of grounding, in order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain

from planner.budget import Budget
from planner.collector import collector_paused
from planner.grounding.axioms import layers
from planner.grounding.copies import without_needless_copies
from planner.grounding.finish import Finisher, Numbering
from planner.grounding.instantiate import (
    RawAction,
    instantiate_actions,
    instantiate_axioms,
    instantiate_goal,
    one_by_one,
    parts_of,
)
from planner.grounding.joins import batches
from planner.grounding.literals import FactTable, Literal
from planner.grounding.mutex import Group, MutexFinder, cover
from planner.grounding.negation import needed_negations, table_with_negations, write_negations
from planner.grounding.plain import plain_task
from planner.grounding.reachability import Database, Reachability
from planner.grounding.relevance import keep_relevant, relevant_literals
from planner.grounding.residual import ANY, Residuals
from planner.grounding.rules import AxiomRule, SchemaRules, axiom_rules, schema_rules
from planner.grounding.simplify import RawTask, simplify
from planner.grounding.tables import ActionTable
from planner.model import Atom, Formula, Not, Problem
from planner.normalise import (
    NormalProblem,
    narrowed,
    normalise,
    relevant_part,
    to_adl,
    without_constraints,
)
from planner.records import dataclass, replace
from planner.task import Task


def ground(problem: Problem, budget: Budget, *, whole: bool = False) -> Task:
    """Return the ground task of `problem`: reachable, relevant, with mutex groups as variables, constraints kept.

    The `whole` has what is not relevant, too: every action that can change anything. A goal that no relaxed plan
    reaches gives a task with nothing but `unreachable_goal`. Raises `LimitReached` when the budget is used up,
    `InputError` for costs without a value and axioms that are not stratified.
    """
    with collector_paused():
        source = without_constraints(to_adl(problem if whole else relevant_part(problem)), soft=False)
        return ground_adl(source, budget, {}, whole=whole)


def ground_adl(source: Problem, budget: Budget, together: Mapping[str, str], *, whole: bool = False) -> Task:
    """Return the ground task of a plain ADL problem, as `ground` does.

    Actions that `together` gives the same name are kept or dropped together, for the same arguments, unless they change
    nothing: they are what may come of one choice.
    """
    plain = plain_task(source)
    found = explore(source, budget) if plain is None else _simplified(*plain, budget)
    if found.unreachable_goal is not None:
        return Task((), (), (), (), (), unreachable_goal=found.unreachable_goal)
    if together:
        found.task.actions += one_by_one(found.task.tables)
        found.task.tables = []
    if not whole:
        keep_relevant(found.task, relevant_literals(found.task, budget), budget, together)
    return _finish(found.task, found.atoms, budget, together)


@dataclass(frozen=True, slots=True)
class Explored:
    """All that can be reached: the raw task, and the atoms that its facts stand for."""

    task: RawTask
    atoms: list[Atom]
    unreachable_goal: Formula | None = None


@dataclass(frozen=True, slots=True)
class Reached:
    """The rows that reachability has found, in the relations of `database` and the rules of `schemas` and `axioms`."""

    normal: NormalProblem
    database: Database
    schemas: list[SchemaRules]
    axioms: list[AxiomRule]


def explore(problem: Problem, budget: Budget) -> Explored:
    """Return the reachable part of `problem`, simplified, before anything irrelevant is dropped."""
    reached = reach(problem, budget)
    return instantiated(reached, reached.database.growing, budget)


def reach(problem: Problem, budget: Budget) -> Reached:
    """Return which instances of actions, effects and axioms can be reached with deletes ignored."""
    normal = narrowed(normalise(problem))
    database = Database(normal.problem, normal.fluent | normal.derived)
    schemas, axioms = schema_rules(normal), axiom_rules(normal)
    reachability = Reachability(database, budget)
    reachability.run([rule for rules in schemas for rule in rules.reachable] + [axiom.rule for axiom in axioms])
    for effect in chain.from_iterable(rules.effects for rules in schemas):
        if effect.deletes:
            reachability.find(effect.rule)
    return Reached(normal, database, schemas, axioms)


def instantiated(reached: Reached, predicates: Iterable[str], budget: Budget) -> Explored:
    """Return what was reached, simplified, over the facts of these `predicates`; others are taken to hold."""
    normal, database = reached.normal, reached.database
    table = FactTable.of(database, predicates)
    residuals = Residuals(table, database, budget)
    goal = instantiate_goal(normal.goal, residuals)
    if not isinstance(goal, list):
        return Explored(RawTask(set(), [], [], []), table.atoms, normal.written.get(goal, goal))
    actions, tables = instantiate_actions(reached.schemas, normal.problem, table, residuals, budget)
    task = RawTask(
        initial=table.holding(database.initial),
        goal=goal,
        actions=actions,
        rules=list(instantiate_axioms(reached.axioms, table, residuals, budget)),
        tables=tables,
    )
    task.rules.extend(residuals.rules)
    found = _simplified(task, table.atoms, budget)
    part = found.unreachable_goal
    if part is None:
        return found
    whole = normal.problem.goal.hard if isinstance(part, Atom) and part.predicate.startswith(ANY) else part
    return replace(found, unreachable_goal=normal.written.get(part, whole))


def _simplified(task: RawTask, atoms: list[Atom], budget: Budget) -> Explored:
    impossible = simplify(task, atoms, budget)
    return Explored(task, atoms, None if impossible is None else _literal(impossible, atoms))


def _literal(literal: Literal, atoms: Sequence[Atom]) -> Atom | Not:
    return atoms[literal] if literal >= 0 else Not(atoms[~literal])


def _finish(task: RawTask, atoms: list[Atom], budget: Budget, together: Mapping[str, str]) -> Task:
    """Return the task: facts numbered, mutex groups found, negations written where they are needed."""
    frame, numbers = framed(task, atoms, without_clashes(task, atoms, budget))
    finisher = Finisher(numbers, task)
    actions = without_needless_copies(finisher.actions(budget), together)
    return replace(frame, actions=actions, resolution=finisher.resolution)


def without_clashes(task: RawTask, atoms: list[Atom], budget: Budget) -> Groups:
    """Return the mutex groups; the actions that need two facts of one are dropped."""
    basic = _basic_facts(task, {rule.head for rule in task.rules})
    finder = MutexFinder(atoms, task, basic)
    groups = finder.groups(budget)
    _drop_impossible(task, groups, finder, budget)
    return Groups(groups, [*cover(groups, basic)])


@dataclass(frozen=True, slots=True)
class Groups:
    """All mutex groups, and `variables`: a partition of the facts into groups, those that stand alone among them."""

    groups: list[Group]
    variables: list[Group]


def framed(task: RawTask, atoms: list[Atom], groups: Groups) -> tuple[Task, Numbering]:
    """Return the task without its actions, and the numbers of facts; negations are written where they are needed."""
    derived = {rule.head for rule in task.rules}
    needed = needed_negations(task)
    variables = [*groups.variables]
    partner = {group[0]: place for place, group in enumerate(variables) if len(group) == 1}
    negation: dict[int, int] = {}
    for fact in needed:
        negation[fact] = len(atoms) + len(negation)
        if fact in partner:
            variables[partner[fact]] = (fact, negation[fact])
        elif fact not in derived:
            variables.append((negation[fact],))
    if negation:
        for action in task.actions:
            write_negations(action, negation)
        task.tables = [part for table in task.tables for part in table_with_negations(table, negation)]
    initial = task.initial.union(
        [negation[fact] for fact in needed if fact not in task.initial and fact not in derived]
    )
    ordered = [
        *chain.from_iterable(variables),
        *sorted(derived),
        *[negation[fact] for fact in needed if fact in derived],
    ]
    names: list[Atom | Not] = [*atoms, *[Not(atoms[fact]) for fact in negation]]
    numbers = Numbering.of(ordered, negation)
    frame = Task(
        facts=tuple([names[fact] for fact in ordered]),
        variables=tuple([numbers(group) for group in variables]),
        mutexes=tuple([numbers(fact for fact in group if fact in numbers.literals) for group in groups.groups]),
        initial=numbers(fact for fact in initial if fact in numbers.literals),
        goal=numbers(task.goal),
        actions=(),
        axioms=layers(task.rules, negation, numbers.literals, names),
        derived=frozenset(numbers([*derived, *[~fact for fact in negation if fact in derived]])),
    )
    return frame, numbers


def _basic_facts(task: RawTask, derived: set[int]) -> list[int]:
    """Return the facts that conditions, effects, rules or the goal speak of and that are not derived, ascending."""
    used: set[Literal] = set(task.goal)
    for part in parts_of(task.actions):
        used.update(part.condition, part.adds, part.deletes)
    for table in task.tables:
        used.update(*table.columns)
    used.update(chain.from_iterable([rule.body for rule in task.rules]))
    return sorted({literal if literal >= 0 else ~literal for literal in used} - derived)


def _drop_impossible(task: RawTask, groups: list[Group], finder: MutexFinder, budget: Budget) -> None:
    """Drop the actions that need two facts of a mutex group."""
    groups_of: dict[int, list[int]] = {}
    for number, group in enumerate(groups):
        for fact in group:
            groups_of.setdefault(fact, []).append(number)
    kept: list[RawAction] = []
    for batch in batches(task.actions):
        budget.check()
        kept += [action for action in batch if not _clashes(action, groups_of)]
    task.actions = kept
    parts: list[ActionTable] = []
    for table in task.tables:
        budget.check()
        parts += table.cut({}, finder.clashing(table))
    task.tables = parts


def _clashes(action: RawAction, groups_of: dict[int, list[int]]) -> bool:
    needed = [group for literal in action.condition if literal in groups_of for group in groups_of[literal]]
    return len(set(needed)) < len(needed)
