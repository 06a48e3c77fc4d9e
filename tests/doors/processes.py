"""Play a story in real processes and real time: they die by `kill -9`, and two that ask at once are two processes."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import pickle
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from doors.bank import Bank
from doors.door import Door
from doors.faults import Fault
from doors.scenes import Scene
from doors.story import Moves, Story, ask_after_restart, ask_first, live
from executor.journal import Journal

PACE = 0.005
"""Seconds that a second of the story takes."""
MOST_SECONDS = 60.0
"""Time limit of a process."""


class HungProcess(Exception):
    """A process did not end within its time limit."""


def play_in_processes(doors: Sequence[type[Door]], scene: Scene, fault: Fault, folder: Path, moves: Moves) -> Story:
    """Let a story happen in processes that share a journal and a bank in `folder`; raises `HungProcess`.

    Of two that ask at once, each comes through a door of its own where there are two `doors`. After two at once, and
    after a death, another process asks alone: one of two may be told that the other one is at work.
    """
    door, other = doors[0], doors[1] if len(doors) > 1 else None
    story = Story(door, scene, fault, Bank(folder / "bank", pace=PACE), moves=moves, other=other, has_processes=True)
    if scene.is_paid:
        story.bank.pay_long_ago()
    alone = replace(fault, host="") if fault.host.startswith("two") else fault
    parts = [(door, moves, 0)] if alone is fault else [(door, moves, 0), (other or door, ((),), 0)]
    is_unsettled, number = True, 0
    while number < len(moves) or is_unsettled:
        deaths = story.crashes
        part = ask_after_restart if number else ask_first
        parts = parts if not number else [(door, moves, min(number, len(moves) - 1))]
        played = [
            Story(through, scene, alone, story.bank, moves=which, other=other, process=at)
            for through, which, at in parts
        ]
        _run(story, [_begin(each, part, folder) for each in played])
        is_unsettled, number = story.crashes > deaths or len(parts) > 1, number + 1
    story.bank = Bank(own=story.bank.log)
    return story


def _begin(story: Story, part: Any, folder: Path) -> tuple[int, Path]:
    """Fork a process that plays a part of a story; return its id, and the file of what it tells."""
    told = folder / f"told {story.process} {id(story)}"

    def work() -> None:
        with Journal(folder / "till.db") as journal:
            asyncio.run(live(story, part, folder, journal))
        answers = [replace(each, error=_pack(each.error)) for each in story.told]
        told.write_bytes(pickle.dumps((answers, story.asked, story.needless, story.reserved)))

    return _fork(work), told


def _pack(error: BaseException | None) -> BaseException | None:
    """Return an error in a form in which it reaches another process."""
    try:
        return pickle.loads(pickle.dumps(error))
    except Exception:  # noqa: BLE001 - errors of others have constructors of their own
        return RuntimeError(repr(error))


def _fork(work: Callable[[], None]) -> int:
    gc.freeze()
    id_ = os.fork()
    if id_:
        return id_
    try:
        work()
    except BaseException:  # noqa: BLE001 - the process ends here
        import traceback

        traceback.print_exc()
        os._exit(1)
    os._exit(0)


def _run(story: Story, processes: list[tuple[int, Path]]) -> None:
    """Wait for processes, and take over what they told, unless they were killed; the first one goes on last."""
    left = [id_ for id_, _ in processes]
    try:
        _take_over(story, processes, left)
    finally:
        for id_ in left:
            with contextlib.suppress(ProcessLookupError, ChildProcessError):
                os.kill(id_, signal.SIGKILL)
                os.waitpid(id_, 0)


def _take_over(story: Story, processes: list[tuple[int, Path]], left: list[int]) -> None:
    """Do that, and take those that have ended out of `left`."""
    until = time.monotonic() + MOST_SECONDS
    for id_, told in reversed(processes):
        status = _wait(id_, until)
        left.remove(id_)
        if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL:
            story.crashes += 1
            continue
        if status:
            raise RuntimeError(f"a process failed with the status {status}")
        answers, questions, needless, story.reserved = pickle.loads(told.read_bytes())
        story.told += answers
        story.asked += questions
        story.needless += needless


def _wait(id_: int, until: float) -> int:
    while time.monotonic() < until:
        ended, status = os.waitpid(id_, os.WNOHANG)
        if ended:
            return status
        time.sleep(0.005)
    raise HungProcess(f"a process did not end within {MOST_SECONDS:g} s")
