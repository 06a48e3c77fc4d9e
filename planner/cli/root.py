"""The root command: finds the command that is named, and loads only that one."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Sequence
from importlib import import_module

from planner.cli.interrupt import interruptible
from planner.cli.output import Exit, give, tell, tell_error
from planner.cli.parser import Parser
from planner.errors import ForethoughtError, InputError, did_you_mean
from planner.lightweight import Any, Final, NoReturn
from planner.limits import LimitReached

OWN: Final = ("solve", "validate", "ask", "check", "compile", "explain", "warm", "demo")
"""Commands of this package, each a module here with `ABOUT`, `add_arguments` and `run`."""
USAGE: Final = """\
Usage: forethought COMMAND ...

Plans that are proved before they run.

Commands:
{}

Options:
  -h, --help  Print this help and exit; after a command, the help on that command.
  --version   Print the version and exit."""


def run(arguments: Sequence[str], started: float) -> NoReturn:
    """Run the command that `arguments` name, and exit; time limits count from `started` (`time.monotonic`)."""
    _show_warnings()
    try:
        with interruptible():
            code = dispatch(arguments, started)
    except (Exception, LimitReached, KeyboardInterrupt) as error:  # noqa: BLE001 - each becomes a message and a code
        code = tell_error(error)
    sys.exit(code)


def _show_warnings() -> None:
    """Print warnings as messages, without lines of source code."""
    import warnings

    def show(message: object, *_: object, **_others: object) -> None:
        tell(f"Warning: {message}")

    warnings.showwarning = show


def dispatch(arguments: Sequence[str], started: float) -> Exit:
    """Run the command that the first of `arguments` names, and return the exit code."""
    match arguments:
        case [name, *words] if name in OWN:
            command = module_of(name)
            parser = Parser(name, command.ABOUT)
            command.add_arguments(parser)
            code: Exit = command.run(started, Namespace(**parser.read(words)))
            return code
        case ["-h" | "--help", *_]:
            give(write_usage())
        case ["--version", *_]:
            give(f"forethought {read_version()}")
        case []:
            tell(write_usage())
            return Exit.USAGE
        case _:
            run_plugin_command(arguments, started)
    return Exit.OK


def read_version() -> str:
    """Return the version of the installed package; raises `ForethoughtError` if there is none."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("forethought")
    except PackageNotFoundError:
        raise ForethoughtError("only an installed package has a version; 'pip install .' in the sources") from None


def module_of(name: str) -> Any:
    """Import the module of one of our own commands."""
    return import_module(f"planner.cli.{name}")


def run_plugin_command(arguments: Sequence[str], started: float) -> None:
    """Run a command of another package; raises `InputError` for an unknown command."""
    from planner.cli import plugin_commands

    name = arguments[0]
    commands = plugin_commands.find_commands()
    if name in commands:
        plugin_commands.run_plugin_command(commands[name], arguments, started)
        return
    kind = "option" if name.startswith("-") else "command"
    near = did_you_mean(name, ["--help", "--version"] if kind == "option" else [*OWN, *commands])
    raise InputError(f"there is no {kind} '{name}'", hint=near or "see 'forethought --help'")


def write_usage() -> str:
    """Write the help of the root command, with one line for each command."""
    from planner.cli import plugin_commands

    lines = {name: module_of(name).ABOUT for name in OWN} | plugin_commands.summarise_commands()
    return USAGE.format("\n".join(f"  {name:10}{line}" for name, line in lines.items()))
