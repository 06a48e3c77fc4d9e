"""What is wrong with what a model takes a sentence to mean.

A *mistake* must be mended. A *doubt* is told once: a model that stays with its answer may be right, and a person
decides.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import Final

from executor.agent.reading.answer import Meaning
from executor.agent.reading.wanted import mistakes
from planner.model import Problem

NEGATION: Final = re.compile(
    r"\b(?:not|never|without|except|avoid|unless|no|none|nobody|nothing|neither|nor|cannot|\w+n['\u2019]t)\b",
    re.IGNORECASE,
)
"""Words that exclude something."""


def mistakes_in(sentence: str, problem: Problem, meaning: Meaning) -> Iterator[str]:
    """Yield what cannot stay as it is."""
    if meaning.is_empty:
        yield "a meaning asks for nothing: leave it out, or say what it asks for"
    for name, kind in meaning.new_objects.items():
        if any(each.name == name for each in problem.all_objects):
            yield f"{name!r} is listed already, and no new object"
        elif not _occurs(name.replace("_", " "), sentence) and not _occurs(name, sentence):
            yield f"the sentence does not name the new object {name!r}"
        elif kind not in problem.domain.types:
            yield f"there is no type {kind!r}; the types are {', '.join(problem.domain.types)}"
    for part in meaning.not_expressible:
        if not _occurs(part, sentence):
            yield f"{part!r} in not_expressible is not in the sentence, word for word"
    if all(kind in problem.domain.types for kind in meaning.new_objects.values()):
        yield from mistakes(problem, meaning)


def doubts_about(sentence: str, meaning: Meaning) -> Iterator[str]:
    """Yield what may be wrong."""
    found = NEGATION.search(sentence)
    left = " ".join(meaning.not_expressible)
    if found and not meaning.has_negation and not NEGATION.search(left):
        yield f"the sentence says {found[0]!r}, and nothing is excluded"


def _occurs(part: str, sentence: str) -> bool:
    return bool(part.strip()) and _plain(part) in _plain(sentence)


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())


def types_asked(meaning: Meaning, open_types: Collection[str]) -> dict[str, str]:
    """Return the new objects that may not simply be made, with their types."""
    return {name: kind for name, kind in meaning.new_objects.items() if kind not in open_types}
