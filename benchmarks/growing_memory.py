"""What a transcript costs that grows in working memory: journal, memory and time of runs of more and more steps.

    python -m benchmarks.growing_memory [--pieces 250,500,1000] [--kilobytes 1]

Each step adds a piece to the transcript: a text, or a list of messages, which a handler returns or sets, or takes as a
parameter. Each row is measured in a process of its own.
"""

from __future__ import annotations

import asyncio
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from benchmarks.report import format_table
from executor import ActionResult, Context, Executor, World
from planner import Domain
from planner.cli.output import give

MEASURE: Final = "from benchmarks.growing_memory import print_measured; print_measured({way!r}, {pieces}, {size})"
WITHOUT: Final = ("messages, without a journal",)
WAYS: Final = (
    "no transcript",
    "text, returned",
    "text, as a parameter",
    "messages, set",
    "messages, appended",
    "messages, without a journal",
)


def make_world(way: str, pieces: int, size: int) -> tuple[World, Any]:
    """Return a world whose steps add a piece of `size` characters each, and a problem of as many steps as `pieces`."""
    domain = Domain("talk", types=["turn"])
    data = {"transcript": str} if way == "text, as a parameter" else {}
    domain.action(
        "speak",
        {"now": "turn", "then": "turn", **data},
        requires=["next(now, then)", "turn(now)"],
        provides=["turn(then)", "not turn(now)"],
        tags=["trusted"],
    )
    world = World(domain)

    def speak(context: Context, **_: Any) -> None:
        """Say nothing that is kept."""

    def return_text(context: Context, **_: Any) -> ActionResult:
        return ActionResult(values={"transcript": context.memory.get("transcript", "") + "x" * size})

    def return_parameter(transcript: str, **_: Any) -> ActionResult:
        return ActionResult(values={"transcript": transcript + "x" * size})

    def set_messages(context: Context, **_: Any) -> None:
        messages = context.memory.get("transcript", [])
        context.memory.set("transcript", [*messages, {"role": "user", "content": "x" * size}])

    def append_message(context: Context, **_: Any) -> None:
        context.memory.append("transcript", {"role": "user", "content": "x" * size})

    handlers: dict[str, Callable[..., Any]] = {
        WAYS[0]: speak,
        WAYS[1]: return_text,
        WAYS[2]: return_parameter,
        WAYS[4]: append_message,
    }
    world.handler("speak")(handlers.get(way, set_messages))
    turns = [f"turn{number}" for number in range(pieces + 1)]
    following = [f"next({one}, {other})" for one, other in pairwise(turns)]
    problem = domain.problem(
        objects=dict.fromkeys(turns, "turn"), initial=["turn(turn0)", *following], goal=[f"turn({turns[-1]})"]
    )
    return world, problem


def print_measured(way: str, pieces: int, size: int) -> None:
    """Print as JSON what a run costs: MB of journal, MB of memory, seconds of CPU, and those of reading it again."""
    world, problem = make_world(way, pieces, size)
    with tempfile.TemporaryDirectory(prefix="forethought-growing-") as folder:
        journal = None if way in WITHOUT else Path(folder) / "runs.db"
        executor = Executor(world, journal)
        began = time.process_time()
        outcome = asyncio.run(executor.run(problem, run="talk", memory={"transcript": ""} if "text" in way else None))
        spent, read = time.process_time() - began, 0.0
        assert outcome.succeeded, outcome.reason
        grown = outcome.state.memory.get("transcript", "")
        assert way == WAYS[0] or len(grown) == (pieces if isinstance(grown, list) else pieces * size)
        if executor.journal is not None:
            began = time.process_time()
            state = executor.state_of("talk")
            read = time.process_time() - began
            assert state.memory.get("transcript", "") == grown
            executor.journal.close()
        kept = sum(each.stat().st_size for each in Path(folder).iterdir())
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    give(json.dumps([kept / 1e6, peak / 1e3, spent, read]))


def measure_all(pieces: list[int], size: int) -> Iterator[list[str]]:
    """Yield a row for each way and number of pieces."""
    for way in WAYS:
        for each in pieces:
            code = MEASURE.format(way=way, pieces=each, size=size)
            said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
            kept, peak, spent, read = json.loads(said)
            yield [way, str(each), f"{kept:.1f}", f"{peak:.0f}", f"{spent:.1f}", f"{read:.2f}"]


def main(
    pieces: Annotated[str, typer.Option(help="Numbers of pieces, separated by commas.")] = "250,500,1000",
    kilobytes: Annotated[int, typer.Option(min=1, help="Size of a piece.")] = 1,
) -> None:
    """Print what a growing transcript costs as a Markdown table."""
    head = ("transcript", "pieces", "MB of journal", "MB of memory", "s of CPU", "s to read it again")
    give(format_table(head, measure_all([int(each) for each in pieces.split(",")], kilobytes * 1000)))


if __name__ == "__main__":
    typer.run(main)
