"""Modules of ours in processes of their own."""

from __future__ import annotations

import os
import sys


def command(module: str, *arguments: str) -> list[str]:
    """Return what runs `module` by this interpreter: nothing is imported from the working folder, anybody's maybe."""
    return [sys.executable, "-P", "-m", module, *arguments]


def environment(**more: str) -> dict[str, str]:
    """Return the environment for a process that imports from where this one does, with `more` variables."""
    paths = [path or os.getcwd() for path in sys.path]  # noqa: PTH109 - a path object would cost more
    return os.environ | {"PYTHONPATH": os.pathsep.join(paths), **more}
