"""What answers to questions mean."""

from __future__ import annotations

from typing import Any, Final

from executor.record.events import Asked
from executor.world.containment import shown

YES: Final = "yes"
NO: Final = "no"
HAPPENED: Final = "it happened"
NOTHING: Final = "it did not happen"
RETRY: Final = "try again"
GIVE_UP: Final = "give up"
FILL: Final = "fill:"
"""How questions for parameters begin."""


_YES: Final = frozenset({YES, "y", "true"})
_NO: Final = frozenset({NO, "n", "false"})


def meant(question: Asked, answer: Any) -> str | None:
    """Return which choice of `question` an answer is; None if it is none of them.

    True, "yes", "y" and "true" are the first choice, False, "no", "n" and "false" the second one; upper and lower case
    do not matter. Why an approval is refused may be said in any words, and parameters may be anything.
    """
    if is_filling(question):
        return shown(answer)
    if answer is True or answer is False:
        return question.choices[0 if answer else 1]
    if not issubclass(type(answer), str):
        return None
    said = answer.strip().casefold()
    for names, choice in zip((_YES, _NO), question.choices, strict=False):
        if said in names or said == choice.casefold():
            return choice
    return answer if is_approval(question) else None


def is_clear(question: Asked, answer: Any) -> bool:
    """Return whether nobody can take `answer` for another than it is meant to be: a refusal begins with "no"."""
    if is_filling(question):
        return True
    found = meant(question, answer)
    if found is None or found in question.choices:
        return found is not None
    said = found.strip().casefold()
    return said.startswith(NO) and not said[len(NO)].isalnum()


def is_approval(question: Asked) -> bool:
    """Return whether `question` asks for an approval."""
    return question.question.startswith("approve:")


def is_filling(question: Asked) -> bool:
    """Return whether `question` asks for the values of parameters."""
    return question.question.startswith(FILL)


def refusal(answer: Any, what: str) -> str:
    """Return why `answer`, by which `what` is given or refused, is no consent; nothing where it is."""
    said = answer.strip().casefold() if isinstance(answer, str) else ""
    if answer is True or said in _YES:
        return ""
    return f"{what} was refused: {answer}" if said and said not in _NO else f"{what} was refused"
