"""Handlers that stream: generators, whose items are reported as progress while they are at work.

The last item, or what a plain generator returns, is the result of the call.
"""

from __future__ import annotations

import inspect
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import aclosing
from functools import wraps
from typing import Any, Final, get_args, get_origin

from executor.tools.containment import as_plain_text, quote_value
from executor.tools.results import ActionResult

STREAM: Final = "_stream"
"""Name of the parameter by which a streaming handler gets the context that it does not ask for itself."""
_STREAMED: Final = "__streamed__"
"""Attribute of a function that runs a generator: the generator function."""


def streamed(function: Callable[..., Any], context_as: str = "") -> Callable[..., Any]:
    """Return a function that runs the generator `function` and returns its result; any other function as it is.

    It reports the items to the context in its argument `context_as`, or else in `STREAM`.
    """
    call = function if inspect.isfunction(function) or inspect.ismethod(function) else type(function).__call__
    if inspect.isasyncgenfunction(function) or inspect.isasyncgenfunction(call):

        @wraps(function)
        async def run(**given: Any) -> Any:
            context, last = _find_context(given, context_as), None
            stream: AsyncGenerator[Any, None] = function(**given)
            async with aclosing(stream) as items:
                async for last in items:
                    _tell(context, last)
            return last

    elif inspect.isgeneratorfunction(function) or inspect.isgeneratorfunction(call):

        @wraps(function)
        def run(**given: Any) -> Any:
            context = _find_context(given, context_as)
            return _exhaust(function(**given), context)

    else:
        return function
    setattr(run, _STREAMED, function)
    return run


def find_generator(function: Callable[..., Any]) -> Callable[..., Any] | None:
    """Return the generator function that `function` runs, if it was made by `streamed`."""
    found: Callable[..., Any] | None = getattr(function, _STREAMED, None)
    return found


def read_item_type(annotation: Any) -> Any:
    """Return the type of the result of a generator with this return `annotation`."""
    args = get_args(annotation)
    if not args:
        return Any
    is_returned = get_origin(annotation) is Generator and len(args) > 2 and args[2] not in (None, type(None), Any)
    return args[2] if is_returned else args[0]


def _find_context(given: dict[str, Any], context_as: str) -> Any:
    extra = given.pop(STREAM, None)
    return given.get(context_as, extra)


def _exhaust(items: Generator[Any, Any, Any], context: Any) -> Any:
    last = None
    while True:
        try:
            last = next(items)
        except StopIteration as end:
            return last if end.value is None else end.value
        _tell(context, last)


def _tell(context: Any, item: Any) -> None:
    """Report an item of a stream as progress."""
    if context is not None:
        text = item.text if isinstance(item, ActionResult) else item
        context.progress(as_plain_text(text) if isinstance(text, str) and text else quote_value(item))
