"""Questions on their way: a queue with priorities and quotas, the processes that answer, and answers that are kept."""

from __future__ import annotations

import asyncio
import json
import logging
import math
import secrets
import time
from collections import OrderedDict, deque
from contextlib import suppress
from enum import Enum
from typing import Any, Final

from planner.lightweight import dataclass, field, replace
from planner.plan import StoppedBy
from service.keys import Busy, Client
from service.metrics import Metrics
from service.pool import Worker, WorkerLost, WorkerSettings
from service.questions import Question, Request
from service.tracing import Tracing

AGEING_SECONDS: Final = 30.0
"""Seconds of waiting that count as much as one more priority: no question waits for ever."""
RETRY_SECONDS: Final = 2.0
"""Seconds between two attempts to start a process, and the least time after which a refused client is asked back."""
MOST_JOBS: Final = 10_000
"""Most questions that have ended and can still be asked for."""
ENDED_SHARE: Final = 0.25
"""Bytes of the answers to these, as JSON, as a share of those of answers that are kept: as objects they take more."""
CANCELLED: Final = StoppedBy.CANCELLED.name.lower()
CRASHED: Final = "crashed"
LIMITED: Final = frozenset({StoppedBy.TIME.name.lower(), StoppedBy.MEMORY.name.lower(), CANCELLED, CRASHED})
"""Why an answer ended that more time might better."""
LOG: Final = logging.getLogger("forethought.service")


class State(Enum):
    """Where a question is; the value is its name in answers."""

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def is_end(self) -> bool:
        """Whether nothing more will happen."""
        return self not in (State.QUEUED, State.RUNNING)


@dataclass(slots=True, eq=False)
class Job:
    """A question of a client on its way.

    `progress` is the best plan so far, and `version` counts the changes of all this. Times are of a monotonic clock.
    """

    request: Request
    client: Client
    time_limit: float
    priority: int
    content_hash: str
    id: str = field(default_factory=lambda: secrets.token_urlsafe(18))
    state: State = State.QUEUED
    answer: dict[str, Any] | None = None
    error: dict[str, Any] | None = None
    progress: dict[str, Any] | None = None
    cached: bool = False
    is_repeated: bool = False
    size: int = 0
    version: int = 0
    created: float = field(default_factory=time.monotonic)
    started: float | None = None
    ended: float | None = None
    span: Any = None
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def question(self) -> Question:
        """What is asked."""
        return self.request.question

    @property
    def waited(self) -> float:
        """Seconds in the queue."""
        return (self.started or self.ended or time.monotonic()) - self.created

    @property
    def seconds(self) -> float:
        """Seconds at work."""
        return 0.0 if self.started is None else (self.ended or time.monotonic()) - self.started

    def rank(self, now: float) -> tuple[int, int, float]:
        """Return what orders the queue, the least first: priority with age, what the client has at work, and time."""
        return (-self.priority - int((now - self.created) / AGEING_SECONDS), self.client.running, self.created)

    def change(self, state: State | None = None) -> None:
        """Set the state, and wake up who waits for a change."""
        if state is not None:
            self.state = state
        if self.state.is_end and self.ended is None:
            self.ended = time.monotonic()
        self.version += 1
        self._changed.set()
        self._changed = asyncio.Event()

    async def wait_for_change(self, version: int) -> None:
        """Wait until `version` is no longer the latest."""
        while self.version == version:
            await self._changed.wait()

    async def wait_for_end(self) -> None:
        """Wait until nothing more will happen."""
        while not self.state.is_end:
            await self._changed.wait()

    def fail(self, kind: str, message: str) -> None:
        """End with an error."""
        self.error = {"kind": kind, "message": message}
        self.change(State.CANCELLED if kind == "cancelled" else State.FAILED)

    def forget_texts(self) -> None:
        """Forget the task, which nobody needs at the end."""
        self.request = replace(self.request, question=replace(self.question, domain="", problem=None, options={}))

    def to_dict(self) -> dict[str, Any]:
        """Return the job as JSON-ready data."""
        data: dict[str, Any] = {
            "id": self.id,
            "kind": self.question.kind,
            "state": self.state.value,
            "hash": self.content_hash,
            "cached": self.cached,
            "time_limit": self.time_limit,
            "priority": self.priority,
            "waited": round(self.waited, 6),
            "seconds": round(self.seconds, 6),
        }
        known = {"answer": self.answer, "error": self.error}
        if self.state is State.RUNNING:
            known["progress"] = self.progress
        return data | {name: value for name, value in known.items() if value is not None}


@dataclass(frozen=True, slots=True)
class Kept:
    """An answer, as JSON, that was found within `time_limit` seconds; more would not change one that `is_final`."""

    text: str
    time_limit: float
    is_final: bool


class Answers:
    """Keeps the answers asked for last, by the hash of their questions, up to a number of bytes."""

    def __init__(self, most_bytes: int) -> None:
        self._most = most_bytes
        self._kept: OrderedDict[str, Kept] = OrderedDict()
        self.bytes = 0

    def __len__(self) -> int:
        return len(self._kept)

    def find(self, content_hash: str, time_limit: float | None = None) -> dict[str, Any] | None:
        """Return the kept answer, if it is as good as one within `time_limit` would be."""
        kept = self._kept.get(content_hash)
        if kept is None or not (time_limit is None or kept.is_final or kept.time_limit >= time_limit):
            return None
        self._kept.move_to_end(content_hash)
        found: dict[str, Any] = json.loads(kept.text)
        return found

    def keep(self, job: Job, text: str) -> None:
        """Keep the answer of `job`, which is `text` in JSON, unless a limit has left it without a result."""
        answer = job.answer
        if answer is None or not is_worth_keeping(answer) or len(text) > self._most:
            return
        before = self._kept.pop(job.content_hash, None)
        if before is not None:
            self.bytes -= len(before.text)
        self._kept[job.content_hash] = Kept(text, job.time_limit, is_final(job.question.kind, answer))
        self.bytes += len(text)
        while self.bytes > self._most:
            self.bytes -= len(self._kept.popitem(last=False)[1].text)


def is_worth_keeping(answer: dict[str, Any]) -> bool:
    """Return whether an answer says more than that a limit was reached, or that it was cancelled."""
    stopped_by = answer.get("stopped_by")
    if stopped_by in (CANCELLED, CRASHED):
        return False
    return stopped_by not in LIMITED or answer.get("status") not in (None, "UNKNOWN")


def is_final(kind: str, answer: dict[str, Any]) -> bool:
    """Return whether more time would not change an answer; explanations use the time that they get."""
    return kind != "explain" and answer.get("stopped_by") not in LIMITED


@dataclass(frozen=True, slots=True)
class DeskSettings:
    """What a server allows: processes, questions in the queue, bytes of kept answers, seconds for one question."""

    workers: int
    most_queued: int = 64
    answer_bytes: int = 64 * 1024**2
    time_limit: float = 60.0
    worker: WorkerSettings = field(default_factory=WorkerSettings)


class Desk:
    """Takes questions, lets the processes answer them by priority, and keeps the answers.

    All of it runs in one event loop.
    """

    def __init__(self, settings: DeskSettings, metrics: Metrics, tracing: Tracing) -> None:
        self.settings = settings
        self.metrics = metrics
        self.answers = Answers(settings.answer_bytes)
        self.is_closing = False
        self._tracing = tracing
        self._queue: list[Job] = []
        self._at_work: dict[Job, Worker] = {}
        self._jobs: dict[str, Job] = {}
        self._ended: deque[Job] = deque()
        self._ended_bytes = 0
        self._arrived = asyncio.Event()
        self._slots: list[asyncio.Task[None]] = []
        self._alive = 0

    @property
    def queued(self) -> int:
        """The number of questions that wait."""
        return len(self._queue)

    @property
    def running(self) -> int:
        """The number of questions at work."""
        return len(self._at_work)

    @property
    def workers(self) -> int:
        """The number of processes that are ready or at work."""
        return self._alive

    @property
    def process_ids(self) -> list[int]:
        """The processes that are at work."""
        return [worker.pid for worker in self._at_work.values()]

    def open(self) -> None:
        """Start the processes."""
        self._slots = [asyncio.create_task(self._serve()) for _ in range(self.settings.workers)]

    async def close(self) -> None:
        """End the processes; who still waits is told so."""
        self.interrupt_all()
        for slot in self._slots:
            slot.cancel()
        await asyncio.gather(*self._slots, return_exceptions=True)

    def interrupt_all(self) -> None:
        """Take no more questions; let those at work end with what they have, and those in the queue fail."""
        self.is_closing = True
        for job in list(self._queue):
            self._queue.remove(job)
            job.fail("stopping", "the server is about to stop")
            self._end(job)
        for worker in self._at_work.values():
            worker.interrupt()

    def submit(self, request: Request, client: Client, context: Any = None) -> Job:
        """Return the job for a request, which is answered already if its answer is kept. Raises `Busy`.

        `context` is the trace that the request belongs to.
        """
        if self.is_closing:
            raise Busy("the server is about to stop", RETRY_SECONDS)
        client.begin()
        allowed = [request.question.time_limit, client.quota.time_limit, self.settings.time_limit]
        limit = min(each for each in allowed if each is not None)
        priority = min(request.priority, client.quota.priority)
        job = Job(request, client, limit, priority, request.question.content_hash)
        kept = None if request.fresh else self.answers.find(job.content_hash, limit)
        if kept is None and len(self._queue) >= self.settings.most_queued:
            self.metrics.count("refused", reason="queue")
            raise Busy(f"{len(self._queue)} questions wait already", self._estimate_wait())
        job.span = self._tracing.begin(job, context)
        self._jobs[job.id] = job
        if kept is not None:
            job.answer, job.cached = kept, True
            job.change(State.DONE)
            self._end(job)
            return job
        self._queue.append(job)
        self._wake()
        return job

    def find(self, id_: str, client: Client) -> Job | None:
        """Return the job of `client` with this id."""
        job = self._jobs.get(id_)
        return job if job is not None and job.client is client else None

    def cancel(self, job: Job) -> None:
        """Take a job out of the queue, or ask its process to end it with what it has."""
        if job.state is State.QUEUED:
            with suppress(ValueError):
                self._queue.remove(job)
            job.fail("cancelled", "the question was cancelled")
            self._end(job)
        elif job in self._at_work:
            self._at_work[job].interrupt()

    def _estimate_wait(self) -> float:
        """Return the seconds after which a place in the queue may be free."""
        return max(RETRY_SECONDS, self.metrics.mean_seconds() * len(self._queue) / max(self.settings.workers, 1) / 2)

    def _forget(self) -> None:
        """Forget the jobs that have ended first, where there are too many, or where their answers are too large."""
        most = ENDED_SHARE * self.settings.answer_bytes
        while self._ended and (len(self._ended) > MOST_JOBS or self._ended_bytes > most):
            job = self._ended.popleft()
            self._ended_bytes -= job.size
            self._jobs.pop(job.id, None)

    def _wake(self) -> None:
        """Let the processes look at the queue."""
        self._arrived.set()
        self._arrived = asyncio.Event()

    async def _take(self) -> Job:
        """Return the next question whose client may have one more at work."""
        while True:
            now = time.monotonic()
            ready = [job for job in self._queue if job.client.may_run]
            if ready:
                job = min(ready, key=lambda each: each.rank(now))
                self._queue.remove(job)
                job.client.running += 1
                return job
            await self._arrived.wait()

    async def _serve(self) -> None:
        """Answer questions by one process after the other."""
        while True:
            worker = await self._start_worker()
            self._alive += 1
            try:
                while not worker.is_worn:
                    await self._answer_next(worker)
            finally:
                self._alive -= 1
                await worker.close()

    async def _answer_next(self, worker: Worker) -> None:
        """Answer one question, or return because the process has ended before there was one."""
        taking, ending = asyncio.ensure_future(self._take()), asyncio.ensure_future(worker.wait())
        try:
            await asyncio.wait({taking, ending}, return_when=asyncio.FIRST_COMPLETED)
            if not taking.done():
                return
            job = taking.result()
            if job.state.is_end:  # cancelled just now
                job.client.running -= 1
            else:
                await self._answer(job, worker)
        finally:
            taking.cancel()
            ending.cancel()

    async def _start_worker(self) -> Worker:
        while True:
            try:
                return await Worker.start(self.settings.worker)
            except (WorkerLost, OSError) as error:
                LOG.warning("a process could not be started: %s", error)
                self.metrics.count("workers_lost", reason="start")
                await asyncio.sleep(RETRY_SECONDS)

    async def _answer(self, job: Job, worker: Worker) -> None:
        job.started = time.monotonic()
        self._at_work[job] = worker
        job.change(State.RUNNING)

        def follow(progress: dict[str, Any]) -> None:
            job.progress = progress
            job.change()

        message = {"question": job.question.to_dict(), "time_limit": job.time_limit}
        try:
            reply = await worker.ask(message, follow)
        except WorkerLost as lost:
            self.metrics.count("workers_lost", reason=lost.kind)
            if not self._may_repeat(job, lost):
                self._end_lost(job, lost)
        else:
            self._end_answered(job, reply)
        finally:
            del self._at_work[job]
            job.client.running -= 1
            job.client.spend(job.seconds)
            if job.state is not State.QUEUED:
                self._end(job)
            self._wake()

    def _may_repeat(self, job: Job, lost: WorkerLost) -> bool:
        """Put a job back into the queue whose process has crashed: once, for it may be no fault of the question."""
        if lost.kind != CRASHED or job.is_repeated or job.progress is not None or self.is_closing:
            return False
        job.is_repeated = True
        self._queue.append(job)
        job.change(State.QUEUED)
        return True

    def _end_answered(self, job: Job, reply: dict[str, Any]) -> None:
        if "answer" in reply:
            job.answer = reply["answer"]
            is_cancelled = job.answer.get("stopped_by") == CANCELLED
            job.change(State.CANCELLED if is_cancelled else State.DONE)
            return
        error = reply["error"]
        trace = error.pop("trace", None)
        if trace is not None:
            LOG.error("an answer failed:\n%s", trace)
        job.error = error
        job.change(State.CANCELLED if error["kind"] == "cancelled" else State.FAILED)

    def _end_lost(self, job: Job, lost: WorkerLost) -> None:
        """End a job whose process is lost: with the best plan that it had reported, or with an error."""
        if job.progress is None:
            job.fail(lost.kind, lost.message)
            return
        job.answer = {**job.progress, "stopped_by": lost.kind, "reason": lost.message}
        job.change(State.CANCELLED if lost.kind == "cancelled" else State.DONE)

    def _end(self, job: Job) -> None:
        """Write down how a job has ended."""
        if not job.state.is_end:
            job.fail("stopping", "the server has stopped")
        text = "" if job.answer is None else json.dumps(job.answer)
        job.size = len(text) * (1 if job.progress is None else 2)
        if not job.cached:
            self.answers.keep(job, text)
        job.forget_texts()
        self._ended.append(job)
        self._ended_bytes += job.size
        self._forget()
        self.metrics.note(job.question.kind, _outcome(job), job.waited, job.seconds)
        self._tracing.end(job)


def _outcome(job: Job) -> str:
    """Return one word for how a job has ended: "cached", its state, or what made it fail."""
    if job.cached:
        return "cached"
    return job.error["kind"] if job.state is State.FAILED and job.error else job.state.value


def share_of_memory(available: float, workers: int, share: float) -> float:
    """Return the GiB for each of the `workers`, rounded down to hundredths."""
    return max(0.01, math.floor(100 * available * share / workers) / 100)
