"""The kernels of hierarchies, with those of `planner` that they call: machine code, or the kernels as they stand."""

from __future__ import annotations

from typing import Final

from htn.grounding import task_reachability_kernel
from htn.search import decomposition_kernel, relaxed_operators_kernel
from planner.jit import library, making
from planner.jit.common_kernel import ENTRIES
from planner.jit.library import Call

KERNELS: Final = (decomposition_kernel, relaxed_operators_kernel, task_reachability_kernel)
"""The modules that declare the entries of `htn`."""


def entries() -> dict[str, Call]:
    """Return the entries of both packages by name: as machine code where both have it.

    Where only those of `htn` have none, a process begins to make it.
    """
    theirs = library.load()
    if theirs is None:
        return ENTRIES
    ours = library.load("htn")
    if ours is None:
        making.start_build("htn")
        return ENTRIES
    return theirs | ours
