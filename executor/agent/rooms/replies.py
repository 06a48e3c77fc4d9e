"""Answers to a run that asks for the parameters of a step: as they stand, or taken from what the user says."""

from __future__ import annotations

from typing import Any, Final

from pydantic import TypeAdapter, ValidationError
from pydantic.errors import PydanticUserError

from executor.agent.filling import answer_of, required
from executor.errors import ModelError
from executor.language.allowance import Meter
from executor.language.checked import answered
from executor.language.protocol import LanguageModel, Origin, Part, Purpose, Request
from executor.record.events import Asked
from executor.record.state import RunState
from executor.steps.filling import FillRequest
from executor.steps.parameters import open_in

INSTRUCTIONS: Final = """\
The user was asked for parameters of a step. Take the values from the user's answer alone: 'values'. Leave out what the
answer does not say.
"""


async def values_in(text: str, asked: Asked, state: RunState, model: LanguageModel | None, meter: Meter) -> Any:
    """Return what `text` says for the parameters that a run has `asked` for: values by name, or the only one as it is.

    What tools returned is not shown to the model, so that nothing can come from there. Without a model, the text is the
    value of the first parameter. Returns None where the text does not say what is needed.
    """
    record = state.steps[asked.step]
    action = state.domain.actions[record.step.action]
    parameters = open_in(state, record, action)
    request = FillRequest(record, action, parameters, {}, state)
    wanted = required(request)
    if model is None or not wanted or (len(wanted) == 1 and _fits(wanted[0].annotation, text)):
        return text
    kind = answer_of(request)
    parts = (
        Part("The step", str(record.step)),
        Part("The question", ", ".join(each.name for each in wanted)),
        Part("The user answers", text, Origin.USER),
    )
    try:
        found = await answered(model, Request(Purpose.FILL, INSTRUCTIONS, parts, kind), kind, meter=meter)
    except ModelError:
        return None
    values = found.value.values
    is_whole = all(each.name in values.model_fields_set for each in wanted)
    return {name: getattr(values, name) for name in values.model_fields_set} if is_whole else None


def _fits(annotation: Any, text: str) -> bool:
    try:
        TypeAdapter(annotation).validate_python(text)
    except (ValidationError, PydanticUserError):
        return False
    return True
