"""Interpret the answers to the questions of a run, which are of one kind: an `Asked`, whose name says what it is about.

`approve:STEP` asks whether a step may be done with these values, `fill:STEP` for missing values, `doubt:STEP` whether a
step happened, and `wait:STEP` for what a begun step waits for: a choice, an event, or any other result.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from executor.events.events import Asked, Purpose, event_to_data
from executor.events.steps import StepRecord
from executor.plans.created_objects import name_of
from executor.tools.containment import call_or_else, quote_value
from executor.tools.json_data import data_of, dump_json
from executor.tools.results import ActionResult
from executor.tools.returned_values import FIELDS, result_of
from planner.errors import InputError, did_you_mean
from planner.lightweight import replace

YES: Final = "yes"
NO: Final = "no"
AGAIN: Final = "again"
"""Answer of a function that approves a step knowing that it was done before."""
SO: Final = "it is so already"
"""Answer to the question whether a step is to be done: its effect holds."""
UNDECIDED: Final = "whoever decides has said neither yes nor no"
"""Begins the reason of a step whose approval nobody has refused: a callback has raised, or its values do not fit."""
REFUSED: Final = "approval was refused"
"""Begins the reason of a step whose approval a person has refused."""
HAPPENED: Final = "it happened"
NOTHING: Final = "it did not happen"
RETRY: Final = "try again"
GIVE_UP: Final = "give up"
FILL: Final = "fill:"
"""Prefix of questions for parameters."""
APPROVE: Final = "approve:"
"""Prefix of questions for approvals."""
DOUBT: Final = "doubt:"
"""Prefix of questions whether a step happened."""
REPEAT: Final = "again:"
"""Prefix of questions whether a step is to be done though it, or something for the same, was done before."""
FLIGHT: Final = "flight:"
"""Prefix of questions whether a step of another run happened."""
WAIT: Final = "wait:"
"""Prefix of questions for what a begun step waits for."""


def name_approval(step: str) -> str:
    """Return the name of the question whether a step may be done."""
    return f"{APPROVE}{step}"


def name_doubt(record: StepRecord) -> str:
    """Return the name of the question whether the latest attempt at a step happened."""
    return _name_attempt(DOUBT, record.id, record.attempts)


def name_wait(step: str, attempt: int) -> str:
    """Return the name of the question for what an attempt at a step waits for."""
    return _name_attempt(WAIT, step, attempt)


def _name_attempt(prefix: str, step: str, attempt: int) -> str:
    return f"{prefix}{step}" + (f":{attempt}" if attempt > 1 else "")


_YES: Final = frozenset({YES, "y", "true", AGAIN})
_NO: Final = frozenset({NO, "n", "false"})
_REFUSALS: Final = _NO | {"refuse", "refused", "reject", "rejected"}
"""Answers that refuse a waiting step, in lower case."""
_NO_PATTERN: Final = "^[nN][oO](:|$)"
"""Texts that refuse, perhaps with a reason."""
_CHOSEN: Final = ("answer", "choice")
"""Fields of a form in which a choice may stand."""


def interpret_answer(question: Asked, answer: Any) -> str | None:
    """Return the choice of `question` that an answer means; None if it means none.

    True, "yes", "y" and "true" mean the first choice, False, "no", "n" and "false" the second; case does not matter. An
    approval may be refused in any words, and parameters may be anything. The result of a step in doubt (see
    `read_told_result`) means that it happened; a step that creates objects requires one. An approval with values, such
    as `{"values": {"amount": 20}}`, means the first choice.
    """
    if is_filling(question):
        return quote_value(answer)
    if question.creates or question.question.startswith(DOUBT):
        return _interpret_doubt(question, answer)
    return _match_choice(question, read_decision(answer) if is_approval(question) else answer)


def read_decision(answer: Any) -> Any:
    """Return the decision in an answer to an approval, which may change values as `{"values": {"amount": 20}}` does."""
    given = read_approved_form(answer)
    return answer if given is None else given.get("answer", YES)


def read_changes(answer: Any) -> dict[str, Any]:
    """Return the values that an answer to an approval changes, by name."""
    values = (read_approved_form(answer) or {}).get("values", {})
    return {str(name): each for name, each in values.items()}


def read_approved_form(answer: Any) -> Mapping[Any, Any] | None:
    """Return an answer to an approval that is a form with values; None for any other."""
    given = read_mapping(answer)
    is_form = given is not None and given.keys() <= {"answer", "values"} and "values" in given
    return given if is_form and given is not None and issubclass(type(given["values"]), Mapping) else None


def read_filled_values(names: Sequence[str], answer: Any) -> dict[str, Any]:
    """Return the values in an answer to a question for the parameters `names`: by name, or that of the only one."""
    given = read_mapping(answer)
    if given is None or (len(names) == 1 and given.keys().isdisjoint(names)):
        return dict.fromkeys(names[:1], answer)
    return {str(name): each for name, each in given.items()}


def read_mapping(answer: Any) -> Mapping[Any, Any] | None:
    """Return an answer that is a mapping, or the JSON text of one; None for any other."""
    if issubclass(type(answer), str) and answer.lstrip().startswith("{"):
        try:
            answer = json.loads(answer)
        except ValueError:
            return None
    return answer if issubclass(type(answer), Mapping) else None


def _interpret_doubt(question: Asked, answer: Any) -> str | None:
    """Return the choice that an answer means for a step in doubt; None if it lacks the created objects."""
    try:
        if read_mapping(answer) == {}:  # it tells nothing
            return None
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
    if issubclass(type(answer), ActionResult):
        return answer  # type: ignore[no-any-return]  # it is one
    given = read_mapping(answer)
    if given is None and issubclass(type(answer), str) and answer.lstrip().startswith("{"):
        raise InputError(f"{quote_value(answer)} is no JSON")
    if given is None:
        return None
    unknown = [] if "success" in given else [name for name in given if name not in FIELDS]
    if unknown:
        raise InputError(f"a result has no field {unknown[0]!r}", hint=did_you_mean(str(unknown[0]), sorted(FIELDS)))
    return result_of({"success": True, **given})


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
    try:
        check_meaning(question, answer)
    except InputError:
        return False
    return True


def check_meaning(question: Asked, answer: Any) -> None:
    """Raise `InputError`, with the valid answers, unless the meaning of `answer` is clear."""
    if is_wait(question):
        read_wait_answer(question, answer)
        return
    _check_values(question, answer)
    if is_filling(question):
        return
    found = interpret_answer(question, answer)
    said = "" if found is None else found.strip().casefold()
    if found is None or not (found in question.choices or (said.startswith(NO) and not said[len(NO)].isalnum())):
        raise InputError(
            f"{quote_value(answer)} is no answer to {question.question!r}", hint=describe_answers(question)
        )


def _check_values(question: Asked, answer: Any) -> None:
    """Raise `InputError` for a value in an answer that the question does not ask for."""
    if is_filling(question):
        given = read_filled_values(list(question.values), answer)
    else:
        given = read_changes(answer) if is_approval(question) else {}
    unknown = next((name for name in given if name not in question.values), None)
    if unknown is not None and (question.values or is_approval(question)):
        hint = f"it has {', '.join(question.values)}" if question.values else "it shows none that could be changed"
        raise InputError(f"{question.question!r} has no value {unknown!r}", hint=hint)
    wrong = next((name for name, each in given.items() if not _may_be(question.values.get(name, {}), each)), None)
    if wrong is not None:
        choices, kind = question.values[wrong].get("enum"), question.values[wrong].get("type")
        hint = f"say one of: {', '.join(map(str, choices))}" if choices else f"it is of the type {kind}"
        found = f"{quote_value(answer)} is no answer to {question.question!r}"
        raise InputError(f"{found}: {wrong!r} cannot be {quote_value(given[wrong])}", hint=hint)


def _may_be(schema: Mapping[str, Any], value: Any) -> bool:
    """Return whether a value may be of a plain type, as the run itself converts it: a number in a text is one."""
    if "enum" in schema and not isinstance(value, bool):
        return str(value) in map(str, schema["enum"])
    if schema.get("type") not in ("integer", "number") or isinstance(value, bool):
        return True
    number = call_or_else(lambda: float(value), math.nan)
    return not math.isnan(number) and (schema["type"] == "number" or number.is_integer())


def make_wait_question(record: StepRecord, purpose: Purpose) -> Asked:
    """Make the question for what a step waits for that has begun."""
    wait = record.wait or {}
    event, choices = wait.get("event"), tuple(wait.get("choices") or ())
    text = wait.get("text") or (f"Has {event!r} come?" if event else f"What is the result of {record.step}?")
    limits = [wait[each] for each in ("seconds", "deadline") if wait.get(each) is not None]
    until = record.since + min(limits) if limits else None
    known = (f"{record.step} waits" + (f" for the event {event!r}" if event else ""),)
    name = name_wait(record.id, record.attempts)
    return Asked(name, record.id, text, choices, known, purpose, until=until)


def find_wait_answer(answers: Mapping[str, Any], step: str, attempt: int) -> Any:
    """Return the latest of the `answers` for which attempts at a step before this one have waited; None if none has."""
    names = [name_wait(step, number) for number in range(attempt - 1, 0, -1)] if answers else []
    return next((answers[name] for name in names if name in answers), None)


def asks_for_wait(record: StepRecord) -> bool:
    """Return whether somebody's answer ends the wait of a begun step: no answer to begin it, and no timer."""
    return record.takes_result and not ends_by_clock(record.wait or {})


def read_wait_answer(question: Asked, answer: Any, wait: Mapping[str, Any] | None = None) -> ActionResult:
    """Read the answer to what a step waits for as its result; a refusal is a failure that has done nothing.

    The `wait` of the step says what its choices mean. Raises `InputError` for an answer that is no result, and for none
    of the choices.
    """
    told, wait = read_outside_result(answer), wait or {}
    said = find_refusal(question, answer, wait)
    if said is not None:
        return ActionResult.failed(f"{question.text}: the answer is {quote_value(said)}", text=str(said))
    if not question.choices or not (told.success or answer is False):
        return told
    choice = _find_choice(question, answer, told)
    if choice is None:
        others = [] if any(map(is_refusal, question.choices)) else ["or no"]
        hint = f"say one of: {', '.join([*question.choices, *others])}"
        raise InputError(f"{quote_value(answer)} is no answer to {question.question!r}", hint=hint)
    data = choice if told.data is None or not told.success or _is_said(told.data, choice) else told.data
    observed = told.observed + tuple(_list_facts(choice, wait.get("choices")))
    return replace(told, success=True, error="", text=choice, data=data, observed=observed)


def find_refusal(question: Asked, answer: Any, wait: Mapping[str, Any]) -> Any:
    """Return the words in an answer that refuse a waiting step; None for an answer that does not.

    A choice does not refuse it that means facts, or with which its handler goes on.
    """
    told = read_outside_result(answer)
    if not (told.success or answer is False):  # it is the result of a failure
        return None
    choice = _find_choice(question, answer, told)
    is_meant = isinstance(wait.get("choices"), Mapping) or wait.get("goes_on")
    said = [] if choice is not None and is_meant else _list_said(answer, told)
    found = next((each for each in said if is_refusal(each)), None)
    return found if choice is None or is_refusal(choice) else None


def _find_choice(question: Asked, answer: Any, told: ActionResult) -> str | None:
    """Return the choice in an answer; "no: …" with a reason is the choice that means no."""
    said = [NO if is_refusal(each) and each is not False else each for each in _list_said(answer, told)]
    return next(filter(None, [match_choice(question.choices, each) for each in said]), None)


def read_outside_result(answer: Any) -> ActionResult:
    """Read a result from outside: a mapping of fields of a result is one, also without `success`."""
    if not issubclass(type(answer), Mapping):
        return result_of(answer)
    if not answer:
        raise InputError("an empty mapping says nothing about the step", hint='write {"success": True}')
    is_result = all(name in FIELDS for name in answer)
    return result_of({"success": not answer.get("error"), **answer} if is_result else answer)


def _list_said(answer: Any, told: ActionResult) -> list[Any]:
    """List the values of an answer in which a choice or a refusal may stand, the likeliest first."""
    if _is_form(answer):
        return list(answer.values())
    return [told.text, told.data] if issubclass(type(answer), Mapping | ActionResult) else [answer]


def _is_form(answer: Any) -> bool:
    """Return whether an answer is a form whose only field is the answer."""
    return issubclass(type(answer), Mapping) and len(answer) == 1 and next(iter(answer)) in _CHOSEN


def _is_said(data: Any, choice: str) -> bool:
    """Return whether the data of a result are nothing but its choice."""
    return _is_form(data) or match_choice([choice], data) is not None


def match_choice(choices: Collection[str], said: Any) -> str | None:
    """Return the one of `choices` that is `said`, as a text in any case, as a number, or as yes or no."""
    if said is True or said is False:
        words = _YES if said else _REFUSALS
        return next((each for each in choices if each.strip().casefold() in words), None)
    if not issubclass(type(said), str | int):
        return None
    folded = str(said).strip().casefold()
    same = next((each for each in choices if each.strip().casefold() == folded), None)
    words = next((each for each in (_YES, _NO) if folded in each), frozenset())
    return same or next((each for each in choices if each.strip().casefold() in words), None)


def _list_facts(choice: str, meanings: Any) -> list[str]:
    """List the facts that a choice means; those that only other choices mean are false."""
    if not isinstance(meanings, Mapping):
        return []
    own = list(meanings.get(choice, ()))
    others = dict.fromkeys(each for name, facts in meanings.items() if name != choice for each in facts)
    return [*own, *[_negate(each) for each in others if each not in own and _negate(each) not in own]]


def _negate(fact: str) -> str:
    return fact.removeprefix("not ") if fact.startswith("not ") else f"not {fact}"


def is_refusal(answer: Any) -> bool:
    """Return whether an answer means no: in one word, or as "no: …" with the reason."""
    if answer is False:
        return True
    said = answer.strip().casefold() if issubclass(type(answer), str) else ""
    return said in _REFUSALS or said.startswith(f"{NO}:")


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
    return f"{record.step} waits{what}; it goes on with answers={{{name_wait(record.id, record.attempts)!r}: …}}"


def ends_by_clock(wait: Mapping[str, Any]) -> bool:
    """Return whether the time that a step waits for comes without anybody's answer."""
    return wait.get("seconds") is not None and not (wait.get("event") or wait.get("choices"))


def describe_flight(wait: Mapping[str, Any]) -> str:
    """Describe the irreversible step of another run for which a step waits, and where that goes on."""
    return str(wait.get("text") or "another run has begun it")


def describe_answers(question: Asked) -> str:
    """Describe the valid answers to a question."""
    if not question.choices:
        return f"give {', '.join(question.values) or 'the result of the step'}"
    if question.creates:
        names = ", ".join(f'"{each}": …' for each in question.creates)
        others = [each for each in question.choices if each != HAPPENED]
        return f'say {{"created": {{{names}}}}} where it happened, or else: {", ".join(others)}'
    why = ", or 'no: …' with the reason" if may_be_refused_in_words(question) else ""
    why += ', or {"values": {…}} to approve other values' if is_approval(question) and question.values else ""
    return f"say one of: {', '.join(question.choices)}{why}"


def form_of(question: Asked) -> dict[str, Any]:
    """Return the JSON schema of the answers to a question; whoever is asked may say yes and no in other words, too."""
    values = {"type": "object", "properties": dict(question.values), "additionalProperties": False}
    if is_filling(question):
        return values | {"required": list(question.values)}
    if is_wait(question):
        refusal: dict[str, Any] = {"type": "string", "pattern": _NO_PATTERN}
        return {"anyOf": [{"enum": list(question.choices)}, refusal]} if question.choices else {}
    choices = [each for each in question.choices if each != HAPPENED or not question.creates]
    forms: list[dict[str, Any]] = [{"enum": choices}]
    if may_be_refused_in_words(question):
        forms.append({"type": "string", "pattern": _NO_PATTERN})
    if is_approval(question) and question.values:
        edited = {"answer": {"enum": list(question.choices)}, "values": values}
        forms.append({"type": "object", "properties": edited, "required": ["values"], "additionalProperties": False})
    if question.question.startswith((DOUBT, FLIGHT)):
        created = {"type": "object", "required": list(question.creates)}
        needed = ["created"] if question.creates else []
        result = {"type": "object", "minProperties": 1, "properties": {"created": created}, "required": needed}
        forms.append(result)
    return forms[0] if len(forms) == 1 else {"anyOf": forms}


def describe_question(question: Asked) -> dict[str, Any]:
    """Return a question as JSON-ready data, as every door lists it."""
    names = ("question", "step", "text", "choices", "known", "creates", "purpose", "until")
    found = {name: getattr(question, name) for name in names}
    found = {name: list(each) if isinstance(each, tuple) else each for name, each in found.items()}
    return {name: each for name, each in found.items() if each or name in {"step", "choices", "known"}} | {
        "form": form_of(question)
    }


def identify_question(question: Asked) -> str:
    """Return a digest of all that `question` shows: whoever answers it has seen exactly that."""
    return hashlib.sha256(dump_json(event_to_data(question)).encode()).hexdigest()[:16]


def is_approval(question: Asked) -> bool:
    """Return whether `question` asks for an approval."""
    return question.question.startswith(APPROVE)


def may_be_refused_in_words(question: Asked) -> bool:
    """Return whether `question` asks whether a step may be done: a refusal may say why."""
    return is_approval(question) or question.question.startswith(REPEAT)


def is_wait(question: Asked) -> bool:
    """Return whether `question` asks for what a begun step waits for."""
    return question.question.startswith(WAIT)


def is_filling(question: Asked) -> bool:
    """Return whether `question` asks for the values of parameters."""
    return question.question.startswith(FILL)


def describe_refusal(answer: Any, what: str) -> str:
    """Return the reason why `answer` refuses `what`; an empty text if it consents."""
    answer = read_decision(answer)
    said = answer.strip().casefold() if isinstance(answer, str) else ""
    if answer is True or said in _YES:
        return ""
    return f"{what} was refused: {answer}" if said and said not in _NO else f"{what} was refused"
