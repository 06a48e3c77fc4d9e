"""The root command: its own commands, and those that other packages register as entry points."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Final, NoReturn

import typer

from planner.budget import LimitReached
from planner.cli.check import check
from planner.cli.compile import compile_command
from planner.cli.demo import demo
from planner.cli.explain import explain
from planner.cli.interrupt import interruptible
from planner.cli.outcome import tell_error
from planner.cli.output import give, tell
from planner.cli.solve import solve
from planner.cli.validate import validate
from planner.cli.warm import warm
from planner.errors import ForethoughtError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP: Final = "forethought.commands"
OWN: Final[dict[str, Callable[..., None]]] = {
    "solve": solve,
    "validate": validate,
    "check": check,
    "compile": compile_command,
    "explain": explain,
    "warm": warm,
    "demo": demo,
}


def run(arguments: Sequence[str], started: float) -> NoReturn:
    """Run the command that `arguments` name, and exit; time limits count from `started` on the monotonic clock."""
    try:
        with interruptible():
            root_for(arguments)(arguments, prog_name="forethought", obj=started)
    except (Exception, LimitReached, KeyboardInterrupt) as error:  # noqa: BLE001 - each becomes a message and a code
        sys.exit(tell_error(error))
    sys.exit()


def root_for(arguments: Sequence[str]) -> typer.Typer:
    """Return the root command, with all of its commands only where `arguments` do not start with one of our own."""
    root = typer.Typer(
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    root.callback()(about)
    own = [name for name in OWN if name in arguments[:1]]
    for name in own or OWN:
        root.command(name)(OWN[name])
    if not own:
        from importlib.metadata import entry_points  # noqa: PLC0415 - looking around takes time

        for entry in sorted(entry_points(group=GROUP), key=lambda entry: entry.name):
            attach(root, entry, wanted=entry.name in arguments[:1])
    return root


def print_version(wanted: bool) -> None:  # noqa: FBT001 - typer calls it so
    """Print the version and exit, if `wanted`."""
    if wanted:
        from importlib.metadata import version  # noqa: PLC0415 - as below

        give(f"forethought {version('forethought')}")
        raise typer.Exit


def about(
    *,
    _version: Annotated[
        bool, typer.Option("--version", callback=print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Plans that are proved before they run."""


def attach(root: typer.Typer, entry: EntryPoint, *, wanted: bool) -> None:
    """Add another package's command: a Typer app, which with a single command becomes that command."""
    try:
        app: typer.Typer = entry.load()
    except ImportError as error:
        message = f"the command '{entry.name}' of {entry.value} cannot be loaded: {error}"
        if wanted:
            raise ForethoughtError(message) from error
        tell(message)
        return
    match app.registered_commands:
        case [single] if not app.registered_groups and app.registered_callback is None:
            single.name = entry.name
            root.registered_commands.append(single)
        case _:
            root.add_typer(app, name=entry.name)
