"""Interpret the answers to the questions of a run."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping
from typing import Any, Final

from executor.events.events import Asked, event_to_data
from executor.events.steps import StepRecord
from executor.plans.created_objects import name_of
from executor.tools.containment import quote_value
from executor.tools.json_data import data_of, dump_json
from executor.tools.results import ActionResult
from executor.tools.returned_values import FIELDS, result_of
from planner.errors import InputError, did_you_mean

YES: Final = "yes"
NO: Final = "no"
AGAIN: Final = "again"
"""Answer of a function that approves a step knowing that it was done before."""
SO: Final = "it is so already"
"""Answer to the question whether a step is to be done: its effect holds."""
UNDECIDED: Final = "whoever decides has raised"
"""Begins the reason of a step whose approval nobody has refused, as the callback that decides has raised."""
REFUSED: Final = "approval was refused"
"""Begins the reason of a step whose approval a person has refused."""
HAPPENED: Final = "it happened"
NOTHING: Final = "it did not happen"
RETRY: Final = "try again"
GIVE_UP: Final = "give up"
FILL: Final = "fill:"
"""Prefix of questions for parameters."""
DOUBT: Final = "doubt:"
"""Prefix of questions whether a step happened."""


def name_doubt(record: StepRecord) -> str:
    """Return the name of the question whether the latest attempt at a step happened."""
    return f"{DOUBT}{record.id}" + (f":{record.attempts}" if record.attempts > 1 else "")


_YES: Final = frozenset({YES, "y", "true", AGAIN})
_NO: Final = frozenset({NO, "n", "false"})
_REFUSALS: Final = _NO | {"refuse", "refused", "reject", "rejected"}
"""Choices of a waiting step that refuse it, in lower case."""


def interpret_answer(question: Asked, answer: Any) -> str | None:
    """Return the choice of `question` that an answer means; None if it means none.

    True, "yes", "y" and "true" mean the first choice, False, "no", "n" and "false" the second; case does not matter. An
    approval may be refused in any words, and parameters may be anything. The result of a step in doubt (see
    `read_told_result`) means that it happened; a step that creates objects requires one.
    """
    if is_filling(question):
        return quote_value(answer)
    if question.creates or question.question.startswith(DOUBT):
        return _interpret_doubt(question, answer)
    return _match_choice(question, answer)


def _interpret_doubt(question: Asked, answer: Any) -> str | None:
    """Return the choice that an answer means for a step in doubt; None if it lacks the created objects."""
    try:
        result = read_told_result(answer)
    except InputError:
        return None
    choice = _match_choice(question, answer) if result is None else HAPPENED if result.success else NOTHING
    created = {} if result is None else result.created
    return None if choice == HAPPENED and not created.keys() >= set(question.creates) else choice


def read_told_result(answer: Any) -> ActionResult | None:
    """Read an answer that is the result of a step; return None for any other answer.

    A result is an `ActionResult`, a mapping with its fields, or the JSON text of such a mapping. Only a mapping with
    `success` may have other fields. Raises `InputError` for an invalid mapping.
    """
    if issubclass(type(answer), str) and answer.lstrip().startswith("{"):
        try:
            answer = json.loads(answer)
        except ValueError as error:
            raise InputError(f"{quote_value(answer)} is no JSON: {error}") from None
    if issubclass(type(answer), ActionResult):
        return answer  # type: ignore[no-any-return]  # it is one
    if not issubclass(type(answer), Mapping):
        return None
    unknown = [] if "success" in answer else [name for name in answer if name not in FIELDS]
    if unknown:
        raise InputError(f"a result has no field {unknown[0]!r}", hint=did_you_mean(str(unknown[0]), sorted(FIELDS)))
    return result_of({"success": True, **answer})


def as_journal_data(answer: Any) -> Any:
    """Return an answer in the form that the journal keeps: a result as a mapping, with names of created objects."""
    if not issubclass(type(answer), ActionResult):
        return answer
    fields = {name: value for name, value in data_of(answer).items() if value and name not in ("metrics", "confidence")}
    created = {name: name_of(each) for name, each in answer.created.items()}
    return fields | {"success": answer.success} | ({"created": created} if created else {})


def _match_choice(question: Asked, answer: Any) -> str | None:
    """Return the choice of `question` that an answer means in words."""
    if answer is True or answer is False:
        return question.choices[0 if answer else 1]
    if not issubclass(type(answer), str):
        return None
    said = answer.strip().casefold()
    for names, choice in zip((_YES, _NO), question.choices, strict=False):
        if said in names or said == choice.casefold():
            return choice
    others = {each.casefold(): each for each in question.choices[2:]}
    return others.get(said, answer if may_be_refused_in_words(question) else None)


def ask_for_created(creates: Collection[str]) -> str:
    """Return the end of a question about a step in doubt which asks for the objects that it `creates`."""
    names = ", ".join(f'"{each}": …' for each in creates)
    return f' If so, say what it created: {{"created": {{{names}}}}}' if creates else ""


def is_clear(question: Asked, answer: Any) -> bool:
    """Return whether the meaning of `answer` is clear: a refusal in free words must begin with "no"."""
    if is_filling(question):
        return True
    found = interpret_answer(question, answer)
    if found is None or found in question.choices:
        return found is not None
    said = found.strip().casefold()
    return said.startswith(NO) and not said[len(NO)].isalnum()


def read_choice(record: StepRecord, result: ActionResult) -> ActionResult:
    """Return the `result` of a waiting step; one of its choices that means no is a failure that has done nothing."""
    wait, said = record.wait or {}, result.text
    if not (wait.get("choices") and result.success and said.strip().casefold() in _REFUSALS):
        return result
    return ActionResult.failed(f"{wait.get('text') or record.step}: the answer is {said!r}", text=said)


def describe_wait(record: StepRecord, questions: Mapping[str, Asked]) -> str:
    """Describe what a waiting step waits for, and how it goes on; `questions` are the open ones."""
    wait = record.wait or {}
    if "question" in wait:
        asked = questions.get(wait["question"])
        return f"{record.step} waits" + (f" for an answer: {asked.text}" if asked is not None else "")
    if "flight" in wait:
        return f"{record.step} waits: {describe_flight(wait)}"
    event, choices = wait.get("event"), wait.get("choices") or ()
    what = f" for the event {event!r}" if event else ""
    what += f": {wait['text']}" if wait.get("text") else ""
    if ends_by_clock(wait):
        return f"{record.step} waits{what} ({wait['seconds']:g} s)"
    what += f" ({' or '.join(choices)})" if choices else ""
    return f"{record.step} waits{what}; it goes on with results={{{record.id!r}: …}}"


def ends_by_clock(wait: Mapping[str, Any]) -> bool:
    """Return whether the time that a step waits for comes without anybody's answer."""
    return wait.get("seconds") is not None and not (wait.get("event") or wait.get("choices"))


def describe_flight(wait: Mapping[str, Any]) -> str:
    """Describe the irreversible step of another run for which a step waits, and where that goes on."""
    return str(wait.get("text") or "another run has begun it")


def check_meaning(question: Asked, answer: Any) -> None:
    """Raise `InputError`, with the valid answers, unless the meaning of `answer` is clear."""
    if not is_clear(question, answer):
        raise InputError(
            f"{quote_value(answer)} is no answer to {question.question!r}", hint=describe_answers(question)
        )


def describe_answers(question: Asked) -> str:
    """Describe the valid answers to a question."""
    if question.creates:
        names = ", ".join(f'"{each}": …' for each in question.creates)
        others = [each for each in question.choices if each != HAPPENED]
        return f'say {{"created": {{{names}}}}} where it happened, or else: {", ".join(others)}'
    why = ", or 'no: …' with the reason" if may_be_refused_in_words(question) else ""
    return f"say one of: {', '.join(question.choices)}{why}"


def identify_question(question: Asked) -> str:
    """Return a digest of all that `question` shows: whoever answers it has seen exactly that."""
    return hashlib.sha256(dump_json(event_to_data(question)).encode()).hexdigest()[:16]


def is_approval(question: Asked) -> bool:
    """Return whether `question` asks for an approval."""
    return question.question.startswith("approve:")


def may_be_refused_in_words(question: Asked) -> bool:
    """Return whether `question` asks whether a step may be done: a refusal may say why."""
    return is_approval(question) or question.question.startswith("again:")


def is_filling(question: Asked) -> bool:
    """Return whether `question` asks for the values of parameters."""
    return question.question.startswith(FILL)


def describe_refusal(answer: Any, what: str) -> str:
    """Return the reason why `answer` refuses `what`; an empty text if it consents."""
    said = answer.strip().casefold() if isinstance(answer, str) else ""
    if answer is True or said in _YES:
        return ""
    return f"{what} was refused: {answer}" if said and said not in _NO else f"{what} was refused"
