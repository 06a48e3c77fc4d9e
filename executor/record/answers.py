"""What answers to questions mean."""

from __future__ import annotations

from typing import Any, Final

from executor.record.events import Asked

YES: Final = "yes"
NO: Final = "no"
HAPPENED: Final = "it happened"
NOTHING: Final = "it did not happen"
RETRY: Final = "try again"
GIVE_UP: Final = "give up"


def meant(question: Asked, answer: Any) -> str | None:
    """Return which choice of `question` an answer is; None if it is none of them.

    True and "yes" are the first choice, False and "no" the second one; upper and lower case do not matter. Why an
    approval is refused may be said in any words.
    """
    if answer is True or answer is False:
        return question.choices[0 if answer else 1]
    if not isinstance(answer, str):
        return None
    said = answer.strip().casefold()
    names = {each.casefold(): each for each in question.choices} | {YES: question.choices[0], NO: question.choices[1]}
    if question.question.startswith("approve:"):
        return names.get(said, answer)
    return names.get(said)
