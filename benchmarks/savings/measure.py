"""One errand after the other, in one of several ways: calls, tokens and the time of searches, a run."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean
from typing import Any, Final

from benchmarks.savings.errands import world_for
from benchmarks.savings.knowing import KnowingModel
from benchmarks.sentences.recorded import Sentence
from benchmarks.tables import markdown
from executor.agent.agent import Agent
from executor.agent.reading import Readings
from executor.language.protocol import Purpose
from executor.testing import run_virtual
from planner import Problem, solve
from planner.reuse import PlanCache, Recalled

WAYS: Final = {
    "no references, no caches": (False, False),
    "references": (True, False),
    "references and caches": (True, True),
}
"""Ways by name: whether parameters come from the results of other steps, and whether plans and readings are kept."""
HEAD: Final = (
    "",
    "runs",
    "succeeded",
    "calls to read",
    "calls to fill",
    "tokens",
    "planning, CPU ms",
    "plans found before",
)


class Timed(PlanCache):
    """Another cache of plans, or none, that counts the CPU seconds that plans take."""

    def __init__(self, cache: PlanCache | None) -> None:
        super().__init__()
        self.cache, self.seconds = cache, 0.0

    def recall(self, problem: Problem, **options: Any) -> Recalled:
        """Return what the cache would, or what search finds."""
        began = time.thread_time()
        try:
            return Recalled(solve(problem, **options)) if self.cache is None else self.cache.recall(problem, **options)
        finally:
            self.seconds += time.thread_time() - began


@dataclass(frozen=True, slots=True)
class Errand:
    """What one run took."""

    succeeded: bool
    reading: int
    filling: int
    tokens: int
    seconds: float
    was_found: bool


def carried_out(sentences: Sequence[Sentence], *, references: bool, caches: bool) -> list[Errand]:
    """Return what each of `sentences` took, one after the other, each in a world of its own."""
    cache, readings = (PlanCache(), Readings()) if caches else (None, None)
    return [_errand(each, references, Timed(cache), readings) for each in sentences]


def _errand(sentence: Sentence, references: bool, timed: Timed, readings: Readings | None) -> Errand:  # noqa: FBT001
    simulated, model = world_for(sentence, references=references), KnowingModel(sentence)
    agent = Agent(
        simulated.world,
        simulated.problem,
        model=model,
        confirm=lambda _: True,
        approve=lambda _: True,
        cache=timed,
        readings=readings,
    )
    achieved = run_virtual(agent.achieve(sentence.say))
    result = achieved.proposal.result
    return Errand(
        achieved.succeeded,
        model.asked[Purpose.GOAL],
        model.asked[Purpose.FILL],
        model.usage.tokens,
        timed.seconds,
        result is not None and result.statistics.search == "cache",
    )


def savings_table(found: dict[str, list[Errand]]) -> str:
    """Return, for each way, what a run took on average."""
    rows = [
        [
            name,
            len(errands),
            sum(each.succeeded for each in errands),
            f"{mean(each.reading for each in errands):.2f}",
            f"{mean(each.filling for each in errands):.2f}",
            f"{mean(each.tokens for each in errands):,.0f}",
            f"{1000 * mean(each.seconds for each in errands):.1f}",
            sum(each.was_found for each in errands),
        ]
        for name, errands in found.items()
    ]
    return markdown(HEAD, rows)
