"""Compiles the kernels to machine code with numba: `python -m planner.jit.build`, in a process of its own.

Packages that have kernels beside those of `planner` are found by the entry point group `forethought.kernels`.

The code is written to a new folder, which is renamed when it is complete: two processes that build at once repeat
work, but do no harm. On two processors or more, a second process helps: one compiles from the first entry on, the other
from the last, until they meet.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import Any, Final, get_type_hints

from planner.jit import common_kernel as kernels
from planner.jit.trusted_files import open_folder
from planner.limits import count_processors

OPTIONS: Final = {
    "nogil": True,
    "error_model": "numpy",
    "boundscheck": False,
    "forceinline": True,
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
}
"""Options of numba. Kernels raise nothing: they never divide by zero, and their indices are right.

Each entry is inlined into one function: a record of arrays is hundreds of words, too many to pass by call. Only entries
and other kernels call kernels.
"""
UNFINISHED: Final = "unfinished-"
DAY: Final = 86_400.0


def build(*packages: str) -> Path:
    """Compile the entries of these packages, or else of all; return the folder of those of `planner`.

    Raises `ImportError` without numba, `OSError` where it cannot be written, `Untrusted` where others could change the
    folder, and `NoCache` where there is none.
    """
    library = _import_kernels()
    os.umask(0o077)
    for package in packages or (library.OWN, *[each.name for each in _find_packages()]):
        _build(library.find_folder(package), library, library.entry_names(package))
    folder: Path = library.find_folder()
    return folder


def _build(place: Path, library: ModuleType, names: list[str]) -> None:
    """Compile the entries of these `names` into the folder `place`."""
    place.parent.mkdir(parents=True, exist_ok=True)
    with open_folder(place.parent):
        pass
    import llvmlite.binding as llvm

    _remove_leftovers(place.parent)
    with tempfile.TemporaryDirectory(dir=place.parent, prefix=UNFINISHED) as room:
        made = Path(room) / "made"
        made.mkdir()
        _link(made, _compile_entries(made, names))
        codes = [(made / f"{name}.o").read_bytes() for name in names]
        (made / library.STAMP).write_bytes(library.make_stamp(library.describe_processor(llvm), codes))
        with contextlib.suppress(FileNotFoundError):
            place.rename(Path(room) / "before")
        try:
            made.rename(place)
        except OSError:
            if not (place / library.STAMP).is_file():  # or else another process was as fast
                raise


def _import_kernels() -> ModuleType:
    """Let numba compile the kernels of all packages as they are imported; return `planner.jit.library`."""
    import numba

    kernels.use_compiler(numba.njit(**OPTIONS))
    from planner.jit import library

    for each in _find_packages():
        each.load()
    return library


def _find_packages() -> list[EntryPoint]:
    """Return the entry points of the kernels of other packages, named as the packages."""
    return sorted(entry_points(group="forethought.kernels"), key=lambda each: each.name)


def _compile_entries(place: Path, names: list[str]) -> set[str]:
    """Compile these entries into this folder; return the symbols that they would call to raise an exception."""
    from planner.jit.build_process import COMMAND, build_environment

    if count_processors() == 1:
        return _compile_share(place, names)
    command = (*COMMAND, "--beside", str(place), *names)
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, env=build_environment()
    ) as helper:
        raising = _compile_share(place, names)
        raising.update(helper.communicate()[0].split())
    if helper.returncode == 0:
        return raising
    for begun in place.glob("*.o"):  # there may have been too little memory for two
        begun.unlink()
    return _compile_share(place, names)


def _compile_share(place: Path, names: Iterable[str]) -> set[str]:
    """Compile the entries that no other process has begun; return what `_compile_entries` does."""
    import llvmlite.binding as llvm

    raising: set[str] = set()
    for name in names:
        with contextlib.suppress(FileExistsError), (place / f"{name}.o").open("xb") as file:
            file.write(_compile_entry(name, kernels.ENTRIES[name], llvm, raising))
    return raising


def _remove_leftovers(place: Path) -> None:
    """Remove folders that killed processes left behind a day ago or earlier."""
    for room in place.glob(f"{UNFINISHED}*"):
        with contextlib.suppress(FileNotFoundError):  # its own process may have removed it meanwhile
            if time.time() - room.stat().st_mtime > DAY:
                shutil.rmtree(room, ignore_errors=True)


def _link(place: Path, raising: set[str]) -> None:
    """Link the object files to a shared library, if there is a linker and a description of the processor."""
    from planner.jit import library

    linker = shutil.which("ld")
    if linker is None or not library.read_features():
        return
    objects = [str(path) for path in sorted(place.glob("*.o"))]
    unused = [word for name in sorted(raising) for word in ("--defsym", f"{name}=0")]
    command = [linker, "-shared", "-o", str(place / library.SHARED), *objects, *unused]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    if done.returncode == 0:
        file = place / library.SHARED
        (place / library.SHARED_STAMP).write_bytes(library.make_stamp(library.read_features(), [file.read_bytes()]))


def _compile_entry(name: str, function: Callable[..., Any], llvm: Any, raising: set[str]) -> bytes:
    """Compile one entry; add to `raising` the symbols that it would call to raise an exception, which never happens."""
    import numba

    wrapper, types = _write_wrapper(name, function)
    signature = numba.types.int64(*(_TYPES[kind](numba.types) for kind in types))
    compiled = numba.cfunc(signature, error_model="numpy")(wrapper)
    text = compiled.inspect_llvm().replace(compiled.native_name, f"forethought_{name}")
    module = llvm.parse_assembly(text)
    outside = [each.name for each in (*module.functions, *module.global_variables) if each.is_declaration]
    raising.update(each for each in outside if each.startswith(("Py", "_Py", "NRT_", "numba_")))
    features = llvm.get_host_cpu_features().flatten()
    target = llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=features, opt=3, reloc="pic", codemodel="default", jit=True
    )
    code: bytes = target.emit_object(module)
    return code


_TYPES: Final[dict[str, Callable[[Any], Any]]] = {
    "q": lambda types: types.CPointer(types.int64),
    "I": lambda types: types.CPointer(types.uint32),
    "d": lambda types: types.CPointer(types.float64),
    "n": lambda types: types.int64,
}


def _write_wrapper(name: str, function: Callable[..., Any]) -> tuple[Callable[..., int], str]:
    """Return a function of pointers and lengths that makes records and calls an entry, and its parameters' types."""
    from numba import carray

    parameters: list[str] = []
    types: list[str] = []
    names: dict[str, Any] = {"carray": carray, "entry": function}

    def expression(kind: Any) -> str:
        number = len(parameters)
        if kind is int:
            parameters.append(f"a{number}")
            types.append("n")
            return f"a{number}"
        if hasattr(kind, "__metadata__"):
            parameters.extend([f"a{number}", f"n{number}"])
            types.extend([kind.__metadata__[0], "n"])
            return f"carray(a{number}, (n{number},))"
        names[kind.__name__] = kind
        inner = get_type_hints(kind, include_extras=True).values()
        return f"{kind.__name__}({', '.join([expression(each) for each in inner])})"

    hints = get_type_hints(getattr(function, "py_func", function), include_extras=True)
    given = ", ".join([expression(kind) for parameter, kind in hints.items() if parameter != "return"])
    source = f"def {name}({', '.join(parameters)}):\n    return entry({given})\n"
    exec(source, names)  # noqa: S102 - made of our own annotations
    return names[name], "".join(types)


def main(arguments: list[str]) -> None:
    """Build; with `--mark FILE PACKAGE`, build that package at low priority and remove the file at the end.

    With `--beside FOLDER NAME …`, help the process that builds these entries there.
    """
    if arguments[:1] == ["--beside"]:
        _import_kernels()
        sys.stdout.write("\n".join(_compile_share(Path(arguments[1]), arguments[:1:-1])))
        return
    if arguments[:1] != ["--mark"]:
        sys.stdout.write(f"{build()}\n")
        return
    os.nice(10)
    try:
        build(*arguments[2:])
    finally:
        Path(arguments[1]).unlink(missing_ok=True)


if __name__ == "__main__":
    main(sys.argv[1:])
