"""Find the values of data parameters, and check that they are what the handler expects.

A value comes from the first of these sources that has one: the approval of the step, given or asked for; the plan; the
result that the parameter is declared to come from, in this run or in an earlier one; the step that is undone, if it had
a parameter of that name; working memory, by name; whoever fills open parameters, unless the parameter is fixed; the
default.

Text that tools returned needs an approval before it reaches an irreversible step, unless the author of the domain
lets it pass: `From(…, approved=True)`. So do the names of objects that only handlers told of: see `RunState.named`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping
from datetime import date, time, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any, Final
from uuid import UUID

from pydantic import BaseModel, TypeAdapter, ValidationError

from executor.events import events
from executor.events.answers import FILL, is_approval, is_filling, name_approval, read_changes, read_filled_values
from executor.events.memory_values import MEMORY
from executor.events.run_state import RunState
from executor.events.steps import StepRecord
from executor.plans.action_plan import REFERENCE, references
from executor.tools.containment import as_plain_text, contain_errors, describe_error, quote_value
from executor.tools.json_data import dump_json_value
from executor.tools.kept_values import HINT, Lost, recall_value
from executor.tools.results import NONE, Metrics
from planner.errors import ForethoughtError, InputError
from planner.lightweight import dataclass, replace
from planner.model import Action, Atom, DataParameter
from planner.semantics.simulation import bind_parameters


@dataclass(frozen=True, slots=True)
class FillRequest:
    """Request to fill the open `parameters` of a step; `values` are those of its other parameters."""

    record: StepRecord
    action: Action
    parameters: tuple[DataParameter, ...]
    values: Mapping[str, Any]
    state: RunState


@dataclass(frozen=True, slots=True)
class Fillings:
    """Values for open parameters, with the reason as `thought`; a parameter without a value takes its default.

    With a `question`, there are no values: a person is asked, and told what is `known`.

    `marked`: whoever chose the values had seen text that tools returned. An irreversible step needs an approval for
    such values. `metrics` are the cost of asking, and `calls` the number of calls of a language model.
    """

    values: Mapping[str, Any]
    thought: str = ""
    marked: bool = False
    metrics: Metrics = NONE
    question: str = ""
    known: tuple[str, ...] = ()
    calls: int = 0

    @property
    def spent(self) -> dict[str, float]:
        """The cost of asking, by name."""
        found = {"duration": self.metrics.duration, "tokens": self.metrics.tokens, "cost": self.metrics.cost}
        return {**found, "calls": self.calls}


def check_fillings(given: Any) -> Fillings:
    """Check the value that a `fill` function returned; raises `InputError` unless it is valid `Fillings`."""
    if not isinstance(given, Fillings):
        raise InputError(
            f"fill must return Fillings, got {quote_value(given)}", hint="return Fillings({parameter: value})"
        )
    for name, kind, what in (
        ("values", Mapping, "a mapping from parameters"),
        ("thought", str, "a text"),
        ("question", str, "a text"),
        ("metrics", Metrics, "Metrics"),
    ):
        if not isinstance(getattr(given, name), kind):
            raise InputError(f"{name} of Fillings must be {what}, got {quote_value(getattr(given, name))}")
    known = tuple([as_plain_text(str(each)) for each in given.known])
    return replace(given, thought=as_plain_text(given.thought), question=as_plain_text(given.question), known=known)


Fill = Callable[[FillRequest], Awaitable[Fillings]]
"""Function that fills parameters."""


def question_of(request: FillRequest) -> str:
    """Return the name of the question for the open parameters of a step."""
    return f"{FILL}{request.record.id}"


def ask_for_fillings(request: FillRequest, fillings: Fillings) -> events.Asked:
    """Make the question for the open parameters of a step."""
    record, values = request.record, describe_schemas(request.parameters)
    purpose = request.state.purpose_of(record)
    return events.Asked(question_of(request), record.id, fillings.question, (), fillings.known, purpose, values=values)


def describe_schemas(parameters: Iterable[DataParameter]) -> dict[str, Any]:
    """Return the JSON schemas of data parameters, by name."""
    return {each.name: find_schema(each.annotation) for each in parameters}


def find_schema(annotation: Any) -> dict[str, Any]:
    """Return the JSON schema of a type; a type that has none takes anything."""
    try:
        return TypeAdapter(annotation).json_schema()
    except Exception:  # noqa: BLE001 - types are others' code
        return {}


def read_filling_answer(request: FillRequest, answer: Any) -> Fillings:
    """Convert an answer to fillings."""
    return Fillings(read_filled_values([each.name for each in request.parameters], answer))


APPROVAL: Final = "approval"
"""Source of values with which a step was approved."""
PLAN: Final = "plan"
FILLED: Final = "filled"
"""Source of values that were filled in."""
DEFAULT: Final = "default"
EARLIER: Final = "earlier run"
"""Source of results of an earlier run."""
UNDONE: Final = ", which is undone"
"""End of the source of parameters of an undone step."""
RETURNED_PARAMETERS: Final = "returned"
"""Key in the wait of a step: its parameters with text that tools returned."""
_NO_TEXT: Final = (bool, int, float, complex, Decimal, Enum, date, time, timedelta, UUID, type(None))


def needs_no_approval(
    state: RunState, record: StepRecord, action: Action, values: Mapping[str, Any], sources: Mapping[str, str]
) -> bool:
    """Return whether the step needs no approval with these `values` from `sources`."""
    return not (record.needs_approval(action) or find_returned_text(state, record, action, values, sources))


def find_returned_text(
    state: RunState, record: StepRecord, action: Action, values: Mapping[str, Any], sources: Mapping[str, str]
) -> tuple[str, ...]:
    """Return the parameters of an irreversible step whose values or names contain text that tools returned."""
    if "irreversible" not in action.tags:
        return ()
    known = {each.name for each in state.source.objects} - set(map(state.objects.real_name, state.named))
    arguments = zip(action.parameters, record.step.arguments, strict=False)
    texts = [
        each.name
        for each in action.data
        if each.name in values
        and _is_returned(state, record, each, sources.get(each.name, ""))
        and has_text(each.annotation, values[each.name], known)
    ]
    return (*[each.name.removeprefix("?") for each, name in arguments if name in state.named], *texts)


def _is_returned(state: RunState, record: StepRecord, parameter: DataParameter, source: str) -> bool:
    """Return whether a tool may have returned a value from `source`."""
    name = parameter.name
    if source == APPROVAL:
        return record.wait is None or name in record.wait.get(RETURNED_PARAMETERS, ())
    if source == PLAN:
        return any(True for _ in references(record.plan.parameters.get(name)))
    if source == MEMORY:
        return name not in state.given
    if source == FILLED:
        return record.marked
    if source.endswith(UNDONE):
        undone = next(each for each in map(state.steps.__getitem__, record.plan.undoes) if name in each.parameters)
        return _is_returned(state, undone, parameter, undone.sources.get(name, ""))
    return source != DEFAULT and not (parameter.source is not None and parameter.source.approved)


def check_approved(values: Mapping[str, Any], approved: Mapping[str, Any], by: str) -> None:
    """Raise `InputError` if one of the `values` that the hook `by` would give a handler was approved otherwise."""
    for name, value in values.items():
        if name in approved and dump_json_value(value) != dump_json_value(approved[name]):
            raise InputError(
                f"{by} changes {name!r} to {quote_value(value)}, and {quote_value(approved[name])} was approved",
                hint="let a hook change values before somebody approves them, or refuse the step",
            )


def describe_values(values: Mapping[str, Any], returned: Collection[str] = ()) -> list[str]:
    """Describe the values of data parameters for whoever decides on a step; tools have `returned` some of them."""
    return [
        f"{name} = {dump_json_value(value)}{' (a tool returned this)' if name in returned else ''}"
        for name, value in values.items()
    ]


def has_text(annotation: Any, value: Any, objects: Collection[str] = ()) -> bool:
    """Return whether `value` contains free text: neither a choice of its type nor the name of one of `objects`."""
    texts = {text for text in _iterate_texts(value) if text.strip()} - set(objects)
    return bool(texts) and not texts <= _find_choices(annotation)


def _iterate_texts(value: Any) -> Iterator[str]:
    """Yield the texts inside `value`; an opaque object counts as a text."""
    if isinstance(value, _NO_TEXT):
        return
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, each in value.items():
            yield from _iterate_texts(key)
            yield from _iterate_texts(each)
    elif isinstance(value, list | tuple | set | frozenset):
        for each in value:
            yield from _iterate_texts(each)
    elif isinstance(value, BaseModel):
        for each in (*vars(value).values(), *(value.model_extra or {}).values()):
            yield from _iterate_texts(each)
    else:
        yield repr(value)


def _find_choices(annotation: Any) -> set[str]:
    """Return the text choices in the JSON schema of a type."""
    return {each for each in _iterate_choices(find_schema(annotation)) if isinstance(each, str)}


def _iterate_choices(schema: Any) -> Iterator[Any]:
    if isinstance(schema, list):
        for each in schema:
            yield from _iterate_choices(each)
    elif isinstance(schema, dict):
        found = schema.get("enum")
        yield from found if isinstance(found, list) else ()
        yield schema.get("const")
        for each in schema.values():
            yield from _iterate_choices(each)


_LAST: Final = frozenset({FILLED, DEFAULT})


def find_open_parameters(state: RunState, record: StepRecord, action: Action) -> tuple[DataParameter, ...]:
    """Return the open data parameters of a step: not fixed, and without a value other than a default."""
    return tuple([each for each in action.data if not each.fixed and _is_open(state, record, action, each)])


def _is_open(state: RunState, record: StepRecord, action: Action, parameter: DataParameter) -> bool:
    if parameter.name in record.filled:
        return False
    try:
        with contain_errors():
            return _find_value(state, record, action, parameter)[1] in _LAST
    except Missing:
        return parameter.name not in record.plan.parameters
    except Exception:  # noqa: BLE001 - said when the value is asked for
        return False


def find_lost_parameters(state: RunState, record: StepRecord, action: Action) -> tuple[DataParameter, ...]:
    """Return the data parameters of a step whose values were in a result that this run does not have, or in none.

    The step that they come from has happened: its handler did not live to return, or another run or a person did it. Or
    they come from no step, and nothing has left a value in working memory: the domain of an earlier process may have
    lacked them.
    """
    return tuple([each for each in action.data if _explain_loss(state, record, action, each)])


async def ask_for_lost(request: FillRequest) -> Fillings:
    """Ask a person for the values of lost parameters."""
    step, names = request.record.step, " and ".join(repr(each.name) for each in request.parameters)
    known = [_explain_loss(request.state, request.record, request.action, each) for each in request.parameters]
    return Fillings({}, question=f"What is {names} of {step}?", known=tuple(dict.fromkeys(known)))


def _explain_loss(state: RunState, record: StepRecord, action: Action, parameter: DataParameter) -> str:
    """Return why the value of a parameter is lost; an empty text if it is not."""
    if parameter.fixed or parameter.name in record.filled:
        return ""
    try:
        with contain_errors():
            _find_value(state, record, action, parameter)
    except Missing as error:
        if parameter.source is None and parameter.name not in record.plan.parameters:
            return str(error)
        sources = _list_sources(state, record, action, parameter)
        results = [state.steps[each].result for each in sources if each in state.steps]
        is_lost = isinstance(error, Unkept) or not sources
        is_lost = is_lost or any(each is None or not each["success"] for each in results)
        return str(error) if is_lost and _has_happened(state, record, action, parameter) else ""
    except Exception:  # noqa: BLE001 - said when the value is asked for
        return ""
    return ""


def _list_sources(state: RunState, record: StepRecord, action: Action, parameter: DataParameter) -> list[str]:
    """Return the ids of the steps whose results the value of a parameter comes from."""
    if parameter.name in record.plan.parameters:
        return list(references(record.plan.parameters[parameter.name]))
    fact = find_source_fact(state, record, action, parameter)
    return [state.providers[fact]] if fact in state.providers else []


def _has_happened(state: RunState, record: StepRecord, action: Action, parameter: DataParameter) -> bool:
    """Return whether what the value of a parameter comes from is so."""
    if parameter.name in record.plan.parameters:
        return True
    fact = find_source_fact(state, record, action, parameter)
    return fact is not None and state.beliefs.holds(fact) is True


def find_source_fact(state: RunState, record: StepRecord, action: Action, parameter: DataParameter) -> Atom | None:
    """Return the fact whose result a parameter of a step comes from, if it comes from one."""
    if parameter.source is None:
        return None
    return parameter.source.fact.substitute(bind_parameters(state.problem.domain.actions[action.name], record.step))


class Missing(ForethoughtError):
    """A data parameter has no value, or one of the wrong type."""


class Unkept(Missing):
    """The value of a data parameter is one that the journal did not keep."""


def fill_parameters(state: RunState, record: StepRecord, action: Action) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the values of a step's data parameters, and the source of each; raises `Missing` with all problems."""
    values: dict[str, Any] = {}
    sources: dict[str, str] = {}
    amiss = []
    for parameter in action.data:
        try:
            with contain_errors():
                value, sources[parameter.name] = _find_value(state, record, action, parameter)
                values[parameter.name] = convert_value(parameter, value)
        except Missing as error:
            amiss.append(str(error))
        except Exception as error:  # noqa: BLE001 - validators and properties are others' functions
            amiss.append(f"the parameter {parameter.name!r} of {record.step} cannot be had: {describe_error(error)}")
    if amiss:
        raise Missing("; ".join(amiss))
    return values, sources


def _find_value(state: RunState, record: StepRecord, action: Action, parameter: DataParameter) -> tuple[Any, str]:
    name = parameter.name
    approved = _find_approved_values(state, record, action)
    if name in approved:
        return approved[name], APPROVAL
    try:
        if name in record.plan.parameters:
            return resolve_references(state, record.plan.parameters[name]), PLAN
        declared = _find_declared_value(state, record, action, parameter)
    except Missing:
        if name not in record.filled:  # a person has said what the result was
            raise
        declared = record.filled[name], FILLED
    if declared is not None:
        return declared
    for id_ in record.plan.undoes:
        undone = state.steps[id_]
        if name in undone.parameters:
            return undone.parameters[name], f"step {id_}{UNDONE}"
    if name in record.filled:
        return record.filled[name], FILLED
    for each in (name, *state.domain.renames.list_earlier_parameters(action.name, name)):
        if each in state.memory:
            return state.memory.get(each), MEMORY
    if parameter.has_default:
        return parameter.default, DEFAULT
    where = f"no step has provided {parameter.source.fact}" if parameter.source else "the plan does not give it"
    raise Missing(f"the parameter {name!r} of {record.step} has no value: {where}, and it has no default")


def _find_declared_value(
    state: RunState, record: StepRecord, action: Action, parameter: DataParameter
) -> tuple[Any, str] | None:
    """Return the value and the source that `parameter` declares, or None if there is no such result yet."""
    fact = find_source_fact(state, record, action, parameter)
    if fact is None or parameter.source is None:
        return None
    provider, path = state.providers.get(fact), parameter.source.path
    if provider is not None:
        return field_of(state.steps[provider], path), f"step {provider}"
    if str(fact) in state.plan.results:
        return _follow_path(recall_value(state.plan.results[str(fact)]), path, f"of {fact}"), EARLIER
    return None


def _find_approved_values(state: RunState, record: StepRecord, action: Action) -> Mapping[str, Any]:
    """Return the values for which approval is asked, as whoever approved may have changed them, or as it has begun."""
    if not record.attempts:
        asked: Mapping[str, Any] = (record.wait or {}).get("parameters", {})
        return {**asked, **read_changes(state.answers.get(name_approval(record.id)))}
    if record.wait and "parameters" in record.wait:
        found: Mapping[str, Any] = record.wait["parameters"]
        return found
    if needs_no_approval(state, record, action, record.parameters, record.sources):
        return {}
    return record.parameters


def check_given_values(asked: events.Asked, action: Action, answer: Any) -> None:
    """Raise `InputError` for a value in an answer that does not fit its parameter of `action`."""
    if not (is_filling(asked) or is_approval(asked)):
        return
    parameters = {each.name: each for each in action.data}
    given = read_changes(answer) if is_approval(asked) else read_filled_values(list(asked.values), answer)
    try:
        for name, value in given.items():
            if name in parameters:
                convert_value(parameters[name], value)
    except Missing as error:
        raise InputError(f"{quote_value(answer)} is no answer to {asked.question!r}: {error}") from None


def has_changes(state: RunState, record: StepRecord) -> bool:
    """Return whether whoever approved a step that has not begun has changed values."""
    return not record.attempts and bool(read_changes(state.answers.get(name_approval(record.id))))


def resolve_references(state: RunState, value: Any) -> Any:
    """Replace references to results of earlier steps in `value`."""
    match value:
        case str():
            whole = REFERENCE.fullmatch(value.strip())
            if whole:
                return _follow_reference(state, whole[1], whole[2] or "")
            return REFERENCE.sub(lambda found: str(_follow_reference(state, found[1], found[2] or "")), value)
        case dict():
            return {key: resolve_references(state, each) for key, each in value.items()}
        case list() | tuple():
            return [resolve_references(state, each) for each in value]
        case _:
            return value


def _follow_reference(state: RunState, step: str, path: str) -> Any:
    record = state.steps.get(step)
    if record is None:
        raise Missing(f"{{{{{step}.{path}}}}} refers to the step {step!r}, which does not exist")
    return field_of(record, path)


def field_of(record: StepRecord, path: str) -> Any:
    """Return the field at `path` (such as `data.tasks.0.title`) in the result of a step; raises `Missing`."""
    if record.result is None:
        raise Missing(f"the step {record.id!r} ({record.step}) has no result yet")
    return _follow_path(record.result, path, f"of step {record.id!r} ({record.step})")


def _follow_path(found: Any, path: str, whose: str) -> Any:
    """Return the field at `path` in a result; raises `Missing` with `whose` result it is."""
    for part in filter(None, path.split(".")):
        match found:
            case Mapping() if part in found:
                found = found[part]
            case Mapping() if part.isdecimal() and int(part) in found:
                found = found[int(part)]
            case list() | tuple() if part.isdecimal() and int(part) < len(found):
                found = found[int(part)]
            case _ if not isinstance(found, Mapping | list | tuple | str) and hasattr(found, part):
                found = getattr(found, part)
            case _:
                raise Missing(f"the result {whose} has no {path!r}")
    if isinstance(found, Lost):
        raise Unkept(f"{path!r} {whose} was {found.what}, which the journal does not keep; {HINT}")
    return found


def convert_value(parameter: DataParameter, value: Any) -> Any:
    """Convert `value` to the type of `parameter`; raises `Missing` if it does not fit."""
    if value is parameter.default:
        return value
    adapter = _ADAPTERS.get(id(parameter))
    if adapter is None:
        adapter = _ADAPTERS[id(parameter)] = (parameter, TypeAdapter(parameter.annotation))
    try:
        return adapter[1].validate_python(value)
    except ValidationError as error:
        first = error.errors()[0]
        where = "".join(f".{part}" for part in first["loc"])
        raise Missing(
            f"the parameter {parameter.name!r}{where} cannot be {quote_value(first['input'])}: {first['msg']}"
        ) from None


_ADAPTERS: dict[int, tuple[DataParameter, TypeAdapter[Any]]] = {}
"""Type adapters by id of the parameter; the parameters are kept so that no id is reused."""
