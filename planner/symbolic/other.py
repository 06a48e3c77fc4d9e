"""The process in which symbolic search is at work, seen from the one that started it."""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import select
import signal
import subprocess
import time

from planner.annotations import TYPE_CHECKING, Any, cast
from planner.interpreter import command, environment
from planner.search.run import Ending, Run

if TYPE_CHECKING:
    from planner.mutexes import Pruned


class Other:
    """The process that searches what is `known` to be left of a task, in so many bytes, until `stop`.

    `bound` is the lower bound that it has found, `ending` how its search ended, if it has; `failure` says why, where
    it was neither with a proof nor for lack of room.
    """

    def __init__(self, known: Pruned, room: int) -> None:
        from planner.compiled import library  # noqa: PLC0415 - only for what lasts
        from planner.symbolic.job import job_for  # noqa: PLC0415 - as above

        self._actions = known.actions
        self._process = subprocess.Popen(  # noqa: S603 - this interpreter, our module
            command("planner.symbolic.process"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment(),
        )
        assert self._process.stdin is not None  # noqa: S101 - it was asked for
        assert self._process.stdout is not None  # noqa: S101 - as above
        self._output, self._rest = self._process.stdout.fileno(), b""
        self._news = select.poll()
        self._news.register(self._output, select.POLLIN)
        self.bound, self.ending, self.failure, self._mortal = 0, cast("Ending | None", None), "", False
        with contextlib.suppress(BrokenPipeError):  # it says nothing, then
            pickle.dump((job_for(known, library.loaded() or library.ENTRIES), room), self._process.stdin)
            self._process.stdin.flush()

    def stop(self) -> None:
        """End it, at work or not."""
        self._process.kill()
        self._process.wait()
        for end in (self._process.stdin, self._process.stdout, self._process.stderr):
            if end is not None:
                with contextlib.suppress(BrokenPipeError):
                    end.close()

    def pause(self) -> None:
        """Let it rest, if it would not rest for ever when this process is killed."""
        if self._mortal and self._process.poll() is None:
            self._process.send_signal(signal.SIGSTOP)

    def go_on(self) -> None:
        """Let it work on."""
        if self._mortal and self._process.poll() is None:
            self._process.send_signal(signal.SIGCONT)

    def poll(self, run: Run, wait: float = 0.0) -> None:
        """Let `run` know what is found within so many seconds, and what was found before."""
        until = time.monotonic() + wait
        while self.ending is None and self._news.poll(1000 * max(0.0, until - time.monotonic())):
            more = os.read(self._output, 1 << 16)
            if not more:
                self.ending, self.failure = Ending.INCOMPLETE, self._last_words()
            *lines, self._rest = (self._rest + more).split(b"\n")
            for line in lines:
                self._heard(json.loads(line), run)

    def _last_words(self) -> str:
        """Return why it has ended without a word."""
        assert self._process.stderr is not None  # noqa: S101 - it was asked for
        said = self._process.stderr.read().decode(errors="replace").strip()
        words = f"symbolic search broke off with exit code {self._process.wait()}"
        return f"{words}: {said.splitlines()[-1]}" if said else words

    def _heard(self, found: dict[str, Any], run: Run) -> None:
        if "mortal" in found:
            self._mortal = found["mortal"]
            return
        if "ended" in found:
            self.ending = Ending[found["ended"]]
            return
        self.bound = found["bound"]
        if "plan" in found:
            run.found([self._actions[action] for action in found["plan"]], found["cost"])
        run.proved(self.bound)
