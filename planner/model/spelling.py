"""How the file of a domain spells its names: PDDL ignores case, and readers make all names lower-case.

Answers to people use the words of their file: `(at Truck1 depot)` for PDDL, `at(Truck1, depot)` for all else.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from planner.model.formulas import Atom, Not


class Spelling:
    """The words of the PDDL `texts` of a domain and its problem; they are only searched when somebody asks."""

    __slots__ = ("_texts", "_words")

    def __init__(self, texts: Iterable[str]) -> None:
        self._texts = tuple(texts)
        self._words: dict[str, str] | None = None

    def extend(self, text: str) -> Spelling:
        """Return the spelling of these texts and `text`, of which earlier ones count."""
        return Spelling((*self._texts, text))

    def word(self, name: str) -> str:
        """Return the first spelling of `name` in the texts; `name` itself if they do not have it."""
        if self._words is None:
            self._words = {}
            for text in self._texts:
                for word in _split_words(text):
                    self._words.setdefault(word.lower(), word)
        return self._words.get(name, name)

    def expression(self, words: Iterable[str]) -> str:
        """Return the PDDL expression of these names, such as `(at Truck1 depot)`."""
        return f"({' '.join(map(self.word, words))})"


def _split_words(text: str) -> Iterator[str]:
    """Yield the words of a PDDL text without its comments."""
    for line in text.splitlines():
        yield from line.partition(";")[0].replace("(", " ").replace(")", " ").replace("?", " ?").split()


def spell_fact(fact: Atom | Not, spelling: Spelling | None) -> str:
    """Return `fact`, or its negation, as the file writes it; without a `spelling`, in our own notation."""
    if spelling is None:
        return str(fact)
    if isinstance(fact, Not):
        assert isinstance(fact.part, Atom)
        return f"(not {spell_fact(fact.part, spelling)})"
    return spelling.expression((fact.predicate, *fact.args))
