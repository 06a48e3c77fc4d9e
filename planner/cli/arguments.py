"""The arguments and options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Annotated, TypeVar

import typer

from planner.cli.limits import gibibytes, seconds

Word = TypeVar("Word", bound=StrEnum)


def one_of(*words: Word) -> Callable[[str], Word]:
    """Return a parser of options that take one of `words` or, unsaid, another of their kind."""

    def parse(text: str) -> Word:
        try:
            return type(words[0])(text)
        except ValueError:
            raise typer.BadParameter(f"{text!r} is not one of {', '.join(words)}") from None

    return parse


Domain = Annotated[
    str,
    typer.Argument(
        metavar="DOMAIN", help="A .py, .yaml, .json or .pddl file, a folder, or the name of a shipped domain."
    ),
]
OptionalProblem = Annotated[
    str | None,
    typer.Argument(metavar="PROBLEM", help="A file, or a problem's name, where DOMAIN has none or several."),
]
Problem = Annotated[str, typer.Argument(metavar="PROBLEM", help="A problem file, or the name of a problem.")]
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
