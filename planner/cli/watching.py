"""`--watch`: run a command again, in a process of its own, whenever one of its files changes, until Ctrl-C."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from planner.cli.output import tell
from planner.cli.parser import Parser
from planner.errors import InputError
from planner.language.loading.load import KNOWN, find_languages
from planner.lightweight import Final, NoReturn

POLL_SECONDS: Final = 0.3
"""Seconds between two looks at the files; a change is taken when two looks after it agree."""
ABOUT: Final = "Run again whenever a file changes, until Ctrl-C."

Snapshot = dict[Path, tuple[int, int]]
"""When each file was modified, in nanoseconds, and its size."""


def add_watch(parser: Parser) -> None:
    """Add `--watch`."""
    parser.add_argument("--watch", action="store_true", help=ABOUT)


def limit_words(time_limit: float, memory_limit: float | None) -> list[str]:
    """Return the options of a command line for these limits."""
    found = [f"--time-limit={time_limit}", *([] if memory_limit is None else [f"--memory-limit={memory_limit}"])]
    return [word.replace("=inf", "=none") for word in found]


def watch(words: Sequence[str], named: Iterable[str], written: Path | None = None) -> NoReturn:
    """Run the command line `words` now and whenever the files `named` on it change; only a signal ends it.

    A folder stands for the planning and plan files in and below it, a file also for those beside it; the file `written`
    by the command does not count. Raises `InputError` where none of them is on the disk.
    """
    places = [Path(name.partition(".py:")[0] + ".py" if ".py:" in name else name) for name in named]
    places = [
        place for place in places if len(place.name) < 256 and place.exists()
    ]  # texts and shipped domains are none
    if not places:
        raise InputError("--watch looks at files, and none is named", hint="name a file or a folder")
    while True:
        seen = take_snapshot(places, written)
        code = subprocess.call([sys.executable, "-m", "planner.cli", *words])
        tell(f"exit code {code} at {time.strftime('%H:%M:%S')}; watching {len(seen)} files, Ctrl-C ends it")
        changed = sorted(map(str, _wait_for_change(places, seen, written)))
        more = "" if len(changed) == 1 else f" and {len(changed) - 1} more"
        tell(f"\n{changed[0]}{more} changed:")


def take_snapshot(places: Iterable[Path], written: Path | None = None) -> Snapshot:
    """Look at the files of `places`, but for the one `written`."""
    found: Snapshot = {}
    for path in _list_files(places):
        if written is not None and path.resolve() == written.resolve():
            continue
        try:
            status = path.stat()
        except OSError:  # an editor is about to replace it
            continue
        found[path] = status.st_mtime_ns, status.st_size
    return found


def _list_files(places: Iterable[Path]) -> Iterator[Path]:
    known = KNOWN.union(find_languages())
    for place in places:
        is_folder = place.is_dir()
        with contextlib.suppress(OSError):  # a folder may be moved away, and come back
            beside = place.rglob("*") if is_folder else place.parent.iterdir()
            yield from (path for path in beside if path.suffix.lower() in known and ".venv" not in path.parts)
        if not is_folder:
            yield place


def _wait_for_change(places: Sequence[Path], seen: Snapshot, written: Path | None) -> set[Path]:
    """Return which files differ from what was `seen`, when they have come to rest."""
    latest = seen
    while True:
        time.sleep(POLL_SECONDS)
        now = take_snapshot(places, written)
        if now == latest != seen:
            return {path for path, _ in now.items() ^ seen.items()}
        latest = now
