"""Data parameters: where their values come from, and whether they are what the handler expects.

In this order (the first that has a value): what somebody has approved, or is asked to approve; the plan; the result
that the parameter is declared to come from, in this run or in an earlier one; the step that is undone, where it had a
parameter of that name; working memory, where it has an entry of that name; whoever fills what is open, unless it is
fixed; its default.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError

from executor.plans.references import REFERENCE
from executor.record.state import RunState
from executor.record.steps import StepRecord
from executor.steps.origins import APPROVAL, DEFAULT, EARLIER, FILLED, MEMORY, PLAN, UNDONE, is_allowed_by_itself
from executor.world.containment import containment, said, shown
from planner.errors import ForethoughtError
from planner.model import Action, DataParameter
from planner.validate.simulation import bound

_LAST: Final = frozenset({FILLED, DEFAULT})


def open_in(state: RunState, record: StepRecord, action: Action) -> tuple[DataParameter, ...]:
    """Return the data parameters of a step that only a default has a value for, or nothing, and that are not fixed."""
    return tuple([each for each in action.data if not each.fixed and _is_open(state, record, action, each)])


def _is_open(state: RunState, record: StepRecord, action: Action, parameter: DataParameter) -> bool:
    if parameter.name in record.filled:
        return False
    try:
        with containment():
            return _value(state, record, action, parameter)[1] in _LAST
    except Missing:
        return parameter.name not in record.plan.parameters
    except Exception:  # noqa: BLE001 - said when the value is asked for
        return False


class Missing(ForethoughtError):  # noqa: N818 - it names what it says
    """A data parameter has no value, or one that does not fit."""


def filled(state: RunState, record: StepRecord, action: Action) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the data parameters of a step, and where each came from; raises `Missing`, with all that is amiss."""
    values: dict[str, Any] = {}
    sources: dict[str, str] = {}
    amiss = []
    for parameter in action.data:
        try:
            with containment():
                value, sources[parameter.name] = _value(state, record, action, parameter)
                values[parameter.name] = typed(parameter, value)
        except Missing as error:
            amiss.append(str(error))
        except Exception as error:  # noqa: BLE001 - validators and properties are others' functions
            amiss.append(f"the parameter {parameter.name!r} of {record.step} cannot be had: {said(error)}")
    if amiss:
        raise Missing("; ".join(amiss))
    return values, sources


def _value(state: RunState, record: StepRecord, action: Action, parameter: DataParameter) -> tuple[Any, str]:
    name = parameter.name
    approved = _approved(state, record, action)
    if name in approved:
        return approved[name], APPROVAL
    if name in record.plan.parameters:
        return resolved(state, record.plan.parameters[name]), PLAN
    declared = _declared(state, record, action, parameter)
    if declared is not None:
        return declared
    for id_ in record.plan.undoes:
        undone = state.steps[id_]
        if name in undone.parameters:
            return undone.parameters[name], f"step {id_}{UNDONE}"
    for known, source in ((state.memory, MEMORY), (record.filled, FILLED)):
        if name in known:
            return known.get(name), source
    if parameter.has_default:
        return parameter.default, DEFAULT
    where = f"no step has provided {parameter.source.fact}" if parameter.source else "the plan does not give it"
    raise Missing(f"the parameter {name!r} of {record.step} has no value: {where}, and it has no default")


def _declared(state: RunState, record: StepRecord, action: Action, parameter: DataParameter) -> tuple[Any, str] | None:
    """Return what the result holds that `parameter` is declared to come from, and whose it is, if there is one."""
    if parameter.source is None:
        return None
    fact = parameter.source.fact.substitute(bound(state.problem.domain.actions[action.name], record.step))
    provider, path = state.providers.get(fact), parameter.source.path
    if provider is not None:
        return field_of(state.steps[provider], path), f"step {provider}"
    if str(fact) in state.plan.results:
        return _field(state.plan.results[str(fact)], path, f"of {fact}"), EARLIER
    return None


def _approved(state: RunState, record: StepRecord, action: Action) -> Mapping[str, Any]:
    """Return the values with which the step is to be approved, or has been begun since it was."""
    if record.wait and "parameters" in record.wait:
        found: Mapping[str, Any] = record.wait["parameters"]
        return found
    if not record.attempts or is_allowed_by_itself(state, record, action, record.parameters, record.sources):
        return {}
    return record.parameters


def resolved(state: RunState, value: Any) -> Any:
    """Return `value` with references to results of earlier steps replaced by what they refer to."""
    match value:
        case str():
            whole = REFERENCE.fullmatch(value.strip())
            if whole:
                return _referred(state, whole[1], whole[2] or "")
            return REFERENCE.sub(lambda found: str(_referred(state, found[1], found[2] or "")), value)
        case dict():
            return {key: resolved(state, each) for key, each in value.items()}
        case list() | tuple():
            return [resolved(state, each) for each in value]
        case _:
            return value


def _referred(state: RunState, step: str, path: str) -> Any:
    record = state.steps.get(step)
    if record is None:
        raise Missing(f"{{{{{step}.{path}}}}} refers to the step {step!r}, which does not exist")
    return field_of(record, path)


def field_of(record: StepRecord, path: str) -> Any:
    """Return the field of the result of a step that `path` (`data.tasks.0.title`) leads to; raises `Missing`."""
    if record.result is None:
        raise Missing(f"the step {record.id!r} ({record.step}) has no result yet")
    return _field(record.result, path, f"of step {record.id!r} ({record.step})")


def _field(found: Any, path: str, whose: str) -> Any:
    """Return the field of a result that `path` leads to; raises `Missing`, which says `whose` result it is."""
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
    return found


def typed(parameter: DataParameter, value: Any) -> Any:
    """Return `value` as the annotation of `parameter` has it; raises `Missing` where it does not fit."""
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
            f"the parameter {parameter.name!r}{where} cannot be {shown(first['input'])}: {first['msg']}"
        ) from None


_ADAPTERS: dict[int, tuple[DataParameter, TypeAdapter[Any]]] = {}
"""The adapters of parameters, which are kept so that no other gets the same id."""
