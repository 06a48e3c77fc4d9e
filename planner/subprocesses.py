"""Commands and environments that run modules of this package in other processes."""

from __future__ import annotations

import os
import sys


def module_command(module: str, *arguments: str) -> list[str]:
    """Return the command that runs `module` with this interpreter, without imports from the working directory."""
    return [sys.executable, "-P", "-m", module, *arguments]


def module_environment(**more: str) -> dict[str, str]:
    """Return the environment of a process with the import path of this one, and with `more` variables."""
    paths = [path or os.getcwd() for path in sys.path]  # noqa: PTH109 - a path object would cost more
    return os.environ | {"PYTHONPATH": os.pathsep.join(paths), **more}
