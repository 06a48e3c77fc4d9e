"""One attempt at one step: its handler is called, with what its policy says about time, locks, rates and caches."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

from executor.looking.reports import checked
from executor.steps.calling_off import came
from executor.steps.given_up import Call, at_work, give_up
from executor.steps.hooked import VETOED, Changed, Hooked, veto
from executor.steps.slots import Slots
from executor.steps.turns import GRACE, RATED, Turns, is_over
from executor.world.containment import Escaped, attempt, containment, said, shown, text_from
from executor.world.context import Context
from executor.world.hooks import Hook
from executor.world.policy import Policy, Rate
from executor.world.results import ActionResult, Wait
from executor.world.threads import awaited, called, in_thread, is_awaitable
from executor.world.values import own
from executor.world.world import Skill
from planner.plan import Step
from planner.records import dataclass, field, replace

CALLED_OFF: Final = "the run was called off before it was its turn"
KEPT: Final = "its lock is kept by a handler that was given up and is still at work"
BUSY: Final = "its handler is still at work from before"
NEVER_BEGUN: Final = (CALLED_OFF, KEPT, BUSY, RATED, VETOED)
"""How the reasons begin why an attempt has failed without its handler being called."""


class _TookTooLong(Exception):  # noqa: N818 - it names what happened
    """A handler did not answer in time."""


@dataclass(slots=True)
class Attempt:
    """What came of calling a handler: its `result`, or a `wait`; `raised` is what it raised.

    `in_doubt` says why nobody knows whether it did something: it took too long, or the process `crashed` meanwhile. It
    was not `begun` where another handler keeps the lock.
    """

    result: ActionResult
    wait: Wait | None = None
    raised: BaseException | None = None
    in_doubt: str = ""
    crashed: bool = False
    begun: bool = True
    seconds: float = 0.0


@dataclass(slots=True)
class Performer:
    """What all runs of one executor share: whose turn it is, and answers to serve again."""

    slots: Slots = field(default_factory=Slots)
    domain: str = ""
    turns: Turns = field(default_factory=Turns)
    hooks: Sequence[Hook] = ()
    _cache: dict[tuple[Any, ...], tuple[float, ActionResult]] = field(default_factory=dict)

    async def attempt(
        self,
        skill: Skill,
        call: Call,
        arguments: Mapping[str, Any],
        policy: Policy,
        *,
        context: Callable[[], Context],
        changed: Changed,
        aborted: asyncio.Event,
    ) -> Attempt:
        """Call the handler of `skill` through the hooks, and return what came of it; never raises but for cancellation.

        It is not called where the run is `aborted` before it is its turn. Hooks that change data parameters say so to
        `changed`.
        """
        made = context() if skill.takes_context or self.hooks else None
        given = _taken(skill, arguments, made)
        hooked = None
        if self.hooks and made is not None:
            hooked = Hooked(self.hooks, skill, arguments, made, _handler(skill, call, made), changed)
        served = self._served(call.step, given, policy)
        if served is not None:
            return Attempt(served)
        clock = asyncio.get_running_loop().time
        started = clock()
        if policy.lock is False and policy.rate is None:
            answer = await _answer(skill, call, given, policy.timeout, hooked)
        else:
            async with contextlib.AsyncExitStack() as turn:
                refused = await self._refused(call, arguments, policy, aborted, turn)
                started = clock()
                if refused:
                    answer = Attempt(ActionResult.failed(refused), begun=False)
                else:
                    answer = await _answer(skill, call, given, policy.timeout, hooked)
        answer.seconds = clock() - started
        if policy.cache_for and answer.wait is None and answer.result.success and "read_only" in skill.action.tags:
            until = asyncio.get_running_loop().time() + policy.cache_for
            self._cache[_cache_key(call.step, given)] = until, answer.result
        return answer

    async def _refused(
        self,
        call: Call,
        arguments: Mapping[str, Any],
        policy: Policy,
        aborted: asyncio.Event,
        turn: contextlib.AsyncExitStack,
    ) -> str:
        """Wait until it is the turn of `call`, with its lock until the end of `turn`; return why it never is."""
        action = call.step.action
        if policy.lock is not False:
            names = policy.lock if isinstance(policy.lock, tuple) else tuple(arguments)
            key = self.domain, action, *[_lock_name(arguments.get(name)) for name in names]
            lock = self.turns.lock(key, policy.timeout, partial(at_work, call))
            free = asyncio.ensure_future(turn.enter_async_context(lock))
            if not await came(free, aborted):
                return CALLED_OFF
            if not free.result():
                return KEPT
        if isinstance(policy.rate, Rate):
            apart = tuple([_lock_name(arguments.get(name)) for name in policy.rate.by])
            turn_of_rate = asyncio.ensure_future(self.turns.rate((action, apart), policy.rate, policy.timeout))
            return turn_of_rate.result() if await came(turn_of_rate, aborted) else CALLED_OFF
        return ""

    def _served(self, step: Step, given: Mapping[str, Any], policy: Policy) -> ActionResult | None:
        """Return an earlier answer that still serves."""
        if not policy.cache_for:
            return None
        found = self._cache.get(_cache_key(step, given))
        if found is None or found[0] < asyncio.get_running_loop().time():
            return None
        return found[1]


def _taken(skill: Skill, arguments: Mapping[str, Any], context: Context | None) -> dict[str, Any]:
    """Return copies of those of `arguments` that a handler takes, and `context` if it takes one."""
    given = {name: own(each) for name, each in arguments.items() if skill.takes is None or name in skill.takes}
    return given | {"context": context} if skill.takes_context else given


def _handler(skill: Skill, call: Call, context: Context) -> Callable[[Mapping[str, Any]], Awaitable[Any]]:
    """Return what calls the handler of `skill` with those of given arguments that it takes."""
    return lambda arguments: _returned(skill, call, _taken(skill, arguments, context), None)


async def _answer(
    skill: Skill,
    call: Call,
    given: Mapping[str, Any],
    timeout: float | None,  # noqa: ASYNC109 - of the handler
    hooked: Hooked | None,
) -> Attempt:
    """Return what the handler of `skill` answers to what it is `given`, or what is `hooked` around it."""
    if not await is_over(at_work(call), timeout):
        return Attempt(ActionResult.failed(BUSY))
    try:
        if hooked is None:
            return _attempt_of(await _returned(skill, call, given, timeout))
        got = _attempt_of(await _in_task(hooked.answer(), call, timeout))
        return got if hooked.begun or (got.wait is None and got.result.success) else _vetoed(got)
    except _TookTooLong:
        context = given.get("context") if hooked is None else hooked.context
        if context is not None:
            context.aborted.set()
        reason = f"no answer within {timeout} s"
        got = Attempt(ActionResult.failed(reason), in_doubt=reason)
    except Exception as error:  # noqa: BLE001 - whatever is raised is a failure of the step
        raised = error.error if isinstance(error, Escaped) else error
        got = Attempt(ActionResult.failed(said(error)), raised=raised)
    finally:
        if hooked is not None and hooked.works():
            give_up(call, hooked.works)
    return got if hooked is None or hooked.begun else _vetoed(got)


def _attempt_of(returned: Any) -> Attempt:
    if issubclass(type(returned), Wait):
        return Attempt(ActionResult(), returned)
    with containment():
        return Attempt(checked(returned))


def _vetoed(got: Attempt) -> Attempt:
    """Return `got`, which a hook answered in place of the handler, as a step that has not begun."""
    reason = "it waits in place of the handler" if got.wait is not None else got.result.error
    return Attempt(replace(got.result, success=False, error=veto(reason)), raised=got.raised, begun=False)


async def _returned(skill: Skill, call: Call, given: Mapping[str, Any], timeout: float | None) -> Any:  # noqa: ASYNC109 - as above
    if skill.is_async and timeout is None:
        with containment():
            return await skill.function(**given)
    if skill.is_async:
        return await _in_task(skill.function(**given), call, timeout)
    began = time.perf_counter()
    returned = await _in_thread(skill, call, given, timeout)
    if not is_awaitable(returned):
        return returned
    left = None if timeout is None else max(timeout - (time.perf_counter() - began), 0)
    return await _in_task(returned, call, left)


async def _in_task(answer: Awaitable[Any], call: Call, timeout: float | None) -> Any:  # noqa: ASYNC109 - as above
    task = asyncio.ensure_future(awaited(answer))

    def works() -> bool:
        return not (task.done() or task.get_loop().is_closed())

    try:
        done, _ = await asyncio.wait([task], timeout=timeout)
        if not done:
            task.cancel()
            done, _ = await asyncio.wait([task], timeout=GRACE)
            if not done or task.cancelled() or task.exception() is not None:
                raise _TookTooLong
    except asyncio.CancelledError:
        task.cancel()
        raise
    finally:
        if not task.done():
            give_up(call, works)
    return task.result()


async def _in_thread(skill: Skill, call: Call, given: Mapping[str, Any], timeout: float | None) -> Any:  # noqa: ASYNC109 - as above
    future, thread = in_thread(skill.function, given)
    try:
        done, _ = await asyncio.wait([future], timeout=timeout)
    except asyncio.CancelledError:
        give_up(call, thread.is_alive)
        raise
    if not done:
        give_up(call, thread.is_alive)
        raise _TookTooLong
    return future.result()


def _cache_key(step: Step, given: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return what calls are alike by; one with a value that cannot be printed is like no other."""
    pairs = [(name, attempt(partial(repr, each), "")) for name, each in given.items() if name != "context"]
    unlike = () if all(text for _, text in pairs) else (object(),)
    return step.action, step.arguments, *sorted(pairs), *unlike


def _lock_name(value: Any) -> str:
    """Return what a lock on `value` is known by."""
    return attempt(lambda: str.__str__(str(value)), shown(value))


async def passes(check: Callable[..., Any], arguments: Mapping[str, Any], context: Any, timeout: float | None) -> str:  # noqa: ASYNC109 - of the handler
    """Return why `check` does not let a step begin; nothing where it does. It gets the arguments that it takes."""
    try:
        taken = inspect.signature(check).parameters
        anything = any(each.kind is each.VAR_KEYWORD for each in taken.values())
        given = {name: own(each) for name, each in arguments.items() if anything or name in taken}
        if "context" in taken:
            given["context"] = context
        async with asyncio.timeout(timeout) as patience:
            answer = await called(check, given)
        if answer is None or answer is True:
            return ""
        reason = text_from(answer) if issubclass(type(answer), str) else ""
        return reason or f"the check returned {shown(answer)}"
    except TimeoutError as error:
        if not patience.expired():
            return f"the check raised {said(error)}"
        context.aborted.set()
        return f"the check did not answer within {timeout:g} s"
    except Exception as error:  # noqa: BLE001 - a check that fails does not pass
        return f"the check raised {said(error)}"
