"""`forethought check`: lint a problem or a domain.

Other packages add checks of their own: an entry point of the group `forethought.checks` leads to a function that takes
the `Source` and the problem or domain that was loaded from it, and returns findings.
"""

from __future__ import annotations

import sys
from collections import Counter

from planner.cli.exit_codes import Exit
from planner.cli.interrupt import interruptible, left, limit_memory
from planner.cli.options import add_domain, add_limits, add_problem, add_quiet
from planner.cli.output import give, tell
from planner.errors import ForethoughtError
from planner.lightweight import TYPE_CHECKING, Final
from planner.limits import Limits

if TYPE_CHECKING:
    from planner.cli.parser import Parser
    from planner.language.loading.sources import Source
    from planner.lint.findings import Finding
    from planner.problem_kinds import AnyDomain, AnyProblem

ABOUT: Final = "Say what is odd about a domain, and with a problem also what can never happen in it."


def arguments(parser: Parser) -> None:
    """Declare what the command takes."""
    add_domain(parser)
    add_problem(parser, optional=True)
    add_limits(parser, default=60.0)
    add_quiet(parser)


def run(
    started: float, *, domain: str, problem: str | None, time_limit: float, memory_limit: float | None, quiet: bool
) -> Exit:
    """Print findings."""
    from planner.cli.options import given_by, named
    from planner.language.loading.load import open_source
    from planner.lint.check import check_domain, check_problem, sort_by_level
    from planner.lint.findings import Level
    from planner.model import DomainModel, Problem
    from planner.problem_kinds import is_other_domain, is_other_problem, not_classical, service_of

    memory = limit_memory(memory_limit)
    with interruptible(left(time_limit, started)):
        source = open_source(domain)
        loaded = given_by(source, problem)
        limits = Limits(left(time_limit, started), memory)
        with named(domain, problem):
            if isinstance(loaded, Problem):
                findings = check_problem(loaded, limits)
            elif isinstance(loaded, DomainModel):
                findings = check_domain(loaded)
            elif is_other_problem(loaded):
                findings = service_of(loaded).check(loaded, limits)
            elif is_other_domain(loaded):
                findings = service_of(loaded).check_domain(loaded)
            else:
                raise not_classical(loaded, "checking")
            findings = sort_by_level([*findings, *findings_of_others(source, loaded)])
    if findings:
        give("\n".join(map(str, findings)))
    if not quiet:
        tell(f"{loaded.name}: {_counted(Counter(finding.level.name.lower() for finding in findings))}")
    clean = all(finding.level is Level.NOTE for finding in findings)
    return Exit.OK if clean else Exit.NEGATIVE


def _counted(levels: Counter[str]) -> str:
    """Return "1 error, 2 warnings", or "nothing to report"."""
    words = [
        f"{levels[name]} {name}{'s' if levels[name] > 1 else ''}"
        for name in ("error", "warning", "note")
        if levels[name]
    ]
    return ", ".join(words) or "nothing to report"


GROUP: Final = "forethought.checks"


def findings_of_others(source: Source, loaded: AnyProblem | AnyDomain) -> list[Finding]:
    """Return what other packages say about what stands in the file of `source`; nothing where it is no Python.

    Only those are asked that the file has imported: there is nothing of the others in it.
    """
    if "planner.language.loading.python_files" not in sys.modules:
        return []
    from importlib.metadata import entry_points

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
