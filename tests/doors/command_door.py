"""The door of the command line: each command is a process, so that its stories take real time.

Whoever asks has no process that could die: a command that is killed tells nothing, and the next one takes its run up.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from doors.bank import Bank
from doors.door import Door, Question, Told
from doors.processes import PACE
from doors.scenes import make_site
from doors.story import MOVES, Moves, Story, ask_first, list_reserved
from executor.events.open_questions import read_open_questions
from executor.events.stored_runs import load_runs
from executor.journal import Journal

if TYPE_CHECKING:
    from doors.faults import Fault
    from doors.scenes import Scene, Site

POLL = 0.005
"""Seconds between two looks at a command."""
WORLD_FILE = """
from doors.command_door import CALLED
world, problem = CALLED[-1].site.world, CALLED[-1].problem
"""
CALLED: list[CommandDoor] = []
"""In the process of a command: the door that has called it, from which its file takes the world."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A file that says in another process that the handler waits, and what it has met."""

    path: Path
    site: Site

    def set(self) -> None:
        """Say it, at one moment."""
        part = self.path.with_suffix(".part")
        part.write_text(self.site.struck, encoding="utf-8")
        part.replace(self.path)


class CommandDoor(Door):
    """`forethought run`, with `--resume` and `--answer` in further commands."""

    name: ClassVar[str] = "command line"
    story: ClassVar[Story]
    at_work: ClassVar[set[int]]
    """The ids of the processes that are at work."""

    def __init__(self, site: Site) -> None:
        super().__init__(site)
        self.journal = site.folder / "till.db"
        self.file, self.mark = site.folder / f"till{site.callers}.py", Mark(site.folder / f"in{site.callers}", site)
        self.file.write_text(WORLD_FILE, encoding="utf-8")
        self.current = 0

    @property
    def place(self) -> Path:
        return self.journal

    async def ask(self) -> Told | None:
        return await self._call()

    async def answer(self, question: Question, answer: Any) -> Told | None:
        return await self._call("--resume", question.run, "--answer", f"{question.name}={answer}")

    async def resume(self) -> Told | None:
        told = None
        with Journal(self.journal) as journal:
            left = [run for run, info in load_runs(journal).items() if not info.status.is_over]
        for run in left:
            told = await self._call("--resume", run)
        return told

    def call_off(self, task: asyncio.Task[Any]) -> None:
        task.cancel()

    async def _call(self, *words: str) -> Told | None:
        """Let a command do its work, and return what it tells: nothing where it is killed."""
        words = ("run", str(self.file), "--real", "--journal", str(self.journal), "--json", "--quiet", *words)
        output, inside = os.pipe()
        id_ = self._fork(words, inside)
        self.at_work.add(id_)
        os.close(inside)
        try:
            status, text = await self._wait(id_, output)
        finally:
            os.close(output)
        if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL:
            self.story.crashes += 1
            return None
        return self._read(text)

    def _fork(self, words: tuple[str, ...], output: int) -> int:
        id_ = os.fork()
        if id_:
            return id_
        try:
            from planner.cli import main

            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.signal(signal.SIGINT, signal.default_int_handler)  # what a shell leaves in the background ignores it
            self.site.inside = self.mark  # type: ignore[assignment]  # a handler only sets it
            CALLED.append(self)
            for each in (1, 2):
                os.dup2(output, each)
            sys.stdout = sys.stderr = os.fdopen(output, "w", buffering=1)  # no disk is full for a pipe
            main(words)
        except SystemExit as left:
            os._exit(left.code if isinstance(left.code, int) else 1)
        except BaseException:  # noqa: BLE001 - the process ends here
            import traceback

            traceback.print_exc()
        os._exit(100)

    async def _wait(self, id_: int, output: int) -> tuple[int, str]:
        """Wait for the end of a command; whoever breaks off presses Ctrl-C, and waits on."""
        os.set_blocking(output, False)
        parts: list[bytes] = []
        while True:
            ended, status = os.waitpid(id_, os.WNOHANG)  # noqa: ASYNC222 - it does not wait
            with contextlib.suppress(BlockingIOError):
                while part := os.read(output, 65_536):
                    parts.append(part)
            if ended:
                self.at_work.remove(id_)
                return status, b"".join(parts).decode()
            if self.mark.path.exists():
                self.site.struck = self.mark.path.read_text(encoding="utf-8")
                self.mark.path.unlink()
                self.site.inside.set()
            try:
                await asyncio.sleep(POLL)
            except asyncio.CancelledError:
                os.kill(id_, signal.SIGINT)

    def _read(self, text: str) -> Told:
        """Return what a command has told, with what it asks as other commands show it."""
        lines = [line for line in text.splitlines() if line.startswith("{")]
        if not lines:
            return Told("RAISED", text[-200:], error=RuntimeError(text))
        said = json.loads(lines[-1])
        if said["run"] is None:
            return Told("REFUSED", said["reason"])
        with Journal(self.journal) as journal:
            found = read_open_questions(journal, said["run"]).asked.values() if said["questions"] else ()
        asked = [
            Question(said["run"], each.question, "; ".join((each.text, *each.known)), tuple(each.choices))
            for each in found
        ]
        return Told("OPEN" if said["status"] == "ACTIVE" else said["status"], said["reason"], tuple(asked))


def play_by_commands(scene: Scene, fault: Fault, folder: Path, moves: Moves = MOVES) -> Story:
    """Let a story happen in commands that share a journal and a bank in `folder`."""
    once = (tuple([move for each in moves for move in each]),)  # each command is a process anyway
    story = Story(CommandDoor, scene, fault, Bank(folder / "bank", pace=PACE), moves=once, has_processes=True)
    if scene.is_paid:
        story.bank.pay_long_ago()
    site = make_site(story.bank, scene, fault, CommandDoor.flavour, folder=folder, journal=None)
    at_work: set[int] = set()
    story.door = type("Door", (CommandDoor,), {"story": story, "at_work": at_work})
    try:
        asyncio.run(ask_first(story, site))
    finally:
        for id_ in at_work:
            with contextlib.suppress(ProcessLookupError, ChildProcessError):
                os.kill(id_, signal.SIGKILL)
                os.waitpid(id_, 0)
    with Journal(folder / "till.db") as journal:
        story.reserved = list_reserved(journal)
    story.bank = Bank(own=story.bank.log)
    return story
