"""Which actions can be applied: a walk down a decision tree, without trying all of them."""

from __future__ import annotations

from planner.kernels.data import NOTHING, Tree
from planner.kernels.kernel import Index, Words, kernel


@kernel
def applicable(tree: Tree, state: Words, base: int, found: Index, waiting: Index) -> int:
    """Write the actions that can be applied in the state at `state[base]` to `found`; return how many there are.

    `waiting` is room for node numbers: as many as the tree has nodes are enough.
    """
    count, top = 0, 1
    waiting[0] = 0
    while top:
        top -= 1
        node = waiting[top]
        for index in range(tree.action_start[node], tree.action_start[node + 1]):
            found[count] = tree.action[index]
            count += 1
        for switch in range(tree.switch_start[node], tree.switch_start[node + 1]):
            value = state[base + tree.word[switch]] >> tree.shift[switch] & tree.mask[switch]
            child = tree.child[tree.base[switch] + value]
            if child != NOTHING:
                waiting[top] = child
                top += 1
    return count
