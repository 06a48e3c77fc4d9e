"""Makes machine code for a target of what `planner.jit.translate` has made: object files and shared libraries.

LLVM can make code for all targets on any computer. A shared library needs a linker: `ld` makes libraries for the
computer at hand only.
"""

from __future__ import annotations

import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm

from planner.jit.targets import Target


def emit(bitcode: bytes, target: Target) -> bytes:
    """Optimise the functions of an LLVM module for `target`; return an object file of position-independent code."""
    machine = _find_machine(target)
    module = llvm.parse_bitcode(bitcode)
    module.triple, module.data_layout = machine.triple, str(machine.target_data)
    options = llvm.create_pipeline_tuning_options(speed_level=3)
    options.loop_vectorization = True
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    code: bytes = machine.emit_object(module)
    return code


@cache
def _find_machine(target: Target) -> Any:
    """Return LLVM's description of a target."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    triple = target.triple or llvm.get_process_triple()
    found = llvm.Target.from_triple(triple)
    return found.create_target_machine(cpu=target.cpu, opt=3, reloc="pic", codemodel="default")


def link(code: Path, library: Path) -> bool:
    """Link an object file to a shared library for this computer; return whether there was a linker for it."""
    linker = shutil.which("ld")
    if linker is None:
        return False
    command = [linker, "-shared", "-z", "noexecstack", "-o", str(library), str(code)]
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False).returncode == 0
