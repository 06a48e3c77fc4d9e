"""Reads what a handler returned as an `ActionResult`, also where it has the shape that another framework gives results.

A dict, a pydantic model or a dataclass with a field `success` is a result: fields of `ActionResult` are taken over, and
`data` keeps all others. Any other is data; but it fails its step where it says in a common way that nothing was done:
`ok` is False, `isError` is True, `error` has a text, or `status` is "error" or "failed". Objects of other classes are
data as well, and fail their step where an attribute is such a verdict.
"""

from __future__ import annotations

import dataclasses
import difflib
import functools
from collections.abc import Iterator, Mapping
from enum import Enum
from types import AsyncGeneratorType, GeneratorType
from typing import Any, Final

from pydantic import BaseModel

from executor.world.containment import attempt, said, shown, text_from
from executor.world.results import ActionResult, Metrics
from planner.declare.names import folded
from planner.errors import InputError

FIELDS: Final = frozenset(ActionResult.__match_args__)
_DONE: Final = ActionResult()
_VERDICTS: Final = {
    **dict.fromkeys(("success", "succeeded", "successful", "issuccess", "ok", "isok"), True),
    **dict.fromkeys(("iserror", "haserror"), False),
}
"""Fields, as `folded` writes them, with what they are where something was done."""
_FAILURES: Final = frozenset({"error", "errored", "fail", "failed", "failure"})
"""What a field `status` says where it was not."""
_REASONS: Final = ("error", "errormessage", "message", "reason", "detail", "errors", "text", "content")
"""Fields that may say why it was not, the likeliest first."""
_ATTRIBUTES: Final = ("success", "ok", "is_success", "is_error")
"""Attributes of objects that are verdicts: those of models and dataclasses may be computed, as properties."""
_LONGEST: Final = 16
"""Characters of the names of all these fields at most."""
_NEAR: Final = 0.85
"""How alike `success` a name is that somebody must have misspelt: more than "access" is."""


def result_of(returned: Any) -> ActionResult:
    """Return what a handler `returned` as a result.

    `None` is success, a bool says so itself, a text is its text, and all else is read as this module says. Raises
    `InputError` where a field has a value that it cannot have.
    """
    kind = type(returned)  # `isinstance` would ask objects for their class, and a model for its fields
    if issubclass(kind, ActionResult):
        return returned  # type: ignore[no-any-return]  # it is one
    if returned is None:
        return _DONE
    if _is_bool(returned):
        return ActionResult(success=bool(returned), error="" if returned else "the handler returned False")
    if issubclass(kind, str):
        return ActionResult(text=returned, data=text_from(returned))
    if issubclass(kind, GeneratorType | AsyncGeneratorType):
        raise InputError("the handler returned a generator", hint="return what it yields, as a list")
    given = _fields_of(returned, kind)
    if given is None:
        return _read_data(_attributes_of(returned, kind), returned)
    return _read_result(given, returned) if "success" in given else _read_data(given, returned)


def _is_bool(value: Any) -> bool:
    """Return whether `value` is True or False, numpy's included."""
    kind = type(value)
    return kind is bool or (kind.__module__ == "numpy" and kind.__name__ in ("bool", "bool_"))


def result_from(kept: Mapping[str, Any]) -> ActionResult:
    """Return the result that `data_of` made `kept` of."""
    return ActionResult(**{**kept, "metrics": Metrics(**kept.get("metrics", {}))})


def _fields_of(returned: Any, kind: type[Any]) -> Mapping[Any, Any] | None:
    """Return the fields of a mapping, a model or a dataclass, with the verdicts that its class computes."""
    if issubclass(kind, Mapping):
        return returned  # type: ignore[no-any-return]  # it is one
    if issubclass(kind, BaseModel):
        found = dict(returned)
    elif dataclasses.is_dataclass(kind):
        found = {
            each.name: getattr(returned, each.name) for each in dataclasses.fields(kind) if hasattr(returned, each.name)
        }
    else:
        return None
    for name in _ATTRIBUTES:
        if isinstance(getattr(kind, name, None), property | functools.cached_property):
            value = attempt(lambda name=name: getattr(returned, name), None)  # type: ignore[misc]  # the name of this turn
            found |= {} if value is None else {name: value}
    return found


def _attributes_of(returned: Any, kind: type[Any]) -> dict[str, Any]:
    """Return the verdicts that an object has as attributes, such as `ok` of an HTTP response, and its reasons."""
    if kind.__module__ == "builtins":
        return {}

    def get(name: str) -> Any:
        return attempt(lambda: getattr(returned, name, None), None)

    found = {name: value for name in _ATTRIBUTES if type(value := get(name)) is bool}
    reasons = ("error", "message", "reason") if found else ()
    return found | {name: value for name in reasons if type(value := get(name)) is str}


def _read_result(given: Mapping[Any, Any], whole: Any) -> ActionResult:
    """Return the result that `given`, the fields of `whole`, states by `success`."""
    if not _is_bool(given["success"]):
        raise InputError(f"success is True or False, not {shown(given['success'])}")
    found = {name: value for name, value in given.items() if name in FIELDS and value is not None}
    others = {name: value for name, value in given.items() if name not in FIELDS}
    if issubclass(type(given.get("error")), Mapping):
        others["error"] = given["error"]
    metrics: Any = found.get("metrics")
    if issubclass(type(metrics), Mapping):
        found["metrics"] = Metrics(**{name: metrics[name] for name in Metrics.__match_args__ if name in metrics})
        others |= {"metrics": metrics} if metrics.keys() - set(Metrics.__match_args__) else {}
    is_typed = not issubclass(type(whole), Mapping) and "data" not in given
    found["data"] = whole if others and is_typed else _joined(found.get("data"), others)
    return ActionResult(**{**found, **_verdict(given)})


def _read_data(given: Mapping[Any, Any], whole: Any) -> ActionResult:
    """Return a result whose data are `whole`, the fields of which are `given`."""
    return ActionResult(data=whole, **_verdict(given))


def _joined(data: Any, others: Mapping[Any, Any]) -> Any:
    """Return `data` and `others`, which stood beside it: in one mapping, under "data" what cannot be part of that."""
    if not others:
        return data
    if data is None:
        return {**others}
    if issubclass(type(data), Mapping) and not data.keys() & others.keys():
        return {**data, **others}
    return {"data": data, **others}


def _verdict(given: Mapping[Any, Any]) -> dict[str, Any]:
    """Return whether `given` is a success, and the error if it is none: one that contradicts itself is none."""
    fault = next(_faults(given), "")
    if not fault:
        return {"success": True, "error": ""}
    if _is_affirmed(given):
        return {"success": False, "error": f"the result says that it succeeded, but {fault}"}
    return {"success": False, "error": _reason(given) or f"the handler returned a result in which {fault}"}


def _faults(given: Mapping[Any, Any]) -> Iterator[str]:
    """Yield what says in `given` that nothing was done; raises `InputError` for a verdict that is neither."""
    for name, word, value in _short(given):
        if word in _VERDICTS:
            if issubclass(type(value), str):
                raise InputError(f"{name} is True or False, not {shown(value)}")
            is_zero = _VERDICTS[word] and type(value) in (int, float) and not value
            is_fault = value is (not _VERDICTS[word]) or is_zero
        elif word == "error":
            is_fault = value is True or _error_text(value) != ""
        else:
            is_fault = word == "status" and _is_failure(value) and not _is_affirmed(given)
        if is_fault:
            yield f"{name!r} is {shown(value)}"
        elif value is False and word not in _VERDICTS and _is_misspelt(word):
            raise InputError(f"the handler returned {name!r}: False", hint="did you mean 'success'?")


@functools.lru_cache(maxsize=4096)
def _word(name: str) -> str:
    """Return the name of a field as `folded` writes it; most results have the same fields again and again."""
    return folded(name)


def _short(given: Mapping[Any, Any]) -> Iterator[tuple[str, str, Any]]:
    """Yield the fields that may be a verdict: name, name as `folded` writes it, and value."""
    for name, value in given.items():
        if issubclass(type(name), str) and len(name) <= _LONGEST:
            yield name, _word(text_from(name)), bool(value) if _is_bool(value) else value


def _is_affirmed(given: Mapping[Any, Any]) -> bool:
    """Return whether a verdict in `given` is that something was done."""
    return any(value is _VERDICTS[word] for _, word, value in _short(given) if word in _VERDICTS)


@functools.lru_cache(maxsize=4096)
def _is_misspelt(word: str) -> bool:
    return difflib.SequenceMatcher(None, word, "success").ratio() > _NEAR


def _is_failure(status: Any) -> bool:
    """Return whether the word or member of an enumeration that a field `status` has is one for failures."""
    words = (status.name, status.value) if issubclass(type(status), Enum) else (status,)
    return any(issubclass(type(each), str) and text_from(each).strip().casefold() in _FAILURES for each in words)


def _reason(given: Mapping[Any, Any]) -> str:
    """Return why nothing was done, in the words of the result, if it has some."""
    fields = {word: value for _, word, value in _short(given) if word in _REASONS}
    texts = [(_error_text if word == "error" else _text_in)(fields[word]) for word in _REASONS if word in fields]
    return next(filter(None, texts), "")


def _error_text(error: Any) -> str:
    """Return what `error` says; raises `InputError` where it is neither a text nor an exception nor has parts."""
    kind = type(error)
    if error is None or kind is bool or (kind is int and error == 0):
        return ""
    if issubclass(kind, BaseException):
        return said(error)
    if issubclass(kind, str):
        return text_from(error)
    if issubclass(kind, Mapping | list | tuple):
        return _text_in(error) or (shown(error) if len(error) else "")
    raise InputError(f"error of a result is a text, not {shown(error)}")


def _text_in(value: Any) -> str:
    """Return `value` where it is a text, or the texts of its parts: messages are mappings or objects that have one."""
    kind = type(value)
    if issubclass(kind, str):
        return text_from(value)
    if issubclass(kind, list | tuple):
        return "\n".join(filter(None, map(_text_in, value)))
    parts = [value.get(each) for each in ("message", "text")] if issubclass(kind, Mapping) else [_text_of(value)]
    return next((text_from(each) for each in parts if issubclass(type(each), str)), "")


def _text_of(value: Any) -> Any:
    return attempt(lambda: value.text, None)
