"""Loads kernels as functions: machine code of each module of kernels, or the kernels in plain Python.

Machine code is made by `planner.jit.build` for the present kernels, whose checksum is in the name of its folder, and
for a named processor. It comes with the package (platform wheels) or is kept in the user's cache. The code is executed:
each file is opened once, through folders that only the user and the system can change, and what was opened is loaded.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import sys
import tempfile
from binascii import crc32
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Final, get_type_hints

from planner.errors import ForethoughtError
from planner.jit.common_kernel import ENTRIES
from planner.jit.kernel_names import KERNELS, MODULES, WITHOUT_ENTRIES
from planner.jit.targets import find_targets
from planner.jit.trusted_files import Untrusted, open_code, open_file, open_folder

Call = Callable[..., int]
OWN: Final = "planner"
"""The default package; kernels of other packages call its kernels."""
SWITCH: Final = "FORETHOUGHT_JIT"
"""Environment variable; `off`, or a word for it, keeps all kernels in plain Python."""
OFF: Final = frozenset({"off", "0", "no", "false"})
SHIPPED: Final = Path(__file__).parent / "machine_code"
"""The folder of the machine code that comes with the package."""
_MAKERS: Final = ("emit.py", "translate.py")
"""The modules that determine, beside the kernels, what machine code is made."""

_DESCRIPTORS: Final = Path("/proc/self/fd")
"""The folder whose files are those that this process has opened, where there is one."""
ENTRIES.modules.update(MODULES)
_loaded: dict[str, dict[str, Call]] = {}
"""Machine code by module of kernels."""
_kept: list[Any] = []
"""Objects that own loaded code."""


class NoCache(ForethoughtError):
    """There is no folder in which machine code may be kept."""


class _AllEntries(Mapping[str, Call]):
    """The entries of all packages by name: as machine code where there is some, else as they stand."""

    def __getitem__(self, name: str) -> Call:
        module = module_of(name)
        return _loaded[module][name] if _load_module(module) else ENTRIES[name]

    def __iter__(self) -> Iterator[str]:
        return iter(_names())

    def __len__(self) -> int:
        return len(_names())


def _names() -> dict[str, str]:
    """Return the modules of the entries of `planner` and of all imported modules, as other threads import them, too."""
    return MODULES | {name: function.__module__ for name, function in ENTRIES.copy().items()}


def plain(name: str) -> Call:
    """Return entry `name` as plain Python."""
    return ENTRIES[name]


def module_of(entry: str) -> str:
    """Return the name of the module that declares `entry`, without `_kernel`."""
    return short_name(MODULES.get(entry) or ENTRIES[entry].__module__)


def short_name(module: str) -> str:
    """Return the name of a module of kernels without its package and `_kernel`."""
    return module.rpartition(".")[2].removesuffix("_kernel")


def load_or_plain() -> Mapping[str, Call]:
    """Return the entries of all packages by name: as machine code where there is some, else as they stand."""
    return _AllEntries()


def load(*modules: str) -> Mapping[str, Call] | None:
    """Return the entries if there is machine code of these `modules` of kernels, else None.

    `modules` are named without `_kernel`; if none is named, all of `planner` must be there.
    """
    return _AllEntries() if all(map(_load_module, modules or map(short_name, module_names()))) else None


def is_loaded(*modules: str) -> bool:
    """Return whether machine code of these `modules` is loaded, or that of all of `planner`."""
    return all(each in _loaded for each in modules or map(short_name, module_names()))


def entry_names(package: str = OWN) -> list[str]:
    """Return the names of the entries that `package` declares, sorted."""
    return sorted([name for name, module in _names().items() if package_of(module) == package])


def all_modules() -> list[str]:
    """Return the modules of `planner` with entries, in the order in which their code is made, and others imported."""
    return [*KERNELS, *sorted({function.__module__ for function in ENTRIES.copy().values()} - KERNELS.keys())]


def import_kernels() -> None:
    """Import all modules of kernels of `planner`."""
    for each in KERNELS:
        import_module(each)


def module_names(package: str = OWN) -> list[str]:
    """Return those of `all_modules` that belong to `package`."""
    return [each for each in all_modules() if package_of(each) == package]


def package_of(module: str) -> str:
    """Return the package that a module belongs to."""
    return module.partition(".")[0]


def find_folder(package: str = OWN) -> Path:
    """Return the folder in the cache for machine code of the present kernels of `package`, whether or not it exists.

    Raises `NoCache` where there is no folder for it.
    """
    return find_cache() / "kernels" / folder_name(package, find_targets()[0].name)


def folder_name(package: str, target: str) -> str:
    """Return the name of a folder with machine code of the present kernels of `package` for `target`."""
    return f"{package}-{target}-{_hash_sources(package)}"


@cache
def _hash_sources(package: str) -> str:
    makers = [Path(__file__).with_name(name) for name in _MAKERS]
    content = b" ".join([path.read_bytes() for path in (*_list_sources(package), *makers)])
    return f"{crc32(content):08x}{crc32(content[::-1]):08x}"


def _list_sources(package: str) -> list[Path]:
    """Return the files of the kernels of `package`, and of those of `planner`, which they may call."""
    above = Path(__file__).parents[2]
    own = [above / f"{name.replace('.', '/')}.py" for name in (*KERNELS, *WITHOUT_ENTRIES)]
    modules = [each for name, each in sys.modules.copy().items() if name.endswith("_kernel")]
    others = [Path(each.__file__) for each in modules if each.__file__ and package_of(each.__name__) == package != OWN]
    return sorted([*own, *others])


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
    # `os.path.exists` raises nothing where a folder above may not be searched, as in the home of somebody else
    if home is not None and os.access(home if os.path.exists(home) else home.parent, os.W_OK):  # noqa: PTH110
        return home / "forethought"
    raise NoCache("there is no folder of your own for machine code; name one with FORETHOUGHT_CACHE")


def find_used_folder() -> Path:
    """Return the folder of the machine code of `planner`: the first that exists, else that in the cache."""
    return next((each for each in list_folders(OWN) if os.path.isdir(each)), None) or find_folder()  # noqa: PTH112


def count_made() -> tuple[int, int]:
    """Return of how many of the imported modules of kernels there is machine code, and how many there are."""
    modules = all_modules()
    return sum(map(_load_module, map(short_name, modules))), len(modules)


def find_mark() -> Path:
    """Return the file that is there while a process makes machine code in the background; raises `NoCache`."""
    return find_folder().parent / "making"


def find_refusal() -> str:
    """Return why machine code that is there was not loaded, as others could change it; "" where none was refused."""
    for path in list_folders(OWN):
        try:
            names = [each.name for each in path.iterdir()]
            with open_folder(path) as folder:
                for name in names:
                    with open_file(folder, name):
                        pass
        except Untrusted as error:
            return f"{error} (in {path})"
        except OSError:
            continue
    return ""


def describe_state() -> str:
    """Return what there is of machine code: "loaded", "off", "being made" or "missing"."""
    if _loaded:
        return "loaded"
    if is_switched_off():
        return "off"
    try:
        return "being made" if os.path.exists(find_mark()) else "missing"  # noqa: PTH110 - raises nothing
    except NoCache:
        return "missing"


def is_switched_off() -> bool:
    """Return whether the user wants no machine code."""
    return os.environ.get(SWITCH, "").strip().lower() in OFF


def list_folders(package: str) -> Iterator[Path]:
    """Yield the folders that may have machine code of `package`: shipped, for the best processor first, and cached."""
    for target in find_targets():
        yield SHIPPED / folder_name(package, target.name)
    try:
        yield find_folder(package)
    except NoCache:
        return


def _load_module(module: str) -> bool:
    """Load the machine code of a module of kernels; return whether there is some that may be loaded."""
    if module in _loaded:
        return True
    if is_switched_off():
        return False
    entries = {name: declared for name, declared in _names().items() if short_name(declared) == module}
    if not entries:
        return False
    names = [*entries]
    for path in list_folders(package_of(entries[names[0]])):
        try:
            with open_folder(path) as folder:
                addresses = _load_file(folder, module, names)
        except (OSError, Untrusted):
            continue
        if addresses is not None:
            _loaded[module] = {name: _make_call(address, name) for name, address in addresses.items()}
            return True
    return False


def _load_file(folder: int, module: str, names: list[str]) -> dict[str, int] | None:
    """Return the addresses of the entries `names`; None where the file of the `module` is damaged.

    Raises `OSError` where there is none, and `Untrusted`.
    """
    with open_code(folder, module) as code:
        if code is None:
            return None
        name, file, content = code
        find = _load_shared(file, content) if name.endswith(".so") else _load_object(content)
    try:
        return None if find is None else {each: find(f"forethought_{each}") for each in names}
    except AttributeError:
        return None


def _load_shared(file: int, content: bytes) -> Callable[[str], int]:
    """Load a shared library from its open, checked file, whatever its path leads to by now."""
    # The loader takes two libraries of one path for the same, and a closed descriptor's number is given again.
    path = f"{_DESCRIPTORS}/{'./' * len(_kept)}{file}"
    library = ctypes.CDLL(path) if _DESCRIPTORS.is_dir() else _load_copy(content)
    _kept.append(library)
    return lambda name: ctypes.cast(library[name], ctypes.c_void_p).value or 0


def _load_copy(content: bytes) -> ctypes.CDLL:
    """Load a shared library from a copy in a new folder of the user's own, where no path names an open file."""
    room = tempfile.mkdtemp(prefix="forethought-")
    try:
        path = Path(room) / "kernels.so"
        path.write_bytes(content)
        return ctypes.CDLL(str(path))
    finally:
        shutil.rmtree(room, ignore_errors=True)


def _load_object(content: bytes) -> Callable[[str], int] | None:
    """Load an object file with llvmlite, where there was no linker; None without llvmlite."""
    try:
        import llvmlite.binding as llvm
    except ImportError:
        return None
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_default_triple().create_target_machine(jit=True)
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), target)
    engine.add_object_file(llvm.ObjectFileRef.from_data(content))
    engine.finalize_object()
    _kept.append(engine)
    return engine.get_function_address  # type: ignore[no-any-return]


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
