"""Call the handler of a step through the hooks around it; the first hook that was declared is the outermost."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final

from executor.loop.locks_and_rates import (
    HeldBack,
)
from executor.observe.reports import check_result
from executor.tools import containment
from executor.tools.context import Context, HandlerCall, Hook
from executor.tools.isolated_values import copy_value
from executor.tools.results import ActionResult, Wait
from executor.tools.world import Skill
from planner.errors import InputError, did_you_mean
from planner.lightweight import dataclass, field

VETOED: Final = "a hook did not let it begin"
Changed = Callable[[Mapping[str, Any], str], Mapping[str, Any]]
"""Records new values of data parameters with their source, and returns them converted to their types."""


@dataclass(slots=True, eq=False)
class HookedCall:
    """One call of the handler of `skill` through `hooks`; `call` calls the handler with the arguments that it takes.

    `arguments` are all arguments of the action; `begun` is set when the handler is called. A hook may hand `proceed` to
    a task of its own and return before that has ended: then the handler still `works`.
    """

    hooks: Sequence[Hook]
    skill: Skill
    arguments: Mapping[str, Any]
    context: Context
    call: Callable[[Mapping[str, Any]], Awaitable[Any]]
    changed: Changed
    is_held_back: Callable[[], bool]
    begun: bool = field(init=False, default=False)
    said: bool = field(init=False, default=False)
    """Whether the handler itself said how its call ended: not that it succeeded."""
    held_back: bool = field(init=False, default=False)
    """Whether the handler was not called because the step was held back."""
    _loop: asyncio.AbstractEventLoop | None = field(init=False, default=None)
    """The event loop of the handler while it is at work."""
    _is_over: bool = field(init=False, default=False)

    def works(self) -> bool:
        """Return whether the handler is at work."""
        return self._loop is not None and not self._loop.is_closed()

    async def answer(self) -> ActionResult | Wait:
        """Call the outermost hook and return its answer; raises errors of hooks and handler."""
        try:
            return await self._call_hook(0, dict(self.arguments))
        finally:
            self._is_over = True

    async def _call_hook(self, number: int, arguments: dict[str, Any]) -> ActionResult | Wait:
        if number == len(self.hooks):
            return await self._call_handler(arguments)
        hook, answers = self.hooks[number], list[ActionResult | Wait]()
        has_proceeded = is_over = False

        async def proceed(**changes: Any) -> ActionResult | Wait:
            nonlocal has_proceeded
            if is_over:
                raise InputError(
                    f"{describe_hook(hook)} proceeds after it has answered", hint="await proceed() in the hook"
                )
            if has_proceeded:
                raise InputError(
                    f"{describe_hook(hook)} proceeds twice", hint="a handler is called once for each attempt"
                )
            has_proceeded = True
            now = {**arguments, **self._check_changes(hook, changes)} if changes else arguments
            answers.append(await self._call_hook(number + 1, now))
            return answers[0]

        given = {name: copy_value(each) for name, each in arguments.items()}
        try:
            with containment.contain_errors():
                returned = await hook(HandlerCall(self.skill.action, self.skill.name, given, self.context), proceed)
        finally:
            is_over = True
        if returned is None and answers:
            return answers[0]
        if returned is None:
            return ActionResult.failed(f"{describe_hook(hook)} neither proceeds nor returns a result")
        return read_answer(returned)

    async def _call_handler(self, arguments: Mapping[str, Any]) -> ActionResult | Wait:
        """Call the handler; raises `InputError` if the hooks have returned already."""
        if self._is_over:
            raise InputError("a hook proceeds after the call is over", hint="await proceed() in the hook")
        if self.is_held_back():
            self.held_back = True
            raise HeldBack
        self.begun, self._loop = True, asyncio.get_running_loop()
        self.said = True
        try:
            answer = read_answer(await self.call(arguments))
            self.said = not (isinstance(answer, ActionResult) and answer.success)
            return answer
        finally:
            self._loop = None

    def _check_changes(self, hook: Hook, changes: Mapping[str, Any]) -> Mapping[str, Any]:
        """Record and convert `changes` of data parameters; raises `InputError` for other names."""
        known = [each.name for each in self.skill.action.data]
        for name in changes:
            if name not in known:
                near = did_you_mean(name, known) or "the objects of a step are those of the plan"
                raise InputError(f"{describe_hook(hook)} changes {name!r}, which is no data parameter", hint=near)
        return self.changed(changes, describe_hook(hook))


def read_answer(returned: Any) -> ActionResult | Wait:
    """Read what a handler or a hook returned: a wait, or a result; raises `InputError` for an invalid one."""
    if issubclass(type(returned), Wait):
        return returned  # type: ignore[no-any-return]  # it is one
    with containment.contain_errors():
        return check_result(returned)


def describe_hook(hook: Hook) -> str:
    """Return a hook's name for messages."""
    name = getattr(hook, "__qualname__", None)
    return f"the hook {name}" if isinstance(name, str) else f"the hook {containment.quote_value(hook)}"


def describe_veto(reason: str) -> str:
    """Return the reason of a step that a hook refused."""
    return f"{VETOED}: {reason or 'it gives no reason'}"
