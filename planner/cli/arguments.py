"""The arguments and options that several commands share."""

from __future__ import annotations

from planner.annotations import TYPE_CHECKING
from planner.cli.limits import gibibytes, seconds

if TYPE_CHECKING:
    from planner.cli.parser import Parser


def add_domain(parser: Parser) -> None:
    """Add DOMAIN."""
    kinds = "A .py, .yaml, .json, .pddl or .hddl file, a folder, or the name of a shipped domain."
    parser.add_argument("domain", metavar="DOMAIN", help=kinds)


def add_problem(parser: Parser, *, optional: bool = False) -> None:
    """Add PROBLEM, which may be `optional`."""
    if optional:
        several = "A file, or a problem's name, where DOMAIN has none or several."
        parser.add_argument("problem", metavar="PROBLEM", nargs="?", help=several)
    else:
        parser.add_argument("problem", metavar="PROBLEM", help="A problem file, or the name of a problem.")


def add_limits(parser: Parser, *, default: float) -> None:
    """Add the limits of time, `default` seconds unless stated, and of memory."""
    parser.add_argument(
        "--time-limit",
        type=seconds,
        default=default,
        metavar="SECONDS",
        help="Wall-clock seconds, reading included; 'none' for no limit (default: %(default)g).",
    )
    parser.add_argument(
        "--memory-limit",
        type=gibibytes,
        metavar="GiB",
        help="Memory of the process; 'none' for no limit (default: 80 %% of what is available).",
    )


def add_quiet(parser: Parser) -> None:
    """Add `--quiet`."""
    parser.add_argument("-q", "--quiet", action="store_true", help="No messages and no progress; errors only.")
