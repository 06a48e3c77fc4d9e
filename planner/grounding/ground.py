"""From a problem to its ground task: the stages of grounding, in order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain

from planner.budget import Budget
from planner.grounding.axioms import layers
from planner.grounding.costs import common_resolution
from planner.grounding.instantiate import RawAction, instantiate_actions, instantiate_axioms, instantiate_goal
from planner.grounding.literals import FactTable, Literal
from planner.grounding.mutex import Group, MutexFinder, cover
from planner.grounding.negation import needed_negations, write_negations
from planner.grounding.reachability import Database, Reachability
from planner.grounding.relevance import keep_relevant, relevant_literals
from planner.grounding.residual import Residuals
from planner.grounding.rules import axiom_rules, schema_rules
from planner.grounding.simplify import RawTask, simplify
from planner.model import Atom, Formula, Not, Problem
from planner.normalise import normalise
from planner.plan import Step, exact
from planner.task import ConditionalEffect, GroundAction, Task


def ground(problem: Problem, budget: Budget) -> Task:
    """Return the ground task of `problem`: reachable, relevant, with mutex groups as variables.

    A goal that no relaxed plan reaches gives a task with nothing but `unreachable_goal`. Raises `LimitReached` when the
    budget is used up, `InputError` for costs without a value and axioms that are not stratified.
    """
    normal = normalise(problem)
    database = Database(normal.problem, normal.fluent | normal.derived)
    schemas, axioms = schema_rules(normal), axiom_rules(normal)
    reachability = Reachability(database, budget)
    reachability.run([rule for rules in schemas for rule in rules.reachable] + [axiom.rule for axiom in axioms])
    for effect in chain.from_iterable(rules.effects for rules in schemas):
        if effect.deletes:
            reachability.find(effect.rule)
    table = FactTable.of(database, database.growing)
    residuals = Residuals(table, database)
    goal = instantiate_goal(normal.goal, table, residuals)
    if not isinstance(goal, list):
        return _unreachable(goal)
    task = RawTask(
        initial={
            number for number, atom in enumerate(table.atoms) if atom.args in database.initial.get(atom.predicate, ())
        },
        goal=goal,
        actions=list(instantiate_actions(schemas, normal.problem, table, residuals, budget)),
        rules=list(instantiate_axioms(axioms, table, residuals)),
    )
    task.rules.extend(residuals.rules)
    impossible = simplify(task, len(table.atoms))
    if impossible is not None:
        return _unreachable(_literal(impossible, table.atoms))
    budget.check()
    keep_relevant(task, relevant_literals(task))
    return _finish(task, table.atoms, budget)


def _unreachable(goal: Formula) -> Task:
    return Task((), (), (), (), (), unreachable_goal=goal)


def _literal(literal: Literal, atoms: Sequence[Atom]) -> Atom | Not:
    return atoms[literal] if literal >= 0 else Not(atoms[~literal])


def _finish(task: RawTask, atoms: list[Atom], budget: Budget) -> Task:
    """Number the facts that are left, find their mutex groups, and write the negations that are needed."""
    derived = {rule.head for rule in task.rules}
    basic = _basic_facts(task, derived)
    groups = MutexFinder(atoms, task.initial, task.actions, basic).groups(budget)
    _drop_impossible(task, groups)
    needed = needed_negations(task)
    variables = [*cover(groups, basic)]
    partner = {group[0]: place for place, group in enumerate(variables) if len(group) == 1}
    negation: dict[int, int] = {}
    for fact in needed:
        negation[fact] = len(atoms) + len(negation)
        if fact in partner:
            variables[partner[fact]] = (fact, negation[fact])
        elif fact not in derived:
            variables.append((negation[fact],))
    for action in task.actions:
        write_negations(action, negation)
    initial = task.initial | {opposite for fact, opposite in negation.items() if fact not in task.initial | derived}
    ordered = [
        *chain.from_iterable(variables),
        *sorted(derived),
        *[negation[fact] for fact in needed if fact in derived],
    ]
    names = [*atoms, *[Not(atoms[fact]) for fact in negation]]
    return _task(task, initial, ordered, names, variables, negation, derived)


def _basic_facts(task: RawTask, derived: set[int]) -> list[int]:
    """Return the facts that conditions, effects, rules or the goal speak of and that are not derived, ascending."""
    used: set[int] = {fact if fact >= 0 else ~fact for fact in task.goal}
    for action in task.actions:
        used.update(action.adds, action.deletes, _positive(action.condition))
        for effect in action.effects:
            used.update(effect.adds, effect.deletes, _positive(effect.condition))
    for rule in task.rules:
        used.update(_positive(rule.body))
    return sorted(used - derived)


def _positive(literals: Iterable[Literal]) -> list[int]:
    return [literal if literal >= 0 else ~literal for literal in literals]


def _drop_impossible(task: RawTask, groups: list[Group]) -> None:
    """Drop the actions that need two facts of a mutex group."""
    groups_of: dict[int, list[int]] = {}
    for number, group in enumerate(groups):
        for fact in group:
            groups_of.setdefault(fact, []).append(number)
    task.actions = [action for action in task.actions if not _clashes(action, groups_of)]


def _clashes(action: RawAction, groups_of: dict[int, list[int]]) -> bool:
    seen: set[int] = set()
    for literal in action.condition:
        for group in groups_of.get(literal, ()):
            if group in seen:
                return True
            seen.add(group)
    return False


def _task(
    task: RawTask,
    initial: set[int],
    ordered: list[int],
    names: list[Atom | Not],
    variables: list[Group],
    negation: dict[int, int],
    derived: set[int],
) -> Task:
    number = {fact: place for place, fact in enumerate(ordered)}
    literal_number = dict(number) | {~fact: number[opposite] for fact, opposite in negation.items()}
    resolution = common_resolution({action.cost for action in task.actions})

    def numbers(literals: Iterable[Literal]) -> tuple[int, ...]:
        return tuple(sorted([literal_number[literal] for literal in literals]))

    def finished(action: RawAction) -> GroundAction:
        return GroundAction(
            Step(action.action.name, action.arguments, exact(action.cost)),
            numbers(action.condition),
            numbers(action.adds),
            numbers(action.deletes),
            tuple(
                [ConditionalEffect(numbers(e.condition), numbers(e.adds), numbers(e.deletes)) for e in action.effects]
            ),
            int(action.cost * resolution),
        )

    return Task(
        facts=tuple([names[fact] for fact in ordered]),
        variables=tuple([numbers(group) for group in variables]),
        initial=tuple(sorted([number[fact] for fact in initial if fact in number])),
        goal=numbers(task.goal),
        actions=tuple([finished(action) for action in task.actions]),
        axioms=layers(task.rules, negation, number, names),
        resolution=resolution,
        derived=frozenset([number[f] for f in (*derived, *[negation[f] for f in negation if f in derived])]),
    )
