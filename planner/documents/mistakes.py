"""What pydantic finds wrong with a document, told as one clear sentence at its place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from planner.documents.places import Document, DocumentPlace, Path
from planner.errors import DocumentError, did_you_mean

if TYPE_CHECKING:
    from pydantic import BaseModel, ValidationError
    from pydantic_core import ErrorDetails

_EXPECTED = {
    "model_type": "expected a mapping",
    "dict_type": "expected a mapping",
    "list_type": "expected a list",
    "bool_type": "expected true or false",
    "bool_parsing": "expected true or false",
}


def document_error(error: ValidationError, document: Document, schema: type[BaseModel]) -> DocumentError:
    """Return the first of the mistakes in `error`, unknown keys before others."""
    mistakes = error.errors(include_url=False)
    mistake = next((each for each in mistakes if each["type"] == "extra_forbidden"), mistakes[0])
    return told(mistake, document, schema)[1]


def told(mistake: ErrorDetails, document: Document, schema: type[BaseModel]) -> tuple[Path, DocumentError]:
    """Return where in `document` a single mistake is, and the error for it."""
    path, missing = _path(mistake["loc"], document.data)
    place = DocumentPlace(document, path)
    what = _shown(path)
    if mistake["type"] == "extra_forbidden":
        known = _keys(schema, mistake["loc"][:-1])
        hint = did_you_mean(str(path[-1]), known) or f"the keys are {', '.join(known)}"
        return path, place.error(f"{_shown(path[:-1])} has no key {path[-1]!r}", hint)
    if mistake["type"] == "missing":
        return path, place.error(f"{what} lacks the key {missing!r}")
    if mistake["input"] is None and _is_cut(path):
        return path, place.error(f"{what}: between braces a comma ends the value", 'quote it: "price(a, b)"')
    reason = _EXPECTED.get(mistake["type"], mistake["msg"])
    if mistake["type"] == "list_type" and mistake["loc"][-1] == "list":
        reason = "expected a mapping, or a list of them"
    expected, _, hint = reason.partition(": ")
    return path, place.error(f"{what}: found {_found(mistake['input'])}, {expected}", hint or None)


def _path(steps: tuple[str | int, ...], data: Any) -> tuple[Path, str | int | None]:
    """Return the path in `data` that pydantic's `steps` take, and the key at its end if `data` lacks it.

    Steps that only say which way of writing was tried are left out.
    """
    path: list[str | int] = []
    for step in steps:
        is_key = isinstance(data, dict) and step in data
        if is_key or (isinstance(data, list) and isinstance(step, int) and step < len(data)):
            data = data[step]
            path.append(step)
    last = steps[-1] if steps else None
    return tuple(path), None if path and path[-1] == last else last


def _is_cut(path: Path) -> bool:
    """Return whether the key at the end of `path` is the rest of an atom that a comma has cut in two."""
    key = path[-1] if path else 0
    return isinstance(key, str) and key.count(")") > key.count("(")


def _keys(schema: type[BaseModel], steps: tuple[str | int, ...]) -> list[str]:
    """Return the keys that the part of `schema` at pydantic's `steps` takes."""
    from pydantic import BaseModel as Model  # noqa: PLC0415 - a mistake was made, so pydantic is there

    found: Any = schema
    for step in steps:
        fields = {field.alias or name: field for name, field in found.model_fields.items()}
        if step in fields:
            found = _inner_model(fields[str(step)], Model) or found
    return [field.alias or name for name, field in found.model_fields.items()]


def _inner_model(field: Any, model: type) -> Any:
    """Return the model inside a field's annotation, however it is wrapped."""
    stack = [field.annotation]
    while stack:
        each = stack.pop()
        if isinstance(each, type) and issubclass(each, model):
            return each
        stack.extend(getattr(each, "__args__", ()))
    return None


def _shown(path: Path) -> str:
    """Return a path as people write it: `actions.move.requires[2]`."""
    text = "".join(f"[{step + 1}]" if isinstance(step, int) else f".{step}" for step in path)
    return text.removeprefix(".") or "the document"


def _found(value: Any) -> str:
    match value:
        case None:
            return "nothing"
        case bool():
            return "true" if value else "false"
        case dict():
            return "a mapping"
        case list():
            return "a list"
        case str():
            return f"the text {value!r}" if len(value) <= 40 else f"the text {value[:39] + '…'!r}"
    return f"the number {value}"
