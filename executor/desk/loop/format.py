"""`forethought format`: lay files of domains, problems and cases out in one way."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Final

import typer

from planner.cli.interrupt import interruptible
from planner.cli.output import Exit, give, overwrite_sources, tell
from planner.errors import DocumentError, InputError, Location, PddlError
from planner.language.loading.load import DOCUMENTS

app = typer.Typer()
PDDL: Final = (".pddl", ".hddl")


@app.command("format")
def format_files(
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE…", help="YAML, JSON, PDDL and HDDL files, or folders of these.")
    ],
    *,
    check: Annotated[bool, typer.Option("--check", help="Change nothing, and say which files would change.")] = False,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="Print no messages, only names of files.")] = False,
) -> None:
    """Lay files out in one way, with all their comments and the same meaning."""
    with interruptible():
        named = list(dict.fromkeys(_list_files(files)))
        texts = {path: _read(path) for path in named}
        changed = {path: new for path, old in texts.items() if (new := format_text(old, str(path))) != old}
        if not check:
            overwrite_sources(changed)
    for path in changed:
        give(str(path))
    if not quiet:
        done = "would change" if check else "changed"
        tell(f"{len(changed)} of {len(named)} files {done}")
    raise typer.Exit(Exit.NEGATIVE if check and changed else Exit.OK)


def _list_files(files: list[Path]) -> Iterator[Path]:
    known = (*PDDL, *DOCUMENTS)
    for path in files:
        if path.is_dir():
            inside = [each.relative_to(path) for each in path.rglob("*") if each.suffix.lower() in known]
            shown = sorted(each for each in inside if not any(part.startswith(".") for part in each.parts))
            yield from (path / each for each in shown if (path / each).is_file())
        elif path.suffix.lower() in known:
            yield path
        else:
            hint = "formatters of Python lay Python out" if path.suffix == ".py" else f"known are {', '.join(known)}"
            message = f"files of this kind ({path.suffix or 'no ending'}) have no layout"
            raise InputError(message, Location(str(path)), hint)


def _read(path: Path) -> str:
    from planner.language.pddl.syntax import read_text

    return read_text(path, PddlError if path.suffix.lower() in PDDL else DocumentError)


def format_text(text: str, name: str) -> str:
    """Return the text of the file `name`, laid out, which means what it did; raises `InputError` for another text.

    JSON loses nothing, as it has no comments; documents that are no domain, problem or cases keep the order of keys.
    """
    suffix = Path(name).suffix.lower()
    if suffix in PDDL:
        from executor.desk.loop.pddl_layout import format_pddl

        return format_pddl(text, name)
    if suffix == ".json":
        from executor.desk.loop.yaml_layout import format_json

        return format_json(text, name)
    from executor.desk.loop.yaml_layout import format_yaml

    return format_yaml(text, name)
