"""Show runs live: on a terminal their steps as they change, elsewhere a line for each event.

A listener is a function that is told every event of every run. A follower begins anew with each run: its
`follow(state, run)` gives a context manager whose value is the listener for that run. Neither changes a run.

show = Show()
await Executor(world, listeners=(show,)).run(problem)
"""

from __future__ import annotations

import logging
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import TYPE_CHECKING, Final, Protocol, TextIO, runtime_checkable

from executor.events.events import Event, RunEnded, StepStatus
from executor.events.run_state import RunState
from executor.report.progress import AT_WORK, STEP_EVENTS, Row, View, event_line, status_text
from executor.tools.containment import log_failure, quote_value
from planner.errors import printable
from planner.limits import Alarm

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.live import Live

REDRAWS_PER_SECOND: Final = 8
BESIDE: Final = 6
"""Lines of a terminal that are reserved for text other than rows of steps."""
WIDEST: Final = 60
"""Largest width of the column of step texts."""
STATUS: Final = 2 + max(len(each.name) for each in StepStatus)
"""Width of the column of statuses."""
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
    """Shows runs on `stream`, by default stderr: a follower for the `listeners` of an `Executor`.

    On a terminal, events that belong to no single step (recoveries, questions, disagreements) scroll by above the rows
    of steps. The rows stay on the terminal when the runs have ended, unless `transient`.
    """

    def __init__(self, stream: TextIO | None = None, *, transient: bool = False) -> None:
        self._is_transient = transient
        self._stream = stream or sys.stderr
        self._console = _make_console(self._stream)
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
            self._live = self._start_live(self._console)
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
            self._write(event_line(event, state), view)

    def _write(self, line: str | None, view: View) -> None:
        """Write a line, and begin it with the id of the run if several runs are shown."""
        if line is None:
            return
        text = printable(f"{view.run}: {line}" if len(self._views) > 1 else line)
        if self._live is not None:
            from rich.text import Text

            self._live.console.print(Text(text, style="dim"), soft_wrap=True)
            return
        encoding = getattr(self._stream, "encoding", None) or "utf-8"
        self._stream.write(text.encode(encoding, "backslashreplace").decode(encoding) + "\n")
        self._stream.flush()

    def _start_live(self, console: Console) -> Live:
        from rich.live import Live

        live = Live(
            get_renderable=self._render,
            console=console,
            refresh_per_second=REDRAWS_PER_SECOND,
            transient=self._is_transient,
            redirect_stdout=sys.stdout.isatty(),  # a pipe gets what is meant for it
            redirect_stderr=self._stream is sys.stderr,
        )
        live.start()
        return live

    def _render(self) -> RenderableType:
        """Render the rows of all runs; rich's drawing thread calls this."""
        from rich.console import Group

        with self._lock:
            room = self._console.size.height if self._console is not None else 0
            most = max(room // max(len(self._views), 1) - BESIDE, 1)
            return Group(*[part for view in self._views.values() for part in _parts(view, most)])


def _parts(view: View, most: int) -> Iterator[RenderableType]:
    from rich.text import Text

    before, rows, after = view.window(most)
    ids = max((len(row.id) for row in rows), default=0)
    texts = min(max((len(row.text) for row in rows), default=0), WIDEST)
    if before:
        yield Text(f"… {before:,} before", style="dim")
    for row in rows:
        line = Text(no_wrap=True, overflow="ellipsis")
        line.append(f"{status_text(row.status):<{STATUS}}", STYLES[row.status])
        line.append(printable(f"{row.id:<{ids}}  "), "dim")
        line.append(printable(f"{row.text:<{texts}}  "))
        line.append(printable(_row_note(row)), "dim")
        line.rstrip()
        yield line
    if after:
        yield Text(f"… {after:,} after", style="dim")
    yield Text(printable(view.footer), style="bold")


def _row_note(row: Row) -> str:
    """Join the seconds for which a step has been running or waiting, and its note."""
    return f"{time.monotonic() - row.since:.0f} s {row.note}".strip() if row.status in AT_WORK else row.note


def _make_console(stream: TextIO) -> Console | None:
    """Make a console if `stream` is a terminal whose lines can be redrawn."""
    if not stream.isatty():
        return None
    from rich.console import Console

    console = Console(file=stream)
    return console if console.is_interactive else None


Listener = Callable[[Event], None]
_log = logging.getLogger(__name__)


@runtime_checkable
class Follower(Protocol):
    """Gives each run a listener of its own."""

    def follow(self, state: RunState, run: str) -> AbstractContextManager[Listener]:
        """Return a context manager that gives the listener for the run with the id `run`.

        The executor enters it before the first event and leaves it when it stops driving the run. `state` is the state
        of the run; when the listener gets an event, `state` already includes it.
        """
        ...


class Audience:
    """The listeners of one run. A listener that raises is removed, and the log says so."""

    def __init__(self, following: Iterable[Listener | Follower]) -> None:
        self._following = tuple(following)
        self._listeners: list[Listener] = [each for each in self._following if not isinstance(each, Follower)]
        self._followed: tuple[RunState, str, ExitStack] | None = None
        """What the followers follow while the run is driven."""

    def add(self, listener: Listener) -> None:
        """Send all further events to `listener`, too."""
        self._listeners.append(listener)

    def include(self, following: Iterable[Listener | Follower]) -> None:
        """Send all further events to those of `following` that get none yet, too."""
        more = tuple([each for each in following if not any(each is other for other in self._following)])
        self._following += more
        for each in more:
            if not isinstance(each, Follower):
                self._listeners.append(each)
            elif self._followed is not None:
                self._enter(each, *self._followed)

    def tell(self, event: Event) -> None:
        """Send `event` to every listener."""
        for listener in tuple(self._listeners):
            try:
                listener(event)
            except (KeyboardInterrupt, Alarm):
                raise
            except BaseException as error:  # noqa: BLE001 - whatever it raises, the run goes on
                self._listeners = [each for each in self._listeners if each is not listener]
                told = "%s failed at %s, and is told no more about this run"
                log_failure(_log, told, quote_value(listener), type(event).__name__, error=error)

    @contextmanager
    def at(self, state: RunState, run: str) -> Iterator[None]:
        """Let the followers follow the run while the body lasts."""
        with ExitStack() as followed:
            self._followed = state, run, followed
            followed.callback(self._forget_followed)
            for each in self._following:
                if isinstance(each, Follower):
                    self._enter(each, state, run, followed)
            yield

    def _forget_followed(self) -> None:
        self._followed = None

    def _enter(self, follower: Follower, state: RunState, run: str, followed: ExitStack) -> None:
        try:
            manager = follower.follow(state, run)
            self._listeners.append(manager.__enter__())
        except (KeyboardInterrupt, Alarm):
            raise
        except BaseException as error:  # noqa: BLE001 - as above
            log_failure(_log, "%s cannot follow run %s", quote_value(follower), run, error=error)
        else:
            followed.callback(_leave_run, manager, follower, run)


def _leave_run(manager: AbstractContextManager[Listener], follower: Follower, run: str) -> None:
    try:
        manager.__exit__(None, None, None)
    except (KeyboardInterrupt, Alarm):
        raise
    except BaseException as error:  # noqa: BLE001 - as above
        log_failure(_log, "%s failed at the end of run %s", quote_value(follower), run, error=error)
