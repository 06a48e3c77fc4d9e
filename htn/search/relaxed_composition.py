"""The relaxed composition of a ground hierarchy as arrays: methods become operators, as actions do."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from operator import sub

from htn.grounding.ground_htn import Arrays, GroundHtn
from htn.search.relaxed_composition_kernel import LOWEST, OWNER, Demands, Progress
from htn.search.relaxed_operators_kernel import NEEDS, Library, Needs
from planner.heuristics.relaxation_compiled import facts_of_zero
from planner.heuristics.relaxation_kernel import Relaxed
from planner.jit.arrays import (
    Entries,
    empty_index,
    extend_lists,
    flatten,
    index,
    invert,
    make_lists,
    select,
    words,
    zeros,
)
from planner.jit.common_kernel import NOTHING
from planner.jit.containers_kernel import Lists
from planner.lightweight import dataclass
from planner.task.ground_task import Task
from planner.task.packed_task_compiled import Packing

Odd = tuple[tuple[int, ...], tuple[int, ...], int]
"""Preconditions and effects of an operator, and its action; `NOTHING` for an axiom or the goal."""


@dataclass(frozen=True, slots=True)
class Relaxation:
    """The relaxed composition without costs, and the strongly connected `component` of each task.

    Operators are the actions, the methods, and then one for each conditional effect, axiom and the goal. `at_first`
    counts, for each operator, the unmet preconditions in the state whose words are all 0, plus one for the demand of
    its task. The facts are those of the task, one for each task (that it was done), one that always holds, and the
    goal.
    """

    arrays: Relaxed
    at_first: array[int]
    component: array[int]
    links: Lists
    operators: Lists
    facts: int
    methods: int

    def prices(self, costs: Sequence[int], own: int) -> array[int]:
        """Return the costs of operators if actions have these `costs`, and methods cost `own`."""
        odd = self.arrays.action[len(costs) + self.methods :]
        extra = [0 if action == NOTHING else costs[action] for action in odd]
        return words([*costs, *[own] * self.methods, *extra])

    def demands(self) -> Demands:
        """Return the record of the components that take part in an exploration, initially none."""
        count = len(self.links.start) - 1
        by_component = zeros(count), zeros(count), index([0]) * count, empty_index(count), empty_index(count)
        progress = Progress(zeros(len(self.at_first)), zeros(LOWEST + 1))
        return Demands(self.component, self.links, self.operators, *by_component, zeros(OWNER + 1), zeros(1), progress)


def build_relaxation(ground: GroundHtn, arrays: Arrays, packing: Packing, entries: Entries) -> Relaxation:
    """Build the relaxed composition of `ground` with its hierarchy `arrays`."""
    task, free = ground.task, _free_facts(ground)
    facts, actions, methods = len(task.facts), len(arrays.costs), len(arrays.task)
    compounds = len(arrays.methods_of.start) - 1
    tasks = actions + compounds
    component, members = _find_components(arrays, entries)
    library = _build_library(task, arrays, free, entries)
    needs = Needs(index([0]) * compounds, index([0]) * (NEEDS * compounds), zeros(facts), zeros(facts))
    entries["find_needs"](library, members, needs)
    size = len(library.required.item) + len(library.possible.item) + len(library.subtasks.item) + actions + methods
    preconditions = make_lists(actions + methods, size)
    effects = make_lists(actions + methods, len(library.adds.item) + actions + methods)
    del preconditions.item[entries["build_operators"](facts, library, needs, preconditions, effects) :]
    odd = [*_other_operators(task, arrays, free, facts + tasks)]
    for lists, more in ((preconditions, [each[0] for each in odd]), (effects, [each[1] for each in odd])):
        extend_lists(lists, Lists(*flatten(more)))
    action = index([*range(actions + methods), *[each[2] for each in odd]])
    needed = invert(preconditions, facts + tasks + 2, entries)
    count = len(members.start) - 1
    owner = index([component[each] for each in range(actions)])
    owner.extend(index([component[each] for each in arrays.task]))
    owner.extend(index([count if each[2] == NOTHING else component[each[2]] for each in odd]))
    operators = invert(Lists(index(range(len(owner) + 1)), owner), count + 1, entries)
    unused, costs = index([0]), words([0]) * len(action)
    return Relaxation(
        Relaxed(*preconditions, *effects, *needed, unused, unused, costs, action, unused, unused),
        _count_missing(preconditions, needed, [facts + tasks, *facts_of_zero(packing)], owner, count),
        component,
        _link_components(arrays, component, members, entries),
        operators,
        facts + tasks + 2,
        methods,
    )


def _find_components(arrays: Arrays, entries: Entries) -> tuple[array[int], Lists]:
    """Return the component of each task, and the tasks of each component."""
    actions, tasks = len(arrays.costs), len(arrays.costs) + len(arrays.methods_of.start) - 1
    component = empty_index(tasks)
    rooms = [empty_index(tasks) for _ in range(6)]
    count = entries["number_components"](actions, arrays.methods_of, arrays.subtasks, component, *rooms)
    return component, invert(Lists(index(range(tasks + 1)), component), count, entries)


def _link_components(arrays: Arrays, component: array[int], members: Lists, entries: Entries) -> Lists:
    count = len(members.start) - 1
    links, seen = make_lists(count, len(arrays.subtasks.item)), index([0]) * count
    many = entries["link_components"](
        len(arrays.costs), arrays.methods_of, arrays.subtasks, component, members, links, seen
    )
    del links.item[many:]
    return links


def _free_facts(ground: GroundHtn) -> set[int]:
    """Return the facts that the relaxation assumes to hold: negated derived facts, and comparisons of numbers."""
    found = {fact for layer in ground.task.axioms for fact, _ in layer.negated}
    if ground.numeric is not None:
        from planner.task.numeric_task_compiled import find_opposites

        compared = [each.fact for each in ground.numeric.conditions]
        opposite = find_opposites(ground.task)
        found.update(compared, [opposite[fact] for fact in compared])
    return found


def _build_library(task: Task, arrays: Arrays, free: set[int], entries: Entries) -> Library:
    """Build the hierarchy without the facts that are `free`."""
    name = index(range(len(task.facts)))
    for fact in free:
        name[fact] = NOTHING

    def keep(lists: Lists) -> Lists:
        return select(lists, index(range(len(lists.start) - 1)), name, entries) if free else lists

    required, adds, possible = map(keep, (arrays.required, arrays.adds, arrays.possible))
    return Library(required, adds, possible, arrays.task, arrays.subtasks, arrays.methods_of)


def _other_operators(task: Task, arrays: Arrays, free: set[int], start: int) -> Iterator[Odd]:
    """Yield the operators for conditional effects, axioms and the goal; the fact `start` always holds."""

    def operator(needed: Sequence[int], added: Sequence[int], action: int) -> Odd:
        conditions = tuple([fact for fact in dict.fromkeys(needed) if fact not in free])
        return conditions or (start,), tuple([fact for fact in dict.fromkeys(added) if fact not in free]), action

    for action, effects in arrays.conditional.items():
        required = task.actions[action].precondition
        gains: dict[tuple[int, ...], list[int]] = {}
        for effect in effects:
            gains.setdefault(effect.condition, []).extend(effect.adds)
        for condition, added in gains.items():
            yield operator(required + condition, added, action)
    for layer in task.axioms:
        for rule in layer.rules:
            yield operator(rule.body, (rule.head,), NOTHING)
    yield operator(task.goal, (start + 1,), NOTHING)


def _count_missing(
    preconditions: Lists, needed: Lists, held: Sequence[int], owner: array[int], count: int
) -> array[int]:
    """Return the number of preconditions of each operator that are not `held` initially.

    An operator with an `owner`, a component below `count`, lacks one more until that component takes part.
    """
    ends = preconditions.start
    missing = index(map(sub, ends[1:], ends))
    for fact in held:
        for place in range(needed.start[fact], needed.start[fact + 1]):
            missing[needed.item[place]] -= 1
    return index([many + (mine < count) for many, mine in zip(missing, owner, strict=True)])
