"""`forethought bench faults --temporal`: the runs of a campaign on Temporal, beside the same runs on one machine.

Both have the same plans, faults and seeds, with all times at the pace of `PACE`: on Temporal they pass in real time, on
one machine in virtual time. A handler whose process dies is one whose activity gives no answer any more.
"""

from __future__ import annotations

import asyncio
import logging
import math
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Mapping
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import typer
from temporalio.client import Client
from temporalio.exceptions import ApplicationError

from benchmarks.faults.fault_campaign import Judged, format_report
from benchmarks.faults.fault_run import (
    Carried,
    answer,
    approve,
    carry_out,
    make_action_plan,
    make_memory,
    make_simulated_world,
)
from benchmarks.faults.fault_setting import Setting, draw_setting
from benchmarks.faults.fault_verdict import Ending, judge_run
from benchmarks.report import Table
from executor.events.events import RunEnded
from executor.loop.attempt import Attempt
from executor.temporal import TemporalExecutor
from executor.temporal.activities import Notes, WorldActivities
from executor.testing import Crash
from executor.testing.temporal_server import connect_when_ready, run_server
from executor.tools.containment import Escaped
from executor.tools.context import Context
from planner.cli.output import give, tell
from planner.errors import PlanError

PACE: Final = 0.2
"""Length of a second of the campaign on Temporal, in seconds: handlers take 0.2 s, and time out after 2 s."""
AT_ONCE: Final = 24
"""Number of runs at once."""
MOST_SECONDS: Final = 300.0
"""Longest time of one run, in seconds."""
SHORTEST: Final = 1e-6
"""Less than the time between two changes of a world, in seconds."""
MOST_ALONE: Final = 3
"""Most repetitions of a run that ended otherwise, alone on the server: times are real there, and some are short."""
TASK: Final = timedelta(seconds=10)


class MortalActivities(WorldActivities):
    """Activities that give no answer where the simulated process dies, as do all that are at work there then."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._at_work: set[asyncio.Task[Attempt]] = set()

    async def make_attempt(self, given: Mapping[str, Any], context: Context, notes: Notes) -> Attempt:
        """Make the attempt that `given` describes; raises `ApplicationError` where the process dies."""
        work = asyncio.ensure_future(super().make_attempt(given, context, notes))
        self._at_work.add(work)
        try:
            await asyncio.wait([work])
        except asyncio.CancelledError:
            work.cancel()
            raise
        finally:
            self._at_work.discard(work)
        if work.cancelled() or self._has_died(work.result()):
            for other in self._at_work:
                other.cancel()
            raise ApplicationError("the simulated process died", non_retryable=True)
        return work.result()

    def _has_died(self, attempt: Attempt) -> bool:
        error = attempt.raised.error if isinstance(attempt.raised, Escaped) else attempt.raised
        return isinstance(error, Crash)


class Pair(NamedTuple):
    """The same run on one machine (`here`) and on Temporal (`there`), with their judgements."""

    here: Judged
    there: Judged
    is_same: bool
    """Whether both ended with the same status and the same world."""
    difference: str


def give_temporal_campaign(seeds: Iterable[int], seed: int = 0) -> None:
    """Carry out the runs that `seeds` number, and print the report; the exit code is 1 for a violation."""
    logging.getLogger("temporalio.activity").setLevel(logging.CRITICAL)  # processes that die are no news here
    started, pairs = time.monotonic(), list[Pair]()
    settings = [draw_setting(each, seed).at_pace(PACE) for each in seeds]

    with tempfile.TemporaryDirectory(prefix="forethought-faults-") as folder:
        here = {setting.seed: carry_out(setting, Path(folder)) for setting in settings}

    async def follow(address: str) -> int:
        """Carry out all runs; return how many ended otherwise, and not any more when they had the server alone."""
        client, alone = await connect_when_ready(address), 0
        async for pair in carry_out_pairs(settings, here, client):
            pairs.append(pair)
        for place, pair in enumerate(pairs):
            if not pair.is_same and pair.there.verdict.violation is None:
                pairs[place] = await repeat_alone(pair, here[pair.there.setting.seed], client)
                alone += pairs[place].is_same
            tell_difference(pairs[place])
        return alone

    with run_server() as address:
        alone = asyncio.run(follow(address))
    give(format_report([each.there for each in pairs]))
    give(compare_endings(pairs).markdown())
    same = sum(each.is_same for each in pairs)
    found = f"{same - alone} with the same status and world, {alone} more alone on the server"
    tell(f"{len(pairs)} runs, {found}, in {time.monotonic() - started:.0f} s")
    if any(each.there.verdict.ending is Ending.VIOLATION for each in pairs):
        raise typer.Exit(1)


def tell_difference(pair: Pair) -> None:
    """Tell of a violation, or of a run that ended otherwise."""
    verdict, setting = pair.there.verdict, pair.there.setting
    if verdict.violation is not None:
        tell(f"{setting}: {verdict.violation.value}: {verdict.detail.strip().splitlines()[-1:]}")
    elif not pair.is_same:
        tell(f"{setting}: {pair.difference}")


async def repeat_alone(pair: Pair, here: Carried, client: Client) -> Pair:
    """Carry a run out again that has ended otherwise, with no others beside it, until it ends as `here`."""
    setting = pair.there.setting
    for attempt in range(1, MOST_ALONE + 1):
        if pair.is_same:
            break
        again = compare(setting, here, await carry_out_on_temporal(setting, client, attempt))
        pair = again._replace(here=pair.here)
    return pair


async def carry_out_pairs(
    settings: Iterable[Setting], here: Mapping[int, Carried], client: Client
) -> AsyncIterator[Pair]:
    """Yield the runs as they end on the server of `client`, each with the same run `here`, by seed."""
    places = asyncio.Semaphore(AT_ONCE)

    async def carry_out_there(setting: Setting) -> tuple[Setting, Carried]:
        async with places:
            return setting, await carry_out_on_temporal(setting, client)

    for each in asyncio.as_completed([carry_out_there(setting) for setting in settings]):
        setting, carried = await each
        yield compare(setting, here[setting.seed], carried)


async def carry_out_on_temporal(setting: Setting, client: Client, attempt: int = 0) -> Carried:
    """Carry out a run on Temporal, with a worker of its own in this process."""
    simulated, run = make_simulated_world(setting), f"run-{setting.seed}-{attempt}"
    carried, started = Carried(simulated), time.perf_counter()
    executor = TemporalExecutor(
        simulated.world,
        client,
        f"faults-{setting.seed}-{attempt}",
        approve=partial(approve, simulated),
        ask=partial(answer, setting, simulated, run) if setting.is_asked else None,
        model=None if setting.open_world is None else setting.model,
        listeners=(carried,),
        seed=setting.seed,
        task_timeout=TASK,
    )
    plan = make_action_plan(setting) if setting.open_world is None else setting.plan.problem
    try:
        async with executor.worker(kind=MortalActivities), asyncio.timeout(MOST_SECONDS):
            carried.outcome = await executor.run(plan, run=run, memory=make_memory(simulated))
    except PlanError as error:
        carried.refusal = str(error)
    except Exception:  # noqa: BLE001 - whatever the executor raises is what the campaign looks for
        carried.error = traceback.format_exc()
    carried.seconds = time.perf_counter() - started
    rewind(carried)
    return carried


def rewind(carried: Carried) -> None:
    """Put back what came about after the run had ended, or after it had looked last, if it came from outside.

    Virtual time ends with a run, and no time passes between its last look and its end.
    """
    world, truth = carried.simulated, carried.simulated.truth
    ended = max([at for at, event in carried.events if isinstance(event, RunEnded)], default=math.inf)
    looked = max([each.at for each in world.sightings if each.at <= ended], default=ended)
    late = [place for place, act in enumerate(truth.acts) if act.at > (ended if act.by else looked)]
    if late:
        truth.simulation = truth.at(truth.acts[late[0]].at - SHORTEST)
        del truth.acts[late[0] :]


def compare(setting: Setting, here: Carried, there: Carried) -> Pair:
    """Judge both runs, and compare how they ended, and the worlds that they left."""
    judged = [
        Judged(setting, judge_run(setting, each), each.seconds, each.crashes, each.strikes) for each in (here, there)
    ]
    status = [each.outcome.status.name if each.outcome else "error" for each in (here, there)]
    facts = [each.simulated.facts for each in (here, there)]
    gone, more = sorted(map(str, facts[0] - facts[1])), sorted(map(str, facts[1] - facts[0]))
    difference = f"{status[0]} on one machine, {status[1]} on Temporal"
    if gone or more:
        difference += f"; only there: {', '.join(more) or 'nothing'}; only here: {', '.join(gone) or 'nothing'}"
    return Pair(judged[0], judged[1], status[0] == status[1] and facts[0] == facts[1], difference)


def compare_endings(pairs: Iterable[Pair]) -> Table:
    """Return how often runs that ended so on one machine ended so on Temporal."""
    counts = Counter((each.here.verdict.ending, each.there.verdict.ending) for each in pairs)
    rows = [[here.name, there.name, number] for (here, there), number in sorted(counts.items(), key=str)]
    return Table(["on one machine", "on Temporal", "runs"], rows)
