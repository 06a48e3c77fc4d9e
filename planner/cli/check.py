"""`forethought check`: lint a problem or a domain, and mend what can be mended at once."""

from __future__ import annotations

import json
from argparse import Namespace

from planner.cli.interrupt import interruptible, limit_memory, remaining_seconds
from planner.cli.options import add_domain, add_limits, add_quiet, name_source
from planner.cli.output import Exit, give, overwrite_sources, tell
from planner.cli.parser import Parser, choice_of, option
from planner.cli.watching import add_watch, limit_words, watch
from planner.lightweight import TYPE_CHECKING, Final
from planner.limits import Limits

if TYPE_CHECKING:
    from planner.lint.check_files import Checked

ABOUT: Final = "Report mistakes in a domain or a problem, such as actions that can never be applied."


PROBLEMS: Final = (
    option(
        "problems",
        "Problem files or names of problems of DOMAIN (default: all of DOMAIN's own).",
        metavar="PROBLEM",
        nargs="*",
    ),
)
FORMAT: Final = (
    option(
        "--format",
        "How findings are printed: text, json, or sarif for code hosts (default: text).",
        type=choice_of("text", "json", "sarif"),
        default="text",
        metavar="FORMAT",
    ),
    option("--json", "Print JSON: the same as --format json.", action="store_true"),
    option(
        "--fix", "Write the corrections that are certain into the files, and report what is left.", action="store_true"
    ),
)


def add_arguments(parser: Parser) -> None:
    """Declare the arguments of the command."""
    add_domain(parser)
    parser.add_all(PROBLEMS)
    add_limits(parser, default=60.0)
    parser.add_all(FORMAT)
    add_quiet(parser)
    add_watch(parser)


def run(started: float, given: Namespace) -> Exit:
    """Print the findings, the worst first."""
    if given.watch:
        named = [given.domain, *given.problems]
        limits_given = limit_words(given.time_limit, given.memory_limit)
        watch(["check", *limits_given, *(["--quiet"] if given.quiet else []), *_given_form(given), "--", *named], named)
    memory = limit_memory(given.memory_limit)
    with interruptible(remaining_seconds(given.time_limit, started)):
        limits = Limits(remaining_seconds(given.time_limit, started), memory)
        checked = _check(given, limits)
        if given.fix and (changed := _write_fixes(checked)):
            if not given.quiet:
                tell("\n".join(f"{name}: {number} mended" for name, number in changed.items()))
            checked = _check(given, limits)
    _print(checked, "json" if given.json else given.format, is_quiet=given.quiet)
    return _judge(checked)


def _given_form(given: Namespace) -> list[str]:
    """Return the options for the form of the output, as they were given."""
    return [f"--format={'json' if given.json else given.format}", *(["--fix"] if given.fix else [])]


def _check(given: Namespace, limits: Limits) -> Checked:
    from planner.lint.check_files import check_files

    with name_source(given.domain, given.problems[0] if len(given.problems) == 1 else None):
        return check_files(given.domain, given.problems, limits)


def _write_fixes(checked: Checked) -> dict[str, int]:
    """Write the fixes into the files, each as a whole; return how many, by the names of the files."""
    from pathlib import Path

    from planner.lint.fixes import apply_fixes

    fixes = [finding.fix for finding in checked.findings if finding.fix is not None]
    applied = {text.name: apply_fixes(text, fixes) for text in checked.texts if not text.name.startswith("<")}
    overwrite_sources({Path(name): new for name, (new, number) in applied.items() if number})
    return {name: number for name, (_, number) in applied.items() if number}


def _print(checked: Checked, form: str, *, is_quiet: bool) -> None:
    from planner.lint.reports import count_levels, format_finding, to_json, to_sarif

    if form == "json":
        found = to_json(checked.name, checked.findings)
        found |= {"problems": checked.problems, "unchecked": checked.unchecked}
        give(json.dumps(found, ensure_ascii=False))
    elif form == "sarif":
        from importlib.metadata import version

        log = to_sarif(checked.findings, checked.texts, version("forethought"))
        give(json.dumps(log, ensure_ascii=False, indent=1))
    elif checked.findings:
        give("\n".join(map(format_finding, checked.findings)))
    if not is_quiet:
        number = len(checked.problems)
        name = f"{checked.name} with {number} problems" if number > 1 and checked.is_read else checked.name
        tell(f"{name}: {count_levels(checked.findings)}")
        if checked.unchecked:
            tell(f"not checked for want of time or memory: {', '.join(checked.unchecked)}")


def _judge(checked: Checked) -> Exit:
    """Return the exit code: bad input, findings, problems left out or not explored, or nothing wrong but hints."""
    from planner.lint.findings import Level

    if not checked.is_read:
        return Exit.USAGE
    if any(each.level is not Level.HINT for each in checked.findings):
        return Exit.NEGATIVE
    is_cut = bool(checked.unchecked) or any(each.rule == "unexplored" for each in checked.findings)
    return Exit.NO_VERDICT if is_cut else Exit.OK
