"""Share capacities, numbers, locks and rates between the runs of one task queue: a workflow keeps who has what.

`SharedLimits` is that workflow. It begins with the first request, goes on in a new history when the old one is long,
and ends when nobody has had anything for a while. Its state is a list of claims in the order in which they came; a lock
is a claim that must be the first of its kind. `RunLimits` is what a run asks it by: requests are local activities that
signal the workflow, and its answers are signals to the run, so that waiting costs nothing. A worker asks by
`LimitedTurns` when a step with a rate may begin.

What a run has reserved stays until it releases it, whichever worker drives it. Runs that no longer exist lose theirs as
soon as somebody waits for it.
"""

from __future__ import annotations

import asyncio
import json
from collections import defaultdict
from collections.abc import AsyncIterator, Collection, Hashable, Iterable, Mapping
from contextlib import asynccontextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import timedelta
from fractions import Fraction
from functools import partial
from typing import Any, Final

from temporalio import workflow
from temporalio.client import Client, RPCError, WorkflowExecutionStatus
from temporalio.exceptions import FailureError
from temporalio.service import RPCStatusCode

from executor.journal.reservations import Reservation, read_amount
from executor.loop.locks_and_rates import ReservedStart, StartTimes, Turns
from executor.temporal.entity_workflows import ASKING, Entity, Outbox, is_long
from executor.tools.step_policy import Rate
from planner.model.arithmetic import Exact

LIMITS: Final = "forethought-limits"
"""Name of the type of these workflows, and the beginning of their ids."""
IDLE: Final = timedelta(minutes=1)
"""Time without any reservation after which the workflow ends."""
FIRST_DOUBT: Final = 5.0
"""Seconds without an answer after which a run asks again, and whether those before it still exist."""
LONGEST_DOUBT: Final = 60.0
"""Longest time between two such questions, in seconds."""
MOST_EVENTS = 4000
"""Events of Temporal after which the limits go on in a new history, if Temporal does not suggest it before."""
MOST_CHECKED: Final = 50
"""Most runs that one question checks: each is a call of the server."""
OPEN: Final = (WorkflowExecutionStatus.RUNNING, WorkflowExecutionStatus.CONTINUED_AS_NEW)
SERVED: Final[ContextVar[str]] = ContextVar("served")
"""The task queue of the run whose step is at work in this task."""


def name_limits(queue: str) -> str:
    """Return the id of the workflow that keeps the limits of the runs of a task queue."""
    return f"{LIMITS}-{queue}"


def _find_limits(queue: str) -> Entity:
    return Entity(LIMITS, name_limits(queue), queue, f"what the runs of {queue} share")


Holder = tuple[str, str]
"""A run, and the name of a claim of it."""
Told = list[tuple[str, str, str]]
"""Reservations as data: run, item and amount."""


@dataclass(slots=True)
class _Claim:
    """What a run has reserved: amounts by item; a claim that is `alone` counts when no other is before it."""

    amounts: dict[str, str]
    alone: bool
    told: Told | None = None
    """The earlier reservations that the run knows of."""


@workflow.defn(name=LIMITS)
class SharedLimits:
    """The reservations of the runs of one task queue, and the start times of the steps that share rates."""

    @workflow.init
    def __init__(self, given: dict[str, Any]) -> None:
        self._claims = {(run, claim): _Claim(amounts, alone) for run, claim, amounts, alone in given.get("claims", ())}
        self._starts = {name: _make_starts(*told) for name, *told in given.get("starts", ())}
        self._has_news = bool(self._claims)
        self._doubted: dict[str, None] = {}
        """Runs that may have ended without a word."""

    @workflow.run
    async def run(self, given: dict[str, Any]) -> None:
        """Tell each run what is reserved before it, until nobody has reserved anything."""
        del given
        while self._has_news or await self._wait():
            self._has_news = False
            await self._forget_closed()
            await self._tell()
            if is_long(MOST_EVENTS) and not self._has_news:
                workflow.continue_as_new(self._describe())

    async def _wait(self) -> bool:
        """Wait for a request; return False if none comes while nothing is reserved."""
        try:
            await workflow.wait_condition(lambda: self._has_news, timeout=IDLE)
        except TimeoutError:
            now = workflow.time()
            self._starts = {name: each for name, each in self._starts.items() if each[1].find_counting(now)}
            return bool(self._claims or self._starts or self._has_news)
        return True

    def _describe(self) -> dict[str, Any]:
        now = workflow.time()
        starts = [(name, rate, times.find_counting(now)) for name, (rate, times) in self._starts.items()]
        return {
            "claims": [[*holder, each.amounts, each.alone] for holder, each in self._claims.items()],
            "starts": [[name, rate.most, rate.seconds, counting] for name, rate, counting in starts if counting],
        }

    async def _tell(self) -> None:
        """Tell runs the reservations before theirs, where these have changed."""
        told = []
        for holder, earlier in self._find_earlier().items():
            claim = self._claims[holder]
            if claim.told != earlier and not (claim.alone and earlier):
                claim.told = earlier
                told.append(self._answer(holder, earlier))
        await asyncio.gather(*told)

    def _find_earlier(self) -> dict[Holder, Told]:
        before: defaultdict[str, Told] = defaultdict(list)
        found = {}
        for (run, name), claim in self._claims.items():
            earlier = [each for item in claim.amounts for each in before[item] if claim.alone or each[0] != run]
            found[run, name] = earlier
            for item, amount in claim.amounts.items():
                before[item].append((run, item, amount))
        return found

    async def _answer(self, holder: Holder, earlier: Told) -> None:
        """Answer a run; forget one that no longer exists."""
        run, claim = holder
        try:
            await workflow.get_external_workflow_handle(run).signal("reserved", args=[claim, earlier])
        except FailureError:
            self._forget([run])

    async def _forget_closed(self) -> None:
        """Forget the doubted runs that no longer exist."""
        doubted = list(self._doubted)[:MOST_CHECKED]
        self._doubted.clear()
        if doubted:
            closed = await workflow.execute_local_activity("find_closed", doubted, start_to_close_timeout=ASKING)
            self._forget(closed)

    def _forget(self, runs: Collection[str]) -> None:
        left = {holder: each for holder, each in self._claims.items() if holder[0] not in runs}
        self._has_news = self._has_news or len(left) < len(self._claims)
        self._claims = left

    @workflow.signal
    def reserve(self, run: str, claim: str, amounts: dict[str, str], alone: bool) -> None:
        """Reserve `amounts` for a claim, once; a run that asks again doubts that those before it still exist."""
        self._has_news = True
        known = self._claims.get((run, claim))
        if known is None:
            self._claims[run, claim] = _Claim(amounts, alone)
            return
        known.told = None
        for other, each in self._claims.items():
            if other == (run, claim):
                break
            if each.amounts.keys() & amounts.keys():
                self._doubted[other[0]] = None

    @workflow.signal
    def release(self, run: str, claim: str) -> None:
        """Release what a claim has reserved."""
        self._has_news = self._claims.pop((run, claim), None) is not None or self._has_news

    @workflow.signal
    def give_back(self, name: str, start: float) -> None:
        """Release a reserved start of a rated step."""
        if name in self._starts:
            self._starts[name][1].give_back(start)

    @workflow.update
    def reserve_start(self, name: str, most: int, seconds: float, patience: float | None) -> list[float | None]:
        """Reserve the next start that leaves at most `most` in `seconds`; return it, and in how many seconds it comes.

        The start is None, and nothing is reserved, if it does not come within `patience` seconds.
        """
        now, self._has_news = workflow.time(), True
        _, times = self._starts.setdefault(name, _make_starts(most, seconds, ()))
        start = times.reserve(now, patience)
        delay = start - now
        return [None if patience is not None and delay > patience else start, delay]

    @workflow.query
    def told(self) -> list[dict[str, Any]]:
        """Return the reservations in their order."""
        return [{"run": run, "claim": claim, **each.amounts} for (run, claim), each in self._claims.items()]


def _make_starts(most: int, seconds: float, times: Iterable[float]) -> tuple[Rate, StartTimes]:
    rate = Rate(most, seconds)
    return rate, StartTimes(rate, times)


@dataclass(slots=True, eq=False)
class RunLimits:
    """What one run reserves; a workflow keeps it for the run that it drives.

    Each claim has a name of its own, so that no answer to an earlier one is taken for one to this: what is before a
    claim only ever becomes less.
    """

    run: str
    claims: dict[str, str] = field(default_factory=dict)
    """The claims of steps and locks that the run has not released."""
    _earlier: dict[str, list[Reservation]] = field(default_factory=dict)
    """What is reserved before each claim, as it was last told."""
    _outbox: Outbox = field(init=False)
    """Requests: a signal and its arguments."""

    def __post_init__(self) -> None:
        self._outbox = Outbox(_tell_by_activity)

    def hear(self, claim: str, earlier: list[list[str]]) -> None:
        """Take an answer of the limits."""
        self._earlier[claim] = [Reservation(run, item, read_amount(amount)) for run, item, amount in earlier]

    async def reserve(self, step: str, amounts: Mapping[str, Exact], *, alone: bool = False) -> list[Reservation]:
        """Reserve amounts for a step, once; return what is reserved before it; if `alone`, wait until nothing is."""
        claim = self.claims.setdefault(step, f"{step} {workflow.uuid4()}")
        told = {item: str(Fraction(amount)) for item, amount in amounts.items()}
        doubt = FIRST_DOUBT
        while claim not in self._earlier:
            self._outbox.send("reserve", self.run, claim, told, alone)
            with suppress(TimeoutError):
                await workflow.wait_condition(lambda: claim in self._earlier, timeout=doubt)
            doubt = min(2 * doubt, LONGEST_DOUBT)
        return self._earlier[claim]

    async def wait_for_release(self, step: str, seconds: float) -> None:
        """Wait until less is reserved before `step`; after so many seconds, ask anew."""
        claim = self.claims[step]
        known = self._earlier.get(claim)
        try:
            await workflow.wait_condition(lambda: self._earlier.get(claim) is not known, timeout=seconds)
        except TimeoutError:
            self._earlier.pop(claim, None)

    @asynccontextmanager
    async def lock(self, key: tuple[str, ...]) -> AsyncIterator[None]:
        """Hold a lock that all runs share."""
        name = f"lock {workflow.uuid4()}"
        try:
            await self.reserve(name, {f"lock {json.dumps(key)}": 1}, alone=True)
            yield
        finally:
            self.release(name)

    def release(self, step: str) -> None:
        """Release what a step has reserved."""
        claim = self.claims.pop(step, None)
        if claim is not None:
            self._earlier.pop(claim, None)
            self._outbox.send("release", self.run, claim)

    def keep(self, steps: Collection[str]) -> None:
        """Release what others than these steps have reserved."""
        for each in [each for each in self.claims if each not in steps]:
            self.release(each)

    async def finish(self) -> None:
        """Wait until the limits have heard all."""
        await self._outbox.finish()


async def _tell_by_activity(request: list[Any]) -> None:
    signal, *arguments = request
    told = [workflow.info().task_queue, signal, arguments]
    await workflow.execute_local_activity("tell_limits", args=told, start_to_close_timeout=ASKING)


class LimitedTurns(Turns):
    """The locks of a worker, and the rates that all workers of a task queue of runs share."""

    def __init__(self, client: Client) -> None:
        super().__init__()
        self._client = client

    async def reserve_start(self, key: Hashable, rate: Rate, patience: float | None) -> ReservedStart:
        """Reserve the next start of a step of `key`, unless it does not come within `patience` seconds."""
        queue, name = SERVED.get(), json.dumps([key, rate.most, rate.seconds])
        ask = [name, rate.most, rate.seconds, patience]
        start, delay = await _find_limits(queue).ask(self._client, "reserve_start", ask)
        if start is None:
            return None, delay
        return partial(tell_limits, self._client, queue, "give_back", [name, start]), delay


async def tell_limits(client: Client, queue: str, signal: str, arguments: list[Any]) -> None:
    """Signal the limits of a task queue, and begin them if there are none."""
    await _find_limits(queue).tell(client, signal, arguments)


async def find_closed(client: Client, runs: Iterable[str]) -> list[str]:
    """Return those of `runs` that are over, or unknown to the server."""

    async def is_closed(run: str) -> bool:
        try:
            return (await client.get_workflow_handle(run).describe()).status not in OPEN
        except RPCError as error:
            if error.status is not RPCStatusCode.NOT_FOUND:
                raise
            return True

    return [each for each in runs if await is_closed(each)]
