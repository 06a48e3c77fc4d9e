"""Read a sentence as goals: a language model's answer is parsed, type-checked and checked for reachability.

A small model, which can seldom write a goal, chooses one of the attainable facts.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Awaitable, Collection, Iterator, Mapping, Sequence
from itertools import islice, product
from typing import Any, Final, Literal

from pydantic import create_model

from executor.agent.describe_problem import describe_domain, describe_goal, describe_state
from executor.agent.goal_reading.confirmed_readings import Readings, Remembered, key_of
from executor.agent.goal_reading.goal_problem import INSTRUCTIONS as INSTRUCTIONS_READING
from executor.agent.goal_reading.goal_problem import Meaning, Meanings, apply_meaning, find_mistakes
from executor.background_searches import search_in_turn
from executor.language_model.checked_answers import ROUNDS, TIMEOUT, CheckedAnswer, ask_checked
from executor.language_model.protocol import Answer, LanguageModel, Meter, Origin, Part, Purpose, Request, Usage
from planner.explain.unreachable_goals import Unreachable
from planner.explain.unsolvability import find_unreachable_parts
from planner.lightweight import dataclass, field, replace
from planner.limits import Limits
from planner.model import Action, Atom, Predicate, Problem, TypeHierarchy
from planner.model.actions import positive_atoms
from planner.model.formulas import conjunction

_NEGATIONS: Final = {
    "English": r"""not|never|no|none|nobody|nothing|nowhere|neither|nor|cannot|\w+n['\u2019]t
        |(?:is|are|was|do|does|did|ca|wo|must)nt|without|unless|except\w*|exclu\w+|avoid\w*|skip\w*|omit\w*|ignor\w+
        |refrain\w*|prevent\w*|forbid\w*|instead\s+of|rather\s+than|other\s+than|in\s+place\s+of|apart\s+from|aside\s+from
        |but\s+for|(?:all|any|every)\w*\s+but|(?:leav\w+|left)\b.{0,200}\bout|keep\w*\b.{0,200}\b(?:from|off|out)""",
    "German": r"""nicht|nie|niemals|nimmer|nirgends?|nirgendwo|nichts|mitnichten|niemand\w*|kein\w*|weder|ohne
        |au(?:ß|ss)er|(?:an)?statt|anstelle|(?:ver)?meid\w+|unterlass\w*|verzicht\w*|überspring\w*|verhinder\w*
        |ausgenommen|aus\w*schl(?:ie|o)\w+|abgesehen\s+von|bis\s+auf|es\s+sei\s+denn|(?:aus|weg)(?:zu|ge)?lassen
        |l(?:a|ä)ss\w*\b.{0,200}\b(?:aus|weg)""",
    "French": r"""ne|n['\u2019]\w+|pas|jamais|aucune?s?|personne|rien|nulle?|ni|sans|sauf|hormis|[ée]vite\w*|au\s+lieu
        |plut[ôo]t|[àa]\s+moins|[àa]\s+part|emp[êe]che\w*|interdi\w*|omet\w*|saute\w*""",
    "Spanish": r"""nunca|jam[áa]s|nadie|nada|ning[úu]n\w*|tampoco|sin|excepto|salvo|menos|en\s+(?:lugar|vez)\s+de\w*
        |evit\w+|aparte\s+de\w*|s[áa]lt(?:a|e|ar|ate)""",
    "Italian": r"""non|mai|nessun\w*|niente|nulla|n[ée]|nemmeno|neanche|neppure|senza|tranne|eccetto|fuorch[ée]|invece
        |anzich[ée]|piuttosto|a\s+meno|a\s+parte|omett\w+""",
    "Portuguese": r"""n[ãa]o|ningu[ée]m|nenhum\w*|nem|sem|exceto|em\s+(?:lugar|vez)\s+d\w+|ao\s+inv[ée]s
        |pul(?:a|e|ar)""",
    "Dutch": r"""niet|nooit|niemand|niets|nergens|geen\w*|noch\b.{0,200}\bnoch|zonder|behalve|tenzij|(?:ver)?mijd\w*
        |in\s+plaats\s+van|uitgezonderd|overslaan|sla\w*\b.{0,200}\bover|laat\b.{0,200}\b(?:weg|achterwege)""",
}
"""Excluding words by language. An extra word costs a confirmation; a missing one may cost an unwanted action."""
NEGATION: Final = re.compile(rf"\b(?:{'|'.join(_NEGATIONS.values())})\b", re.IGNORECASE | re.VERBOSE | re.DOTALL)


def find_sentence_mistakes(sentence: str, problem: Problem, meaning: Meaning) -> Iterator[str]:
    """Yield the mistakes in `meaning` that the model has to correct."""
    if meaning.is_empty:
        yield "a meaning asks for nothing: leave it out, or say what it asks for"
    for name, kind in meaning.new_objects.items():
        if any(each.name == name for each in problem.all_objects):
            yield f"{name!r} is listed already, and no new object"
        elif not _occurs_in(name.replace("_", " "), sentence) and not _occurs_in(name, sentence):
            yield f"the sentence does not name the new object {name!r}"
        elif kind not in problem.domain.types:
            yield f"there is no type {kind!r}; the types are {', '.join(problem.domain.types)}"
    for part in meaning.not_expressible:
        if not _occurs_in(part, sentence):
            yield f"{part!r} in not_expressible is not in the sentence, word for word"
    if all(kind in problem.domain.types for kind in meaning.new_objects.values()):
        yield from find_mistakes(problem, meaning)


def find_doubts(sentence: str, meaning: Meaning) -> Iterator[str]:
    """Yield a doubt where `sentence` excludes something, and `meaning` neither excludes nor sets aside anything."""
    rest = unicodedata.normalize("NFC", sentence)
    for part in filter(str.strip, meaning.not_expressible):
        words = r"\s+".join(map(re.escape, unicodedata.normalize("NFC", part).split()))
        rest = re.sub(rf"(?<!\w){words}(?!\w)", " ", rest, flags=re.IGNORECASE)
    found = NEGATION.search(rest)
    if found and not meaning.has_negation:
        yield f"the sentence says {found[0]!r}, and nothing is excluded"


def _occurs_in(part: str, sentence: str) -> bool:
    return bool(part.strip()) and _normalise(part) in _normalise(sentence)


def _normalise(text: str) -> str:
    return " ".join(text.casefold().split())


MOST: Final = 60
"""Most choices in one question; with more facts, the model chooses a predicate first."""
CHOICE_SECONDS: Final = 5.0
"""Time limit of the search for attainable facts, in seconds."""
NONE: Final = "none of these"
INSTRUCTIONS: Final = "Choose the fact that the user wants to be true."


class SmallAnswer(Answer):
    """The answer of a small model: one of the choices, without a reason."""

    thought: Literal[""] = ""


def is_small(model: LanguageModel) -> bool:
    """Return whether `model` declares itself small (`is_small`)."""
    return getattr(model, "is_small", False) is True


async def choose_fact(
    model: LanguageModel, said: Sequence[Part], problem: Problem, **limits: Any
) -> CheckedAnswer[Meanings]:
    """Let `model` choose the fact that the user wants, or none; `said` are the user's words.

    `limits` are those of `executor.language_model.checked_answers.ask_checked`, whose errors are raised.
    """
    facts = find_attainable_facts(problem)
    if len(facts) > MOST:
        predicates = {fact.predicate: _describe_predicate(fact.predicate, problem) for fact in facts}
        found = await _ask_choice(model, said, predicates, limits)
        facts = [fact for fact in facts if fact.predicate == found.value]
    offered = {str(fact): _describe_predicate(fact.predicate, problem) for fact in islice(facts, MOST)}
    answer = await _ask_choice(model, said, offered, limits)
    meanings = [] if answer.value == NONE else [{"goal": [answer.value]}]
    return CheckedAnswer(Meanings.model_validate({"meanings": meanings}), answer.rounds, answer.from_tools)


async def _ask_choice(
    model: LanguageModel, said: Sequence[Part], choices: dict[str, str], limits: dict[str, Any]
) -> CheckedAnswer[Any]:
    """Ask which of `choices`, given with their descriptions, is meant."""
    names: Any = Literal[(*choices, NONE)]
    kind = create_model("Choice", __base__=SmallAnswer, goal=(names, ...))
    listed = "\n".join(f"- {name}{f': {about}' if about else ''}" for name, about in choices.items())
    request = Request(Purpose.GOAL, INSTRUCTIONS, (Part("The choices", listed), *said), kind)
    found = await ask_checked(model, request, kind, **limits)
    goal: Any = getattr(found.value, "goal")  # noqa: B009 - a field that is made above
    return CheckedAnswer(goal, found.rounds, found.from_tools)


def find_attainable_facts(problem: Problem) -> list[Atom]:
    """Return the false facts of `problem` that its actions may make true, by predicate."""
    domain, holds = problem.domain, set(problem.initial)
    provided = {name for action in domain.actions.values() for name in _provided_predicates(action)}
    wanted = [domain.predicates[name] for name in domain.predicates if name in provided | domain.derived]
    found = [fact for each in wanted for fact in _instances(each, problem) if fact not in holds]
    goal = replace(problem.goal, hard=conjunction(found), soft=())
    parts = find_unreachable_parts(
        replace(problem, goal=goal, constraints=(), budgets={}, deadline=None), Limits(CHOICE_SECONDS)
    )
    hopeless = {str(part.goal) for part in parts}
    return [fact for fact in found if str(fact) not in hopeless]


def _instances(predicate: Predicate, problem: Problem) -> Iterator[Atom]:
    """Yield the facts of `predicate` about the objects of `problem`."""
    hierarchy = TypeHierarchy(problem.domain.types)
    fitting = [
        [each.name for each in problem.all_objects if hierarchy.is_a(each.types, parameter.types)]
        for parameter in predicate.parameters
    ]
    for args in islice(product(*fitting), MOST * MOST):
        yield Atom(predicate.name, args)


def _provided_predicates(action: Action) -> set[str]:
    return {atom.predicate for when in action.effects for atom in positive_atoms(when.provides)}


def _describe_predicate(predicate: str, problem: Problem) -> str:
    """Return the description of a predicate, or else of an action that provides it."""
    declared = problem.domain.predicates[predicate].description
    providers = (
        each.description for each in problem.domain.actions.values() if predicate in _provided_predicates(each)
    )
    return " ".join((declared or next(providers, "")).split())


SECONDS: Final = 5.0
"""Time limit of the check whether a goal is reachable, in seconds."""


@dataclass(frozen=True, slots=True)
class Reading:
    """One meaning of a sentence: `problem` has the goal, in `words` for people.

    `unmodelled` are parts of the sentence that no fact expresses, word for word. `unreachable` are parts of the goal
    that no action can provide, with the missing capabilities. `unknown` are unknown objects in the sentence, with their
    types: a person has to say what is meant. `doubts` are reasons why this reading may be wrong.
    """

    problem: Problem
    words: str
    unmodelled: tuple[str, ...] = ()
    unreachable: tuple[Unreachable, ...] = ()
    unknown: Mapping[str, str] = field(default_factory=dict)
    doubts: tuple[str, ...] = ()
    meaning: Meaning | None = None
    """The model's statement of the meaning."""

    @property
    def is_plannable(self) -> bool:
        """Whether all of it can be planned for."""
        return not (self.unmodelled or self.unreachable or self.unknown)


@dataclass(frozen=True, slots=True)
class SentenceReadings:
    """The readings of a sentence: none where it asks for nothing, several where it is ambiguous.

    `meanings` is the model's answer, remembered under `key`. `usage` is the usage of the model for it; a remembered
    answer has 0 `rounds`.
    """

    sentence: str
    readings: tuple[Reading, ...]
    thought: str = ""
    rounds: int = 1
    key: str = ""
    meanings: Meanings | None = None
    usage: Usage = Usage()
    from_tools: bool = False
    """Whether the model has seen results of tools: then a person has to confirm the goal, waived or not."""

    @property
    def is_remembered(self) -> bool:
        """Whether the readings come from memory."""
        return not self.rounds


@dataclass(slots=True, eq=False)
class SentenceReader:
    """Reads sentences with a `model`; names new objects of `open_types`, and asks about all others.

    A small model chooses a fact (see `choose_fact`). Sentences with `remembered` readings are not read again, unless
    there are earlier turns.
    """

    model: LanguageModel
    open_types: Collection[str] = ()
    remembered: Readings | None = None
    rounds: int = ROUNDS
    timeout: float = TIMEOUT

    async def read(
        self, sentence: str, problem: Problem, *, meter: Meter | None = None, context: Sequence[Part] = ()
    ) -> SentenceReadings:
        """Read `sentence` in the state of `problem`, whose own goal does not count.

        `context` are further parts of the request, such as earlier turns. Raises `NoAnswer` where no answer of the
        model is valid, and other errors of `executor.language_model.checked_answers.ask_checked`.
        """
        state = Part("What holds now", describe_state(problem.initial))
        asked = Part("What the user wants", sentence, Origin.USER)
        parts = (Part("What there is", describe_domain(problem)), state, *context, asked)
        request = Request(Purpose.GOAL, INSTRUCTIONS_READING, parts, Meanings)
        before_that = tuple([part.text for part in context if part.origin is Origin.USER])
        judge, key = _ReadingChecker(sentence, problem, before_that), "" if context else key_of(request)
        known = self._recall(judge, key)
        if known is not None:
            return self._make_understood(judge, known.meanings, 0, key, known.usage)
        meter = meter or Meter()
        before = meter.spent
        limits: dict[str, Any] = {"meter": meter, "rounds": self.rounds, "timeout": self.timeout}

        def check(said: Meanings) -> Awaitable[list[str]]:
            return search_in_turn(lambda: judge(said))  # it may look for a while whether a goal can be reached

        if is_small(self.model):
            found = await choose_fact(self.model, (*context, asked), problem, **limits)
        else:
            found = await ask_checked(self.model, request, Meanings, check=check, **limits)
        spent = meter.spent - before
        understood = await search_in_turn(lambda: self._make_understood(judge, found.value, found.rounds, key, spent))
        return replace(understood, from_tools=found.from_tools)

    def reread(self, sentence: str, problem: Problem, said: Meanings) -> SentenceReadings:
        """Apply the meanings `said` of `sentence` to `problem`; raises `InputError` where that is impossible."""
        return self._make_understood(_ReadingChecker(sentence, problem), said, 0, "", Usage())

    def _recall(self, judge: _ReadingChecker, key: str) -> Remembered | None:
        """Return the remembered readings, if they are still valid."""
        found = self.remembered.get(key) if self.remembered is not None and key else None
        wrong = found is not None and any(judge.mistakes(found.meanings))
        return None if wrong else found

    def _make_understood(
        self, judge: _ReadingChecker, said: Meanings, rounds: int, key: str, usage: Usage
    ) -> SentenceReadings:
        readings = {each.words: each for each in (self._make_reading(judge, one) for one in said.meanings)}
        return SentenceReadings(judge.sentence, tuple(readings.values()), said.thought, rounds, key, said, usage)

    def _make_reading(self, judge: _ReadingChecker, meaning: Meaning) -> Reading:
        problem = apply_meaning(judge.problem, meaning)
        return Reading(
            problem,
            describe_goal(problem),
            tuple(meaning.not_expressible),
            find_unreachable(problem),
            {name: kind for name, kind in meaning.new_objects.items() if kind not in self.open_types},
            tuple(find_doubts(judge.sentence, meaning)),
            meaning,
        )


@dataclass(slots=True, eq=False)
class _ReadingChecker:
    """Finds mistakes in an answer, and reports each doubt once. `before` are earlier turns of the user."""

    sentence: str
    problem: Problem
    before: tuple[str, ...] = ()
    said: set[str] = field(default_factory=set)

    def __call__(self, answer: Meanings) -> list[str]:
        """Return mistakes, or else new doubts."""
        found = self.mistakes(answer)
        if found:
            return found
        doubts = [each for one in answer.meanings for each in self._find_new_doubts(one) if each not in self.said]
        self.said.update(doubts)
        return doubts

    def mistakes(self, answer: Meanings) -> list[str]:
        """Return the mistakes that have to be corrected."""
        words = "\n".join([*self.before, self.sentence])
        return [each for one in answer.meanings for each in find_sentence_mistakes(words, self.problem, one)]

    def _find_new_doubts(self, meaning: Meaning) -> list[str]:
        unreachable = find_unreachable(apply_meaning(self.problem, meaning))
        told = [
            f"{part.goal} cannot be reached: {'; '.join(map(str, part.missing))}. If another goal is meant, give that"
            for part in unreachable
        ]
        return [*find_doubts(self.sentence, meaning), *told]


def find_unreachable(problem: Problem) -> tuple[Unreachable, ...]:
    """Find the parts of the goal that no action can provide; none where the time limit ends the check."""
    return find_unreachable_parts(problem, Limits(SECONDS))
