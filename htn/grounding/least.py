"""What each task costs at least, whatever the state is (Knuth's generalisation of Dijkstra's algorithm, 1977)."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heapify, heappop, heappush

from htn.grounding.ground import GroundHtn
from planner.task import INFINITY


def least_costs(ground: GroundHtn, costs: Sequence[int]) -> list[int]:
    """Return a lower bound on the cost of each task, with these `costs` of actions; methods are free."""
    task_of = {method: task for task, methods in enumerate(ground.methods_of, len(costs)) for method in methods}
    users: list[list[int]] = [[] for _ in range(len(costs) + len(ground.compounds))]
    missing, total = [len(method.subtasks) for method in ground.methods], [0] * len(ground.methods)
    for number, method in enumerate(ground.methods):
        for subtask in method.subtasks:
            users[subtask].append(number)
    queue = [(cost, task) for task, cost in enumerate(costs)]
    queue += [(0, task_of[number]) for number, count in enumerate(missing) if not count]
    heapify(queue)
    least = [INFINITY] * len(users)
    while queue:
        cost, task = heappop(queue)
        if least[task] < INFINITY:
            continue
        least[task] = cost
        for number in users[task]:
            missing[number] -= 1
            total[number] += cost
            if not missing[number]:
                heappush(queue, (total[number], task_of[number]))
    return least
