"""A sentence, read: what it may mean as problems, each with what cannot be had and what has to be asked."""

from __future__ import annotations

from collections.abc import Awaitable, Collection, Mapping, Sequence
from typing import Any, Final

from executor.agent.reading.answer import INSTRUCTIONS, Meaning, Meanings
from executor.agent.reading.closed import chosen, is_small
from executor.agent.reading.objections import doubts_about, mistakes_in, types_asked
from executor.agent.reading.remembered import Readings, Remembered, key_of
from executor.agent.reading.wanted import wanted
from executor.agent.reading.words import in_words
from executor.agent.vocabulary import present, vocabulary
from executor.language.allowance import Meter
from executor.language.checked import ROUNDS, TIMEOUT, answered
from executor.language.protocol import LanguageModel, Origin, Part, Purpose, Request, Usage
from executor.searches import search_in_turn
from planner.budget import Budget
from planner.explain.unreachable import Unreachable
from planner.model import Problem
from planner.records import dataclass, field, replace

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
    meaning: Meaning | None = None
    """What the model said."""

    @property
    def is_plannable(self) -> bool:
        """Whether all of it can be planned for as it stands."""
        return not (self.unmodelled or self.unreachable or self.unknown)


@dataclass(frozen=True, slots=True)
class Understood:
    """What a sentence may mean: no reading where it asks for nothing, several where it is ambiguous.

    `meanings` is that as the model said it, under a `key` by which it may be remembered. `usage` is what reading it
    took, or had taken where it was remembered: then there were no `rounds`.
    """

    sentence: str
    readings: tuple[Reading, ...]
    thought: str = ""
    rounds: int = 1
    key: str = ""
    meanings: Meanings | None = None
    usage: Usage = Usage()
    from_tools: bool = False
    """Whether the model has seen what tools returned: then somebody has to confirm what it says, waived or not."""

    @property
    def is_remembered(self) -> bool:
        """Whether nobody had to read it."""
        return not self.rounds


@dataclass(slots=True, eq=False)
class Reader:
    """Reads sentences with a `model`; new objects of `open_types` are made, all others asked for.

    One that says that it is small chooses a fact (see `executor.agent.reading.closed`). What is `remembered` is not
    read again, unless something was said before.
    """

    model: LanguageModel
    open_types: Collection[str] = ()
    remembered: Readings | None = None
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
        before_that = tuple([part.text for part in context if part.origin is Origin.USER])
        judge, key = _Judge(sentence, problem, before_that), "" if context else key_of(request)
        known = self._known(judge, key)
        if known is not None:
            return self._understood(judge, known.meanings, 0, key, known.usage)
        meter = meter or Meter()
        before = meter.spent
        limits: dict[str, Any] = {"meter": meter, "rounds": self.rounds, "timeout": self.timeout}

        def check(said: Meanings) -> Awaitable[list[str]]:
            return search_in_turn(lambda: judge(said))  # it may look for a while whether a goal can be reached

        if is_small(self.model):
            found = await chosen(self.model, (*context, asked), problem, **limits)
        else:
            found = await answered(self.model, request, Meanings, check=check, **limits)
        spent = meter.spent - before
        understood = await search_in_turn(lambda: self._understood(judge, found.value, found.rounds, key, spent))
        return replace(understood, from_tools=found.from_tools)

    def again(self, sentence: str, problem: Problem, said: Meanings) -> Understood:
        """Return what `sentence` means in `problem` as it was `said` to mean; raises `InputError` where it cannot."""
        return self._understood(_Judge(sentence, problem), said, 0, "", Usage())

    def _known(self, judge: _Judge, key: str) -> Remembered | None:
        """Return what is remembered, if there is nothing wrong with it."""
        found = self.remembered.get(key) if self.remembered is not None and key else None
        wrong = found is not None and any(judge.mistakes(found.meanings))
        return None if wrong else found

    def _understood(self, judge: _Judge, said: Meanings, rounds: int, key: str, usage: Usage) -> Understood:
        readings = {each.words: each for each in (self._reading(judge, one) for one in said.meanings)}
        return Understood(judge.sentence, tuple(readings.values()), said.thought, rounds, key, said, usage)

    def _reading(self, judge: _Judge, meaning: Meaning) -> Reading:
        problem = wanted(judge.problem, meaning)
        return Reading(
            problem,
            in_words(problem),
            tuple(meaning.not_expressible),
            unreachable_in(problem),
            types_asked(meaning, self.open_types),
            tuple(doubts_about(judge.sentence, meaning)),
            meaning,
        )


@dataclass(slots=True, eq=False)
class _Judge:
    """Says what is wrong with an answer; what may be wrong, it says once. `before` is what the user said before."""

    sentence: str
    problem: Problem
    before: tuple[str, ...] = ()
    said: set[str] = field(default_factory=set)

    def __call__(self, answer: Meanings) -> list[str]:
        """Return mistakes, or else doubts that were not told yet."""
        found = self.mistakes(answer)
        if found:
            return found
        doubts = [each for one in answer.meanings for each in self._doubts(one) if each not in self.said]
        self.said.update(doubts)
        return doubts

    def mistakes(self, answer: Meanings) -> list[str]:
        """Return what cannot stay as it is."""
        words = "\n".join([*self.before, self.sentence])
        return [each for one in answer.meanings for each in mistakes_in(words, self.problem, one)]

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
