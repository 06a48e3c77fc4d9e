"""What stands around every call of a handler: it may log the call, refuse it, or change what goes in and comes out."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from executor.world.context import Context
from executor.world.results import ActionResult, Wait
from planner.declare.places import definition
from planner.model import Action


@dataclass(frozen=True, slots=True)
class HandlerCall:
    """A handler that is about to be called: that of the name `skill`, for a step with `action`.

    `arguments` are those of the action by name: objects, and the values of data parameters. They are copies.
    """

    action: Action
    skill: str
    arguments: Mapping[str, Any]
    context: Context


class Proceed(Protocol):
    """Calls the next hook, or the handler behind the last one."""

    def __call__(self, **changes: Any) -> Awaitable[ActionResult | Wait]:
        """Return what it answers; raises what it raises. `changes` are other values for data parameters."""


Hook = Callable[[HandlerCall, Proceed], Awaitable[Any]]


def check_hook(hook: Hook) -> None:
    """Raise `DeclarationError` for what cannot stand around a call."""
    hint = "async def hook(call, proceed): return await proceed()"
    call = type(hook).__call__ if callable(hook) else None
    if not (inspect.iscoroutinefunction(hook) or inspect.iscoroutinefunction(call)):
        raise definition(hook).error(f"{hook!r} is no asynchronous function", hint)
    try:
        inspect.signature(hook).bind(None, None)
    except TypeError:
        raise definition(hook).error("a hook takes the call and what proceeds with it", hint) from None
