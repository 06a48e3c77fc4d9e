"""Kernels as functions to call: machine code that was made before, or the kernels as they stand.

Machine code is kept in one object file for each entry, made by `planner.compiled.build` with numba; here it is loaded
with llvmlite alone, which takes a tenth of the time. It fits one version of the kernels, of Python and of LLVM, and one
kind of processor.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import platform
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final, get_type_hints

from planner.kernels import astar, lazy, registry, width
from planner.kernels.kernel import ENTRIES as ENTRIES  # noqa: PLC0414 - given on

Call = Callable[..., int]
_SOURCES: Final = Path(astar.__file__).parent
_STAMP: Final = "complete"
"""The file that is written last: it says for which LLVM and processor the others are."""
assert lazy and registry and width  # noqa: S101, PT018 - imported for their entries

_loaded: list[dict[str, Call]] = []
_kept: list[Any] = []
"""What must live as long as the code that was loaded."""


def plain(name: str) -> Call:
    """Return entry `name` as plain Python."""
    return ENTRIES[name]


def folder() -> Path:
    """Return where machine code for this version of the kernels is kept, whether or not it exists."""
    return cache_home() / "kernels" / _version()


@cache
def _version() -> str:
    digest = hashlib.sha256(f"{sys.implementation.cache_tag} {sys.platform} {platform.machine()}".encode())
    for path in sorted(_SOURCES.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:20]


def cache_home() -> Path:
    """Return the folder for what may be lost: `FORETHOUGHT_CACHE`, else the user's cache folder, else a private one."""
    given = os.environ.get("FORETHOUGHT_CACHE")
    if given:
        return Path(given)
    base = os.environ.get("XDG_CACHE_HOME")
    try:
        home = Path(base) if base else Path.home() / ".cache"
    except RuntimeError:
        home = Path(tempfile.gettempdir())
    if os.access(home if home.exists() else home.parent, os.W_OK):
        return home / "forethought"
    return Path(tempfile.gettempdir()) / f"forethought-{os.getuid()}"


def is_loaded() -> bool:
    """Return whether machine code is loaded."""
    return bool(_loaded)


def loaded() -> dict[str, Call] | None:
    """Return the compiled entries by name, or None where there are none that fit."""
    if not _loaded:
        entries = _load(folder())
        if entries is None:
            return None
        _loaded.append(entries)
    return _loaded[0]


def _load(place: Path) -> dict[str, Call] | None:
    try:
        stamp = (place / _STAMP).read_text("utf-8")
        codes = {name: (place / f"{name}.o").read_bytes() for name in ENTRIES}
        trusted = _is_trusted(place)
        import llvmlite.binding as llvm  # noqa: PLC0415 - it takes a while, and need not be installed
    except (OSError, ImportError):
        return None

    if not trusted or stamp != processor(llvm):
        return None
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_default_triple().create_target_machine(jit=True)
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), target)
    for code in codes.values():
        engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    _kept.append(engine)
    return {name: _function(engine.get_function_address(f"forethought_{name}"), name) for name in codes}


def _is_trusted(place: Path) -> bool:
    """Return whether only its user, or the system's, can have written there: what is loaded is run."""
    status = place.stat()
    return status.st_uid in (os.getuid(), 0) and not status.st_mode & 0o022


def processor(llvm: Any) -> str:
    """Return what machine code depends on."""
    return f"{llvm.llvm_version_info} {llvm.get_host_cpu_name()} {llvm.get_host_cpu_features().flatten()}"


def _function(address: int, name: str) -> Call:
    """Return a function that takes records, arrays and integers, and calls the code at `address`."""
    kinds = [ctypes.c_void_p, ctypes.c_int64]
    prototype = [kind for leaf in leaves(ENTRIES[name]) for kind in (kinds if leaf else [ctypes.c_int64])]
    call = ctypes.CFUNCTYPE(ctypes.c_int64, *prototype)(address)
    return lambda *arguments: int(call(*_flattened(arguments)))


def _flattened(arguments: Any) -> Iterator[int]:
    for argument in arguments:
        if isinstance(argument, int):
            yield argument
        elif isinstance(argument, tuple):
            yield from _flattened(argument)
        else:
            yield from argument.buffer_info()


def leaves(function: Callable[..., Any]) -> list[str | None]:
    """Return, for each array and integer among the parameters of an entry, the array's type code, or None."""
    found: list[str | None] = []
    hints = get_type_hints(getattr(function, "py_func", function), include_extras=True)
    waiting = [kind for name, kind in reversed(hints.items()) if name != "return"]
    while waiting:
        kind = waiting.pop()
        if kind is int:
            found.append(None)
        elif hasattr(kind, "__metadata__"):
            found.append(kind.__metadata__[0])
        else:
            waiting += reversed(get_type_hints(kind, include_extras=True).values())
    return found
