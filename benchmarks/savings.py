"""`forethought bench savings`: what references between steps, caches of plans and kept readings save.

The errands are recorded sentences, some of which come much more often than others. Agents do them one after the other,
with and without references and caches, and with a language model that knows the right answer; calls, tokens and CPU
time of planning are counted.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from statistics import mean
from typing import Annotated, Any, Final

import typer

from benchmarks.report import format_table
from benchmarks.sentences.sentence_replay import Sentence, problem_of, read_sentences
from executor.agent.agent import Agent
from executor.agent.goal_reading.confirmed_readings import Readings
from executor.language_model.protocol import Purpose, Reply, Request, Usage
from executor.testing import SimulatedWorld, run_virtual
from executor.testing.model_doubles import reply_of
from executor.testing.simulated_handlers import sample, wanted_of
from planner import Problem, solve
from planner.cli.output import give, tell
from planner.lightweight import replace
from planner.reuse.plan_cache import PlanCache, Recalled


def savings(
    *,
    runs: Annotated[int, typer.Option("--runs", min=1, help="Number of errands.")] = 200,
    domain: Annotated[str, typer.Option("--domain", help="Use errands of this shipped domain only.")] = "",
    seed: Annotated[int, typer.Option("--seed", help="Seed of the draw.")] = 0,
) -> None:
    """Have agents repeat errands, and count model calls, tokens and planning time of a run."""
    known = {each.where.partition("/")[0] for each in read_sentences()}
    if domain and domain not in known:
        raise typer.BadParameter(f"there are {', '.join(sorted(known))}", param_hint="--domain")
    drawn = draw_errands(runs, seed, domain)
    tell(f"{len({each.say for each in drawn})} sentences in {runs} runs")
    found = {
        name: carry_out_errands(drawn, references=references, caches=caches)
        for name, (references, caches) in WAYS.items()
    }
    give(savings_table(found).rstrip())


def draw_errands(runs: int, seed: int, domain: str = "") -> list[Sentence]:
    """Return so many sentences that lead to a plan, of all domains or one: the k-th comes 1/k as often as the first."""
    rng = Random(f"errands {seed}")
    known = [
        each for each in read_sentences() if each.right_ends == "done" and not each.open and len(each.meanings) == 1
    ]
    known = [each for each in known if domain in ("", each.where.partition("/")[0])]
    rng.shuffle(known)
    return rng.choices(known, [1 / place for place in range(1, len(known) + 1)], k=runs)


def drop_references(problem: Problem) -> Problem:
    """Return `problem` in a domain whose data parameters come from no step's result: somebody has to fill them."""
    actions = {
        name: replace(action, data=tuple([replace(each, source=None, fixed=False) for each in action.data]))
        for name, action in problem.domain.actions.items()
    }
    return replace(problem, domain=replace(problem.domain, actions=actions))


def make_world(sentence: Sentence, *, references: bool) -> SimulatedWorld:
    """Return a new world for an errand; steps return the same, whether others refer to it or not."""
    problem = problem_of(sentence.where)
    if references:
        return SimulatedWorld(problem)
    simulated = SimulatedWorld(drop_references(problem))
    simulated.wanted = wanted_of(problem.domain)
    return simulated


class KnowingModel:
    """Answers to `sentence` as it is meant, and fills parameters with values of their types."""

    def __init__(self, sentence: Sentence) -> None:
        self._sentence = sentence
        self.asked: Counter[Purpose] = Counter()
        self.usage = Usage()

    async def answer(self, request: Request) -> Reply:
        """Return the right answer."""
        self.asked[request.purpose] += 1
        said = (
            {"meanings": self._sentence.right} if request.purpose is Purpose.GOAL else {"values": _make_values(request)}
        )
        reply = reply_of(request, said)
        self.usage += reply.usage
        return reply


def _make_values(request: Request) -> dict[str, Any]:
    """Return a value for each of the parameters that are to be filled."""
    wanted: Any = request.answer.model_fields["values"].annotation
    fields = wanted.model_fields.items()
    return {name: sample(each.annotation, f"{name}, as the user says") for name, each in fields}


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


class TimedCache(PlanCache):
    """Another cache of plans, or none, that counts the CPU seconds that plans take."""

    def __init__(self, cache: PlanCache | None) -> None:
        super().__init__()
        self.cache, self.seconds = cache, 0.0

    def recall(self, problem: Problem, **options: Any) -> Recalled:
        """Return the answer of the cache or of search, and count its CPU time."""
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


def carry_out_errands(sentences: Sequence[Sentence], *, references: bool, caches: bool) -> list[Errand]:
    """Carry out `sentences` one after the other, each in a world of its own, and return the cost of each."""
    cache, readings = (PlanCache(), Readings()) if caches else (None, None)
    return [_carry_out_errand(each, references, TimedCache(cache), readings) for each in sentences]


def _carry_out_errand(sentence: Sentence, references: bool, timed: TimedCache, readings: Readings | None) -> Errand:
    simulated, model = make_world(sentence, references=references), KnowingModel(sentence)
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
    return format_table(HEAD, rows)
