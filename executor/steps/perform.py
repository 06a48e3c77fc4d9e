"""One attempt at one step: its handler is called, with what its policy says about time, locks, rates and caches."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from functools import partial
from typing import Any, Final

from executor.looking.reports import literal_of
from executor.steps.turns import GRACE, Turns, is_over
from executor.world.policy import Policy
from executor.world.results import ActionResult, Wait, result_of
from executor.world.threads import called, in_thread
from executor.world.world import Skill
from planner.plan import Step
from planner.records import dataclass, field

_WORKING: Final[dict[tuple[str, str, tuple[str, ...]], Callable[[], bool]]] = {}
"""Handlers that were given up, and whether they are still at work: by domain, action and arguments."""


def checked(returned: Any) -> ActionResult:
    """Return what a handler returned as a result; raises `InputError` where it, or a fact that it reports, is none."""
    result = result_of(returned)
    for literal in result.observed:
        literal_of(literal)
    return result


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
    """What all runs of one executor share: which handlers are at work, whose turn it is, and answers to serve again."""

    _domain: str = ""
    _turns: Turns = field(default_factory=Turns)
    _cache: dict[tuple[Any, ...], tuple[float, ActionResult]] = field(default_factory=dict)
    _working: dict[tuple[str, str, tuple[str, ...]], Callable[[], bool]] = field(default_factory=lambda: _WORKING)

    def still_working(self, step: Step) -> bool:
        """Return whether a handler of `step` that was given up has not come back, in this process."""
        works = self._working.get(self._key(step))
        return works is not None and works()

    def _key(self, step: Step) -> tuple[str, str, tuple[str, ...]]:
        return self._domain, step.action, step.arguments

    async def attempt(
        self,
        skill: Skill,
        step: Step,
        arguments: Mapping[str, Any],
        policy: Policy,
        context: Callable[[], Any],
    ) -> Attempt:
        """Call the handler of `skill` for `step`, and return what came of it; never raises but for cancellation."""
        if skill.takes is not None and not skill.takes_context and skill.takes == arguments.keys():
            given: dict[str, Any] = dict(arguments)
        else:
            given = {name: each for name, each in arguments.items() if skill.takes is None or name in skill.takes}
            if skill.takes_context:
                given["context"] = context()
        served = self._served(step, given, policy)
        if served is not None:
            return Attempt(served)
        started = time.perf_counter()
        if policy.lock is False and policy.rate is None:
            answer = await self._call(skill, step, given, policy.timeout)
        else:
            async with self._turn(step, arguments, policy) as its_turn:
                started = time.perf_counter()
                answer = await self._call(skill, step, given, policy.timeout) if its_turn else _kept_out()
        answer.seconds = time.perf_counter() - started
        if policy.cache_for and answer.wait is None and answer.result.success and "read_only" in skill.action.tags:
            self._cache[_cache_key(step, given)] = asyncio.get_running_loop().time() + policy.cache_for, answer.result
        return answer

    async def _call(self, skill: Skill, step: Step, given: Mapping[str, Any], timeout: float | None) -> Attempt:  # noqa: ASYNC109 - of the handler
        if not await is_over(self._working.get(self._key(step)), timeout):
            return Attempt(ActionResult.failed("its handler is still at work from before"))
        try:
            returned = await self._returned(skill, step, given, timeout)
            if isinstance(returned, Wait):
                return Attempt(ActionResult(), returned)
            return Attempt(checked(returned))
        except _TookTooLong:
            if "context" in given:
                given["context"].aborted.set()
            reason = f"no answer within {timeout} s"
            return Attempt(ActionResult.failed(reason), in_doubt=reason)
        except (Exception, SystemExit, GeneratorExit) as error:  # noqa: BLE001 - whatever is raised is a failure of the step
            return _raised(error)
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            return _raised(error)

    async def _returned(self, skill: Skill, step: Step, given: Mapping[str, Any], timeout: float | None) -> Any:  # noqa: ASYNC109 - as above
        if skill.is_async and timeout is None:
            return await skill.function(**given)
        if skill.is_async:
            return await self._in_task(skill.function(**given), step, timeout)
        returned = await self._in_thread(skill, step, given, timeout)
        return await self._in_task(returned, step, timeout) if inspect.isawaitable(returned) else returned

    async def _in_task(self, answer: Awaitable[Any], step: Step, timeout: float | None) -> Any:  # noqa: ASYNC109 - as above
        task = asyncio.ensure_future(answer)
        try:
            done, _ = await asyncio.wait([task], timeout=timeout)
            if not done:
                task.cancel()
                done, _ = await asyncio.wait([task], timeout=GRACE)
        except asyncio.CancelledError:
            task.cancel()
            self._working[self._key(step)] = lambda: not task.done()
            raise
        if not done:
            self._working[self._key(step)] = lambda: not task.done()
        if not done or task.cancelled():
            raise _TookTooLong
        return task.result()

    async def _in_thread(self, skill: Skill, step: Step, given: Mapping[str, Any], timeout: float | None) -> Any:  # noqa: ASYNC109 - as above
        future, thread = in_thread(skill.function, given)
        try:
            done, _ = await asyncio.wait([future], timeout=timeout)
        except asyncio.CancelledError:
            self._working[self._key(step)] = thread.is_alive
            raise
        if not done:
            self._working[self._key(step)] = thread.is_alive
            raise _TookTooLong
        return future.result()

    @contextlib.asynccontextmanager
    async def _turn(self, step: Step, arguments: Mapping[str, Any], policy: Policy) -> AsyncIterator[bool]:
        """Wait until it is the step's turn; yield whether it is, which takes its lock."""
        async with contextlib.AsyncExitStack() as stack:
            free = True
            if policy.lock is not False:
                names = policy.lock if isinstance(policy.lock, tuple) else tuple(arguments)
                key = step.action, tuple([str(arguments.get(name)) for name in names])
                left = partial(self._given_up, step)
                free = await stack.enter_async_context(self._turns.lock(key, policy.timeout, left))
            if free and policy.rate is not None:
                await self._turns.rate(step.action, policy.rate)
            yield free

    def _given_up(self, step: Step) -> Callable[[], bool] | None:
        """Return what says whether a handler of `step` that was given up works, if there is one."""
        return self._working[self._key(step)] if self.still_working(step) else None

    def _served(self, step: Step, given: Mapping[str, Any], policy: Policy) -> ActionResult | None:
        """Return an earlier answer that still serves."""
        if not policy.cache_for:
            return None
        found = self._cache.get(_cache_key(step, given))
        if found is None or found[0] < asyncio.get_running_loop().time():
            return None
        return found[1]


def _kept_out() -> Attempt:
    reason = "its lock is kept by a handler that was given up and is still at work"
    return Attempt(ActionResult.failed(reason), begun=False)


def _cache_key(step: Step, given: Mapping[str, Any]) -> tuple[Any, ...]:
    return step.action, step.arguments, *sorted((name, repr(each)) for name, each in given.items() if name != "context")


def _raised(error: BaseException) -> Attempt:
    try:
        text = f"{type(error).__name__}: {error}".removesuffix(": ")
    except Exception:  # noqa: BLE001 - exceptions may do anything when they are asked what they say
        text = type(error).__name__
    return Attempt(ActionResult.failed(text), raised=error)


async def passes(check: Callable[..., Any], arguments: Mapping[str, Any], context: Any, timeout: float | None) -> str:  # noqa: ASYNC109 - of the handler
    """Return why `check` does not let a step begin; nothing where it does. It gets the arguments that it takes."""
    taken = inspect.signature(check).parameters
    anything = any(each.kind is each.VAR_KEYWORD for each in taken.values())
    given = {name: each for name, each in arguments.items() if anything or name in taken}
    if "context" in taken:
        given["context"] = context
    try:
        async with asyncio.timeout(timeout) as patience:
            answer = await called(check, given)
    except Exception as error:  # noqa: BLE001 - a check that fails does not pass
        if patience.expired():
            context.aborted.set()
            return f"the check did not answer within {timeout:g} s"
        return f"the check raised {type(error).__name__}: {error}"
    if answer is None or answer is True:
        return ""
    return answer if isinstance(answer, str) and answer else "the check returned " + repr(answer)
