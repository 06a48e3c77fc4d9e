"""Read what a handler returned as an `ActionResult`, also in the shapes of results that other frameworks use.

A dict, a pydantic model or a dataclass with a field `success` is a result: fields of `ActionResult` are taken over, and
`data` keeps all others. Any other value is data, and fails its step only if it reports a failure in a common form:
`ok` is False, `isError` is True, `error` has a text, or `status` is "error" or "failed". Objects of other classes are
data as well; an attribute that reports failure fails their step.

`may_have` and `may_leave` decide by annotations which values a handler can return.
"""

from __future__ import annotations

import dataclasses
import difflib
import functools
import types
import typing
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from types import AsyncGeneratorType, GeneratorType
from typing import Annotated, Any, Final, get_args, get_origin, get_type_hints

from pydantic import BaseModel

from executor.tools.containment import as_plain_text, call_or_else, describe_error, quote_value
from executor.tools.results import ActionResult, InDoubt, Metrics, ResultOfItsOwn, Wait
from executor.tools.streaming import STREAM, find_generator, read_item_type
from executor.tools.world import Skill
from planner.errors import InputError
from planner.language.declare.declared_names import fold_name

FIELDS: Final = frozenset(ActionResult.__match_args__)
_DONE: Final = ActionResult()
_VERDICTS: Final = {
    **dict.fromkeys(("success", "succeeded", "successful", "issuccess", "ok", "isok"), True),
    **dict.fromkeys(("iserror", "haserror"), False),
}
"""Verdict fields, as `fold_name` writes them, with their value for success."""
_FAILURES: Final = frozenset({"error", "errored", "fail", "failed", "failure"})
"""Words for failure in a field `status`."""
_REASONS: Final = ("error", "errormessage", "message", "reason", "detail", "errors", "text", "content")
"""Fields that may hold the reason of a failure, the likeliest first."""
_ATTRIBUTES: Final = ("success", "ok", "is_success", "is_error")
"""Verdict attributes of objects; models and dataclasses may compute them as properties."""
_LONGEST: Final = 16
"""Longest name of such a field, in characters."""
_NEAR: Final = 0.85
"""Similarity to `success` above which a name counts as misspelt: "access" is below."""


def result_of(returned: Any) -> ActionResult:
    """Convert the value that a handler `returned` to a result.

    `None` is success, a bool is the verdict itself, text is the text of a success, an exception is raised; see the
    module for all else. Raises `InputError` for a field with an invalid value.
    """
    kind = type(returned)  # `isinstance` would ask objects for their class, and a model for its fields
    if issubclass(kind, ActionResult):
        return returned  # type: ignore[no-any-return]  # it is one
    if returned is None:
        return _DONE
    if _is_bool(returned):
        return ActionResult(success=bool(returned), error="" if returned else "the handler returned False")
    if issubclass(kind, str):
        return ActionResult(text=returned, data=as_plain_text(returned))
    if issubclass(kind, GeneratorType | AsyncGeneratorType):
        hint = "declare the handler itself with `yield`, or return what the generator yields, as a list"
        raise InputError("the handler returned a generator", hint=hint)
    if issubclass(kind, ResultOfItsOwn):
        return returned.as_result()  # type: ignore[no-any-return]  # it is one
    if issubclass(kind, BaseException):
        raise returned if issubclass(kind, Exception) else InDoubt(describe_error(returned))
    if issubclass(kind, Enum) and _is_failure(returned):
        return ActionResult.failed(f"the handler returned {quote_value(returned)}")
    given = _fields_of(returned, kind)
    if given is None:
        return _read_data(_attributes_of(returned, kind), returned)
    return _read_result(given, returned) if "success" in given else _read_data(given, returned)


def _is_bool(value: Any) -> bool:
    """Return whether `value` is a bool, of Python or numpy."""
    kind = type(value)
    return kind is bool or (kind.__module__ == "numpy" and kind.__name__ in ("bool", "bool_"))


def restore_result(kept: Mapping[str, Any]) -> ActionResult:
    """Rebuild a result from the data that `data_of` made of it."""
    return ActionResult(**{**kept, "metrics": Metrics(**kept.get("metrics", {}))})


def _fields_of(returned: Any, kind: type[Any]) -> Mapping[Any, Any] | None:
    """Return the fields of a mapping, model or dataclass, with its computed verdicts; None for other objects."""
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
            value = call_or_else(lambda name=name: getattr(returned, name), None)  # type: ignore[misc]  # the name of this turn
            found |= {} if value is None else {name: value}
    return found


def _attributes_of(returned: Any, kind: type[Any]) -> dict[str, Any]:
    """Return the verdict attributes of an object, such as `ok` of an HTTP response, and its reasons."""
    if kind.__module__ == "builtins":
        return {}

    def get(name: str) -> Any:
        return call_or_else(lambda: getattr(returned, name, None), None)

    found = {name: value for name in _ATTRIBUTES if type(value := get(name)) is bool}
    reasons = ("error", "message", "reason") if found else ()
    return found | {name: value for name in reasons if type(value := get(name)) is str}


def _read_result(given: Mapping[Any, Any], whole: Any) -> ActionResult:
    """Make a result of `whole`, whose fields `given` include `success`."""
    if not _is_bool(given["success"]):
        raise InputError(f"success must be True or False, got {quote_value(given['success'])}")
    found = {name: value for name, value in given.items() if _is_field(name, value) and value is not None}
    others = {name: value for name, value in given.items() if not _is_field(name, value)}
    if issubclass(type(given.get("error")), Mapping):
        others["error"] = given["error"]
    metrics: Any = found.get("metrics")
    if issubclass(type(metrics), Mapping):
        found["metrics"] = Metrics(**{name: metrics[name] for name in Metrics.__match_args__ if name in metrics})
        others |= {"metrics": metrics} if metrics.keys() - set(Metrics.__match_args__) else {}
    is_typed = not issubclass(type(whole), Mapping) and "data" not in given
    found["data"] = whole if others and is_typed else _join_data(found.get("data"), others)
    return ActionResult(**{**found, **_decide_verdict(given)})


def _is_field(name: Any, value: Any) -> bool:
    """Return whether an entry is a field of `ActionResult`; other frameworks have numbers and texts in `found`."""
    return name in FIELDS and (name != "found" or value is None or issubclass(type(value), Mapping))


def _read_data(given: Mapping[Any, Any], whole: Any) -> ActionResult:
    """Make a result whose data are `whole`, with the verdict of its fields `given`."""
    return ActionResult(data=whole, **_decide_verdict(given))


def _join_data(data: Any, others: Mapping[Any, Any]) -> Any:
    """Join `data` and the fields beside it in one mapping; data that cannot be merged go under "data"."""
    if not others:
        return data
    if data is None:
        return {**others}
    if issubclass(type(data), Mapping) and not data.keys() & others.keys():
        return {**data, **others}
    return {"data": data, **others}


def _decide_verdict(given: Mapping[Any, Any]) -> dict[str, Any]:
    """Return `success` and `error` for the fields `given`; a contradictory result is a failure."""
    fault = next(_find_faults(given), "")
    if not fault:
        return {"success": True, "error": ""}
    if _is_affirmed(given):
        return {"success": False, "error": f"the result says that it succeeded, but {fault}"}
    return {"success": False, "error": _find_reason(given) or f"the handler returned a result in which {fault}"}


def _find_faults(given: Mapping[Any, Any]) -> Iterator[str]:
    """Yield the fields in `given` that report failure; raises `InputError` for a verdict that is no bool."""
    for name, word, value in _iterate_short_fields(given):
        if word in _VERDICTS:
            if issubclass(type(value), str):
                raise InputError(f"{name} must be True or False, got {quote_value(value)}")
            is_zero = _VERDICTS[word] and type(value) in (int, float) and not value
            is_fault = value is (not _VERDICTS[word]) or is_zero
        elif word == "error":
            is_fault = value is True or _read_error_text(value) != ""
        else:
            is_fault = word == "status" and _is_failure(value) and not _is_affirmed(given)
        if is_fault:
            yield f"{name!r} is {quote_value(value)}"
        elif value is False and word not in _VERDICTS and _is_misspelt(word):
            raise InputError(f"the handler returned {name!r}: False", hint="did you mean 'success'?")


@functools.lru_cache(maxsize=4096)
def _fold_field_name(name: str) -> str:
    """Return `fold_name` of a field, cached: most results have the same fields."""
    return fold_name(name)


def _iterate_short_fields(given: Mapping[Any, Any]) -> Iterator[tuple[str, str, Any]]:
    """Yield the fields that may be a verdict: name, folded name, and value."""
    for name, value in given.items():
        if issubclass(type(name), str) and len(name) <= _LONGEST:
            yield name, _fold_field_name(as_plain_text(name)), bool(value) if _is_bool(value) else value


def _is_affirmed(given: Mapping[Any, Any]) -> bool:
    """Return whether a verdict in `given` reports success."""
    return any(value is _VERDICTS[word] for _, word, value in _iterate_short_fields(given) if word in _VERDICTS)


@functools.lru_cache(maxsize=4096)
def _is_misspelt(word: str) -> bool:
    return difflib.SequenceMatcher(None, word, "success").ratio() > _NEAR


def _is_failure(status: Any) -> bool:
    """Return whether `status`, a word or an `Enum` member, means failure."""
    words = (status.name, status.value) if issubclass(type(status), Enum) else (status,)
    return any(issubclass(type(each), str) and as_plain_text(each).strip().casefold() in _FAILURES for each in words)


def _find_reason(given: Mapping[Any, Any]) -> str:
    """Return the reason of a failure in the words of the result, or an empty text."""
    fields = {word: value for _, word, value in _iterate_short_fields(given) if word in _REASONS}
    texts = [
        (_read_error_text if word == "error" else _join_texts)(fields[word]) for word in _REASONS if word in fields
    ]
    return next(filter(None, texts), "")


def _read_error_text(error: Any) -> str:
    """Return the text of a field `error`; raises `InputError` unless it is text, an exception, or has parts."""
    kind = type(error)
    if error is None or kind is bool or (kind is int and error == 0):
        return ""
    if issubclass(kind, BaseException):
        return describe_error(error)
    if issubclass(kind, str):
        return as_plain_text(error)
    if issubclass(kind, Mapping | list | tuple):
        return _join_texts(error) or (quote_value(error) if len(error) else "")
    raise InputError(f"error of a result must be a text, got {quote_value(error)}")


def _join_texts(value: Any) -> str:
    """Return the text of `value`: itself, or the texts of its items, or its `message` or `text`."""
    kind = type(value)
    if issubclass(kind, str):
        return as_plain_text(value)
    if issubclass(kind, list | tuple):
        return "\n".join(filter(None, map(_join_texts, value)))
    parts = (
        [value.get(each) for each in ("message", "text")]
        if issubclass(kind, Mapping)
        else [_read_text_attribute(value)]
    )
    return next((as_plain_text(each) for each in parts if issubclass(type(each), str)), "")


def _read_text_attribute(value: Any) -> Any:
    return call_or_else(lambda: value.text, None)


_PLAIN: Final = (bool, int, float, complex, bytes, str)
_ROWS: Final = (list, tuple, Sequence, set, frozenset)


def may_have(function: Callable[..., Any], path: str) -> bool:
    """Return whether the result of `function` may have a value at `path`, by its return annotation.

    A path begins with a field of `ActionResult`. Results without annotation, or of open types, may have anything.
    """
    first, *rest = [part for part in path.split(".") if part] or ["data"]
    if first not in FIELDS:
        return False
    return any(_may_bring(each, first, rest) for each in _iterate_members(_find_return_type(function)))


def may_leave(skill: Skill, name: str) -> bool:
    """Return whether a handler may put a value called `name` into working memory, by its result or its context.

    The return annotation decides if there is one. Otherwise the handler has to take a context, or its code to use
    `Wait` or the name as a constant.
    """
    if skill.takes_context and skill.context_as != STREAM:
        return True
    found = _find_return_type(skill.function)
    if found is not Any:
        return any(_may_bring(each, "values", [name]) for each in _iterate_members(found))
    code = getattr(_find_function(skill.function), "__code__", None)
    return code is None or any(name in each.co_consts or "Wait" in each.co_names for each in _iterate_codes(code))


def list_texts(function: Callable[..., Any]) -> set[str]:
    """Return the texts that the code of `function` has as constants."""
    code = getattr(_find_function(function), "__code__", None)
    codes = () if code is None else _iterate_codes(code)
    return {each for code in codes for each in code.co_consts if isinstance(each, str)}


def _iterate_codes(code: types.CodeType) -> Iterator[types.CodeType]:
    """Yield the code of a function and of its nested functions."""
    yield code
    for each in code.co_consts:
        if isinstance(each, types.CodeType):
            yield from _iterate_codes(each)


def _find_function(function: Callable[..., Any]) -> Any:
    function = find_generator(function) or function
    return function if hasattr(function, "__code__") else getattr(function, "__call__", function)  # noqa: B004 - its code


def describe_return_type(function: Callable[..., Any]) -> str:
    """Return the return annotation of `function` as authors write it."""
    found = _find_return_type(function)
    return getattr(found, "__name__", "") if isinstance(found, type) and not get_args(found) else str(found)


def _find_return_type(function: Callable[..., Any]) -> Any:
    try:
        found = get_type_hints(_find_function(function), include_extras=True).get("return", Any)
        return found if find_generator(function) is None else read_item_type(found)
    except Exception:  # noqa: BLE001 - annotations may name what is not to be had here
        return Any


def _iterate_members(kind: Any) -> Iterable[Any]:
    """Yield the members of a union or awaitable annotation `kind`, or `kind` itself."""
    origin = get_origin(kind)
    if origin is Annotated or origin in (Awaitable, Coroutine):
        yield from _iterate_members(get_args(kind)[-1 if origin is Coroutine else 0])
    elif origin in (typing.Union, types.UnionType):
        for each in get_args(kind):
            yield from _iterate_members(each)
    else:
        yield type(None) if kind is None else kind


def _may_bring(kind: Any, first: str, rest: Sequence[str]) -> bool:
    """Return whether a handler that returns `kind` may provide a value at the path `first`, `rest`."""
    if not isinstance(get_origin(kind) or kind, type):
        return True
    cls = get_origin(kind) or kind
    if cls is object or issubclass(cls, ActionResult | Wait):
        return True
    if "success" in (names := _field_names(cls)):
        return first != "data" or _result_has(cls, names, rest)
    if issubclass(cls, Mapping) and not typing.is_typeddict(cls):
        return first != "data" or _may_lead(kind, rest)
    if first == "data":
        return cls not in (type(None), bool) and _may_lead(kind, rest)
    return not rest or first not in ("data", "text", "values", "created")


def _field_names(cls: type) -> frozenset[str]:
    """Return the declared fields of a model, dataclass or typed dict; none for any other class."""
    if issubclass(cls, BaseModel):
        return frozenset(cls.model_fields)
    return (
        frozenset(_find_annotations(cls)) if typing.is_typeddict(cls) or dataclasses.is_dataclass(cls) else frozenset()
    )


def _result_has(cls: type, names: frozenset[str], path: Sequence[str]) -> bool:
    """Return whether the data of a result of class `cls`, with fields `names`, may have a value at `path`.

    Fields beside those of `ActionResult` are kept under `data`; without a field `data`, it is the whole object.
    """
    if not path:
        return True
    is_kept = path[0] not in FIELDS or path[0] == "data" or not ("data" in names or typing.is_typeddict(cls))
    return (is_kept and _may_have(cls, path[0], path[1:])) or ("data" in names and _may_have(cls, "data", path))


def _may_lead(kind: Any, path: Sequence[str]) -> bool:
    """Return whether a value of type `kind` may have a value at `path`."""
    return not path or any(_may_have(each, path[0], path[1:]) for each in _iterate_members(kind))


def _may_have(kind: Any, name: str, rest: Sequence[str]) -> bool:
    cls, args = get_origin(kind) or kind, get_args(kind)
    if not isinstance(cls, type) or cls is object:
        return True
    if typing.is_typeddict(cls):
        return name in cls.__annotations__ and _may_lead(_find_annotations(cls)[name], rest)
    if issubclass(cls, Mapping):
        return not args or _may_lead(args[-1], rest)
    if issubclass(cls, _ROWS) and not issubclass(cls, str | bytes):
        return name.isdecimal() and (not args or _may_lead(args[0] if len(args) < 2 or args[1] is ... else Any, rest))
    if issubclass(cls, BaseModel):
        is_open = cls.model_config.get("extra") == "allow" or hasattr(cls, name)
        return _may_lead(cls.model_fields[name].annotation, rest) if name in cls.model_fields else is_open
    if dataclasses.is_dataclass(cls):
        return (
            _may_lead(_find_annotations(cls).get(name, Any), rest)
            if name in _find_annotations(cls)
            else hasattr(cls, name)
        )
    if issubclass(cls, str):
        return False
    return hasattr(cls, name) if issubclass(cls, (*_PLAIN, type(None))) else True


def _find_annotations(cls: type) -> Mapping[str, Any]:
    try:
        return get_type_hints(cls, include_extras=True)
    except Exception:  # noqa: BLE001 - annotations may name what is not to be had here
        return dict.fromkeys(cls.__annotations__, Any)
