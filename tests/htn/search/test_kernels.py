"""The kernels over lists and tasks against slow and obvious twins."""

from __future__ import annotations

import random

import pytest

from htn.grounding.task_reachability_kernel import keep_useful, link_components, number_components
from planner.jit.arrays import (
    empty_index,
    extend_lists,
    index,
    invert,
    join_lists,
    list_of,
    make_lists,
    select,
    wrap_items,
    zip_columns,
)
from planner.jit.common_kernel import ENTRIES, NOTHING
from planner.jit.containers_kernel import Lists

SEEDS = range(60)


def lists_of(lists) -> Lists:
    made = Lists(index([0]), index([]))
    for each in lists:
        made.item.extend(each)
        made.start.append(len(made.item))
    return made


def back(lists: Lists) -> list[list[int]]:
    return [[*list_of(lists, number)] for number in range(len(lists.start) - 1)]


def random_lists(rng: random.Random, many: int) -> list[list[int]]:
    return [rng.choices(range(many), k=rng.randint(0, 4)) for _ in range(rng.randint(0, 8))]


@pytest.mark.parametrize("seed", SEEDS)
def test_lists_are_inverted_selected_and_joined(seed):
    rng = random.Random(seed)
    lists, more = random_lists(rng, 6), random_lists(rng, 6)
    made = lists_of(lists)
    assert back(invert(made, 6, ENTRIES)) == [
        [number for number, each in enumerate(lists) for found in each if found == item] for item in range(6)
    ]
    assert back(join_lists([made, lists_of(more)])) == lists + more
    extend_lists(made, lists_of(more))
    assert back(made) == lists + more
    if lists + more:
        which = rng.choices(range(len(lists + more)), k=5)
        name = [rng.choice([NOTHING, 7, 8]) for _ in range(6)]
        assert back(select(made, index(which), index(name), ENTRIES)) == [
            [name[item] for item in (lists + more)[each] if name[item] != NOTHING] for each in which
        ]


@pytest.mark.parametrize("columns", [[], [[4]], [[1, 2, 3]], [[1, 2], [3, 4], [5, 6]]])
def test_columns_become_rows(columns):
    rows = len(columns[0]) if columns else 3
    assert back(zip_columns(rows, columns)) == [[column[row] for column in columns] for row in range(rows)]


def random_methods(rng: random.Random) -> tuple[int, list[int], list[list[int]]]:
    """Return how many tasks there are, and methods by task and subtasks."""
    tasks, many = rng.randint(1, 8), rng.randint(1, 12)
    task = [rng.randrange(tasks) for _ in range(many)]
    return tasks, task, [rng.choices(range(tasks), k=rng.choice([0, 0, 1, 1, 2, 3])) for _ in range(many)]


@pytest.mark.parametrize("seed", SEEDS)
def test_methods_are_of_use_that_can_be_finished_and_are_asked_for(seed):
    rng = random.Random(seed)
    tasks, task, subtasks = random_methods(rng)
    kept = index(rng.choices([0, 1, 1, 1], k=len(task)))
    doable, before = set(), -1
    while len(doable) > before:
        before = len(doable)
        doable |= {task[m] for m in range(len(task)) if kept[m] and doable.issuperset(subtasks[m])}
    fine = [m for m in range(len(task)) if kept[m] and doable.issuperset(subtasks[m])]
    wanted, before = {0} & doable, -1
    while len(wanted) > before:
        before = len(wanted)
        wanted |= {each for m in fine if task[m] in wanted for each in subtasks[m]}
    expected = [int(m in fine and task[m] in wanted) for m in range(len(task))]
    lists = lists_of(subtasks)
    users, doers = invert(lists, tasks, ENTRIES), invert(wrap_items(index(task)), tasks, ENTRIES)
    rooms = (index([0]) * size for size in (len(task), tasks, tasks))
    assert keep_useful(0, index(task), lists, users, doers, kept, *rooms) == sum(expected)
    assert [*kept] == expected


@pytest.mark.parametrize("seed", SEEDS)
def test_components_are_tasks_that_lead_to_each_other(seed):
    tasks, task, subtasks = random_methods(random.Random(seed))
    leads = [{each for m, mine in enumerate(task) if mine == number for each in subtasks[m]} for number in range(tasks)]
    for _ in range(tasks):
        leads = [found.union(*[leads[each] for each in found]) for found in leads]
    lists, methods_of = lists_of(subtasks), invert(wrap_items(index(task)), tasks, ENTRIES)
    component = empty_index(tasks)
    count = number_components(0, methods_of, lists, component, *[empty_index(tasks) for _ in range(6)])
    assert {*component} == {*range(count)}
    for one in range(tasks):
        for other in range(tasks):
            together = one == other or (one in leads[other] and other in leads[one])
            assert (component[one] == component[other]) is together
            assert other not in leads[one] or component[other] <= component[one]
    links = make_lists(count, len(lists.item))
    members = invert(wrap_items(component), count, ENTRIES)
    del links.item[link_components(0, methods_of, lists, component, members, links, index([0]) * count) :]
    direct = [(component[task[m]], component[each]) for m in range(len(task)) for each in subtasks[m]]
    assert [{*each} for each in back(links)] == [{b for a, b in direct if a == mine != b} for mine in range(count)]
    assert all(len({*each}) == len(each) for each in back(links))
