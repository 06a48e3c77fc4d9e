"""One attempt at one step: its handler is called, with what its policy says about time, locks, rates and caches."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from executor.policy import Policy
from executor.results import ActionResult, Wait, result_of
from executor.threads import called, in_thread
from executor.world import Skill
from planner.errors import InputError
from planner.plan import Step

Key = tuple[str, tuple[str, ...]]
"""An action and its arguments."""


@dataclass(slots=True)
class Attempt:
    """What came of calling a handler: its `result`, or a `wait`; `raised` is what it raised.

    `in_doubt` says why nobody knows whether it did something: it took too long, or the process `crashed` meanwhile.
    """

    result: ActionResult
    wait: Wait | None = None
    raised: BaseException | None = None
    in_doubt: str = ""
    crashed: bool = False
    seconds: float = 0.0


@dataclass(slots=True)
class Performer:
    """What all runs of one executor share: which handlers are at work, whose turn it is, and answers to serve again."""

    _locks: dict[tuple[str, tuple[str, ...]], asyncio.Lock] = field(default_factory=dict)
    _rates: dict[str, Any] = field(default_factory=dict)
    _cache: dict[tuple[Any, ...], tuple[float, ActionResult]] = field(default_factory=dict)
    _working: dict[Key, asyncio.Future[Any]] = field(default_factory=dict)
    """Plain functions that were given up and are still running."""

    def still_working(self, step: Step) -> asyncio.Future[Any] | None:
        """Return the future of the handler of `step` that took too long and has not come back, if there is one."""
        future = self._working.get((step.action, step.arguments))
        return None if future is None or future.done() else future

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
            async with self._turn(step, arguments, policy):
                started = time.perf_counter()
                answer = await self._call(skill, step, given, policy.timeout)
        answer.seconds = time.perf_counter() - started
        if policy.cache_for and answer.result.success and "read_only" in skill.action.tags:
            self._cache[_cache_key(step, given)] = asyncio.get_running_loop().time() + policy.cache_for, answer.result
        return answer

    async def _call(self, skill: Skill, step: Step, given: Mapping[str, Any], timeout: float | None) -> Attempt:  # noqa: ASYNC109 - of the handler
        try:
            if skill.is_async:
                async with asyncio.timeout(timeout):
                    returned = await skill.function(**given)
            else:
                returned = await self._in_thread(skill, step, given, timeout)
            if isinstance(returned, Wait):
                return Attempt(ActionResult(), returned)
            return Attempt(result_of(returned))
        except TimeoutError as error:
            if timeout is None or (skill.is_async and str(error)):
                return _raised(error)
            if "context" in given:
                given["context"].aborted.set()
            reason = f"no answer within {timeout} s"
            return Attempt(ActionResult.failed(reason), in_doubt=reason)
        except InputError as error:
            return _raised(error)
        except Exception as error:  # noqa: BLE001 - whatever a handler raises is a failure of its step
            return _raised(error)

    async def _in_thread(self, skill: Skill, step: Step, given: Mapping[str, Any], timeout: float | None) -> Any:  # noqa: ASYNC109 - as above
        future = in_thread(skill.function, given)
        done, _ = await asyncio.wait([future], timeout=timeout)
        if not done:
            self._working[step.action, step.arguments] = future
            raise TimeoutError
        return future.result()

    @contextlib.asynccontextmanager
    async def _turn(self, step: Step, arguments: Mapping[str, Any], policy: Policy) -> AsyncIterator[None]:
        """Wait until it is the step's turn."""
        async with contextlib.AsyncExitStack() as stack:
            if policy.lock:
                names = policy.lock if isinstance(policy.lock, tuple) else tuple(arguments)
                key = step.action, tuple([str(arguments.get(name)) for name in names])
                await stack.enter_async_context(self._locks.setdefault(key, asyncio.Lock()))
            if policy.rate is not None:
                await stack.enter_async_context(self._limiter(step.action, policy.rate))
            yield

    def _limiter(self, action: str, rate: tuple[int, float]) -> Any:
        from aiolimiter import AsyncLimiter  # noqa: PLC0415 - few actions have a rate

        if action not in self._rates:
            self._rates[action] = AsyncLimiter(*rate)
        return self._rates[action]

    def _served(self, step: Step, given: Mapping[str, Any], policy: Policy) -> ActionResult | None:
        """Return an earlier answer that still serves."""
        if not policy.cache_for:
            return None
        found = self._cache.get(_cache_key(step, given))
        if found is None or found[0] < asyncio.get_running_loop().time():
            return None
        return found[1]


def _cache_key(step: Step, given: Mapping[str, Any]) -> tuple[Any, ...]:
    return step.action, step.arguments, *sorted((name, repr(each)) for name, each in given.items() if name != "context")


def _raised(error: BaseException) -> Attempt:
    return Attempt(ActionResult.failed(f"{type(error).__name__}: {error}" if str(error) else repr(error)), raised=error)


async def passes(check: Callable[..., Any], arguments: Mapping[str, Any]) -> str:
    """Return why `check` does not let a step begin; nothing where it does."""
    try:
        answer = await called(check, arguments)
    except Exception as error:  # noqa: BLE001 - a check that fails does not pass
        return f"the check raised {type(error).__name__}: {error}"
    if answer is None or answer is True:
        return ""
    return answer if isinstance(answer, str) and answer else "the check returned " + repr(answer)
