"""A sentence, read: what it may mean as problems, each with what cannot be had and what has to be asked."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Final

from executor.agent.reading.answer import INSTRUCTIONS, Meaning, Meanings
from executor.agent.reading.objections import doubts_about, mistakes_in, types_asked
from executor.agent.reading.wanted import wanted
from executor.agent.reading.words import in_words
from executor.agent.vocabulary import present, vocabulary
from executor.language.allowance import Meter
from executor.language.checked import ROUNDS, TIMEOUT, answered
from executor.language.protocol import LanguageModel, Origin, Part, Purpose, Request
from planner.budget import Budget
from planner.explain.unreachable import Unreachable
from planner.model import Problem
from planner.records import dataclass, field

SECONDS: Final = 5.0
"""How long it is looked whether a goal can be reached, at most."""


@dataclass(frozen=True, slots=True)
class Reading:
    """One thing that a sentence may mean: `problem` has the goal, `words` says it for people.

    `unmodelled` are parts of the sentence that no fact expresses, word for word. `unreachable` are parts of the goal
    that nothing gives, with the capabilities that are missing. `unknown` are objects that the sentence names and nobody
    knows, with their types: somebody has to say who or what is meant. `doubts` are what may be wrong with this reading.
    """

    problem: Problem
    words: str
    unmodelled: tuple[str, ...] = ()
    unreachable: tuple[Unreachable, ...] = ()
    unknown: Mapping[str, str] = field(default_factory=dict)
    doubts: tuple[str, ...] = ()

    @property
    def is_plannable(self) -> bool:
        """Whether all of it can be planned for as it stands."""
        return not (self.unmodelled or self.unreachable or self.unknown)


@dataclass(frozen=True, slots=True)
class Understood:
    """What a sentence may mean: no reading where it asks for nothing, several where it is ambiguous."""

    sentence: str
    readings: tuple[Reading, ...]
    thought: str = ""
    rounds: int = 1


@dataclass(slots=True, eq=False)
class Reader:
    """Reads sentences with a `model`; new objects of `open_types` are made, all others asked for."""

    model: LanguageModel
    open_types: Collection[str] = ()
    rounds: int = ROUNDS
    timeout: float = TIMEOUT

    async def read(
        self, sentence: str, problem: Problem, *, meter: Meter | None = None, context: Sequence[Part] = ()
    ) -> Understood:
        """Return what `sentence` may mean in `problem`, whose own goal does not count.

        `context` are further parts of the request, such as what was said before. Raises `NoAnswer` where the model
        gives nothing that can be read, and other errors of `executor.language.checked.answered`.
        """
        state = Part("What holds now", present(problem.initial))
        asked = Part("What the user wants", sentence, Origin.USER)
        parts = (Part("What there is", vocabulary(problem)), state, *context, asked)
        request = Request(Purpose.GOAL, INSTRUCTIONS, parts, Meanings)
        judge = _Judge(sentence, problem)
        found = await answered(
            self.model, request, Meanings, check=judge, meter=meter, rounds=self.rounds, timeout=self.timeout
        )
        readings = {each.words: each for each in (self._reading(judge, one) for one in found.value.meanings)}
        return Understood(sentence, tuple(readings.values()), found.value.thought, found.rounds)

    def _reading(self, judge: _Judge, meaning: Meaning) -> Reading:
        problem = wanted(judge.problem, meaning)
        return Reading(
            problem,
            in_words(problem),
            tuple(meaning.not_expressible),
            unreachable_in(problem),
            types_asked(meaning, self.open_types),
            tuple(doubts_about(judge.sentence, meaning)),
        )


@dataclass(slots=True, eq=False)
class _Judge:
    """Says what is wrong with an answer; what may be wrong, it says once."""

    sentence: str
    problem: Problem
    said: set[str] = field(default_factory=set)

    def __call__(self, answer: Meanings) -> list[str]:
        """Return mistakes, or else doubts that were not told yet."""
        found = [each for one in answer.meanings for each in mistakes_in(self.sentence, self.problem, one)]
        if found:
            return found
        doubts = [each for one in answer.meanings for each in self._doubts(one) if each not in self.said]
        self.said.update(doubts)
        return doubts

    def _doubts(self, meaning: Meaning) -> list[str]:
        unreachable = unreachable_in(wanted(self.problem, meaning))
        told = [
            f"{part.goal} cannot be reached: {'; '.join(map(str, part.missing))}. If another goal is meant, give that"
            for part in unreachable
        ]
        return [*doubts_about(self.sentence, meaning), *told]


def unreachable_in(problem: Problem) -> tuple[Unreachable, ...]:
    """Return the parts of the goal that nothing gives; none where that takes too long to find out."""
    from planner.explain import unreachable_parts  # noqa: PLC0415 - only where something was asked for

    return unreachable_parts(problem, Budget(SECONDS))
