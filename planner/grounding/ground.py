"""Grounding: from a problem to its task, stage by stage: joins, reachability, relevance, mutex groups.

Copies of a step, one for each alternative of its condition, are dropped where another copy asks for no more. Derived
facts stand in layers, so that a negated one is asked for only when its layer is complete. Facts get their final
numbers, and costs become integers.

Where no action has parameters, as with the tools of most agents, nothing has to be joined: facts get numbers, and
reachability is counted off, in microseconds for each action.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from itertools import chain, pairwise, repeat
from operator import itemgetter, lt

from planner.compilations.adl import compile_adl
from planner.compilations.lifted_relevance import remove_irrelevant_actions
from planner.compilations.normal_form import NormalProblem, narrow_deletes, normalise
from planner.compilations.trajectory_constraints import compile_constraints
from planner.errors import InputError
from planner.garbage_collection import collector_paused
from planner.grounding.action_tables import ActionTable, Column, common_resolution, cost_picker
from planner.grounding.instantiate import (
    ANY,
    FactTable,
    Literal,
    RawAction,
    RawRule,
    Residuals,
    instantiate_actions,
    instantiate_axioms,
    instantiate_goal,
    one_by_one,
    parts_of,
)
from planner.grounding.joins import Row, batches
from planner.grounding.mutex_groups import Group, MutexFinder, cover
from planner.grounding.reachability import AxiomRule, Database, Reachability, SchemaRules, axiom_rules, schema_rules
from planner.grounding.relevance import keep_relevant, relevant_literals
from planner.grounding.simplify import RawTask, needed_negations, simplify, table_with_negations, write_negations
from planner.lightweight import dataclass, replace
from planner.limits import Limits
from planner.model import Action, And, Atom, Formula, Metric, Not, Number, Problem
from planner.plan import Step, exact
from planner.task.ground_task import AxiomLayer, ConditionalEffect, GroundAction, Rule, Task


def without_needless_copies(actions: Sequence[GroundAction], outcomes: Container[str]) -> tuple[GroundAction, ...]:
    """Return `actions` without those that do what another copy of the same step does, and require more for it.

    Actions named in `outcomes` all stay: each is one of the things that may come of a choice with its precondition.
    """
    groups: dict[tuple[str, tuple[str, ...]], list[int]] = {}
    for number, action in enumerate(actions):
        if action.step.action not in outcomes:
            groups.setdefault((action.step.action, action.step.arguments), []).append(number)
    dropped = {
        number
        for numbers in groups.values()
        if len(numbers) > 1
        for number in numbers
        if any(_serves(actions[other], actions[number], first=other < number) for other in numbers if other != number)
    }
    return tuple([action for number, action in enumerate(actions) if number not in dropped])


def _serves(one: GroundAction, other: GroundAction, *, first: bool) -> bool:
    """Return whether `one` does wherever `other` would; of two that are the same, the `first` one does."""
    if (one.adds, one.deletes, one.conditional) != (other.adds, other.deletes, other.conditional):
        return False
    mine, theirs = set(one.precondition), set(other.precondition)
    return mine < theirs or (first and mine == theirs)


def layers(
    rules: Sequence[RawRule], negation: dict[int, int], literals: dict[Literal, int], atoms: Sequence[Atom | Not]
) -> tuple[AxiomLayer, ...]:
    """Return the rules by layer, over the task's fact numbers, which `literals` gives for raw literals.

    Raises `InputError` where a derived fact depends on its own negation (the axioms are not stratified).
    """
    derived = {rule.head for rule in rules}
    level = _levels(rules, derived, atoms)
    by_level: dict[int, list[Rule]] = defaultdict(list)
    for rule in rules:
        body = sorted(literals[literal] for literal in rule.body)
        by_level[level[rule.head]].append(Rule(tuple(body), literals[rule.head]))
    negated: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for fact in negation:
        if fact in derived:
            negated[level[fact]].append((literals[~fact], literals[fact]))
    return tuple([AxiomLayer(tuple(by_level[key]), tuple(negated[key])) for key in sorted(by_level)])


def _levels(rules: Iterable[RawRule], derived: set[int], atoms: Sequence[Atom | Not]) -> dict[int, int]:
    """Return the smallest level of each derived fact: at least that of what it uses, above that of what it negates."""
    level = dict.fromkeys(derived, 0)
    users: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for rule in rules:
        for literal in rule.body:
            fact, step = (literal, 0) if literal >= 0 else (~literal, 1)
            if fact in derived:
                users[fact].append((rule.head, step))
    queue = list(derived)
    while queue:
        fact = queue.pop()
        for head, step in users[fact]:
            if level[head] < level[fact] + step:
                level[head] = level[fact] + step
                if level[head] > len(derived):
                    raise InputError(
                        f"derived fact {atoms[head]} depends on its own negation",
                        hint="axioms must be stratified: a derived fact may not rest on its own absence",
                    )
                queue.append(head)
    return level


def plain_task(problem: Problem) -> tuple[RawTask, list[Atom]] | None:
    """Return the reachable part of a plain ADL problem, and the atoms of its facts; a fact may be unreachable.

    None where there are parameters, conditional effects, axioms, or conditions beyond conjunctions of literals.
    """
    domain = problem.domain
    if domain.axioms or any(action.parameters or action.when for action in domain.actions.values()):
        return None
    facts = _Facts()
    actions = []
    for action in domain.actions.values():
        condition, effect = facts.literals(action.requires), facts.each(action.provides)
        if condition is None or effect is None:
            return None
        adds, deletes = [fact for fact in effect if fact >= 0], [~literal for literal in effect if literal < 0]
        actions.append(RawAction(action, (), _cost(action, problem), condition, adds, deletes))
    goal = facts.literals(problem.goal.hard)
    if goal is None:
        return None
    initial = facts.known(problem.initial)
    return RawTask(initial, goal, _reached(actions, initial), []), facts.atoms


def _cost(action: Action, problem: Problem) -> Number:
    cost = action.cost
    if len(cost) == 1 and type(cost[0]) is int and problem.metric is Metric.COST:
        return cost[0]
    return cost_picker(action, problem)(())


class _Facts:
    """Atoms and their numbers, in the order in which they are met."""

    def __init__(self) -> None:
        self.atoms: list[Atom] = []
        self._numbers: dict[tuple[str, Row], int] = {}

    def literals(self, formula: Formula) -> list[Literal] | None:
        """Return the literals of a conjunction; None for any other formula."""
        return self.each(formula.parts if isinstance(formula, And) else (formula,))

    def each(self, parts: Iterable[Formula]) -> list[Literal] | None:
        """Return the literals, each once; None where one is none."""
        found = []
        for part in parts:
            atom = part.part if isinstance(part, Not) else part
            if not isinstance(atom, Atom):
                return None
            key = (atom.predicate, atom.args)
            number = self._numbers.get(key)
            if number is None:
                number = self._numbers[key] = len(self.atoms)
                self.atoms.append(atom)
            found.append(number if atom is part else ~number)
        return list(dict.fromkeys(found))

    def known(self, atoms: Iterable[Atom]) -> set[int]:
        """Return the numbers of those of `atoms` that were met."""
        numbers = self._numbers
        return {numbers[key] for atom in atoms if (key := (atom.predicate, atom.args)) in numbers}


def _reached(actions: Sequence[RawAction], initial: Iterable[int]) -> list[RawAction]:
    """Return the actions that may apply some time if nothing is ever deleted, in their order."""
    waiting: dict[int, list[int]] = {}
    missing = []
    for number, action in enumerate(actions):
        needed = [fact for fact in action.condition if fact >= 0]
        missing.append(len(needed))
        for fact in needed:
            waiting.setdefault(fact, []).append(number)
    seen = set(initial)
    queue = [*seen]
    for number, action in enumerate(actions):
        if not missing[number]:
            queue += [fact for fact in action.adds if fact not in seen]
            seen.update(action.adds)
    while queue:
        for number in waiting.get(queue.pop(), ()):
            missing[number] -= 1
            if not missing[number]:
                queue += [fact for fact in actions[number].adds if fact not in seen]
                seen.update(actions[number].adds)
    return [action for action, left in zip(actions, missing, strict=True) if not left]


@dataclass(frozen=True, slots=True)
class Numbering:
    """The final numbers: `literals` maps raw literals, positive and negative, to facts of the task."""

    literals: dict[Literal, int]

    @classmethod
    def of(cls, ordered: Iterable[int], negation: dict[int, int]) -> Numbering:
        """Return the numbering of the facts in this order; `negation` maps facts to the facts for their negations."""
        number = {fact: place for place, fact in enumerate(ordered)}
        return cls(number | {~fact: number[opposite] for fact, opposite in negation.items()})

    def __call__(self, literals: Iterable[Literal]) -> tuple[int, ...]:
        """Return the numbers of `literals`, ascending."""
        return tuple(sorted(map(self.literals.__getitem__, literals)))

    def rows(self, table: ActionTable, columns: Sequence[Column]) -> Iterator[tuple[int, ...]]:
        """Return the numbers of each row of `table` in `columns`, ascending."""
        found = [list(map(self.literals.__getitem__, column)) for column in columns]
        found.sort(key=itemgetter(0))
        rows = table.rows(found)
        if all(all(map(lt, one, other)) for one, other in pairwise(found)):
            return rows
        return map(tuple, map(sorted, rows))


class Finisher:
    """Makes the actions of a task; equal costs are made exact and integral once."""

    def __init__(self, numbers: Numbering, task: RawTask) -> None:
        self._numbers = numbers
        self._task = task
        costs = {action.cost for action in task.actions}.union(*[table.costs for table in task.tables])
        self.resolution = common_resolution(costs)
        self._costs = {cost: (exact(cost), int(cost * self.resolution)) for cost in costs}

    def actions(self, limits: Limits) -> tuple[GroundAction, ...]:
        """Return the ground actions in the order of the instances."""
        places: list[int] = []
        found: list[GroundAction] = []
        for batch in batches(self._task.actions):
            limits.check()
            places += [action.number for action in batch]
            found += map(self._action, batch)
        for table in self._task.tables:
            limits.check()
            places += table.numbers
            found += self._of_table(table)
        if all(map(lt, places, places[1:])):
            return tuple(found)
        return tuple([found[place] for place in sorted(range(len(found)), key=places.__getitem__)])

    def _of_table(self, table: ActionTable) -> Iterator[GroundAction]:
        costs = list(map(self._costs.__getitem__, table.costs))
        return map(
            GroundAction,
            map(Step, repeat(table.action.name), table.arguments, map(itemgetter(0), costs)),
            self._numbers.rows(table, table.condition),
            self._numbers.rows(table, table.adds),
            self._numbers.rows(table, table.deletes),
            repeat(()),
            map(itemgetter(1), costs),
        )

    def _action(self, raw: RawAction) -> GroundAction:
        numbers, (cost, units) = self._numbers, self._costs[raw.cost]
        effects = [ConditionalEffect(numbers(e.condition), numbers(e.adds), numbers(e.deletes)) for e in raw.effects]
        return GroundAction(
            Step(raw.action.name, raw.arguments, cost),
            numbers(raw.condition),
            numbers(raw.adds),
            numbers(raw.deletes),
            tuple(effects),
            units,
        )


def ground(problem: Problem, limits: Limits, *, whole: bool = False) -> Task:
    """Return the ground task of `problem`: reachable, relevant, with mutex groups as variables, constraints kept.

    The `whole` has what is not relevant, too: every action that can change anything. A goal that no relaxed plan
    reaches gives a task with nothing but `unreachable_goal`. Raises `LimitReached` when a limit is reached,
    `InputError` for costs without a value and axioms that are not stratified.
    """
    with collector_paused():
        relevant = problem if whole else remove_irrelevant_actions(problem)
        compiled = compile_constraints(compile_adl(relevant).problem, soft=False)
        return ground_adl(compiled.problem, limits, {}, whole=whole)


def ground_adl(source: Problem, limits: Limits, together: Mapping[str, str], *, whole: bool = False) -> Task:
    """Return the ground task of a plain ADL problem, as `ground` does.

    Actions that `together` gives the same name are kept or dropped together, for the same arguments, unless they change
    nothing: they are what may come of one choice.
    """
    plain = plain_task(source)
    found = explore(source, limits) if plain is None else _simplified(*plain, limits)
    if found.unreachable_goal is not None:
        return Task((), (), (), (), (), unreachable_goal=found.unreachable_goal)
    if together:
        found.task.actions += one_by_one(found.task.tables)
        found.task.tables = []
    if not whole:
        keep_relevant(found.task, relevant_literals(found.task, limits), limits, together)
    return _finish(found.task, found.atoms, limits, together)


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


def explore(problem: Problem, limits: Limits) -> Explored:
    """Return the reachable part of `problem`, simplified, before anything irrelevant is dropped."""
    reached = reach(problem, limits)
    return instantiated(reached, reached.database.growing, limits)


def reach(problem: Problem, limits: Limits) -> Reached:
    """Return which instances of actions, effects and axioms can be reached with deletes ignored."""
    normal = narrow_deletes(normalise(problem))
    database = Database(normal.problem, normal.fluent | normal.derived)
    schemas, axioms = schema_rules(normal), axiom_rules(normal)
    reachability = Reachability(database, limits)
    reachability.run([rule for rules in schemas for rule in rules.reachable] + [axiom.rule for axiom in axioms])
    for effect in chain.from_iterable(rules.effects for rules in schemas):
        if effect.deletes:
            reachability.find(effect.rule)
    return Reached(normal, database, schemas, axioms)


def instantiated(reached: Reached, predicates: Iterable[str], limits: Limits) -> Explored:
    """Return what was reached, simplified, over the facts of these `predicates`; others are taken to hold."""
    normal, database = reached.normal, reached.database
    table = FactTable.of(database, predicates)
    residuals = Residuals(table, database, limits)
    goal = instantiate_goal(normal.goal, residuals)
    if not isinstance(goal, list):
        return Explored(RawTask(set(), [], [], []), table.atoms, normal.written.get(goal, goal))
    actions, tables = instantiate_actions(reached.schemas, normal.problem, table, residuals, limits)
    task = RawTask(
        initial=table.holding(database.initial),
        goal=goal,
        actions=actions,
        rules=list(instantiate_axioms(reached.axioms, table, residuals, limits)),
        tables=tables,
    )
    task.rules.extend(residuals.rules)
    found = _simplified(task, table.atoms, limits)
    part = found.unreachable_goal
    if part is None:
        return found
    whole = normal.problem.goal.hard if isinstance(part, Atom) and part.predicate.startswith(ANY) else part
    return replace(found, unreachable_goal=normal.written.get(part, whole))


def _simplified(task: RawTask, atoms: list[Atom], limits: Limits) -> Explored:
    impossible = simplify(task, atoms, limits)
    return Explored(task, atoms, None if impossible is None else _literal(impossible, atoms))


def _literal(literal: Literal, atoms: Sequence[Atom]) -> Atom | Not:
    return atoms[literal] if literal >= 0 else Not(atoms[~literal])


def _finish(task: RawTask, atoms: list[Atom], limits: Limits, together: Mapping[str, str]) -> Task:
    """Return the task: facts numbered, mutex groups found, negations written where they are needed."""
    frame, numbers = framed(task, atoms, without_clashes(task, atoms, limits))
    finisher = Finisher(numbers, task)
    actions = without_needless_copies(finisher.actions(limits), together)
    return replace(frame, actions=actions, resolution=finisher.resolution)


def without_clashes(task: RawTask, atoms: list[Atom], limits: Limits) -> Groups:
    """Return the mutex groups; the actions that need two facts of one are dropped."""
    basic = _basic_facts(task, {rule.head for rule in task.rules})
    finder = MutexFinder(atoms, task, basic)
    groups = finder.groups(limits)
    _drop_impossible(task, groups, finder, limits)
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


def _drop_impossible(task: RawTask, groups: list[Group], finder: MutexFinder, limits: Limits) -> None:
    """Drop the actions that need two facts of a mutex group."""
    groups_of: dict[int, list[int]] = {}
    for number, group in enumerate(groups):
        for fact in group:
            groups_of.setdefault(fact, []).append(number)
    kept: list[RawAction] = []
    for batch in batches(task.actions):
        limits.check()
        kept += [action for action in batch if not _clashes(action, groups_of)]
    task.actions = kept
    parts: list[ActionTable] = []
    for table in task.tables:
        limits.check()
        parts += table.cut({}, finder.clashing(table))
    task.tables = parts


def _clashes(action: RawAction, groups_of: dict[int, list[int]]) -> bool:
    needed = [group for literal in action.condition if literal in groups_of for group in groups_of[literal]]
    return len(set(needed)) < len(needed)
