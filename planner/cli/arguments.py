"""The arguments and options that several commands share."""

from __future__ import annotations

from typing import Annotated

import typer

from planner.cli.limits import gibibytes, seconds

Domain = Annotated[
    str,
    typer.Argument(help="A .py, .yaml, .json or .pddl file, or the name of a shipped domain."),
]
OptionalProblem = Annotated[
    str | None,
    typer.Argument(help="A file, or a problem's name, where DOMAIN does not hold the problem."),
]
Problem = Annotated[str, typer.Argument(help="A problem file, or the name of a problem.")]
TimeLimit = Annotated[
    float,
    typer.Option(parser=seconds, metavar="SECONDS", help="Wall-clock seconds, reading included; 'none' for no limit."),
]
MemoryLimit = Annotated[
    float | None,
    typer.Option(
        parser=gibibytes,
        metavar="GiB",
        help="Memory of the process; 'none' for no limit.",
        show_default="80 % of what is available",
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No messages and no progress; errors only.")]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
