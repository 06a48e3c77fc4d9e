"""Commands of other packages: Typer apps, found by their entry points."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import EntryPoint, entry_points

import typer

from planner.cli.output import tell
from planner.errors import ForethoughtError
from planner.lightweight import Any, Final

GROUP: Final = "forethought.commands"
LINE: Final = 78
"""The length of the line that help has for a command."""


def commands() -> dict[str, EntryPoint]:
    """Return the entry points of commands, by name."""
    return {entry.name: entry for entry in sorted(entry_points(group=GROUP), key=lambda entry: entry.name)}


def run_plugin_command(entry: EntryPoint, arguments: Sequence[str], started: float) -> None:
    """Run the command that `arguments` begin with; raises `SystemExit`, or whatever the command raises.

    What Typer says about wrong arguments quotes them, and goes to the terminal as all else that people are told.
    """
    root = rooted(entry)
    try:
        code = root(arguments, prog_name="forethought", obj=started, standalone_mode=False)
    except typer.Abort:
        raise KeyboardInterrupt from None
    except Exception as error:
        if not hasattr(error, "format_message"):  # all that Typer itself says has it
            raise
        tell(_told(error))
        raise SystemExit(error.exit_code) from None  # type: ignore[attr-defined]  # as it has
    raise SystemExit(code if isinstance(code, int) else 0)


def _told(error: Any) -> str:
    """Return what is wrong with the arguments of a command, or its help where there are none."""
    said, context = str(error.format_message()), getattr(error, "ctx", None)
    if context is None or said.startswith("Usage:"):
        return said
    name = context.help_option_names[0]
    return f"{context.get_usage()}\nTry '{context.command_path} {name}' for help.\n\nError: {said}"


def summaries() -> dict[str, str]:
    """Return a line about each command; about one that cannot be loaded a message goes to stderr instead."""
    lines = {}
    for name, entry in commands().items():
        try:
            group = typer.main.get_group(rooted(entry))
        except ForethoughtError as error:
            tell(str(error))
        else:
            lines[name] = group.commands[name].get_short_help_str(LINE)
    return lines


def rooted(entry: EntryPoint) -> typer.Typer:
    """Return a root with the command of `entry`: a Typer app, which with a single command becomes that command."""
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
