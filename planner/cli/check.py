"""`forethought check`: lint a problem or a domain.

Other packages add checks by entry points of the group `forethought.checks`: functions that take the `Source` and the
problem or domain that was loaded from it, and return findings.
"""

from __future__ import annotations

import sys
from argparse import Namespace
from collections import Counter

from planner.cli.interrupt import interruptible, limit_memory, remaining_seconds
from planner.cli.options import add_domain, add_limits, add_problem, add_quiet, load_named, name_source
from planner.cli.output import Exit, give, tell
from planner.cli.parser import Parser
from planner.cli.watching import add_watch, watch
from planner.errors import ForethoughtError
from planner.language.loading.load import Source, open_source
from planner.lightweight import TYPE_CHECKING, Final
from planner.limits import Limits
from planner.model import DomainModel, Problem
from planner.problem_kinds import AnyDomain, AnyProblem, is_other_domain, is_other_problem, service_of, unsupported_kind

if TYPE_CHECKING:
    from planner.lint.findings import Finding

ABOUT: Final = "Report mistakes in a domain or a problem, such as actions that can never be applied."
GROUP: Final = "forethought.checks"


def add_arguments(parser: Parser) -> None:
    """Declare the arguments of the command."""
    add_domain(parser)
    add_problem(parser)
    add_limits(parser, default=60.0)
    add_quiet(parser)
    add_watch(parser)


def run(started: float, given: Namespace) -> Exit:
    """Print the findings, the worst first."""
    if given.watch:
        named = [each for each in (given.domain, given.problem) if each is not None]
        limits_given = [f"--time-limit={given.time_limit}".replace("=inf", "=none")]
        limits_given += [] if given.memory_limit is None else [f"--memory-limit={given.memory_limit}"]
        watch(["check", *limits_given, *(["--quiet"] if given.quiet else []), "--", *named], named)
    from planner.lint.findings import Level
    from planner.lint.problem_lint import sort_by_level

    memory = limit_memory(given.memory_limit)
    with interruptible(remaining_seconds(given.time_limit, started)):
        source = open_source(given.domain)
        loaded = load_named(source, given.problem)
        limits = Limits(remaining_seconds(given.time_limit, started), memory)
        with name_source(given.domain, given.problem):
            findings = sort_by_level([*_run_own_checks(loaded, limits), *_run_plugin_checks(source, loaded)])
    if findings:
        give("\n".join(map(str, findings)))
    if not given.quiet:
        tell(f"{loaded.name}: {_count_levels(Counter(finding.level.name.lower() for finding in findings))}")
    clean = all(finding.level is Level.NOTE for finding in findings)
    return Exit.OK if clean else Exit.NEGATIVE


def _count_levels(levels: Counter[str]) -> str:
    """Count findings: "1 error, 2 warnings", or "nothing to report"."""
    found = [(levels[name], name) for name in ("error", "warning", "note") if levels[name]]
    return ", ".join(f"{number} {name}{'s' if number > 1 else ''}" for number, name in found) or "nothing to report"


def _run_own_checks(loaded: AnyProblem | AnyDomain, limits: Limits) -> list[Finding]:
    """Run the checks for this kind of problem or domain."""
    from planner.lint.problem_lint import check_domain, check_problem

    if isinstance(loaded, Problem):
        return check_problem(loaded, limits)
    if isinstance(loaded, DomainModel):
        return check_domain(loaded)
    if is_other_problem(loaded):
        return service_of(loaded).check(loaded, limits)
    if is_other_domain(loaded):
        return service_of(loaded).check_domain(loaded)
    raise unsupported_kind(loaded, "checking")


def _run_plugin_checks(source: Source, loaded: AnyProblem | AnyDomain) -> list[Finding]:
    """Run the checks of other packages on the Python file of `source`; none for other files.

    Only packages that the file has imported are asked, because nothing in the file can be theirs otherwise.
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
