"""One call of a handler, through the hooks of its world: the first one declared is the outermost."""

from __future__ import annotations

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

    `arguments` are all that the action has; `begun` says whether the handler was called.
    """

    hooks: Sequence[Hook]
    skill: Skill
    arguments: Mapping[str, Any]
    context: Context
    call: Callable[[Mapping[str, Any]], Awaitable[Any]]
    changed: Changed
    begun: bool = field(init=False, default=False)

    async def answer(self) -> ActionResult | Wait:
        """Return what the outermost hook answers; raises what it, or the handler, raises."""
        return await self._through(0, dict(self.arguments))

    async def _through(self, number: int, arguments: dict[str, Any]) -> ActionResult | Wait:
        if number == len(self.hooks):
            self.begun = True
            return _answered(await self.call(arguments))
        hook, answers = self.hooks[number], list[ActionResult | Wait]()
        has_proceeded = False

        async def proceed(**changes: Any) -> ActionResult | Wait:
            nonlocal has_proceeded
            if has_proceeded:
                raise InputError(f"{name_of(hook)} proceeds twice", hint="a handler is called once for each attempt")
            has_proceeded = True
            now = {**arguments, **self._checked(hook, changes)} if changes else arguments
            answers.append(await self._through(number + 1, now))
            return answers[0]

        given = {name: own(each) for name, each in arguments.items()}
        with containment():
            returned = await hook(HandlerCall(self.skill.action, self.skill.name, given, self.context), proceed)
        if returned is None and answers:
            return answers[0]
        if returned is None:
            return ActionResult.failed(f"{name_of(hook)} neither proceeds nor returns a result")
        return _answered(returned)

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
