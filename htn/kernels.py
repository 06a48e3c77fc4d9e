"""The kernels of `htn`, with the kernels of `planner` that they call: as machine code, or in plain Python."""

from __future__ import annotations

from typing import Final

from htn.grounding import task_reachability_kernel
from htn.search import decomposition_kernel, relaxed_operators_kernel
from planner.jit import build_process, library
from planner.jit.common_kernel import ENTRIES
from planner.jit.library import Call

KERNELS: Final = (decomposition_kernel, relaxed_operators_kernel, task_reachability_kernel)
"""The modules with the entries of `htn`."""


def load_kernels(*, build: bool = True) -> dict[str, Call]:
    """Return the entries of both packages by name: machine code where both packages have it, else plain Python.

    Where only `htn` has none, a process starts to compile it, unless nothing is to be built.
    """
    theirs = library.load()
    if theirs is None:
        return ENTRIES
    ours = library.load("htn")
    if ours is None:
        if build:
            build_process.start_build("htn")
        return ENTRIES
    return theirs | ours
