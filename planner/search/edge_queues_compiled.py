"""The queues of edges of best-first searches by kernels: they grow with the search."""

from __future__ import annotations

from array import array

from planner.jit import slots_kernel as slot
from planner.jit.arrays import empty_index, index, zeros
from planner.search.edge_queues_kernel import EdgeQueues
from planner.search.task_compiled import ensure_length


def allocate_queues(batches: int, edges: int) -> EdgeQueues:
    """Return queues with room for so many `batches` and `edges`."""
    heaps = zeros(batches), empty_index(batches), zeros(batches), empty_index(batches)
    rows = [index([0]) * length for length in (batches, batches, batches, edges)]
    return EdgeQueues(*heaps, *rows)


def grow_queues(queues: EdgeQueues, number: array[int], most: int) -> None:
    """Make room for two more batches, and for so many more edges at `most`."""
    *rows, edge = queues
    if number[slot.BATCHES] + 2 >= len(queues.state):
        ensure_length(2 * len(queues.state), *rows)
    least = number[slot.EDGES] + most
    if least >= len(edge):
        ensure_length(least + len(edge) // 2 + 1, edge)
