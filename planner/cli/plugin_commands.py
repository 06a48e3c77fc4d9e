"""Runs commands of other packages: Typer apps that entry points of the group `forethought.commands` name."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import EntryPoint, entry_points

import typer

from planner.cli.output import tell
from planner.errors import ForethoughtError
from planner.lightweight import Any, Final

GROUP: Final = "forethought.commands"
SUMMARY_COLUMNS: Final = 78
"""Width of the line about a command in the help of the root command."""


def find_commands() -> dict[str, EntryPoint]:
    """Return the entry points of commands, by name."""
    return {entry.name: entry for entry in sorted(entry_points(group=GROUP), key=lambda entry: entry.name)}


def run_plugin_command(entry: EntryPoint, arguments: Sequence[str], started: float) -> None:
    """Run the command that `arguments` begin with; raises `SystemExit`, or the command's error.

    Typer's messages about wrong arguments are printed like ours.
    """
    root = wrap_in_root(entry)
    try:
        code = root(arguments, prog_name="forethought", obj=started, standalone_mode=False)
    except typer.Abort:
        raise KeyboardInterrupt from None
    except Exception as error:
        if not hasattr(error, "format_message"):  # only errors of Typer itself have it
            raise
        tell(_usage_message(error))
        raise SystemExit(error.exit_code) from None  # type: ignore[attr-defined]  # Typer's errors have it
    raise SystemExit(code if isinstance(code, int) else 0)


def _usage_message(error: Any) -> str:
    """Return the message about wrong arguments, or the help of the command where there are none."""
    message, context = str(error.format_message()), getattr(error, "ctx", None)
    if context is None or message.startswith("Usage:"):
        return message
    name = context.help_option_names[0]
    return f"{context.get_usage()}\nTry '{context.command_path} {name}' for help.\n\nError: {message}"


def summarise_commands() -> dict[str, str]:
    """Return a line about each command; report one that cannot be loaded on stderr."""
    lines = {}
    for name, entry in find_commands().items():
        try:
            group = typer.main.get_group(wrap_in_root(entry))
        except ForethoughtError as error:
            tell(str(error))
        else:
            lines[name] = group.commands[name].get_short_help_str(SUMMARY_COLUMNS)
    return lines


def wrap_in_root(entry: EntryPoint) -> typer.Typer:
    """Make a Typer app with the command of `entry` below it, so that messages name both."""
    root = typer.Typer(
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    root.callback()(lambda: None)
    try:
        app: typer.Typer = entry.load()
    except ImportError as error:
        raise ForethoughtError(f"the command '{entry.name}' of {entry.value} cannot be loaded: {error}") from error
    match app.registered_commands:
        case [single] if not app.registered_groups and app.registered_callback is None:
            single.name = entry.name
            root.registered_commands.append(single)
        case _:
            root.add_typer(app, name=entry.name)
    return root
