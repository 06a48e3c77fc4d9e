"""Lint of other packages, for what Python files leave behind besides domains: found by entry points.

An entry point of the group `forethought.checks` leads to a function that takes the `Source` and the problem or domain
that was loaded from it, and returns findings.
"""

from __future__ import annotations

import sys

from planner.annotations import TYPE_CHECKING, Final
from planner.errors import ForethoughtError

if TYPE_CHECKING:
    from planner.check import Finding
    from planner.kinds import AnyDomain, AnyProblem
    from planner.loading.source import Source

GROUP: Final = "forethought.checks"


def findings_of_others(source: Source, loaded: AnyProblem | AnyDomain) -> list[Finding]:
    """Return what other packages say about what stands in the file of `source`; nothing where it is no Python.

    Only those are asked that the file has imported: there is nothing of the others in it.
    """
    if "planner.loading.python" not in sys.modules:
        return []
    from importlib.metadata import entry_points  # noqa: PLC0415 - takes time, and other files need none of it

    found: list[Finding] = []
    for entry in sorted(entry_points(group=GROUP), key=lambda entry: entry.name):
        if entry.module.partition(".")[0] in sys.modules:
            try:
                check = entry.load()
            except (ImportError, AttributeError) as error:
                raise ForethoughtError(
                    f"the check '{entry.name}' of {entry.value} cannot be loaded: {error}"
                ) from error
            found += check(source, loaded)
    return found
