"""Make one attempt at a step: wait for its turn, and call its handler, within a time limit.

A handler that exceeds the time limit is abandoned ("given up") and may still be at work.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import logging
import time
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any, Final

from executor.journal.reservations import Reservation, Reservations, ReservationsInMemory
from executor.loop.abandoned_calls import Call, find_abandoned, record_abandoned
from executor.loop.hooks import VETOED, Changed, HookedCall, describe_veto, read_answer
from executor.loop.locks_and_rates import (
    GRACE,
    RATED,
    HeldBack,
    Slots,
    Turns,
    find_pause,
    wait_for_handler,
    wait_unless_cancelled,
)
from executor.tools import containment
from executor.tools.context import Context, Hook
from executor.tools.isolated_values import copy_value
from executor.tools.results import ActionResult, InDoubt, NothingDone, Wait
from executor.tools.step_policy import ExecutionPolicy, Rate
from executor.tools.world import Skill, find_context
from planner.errors import printable
from planner.lightweight import dataclass, field, replace
from planner.model.arithmetic import Exact
from planner.plan import Step

_LOG: Final = logging.getLogger(__name__)


CALLED_OFF: Final = "the run was called off before it was its turn"
KEPT: Final = "its lock is kept by a handler that was given up and is still at work"
BUSY: Final = "its handler is still at work from before"
HELD_BACK: Final = "it was held back before its handler was called"
AFTER: Final = "a hook failed after the handler had done its work"
NEVER_BEGUN: Final = (CALLED_OFF, KEPT, BUSY, RATED, VETOED, HELD_BACK)
"""Prefixes of the reasons of attempts whose handler was not called."""


class _TookTooLong(Exception):
    """A handler exceeded its time limit."""


@dataclass(slots=True)
class Attempt:
    """An attempt at a step: the `result` of the handler, or its `wait`; `raised` is its exception.

    `in_doubt` is the reason why its effects are unknown: it timed out, its handler cannot tell, or the process
    `crashed`. It has not `begun` if
    the handler was not called, or says that it has changed nothing.
    """

    result: ActionResult
    wait: Wait | None = None
    raised: BaseException | None = None
    in_doubt: str = ""
    crashed: bool = False
    begun: bool = True
    seconds: float = 0.0
    is_to_be_retried: bool | None = None
    """Whether `retry_on` of the policy covers the failure; None: `raised` is the exception itself, and tells."""
    is_at_work: bool | None = None
    """Whether a handler of the step that was given up is still at work; None: this process knows."""
    traceback: str = ""
    """The end of the traceback of `raised`."""


@dataclass(slots=True)
class Trial:
    """What an attempt is made with: the handler of `skill`, called for a step with `arguments`.

    The handler is not called if `stopped` is set before its turn. `begin` is called when the turn has come, or will
    never come. Changes of data parameters by hooks go to `changed`, which refuses those of `approved` values. Raises
    `HeldBack` if `begin` does, or if the step `is_held_back` when hooks call the handler. `context` makes the context
    of the handler.
    """

    skill: Skill
    call: Call
    arguments: Mapping[str, Any]
    policy: ExecutionPolicy
    context: Callable[[], Context]
    changed: Changed
    stopped: asyncio.Event
    approved: Callable[[], Mapping[str, Any]] = dict
    begin: Callable[[], None] = lambda: None
    is_held_back: Callable[[], bool] = lambda: False


@dataclass(slots=True)
class Performer:
    """Makes attempts for all runs of one executor, which share locks, rates, reservations and cached answers."""

    slots: Slots = field(default_factory=Slots)
    domain: str = ""
    turns: Turns = field(default_factory=Turns)
    hooks: Sequence[Hook] = ()
    is_simulated: bool = False
    """Whether handlers are simulated: what they raise is meant, and not logged."""
    reservations: Reservations = field(default_factory=ReservationsInMemory)
    is_driven: Callable[[str], bool] = lambda _: True
    """Function whether some process drives a run."""
    free_idle: Callable[[str], None] = lambda _: None
    """Function that releases what a run which nobody drives has reserved for steps that have not begun."""
    _begun: set[tuple[str, str]] = field(default_factory=set)
    """Steps, with their runs, that had begun when nobody drove their runs: they keep what they have reserved."""
    _cache: dict[tuple[Any, ...], tuple[float, ActionResult]] = field(default_factory=dict)

    async def reserve(self, run: str, step: str, amounts: Mapping[str, Exact]) -> list[Reservation]:
        """Reserve `amounts` by item for a step, once; return the earlier reservations of other runs on these items.

        What runs that nobody drives have reserved for steps that have not begun is released first.
        """
        earlier = self.reservations.reserve(run, step, amounts)
        idle = [each for each in earlier if (each.run, each.step) not in self._begun and not self.is_driven(each.run)]
        if not idle:
            return earlier
        for other in {each.run for each in idle}:
            self.free_idle(other)
        earlier = self.reservations.reserve(run, step, amounts)
        self._begun |= {(each.run, each.step) for each in idle if each in earlier}
        return earlier

    async def wait_for_release(self, step: str, seconds: float, waited: float) -> None:
        """Wait until others may have released what `step` has `waited` for, but at most so many seconds."""
        del step
        await asyncio.sleep(min(find_pause(waited), seconds))

    def release(self, run: str, step: str) -> None:
        """Release what a step has reserved."""
        self.reservations.release(run, step)

    def keep(self, run: str, steps: Collection[str]) -> None:
        """Release what other steps of `run` than these have reserved."""
        self.reservations.keep(run, steps)

    async def make_attempt(self, trial: Trial) -> Attempt:
        """Call the handler through the hooks when its turn has come, and return the attempt; raises as `Trial` says."""
        skill, call, policy = trial.skill, trial.call, trial.policy
        made = trial.context() if skill.takes_context or self.hooks else None
        given = _select_arguments(skill, trial.arguments, made)
        hooked = None
        if self.hooks and made is not None:

            def call_handler(given: Mapping[str, Any]) -> Awaitable[Any]:
                return _call_handler(skill, call, _select_arguments(skill, given, made), None)

            hooked = HookedCall(
                self.hooks, skill, trial.arguments, made, call_handler, trial.changed, trial.is_held_back
            )
        served = self._find_cached_answer(call.step, given, policy)
        if served is not None:
            trial.begin()
            return Attempt(served)
        clock = asyncio.get_running_loop().time
        async with contextlib.AsyncExitStack() as turn:
            refused = await self._wait_for_turn(trial, turn)
            trial.begin()
            started = clock()
            if refused:
                answer = Attempt(ActionResult.failed(refused), begun=refused == BUSY)
            else:
                answer = await _perform_call(skill, call, given, policy.timeout, hooked)
            answer.seconds = clock() - started
        if answer.traceback and not self.is_simulated:
            _LOG.error("the handler of %s has raised\n%s", printable(str(call.step)), printable(answer.traceback))
        if policy.cache_for and answer.wait is None and answer.result.success and "read_only" in skill.action.tags:
            until = asyncio.get_running_loop().time() + policy.cache_for
            self._cache[_make_cache_key(call.step, given)] = until, answer.result
        return answer

    def find_lock(self, trial: Trial) -> tuple[str, ...] | None:
        """Return the key of the lock that the step takes, if its policy has one."""
        lock, arguments = trial.policy.lock, trial.arguments
        if lock is False:
            return None
        names = lock if isinstance(lock, tuple) else tuple(arguments)
        return self.domain, trial.call.step.action, *[_name_lock_value(arguments.get(name)) for name in names]

    async def _wait_for_turn(self, trial: Trial, turn: contextlib.AsyncExitStack) -> str:
        """Wait for lock, rate and abandoned handlers; return why the turn never comes, if so. `turn` keeps the lock."""
        call, policy, stopped, key = trial.call, trial.policy, trial.stopped, self.find_lock(trial)
        if key is not None:
            lock = self.turns.lock(key, policy.timeout, partial(find_abandoned, call))
            free = asyncio.ensure_future(turn.enter_async_context(lock))
            if not await wait_unless_cancelled(free, stopped):
                return CALLED_OFF
            if not free.result():
                return KEPT
        if isinstance(policy.rate, Rate):
            apart = tuple([_name_lock_value(trial.arguments.get(name)) for name in policy.rate.by])
            rated = self.turns.rate((self.domain, call.step.action, apart), policy.rate, policy.timeout)
            waits = asyncio.ensure_future(turn.enter_async_context(rated))
            refused = waits.result() if await wait_unless_cancelled(waits, stopped) else CALLED_OFF
            if refused:
                return refused
        return "" if await wait_for_handler(find_abandoned(call), policy.timeout) else BUSY

    def _find_cached_answer(self, step: Step, given: Mapping[str, Any], policy: ExecutionPolicy) -> ActionResult | None:
        """Return a cached answer that has not expired, or None."""
        if not policy.cache_for:
            return None
        found = self._cache.get(_make_cache_key(step, given))
        if found is None or found[0] < asyncio.get_running_loop().time():
            return None
        return found[1]


def _select_arguments(skill: Skill, arguments: Mapping[str, Any], context: Context | None) -> dict[str, Any]:
    """Copy the `arguments` that a handler takes, and add `context` if it takes one."""
    given = {name: copy_value(each) for name, each in arguments.items() if skill.takes is None or name in skill.takes}
    return given | {skill.context_as: context} if skill.takes_context else given


async def _perform_call(
    skill: Skill,
    call: Call,
    given: Mapping[str, Any],
    timeout: float | None,
    hooked: HookedCall | None,
) -> Attempt:
    """Call the handler of `skill` with the arguments `given`, or through its hooks if `hooked`; return the attempt."""
    context = given.get(skill.context_as) if hooked is None else hooked.context
    try:
        if hooked is None:
            return _attempt_of(await _call_handler(skill, call, given, timeout))
        attempt = _attempt_of(await _await_in_task(hooked.answer(), call, timeout))
        if hooked.begun and not hooked.said and not attempt.result.success:
            return replace(attempt, in_doubt=f"{AFTER}: {attempt.result.error}")
        if hooked.begun or (attempt.wait is None and attempt.result.success and not hooked.held_back):
            return attempt
    except asyncio.CancelledError:
        _abort(context)
        raise
    except _TookTooLong:
        _abort(context)
        reason = f"no answer within {timeout} s"
        attempt = Attempt(ActionResult.failed(reason), in_doubt=reason)
    except InDoubt as error:
        reason = containment.as_plain_text(str(error)) or "the handler cannot tell whether it happened"
        attempt = Attempt(ActionResult.failed(reason), in_doubt=reason)
    except NothingDone as error:
        reason = containment.as_plain_text(str(error)) or "the handler has done nothing"
        attempt = Attempt(ActionResult.failed(reason), begun=False)
        if hooked is not None and hooked.begun and not hooked.said:
            attempt = Attempt(ActionResult.failed(reason), in_doubt=f"{AFTER}: {reason}")
    except Exception as error:  # noqa: BLE001 - whatever is raised is a failure of the step
        raised = error.error if isinstance(error, containment.Escaped) else error
        described, traceback = containment.describe_error(error), containment.describe_traceback(error)
        attempt = Attempt(ActionResult.failed(described), raised=raised, traceback=traceback)
    finally:
        if hooked is not None and hooked.works():
            record_abandoned(call, hooked.works)
    if hooked is not None and hooked.held_back:
        raise HeldBack
    return attempt if hooked is None or hooked.begun else _mark_as_vetoed(attempt)


def _abort(context: Context | None) -> None:
    """Tell a handler that nobody waits for it any more."""
    if context is not None:
        context.aborted.set()


def _attempt_of(returned: Any) -> Attempt:
    answer = read_answer(returned)
    return Attempt(ActionResult(), answer) if isinstance(answer, Wait) else Attempt(answer)


def _mark_as_vetoed(attempt: Attempt) -> Attempt:
    """Mark an attempt as not begun that a hook answered in place of the handler."""
    reason = "it waits in place of the handler" if attempt.wait is not None else attempt.result.error
    return Attempt(
        replace(attempt.result, success=False, error=describe_veto(reason)),
        raised=attempt.raised,
        begun=False,
        traceback=attempt.traceback,
    )


async def _call_handler(skill: Skill, call: Call, given: Mapping[str, Any], timeout: float | None) -> Any:
    """Call the handler, and await what it returns as long as that can be awaited; return its answer."""
    began = time.perf_counter()
    returned = await _call_once(skill, call, given, timeout)
    while (answer := containment.find_awaitable(returned)) is not None:
        left = None if timeout is None else max(timeout - (time.perf_counter() - began), 0)
        returned = await _await_in_task(answer, call, left)
    return returned


async def _call_once(skill: Skill, call: Call, given: Mapping[str, Any], timeout: float | None) -> Any:
    if skill.is_async and timeout is None:
        with containment.contain_errors():
            return await skill.function(**given)
    if skill.is_async:
        return await _await_in_task(skill.function(**given), call, timeout)
    return await _call_in_thread(skill, call, given, timeout)


async def _await_in_task(answer: Awaitable[Any], call: Call, timeout: float | None) -> Any:
    task = asyncio.ensure_future(containment.await_contained(answer))

    def works() -> bool:
        return not (task.done() or task.get_loop().is_closed())

    try:
        if not await containment.wait_or_cancel(task, timeout):
            task.cancel()
            ended = await containment.wait_or_cancel(task, GRACE)
            if not ended or task.cancelled() or task.exception() is not None:
                raise _TookTooLong
    finally:
        if not task.done():
            record_abandoned(call, works)
    return task.result()


async def _call_in_thread(skill: Skill, call: Call, given: Mapping[str, Any], timeout: float | None) -> Any:
    future, thread = containment.start_in_thread(skill.function, given)
    try:
        done, _ = await asyncio.wait([future], timeout=timeout)
    except asyncio.CancelledError:
        record_abandoned(call, thread.is_alive)
        raise
    if not done:
        record_abandoned(call, thread.is_alive)
        raise _TookTooLong
    return future.result()


def _make_cache_key(step: Step, given: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return the cache key of a call; a call with an unprintable value equals no other."""
    pairs = [
        (name, containment.call_or_else(partial(repr, each), ""))
        for name, each in given.items()
        if not isinstance(each, Context)
    ]
    unlike = () if all(text for _, text in pairs) else (object(),)
    return step.action, step.arguments, *sorted(pairs), *unlike


def _name_lock_value(value: Any) -> str:
    """Return the text by which locks compare `value`."""
    return containment.call_or_else(lambda: str.__str__(str(value)), containment.quote_value(value))


async def run_check(
    check: Callable[..., Any], arguments: Mapping[str, Any], context: Any, timeout: float | None
) -> str:
    """Call `check` with the arguments that it takes; return its reason to refuse, an empty text if it passes."""
    try:
        taken = inspect.signature(check).parameters
        anything = any(each.kind is each.VAR_KEYWORD for each in taken.values())
        given = {name: copy_value(each) for name, each in arguments.items() if anything or name in taken}
        own = find_context(taken)
        if own:
            given[own] = context
        async with asyncio.timeout(timeout) as patience:
            answer = await containment.call_contained(check, given)
        if answer is None or answer is True:
            return ""
        reason = containment.as_plain_text(answer) if issubclass(type(answer), str) else ""
        return reason or f"the check returned {containment.quote_value(answer)}"
    except TimeoutError as error:
        if not patience.expired():
            return f"the check raised {containment.describe_error(error)}"
        context.aborted.set()
        return f"the check did not answer within {timeout:g} s"
    except Exception as error:  # noqa: BLE001 - a check that fails does not pass
        return f"the check raised {containment.describe_error(error)}"
