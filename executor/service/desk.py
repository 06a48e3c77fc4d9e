"""The desk: takes questions into a queue with priorities and quotas, and lets the processes of the pool answer them.

One process more than may be at work is ready, so that one that ends, or is replaced, is missed by nobody.
"""

from __future__ import annotations

import asyncio
import json
import logging
import math
import time
from collections import deque
from contextlib import suppress
from typing import Any, Final

from executor.service.jobs import Job, State
from executor.service.kept_answers import CANCELLED, CRASHED, Answers
from executor.service.keys import Busy, Client
from executor.service.messages import Answer
from executor.service.metrics import Metrics
from executor.service.pool import Worker, WorkerLost, WorkerSettings
from executor.service.questions import Request
from executor.service.tracing import Tracing
from planner.lightweight import dataclass, field

RESERVE: Final = 1
"""Processes that are ready beside those that may be at work."""
RETRY_SECONDS: Final = 2.0
"""Seconds between two attempts to start a process, and the least time after which a refused client is asked back."""
MOST_JOBS: Final = 10_000
"""Most questions that have ended and can still be asked for."""
ENDED_SHARE: Final = 0.25
"""Bytes of the answers to these, as a share of those of answers that are kept."""
LOG: Final = logging.getLogger("forethought.service")


@dataclass(frozen=True, slots=True)
class DeskSettings:
    """What a server allows: processes, questions in the queue, bytes of kept answers, seconds for one question.

    `is_shared` is whether several keys share the queue.
    """

    workers: int
    most_queued: int = 64
    answer_bytes: int = 64 * 1024**2
    time_limit: float = 60.0
    is_shared: bool = False
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
        self._workers: list[Worker] = []

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
        return len(self._workers)

    def open(self) -> None:
        """Start the processes."""
        self._slots = [asyncio.create_task(self._serve()) for _ in range(self.settings.workers + RESERVE)]

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
        allowed = [request.question.time_limit, client.quota.time_limit, self.settings.time_limit]
        limit = min(each for each in allowed if each is not None)
        priority = min(request.priority, client.quota.priority)
        job = Job(request, client, limit, priority, request.question.content_hash)
        kept = None if request.fresh else self.answers.find(job.content_hash, limit)
        self._admit(client, waits=kept is None)
        job.span = self._tracing.begin(job, context)
        self._jobs[job.id] = job
        if kept is None:
            self._queue.append(job)
            self._wake()
        else:
            job.answer, job.cached = kept, True
            job.change(State.DONE)
            self._end(job)
        return job

    def _admit(self, client: Client, *, waits: bool) -> None:
        """Count a question of `client`, with a place in the queue if it `waits`; raises `Busy`.

        Where keys share the queue, a client leaves as many places free as it has taken, so that each finds one (dynamic
        thresholds: Choudhury and Hahne, 1998).
        """
        if self.is_closing:
            raise Busy("stopping", "the server is about to stop", RETRY_SECONDS)
        free = self.settings.most_queued - self.queued
        own = sum(job.client is client for job in self._queue) if self.settings.is_shared else 0
        if waits and free <= own:
            what = f"{own} of your questions" if own else f"{self.queued} questions"
            raise Busy("queue", f"{what} wait already", self._estimate_wait())
        client.begin()

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

    def _take(self) -> Job | None:
        """Take the next question whose client may have one more at work; None where there is none, or no place."""
        has_place = self.running < self.settings.workers
        ready = [job for job in self._queue if job.client.may_run] if has_place else []
        if not ready:
            return None
        now = time.monotonic()
        job = min(ready, key=lambda each: each.rank(now))
        self._queue.remove(job)
        job.client.running += 1
        return job

    async def _serve(self) -> None:
        """Answer questions by one process after the other."""
        while True:
            worker = await self._start_worker()
            self._workers.append(worker)
            self._wake()
            ending = asyncio.ensure_future(worker.wait())
            ending.add_done_callback(lambda _: self._wake())
            try:
                await self._use(worker)
            finally:
                self._workers.remove(worker)
                ending.cancel()
                await worker.close()

    async def _use(self, worker: Worker) -> None:
        """Answer questions by `worker` until it has ended, or may be replaced: enough others are ready."""
        while not worker.has_ended:
            if worker.is_worn and self.workers > self.settings.workers:
                return
            job = self._take()
            if job is None:
                await self._arrived.wait()
            else:
                await self._answer(job, worker)
        if not worker.was_killed:
            self.metrics.count("workers_lost", reason="idle")

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

        def follow(progress: str) -> None:
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
            job.answer = Answer(reply["answer"], reply["facts"])
            is_cancelled = job.facts.get("stopped_by") == CANCELLED
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
        job.answer = Answer.of(json.loads(job.progress) | {"stopped_by": lost.kind, "reason": lost.message})
        job.change(State.CANCELLED if lost.kind == "cancelled" else State.DONE)

    def _end(self, job: Job) -> None:
        """Write down how a job has ended."""
        if not job.state.is_end:
            job.fail("stopping", "the server has stopped")
        if not job.cached:
            self.answers.keep(job)
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
