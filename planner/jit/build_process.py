"""Starts the process that compiles the kernels; a mark file keeps others from starting a second one."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import time
import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from planner.errors import ForethoughtError
from planner.jit import library
from planner.jit.trusted_files import Untrusted, open_folder
from planner.subprocesses import module_command

SWITCH: Final = "FORETHOUGHT_JIT"
"""Environment variable; `off` keeps kernels that were not compiled before in plain Python."""
COMMAND: Final = tuple(module_command("planner.jit.build"))
_ROOT: Final = str(Path(library.__file__).parents[2])
_FAILED: Final = "no machine code was made, search stays in plain Python"
_started: list[Any] = []
"""Processes that were started; dropping one would warn that nobody waits for it."""
ABANDONED_SECONDS: Final = 900.0
"""Age in seconds from which on a mark file counts as left behind by a process that died."""
_CLASS: Final = re.compile(r"[A-Za-z_][\w.]*: ")
"""The class of the exception, with which the last line of a traceback begins."""


class CodeWarning(UserWarning):
    """No machine code can be made, so search stays in plain Python, which is slower."""


def can_build() -> bool:
    """Return whether numba is installed."""
    return find_spec("numba") is not None


def build_and_wait() -> None:
    """Compile the kernels and wait for the result; raises `ForethoughtError` where that fails."""
    try:
        make_private_folder(library.find_folder().parent)
    except (OSError, Untrusted) as error:
        raise ForethoughtError(f"{_FAILED}: {error}") from None
    done = subprocess.run(
        COMMAND, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, env=build_environment()
    )
    if done.returncode != 0:
        reason = _CLASS.sub("", done.stderr.strip().rpartition("\n")[2], count=1)
        raise ForethoughtError(f"{_FAILED}: {reason}")


def start_build(package: str = library.OWN) -> None:
    """Start a process that compiles the kernels of `package` and outlives this one, unless they are compiled.

    Do nothing if machine code is switched off. Warn with `CodeWarning` where other users could change the folder, which
    the process would refuse.
    """
    if os.environ.get(SWITCH, "").lower() == "off" or not can_build() or library.load(package) is not None:
        return
    with contextlib.suppress(OSError, library.NoCache):
        mark = library.find_folder(package).with_suffix(".making")
        try:
            make_private_folder(mark.parent)
        except Untrusted as error:
            warnings.warn(f"{_FAILED}: {error}", CodeWarning, stacklevel=2)
            return
        _claim(mark)
        maker = subprocess.Popen(
            [*COMMAND, "--mark", str(mark), package],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            env=build_environment(),
        )
        _started.append(maker)
        mark.write_text(f"{maker.pid}\n", encoding="ascii")


def make_private_folder(folder: Path) -> None:
    """Make `folder` and the missing folders above it, closed to other users whatever the umask is.

    Raises `Untrusted` where other users could change a folder that was there before, and `OSError`.
    """
    for each in [*reversed(folder.parents), folder]:  # the mode of `Path.mkdir` does not reach the parents
        if not each.exists():
            each.mkdir(mode=0o700, exist_ok=True)
    with open_folder(folder):
        pass


def build_environment() -> dict[str, str]:
    """Return the environment of a process that imports this package from where it is now."""
    path = os.environ.get("PYTHONPATH")
    return os.environ | {"PYTHONPATH": f"{_ROOT}{os.pathsep}{path}" if path else _ROOT}


def _claim(mark: Path) -> None:
    """Create the mark of a running process; raises `OSError` where one runs, or where the file cannot be written."""
    with contextlib.suppress(FileNotFoundError):
        if time.time() - mark.stat().st_mtime > ABANDONED_SECONDS or _is_gone(mark.read_bytes()):
            mark.unlink()
    mark.touch(exist_ok=False)


def _is_gone(written: bytes) -> bool:
    """Return whether the process with the number `written` in a mark has ended."""
    try:
        os.kill(int(written), 0)
    except ProcessLookupError:
        return True
    except (ValueError, OverflowError, OSError):
        pass
    return False
