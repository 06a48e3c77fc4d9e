"""Loads kernels as functions: machine code from the cache, or the kernels in plain Python.

`planner.jit.build` compiles each entry to an object file for one version of the kernels and of Python, and one kind of
processor. Where it found a linker, it also made one shared library of them: that loads in 1 ms, object files (by
llvmlite) in 30 ms. The files are executed, so each is opened once, through folders that only the user and the system
can change.
"""

from __future__ import annotations

import ctypes
import os
import sys
from binascii import crc32
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final, get_type_hints

from planner.errors import ForethoughtError
from planner.heuristics import lmcut_kernel
from planner.heuristics.abstractions import (
    abstract_states_kernel,
    cartesian_refinement_kernel,
    cost_partitioning_kernel,
    projections_kernel,
)
from planner.jit import containers_kernel
from planner.jit.common_kernel import ENTRIES
from planner.jit.trusted_files import Untrusted, open_file, open_folder, read_descriptor
from planner.policies import policy_mcts_kernel, value_iteration_kernel
from planner.pruning import disambiguation_kernel, h2_kernel, simplex_kernel
from planner.search import astar_kernel, best_first_width_kernel, lazy_best_first_kernel, mcts_kernel
from planner.task import packed_states_kernel, state_registry_kernel
from planner.topk import exploration_kernel

Call = Callable[..., int]
OWN: Final = "planner"
"""The default package; kernels of other packages call its kernels."""
_BUILD: Final = Path(__file__).parent / "build.py"
SHARED: Final = "kernels.so"
STAMP: Final = "complete"
"""The file that is written last; it names the LLVM and processor that the object files fit."""
SHARED_STAMP: Final = "linked"
"""The same for the shared library, in terms that are known without LLVM."""
_FEATURES: Final = ("model name", "flags", "CPU part", "Features")
"""Lines of /proc/cpuinfo that tell kinds of processors apart."""

KERNELS: Final = (
    abstract_states_kernel,
    astar_kernel,
    best_first_width_kernel,
    cartesian_refinement_kernel,
    containers_kernel,
    cost_partitioning_kernel,
    disambiguation_kernel,
    exploration_kernel,
    h2_kernel,
    lazy_best_first_kernel,
    lmcut_kernel,
    mcts_kernel,
    packed_states_kernel,
    policy_mcts_kernel,
    projections_kernel,
    simplex_kernel,
    state_registry_kernel,
    value_iteration_kernel,
)
"""The modules that declare the entries of `planner`; they import all other kernels."""

_loaded: dict[str, dict[str, Call]] = {}
"""Machine code by package."""
_kept: list[Any] = []
"""Objects that own loaded code."""


class NoCache(ForethoughtError):
    """There is no folder in which machine code may be kept."""


def plain(name: str) -> Call:
    """Return entry `name` as plain Python."""
    return ENTRIES[name]


def load_or_plain() -> dict[str, Call]:
    """Return the entries of `planner` by name: as machine code where there is some, else as they stand."""
    return load() or ENTRIES


def entry_names(package: str = OWN) -> list[str]:
    """Return the names of the entries that `package` declares, sorted."""
    return sorted([name for name, function in ENTRIES.items() if function.__module__.startswith(f"{package}.")])


def find_folder(package: str = OWN) -> Path:
    """Return the folder for machine code of the present kernels of `package`, whether or not it exists.

    Raises `NoCache` where there is no folder for it.
    """
    return find_cache() / "kernels" / _hash_sources(package)


@cache
def _hash_sources(package: str) -> str:
    pieces = [f"{package} {sys.implementation.cache_tag} {sys.platform} {os.uname().machine}".encode()]
    pieces += [path.read_bytes() for path in (*_list_sources(package), _BUILD)]
    return "".join([f"{crc32(b' '.join(each)):08x}" for each in (pieces, pieces[::-1])])


def _list_sources(package: str) -> list[Path]:
    """Return the files of the kernels of `package`, and of those of `planner`, which they may call."""
    prefixes = (f"{OWN}.", f"{package}.")
    modules = [each for name, each in sys.modules.items() if name.endswith("_kernel") and name.startswith(prefixes)]
    return sorted([Path(each.__file__) for each in modules if each.__file__])


def find_cache() -> Path:
    """Return the cache folder: `FORETHOUGHT_CACHE`, else the user's.

    Raises `NoCache` for a user without one: code is not run from folders that users share.
    """
    given = os.environ.get("FORETHOUGHT_CACHE")
    if given:
        return Path(given)
    base = os.environ.get("XDG_CACHE_HOME")
    try:
        home = Path(base) if base else Path.home() / ".cache"
    except RuntimeError:
        home = None
    if home is not None and os.access(home if home.exists() else home.parent, os.W_OK):
        return home / "forethought"
    raise NoCache("there is no folder of your own for machine code; name one with FORETHOUGHT_CACHE")


def is_loaded(package: str = OWN) -> bool:
    """Return whether machine code of `package` is loaded."""
    return package in _loaded


def load(package: str = OWN) -> dict[str, Call] | None:
    """Return the compiled entries of `package` by name, or None where there are none that fit."""
    if package not in _loaded:
        try:
            with open_folder(find_folder(package)) as place:
                entries = _load_shared(place, entry_names(package)) or _load_objects(place, entry_names(package))
        except (OSError, Untrusted, NoCache):
            return None
        if entries is None:
            return None
        _loaded[package] = entries
    return _loaded[package]


def _read(place: int, name: str) -> bytes:
    with open_file(place, name) as file:
        return read_descriptor(file)


def _load_shared(place: int, wanted: list[str]) -> dict[str, Call] | None:
    """Load the shared library from its open, checked file, whatever its path leads to by now."""
    try:
        with open_file(place, SHARED) as file:
            if _read(place, SHARED_STAMP) != make_stamp(read_features(), [read_descriptor(file)]):
                return None
            library = ctypes.CDLL(f"/proc/self/fd/{file}")
        addresses = {name: ctypes.cast(library[f"forethought_{name}"], ctypes.c_void_p).value or 0 for name in wanted}
    except (OSError, AttributeError, Untrusted):
        return None
    _kept.append(library)
    return {name: _make_call(address, name) for name, address in addresses.items()}


def _load_objects(place: int, wanted: list[str]) -> dict[str, Call] | None:
    """Load the object files from the bytes that were read."""
    try:
        found = _read(place, STAMP)
        codes = {name: _read(place, f"{name}.o") for name in wanted}
        import llvmlite.binding as llvm
    except (OSError, ImportError, Untrusted):
        return None

    if found != make_stamp(describe_processor(llvm), codes.values()):
        return None
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_default_triple().create_target_machine(jit=True)
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), target)
    for code in codes.values():
        engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    _kept.append(engine)
    return {name: _make_call(engine.get_function_address(f"forethought_{name}"), name) for name in codes}


def make_stamp(kind: str, contents: Iterable[bytes]) -> bytes:
    """Return the stamp of files for this `kind` of processor: their lengths and checksums."""
    return f"{kind}\n{' '.join([f'{len(content)} {crc32(content)}' for content in contents])}\n".encode()


def read_features() -> str:
    """Return the description of the processor in /proc/cpuinfo; "" where there is none."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:  # noqa: PTH123 - there may be hundreds: only the first
            first = file.read(1 << 13).partition("\n\n")[0]
    except (OSError, UnicodeError):
        return ""
    return "\n".join([line for line in first.splitlines() if line.startswith(_FEATURES)])


def describe_processor(llvm: Any) -> str:
    """Return the version of LLVM, and the processor and its features as LLVM calls them."""
    return f"{llvm.llvm_version_info} {llvm.get_host_cpu_name()} {llvm.get_host_cpu_features().flatten()}"


def _make_call(address: int, name: str) -> Call:
    """Return a function that takes records, arrays and integers, and calls the code at `address`."""
    kinds = [ctypes.c_void_p, ctypes.c_int64]
    prototype = [kind for leaf in list_types(ENTRIES[name]) for kind in (kinds if leaf else [ctypes.c_int64])]
    return _MachineCode(ctypes.CFUNCTYPE(ctypes.c_int64, *prototype)(address))


class _MachineCode:
    """A function that takes records, arrays and integers."""

    __slots__ = ("code",)

    def __init__(self, code: Callable[..., int]) -> None:
        self.code = code

    def __call__(self, *arguments: Any) -> int:
        return int(self.code(*_flatten(arguments)))


class _Fixed:
    """Machine code with fixed `last` arguments."""

    __slots__ = ("_addresses", "_code", "_last")

    def __init__(self, code: Callable[..., int], last: Any) -> None:
        self._code, self._addresses = code, [*_flatten(last)]
        self._last = last  # or their memory might be freed

    def __call__(self, *first: Any) -> int:
        return int(self._code(*_flatten(first), *self._addresses))


def bind_last(entry: Call, *last: Any) -> Call:
    """Return `entry` with its `last` arguments bound; none of their arrays may grow."""
    if isinstance(entry, _MachineCode):
        return _Fixed(entry.code, last)
    return lambda *first: entry(*first, *last)


def _flatten(arguments: Any) -> Iterator[int]:
    for argument in arguments:
        if isinstance(argument, int):
            yield argument
        elif isinstance(argument, tuple):
            yield from _flatten(argument)
        else:
            yield from argument.buffer_info()


def list_types(function: Callable[..., Any]) -> list[str | None]:
    """Return the type code of each array among the parameters of an entry, flattened; None for an integer."""
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
            waiting += _list_fields(kind)
    return found


@cache
def _list_fields(record: Any) -> list[Any]:
    """Return the types of the fields of a record, in reverse."""
    return [*reversed(get_type_hints(record, include_extras=True).values())]
