"""Checks wheels with machine code as far as that goes without the processor: `python check_wheels.py WHEEL …`.

For each shared library: the format and the processor, that it exports the kernels' entries, that it needs no symbol
but a few that every C library has, that its relocations are those of position-independent code, that no memory is both
written to and executed, and that it is signed, where the system asks for that.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any, Final

import lief

lief.logging.disable()  # it complains of what Zig leaves out
FOLDER: Final = "planner/jit/machine_code/"
NEEDED: Final = {"memset", "memcpy", "memmove"}
"""Functions that LLVM calls for loops that set or copy memory."""
NEEDED_ON_MACOS: Final = {*NEEDED, "bzero", "memset_pattern16", "dyld_stub_binder"}
"""These, two more for the same, and the loader's own."""
ELF: Final = {
    "linux-x86-64": (lief.ELF.ARCH.X86_64, 0x1000, {"X86_64_RELATIVE", "X86_64_JUMP_SLOT", "X86_64_GLOB_DAT"}),
    "linux-aarch64": (lief.ELF.ARCH.AARCH64, 0x10000, {"AARCH64_RELATIVE", "AARCH64_JUMP_SLOT", "AARCH64_GLOB_DAT"}),
}
"""By target: the processor, the least alignment of segments (pages of Linux on ARM have up to 64 KiB), relocations."""


def check_wheel(path: Path) -> Iterator[str]:
    """Yield what is wrong with a wheel."""
    with zipfile.ZipFile(path) as wheel:
        names = wheel.namelist()
        yield from _check_record(wheel)
        libraries = [name for name in names if name.startswith(FOLDER) and name.endswith(".so")]
        pure = path.name.endswith("-py3-none-any.whl")
        if pure is bool(libraries):
            yield f"{len(libraries)} libraries of machine code"
        modules: dict[str, set[str]] = {}
        for name in libraries:
            folder, file = PurePosixPath(name).parts[-2:]
            package, _, rest = folder.partition("-")
            modules.setdefault(rest.rpartition("-")[0], set()).add(f"{package}.{file}")
            content = wheel.read(name)
            for finding in check_library(content, rest):
                yield f"{name}: {finding}"
            total = wheel.read(name.removesuffix(".so") + ".sum").split()[1]
            if int(total) != len(content):
                yield f"{name}: {len(content)} bytes, and its sum says {int(total)}"
        if any(each != next(iter(modules.values())) for each in modules.values()):
            yield f"not all targets have the same modules of kernels: {modules}"
        if "planner/py.typed" not in names:
            yield "planner/py.typed is missing"


def _check_record(wheel: zipfile.ZipFile) -> Iterator[str]:
    """Yield the files whose content is not what the wheel's own list says."""
    record = next(name for name in wheel.namelist() if name.endswith(".dist-info/RECORD"))
    for name, digest, _ in csv.reader(io.StringIO(wheel.read(record).decode())):
        if digest:
            found = base64.urlsafe_b64encode(hashlib.sha256(wheel.read(name)).digest()).rstrip(b"=").decode()
            if digest != f"sha256={found}":
                yield f"{name} is not what RECORD says"


def check_library(content: bytes, target: str) -> Iterator[str]:
    """Yield what is wrong with a shared library for a target, whose name `target` begins with."""
    if target.startswith("macos-arm64"):
        found = lief.MachO.parse(content)
        yield from ["no Mach-O library"] if found is None else _check_macho(found.at(0))
        return
    known = next((each for each in ELF if target.startswith(each)), None)
    if known is None:
        yield f"unknown target {target}"
        return
    library = lief.ELF.parse(content)
    yield from ["no ELF library"] if library is None else _check_elf(library, *ELF[known])


def _check_elf(library: Any, processor: Any, alignment: int, relocations: set[str]) -> Iterator[str]:
    if library.header.machine_type != processor or library.header.file_type != lief.ELF.Header.FILE_TYPE.DYN:
        yield f"made for {library.header.machine_type}"
    symbols = [(each.name, each.shndx != 0) for each in library.dynamic_symbols if each.name]
    yield from _check_symbols(symbols, NEEDED)
    if library.libraries:
        yield f"needs {library.libraries}"
    flags = lief.ELF.Segment.FLAGS
    for each in library.segments:
        if flags.W in each and flags.X in each:
            yield f"a segment ({each.type}) may be written to and executed"
        if each.type == lief.ELF.Segment.TYPE.LOAD and each.alignment < alignment:
            yield f"a segment is aligned to {each.alignment}, expected {alignment}"
    found = {each.type.name for each in library.relocations}
    if not found <= relocations:
        yield f"relocations {found - relocations}"


def _check_macho(library: Any) -> Iterator[str]:
    if library.header.cpu_type != lief.MachO.Header.CPU_TYPE.ARM64:
        yield f"made for {library.header.cpu_type}"
    symbols = [(each.name.removeprefix("_"), True) for each in library.exported_symbols]
    symbols += [(each.name.removeprefix("_"), False) for each in library.imported_symbols]
    yield from _check_symbols(
        [each for each in symbols if each[0] not in {"_mh_dylib_header", "__dso_handle"}], NEEDED_ON_MACOS
    )
    if not library.has_code_signature:
        yield "not signed"
    if library.build_version.minos > [11, 0, 0]:
        yield f"needs macOS {library.build_version.minos}"
    if unknown := {each.name for each in library.libraries} - {"kernels.so", "/usr/lib/libSystem.B.dylib"}:
        yield f"needs {unknown}"


def _check_symbols(symbols: list[tuple[str, bool]], needed: set[str]) -> Iterator[str]:
    """Yield what is wrong with symbols, each given with whether it is defined; the `needed` ones may be undefined."""
    if not any(defined and name.startswith("forethought_") for name, defined in symbols):
        yield "no entry"
    if unknown := {name for name, defined in symbols if not defined} - needed:
        yield f"calls {sorted(unknown)}"
    if strange := {name for name, defined in symbols if defined and not name.startswith("forethought_")}:
        yield f"exports {sorted(strange)}"


def main(arguments: list[str]) -> None:
    """Check the wheels that are named; end with an error if something is wrong."""
    found = [f"{name}: {finding}" for name in arguments for finding in check_wheel(Path(name))]
    print("\n".join(found) or f"{len(arguments)} wheels checked")
    sys.exit(bool(found))


if __name__ == "__main__":
    main(sys.argv[1:])
