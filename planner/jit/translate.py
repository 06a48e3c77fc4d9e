"""Translates kernels to LLVM's language with numba, for all processors of 64 bits alike.

numba optimises each function that it compiles, loads it, and optimises it again within each of its callers. Here only
the functions themselves are wanted: `planner.jit.emit` optimises them once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Final, get_type_hints

import llvmlite.binding as llvm
import numba
from numba.core import codegen

from planner.jit import common_kernel as kernels

OPTIONS: Final = {
    "_nrt": False,
    "nogil": True,
    "error_model": "numpy",
    "boundscheck": False,
    "forceinline": True,
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
}
"""Options of numba. Kernels make no objects, so nothing counts references (`_nrt`). They raise nothing: they never
divide by zero, and their indices are right.

Each entry is inlined into one function: a record of arrays is hundreds of words, too many to pass by call. Only entries
and other kernels call kernels.
"""
_TYPES: Final = {
    "q": numba.types.CPointer(numba.types.int64),
    "I": numba.types.CPointer(numba.types.uint32),
    "d": numba.types.CPointer(numba.types.float64),
    "n": numba.types.int64,
}
_SQUARE_ROOT: Final = """
declare double @llvm.sqrt.f64(double)
define double @sqrt(double %x) alwaysinline { %y = call double @llvm.sqrt.f64(double %x) ret double %y }
"""
"""The one function of the C library that kernels call, by the processor's instruction: no library is linked."""


class _Library(codegen.JITCodeLibrary):  # type: ignore[misc]
    """A library of numba that joins functions, but neither optimises them nor makes machine code."""

    def _optimize_functions(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout  # noqa: SLF001 - numba offers no way to skip this stage

    def _optimize_final_module(self) -> None:
        """Leave the functions as they are."""

    def _finalize_final_module(self) -> None:
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:  # noqa: ARG002 - the caller is numba
        """Return a number that stands for an address: numba keeps it, and nobody calls it."""
        self._ensure_finalized()
        return 1


def import_kernels() -> Any:
    """Let numba compile the kernels of all packages as they are imported; return `planner.jit.library`."""
    codegen.JITCPUCodegen._library_class = _Library  # noqa: SLF001
    codegen.JITCPUCodegen.set_env = lambda *_: None
    kernels.use_compiler(numba.njit(**OPTIONS))
    from planner.jit import library

    library.import_kernels()
    for each in find_packages():
        each.load()
    return library


def find_packages() -> list[EntryPoint]:
    """Return the entry points of the kernels of other packages, named as the packages."""
    return sorted(entry_points(group="forethought.kernels"), key=lambda each: each.name)


def translate(names: Iterable[str]) -> bytes:
    """Return one LLVM module, as bitcode, with the functions `forethought_NAME` for entries of these `names`."""
    joined = llvm.parse_assembly("")
    for name in names:
        joined.link_in(_translate_entry(name, kernels.ENTRIES[name]))
    code: bytes = joined.as_bitcode()
    return code


def _translate_entry(name: str, function: Callable[..., Any]) -> Any:
    wrapper, kinds = _write_wrapper(name, function)
    compiled = numba.cfunc(numba.types.int64(*(_TYPES[kind] for kind in kinds)), error_model="numpy")(wrapper)
    module = compiled._library._final_module  # noqa: SLF001 - numba has no other way to it
    module.get_function(compiled.native_name).name = entry = f"forethought_{name}"
    module.link_in(llvm.parse_assembly("\n".join([_SQUARE_ROOT, *_trap_calls(module)])))
    for each in (*module.functions, *module.global_variables):
        if not each.is_declaration and each.name != entry:
            each.linkage = "internal"
    return module


def _trap_calls(module: Any) -> list[str]:
    """Return definitions of all that `module` calls from outside: numba raises exceptions by it, and no kernel does."""
    lines = ["declare void @llvm.trap()"]
    lines += [f"@{each.name} = global ptr null" for each in module.global_variables if each.is_declaration]
    for each in module.functions:
        if each.is_declaration and not each.name.startswith("llvm.") and each.name != "sqrt":
            head = re.sub(r"(\s+local_unnamed_addr)?(\s+#\d+)?$", "", str(each).strip().splitlines()[-1])
            lines.append(f"{head.replace('declare', 'define', 1)} {{ call void @llvm.trap() unreachable }}")
    return lines


def _write_wrapper(name: str, function: Callable[..., Any]) -> tuple[Callable[..., int], str]:
    """Return a function of pointers and lengths that makes records and calls an entry, and its parameters' types."""
    parameters: list[str] = []
    types: list[str] = []
    names: dict[str, Any] = {"carray": numba.carray, "entry": function}

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
