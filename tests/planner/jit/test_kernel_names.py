"""The table of kernels says what the modules of kernels declare."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import planner
from planner.jit.common_kernel import ENTRIES
from planner.jit.kernel_names import COMMON, KERNELS, WITHOUT_ENTRIES

FOLDER = Path(planner.__file__).parent


def test_the_table_names_all_kernels_and_their_entries() -> None:
    found: dict[str, tuple[str, ...]] = {}
    for path in FOLDER.rglob("*_kernel.py"):
        module = ".".join(path.relative_to(FOLDER.parent).with_suffix("").parts)
        import_module(module)
        found[module] = tuple([name for name, entry in ENTRIES.items() if entry.__module__ == module])
    assert {module for module, entries in found.items() if not entries} == set(WITHOUT_ENTRIES)
    assert {module: entries for module, entries in found.items() if entries} == KERNELS
    assert set(COMMON) <= KERNELS.keys()
