"""Starting the process that makes machine code, once: whoever needs it first, for all."""

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
"""Set to `off`, this variable of the environment keeps everything in plain Python that was not compiled before."""
COMMAND: Final = tuple(module_command("planner.jit.build"))
_ROOT: Final = str(Path(library.__file__).parents[2])
_FAILED: Final = "no machine code was made, search stays in plain Python"
_started: list[Any] = []
"""Processes are kept, or Python would complain that nobody waits for them."""
ABANDONED_SECONDS: Final = 900.0
"""A mark that is older was left by a process that died."""
_CLASS: Final = re.compile(r"[A-Za-z_][\w.]*: ")
"""How the last line of a traceback begins: with the class of the exception."""


class CodeWarning(UserWarning):
    """No machine code can be made, so search stays in plain Python, which is slower."""


def can_build() -> bool:
    """Return whether numba is installed."""
    return find_spec("numba") is not None


def build_and_wait() -> None:
    """Make machine code, and wait for it; raises `ForethoughtError` where that fails."""
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
    """Start a process that makes machine code of `package` and outlives this one, unless there is some or none wanted.

    Warn with `CodeWarning` where other users could change the folder: the process would refuse it.
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
    """Make `folder` and the missing folders above it, which nobody but the user may enter, whatever the umask is.

    Raises `Untrusted` where other users could change a folder that was there before, and `OSError`.
    """
    for each in [*reversed(folder.parents), folder]:  # the mode of `Path.mkdir` does not reach the parents
        if not each.exists():
            each.mkdir(mode=0o700, exist_ok=True)
    with open_folder(folder):
        pass


def build_environment() -> dict[str, str]:
    """Return the environment for a process that finds this package where it is."""
    path = os.environ.get("PYTHONPATH")
    return os.environ | {"PYTHONPATH": f"{_ROOT}{os.pathsep}{path}" if path else _ROOT}


def _claim(mark: Path) -> None:
    """Make the file that exists while a process is at it; raises `OSError` where one is, or nothing can be written."""
    with contextlib.suppress(FileNotFoundError):
        if time.time() - mark.stat().st_mtime > ABANDONED_SECONDS or _is_gone(mark.read_bytes()):
            mark.unlink()
    mark.touch(exist_ok=False)


def _is_gone(written: bytes) -> bool:
    """Return whether the process whose number was written to a mark has ended."""
    try:
        os.kill(int(written), 0)
    except ProcessLookupError:
        return True
    except (ValueError, OverflowError, OSError):
        pass
    return False
