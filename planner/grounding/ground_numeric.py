"""Ground a numeric problem: ground its abstraction without numbers, and give comparisons and effects their meaning.

`numeric_meaning` gives them their meaning, and `numeric_scaling` makes the task of integers.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from types import MappingProxyType

from planner.compilations.number_abstraction import NumberAbstraction, abstract_numbers
from planner.compilations.passes import compile_away
from planner.garbage_collection import pause_collector
from planner.grounding import ground, instantiate
from planner.grounding.action_tables import make_cost_function
from planner.grounding.instantiate import FactTable, RawAction, RawEffect, RawRule, Residuals, as_actions
from planner.grounding.mutex_groups import MutexFinder, partition_facts
from planner.grounding.numeric_meaning import NumericMeaning
from planner.grounding.numeric_scaling import make_numeric_task
from planner.grounding.relevance import find_relevant_literals, keep_relevant
from planner.grounding.simplify import RawTask, simplify
from planner.lightweight import Final, replace
from planner.limits import Limits, enforce, under_limits
from planner.model.actions import Action
from planner.model.arithmetic import Key
from planner.model.constructs import Construct
from planner.model.formulas import Atom, Formula, Not
from planner.model.problem import Problem, refuse_time
from planner.task.ground_task import Task
from planner.task.numeric_task import NumericTask

ANYTHING: Final = Action("@numbers")
"""Two actions with this schema stand for all that numbers may do, while facts are simplified."""


def ground_numeric(
    problem: Problem,
    limits: Limits,
    *,
    with_metric: bool = False,
    by_ends: bool = False,
    whole: bool = False,
    together: Mapping[str, str] = MappingProxyType({}),
) -> NumericTask:
    """Ground `problem` to its reachable and relevant part, as `ground` does for classical problems.

    What only the metric needs is left out where action costs do not say it, unless `with_metric`: then the actions cost
    what the metric takes of the total cost, where that is not negative; `by_ends` they do so always. With `whole`,
    irrelevant actions and facts are kept. Actions with the same name in `together` are outcomes of one choice: they
    have one precondition, and search must check bounds after them. Raises `UnsupportedError` for terms that are not
    linear, where a fluent without a value is read, and for a share of the total cost `by_ends` that is negative.
    """
    refuse_time(problem, "in this search")
    with pause_collector(), enforce(limits):
        problem = compile_away(problem, Construct.CONSTRAINTS, Construct.BUDGETS)
        abstraction = abstract_numbers(problem)
        source = ground.compile_to_adl(abstraction.problem, whole=True)
        reached = ground.reach(source, limits, abstraction.requirements)
        predicates = reached.database.growing
        task, atoms, unreachable = instantiate_abstraction(reached, abstraction, predicates, limits)
        meaning = NumericMeaning(problem, abstraction, atoms, together)
        if unreachable is None:
            meaning.interpret(task)
            unreachable = remove_constants(task, meaning, limits)
        if unreachable is not None:
            part = meaning.describe(unreachable)
            return NumericTask(Task((), (), (), (), (), unreachable_goal=part), (), (), ())
        set_costs(task.actions, problem)
        if by_ends:
            meaning.weigh(task.actions)
        else:
            meaning.price(task.actions, with_metric=with_metric)
        if not whole:
            _keep_relevant(task, meaning, limits, together)
        return _finish(task, meaning, limits, together, whole=whole)


class _OpenRows(dict[tuple[str, ...], int]):
    """Numbers of the facts of one predicate, all of which are reachable: asking for a fact numbers it."""

    def __init__(self, predicate: str, atoms: list[Atom]) -> None:
        super().__init__()
        self._predicate, self._atoms = predicate, atoms

    def get(self, row: tuple[str, ...], _default: object = None) -> int:
        """Return the number of the fact with these arguments."""
        if row not in self:
            self[row] = len(self._atoms)
            self._atoms.append(Atom(self._predicate, row))
        return self[row]


def instantiate_abstraction(
    reached: ground.Reached, abstraction: NumberAbstraction, predicates: Iterable[str], limits: Limits
) -> tuple[RawTask, list[Atom], Formula | None]:
    """Instantiate what was reached if every comparison may hold, over the facts of these `predicates`.

    Return the task with the atoms of its facts, and a part of the goal that is not reached, if there is one.
    """
    normal, database = reached.normal, reached.database
    table = FactTable.of(database, predicates)
    for name in abstraction.requirements:
        table.numbers[name] = _OpenRows(name, table.atoms)
    table.open = frozenset(abstraction.requirements)
    residuals = Residuals(table, database, limits)
    goal = instantiate.instantiate_goal(normal.goal, residuals)
    whole = goal if isinstance(goal, list) else []
    task = ground.instantiate_schemas(reached, whole, table, residuals, limits)
    task.actions, task.tables = [*task.actions, *under_limits(as_actions(task.tables))], []
    return task, table.atoms, None if isinstance(goal, list) else normal.written.get(goal, goal)


def set_costs(actions: Iterable[RawAction], problem: Problem) -> None:
    """Set the declared costs of `actions`."""
    functions = {name: make_cost_function(action, problem) for name, action in problem.domain.actions.items()}
    for action in under_limits(actions):
        action.cost = functions[action.action.name](action.action.declared_arguments(action.arguments))


def remove_constants(task: RawTask, meaning: NumericMeaning, limits: Limits) -> Formula | None:
    """Simplify `task`; return a part of the goal that can never hold, if there is one."""
    live = meaning.settle(task)
    task.actions += [RawAction(ANYTHING, (), 0, [], live, []), RawAction(ANYTHING, (), 0, [], [], live)]
    impossible = simplify(task, meaning.atoms, limits)
    task.actions = [action for action in task.actions if action.action is not ANYTHING]
    if impossible is None:
        return None
    return meaning.atoms[impossible] if impossible >= 0 else Not(meaning.atoms[~impossible])


def _keep_relevant(task: RawTask, meaning: NumericMeaning, limits: Limits, together: Mapping[str, str]) -> None:
    """Remove what neither the goal nor the metric needs: a comparison needs the changes of its fluents."""
    variables: dict[Key, int] = {}
    rules: list[RawRule] = []

    def need(head: int, keys: Iterable[Key]) -> None:
        for key in keys:
            variable = variables.setdefault(key, len(meaning.atoms) + len(variables))
            rules.extend([RawRule((variable,), head), RawRule((~variable,), head)])

    for number, form in meaning.forms.items():
        need(number, form.weights)
    for number, (key, _, form) in meaning.effects.items():
        need(number, form.weights)
        variable = variables.setdefault(key, len(meaning.atoms) + len(variables))
        rules.extend([RawRule((number,), variable), RawRule((~number,), variable)])
    goal, own = task.goal, task.rules
    task.goal = [
        *goal,
        *[variables[key] for key in {**meaning.metric, **dict.fromkeys(meaning.guarded)} if key in variables],
    ]
    task.rules = [*own, *rules]
    relevant = find_relevant_literals(task, limits)
    task.goal, task.rules = goal, own
    keep_relevant(task, relevant, limits, together)


def _finish(
    task: RawTask, meaning: NumericMeaning, limits: Limits, together: Mapping[str, str], *, whole: bool
) -> NumericTask:
    """Make the numeric task of what is left."""
    groups = find_groups(task, meaning, limits)
    used = ground.find_basic_facts(task, {rule.head for rule in task.rules})
    variables = [
        *groups.variables,
        *[(fact,) for fact in used if fact in meaning.forms],
        *[(fact,) for fact in used if fact in meaning.effects],
    ]
    explored = ground.Explored(task, meaning.atoms)
    finished = ground.finish(explored, ground.Groups(groups.groups, variables), limits, together)
    return make_numeric_task(finished, meaning, whole=whole)


def find_groups(task: RawTask, meaning: NumericMeaning, limits: Limits) -> ground.Groups:
    """Find the mutex groups of the facts that are not about numbers; drop the actions that need two facts of one."""
    plain = _without(task, meaning.effects.keys() | meaning.forms.keys())
    basic = ground.find_basic_facts(plain, {rule.head for rule in task.rules})
    finder = MutexFinder(meaning.atoms, plain, basic)
    groups = finder.groups(limits)
    ground.drop_impossible(task, groups, finder, limits)
    return ground.Groups(groups, [*partition_facts(groups, basic)])


def _without(task: RawTask, hidden: Collection[int]) -> RawTask:
    """Return `task` without these facts."""

    def seen(literals: Iterable[int]) -> list[int]:
        return [each for each in literals if (each if each >= 0 else ~each) not in hidden]

    def part(source: RawEffect) -> RawEffect:
        return RawEffect(source.condition, seen(source.adds), seen(source.deletes))

    actions = [
        replace(
            each,
            condition=seen(each.condition),
            adds=seen(each.adds),
            deletes=seen(each.deletes),
            effects=[part(effect) for effect in each.effects],
        )
        for each in under_limits(task.actions)
    ]
    rules = [RawRule(tuple(seen(rule.body)), rule.head) for rule in under_limits(task.rules)]
    return RawTask(set(seen(task.initial)), seen(task.goal), actions, rules)
