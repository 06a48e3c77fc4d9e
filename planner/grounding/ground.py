"""From a problem to its ground task: the stages of grounding, in order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

from planner.budget import Budget
from planner.collector import collector_paused
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
from planner.normalise import narrowed, normalise
from planner.plan import Step, exact
from planner.task import ConditionalEffect, GroundAction, Task


def ground(problem: Problem, budget: Budget) -> Task:
    """Return the ground task of `problem`: reachable, relevant, with mutex groups as variables.

    A goal that no relaxed plan reaches gives a task with nothing but `unreachable_goal`. Raises `LimitReached` when the
    budget is used up, `InputError` for costs without a value and axioms that are not stratified.
    """
    with collector_paused():
        found = explore(problem, budget)
        if found.unreachable_goal is not None:
            return Task((), (), (), (), (), unreachable_goal=found.unreachable_goal)
        keep_relevant(found.task, relevant_literals(found.task))
        budget.check()
        return _finish(found.task, found.atoms, budget)


@dataclass(frozen=True, slots=True)
class Explored:
    """All that can be reached: the raw task, and the atoms that its facts stand for."""

    task: RawTask
    atoms: list[Atom]
    unreachable_goal: Formula | None = None


def explore(problem: Problem, budget: Budget) -> Explored:
    """Return the reachable part of `problem`, simplified, before anything irrelevant is dropped."""
    normal = narrowed(normalise(problem))
    database = Database(normal.problem, normal.fluent | normal.derived)
    schemas, axioms = schema_rules(normal), axiom_rules(normal)
    reachability = Reachability(database, budget)
    reachability.run([rule for rules in schemas for rule in rules.reachable] + [axiom.rule for axiom in axioms])
    for effect in chain.from_iterable(rules.effects for rules in schemas):
        if effect.deletes:
            reachability.find(effect.rule)
    table = FactTable.of(database, database.growing)
    residuals = Residuals(table, database)
    goal = instantiate_goal(normal.goal, residuals)
    if not isinstance(goal, list):
        return Explored(RawTask(set(), [], [], []), table.atoms, goal)
    task = RawTask(
        initial=table.holding(database.initial),
        goal=goal,
        actions=list(instantiate_actions(schemas, normal.problem, table, residuals, budget)),
        rules=list(instantiate_axioms(axioms, table, residuals)),
    )
    task.rules.extend(residuals.rules)
    impossible = simplify(task, len(table.atoms))
    return Explored(task, table.atoms, None if impossible is None else _literal(impossible, table.atoms))


def _literal(literal: Literal, atoms: Sequence[Atom]) -> Atom | Not:
    return atoms[literal] if literal >= 0 else Not(atoms[~literal])


def _finish(task: RawTask, atoms: list[Atom], budget: Budget) -> Task:
    """Return the task: facts numbered, mutex groups found, negations written where they are needed."""
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
    initial = task.initial.union(
        [negation[fact] for fact in needed if fact not in task.initial and fact not in derived]
    )
    ordered = [
        *chain.from_iterable(variables),
        *sorted(derived),
        *[negation[fact] for fact in needed if fact in derived],
    ]
    names: list[Atom | Not] = [*atoms, *[Not(atoms[fact]) for fact in negation]]
    numbers = _Numbering.of(ordered, negation)
    resolution = common_resolution({action.cost for action in task.actions})
    return Task(
        facts=tuple([names[fact] for fact in ordered]),
        variables=tuple([numbers(group) for group in variables]),
        initial=numbers(fact for fact in initial if fact in numbers.literals),
        goal=numbers(task.goal),
        actions=tuple([numbers.action(action, resolution) for action in task.actions]),
        axioms=layers(task.rules, negation, numbers.literals, names),
        resolution=resolution,
        derived=frozenset(numbers([*derived, *[~fact for fact in negation if fact in derived]])),
    )


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


@dataclass(frozen=True, slots=True)
class _Numbering:
    """The final numbers: `literals` maps raw literals, positive and negative, to facts of the task."""

    literals: dict[Literal, int]

    @classmethod
    def of(cls, ordered: Iterable[int], negation: dict[int, int]) -> _Numbering:
        number = {fact: place for place, fact in enumerate(ordered)}
        return cls(number | {~fact: number[opposite] for fact, opposite in negation.items()})

    def __call__(self, literals: Iterable[Literal]) -> tuple[int, ...]:
        known = self.literals
        return tuple(sorted([known[literal] for literal in literals]))

    def action(self, raw: RawAction, resolution: int) -> GroundAction:
        effects = [ConditionalEffect(self(e.condition), self(e.adds), self(e.deletes)) for e in raw.effects]
        return GroundAction(
            Step(raw.action.name, raw.arguments, exact(raw.cost)),
            self(raw.condition),
            self(raw.adds),
            self(raw.deletes),
            tuple(effects),
            int(raw.cost * resolution),
        )
