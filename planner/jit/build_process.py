"""Starts the process that makes machine code; a mark file keeps others from starting a second one."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from planner.errors import ForethoughtError
from planner.jit import library
from planner.jit.targets import find_targets
from planner.jit.trusted_files import Untrusted, open_folder
from planner.subprocesses import module_command

COMMAND: Final = tuple(module_command("planner.jit.build"))
_ROOT: Final = str(Path(library.__file__).parents[2])
_FAILED: Final = "no machine code was made, search stays in plain Python"
_started: list[Any] = []
"""Processes that were started; dropping one would warn that nobody waits for it."""
_warned: list[str] = []
"""The warning that was issued, if one was."""
ABANDONED_SECONDS: Final = 900.0
"""Age in seconds from which on a mark file counts as left behind by a process that died."""
_CLASS: Final = re.compile(r"[A-Za-z_][\w.]*: ")
"""The class of the exception, with which the last line of a traceback begins."""


class CodeWarning(UserWarning):
    """Search runs in plain Python, which is slower: there is no machine code, or not yet."""


def can_build() -> bool:
    """Return whether numba is installed."""
    return find_spec("numba") is not None


def build_and_wait(told: Callable[[str], None], *, again: bool = False) -> None:
    """Make all machine code and wait for it; call `told` with the name of each module of kernels that is made.

    With `again`, make what is there anew. Raises `ForethoughtError` where that fails.
    """
    try:
        make_private_folder(library.find_folder().parent)
    except (OSError, Untrusted) as error:
        raise ForethoughtError(f"{_FAILED}: {error}") from None
    command = [*COMMAND, "--again"] if again else COMMAND
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as errors:
        with subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            env=build_environment(),
        ) as maker:
            assert maker.stdout is not None
            for line in maker.stdout:
                told(line.strip())
        if maker.returncode != 0:
            errors.seek(0)
            reason = _CLASS.sub("", errors.read().strip().rpartition("\n")[2], count=1)
            raise ForethoughtError(f"{_FAILED}: {reason or f'exit code {maker.returncode}'}")


def start_build(first: Iterable[str] = ()) -> None:
    """Start a process that makes all machine code, the modules `first` early; warn that it does, with a `CodeWarning`.

    The process outlives this one. Do nothing but warn if another process makes it, where numba is not installed, and
    where there is no folder for it or other users could change that. Do nothing at all if machine code is switched off.
    """
    if library.is_switched_off() or _warned:
        return
    if refusal := library.find_refusal():
        _warn(f"machine code is there but was not loaded, and search runs in plain Python, which is slower: {refusal}")
        return
    if not can_build():
        _warn(
            f"there is no machine code for this computer ({find_targets()[0].name}), and search runs in plain Python, "
            "which is much slower; pip install 'forethought[jit]' and `forethought warm` make it"
        )
        return
    try:
        mark = library.find_mark()
        make_private_folder(mark.parent)
        try:
            _claim(mark)
            _started.append(_start(mark, first))
        except FileExistsError:
            pass
    except (OSError, Untrusted, library.NoCache) as error:
        _warn(f"{_FAILED}: {error}")
        return
    made, all_of_them = library.count_made()
    _warn(
        f"machine code of search is being made in the background, and {made} of its {all_of_them} parts are there; "
        "until then search runs in plain Python, which is slower (`forethought warm` makes it ahead)"
    )


def _warn(text: str) -> None:
    """Issue a `CodeWarning`: one tells all that a process needs to know."""
    _warned.append(text)
    warnings.warn(text, CodeWarning, stacklevel=3)


def _start(mark: Path, first: Iterable[str]) -> Any:
    """Start the process that owns `mark`."""
    maker = subprocess.Popen(
        [*COMMAND, "--mark", str(mark), *first],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        env=build_environment(),
    )
    mark.write_text(f"{maker.pid}\n", encoding="ascii")
    return maker


def make_private_folder(folder: Path) -> None:
    """Make `folder` and the missing folders above it, closed to other users whatever the umask is.

    Raises `Untrusted` where other users could change a folder that was there before, and `OSError`. Nothing is made
    then: root, with the HOME of somebody else, would close that user's cache to its owner.
    """
    way = [*reversed(folder.absolute().parents), folder.absolute()]
    missing = [each for each in way if not each.exists()]
    if missing:
        with open_folder(missing[0].parent, to_make=True):
            pass
    for each in missing:  # the mode of `Path.mkdir` does not reach the parents
        each.mkdir(mode=0o700, exist_ok=True)
    with open_folder(folder):
        pass


def build_environment() -> dict[str, str]:
    """Return the environment of a process that imports this package from where it is now."""
    path = os.environ.get("PYTHONPATH")
    return os.environ | {"PYTHONPATH": f"{_ROOT}{os.pathsep}{path}" if path else _ROOT}


def _claim(mark: Path) -> None:
    """Create the mark of a running process.

    Raises `FileExistsError` where one runs, and `OSError` where the file cannot be written.
    """
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
