"""A language model that knows the right answer, and counts what it is asked for what."""

from __future__ import annotations

from collections import Counter
from typing import Any

from benchmarks.sentences.recorded import Sentence
from executor.language.protocol import Purpose, Reply, Request, Usage
from executor.testing.models import reply_of
from executor.testing.samples import sample


class KnowingModel:
    """Answers to `sentence` as it is meant, and fills parameters with values of their types."""

    def __init__(self, sentence: Sentence) -> None:
        self._sentence = sentence
        self.asked: Counter[Purpose] = Counter()
        self.usage = Usage()

    async def answer(self, request: Request) -> Reply:
        """Return the right answer."""
        self.asked[request.purpose] += 1
        said = {"meanings": self._sentence.right} if request.purpose is Purpose.GOAL else {"values": _values(request)}
        reply = reply_of(request, said)
        self.usage += reply.usage
        return reply


def _values(request: Request) -> dict[str, Any]:
    """Return a value for each of the parameters that are to be filled."""
    wanted: Any = request.answer.model_fields["values"].annotation
    fields = wanted.model_fields.items()
    return {name: sample(each.annotation, f"{name}, as the user says") for name, each in fields}
