"""Command lines, read by argparse: options stand where they like, and a mistake is one message."""

from __future__ import annotations

from argparse import SUPPRESS, ArgumentParser, ArgumentTypeError, HelpFormatter
from collections.abc import Callable, Sequence

from planner.cli.output import give
from planner.errors import InputError, did_you_mean
from planner.lightweight import Any, Final, NoReturn

COLUMNS: Final = 90
"""How wide help is."""


class Parser(ArgumentParser):
    """The arguments and options of one command."""

    def __init__(self, command: str, about: str) -> None:
        super().__init__(
            f"forethought {command}", description=about, formatter_class=_Formatter, allow_abbrev=False, add_help=False
        )
        self.add_argument("-h", "--help", action="help", default=SUPPRESS, help="Print this, and exit.")

    def read(self, words: Sequence[str]) -> dict[str, Any]:
        """Return the values of all arguments and options by their names.

        Raises `InputError` for a mistake of usage; prints help and raises `SystemExit` where that is asked for.
        """
        values, surplus = self.parse_known_args(self._sorted(words))
        if surplus:
            places = " ".join(str(place.metavar) for place in self._get_positional_actions())
            self.error(f"found one argument too many, {surplus[-1]!r}; expected {places or 'options only'}")
        return vars(values)

    def error(self, message: str, hint: str | None = None) -> NoReturn:
        """Raise `InputError`."""
        raise InputError(message.removeprefix("argument "), hint=hint or f"see '{self.prog} --help'")

    def print_help(self, _file: object = None) -> None:
        """Write help to stdout."""
        give(self.format_help())

    def _sorted(self, words: Sequence[str]) -> list[str]:
        """Return options, each in one word with its value, before all else: argparse wants arguments side by side."""
        options: list[str] = []
        others: list[str] = []
        rest = iter(words)
        for word in rest:
            if word == "--":
                others.extend(rest)
            elif word.startswith("-") and word != "-":
                options.append(self._with_value(word, rest))
            else:
                others.append(word)
        return [*options, "--", *others] if others else options

    def _with_value(self, word: str, rest: Any) -> str:
        known = self._option_string_actions
        name = word.partition("=")[0]
        if name not in known:
            self.error(f"there is no option '{name}'", did_you_mean(name, known))
        if known[name].nargs == 0 and name != word:
            self.error(f"{name} takes no value, found {word!r}")
        if known[name].nargs == 0 or name != word:
            return word
        value = next(rest, None)
        if value is None or value == "--" or value in known:
            self.error(f"expected {known[name].metavar} after {name}, found {value or 'nothing'}")
        return f"{name}={value}"


class _Formatter(HelpFormatter):
    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=28, width=COLUMNS)

    def add_usage(self, usage: Any, actions: Any, groups: Any, prefix: str | None = None) -> None:
        super().add_usage(usage, actions, groups, "Usage: " if prefix is None else prefix)


def whole(text: str) -> int:
    """Read a whole number, 0 or more."""
    if text.isascii() and text.isdigit():
        return int(text)
    raise ArgumentTypeError(f"{text!r} is not a whole number, 0 or more")


def one_of(*words: str) -> Callable[[str], str]:
    """Return a reader of options that take one of `words`."""

    def read(text: str) -> str:
        if text in words:
            return text
        raise ArgumentTypeError(f"{text!r} is not one of {', '.join(words)}")

    return read
