"""The processors that machine code is made for, and which of them this computer can run.

Code is made for a named processor instead of the one at hand, so that it can be shipped, and so that a cache in a home
folder serves computers with different processors. The x86-64 levels are those of the psABI: `-v2` has SSE 4.2, `-v3`
also AVX2 and FMA.
"""

from __future__ import annotations

import os
import sys
from functools import cache
from typing import Final, NamedTuple


class Target(NamedTuple):
    """A kind of processor and operating system."""

    name: str
    triple: str
    """As LLVM names it; "" is the computer at hand."""
    cpu: str
    """The least processor that the code runs on, as LLVM names it."""


X86_64_V3: Final = Target("linux-x86-64-v3", "x86_64-unknown-linux-gnu", "x86-64-v3")
X86_64_V2: Final = Target("linux-x86-64-v2", "x86_64-unknown-linux-gnu", "x86-64-v2")
AARCH64: Final = Target("linux-aarch64", "aarch64-unknown-linux-gnu", "generic")
APPLE: Final = Target("macos-arm64", "arm64-apple-macosx11.0.0", "apple-m1")

_V2: Final = frozenset({"cx16", "lahf_lm", "popcnt", "pni", "sse4_1", "sse4_2", "ssse3"})
"""What `-v2` has beyond the first x86-64 processors, as /proc/cpuinfo names it."""
_V3: Final = _V2 | {"abm", "avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "movbe", "xsave"}


@cache
def find_targets() -> tuple[Target, ...]:
    """Return the targets whose code this computer can run, the best first; the first is what to make code for."""
    machine = os.uname().machine
    if sys.platform == "darwin" and machine == "arm64":
        return (APPLE,)
    if sys.platform == "linux" and machine == "aarch64":
        return (AARCH64,)
    if sys.platform == "linux" and machine == "x86_64":
        flags = read_flags()
        levels = ((_V3, X86_64_V3), (_V2, X86_64_V2))
        if found := tuple([target for needs, target in levels if needs <= flags]):
            return found
    return (Target(f"{sys.platform}-{machine}", "", ""),)


def read_flags(path: str = "/proc/cpuinfo") -> frozenset[str]:
    """Return the features that the operating system states for the first processor; none where it states none."""
    try:
        with open(path, encoding="utf-8") as file:  # noqa: PTH123 - there may be hundreds: only the first
            first = file.read(1 << 13).partition("\n\n")[0]
    except (OSError, UnicodeError):
        return frozenset()
    lines = [line for line in first.splitlines() if line.startswith("flags")]
    return frozenset(lines[0].partition(":")[2].split()) if lines else frozenset()
