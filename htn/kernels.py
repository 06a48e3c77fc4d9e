"""The kernels of `htn`, with the kernels of `planner` that they call: as machine code, or in plain Python."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from htn.grounding import task_reachability_kernel
from htn.search import decomposition_kernel, relaxed_operators_kernel
from planner.jit import build_process, library
from planner.jit.common_kernel import ENTRIES
from planner.jit.kernel_names import COMMON
from planner.jit.library import Call

KERNELS: Final = (decomposition_kernel, relaxed_operators_kernel, task_reachability_kernel)
"""The modules with the entries of `htn`."""
OWN: Final = tuple(map(library.short_name, library.module_names("htn")))
"""All modules with entries that these import, as `planner.jit.library` names them."""


def load_kernels(*, build: bool = True) -> Mapping[str, Call]:
    """Return the entries of both packages by name: machine code where `htn` has all of it, else plain Python.

    Where only `htn` has none, a process starts to make it, unless nothing is to be built.
    """
    if library.load(*map(library.short_name, COMMON)) is None:
        return ENTRIES
    found = library.load(*OWN)
    if found is None:
        if build:
            build_process.start_build(OWN)
        return ENTRIES
    return found
