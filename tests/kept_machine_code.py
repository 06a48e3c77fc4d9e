"""The machine code of the present kernels, where it has been made for tests."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from planner.jit import library


def find_machine_code() -> Path | None:
    """Return the folder in which tests keep machine code, if it has that of the present kernels, else None."""
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    place = Path(os.environ.get("TESTED_KERNELS") or home / "forethought-tests")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FORETHOUGHT_CACHE", str(place))
        return place if len([*library.find_folder().glob("*.sum")]) == len(library.module_names()) else None


def use_machine_code(patch: pytest.MonkeyPatch) -> None:
    """Let kernels run as machine code; skip the test where there is none."""
    place = find_machine_code()
    if place is None:
        pytest.skip("the machine code of these kernels has not been made")
    patch.delenv(library.SWITCH)
    patch.setattr(library, "SHIPPED", place / "nothing")
    patch.setenv("FORETHOUGHT_CACHE", str(place))
    patch.setattr(library, "_loaded", {})
    assert library.load() is not None
