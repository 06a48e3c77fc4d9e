"""Builds the sdist, the pure wheel and a wheel with machine code for each platform: `make wheels`.

numba translates the kernels once, LLVM makes an object file of each module of kernels for each target, and Zig's linker
makes shared libraries of these for all platforms on any computer.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from check_wheels import check_wheel
from hatch_build import CODE, PLATFORM

from planner.jit import build, targets, translate
from planner.jit.targets import Target

ROOT: Final = Path(__file__).parents[2]
WORK: Final = ROOT / "build" / "machine_code"
DIST: Final = ROOT / "dist"
MOST: Final = 6_000_000
"""The greatest size of a wheel, in bytes."""


class Platform(NamedTuple):
    """A platform that gets a wheel."""

    tag: str
    zig: str
    """The platform as Zig names it."""
    targets: tuple[Target, ...]
    options: tuple[str, ...] = ()
    """More options for the linker."""


_ELF: Final = ("-nostdlib", "-Wl,--strip-all")
PLATFORMS: Final = (
    Platform("manylinux_2_17_x86_64", "x86_64-linux-gnu", (targets.X86_64_V3, targets.X86_64_V2), _ELF),
    Platform("manylinux_2_17_aarch64", "aarch64-linux-gnu", (targets.AARCH64,), _ELF),
    Platform("macosx_11_0_arm64", "aarch64-macos.11.0", (targets.APPLE,), ("-Wl,-install_name,kernels.so",)),
)


def main() -> None:
    """Build and check all; end with an error where a wheel is not what it should be."""
    began = time.monotonic()
    shutil.rmtree(WORK, ignore_errors=True)
    make_code()
    print(f"machine code made in {time.monotonic() - began:.0f} s")
    shutil.rmtree(DIST, ignore_errors=True)
    made = [*build_distribution("--sdist"), *build_distribution("--wheel")]
    for each in PLATFORMS:
        made += build_distribution("--wheel", **{CODE: str(WORK / each.tag), PLATFORM: each.tag})
    for path in made:
        for finding in check_wheel(path) if path.suffix == ".whl" else ():
            sys.exit(f"{path.name}: {finding}")
        if path.stat().st_size >= MOST:
            sys.exit(f"{path.name} has {path.stat().st_size} bytes, expected less than {MOST}")
        print(f"{path.stat().st_size / 1e6:5.2f} MB  {path.relative_to(ROOT)}")


def make_code() -> None:
    """Make the machine code of all packages for all platforms, in a folder for each."""
    library = translate.import_kernels()
    every = [target for platform in PLATFORMS for target in platform.targets]
    for module, codes in build.make_objects(library.all_modules(), every):
        for platform in PLATFORMS:
            for target in platform.targets:
                place = WORK / platform.tag / library.folder_name(library.package_of(module), target.name)
                place.mkdir(parents=True, exist_ok=True)
                build.write_module(place, library.short_name(module), codes[target.name], partial(link, platform))
        print(f"{library.short_name(module)}: {', '.join(codes)}")


def link(platform: Platform, code: Path, library: Path) -> bool:
    """Link an object file to a shared library for `platform`."""
    command = [sys.executable, "-m", "ziglang", "cc", "-target", platform.zig, "-shared", *platform.options]
    subprocess.run([*command, "-o", str(library), str(code)], check=True)
    library.chmod(0o755)
    return True


def build_distribution(kind: str, **environment: str) -> list[Path]:
    """Build one distribution, an `--sdist` or a `--wheel`, and return its path."""
    before = {*DIST.glob("*")}
    command = [sys.executable, "-m", "build", "--no-isolation", kind, "--outdir", str(DIST), str(ROOT)]
    subprocess.run(command, check=True, env=os.environ | environment, stdout=subprocess.DEVNULL)
    return [*{*DIST.glob("*")} - before]


if __name__ == "__main__":
    main()
