"""Makes the machine code of kernels: `python -m planner.jit.build`, in a process of its own.

numba translates the kernels here, one module after the other, and a second process makes machine code of what is
translated. Each module is there for searches as soon as it is complete: two processes that build at once repeat work,
but do no harm.
"""

from __future__ import annotations

import contextlib
import gc
import multiprocessing
import os
import re
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Final

from planner.jit import emit
from planner.jit.common_kernel import ENTRIES
from planner.jit.kernel_names import COMMON
from planner.jit.targets import Target, find_targets
from planner.jit.trusted_files import Untrusted, make_checksum, open_code, open_folder

MARK: Final = "--mark"
AGAIN: Final = "--again"
KEPT_SECONDS: Final = 90 * 86_400.0
"""How long machine code of other contents of the kernels is kept, in seconds."""
LEFT_SECONDS: Final = 3_600.0
"""Age in seconds from which on a temporary folder counts as left behind by a process that died."""
_NAME: Final = re.compile(r"\w+-[\w-]+-[0-9a-f]{16}")
"""The names of folders with machine code, as `planner.jit.library.folder_name` makes them."""


def build(told: Callable[[str], None], first: Iterable[str] = (), *, again: bool = False) -> None:
    """Make the machine code of all packages in the user's cache, and call `told` with the name of each made module.

    Modules that are there are left as they are, unless `again`. The modules `first`, named without `_kernel`, are made
    after those that every search needs, and before the others. Raises `ImportError` without numba, `OSError` where
    nothing can be written, `Untrusted` where others could change the folder, and `NoCache` where there is none.
    """
    from planner.jit import translate

    os.umask(0o077)
    library = translate.import_kernels()
    places = {module: library.find_folder(library.package_of(module)) for module in library.all_modules()}
    for place in dict.fromkeys(places.values()):
        place.mkdir(parents=True, exist_ok=True)
        with open_folder(place):
            pass
        _remove_old(place)
    early = {*map(library.short_name, COMMON), *first}
    wanted = sorted(places, key=lambda each: library.short_name(each) not in early)
    missing = [each for each in wanted if again or not is_made(places[each], library.short_name(each))]
    target = find_targets()[0]
    for module, code in make_objects(missing, [target]):
        write_module(places[module], library.short_name(module), code[target.name])
        told(library.short_name(module))


def _remove_old(place: Path) -> None:
    """Remove folders beside `place` that nobody has made code in for `KEPT_SECONDS`, and what killed builds left.

    What has another name than machine code is not ours: the user names the folder above.
    """
    old = [each for each in place.parent.iterdir() if each != place and _NAME.fullmatch(each.name) and each.is_dir()]
    for each, seconds in [*((one, KEPT_SECONDS) for one in old), *((one, LEFT_SECONDS) for one in place.glob(".*"))]:
        with contextlib.suppress(FileNotFoundError):  # its own process may have removed it meanwhile
            if time.time() - each.stat().st_mtime > seconds:
                shutil.rmtree(each, ignore_errors=True)


def make_objects(modules: Iterable[str], targets: list[Target]) -> Iterator[tuple[str, dict[str, bytes]]]:
    """Yield each of these modules with its object files by the names of `targets`, in the order given."""
    from planner.jit import translate

    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), _end_with_parent) as helper:
        waiting: list[tuple[str, bytes, list[Future[bytes]]]] = []
        for module in modules:
            entries = [name for name, function in ENTRIES.items() if function.__module__ == module]
            bitcode = translate.translate(entries)
            waiting.append((module, bitcode, [helper.submit(emit.emit, bitcode, target) for target in targets]))
            while waiting and all(each.done() for each in waiting[0][2]):
                yield _collect(waiting.pop(0), targets)
        while waiting:
            yield _collect(waiting.pop(0), targets)


def _end_with_parent() -> None:
    """End this process as soon as the one that started it has ended, even by `kill -9`."""
    parent = multiprocessing.parent_process()
    assert parent is not None

    def wait() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


def _collect(begun: tuple[str, bytes, list[Future[bytes]]], targets: list[Target]) -> tuple[str, dict[str, bytes]]:
    """Wait for the object files of a module; make them in this process if the other one has died."""
    module, bitcode, made = begun
    try:
        codes = [each.result() for each in made]
    except BrokenProcessPool:  # there may have been too little memory for two processes
        codes = [emit.emit(bitcode, target) for target in targets]
    return module, {target.name: code for target, code in zip(targets, codes, strict=True)}


def is_made(place: Path, module: str) -> bool:
    """Return whether the folder `place` has undamaged machine code of `module`."""
    try:
        with open_folder(place) as folder, open_code(folder, module) as code:
            return code is not None
    except (OSError, Untrusted):
        return False


def write_module(place: Path, module: str, code: bytes, link: Callable[[Path, Path], bool] = emit.link) -> None:
    """Write the machine code of `module` to the folder `place`; the sum comes last.

    `link` makes a shared library of an object file, if it can.
    """
    with tempfile.TemporaryDirectory(dir=place, prefix=".") as room:
        begun, linked, checked = (Path(room) / name for name in ("code.o", "code.so", "sum"))
        begun.write_bytes(code)
        made, name = (linked, f"{module}.so") if link(begun, linked) else (begun, f"{module}.o")
        checked.write_bytes(make_checksum(name, made.read_bytes()))
        made.replace(place / name)
        checked.replace(place / f"{module}.sum")


def main(arguments: list[str]) -> None:
    """Build and print the name of each module that is made; with `--again`, make those that are there anew.

    With `--mark FILE MODULE …`, build at low priority, these modules early, and remove the file at the end.
    """
    gc.disable()  # it takes a fourth of the time, and numba makes few cycles
    if arguments[:1] != [MARK]:
        # The parent reads the names to the end of the pipe: no other process may hold it.
        with os.fdopen(os.dup(1), "w", encoding="utf-8") as names:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            build(lambda module: print(module, file=names, flush=True), again=AGAIN in arguments)
        return
    os.nice(10)
    try:
        build(lambda _: None, arguments[2:])
    finally:
        Path(arguments[1]).unlink(missing_ok=True)


if __name__ == "__main__":
    main(sys.argv[1:])
