"""Questions on a terminal: what is printed goes to stderr, and a line of stdin is the answer."""

from __future__ import annotations

import sys
from typing import Final

from planner.cli.output import is_terminal, tell

_YES: Final = frozenset({"y", "yes"})


def is_dialogue() -> bool:
    """Return whether somebody can be asked: stdin and stderr are terminals."""
    return is_terminal(sys.stdin) and is_terminal(sys.stderr)


def asked(question: str) -> str:
    """Return what somebody answers, nothing where nobody does."""
    tell(question)
    sys.stderr.write("> ")
    sys.stderr.flush()
    return sys.stdin.readline().strip()


def confirmed(question: str) -> bool:
    """Return whether somebody says yes."""
    return asked(f"{question} [yes/no]").casefold() in _YES


def chosen(question: str, choices: int) -> int | None:
    """Return which of so many numbered choices somebody takes, from 0; None for none of them."""
    answer = asked(f"{question}\nGive its number.")
    return int(answer) - 1 if answer.isascii() and answer.isdigit() and 1 <= int(answer) <= choices else None
