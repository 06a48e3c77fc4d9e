"""Live progress of runs: on a terminal their steps as they change, elsewhere a plain line for each thing that happens.

show = Show()
await Executor(world, listeners=(show,)).run(problem)
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, TextIO

from executor.follow.progress import AT_WORK, STEP_EVENTS, Row, View, described, news
from executor.record.events import Event, RunEnded
from executor.record.state import RunState
from executor.record.status import StepStatus
from planner.printable import printable

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.live import Live

REDRAWS_PER_SECOND: Final = 8
BESIDE: Final = 6
"""Lines of a terminal that are not for steps."""
WIDEST: Final = 60
"""Columns that are kept free for the names of steps."""
STATUS: Final = 2 + max(len(each.name) for each in StepStatus)
"""Columns for a status."""
STYLES: Final[Mapping[StepStatus, str]] = {
    StepStatus.PENDING: "dim",
    StepStatus.WAITING: "blue",
    StepStatus.RUNNING: "cyan",
    StepStatus.SUCCEEDED: "green",
    StepStatus.UNVERIFIED: "yellow",
    StepStatus.PARTIAL: "red",
    StepStatus.FAILED: "red",
    StepStatus.SKIPPED: "dim",
    StepStatus.IN_DOUBT: "magenta",
    StepStatus.COMPENSATED: "dim",
}


class Show:
    """Shows runs on `stream`, stderr unless stated: a follower for the `listeners` of an `Executor`.

    On a terminal, what is about no single step scrolls by above the steps: recoveries, questions, disagreements. What
    is drawn there stays when the runs are over, unless it is `transient`.
    """

    def __init__(self, stream: TextIO | None = None, *, transient: bool = False) -> None:
        self._is_transient = transient
        self._stream = stream or sys.stderr
        self._console = _console(self._stream)
        self._views: dict[str, View] = {}
        self._lock = threading.Lock()
        self._live: Live | None = None

    @contextmanager
    def follow(self, state: RunState, run: str) -> Iterator[Callable[[Event], None]]:
        """Show one run while the body lasts."""
        view = View(run) if self._console is None else View.of(state, run)
        with self._lock:
            self._views[run] = view
        if self._console is not None and self._live is None:
            self._live = self._began(self._console)
        try:
            yield lambda event: self._take(event, state, view)
        finally:
            if self._live is not None and len(self._views) == 1:
                self._live.stop()
                self._live = None
            with self._lock:
                del self._views[run]

    def _take(self, event: Event, state: RunState, view: View) -> None:
        if self._live is not None:
            with self._lock:
                view.take(event, state)
        if self._live is None or not (
            isinstance(event, STEP_EVENTS) or (isinstance(event, RunEnded) and len(self._views) == 1)
        ):
            self._write(news(event, state), view)

    def _write(self, line: str | None, view: View) -> None:
        """Write a line; where there are several runs, it says which one it is about."""
        if line is None:
            return
        text = printable(f"{view.run}: {line}" if len(self._views) > 1 else line)
        if self._live is not None:
            from rich.text import Text  # noqa: PLC0415 - loaded only where something is drawn

            self._live.console.print(Text(text, style="dim"), soft_wrap=True)
            return
        encoding = getattr(self._stream, "encoding", None) or "utf-8"
        self._stream.write(text.encode(encoding, "backslashreplace").decode(encoding) + "\n")
        self._stream.flush()

    def _began(self, console: Console) -> Live:
        from rich.live import Live  # noqa: PLC0415 - as above

        live = Live(
            get_renderable=self._drawn,
            console=console,
            refresh_per_second=REDRAWS_PER_SECOND,
            transient=self._is_transient,
            redirect_stdout=sys.stdout.isatty(),  # a pipe gets what is meant for it
            redirect_stderr=self._stream is sys.stderr,
        )
        live.start()
        return live

    def _drawn(self) -> RenderableType:
        """Return the steps of all runs; called by the thread that draws."""
        from rich.console import Group  # noqa: PLC0415 - as above

        with self._lock:
            room = self._console.size.height if self._console is not None else 0
            most = max(room // max(len(self._views), 1) - BESIDE, 1)
            return Group(*[part for view in self._views.values() for part in _parts(view, most)])


def _parts(view: View, most: int) -> Iterator[RenderableType]:
    from rich.text import Text  # noqa: PLC0415 - as above

    before, rows, after = view.window(most)
    ids = max((len(row.id) for row in rows), default=0)
    texts = min(max((len(row.text) for row in rows), default=0), WIDEST)
    if before:
        yield Text(f"… {before:,} before", style="dim")
    for row in rows:
        line = Text(no_wrap=True, overflow="ellipsis")
        line.append(f"{described(row.status):<{STATUS}}", STYLES[row.status])
        line.append(printable(f"{row.id:<{ids}}  "), "dim")
        line.append(printable(f"{row.text:<{texts}}  "))
        line.append(printable(_note(row)), "dim")
        line.rstrip()
        yield line
    if after:
        yield Text(f"… {after:,} after", style="dim")
    yield Text(printable(view.footer), style="bold")


def _note(row: Row) -> str:
    """Return what stands behind a step: how long it has been at work, and what is said about it."""
    return f"{time.monotonic() - row.since:.0f} s {row.note}".strip() if row.status in AT_WORK else row.note


def _console(stream: TextIO) -> Console | None:
    """Return a console where `stream` is a terminal on which lines can be drawn anew."""
    if not stream.isatty():
        return None
    from rich.console import Console  # noqa: PLC0415 - as above

    console = Console(file=stream)
    return console if console.is_interactive else None
