"""Reads command lines with argparse: options may stand anywhere, and a mistake becomes one message."""

from __future__ import annotations

import math
from argparse import SUPPRESS, ArgumentParser, ArgumentTypeError, HelpFormatter
from collections.abc import Callable, Iterable, Iterator, Sequence
from decimal import Decimal, InvalidOperation

from planner.cli.output import give
from planner.errors import InputError, did_you_mean
from planner.lightweight import TYPE_CHECKING, Any, Final, NoReturn

if TYPE_CHECKING:
    from planner.model import Number

HELP_COLUMNS: Final = 90
"""Width of help texts, in columns."""


Option = tuple[str, str | Callable[[], str], dict[str, Any]]
"""An argument or option of a command: its name, the help or a function that writes it, and settings of `argparse`."""


def option(name: str, about: str | Callable[[], str], **settings: Any) -> Option:
    """Return the argument or option `name` with the `settings` that `ArgumentParser.add_argument` takes."""
    return name, about, settings


class Parser(ArgumentParser):
    """The arguments and options of one command."""

    def __init__(self, command: str, about: str) -> None:
        super().__init__(
            f"forethought {command}", description=about, formatter_class=_Formatter, allow_abbrev=False, add_help=False
        )
        self.add_argument("-h", "--help", action="help", default=SUPPRESS, help="Print this help and exit.")

    def add_all(self, options: Iterable[Option]) -> None:
        """Add these arguments and options."""
        for name, about, settings in options:
            self.add_argument(name, help=about if isinstance(about, str) else about(), **settings)

    def read(self, words: Sequence[str]) -> dict[str, Any]:
        """Return the values of all arguments and options by name.

        Raises `InputError` for a mistake of usage. Prints the help and raises `SystemExit` for `--help`.
        """
        values, surplus = self.parse_known_args(self._sort(words))
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

    def _sort(self, words: Sequence[str]) -> list[str]:
        """Move options to the front, each in one word with its value: argparse wants arguments side by side."""
        options: list[str] = []
        others: list[str] = []
        rest = iter(words)
        for word in rest:
            if word == "--":
                others.extend(rest)
            elif word.startswith("-") and word != "-":
                options.append(self._join_value(word, rest))
            else:
                others.append(word)
        return [*options, "--", *others] if others else options

    def _join_value(self, word: str, rest: Iterator[str]) -> str:
        """Return the option `word` in one word with its value, which `rest` may begin with."""
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
    """Writes help with the capitals and the width of our other messages."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=28, width=HELP_COLUMNS)

    def add_usage(self, usage: Any, actions: Any, groups: Any, prefix: str | None = None) -> None:
        super().add_usage(usage, actions, groups, "Usage: " if prefix is None else prefix)

    def _set_color(self, *_: object, **_others: object) -> None:
        """Choose no colours yet: Python 3.14 loads `dataclasses` for them on each command line, 3.15 when asked."""
        if hasattr(HelpFormatter, "_theme"):
            super()._set_color(False)  # type: ignore[misc]

    def __getattr__(self, name: str) -> Any:
        """Choose to write without colours when Python 3.14 first asks for them."""
        if name not in {"_theme", "_decolor"}:
            raise AttributeError(name)
        super()._set_color(False)  # type: ignore[misc]  # typed for Python 3.11, which has no colours
        return self.__dict__[name]


def read_whole_number(text: str) -> int:
    """Read a whole number, 0 or more."""
    if text.isascii() and text.isdigit():
        return int(text)
    raise ArgumentTypeError(f"{text!r} is not a whole number, 0 or more")


def read_positive_number(text: str) -> int:
    """Read a whole number above 0."""
    if text.isascii() and text.isdigit() and int(text) > 0:
        return int(text)
    raise ArgumentTypeError(f"{text!r} is not a whole number above 0")


def read_amount(text: str) -> Number:
    """Read an exact number, 0 or more."""
    try:
        amount = Decimal(text)
    except InvalidOperation:
        amount = Decimal(-1)
    if not amount.is_finite() or amount < 0:
        raise ArgumentTypeError(f"{text!r} is not a number, 0 or more")
    return amount


def read_seconds(text: str) -> float:
    """Read a number of seconds above 0; `none` is infinity."""
    return _read_limit(text, "seconds")


def read_gibibytes(text: str) -> float:
    """Read a number of GiB above 0; `none` is infinity."""
    return _read_limit(text, "GiB")


def _read_limit(text: str, unit: str) -> float:
    try:
        value = math.inf if text.lower() == "none" else float(text)
    except ValueError:
        value = math.nan
    if not value > 0:
        raise ArgumentTypeError(f"{text!r} is not a number of {unit} above 0, nor 'none'")
    return value


def choice_of(*words: str) -> Callable[[str], str]:
    """Return a reader of options that take one of `words`."""

    def read(text: str) -> str:
        if text in words:
            return text
        raise ArgumentTypeError(f"{text!r} is not one of {', '.join(words)}")

    return read
