"""One call of a handler, through the hooks of its world: the first one declared is the outermost."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from executor.looking.reports import checked
from executor.world.containment import containment, shown
from executor.world.context import Context
from executor.world.hooks import HandlerCall, Hook
from executor.world.results import ActionResult, Wait
from executor.world.values import own
from executor.world.world import Skill
from planner.errors import InputError, did_you_mean

VETOED: Final = "a hook did not let it begin"
Changed = Callable[[Mapping[str, Any], str], Mapping[str, Any]]
"""Notes other values of data parameters and whose they are, and returns them as their types have them."""


@dataclass(slots=True, eq=False)
class Hooked:
    """One call of the handler of `skill`, by `call` with the arguments that it takes, through `hooks`.

    `arguments` are all that the action has; `begun` says whether the handler was called. A hook may hand `proceed` to a
    task of its own and answer before that has ended: then the handler still `works`.
    """

    hooks: Sequence[Hook]
    skill: Skill
    arguments: Mapping[str, Any]
    context: Context
    call: Callable[[Mapping[str, Any]], Awaitable[Any]]
    changed: Changed
    begun: bool = field(init=False, default=False)
    _loop: asyncio.AbstractEventLoop | None = field(init=False, default=None)
    """Where the handler is at work, while it is."""
    _is_over: bool = field(init=False, default=False)

    def works(self) -> bool:
        """Return whether the handler has been called and has not come back."""
        return self._loop is not None and not self._loop.is_closed()

    async def answer(self) -> ActionResult | Wait:
        """Return what the outermost hook answers; raises what it, or the handler, raises."""
        try:
            return await self._through(0, dict(self.arguments))
        finally:
            self._is_over = True

    async def _through(self, number: int, arguments: dict[str, Any]) -> ActionResult | Wait:
        if number == len(self.hooks):
            return await self._called(arguments)
        hook, answers = self.hooks[number], list[ActionResult | Wait]()
        has_proceeded = is_over = False

        async def proceed(**changes: Any) -> ActionResult | Wait:
            nonlocal has_proceeded
            if is_over:
                raise InputError(f"{name_of(hook)} proceeds after it has answered", hint="await proceed() in the hook")
            if has_proceeded:
                raise InputError(f"{name_of(hook)} proceeds twice", hint="a handler is called once for each attempt")
            has_proceeded = True
            now = {**arguments, **self._checked(hook, changes)} if changes else arguments
            answers.append(await self._through(number + 1, now))
            return answers[0]

        given = {name: own(each) for name, each in arguments.items()}
        try:
            with containment():
                returned = await hook(HandlerCall(self.skill.action, self.skill.name, given, self.context), proceed)
        finally:
            is_over = True
        if returned is None and answers:
            return answers[0]
        if returned is None:
            return ActionResult.failed(f"{name_of(hook)} neither proceeds nor returns a result")
        return _answered(returned)

    async def _called(self, arguments: Mapping[str, Any]) -> ActionResult | Wait:
        """Call the handler; raises `InputError` where the hooks have answered already."""
        if self._is_over:
            raise InputError("a hook proceeds after the call is over", hint="await proceed() in the hook")
        self.begun, self._loop = True, asyncio.get_running_loop()
        try:
            return _answered(await self.call(arguments))
        finally:
            self._loop = None

    def _checked(self, hook: Hook, changes: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return `changes` as they may be, noted; raises `InputError` for what is no data parameter."""
        known = [each.name for each in self.skill.action.data]
        for name in changes:
            if name not in known:
                near = did_you_mean(name, known) or "the objects of a step are those of the plan"
                raise InputError(f"{name_of(hook)} changes {name!r}, which is no data parameter", hint=near)
        return self.changed(changes, name_of(hook))


def _answered(returned: Any) -> ActionResult | Wait:
    if issubclass(type(returned), Wait):
        return returned  # type: ignore[no-any-return]  # it is one
    with containment():
        return checked(returned)


def name_of(hook: Hook) -> str:
    """Return what a hook is called."""
    name = getattr(hook, "__qualname__", None)
    return f"the hook {name}" if isinstance(name, str) else f"the hook {shown(hook)}"


def veto(reason: str) -> str:
    """Return why a step has not begun that a hook refused, or before which one failed."""
    return f"{VETOED}: {reason or 'it gives no reason'}"
