"""`forethought lsp`: the language server for editors."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from planner.errors import InputError

app = typer.Typer()


@app.command()
def lsp(
    *,
    stdio: Annotated[bool, typer.Option("--stdio", help="Talk on standard input and output, the only way.")] = True,  # noqa: ARG001 - editors give it
) -> None:
    """Serve diagnostics, hover, definitions, renaming, completion and formatting to editors."""
    from importlib.metadata import version

    try:
        from executor.desk.lsp.server import make_server
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("pygls", "lsprotocol"):
            raise
        raise InputError("pygls is not installed", hint="pip install 'forethought[lsp]'") from None
    make_server(version("forethought"), format_text).start_io()


def format_text(path: Path, text: str) -> str:
    """Return `text` as `forethought format` writes a file of this name."""
    from executor.desk.loop.format import format_text as formatted

    return formatted(text, str(path))
