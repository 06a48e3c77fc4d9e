"""A plan that goes through the steps that a model proposes for what no fact expresses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from executor.agent.missing import Missing, missing_in
from executor.agent.planning import searched
from executor.agent.reading.words import in_words
from executor.agent.unmodelled.answer import INSTRUCTIONS, Proposed, Serving
from executor.agent.unmodelled.landmarks import Landmark, landmarks, needed, placed, through
from executor.agent.vocabulary import present, vocabulary
from executor.errors import ModelError
from executor.language.allowance import Meter
from executor.language.checked import ROUNDS, TIMEOUT, answered
from executor.language.protocol import LanguageModel, Origin, Part, Purpose, Request
from executor.plans.action_plan import texts_of
from executor.searches import search_in_turn
from planner.budget import Budget
from planner.explain import unreachable_parts
from planner.model import Goal, Problem
from planner.plan import Result, Step
from planner.records import dataclass, field, replace

SECONDS = 5.0
"""How long it is looked why a step cannot be done, at most."""


@dataclass(frozen=True, slots=True)
class Improvised:
    """A plan through steps for parts of a request that no fact expresses; `problem` demands these steps.

    `left` are the parts that nothing serves, `missing` is what they lack, and `reason` says more, if there is more.
    """

    problem: Problem
    result: Result
    landmarks: tuple[Landmark, ...] = ()
    left: tuple[str, ...] = ()
    missing: tuple[Missing, ...] = ()
    thought: str = ""
    reason: str = ""
    serving: tuple[Serving, ...] = ()
    """What was proposed for each part."""

    @property
    def values(self) -> dict[int, Mapping[str, Any]]:
        """The values of data parameters that come with the steps, by place in the plan."""
        return {place: landmark.values for landmark, place in self._placed if landmark.values}

    @property
    def unverified(self) -> dict[str, tuple[str, ...]]:
        """The ground steps that serve each part, as texts."""
        (taken,) = texts_of([self._steps])
        found: dict[str, tuple[str, ...]] = {}
        for landmark, place in self._placed:
            found[landmark.part] = (*found.get(landmark.part, ()), taken[place])
        return found

    @property
    def _steps(self) -> tuple[Step, ...]:
        return self.result.plan.steps if self.result.plan is not None else ()

    @property
    def _placed(self) -> list[tuple[Landmark, int]]:
        return list(placed(self.landmarks, self._steps))


@dataclass(slots=True, eq=False)
class Improviser:
    """Asks a `model` for steps towards what no fact expresses, and plans through them; `time_limit` is for a search."""

    model: LanguageModel
    time_limit: float | None = 10.0
    rounds: int = ROUNDS
    timeout: float = TIMEOUT

    async def improvise(
        self,
        problem: Problem,
        parts: Sequence[str],
        sentence: str,
        *,
        meter: Meter | None = None,
        context: Sequence[Part] = (),
    ) -> Improvised:
        """Return a plan for `problem` through steps that serve `parts` of `sentence`, as far as such steps are had."""
        judge = _Judge(problem, tuple(parts), self.time_limit)
        request = _request(problem, parts, sentence, context)
        thought, reason, serving = "", "", list[Serving]()
        try:
            found = await answered(
                self.model, request, Proposed, check=judge, meter=meter, rounds=self.rounds, timeout=self.timeout
            )
            thought, serving = found.value.thought, found.value.parts
        except ModelError as error:
            judge.found, reason = [], str(error)
        result = judge.result if judge.found else None
        if result is None:
            result = await searched(problem, time_limit=self.time_limit)
        return _improvised(judge, result, serving, thought, reason)


async def improvised_again(
    problem: Problem, parts: Sequence[str], said: Proposed, time_limit: float | None
) -> Improvised:
    """Return a plan for `problem` through the steps that were `said` once to serve `parts`, without any model."""
    judge = _Judge(problem, tuple(parts), time_limit)
    wrong = await judge(said)
    result = judge.result if judge.found else None
    if result is None:
        result = await searched(problem, time_limit=time_limit)
    return _improvised(judge, result, said.parts, said.thought, "; ".join(wrong))


def _improvised(judge: _Judge, result: Result, serving: Sequence[Serving], thought: str, reason: str) -> Improvised:
    served = {each.part for each in judge.found}
    left = tuple([part for part in judge.parts if part not in served])
    lacking = {each.part: each.lacking for each in serving if each.lacking}
    missing = (*[Missing(lacking[part], (part,)) for part in left if part in lacking], *judge.missing)
    problem = through(judge.problem, judge.found)
    return Improvised(problem, result, tuple(judge.found), left, missing, thought, reason, tuple(serving))


def _request(problem: Problem, parts: Sequence[str], sentence: str, context: Sequence[Part]) -> Request:
    listed = "\n".join(f"- {part}" for part in parts)
    shown = (
        Part("What there is", vocabulary(problem)),
        Part("What holds now", present(problem.initial)),
        Part("The goal, as far as facts express it", in_words(problem)),
        *context,
        Part("What the user wants", sentence, Origin.USER),
        Part("The parts that no fact expresses", listed, Origin.USER),
    )
    return Request(Purpose.STEPS, INSTRUCTIONS, shown, Proposed)


@dataclass(slots=True, eq=False)
class _Judge:
    """Says what is wrong with proposed steps; keeps the plan through them, or what they lack."""

    problem: Problem
    parts: tuple[str, ...]
    time_limit: float | None
    found: list[Landmark] = field(default_factory=list)
    result: Result | None = None
    missing: tuple[Missing, ...] = ()

    async def __call__(self, answer: Proposed) -> list[str]:
        """Return mistakes, or else why no plan goes through the steps."""
        self.found, self.result, self.missing = [], None, ()
        wrong = [*self._amiss(answer)]
        found, mistakes = landmarks(self.problem, answer.parts)
        if wrong or mistakes:
            return [*wrong, *mistakes]
        if not found:
            return []
        result = await searched(through(self.problem, found), time_limit=self.time_limit)
        if result.has_plan:
            self.found, self.result = found, result
            return []
        return await search_in_turn(lambda: self._why_not(found, result))

    def _amiss(self, answer: Proposed) -> list[str]:
        told = [each.part for each in answer.parts]
        wrong = [f"{part!r} is none of the parts, word for word" for part in told if part not in self.parts]
        wrong += [f"{part!r} stands there more than once" for part in dict.fromkeys(told) if told.count(part) > 1]
        wrong += [f"nothing is said to {part!r}" for part in self.parts if part not in told]
        empty = [each.part for each in answer.parts if not (each.steps or each.lacking)]
        return wrong + [f"{part!r}: neither steps, nor what is lacking" for part in empty]

    def _why_not(self, found: Sequence[Landmark], result: Result) -> list[str]:
        """Return why no plan goes through all of `found`, and note what is missing."""
        said: list[str] = []
        for each in found:
            goal = replace(self.problem, goal=Goal(needed(self.problem, each)), constraints=(), budgets={})
            parts = unreachable_parts(replace(goal, deadline=None), Budget(SECONDS))
            lacks = tuple(missing_in(parts, self.problem.domain, (str(each), each.part)))
            self.missing += lacks
            said += [f"{each} can never be done: {'; '.join(map(str, lacks))}"] if parts else []
        return said or [f"no plan goes through these steps: {result.reason or result.status.value}"]
