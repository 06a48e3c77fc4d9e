"""What grows in working memory is kept once: in the journal, in the process, and after a kill in between."""

import json
import signal
import subprocess
import sys
import textwrap
import tracemalloc
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest

from executor import ActionResult, Context, Executor, Journal, RunStatus, World
from executor.events.events import MemorySet, StepEnded
from executor.journal import open_journal
from executor.testing import run_virtual
from planner import Domain
from planner.errors import InputError

SIZE = 2_000
"""Characters of a piece."""


def make_talk(way, pieces):
    """Return a world whose steps add a piece each to the transcript, in a `way`, and a problem of so many steps."""
    domain = Domain("talk", types=["turn"])
    data = {"transcript": str} if way == "parameter" else {}
    effects = {"provides": ["turn(then)", "not turn(now)"], "tags": ["trusted", "idempotent"]}
    requires = ["next(now, then)", "turn(now)"]
    domain.action("speak", {"now": "turn", "then": "turn", **data}, requires=requires, **effects)
    world = World(domain)
    counts = {"at": 0}

    def make_piece():
        counts["at"] += 1
        return f"{counts['at']:04}" + "x" * (SIZE - 4)

    def return_text(context: Context, **_):
        return ActionResult(values={"transcript": context.memory.get("transcript", "") + make_piece()})

    def return_parameter(transcript, **_):
        return ActionResult(values={"transcript": transcript + make_piece()})

    def set_messages(context: Context, **_):
        context.memory.set("transcript", [*context.memory.get("transcript", []), {"content": make_piece()}])

    def set_mapping(context: Context, **_):
        talk = context.memory.get("transcript", {"messages": [], "count": 0})
        messages = [*talk["messages"], {"content": make_piece()}]
        context.memory.set("transcript", {"messages": messages, "count": len(messages)})

    def append_text(context: Context, **_):
        context.memory.append("transcript", make_piece())

    def append_messages(context: Context, **_):
        context.memory.append("transcript", {"content": make_piece()})

    handlers = {
        "returned": return_text,
        "parameter": return_parameter,
        "messages": set_messages,
        "mapping": set_mapping,
        "text appended": append_text,
        "messages appended": append_messages,
    }
    world.handler("speak")(handlers[way])
    turns = [f"turn{number}" for number in range(pieces + 1)]
    following = [f"next({one}, {other})" for one, other in pairwise(turns)]
    objects, initial = dict.fromkeys(turns, "turn"), ["turn(turn0)", *following]
    return world, domain.problem(objects=objects, initial=initial, goal=[f"turn({turns[-1]})"])


WAYS = ("returned", "parameter", "messages", "mapping", "text appended", "messages appended")


def count_pieces(transcript):
    """Return the number of pieces in a transcript."""
    if isinstance(transcript, dict):
        assert transcript["count"] == len(transcript["messages"])
        return transcript["count"]
    return len(transcript) // SIZE if isinstance(transcript, str) else len(transcript)


def start_memory(way):
    """Return the working memory with which a run begins."""
    return {"transcript": ""} if way == "parameter" else {}


@pytest.mark.parametrize("way", WAYS)
def test_the_journal_has_each_piece_once(way, place):
    pieces = 60
    world, problem = make_talk(way, pieces)
    heard = []
    executor = Executor(world, open_journal(place), listeners=(heard.append,))
    outcome = run_virtual(executor.run(problem, run="r", memory=start_memory(way)))
    assert outcome.status is RunStatus.SUCCEEDED
    memory = outcome.state.memory
    assert count_pieces(memory.get("transcript")) == pieces
    written = sum(len(each.data) for each in executor.journal.read("r") if each.kind != "RunStarted")
    assert written < 2 * pieces * SIZE, "the pieces and some words about each"
    again = Executor(world, open_journal(place)).state_of("r")
    assert again.memory.get("transcript") == memory.get("transcript")
    assert again.memory.history("transcript") == memory.history("transcript")
    numbers = [count_pieces(each.value) for each in memory.history("transcript")]
    assert numbers == list(range(0 if way == "parameter" else 1, pieces + 1))
    for state in (outcome.state, again):
        told = [each.result["values"].get("transcript") for each in state.steps.values() if each.result["values"]]
        assert [count_pieces(each) for each in told] == (
            list(range(1, pieces + 1)) if way in ("returned", "parameter") else []
        )
        taken = [count_pieces(each.parameters["transcript"]) for each in state.steps.values() if each.parameters]
        assert taken == (list(range(pieces)) if way == "parameter" else [])
    whole = [
        each.value if isinstance(each, MemorySet) else each.result["values"].get("transcript")
        for each in heard
        if isinstance(each, MemorySet) or (isinstance(each, StepEnded) and each.result["values"])
    ]
    assert [count_pieces(each) for each in whole] == list(range(1, pieces + 1)), "listeners hear whole values"


@pytest.mark.parametrize("is_kept", [True, False])
@pytest.mark.parametrize("way", WAYS)
def test_the_process_has_each_piece_once(way, is_kept, tmp_path):
    pieces = 60
    world, problem = make_talk(way, pieces)
    executor = Executor(world, tmp_path / "runs.db" if is_kept else None)
    first, small = make_talk(way, 2)
    run_virtual(Executor(first, tmp_path / "first.db").run(small, memory=start_memory(way)))  # what is imported late
    tracemalloc.start()
    try:
        outcome = run_virtual(executor.run(problem, run="r", memory=start_memory(way)))
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert outcome.succeeded
    all_versions = SIZE * pieces * pieces / 2
    assert held < all_versions / 2, "no version of the transcript is held but the last"


KILLED = """
    import asyncio, os, signal, sys
    sys.path.insert(0, {root!r})
    from tests.executor.journal.test_growing_memory import make_talk, start_memory
    from executor import Executor
    from executor.events.events import StepEnded
    world, problem = make_talk({way!r}, 12)
    heard = []
    def kill(event):
        heard.append(event)
        if sum(isinstance(each, StepEnded) for each in heard) == 5:
            os.kill(os.getpid(), signal.SIGKILL)
    executor = Executor(world, {path!r}, listeners=(kill,))
    asyncio.run(executor.run(problem, run="r", memory=start_memory({way!r})))
"""


@pytest.mark.parametrize("way", WAYS)
def test_a_run_that_was_killed_goes_on_with_what_had_grown(way, tmp_path):
    path, root = str(tmp_path / "runs.db"), str(Path(__file__).parents[3])
    code = textwrap.dedent(KILLED).format(root=root, way=way, path=path)
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    world, _ = make_talk(way, 12)
    executor = Executor(world, path)
    before = executor.state_of("r").memory.get("transcript")
    assert count_pieces(before) == 5
    outcome = run_virtual(executor.resume("r"))
    assert outcome.succeeded, outcome.reason
    after = outcome.state.memory.get("transcript")
    assert count_pieces(after) == 12
    if isinstance(after, str):
        assert after.startswith(before)
    elif isinstance(after, list):
        assert after[:5] == before
    assert Executor(world, path).state_of("r").memory.get("transcript") == after


def test_a_journal_with_whole_values_is_read_and_gone_on_with(tmp_path):
    world, problem = make_talk("messages", 6)
    executor = Executor(world, tmp_path / "new.db")

    async def begin():
        run = executor.start(problem, run="r")
        run.listen(lambda event: run.interrupt() if isinstance(event, StepEnded) and event.step == "s3" else None)
        return await run

    assert run_virtual(begin()).status is RunStatus.WAITING
    messages = executor.state_of("r").memory.history("transcript")
    with Journal(tmp_path / "old.db") as old:
        old.create("r")
        with old.drive("r"):
            values = [each.value for each in messages]
            for each in executor.journal.read("r"):
                data = json.loads(each.data)
                if each.kind == "MemorySet":
                    data["value"] = values.pop(0)
                old.append("r", each.kind, json.dumps(data), status=each.status)
    outcome = run_virtual(Executor(world, tmp_path / "old.db").resume("r"))
    assert outcome.succeeded
    assert count_pieces(outcome.state.memory.get("transcript")) == 6
    assert count_pieces(Executor(world, tmp_path / "old.db").state_of("r").memory.get("transcript")) == 6


def test_what_handlers_change_in_place_is_written(tmp_path):
    """An object that memory shares with a handler is no part of what a value has in common with the one before."""

    @dataclass
    class Message:
        content: str

    domain = Domain("talk")
    domain.action("one", provides=["one"], tags=["trusted"])
    domain.action("two", requires=["one"], provides=["two"], tags=["trusted"])
    world, shared = World(domain), Message("x" * 200)

    @world.handler("one")
    def one(context: Context):
        context.memory.set("talk", [shared])

    @world.handler("two")
    def two(context: Context):
        shared.content = "y" * 200
        context.memory.set("talk", [shared, Message("z")])

    executor = Executor(world, tmp_path / "runs.db")
    assert run_virtual(executor.run(domain.problem(goal=["two"]), run="r")).succeeded
    read = Executor(world, tmp_path / "runs.db").state_of("r").memory.get("talk")
    assert read == [{"content": "y" * 200}, {"content": "z"}]


@pytest.mark.parametrize("is_kept", [True, False])
def test_pieces_are_appended_to_texts_and_lists_only(is_kept, tmp_path):
    domain = Domain("talk")
    domain.action("talk", provides=["talked"], tags=["trusted"])
    world, told = World(domain), []

    @world.handler("talk")
    def talk(context: Context):
        context.memory.append("text", "a")
        context.memory.append("text", "b")
        context.memory.append("items", 1)
        context.memory.append("items", "two")
        context.memory.set("number", 3)
        try:
            context.memory.append("number", 4)
        except InputError as error:
            told.append(str(error))

    executor = Executor(world, tmp_path / "runs.db" if is_kept else None)
    outcome = run_virtual(executor.run(domain.problem(goal=["talked"]), run="r"))
    assert outcome.state.memory.to_dict() == {"text": "ab", "items": [1, "two"], "number": 3}
    assert "nothing can be appended" in told[0]
    if is_kept:
        assert Executor(world, tmp_path / "runs.db").state_of("r").memory.to_dict() == outcome.state.memory.to_dict()
