"""Machine code for kernels: compiled once with numba, kept in a cache, and loaded in milliseconds.

    common_kernel      how kernels are declared, and the kinds of arrays
    slots_kernel       places of the numbers that searches keep between two calls
    containers_kernel  lists, heaps and queues in arrays
    arrays             makes and lengthens arrays
    build              compiles all kernels, in a process of its own
    build_process      starts that process
    library            loads machine code, or the kernels in plain Python
    trusted_files      opens files that nobody else can have written

A kernel stands beside its readable twin, in a module whose name ends with `_kernel`. A module whose name ends with
`_compiled` fills the arrays, calls the kernel and reads the results. Without a compiler, every kernel runs as plain
Python and does the same, slowly.
"""

from __future__ import annotations
