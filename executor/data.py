"""Values that handlers and authors give, as JSON-ready data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pydantic_core import to_json, to_jsonable_python

from executor.results import ActionResult, Wait, texts

_FIELDS: Final[Mapping[type[Any], tuple[str, ...]]] = {kind: kind.__match_args__ for kind in (ActionResult, Wait)}
_PLAIN = (str, int, float, bool, type(None))


def data_of(record: ActionResult | Wait, seconds: float = 0.0) -> dict[str, Any]:
    """Return the fields of `record`, a result after so many `seconds`; values that handlers gave stay as they are."""
    found = {name: getattr(record, name) for name in _FIELDS[type(record)]}
    if isinstance(record, ActionResult):
        metrics = record.metrics
        found["metrics"] = {"duration": metrics.duration + seconds, "tokens": metrics.tokens, "cost": metrics.cost}
        found["observed"] = texts(record.observed)
    return found


def dumped(data: Mapping[str, Any]) -> str:
    """Return `data` as JSON text; what JSON does not know is written as it reads."""
    return to_json(data, fallback=_named, inf_nan_mode="strings").decode()


def plain(value: Any) -> Any:
    """Return `value` as JSON knows it."""
    return value if isinstance(value, _PLAIN) else to_jsonable_python(value, fallback=_named)


def _named(value: Any) -> str:
    return str(getattr(value, "name", value))
