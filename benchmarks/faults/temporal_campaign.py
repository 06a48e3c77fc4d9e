"""`forethought bench faults --temporal`: the runs of a campaign on Temporal, beside the same runs on one machine.

Both have the same plans, faults and seeds, with all times at the pace of `PACE`: on Temporal they pass in real time, on
one machine in virtual time. A handler whose process dies is one whose activity gives no answer any more; a run that
follows a policy, which Temporal does not carry out, takes the steps of its plan one after another on both.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import replace
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
from executor.loop.attempt import Attempt
from executor.temporal import TemporalExecutor
from executor.temporal.activities import Notes, WorldActivities
from executor.testing import Crash
from executor.testing.temporal_server import connect_when_ready, run_server
from executor.tools.containment import Escaped
from executor.tools.context import Context
from planner.cli.output import give, tell

PACE: Final = 0.2
"""Length of a second of the campaign on Temporal, in seconds: handlers take 0.2 s, and time out after 2 s."""
AT_ONCE: Final = 24
"""Number of runs at once."""
MOST_SECONDS: Final = 300.0
"""Longest time of one run, in seconds."""
TASK: Final = timedelta(seconds=10)


class MortalActivities(WorldActivities):
    """Activities that give no answer where the simulated process dies."""

    async def make_attempt(self, given: Mapping[str, Any], context: Context, notes: Notes) -> Attempt:
        """Make the attempt that `given` describes; raises `ApplicationError` where the process dies."""
        attempt = await super().make_attempt(given, context, notes)
        error = attempt.raised.error if isinstance(attempt.raised, Escaped) else attempt.raised
        if isinstance(error, Crash):
            raise ApplicationError("the simulated process died", non_retryable=True)
        return attempt


class Pair(NamedTuple):
    """The same run on one machine (`here`) and on Temporal (`there`), with their judgements."""

    here: Judged
    there: Judged
    is_same: bool
    """Whether both ended with the same status and the same world."""
    difference: str


def give_temporal_campaign(seeds: Iterable[int], seed: int = 0) -> None:
    """Carry out the runs that `seeds` number, and print the report; the exit code is 1 for a violation."""
    started, pairs = time.monotonic(), list[Pair]()
    settings = [adapt(draw_setting(each, seed)) for each in seeds]

    with tempfile.TemporaryDirectory(prefix="forethought-faults-") as folder:
        here = {setting.seed: carry_out(setting, Path(folder)) for setting in settings}

    async def follow(address: str) -> None:
        async for pair in carry_out_pairs(settings, here, address):
            pairs.append(pair)
            violation = pair.there.verdict.violation
            if violation is not None:
                tell(f"{pair.there.setting}: {violation.value}: {pair.there.verdict.detail.strip().splitlines()[-1:]}")
            elif not pair.is_same:
                tell(f"{pair.there.setting}: {pair.difference}")

    with run_server() as address:
        asyncio.run(follow(address))
    give(format_report([each.there for each in pairs]))
    give(compare_endings(pairs).markdown())
    same = sum(each.is_same for each in pairs)
    tell(f"{len(pairs)} runs, {same} with the same status and world, in {time.monotonic() - started:.0f} s")
    if any(each.there.verdict.ending is Ending.VIOLATION for each in pairs):
        raise typer.Exit(1)


def adapt(setting: Setting) -> Setting:
    """Return the run as Temporal carries it out."""
    model = "sequential" if setting.model == "policy" else setting.model
    return replace(setting, model=model).at_pace(PACE)


async def carry_out_pairs(
    settings: Iterable[Setting], here: Mapping[int, Carried], address: str
) -> AsyncIterator[Pair]:
    """Yield the runs as they end on the server at `address`, each with the same run `here`, by seed."""
    client, places = await connect_when_ready(address), asyncio.Semaphore(AT_ONCE)

    async def carry_out_there(setting: Setting) -> tuple[Setting, Carried]:
        async with places:
            return setting, await carry_out_on_temporal(setting, client)

    for each in asyncio.as_completed([carry_out_there(setting) for setting in settings]):
        setting, carried = await each
        yield compare(setting, here[setting.seed], carried)


async def carry_out_on_temporal(setting: Setting, client: Client) -> Carried:
    """Carry out a run on Temporal, with a worker of its own in this process."""
    simulated, run = make_simulated_world(setting), f"run-{setting.seed}"
    carried, started = Carried(simulated), time.perf_counter()
    executor = TemporalExecutor(
        simulated.world,
        client,
        f"faults-{setting.seed}",
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
    except Exception:  # noqa: BLE001 - whatever the executor raises is what the campaign looks for
        carried.error = traceback.format_exc()
    carried.seconds = time.perf_counter() - started
    return carried


def compare(setting: Setting, here: Carried, there: Carried) -> Pair:
    """Judge both runs, and compare how they ended."""
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
