"""Grounding: from a problem to its task, stage by stage: reachability, simplification, relevance, mutex groups.

An alternative of a disjunctive condition makes a copy of the action; copies that another one dominates are dropped.
Derived facts are stratified into layers, so that a negation is tested only when the layer of its fact is complete. In
the end, facts get their final numbers, and costs become integers.

Problems whose actions have no parameters, like the tools of most agents, need no joins: reachability counts unmet
conditions, which takes microseconds for each action.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from itertools import chain, pairwise, repeat
from operator import itemgetter, lt

from planner.compilations.lifted_relevance import remove_irrelevant_actions
from planner.compilations.normal_form import NormalProblem, narrow_deletes, normalise
from planner.compilations.passes import compile_away
from planner.errors import InputError
from planner.garbage_collection import pause_collector
from planner.grounding import instantiate
from planner.grounding.action_tables import ActionTable, Column, common_resolution, make_cost_function
from planner.grounding.allowances import with_allowances
from planner.grounding.instantiate import FactTable, Literal, RawAction, RawRule, Residuals, as_actions, parts_of
from planner.grounding.joins import Row, batches, getter
from planner.grounding.mutex_groups import Group, MutexFinder, partition_facts
from planner.grounding.reachability import AxiomRule, Database, Reachability, SchemaRules, axiom_rules, schema_rules
from planner.grounding.relevance import find_relevant_literals, keep_relevant
from planner.grounding.simplify import RawTask, find_needed_negations, simplify, write_negations, write_table_negations
from planner.lightweight import dataclass, replace
from planner.limits import Limits, enforce, under_limits
from planner.model import OPEN, Action, And, Atom, Formula, Goal, Metric, Not, Number, Problem
from planner.model.constructs import Construct
from planner.model.domain import DomainModel, has_numbers
from planner.model.formulas import comparisons_in
from planner.model.problem import refuse_numbers, refuse_time
from planner.plan import Step, exact
from planner.semantics.undefined_values import describe_undefined
from planner.task.ground_task import AxiomLayer, ConditionalEffect, GroundAction, Rule, Task


def drop_dominated_copies(actions: Sequence[GroundAction], outcomes: Container[str]) -> tuple[GroundAction, ...]:
    """Remove actions that have the effects of another copy of the same step and require more.

    All actions named in `outcomes` stay: each is an outcome of a choice.
    """
    groups: dict[tuple[str, tuple[str, ...]], list[int]] = {}
    for number, action in enumerate(under_limits(actions)):
        if action.step.action not in outcomes:
            groups.setdefault((action.step.action, action.step.arguments), []).append(number)
    dropped = {
        number
        for numbers in under_limits(groups.values())
        if len(numbers) > 1
        for number in numbers
        if any(
            _dominates(actions[other], actions[number], first=other < number) for other in numbers if other != number
        )
    }
    return tuple([action for number, action in enumerate(actions) if number not in dropped])


def _dominates(one: GroundAction, other: GroundAction, *, first: bool) -> bool:
    """Return whether `one` can replace `other`; of two equal copies, the `first` one replaces the other."""
    if (one.adds, one.deletes, one.conditional) != (other.adds, other.deletes, other.conditional):
        return False
    mine, theirs = set(one.precondition), set(other.precondition)
    return mine < theirs or (first and mine == theirs)


def stratify_axioms(
    rules: Sequence[RawRule], negation: dict[int, int], literals: dict[Literal, int], atoms: Sequence[Atom | Not]
) -> tuple[AxiomLayer, ...]:
    """Stratify the rules into layers, over the fact numbers that `literals` gives for raw literals.

    Raises `InputError` if the axioms are not stratified: a derived fact depends on its own negation.
    """
    derived = {rule.head for rule in rules}
    level = _assign_levels(rules, derived, atoms)
    by_level: dict[int, list[Rule]] = defaultdict(list)
    for rule in rules:
        body = sorted(literals[literal] for literal in rule.body)
        by_level[level[rule.head]].append(Rule(tuple(body), literals[rule.head]))
    negated: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for fact in negation:
        if fact in derived:
            negated[level[fact]].append((literals[~fact], literals[fact]))
    return tuple([AxiomLayer(tuple(by_level[key]), tuple(negated[key])) for key in sorted(by_level)])


def _assign_levels(rules: Iterable[RawRule], derived: set[int], atoms: Sequence[Atom | Not]) -> dict[int, int]:
    """Assign each derived fact the least level that is not below its conditions, and above its negated ones."""
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


def ground_propositional(problem: Problem) -> tuple[RawTask, list[Atom]] | None:
    """Ground the reachable part of a plain ADL problem without parameters; return it with the atoms of its facts.

    Return None for problems with parameters, conditional effects, axioms, or other conditions than conjunctions of
    literals. Some facts may be unreachable.
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
        if describe_undefined(problem, action, {}):
            continue
        adds, deletes = [fact for fact in effect if fact >= 0], [~literal for literal in effect if literal < 0]
        actions.append(RawAction(action, (), _cost(action, problem), condition, adds, deletes))
    goal = facts.literals(problem.goal.hard)
    if goal is None:
        return None
    initial = facts.numbers_of(problem.initial)
    return RawTask(initial, goal, _find_reachable(actions, initial), []), facts.atoms


def _cost(action: Action, problem: Problem) -> Number:
    cost = action.cost
    if len(cost) == 1 and type(cost[0]) is int and problem.metric is Metric.COST:
        return cost[0]
    return make_cost_function(action, problem)(())


class _Facts:
    """Atoms and their numbers, in order of occurrence."""

    def __init__(self) -> None:
        self.atoms: list[Atom] = []
        self._numbers: dict[tuple[str, Row], int] = {}

    def literals(self, formula: Formula) -> list[Literal] | None:
        """Return the literals of a conjunction; None for any other formula."""
        return self.each(formula.parts if isinstance(formula, And) else (formula,))

    def each(self, parts: Iterable[Formula]) -> list[Literal] | None:
        """Return the literals without repetitions; None where a part is no literal."""
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

    def numbers_of(self, atoms: Iterable[Atom]) -> set[int]:
        """Return the numbers of those of `atoms` that have one."""
        numbers = self._numbers
        return {numbers[key] for atom in atoms if (key := (atom.predicate, atom.args)) in numbers}


def _find_reachable(actions: Sequence[RawAction], initial: Iterable[int]) -> list[RawAction]:
    """Return the actions that are reachable in the delete relaxation, in their order."""
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


class ActionBuilder:
    """Makes the ground actions of a task, with exact and integer costs."""

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
            found += under_limits(self._of_table(table))
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
    """Ground `problem` to its reachable and relevant part, with mutex groups as variables and constraints compiled.

    The task has the budgets of `problem`. With `whole`, keep irrelevant actions and facts, too. If no relaxed plan
    reaches the goal, the task has only `unreachable_goal`. Raises `LimitReached` at a limit, and `InputError` for
    negative costs and uses, and for axioms that are not stratified.
    """
    refuse_numbers(problem, "in this search")
    refuse_time(problem, "in this search")
    with pause_collector(), enforce(limits):
        task = ground_adl(compile_to_adl(problem, whole=whole), limits, {}, whole=whole)
        return with_allowances(task, problem) if problem.is_limited else task


def ground_adl(source: Problem, limits: Limits, together: Mapping[str, str], *, whole: bool = False) -> Task:
    """Ground a plain ADL problem, as `ground` does.

    Actions with the same name in `together` and the same arguments are outcomes of one choice: if one of them is
    relevant, all stay that have effects.
    """
    found = _explore_relevant(source, limits, together, whole=whole)
    if found.unreachable_goal is not None:
        return _unreachable_task(found)
    return finish(found, find_mutex_groups(found.task, found.atoms, limits), limits, together)


def ground_relaxation(problem: Problem, limits: Limits) -> tuple[Task, Callable[[Limits], Task]]:
    """Ground `problem` without mutex groups: the task has all actions that the delete relaxation reaches.

    Return that task, and a function that returns the task of `ground`; it can be called once.
    """
    with pause_collector(), enforce(limits):
        found = _explore_relevant(compile_to_adl(problem, whole=False), limits, {}, whole=False)
        if found.unreachable_goal is not None:
            task = _unreachable_task(found)
            return task, lambda _: task
        if find_needed_negations(found.task):  # to number the facts writes these into the actions
            return finish(found, _separate_facts(found.task), limits, {}), lambda more: ground(problem, more)
        plain = replace(found, task=replace(found.task))
        relaxed = finish(plain, _separate_facts(plain.task), limits, {})
    return relaxed, lambda more: finish(found, find_mutex_groups(found.task, found.atoms, more), more, {})


def compile_to_adl(problem: Problem, *, whole: bool) -> Problem:
    """Compile `problem` to plain ADL, without constraints; unless `whole`, without irrelevant actions."""
    relevant = problem if whole else remove_irrelevant_actions(problem)
    return compile_away(relevant, Construct.CHANGES, Construct.CONSTRAINTS)


def _explore_relevant(source: Problem, limits: Limits, together: Mapping[str, str], *, whole: bool) -> Explored:
    refuse_numbers(source, "in this search")
    plain = ground_propositional(source)
    found = explore(source, limits) if plain is None else _simplify(*plain, limits)
    if found.unreachable_goal is None and together:
        found.task.actions += as_actions(found.task.tables)
        found.task.tables = []
    if found.unreachable_goal is None and not whole:
        keep_relevant(found.task, find_relevant_literals(found.task, limits), limits, together)
    return found


def _unreachable_task(found: Explored) -> Task:
    return Task((), (), (), (), (), unreachable_goal=found.unreachable_goal)


@dataclass(frozen=True, slots=True)
class Explored:
    """The reachable part of a problem: a raw task, and the atoms of its facts."""

    task: RawTask
    atoms: list[Atom]
    unreachable_goal: Formula | None = None


@dataclass(frozen=True, slots=True)
class Reached:
    """The result of reachability, in the relations of `database` and the rules of `schemas` and `axioms`."""

    normal: NormalProblem
    database: Database
    schemas: list[SchemaRules]
    axioms: list[AxiomRule]


def explore(problem: Problem, limits: Limits) -> Explored:
    """Ground the reachable part of `problem`, and simplify it; keep irrelevant actions and facts."""
    reached = reach(problem, limits)
    return instantiate_reached(reached, reached.database.growing, limits)


def reach(problem: Problem, limits: Limits, changing: Iterable[str] = ()) -> Reached:
    """Find the instances of actions, effects and axioms that the delete relaxation reaches.

    Facts of the predicates `changing` may become true or false although no action writes them.
    """
    normal = narrow_deletes(normalise(problem))
    normal = replace(normal, fluent=normal.fluent.union(changing)) if changing else normal
    database = Database(normal.problem, normal.fluent | normal.derived)
    schemas, axioms = schema_rules(normal), axiom_rules(normal)
    reachability = Reachability(database, limits)
    reachability.run([rule for rules in schemas for rule in rules.reachable] + [axiom.rule for axiom in axioms])
    for effect in chain.from_iterable(rules.effects for rules in schemas):
        if effect.deletes:
            reachability.find(effect.rule)
    return Reached(normal, database, schemas, axioms)


def instantiate_reached(reached: Reached, predicates: Iterable[str], limits: Limits) -> Explored:
    """Instantiate and simplify what was reached, over the facts of these `predicates`; others count as true."""
    normal, database = reached.normal, reached.database
    table = FactTable.of(database, predicates)
    residuals = Residuals(table, database, limits)
    goal = instantiate.instantiate_goal(normal.goal, residuals)
    if not isinstance(goal, list):
        return Explored(RawTask(set(), [], [], []), table.atoms, normal.written.get(goal, goal))
    task = instantiate_schemas(reached, goal, table, residuals, limits)
    found = _simplify(task, table.atoms, limits)
    part = found.unreachable_goal
    if part is None:
        return found
    whole = normal.problem.goal.hard if isinstance(part, Atom) and part.predicate.startswith(instantiate.ANY) else part
    return replace(found, unreachable_goal=normal.written.get(part, whole))


def instantiate_schemas(
    reached: Reached, goal: list[Literal], table: FactTable, residuals: Residuals, limits: Limits
) -> RawTask:
    """Return the task with the instances of the actions and axioms of `reached`; the rules of `residuals` come last."""
    actions, tables = instantiate.instantiate_actions(reached.schemas, reached.normal.problem, table, residuals, limits)
    rules = list(instantiate.instantiate_axioms(reached.axioms, table, residuals, limits))
    return RawTask(table.numbers_of(reached.database.initial), goal, actions, [*rules, *residuals.rules], tables)


def _simplify(task: RawTask, atoms: list[Atom], limits: Limits) -> Explored:
    impossible = simplify(task, atoms, limits)
    return Explored(task, atoms, None if impossible is None else _literal(impossible, atoms))


def _literal(literal: Literal, atoms: Sequence[Atom]) -> Atom | Not:
    return atoms[literal] if literal >= 0 else Not(atoms[~literal])


def finish(found: Explored, groups: Groups, limits: Limits, together: Mapping[str, str]) -> Task:
    """Make the task: compile negations away, and number the facts by `groups`."""
    task = found.task
    frame, numbers = build_frame(task, found.atoms, groups)
    finisher = ActionBuilder(numbers, task)
    actions = drop_dominated_copies(finisher.actions(limits), together)
    return replace(frame, actions=actions, resolution=finisher.resolution)


def find_mutex_groups(task: RawTask, atoms: list[Atom], limits: Limits) -> Groups:
    """Find the mutex groups, and drop the actions that need two facts of one."""
    basic = find_basic_facts(task, {rule.head for rule in task.rules})
    finder = MutexFinder(atoms, task, basic)
    groups = finder.groups(limits)
    drop_impossible(task, groups, finder, limits)
    return Groups(groups, [*partition_facts(groups, basic)])


def _separate_facts(task: RawTask) -> Groups:
    """Return no mutex groups, and a variable for each fact."""
    return Groups([], [(fact,) for fact in find_basic_facts(task, {rule.head for rule in task.rules})])


@dataclass(frozen=True, slots=True)
class Groups:
    """All mutex groups, and a partition of the facts into groups, the finite-domain variables."""

    groups: list[Group]
    variables: list[Group]


def build_frame(task: RawTask, atoms: list[Atom], groups: Groups) -> tuple[Task, Numbering]:
    """Make the task without its actions, and the numbering of facts; add facts for needed negations."""
    derived = {rule.head for rule in task.rules}
    needed = find_needed_negations(task)
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
        for action in under_limits(task.actions):
            write_negations(action, negation)
        task.tables = [part for table in task.tables for part in write_table_negations(table, negation)]
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
        axioms=stratify_axioms(task.rules, negation, numbers.literals, names),
        derived=frozenset(numbers([*derived, *[~fact for fact in negation if fact in derived]])),
    )
    return frame, numbers


def find_basic_facts(task: RawTask, derived: set[int]) -> list[int]:
    """Return the sorted facts in conditions, effects, rules and the goal that are not derived."""
    used: set[Literal] = set(task.goal)
    for part in parts_of(task.actions):
        used.update(part.condition, part.adds, part.deletes)
    for table in task.tables:
        used.update(*table.columns)
    used.update(chain.from_iterable([rule.body for rule in task.rules]))
    return sorted({literal if literal >= 0 else ~literal for literal in used} - derived)


def drop_impossible(task: RawTask, groups: list[Group], finder: MutexFinder, limits: Limits) -> None:
    """Drop the actions that need two facts of a mutex group."""
    groups_of: dict[int, list[int]] = {}
    for number, group in enumerate(groups):
        for fact in group:
            groups_of.setdefault(fact, []).append(number)
    kept: list[RawAction] = []
    for batch in batches(task.actions):
        limits.check()
        kept += [action for action in batch if not _is_impossible(action, groups_of)]
    task.actions = kept
    parts: list[ActionTable] = []
    for table in task.tables:
        limits.check()
        parts += table.cut({}, finder.find_impossible_rows(table))
    task.tables = parts


def _is_impossible(action: RawAction, groups_of: dict[int, list[int]]) -> bool:
    needed = [group for literal in action.condition if literal in groups_of for group in groups_of[literal]]
    return len(set(needed)) < len(needed)


def _is_numeric_in_preconditions_only(domain: DomainModel) -> bool:
    """Return whether comparisons occur in preconditions of actions only: without them, more is reachable."""
    conditions = [when.requires for action in domain.actions.values() for when in action.when]
    conditions += [axiom.condition for axiom in domain.axioms]
    return not any(True for each in conditions for _ in comparisons_in(each))


def find_single_valued(problem: Problem, patterns: Iterable[Atom], limits: Limits) -> dict[Atom, bool]:
    """Find the patterns of which at most one fact holds at a time for each choice of the arguments that are not open.

    An example is `at(?robot, _)`: each robot is at one place. This justifies `modifies` with open arguments. The proof
    uses mutex groups over all facts that are reachable, whatever the goal; False means that there is no proof.
    """
    if has_numbers(problem.domain):
        if not _is_numeric_in_preconditions_only(problem.domain):
            return dict.fromkeys(patterns, False)
        from planner.compilations.number_abstraction import abstract_numbers

        problem = abstract_numbers(problem).problem
    found = explore(replace(problem, goal=Goal()), limits)
    derived = {rule.head for rule in found.task.rules}
    facts = [number for number, atom in enumerate(found.atoms) if number not in derived]
    groups = MutexFinder(found.atoms, found.task, facts).groups(limits)
    groups_of: dict[int, set[int]] = defaultdict(set)
    for number, group in enumerate(groups):
        for fact in group:
            groups_of[fact].add(number)
    return {pattern: _is_single(pattern, found.atoms, groups_of) for pattern in patterns}


def _is_single(pattern: Atom, atoms: list[Atom], groups_of: dict[int, set[int]]) -> bool:
    bound = getter(tuple([place for place, arg in enumerate(pattern.args) if arg != OPEN]))
    items: dict[Row, list[int]] = defaultdict(list)
    for number, atom in enumerate(atoms):
        if atom.predicate == pattern.predicate:
            items[bound(atom.args)].append(number)
    return all(len(facts) == 1 or set.intersection(*[groups_of[fact] for fact in facts]) for facts in items.values())
