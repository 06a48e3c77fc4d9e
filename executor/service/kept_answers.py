"""Answers that are kept by the hash of their questions, while they are as good as new ones."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, Final

from executor.service.jobs import Job
from executor.service.messages import Answer
from planner.lightweight import dataclass
from planner.plan import StoppedBy

CANCELLED: Final = StoppedBy.CANCELLED.name.lower()
CRASHED: Final = "crashed"
LIMITED: Final = frozenset({StoppedBy.TIME.name.lower(), StoppedBy.MEMORY.name.lower(), CANCELLED, CRASHED})
"""Why an answer ended that more time might better."""


@dataclass(frozen=True, slots=True)
class Kept:
    """An answer that was found within `time_limit` seconds; more would not change one that `is_final`."""

    answer: Answer
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

    def find(self, content_hash: str, time_limit: float | None = None) -> Answer | None:
        """Return the kept answer, if it is as good as one within `time_limit` would be."""
        kept = self._kept.get(content_hash)
        if kept is None or not (time_limit is None or kept.is_final or kept.time_limit >= time_limit):
            return None
        self._kept.move_to_end(content_hash)
        return kept.answer

    def keep(self, job: Job) -> None:
        """Keep the answer of `job`, unless a limit has left it without a result."""
        answer = job.answer
        if answer is None or not is_worth_keeping(answer.facts) or len(answer.text) > self._most:
            return
        before = self._kept.pop(job.content_hash, None)
        if before is not None:
            self.bytes -= len(before.answer.text)
        self._kept[job.content_hash] = Kept(answer, job.time_limit, is_final(job.question.kind, answer.facts))
        self.bytes += len(answer.text)
        while self.bytes > self._most:
            self.bytes -= len(self._kept.popitem(last=False)[1].answer.text)


def is_worth_keeping(facts: Mapping[str, Any]) -> bool:
    """Return whether an answer says more than that a limit was reached, or that it was cancelled."""
    stopped_by = facts.get("stopped_by")
    if stopped_by in (CANCELLED, CRASHED):
        return False
    return stopped_by not in LIMITED or facts.get("status") not in (None, "UNKNOWN")


def is_final(kind: str, facts: Mapping[str, Any]) -> bool:
    """Return whether more time would not change an answer; explanations use the time that they get."""
    return kind != "explain" and facts.get("stopped_by") not in LIMITED
