"""A process of the pool: reads questions from stdin, and writes better plans and answers to stdout, as messages.

SIGINT asks a question that is at work to end; an idle process ignores it. The end of stdin ends the process and all
that it has started.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import traceback
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from typing import Any, BinaryIO, Final

from executor.service.answers import answer
from executor.service.messages import HEADER, Answer, least_limit, pack, write_json
from executor.service.questions import Question
from planner.cli.interrupt import limit_memory
from planner.cli.output import Exit, judge
from planner.errors import InputError, UnsupportedError
from planner.limits import STOPS, Limits, resident_bytes, stop_reason

WARMING: Final = (
    "(define (domain lamps) (:predicates (lit ?l)) (:action light :parameters (?l) :effect (lit ?l)))",
    "(define (problem evening) (:domain lamps) (:objects a) (:init) (:goal (lit a)))",
    "(light a)",
)
"""A task and its plan, with which a process loads what it needs before the first question."""
KILL_ME_FIRST: Final = "1000"
"""The score by which the kernel, out of memory, ends this process rather than the server."""


def main() -> None:
    """Answer questions until stdin ends; the argument is the memory limit in GiB, or 0."""
    replies = Replies(_take_stdout())
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(KILL_ME_FIRST, encoding="ascii")
    questions: SimpleQueue[dict[str, Any]] = SimpleQueue()
    threading.Thread(target=_read_questions, args=(sys.stdin.buffer, questions), daemon=True).start()
    warm_up()
    memory = float(sys.argv[1]) or None
    if memory is not None:
        limit_memory(memory)
    replies.send({"ready": True, "resident": resident_bytes()})
    while True:
        found = handle(questions.get(), memory, replies)
        replies.send(found | {"resident": resident_bytes()})


def warm_up() -> None:
    """Answer a question of each kind about a small task."""
    domain, problem, plan = WARMING
    given: dict[str, dict[str, Any]] = {"solve": {}, "validate": {"plan": plan}, "explain": {}, "candidates": {}}
    for kind, options in given.items():
        answer(Question(kind, domain, problem, options), Limits(60.0), lambda _: None)


def handle(message: dict[str, Any], memory: float | None, replies: Replies) -> dict[str, Any]:
    """Return the reply to a question: its answer, or the error that ended the work."""
    limits = Limits(message["time_limit"], least_limit(memory, message["question"].get("memory_limit")))
    try:
        found = Answer.of(answer(Question(**message["question"]), limits, replies.tell))
    except BaseException as error:  # noqa: BLE001 - whatever a question does, the process answers the next one
        return {"error": describe_error(error)}
    return {"answer": found.text, "facts": found.facts}


def describe_error(error: BaseException) -> dict[str, Any]:
    """Return JSON-ready data about what ended the work: its kind, a message, and for mistakes place and hint."""
    match error:
        case InputError():
            place = error.location
            where = None if place is None else {name: getattr(place, name) for name in ("source", "line", "column")}
            return {"kind": "input", "message": error.message, "location": where, "hint": error.hint}
        case UnsupportedError():
            return {"kind": "unsupported", "message": error.construct, "hint": error.hint}
        case _ if isinstance(error, STOPS):
            reason = stop_reason(error)
            return {"kind": reason.name.lower(), "message": f"no answer: stopped by {reason.value}"}
    code, message = judge(error)
    if code is not Exit.INTERNAL:
        return {"kind": "input" if code is Exit.USAGE else "time", "message": message}
    trace = "".join(traceback.format_exception(error))
    return {"kind": "internal", "message": f"internal error: {type(error).__name__}", "trace": trace}


class Replies:
    """Writes messages in a thread of its own, which no signal interrupts in the middle of one."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._waiting: SimpleQueue[dict[str, Any]] = SimpleQueue()
        threading.Thread(target=self._write, daemon=True).start()

    def send(self, message: dict[str, Any]) -> None:
        """Send `message` after those before it."""
        self._waiting.put(message)

    def tell(self, plan: dict[str, Any]) -> None:
        """Send a better plan."""
        self.send({"progress": write_json(plan)})

    def _write(self) -> None:
        while True:
            self._stream.write(pack(self._waiting.get()))
            self._stream.flush()


def _take_stdout() -> BinaryIO:
    """Return stdout; what else writes to it goes to stderr from here on."""
    stream = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    return stream


def _read_questions(stream: BinaryIO, questions: SimpleQueue[dict[str, Any]]) -> None:
    while header := stream.read(HEADER.size):
        questions.put(json.loads(stream.read(*HEADER.unpack(header))))
    if os.getpgrp() == os.getpid():
        os.killpg(os.getpid(), signal.SIGKILL)
    os._exit(0)


if __name__ == "__main__":
    main()
