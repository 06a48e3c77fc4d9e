"""Progress: on a terminal a line that lives while the work goes on; in a pipe nothing at all."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from planner.annotations import TYPE_CHECKING, Final
from planner.cli.output import is_terminal
from planner.plan import Progress, Result, Status, StoppedBy

if TYPE_CHECKING:
    from rich.live import Live

DRAW_AFTER_SECONDS: Final = 0.4
"""Work that ends sooner draws nothing, and does not load what draws."""
REDRAWS_PER_SECOND: Final = 4


class Watch:
    """Remembers the latest `Progress`: what an interrupted search still has to show, and what the live line says."""

    def __init__(self) -> None:
        self.latest: Progress | None = None
        self._started = time.monotonic()

    def __call__(self, progress: Progress) -> None:
        """Take note of `progress`."""
        self.latest = progress

    def result(self, stopped_by: StoppedBy) -> Result:
        """Return what is known, as the result of work that `stopped_by` broke off."""
        if self.latest is None:
            return Result(Status.UNKNOWN, stopped_by)
        status = Status.UNKNOWN if self.latest.plan is None else Status.SOLVED
        return Result(status, stopped_by, self.latest.plan, self.latest.lower_bound, self.latest.statistics)

    def __str__(self) -> str:
        elapsed = f"{time.monotonic() - self._started:.1f} s"
        if self.latest is None:
            return f"reading and grounding · {elapsed}"
        known = self.result(StoppedBy.CANCELLED)
        best = "no plan yet" if known.cost is None else f"best cost {known.cost}"
        bound = "" if known.lower_bound is None else f" · lower bound {known.lower_bound}"
        gap = "" if known.gap is None else f" · gap {known.gap:.1%}"
        return f"{best}{bound}{gap} · {known.statistics.expanded:,} states · {elapsed}"

    def __rich__(self) -> str:
        return f"[bold cyan]planning[/] {self}"


@contextmanager
def shown(watch: Watch, *, quiet: bool) -> Iterator[None]:
    """Show `watch` as a live line on stderr while the body runs, if stderr is a terminal."""
    if quiet or not is_terminal(sys.stderr):
        yield
        return
    drawn: list[Live] = []
    timer = threading.Timer(DRAW_AFTER_SECONDS, _draw, (watch, drawn))
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        for live in drawn:
            live.stop()


def _draw(watch: Watch, drawn: list[Live]) -> None:
    from rich.console import Console  # noqa: PLC0415 - loaded only where something is drawn
    from rich.live import Live  # noqa: PLC0415 - as above

    live = Live(
        watch,
        console=Console(stderr=True),
        refresh_per_second=REDRAWS_PER_SECOND,
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
    )
    live.start()
    drawn.append(live)
